"""Large stacks of matrices for jaxlib's calls of LAPACK, a chunk at a time.

Such a call divides a large stack among the threads of XLA's pool, and waits. If it runs on a thread
of the pool itself, as after any parallel kernel, then that thread is lost meanwhile; if two calls
hold all threads of two cores, the program waits for ever. The thread that calls computes a stack of
one matrix, or of little work, itself. So a loop makes calls of little work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of

# Jaxlib divides a stack from 200,000 operations on (lapack_kernels.cc); here is some room.
_WORK = 100_000
# Operations that jaxlib counts for a matrix: so many times rows * columns * the lesser of both.
# Unknown routines count as the dearest one.
_OPERATIONS = {
    "potrf": 1, "getrf": 1, "trsm": 1, "geqrf": 2, "orgqr": 4, "ungqr": 4, "heevd": 4, "syevd": 5,
    "geev": 10, "gesdd": 10,
}  # fmt: skip
_DEAREST = 10
_COMPLEX = 3
_APART = 64  # entries of a matrix: from here on, some releases divide any stack for an SVD
_INT64 = np.dtype(np.int64)

Call = Callable[[Any, list[Any], list[tuple[Aval, int]]], list[Any]]


def length(routine: str, work: Aval) -> int:
    """How many matrices of this aval one call may take."""
    m, n = work.shape[-2:]
    if routine == "gesdd" and m * n >= _APART:
        return 1
    inner = m if routine == "trsm" else min(m, n)
    times = _OPERATIONS.get(routine, _DEAREST) * (_COMPLEX if work.dtype.kind == "c" else 1)
    return max(1, _WORK // max(1, times * m * n * inner))


def called(
    b: Any, call: Call, operands: Sequence[Any], ranks: Sequence[int],
    outs: Sequence[tuple[Aval, int]], most: int,
) -> list[Any]:  # fmt: skip
    """`call(b, operands, outs)` for whole stacks, with at most so many matrices a call.

    ranks: of each operand, its dimensions that are no stack; `outs` has them for the results.
    """
    stack = operands[0].aval.shape[: operands[0].aval.ndim - ranks[0]]
    count = math.prod(stack)
    if count <= most:
        return call(b, list(operands), list(outs))
    flat = [_stacked(b, x, r, (count,)) for x, r in zip(operands, ranks, strict=True)]
    chunks = [(_resized(aval, r, (most,)), r) for aval, r in outs]
    results = [_resized(aval, r, (count,)) for aval, r in outs]

    def go_on(b: Any, state: list[Any]) -> Any:
        return b.compare(state[0], b.constant(count, _INT64), "LT")

    def one(b: Any, state: list[Any]) -> list[Any]:
        first, *made = state

        def place(x: Any) -> list[Any]:
            return [first, *[b.constant(0, _INT64)] * (x.aval.ndim - 1)]

        # The last chunk begins earlier if less is left: both calls clamp, and it is computed again.
        parts = [b.dynamic_slice(x, place(x), (most, *x.aval.shape[1:])) for x in flat]
        new = call(b, parts, chunks)
        made = [b.dynamic_update_slice(x, y, place(x)) for x, y in zip(made, new, strict=True)]
        return [b.binary("stablehlo.add", first, b.constant(most, _INT64)), *made]

    begin = [b.constant(0, _INT64), *[b.constant(0, a.dtype, a.shape) for a in results]]
    done = b.while_loop(go_on, one, begin)[1:]
    return [_stacked(b, x, r, stack) for x, (_, r) in zip(done, outs, strict=True)]


def _resized(aval: Aval, rank: int, stack: tuple[int, ...]) -> Aval:
    return aval_of((*stack, *aval.shape[aval.ndim - rank :]), aval.dtype)


def _stacked(b: Any, x: Any, rank: int, stack: tuple[int, ...]) -> Any:
    return b.reshape(x, (*stack, *x.aval.shape[x.aval.ndim - rank :]))
