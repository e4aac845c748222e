"""Linear algebra functions in the main namespace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import ALL, NUMERIC, arrays, check, make, tolerance, xp

names = st.sampled_from(NUMERIC)
PRODUCTS = (
    ((2, 3), (3, 2)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 4)),
    ((2, 1, 2, 3), (3, 3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
)  # fmt: skip


def counted(shape: tuple[int, ...], name: str, start: int = 1) -> np.ndarray[Any, Any]:
    """1, 2, 3, ... folded into a small range; complex dtypes get imaginary parts."""
    values = (np.arange(math.prod(shape)) * 3 % 7 + start).reshape(shape)
    return (values + 2j * (values % 3) if name.startswith("c") else values).astype(name)


@given(st.sampled_from(PRODUCTS), names)
def test_matmul(shapes: Any, name: str) -> None:
    x, y = (counted(s, name) for s in shapes)
    check(xp.matmul(make(x), make(y)), np.asarray(np.matmul(x, y)), rtol=tolerance(name))


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (2,)), ((2, 3), (2,)),
                                    ((2, 2, 3), (3, 3, 2))])  # fmt: skip
def test_matmul_raises(shapes: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017
        xp.matmul(*(make(np.ones(s)) for s in shapes))


def test_matmul_raises_without_dimensions() -> None:
    """ "If either x1 or x2 is a zero-dimensional array" an exception should be raised."""
    for x, y in ((make(2.0), make([1.0])), (make([1.0]), make(2.0)), (make(2.0), make(3.0))):
        with pytest.raises(Exception):  # noqa: B017
            xp.matmul(x, y)


@given(x=arrays(ALL, ((2, 3), (3, 1), (2, 0), (2, 1, 3))))
def test_matrix_transpose(x: Any) -> None:
    check(xp.matrix_transpose(make(x)), np.swapaxes(x, -1, -2))


_TENSORS = (
    ((2, 3), (3, 4), 1), ((2, 3), (2, 3), 2), ((2, 3), (4, 5), 0), ((2, 3, 4), (3, 4, 2), 2),
    ((2, 3, 4), (4, 3), ([1, 2], [1, 0])), ((2, 3), (3, 2), ((0, 1), (1, 0))),
    ((2, 3, 4), (3, 2), ((-2,), (0,))), ((3,), (3,), 1), ((2, 3), (2,), ((0,), (0,))),
)  # fmt: skip


@given(st.sampled_from(_TENSORS), names)
def test_tensordot(case: Any, name: str) -> None:
    first, second, axes = case
    x, y = counted(first, name), counted(second, name)
    wanted = np.asarray(np.tensordot(x, y, axes), name)
    check(xp.tensordot(make(x), make(y), axes=axes), wanted, rtol=tolerance(name))
    if axes == 2:
        check(xp.tensordot(make(x), make(y)), wanted, rtol=tolerance(name))


_VECTORS = (
    ((3,), (3,), -1), ((2, 3), (2, 3), -1), ((2, 3), (3,), -1), ((2, 1, 3), (4, 3), -1),
    ((3, 2), (3, 2), -2), ((3, 1), (3, 4), -2), ((0,), (0,), -1),
)  # fmt: skip


@given(st.sampled_from(_VECTORS), names)
def test_vecdot(case: Any, name: str) -> None:
    """The first operand is conjugated."""
    first, second, axis = case
    x, y = counted(first, name), counted(second, name, 2)
    wanted = np.asarray(np.sum(np.conj(x) * y, axis=axis, dtype=name))
    check(xp.vecdot(make(x), make(y), axis=axis), wanted, rtol=tolerance(name))
    if axis == -1:
        check(xp.vecdot(make(x), make(y)), wanted, rtol=tolerance(name))


def test_vecdot_raises() -> None:
    """ "if the size of the axis ... is not the same (before broadcasting)" """
    with pytest.raises(Exception):  # noqa: B017
        xp.vecdot(make(np.ones(3)), make(np.ones(2)))
    with pytest.raises(Exception):  # noqa: B017
        xp.vecdot(make(np.ones((2, 3))), make(np.ones((2, 3))), axis=5)
