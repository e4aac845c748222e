"""One trace of a jitted function: the program, and how it runs on other arguments.

Results that are views of operands, or operands themselves, are made anew from the operands of each
call. What the function wrote is written after the program has run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lazynp._allowance import NONE
from lazynp._array import Array, NDArray, Scalar, new_array, new_scalar, new_view, write_lock
from lazynp._avals import Aval
from lazynp._dataclass import dataclass
from lazynp._dimensions import Table, is_unsized
from lazynp._extents import Numbers
from lazynp._flush import host_value
from lazynp._jaxpr import Jaxpr
from lazynp._node import OP, VALUE, Node, aval_of_node, is_interpreted, is_tracer
from lazynp._recorder import StagingRecorder, local
from lazynp._steps import with_numbers
from lazynp._strides import (
    dense_order,
    in_order,
    kept_flags,
    laid_like,
    order_of_strides,
    own_order,
)
from lazynp._trace import staging
from lazynp._tree import count, tree_flatten, tree_unflatten
from lazynp._turns import borrow
from lazynp.transforms._arguments import START, Arguments, at_places, fixed
from lazynp.transforms._axes import NamedSizes, bound
from lazynp.transforms._by_size import called_by_size
from lazynp.transforms._call import Places, delivered, jit_call
from lazynp.transforms._containers import (
    Change,
    Constant,
    Containers,
    Given,
    meant,
    put_back,
)
from lazynp.transforms._direct import by_reference, runs_here
from lazynp.transforms._donation import give_up
from lazynp.transforms._expanding import expanded
from lazynp.transforms._sized_program import SizedProgram
from lazynp.transforms._sized_runs import decided_by_data, is_open, program_in_pieces
from lazynp.transforms._sizing import rotated
from lazynp.transforms._stack import (
    argument_node,
    check_leaf,
    handle_like,
    in_native_order,
    node_of,
    store,
    telling_why,
    write,
)
from lazynp.transforms._stage import ShapeDtype, captured_program, run_jaxpr, weak_aval
from lazynp.transforms._unused import unused

_OTHERS = 63  # traces for other sizes, of a function that asks for them
_OWNED = ("same", "view")  # results that an array outside of the program gives
_MADE = ("new", "owner")  # results of the program
_OF_OTHERS = ("again", "part")  # what other results give


@dataclass
class Traced:
    """One trace: the program, the sources of its operands, the destinations of its results."""

    jaxpr: Jaxpr
    captured: list[Array]  # owners that are not arguments
    avals: tuple[Aval, ...]  # of the captured owners
    nodes: list[Node]  # tracers, data: the same at each call
    # ("new", kind, order, flags) | ("same", owner) | ("view", owner, path, flags) | ("value", x) |
    # ("put", x) | ("again", the place of a result before) | ("part", the place of its owner, path,
    # flags, order) | ("owner", kind, order, flags), for an array that is no result itself; they
    # come last
    outs: list[Any]
    written: list[tuple[str, int]]  # ("argument", "captured" or "value", place)
    tree: Any
    starts: list[Node]  # starts of views, where they are operands: their nodes during tracing
    changes: list[Change]  # of lists and dicts; `outs` ends with their new contents
    what: str
    sized: SizedProgram | None = None  # what runs, if there are sizes in it
    # what it took for true or false of its sizes, and the traces that took it otherwise
    decided: Sequence[tuple[Any, bool]] = ()
    others: tuple[Traced, ...] = ()

    def keep(self, before: Traced | None) -> None:
        """The newest trace keeps the others that it takes the place of."""
        if before is not None and self.decided and before.valid():
            self.others = (before, *before.others)[:_OTHERS]

    def serves(self, given: Arguments) -> Traced | None:
        """The trace for arguments of these sizes, of those that differ by what was decided."""
        if not self.decided:
            return self
        return next((t for t in (self, *self.others) if t._holds(given)), None)

    def _holds(self, given: Arguments) -> bool:
        assert self.sized is not None
        shapes = [a.shape for a in given.avals]
        values = dict(zip(self.sized.axes, bound(self.sized.places, shapes, "jit"), strict=True))
        return all(bool(what.at(values.__getitem__)) is found for what, found in self.decided)

    def valid(self) -> bool:
        """Whether another call may use it: its captured arrays are alive and have the same
        types.
        """
        if any(is_tracer(n) and not n[VALUE].trace.alive for n in self.nodes):
            return False
        return all(o.aval is a for o, a in zip(self.captured, self.avals, strict=True))

    def pure(self) -> bool:
        """Whether a call is one operation on the arguments and nothing else."""
        new = all([kind[0] == "new" for kind in self.outs])
        data = all(n[OP] is None and not is_tracer(n) for n in self.nodes)
        return new and data and not (self.captured or self.written or self.changes)


def trace(
    function: Callable[..., Any], given: Arguments, what: str, moving: bool, sizes: bool = True
) -> Traced:
    """moving: the starts of views are operands. sizes: integers of the program may be sizes."""
    avals = given.avals if given.names else []  # reading an array captures it
    with telling_why(), staging(what) as recorder:
        recorder.sizes = Table() if sizes else None
        named = NamedSizes(recorder)
        if given.names:
            values = _named_inputs(recorder, given, avals, named)
            if recorder.sizes is not None:
                recorder.sizes.given = named.given
        else:
            for owner in given.owners:
                borrow(recorder, owner)
            values = [recorder.input(_value_aval(x)) for x in given.values]
        starts = [recorder.input(START) for _ in given.starts] if moving else []
        inputs = [*(recorder.handles[id(o)][2] for o in given.owners), *values, *starts]
        fresh = iter(values)
        flags = given.owned
        leaves = given.moved(starts) if moving else given.leaves
        leaves = [x if f else _handle(x, next(fresh)) for x, f in zip(leaves, flags)]
        handles = [h for h, f in zip(leaves, flags) if not f]
        args, kwargs = tree = tree_unflatten(given.structure, leaves)
        containers = Containers(tree, leaves)
        out = function(*args, **kwargs), containers
        made = _finished(recorder, given, named, inputs, (handles, values), starts, out, what)
        made.decided = recorder.sizes.decided if recorder.sizes else ()
        return made


def _named_inputs(
    recorder: StagingRecorder, given: Arguments, avals: list[Aval], named: NamedSizes
) -> list[Node]:
    """Capture the owners, and make inputs for the other values, with sizes in their types."""
    first = dict(zip(given.of_owners, given.owners, strict=True))
    values = []
    for i, (names, owned) in enumerate(zip(given.names, given.owned, strict=True)):
        aval = named.aval(avals[i], names, i)
        if not owned:
            values.append(recorder.input(aval))
        elif i in first:
            recorder.capture(first[i], aval if names else None)
    return values


def _value_aval(x: Any) -> Aval:
    return x.aval if isinstance(x, ShapeDtype) else weak_aval(x)


def _handle(x: Any, node: Node) -> Array:
    if isinstance(x, ShapeDtype):
        return new_array(node)
    made = handle_like(x, node)
    return in_order(made, dense_order(x)) if isinstance(x, np.ndarray) else made


def _finished(
    recorder: StagingRecorder,
    given: Arguments,
    named: NamedSizes,
    inputs: list[Node],
    lent: tuple[list[Array], list[Node]],
    starts: list[Node],
    out: tuple[Any, Containers],
    what: str,
) -> Traced:
    """lent: the handles that stand for arguments that are not our Arrays, and their initial
    nodes. out: the result, and the containers that the function was given.
    """
    places = {id(o): ("argument", i) for i, o in enumerate(given.owners)}
    result, containers = out
    leaves, tree = tree_flatten(result, containers.is_known)
    changes, more = containers.changed()
    leaves = _as_arrays([*map(containers.stand_in, leaves), *more], recorder)
    roots: list[Node] = []
    again = dict(_met_again(leaves))
    parts, shared = _parts(leaves, recorder, starts)
    outs = [
        ("again", again[i]) if i in again
        else parts.get(i) or _result(x, recorder, roots, starts, what)
        for i, x in enumerate(leaves)
    ]  # fmt: skip
    outs += [("owner", *_result(x, recorder, roots, starts, what)[1:]) for x in shared]
    changed = [h[0] for h in recorder.handles.values() if h[0]._node is not h[2]]
    roots += [owner._node for owner in changed]
    stored = [i for i, (h, n) in enumerate(zip(*lent, strict=True)) if h._read() is not n]
    roots += [lent[0][i]._read() for i in stored]
    made = recorder.sizes.made if recorder.sizes else []
    own = len(inputs), sum(kind[0] in _MADE for kind in outs)
    roots = [*(atom.place._node for atom in made), *roots]  # what reads them comes later
    inputs = [*named.nodes, *inputs]
    jaxpr, captured, nodes = captured_program(recorder, roots, inputs, list(places))
    jaxpr = Jaxpr(jaxpr.inputs, jaxpr.eqns, rotated(jaxpr.outputs, len(made)))
    sized = None
    if named.nodes or made or is_open(jaxpr):
        required = recorder.sizes.required if recorder.sizes else []
        whole = expanded(jaxpr, named.atoms, made, *own)
        rest = unused(recorder, roots)
        sized = SizedProgram(jaxpr, named.places, named.atoms, made, whole, required, rest)
        jaxpr = whole
    places.update({id(h[0]): ("captured", i) for i, h in enumerate(captured)})
    written = [places[id(owner)] for owner in changed] + [("value", i) for i in stored]
    outs = [_placed(kind, captured, places) for kind in outs]
    return Traced(
        jaxpr=jaxpr,
        captured=[h[0] for h in captured],
        avals=tuple(aval_of_node(h[1]) for h in captured),
        nodes=nodes,
        outs=outs,
        written=written,
        tree=tree,
        starts=starts,
        changes=changes,
        what=what,
        sized=sized,
    )


def _as_arrays(leaves: list[Any], recorder: StagingRecorder) -> list[Any]:
    """Results, with arrays in place of what stands for them: other results may show these."""
    if recorder.sizes is None:
        return leaves
    return [x.array() if is_unsized(x) else x for x in leaves]


def _met_again(leaves: list[Any]) -> Iterator[tuple[int, int]]:
    """The places of arrays that are results before: they are the same object after a call, too."""
    first: dict[int, int] = {}
    for i, x in enumerate(leaves):
        if type(x) is NDArray and first.setdefault(id(x), i) != i:
            yield i, first[id(x)]


def _parts(
    leaves: list[Any], recorder: StagingRecorder, starts: list[Node]
) -> tuple[dict[int, Any], list[Array]]:
    """Results that show the memory of others: how they do, by place, and the arrays that only such
    results show, which become results after these.
    """
    paths: dict[int, Any] = {}
    views: dict[int, list[int]] = {}  # the places of the views of each array that was made inside
    for i, x in enumerate(leaves):
        if type(x) is NDArray and x._base is not None and id(x._base) not in recorder.handles:
            path = fixed(x._path, starts)
            if path is not None:
                paths[i] = path
                views.setdefault(id(x._base), []).append(i)
    own: dict[int, int] = {}  # where each is a result first; there, it is none met again
    for i, x in enumerate(leaves):
        if type(x) is NDArray and id(x) in views:
            own.setdefault(id(x), i)
    found: dict[int, Any] = {}
    shared: list[Array] = []
    for owner, places in views.items():
        if owner not in own:
            if len(set(map(id, [leaves[i] for i in places]))) == 1:
                continue  # nothing shares memory with it
            own[owner] = len(leaves) + len(shared)
            shared.append(leaves[places[0]]._base)
        for i in places:
            x = leaves[i]
            found[i] = "part", own[owner], paths[i], x._flags, x._order
    return found, shared


def _result(
    x: Any, recorder: StagingRecorder, roots: list[Node], starts: list[Node], what: str
) -> Any:
    """Classify a result: an array from outside, a view of one, or a new value."""
    if type(x) in (Given, Constant):
        return "put", x
    if type(x) is NDArray:
        if id(x) in recorder.handles:
            return "same", x
        if x._base is not None and id(x._base) in recorder.handles:
            path = fixed(x._path, starts)
            if path is not None:
                return "view", x._base, path, x._flags, x._order
    check_leaf(x, f"{what}: a result")
    roots.append(argument_node(x))
    if type(x) is NDArray:
        return "new", NDArray, own_order(x), kept_flags(x._flags)
    if isinstance(x, np.ndarray):
        flags = None if x.flags.writeable else {"readonly": True}
        return "new", NDArray, order_of_strides(x), flags
    return "new", Scalar, None, None


def _placed(kind: Any, captured: list[Any], places: dict[int, tuple[str, int]]) -> Any:
    """Refer to the result's owner by place, if that owner is an operand."""
    if kind[0] not in _OWNED or id(kind[1]) not in places:
        return kind  # an array from outside that was only returned
    return kind[0], places[id(kind[1])], *kind[2:]


