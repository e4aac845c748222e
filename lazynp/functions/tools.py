"""Tools that NumPy does not need: inspect programs, force values, lend memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any, overload

import numpy as np

from lazynp import lowering, transforms
from lazynp._array import Array, NDArray, from_host, write_lock
from lazynp._dataclass import dataclass
from lazynp._flush import host_value, materialize as evaluate_node
from lazynp._jaxpr import Jaxpr
from lazynp._node import ARGS, CODE, OFFSET, VALUE, Node
from lazynp._on_devices import foreseen
from lazynp._placed import behind, placed_in
from lazynp._plan import STATS, Plan, Stats
from lazynp._positions import position
from lazynp._program_of import jaxpr_of
from lazynp._reference import host_view, note_read
from lazynp._strides import may_write
from lazynp._tree import tree_flatten


def stats() -> Stats:
    """Counters of this process: flushes ("cuts"), forms, programs compiled and found on disk,
    runs.
    """
    return STATS


def materialize(tree: Any) -> Any:
    """Compute every array of a tree (tuples, lists, dicts) now, together; return the tree."""
    for leaf in (tree,) if type(tree) is NDArray else tree_flatten(tree)[0]:
        if isinstance(leaf, Array):
            compute(leaf)
    return tree


def compute(x: Array) -> None:
    """Compute one array now."""
    node = x._read()
    placed = placed_in(node)
    if placed is not None:
        placed.force()
        return
    if node[VALUE] is None and host_view(node) is None:
        evaluate_node(node)
    note_read([node])


def array_jaxpr(array: Array) -> Jaxpr:
    """The jaxpr that is pending for this array; once it is computed, the jaxpr that computed it."""
    node = behind(array._read())
    plan = node[ARGS]
    if isinstance(plan, Plan) and plan.jaxpr is not None:
        return plan.jaxpr
    return jaxpr_of([node], [])


@dataclass(frozen=True)
class Explanation:
    """The result of `explain` for an array; print it to see everything."""

    state: str
    recorded: str
    jaxpr: Jaxpr
    stablehlo: str
    slots: str
    reason: str
    cache: str = ""
    placement: str = ""  # the devices or the sharding, and what the program moves between devices

    def __str__(self) -> str:
        parts = [f"state: {self.state}", f"recorded: {self.recorded}"]
        if self.placement:
            parts.append(f"placement: {self.placement}")
        if self.reason:
            parts.append(f"cut because: {self.reason}")
        if self.slots:
            parts.append(f"slots: {self.slots}")
        if self.cache:
            parts.append(f"programs on disk: {self.cache}")
        parts += ["jaxpr:", str(self.jaxpr), "StableHLO:", self.stablehlo]
        return "\n".join(parts)

    __repr__ = __str__


class Traces(str):
    """The result of `explain` for a jitted function."""

    __slots__ = ()
    __repr__ = str.__str__


# what is known about code: `_promotion` adds it
about_code: list[Callable[[Any], list[str]]] = []


@overload
def explain(x: transforms.Jitted) -> Traces: ...
@overload
def explain(x: Array) -> Explanation: ...
@overload
def explain(x: Callable[..., Any]) -> Traces: ...
def explain(x: Array | transforms.Jitted | Callable[..., Any]) -> Explanation | Traces:
    """How x is or will be computed: jaxpr, StableHLO, slots, tier, cache use, reason of the flush.
    For a jitted function: how often it was traced, and what was new each time. For any other
    function, and for a derivative that was called: what became of it and of its long loops
    (docs/hot-functions.md).
    """
    if isinstance(x, transforms.Jitted):
        return Traces(x.explained())
    recipe = transforms.recipe_of(x)
    front: Any = transforms.front_of(x) if recipe is None else (recipe.through or recipe).front
    lines = [front.explained()] if front else []
    code = getattr(transforms.plain_of(x), "__code__", None)
    lines += [line for told in about_code for line in told(code)] if code is not None else []
    if lines:
        return Traces("\n".join(lines))
    if isinstance(x, (FunctionType, MethodType)):
        return Traces(f"{x.__name__}: runs in Python: it has not become hot")
    if not isinstance(x, Array):
        kind = "numpy.ndarray" if isinstance(x, np.ndarray) else type(x).__name__
        raise TypeError(f"explain: a lazy array or a function is required, got {kind}")
    node = behind(x._read())
    jaxpr = array_jaxpr(x)
    plan = node[ARGS]
    where = "data" if node[CODE] is None else position(node[CODE], node[OFFSET])
    if not isinstance(plan, Plan):
        state = "pending" if plan is not None else "data, or computed by NumPy"
        place = _placement(x._read(), None)
        return Explanation(state, where, jaxpr, lowering.lower(jaxpr), "", "", placement=place)
    found = sum(bool(p.executable.from_disk) for p in plan.programs.values())
    state = (
        f"computed ({plan.tier}); this form ran {plan.runs} times, "
        f"{len(plan.programs)} program(s) compiled for it"
    )
    if found:
        state += f", {found} of them in an earlier process"
    slots = ", ".join(
        f"{i}: {'operand' if i in plan.varying else 'constant'} {aval.dtype.name}"
        for i, aval in sorted(plan.slot_avals.items())
    )
    reason = plan.reason
    if isinstance(reason, tuple):
        reason = f"the loop at {position(*reason)} came round"
    return Explanation(
        state,
        where,
        jaxpr,
        lowering.lower(jaxpr),
        slots,
        reason,
        lowering.cache_state(),
        _placement(x._read(), plan),
    )


def _placement(node: Node, plan: Plan | None) -> str:
    """Where a placed array is or will be, and what the program that computes it moves; "" for
    others.
    """
    placed = placed_in(node)
    if placed is None:
        return ""
    text, inner, program = str(placed.place), placed.node, None
    if plan is not None:
        program = plan.current and plan.current.executable
        text = repr(placed.sharding()) if placed.place.mesh else text
    elif inner[VALUE] is not None:
        text = repr(placed.sharding()) if placed.place.mesh else text
    elif placed.place.mesh is not None and not placed.place.shared:
        program = foreseen(inner, placed.place)
        text = repr(program.layouts[0])
    moved = getattr(program, "collectives", [])
    listed = [f"{c.count} {c.kind} of {c.bytes} bytes" for c in moved]
    return text + ("; moves " + ", ".join(listed) if listed else "")


@contextmanager
def writable(x: Array) -> Iterator[np.ndarray[Any, Any]]:
    """A NumPy array with x's elements, for host code that must write (Cython, numba, `readinto`).

    At the end of the block, also after an exception, its contents become x's value.
    """
    if not isinstance(x, Array):
        raise TypeError(f"writable: an Array is required, got {type(x).__name__}")
    if not may_write(x):
        raise ValueError("assignment destination is read-only")
    memory = lowering.aligned_empty(x.shape, x.dtype)
    np.copyto(memory, host_value(x._read()))
    try:
        yield memory
    finally:
        with write_lock:
            x._write(from_host(memory))
