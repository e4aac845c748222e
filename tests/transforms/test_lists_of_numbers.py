"""`np.array` of a list of traced numbers, as code makes them that unpacks small vectors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp, make_jaxpr, vmap

X = numpy.array([0.3, -1.2, 2.0])


def turned(x: Any) -> Any:
    a, b, c = x
    return np.array([a * b, b - c, np.sin(c), a])


def test_values_and_derivatives() -> None:
    x, weights = np.array(X), numpy.array([1.0, -2.0, 0.5, 3.0])
    want = [weights[0] * X[1] + 3, X[0] - 2, 2 + 0.5 * numpy.cos(X[2])]
    f = lambda x: turned(x) @ weights  # noqa: E731
    for found in (grad(f)(x), jit(grad(f))(x), vmap(grad(f))(x[None])[0]):
        numpy.testing.assert_allclose(found, want, rtol=1e-14)
    value, moved = jvp(turned, (x,), (np.ones(3),))
    numpy.testing.assert_allclose(value, turned(X), rtol=1e-15)
    assert value.dtype == moved.dtype == float and value.shape == (4,)


@pytest.mark.parametrize("dtype", [None, "f4", "c16"])
def test_dtypes(dtype: Any) -> None:
    """Mixed ones are promoted, and a dtype is that of the result."""
    x = np.array(X)

    def mixed(x: Any) -> Any:
        return np.array([x[0], x[1].astype("f4"), 1, x[2] > 0], dtype)

    value, _ = jvp(mixed, (x,), (np.ones(3),))
    assert value.dtype == numpy.dtype(dtype or float)
    numpy.testing.assert_allclose(value, numpy.array([X[0], X[1], 1, True], dtype), rtol=1e-6)
    (alone,) = jvp(lambda x: np.array([x[0].astype("f4")]), (x,), (np.ones(3),))[:1]
    assert alone.dtype == numpy.float32 and alone.shape == (1,)


def test_one_operation_for_each_number_and_one_for_all() -> None:
    inner = make_jaxpr(grad(lambda x: (np.array([x[0] * 2, x[1] * 3]) ** 2).sum()))
    names = [e.primitive.name for e in inner(np.array(X)).eqns]
    assert names.count("concatenate") == 1
