"""Python's numbers in a staged loop: those that no traced value affects stay known, and no int
silently exceeds 64 bits.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._jaxpr import Jaxpr, Literal, eval_reference
from lazynp._node import ARGS, OP, VALUE, aval_of_node
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._sequences import interval
from lazynp.transforms.control._state import CannotStage, session, undecided

_WORK = 20_000  # equations that are evaluated at most, to know what a loop left in a variable


def python_number(result: Any, start: Any) -> Any:
    """The number that a loop leaves in a variable, if it began as one of Python's and depends on
    nothing traced; else the result.
    """
    if type(start) not in (bool, int, float) or not isinstance(result, Array):
        return result
    node = result._read()
    aval = aval_of_node(node)
    wanted = {"b": bool, "i": int, "f": float}.get(aval.dtype.kind)
    if node[OP] is not None and node[OP].primitive.name == "convert":  # to a number of Python's
        node = node[ARGS][0]
    if wanted is None or node[OP] is None or node[OP].primitive.name != "project":
        return result
    loop = node[ARGS][0]
    if loop[OP].primitive.name != "scan":
        return result
    found = _last(loop[ARGS], node[OP].params["index"], **loop[OP].params)
    return result if found is None else wanted(found)


def _last(
    operands: Any, index: int, *, jaxpr: Jaxpr, length: int, consts: int, carry: int, **rest: Any
) -> Any:
    """The last value of one part of the carry, by NumPy, or None."""
    places = {v: i for i, v in enumerate(jaxpr.inputs)}
    parts, read = [index], set()
    eqns: list[Any] = []
    while True:
        needed = {a for p in parts for a in [jaxpr.outputs[p]] if not isinstance(a, Literal)}
        eqns = []
        for eqn in reversed(jaxpr.eqns):
            if needed.intersection(eqn.outputs):
                eqns.insert(0, eqn)
                needed |= {a for a in eqn.inputs if not isinstance(a, Literal)}
        read = {places[a] for a in needed if a in places}
        more = [i - consts for i in sorted(read) if consts <= i < consts + carry]
        more = [p for p in more if p not in parts]
        if any(i >= consts + carry for i in read) or length * len(eqns) > _WORK:
            return None
        if not more:
            break
        parts += more
    fixed = sorted(i for i in read if i < consts)
    given = [_value(operands[i], jaxpr.in_avals[i]) for i in (*fixed, *(consts + p for p in parts))]
    if any(v is None for v in given):
        return None
    inputs = [jaxpr.inputs[i] for i in fixed] + [jaxpr.inputs[consts + p] for p in parts]
    small = Jaxpr(inputs, eqns, [jaxpr.outputs[p] for p in parts])
    state = given[len(fixed) :]
    for _ in range(length):
        state = eval_reference(small, [*given[: len(fixed)], *state])
    return state[0]


def _value(operand: Any, aval: Any) -> Any:
    value = operand[VALUE] if type(operand) is list else operand
    if aval.shape or not isinstance(value, (np.generic, bool, int, float)):
        return None
    return aval.dtype.type(value)


# -- ints of more than 64 bits ---------------------------------------------------------------------

_PLAIN = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Pow": operator.pow,
    "LShift": operator.lshift,
}  # fmt: skip
_IN_PLACE = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Pow": operator.ipow,
    "LShift": operator.ilshift,
}  # fmt: skip
_LARGE, _STEP = 2**63, 2**31


def arithmetic(name: str, a: Any, b: Any, line: int) -> Any:
    """`a + b` and the like."""
    if session.depth and _are_ints(a, b):
        return _checked(name, a, b, line)
    return _PLAIN[name](a, b)


def augmented(name: str, a: Any, b: Any, line: int) -> Any:
    """`a += b` and the like."""
    if session.depth and _are_ints(a, b):
        return _checked(name, a, b, line)
    return _IN_PLACE[name](a, b)


def _are_ints(a: Any, b: Any) -> bool:
    """Whether both are ints of Python's, and one is traced."""
    return _is_int(a) and _is_int(b) and (undecided(a) or undecided(b))


def _is_int(x: Any) -> bool:
    if type(x) is int:
        return True
    if not isinstance(x, Array):
        return False
    aval = aval_of_node(x._read())
    return aval.weak and not aval.shape and aval.dtype.kind == "i"


def _checked(name: str, a: Any, b: Any, line: int) -> Any:
    plain = _PLAIN[name]
    p, q = interval(a), interval(b)
    small = [r is not None and -_STEP <= r[0] <= r[1] <= _STEP for r in (p, q)]
    if name in ("Add", "Sub"):
        if any(small):  # it takes 2**32 rounds
            return plain(a, b)
    elif p is not None and q is not None and (name == "Mult" or 0 <= q[0] <= q[1] < 64):
        if max(abs(plain(x, y)) for x in p for y in q) < _LARGE:
            return plain(a, b)
    if name in ("Pow", "LShift") or session.exact:
        raise CannotStage(f"line {line}: an int that may have more than 64 bits")
    out, estimate = plain(a, b), plain(_real(a), _real(b))
    check_later(
        elementwise.greater_equal(elementwise.absolute(estimate), float(_LARGE)), OverflowError,
        f"line {line}: an int of more than 64 bits; write a float, or jit(..., loops=\"unroll\")",
    )  # fmt: skip
    return out


def _real(x: Any) -> Any:
    return elementwise.convert(x, dtype=np.dtype(np.float64)) if isinstance(x, Array) else float(x)