def run(
    traced: Traced, given: Arguments, params: dict[str, Any], inline: bool = False,
    donate: Places = (),
) -> Any:  # fmt: skip
    """params: of the call, but for the jaxpr. donate: places of the donated owners."""
    _set_aside(given)
    values = [new_array(node_of(x)) for x in given.values]
    stored = [given.values[i] for where, i in traced.written if where == "value"]
    for x in stored:
        if sum(isinstance(y, np.ndarray) and np.may_share_memory(x, y) for y in given.values) > 1:
            raise TypeError(
                f"{traced.what}: it writes to an array of NumPy's that shares memory with another "
                "argument; give it lazynp's arrays"
            )
    if any(isinstance(x, np.ndarray) and not x.flags.writeable for x in stored):
        raise ValueError("assignment destination is read-only")
    captured = map(in_native_order, traced.captured)
    starts = given.start_operands() if traced.starts else []
    operands = [*given.owners, *values, *starts, *captured, *map(new_array, traced.nodes)]
    jaxpr, values = traced.jaxpr, None
    if traced.sized is not None and decided_by_data(traced.sized):
        found, values = _in_pieces(traced.sized, given, operands, params["name"])
        return _given_back(traced, given, found, values)
    plain = not (local.recorder.staging or any(is_interpreted(x._read()) for x in operands))
    if traced.sized is not None:
        key, values = sizes_of(traced.sized, given, operands)
        if plain and not donate:
            found, params = called_by_size(traced.sized, key, values, operands, params)
            if found is not None:
                return _given_back(traced, given, iter(found), values)
        jaxpr = traced.sized.exact(key, values)
    if plain:
        jaxpr = delivered(jaxpr)
    if inline and local.recorder.staging:
        results = iter(run_jaxpr(jaxpr, operands))
    elif donate:
        results = iter(jit_call(*operands, jaxpr=jaxpr, **params, donate=donate))
        kept = {i for where, i in traced.written if where == "argument"}
        kept |= {k[1][1] for k in traced.outs if k[0] in _OWNED and k[1][:1] == ("argument",)}
        give_up([given.owners[i] for i in donate if i not in kept], params["name"])
    else:
        results = iter(jit_call(*operands, jaxpr=jaxpr, **params))
    return _given_back(traced, given, results, values)


