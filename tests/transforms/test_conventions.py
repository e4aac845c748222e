"""JAX's conventions at the edges: refusals, orders of arguments, derivatives at points where a
function has none or where its formula breaks down.
"""

from functools import reduce
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, grad, hessian, jacfwd, jacrev, jit, linear_transpose, transforms

INF = np.inf
X = np.array([0.3, -1.2, 2.0])
ADD: Any = "add"  # no function


def test_every_transformation_is_in_their_room_too() -> None:
    names = set("adopt associative_scan block_until_ready tree scan vmap".split())
    for name in names:
        assert getattr(transforms, name) is getattr(np, name)
    assert names <= set(transforms.__all__) and names <= set(dir(transforms))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = transforms.nothing


@pytest.mark.parametrize(
    ("jacobian", "f", "x"),
    [
        (jacrev, lambda z: z * np.conj(z), 1 + 2j),
        (jacrev, lambda x: np.exp(1j * x), X),
        (jacfwd, lambda z: np.abs(z) ** 2, 1 + 2j),
        (jacrev, lambda x: x.argmax(), X),
    ],
    ids=["complex results", "complex results of real", "complex inputs", "integers"],
)
def test_what_one_row_or_column_cannot_say(jacobian: Any, f: Any, x: Any) -> None:
    with pytest.raises(TypeError, match="must be real|real inputs are required"):
        jacobian(f)(x)


def test_complex_jacobians() -> None:
    x = numpy.asarray(X)
    numpy.testing.assert_allclose(
        jacfwd(lambda x: np.exp(1j * x))(X), numpy.diag(1j * numpy.exp(1j * x))
    )
    z = np.array([1 + 2j, 3.0])
    for jacobian in (jacfwd, jacrev):
        got = jacobian(lambda z: z**3, holomorphic=True)(z)
        numpy.testing.assert_allclose(got, numpy.diag(3 * numpy.asarray(z) ** 2))
    with pytest.raises(TypeError, match="complex"):
        jacrev(lambda z: np.abs(z), holomorphic=True)(z)


def test_the_fraction_of_a_number_has_slope_one_at_whole_numbers_too() -> None:
    x = np.array([-2.0, -1.0, -0.0, 0.0, 1.0, 2.5, -2.5])
    ones = numpy.ones(7)
    for slope in (grad(lambda x: np.modf(x)[0].sum()), jit(grad(lambda x: np.modf(x)[0].sum()))):
        numpy.testing.assert_array_equal(slope(x), ones)
    for f in (np.modf, jit(np.modf)):
        got, want = numpy.asarray(f(x)[0]), numpy.modf(numpy.asarray(x))[0]
        numpy.testing.assert_array_equal(got, want)
        numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(want))


@np.custom_vjp
def _squared(x: Any) -> Any:
    return x**2


@np.custom_vjp
def _wrong(x: Any) -> Any:
    return x**2


_squared.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))
_wrong.defvjp(lambda x: (x**2, x), lambda x, ct: (3 * x * ct,))


def test_check_grads_by_one_mode() -> None:
    """Reverse mode needs no forward mode; steps and tolerances are those of the dtype."""
    check_grads(_squared, (2.0,), 2, modes=["rev"])
    with pytest.raises(AssertionError, match="vjp"):
        check_grads(_wrong, (2.0,), 1, modes=["rev"])
    check_grads(np.sin, (X.astype("f4"),), 2)
    check_grads(lambda x, nothing: np.sin(x), (X, None), 1)
    with pytest.raises(AssertionError, match="jvp"):
        check_grads(lambda x: np.sin(x) + 0.1 * np.stop_gradient(x), (X.astype("f4"),), 1)


@pytest.mark.parametrize("ct", [X, np.ones(2, "f4")], ids=["dtype", "shape"])
def test_cotangents_of_linear_transpose_are_checked(ct: Any) -> None:
    transposed = linear_transpose(lambda x: 2.0 * x, np.ones(3, "f4"))
    with pytest.raises(TypeError, match="a cotangent must be like its result"):
        transposed(ct)
    assert transposed(np.ones(3, "f4"))[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_associative_scan_backwards_is_that_of_the_opposite_order(n: int) -> None:
    m = numpy.random.default_rng(0).normal(size=(n, 2, 2))
    got = np.associative_scan(np.matmul, np.array(m), reverse=True)
    want = [reduce(numpy.matmul, m[i:][::-1]) for i in range(n)]
    numpy.testing.assert_allclose(got, want)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: np.associative_scan(ADD, X), TypeError),
        (lambda: np.associative_scan(np.add, (X, X[:2])), ValueError),
        (lambda: np.associative_scan(lambda a, b: (a, b), X), TypeError),
        (lambda: np.map(np.sin, X, batch_size=0), ValueError),
    ],
)
def test_errors_of_loops(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="associative_scan: |map: "):
        call()


