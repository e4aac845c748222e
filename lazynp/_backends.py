"""The back ends that execute operations instead of recording them.

`Eager` runs small operations on available values by NumPy, in loops where recording costs more than
it can gain. `Strict` runs operations that may raise floating-point errors under the user's own
NumPy state, so that warnings, errors and calls are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import _errstate
from lazynp._avals import on_device
from lazynp._node import OP, VALUE, Node, Op
from lazynp._quiet import quiet_result
from lazynp._recorder import Backend, Recorder, impose, install, local, user_position
from lazynp._values import host_value, there, watched


class Eager(Backend):
    """Executes operations that would gain no more in a program than a flush costs."""

    in_loop = True

    def attempt(self, execute: Callable[..., Any], *args: Any) -> Any:
        return execute(*args)

    def goes_on(self, recorder: Recorder) -> bool:
        """An operation that is executed has nothing to do with what is pending."""
        return not recorder.due or not recorder.is_full()

    def largest(self) -> float:
        return local.recorder.policy.largest

    def value(self, node: Node, any_size: bool = False) -> Any:
        value = node[VALUE]
        if type(value) is not ndarray:
            value = there(node)
            if type(value) is not ndarray:
                return value if isinstance(value, np.generic) and on_device(value.dtype) else None
        if not on_device(value.dtype):
            return None
        return value if any_size or value.nbytes <= local.recorder.policy.largest else None

    def operation(self, op: Op, operands: tuple[Any, ...]) -> Node | None:
        if op.free and not op.scalar:
            return self._free(op, operands)
        if not op.small:
            return None
        largest = math.inf if self.in_loop else local.recorder.policy.largest
        values = []
        for o in operands:
            if type(o) is list:
                value = o[VALUE]
                if type(value) is not ndarray:
                    value = there(o)
                    if value is None:
                        return None
                if value.nbytes > largest:
                    return None
                values.append(value)
            else:
                values.append(o)
        result = quiet_result(local.recorder.quiet, op.reference, *values)
        if op.scalar:
            if type(result) is ndarray:
                result = result[()]
            return [None, None, result, None, op.aval]
        return [op, None, result, None, 0]

    def _free(self, op: Op, operands: tuple[Any, ...]) -> Node | None:
        """A view or a fill: NumPy's view if it is small, else parked and rematerialised where it is
        used.
        """
        first = operands[0] if operands else None
        if op.primitive.kind == "view" and type(first) is list and type(first[VALUE]) is ndarray:
            if not any([type(o) is list for o in operands[1:]]):
                # otherwise it is part of whatever reads it
                if not op.sized and op.aval.nbytes <= local.recorder.policy.largest:
                    return [op, None, op.reference(first[VALUE], *operands[1:]), None, 0]
        for o in operands:
            if type(o) is list and o[VALUE] is None and (o[OP] is None or not o[OP].free):
                return None
        return [op, operands, None, *user_position()]


class First(Eager):
    """The same at the beginning of a program, when nothing is known of its loops: executes no
    operation on larger values or with a larger result, and causes no flush.
    """

    in_loop = False

    def operation(self, op: Op, operands: tuple[Any, ...]) -> Node | None:
        if not op.primitive.multiple_results and op.aval.nbytes > local.recorder.policy.largest:
            return None
        return super().operation(op, operands)


# kinds of operations that may raise flags
_RAISES_FLAGS = ("elementwise", "reduction", "contract", "fft")


class Strict(Backend):
    """Executes operations that may raise floating-point errors by NumPy's kernels, if the state of
    the present context requires that.
    """

    def operation(self, op: Op, operands: tuple[Any, ...]) -> Node | None:
        if op.primitive.kind not in _RAISES_FLAGS or not watched():
            return None
        values = [host_value(o) if type(o) is list else o for o in operands]
        value = _errstate.checked(op.reference, *values)
        if not op.primitive.multiple_results and np.ndim(value) == 0:
            value = op.aval.dtype.type(value)
        return [op, None, value, None, 0]


EAGER, FIRST, STRICT = Eager(), First(), Strict()
install(eager=EAGER, first=FIRST)
_errstate.on_change(lambda watching: impose(STRICT if watching else None))
