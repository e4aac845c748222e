"""jit: trace a function once for each kind of arguments; later calls are one operation.

Arguments and captured arrays are operands, read anew at each call. If the function writes in place,
the new value becomes a result that is written back after the call. If the call fails, nothing is
written.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from lazynp._array import Array, NDArray, Scalar, new_array, new_scalar, new_view, write_lock
from lazynp._avals import Aval, SizedAval
from lazynp._config import Loops, config
from lazynp._dimensions import Table
from lazynp._flush import host_value
from lazynp._jaxpr import Jaxpr
from lazynp._node import OP, VALUE, Node, aval_of_node, is_interpreted, is_tracer
from lazynp._positions import position
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._sizes import Size
from lazynp._steps import with_numbers
from lazynp._trace import staging
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.transforms._ahead import Lowered
from lazynp.transforms._arguments import START, Arguments, at_places, difference, fixed
from lazynp.transforms._arranged import Arrangement, at_home, deliver, place_inside
from lazynp.transforms._axes import NamedSizes, axes_argument, bound, names_of_leaves
from lazynp.transforms._call import Places, delivered, jit_call
from lazynp.transforms._donation import donated_places, give_up
from lazynp.transforms._quick import Quick, operands_of, quick_of
from lazynp.transforms._sizing import SizedProgram, rotated
from lazynp.transforms._stack import (
    DISABLED,
    argument_node,
    check_leaf,
    handle_like,
    in_native_order,
    name_of,
    node_of,
    store,
    telling_why,
    write,
)
from lazynp.transforms._stage import ShapeDtype, captured_program, run_jaxpr, weak_aval
from lazynp.transforms._static import check_hashable, numbers, places_and_names, strings
from lazynp.transforms.control import bounds_only, converted, session


@dataclass
class JitStats:
    """Counters of this process. `reasons` says for each retrace what was new."""

    traces: int = 0
    calls: int = 0
    reasons: list[str] = field(default_factory=list)


STATS = JitStats()


class disable_jit:
    """`with disable_jit():` jitted functions run undecorated, operation by operation. Bodies and
    branches of control flow do so too, if the deciding values are known. A nested
    `disable_jit(False)` enables jit again.
    """

    def __init__(self, disable: bool = True) -> None:
        self._disable = disable

    def __enter__(self) -> None:
        self._before = DISABLED[:]
        DISABLED[:] = [1] if self._disable else []

    def __exit__(self, *error: Any) -> None:
        DISABLED[:] = self._before


# -- traced ----------------------------------------------------------------------------------------


@dataclass
class Traced:
    """One trace: the program, the sources of its operands, the destinations of its results."""

    jaxpr: Jaxpr
    captured: list[Array]  # owners that are not arguments
    avals: tuple[Aval, ...]  # of the captured owners
    nodes: list[Node]  # tracers, data: the same at each call
    outs: list[Any]  # ("new", kind) | ("same", owner) | ("view", owner, path, flags) | ("value", x)
    written: list[tuple[str, int]]  # ("argument", "captured" or "value", place)
    tree: Any
    starts: list[Node]  # starts of views, where they are operands: their nodes during tracing
    sized: SizedProgram | None = None  # what runs, if there are sizes in it

    def valid(self) -> bool:
        """Whether another call may use it: its captured arrays are alive and have the same
        types.
        """
        if any(is_tracer(n) and not n[VALUE].trace.alive for n in self.nodes):
            return False
        return all(o.aval is a for o, a in zip(self.captured, self.avals, strict=True))

    def pure(self) -> bool:
        """Whether a call is one operation on the arguments and nothing else."""
        new = all(kind[0] == "new" for kind in self.outs)
        data = all(n[OP] is None and not is_tracer(n) for n in self.nodes)
        return new and data and not (self.captured or self.written)


def _trace(
    function: Callable[..., Any], given: Arguments, what: str, moving: bool, sizes: bool = True
) -> Traced:
    """moving: the starts of views are operands. sizes: integers of the program may be sizes."""
    avals = given.avals if given.names else []  # reading an array captures it
    with telling_why(), staging(what) as recorder:
        recorder.sizes = Table() if sizes else None
        named = NamedSizes(recorder)
        if given.names:
            values = _named_inputs(recorder, given, avals, named)
        else:
            for owner in given.owners:
                recorder.capture(owner)
            values = [recorder.input(_value_aval(x)) for x in given.values]
        starts = [recorder.input(START) for _ in given.starts] if moving else []
        inputs = [*(recorder.handles[id(o)][2] for o in given.owners), *values, *starts]
        fresh = iter(values)
        flags = given.owned
        leaves = given.moved(starts) if moving else given.leaves
        leaves = [x if f else _handle(x, next(fresh)) for x, f in zip(leaves, flags)]
        handles = [h for h, f in zip(leaves, flags) if not f]
        args, kwargs = tree_unflatten(given.structure, leaves)
        out = function(*args, **kwargs)
        return _finished(recorder, given, named, inputs, (handles, values), starts, out, what)


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
    return new_array(node) if isinstance(x, ShapeDtype) else handle_like(x, node)


def _finished(
    recorder: StagingRecorder,
    given: Arguments,
    named: NamedSizes,
    inputs: list[Node],
    lent: tuple[list[Array], list[Node]],
    starts: list[Node],
    out: Any,
    what: str,
) -> Traced:
    """lent: the handles that stand for arguments that are not our Arrays, and their initial
    nodes.
    """
    places = {id(o): ("argument", i) for i, o in enumerate(given.owners)}
    leaves, tree = tree_flatten(out)
    roots: list[Node] = []
    outs = [_result(x, recorder, roots, starts, what) for x in leaves]
    changed = [h[0] for h in recorder.handles.values() if h[0]._node is not h[2]]
    roots += [owner._node for owner in changed]
    stored = [i for i, (h, n) in enumerate(zip(*lent, strict=True)) if h._read() is not n]
    roots += [lent[0][i]._read() for i in stored]
    made = recorder.sizes.made if recorder.sizes else []
    own = len(inputs), sum(kind[0] == "new" for kind in outs)
    roots = [*(atom.place._node for atom in made), *roots]  # what reads them comes later
    inputs = [*named.nodes, *inputs]
    jaxpr, captured, nodes = captured_program(recorder, roots, inputs, list(places))
    jaxpr = Jaxpr(jaxpr.inputs, jaxpr.eqns, rotated(jaxpr.outputs, len(made)))
    sized = None
    if named.nodes or made:
        sized = SizedProgram(jaxpr, named.places, named.atoms, made, own, recorder.sizes.required)
        jaxpr = sized.jaxpr
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
        sized=sized,
    )


def _result(
    x: Any, recorder: StagingRecorder, roots: list[Node], starts: list[Node], what: str
) -> Any:
    """Classify a result: an array from outside, a view of one, or a new value."""
    if type(x) is NDArray:
        if id(x) in recorder.handles:
            return "same", x
        if x._base is not None and id(x._base) in recorder.handles and fixed(x._path, starts):
            return "view", x._base, x._path, x._flags, x._order
    check_leaf(x, f"{what}: a result")
    roots.append(argument_node(x))
    return "new", NDArray if type(x) is NDArray or isinstance(x, np.ndarray) else Scalar


def _placed(kind: Any, captured: list[Any], places: dict[int, tuple[str, int]]) -> Any:
    """Refer to the result's owner by place, if that owner is an operand."""
    if kind[0] == "new" or id(kind[1]) not in places:
        return kind  # an array from outside that was only returned
    return kind[0], places[id(kind[1])], *kind[2:]


