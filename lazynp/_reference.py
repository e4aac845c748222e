"""Values on the host, and the reference tier: interprets the graph with NumPy, node by node.

The walk does what NumPy itself would do: it frees a result after its last use, and overwrites a
value that nobody else will read, so that `a[i, j] -= ...` in a loop costs no copy.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy import ndarray

from lazynp import lowering
from lazynp._config import config
from lazynp._errors import NanError, nan_error
from lazynp._form import depth_first, drop_dead
from lazynp._jaxpr import Rules, has_new_nan
from lazynp._node import ARGS, CODE, OFFSET, OP, PROJECT, VALUE, Node, Op, Tracer
from lazynp._ownership import only_here, owned
from lazynp._quiet import quietly
from lazynp._recorder import local

lock = threading.RLock()  # serialises evaluation: its holder has claimed the pending nodes
# another thread may have held it
os.register_at_fork(after_in_child=lock._at_fork_reinit)  # pyright: ignore[reportAttributeAccessIssue]


def exclusively(step: Callable[..., Any], *args: Any) -> Any:
    """Call `step` with the lock held and the garbage collector off.

    The collector runs destructors at any allocation, and they may ask for values. The lock does not
    keep the thread that holds it from beginning another cut, of nodes that this one is reading.
    """
    with lock:
        collects = gc.isenabled()
        try:
            if collects:
                gc.disable()
            return step(*args)
        finally:
            if collects:
                gc.enable()


class Watched:
    """The value of a node, and whether somebody has read it; see _unread."""

    __slots__ = ("buffer", "read")

    def __init__(self, buffer: Any) -> None:
        self.buffer = weakref.ref(buffer)
        self.read = False


watched: dict[int, Watched] = {}  # by identity of the node, which another node may have inherited


def note_read(nodes: list[Node]) -> None:
    """Note that a program reads these, or that they were asked for."""
    if watched:
        # by value: another node may have it by now, if an array was written
        read = {id(a[VALUE]) for a in nodes}
        for seen in watched.values():
            buffer = seen.buffer()
            if buffer is not None and id(buffer) in read:
                seen.read = True


_DEEP = 32  # views of views: from this depth on, one's value is kept, which takes no memory


# bytes of a constant array: below this size, collecting it again costs more
_WORTH_PARKING = 1 << 10


def is_parked(op: Op) -> bool:
    """Whether a wanted result is rematerialised where it is used instead of stored."""
    if not op.free or op.primitive is PROJECT or op.scalar:
        return False
    return op.primitive.kind != "fill" or op.aval.nbytes > _WORTH_PARKING


def keep_views(nodes: list[Node], here: set[int], more: int) -> bool:
    """Store the views that these nodes read and that are not among them, if storing pays for the
    `more` nodes below. Returns whether any was stored.
    """
    if more <= _DEEP:
        return False
    kept = False
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is list and a[VALUE] is None and id(a) not in here:
                host_view(a)
                kept = kept or a[VALUE] is not None
    return kept


Walk = Callable[[list[Node], Node | None], None]


def run(nodes: list[Node], asked: Node | None, by: Walk | None = None) -> None:
    """Walk the nodes with NumPy, `by` another function than `walk`. Each result is stored
    immediately, so an interruption loses nothing. Each entry is dropped once done, so that a value
    is freed with its last use.
    """
    drop_dead(nodes, asked)
    try:
        quietly(_walk_checked if config.debug_nans else by or walk, [nodes, asked])
    except MemoryError:
        raise
    except Exception:
        if nodes and nodes[0][VALUE] is None:
            _leave_failed(nodes)
        raise


def _leave_failed(nodes: list[Node]) -> None:
    """The first of them failed, and would fail again. From now on, it and its readers are computed
    only for whoever needs them, and fail for nobody else.
    """
    nodes[:] = without_readers(nodes, nodes[0])


def without_readers(nodes: list[Node], failed: Node) -> list[Node]:
    """The others of these nodes, without those that read it."""
    left_out = {id(failed)}
    kept = []
    for node in nodes:
        if id(node) in left_out or any(id(a) in left_out for a in node[ARGS] or ()):
            left_out.add(id(node))
        else:
            kept.append(node)
    return kept


_DIRECT = frozenset({np.ndarray, np.float64})  # what most values are: the others ask `operand`


def walk(nodes: list[Node], asked: Node | None) -> None:
    x = y = args = None
    try:
        for i, node in enumerate(nodes):
            if node[VALUE] is not None:  # a destructor, run by a reference count, asked for it
                nodes[i] = node = None  # type: ignore[call-overload]
                continue
            op = node[OP]
            if not op.direct and not (op.reuses and not _any_here(node[ARGS], op.reuses)):
                x = y = None  # no reference count includes this loop's variables
                if node is asked or not is_parked(op):
                    _store(node)
                    node[ARGS] = None
                nodes[i] = node = None  # type: ignore[call-overload]
                continue
            args = node[ARGS]
            if len(args) == 2:  # twice as fast as the general case
                x, y = args
                if type(x) is list:
                    x = x[VALUE] if type(x[VALUE]) in _DIRECT else operand(x)
                if type(y) is list:
                    y = y[VALUE] if type(y[VALUE]) in _DIRECT else operand(y)
                x = op.reference(x, y)
            else:
                x = op.reference(*[operand(a) for a in args])
            node[VALUE] = x[()] if op.scalar and type(x) is ndarray else x
            node[ARGS] = args = None
            nodes[i] = node = None  # type: ignore[call-overload]
    finally:
        nodes[:] = [n for n in nodes if n is not None]


def _walk_checked(nodes: list[Node], asked: Node | None) -> None:
    """The same under `debug_nans`."""
    try:
        for i, node in enumerate(nodes):
            if node is asked or not is_parked(node[OP]):
                _store_checked(node)
                node[ARGS] = None
            nodes[i] = node = None  # type: ignore[call-overload]
    finally:
        nodes[:] = [n for n in nodes if n is not None]


def _store_checked(node: Node) -> None:
    """Store the value before raising, so that the error is raised once."""
    op = node[OP]
    values = [operand(a) for a in node[ARGS]]
    name, found = op.primitive.name, False
    try:
        result = op.reference(*values)
    except NanError as error:  # in a jaxpr
        name, found = f"{error} in {name}", True
        with config(debug_nans=False):
            result = op.reference(*values)
    node[VALUE] = result[()] if type(result) is np.ndarray and result.ndim == 0 else result
    results: Any = result if op.primitive.multiple_results else (result,)
    if found or op.primitive is not PROJECT and has_new_nan(results, values):
        raise nan_error(name, node[CODE], node[OFFSET])


def _any_here(args: Any, places: tuple[int, ...]) -> bool:
    """Whether nobody else refers to one of these operands."""
    return any([only_here(args, k) for k in places])


_FIRST = itemgetter(0)
_TWICE = (np.maximum, np.minimum)  # may run twice, and take `out` by name


def _store(node: Node) -> None:
    """Compute the node's value, in the memory of an operand if nobody else will read that.

    An interruption must find either the value stored or the step repeatable.
    """
    op, args = node[OP], node[ARGS]
    for place in op.reuses:
        if only_here(args, place) and args[place][VALUE] is not None:
            host(args[place])
            if owned(args[place]):
                _store_into(node, place)
                return
    result = op.reference(*[operand(a) for a in args])
    node[VALUE] = result[()] if type(result) is np.ndarray and result.ndim == 0 else result


def _store_into(node: Node, place: int) -> None:
    """Compute the node's value in the memory of this operand."""
    op = node[OP]
    values = [operand(a) for a in node[ARGS]]
    if op.primitive.adds:  # running it twice would be wrong, as below
        part, u = op.inplace(*values)
        done = zip(values[:1], map(np.add, (part,), (u,), (part,)))
        node[VALUE:CODE] = map(_FIRST, done)
    elif type(op.reference) is not np.ufunc:
        node[VALUE] = op.inplace(*values)
    elif op.reference in _TWICE:
        node[VALUE] = op.reference(*values, out=values[place])
    else:  # running `x += 1` twice would be wrong, so call and store in one step
        node[VALUE:CODE] = map(op.reference, *[(x,) for x in values], (values[place],))


