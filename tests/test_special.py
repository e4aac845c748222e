"""lazynp.special: SciPy's values, derivatives, shapes and dtypes, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.special
from hypothesis import given, strategies as st

import lazynp


@pytest.fixture
def uncompiled() -> Any:
    """The lowerings have their tests in tests/primitives, and compiling takes long."""
    with lazynp.config(execution="reference"):
        yield


INF, NAN = np.inf, np.nan
EDGES = [INF, -INF, NAN, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 40.0, -40.0, 1e-20]

# name: SciPy's name, arguments as intervals inside its domain
FUNCTIONS: dict[str, tuple[str, tuple[tuple[float, float], ...]]] = {
    "erf": ("erf", ((-3, 3),)),
    "erfc": ("erfc", ((-3, 8),)),
    "erfinv": ("erfinv", ((-0.99, 0.99),)),
    "ndtr": ("ndtr", ((-8, 5),)),
    "ndtri": ("ndtri", ((1e-9, 0.999),)),
    "log_ndtr": ("log_ndtr", ((-40, 5),)),
    "expit": ("expit", ((-9, 9),)),
    "logit": ("logit", ((0.01, 0.99),)),
    "xlogy": ("xlogy", ((0, 3), (0.1, 3))),
    "xlog1py": ("xlog1py", ((0, 3), (-0.9, 3))),
    "entr": ("entr", ((0.1, 3),)),
    "rel_entr": ("rel_entr", ((0.1, 3), (0.1, 3))),
    "kl_div": ("kl_div", ((0.1, 3), (0.1, 3))),
    "gamma": ("gamma", ((0.1, 20),)),
    "gammaln": ("gammaln", ((0.1, 50),)),
    "digamma": ("psi", ((0.1, 50),)),
    "factorial": ("factorial", ((0, 20),)),
    "beta": ("beta", ((0.1, 9), (0.1, 9))),
    "betaln": ("betaln", ((0.1, 90), (0.1, 90))),
    "gammainc": ("gammainc", ((0.1, 20), (0.1, 30))),
    "gammaincc": ("gammaincc", ((0.1, 20), (0.1, 30))),
    "zeta": ("zeta", ((1.5, 9), (0.5, 9))),
    "i0": ("i0", ((-9, 9),)),
    "i0e": ("i0e", ((-9, 9),)),
    "i1": ("i1", ((-9, 9),)),
    "i1e": ("i1e", ((-9, 9),)),
}
OF_INTEGERS = {"factorial"}  # SciPy's is, of integer dtypes, exact or of another dtype
NOT_BY = {"zeta": {0}}  # the derivative that is not implemented
LIMITS_OUR_OWN = {"i0": np.isinf, "i1": np.isinf, "factorial": lambda x: x < 0}


def draw(name: str, size: int = 6) -> list[Any]:
    rng = np.random.default_rng(len(name))
    return [rng.uniform(low, high, size) for low, high in FUNCTIONS[name][1]]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, dtype: str) -> None:
    of_scipy, intervals = FUNCTIONS[name]
    args = [x.astype(dtype) for x in draw(name)]
    want = getattr(scipy.special, of_scipy)(*[x.astype("f8") for x in args])
    got = getattr(lazynp.special, name)(*map(lazynp.array, args))
    assert got.dtype == np.dtype(dtype) and type(got) is lazynp.ndarray
    np.testing.assert_allclose(got, want, rtol=1e-12 if dtype == "f8" else 2e-6, atol=1e-15)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if len(FUNCTIONS[n][1]) == 1])
def test_edges(name: str, uncompiled: None) -> None:
    x = np.array(EDGES)
    want = getattr(scipy.special, FUNCTIONS[name][0])(x)
    got = np.asarray(getattr(lazynp.special, name)(lazynp.array(x)))
    ours = LIMITS_OUR_OWN.get(name, np.zeros_like)(x).astype(bool)
    np.testing.assert_allclose(got[~ours], want[~ours], rtol=1e-12, atol=1e-15)


def test_limits_of_our_own() -> None:
    """Where SciPy is NaN, or another function."""
    s = lazynp.special
    assert s.i0([INF, -INF]).tolist() == [INF, INF] and s.i1([INF, -INF]).tolist() == [INF, -INF]
    assert s.factorial([-1, -0.5]).tolist() == [0.0, 0.0]
    for execution in ("reference", "compiled"):
        with lazynp.config(execution=execution):
            got = s.beta(np.array([-1.0, -0.5, -0.3]), np.array([0.5, -0.5, 1.7]))
            np.testing.assert_allclose(got, [NAN, 0.0, scipy.special.beta(-0.3, 1.7)], rtol=1e-14)
    # by 40 digits of mpmath: -10.635175288390588998; SciPy has -10.6351752877
    assert abs(float(s.betaln(1e6, 0.7820845225598966)) + 10.635175288390589) < 1e-14


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str, uncompiled: None) -> None:
    """To second order, each argument alone, against differences; a row of a batch is a call."""
    function, args = getattr(lazynp.special, name), draw(name, 2)
    args = [np.clip(x, low + 0.05, high - 0.05) for x, (low, high) in zip(args, FUNCTIONS[name][1])]
    for i in set(range(len(args))) - NOT_BY.get(name, set()):

        def of_one(x: Any, i: int = i) -> Any:
            return function(*[x if j == i else a for j, a in enumerate(args)])

        x = lazynp.array(args[i])
        lazynp.check_grads(of_one, (x,), order=2, rtol=1e-4, atol=1e-5, modes=("fwd",))
        np.testing.assert_allclose(
            lazynp.grad(lambda x: of_one(x).sum())(x),
            lazynp.jvp(of_one, (x,), (lazynp.ones(2),))[1],
            rtol=1e-12,
        )
    rows = lazynp.vmap(function)(*map(lazynp.array, args))
    np.testing.assert_allclose(rows, function(*args), rtol=1e-15)


def test_derivatives_that_are_not_there() -> None:
    s = lazynp.special
    with pytest.raises(TypeError, match="zeta: no derivative by x"):
        lazynp.grad(lambda x: s.zeta(x, 1.0))(2.0)
    with pytest.raises(TypeError, match="polygamma: no derivative by n"):
        lazynp.grad(lambda n: s.polygamma(n, 1.0))(2.0)


def test_derivatives_at_edges(uncompiled: None) -> None:
    s, grad = lazynp.special, lazynp.grad
    assert grad(s.xlogy, 1)(0.0, 0.0) == 0.0 and grad(s.xlog1py, 1)(0.0, -1.0) == 0.0
    assert grad(s.i1)(0.0) == 0.5 and grad(s.i1e)(0.0) == 0.5 and grad(s.i0)(0.0) == 0.0
    assert grad(s.expit)(800.0) == 0.0 and abs(float(grad(s.expit)(40.0)) - np.exp(-40)) < 1e-32
    assert abs(float(grad(s.log_ndtr)(-1e4)) / 1e4 - 1) < 1e-7
    x = lazynp.array([0.0, -INF, 1.0])
    np.testing.assert_allclose(grad(s.logsumexp)(x), scipy.special.softmax(x), rtol=1e-15)


@pytest.mark.parametrize("by", ["xy", "yx", "xyy", "yxy", "yyx", "yyyx", "xyyy"])
@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_mixed_derivatives_where_a_factor_is_zero(name: str, by: str, uncompiled: None) -> None:
    backward: Any = getattr(lazynp.special, name)
    y = 2.0 if name == "xlogy" else 1.0  # the logarithm's derivatives are those at 2
    for argument in by:
        backward = lazynp.grad(backward, "xy".index(argument))
    want = {1: 1 / 2, 2: -1 / 4, 3: 1 / 4}[by.count("y")]
    assert abs(float(backward(0.0, y)) - want) < 1e-15
    assert abs(float(lazynp.jit(backward)(0.0, y)) - want) < 1e-15


def test_gammainc_by_its_shape(uncompiled: None) -> None:
    """The values are mpmath's, with 40 digits."""
    table = {
        (0.5, 0.7): (-0.5313388305051272, -0.07449247900709531, 0.8508481450663752),
        (2.5, 1.3): (-0.22962689833555938, 0.15826392630864444, -0.01869793351002147),
        (2.5, 6.0): (-0.04392923998836797, -0.03918544009841709, -0.016713530589173103),
        (40.0, 43.0): (-0.0547572525016022, -0.0039654944105621155, 0.0010846773016994435),
    }
    s, grad = lazynp.special, lazynp.grad
    for place, wanted in table.items():
        below: Any = s.gammainc
        above: Any = s.gammaincc
        for want in wanted:
            below, above = grad(below), grad(above)
            np.testing.assert_allclose(float(below(*place)), want, rtol=1e-11)
            np.testing.assert_allclose(float(above(*place)), -want, rtol=1e-11)
    a, x = (lazynp.array(list(v)) for v in zip(*table, strict=True))
    wanted = [values[1] for values in table.values()]
    twice = grad(grad(s.gammainc))
    np.testing.assert_allclose(lazynp.vmap(twice)(a, x), wanted, rtol=1e-11)
    both = lazynp.hessian(lambda p: s.gammainc(p[0], p[1]))(lazynp.array([2.5, 1.3]))
    mixed = 1.3**1.5 * np.exp(-1.3) / math.gamma(2.5) * (np.log(1.3) - float(s.digamma(2.5)))
    np.testing.assert_allclose(both[0], [table[2.5, 1.3][1], mixed], rtol=1e-11)
    np.testing.assert_allclose(both[1, 0], mixed, rtol=1e-11)


