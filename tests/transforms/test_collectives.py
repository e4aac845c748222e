"""psum and the other collectives over a named vmap axis."""

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import axis_index, check_grads, grad, jit, jvp, pmax, pmean, psum, scan, vmap

X = np.array([0.3, -0.7, 1.2])


def test_values() -> None:
    total = float(X.sum())
    numpy.testing.assert_allclose(vmap(lambda x: x / psum(x, "i"), axis_name="i")(X), X / total)
    numpy.testing.assert_allclose(vmap(lambda x: x - pmean(x, "i"), axis_name="i")(X), X - X.mean())
    numpy.testing.assert_allclose(vmap(lambda x: pmax(x, "i"), axis_name="i")(X), [1.2] * 3)
    numpy.testing.assert_array_equal(vmap(lambda x: axis_index("i"), axis_name="i")(X), [0, 1, 2])
    numpy.testing.assert_array_equal(vmap(lambda x: psum(1, "i"), axis_name="i")(X), [3] * 3)
    with pytest.raises(NameError, match="'j'"):
        vmap(lambda x: psum(x, "j"), axis_name="i")(X)


def test_two_names() -> None:
    m = np.arange(6.0).reshape(2, 3)
    f = vmap(vmap(lambda x: psum(x, "rows") - psum(x, "columns"), axis_name="columns"),
             axis_name="rows")  # fmt: skip
    want = numpy.asarray(m).sum(0)[None] - numpy.asarray(m).sum(1)[:, None]
    numpy.testing.assert_allclose(f(m), want)


def test_with_other_transformations() -> None:
    f = vmap(lambda x: np.sin(x) * psum(x * x, "i"), axis_name="i")
    reference = lambda x: np.sin(x) * (x * x).sum()  # noqa: E731
    numpy.testing.assert_allclose(
        grad(lambda x: f(x).sum())(X), grad(lambda x: reference(x).sum())(X)
    )
    numpy.testing.assert_allclose(jvp(f, (X,), (X,))[1], jvp(reference, (X,), (X,))[1])
    inner = vmap(jit(lambda x: np.sin(x) * psum(x * x, "i")), axis_name="i")
    numpy.testing.assert_allclose(inner(X), reference(X))
    each = vmap(lambda x: jvp(lambda y: psum(y * y, "i"), (x,), (1.0,))[1], axis_name="i")
    numpy.testing.assert_allclose(each(X), [float((2 * X).sum())] * 3)


INSIDE = {  # a function of the sum over the examples, and its derivative
    "sum": (lambda x: psum(x, "i") ** 2, lambda v: 3 * 2 * v.sum() + 0 * v),
    "mean": (lambda x: pmean(x * x, "i"), lambda v: 2 * v),
    "sum of a sum": (lambda x: psum(psum(x, "i"), "i"), lambda v: 9 + 0 * v),
    "largest": (lambda x: pmax(x, "i") ** 2, lambda v: 3 * 2 * v * (v == v.max())),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["plain", "jit"])
def test_derivatives_inside(name: str, around: Any) -> None:
    """The cotangent of a sum is the same for all examples; so may be the operands of a call."""
    f, derivative = INSIDE[name]
    v = numpy.asarray(X)
    for g in (around(grad(f)), grad(around(f))):
        numpy.testing.assert_allclose(vmap(g, axis_name="i")(X), derivative(v))

    def steps(x: Any) -> Any:
        return scan(lambda c, t: (c + f(x) * t, None), 0.0, np.ones(2))[0]

    numpy.testing.assert_allclose(vmap(around(grad(steps)), axis_name="i")(X), 2 * derivative(v))


def test_calls_with_operands_that_are_the_same_for_all() -> None:
    total = jit(lambda s: psum(s, "i") * (1 + axis_index("i")))
    got = vmap(lambda x: total(psum(x, "i")), axis_name="i")(X)
    s = float(X.sum())
    numpy.testing.assert_allclose(got, 3 * s * numpy.array([1, 2, 3]))
    numpy.testing.assert_allclose(
        vmap(jit(lambda s: psum(s, "i")), in_axes=None, axis_name="i", axis_size=4)(2.5), [10.0] * 4
    )
    both = vmap(vmap(jit(lambda x: psum(psum(x, "i") * x, "j")), axis_name="j"), axis_name="i")
    m = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_allclose(both(np.array(m)), (m.sum(0) * m).sum(1)[:, None] + 0 * m)


def test_axes_of_several_names() -> None:
    x = numpy.arange(12.0).reshape(4, 3)

    def share(e: Any) -> Any:
        return e / psum(e, ("i", "j")) + np.pmean(e, ("j", "i"))

    f = vmap(vmap(share, axis_name="j"), axis_name="i")
    numpy.testing.assert_allclose(f(x), x / x.sum() + x.mean())
    numpy.testing.assert_allclose(jit(f)(x), x / x.sum() + x.mean())
    check_grads(f, (np.array(x),), modes=("rev",))
    with pytest.raises(NameError, match="'k'"):
        vmap(lambda e: psum(e, ("i", "k")), axis_name="i")(x)
