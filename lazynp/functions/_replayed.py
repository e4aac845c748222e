"""Composed functions that are recorded again as they were recorded before.

A function made of ten primitives runs as Python when it is recorded, and that costs ten times as
much as the nodes themselves. But what it records depends only on the kinds of its arguments: avals
of arrays, values of all others. So the nodes that two calls of one kind have recorded alike are a
template. Later calls of that kind only instantiate it.

`REPLAYED` lists the functions: those whose recording never looks at values, and which return one
new array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from math import copysign
from sys import _getframe
from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._array import NDArray, Scalar, new_array, new_scalar
from lazynp._avals import Aval
from lazynp._memo import Memo
from lazynp._node import ARGS, AVAL, OP, VALUE, Node, Op
from lazynp._positions import user_frame
from lazynp._recorder import RECORD, local, staged

REPLAYED = frozenset(
    """
    argmax argmin average clip column_stack concatenate convolve cross cumprod cumsum diff dstack
    empty empty_like eye flatten full full_like gradient hstack identity inner kron linspace mean
    norm ones ones_like outer pad ptp roll stack std tensordot tile trace trapezoid tril triu var
    vdot vecdot vstack where zeros zeros_like
    """.split()
)

_MOST = 40  # nodes of a template
_DEEP = 3  # lists in lists; a list may contain itself
# an operand of a node: of the call, a node of the template, or a constant
_OPERAND, _NODE, _CONSTANT = range(3)


class _Template:
    """The nodes that a call of one kind records."""

    __slots__ = ("ops", "wires", "out", "scalar", "known", "settled")

    def __init__(
        self, ops: list[Op], wires: list[tuple[tuple[int, Any], ...]], out: int, scalar: bool
    ) -> None:
        self.ops, self.wires, self.out, self.scalar = ops, wires, out, scalar
        values = [
            [(k, _part(x[VALUE] if type(x) is list else x)) for k, x in node] for node in wires
        ]
        self.known = ops, values, out, scalar  # two calls alike have this in common
        self.settled = False  # a second call has recorded the same


_templates: Memo[Any, _Template | None] = Memo("templates", hot=True)


def replayed(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`, which is to be recorded."""
    recorder = local.recorder
    if recorder.backend is not RECORD or staged or recorder.is_full():
        return function(*args, **kwargs)
    operands: list[Node] = []
    parts: list[Any] = [function]
    if not _parts(args, parts, operands):
        return function(*args, **kwargs)
    for name, value in kwargs.items():
        parts.append(name)
        if name == "out" or not _parts((value,), parts, operands):
            return function(*args, **kwargs)
    places = [id(n) for n in operands]
    if len(set(places)) < len(places):  # one array twice: the template cannot tell which it reads
        parts.append(tuple([places.index(p) for p in places]))
    key = tuple(parts)
    try:
        template = _templates.get(key)
    except TypeError:
        return function(*args, **kwargs)
    if template is None or not template.settled:
        if template is None and key in _templates:
            return function(*args, **kwargs)
        return _learn(key, template, function, args, kwargs, operands)
    where = local.where
    if where is None:
        frame = user_frame(_getframe(2))
        where = frame.f_code, frame.f_lasti
    nodes: list[Node] = []
    for op, wires in zip(template.ops, template.wires, strict=True):
        inputs = [
            operands[x] if kind == _OPERAND else nodes[x] if kind == _NODE else x
            for kind, x in wires
        ]
        nodes.append([op, tuple(inputs), None, *where])
    recorder.pending += nodes
    out = nodes[template.out]
    return new_scalar(out) if template.scalar else new_array(out)


def _parts(args: Sequence[Any], parts: list[Any], operands: list[Node], depth: int = _DEEP) -> bool:
    """Add what the arguments are known by, and their nodes. False for arguments of other kinds."""
    for x in args:
        t = type(x)
        if t is NDArray or t is Scalar:
            node = x._read()
            aval = node[AVAL] if node[OP] is None else node[OP].aval
            if type(aval) is not Aval or x._order is not None or not aval.device:
                return False
            parts.append(aval)
            parts.append(t)
            operands.append(node)
        elif t is tuple or t is list:
            parts.append(t)
            parts.append(len(x))
            if not depth or len(x) > _MOST or not _parts(x, parts, operands, depth - 1):
                return False
        elif t in _STATIC:
            parts.append(_part(x))
        elif isinstance(x, (type, np.dtype)):
            parts.append(x)
        else:
            return False
    return True


_STATIC = frozenset({int, bool, float, str, type(None), type(np._NoValue)})  # type: ignore[attr-defined]


def _part(x: Any) -> Any:
    """A value as part of a key: 1, 1.0 and True differ, and so do the zeros."""
    if x == 0 and isinstance(x, (float, np.floating)):
        return type(x), x, copysign(1.0, x)
    return type(x), x


def _learn(
    key: Any, before: _Template | None, function: Any, args: Any, kwargs: Any, operands: list[Node]
) -> Any:
    """Call the function, and look at what it records."""
    recorder = local.recorder
    pending, count = recorder.pending, len(recorder.pending)
    last, warned = pending[-1] if pending else None, _errstate.given
    out = function(*args, **kwargs)
    if recorder is not local.recorder or recorder.backend is not RECORD:
        return out
    other = len(pending) <= count or count and pending[count - 1] is not last
    if other or _errstate.given != warned:
        _templates.put(key, None)  # a value was needed, nothing was recorded, or it has warned
        return out
    found = _template(list(islice(pending, count, None)), out, operands)
    if found is not None and before is not None:
        found.settled = found.known == before.known
        found = found if found.settled else None
    _templates.put(key, found)
    return out


def _template(nodes: list[Node], out: Any, operands: list[Node]) -> _Template | None:
    if type(out) is not NDArray and type(out) is not Scalar or len(nodes) > _MOST:
        return None
    if out._base is not None or out._order is not None or out._flags is not None:
        return None
    given: dict[int, int] = {}
    for i, n in enumerate(operands):
        given.setdefault(id(n), i)
    places = {id(n): i for i, n in enumerate(nodes)}
    if id(out._node) not in places:
        return None
    wires = []
    for i, node in enumerate(nodes):
        args = node[ARGS]  # a destructor may have it evaluated at any time
        if type(args) is not tuple or node[OP].host or node[OP].primitive.multiple_results:
            return None
        inputs: list[tuple[int, Any]] = []
        for a in args:
            if type(a) is not list or a[OP] is None and isinstance(a[VALUE], np.generic):
                if id(a) in given:
                    inputs.append((_OPERAND, given[id(a)]))
                else:
                    inputs.append((_CONSTANT, a))
            elif id(a) in given:
                inputs.append((_OPERAND, given[id(a)]))
            elif id(a) in places and places[id(a)] < i:
                inputs.append((_NODE, places[id(a)]))
            else:
                return None
        wires.append(tuple(inputs))
    return _Template([n[OP] for n in nodes], wires, places[id(out._node)], type(out) is Scalar)
