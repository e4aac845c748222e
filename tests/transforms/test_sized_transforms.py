"""Transformations, within a traced function, of loops and branches that change sizes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._jaxpr import check
from tests.transforms.test_sized_loops import PROGRAMS, N, choose, flat, fori, slopes, vector

# those that are functions of their argument, and have derivatives
SMOOTH = [name for name in PROGRAMS if name not in ("written", "swapped")]


def squares(np: Any, name: str, x: Any) -> Any:
    return sum((y * y).sum() for y in _tree(PROGRAMS[name](np, x)))


def _tree(out: Any) -> Any:
    return out if isinstance(out, tuple) else (out,)


def jitted(f: Any, **options: Any) -> Any:
    return np.jit(f, abstracted_axes=N, **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    traces: list[int] = []

    def loss(x: Any) -> Any:
        traces.append(0)
        return squares(np, name, x)

    gradient = jitted(np.grad(loss))
    forward = jitted(lambda x, v: np.jvp(loss, (x,), (v,)))
    value = jitted(np.value_and_grad(loss))
    for n in (5, 2):
        x = vector(n) + 0.05
        want = slopes(lambda x: squares(numpy, name, x), x)
        numpy.testing.assert_allclose(gradient(x), want, rtol=1e-5, atol=1e-6)
        v = numpy.arange(1.0, n + 1)
        primal, tangent = forward(x, v)
        numpy.testing.assert_allclose(primal, squares(numpy, name, x), rtol=1e-12)
        numpy.testing.assert_allclose(tangent, want @ v, rtol=1e-5, atol=1e-6)
        primal, found = value(x)
        numpy.testing.assert_allclose(primal, squares(numpy, name, x), rtol=1e-12)
        numpy.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
    assert [f._cache_size() for f in (gradient, forward, value)] == [1, 1, 1]


@pytest.mark.parametrize("name", ["halves", "together", "triangle", "appended", "nested"])
def test_second_derivatives(name: str) -> None:
    def loss(x: Any) -> Any:
        return (squares(np, name, x) ** 2) / 10

    def of_numpy(x: Any) -> Any:
        return (squares(numpy, name, x) ** 2) / 10

    x = vector(4)
    gradient = jitted(np.grad(loss))
    want = numpy.stack([
        (numpy.asarray(gradient(x + s)) - numpy.asarray(gradient(x - s))) / 2e-6
        for s in numpy.eye(4) * 1e-6
    ])  # fmt: skip
    numpy.testing.assert_allclose(gradient(x), slopes(of_numpy, x), rtol=1e-5)
    for hessian in (
        jitted(np.hessian(loss)), jitted(np.jacfwd(np.grad(loss))),
        jitted(np.jacrev(np.grad(loss))),
        np.jacfwd(gradient), np.jacrev(gradient),
    ):  # fmt: skip
        numpy.testing.assert_allclose(hessian(x), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["halves", "swapped", "triangle", "nested", "together", "bounds"])
def test_examples(name: str) -> None:
    function = PROGRAMS[name]
    f = np.jit(np.vmap(lambda x: function(np, x)), abstracted_axes={1: "n"})
    g = np.jit(np.vmap(lambda x: function(np, x), in_axes=1), abstracted_axes=("n", "b"))
    for n in (5, 1, 3):
        xs = numpy.stack([vector(n), vector(n) * 0.7])
        for i, row in enumerate(xs):
            for a, b, want in zip(
                _tree(f(xs)), _tree(g(xs.T)), flat(function(numpy, row)), strict=True
            ):
                numpy.testing.assert_allclose(a[i], want, rtol=1e-12)
                numpy.testing.assert_allclose(b[i], want, rtol=1e-12)
    assert f._cache_size() == g._cache_size() == 1


@pytest.mark.parametrize("name", ["halves", "triangle", "together"])
def test_gradients_of_examples(name: str) -> None:
    def loss(x: Any) -> Any:
        return squares(np, name, x)

    each = np.jit(np.vmap(np.grad(loss)), abstracted_axes={1: "n"})
    whole = np.jit(np.grad(lambda xs: np.vmap(loss)(xs).sum()), abstracted_axes={1: "n"})
    jacobian = jitted(np.jacrev(lambda x: PROGRAMS[name](np, x)))
    pushed = jitted(np.jacfwd(lambda x: PROGRAMS[name](np, x)))
    for n in (4, 3):
        xs = numpy.stack([vector(n), vector(n) * 0.9])
        want = [slopes(lambda x: squares(numpy, name, x), x) for x in xs]
        numpy.testing.assert_allclose(each(xs), want, rtol=1e-5, atol=1e-6)
        numpy.testing.assert_allclose(whole(xs), want, rtol=1e-5, atol=1e-6)
        steps = numpy.moveaxis(slopes(lambda x: PROGRAMS[name](numpy, x), xs[0]), 0, -1)
        numpy.testing.assert_allclose(jacobian(xs[0]), steps, rtol=1e-5, atol=1e-6)
        numpy.testing.assert_allclose(pushed(xs[0]), steps, rtol=1e-5, atol=1e-6)


def test_what_is_the_same_for_all_examples_can_be_a_size() -> None:
    def f(x: Any, k: Any) -> Any:
        y, m = np.fori_loop(0, 2, lambda i, c: (c[0][1:], c[1] + 1), (x, k))
        return y.sum() * np.ones((m,))

    mapped = np.jit(np.vmap(f, in_axes=(0, None)), abstracted_axes=({1: "n"}, {}))
    x = numpy.arange(8.0).reshape(2, 4)
    numpy.testing.assert_array_equal(mapped(x, 1), [[5.0] * 3, [13.0] * 3])
    differs = np.jit(np.vmap(f), abstracted_axes=({1: "n"}, {}))
    with pytest.raises(TypeError, match="another for each example"):
        differs(x, numpy.array([1, 2]))


def test_sizes_that_differ_by_example() -> None:
    def f(x: Any) -> Any:
        return np.while_loop(lambda c: c.sum() > 3, lambda c: c[1:], x).sum()

    mapped = np.jit(np.vmap(f), abstracted_axes={1: "n"})
    with pytest.raises(TypeError, match="another for each example"):
        mapped(numpy.arange(8.0).reshape(2, 4))

    def g(x: Any) -> Any:
        return np.cond(x.sum() > 3, lambda: x[1:].sum(), lambda: x[x > 0].sum())

    with pytest.raises(TypeError, match="another for each example"):
        np.jit(np.vmap(lambda x: np.sort(x[x > 1])), abstracted_axes={1: "n"})(
            numpy.arange(8.0).reshape(2, 4)
        )
    chosen = jitted(np.grad(lambda x: g(x)))
    numpy.testing.assert_array_equal(chosen(numpy.array([1.0, 4.0])), [0, 1])
    numpy.testing.assert_array_equal(chosen(numpy.array([1.0, -4.0])), [1, 0])


def test_captured_arrays_and_several_arguments() -> None:
    w = np.array([2.0, 3.0])

    def f(x: Any, y: Any) -> Any:
        z = np.fori_loop(0, 2, lambda i, c: c[1:] * w[i] + y.sum(), x)
        return (z * z).sum()

    gradient = np.jit(np.grad(f, argnums=(0, 1)), abstracted_axes=({0: "n"}, {0: "m"}))

    def of_numpy(x: Any, y: Any) -> Any:
        z = fori(numpy, 0, 2, lambda i, c: c[1:] * (2.0, 3.0)[i] + y.sum(), x)
        return (z * z).sum()

    x, y = vector(4), vector(3)
    by_x, by_y = gradient(x, y)
    numpy.testing.assert_allclose(by_x, slopes(lambda x: of_numpy(x, y), x), rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose(by_y, slopes(lambda y: of_numpy(x, y), y), rtol=1e-5)


def test_numbers_of_other_types_have_no_tangents() -> None:
    def f(x: Any) -> Any:
        y, count = np.while_loop(
            lambda c: c[0].shape[0] > 1, lambda c: (c[0][1:] * 2, c[1] + 1), (x, 0)
        )
        return (y * count).sum()

    numpy.testing.assert_allclose(jitted(np.grad(f))(vector(3)), [0, 0, 8])
    single = jitted(np.grad(f))(np.array([1.0, 2.0], np.float32))
    assert single.dtype == numpy.float32
    numpy.testing.assert_array_equal(single, [0, 2])


def test_jaxprs() -> None:
    """What was transformed is written down, checked and evaluated."""
    for name in ("halves", "triangle", "branches"):
        loss = lambda x, name=name: squares(np, name, x)  # noqa: E731
        for f in (np.grad(loss), lambda x, f=loss: np.jvp(f, (x,), (x,))[1]):
            jaxpr = np.make_jaxpr(f, abstracted_axes=N)(vector(3))
            check(jaxpr)
            assert "open_" in str(jaxpr)
            *_, got = np.eval_jaxpr(jaxpr, 4, vector(4))
            numpy.testing.assert_allclose(got, jitted(f)(vector(4)), rtol=1e-12)


def test_checkpoint() -> None:
    def shrink(x: Any) -> Any:
        return np.fori_loop(0, 2, lambda i, c: c[1:] * c[0], x).sum()

    want = slopes(lambda x: fori(numpy, 0, 2, lambda i, c: c[1:] * c[0], x).sum(), vector(4))
    numpy.testing.assert_allclose(
        jitted(np.grad(np.checkpoint(shrink)))(vector(4)), want, rtol=1e-5, atol=1e-6
    )


def test_branches_of_different_sizes() -> None:
    def f(np: Any, x: Any) -> Any:
        y = choose(np, x.sum() > 3, lambda: x[1:] * 2, lambda: x * x)
        return (y * y).sum()

    gradient = jitted(np.grad(lambda x: f(np, x)))
    for x in (vector(4), vector(4) * 0.1):
        numpy.testing.assert_allclose(
            gradient(x), slopes(lambda x: f(numpy, x), x), rtol=1e-5, atol=1e-6
        )


def test_errors_come_from_the_call() -> None:
    gradient = jitted(np.grad(lambda x: np.fori_loop(
        0, 4, lambda i, c: (c + c.max())[1:], x).sum()))  # fmt: skip
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        gradient(vector(2))
    assert gradient(vector(6)).shape == (6,)
