"""scipy.interpolate: piecewise polynomials by their coefficients and by slopes, and FITPACK's
splines through the data.

A method of SciPy's makes another polynomial of the coefficients, so it has their derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop import _curves
from lazynp.interop._calls import inexact, is_traced, refuse
from lazynp.interop._splines import breaks_of, evaluated, held, hold, keep_places, plain_places

# -- PPoly -----------------------------------------------------------------------------------------


def _down(c: Any, like: int) -> Any:
    """Numbers, one for each power, in the shape of coefficients."""
    return numpy.reshape(c, (-1, *[1] * (like - 1)))


def made(self: Any, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
    """`PPoly.__init__`, for traced coefficients."""
    if not isinstance(self, scipy.interpolate.PPoly):
        return NotImplemented
    if is_traced(x):
        refuse("PPoly", "the breakpoints x")
    (c,) = inexact(c)
    scipy.interpolate.PPoly.__init__(self, numpy.zeros(c.shape), x, extrapolate, axis)
    wide = numpy.result_type(c.dtype, numpy.float64)
    hold(self, "c", np.moveaxis(c, (axis, axis + 1), (0, 1)).astype(wide))
    return None


def _like(self: Any, c: Any, extrapolate: Any) -> Any:
    breaks = breaks_of(self)
    plain = plain_places(breaks)
    found = type(self).construct_fast(numpy.zeros((1, 1)), plain, extrapolate, self.axis)
    keep_places(found, breaks)
    hold(found, "c", c)
    return found


def derivative(self: Any, nu: int = 1) -> Any:
    """`PPoly.derivative`."""
    c = held(self, "c")
    if not is_traced(c):
        return NotImplemented
    if nu < 0:
        return antiderivative(self, -nu)
    if nu >= c.shape[0]:  # SciPy evaluates what is not traced
        return _like(self, numpy.zeros((1, *c.shape[1:]), c.dtype), self.extrapolate)
    for _ in range(nu):
        c = c[:-1] * _down(numpy.arange(c.shape[0] - 1.0, 0, -1), c.ndim)
    return _like(self, c, self.extrapolate)


def _summed(c: Any, breaks: Any) -> Any:
    """The coefficients of the antiderivative that is 0 at the first breakpoint."""
    grown = c / _down(numpy.arange(c.shape[0], 0.0, -1), c.ndim)
    width = np.diff(breaks)[:-1].reshape(-1, *[1] * (c.ndim - 2))
    parts = sum(k * width ** (c.shape[0] - i) for i, k in enumerate(grown[:, :-1]))
    starts = np.concatenate([np.zeros_like(grown[:1, 0]), np.cumsum(parts, axis=0)], axis=0)
    return np.concatenate([grown, starts[None]], axis=0)


def antiderivative(self: Any, nu: int = 1) -> Any:
    """`PPoly.antiderivative`."""
    c = held(self, "c")
    if not is_traced(c):
        return NotImplemented
    if nu <= 0:
        return derivative(self, -nu)
    for _ in range(nu):
        c = _summed(c, np.asarray(breaks_of(self)))
    return _like(self, c, False if self.extrapolate == "periodic" else self.extrapolate)


def integral(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """`PPoly.integrate`."""
    c = held(self, "c")
    breaks = breaks_of(self)
    if not is_traced((a, b, c, breaks)):
        return NotImplemented
    chosen = self.extrapolate if extrapolate is None else extrapolate
    if chosen == "periodic":
        refuse("PPoly.integrate", "extrapolate='periodic'")
    sums, ends = _summed(np.asarray(c), np.asarray(breaks)), inexact(a, b)
    first, last = [evaluated(sums, breaks, end, 0, chosen) for end in ends]
    return last - first


# -- by the slopes at the data's places ------------------------------------------------------------


def _data(self: Any, x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """The differences of x, which the object keeps, and y with the axis first."""
    data = np.moveaxis(inexact(y)[0], axis, 0)
    x = keep_places(self, x)
    return (x[1:] - x[:-1]).reshape(-1, *[1] * (data.ndim - 1)), data


def _with_slopes(self: Any, h: Any, data: Any, slopes: Any) -> None:
    rise = (data[1:] - data[:-1]) / h
    t = (slopes[:-1] + slopes[1:] - 2 * rise) / h
    hold(self, "c", np.stack([t / h, (rise - slopes[:-1]) / h - t, slopes[:-1], data[:-1]]))


def hermite(self: Any, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> Any:
    """`CubicHermiteSpline.__init__`, for traced values or slopes."""
    if type(self) is not scipy.interpolate.CubicHermiteSpline:
        return NotImplemented
    zeros = numpy.zeros(np.shape(y)), numpy.zeros(np.shape(dydx))  # SciPy checks the arguments
    plain = plain_places(x)
    scipy.interpolate.CubicHermiteSpline.__init__(self, plain, *zeros, axis, extrapolate)
    h, data = _data(self, x, y, axis)
    _with_slopes(self, h, data, np.moveaxis(inexact(dydx)[0], axis, 0))
    return None


def akima(
    self: Any, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> Any:
    """`Akima1DInterpolator.__init__`, for traced y: means of the slopes on both sides, weighted by
    how little they change further on.
    """
    if type(self) is not scipy.interpolate.Akima1DInterpolator:
        return NotImplemented
    zeros = numpy.zeros(np.shape(y))
    scipy.interpolate.Akima1DInterpolator.__init__(
        self, plain_places(x), zeros, axis, method=method, extrapolate=extrapolate
    )
    h, data = _data(self, x, y, axis)
    rise = (data[1:] - data[:-1]) / h
    if len(x) == 2:
        _with_slopes(self, h, data, np.concatenate([rise, rise], axis=0))
        return None
    left, right = 2 * rise[0] - rise[1], 2 * rise[-1] - rise[-2]
    ends = [2 * left - rise[0], left], [right, 2 * right - rise[-1]]
    m = np.concatenate([np.stack(ends[0]), rise, np.stack(ends[1])], axis=0)
    changes = np.abs(m[1:] - m[:-1])
    if method == "makima":
        changes = changes + 0.5 * np.abs(m[1:] + m[:-1])
    after, before = changes[2:], changes[:-2]
    both = after + before
    clear = np.stop_gradient(both) > 1e-9 * np.stop_gradient(both).max()
    share = before / np.where(clear, both, 1.0)
    mean = m[1:-2] + share * (m[2:-1] - m[1:-2])
    _with_slopes(self, h, data, np.where(clear, mean, 0.5 * (m[3:] + m[:-3])))
    return None


# -- FITPACK's splines through the data ------------------------------------------------------------


def _through(name: str, x: Any, y: Any, fit: Callable[[Any], Any]) -> tuple[Any, Any, int]:
    """(t, c, k) for traced y: the coefficients are linear in it. fit: SciPy's, of numbers."""
    if is_traced(x):
        refuse(name, "the places x of the data")
    (y,) = inexact(y)
    fits = [fit(unit) for unit in numpy.eye(y.shape[0])]
    t, _, k = fits[0]
    return t, numpy.stack([c for _, c, _ in fits], axis=-1) @ y, k


