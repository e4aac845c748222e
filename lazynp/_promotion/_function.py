"""A function with a `Promoted` in front of it: who runs a call of it, Python or a program?

The function stays the same object, with its name, signature and place. Only its code is replaced:
by code that calls a `Door`, which calls the `Promoted`. The function as it was is `Promoted.plain`.
The function's dict keeps the `Promoted`, so both end together.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
import weakref
from collections import deque
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from lazynp._config import config
from lazynp._memo import state
from lazynp._plan import STATS
from lazynp._promotion._agreement import agree, close
from lazynp._promotion._given import Given, Numbers, Path, computed, copies
from lazynp._promotion._objects import MISSING, attributes, put
from lazynp._promotion._program import Changes, Program
from lazynp._recorder import local
from lazynp.functions.tools import materialize
from lazynp.transforms._stack import DISABLED
from lazynp.transforms.control import CannotStage, Door, Front

SECONDS = 0.1  # of Python, before the function is traced for arguments like these
_COMPILING = 0.002  # more of these seconds for each operation of the program
FASTER = 0.8  # a program must take less than this part of Python's time
_RUNS = 3  # of a program in its trial: the machine may be busy with something else
_HOPELESS = 4  # of Python's time, by estimate: such a program is not even tried
_SHORT = 1e-3  # seconds: calls that are shorter are not worth it
_CALLS = 16  # ... after so many
_CASES = 8  # kinds of arguments
_MISSES = 64  # calls that no program could run
_ATTEMPTS = 5  # traces, while it turns out which attributes are read, and which numbers vary
_PLACE = ".promoted"
_CHANGED = "what it reads from outside has changed, or is an argument"

# of this process, for its report
_fronts: deque[weakref.ref[Promoted]] = deque(maxlen=64)


class Case:
    """Arguments of one kind. seconds: what Python has spent on them. candidate: traced, and waits
    until that is the price of compiling it. program: None before a trial, and for good if `refused`
    says why.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.price, self.refused = seconds, SECONDS, ""
        self.candidate: Program | None = None
        self.program: Program | None = None