def _in_pieces(
    sized: SizedProgram, given: Arguments, operands: list[Array], name: str
) -> tuple[Iterator[Array], Any]:
    """The results of a program whose sizes the data decide, and the sizes. It runs at once."""
    shapes = [np.shape(x) for x in given.leaves] if sized.places else []
    values = dict(zip(sized.axes, bound(sized.places, shapes, "jit"), strict=True))
    numbers = Numbers(values.__getitem__).__getitem__
    sized.check_axes(numbers)
    return iter(program_in_pieces(sized).run(operands, values, name)), numbers


def _given_back(traced: Traced, given: Arguments, results: Iterator[Array], values: Any) -> Any:
    """What the call returns, after what it writes has been written."""
    made = [next(results) if kind[0] in _MADE else None for kind in traced.outs]
    owners = {"argument": given.owners, "captured": traced.captured}
    if values is not None and traced.written:
        places = (traced.starts, given.starts, values)
        for kind in traced.outs:  # a size that does not fit is found before anything is written
            if kind[0] == "view":
                _delivered(kind, None, owners, places)
    with write_lock:
        for (where, i), value in zip(traced.written, results, strict=True):
            if where == "value":
                store(given.values[i], value)
            else:
                write(owners[where][i], value._read())
    places = (traced.starts, given.starts, values)
    leaves: list[Any] = made
    for i, kind in enumerate(traced.outs):
        if kind[0] == "put":
            leaves[i] = meant(kind[1], given.tree, given.leaves)
        elif kind[0] not in _OF_OTHERS:
            leaves[i] = _delivered(kind, made[i], owners, places)
    for i, kind in enumerate(traced.outs):
        if kind[0] == "again":
            leaves[i] = leaves[kind[1]]
        elif kind[0] == "part":
            leaves[i] = _delivered(("view", leaves[kind[1]], *kind[2:]), None, owners, places)
    del leaves[sum(kind[0] != "owner" for kind in traced.outs) :]
    if traced.changes:
        new = leaves[count(traced.tree) :]
        put_back(traced.changes, given.tree, new, traced.what)
    return tree_unflatten(traced.tree, leaves)


