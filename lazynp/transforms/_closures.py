"""Find the outside arrays that a function can see, without running it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from lazynp._array import Array, Scalar
from lazynp._node import VALUE, Node, aval_of_node, is_tracer


def outside(things: Iterable[Any]) -> list[Any]:
    """The arrays among these things, and among those that their functions reach through closures,
    globals and defaults. They are named as in a staged program: by owner, or by the node of an
    immutable scalar.

    Arrays deep inside objects are not found.
    """
    found: dict[int, Any] = {}
    seen: set[int] = set()
    stack = list(things)
    while stack:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Array):
            if _traceable(thing._read()):
                item = _item(thing)
                found[id(item)] = item
        elif isinstance(thing, MethodType):
            stack.append(thing.__func__)
        elif isinstance(thing, functools.partial):
            stack += [thing.func, *thing.args, *thing.keywords.values()]
        elif isinstance(thing, FunctionType):
            if not (thing.__module__ or "").startswith(("lazynp.", "numpy.")):
                stack += _names(thing)
        elif isinstance(thing, (tuple, list, dict)) and len(thing) < _LONG:
            stack += thing.values() if isinstance(thing, dict) else thing
    return list(found.values())


_LONG = 1000  # a list of this length is data


def _traceable(node: Node) -> bool:
    alive = not is_tracer(node) or node[VALUE].trace.alive
    return alive and aval_of_node(node).dtype.kind in "biufc"


def _item(array: Array) -> Array | Node:
    if isinstance(array, Scalar):
        return array._read()
    return array if array._base is None else array._base


def _names(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            pass
    yield from function.__defaults__ or ()
    scope = function.__globals__
    for code in _codes([function.__code__]):
        yield from (scope[name] for name in code.co_names if name in scope)


def _codes(codes: Sequence[CodeType]) -> Iterator[CodeType]:
    """These code objects, and those of the functions inside."""
    for code in codes:
        yield code
        yield from _codes([c for c in code.co_consts if isinstance(c, CodeType)])
