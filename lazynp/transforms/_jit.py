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
from typing import Any, get_args

from lazynp._array import Array, NDArray
from lazynp._avals import SizedAval
from lazynp._config import Loops, config
from lazynp._dataclass import dataclass, field
from lazynp._dimensions import is_unsized, table
from lazynp._errors import is_of_these_sizes
from lazynp._jaxpr import Jaxpr
from lazynp._positions import position
from lazynp._recorder import elsewhere, local, user_position
from lazynp._sizes import Size
from lazynp._tracebacks import show_users
from lazynp._tree import tree_flatten
from lazynp._turns import my_turn
from lazynp.transforms._ahead import Lowered
from lazynp.transforms._arguments import Arguments, difference
from lazynp.transforms._arranged import Arrangement, deliver
from lazynp.transforms._axes import axes_argument, names_of_leaves
from lazynp.transforms._by_size import settled
from lazynp.transforms._call import Compiled, delivered
from lazynp.transforms._donation import donated_places
from lazynp.transforms._expanding import Unnamed
from lazynp.transforms._quick import (
    Operands,
    PlacedQuick,
    Quick,
    front_calls,
    operands_beside,
    operands_of,
    quick_of,
    stays,
)
from lazynp.transforms._sized_runs import decided_by_data
from lazynp.transforms._stack import (
    DISABLED,
    check_callable,
    name_of,
)
from lazynp.transforms._static import (
    Statics,
    check_hashable,
    is_final,
    is_fixable,
    numbers,
    places_and_names,
    same_place,
    strings,
)
from lazynp.transforms._traced import Traced, run, sizes_of, trace
from lazynp.transforms.control import bounds_only, converted, kept_inside, session


@dataclass
class JitStats:
    """Counters of this process. `reasons` says for each retrace what was new."""

    traces: int = 0
    calls: int = 0
    reasons: list[str] = field(default_factory=list)


STATS = JitStats()


# -- the public function ---------------------------------------------------------------------------


