"""`y = x[mask]` with a traced mask is written in place like any other array; and what reductions
and products of such selections give.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def sorted_in_place(np, x):
    y = x[x > 0]
    y.sort()
    return y


def view_scaled(np, x):
    y = x[x > 0]
    w = y[1:]
    w *= 2
    return y


def out_of_a_ufunc(np, x):
    y = x[x > 0]
    np.multiply(y, 3, out=y)
    return y.sum()


def other_name(np, x):
    y = x[x > 0]
    z = y
    y += 1
    return z


def element_set(np, x):
    y = x[x > 0]
    y[0] = 5
    return y, y.sum()


def masked(np, x):
    y = x[x > 0]
    y[y > 3] = 0
    return y, y * 2


def divided(np, x):
    y = x[x > 0] + 0
    y[0] = 7
    y /= y.sum()
    return y


def filled(np, x):
    y = x[x > 0]
    y.fill(4)
    return y.mean(), y


def added_at(np, x):
    y = x[x > 0]
    np.add.at(y, [0, 0], 2)
    return y


def put_and_scaled(np, x):
    y = x[x > 0]
    np.put(y, [0], 9)
    y *= 2
    return y, x


def scaled(np, x):
    y = x[x > 0]
    y *= 2
    return y, x, y.sum()


def reshaped(np, x):
    y = x[x > 0]
    y.reshape(-1, 1)[:] = 3
    return y


def reversed_view(np, x):
    y = x[x > 0]
    v = y[::-1]
    v[0] = 11
    return y + 1


def by_itself(np, x):
    y = x[x > 0]
    y += y
    y -= y * 0.5
    return y


def computed_before(np, x):
    y = x[x > 0]
    a = y * 2
    y.sort()
    return a, y


def stored_back(np, x):
    x[x > 0] *= 2
    return x


def set_and_stored_back(np, x):
    y = x[x > 0]
    y[0] = 100
    x[x > 0] = y
    return x


def column_of_rows(np, A):
    y = A[A[:, 0] > 0]
    y.T[0] = 9
    return y


def columns_of_rows(np, A):
    y = A[A[:, 0] > 0]
    w = y[:, 1:]
    w += 100
    return y, w


def columns_filled(np, A):
    y = A[:, A[0] > 0]
    y.fill(2)
    return y


def one_column(np, A):
    y = A[A[:, 0] > 0]
    w = y[:, 1]
    w *= 2
    return y.sum(), y, w


def kept_dimensions(np, A):
    return A[A > 0].sum(keepdims=True), A[A > 0].mean(keepdims=True), A[A > 0].max(keepdims=True)


def kept_dimensions_of_rows(np, A):
    return (
        A[A[:, 0] > 0].sum(axis=0, keepdims=True),
        A[A[:, 0] > 0].sum(axis=1, keepdims=True),
        A[A[:, 0] > 0].sum(keepdims=True),
    )


def maxima_of_no_rows(np, A):
    return A[A[:, 0] > 9].max(1)


def initial_maximum(np, x):
    return x[x > 9].max(initial=0.0)


def product_of_truths(np, b):
    return b[b != 0] @ b[b != 0]


def product_of_numbers(np, x):
    return np.dot(x[x != 0], x[x != 0])


def in_a_loop(np, x):
    y = x[x > 0]
    for i in range(20):
        y[0] += i
    return y


VECTORS = [
    sorted_in_place, view_scaled, out_of_a_ufunc, other_name, element_set, masked, divided,
    filled, added_at, put_and_scaled, scaled, reshaped, reversed_view, by_itself,
    computed_before, stored_back, set_and_stored_back, initial_maximum, in_a_loop,
]  # fmt: skip
MATRICES = [
    column_of_rows, columns_of_rows, columns_filled, one_column, kept_dimensions,
    kept_dimensions_of_rows, maxima_of_no_rows,
]  # fmt: skip


def check(function: Any, x: numpy.ndarray, names: dict[int, str]) -> None:
    want = function(numpy, x.copy())
    for options in ({}, {"abstracted_axes": names}):
        got = np.jit(lambda x: function(np, x), **options)(np.array(x))
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for a, b in pairs:
            assert a.shape == b.shape and a.dtype == b.dtype
            numpy.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("function", VECTORS)
def test_selections_of_vectors(function: Any) -> None:
    check(function, numpy.array([3.0, -1.0, 5.0, 2.0]), {0: "n"})


@pytest.mark.parametrize("function", MATRICES)
def test_selections_of_matrices(function: Any) -> None:
    check(function, numpy.array([[1.0, 2, 3], [-1, 4, 5], [6, -7, 8]]), {0: "n", 1: "m"})


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "f4", "f8", "c16"])
def test_products_of_selections_have_numpys_types(dtype: str) -> None:
    x = numpy.array([3, 0, 5, 2]).astype(dtype)
    for function in (product_of_truths, product_of_numbers):
        check(function, x, {0: "n"})


def test_the_gradient_goes_through_a_write() -> None:
    def loss(x: Any) -> Any:
        y = x[x > 0]
        np.multiply(y, 3, out=y)
        y[0] *= 2
        return y.sum()

    x = np.array([3.0, -1.0, 5.0, 2.0])
    want = [6, 0, 3, 3]
    for f in (np.jit(np.grad(loss)), np.grad(np.jit(loss)), np.grad(loss)):
        assert f(x).tolist() == want


def test_a_selection_from_outside_of_a_loop_is_not_written_there() -> None:
    def f(x: Any) -> Any:
        y = x[x > 0]

        def body(i: Any, c: Any) -> Any:
            y.sort()
            return c + y.sum()

        return np.fori_loop(0, 3, body, 0.0)

    with pytest.raises(TypeError, match="cannot be written"):
        np.jit(f)(np.array([3.0, -1.0, 2.0]))
