"""How SciPy's functions reach ours: `adopt`, `install`, the hook; what errors say; searches."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.linalg import det as early_det
from scipy.spatial.transform import Rotation

import lazynp as np
from lazynp.interop import _special_more as special_more, _stats as stats, scipy as hooks
from lazynp.interop._calls import any_traced
from tests.interop.rows import A, B, M, S, X


@pytest.fixture
def hooked() -> Iterator[None]:
    hooks.hook()
    yield
    hooks.unhook()


# -- the hook --------------------------------------------------------------------------------------


def test_rows_cover_the_tables() -> None:
    files = ("rows.py", "more_rows.py", "further_rows.py", "sparse_rows.py", "test_hook.py",
             "test_integrals.py", "test_sparse_derivatives.py", "test_active_sets.py")  # fmt: skip
    text = "".join(Path(__file__).with_name(f).read_text() for f in files)
    missing = [
        f"{place}.{name}"
        for table in (hooks.FUNCTIONS, hooks.SEARCHES, hooks.LINEAR)
        for place, rows in table.items()
        for name in rows
        if f".{name}(" not in text and f'"{name}"' not in text
    ]
    assert missing == []


def test_the_page_names_every_row() -> None:
    page = (Path(__file__).parents[2] / "docs" / "derivatives.md").read_text()
    names = {
        n
        for t in (hooks.FUNCTIONS, hooks.SEARCHES, hooks.LINEAR)
        for rows in t.values()
        for n in rows
    }
    names |= {*special_more.UFUNCS, *stats.CONTINUOUS, *stats.DISCRETE}
    assert [n for n in sorted(names) if f"`{n}`" not in page] == []


def test_unhooking_restores_every_name() -> None:
    hooks.unhook()  # `adopt` in another test has hooked them
    before = {
        (m, n): vars(sys.modules[m]).get(n) for m in hooks._MODULES if m in sys.modules
        for n in vars(sys.modules[m])
    }  # fmt: skip
    call = scipy.interpolate.interp1d.__call__
    hooks.hook()
    assert scipy.linalg.inv is not before["scipy.linalg", "inv"]
    assert scipy.interpolate.interp1d.__call__ is not call
    hooks.hook()  # again: nothing
    hooks.unhook()
    after = {k: vars(sys.modules[k[0]]).get(k[1]) for k in before}
    assert [k for k in before if before[k] is not after[k]] == []
    assert scipy.interpolate.interp1d.__call__ is call
    assert "__call__" not in vars(scipy.interpolate.interp1d)


def test_plain_arrays_go_to_scipy(hooked: None) -> None:
    assert type(scipy.linalg.inv(M)) is numpy.ndarray
    assert type(scipy.linalg.inv(np.asarray(M))) is numpy.ndarray
    assert scipy.linalg.inv.__name__ == "inv" and scipy.linalg.inv.__doc__
    assert pickle.loads(pickle.dumps(scipy.linalg.inv)) is scipy.linalg.inv
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(type(scipy.linalg.inv(M)))  # also inside of a transformation
        return x * 2

    np.grad(f)(1.0)
    assert seen == [numpy.ndarray]


def test_what_is_traced() -> None:
    x = np.asarray(X)
    assert not any_traced((x, [x]), {})
    flags: list[bool] = []

    def f(v: Any) -> Any:
        flags.append(any_traced((1, [v * 2]), {}))
        flags.append(any_traced((x,), {"y": {"z": v}}))
        flags.append(any_traced((x, v > 0.5), {}) != (v.ndim == 1))
        return v.sum()

    np.grad(f)(x)
    assert flags == [True, True, True]
    for transformed in (np.jit(f), np.vmap(f)):
        flags.clear()
        transformed(np.stack([x, x]))
        assert flags[:2] == [True, True]


def test_adopt_hooks_scipy() -> None:
    def f(x: Any) -> Any:
        return scipy.linalg.det(x * M)

    def g(x: Any) -> Any:
        return early_det(x * M)  # imported before the hook

    try:
        for h in (f, g):
            slope = np.grad(np.adopt(h))(np.asarray(1.0))
            assert slope == pytest.approx(4 * numpy.linalg.det(M))
        assert np.adopt(scipy.linalg) is scipy.linalg
        assert np.grad(lambda x: np.adopt(early_det)(x * M))(1.0) == pytest.approx(float(slope))
    finally:
        hooks.unhook()


def test_modules_that_load_later() -> None:
    code = """
        import sys
        import lazynp as np
        assert not [m for m in sys.modules if m.startswith("lazynp.interop")]
        np.install()
        assert not [m for m in ("scipy.stats", "scipy.signal") if m in sys.modules]
        import importlib
        stats = importlib.import_module("scipy.stats")
        from scipy.linalg import cho_factor, cho_solve
        f = lambda m: stats.norm.logpdf(1.5, m, 2.0)
        assert abs(float(np.grad(f)(0.5)) - 0.25) < 1e-12
        g = lambda s: cho_solve(cho_factor(np.eye(2) * s), np.ones(2)).sum()
        assert abs(float(np.grad(g)(2.0)) + 0.5) < 1e-12
        np.uninstall()
        assert not hasattr(cho_factor, "__wrapped__") or cho_factor.__module__
        import scipy.signal
        assert scipy.signal.lfilter.__globals__["__name__"].startswith("scipy")
        print("done")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert ran.stdout == "done\n", ran.stderr


