"""psum and its kin over a named vmap axis."""

import numpy
import pytest

import lazynp as np
from lazynp import axis_index, grad, jit, jvp, pmax, pmean, psum, vmap

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
