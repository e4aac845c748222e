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


def test_one_operation_for_all_numbers() -> None:
    inner = make_jaxpr(grad(lambda x: (np.array([x[0] * 2, x[1] * 3]) ** 2).sum()))
    names = [e.primitive.name for e in inner(np.array(X)).eqns]
    assert names.count("stack") == 1 and "concatenate" not in names


def _rotation(x: Any) -> Any:
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.array([[1, 0.0, 0], [0, c, -s], [x[1], s, c]])


LISTS = {
    "rows with numbers of Python's": (_rotation, float),
    "rows of numbers": (lambda x: np.array([[x[0], x[1] * x[2]], [x[2], x[0]]]), float),
    "one in a row": (lambda x: np.array([[x[0]], [x[1]]]), float),
    "a number of Python's first": (lambda x: np.array([2, x[0], 1.5]), float),
    "a number without a tangent": (lambda x: np.array([np.asarray(X)[0], x[0] ** 2]), float),
    "of lower precision": (lambda x: np.array([x[0].astype("f4")] * 2), "f4"),
    "beside Python's, of lower precision": (lambda x: np.array([x[0].astype("f4"), 1.5]), float),
    "complex": (lambda x: np.array([x[0] + 1j * x[1], 2.0]), complex),
    "integers that are no floats": (lambda x: np.array([x[0], 2**53 + 1]), float),
    "more than C takes": (lambda x: np.array([x[i % 3] * i for i in range(40)]), float),
    "one": (lambda x: np.array([x[1]]), float),
    "within lists": (lambda x: np.array([[[x[0], 1.0]], [[x[1], 2.0]]]), float),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str) -> None:
    """Shape, dtype and values are NumPy's, and the tangent is that of each number."""
    f, dtype = LISTS[name]
    step = 1e-6
    want, (low, high) = f(X), [f(X + s * step) for s in (-1, 1)]
    for transformed in (np.config(execution="reference"), np.config()):
        with transformed:
            value, moved = jvp(f, (np.array(X),), (np.ones(3),))
            assert value.dtype == want.dtype == dtype and value.shape == want.shape
            numpy.testing.assert_array_equal(value, want)
            loose = 0.1 if "precision" in name else 1e-6
            numpy.testing.assert_allclose(moved, (high - low) / (2 * step), rtol=loose, atol=loose)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[1.0], 2.0], [], [[], []]], ids=str)
def test_other_lists_are_as_before(rows: Any) -> None:
    """Ragged ones are refused as NumPy refuses them, also if a number is traced."""

    def f(x: Any) -> Any:
        traced = [[x[0], *r[1:]] if isinstance(r, list) and r else r for r in rows]
        return np.array(traced).sum() + x[0]

    try:
        numpy.array(rows)
    except ValueError:
        with pytest.raises(ValueError, match="inhomogeneous"):
            grad(f)(np.array(X))
    else:
        assert numpy.asarray(grad(f)(np.array(X)))[0] == 1.0
