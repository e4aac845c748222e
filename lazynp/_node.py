"""Nodes and ops, the representation of the pending graph. `_entries` shows the layout of a node.

An `Op` is everything about a node except its operands: primitive, params, the keys of the operands,
the inferred aval. Ops are interned, so one memo entry serves as the inferred result and as the item
of a structural key.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._avals import (
    Aval,
    In,
    SizedAval,
    TracedAval,
    aval_of,
    aval_of_operand,
    on_device,
    traced_aval,
)
from lazynp._entries import (
    ARGS as ARGS,
    AVAL as AVAL,
    BORROWED as BORROWED,
    CODE as CODE,
    LENT as LENT,
    OFFSET as OFFSET,
    OP as OP,
    VALUE as VALUE,
    Node as Node,
)
from lazynp._interpreter import rule_for, with_params
from lazynp._jaxpr import Jaxpr, Rules, jaxprs_in
from lazynp._memo import Interned

Params = dict[str, Any]


class Op:
    """An interned (primitive, params, operand avals) with its inferred result."""

    __slots__ = (
        "primitive", "params", "ins", "explicit", "aval", "reference", "free", "host", "scalar",
        "bounds", "first_start", "reuses", "direct", "cost", "gain", "small",
        "inplace", "sized", "blocked",
    )  # fmt: skip

    primitive: Rules
    params: Params
    ins: tuple[In, ...]
    explicit: tuple[Aval, ...]  # the avals to which a jaxpr casts and broadcasts the operands
    aval: Any  # Aval, or a tuple of them with multiple results
    reference: Callable[..., Any]
    inplace: Any  # the reference that may write into its first operand, if any
    free: bool  # cheaper to recompute than to store
    host: bool  # involves a dtype that XLA lacks: NumPy runs it immediately
    scalar: bool  # the result is 0-d
    bounds: tuple[int, int] | None  # the range for a Python int operand (NEP 50)
    first_start: int  # operands from here on are start indices
    reuses: tuple[int, ...]  # by reference, it may write into these operands if nobody reads them
    cost: tuple[float, float, float] | None  # see _plan
    gain: float  # microseconds that it may gain by not running eagerly
    small: bool  # on its own, it gains no more than a flush costs, even if it has to copy
    sized: bool  # its types contain sizes that have no value: see `_sizes`
    direct: bool  # by reference, it needs only a call and a store of the result
    blocked: bool  # by reference, large arrays may run block by block: see `_blocks`

    def __repr__(self) -> str:
        return f"{self.primitive.name}{self.ins} -> {self.aval}"


_ops: Interned[Any, Op] = Interned("ops", 1 << 15)
# Ops that hold programs or functions of the user's. What is made, called and dropped again leaves
# one behind each time, with all that it refers to: few of them stay if nobody else refers to them.
_calls: Interned[Any, Op] = Interned("calls of programs", 1 << 9, alone=True)
_HOLDING = "call", "host"  # kinds of primitives


def op_of(primitive: Rules, params: Params, ins: tuple[In, ...]) -> Op:
    """The interned op. Raises NumPy's errors, from `explicit` and `abstract`."""
    key = (primitive, ins, *params.items())
    interned = _calls if primitive.kind in _HOLDING else _ops
    try:
        return interned.table[key]
    except KeyError:
        pass  # not here: the user's errors would name this one as their context
    for i in ins:
        if type(i) is TracedAval:
            raise Traced
    op = _infer(primitive, params, ins)
    return op if op.sized else interned.put(key, op)


class Traced(Exception):
    """Raised by `op_of` for a tracer operand: the operation does not belong to the graph."""


def _infer(primitive: Rules, params: Params, ins: tuple[In, ...]) -> Op:
    if primitive.explicit is not None:
        explicit = tuple(primitive.explicit(ins, params))
    else:
        explicit = tuple(aval_of_operand(i) for i in ins)
    op = Op()
    op.primitive, op.params, op.ins, op.explicit = primitive, params, ins, explicit
    op.aval = primitive.abstract(*explicit, **params)
    outs = op.aval if primitive.multiple_results else (op.aval,)
    op.sized = SizedAval in map(type, (*explicit, *outs, *ins))
    if op.sized:
        return _without_values(op, outs)
    holds = not primitive.free or primitive.kind == "fill"  # the others are views
    if holds and max([a.nbytes for a in outs], default=0) > _ABSURD:
        for a in outs:
            np.empty(a.shape, a.dtype)  # NumPy's MemoryError, in the line that asks for too much
    op.reference = rule_for(primitive.specialize, primitive.reference, params, explicit)
    op.inplace = rule_for(primitive.specialize_inplace, primitive.inplace, params, explicit)
    op.free = primitive.free
    avals = (*explicit, *outs, *(i for i in ins if isinstance(i, Aval)))
    op.host = not all(on_device(a.dtype) for a in avals) or hosted(primitive, params)
    op.scalar = not primitive.multiple_results and op.aval.ndim == 0
    op.bounds = _bounds(ins, explicit)
    op.first_start = _FIRST_STARTS.get(primitive.name, len(ins))
    op.cost = None
    op.gain = math.inf if op.host else _gain(primitive, params, explicit, outs)
    copies = primitive.kind == "update" and explicit[0].nbytes > _COPIED
    op.small = op.gain <= _cost.CUT and not copies
    op.reuses = _reused(op)
    op.direct = not op.reuses and not op.free
    op.blocked = primitive.kind == "elementwise" and not op.host and op.aval.nbytes >= _BLOCKED
    return op


