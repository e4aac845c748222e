"""Python's numbers in a staged loop: those that no traced value affects stay known, no int
silently exceeds 64 bits, and in what is compiled unasked, division fails as in Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazynp._array import Array, new_scalar
from lazynp._interpreter import eval_reference
from lazynp._intervals import Interval, interval
from lazynp._jaxpr import Jaxpr, Literal
from lazynp._node import ARGS, OP, VALUE, aval_of_node
from lazynp._recorder import StagingRecorder, local
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._asked import number_shown
from lazynp.transforms.control._joining import may_wrap, of_either
from lazynp.transforms.control._printing import by_percent
from lazynp.transforms.control._sharing import refuse_merged
from lazynp.transforms.control._state import (
    CannotStage,
    changes_in_place,
    fresh,
    kind,
    may_change,
    pythons,
    session,
    undecided,
)
from lazynp.transforms.control._wide import (
    BITWISE,
    is_wide,
    low_bits,
    narrowed,
    needs_wide,
    of_wide,
)

_WORK = 20_000  # equations that are evaluated at most, to know what a loop left in a variable


def python_number(result: Any, start: Any) -> Any:
    """The number that a loop leaves in a variable, if it began as one of Python's and depends on
    nothing traced; else the result.
    """
    if type(start) not in (bool, int, float) or not isinstance(result, Array):
        return result
    node = result._read()
    aval = aval_of_node(node)
    wanted = {"b": bool, "i": int, "u": int, "f": float}.get(aval.dtype.kind)
    if node[OP] is not None and node[OP].primitive.name == "convert":  # to a number of Python's
        node = node[ARGS][0]
    if wanted is None or node[OP] is None or node[OP].primitive.name != "project":
        return result
    loop = node[ARGS][0]
    found = _last(loop[ARGS], node[OP].params["index"], loop[OP])
    return result if found is None else wanted(found)


def _last(operands: Any, index: int, op: Any) -> Any:
    """The last value of one part of the carry of a loop, by NumPy, or None."""
    params, test = op.params, None
    if op.primitive.name == "scan":
        body, length = params["jaxpr"], params["length"]
    elif op.primitive.name == "while" and params["count"] is not None:
        body, test, length = params["body"], params["cond"], params["count"].rounds
    else:
        return None
    if length is None:
        return None
    last = params["consts"] + params.get("carry", len(body.outputs))
    found = _needed(body, test, index, params["consts"], last)
    if found is None:
        return None
    fixed, parts, eqns = found
    if length * len(eqns if test is None else [*eqns, *test.eqns]) > _WORK:
        return None
    places = [*fixed, *parts]
    given = [_value(operands[i], body.in_avals[i]) for i in places]
    if any(v is None for v in given):
        return None
    outs = [body.outputs[p - params["consts"]] for p in parts]
    small = Jaxpr([body.inputs[i] for i in places], eqns, outs)
    going = test and Jaxpr([test.inputs[i] for i in places], test.eqns, test.outputs)
    state = given[len(fixed) :]
    for _ in range(length):
        now = [*given[: len(fixed)], *state]
        if going is not None and not eval_reference(going, now)[0]:
            break
        state = eval_reference(small, now)
    return state[0]


def _needed(
    body: Jaxpr, test: Jaxpr | None, index: int, consts: int, last: int
) -> tuple[list[int], list[int], list[Any]] | None:
    """What one part of the carry depends on: operands that stay, operands that are carried, and
    the equations; None if it depends on what is scanned over.
    """
    places = {v: i for i, v in enumerate(body.inputs)}
    parts = [consts + index]
    if parts[0] >= last:
        return None
    tested: set[int] = set()
    if test is not None:
        used = {a for e in test.eqns for a in e.inputs} | set(test.outputs)
        tested = {i for i, v in enumerate(test.inputs) if v in used}
    while True:
        needed = {
            a for p in parts for a in [body.outputs[p - consts]] if not isinstance(a, Literal)
        }
        eqns: list[Any] = []
        for eqn in reversed(body.eqns):
            if needed.intersection(eqn.outputs):
                eqns.insert(0, eqn)
                needed |= {a for a in eqn.inputs if not isinstance(a, Literal)}
        read = {places[a] for a in needed if a in places} | tested
        more = sorted(i for i in read if consts <= i < last and i not in parts)
        if any(i >= last for i in read):
            return None
        if not more:
            return sorted(i for i in read if i < consts), parts, eqns
        parts += more


def _value(operand: Any, aval: Any) -> Any:
    value = operand[VALUE] if type(operand) is list else operand
    if aval.shape or not isinstance(value, (np.generic, bool, int, float)):
        return None
    return aval.dtype.type(value)


# -- ints of more than 64 bits ---------------------------------------------------------------------

_PLAIN = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Pow": operator.pow,
    "LShift": operator.lshift, "Div": operator.truediv, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, **BITWISE,
}  # fmt: skip
_IN_PLACE = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Pow": operator.ipow,
    "LShift": operator.ilshift, "Div": operator.itruediv, "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod, "BitAnd": operator.iand, "BitOr": operator.ior, "BitXor": operator.ixor,
    "RShift": operator.irshift,
}  # fmt: skip
_UNARY = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
_DIVISIONS = {"Div", "FloorDiv", "Mod"}
_OF_LISTS = {list, int, bool}  # operands of which lists make new ones
_LARGE, _STEP = 2**63, 2**31


def arithmetic(name: str, a: Any, b: Any, line: int, wraps: bool = False) -> Any:
    """`a + b` and the like. wraps: only the low bits of ints count (`_modular`)."""
    if _are_numbers(a, b):
        a, b = _counted(a), _counted(b)
        ints = is_int(a) and is_int(b)
        if wraps and ints:
            return _PLAIN[name](low_bits(a), low_bits(b))
        if session.strict is None and ints and name in _DIVISIONS and isinstance(b, Array):
            _check_divisor(name, b)
        if session.depth:
            _check_failures(name, a, b, line)
        if ints and needs_wide(name, a, b):
            return of_wide(name, a, b, line)
        if name not in _DIVISIONS and name not in BITWISE and ints:
            return _checked(name, a, b, line)
        if session.depth and session.strict is not None:
            if name in _DIVISIONS or name == "Pow":
                a, b = _guarded(name, a), _guarded(name, b)
            return _pythons(_PLAIN[name](a, b))
    elif session.picks and name != "Div" and name not in BITWISE and (may_wrap(a) or may_wrap(b)):
        out = of_either(_PLAIN[name], a, b, name in ("Pow", "LShift"))
        if out is not None:
            return out
    a, b = _beside(a, b, line), _beside(b, a, line)
    if name == "Mod" and type(a) is str:
        if (told := by_percent(a, b)) is not None:
            return told
        b = tuple(map(number_shown, b)) if type(b) is tuple else number_shown(b)
    out = _PLAIN[name](a, b)
    return fresh(out) if type(out) is list and {type(a), type(b)} <= _OF_LISTS else out


def _beside(x: Any, other: Any, line: int) -> Any:
    """A wide int beside an integer of NumPy's: one of int64, unless both are unsigned."""
    if not undecided(x) or not is_wide(x) or getattr(other, "dtype", np.dtype(float)).kind != "i":
        return x
    return narrowed(x, line)


