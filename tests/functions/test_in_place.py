"""In-place operations that NumPy refuses for two reasons raise the one it looks at first."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import lazynp

OPERATORS = {
    "iadd": "add", "isub": "subtract", "imul": "multiply", "itruediv": "divide",
    "ifloordiv": "floor_divide", "imod": "remainder", "ipow": "power", "iand": "bitwise_and",
    "ilshift": "left_shift", "imatmul": "matmul",
}  # fmt: skip
TARGETS = [("i8", (3,)), ("i8", (2, 3)), ("u1", (3,)), ("f8", (3,)), ("?", (3,)), ("f4", (3,))]
OPERANDS = [
    ("f8", (2,)), ("f8", (4, 3)), ("c16", (2,)), ("i8", (2,)), ("?", (2,)), ("f8", (2, 3)),
    ("i8", (2, 2, 3)), ("f8", (2, 2, 3)), ("u8", (2,)),
]  # fmt: skip
NUMBERS = [300, -1, 2.5, 1j, True, 10**30]


def _outcome(np: Any, target: Any, operand: Any, call: Any) -> Any:
    x = np.ones(target[1], target[0])
    y = np.ones(operand[1], operand[0]) if isinstance(operand, tuple) else operand
    try:
        return numpy.asarray(call(np, x, y)).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("execution", ["compiled", "reference"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, execution: str) -> None:
    def call(np: Any, x: Any, y: Any) -> Any:
        return getattr(operator, name)(x, y)

    with lazynp.config(execution=execution):
        for target in TARGETS:
            for operand in [*OPERANDS, *NUMBERS]:
                want = _outcome(numpy, target, operand, call)
                assert _outcome(lazynp, target, operand, call) == want, (target, operand)


@pytest.mark.parametrize("name", OPERATORS)
def test_out(name: str) -> None:
    def call(np: Any, x: Any, y: Any) -> Any:
        return getattr(np, OPERATORS[name])(x, y, out=x)

    with lazynp.config(execution="reference"):
        for target in TARGETS:
            for operand in OPERANDS if name == "imatmul" else [*OPERANDS, *NUMBERS]:
                want = _outcome(numpy, target, operand, call)
                assert _outcome(lazynp, target, operand, call) == want, (target, operand)
