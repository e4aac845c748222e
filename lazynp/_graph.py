"""The pending graph: what is cut off it, in which order, and who evaluates it.

A cut takes the pending nodes of one thread in recording order, which is a topological order,
and every pending node they refer to that is in no list (a parked view, another thread's work).
What comes out is decided by reference counts: a node that something outside the cut still
refers to is an output; a count that is too high only adds an output. Results that cost nothing
to compute again (views, broadcasts, iotas) are not stored: such a node stays pending, outside
any list ("parked"), and what it reads is an output in its place.

One lock serialises evaluation: a node is claimed by whoever holds it, so nothing is computed
twice. A cut that fails leaves every node as it was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._config import config
from lazynp._errors import NanError, nan_error
from lazynp._jaxpr import Jaxpr, has_new_nan
from lazynp._node import (
    ARGS,
    CODE,
    OFFSET,
    OP,
    PROJECT,
    VALUE,
    Node,
    Op,
    Tracer,
    aval_of_node,
)
from lazynp._plan import STATS, Plan, Ref, Step

lock = threading.RLock()
# another thread may have held it
os.register_at_fork(after_in_child=lock._at_fork_reinit)  # pyright: ignore[reportAttributeAccessIssue]

_HOST_SCALAR = np.generic
_SLOT = None  # in a key: an operand that is a 0-d host value


def evaluate(nodes: list[Node], asked: Node | None, reason: Any) -> Plan | None:
    """Give `asked` and everything still referred to a value. Call with the lock held.

    `nodes` is consumed: what is left in it afterwards, also after an exception, is pending.
    """
    STATS.cuts += 1
    if config.execution == "reference" or config.debug_nans:
        STATS.reference_runs += 1
        _complete(nodes, asked)
        _run_reference(nodes, asked)
        return None
    plan, leaves, slots = _planned(nodes, asked)
    if not plan.outputs:
        nodes.clear()
        return plan
    plan.reason = reason
    plan.runs += 1
    if plan.current is None and plan.by_reference():
        STATS.reference_runs += 1
        plan.tier = "reference"
        del leaves  # references that would keep operands from being reused
        _run_reference(nodes, asked)
        return plan
    plan.tier = "compiled"
    results: list[Any] = []
    try:
        plan.run(leaves, slots, results)
        _commit(nodes, plan, results[0])
    except BaseException:
        if results:  # interrupted after the run, which may have consumed donated operands
            _commit(nodes, plan, results[0])
        raise
    nodes.clear()
    return plan


def _commit(nodes: list[Node], plan: Plan, results: list[Any]) -> None:
    position = 0
    for i in plan.outputs:
        node = nodes[i]
        op = node[OP]
        if op.primitive.multiple_results:
            count = len(op.aval)
            node[VALUE] = tuple(results[position : position + count])
            position += count
        else:
            node[VALUE] = results[position]
            position += 1
        node[ARGS] = plan


# -- collecting ----------------------------------------------------------------------------------


def _complete(nodes: list[Node], asked: Node | None) -> None:
    """Drop what is evaluated already; insert pending nodes that are in no list, operands first."""
    if any(n[VALUE] is not None for n in nodes):
        nodes[:] = [n for n in nodes if n[VALUE] is None]
    known = set(map(id, nodes))
    if asked is not None and asked[VALUE] is None and id(asked) not in known:
        nodes.append(asked)
        known.add(id(asked))
    if all(
        type(a) is not list or a[VALUE] is not None or id(a) in known
        for node in nodes
        for a in node[ARGS]
    ):
        return
    # What another thread recorded may itself read what this one did: sort all of it.
    order: list[Node] = []
    here = set(known)
    known.clear()
    for node in nodes:
        if id(node) not in known:
            _depth_first(node, known, order)
    node = None  # a leftover loop variable would count as an outside reference
    if len(order) > len(nodes) + _DEEP and _keep_views(nodes, here):
        _complete(nodes, asked)
    else:
        nodes[:] = order


def _keep_views(nodes: list[Node], here: set[int]) -> bool:
    """Store the views that these nodes read and that are not among them; whether there are any."""
    kept = False
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is list and a[VALUE] is None and id(a) not in here:
                host_view(a)
                kept = kept or a[VALUE] is not None
    return kept


_DEEP = 32  # views of views: from here on the value of one is kept, it takes no memory


def _depth_first(root: Node, known: set[int], order: list[Node]) -> None:
    stack: list[tuple[Node, Iterable[Any]]] = [(root, iter(root[ARGS] or ()))]
    known.add(id(root))
    while stack:
        node, operands = stack[-1]
        for a in operands:
            if type(a) is list and a[VALUE] is None and id(a) not in known:
                known.add(id(a))
                stack.append((a, iter(a[ARGS] or ())))  # without any: an input, while tracing
                break
        else:
            order.append(node)
            stack.pop()


# -- canonical form --------------------------------------------------------------------------------


Scan = tuple[list[Any], list[Node], list[Any]]


def _scan(nodes: list[Node], asked: Node | None) -> Scan | None:
    """The structural key, the leaves in order of first use, and the values of the slots.

    The key is, for each node, its op and for each operand a node's place, a leaf's (counted down
    from -1), or that it is a 0-d host value (a Python scalar is known by the op); then the place
    of the node asked for. None if the nodes are not a whole program yet: one has a value,
    or one that they read is missing.
    """
    key: list[Any] = []
    leaves: list[Node] = []
    slots: list[Any] = []
    places: dict[int, int] = {}
    add, place = key.append, places.get
    i = 0
    for node in nodes:
        op, operands, value, _, _ = node
        if value is not None:
            return None
        add(op)
        for a in operands:
            if type(a) is list:
                j = place(id(a))
                if j is None:
                    value = a[2]
                    if value is None:
                        return None
                    if isinstance(value, _HOST_SCALAR):
                        slots.append(value)
                        add(_SLOT)
                        continue
                    j = places[id(a)] = ~len(leaves)
                    leaves.append(a)
                add(j)
            else:
                slots.append(a)
        places[id(node)] = i
        i += 1
    where = -1
    if asked is not None:
        where = place(id(asked), -2)
        if where == -2 and asked[2] is None:
            return None
    key.append(where)
    return key, leaves, slots


_MAX_PLANS = 1 << 14
_plans_by_count: dict[Any, Plan] = {}  # with raw reference counts: the quick way in
_plans: dict[Any, Plan] = {}


def _planned(nodes: list[Node], asked: Node | None) -> tuple[Plan, list[Node], list[Any]]:
    """The plan of these nodes, with the leaves and slots to run it on."""
    for dropped in (False, True):
        key, leaves, slots = _whole_scan(nodes, asked)
        counts = list(map(getrefcount, nodes))
        leaf_counts = list(map(getrefcount, leaves))
        quick = (tuple(key), tuple(counts), tuple(leaf_counts))
        plan = _plans_by_count.get(quick)
        if plan is not None:
            return plan, leaves, slots
        if dropped or not _drop_dead(nodes, asked):
            break  # what is dead must not make a form of its own
    plan = _plans_by_count[quick] = _form(nodes, leaves, key, counts, leaf_counts)
    return plan, leaves, slots


def _whole_scan(nodes: list[Node], asked: Node | None) -> Scan:
    scan = _scan(nodes, asked)
    if scan is None:
        _complete(nodes, asked)
        scan = _scan(nodes, asked)
        assert scan is not None
    return scan


def _drop_dead(nodes: list[Node], asked: Node | None) -> bool:
    """Forget nodes that only the list refers to, from the end, so that operands follow."""
    before = len(nodes)
    for i in range(before - 1, -1, -1):
        if getrefcount(nodes[i]) == _ITEM and nodes[i] is not asked:
            nodes[i] = None  # type: ignore[call-overload]
    nodes[:] = [n for n in nodes if n is not None]
    return len(nodes) < before


def _form(
    nodes: list[Node],
    leaves: list[Node],
    key: list[Any],
    counts: list[int],
    leaf_counts: list[int],
) -> Plan:
    """The plan of a form: counts reduced to whether anything outside refers to a node."""
    outside, leaf_outside = _outside(nodes, leaves, counts, leaf_counts)
    where = key[-1]
    if where >= 0:
        outside[where] = True
    form = (tuple(key), tuple(outside), tuple(leaf_outside))
    plan = _plans.get(form)
    if plan is None:
        if len(_plans) >= _MAX_PLANS:  # a program whose shapes never repeat
            _plans.clear()
            _plans_by_count.clear()
        plan = _plans[form] = _build(nodes, leaves, outside, leaf_outside, where)
    return plan


def _outside(
    nodes: list[Node], leaves: list[Node], counts: list[int], leaf_counts: list[int]
) -> tuple[list[bool], list[bool]]:
    """Which nodes and leaves something outside the cut refers to: references minus uses."""
    uses: dict[int, int] = {}
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is list:
                uses[id(a)] = uses.get(id(a), 0) + 1
    a = node = None
    return (
        [c - _BASE - uses.get(id(n), 0) > 0 for n, c in zip(nodes, counts, strict=True)],
        [c - _BASE - uses[id(n)] > 0 for n, c in zip(leaves, leaf_counts, strict=True)],
    )


def _calibrate() -> tuple[int, int]:
    """What `getrefcount` says of a node that only a list refers to, asked in the two ways."""
    nodes = [[None]]
    return list(map(getrefcount, nodes))[0], getrefcount(nodes[0])


_BASE, _ITEM = _calibrate()


def _build(
    nodes: list[Node],
    leaves: list[Node],
    outside: list[bool],
    leaf_outside: list[bool],
    asked: int,
    free_too: bool = False,
) -> Plan:
    position = {id(n): i for i, n in enumerate(nodes)}
    if free_too:
        outputs, parked = {i for i, wanted in enumerate(outside) if wanted}, set()
    else:
        outputs, parked = _outputs(nodes, position, outside, asked)
    needed = set(outputs)
    for i in range(len(nodes) - 1, -1, -1):
        if i in needed:
            needed.update(_operand_positions(nodes[i], position))
    leaf_position = {id(n): j for j, n in enumerate(leaves)}
    steps: list[Step] = []
    slot = 0
    for i, node in enumerate(nodes):
        refs: list[Ref] = []
        for a in node[ARGS]:
            if type(a) is not list or isinstance(a[VALUE], _HOST_SCALAR):
                refs.append(("slot", slot))
                slot += 1
            elif id(a) in position:
                refs.append(("node", position[id(a)]))
            else:
                refs.append(("leaf", leaf_position[id(a)]))
        if i in needed:
            steps.append(Step(i, node[OP], tuple(refs)))
    leaf_avals = [aval_of_node(n) for n in leaves]
    held = {id(a) for i in parked for a in nodes[i][ARGS] if type(a) is list}
    spare = [not o and id(n) not in held for n, o in zip(leaves, leaf_outside, strict=True)]
    return Plan(steps, leaf_avals, spare, sorted(outputs))


def jaxpr_of(roots: list[Node], inputs: list[Node]) -> Jaxpr:
    """The program that computes these nodes from `inputs` and from what has a value already."""
    return program_of(roots, inputs)[0]


def program_of(
    roots: list[Node],
    inputs: list[Node],
    recorded: Callable[[Node], bool] | None = None,
    effects: list[Node] | None = None,
) -> tuple[Jaxpr, list[Node]]:
    """The program that computes these nodes, and what it takes after `inputs`: data, and what is
    not of the program (`recorded` tells what is). 0-d host values are constants of it. `effects`
    are part of it although nothing needs them."""
    nodes = _collected([*(effects or ()), *roots], inputs, recorded)
    places = {id(n): i for i, n in enumerate(nodes)}
    leaves = list(inputs)
    leaf_places = {id(n): j for j, n in enumerate(leaves)}

    def leaf_place(node: Node) -> int:
        if id(node) not in leaf_places:
            leaf_places[id(node)] = len(leaves)
            leaves.append(node)
        return leaf_places[id(node)]

    slots = []
    for node in nodes:
        for a in node[ARGS]:
            if type(a) is not list or isinstance(a[VALUE], np.generic):
                slots.append(a[VALUE] if type(a) is list else a)
            elif id(a) not in places:
                leaf_place(a)
    refs: list[Ref] = [
        ("node", places[id(r)]) if id(r) in places else ("leaf", leaf_place(r)) for r in roots
    ]
    wanted = {id(r) for r in (*roots, *(effects or ()))}
    outside = [id(n) in wanted for n in nodes]
    plan = _build(nodes, leaves, outside, [True] * len(leaves), -1, free_too=True)
    return plan.to_jaxpr(slots, refs), leaves[len(inputs) :]


def _collected(
    roots: list[Node], inputs: list[Node], recorded: Callable[[Node], bool] | None
) -> list[Node]:
    """The pending nodes below the roots, operands first."""
    nodes: list[Node] = []
    known = set(map(id, inputs))

    def pending(a: Any) -> bool:
        return (
            type(a) is list
            and a[VALUE] is None
            and a[ARGS] is not None
            and id(a) not in known
            and (recorded is None or recorded(a))
        )

    for root in roots:
        stack = [(root, iter(root[ARGS]))] if pending(root) else []
        known.add(id(root))
        while stack:
            node, operands = stack[-1]
            for a in operands:
                if pending(a):
                    known.add(id(a))
                    stack.append((a, iter(a[ARGS])))
                    break
            else:
                nodes.append(node)
                stack.pop()
    return nodes


def _operand_positions(node: Node, position: dict[int, int]) -> list[int]:
    return [position[id(a)] for a in node[ARGS] if type(a) is list and id(a) in position]


def _outputs(
    nodes: list[Node], position: dict[int, int], outside: list[bool], asked: int
) -> tuple[set[int], set[int]]:
    """Wanted nodes; in place of a free one that nobody asked for, what it reads. And the free
    ones: they stay pending, so what they read must stay as it is."""
    outputs: set[int] = set()
    stack = [i for i, wanted in enumerate(outside) if wanted]
    seen = set(stack)
    while stack:
        i = stack.pop()
        op = nodes[i][OP]
        if op.free and i != asked and op.primitive is not PROJECT:
            for j in _operand_positions(nodes[i], position):
                if j not in seen:
                    seen.add(j)
                    stack.append(j)
        else:
            outputs.add(i)
    return outputs, seen - outputs


# -- reference tier --------------------------------------------------------------------------------


_WORTH_REUSING = 1 << 14  # bytes: below this NumPy's own allocation cache is as quick


def _run_reference(nodes: list[Node], asked: Node | None) -> None:
    """Walk the nodes with NumPy. Each result is stored at once, so an interruption loses nothing;
    an entry is dropped once done, so that a value is freed with its last use."""
    _drop_dead(nodes, asked)
    store = _store_checked if config.debug_nans else _store_reference
    try:
        with np.errstate(all="ignore"):
            for i, node in enumerate(nodes):
                if node is None:
                    continue
                op = node[OP]
                if not op.free or node is asked or op.primitive is PROJECT:
                    store(node)
                    node[ARGS] = None
                nodes[i] = node = None  # type: ignore[call-overload]
    finally:
        nodes[:] = [n for n in nodes if n is not None]


def _store_reference(node: Node) -> None:
    """Give the node its value, in the memory of its first operand if nobody else will read that.

    An interruption must find the value stored, or the step such that it can be taken again.
    """
    op, args = node[OP], node[ARGS]
    if _may_reuse(op) and getrefcount(args[0]) == _ITEM and args[0][VALUE] is not None:
        target = args[0]
        value = host(target)
        if owned(value, 3):
            rest = [operand(a) for a in args[1:]]
            if type(op.reference) is np.ufunc:  # `x += 1` twice would not do: called and stored
                node[VALUE:CODE] = map(op.reference, (value,), *[(x,) for x in rest], (value,))
            else:
                node[VALUE] = op.primitive.inplace(value, *rest, **op.params)  # type: ignore[misc]
            return
        del target, value
    result = op.reference(*[operand(a) for a in args])
    node[VALUE] = result[()] if type(result) is np.ndarray and result.ndim == 0 else result


def _store_checked(node: Node) -> None:
    """Under `debug_nans`. The value is stored before the error is raised: it is raised once."""
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


def _may_reuse(op: Op) -> bool:
    return (
        op.primitive.inplace is not None
        and op.ins[0] is op.aval
        and (op.aval.nbytes >= _WORTH_REUSING or op.primitive.kind == "update")
        and op.params.get("mode", "set") == "set"  # what accumulates cannot be done again
    )


def owned(value: Any, references: int) -> bool:
    """Whether this host array may be written: fresh memory, known only to the caller.

    `references` counts the caller's own: variables, and the node's value entry.
    """
    if type(value) is not np.ndarray or not value.flags.writeable:
        return False
    return getrefcount(value) == references + 1 and (
        value.base is None or lowering.owns_base(value)
    )


def operand(a: Any) -> Any:
    """The host value of an operand in the reference tier; a parked view is made on the fly."""
    if type(a) is not list:
        return a
    if a[VALUE] is not None:
        return host(a)
    if all([type(x) is not list or x[VALUE] is not None for x in a[ARGS]]):
        value = a[OP].reference(*[host(x) if type(x) is list else x for x in a[ARGS]])
    else:
        value = _host_view_of_views(a)
    if a[OP].primitive.kind == "fill":
        a[VALUE], a[ARGS] = value, None
    return value


def host(node: Node) -> Any:
    """The value of an evaluated node as a NumPy array or scalar; on the host, without a copy."""
    value = node[VALUE]
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if isinstance(value, Tracer):
        return value.exact()
    if isinstance(value, tuple):  # several results
        return tuple([lowering.host(v) if lowering.is_buffer(v) else v for v in value])
    value = lowering.host(value)
    if value.ndim == 0:
        value = value[()]
    if lowering.on_host():
        node[VALUE] = value
    return value


def host_view(node: Node) -> Any:
    """The host value if no program need be run for it: data, or views of data. Else None."""
    if node[VALUE] is not None:
        return host(node)
    op, args = node[OP], node[ARGS]
    if type(args) is not tuple:  # another thread evaluated it between these lines
        return None if node[VALUE] is None else host(node)
    if not op.free or not lowering.on_host():
        return None
    if not all([type(a) is not list or a[VALUE] is not None for a in args]):
        return _host_view_of_views(node)
    value = op.reference(*[host(a) if type(a) is list else a for a in args])
    if op.primitive.kind == "fill" or op.scalar:
        value = value[()] if op.scalar else value
        with lock:  # nobody is halfway through a program that reads it
            if node[VALUE] is None:
                node[VALUE], node[ARGS] = value, None
    return value


def _host_view_of_views(node: Node) -> Any:
    """Step by step: views of views may be thousands deep."""
    with lock:
        order: list[Node] = []
        if node[VALUE] is None:
            _depth_first(node, set(), order)
        if not all(n[OP] is not None and n[OP].free for n in order):
            return None
        made: dict[int, Any] = {}
        for n in order:
            made[id(n)] = n[OP].reference(*[_made(a, made) for a in n[ARGS]])
        if len(order) > _DEEP:
            value = made[id(node)]
            node[VALUE], node[ARGS] = value[()] if node[OP].scalar else value, None
        return host(node) if node[VALUE] is not None else made[id(node)]


def _made(a: Any, made: dict[int, Any]) -> Any:
    if type(a) is not list:
        return a
    return host(a) if a[VALUE] is not None else made[id(a)]