def operand(a: Any) -> Any:
    """The host value of an operand in the reference tier; rematerialises a parked view."""
    if type(a) is not list:
        return a
    value = a[VALUE]
    if value is not None:
        return value if type(value) is ndarray else host(a)
    args = a[ARGS]  # a destructor may have it evaluated from now on
    first = args[0] if args else None
    if type(first) is list and type(first[VALUE]) is ndarray and list not in map(type, args[1:]):
        given = first[VALUE], *args[1:]  # shortcut for the usual case
    elif all([type(x) is not list or x[VALUE] is not None for x in args]):
        given = [host(x) if type(x) is list else x for x in args]
    else:
        value = _host_view_of_views(a)
        return _foreign(a) if value is None else value
    value = a[OP].reference(*given)
    if _has_memory(a[OP].primitive, value, given):
        return _kept(a, value)
    return value


def _kept(node: Node, value: Any) -> Any:
    """The node's value from now on: this, unless another thread has given it one and written into
    that meanwhile.
    """
    if node[VALUE] is None:
        node[VALUE], node[ARGS] = value, None
    return node[VALUE]


def _has_memory(primitive: Rules, value: Any, given: Sequence[Any]) -> bool:
    """Whether this result takes memory of its own, so that it is kept: a constant array, or the
    copy that NumPy had to make of memory in another order.
    """
    if primitive.kind == "fill":
        return True
    return (
        primitive.copies
        and value.nbytes > _WORTH_PARKING
        and not np.may_share_memory(value, given[0])
    )


