"""Derivatives that are asked for again and again, as programs.

`grad(f)` is a function of lazynp's, so no code is replaced: its calls come here (`_recipes`). They
are tried as those of a hot function are, with f as one of the inputs (`_calls`). All functions of
one code share what is known here, because f is often made anew for each call. A program writes
nothing: a function that writes its arguments, or sets attributes, stays with Python.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, Literal

from lazynp._array import Scalar
from lazynp._jaxpr import Jaxpr, Var
from lazynp._memo import Memo
from lazynp._plan import STATS
from lazynp._promotion import _case, _clock, _trials
from lazynp._promotion._allowed import may_run
from lazynp._promotion._at_once import NotNow, Steps, steps_for
from lazynp._promotion._calls import AgainCall, Call
from lazynp._promotion._case import Case
from lazynp._promotion._copies import computed
from lazynp._promotion._earlier import has_won, key_of, of_code
from lazynp._promotion._given import Given, Numbers
from lazynp._promotion._giving_way import Attempt, Prepared, same_value
from lazynp._promotion._guards import Changing, Guards, Inputs, names_of
from lazynp._promotion._known_calls import MISSED, KnownCall, known_call
from lazynp._promotion._program import Changes, Program
from lazynp._promotion._results import Results, rebuilt
from lazynp._promotion._template import Again
from lazynp._promotion._trials import Trials
from lazynp._recorder import GivesWay
from lazynp._signals import let_through
from lazynp.transforms._arguments import Arguments
from lazynp.transforms._grad import value_and_grad
from lazynp.transforms._pulls import LinearFunction
from lazynp.transforms._recipes import Recipe, recipe_of, runners
from lazynp.transforms._stack import name_of, node_of
from lazynp.transforms._traced import Traced
from lazynp.transforms.control import (
    CannotStage,
    converted,
    is_rewritten,
    is_users,
    plain_of,
    wrappers,
)

_SHORT = 4e-5  # seconds: calls that are shorter are not worth it
# Of Python, before a trace: that takes as long as some twenty calls, of which the first are slow.
_RENT, _CALLS = 0.012, 16  # seconds; calls
_KNOWN = 4  # kinds of calls that are served without taking them apart
_COMPILING = 0.006  # seconds for each operation: derivatives are compiled more slowly than loops
_EQUATIONS = 1000

derivatives: Memo[Any, Derived] = Memo("derivatives as programs", 256, costly=True)


class Derived(Trials):
    """What runs the calls of one transformation of the functions of one code."""

    def __init__(self, name: str, code: CodeType) -> None:
        identity = f"{name} {of_code(code)}"
        super().__init__(name, _SHORT, _COMPILING, identity)
        self.before = self.rent
        self._known: list[KnownCall] = []
        self._soon = has_won(key_of("function", identity))
        self.plain = _nothing
        self.off = False
        self._attempt: Attempt | None = None
        self.gave_way = 0  # calls
        self._busy = threading.Lock()

    @property
    def rent(self) -> float:
        return min(_RENT, _case.RENT)

    def restore(self, why: str = "") -> None:
        self.off, self.given_back = True, why
        self._known = []
        self.cases.clear()

    def run(
        self, recipe: Recipe, plain: Callable[..., Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        if self.off or not may_run():
            return plain(*args, **kwargs)
        for known in self._known:
            found = known.call((recipe, *args), kwargs)
            if found is not MISSED:
                return found
        if not self._busy.acquire(blocking=False):
            return plain(*args, **kwargs)
        attempt = self._attempt = Attempt(lambda s: self._prepared(recipe, args, kwargs, s))
        run = functools.partial(attempt.run, plain)
        try:
            if self._is_early():
                return self._early(run, args, kwargs)
            self.plain = lambda _, *args, **kwargs: run(*args, **kwargs)
            out = self._run((recipe, *args), kwargs)
            self._note((recipe, *args), kwargs)
            return out
        except GivesWay:
            if attempt.prepared is None:
                raise
            return self._instead(attempt.prepared, attempt.spent, recipe, plain, args, kwargs)
        finally:
            self.plain, self._attempt = _nothing, None  # they keep what the function keeps
            self._busy.release()

    def _note(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let calls like this one be known, if a program serves them."""
        case = self._recent
        if case is None or case.unsure:
            return
        program = case.program
        if not isinstance(program, DerivedProgram) or program.noted:
            return
        program.noted = True
        given = self._given(args, kwargs)
        if given is None or self.cases.get(given.key) is not case or not program.gives_new:
            return
        known = known_call(given, program)
        if known is not None:
            self._known = [known, *self._known][:_KNOWN]

    def _forget(self) -> None:
        super()._forget()
        self._known = []

    def _has_candidate(self, case: Case, given: Given, program: Program) -> None:
        if self._attempt is not None:
            self._attempt.has(Prepared(case, given, program))

    def _is_early(self) -> bool:
        """Whether it is too early to take calls apart."""
        if self._soon or self.seconds >= _case.SECONDS:
            return False
        return self.seconds < self.rent or self.calls < _CALLS

    def _early(
        self, plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call that is only timed: to take it apart would not pay yet."""
        begin = _clock.now()
        try:
            return plain(*args, **kwargs)
        finally:
            self._count(_clock.of_python(begin))

    def _prepared(
        self, recipe: Recipe, args: tuple[Any, ...], kwargs: dict[str, Any], spent: float
    ) -> Prepared | None:
        """The program that is to run a call which has taken so many seconds so far."""
        given = self._given((recipe, *args), kwargs)
        case = None if given is None else self._case(given)
        if given is None or case is None or case.program is not None:
            return None
        if case.refused or case.lost:
            return None
        if case.candidate is None:
            case.last, case.seconds = spent, max(case.seconds, spent)
            given = self._trace(case, given, (recipe, *args), kwargs)
        if case.refused or case.candidate is None:
            return None
        return Prepared(case, given, case.candidate)

    def _instead(
        self, prepared: Prepared, spent: float, recipe: Recipe, plain: Callable[..., Any],
        args: tuple[Any, ...], kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """The results of a call that gave way after so many seconds. Its program has won, unless it
        tells its value, and that is wrong; or it takes longer: then a trial decides.
        """
        case, given, program = prepared
        self.gave_way += 1
        case.candidate = None
        try:
            if not program.serves(given.originals, given.objects):
                raise CannotStage(_trials.CHANGED)
            computed(given.leaves)
            begin, compiling = _clock.now(), STATS.compile_seconds
            out, _ = program(*given.call)
            seconds = _clock.since(begin, STATS.compile_seconds - compiling)
            if recipe.values is not None:
                values, named = recipe.values(*args, **kwargs)
                if not same_value(out[0], recipe.function(*values, **named)):
                    raise CannotStage("its value differs")
            if seconds <= max(spent, _case.SECONDS):
                self._won(case, program, sure=True)
            else:
                case.candidate, case.takes_long = program, True
            return out
        except (Exception, CannotStage) as why:
            let_through(why)
            case.refuse(why)
        return plain(*args, **kwargs)

    def _taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
        return Call(args, kwargs, self.numbers)

    def _program(self, given: Given) -> Program:
        return DerivedProgram(self.name, given, self.numbers)

    def _moves(self, program: Program) -> bool:
        guards = program.guards
        moves = guards is not None and self._add_inputs(guards.rebound())
        if moves:
            self._forget()
        return moves

    def _learns_why(self, why: BaseException | None) -> bool:
        while why is not None and not isinstance(why, Changing):
            why = why.__context__
        return why is not None and why.free and self._add_inputs(why.names)

    def _add_inputs(self, found: list[tuple[dict[str, Any], str]]) -> bool:
        """Let these global names be inputs; whether that is new."""
        new = {(id(scope), name): scope for scope, name in found}
        if not new or new.keys() & self.numbers.scopes.keys():
            return False
        self.numbers.scopes.update(new)
        return True


def _nothing(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("between two calls")


class _Pure(Results):
    """The results of a program that changes nothing. They are arrays, as derivatives are."""

    def __init__(self, again: AgainCall, out: Any, of_loop: bool = False) -> None:
        super().__init__(again, out, of_loop)
        if self.changes:
            raise CannotStage(f"sets the attribute `{self.changes[0][1]}`")
        if again.rebound:
            raise CannotStage("binds a variable of a function around it")

    def _described(self, x: Any) -> Any:
        if type(x) is not LinearFunction:
            return super()._described(x)
        tape, values = x.parts()
        return "linear", tape, [self._described(v) for v in values]

    def _number(self, x: Scalar, place: int) -> Any:
        return "new", place


class DerivedProgram(Program):
    """A transformed function for calls like this one."""

    most = _EQUATIONS
    again = AgainCall
    results = _Pure

    def __init__(self, name: str, given: Given, numbers: Numbers) -> None:
        super().__init__(_named(name), given)
        self._scopes = dict(numbers.scopes)
        self.steps: Steps | None = None
        self._of_steps: Traced | None = None  # what they were made of
        self.noted = False  # whether calls that it serves are known, if they can be

    @property
    def at_once(self) -> bool:
        return self.steps is not None

    def _traced(self, leaves: list[Any]) -> int:
        operations = super()._traced(leaves)
        traces = list(self._jitted._cache.values())
        self._of_steps = traces[0] if len(traces) == 1 else None
        self.steps = None if self._of_steps is None else steps_for(self._of_steps)
        return operations

    def __call__(
        self, leaves: list[Any], originals: list[Any], objects: list[Any],
        arrays: Arguments | None = None,
    ) -> tuple[Any, Changes]:  # fmt: skip
        if self.steps is None:
            return super().__call__(leaves, originals, objects, arrays)
        given = arrays or Arguments((tuple(leaves), {}), "a derivative")
        if self._jitted._valid((given.key, ()), given.places, given) is not self._of_steps:
            raise NotNow
        operands = [*(x._node for x in given.owners), *map(node_of, given.values)]
        out = self.result(operands, originals)
        if out is MISSED:
            raise NotNow
        return out, []

    def result(self, operands: list[Any], leaves: Sequence[Any] = ()) -> Any:
        """What the steps give, rebuilt; `MISSED`: Python must make the call."""
        values = None if self.steps is None else self.steps.run(operands)
        results = self._results
        if values is None or results is None:
            return MISSED
        return rebuilt(results.out, results.rows_apart(values), list(leaves), [])

    @property
    def gives_new(self) -> bool:
        """Whether nothing that it is given is part of the result."""
        return self._results is not None and _is_new(self._results.out)

    def _guards(self, again: Again, classes: list[type]) -> Guards:
        inputs = Inputs(self._scopes, again.scopes)
        guards = Guards(self.functions, again.cells, classes, inputs, self.asked)
        if not all(map(guards.is_input, self._scopes.values())):
            raise CannotStage("reads global names that change as attributes")
        names = {name for _, name in self._scopes}
        for f in guards.functions:
            if names.intersection(names_of(f.__code__)) and not is_rewritten(f):
                raise CannotStage(f"`{f.__name__}` reads global names that change")
        return guards

    def _check_written(self, where: str) -> None:
        raise CannotStage("writes an array that it did not make")

    def _called(self, again: Again) -> Any:
        given, *args = again.args
        function = converted(given, True)
        if function is given:
            raise CannotStage("its source is not available, or not supported")
        return function(*args, **again.kwargs)

    def _numbers(self, jaxpr: Jaxpr, leaves: list[Any]) -> set[Var]:
        """Without those that it is differentiated by, which are numbers of NumPy's in any case."""
        weak = [v for v in jaxpr.inputs if v.aval.weak]
        places = [i for i, x in enumerate(leaves) if type(x) in (int, float, complex)]
        if len(weak) != len(places):
            return set(weak)
        (_, _, _, moving, _), *args = self._template.args
        args = args[: len(args) - len(self._template.names)]
        free = {i for n in moving if -len(args) <= n < len(args) for i in _leaves_of(args[n])}
        return {v for v, i in zip(weak, places, strict=True) if i not in free}


def _is_new(spec: Any) -> bool:
    """Whether a result is made of values of the program's and constants."""
    kind, *rest = spec
    if kind == "sequence":
        return all(map(_is_new, rest[1]))
    if kind == "dict":
        return all(map(_is_new, rest[0].values()))
    return all(map(_is_new, rest[1])) if kind == "linear" else kind in _NEW


_NEW = ("new", "numpys", "number", "fixed")


def _leaves_of(spec: Any) -> list[int]:
    """The places of the numbers in a part of a call."""
    if isinstance(spec, tuple) and spec[:1] == ("number",):
        return [spec[1]]
    return [i for s in spec for i in _leaves_of(s)] if isinstance(spec, tuple) else []


def _named(name: str) -> Any:
    def derivative() -> None:
        pass

    derivative.__name__ = derivative.__qualname__ = name
    return derivative


# -- where calls come in ---------------------------------------------------------------------------


def run(
    recipe: Recipe, plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a transformed function: a runner of `_recipes`."""
    front = recipe.front
    if front is None:
        front = recipe.front = _front(recipe)
    return plain(*args, **kwargs) if front is False else front.run(recipe, plain, args, kwargs)


def _front(recipe: Recipe) -> Derived | Literal[False]:
    """What all such transformed functions of one code share; False if none can have programs."""
    chain: list[Any] = []
    inside: Recipe | None = recipe
    found: Any = None
    while inside is not None:
        chain.append((inside.maker, inside.options))
        found = inside.function
        inside = recipe_of(found)
    inner = _users(found)
    if inner is None:
        return False
    key = *chain, inner.__code__
    try:
        front = derivatives.get(key)
    except TypeError:  # options without a hash
        return False
    if front is None:
        maker = "grad" if recipe.maker is value_and_grad else recipe.maker.__name__
        name = f"{maker} of {name_of(found)}"
        front = derivatives.put(key, Derived(name, inner.__code__))
    return front


def _users(function: Any) -> FunctionType | None:
    """The function of the user's that a call of this runs."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, FunctionType) and function.__code__ in wrappers:  # of `adopt`
            function = inspect.unwrap(function)
        else:
            break
    if not isinstance(function, (FunctionType, MethodType)):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    function = plain_of(getattr(function, "__func__", function))
    if not isinstance(function, FunctionType) or not is_users(function.__code__):
        return None
    return function


runners.append(run)
