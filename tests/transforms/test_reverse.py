"""Reverse mode: conventions, errors, and against finite differences through mutation."""

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import (
    check_grads,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacrev,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)

X = np.array([0.3, -0.7, 1.2, 0.4])


def slices(x):
    y = np.zeros(4)
    y[1:] = x[:-1] * x[1:]
    y[0] += np.sin(x[0])
    y[::2] *= x[1::2]
    return y


def masks(x):
    y = x * 2
    y[y > 0.5] = x[0]
    y[x < 0] *= 3
    return y * y


def views(x):
    m = np.zeros((2, 2))
    flat = m.reshape(-1)
    flat[:] = x
    m.T[0] += x[2:]
    a, b = np.split(flat, 2)
    a *= b
    return m @ m


def gathers(x):
    y = x[[0, 0, 3]]
    z = np.zeros(4)
    z[np.array([1, 1, 2])] = y
    np.add.at(z, [0, 0, 1], y)
    return z**2


def stencil(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def reductions(x):
    return np.prod(x) + np.max(x) * np.cumsum(x) + np.sort(x) @ x / np.mean(x)


@pytest.mark.parametrize("f", [slices, masks, views, gathers, stencil, reductions])
def test_in_place_programs_to_second_order(f) -> None:
    check_grads(f, (X,), order=2)


def test_value_and_grad_conventions() -> None:
    f = lambda x, y, k=2.0: (x * y).sum() * k  # noqa: E731
    assert float(grad(lambda x: x**2)(3.0)) == 6.0
    gx, gy = grad(f, argnums=(0, 1))(X, 2 * X)
    numpy.testing.assert_allclose(gx, 4 * numpy.asarray(X))
    numpy.testing.assert_allclose(gy, 2 * numpy.asarray(X))
    numpy.testing.assert_allclose(grad(f, -1)(X, X, 3.0), float((X * X).sum()))
    value, g = value_and_grad(f)(X, X, k=1.0)
    numpy.testing.assert_allclose(value, (X * X).sum())
    (value, aux), g = value_and_grad(lambda x: (x.sum(), {"n": x * 2, "s": "text"}), has_aux=True)(
        X
    )
    assert aux["s"] == "text"
    numpy.testing.assert_allclose(aux["n"], 2 * numpy.asarray(X))
    numpy.testing.assert_allclose(g, numpy.ones(4))
    tree = grad(lambda t: (t["w"] ** 2).sum() + t["b"])({"w": X, "b": 1.0})
    assert float(tree["b"]) == 1.0


def test_dtypes() -> None:
    assert grad(lambda x: (x * 2.0).sum())(X.astype("f4")).dtype == numpy.float32
    with pytest.raises(TypeError, match="allow_int"):
        grad(lambda x: x * 2.0)(3)
    assert grad(lambda i: i * 2.0, allow_int=True)(3).dtype == [("float0", "V")]
    with pytest.raises(TypeError, match=r"return a scalar, got shape \(4,\)"):
        grad(np.sin)(X)
    with pytest.raises(TypeError, match="real scalar, got dtype complex128"):
        grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="argnums has 3"):
        raise TypeError(str(pytest.raises(ValueError, grad(np.sin, 3), 1.0).value))


@pytest.mark.parametrize("of", [np.grad, np.value_and_grad, np.jacfwd, np.jacrev, np.hessian])
def test_argnums_that_are_no_ints(of: Any) -> None:
    for argnums in ("x", 1.5, X, np.ones(3), (0, None)):
        with pytest.raises(TypeError, match="argnums must be an int or a sequence of ints, got"):
            of(np.sin, argnums)


def test_arguments_that_are_no_tuple() -> None:
    with pytest.raises(TypeError, match="hvp of sum: primals and tangents must be tuples or lists"):
        np.hvp(np.sum, X, X)
    for wrong in (1.0, np.ones(3)):
        with pytest.raises(TypeError, match="check_grads: args must be a tuple or list of argum"):
            np.check_grads(np.sum, wrong)