def _foreign(node: Node) -> Any:
    """The value of a node that is pending in no list, or in another thread's list."""
    order: list[Node] = []
    depth_first(node, set(), order)
    run(order, node)
    return host(node)


def host(node: Node) -> Any:
    """The value of an evaluated node as a NumPy array or scalar; on the host, without a copy."""
    value = node[VALUE]
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if isinstance(value, Tracer):
        return value.exact()
    if watched:
        note_read([node])
    if isinstance(value, tuple):  # several results
        return tuple([lowering.host(v) if lowering.is_buffer(v) else v for v in value])
    buffer, value = value, lowering.host(value)
    local.recorder.unasked = 0
    if value.ndim == 0:
        value = value[()]
    if lowering.on_host() and node[VALUE] is buffer:  # else another thread has done it
        node[VALUE] = value
    return node[VALUE] if lowering.on_host() else value


def host_view(node: Node) -> Any:
    """The value as a NumPy array if no program has to run to get it (data, or views of data), else
    None.
    """
    if node[VALUE] is not None:
        return host(node)
    op, args = node[OP], node[ARGS]
    if type(args) is not tuple:  # another thread evaluated it in between
        return None if node[VALUE] is None else host(node)
    if not op.free or op.sized or not lowering.on_host():
        return None
    if not all([type(a) is not list or a[VALUE] is not None for a in args]):
        return _host_view_of_views(node)
    given = [host(a) if type(a) is list else a for a in args]
    value = op.reference(*given)
    if op.scalar or _has_memory(op.primitive, value, given):
        value = value[()] if op.scalar else value
        with lock:  # nobody is halfway through a program that reads it
            if node[VALUE] is None:
                node[VALUE], node[ARGS] = value, None
    return value


def _host_view_of_views(node: Node) -> Any:
    """Step by step, because views of views may be thousands deep."""
    return exclusively(_made_of_views, node)


def _made_of_views(node: Node) -> Any:
    order: list[Node] = []
    if node[VALUE] is None and not _only_views(node, order):
        return None
    made: dict[int, Any] = {}
    for n in order:
        given = [_made(a, made) for a in n[ARGS]]
        value = n[OP].reference(*given)
        made[id(n)] = _kept(n, value) if _has_memory(n[OP].primitive, value, given) else value
    if len(order) > _DEEP:
        value = made[id(node)]
        node[VALUE], node[ARGS] = value[()] if node[OP].scalar else value, None
    return host(node) if node[VALUE] is not None else made[id(node)]


def _only_views(root: Node, order: list[Node]) -> bool:
    """Whether all that is pending below are views, added to `order`; what else is found there ends
    the search, for below it may be a whole program."""
    stack: list[tuple[Node, Any]] = [(root, iter(root[ARGS] or ()))]
    known = {id(root)}
    while stack:
        node, operands = stack[-1]
        if node[OP] is None or not node[OP].free or node[OP].sized:
            return False
        for a in operands:
            if type(a) is list and a[VALUE] is None and id(a) not in known:
                known.add(id(a))
                stack.append((a, iter(a[ARGS] or ())))
                break
        else:
            order.append(node)
            stack.pop()
    return True


def _made(a: Any, made: dict[int, Any]) -> Any:
    if type(a) is not list:
        return a
    return host(a) if a[VALUE] is not None else made[id(a)]