def _run(
    traced: Traced, given: Arguments, params: dict[str, Any], inline: bool = False,
    donate: Places = (),
) -> Any:  # fmt: skip
    """params: of the call, but for the jaxpr. donate: places of the donated owners."""
    _set_aside(given)
    values = [new_array(node_of(x)) for x in given.values]
    stored = [given.values[i] for where, i in traced.written if where == "value"]
    if any(isinstance(x, np.ndarray) and not x.flags.writeable for x in stored):
        raise ValueError("assignment destination is read-only")
    captured = map(in_native_order, traced.captured)
    starts = given.start_operands() if traced.starts else []
    operands = [*given.owners, *values, *starts, *captured, *map(new_array, traced.nodes)]
    jaxpr, values = traced.jaxpr, None
    if traced.sized is not None:
        jaxpr, values = _for_sizes(traced.sized, given, operands)
    if not (local.recorder.staging or any(is_interpreted(x._read()) for x in operands)):
        jaxpr = delivered(jaxpr)
        operands = at_home(jaxpr, operands)
    if inline and local.recorder.staging:
        results = iter(run_jaxpr(jaxpr, operands))
    elif donate:
        results = iter(jit_call(*operands, jaxpr=jaxpr, **params, donate=donate))
        kept = {i for where, i in traced.written if where == "argument"}
        kept |= {k[1][1] for k in traced.outs if k[0] != "new" and k[1][:1] == ("argument",)}
        give_up([given.owners[i] for i in donate if i not in kept], params["name"])
    else:
        results = iter(jit_call(*operands, jaxpr=jaxpr, **params))
    made = [next(results) if kind[0] == "new" else None for kind in traced.outs]
    owners = {"argument": given.owners, "captured": traced.captured}
    with write_lock:
        for (where, i), value in zip(traced.written, results, strict=True):
            if where == "value":
                store(given.values[i], value)
            else:
                write(owners[where][i], value._read())
    places = (traced.starts, given.starts, values)
    leaves = [_delivered(k, x, owners, places) for k, x in zip(traced.outs, made, strict=True)]
    return tree_unflatten(traced.tree, leaves)