def test_ranks_do_not_change(hooked: None) -> None:
    other = numpy.array([0.2, 0.9, 0.4, 0.5])

    def f(x: Any) -> Any:
        return (scipy.stats.spearmanr(x, other)[0] + scipy.stats.kendalltau(x, other)[0]) * x.sum()

    x = np.asarray(X)
    expected = scipy.stats.spearmanr(X, other)[0] + scipy.stats.kendalltau(X, other)[0]
    numpy.testing.assert_allclose(np.grad(f)(x), numpy.full(4, expected), rtol=1e-12)


# -- errors ----------------------------------------------------------------------------------------


def _message(f: Callable[[Any], Any]) -> str:
    with pytest.raises(TypeError) as error:
        np.jvp(f, (np.asarray(X),), (np.ones(4),))
    return str(error.value)


def test_errors_say_what_to_do() -> None:
    assert "scipy.linalg.inv takes no traced value: adopt(f), install()" in _message(
        lambda x: scipy.linalg.inv(x * M)
    )
    assert "adopt(f), install()" in _message(lambda x: scipy.stats.norm.logpdf(x))
    message = _message(lambda x: scipy.linalg.subspace_angles(x * M, M[:, :2]))
    assert "scipy.linalg.subspace_angles takes no traced value: there is no derivative" in message
    assert "the nearest that has one is scipy.signal.lfilter" in _message(
        lambda x: scipy.signal.lfiltic(x, numpy.ones(2), x)
    )


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda x: scipy.linalg.cossin(x * M, 2, 2), "cossin: .* np.linalg.svd of the blocks"),
        (lambda x: scipy.linalg.qz(x * M, S), "qz: .* take scipy.linalg.schur of solve"),
        (lambda x: scipy.linalg.ordqz(x * M, S), "ordqz: .* take scipy.linalg.schur"),
        (lambda x: scipy.linalg.rsf2csf(x * M, M), "rsf2csf: .* 'complex'"),
        (lambda x: scipy.linalg.funm(x * M, numpy.exp, disp=False), "funm: .* disp=False"),
        (lambda x: scipy.linalg.eig(x * M, left=True), "eig: .* left=True"),
        (lambda x: scipy.linalg.lu_factor(x * A.T), "lu_factor: .* not square"),
        (
            lambda x: scipy.special.eval_legendre(x, 0.3),
            "eval_legendre: no derivative by argument 0",
        ),
        (lambda x: scipy.special.eval_hermite(x, 0.3), "eval_hermite: no derivative by argument 0"),
        (
            lambda x: scipy.stats.gaussian_kde(x).resample(3),
            "gaussian_kde.resample: .* traced data",
        ),
        (lambda x: Rotation.from_rotvec(x[:3]).as_davenport(M, "e"), "as_davenport"),
        (lambda x: scipy.interpolate.BSpline(x, X, 0), "BSpline: .* the knots"),
        (lambda x: scipy.interpolate.interp1d(x, X, "cubic"), "interp1d: .* kind='cubic'"),
        (lambda x: scipy.interpolate.CubicSpline(x[:3], X[:3]), "CubicSpline: .* fewer than 4"),
        (lambda x: scipy.stats.studentized_range.pdf(x, 2.0, 3), "pdf takes no traced"),
        (lambda x: scipy.spatial.distance.cdist(x * M, M, "jaccard"), "metric='jaccard'"),
    ],
)
def test_refusals(hooked: None, call: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        np.jvp(call, (np.asarray(X),), (np.ones(4),))


def test_errors_are_scipys(hooked: None) -> None:
    for call, kind in (
        (lambda x: scipy.linalg.solve_banded((1, 1), x * M, X), ValueError),
        (lambda x: scipy.linalg.cholesky(-S * x), numpy.linalg.LinAlgError),
        (lambda x: scipy.interpolate.interp1d(X, x, assume_sorted=False)(9.0), ValueError),
        (lambda x: scipy.signal.sosfilt(x, X), ValueError),
    ):
        with pytest.raises(kind):
            call(X)
        with pytest.raises(kind):
            np.jvp(call, (np.asarray(X),), (np.ones(4),))


def test_a_spline_that_outlives_a_gradient(hooked: None) -> None:
    kept: list[Any] = []

    def f(y: Any) -> Any:
        kept[:] = [
            scipy.interpolate.interp1d(X.cumsum(), y),
            scipy.interpolate.CubicSpline(X.cumsum(), y),
        ]
        return kept[0](1.5) + kept[1](1.5)

    np.grad(f)(np.asarray(X))
    for spline, kind in zip(kept, (scipy.interpolate.interp1d, scipy.interpolate.CubicSpline)):
        want = kind(X.cumsum(), X)(1.5)
        numpy.testing.assert_allclose(numpy.asarray(spline(1.5)), want, rtol=1e-12)
    np.vmap(f)(np.stack([np.asarray(X)] * 2))
    for spline in kept:  # it has no single value
        with pytest.raises(TypeError):
            spline(1.5)


# -- phases, dtypes, edges -------------------------------------------------------------------------


def test_eigenvectors_are_scipys(hooked: None) -> None:
    for call in (
        lambda a: scipy.linalg.eigh(a)[1],
        lambda a: scipy.linalg.eigh(a, lower=False, subset_by_index=[0, 2])[1],
        lambda a: scipy.linalg.eigh(a, S + numpy.eye(4))[1],
    ):
        value, _ = np.jvp(call, (np.asarray(S),), (np.eye(4),))
        numpy.testing.assert_allclose(numpy.asarray(value), call(S), atol=1e-10)


def test_float32_stays(hooked: None) -> None:
    x = X.astype("f4")
    for call in (
        lambda x: scipy.linalg.inv(x[:, None] * x + M.astype("f4")),
        lambda x: scipy.linalg.expm(x[:, None] * x),
        lambda x: scipy.signal.lfilter(numpy.float32([1.0, 2]), numpy.float32([1.0, 0.5]), x),
        lambda x: scipy.integrate.trapezoid(x),
        lambda x: scipy.special.erfcx(x),
        lambda x: scipy.fft.rfft(x),
        lambda x: scipy.fft.dct(x),
        lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    ):
        expected = call(x)
        value, moved = np.jvp(call, (np.asarray(x),), (np.ones(4, "f4"),))
        assert value.dtype == moved.dtype == expected.dtype
        numpy.testing.assert_allclose(numpy.asarray(value), expected, rtol=2e-5, atol=2e-5)


def _shaped(call: Any, shapes: Any, x: Any) -> Any:
    return call(x, *shapes)


def test_outside_of_the_support(hooked: None) -> None:
    x = numpy.array([-1.0, 0.0, 0.5, 1.0, 2.0, numpy.inf, -numpy.inf, numpy.nan])
    laws = (
        ("beta", (1.0, 2.0)), ("gamma", (1.0,)), ("expon", ()), ("lognorm", (0.7,)),
        ("uniform", ()), ("norm", ()), ("t", (3.0,)), ("beta", (-1.0, 2.0)),
    )  # fmt: skip
    for law, shapes in laws:
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
            call = getattr(getattr(scipy.stats, law), name)
            with numpy.errstate(all="ignore"):
                expected = call(x, *shapes)
            ours = functools.partial(_shaped, call, shapes)
            value, moved = np.jvp(ours, (np.asarray(x),), (np.ones(8),))
            numpy.testing.assert_allclose(numpy.asarray(value), expected, 1e-12, 1e-14, str(call))
            ends = numpy.isnan(expected)
            assert not numpy.isnan(numpy.asarray(moved)[~ends]).any(), call
    for law, shapes in (("poisson", (1.5,)), ("binom", (3, 0.3)), ("geom", (0.3,))):
        for name in ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"):
            call = getattr(getattr(scipy.stats, law), name)
            k = numpy.array([-1.0, 0.0, 0.5, 1.0, 3.0, 4.0])
            with numpy.errstate(all="ignore"):
                expected = call(k, *shapes)
            ours = functools.partial(call, k, *shapes[:-1])
            value, _ = np.jvp(ours, (shapes[-1],), (1.0,))
            numpy.testing.assert_allclose(numpy.asarray(value), expected, 1e-12, 1e-14, str(call))


def test_sqrtm_with_a_complex_root(hooked: None) -> None:
    a = numpy.array([[0.0, 1.0], [-1.0, -2.0]]) - numpy.eye(2)
    with pytest.raises(ValueError, match="pass a complex matrix"):
        np.jvp(scipy.linalg.sqrtm, (np.asarray(a),), (np.eye(2),))
    value, moved = np.jvp(scipy.linalg.sqrtm, (np.asarray(a + 0j),), (np.eye(2) + 0j,))
    numpy.testing.assert_allclose(numpy.asarray(value), scipy.linalg.sqrtm(a), atol=1e-12)
    both = numpy.asarray(value @ moved + moved @ value)
    numpy.testing.assert_allclose(both, numpy.eye(2), atol=1e-10)


def test_a_point_is_no_distance_from_itself(hooked: None) -> None:
    p = np.asarray([[0.0, 0.0], [3.0, 4.0]])
    slope = np.grad(lambda p: scipy.spatial.distance.cdist(p, p).sum())(p)
    numpy.testing.assert_allclose(slope, [[-1.2, -1.6], [1.2, 1.6]], rtol=1e-12)


def test_second_derivatives(hooked: None) -> None:
    for call in (
        lambda x: scipy.linalg.expm(x[:, None] * x).sum(),
        lambda x: scipy.linalg.logm(x[:, None] * x + S).sum(),
        lambda x: scipy.linalg.solve_sylvester(x[:, None] * x + M, S[:2, :2], B).sum(),
        lambda x: scipy.linalg.lu_factor(x[:, None] * x + M)[0].sum(),
        lambda x: scipy.special.jv(1.5, x).sum(),
        lambda x: scipy.stats.gamma.logpdf(0.7, x, scale=x).sum(),
    ):
        np.check_grads(call, (np.asarray(X),), order=2, rtol=1e-4, atol=1e-4)


# -- searches --------------------------------------------------------------------------------------


def _cube(x: Any, a: Any) -> Any:
    return x**3 + a * x - 2.0


def _pair(x: Any, a: Any) -> Any:
    return np.stack([x[0] ** 2 + a * x[1] - 2.0, x[1] - 0.3 * x[0] ** 3])


def _bowl(x: Any, a: Any) -> Any:
    return (x[0] - a) ** 2 + (x[1] - a * x[0] ** 2) ** 2 + 0.1 * x[1] ** 4


def _valley(x: Any, a: Any) -> Any:
    return (x - a * a) ** 2 + 0.1 * x**4


opt = scipy.optimize
TIGHT = {"xtol": 1e-14, "rtol": 1e-14}
SEARCHES: dict[str, Callable[[Any], Any]] = {
    "brentq": lambda a: opt.brentq(_cube, 0.0, 2.0, (a,), **TIGHT),
    "brentq closure": lambda a: opt.brentq(lambda x: _cube(x, a), 0.0, 2.0, **TIGHT),
    "brenth": lambda a: opt.brenth(_cube, 0.0, 2.0, args=(a,), **TIGHT),
    "bisect": lambda a: opt.bisect(_cube, 0.0, 2.0, (a,), **TIGHT),
    "ridder": lambda a: opt.ridder(_cube, 0.0, 2.0, (a,), **TIGHT),
    "toms748": lambda a: opt.toms748(_cube, 0.0, 2.0, (a,), **TIGHT),
    "newton": lambda a: opt.newton(_cube, 1.0, args=(a,), tol=1e-13),
    "newton fprime": lambda a: opt.newton(
        _cube, 1.0, lambda x, a: 3 * x**2 + a, args=(a,), tol=1e-13
    ),
    "root_scalar": lambda a: opt.root_scalar(_cube, (a,), bracket=(0.0, 2.0), **TIGHT).root,
    "root_scalar x0": lambda a: (
        opt.root_scalar(lambda x: _cube(x, a), x0=1.0, x1=1.1, method="secant", xtol=1e-14).root
    ),
    "root": lambda a: opt.root(_pair, [1.0, 1.0], (a,), tol=1e-13).x,
    "fsolve": lambda a: opt.fsolve(_pair, [1.0, 1.0], args=(a,), xtol=1e-13),
    "root from an array of NumPy's": lambda a: opt.root(_pair, numpy.ones(2), (a,), tol=1e-13).x,
    "minimize from an array of NumPy's": lambda a: (
        opt.minimize(_bowl, numpy.ones(2), (a,), "BFGS", tol=1e-9).x
    ),
    "newton from a number of NumPy's": lambda a: opt.newton(
        _cube, numpy.float64(1.0), args=(a,), tol=1e-13
    ),
    "minimize": lambda a: opt.minimize(_bowl, [1.0, 1.0], (a,), "BFGS", tol=1e-9).x,
    "minimize closure": lambda a: (
        opt.minimize(
            lambda x: _bowl(x, a),
            [1.0, 1.0],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14},
        ).x
    ),
    "minimize fun": lambda a: opt.minimize(_bowl, [1.0, 1.0], (a,), tol=1e-9).fun,
    "minimize bounds": lambda a: (
        opt.minimize(
            _bowl, [0.3, 0.3], (a,), "L-BFGS-B", bounds=[(0, 0.5), (None, None)], tol=1e-13
        ).x
    ),
    "minimize_scalar": lambda a: opt.minimize_scalar(_valley, args=(a,), tol=1e-12).x,
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(hooked: None, name: str) -> None:
    f, at, h = SEARCHES[name], 1.2, 1e-3

    def plain(a: float) -> Any:
        return numpy.asarray(f(a))

    value, moved = np.jvp(f, (at,), (1.0,))
    numpy.testing.assert_array_equal(
        numpy.asarray(value), plain(at)
    )  # the very value that SciPy finds
    slope = (plain(at + h) - plain(at - h)) / (2 * h)
    numpy.testing.assert_allclose(numpy.asarray(moved), slope, rtol=1e-4, atol=1e-5)
    reverse = np.grad(lambda a: np.sum(f(a)))(at)
    assert reverse == pytest.approx(numpy.sum(numpy.asarray(moved)), rel=1e-9)
    second = np.grad(np.grad(lambda a: np.sum(f(a))))(at)
    h = 0.02
    curve = (plain(at + h).sum() - 2 * plain(at).sum() + plain(at - h).sum()) / h**2
    assert second == pytest.approx(curve, rel=2e-2, abs=5e-3)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_components_at_a_bound_do_not_move(hooked: None, method: str) -> None:
    def f(a: Any) -> Any:
        bounds = [(0, 0.5), (None, None)]
        return opt.minimize(_bowl, [0.3, 0.3], (a,), method, bounds=bounds, tol=1e-9).x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of quasi-Newton updates
        _, moved = np.jvp(f, (1.2,), (1.0,))
    expected = numpy.asarray(np.jvp(SEARCHES["minimize bounds"], (1.2,), (1.0,))[1])
    numpy.testing.assert_allclose(numpy.asarray(moved), expected, rtol=1e-3)
    assert moved[0] == 0


def test_a_search_that_ends_early_has_no_derivative(hooked: None) -> None:
    for f in (
        lambda a: opt.minimize(_bowl, [3.0, 3.0], (a,), "BFGS", options={"maxiter": 1}).x,
        lambda a: opt.bisect(_cube, 0.0, 2.0, (a,), xtol=0.5),
        lambda a: opt.root_scalar(_cube, (a,), bracket=(0.0, 2.0), xtol=0.5, method="bisect").root,
    ):
        with pytest.raises(RuntimeError, match="ended far from a solution"):
            np.jvp(f, (1.2,), (1.0,))


def test_special_functions_at_edges(hooked: None) -> None:
    sp = scipy.special
    x = numpy.array([-1.5, -0.5, 0.0, 0.3, 2.0, 3.5])
    for call in (
        lambda x: sp.binom(x, 2.0), lambda x: sp.binom(2.0, x), lambda x: sp.boxcox(x, 0.5),
        lambda x: sp.pdtr(x, 1.5), lambda x: sp.pdtrc(1.0, x), lambda x: sp.factorial(x),
    ):  # fmt: skip
        value, _ = np.jvp(call, (np.asarray(x),), (np.ones(6),))
        numpy.testing.assert_allclose(numpy.asarray(value), call(x), rtol=1e-13)
    for call in (lambda x: sp.multigammaln(x, 3), lambda x: sp.factorial(x, extend="complex")):
        with pytest.raises((ValueError, TypeError)):
            np.jvp(call, (np.asarray(x),), (np.ones(6),))


def test_searches_need_values(hooked: None) -> None:
    for transformed in (np.jit, np.vmap):
        with pytest.raises(TypeError, match="need values|only traced"):
            transformed(SEARCHES["brentq"])(
                np.asarray([1.2, 1.3])[0 if transformed is np.jit else ...]
            )


def test_a_search_that_sees_nothing_traced(hooked: None) -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(opt.brentq(lambda v: v**3 - 2.0, 0.0, 2.0))
        return x * found[-1]

    assert np.grad(f)(1.0) == pytest.approx(2 ** (1 / 3))
    assert type(found[0]) is float
