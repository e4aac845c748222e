"""Values: what is available of a node, with and without running a program.

`host_value` and `materialize`, which may run one, belong to the trace (`_trace`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import _errstate, _reference
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._flush import has_rule, host_value
from lazynp._node import ARGS, OP, VALUE, Node, Tracer, aval_of_node
from lazynp._recorder import StagingRecorder, local


def there(node: Node) -> Any:
    """The value as a NumPy array or scalar if no program has to run to get it, else None."""
    value = node[VALUE]
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    op = node[OP]
    if isinstance(value, Tracer) or value is None and op is None:
        return None
    args = node[ARGS]
    if value is None and op.primitive.kind == "view" and not op.sized and type(args) is tuple:
        base = args[0]
        if type(base) is list and type(base[VALUE]) is np.ndarray:  # shortcut for the usual case
            if not any([type(a) is list for a in args[1:]]):
                return _kept(node, op.reference(base[VALUE], *args[1:]))
    out = _reference.host_view(node)
    return _kept(node, out) if value is None and _is_in_memory(args) else out


def _is_in_memory(args: Any) -> bool:
    """Whether a parked node with these operands shows NumPy's memory, or needs none."""
    while type(args) is tuple:
        nodes = [a for a in args if type(a) is list]
        if not nodes or len(nodes) == 1 and type(nodes[0][VALUE]) is np.ndarray:
            return True
        if len(nodes) > 1 or nodes[0][VALUE] is not None:
            return False
        args = nodes[0][ARGS]
    return False


def _kept(node: Node, value: Any) -> Any:
    """The value of a parked node. In a loop of small operations it stays with the node: each use
    would compute it again.
    """
    local.recorder.backend.attempt(_keep, node, value)
    return value


def _keep(node: Node, value: Any) -> None:
    if type(value) is np.ndarray and on_device(value.dtype):
        if value.nbytes <= local.recorder.policy.largest:
            with _reference.lock:  # nobody is halfway through a program that reads it
                if node[VALUE] is None:
                    node[VALUE], node[ARGS] = value, None


def seen_value(node: Node) -> Any:
    """`host_value` for code that only looks, so that no tangent is lost."""
    value = node[VALUE]
    return value.seen() if isinstance(value, Tracer) else host_value(node)


def watched() -> bool:
    """Whether floating-point errors must be noticed here and now. In a staged function nothing has
    a value.
    """
    return _errstate.strict() and not local.recorder.staging


def description(node: Node) -> str | None:
    """The text printed for an unknown value."""
    if knowable(node):
        return None
    value = node[VALUE]
    what = value.trace.what if isinstance(value, Tracer) else local.recorder.staging
    return f"<{aval_of_node(node)} traced by {what}>"


def knowable(node: Node) -> bool:
    """Whether `seen_value` gives a value. It does not for values that differ between examples, nor
    for values that depend on the operands of a staged function.
    """
    value = node[VALUE]
    if value is not None:
        return value.known() if isinstance(value, Tracer) else True
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        if recorder.owns(node):
            return not _depends(node, recorder.dependent)
        recorder = recorder.outer
    return True


def _depends(node: Node, dependent: dict[int, Node]) -> bool:
    """Whether a node depends on an input of the staged function. dependent: nodes that do, by id. A
    walk ends at them, so asking for each operation of a long trace takes linear time.
    """
    if id(node) in dependent or not has_rule(node):
        return True
    seen, path = {id(node)}, [(node, iter(node[ARGS] or ()))]
    while path:
        for a in path[-1][1]:
            if type(a) is not list or a[VALUE] is not None or id(a) in seen:
                continue
            if id(a) in dependent or not has_rule(a):
                dependent.update([(id(n), n) for n, _ in path])
                return True
            seen.add(id(a))
            path.append((a, iter(a[ARGS] or ())))
            break
        else:
            path.pop()
    return False


def extent(node: Node) -> Any:
    """All values behind a node, for checks of bounds; None if unknown."""
    value = node[VALUE]
    if isinstance(value, Tracer):
        behind = value.behind()
        return None if behind is None else extent(behind)
    return host_value(node) if knowable(node) else None


def without_repeats(value: Any) -> Any:
    """One element of those that broadcasting repeats, which may be more than fit into memory."""
    return value[tuple([slice(1) if s == 0 else slice(None) for s in value.strides])]


def all_within(value: Any, length: int) -> bool:
    """Whether certainly all integers are in 0..length-1, found in one pass: as unsigned, negative
    ones are large.
    """
    dtype = value.dtype
    if dtype.kind != "i" or not dtype.isnative:
        return False
    return int(value.view(f"u{dtype.itemsize}").max()) < min(length, 1 << 8 * dtype.itemsize - 1)


def alike(a: Any, b: Any, deep: int = 16) -> bool:
    """Whether two nodes (or operands) certainly have the same value: they were made the same way,
    or their values are equal.
    """
    if a is b:
        return True
    if type(a) is not list or type(b) is not list:
        return type(a) is type(b) and type(a) in SCALAR_DTYPES and bool(a == b)
    v, w = a[VALUE], b[VALUE]
    if isinstance(v, Tracer) or isinstance(w, Tracer):
        return _alike_tracers(v, w, deep)
    if (
        deep
        and a[OP] is not None
        and b[OP] is not None
        and _same_operation(a[OP], b[OP])
        and v is None
        and w is None
        and len(a[ARGS]) == len(b[ARGS])
        and all(alike(p, q, deep - 1) for p, q in zip(a[ARGS], b[ARGS], strict=True))
    ):
        return True
    return knowable(a) and knowable(b) and np.array_equal(host_value(a), host_value(b))


def _same_operation(a: Any, b: Any) -> bool:
    """Operations on arrays of sizes are not interned."""
    if a is b or not (a.sized and b.sized):
        return a is b
    return a.primitive is b.primitive and a.explicit == b.explicit and a.params == b.params


def _alike_tracers(v: Any, w: Any, deep: int) -> bool:
    if type(v) is not type(w) or v.trace is not w.trace or not deep:
        return False
    slots = [s for s in type(v).__slots__ if hasattr(v, s)]
    return bool(slots) and all(alike(getattr(v, s), getattr(w, s), deep - 1) for s in slots)