class Jitted:
    """A function that is traced once for each kind of arguments. See `jit`."""

    # the ways of calls, by the keys of arguments elsewhere and here, for the front in C
    __slots__ = ("__dict__", "__weakref__", "_placed", "_here", "_ints")

    _placed: dict[Any, PlacedQuick]
    _here: dict[Any, Quick]

    def __init__(
        self,
        function: Callable[..., Any],
        numbers: tuple[int, ...],
        names: tuple[str, ...],
        donated: tuple[tuple[int, ...], tuple[str, ...]] = ((), ()),
        inline: bool = False,
        loops: Loops | None = None,
        compiled: Compiled = False,
        axes: Any = None,
        shardings: tuple[Any, Any] = (None, None),
    ) -> None:
        """compiled: when each trace is compiled, see `_call`. axes: abstracted."""
        self._axes = axes_argument(axes, "jit")
        functools.update_wrapper(self, function)
        self._function, self._name = function, name_of(function)
        made_of = function, numbers, names, donated, inline, loops, compiled, axes, shardings
        self._made_of = made_of
        self._params: dict[str, Any] = {"name": self._name}
        if compiled:
            self._params["compiled"] = compiled
        self._loops = loops
        self._notes: list[str] = []  # what became of loops
        self._what = f"jit of {self._name}"
        arranged = shardings != (None, None)
        self._arrangement = Arrangement(*shardings, self._what) if arranged else None
        self._at_once = shardings[0] is None  # arguments are taken where they are
        bounds = bounds_only(function) if not (numbers or names) else ()
        implied = not (numbers or names) and axes is None and not arranged
        self._statics = Statics(function, numbers, names, bounds, implied)
        self._donated, self._inline = donated, inline
        if any(donated):
            self._donated = places_and_names(function, *donated, "donate")
        self._cache: dict[Any, Traced] = {}
        self._quick: dict[Any, Quick] = {}
        self._placed, self._here = {}, {}
        self._alone: set[Any] = set()  # the shapes of arguments that `_of_these_sizes` serves
        self._reasons: list[str] = []
        self._simple = not (self._statics.declared or any(donated))
        self._ints = self._statics.places_of_ints()
        self._beside = not any(donated) and axes is None and not arranged

    retries = True  # whether ints may become static

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
        try:
            if self._arrangement is not None:
                args, copied = self._arrangement.arguments(args, kwargs)
                out = self._called(args, kwargs)
                deliver(copied)
                return out
            return self._called(args, kwargs)
        except BaseException as error:
            show_users(error)
            raise

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if DISABLED or config.debug_nans:
            return self._function(*args, **kwargs)
        plain = self._operands(args, kwargs)
        if plain is not None:
            quick = self._quick.get(plain[0])
            if quick is not None:
                STATS.calls += 1
                return quick.call(plain[2], plain[1])
        if local.recorder.staging and _meets_sizes((args, kwargs)):
            return self._prepared(*args, **kwargs)
        if self._axes is None:
            return self._traced_call(args, kwargs, plain)
        shapes = _shapes((args, kwargs)) if self._alone else ()
        if shapes not in self._alone:
            try:
                return self._traced_call(args, kwargs, plain)
            except (TypeError, ValueError, ArithmeticError, LookupError) as error:
                if not is_of_these_sizes(error):
                    raise
            if len(self._alone) < _SIZES:
                self._alone.add(_shapes((args, kwargs)))
        return self._of_these_sizes(*args, **kwargs)

    def _operands(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operands | None:
        """For the fast path of calls like these; None: they have none."""
        plain = operands_of(args, kwargs) if self._simple else None
        if plain is None and self._beside:
            places, names = self._statics.of(args, kwargs)
            if places or names or not self._simple:
                return operands_beside(args, kwargs, places, names)
        return plain

    @functools.cached_property
    def _of_these_sizes(self) -> Jitted:
        """The function where an axis has a number. It is for calls at sizes that are wrong in a
        branch, which the call may not take, or at which NumPy makes a view of what is a copy else.
        """
        *rest, _, shardings = self._made_of
        return Jitted(*rest, shardings=shardings)  # type: ignore[arg-type]

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], plain: Any) -> Any:
        fixed = self._statics.fixed
        try:
            given, traced = self._given(args, kwargs)
        except Unnamed:  # it decides sizes, of what it captures from the program around it
            return self._prepared(*args, **kwargs)
        sized = traced.sized
        if sized is not None and table() is not None and (sized.made or decided_by_data(sized)):
            return self._prepared(*args, **kwargs)  # its sizes are those of the program around it
        if self._statics.fixed is not fixed:
            plain = None  # ints are a part of the key now
        STATS.calls += 1
        jaxpr, params = self._settled(given, traced) if plain is not None else (None, {})
        if plain is not None and jaxpr is not None and stays(traced.jaxpr, plain[1]):
            made = [(kind[1] is NDArray, *kind[2:]) for kind in traced.outs]
            jaxpr = delivered(jaxpr)
            quick = quick_of(jaxpr, params, plain[1], made, traced.tree, traced.nodes)
            if quick is not None:
                if traced.sized is not None and len(self._quick) >= _SIZES:
                    self._forget_ways()
                self._quick[plain[0]] = quick
                if type(quick) is PlacedQuick and self._at_once:
                    self._placed[plain[0]] = quick
                elif type(quick) is Quick and quick.classes and self._arrangement is None:
                    self._here[plain[0]] = quick
        donate = self._places(given, args, kwargs) if any(self._donated) else ()
        return run(traced, given, self._params, self._inline, donate)

    def _settled(self, given: Arguments, traced: Traced) -> tuple[Jaxpr | None, dict[str, Any]]:
        """The program of every later call with such arguments, if a call is nothing else; and the
        parameters of its calls.
        """
        sized = traced.sized
        if not traced.pure() or sized is not None and (sized.made or decided_by_data(sized)):
            return None, {}
        if sized is None:
            return traced.jaxpr, self._params
        jaxpr, params = settled(sized, sizes_of(sized, given, [])[0])
        return jaxpr, self._params | params

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

    def _given(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], moving: bool = False
    ) -> tuple[Arguments, Traced]:
        """The dynamic arguments, and the trace for them. If an int stands in the way (a size that
        must agree with others, a bound, an axis), it is static from then on.
        """
        try:
            return self._split_and_traced(args, kwargs, moving)
        except (TypeError, ValueError, IndexError, RecursionError) as first:
            if (
                self._statics.fixed
                or is_final(first)
                or not (self._statics.implied and self.retries)
                or not any(map(is_fixable, (*args, *kwargs.values())))
            ):
                raise
            self._statics.fixed = True
            try:
                found = self._split_and_traced(args, kwargs, moving)
            except BaseException as second:
                self._statics.fixed = False
                if same_place(first, second):  # what an int is was not the matter
                    raise first from None
                raise
            self._simple, self._ints = False, self._statics.places_of_ints()
            self._forget_ways()
            return found

    def _split_and_traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], moving: bool
    ) -> tuple[Arguments, Traced]:
        given, call, static = self._split(args, kwargs)
        return given, self._traced(given, call, static, moving and bool(given.starts))

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Arguments, Callable[..., Any], Any]:
        """The dynamic arguments, the function of these, and the key of the static arguments."""
        places, static_names = self._statics.of(args, kwargs)
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
        if elsewhere:  # what it makes is made there
            static = *static, ("default_device", config.device)
        kind = (given.key, static)
        places = None if moving else given.places
        try:
            traced = self._valid(kind, places, given)
        except TypeError as error:  # the static arguments were checked before
            raise TypeError(
                f"{self._what}: the static data of a tree (the second result of a registered "
                f"class's `flatten_func`) must be hashable: {error}"
            ) from None
        if traced is None:
            with my_turn():  # another thread may have traced it meanwhile
                found = self._valid(kind, places, given)
                traced = found or self._new(given, call, kind, places)
        return traced

    def _valid(self, kind: Any, places: Any, given: Arguments) -> Traced | None:
        """The trace for arguments of this kind, if there is one that still holds."""
        traced = self._cache.get((*kind, places)) or self._cache.get((*kind, None))
        traced = traced and traced.serves(given)
        return None if traced is None or not traced.valid() else traced

    def _new(self, given: Arguments, call: Callable[..., Any], kind: Any, places: Any) -> Traced:
        """A new trace, and why there is one."""
        known = list(self._cache)  # destructors that trace it may change the table
        if places and any(key[:2] == kind for key in known):
            places = None  # the starts of views vary
        key = (*kind, places)
        STATS.traces += 1
        made = places is None and bool(given.starts)
        own = {id(self): self._function} if self._arrangement is None else {}
        with session.tracing(self._loops or config.loops, self._notes, own):
            sizes = "compiled" not in self._params
            inside = kept_inside(call, self._what)
            traced = trace(inside, given, self._what, made, sizes)
        if known:  # said of traces that succeed: a call that fails may come any number of times
            same = key in self._cache and self._cache[key].decided
            why = "sizes that a test tells apart" if same else difference(key, known[-1])
            self._reasons.append(f"{why}, at {position(*user_position())}")
            STATS.reasons.append(f"{self._what}: {self._reasons[-1]}")
        traced.keep(self._cache.get(key))
        self._cache[key] = traced
        return traced

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for arguments like these (arrays or ShapeDtype), without running it."""
        if self._arrangement is not None:
            args, _ = self._arrangement.arguments(args, kwargs)
        given, traced = self._given(args, kwargs, moving=True)
        return Lowered(self, traced, given)

    def run(self, traced: Traced, given: Arguments) -> Any:
        """Call it for arguments of which it was traced."""
        return run(traced, given, {"name": self._name, "compiled": True})

    def again(self, given: Arguments) -> Any:
        """Call it for positional arguments that were taken apart before."""
        if self._statics.fixed or DISABLED or config.debug_nans:
            return self._called(tuple(given.leaves), {})
        STATS.calls += 1
        return run(self._traced(given, self._prepared, ()), given, self._params)

    def trace(self, *args: Any, **kwargs: Any) -> Jaxpr:
        """The jaxpr for these arguments."""
        return self._given(args, kwargs)[1].jaxpr

    def explained(self) -> str:
        """For `explain`: the arguments that it was traced for, and the reasons for retracing."""
        n = len(self._reasons) + bool(self._cache)
        lines = [f"{self._what}: traced {n} time{'s' * (n != 1)}"]
        lines += [f"again for {r}" for r in self._reasons]
        return "\n".join([*lines, *dict.fromkeys(self._notes)])

    def clear_cache(self) -> None:
        """Forget all traces; the next call traces the function again."""
        if self._alone:
            self._of_these_sizes.clear_cache()
            self._alone.clear()
        self._cache.clear()
        self._forget_ways()

    def _forget_ways(self) -> None:
        for ways in (self._quick, self._placed, self._here):
            ways.clear()

    def _cache_size(self) -> int:
        more = self._of_these_sizes._cache_size() if self._alone else 0
        return more + sum(1 + len(traced.others) for traced in list(self._cache.values()))


front_calls(Jitted, STATS)

_SIZES = 256  # fast paths for sizes of one function


def _shapes(tree: Any) -> tuple[Any, ...]:
    return tuple([getattr(x, "shape", ()) for x in tree_flatten(tree)[0]])


def _meets_sizes(tree: Any) -> bool:
    """Whether a traced program calls with arrays of sizes that it does not know, or with what
    stands for such an array. The function then becomes a part of that program.
    """
    return any(
        type(x) is Size or is_unsized(x) or isinstance(x, Array) and type(x.aval.plain) is SizedAval
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
    source. An int argument that the function uses only as a bound of `range` is static; so are
    strings, dtypes and functions of modules, and ints (and tuples of ints) where tracing fails with
    them: a size that must agree with others, an axis. Naming static arguments turns that off.

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
    _check(fun, loops)
    donated = numbers(donate_argnums), strings(donate_argnames)
    statics = numbers(static_argnums), strings(static_argnames)
    more: Any = {"axes": abstracted_axes, "shardings": (in_shardings, out_shardings)}
    return Jitted(fun, *statics, donated, bool(inline), loops, **more)


def _check(fun: Any, loops: Any) -> None:
    check_callable("jit", fun)
    if inspect.isgeneratorfunction(fun) or inspect.iscoroutinefunction(fun):
        raise TypeError(f"jit of {name_of(fun)}: generators and coroutines cannot be traced")
    if loops not in (None, *get_args(Loops)):
        raise ValueError(f"jit: loops must be one of {get_args(Loops)}, got {loops!r}")
