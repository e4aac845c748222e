"""Variables that hold a value on some paths only, and None, or nothing, on the others.

After `found = None`, a branch or a round may bind `found`. It is a `Maybe` then: a value, and a
traced flag that says whether it is there. `found is None` asks for the flag. Where a test on it has
decided, in a branch, the variable is one of the two again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval
from lazynp._dimensions import as_test
from lazynp._sizes import Test
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise
from lazynp.transforms._stack import argument_node, result_handle
from lazynp.transforms.control import _asked
from lazynp.transforms.control._state import (
    UNBOUND,
    VALUE,
    CannotStage,
    Maybe,
    cells_of,
    load,
    quoted,
    session,
    truth,
    undecided,
    value_of,
)

OPTIONAL = ".optional"  # the argument of inner functions that names such variables

Facts = tuple[tuple[Maybe, bool], ...]  # which values are there, and which are not


def optional_of(*functions: Any) -> frozenset[str]:
    """The variables of these inner functions that may hold None."""
    given = [(getattr(f, "__kwdefaults__", None) or {}).get(OPTIONAL, ()) for f in functions]
    return frozenset().union(*given)


# -- tests -----------------------------------------------------------------------------------------


def _is_open(x: Any) -> bool:
    """Whether it is None or a value, and the trace does not know which."""
    return type(x) is Maybe and x.none and isinstance(x.flag, Array)


def absent(value: Any, name: str) -> Any:
    """`value is None`, for a variable that may be a `Maybe`."""
    if not _is_open(value):
        return load(value, name) is None
    out = result_handle(elementwise.logical_not(value.flag)._read())
    _note(out, ((value, False),), ((value, True),))
    return out


def present(value: Any, name: str) -> Any:
    """The truth of such a variable: None is false."""
    if not _is_open(value):
        return load(value, name)
    inner = truth(value.value) if isinstance(value.value, Array) else np.bool_(bool(value.value))
    out = result_handle(elementwise.logical_and(value.flag, inner)._read())
    _note(out, ((value, True),), ())
    return out


def equals(a: Any, b: Any, equal: bool, names: tuple[str, ...]) -> Any:
    """`a == b`, or `a != b`, of variables that may be a `Maybe`. None equals no number."""
    name = " or ".join(names)
    a, b = (x if _is_open(x) else load(x, name) for x in (a, b))
    if _is_open(b):
        a, b = b, load(a, name)
    if _is_open(a) and b is None:
        return _negated(absent(a, name), not equal)
    if _is_open(a) and not np.ndim(a.value) and not np.ndim(b):
        same = truth(new_array(argument_node(a.value == b)))
        out = result_handle(elementwise.logical_and(a.flag, same)._read())
        _note(out, ((a, True),), ())
        return _negated(out, not equal)
    a = load(a, name)
    if (a is None or b is None) and not any(isinstance(x, Array) and x.ndim for x in (a, b)):
        return (a is b) is equal
    return _asked.equal(a, b) if equal else _asked.not_equal(a, b)


def _negated(test: Any, negated: bool) -> Any:
    if not negated:
        return test
    return same_facts(result_handle(elementwise.logical_not(test)._read()), test, opposite=True)


def _note(test: Any, true: Facts, false: Facts) -> None:
    if true or false:
        session.facts[id(test)] = test, true, false  # kept: its id stays its own


def facts(test: Any, result: bool) -> Facts:
    """What is known of variables where this test has this result."""
    found = session.facts.get(id(test))
    return () if found is None else found[1] if result else found[2]


def same_facts(test: Any, of: Any, opposite: bool = False) -> Any:
    """The test `test`, which is `of`, or its opposite, again."""
    if id(of) in session.facts and undecided(test):
        _note(test, facts(of, not opposite), facts(of, opposite))
    return test


def both_facts(out: Any, first: Any, second: Facts, ends: bool) -> Any:
    """The result `out` of `and` (ends: True) or `or`: if it is `ends`, both operands were."""
    known = (*facts(first, ends), *second)
    if known and undecided(out):
        _note(out, *((known, ()) if ends else ((), known)))
    return out


class Asked:
    """The second operand of `and` (ends: True) or `or`. known: what holds where its truth is
    `ends`. settles: whether its truth is known, and is not `ends`.
    """

    known: Facts = ()
    settles = False

    def __init__(self, function: Any, ends: bool) -> None:
        self._function, self._ends = function, ends
        self.__code__, self.__closure__ = function.__code__, function.__closure__

    def __call__(self) -> Any:
        out = self._function()
        out = as_test(out) if type(out) is Test else out
        self.known = facts(out, self._ends)
        self.settles = type(out) in (bool, np.bool) and bool(out) is not self._ends
        return out


@contextmanager
def narrowed(test: Any, result: bool, function: Callable[..., Any]) -> Iterator[None]:
    """While this branch is traced, its variables are what the test says."""
    known = facts(test, result)
    changed = []
    for cell in cells_of(function).values() if known else ():
        value = value_of(cell)
        for maybe, there in known:
            if value is maybe:
                cell.cell_contents = maybe.value if there else None
                changed.append((cell, cell.cell_contents, maybe))
    try:
        yield
    finally:
        for cell, value, maybe in changed:
            if value_of(cell) is value:  # the branch has not bound it
                cell.cell_contents = maybe


# -- what two paths leave --------------------------------------------------------------------------


def is_none_kind(name: str, first: Any, second: Any, line: int) -> bool:
    """Whether the variable that two paths leave like this may hold None; else it may be unbound."""
    kinds = [v.none if type(v) is Maybe else v is None for v in (first, second)
             if v is UNBOUND or v is None or type(v) is Maybe]  # fmt: skip
    surely = session.strict is not None or any(v is UNBOUND for v in (first, second))
    if len(set(kinds)) > 1 and name != VALUE and surely:
        raise CannotStage(f"line {line}: {quoted(name)} may be None, and may be unbound")
    return any(kinds)  # where it is unbound and read, Python raises an error


def parts_of(described: Any) -> tuple[Any, Any]:
    """The description of the value, or None; the flag, with its place if it is traced."""
    value, leaves, places = described
    if value is UNBOUND or value is None:
        return None, (False, None)
    if type(value) is not Maybe:
        return described, (True, None)
    flag = places[-1][0] if isinstance(value.flag, Array) else None
    return (value.value, leaves[:-1], places[:-1]), (value.flag, flag)


class Zero:
    """A place that no branch fills."""

    def __init__(self, aval: Aval) -> None:
        self.aval = aval


def filler(described: Any) -> Any:
    value, leaves, places = described
    made = [x if p is None else Zero(p[1]) for x, p in zip(leaves, places)]
    blank = [p if p is None else (m, p[1], None, False) for m, p in zip(made, places)]
    return tree_unflatten(tree_flatten(value)[1], made), made, blank