def test_the_repr_and_the_help_of_a_derivative() -> None:
    def loss(x: Any) -> Any:
        """How far off."""
        return x * x

    for made, text in (
        (np.grad(loss), "grad of loss"),
        (np.vmap(np.grad(loss)), "vmap of grad of loss"),
        (np.value_and_grad(lambda x: x), "value_and_grad of <lambda>"),
    ):
        assert repr(made).startswith(f"<function {text} at 0x")
    assert (np.grad(loss).__name__, np.grad(loss).__doc__) == ("loss", "How far off.")


def test_argnums_of_numpys() -> None:
    assert float(grad(lambda x, y: x * y, numpy.int64(1))(3.0, 2.0)) == 3.0
    x, y = grad(lambda x, y: x * y, numpy.array([0, 1]))(3.0, 2.0)
    assert (float(x), float(y)) == (2.0, 3.0)


def test_complex() -> None:
    z = 1.5 + 0.5j
    assert complex(grad(lambda z: z**3, holomorphic=True)(z)) == 3 * z**2
    # df/dx - i df/dy of |z|^2
    numpy.testing.assert_allclose(complex(grad(lambda z: np.abs(z) ** 2)(z)), 2 * z.conjugate())


def test_vjp_linearize_transpose() -> None:
    out, back = vjp(lambda x, i: x * i, X, 3)
    (ct, none) = back(np.ones(4))
    numpy.testing.assert_allclose(ct, 3 * numpy.ones(4))
    assert none.dtype == [("float0", "V")]
    with pytest.raises(TypeError, match="cotangent must be like its result"):
        back(np.ones(3))
    out, push = linearize(lambda x: np.sin(x) * x, X)
    want = numpy.cos(X) * X + numpy.sin(X)
    numpy.testing.assert_allclose(push(np.ones(4)), want)
    numpy.testing.assert_allclose(push(2 * np.ones(4)), 2 * want)
    (turned,) = linear_transpose(lambda x: 2 * x[:2], X)(np.ones(2))
    numpy.testing.assert_allclose(turned, [2, 2, 0, 0])


def test_higher_order() -> None:
    f = lambda x: (x**3).sum() + x[0] * x[1]  # noqa: E731
    want = numpy.diag(6 * numpy.asarray(X))
    want[0, 1] = want[1, 0] = 1
    numpy.testing.assert_allclose(hessian(f)(X), want)
    numpy.testing.assert_allclose(jacrev(grad(f))(X), want)
    numpy.testing.assert_allclose(hvp(f, (X,), (np.ones(4),)), want.sum(1))


def test_arguments_written_inside_hold_primals() -> None:
    x, outside = np.ones(3), np.zeros(3)

    def f(x):
        x *= 2
        outside[:] = x
        return (x * x).sum()

    numpy.testing.assert_allclose(grad(f)(x), [8, 8, 8])
    numpy.testing.assert_array_equal(x, [2, 2, 2])
    numpy.testing.assert_array_equal(outside, [2, 2, 2])


def test_a_view_as_argument_is_written_in_its_owner() -> None:
    x = np.ones(4)

    def f(v):
        v[0] = v[1] * 5
        return v.sum()

    numpy.testing.assert_allclose(grad(f)(x[1:3]), [0, 6])
    numpy.testing.assert_array_equal(x, [1, 5, 1, 1])


def test_stop_gradient() -> None:
    assert float(grad(lambda x: x * np.stop_gradient(x))(3.0)) == 3.0
    assert float(grad(lambda x: np.stop_gradient({"a": x})["a"] * 1.0)(3.0)) == 0.0


def test_numpy_functions_called_on_traced_values() -> None:
    def f(x):  # as in a module that says `import numpy`
        m = numpy.outer(x, x) + 2 * numpy.eye(4)
        solved = numpy.linalg.solve(m, numpy.concatenate([x[:2], x[2:]]))
        return numpy.sum(numpy.where(x > 0, numpy.sin(x), x**2)) + numpy.dot(x, solved)

    check_grads(f, (X,), order=1)