@pytest.mark.parametrize("n", [0, 2, 6, 7])
def test_map_by_batches(n: int) -> None:
    x = np.arange(float(n))
    got = np.map(lambda d: {"y": d["x"] ** 2, "z": (d["m"].sum(),)}, {"x": x, "m": np.ones((n, 2))},
                 batch_size=3)  # fmt: skip
    numpy.testing.assert_allclose(got["y"], numpy.arange(float(n)) ** 2)
    numpy.testing.assert_allclose(got["z"][0], numpy.full(n, 2.0))


def test_leaves_may_be_said_to_be_leaves() -> None:
    is_pair = lambda x: isinstance(x, tuple)  # noqa: E731
    assert np.tree.leaves([(1, 2), 3], is_leaf=is_pair) == [(1, 2), 3]
    assert np.tree.structure([(1, 2), 3], is_leaf=is_pair) == np.tree.structure([0, 0])


# -- derivatives at points that are special --------------------------------------------------------

POINTS: list[tuple[Any, tuple[float, ...], list[float]]] = [
    (np.logaddexp, (INF, INF), [1, 1]),
    (np.logaddexp, (-INF, INF), [0, 1]),
    (np.logaddexp, (INF, 0.0), [1, 0]),
    (np.logaddexp, (-INF, -INF), [0, 0]),
    (np.logaddexp, (-INF, 0.0), [0, 1]),
    (np.logaddexp2, (INF, -INF), [1, 0]),
    (np.hypot, (0.0, 0.0), [0.5, 0.5]),
    (np.hypot, (0.0, 2.0), [0, 1]),
    (lambda x: grad(np.hypot)(x, 0.0), (0.0,), [0]),
    (lambda x: np.i0(x), (0.0,), [0]),
    (lambda x: numpy.i0(np.exp(x))[()], (-INF,), [0]),
    (lambda x: grad(lambda x: np.abs(x + 0j))(x), (0.0,), [0]),
    (lambda x: np.copysign(x, -1.0), (0.0,), [-1]),
    (lambda x: np.copysign(x, -1.0), (-0.0,), [1]),
    (np.abs, (0.0,), [1]),
    (np.abs, (-0.0,), [1]),
    (np.fabs, (0.0,), [1]),
    (lambda x, y: np.linalg.norm(np.stack([x, y]), 1), (0.0, -2.0), [1, -1]),
    (lambda x, y: np.linalg.norm(np.stack([x, y]), np.inf), (0.0, 0.0), [0.25, 0.25]),
    (lambda x, y: np.linalg.norm(np.stack([x, y])), (0.0, 0.0), [0, 0]),
    (np.sinc, (0.0,), [0]),
    (np.sinc, (1e-9,), [-(np.pi**2) * 1e-9 / 3]),
    (np.sinc, (1e-320,), [0]),
    (grad(np.sinc), (0.0,), [-(np.pi**2) / 3]),
    (grad(grad(grad(np.sinc))), (0.0,), [np.pi**4 / 5]),
]


@pytest.mark.parametrize("case", range(len(POINTS)))
def test_derivatives_at_special_points(case: int) -> None:
    f, at, want = POINTS[case]
    argnums = tuple(range(len(at)))
    for g in (grad(f, argnums), jit(grad(f, argnums))):
        numpy.testing.assert_allclose(g(*at), want, rtol=1e-12, atol=1e-300)