def test_gammainc_by_a_large_shape(uncompiled: None) -> None:
    """Above 1e5 the slope has another expansion. Both methods agree where they meet."""
    twice = lazynp.grad(lazynp.grad(lazynp.special.gammainc))
    for x in (99_500.0, 100_300.0, 100_600.0):
        below, above = (float(twice(a, x)) for a in (99_999.9, 100_000.1))
        change = 0.2 * float(lazynp.grad(twice)(99_999.9, x))
        np.testing.assert_allclose(above, below + change, rtol=1e-6)


def test_trigamma(uncompiled: None) -> None:
    """The first polygamma function and the derivative of digamma have a formula of their own."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.uniform(0.01, 30, 200), np.geomspace(1e-150, 1e300, 60), -rng.uniform(0.01, 30, 100)]
    )
    expected = scipy.special.polygamma(1, x)
    lazy = lazynp.array(x)
    for found in (
        lazynp.special.polygamma(1, lazy),
        lazynp.grad(lambda x: lazynp.special.digamma(x).sum())(lazy),
        lazynp.jit(lambda x: lazynp.special.polygamma(1, x))(lazy),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    edges = [0.0, -0.0, -1.0, -3.0, np.inf]
    np.testing.assert_array_equal(lazynp.special.polygamma(1, edges), [np.inf] * 4 + [0])
    assert lazynp.special.polygamma(1, np.float32(2)).dtype == np.float32
    assert lazynp.special.polygamma(1, 2).dtype == np.float64


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n: int, uncompiled: None) -> None:
    x = np.array([0.1, 1.0, 7.5, 100.0])
    np.testing.assert_allclose(
        lazynp.special.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-12
    )
    lazynp.check_grads(lambda x: lazynp.special.polygamma(n, x), (x[1:3],), modes=("fwd",))


A = np.array([[1.0, -2.0, 800.0], [-INF, 0.5, 3.0], [-INF, -INF, -INF]])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_logsumexp_and_softmax(axis: Any) -> None:
    s, x = lazynp.special, lazynp.array(A)
    b = np.array([[1.0, -0.5, 0.0], [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    for keepdims in (False, True):
        got, want = (m.logsumexp(A, axis, keepdims=keepdims) for m in (s, scipy.special))
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert np.shape(got) == np.shape(want)
        with np.errstate(all="ignore"):
            options = {"axis": axis, "b": b, "return_sign": True, "keepdims": keepdims}
            want = scipy.special.logsumexp(A, **options)
        for g, w in zip(s.logsumexp(x, **options), want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-14)
    for name in ("softmax", "log_softmax"):
        with np.errstate(all="ignore"):
            want = getattr(scipy.special, name)(A[:2], axis=axis if axis != (0, 1) else None)
        np.testing.assert_allclose(getattr(s, name)(x[:2], axis=axis), want, rtol=1e-13)


def test_logsumexp_options() -> None:
    s = lazynp.special
    assert np.isnan(np.asarray(s.logsumexp([1.0, 2.0], b=[1.0, -1.0])))
    got = s.logsumexp(np.array([1.0, 700.0]), where=np.array([True, False]))
    assert float(got) == 1.0
    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(s.logsumexp(z), scipy.special.logsumexp(z), rtol=1e-14)
    assert s.logsumexp(np.array([1, 2])).dtype == np.float64
    f = lambda x: s.logsumexp(x, b=lazynp.array([1.0, 0.0, 2.0]))  # noqa: E731
    lazynp.check_grads(f, (lazynp.array([0.3, 700.0, -0.2]),), order=2, rtol=1e-4)


def test_dtypes_shapes_and_errors() -> None:
    s = lazynp.special
    assert s.erf(np.float16(1)).dtype == np.float16 and s.erf(1).dtype == np.float64
    assert s.gamma(np.arange(3)).dtype == np.float64
    assert s.beta(np.ones((2, 1), "f4"), 2).shape == (2, 1)
    assert s.beta(np.ones((2, 1), "f4"), 2).dtype == np.float32
    assert s.xlogy(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert type(s.erf(0.5)) is lazynp.Scalar
    with pytest.raises(TypeError, match="gamma: real arguments"):
        s.gamma(1j)
    with pytest.raises(ValueError, match="broadcast"):
        s.xlogy(np.ones(2), np.ones(3))
    with pytest.raises(NotImplementedError, match="exact"):
        s.factorial(3, exact=True)


def test_scipys_functions_of_lazy_arrays() -> None:
    """SciPy's ufuncs dispatch to these, under transformations too."""
    x = lazynp.array([0.5, 1.5])
    assert type(scipy.special.psi(x)) is lazynp.ndarray
    got = lazynp.jit(lazynp.grad(lambda x: (scipy.special.gammaln(x) * x).sum()))(x)
    want = scipy.special.psi(np.asarray(x)) * np.asarray(x) + scipy.special.gammaln(np.asarray(x))
    np.testing.assert_allclose(got, want, rtol=1e-12)