def unary(name: str, x: Any, wraps: bool = False) -> Any:
    """`-x` and the like."""
    if undecided(x) and is_wide(x) and name != "UAdd":
        x = low_bits(x) if wraps else narrowed(x, 0)
    if name == "USub" and session.picks and may_wrap(x):
        return arithmetic("Sub", 0, x, 0)
    return _UNARY[name](_counted(x) if undecided(x) and _is_number(x) else x)


def _counted(x: Any) -> Any:
    """A bool of Python's as the int that it is in sums."""
    if not isinstance(x, Array):
        return int(x) if type(x) is bool else x
    return pythons(x, np.dtype(np.int64)) if x.dtype == np.bool_ else x


def _guarded(name: str, x: Any) -> Any:
    """An operand as a number of NumPy's: checks have recorded where Python fails. (See
    `_promotion/_program`.)
    """
    if not isinstance(x, Array) or x.dtype.kind != "f" and not (name == "Div" and is_int(x)):
        return x
    weak = elementwise.convert(x, dtype=np.dtype(np.float64), weak=True)
    return new_scalar(elementwise.convert(weak, dtype=np.dtype(np.float64))._read())


def augmented(name: str, a: Any, b: Any, line: int) -> Any:
    """`a += b` and the like."""
    if _are_numbers(a, b) or session.picks and (may_wrap(a) or may_wrap(b)):
        return arithmetic(name, a, b, line)
    if session.depth and changes_in_place(a) and not may_change(a):
        raise CannotStage(f"line {line}: an object ({kind(a)}) is changed")
    refuse_merged(a)
    return _IN_PLACE[name](a, b)


def _are_numbers(a: Any, b: Any) -> bool:
    """Whether both are numbers of Python's, and one is traced."""
    return (undecided(a) or undecided(b)) and _is_number(a) and _is_number(b)


def _pythons(x: Any) -> Any:
    """The result as a number of Python's."""
    if not isinstance(x, Array) or x.dtype not in (np.int64, np.float64, np.complex128):
        return x
    return pythons(x, x.dtype)


def _is_number(x: Any) -> bool:
    if not isinstance(x, Array):
        return type(x) in (bool, int, float, complex)
    aval = aval_of_node(x._read())
    return aval.weak and not aval.shape


