"""Staging: turn a function into a jaxpr, and transform jaxprs into jaxprs.

While a function is staged, its operations go to a list of their own. The inputs of that list stand
for the arguments and for everything the function reads from outside. To transform a jaxpr, we stage
its transformed interpretation: `eval_jaxpr` under jvp, vmap or linearize.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array, new_scalar
from lazynp._avals import SCALAR_DTYPES, Aval, aval_of
from lazynp._dataclass import dataclass
from lazynp._dimensions import Table, as_number, length_of
from lazynp._flush import host_value
from lazynp._intervals import Interval
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var, with_sizes
from lazynp._memo import cached
from lazynp._node import ARGS, AVAL, OP, VALUE, Node, aval_of_node, is_tracer, leaf, tracer_node
from lazynp._program_of import program_of
from lazynp._recorder import StagingRecorder
from lazynp._signature import ShapeDtype
from lazynp._sizes import Size
from lazynp._trace import record, staging
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise, shaping
from lazynp.primitives.placing import current_spmd
from lazynp.transforms._alike import first_alike
from lazynp.transforms._axes import NamedSizes, Names, axes_argument, names_of_leaves
from lazynp.transforms._expanding import expanded, refuse_unbound
from lazynp.transforms._jvp import jvp_nodes
from lazynp.transforms._linearize import (
    Linearized,
    LinearTracer,
    TransposeTrace,
    linearize_nodes,
)
from lazynp.transforms._sizing import Own, numbered, rotated
from lazynp.transforms._stack import (
    Flat,
    argument_node,
    check_callable,
    check_leaf,
    in_native_order,
    kind_of,
    name_of,
    node_of,
    none_swallowed,
    running,
    telling_why,
    write,
    zeros,
)
from lazynp.transforms._vmap import BatchTrace, batch_nodes, current_axis

Flags = tuple[bool, ...]
Ranges = dict[int, Interval]


# -- interpreting ----------------------------------------------------------------------------------


def run_jaxpr(
    jaxpr: Jaxpr,
    args: Sequence[Array],
    special: Callable[[Eqn, list[Array]], Sequence[Array] | None] | None = None,
) -> list[Array]:
    """special: returns the results of the equations that it handles, else None."""
    env: dict[Var, Array] = dict(zip(jaxpr.inputs, args, strict=True))

    def read(atom: Atom) -> Array:
        return literal(atom) if isinstance(atom, Literal) else env[atom]

    def sizes(size: Size) -> Any:
        """Of jaxprs in parameters, whose sizes have no operands of their own."""
        return size.at(lambda a: _as_size(env[jaxpr.sizes[Size({(a,): 1})]]))

    for eqn in jaxpr.eqns:
        operands, params = [read(a) for a in eqn.inputs], eqn.params
        if eqn.plain is not None:
            operands = [read(a) for a in eqn.plain.inputs]
            params = {k: numbered(p, sizes) for k, p in eqn.plain.params.items()}
        elif eqn.sizes:
            params = with_sizes(eqn, lambda atom: _as_size(read(atom)))
            operands = operands[: -eqn.sizes]
        outs: Any = None if special is None else special(eqn, operands)
        if outs is None:
            out: Any = eqn.primitive(*operands, **params)  # type: ignore[operator]
            outs = out if eqn.primitive.multiple_results else (out,)
        env.update(zip(eqn.outputs, outs, strict=True))
    return [read(a) for a in jaxpr.outputs]


def _as_size(x: Array) -> Any:
    """A number; where a function is traced, it may be unknown."""
    size = length_of(x)
    return int(host_value(x._read())) if size is None else size


def literal(atom: Literal) -> Array:
    node = leaf(atom.value)
    node[AVAL] = atom.aval  # may be weak
    return new_scalar(node)


# -- staging ---------------------------------------------------------------------------------------


@dataclass
class Program:
    """A staged function: the jaxpr, and the meaning of its inputs after the arguments.

    owners: captured arrays, read when the program is called. nodes: tracers of outer levels, and
    data. written: places of the owners whose new values are the last outputs.
    """

    jaxpr: Jaxpr
    owners: list[Array]
    nodes: list[Node]
    written: list[int]
    like: list[Any]  # of the results, see `kind_of`

    @property
    def captured(self) -> list[Array]:
        """The present operands after the arguments."""
        return [*map(in_native_order, self.owners), *map(new_array, self.nodes)]

    def write_back(self, values: Sequence[Array]) -> None:
        for i, value in zip(self.written, values, strict=True):
            write(self.owners[i], value._read())


def stage(
    function: Callable[[list[Array]], list[Any]], avals: Sequence[Aval], what: str,
    kinds: Sequence[Any] | None = None, ranges: Ranges | None = None,
) -> Program:  # fmt: skip
    """Stage a function of flat handles. kinds: the classes of the handles that it gets. ranges: of
    the integers among them, by place: see `_intervals`.
    """
    with telling_why(), staging(what) as recorder:
        inputs = [recorder.input(aval) for aval in avals]
        recorder.ranges = {id(inputs[place]): found for place, found in (ranges or {}).items()}
        made = kinds or [Array] * len(inputs)
        handles: list[Array] = [
            new_scalar(n) if k is not NDArray else new_array(n)
            for n, k in zip(inputs, made, strict=True)
        ]
        leaves = function(handles)
        nodes = [argument_node(x) for x in leaves]
        return finish(recorder, inputs, nodes, list(map(kind_of, leaves)))


def stage_sized(
    function: Callable[[list[Array]], list[Any]], avals: Sequence[Aval], what: str,
    kinds: Sequence[Any], names: Sequence[Names],
) -> Program:  # fmt: skip
    """`stage`, of a function whose integers may be sizes. names: of axes with unknown sizes."""
    with telling_why(), staging(what) as recorder:
        recorder.sizes = Table()
        named = NamedSizes(recorder)
        avals = [named.aval(a, names[i], i) if names else a for i, a in enumerate(avals)]
        inputs = list(map(recorder.input, avals))
        leaves = function([
            new_scalar(n) if k is not NDArray else new_array(n)
            for n, k in zip(inputs, kinds, strict=True)
        ])  # fmt: skip
        nodes = [argument_node(x) for x in leaves]
        made, given = recorder.sizes.made, [*named.nodes, *inputs]
        ends = [*(atom.place._node for atom in made), *nodes, *recorder.written()]
        jaxpr, captured, more = captured_program(recorder, ends, given)
        jaxpr = Jaxpr(jaxpr.inputs, jaxpr.eqns, rotated(jaxpr.outputs, len(made)))
        if given != inputs or made or recorder.sizes.opens:
            raw = jaxpr
            jaxpr = expanded(raw, named.atoms, made, len(inputs), len(nodes))
            own = Own(tuple(named.atoms), tuple(made), tuple(recorder.sizes.required))
            jaxpr.raw = raw, own
        else:
            jaxpr = first_alike(jaxpr)
        written = [i for i, (owner, _, node) in enumerate(captured) if owner._node is not node]
        like = list(map(kind_of, leaves))
        return Program(jaxpr, [owner for owner, _, _ in captured], more, written, like)


def finish(
    recorder: StagingRecorder, inputs: list[Node], outs: list[Node], like: list[Any]
) -> Program:
    """The program of everything recorded. Call it while the recorder is active."""
    roots = [*outs, *recorder.written()]
    jaxpr, captured, nodes = captured_program(recorder, roots, inputs)
    written = [i for i, (owner, _, given) in enumerate(captured) if owner._node is not given]
    owners = [owner for owner, _, _ in captured]
    return Program(first_alike(jaxpr), owners, nodes, written, like)


def captured_program(
    recorder: StagingRecorder, roots: list[Node], inputs: list[Node], known: Sequence[int] = ()
) -> tuple[Jaxpr, list[tuple[Any, Node, Node]], list[Node]]:
    """The program of these roots. After the given inputs come the captured arrays that it reads or
    writes (except those in `known`, by id), tracers of outer levels, and data.
    """
    none_swallowed(recorder)
    handles = [h for h in recorder.handles.values() if id(h[0]) not in known]
    aliases = list(recorder.aliases.values())
    taken = [*inputs, *(h[2] for h in handles), *(given for _, given in aliases)]
    jaxpr, more = program_of(roots, taken, recorder.recorded, recorder.effects)
    used = {a for eqn in jaxpr.eqns for a in eqn.inputs}.union(jaxpr.outputs)
    first, last = len(inputs), len(inputs) + len(handles)
    kept = [
        jaxpr.inputs[first + i] in used or owner._node is not given
        for i, (owner, _, given) in enumerate(handles)
    ]
    tail = _taken(jaxpr.inputs[first:last], kept)
    jaxpr = Jaxpr([*jaxpr.inputs[:first], *tail, *jaxpr.inputs[last:]], jaxpr.eqns, jaxpr.outputs)
    return jaxpr, _taken(handles, kept), [*(node for node, _ in aliases), *more]


def stage_closed(function: Callable[[list[Array]], Sequence[Any]], avals: Sequence[Aval]) -> Jaxpr:
    """The jaxpr of a function that captures nothing but constants."""
    program = stage(lambda xs: list(function(xs)), avals, "a transformed jaxpr")
    return close(program)


def close(program: Program) -> Jaxpr:
    """The jaxpr with captured data as constants; only for programs without owners."""
    if not program.nodes and not program.owners:
        return program.jaxpr
    if program.owners or any(map(is_tracer, program.nodes)):
        raise AssertionError(f"the jaxpr captures arrays: {program.captured}")
    return with_constants(program.jaxpr, program.nodes)


def with_constants(jaxpr: Jaxpr, nodes: Sequence[Node]) -> Jaxpr:
    """Fix the last inputs of the jaxpr to the values of these nodes."""
    inputs, fixed = jaxpr.inputs[: -len(nodes)], jaxpr.inputs[-len(nodes) :]
    constants = [
        Eqn(shaping.constant, (), {"array": shaping.Constant(host_value(node))}, (var,))
        for var, node in zip(fixed, nodes, strict=True)
    ]
    return Jaxpr(inputs, [*constants, *jaxpr.eqns], jaxpr.outputs)


def weak_aval(x: Any) -> Aval:
    """The type of an argument; Python numbers stay weak."""
    if type(x) in SCALAR_DTYPES:
        return aval_of((), SCALAR_DTYPES[type(x)], True)
    return aval_of_node(node_of(x))


# -- the public functions --------------------------------------------------------------------------


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: Any = (), return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """`make_jaxpr(f)(*args)`: the jaxpr of f at arguments like these. f is traced, not run.

    Arrays that f captures become inputs after the arguments. abstracted_axes: as for `jit`; the
    sizes are inputs before the arguments, and outputs before the results where they are new.
    """
    check_callable("make_jaxpr", fun)
    axes = axes_argument(abstracted_axes, "make_jaxpr")
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    def traced(*args: Any, **kwargs: Any) -> Any:
        what = f"make_jaxpr of {name_of(fun)}"
        program, flat = trace_call(fun, args, kwargs, what, numbers, axes)
        refuse_unbound(program.jaxpr, what)
        return (program.jaxpr, _shapes(program, flat)) if return_shape else program.jaxpr

    return traced


def trace_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str,
    static: tuple[int, ...] = (), axes: Any = None,
) -> tuple[Program, Flat]:  # fmt: skip
    """Stage a call; static arguments (by number) are passed as they are."""
    places = {n % len(args) for n in static} if args else set()
    dynamic = tuple(x for i, x in enumerate(args) if i not in places)

    def call(given: Any, keywords: Any) -> Any:
        rest = iter(given)
        return function(*[x if i in places else next(rest) for i, x in enumerate(args)], **keywords)

    leaves, structure = tree_flatten((dynamic, kwargs))
    for x in leaves:
        if not isinstance(x, ShapeDtype):
            check_leaf(x, what)
    flat = Flat(call, structure)
    avals = [x.aval if isinstance(x, ShapeDtype) else weak_aval(x) for x in leaves]
    kinds = [NDArray if a.ndim or isinstance(x, Array) and kind_of(x) is NDArray else None
             for x, a in zip(leaves, avals, strict=True)]  # fmt: skip
    if isinstance(axes, tuple) and places and len(axes) == len(args):
        axes = tuple([a for i, a in enumerate(axes) if i not in places])
    names = names_of_leaves(axes, dynamic, kwargs, what)
    return stage_sized(flat, avals, what, kinds, names), flat


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `f(*args)`, without computing anything."""
    program, flat = trace_call(fun, args, kwargs, f"eval_shape of {name_of(fun)}")
    return _shapes(program, flat)