def _without_values(op: Op, outs: tuple[Aval, ...]) -> Op:
    """The rest of an op that only a program without sizes can run."""
    avals = (*op.explicit, *outs)
    op.host = not all(on_device(a.dtype) for a in avals) or hosted(op.primitive, op.params)
    op.scalar = not op.primitive.multiple_results and op.aval.ndim == 0
    op.bounds = _bounds(op.ins, op.explicit)
    op.first_start = _FIRST_STARTS.get(op.primitive.name, len(op.ins))
    op.free = op.primitive.free
    op.reference, op.inplace = op.primitive.reference, None
    op.cost, op.gain = (0.0, 0.0, 0.0), math.inf
    op.small = op.direct = op.blocked = False
    op.reuses = ()
    return op


_FIRST_STARTS = {"slice": 1, "update_slice": 2, "add_slice": 2}

# bytes: a program could do without smaller results that do not fit into memory
_ABSURD = 1 << 43

_BLOCKED = 1 << 23  # bytes: some smaller arrays stay in the last cache as a whole

_COPIED = 1 << 18  # bytes: copying this much costs less than a flush


def _gain(
    primitive: Rules, params: Params, explicit: tuple[Aval, ...], outs: tuple[Aval, ...]
) -> float:
    """The possible gain from not running it eagerly, in microseconds."""
    if primitive.kind == "call":
        return math.inf
    reference, compiled = _cost.cost(primitive, params, explicit, outs)
    return reference - compiled


_WORTH_REUSING = 1 << 16  # bytes: below, allocating is faster than finding out who holds the memory


def _reused(op: Op) -> tuple[int, ...]:
    """Places of operands whose memory the result may take. A ufunc may write into any of them."""
    primitive, ins, aval = op.primitive, op.ins, op.aval
    if (
        op.inplace is None
        or primitive.multiple_results
        or aval.nbytes < _WORTH_REUSING
        and primitive.kind != "update"
        or op.params.get("mode", "set") != "set"  # accumulation cannot be repeated
    ):
        return ()
    ufunc = type(op.reference) is np.ufunc
    places = range(len(ins)) if ufunc else (primitive.overwrites,)
    return tuple([k for k in places if ins[k] is aval])


def hosted(primitive: Rules, params: Params, but: str = "") -> bool:
    """Whether the primitive, or a jaxpr among its parameters, calls host code. `but`: a primitive
    that does not count.
    """
    if primitive.kind == "host":
        return primitive.name != but
    if primitive.kind != "call":
        return False
    return any(_hosts(j, but) if but or j.hosted is None else j.hosted for j in jaxprs_in(params))


def _hosts(jaxpr: Jaxpr, but: str) -> bool:
    return any(
        hosted(e.primitive, e.params, but) or not all(on_device(v.aval.dtype) for v in e.outputs)
        for e in jaxpr.eqns
    )


def has_effects(primitive: Rules, params: Params) -> bool:
    """Whether it is called for more than its results: host code, checks."""
    if primitive.kind == "host":
        return params["effect"]
    return primitive.kind == "call" and any(
        has_effects(e.primitive, e.params) for j in jaxprs_in(params) for e in j.eqns
    )


def _bounds(ins: tuple[In, ...], explicit: tuple[Aval, ...]) -> tuple[int, int] | None:
    """The range of a Python int combined with an integer array; None if any int fits."""
    for known, aval in zip(ins, explicit, strict=True):
        if aval.dtype.kind in "iu" and (known is int or narrowed(known, aval)):
            info = np.iinfo(aval.dtype)
            return int(info.min), int(info.max)
    return None


def narrowed(known: In, aval: Aval) -> bool:
    """Whether a traced int of Python's becomes an integer of another dtype."""
    weak = isinstance(known, Aval) and known.weak and known.dtype.kind == "i"
    return weak and aval.dtype.kind in "iu" and aval.dtype != known.dtype  # type: ignore[union-attr]


def leaf(value: Any) -> Node:
    """A node for data: a NumPy array or scalar that nobody will change, or a device buffer."""
    return [None, None, value, None, aval_of(value.shape, value.dtype)]


def aval_of_node(node: Node) -> Any:
    op = node[OP]
    return node[AVAL].plain if op is None else op.aval


# -- tracers -------------------------------------------------------------------------------------