def sizes_of(
    sized: SizedProgram, given: Arguments, operands: list[Array]
) -> tuple[tuple[int, ...], Any]:
    """The sizes of this call: see `SizedProgram.values`. Integers that the data decide are computed
    now.
    """

    def value(x: Jaxpr | int) -> int:
        if isinstance(x, int):
            (out,) = (operands[x],)
        else:
            direct = runs_here(x, operands)
            (out,) = (
                by_reference(x, operands) if direct
                else jit_call(*operands, jaxpr=x, name="size", compiled=NONE)
            )  # fmt: skip
        return int(host_value(out._read()))

    shapes = [np.shape(x) for x in given.leaves] if sized.places else []
    return sized.values(bound(sized.places, shapes, "jit"), value)


def _set_aside(given: Arguments) -> None:
    """Take views that were made just for this call off the list of what is pending. The call reads
    their owners. In the list, they would make its flush another form: with a value on the host, a
    view is not recorded at all.
    """
    pending = local.recorder.pending
    views = [x._node for x in given.leaves if type(x) is NDArray and x._base is not None]
    while pending and any(pending[-1] is v for v in views):
        pending.pop()


def _delivered(kind: Any, made: Any, owners: dict[str, list[Array]], places: Any) -> Any:
    if kind[0] in _MADE:
        if kind[1] is not NDArray and not made.ndim:
            return new_scalar(made._read())
        return laid_like(made._read(), *kind[2:]) if kind[2] or kind[3] else made
    owner = kind[1] if isinstance(kind[1], Array) else owners[kind[1][0]][kind[1][1]]
    if kind[0] == "same":
        return owner
    *starts, values = places
    node, path = owner._read(), at_places(kind[2], *starts)
    if values is not None:
        path = tuple([with_numbers(step, values) for step in path])
    for step in path:
        node = step.get(node)
    view = new_view(owner, path, node, kind[4])
    view._flags = kind[3]
    return view