# -- convolution -----------------------------------------------------------------------------------

SHAPES = [((7,), (3,)), ((3,), (6,)), ((5, 4), (2, 3)), ((3, 4, 3), (2, 1, 2)), ((4, 4), (4, 4))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolve(mode: Any, shapes: Any) -> None:
    rng = np.random.default_rng(1)
    for dtype in ("f8", "i8", "c16"):
        x, k = (rng.integers(-9, 9, s).astype(dtype) for s in shapes)
        if dtype == "c16":
            x, k = x + 1j * x[::-1], k - 2j * k
        for name in ("convolve", "correlate"):
            want = getattr(scipy.signal, name)(x, k, mode, method="direct")
            got = getattr(lazynp.special, name)(lazynp.array(x), k, mode)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-13)
    np.testing.assert_allclose(
        lazynp.special.convolve(x, k, mode, method="fft"),
        scipy.signal.convolve(x, k, mode),
        atol=1e-12,
    )


def test_convolve_rules(uncompiled: None) -> None:
    rng = np.random.default_rng(2)
    x, k = lazynp.array(rng.normal(size=(5, 4))), lazynp.array(rng.normal(size=(2, 3)))
    for mode in ("full", "same", "valid"):
        f = lambda x, k, m=mode: lazynp.special.convolve(x, k, m)  # noqa: E731
        lazynp.check_grads(f, (x, k), order=2, rtol=1e-4)
    many = lazynp.array(rng.normal(size=(3, 2, 3)))
    rows = lazynp.jit(lazynp.vmap(lambda k: lazynp.special.convolve(x, k, "same")))(many)
    for row, kernel in zip(rows, many):
        np.testing.assert_allclose(row, scipy.signal.convolve(x, kernel, "same"), atol=1e-12)


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["full", "same", "valid"]))
def test_numpys_convolve(n: int, m: int, mode: Any) -> None:
    with lazynp.config(execution="reference"):
        x, k = np.arange(1.0, n + 1), np.arange(2.0, m + 2) ** 2
        for name in ("convolve", "correlate"):
            want = getattr(np, name)(x, k, mode)
            np.testing.assert_allclose(getattr(lazynp, name)(lazynp.array(x), k, mode), want)


