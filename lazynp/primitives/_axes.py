"""What rules of several families do to axes, and to the dtypes of two operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, In, aval_of, aval_of_operand
from lazynp.primitives import shaping


def transposed(x: Any, permutation: Sequence[int]) -> Any:
    """Record a transpose, unless it changes nothing."""
    permutation = tuple(permutation)
    if permutation == tuple(range(len(permutation))):
        return x
    return shaping.transpose(x, permutation=permutation)


def broadcast_front(x: Any, size: int) -> Any:
    """Repeat x for every element of a new leading axis."""
    return shaping.broadcast_in_dim(x, shape=(size, *x.shape), dims=tuple(range(1, x.ndim + 1)))


def of_one_dtype(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    """The rule `explicit` of two operands that keep their shapes and take their common dtype."""
    x, y = map(aval_of_operand, ins)
    dtype = np.result_type(x.dtype, y.dtype)
    return aval_of(x.shape, dtype), aval_of(y.shape, dtype)