def _check_failures(name: str, a: Any, b: Any, line: int) -> None:
    """Where Python's numbers raise, or become complex, and NumPy's do not: a program that nobody
    asked for must not differ there. Other programs check the divisors of ints: `_check_divisor`.
    """
    if session.strict is None:
        return
    if name in _DIVISIONS and isinstance(b, Array):
        check_later(elementwise.equal(b, 0), ZeroDivisionError, f"line {line}: division by zero")
    if name == "Pow" and not (is_int(a) and is_int(b)):
        _check_power(_guarded(name, a), _guarded(name, b), line)


def _check_divisor(name: str, b: Any) -> None:
    """The program raises as Python does where the divisor of an int of Python's is 0."""
    low, high = _interval(b)
    if low <= 0 <= high:
        check_later(elementwise.equal(b, 0), ZeroDivisionError, _BY_ZERO[name])


def _text_by_zero(name: str) -> str:
    try:
        return str(_PLAIN[name](1, 0))
    except ZeroDivisionError as error:
        return str(error)


_BY_ZERO = {name: _text_by_zero(name) for name in sorted(_DIVISIONS)}


def _check_power(a: Any, b: Any, line: int) -> None:
    """a**b may be complex for a < 0, divide by a zero, or exceed the range of floats."""
    text = f"line {line}: a power of Python's numbers"
    if type(b) not in (int, float) or b < 0 or b != int(b):
        base = a if isinstance(a, Array) else np.asarray(a)
        if base.dtype.kind == "c":
            raise CannotStage(text)
        check_later(elementwise.less_equal(base, 0), ArithmeticError, text)
    out = a**b
    check_later(elementwise.logical_not(elementwise.isfinite(out)), OverflowError, text)


def is_int(x: Any) -> bool:
    if type(x) is int:
        return True
    if not isinstance(x, Array):
        return False
    aval = aval_of_node(x._read())
    return aval.weak and not aval.shape and (aval.dtype.kind == "i" or aval.dtype == np.uint64)


def _checked(name: str, a: Any, b: Any, line: int) -> Any:
    plain = _PLAIN[name]
    p, q = _interval(a), _interval(b)
    small = [-_STEP <= low <= high <= _STEP for low, high in (p, q)]
    if name in ("Add", "Sub"):
        if any(small):  # it takes 2**32 rounds
            return plain(a, b)
    elif name == "Mult" or 0 <= q[0] <= q[1] < 64:
        if max(abs(plain(x, y)) for x in p for y in q) < _LARGE:
            return plain(a, b)
    # without the loop, `2**k` of a k that it counts is an int of any size
    grows = name in ("Pow", "LShift") and type(b) is not int
    if session.depth and (grows or session.exact and not (_is_given(a) or _is_given(b))):
        raise CannotStage(f"line {line}: an int that may have more than 64 bits")
    if name == "LShift" and q[0] < 0:
        check_later(elementwise.less(b, 0), ValueError, "negative shift count")
    check_later(
        _exceeds(name, a, b), OverflowError,
        f"line {line}: an int of more than 64 bits; write a float, or make the argument static",
    )  # fmt: skip
    return plain(a, b)


_LOOKED_AT = 256


def _is_given(x: Any) -> bool:
    """Whether a number depends on what the traced function is given: to unroll the loops around it
    makes no int of it.
    """
    recorders, handles = list[StagingRecorder](), dict[int, Any]()
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        recorders.append(recorder)
        handles |= {id(given): node for _, node, given in recorder.handles.values()}
        handles |= {id(given): node for node, given in recorder.aliases.values()}
        recorder = recorder.outer
    if not isinstance(x, Array) or not recorders:
        return False
    given = {id(node) for node in recorders[-1].inputs}
    seen, left = set[int](), [x._read()]
    while left and len(seen) < _LOOKED_AT:
        node: Any = left.pop()
        if type(node) is not list or id(node) in seen:
            continue
        if id(node) in given:
            return True
        seen.add(id(node))
        left += [handles[id(node)]] if id(node) in handles else node[ARGS] or ()
    return False


def _exceeds(name: str, a: Any, b: Any) -> Any:
    """Whether the result has more than 64 bits."""
    if name != "LShift":
        estimate = _PLAIN[name](_real(a), _real(b))
    elif type(b) is int and 0 <= b < 64:  # by integers, since hashes shift in each round
        low, high = -_LARGE >> b, _LARGE - 1 >> b
        return elementwise.logical_or(elementwise.less(a, low), elementwise.greater(a, high))
    else:
        estimate = _real(a) * 2.0 ** _real(b)
    return elementwise.greater_equal(elementwise.absolute(estimate), float(_LARGE))


def _interval(x: Any) -> Interval:
    return interval(x._read()) if isinstance(x, Array) else (x, x)


def _real(x: Any) -> Any:
    return elementwise.convert(x, dtype=np.dtype(np.float64)) if isinstance(x, Array) else float(x)