class Trace:
    """One active transformation. Those above it in the stack have a higher level."""

    __slots__ = ("level", "what", "alive", "written", "refusal")

    places = False  # whether it only says where values are: see `_placed`
    eager = False  # whether operations below it may run at once

    def __init__(self, what: str) -> None:
        self.what = what  # for errors: "grad of f"
        self.level = 0
        self.alive = True
        # the error of using a value, if not `escaped`
        self.refusal: Callable[[], BaseException] | None = None
        # by identity of handles: weak references to them, the nodes they held before
        self.written: dict[int, tuple[Any, Node]] = {}

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: Params) -> Any:
        """Interpret one operation. Returns a node, or a tuple of them."""
        raise NotImplementedError


class Tracer:
    """The value entry of a node that a transformation interprets."""

    __slots__ = ("trace", "aval", "code", "offset")

    trace: Trace
    aval: Aval
    code: Any  # where it was recorded, if known
    offset: int
    differs = False  # whether it has another value for each example

    def seen(self) -> Any:
        """The host value for code that only looks: bool, int, comparisons, printing."""
        raise escaped(self)

    def exact(self) -> Any:
        """The host value for code that takes it out: float, item, __array__."""
        raise escaped(self)

    def behind(self) -> Node | None:
        """The node of the level below that has its values, for checks of bounds; None if none."""
        return None

    def known(self) -> bool:
        """Whether there is a single value to look at."""
        return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise escaped(self)


def tracer_node(tracer: Tracer) -> Node:
    return [None, None, tracer, None, tracer.aval.traced or traced_aval(tracer.aval)]


def is_tracer(x: Any) -> bool:
    return type(x) is list and x[OP] is None and type(x[AVAL]) is TracedAval


def is_interpreted(x: Any) -> bool:
    """Whether a transformation interprets this, so that it is more than a value somewhere."""
    return is_tracer(x) and not x[VALUE].trace.places


def escaped(tracer: Tracer) -> BaseException:
    if tracer.trace.refusal is not None:
        return tracer.trace.refusal()
    return TypeError(
        f"a value of type {tracer.aval} that was traced by {tracer.trace.what}{_made_at(tracer)} "
        "is used after that has ended: it was stored where it outlived the function (a global, an "
        "attribute, a list). Return it from the function instead"
    )


def _made_at(tracer: Tracer) -> str:
    code = getattr(tracer, "code", None)
    if not isinstance(code, CodeType):
        return ""
    for begin, end, line in code.co_lines():
        if begin <= tracer.offset < end:
            return f", made at {code.co_filename}:{line},"
    return ""


class _Project:
    """Takes one result of a node with several. In a jaxpr it is not an equation."""

    name = "project"
    explicit = None
    inplace = specialize = specialize_inplace = cost = None
    multiple_results = adds = copies = False
    overwrites = 0
    free = True
    kind = "project"
    jvp = transpose = batch = decided = None

    @staticmethod
    def abstract(*avals: Any, index: int) -> Aval:
        return avals[index]

    @staticmethod
    def reference(values: Any, *, index: int) -> Any:
        return values[index]

    @staticmethod
    def lower(*_: Any) -> Any:
        raise AssertionError("project is never lowered")


PROJECT: Rules = _Project()


def projection(avals: tuple[Aval, ...], index: int) -> Op:
    """The op that takes result `index` of a node whose results are `avals`."""
    key = (PROJECT, avals, index)
    op = _ops.table.get(key)
    if op is None:
        op = _projection(avals, index)
        op = op if op.sized else _ops.put(key, op)
    return op


def _projection(avals: tuple[Aval, ...], index: int) -> Op:
    op = _plain_op(PROJECT, {"index": index}, avals, avals[index])
    op.reference = with_params(PROJECT.reference, op.params)
    op.free, op.direct, op.first_start = True, False, 1
    op.sized = SizedAval in map(type, avals)
    op.scalar = op.aval.ndim == 0
    return op


def _plain_op(primitive: Rules, params: Params, ins: tuple[Aval, ...], aval: Any) -> Op:
    op = Op()
    op.primitive, op.params, op.ins, op.explicit, op.aval = primitive, params, ins, ins, aval
    op.free = op.host = op.small = op.sized = op.scalar = op.blocked = False
    op.direct, op.reuses = True, ()
    op.bounds, op.first_start = None, len(ins)
    op.gain = 0.0
    op.inplace = op.cost = None
    return op


def single_ops(
    primitive: Rules, params: Params, ins: tuple[Aval, ...], avals: tuple[Aval, ...],
    reference: Callable[..., Any],
) -> tuple[Op, list[Op]]:  # fmt: skip
    """An op with these results, and the ops that take them, for one call: no table keeps them. A
    flush runs it by `reference`, apart from the others: see `_graph`.
    """
    op = _plain_op(primitive, params, ins, avals)
    op.reference = reference
    return op, [_projection(avals, i) for i in range(len(avals))]
