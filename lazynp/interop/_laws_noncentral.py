"""Distributions of scipy.stats that are noncentral, with two shapes in an exponent, or Landau's.

A noncentral distribution is a mean over j of central ones with shape a + j, where j has Poisson's
distribution. Its derivative by nc is half the difference of those with a + 1 and with a.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop import _mixtures as mixtures, _special
from lazynp.interop._calls import inexact
from lazynp.interop._laws import Law, above, by_cumulative
from lazynp.interop._laws_more import expm1_over, log1p_over
from lazynp.interop._laws_rare import CONTINUOUS
from lazynp.interop._special import Partial, call
from lazynp.interop._special_more import UFUNCS

# -- means over j ----------------------------------------------------------------------------------
# kind: "gammas" (nc, a, y) or "betas" (nc, a, b, y)


def _next(kind: str, which: str, nc: Any, a: Any, *rest: Any) -> Any:
    return call(f"{kind}-{which}", nc, a + 1.0, *rest)


def _density(kind: str, *args: Any) -> Any:
    return np.exp(call(f"{kind}-log-pdf", *args))


def _central(kind: str, a: Any, *rest: Any) -> Any:
    """The derivative of the logarithm of the central density by y."""
    *b, y = rest
    return (a - 1) / y - ((b[0] - 1) / (1 - y) if b else 1.0)


def _log_density_rows(kind: str) -> Sequence[Partial]:
    def ratio(out: Any, *args: Any) -> Any:
        return np.exp(_next(kind, "log-pdf", *args) - out)

    def by_y(*args: Any) -> Any:
        nc, *rest, out = args
        return _central(kind, *rest) + nc / (2 * rest[-1]) * ratio(out, nc, *rest)

    shapes = [lambda *args, s=s: call(f"{kind}-log-pdf-by-{s}", *args[:-1]) for s in _shapes(kind)]
    return (lambda *args: (ratio(args[-1], *args[:-1]) - 1) / 2, *shapes, by_y)


def _shapes(kind: str) -> str:
    return "a" if kind == "gammas" else "ab"


def _log_density_by(kind: str, shape: str) -> Sequence[Partial]:
    """Of the derivative by a shape: mixed ones."""
    which = f"log-pdf-by-{shape}"

    def moved(*args: Any) -> Any:
        *given, out = args
        ratio = np.exp(_next(kind, "log-pdf", *given) - call(f"{kind}-log-pdf", *given))
        return ratio * (_next(kind, which, *given) - out) / 2

    def by_y(*args: Any) -> Any:
        y = args[-2]
        return (1 / y if shape == "a" else -1 / (1 - y)) + args[0] / y * moved(*args)

    return (moved, *_further(kind, which), by_y)


def _further(kind: str, which: str) -> list[Partial]:
    """The second derivatives by the shapes: those have no further ones."""
    names = [f"{kind}-" + _sorted(which + s) for s in _shapes(kind)]
    return [lambda *args, name=name: call(name, *args[:-1]) for name in names]


def _sorted(which: str) -> str:
    begin, _, shapes = which.rpartition("-")
    return f"{begin}-{''.join(sorted(shapes))}"


def _cumulative_rows(kind: str, upper: bool) -> Sequence[Partial]:
    sign, which = (-1.0, "sf") if upper else (1.0, "cdf")
    shapes = [
        lambda *args, s=s: sign * call(f"{kind}-cdf-by-{s}", *args[:-1]) for s in _shapes(kind)
    ]
    return (
        lambda *args: (_next(kind, which, *args[:-1]) - args[-1]) / 2,
        *shapes,
        lambda *args: sign * _density(kind, *args[:-1]),
    )


def _cumulative_by(kind: str, shape: str) -> Sequence[Partial]:
    return (
        lambda *args: (_next(kind, f"cdf-by-{shape}", *args[:-1]) - args[-1]) / 2,
        *_further(kind, f"cdf-by-{shape}"),
        lambda *args: _density(kind, *args[:-1]) * call(f"{kind}-log-pdf-by-{shape}", *args[:-1]),
    )


def _rows(kind: str) -> dict[str, Sequence[Partial]]:
    return (
        {f"{kind}-log-pdf": _log_density_rows(kind)}
        | {f"{kind}-{f}": _cumulative_rows(kind, f == "sf") for f in ("cdf", "sf")}
        | {f"{kind}-log-pdf-by-{s}": _log_density_by(kind, s) for s in _shapes(kind)}
        | {f"{kind}-cdf-by-{s}": _cumulative_by(kind, s) for s in _shapes(kind)}
        | {
            f"{kind}-{f}-by-{''.join(s)}": [None] * (2 + len(_shapes(kind)))
            for f in ("cdf", "log-pdf")
            for s in itertools.combinations_with_replacement(_shapes(kind), 2)
        }
    )


# -- the noncentral t, Landau, Tukey ---------------------------------------------------------------

_BY_DF, _TWICE_BY_DF = "student-moment-by-df", "student-moment-twice-by-df"


def _student(name: str, by_x: Callable[..., Any], by_nc: Callable[..., Any]) -> dict[str, Any]:
    """Moments m of x, df and nc; by x and nc they are moments again."""
    return {name: (None, by_x(name), call_by_df(name), by_nc(name))}


def call_by_df(name: str) -> Partial:
    further = {"student-moment": _BY_DF, _BY_DF: _TWICE_BY_DF}.get(name)
    return None if further is None else lambda m, x, df, nc, out: call(further, m, x, df, nc)


def _moment_by_x(name: str) -> Callable[..., Any]:
    return lambda m, x, df, nc, out: (
        nc * call(name, m + 1.0, x, df, nc) - x * call(name, m + 2.0, x, df, nc)
    )


def _moment_by_nc(name: str) -> Callable[..., Any]:
    return lambda m, x, df, nc, out: x * call(name, m + 1.0, x, df, nc) - nc * out


def _moment(m: float, *args: Any, name: str = "student-moment") -> Any:
    x, *others = np.broadcast_arrays(*args)
    return call(name, np.full_like(x, m), x, *others)


def _student_cumulative(sign: float) -> Sequence[Partial]:
    return (
        lambda x, df, nc, out: sign * _moment(1.0, x, df, nc),
        lambda x, df, nc, out: sign * call("student-cdf-by-df", x, df, nc),
        lambda x, df, nc, out: -sign * _moment(0.0, x, df, nc),
    )


def _of_law(law: str, method: str) -> Callable[..., Any]:
    return lambda x, *shapes: getattr(getattr(scipy.stats, law), method)(x, *shapes)


def _by_boxcox(lam: Any, p: Any) -> Any:
    """Tukey's quantile function."""
    return expm1_over(lam, np.log(p)) - expm1_over(lam, np.log1p(-p))


