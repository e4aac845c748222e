"""Holds: store the values that XLA would otherwise compute again for several readers.

XLA's fusion copies an elementwise operation, with everything fused into it, into each reader. Two
readers of the same element share the copy, if one kernel computes both. A reader that shifts the
value (a slice, a pad, a roll) needs another copy. So in a program of T stages of a stencil, the
last stage computes all earlier stages many times: the program's size and time grow with T squared.
Results of the program, and operands of products, have kernels of their own: three results that use
one power compute it three times. XLA removes barriers before
fusion, but fusion stops at a call. The call of a function that is not inlined costs a copy of the
value, a custom call nothing (`_hold_call`). `_options` has the measurements.

The analysis takes two passes over the operations of a complete region:

- backwards, it collects the distinct movements by which a value reaches stored values. A value with
  two or more is a candidate. The operands of a candidate then count as read at one place;
- forwards, it counts the operations that would compute a candidate again from stored or held
  values.

An array that is written in place and then read is held too (`overwritten`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lazynp._avals import Aval
from lazynp.lowering._text import layouts_text, type_text

MOVERS = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim", "concatenate", "dynamic_slice", "gather", "pad", "reverse", "slice",
        "transpose",
    )
)  # fmt: skip
# Their results are in memory.
_STORED = frozenset(
    f"stablehlo.{name}"
    for name in (
        "case", "concatenate", "convolution", "custom_call", "dot_general", "dynamic_update_slice",
        "fft", "if", "reduce", "reduce_window", "return", "scatter", "sort", "while",
    )
) | {"func.call"}  # fmt: skip
# Their operands share a kernel.
_TOGETHER = frozenset(("stablehlo.reduce", "stablehlo.reduce_window"))
_FREE = frozenset(
    f"stablehlo.{name}"
    for name in ("bitcast_convert", "iota", "optimization_barrier", "reshape", "real", "imag")
)
_COSTS = {"stablehlo.divide": 4, "stablehlo.sqrt": 4, "stablehlo.remainder": 8}
_CALLED = 8  # an exponential, a sine
_PLAIN = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "and", "compare", "complex", "convert", "maximum", "minimum", "multiply",
        "negate", "not", "or", "select", "subtract", "xor",
    )
)  # fmt: skip

# The number of operations that take as long as storing the value and reading it back: for values
# that fit into the caches (10^4 numbers: 2 to 4), and for larger ones (10^6: 20).
_NEAR, _FAR = 4, 20
_LARGE = 1 << 18  # bytes
_APART = 1 << 16  # bytes: what several kernels would compute for themselves, from this size on
_KERNELS = 40  # ... if it takes as many operations; a power takes 200. XLA itself shares sines
_MOST = 200  # visited values
_HERE = frozenset((0,))
MUCH = 1 << 12  # bytes: copying less costs no more than the call

# The custom calls (`_hold_call`): of values that are computed, and of arrays that are written. Only
# the first say that a program has stages, for its options.
TARGET, WRITTEN = "lazynp_hold", "lazynp_written"


class Operation(NamedTuple):
    """What the analysis knows of an operation in the text."""

    name: str
    attrs: str
    operands: tuple[Any, ...]
    results: tuple[Any, ...]


def held(operations: Sequence[Operation], outputs: Sequence[Any] = ()) -> list[Any]:
    """The values of a region that should be stored. outputs: its results."""
    if len(outputs) < 2 and not any(o.name in MOVERS or o.name in _STORED for o in operations):
        return []
    makers: dict[Any, Operation] = {v: o for o in operations for v in o.results}
    candidates = _moved_apart(operations, outputs)
    found: set[Any] = set()
    for value, places in reversed(candidates):
        moved = len({max(p, 0) for p in places})  # all kernels together are one place
        if moved > 1:
            limit = -(-(_NEAR if value.aval.nbytes < _LARGE else _FAR) // (moved - 1))
        else:
            limit = -(-_KERNELS // (sum(p < 0 for p in places) - 1))
        if _is_heavy(value, makers, found, limit):
            found.add(value)
    return [v for v, _ in candidates if v in found]


def _moved_apart(
    operations: Sequence[Operation], outputs: Sequence[Any]
) -> list[tuple[Any, frozenset[int]]]:
    """The values that are read at several places, the last first, and these places."""
    places: dict[Any, frozenset[int]] = {
        v: _kernel_of("result", position, v) for position, v in enumerate(outputs)
    }
    candidates = []
    for operation in reversed(operations):
        name, attrs, operands, results = operation
        if name in _STORED:
            at = _HERE
        else:
            at = places.get(results[0], _HERE)
            if _are_apart(at) and name not in MOVERS and name not in _FREE:
                candidates.append((results[0], at))
                at = _HERE
        for position, operand in enumerate(operands):
            if not operand.operands:
                continue  # an argument or a constant
            there = at
            if name in _STORED and name not in _TOGETHER:
                there = _kernel_of(results[0].name if results else name, position, operand)
            if name in MOVERS:
                others = [v.name for v in operands if v is not operand]
                move = hash((name, attrs, position, *others))
                there = frozenset([abs(hash((move, place))) for place in at])
            known = places.get(operand)
            places[operand] = there if known is None else known | there
    return candidates


def _kernel_of(reader: str, position: int, value: Any) -> frozenset[int]:
    """The place of an operand that has a kernel of its own, a negative number; of small values, all
    have one.
    """
    return frozenset([~abs(hash((reader, position)))]) if value.aval.nbytes >= _APART else _HERE


def _are_apart(places: frozenset[int]) -> bool:
    """Whether a value is moved there in several ways, or several kernels read it."""
    return len(places) > 1 and (max(places) > 0 or len(places - _HERE) > 1)


def _is_heavy(value: Any, makers: dict[Any, Operation], found: set[Any], limit: int) -> bool:
    """Whether computing the value again takes at least `limit` operations."""
    total, seen, stack = 0, set(), [(value, 0)]
    while stack:
        v, place = stack.pop()
        operation = makers.get(v)
        if (v, place) in seen or operation is None or operation.name in _STORED:
            continue
        if v in found:
            continue
        seen.add((v, place))
        name = operation.name
        if name in MOVERS:
            place = hash((name, operation.attrs, place))
        elif name not in _FREE:
            total += 1 if name in _PLAIN else _COSTS.get(name, _CALLED)
        if total >= limit or len(seen) > _MOST:
            return True
        stack += [(operand, place) for operand in operation.operands]
    return False


def overwritten(operations: Sequence[Operation], results: Sequence[Any]) -> list[Any]:
    """The arrays, written in place, that should be stored before others read them.

    A write that is fused into what reads its result leaves the old array alive, so that XLA copies
    the whole array, and writes into the copy. Only arrays that outlive the region count: of others,
    a reader may do without the write.
    """
    read: set[Any] = set()  # arrays of which much is read
    kept = set(results)
    found = []
    for name, _, operands, results in reversed(operations):
        if name == "stablehlo.dynamic_update_slice":
            array = results[0]
            if array in kept:
                kept.add(operands[0])
                if array in read and array.aval.nbytes >= MUCH:
                    found.append(array)
        elif name not in _STORED and any([v.aval.nbytes >= MUCH for v in results]):
            read.update(operands)
    return found


def stored(lines: Sequence[str], values: dict[Any, str], columns: bool) -> list[str]:
    """The lines of a region with a call for each of these values: of this custom call, whose result
    has the memory of its operand; "": of a function. XLA makes no single function of a loop with a
    custom call, so that small values take the other. columns: see `call_attrs`.
    """
    names = {v.name: v for v in values}
    out: list[str] = []
    for line in lines:
        name, _, rest = line.partition(" ")
        value = names.get(name)
        if value is None:
            out.append(line)
            continue
        whole = f"%h{name[1:]}"
        out.append(f"{whole} {rest}")
        target = values[value]
        out += _held_in_place(value, whole, target, columns) if target else _copied(value, whole)
    return out


def _held_in_place(value: Any, whole: str, target: str, columns: bool) -> list[str]:
    kind, size = type_text(value.aval), f"%n{value.name[1:]}"
    return [
        f'{size} = "stablehlo.constant"() <{{value = dense<{value.aval.nbytes}> : tensor<i64>}}> '
        f": () -> tensor<i64>",
        f'{value.name} = "stablehlo.custom_call"({whole}, {size}) '
        f"<{{{call_attrs(target, value.aval, columns)}}}> : ({kind}, tensor<i64>) -> {kind}",
    ]


def call_attrs(target: str, aval: Aval, columns: bool) -> str:
    """The attributes of the custom call of a hold, whose second operand is the size in bytes.

    columns: whether the program has calls that read matrices by columns. There XLA may give the
    result the order that its readers ask for, and the operand another, though both are the same
    memory. So the hold asks for row-major order. Elsewhere it does not: that would cost a copy.
    """
    rows = layouts_text([aval])
    asked = f"operand_layouts = {rows[:-1]}, dense<> : tensor<0xindex>], result_layouts = {rows}, "
    return (
        f'call_target_name = "{target}", api_version = 1 : i32, {asked if columns else ""}'
        f"output_operand_aliases = [#stablehlo.output_operand_alias<"
        f"output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]"
    )


def _copied(value: Any, whole: str) -> list[str]:
    kind, (attrs, notes) = type_text(value.aval), function_attrs(value)
    return [f'{value.name} = "func.call"({whole}) <{{{attrs}}}> {notes} : ({kind}) -> {kind}']


def function_attrs(value: Any) -> tuple[str, str]:
    """The attributes of a call of the function that stores values of this type."""
    callee = f"callee = @{function_name(value)}"
    return callee, '{mhlo.frontend_attributes = {inlineable = "false"}}'


def function_name(value: Any) -> str:
    """The function that stores a value of this type."""
    kind = type_text(value.aval)
    return "hold_" + "".join([c if c.isalnum() else "_" for c in kind])


def function_text(value: Any) -> str:
    kind, name = type_text(value.aval), function_name(value)
    return f"func.func private @{name}(%x: {kind}) -> {kind} {{\nreturn %x : {kind}\n}}"