class Promoted(Front):
    """What stands in front of a hot function."""

    def __init__(self, function: FunctionType) -> None:
        self.function, self.code = function, function.__code__
        self.plain = _copied(function)
        self.cases: dict[Any, Case] = {}
        self.numbers = Numbers()
        self.calls, self.seconds, self.programs, self.misses = 0, 0.0, 0, 0
        self.running = 0.0  # seconds that a call has taken which began before there was this front
        self.entered = False
        self.given_back = ""  # why
        self._again = 0  # times that programs were dropped because a number began to vary
        self._busy = threading.Lock()
        self._thread = 0  # that is inside

    def __reduce__(self) -> Any:
        return _Plain, (self.plain,)

    def restore(self, why: str = "") -> None:
        """The function as it was."""
        self.given_back = why
        if self.function.__code__ is not self.code:
            self.function.__code__ = self.code

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._busy.acquire(blocking=False):  # recursion, or another thread
            if self._thread == threading.get_ident():
                # deep recursion must not meet these frames at each level
                self.restore("it calls itself")
            return self.plain(*args, **kwargs)
        try:
            self._thread, self.entered = threading.get_ident(), True
            return self._run(args, kwargs)
        finally:
            self._busy.release()

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = self._given(args, kwargs) if may_run() else None
        if given is None:
            self.misses += 1
            if self.misses > _MISSES:
                self.restore("its arguments are of classes that no program takes")
            return self.plain(*args, **kwargs)
        case = self._case(given)
        if case is None:
            return self.plain(*args, **kwargs)
        program = case.program
        if program is not None:
            if program.serves(given.originals, given.objects):
                nodes = [given.leaves[i]._node for i in given.compact]
                try:
                    computed(given.leaves)
                    out, changes = program(given.leaves, given.originals, given.objects)
                except Exception as error:  # nothing was written: Python raises it at its line
                    case.refused = f"{type(error).__name__}: {error}"
                else:
                    for i, node in zip(given.compact, nodes, strict=True):
                        if given.leaves[i]._node is not node:
                            given.originals[i][...] = given.leaves[i]
                    for k, name, value in changes:
                        put(given.objects[k], name, value)
                    return out
            else:
                case.refused = _CHANGED
            case.program = None
        long = self.running > _SHORT or self.calls and self.seconds > _SHORT * self.calls
        if case.refused or not long or case.seconds < SECONDS:
            return self._timed(case, args, kwargs)
        if case.candidate is None:
            given = self._trace(case, given, args, kwargs)
        if case.candidate is None or case.seconds < case.price:
            return self._timed(case, args, kwargs)
        return self._trial(case, case.candidate, given, args, kwargs)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
        numbers = self.numbers
        before = len(numbers.varying), len(numbers.moving)
        try:
            return Given(self.plain, args, kwargs, numbers)
        except Exception:  # `NotTaken`, or whatever a strange object does when it is looked at
            return None
        finally:
            if before != (len(numbers.varying), len(numbers.moving)):
                self._again += any(c.program is not None for c in self.cases.values())
                self.cases.clear()  # their keys hold what has become an input

    def _case(self, given: Given) -> Case | None:
        case = self.cases.get(given.key)
        if case is None:
            if len(self.cases) >= _CASES or self._again > _CASES:
                self.restore(f"more than {_CASES} kinds of arguments")
                return None
            first = SECONDS + self.running
            case = self.cases[given.key] = Case(0.0 if self.cases else first)
        return case

    # -- tracing -----------------------------------------------------------------------------------

    def _trace(
        self, case: Case, given: Given, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Given:
        """Trace the function for arguments like these: on others, whose shape it may change. Gives
        the call as the trace has found that it must be taken apart.
        """
        key, numbers = given.key, self.numbers
        for _ in range(_ATTEMPTS):
            program = Program(self.plain, given)
            try:
                with np.errstate(all="ignore"):
                    operations = program.trace(copies(given.leaves, empty=True))
            except (Exception, CannotStage) as why:
                if given.skipped:
                    numbers.names = None  # it may need one of them
                elif not numbers.keep():
                    case.refused = str(why) or type(why).__name__
                    break
            else:
                if any(not numbers.may_vary(path) for path in _replaced(program, given)):
                    case.refused = "sets a number that must be known"
                    break
                if not self._learns(program, given):
                    case.candidate, case.price = program, SECONDS + _COMPILING * operations
                    break
            taken = self._given(args, kwargs)
            if taken is None:
                case.refused = "it cannot be taken apart"
                break
            given = taken
        else:
            case.refused = "its numbers and attributes change"
        if given.key != key:
            self.cases.clear()
            self.cases[given.key] = case
        return given

    def _learns(self, program: Program, given: Given) -> bool:
        """Whether the trace shows that the call must be taken apart in another way: without what
        it does not read, and with what it changes as an input.
        """
        numbers = self.numbers
        read = program.read | (numbers.names or frozenset())
        changed = _replaced(program, given) - numbers.varying
        dropped = {name for _, name in given.paths} - read
        missing = given.skipped & read
        numbers.names = read
        numbers.varying |= changed
        return bool(changed or dropped or missing)

    # -- running -----------------------------------------------------------------------------------

    def _timed(self, case: Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begin = time.perf_counter()
        try:
            return self.plain(*args, **kwargs)
        finally:
            spent = time.perf_counter() - begin
            case.seconds += spent
            self.seconds += spent
            self.calls += 1
            short = self.calls >= _CALLS and self.seconds <= _SHORT * self.calls
            if short:
                self.restore(f"its calls are shorter than {1e3 * _SHORT:.0f} ms")
            elif all(c.refused for c in self.cases.values()):
                self.restore()

    def _trial(
        self, case: Case, program: Program, given: Given, args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Run it in Python, then as a program on copies; compare."""
        leaves, originals, objects = given.leaves, given.originals, given.objects
        first, second = copies(leaves), copies(leaves)
        before = [attributes(x) or {} for x in objects]
        begin = time.perf_counter()
        want = materialize(self.plain(*args, **kwargs))
        computed(originals)
        python = time.perf_counter() - begin
        case.candidate = None
        try:
            if not program.serves(originals, objects):
                raise CannotStage(_CHANGED)
            if program.seconds > _HOPELESS * python:
                raise CannotStage(f"it would take {program.seconds / python:.0f} of Python's time")
            with np.errstate(all="ignore"):
                got, changes = program(first, originals, objects)
                if not (
                    _same_leaves(first, originals)
                    and agree(got, want)
                    and _same_attributes(changes, objects, before)
                ):
                    raise CannotStage("its results differ")
                for left in reversed(range(_RUNS)):
                    given_again = copies(second) if left else second
                    begin = time.perf_counter()
                    program(given_again, originals, objects)
                    compiled = time.perf_counter() - begin
                    if compiled <= FASTER * python or compiled > 4 * python + SECONDS:
                        break
            if compiled > FASTER * python:
                raise CannotStage(f"it takes {compiled / python:.1f} of Python's time")
            case.program = program
            self.programs += 1
            STATS.promotions += 1
        except (Exception, CannotStage) as why:
            case.refused = str(why) or type(why).__name__
        return want

    def explained(self) -> str:
        name = self.plain.__name__
        lines = [f"{name}: {self.programs} program{'s' * (self.programs != 1)}"]
        whys = [case.refused for case in self.cases.values()]
        lines += [
            f"runs in Python: {why}" for why in dict.fromkeys([self.given_back, *whys]) if why
        ]
        return "\n".join(lines)


# what calls `Promoted.plain`
in_front = {
    f.__code__ for f in (Promoted.run, Promoted._run, Promoted._timed, Promoted._trial)
}  # fmt: skip


def _replaced(program: Program, given: Given) -> set[Path]:
    """The numbers among attributes that it sets."""
    return {given.paths[place] for place in program.replaced if place in given.paths}


def _same_leaves(ours: list[Any], theirs: list[Any]) -> bool:
    return all(close(np.asarray(o), np.asarray(t)) for o, t in zip(ours, theirs, strict=True))


def _same_attributes(changes: Changes, objects: list[Any], before: list[dict[str, Any]]) -> bool:
    """Whether Python has changed the same attributes, to the same values."""
    ours = {(k, name): value for k, name, value in changes}
    for k, x in enumerate(objects):
        now = attributes(x)
        if now is None:
            return False
        for name in {*now, *before[k], *(n for j, n in ours if j == k)}:
            value, was = now.get(name, MISSING), before[k].get(name, MISSING)
            if (k, name) in ours:
                wanted = ours[k, name]
                if wanted is not value and (wanted is MISSING or not agree(wanted, value)):
                    return False
            elif value is not was:
                return False
    return True


class _Door(Door):
    """What the code of a promoted function calls."""

    def __init__(self, promoted: Promoted) -> None:
        self._promoted, self._code = weakref.ref(promoted), promoted.code

    def front(self) -> Promoted | None:
        return self._promoted()

    def __reduce__(self) -> Any:
        promoted = self._promoted()
        if promoted is None:
            raise TypeError("the code of a function that is gone cannot be pickled")
        return _Plain, (promoted.plain,)

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        promoted = self._promoted()
        if promoted is None:  # another function has the code of one that is gone
            return FunctionType(self._code, sys._getframe(1).f_globals)(*args, **kwargs)
        return promoted.run(args, kwargs)


class _Plain:
    """A pickled `Promoted`, or its door."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def fronts() -> list[Promoted]:
    """Those of functions that are alive."""
    return [p for p in (ref() for ref in _fronts) if p is not None]


def _copied(function: FunctionType) -> FunctionType:
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    return made


# -- arguments -------------------------------------------------------------------------------------


def may_run() -> bool:
    """Whether a program may stand for Python here: nothing watches what Python does."""
    return not (
        local.recorder.staging or local.level or DISABLED or state.watching or config.debug_nans
        or config.checks or not config.promotion or config.execution != "adaptive"
        or sys.gettrace() is not None
    )  # fmt: skip


# -- code ------------------------------------------------------------------------------------------


def promote(function: FunctionType) -> bool:
    """Put a `Promoted` in front of the function; whether that was possible."""
    code = function.__code__
    unsuited = code.co_flags & inspect.CO_GENERATOR or "__class__" in code.co_freevars
    if unsuited or any(isinstance(c, Door) for c in code.co_consts):
        return False
    promoted = Promoted(function)
    made = _calling(_Door(promoted), code)
    if made is None:
        return False
    function.__code__ = made
    function.__dict__[_PLACE] = promoted
    _fronts.append(weakref.ref(promoted))
    return True


def _calling(door: _Door, code: CodeType) -> CodeType | None:
    """Code with the parameters and variables of `code`, at its place, that calls `door.run`."""
    count, first = code.co_argcount, code.co_posonlyargcount
    names, keywords = code.co_varnames[:count], code.co_varnames[count:]
    keywords, rest = keywords[: code.co_kwonlyargcount], list(keywords[code.co_kwonlyargcount :])
    many = f"*{rest.pop(0)}" if code.co_flags & inspect.CO_VARARGS else ""
    named = f"**{rest.pop(0)}" if code.co_flags & inspect.CO_VARKEYWORDS else ""
    star = many or ("*" if keywords else "")
    head = [*names[:first], "/" if first else "", *names[first:], star, *keywords, named]
    given = [*names, many, *(f"{k}={k}" for k in keywords), named]
    free = ", ".join(code.co_freevars)
    text = (
        f"def make({free}):\n def f({', '.join(filter(None, head))}):\n"
        f"  {f'if 0: {free}' if free else 'pass'}\n"
        f"  return {_PLACE!r}.run({', '.join(filter(None, given))})"
    )
    whole = compile(text, code.co_filename, "exec")
    inner = [c for outer in whole.co_consts if isinstance(outer, CodeType) for c in outer.co_consts]
    made = next(c for c in inner if isinstance(c, CodeType))
    if made.co_freevars != code.co_freevars:
        return None
    constants = tuple([door if c == _PLACE else c for c in made.co_consts])
    return made.replace(
        co_consts=constants, co_name=code.co_name, co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
    )  # fmt: skip