def _tukey_density(lam: Any, p: Any) -> Any:
    return 1 / (p ** (lam - 1) + (1 - p) ** (lam - 1))


def _tukey_by_x(x: Any, lam: Any, out: Any) -> Any:
    return np.where(lam * abs(x) > 1, 0.0, _tukey_density(lam, out))


def _tukey_by_lam(x: Any, lam: Any, out: Any) -> Any:
    outside = lam * abs(x) > 1
    p = np.where(outside, 0.5, out)
    slope = np.jvp(lambda v: _by_boxcox(v, p), (lam,), (np.ones_like(lam),))[1]
    return np.where(outside, 0.0, -slope * _tukey_density(lam, p))


_special.OWN |= mixtures.GAMMA | mixtures.BETA
_special.OWN |= {
    "student-moment": mixtures.student_moment,
    _BY_DF: mixtures.student_moment_by_df(1),
    _TWICE_BY_DF: mixtures.student_moment_by_df(2),
    "student-cdf-by-df": mixtures.student_by_df(1),
    "student-cdf-twice-by-df": mixtures.student_by_df(2),
    "student-cdf": lambda x, df, nc: scipy.special.nctdtr(df, nc, x),
    "student-sf": _of_law("nct", "sf"),
    "landau": mixtures.landau,
    "landau-cdf": _of_law("landau", "cdf"),
    "landau-sf": _of_law("landau", "sf"),
}
_special.ROWS.update(
    _rows("gammas")
    | _rows("betas")
    | _student("student-moment", _moment_by_x, _moment_by_nc)
    | _student(_BY_DF, _moment_by_x, _moment_by_nc)
    | _student(_TWICE_BY_DF, _moment_by_x, _moment_by_nc)
    | {
        "student-cdf": _student_cumulative(1.0),
        "student-sf": _student_cumulative(-1.0),
        "student-cdf-by-df": (
            lambda x, df, nc, out: _moment(1.0, x, df, nc, name=_BY_DF),
            lambda x, df, nc, out: call("student-cdf-twice-by-df", x, df, nc),
            lambda x, df, nc, out: -_moment(0.0, x, df, nc, name=_BY_DF),
        ),
        "student-cdf-twice-by-df": (
            lambda x, df, nc, out: _moment(1.0, x, df, nc, name=_TWICE_BY_DF),
            None,
            lambda x, df, nc, out: -_moment(0.0, x, df, nc, name=_TWICE_BY_DF),
        ),
        "landau": (None, lambda n, x, out: call("landau", n + 1.0, x)),
        "landau-cdf": (lambda x, out: _landau(x),),
        "landau-sf": (lambda x, out: -_landau(x),),
        "tklmbda": (_tukey_by_x, _tukey_by_lam),
    }
)