def _shapes(program: Program, flat: Flat) -> Any:
    if program.jaxpr.explicit:
        shapes = [t for t, explicit in program.jaxpr.out_type if explicit]
    else:  # sizes are those of an outer function, where they are numbers
        avals = [x.aval for x in program.jaxpr.outputs]
        shapes = [ShapeDtype(tuple(map(as_number, a.shape)), a.dtype) for a in avals]
    return tree_unflatten(flat.tree, shapes[: flat.count])


# -- transformed jaxprs ----------------------------------------------------------------------------


def _taken(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(items, flags, strict=True) if f]


def spread_out(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The items at the flags that are set, None elsewhere."""
    rest = iter(items)
    return [next(rest) if f else None for f in flags]


@cached()
def jvp_jaxpr(jaxpr: Jaxpr, moving: Flags, forced: Flags | None = None) -> tuple[Jaxpr, Flags]:
    """`(primals, moving tangents) -> (results, moving tangents)`, and which results move.

    forced: results that must have a tangent in any case.
    """
    avals = [*jaxpr.in_avals, *_taken(jaxpr.in_avals, moving)]
    n = len(jaxpr.inputs)
    flags: list[Flags] = []

    def run(xs: list[Array]) -> list[Array]:
        tangents = [None if t is None else t._read() for t in spread_out(xs[n:], moving)]
        outs, outs_dot, _ = jvp_nodes(
            lambda handles: run_jaxpr(jaxpr, handles), xs[:n], [x._read() for x in xs[:n]],
            tangents, "jvp of a jaxpr",
        )  # fmt: skip
        wanted = [t is not None for t in outs_dot]
        if forced is not None:
            wanted = [w or f for w, f in zip(wanted, forced, strict=True)]
        flags.append(tuple(wanted))
        tails = [zeros(aval_of_node(p))._read() if t is None else t
                 for p, t in zip(outs, outs_dot, strict=True)]  # fmt: skip
        return list(map(new_array, [*outs, *_taken(tails, wanted)]))

    return stage_closed(run, avals), flags[0]


def batch_jaxpr(
    jaxpr: Jaxpr, size: int, batched: Flags, forced: Flags | None = None
) -> tuple[Jaxpr, Flags]:
    """The jaxpr for all examples, and which results are batched.

    forced: results that must be batched in any case.
    """
    return batch_under(jaxpr, size, batched, forced, current_axis(), current_spmd())


@cached()
def batch_under(
    jaxpr: Jaxpr, size: int, batched: Flags, forced: Flags | None, axis_name: Any, spmd: Any
) -> tuple[Jaxpr, Flags]:
    avals = [
        aval_of((size, *a.shape), a.dtype) if b else a
        for a, b in zip(jaxpr.in_avals, batched, strict=True)
    ]
    flags: list[Flags] = []

    def run(xs: list[Array]) -> list[Array]:
        trace = BatchTrace("vmap of a jaxpr", size, axis_name, spmd)
        axes = [0 if b else None for b in batched]
        outs, _ = batch_nodes(
            lambda handles: run_jaxpr(jaxpr, handles), xs, [x._read() for x in xs], axes, trace,
            run_jaxpr,
        )  # fmt: skip
        wanted = tuple(b or forced is not None and forced[i] for i, (_, b) in enumerate(outs))
        flags.append(wanted)
        return [
            repeated(new_array(n), size) if w and not b else new_array(n)
            for (n, b), w in zip(outs, wanted, strict=True)
        ]

    return stage_closed(run, avals), flags[0]


def repeated(x: Array, size: int) -> Array:
    """The same value for each example."""
    return shaping.broadcast_in_dim(x, shape=(size, *x.shape), dims=tuple(range(1, x.ndim + 1)))


@dataclass(frozen=True)
class LinearPair:
    """A linearized jaxpr: `primal: ins -> (outs, residuals)`, `tangent: (residuals, moving
    tangents) -> tangents of the results in `moves``. `constant`: for each residual, the place of
    the input of the jaxpr that it equals, or None.
    """

    primal: Jaxpr
    tangent: Jaxpr
    moves: Flags
    residuals: tuple[Aval, ...]
    constant: tuple[int | None, ...]


@cached()
def linearize_jaxpr(jaxpr: Jaxpr, moving: Flags, forced: Flags | None = None) -> LinearPair:
    """See `LinearPair`."""
    with staging("linearize of a jaxpr") as recorder:
        inputs = [recorder.input(a) for a in jaxpr.in_avals]
        outs, program, _ = linearize_nodes(
            lambda handles: run_jaxpr(jaxpr, handles), list(map(new_array, inputs)), inputs,
            moving, "linearize of a jaxpr",
        )  # fmt: skip
        recipes = {id(r): _recipe(r) for r in program.residuals()}
        kept = [r for r in program.residuals() if recipes[id(r)] is None]
        primal = close(finish(recorder, inputs, [*outs, *kept], []))
        places = {id(n): i for i, n in enumerate(inputs)}
        constant = tuple(places.get(id(r)) for r in kept)
    moves = tuple(o is not None for o in program.outputs)
    if forced is not None:
        moves = tuple(m or f for m, f in zip(moves, forced, strict=True))
    residuals = tuple(map(aval_of_node, kept))
    tangent = _tangent_jaxpr(jaxpr, program, kept, recipes, moving, moves)
    return LinearPair(primal, tangent, moves, residuals, constant)


def _recipe(node: Node) -> Any:
    """How to remake a residual that is a broadcast constant (0.1 times an array has one), so that a
    loop need not store it for each round; None for other residuals.
    """
    op = node[OP]
    if op is None:
        return (node[VALUE],) if isinstance(node[VALUE], np.generic) else None
    if op.primitive not in _SPREADING or node[ARGS] is None:
        return None
    parts = [_recipe(a) if type(a) is list else (a,) for a in node[ARGS]]
    return None if None in parts else (op.primitive, op.params, parts)


_SPREADING = (shaping.broadcast_in_dim, shaping.full, elementwise.convert)


def _made(recipe: Any) -> Any:
    if len(recipe) == 1:
        return leaf(recipe[0]) if isinstance(recipe[0], np.generic) else recipe[0]
    primitive, params, parts = recipe
    return record(primitive, tuple(map(_made, parts)), params)


def _tangent_jaxpr(
    jaxpr: Jaxpr, program: Linearized, kept: list[Node], recipes: dict[int, Any], moving: Flags,
    moves: Flags,
) -> Jaxpr:  # fmt: skip
    avals = [*map(aval_of_node, kept), *_taken(jaxpr.in_avals, moving)]

    def run(xs: list[Array]) -> list[Array]:
        given = {id(r): x for r, x in zip(kept, xs, strict=False)}
        given |= {key: new_array(_made(r)) for key, r in recipes.items() if r is not None}
        outs = program.forward(spread_out(xs[len(kept) :], moving), given)
        whole = [zeros(a) if t is None else t for a, t in zip(program.out_avals, outs, strict=True)]
        return _taken(whole, moves)

    return stage_closed(run, avals)


@cached()
def transpose_jaxpr(jaxpr: Jaxpr, linear: Flags, onto: int = 0) -> Jaxpr:
    """For a jaxpr that is linear in some inputs: `(other inputs, cotangents) -> cotangents of the
    linear inputs`.

    onto: how many of the first of these are added to further inputs, which come last.
    """
    known = [a for a, f in zip(jaxpr.in_avals, linear, strict=True) if not f]
    wanted = _taken(jaxpr.in_avals, linear)
    n = len(known) + len(jaxpr.outputs)

    def run(xs: list[Array]) -> list[Array]:
        trace = TransposeTrace("transpose of a jaxpr")
        with running(trace, lambda handle, before: None):
            inputs = [LinearTracer(trace, a) for a in wanted]
            rest, moving = iter(xs[: len(known)]), iter(inputs)
            args = [new_array(tracer_node(next(moving))) if f else next(rest) for f in linear]
            outs = run_jaxpr(jaxpr, args)
            ends = [trace.tracer_of(o._read()) for o in outs]
        program = Linearized(trace.taken(), inputs, ends, jaxpr.out_avals)
        cts = program.backward(xs[len(known) : n], xs[n:])
        return [zeros(a) if ct is None else ct for a, ct in zip(wanted, cts, strict=True)]

    return stage_closed(run, [*known, *jaxpr.out_avals, *wanted[:onto]])