def test_sinc_around_the_point_where_its_series_ends() -> None:
    x = numpy.concatenate([numpy.linspace(-0.05, 0.05, 401), [0.0, INF, numpy.nan]])
    for dtype, ulps in (("f8", 2), ("f4", 2), ("c16", 8)):
        v = x[:-2].astype(dtype) if dtype == "c16" else x.astype(dtype)
        eps = float(numpy.finfo(dtype).eps)
        with numpy.errstate(invalid="ignore"):
            want = numpy.sinc(v)
        numpy.testing.assert_allclose(jit(np.sinc)(v), want, rtol=ulps * eps)
    check_grads(np.sinc, (np.array([0.0318, 0.0319, -0.03, 0.4]),), 2)


def test_interp_has_a_slope_at_the_points_themselves() -> None:
    points, values = np.array([0.0, 1.0, 3.0]), np.array([0.0, 3.0, 4.0])
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    got = grad(lambda x: np.interp(x, points, values).sum())(x)
    numpy.testing.assert_allclose(got, [0, 3, 3, 0.5, 0.5, 0.5, 0])
    weights = jacrev(lambda v: np.interp(x, points, v))(values)
    numpy.testing.assert_allclose(weights[[1, 3, 5]], numpy.eye(3))
    assert hessian(lambda x: np.interp(x, points, values).sum())(x).tolist() == [[0.0] * 7] * 7


def test_interp_beside_what_is_not_finite() -> None:
    points = numpy.array([-INF, 0.0, 1.0, INF])
    for values in ([0.0, 1.0, 2.0, 3.0], [INF, 1.0, numpy.nan, -INF]):
        x = numpy.array([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF, numpy.nan])
        with numpy.errstate(invalid="ignore"):
            want = numpy.interp(x, points, values)
        numpy.testing.assert_array_equal(jit(np.interp)(x, points, numpy.array(values)), want)


# -- Python numbers are weak in all of them --------------------------------------------------------

F4 = np.ones(3, "f4")
ONE = np.float32(2)


@np.custom_jvp
def _scaled(x: Any, s: Any) -> Any:
    return x * s


_scaled.defjvp(lambda primals, tangents: (_scaled(*primals), tangents[0] * primals[1]))

_squared = np.custom_vjp(lambda s: s * s)
_squared.defvjp(lambda s: (_squared(s), s), lambda s, ct: (2 * s * ct,))
_twice = jit(lambda s: s * 2)

WEAK: dict[str, Any] = {
    "jit": lambda: jit(lambda x, s: x * (s * 2))(F4, 2.0),
    "jvp": lambda: np.jvp(lambda s: F4 * s, (2.0,), (1.0,)),
    "vjp": lambda: np.vjp(lambda s: F4 * (s + 1), 2.0)[0],
    "linearize": lambda: np.linearize(lambda s: F4 * s, 2.0)[0],
    "gradient": lambda: grad(lambda x, s: (x * s).sum())(F4, 2.0),
    "auxiliary": lambda: grad(lambda s: ((F4 * s).sum(), F4 * s), has_aux=True)(2.0)[1],
    "vmap": lambda: np.vmap(lambda x, s: x * s, (0, None))(F4, 2.0),
    "cond": lambda: np.cond(True, lambda s: F4 * s, lambda s: F4, 2.0),
    "checkpoint": lambda: np.checkpoint(lambda s: F4 * s)(2.0),
    "custom rule": lambda: _scaled(F4, 2.0),
    "derivative of a custom rule": lambda: np.jvp(_scaled, (F4, 2.0), (F4, 0.0)),
    "jit in jit": lambda: jit(lambda x, s: x * _twice(s))(F4, 2.0),
    "jit in jvp": lambda: np.jvp(lambda s: F4 * _twice(s), (2.0,), (1.0,)),
    "jit in vjp": lambda: np.vjp(lambda s: F4 * _twice(s), 2.0)[0],
    "jit in vmap": lambda: jit(np.vmap(lambda x, s: x * _twice(s), (0, None)))(F4, 2.0),
    "jit in scan": lambda: np.scan(lambda c, x: (c + x * _twice(0.5), c), ONE, F4),
    "jit of a number": lambda: jit(lambda x: x * jit(lambda: (1, 2.0))()[1])(F4),
    "gradient in jit": lambda: jit(lambda s: F4 * grad(lambda s: _twice(s) * s)(s))(2.0),
    "cond in jit": lambda: jit(
        lambda s: F4 * np.cond(s > 0, lambda s: _twice(s), lambda s: 1.0, s)
    )(2.0),
    "loops in jit": lambda: jit(
        lambda s: (
            F4 * np.fori_loop(0, 3, lambda i, c: c * 2, s),
            F4 * np.while_loop(lambda c: c < 9, lambda c: c * 2, s),
            F4 * np.scan(lambda c, _: (_twice(c), None), s, None, length=3)[0],
            F4 * np.checkpoint(_twice)(s),
            F4 * _squared(s),
        )
    )(2.0),
    "all at once": lambda: jit(np.vmap(grad(lambda x, s: _scaled(x, s) * s), (0, None)))(F4, 2.0),
    "carry": lambda: np.scan(lambda c, x: (c + x, c), 0.0, F4),
    "carry of a loop in a loop": lambda: np.scan(
        lambda c, x: (np.scan(lambda d, y: (d + y, None), c, F4)[0], c), 0.0, F4
    ),
    "round": lambda: np.fori_loop(0, 3, lambda i, v: v * i, ONE),
    "round with traced bounds": lambda: jit(lambda n: np.fori_loop(0, n, lambda i, v: v * i, ONE))(
        3
    ),
    "while": lambda: np.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * ONE), (0, 1.0))[
        1
    ],
}