def _landau(x: Any) -> Any:
    return call("landau", np.zeros_like(x), x)


# -- the table -------------------------------------------------------------------------------------


def _chi(which: str) -> Callable[..., Any]:
    return lambda x, df, nc: call(f"gammas-{which}", nc, df / 2, x / 2)


def _fraction(which: str) -> Callable[..., Any]:
    return lambda x, n, d, nc: call(f"betas-{which}", nc, n / 2, d / 2, n * x / (n * x + d))


def _log_fraction(x: Any, n: Any, d: Any, nc: Any) -> Any:
    return _fraction("log-pdf")(x, n, d, nc) + np.log(n * d) - 2 * np.log(n * x + d)


def _kappa_power(x: Any, k: Any) -> Any:
    """The logarithm of (1 - k x)^(1/k)."""
    return -log1p_over(-k, x)


def _log_kappa(x: Any, h: Any, k: Any) -> Any:
    return -log1p_over(-h, np.exp(_kappa_power(x, k)))


def _kappa_support(h: Any, k: Any) -> tuple[Any, Any]:
    end = 1 / np.where(k == 0, 1.0, k)
    begin = expm1_over(-k, np.log(np.where(h > 0, h, 1.0)))
    low = np.where(h > 0, begin, np.where(k < 0, end, -numpy.inf))
    return low, np.where(k > 0, end, numpy.inf)


def _tukey_support(lam: Any) -> tuple[Any, Any]:
    """SciPy's does not have its ends; `closed` is about the lower one."""
    bounded = lam > 0
    end = 1 / np.where(bounded, lam, 1.0)
    below = math.nextafter(1.0, 0.0)
    return np.where(bounded, -end, -numpy.inf), np.where(bounded, end * below, numpy.inf)


CONTINUOUS |= {
    "ncx2": Law(
        lambda x, df, nc: _chi("log-pdf")(x, df, nc) - math.log(2), _chi("cdf"), _chi("sf"),
        support=above(0.0), valid=lambda df, nc: (df > 0) & (nc >= 0),
    ),
    "ncf": Law(
        _log_fraction, _fraction("cdf"), _fraction("sf"),
        support=above(0.0), valid=lambda n, d, nc: (n > 0) & (d > 0) & (nc >= 0),
    ),
    "nct": Law(
        lambda x, df, nc: np.log(_moment(1.0, x, df, nc)),
        lambda x, df, nc: call("student-cdf", x, df, nc),
        lambda x, df, nc: call("student-sf", x, df, nc), valid=lambda df, nc: df > 0,
    ),
    "landau": Law(
        lambda x: np.log(_landau(x)), lambda x: call("landau-cdf", x),
        lambda x: call("landau-sf", x),
    ),
    "tukeylambda": Law(
        lambda x, lam: np.log(_tukey_density(lam, call("tklmbda", x, lam))),
        lambda x, lam: call("tklmbda", x, lam), support=_tukey_support, valid=np.isfinite,
        inside=0.0, closed=False, quantile=lambda q, lam: _by_boxcox(lam, q),
    ),
    "kappa4": by_cumulative(
        lambda x, h, k: (1 - k) * _kappa_power(x, k) + (1 - h) * _log_kappa(x, h, k), _log_kappa,
        support=_kappa_support, valid=lambda h, k: (h == h) & (k == k), closed=False,
        quantile=lambda q, h, k: -expm1_over(k, np.log(-expm1_over(h, np.log(q)))),
    ),
}  # fmt: skip
UFUNCS |= {
    "tklmbda": _special.function("tklmbda"),
    "chndtr": lambda x, df, nc: _chi("cdf")(*inexact(x, df, nc)),
    "nctdtr": lambda df, nc, t: call("student-cdf", t, df, nc),
    "ncfdtr": lambda n, d, nc, f: _fraction("cdf")(*inexact(f, n, d, nc)),
}