def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0,
    s: Any = None, t: Any = None, full_output: Any = 0, per: Any = 0, quiet: Any = 1,
) -> Any:  # fmt: skip
    if is_traced((w, xb, xe, s, t)) or full_output or (task == 0 and (s or w is not None)):
        refuse("splrep", "what is not an interpolation of y: s, w, full_output")
    plain, options = scipy.interpolate.splrep, {"w": w, "xb": xb, "xe": xe, "k": k, "task": task,
                                                "s": s, "t": t, "per": per}  # fmt: skip
    return _through("splrep", x, y, lambda unit: plain(x, unit, **options))


def interpolating(
    self: Any, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
    check_finite: bool = False,
) -> Any:  # fmt: skip
    """`InterpolatedUnivariateSpline.__init__`, for traced y."""
    return univariate(self, x, y, w, bbox, k, 0.0, ext, check_finite)


def univariate(
    self: Any, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
    ext: Any = 0, check_finite: bool = False,
) -> Any:  # fmt: skip
    """`UnivariateSpline.__init__`, for traced y."""
    name = type(self).__name__
    if s != 0 or is_traced((x, w, bbox)):
        refuse(name, "what is not an interpolation of y: s is not 0")
    kind = scipy.interpolate.InterpolatedUnivariateSpline
    ends = list(bbox)

    def fit(values: Any) -> Any:
        return kind(x, values, w, ends, k, ext, check_finite)._eval_args

    found = kind(x, numpy.zeros(np.shape(y)), w, ends, k, ext, check_finite)
    vars(self).update(vars(found))
    if type(self) is scipy.interpolate.UnivariateSpline:
        self.__class__ = kind  # as SciPy does
    self._eval_args = _through(name, x, y, fit)
    return None


def _as_spline(self: Any) -> Any:
    """The BSpline that this is, if its coefficients are traced."""
    t, c, k = self._eval_args
    if not is_traced(c):
        return None
    found = object.__new__(scipy.interpolate.BSpline)
    _curves.spline(found, t, c[: len(t) - k - 1], k, True)
    return found


def univariate_at(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """`UnivariateSpline.__call__`."""
    if not is_traced((x, self._eval_args[1])):
        return NotImplemented
    return _curves.univariate_at(self, x, nu, ext)


def univariate_integral(self: Any, a: Any, b: Any) -> Any:
    """`UnivariateSpline.integral`: nothing outside of the data."""
    spline = _as_spline(self)
    return NotImplemented if spline is None else spline.integrate(a, b, extrapolate=False)


def univariate_derived(name: str) -> Any:
    """`UnivariateSpline.derivative` and `antiderivative`."""

    def method(self: Any, n: int = 1) -> Any:
        spline = _as_spline(self)
        if spline is None:
            return NotImplemented
        found = getattr(spline, name)(n)
        made = object.__new__(scipy.interpolate.UnivariateSpline)
        made.ext = 1 if self.ext == 3 and name == "derivative" else self.ext
        made._eval_args = found.t, held(found, "c"), found.k
        return made

    return method


def univariate_untraced(name: str) -> Any:
    """A method that is FITPACK's alone."""

    def method(self: Any, *_: Any) -> Any:
        if is_traced(self._eval_args[1]):
            refuse(f"UnivariateSpline.{name}", "a spline of traced data")
        return NotImplemented

    return method


def smoothing(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """`make_smoothing_spline` with a given penalty: linear in y."""
    if is_traced((x, w, lam)) or lam is None:
        refuse("make_smoothing_spline", "what is not the values y, or without lam")
    data = np.moveaxis(inexact(y)[0], axis, 0)
    found = scipy.interpolate.make_smoothing_spline(x, numpy.eye(data.shape[0]), w, lam)
    out = object.__new__(scipy.interpolate.BSpline)
    c = np.moveaxis(np.tensordot(found.c, data, axes=1), 0, axis)
    _curves.spline(out, found.t, c, found.k, found.extrapolate, axis)
    return out