def _for_sizes(sized: SizedProgram, given: Arguments, operands: list[Array]) -> tuple[Jaxpr, Any]:
    """The program for the sizes of this call, and their values. Integers that the data decide are
    computed now.
    """

    def value(x: Jaxpr | int) -> int:
        if isinstance(x, int):
            (out,) = (operands[x],)
        else:
            (out,) = jit_call(*operands, jaxpr=x, name="size")
        return int(host_value(out._read()))

    shapes = [np.shape(x) for x in given.leaves] if sized.places else []
    return sized.program(bound(sized.places, shapes, "jit"), value)


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
    if kind[0] == "new":
        return made if kind[1] is NDArray or made.ndim else new_scalar(made._read())
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


# -- the public function ---------------------------------------------------------------------------


class Jitted:
    """A function that is traced once for each kind of arguments. See `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        numbers: tuple[int, ...],
        names: tuple[str, ...],
        donated: tuple[tuple[int, ...], tuple[str, ...]] = ((), ()),
        inline: bool = False,
        loops: Loops | None = None,
        compiled: bool = False,
        axes: Any = None,
        shardings: tuple[Any, Any] = (None, None),
    ) -> None:
        """compiled: each trace is compiled when it is first called. axes: abstracted."""
        self._axes = axes_argument(axes, "jit")
        functools.update_wrapper(self, function)
        self._function, self._name = function, name_of(function)
        made_of = function, numbers, names, donated, inline, loops, compiled, axes, shardings
        self._made_of = made_of
        self._params = {"name": self._name, "compiled": True} if compiled else {"name": self._name}
        self._loops = loops
        self._notes: list[str] = []  # what became of loops
        self._what = f"jit of {self._name}"
        arranged = any(s is not None for s in shardings)
        self._arrangement = Arrangement(*shardings, self._what) if arranged else None
        self._numbers, self._names = places_and_names(function, numbers, names)
        # static as well, where they are ints
        bounds = bounds_only(function) if not (numbers or names) else ()
        self._bounds = places_and_names(function, (), bounds) if bounds else ((), ())
        self._donated, self._inline = donated, inline
        if any(donated):
            self._donated = places_and_names(function, *donated, "donate")
        self._cache: dict[Any, Traced] = {}
        self._quick: dict[Any, Quick] = {}
        self._reasons: list[str] = []
        self._simple = not (self._numbers or self._names or any(donated) or bounds)

    def __repr__(self) -> str:
        return f"<jit of {self._name}>"

    def __reduce__(self) -> Any:
        """As functions are pickled: by name, where a module has it by that name."""
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        path = getattr(self, "__qualname__", "")
        for name in path.split("."):
            found = getattr(found, name, None)
        return path if found is self else (Jitted, self._made_of)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._arrangement is not None:
            args, copied = self._arrangement.arguments(args, kwargs)
            out = self._called(args, kwargs)
            deliver(copied)
            return out
        return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if DISABLED or config.debug_nans:
            return self._function(*args, **kwargs)
        plain = operands_of(args) if self._simple and not kwargs else None
        if plain is not None:
            quick = self._quick.get(plain[0])
            if quick is not None:
                STATS.calls += 1
                return quick.call(args, plain[1])
        if local.recorder.staging and _meets_sizes((args, kwargs)):
            return self._prepared(*args, **kwargs)
        given, call, static = self._split(args, kwargs)
        traced = self._traced(given, call, static)
        STATS.calls += 1
        fresh = traced.sized is None or not traced.sized.made
        if plain is not None and fresh and traced.pure() and place_inside(traced.jaxpr) is None:
            made = [kind[1] is NDArray for kind in traced.outs]
            jaxpr = traced.jaxpr if traced.sized is None else _for_sizes(traced.sized, given, [])[0]
            jaxpr = delivered(jaxpr)
            quick = quick_of(jaxpr, self._params, plain[1], made, traced.tree, traced.nodes)
            if quick is not None:
                if traced.sized is not None and len(self._quick) >= _SIZES:
                    self._quick.clear()
                self._quick[plain[0]] = quick
        donate = self._places(given, args, kwargs) if any(self._donated) else ()
        return _run(traced, given, self._params, self._inline, donate)

    @functools.cached_property
    def _prepared(self) -> Callable[..., Any]:
        """The function as it is traced: its control flow may be on traced values."""
        function = converted(self._function)
        return function if self._arrangement is None else self._arrangement.results(function)

    def _places(
        self, given: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[int, ...]:
        """The places of donated arrays among the owners; none under a transformation."""
        numbers, names = self._donated
        chosen = [x for i, x in enumerate(args) if i in numbers or i - len(args) in numbers]
        chosen += [x for name, x in kwargs.items() if name in names]
        return donated_places(tree_flatten(chosen)[0], given.leaves, given.owners, self._what)

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Arguments, Callable[..., Any], Any]:
        """The dynamic arguments, the function of these, and the key of the static arguments."""
        numbers, names = self._bounds
        places = {n % len(args) for n in self._numbers if -len(args) <= n < len(args)}
        places |= {n for n in numbers if n < len(args) and type(args[n]) is int}
        static_names = {*self._names, *(n for n in names if type(kwargs.get(n)) is int)}
        if not places and not static_names:
            named = names_of_leaves(self._axes, args, kwargs, self._what)
            return Arguments((args, kwargs), self._what, named), self._prepared, ()
        dynamic = tuple([x for i, x in enumerate(args) if i not in places])
        named = {k: v for k, v in kwargs.items() if k not in static_names}
        fixed = {k: v for k, v in kwargs.items() if k in static_names}
        static = tuple([(i, type(args[i]), args[i]) for i in sorted(places)])
        static += tuple([(k, type(v), v) for k, v in sorted(fixed.items())])
        for where, kind, value in static:
            check_hashable(self._what, where, kind, value)

        def call(*given: Any, **keywords: Any) -> Any:
            rest = iter(given)
            whole = [x if i in places else next(rest) for i, x in enumerate(args)]
            return self._prepared(*whole, **fixed, **keywords)

        axes = self._axes
        if isinstance(axes, tuple) and len(axes) == len(args):
            axes = tuple([a for i, a in enumerate(axes) if i not in places])
        found = names_of_leaves(axes, dynamic, named, self._what)
        return Arguments((dynamic, named), self._what, found), call, static

    def _traced(
        self, given: Arguments, call: Callable[..., Any], static: Any, moving: bool = False
    ) -> Traced:
        """moving: the trace must serve other views than these."""
        kind = (given.key, static)
        places = None if moving else given.places
        try:
            traced = self._cache.get((*kind, places)) or self._cache.get((*kind, None))
        except TypeError as error:  # the static arguments were checked before
            raise TypeError(
                f"{self._what}: the static data of a tree (the second result of a registered "
                f"class's `flatten_func`) must be hashable: {error}"
            ) from None
        if traced is None or not traced.valid():
            if places and any(key[:2] == kind for key in self._cache):
                places = None  # the starts of views vary
            key = (*kind, places)
            STATS.traces += 1
            if self._cache:
                last = next(reversed(self._cache))
                where = position(*user_position())
                self._reasons.append(f"{difference(key, last)}, at {where}")
                STATS.reasons.append(f"{self._what}: {self._reasons[-1]}")
            made = places is None and bool(given.starts)
            with session.tracing(self._loops or config.loops, self._notes):
                sizes = "compiled" not in self._params
                traced = self._cache[key] = _trace(call, given, self._what, made, sizes)
        return traced

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for arguments like these (arrays or ShapeDtype), without running it."""
        if self._arrangement is not None:
            args, _ = self._arrangement.arguments(args, kwargs)
        given, call, static = self._split(args, kwargs)
        return Lowered(self, self._traced(given, call, static, bool(given.starts)), given)

    def run(self, traced: Traced, given: Arguments) -> Any:
        """Call it for arguments of which it was traced."""
        return _run(traced, given, {"name": self._name, "compiled": True})

    def trace(self, *args: Any, **kwargs: Any) -> Jaxpr:
        """The jaxpr for these arguments."""
        given, call, static = self._split(args, kwargs)
        return self._traced(given, call, static).jaxpr

    def explained(self) -> str:
        """For `explain`: the arguments that it was traced for, and the reasons for retracing."""
        n = len(self._reasons) + bool(self._cache)
        lines = [f"{self._what}: traced {n} time{'s' * (n != 1)}"]
        lines += [f"again for {r}" for r in self._reasons]
        return "\n".join([*lines, *dict.fromkeys(self._notes)])

    def clear_cache(self) -> None:
        """Forget all traces; the next call traces the function again."""
        self._cache.clear()
        self._quick.clear()

    def _cache_size(self) -> int:
        return len(self._cache)


