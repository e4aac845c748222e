"""Shows the fast path how the interpreter calls an operator.

`a * b + c` has a temporary, whose memory can take the result, as in NumPy. The fast path reuses it
only if the operator comes from the interpreter's own instruction. It knows such a call by its
callers in C, which it notes here: in a function, in a function that C calls, and in a generator,
which have only the instruction in common. Calls by `operator` must look different; otherwise the
operator reuses nothing.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import new_array
from lazynp._node import leaf

_BINARY: list[tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    (lambda x, y: x + y, operator.add),
    (lambda x, y: x - y, operator.sub),
    (lambda x, y: x * y, operator.mul),
    (lambda x, y: x / y, operator.truediv),
    (lambda x, y: x // y, operator.floordiv),
    (lambda x, y: x % y, operator.mod),
    (lambda x, y: x & y, operator.and_),
    (lambda x, y: x | y, operator.or_),
    (lambda x, y: x ^ y, operator.xor),
    (lambda x, y: x << y, operator.lshift),
    (lambda x, y: x >> y, operator.rshift),
    (lambda x, y: x**y, operator.pow),
    (lambda x, y: x @ y, operator.matmul),
]
_UNARY: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: -x, operator.neg),
    (lambda x: ~x, operator.invert),
]


def show_callers(note: Callable[[int], None]) -> None:
    """note: the fast path's function for it."""
    x = new_array(leaf(np.ones(1)))
    for function, other in _BINARY:
        _show(note, function, other, (x, x))
        if other not in (operator.matmul, operator.pow):  # numbers have none; C has no front
            _show(note, function, other, (1.0, x))
    for function, other in _UNARY:
        _show(note, function, other, (x,))


def _show(
    note: Callable[[int], None],
    function: Callable[..., Any],
    other: Callable[..., Any],
    operands: tuple[Any, ...],
) -> None:
    note(1)
    _call(lambda: function(*operands))
    _call(lambda: list(map(function, *[(x,) for x in operands])))
    _call(lambda: next(function(*each) for each in (operands,)))
    note(-1)
    _call(lambda: other(*operands))
    note(0)


def _call(function: Callable[[], Any]) -> None:
    with contextlib.suppress(TypeError):  # nothing is computed
        function()


__all__ = ["show_callers"]