def test_convolve_errors() -> None:
    f, x = lazynp.special.convolve, np.ones((3, 3))
    for match, args in {
        "dimensions": (x, x[0]),
        "mode": (x, x, "all"),
        "method": (x, x, "full", "slow"),
        "empty": (x, x[:0]),
        "neither": (np.ones((2, 5)), x, "valid"),
    }.items():
        with pytest.raises(ValueError, match=match):
            f(*args)


WEAK = ["xlogy", "xlog1py", "rel_entr", "beta", "betaln", "gammainc", "gammaincc", "zeta"]


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_number_of_pythons_has_no_dtype(name: str, dtype: str) -> None:
    """Beside an array of float32, the result is one, and so is its memory."""
    x = np.array([1.25, 1.5, 1.75]).astype(dtype)
    ours, theirs = getattr(lazynp.special, name), getattr(scipy.special, name)
    lazy = lazynp.asarray(x)
    for with_number in (lambda v: (2.5, v), lambda v: (v, 2.5), lambda v: (3, v), lambda v: (v, 2)):
        for part in (slice(None), 1):
            got, want = ours(*with_number(lazy[part])), theirs(*with_number(x[part]))
            assert got.dtype == np.asarray(got).dtype == dtype
            assert got.shape == np.shape(got) == want.shape
            np.testing.assert_allclose(np.asarray(got), want, rtol=3e-6 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("name", ["erf", "gammaln", "expit", "ndtri", "xlogy", "betaln", "entr"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1"])
def test_ufuncs_of_scipys(name: str, dtype: str) -> None:
    """Called by SciPy's name; the second and third call may take a shorter way."""
    function: Any = getattr(scipy.special, name)
    x = (np.array([0.25, 0.5, 0.75, 0.875]) * (1 if dtype[0] == "f" else 8)).astype(dtype)
    for _ in range(3):
        for of in (lambda v: v, lambda v: v[1], lambda v: v[:0], lambda v: v.reshape(2, 2).T):
            lazy, plain = of(lazynp.asarray(x)), of(x)
            got, want = function(*[lazy] * function.nin), function(*[plain] * function.nin)
            assert isinstance(got, lazynp.ndarray) == isinstance(want, np.ndarray)
            assert got.shape == np.shape(got) == want.shape
            assert got.dtype == np.asarray(got).dtype
            rtol = {"f2": 3e-3, "f4": 3e-6}.get(got.dtype.str[1:], 1e-12)
            np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=rtol / 100)
            if dtype in ("f4", "f8"):
                assert got.dtype == want.dtype