def test_the_gradient_is_lazy() -> None:
    with np.config(execution="compiled"):  # elsewhere small operations run at once, so do they here
        numpy.asarray(np.sin(X))  # with what other tests have left
        before = np.stats().cuts
        grad(lambda x: (np.sin(x) * x).sum())(X)
        assert np.stats().cuts == before


@pytest.mark.parametrize(
    "f",
    [
        lambda y: y * y, lambda y: y @ y, lambda y: np.sin(y), lambda y: np.where(y > 0, y, 0.0),
        lambda y: 1 / y, lambda y: abs(y),
    ],
)  # fmt: skip
def test_what_is_not_linear_is_not_transposed(f: Any) -> None:
    with pytest.raises(TypeError, match="the function must be linear: .*(is|not) .*linear"):
        linear_transpose(f, np.ones(3))


def test_linear_loops_are_transposed() -> None:
    def f(y: Any) -> Any:
        return fori_loop(0, 3, lambda i, c: c * 2 + y * (i + 1), y)

    y = np.array([3.0, 4.0, 5.0])
    numpy.testing.assert_allclose(linear_transpose(f, y)(y)[0], np.jacfwd(f)(y).T @ y)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -1, 2), (-1, -1), (1, 0, 1), [2, 0, 0, 1]])
def test_arguments_asked_for_twice(argnums: Any) -> None:
    args = tuple(np.array(v) for v in ([1.0, 2], [3.0, 4], [0.5, 0.25]))

    def f(x: Any, y: Any, z: Any) -> Any:
        return (x**2 * y * z**3).sum()

    want = [numpy.asarray(np.grad(f, n % 3)(*args)) for n in argnums]
    for g in (np.grad(f, argnums), np.jit(np.grad(f, argnums)), np.jacfwd(f, argnums)):
        numpy.testing.assert_allclose([numpy.asarray(x) for x in g(*args)], want)
    _, found = np.value_and_grad(f, argnums)(*args)
    numpy.testing.assert_allclose([numpy.asarray(x) for x in found], want)
    h = np.hessian(f, argnums)(*args)
    for n, row in zip(argnums, h, strict=True):
        for m, block in zip(argnums, row, strict=True):
            one = np.jacfwd(np.jacrev(f, n % 3), m % 3)(*args)
            numpy.testing.assert_allclose(block, one, atol=1e-12)


def test_hvp_alone_is_what_scipy_takes() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def f(x: Any, a: Any = 100.0) -> Any:
        return (a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    product, x, v = np.hvp(f), numpy.linspace(0.5, 1.5, 7), numpy.cos(numpy.arange(7.0))
    want = optimize.rosen_hess_prod(x, v)
    for _ in range(3):
        numpy.testing.assert_allclose(product(x, v), want, rtol=1e-12)
    numpy.testing.assert_allclose(product(x, v, 1.0), np.hessian(f)(x, 1.0) @ v, rtol=1e-12)
    numpy.testing.assert_allclose(np.jit(product)(x, v), want, rtol=1e-12)
    rows = np.vmap(product, (None, 0))(x, numpy.eye(7))
    numpy.testing.assert_allclose(rows, optimize.rosen_hess(x), rtol=1e-12, atol=1e-12)
    found = optimize.minimize(f, x, method="trust-ncg", jac=np.grad(f), hessp=product)
    theirs = optimize.minimize(
        optimize.rosen, x, method="trust-ncg", jac=optimize.rosen_der,
        hessp=optimize.rosen_hess_prod,
    )  # fmt: skip
    assert found.success and found.nhev == theirs.nhev
    numpy.testing.assert_allclose(found.x, theirs.x, rtol=1e-6)


def test_hvp_of_no_function_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match="hvp"):
        np.hvp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="primals and tangents"):
        np.hvp(np.sum, (X,))


def test_errors_of_hvp_name_the_function() -> None:
    def f(x: Any) -> Any:
        return (x * x).sum()

    with pytest.raises(TypeError, match=r"hvp of f\(\) missing 1 required positional argument"):
        np.hvp(f)(X)
    with pytest.raises(TypeError, match=r"hvp of .*f: primals and tangents"):
        np.hvp(f, X, X)