_SIZES = 256  # fast paths for sizes of one function


def _meets_sizes(tree: Any) -> bool:
    """Whether a traced program calls with arrays of sizes that it does not know. The function then
    becomes a part of that program.
    """
    return any(
        type(x) is Size or isinstance(x, Array) and type(x.aval.plain) is SizedAval
        for x in tree_flatten(tree)[0]
    )


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    inline: bool = False,
    loops: Loops | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    keep_unused: bool = False,
    device: Any = None,
    abstracted_axes: Any = None,
) -> Any:
    """The function as one operation, traced once for each kind of arguments.

    A new structure, shape, dtype, weak type (of Python numbers) or static value causes a new trace,
    and so does a different sharing of memory between arguments. Writes to arguments and captured
    arrays take effect after each call.

    The call raises data-dependent errors (an index out of bounds, a singular matrix), and then
    writes and donates nothing. If the function contains an operation that can raise such an error,
    the call waits for its results. `np.take(..., mode="clip")` cannot.

    loops: what becomes of Python's loops. "auto": those of more than 8 rounds are traced once, if
    their bodies change no object of Python's; `np.explain(f)` names the others. "unroll": each
    round is traced, unless the number of rounds is unknown. "stage": a loop that cannot be traced
    once is an error. None: as `config.loops`. Branches and loops on traced values are compiled in
    any case, also in functions that this one calls, but not in libraries, nor where there is no
    source. An int argument that the function uses only as a bound of `range` is static.

    abstracted_axes: axes whose sizes a trace does not know, so that one trace serves all sizes:
    `{axis: name}` or a tuple of names (and None) for every argument, or a tuple of such for each.
    Equal names are one size. Inside, `x.shape[i]` of such an axis is a Scalar without a value.

    donate_argnums, donate_argnames: arguments whose memory the results may reuse. Using a donated
    array afterwards is a RuntimeError, unless the function wrote it. Views are not donated, and
    under a transformation no argument is. inline: inside a traced function, insert the operations
    instead of one `jit` operation. in_shardings, out_shardings: where arguments are taken and
    results given: a sharding, or a tree of them that is a prefix of the positional arguments, or of
    the results; None: as given, or as the compiler decides. keep_unused, device: no effect.
    """
    options = {
        "static_argnums": static_argnums, "static_argnames": static_argnames,
        "donate_argnums": donate_argnums, "donate_argnames": donate_argnames, "inline": inline,
        "loops": loops, "in_shardings": in_shardings, "out_shardings": out_shardings,
        "abstracted_axes": abstracted_axes,
    }  # fmt: skip
    if fun is None:
        return lambda f: jit(f, **options)
    if not callable(fun):
        raise TypeError(f"jit: a callable is required, got {fun!r}")
    if inspect.isgeneratorfunction(fun) or inspect.iscoroutinefunction(fun):
        raise TypeError(f"jit of {name_of(fun)}: generators and coroutines cannot be traced")
    donated = numbers(donate_argnums), strings(donate_argnames)
    statics = numbers(static_argnums), strings(static_argnames)
    if loops not in (None, *get_args(Loops)):
        raise ValueError(f"jit: loops must be one of {get_args(Loops)}, got {loops!r}")
    more: Any = {"axes": abstracted_axes, "shardings": (in_shardings, out_shardings)}
    return Jitted(fun, *statics, donated, bool(inline), loops, **more)