@pytest.mark.parametrize("name", WEAK)
def test_numbers_of_python_take_the_type_of_arrays(name: str) -> None:
    leaves: list[Any] = np.tree.leaves(WEAK[name]())
    assert leaves and all(leaf.dtype == "f4" for leaf in leaves)


def test_numbers_that_come_out_are_as_numpys() -> None:
    """Not weak: the computation behind a result does not affect results computed from it."""
    for x in (np.jvp(lambda s: s * 2, (2.0,), (1.0,))[0], grad(lambda s: s * s)(2.0),
              np.scan(lambda c, _: (c * 2, None), 1.0, None, length=2)[0]):  # fmt: skip
        assert (F4 * x).dtype == "f8"
    assert np.while_loop(lambda c: c < 3, lambda c: c * 1.5, 1).dtype == "f8"
    for _ in range(2):  # the long way, and the short one
        assert (F4 * _twice(2.0)).dtype == (F4 * jit(lambda: 2.0)()).dtype == "f8"
    strong = jit(lambda s: F4 * np.cond(s > 0, lambda s: s, lambda s: np.float64(1), s))
    assert strong(2.0).dtype == "f8"
    with pytest.raises(TypeError, match="leaf 0 is f64"):
        np.scan(lambda c, x: (x, c), 0.5, np.arange(3))


def test_a_carry_is_traced_again_only_where_its_type_matters() -> None:
    traced: list[int] = []

    def body(c: Any, x: Any) -> Any:
        traced.append(1)
        return c + x, None

    np.scan(body, 0.0, X)
    assert len(traced) == 1
    np.scan(body, 0.0, F4)
    assert len(traced) == 3


def test_without_jit_control_flow_is_pythons() -> None:
    """Bodies and branches see values; where a vmap decides, they are traced as ever."""

    def body(c: Any, x: Any) -> Any:
        return (c + x if x > 0 else c * 2), c

    with np.disable_jit():
        last, before = np.scan(body, 1.0, X, reverse=True)
        numpy.testing.assert_allclose(before, [6, 3, 1])
        assert float(last) == 6.3
        assert grad(lambda x: np.scan(body, 1.0, x, reverse=True)[0])(X).tolist() == [1, 0, 2]
        assert float(np.fori_loop(0, 4, lambda i, v: v * 2 if i > 1 else v, 1.0)) == 4
        assert int(np.while_loop(lambda s: s < 5, lambda s: s + 1 if s > 2 else s + 2, 0)) == 5
        assert float(np.cond(True, lambda x: x if x > 0 else -x, lambda x: x, -2.0)) == 2
        assert float(np.switch(7, [lambda x: x, lambda x: 3 * x if x > 0 else x], 2.0)) == 6
        absolute = np.vmap(lambda x: np.cond(x > 0, lambda x: x, lambda x: -x, x))(X)
        doubled = np.vmap(lambda x: np.while_loop(lambda v: v < 10, lambda v: v * 2, x))(abs(X))
    numpy.testing.assert_allclose(absolute, abs(numpy.asarray(X)))
    numpy.testing.assert_allclose(doubled, [19.2, 19.2, 16.0])
