"""A function with a `Promoted` in front of it: who runs a call of it, Python or a program?

The function stays the same object, with its name, signature and place. Only its code is replaced:
by code that calls the `Promoted`. The function as it was is `Promoted.plain`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, new_array
from lazynp._config import config
from lazynp._memo import state
from lazynp._node import is_tracer, leaf
from lazynp._plan import STATS
from lazynp._promotion._agreement import agree, close
from lazynp._promotion._program import ARRAY, Program
from lazynp._recorder import local
from lazynp.functions.tools import materialize
from lazynp.transforms._stack import DISABLED
from lazynp.transforms.control import CannotStage, Front

SECONDS = 0.1  # of Python, before the function is traced for arguments like these
_COMPILING = 0.002  # more of these seconds for each operation of the program
FASTER = 0.8  # a program must take less than this part of Python's time
_SHORT = 1e-3  # seconds: calls that are shorter are not worth it
_CALLS = 16  # ... after so many
_CASES = 8  # kinds of arguments
_MISSES = 64  # calls that no program could run
_PLACE = ".promoted"
_CHANGED = "what it reads from outside has changed, or is an argument"

# of this process, for its report
fronts: deque[Promoted] = deque(maxlen=64)
_NUMBERS = (bool, int, float, complex, str, type(None))


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
        self.calls, self.seconds, self.programs, self.misses = 0, 0.0, 0, 0
        self.given_back = ""  # why
        self._busy = threading.Lock()
        self._thread = 0  # that is inside

    def __reduce__(self) -> Any:
        return _Plain, (self.plain,)

    def restore(self, why: str = "") -> None:
        """The function as it was."""
        self.given_back = why
        if self.function.__code__ is not self.code:
            self.function.__code__ = self.code

    def run(self, *args: Any) -> Any:
        if not self._busy.acquire(blocking=False):  # recursion, or another thread
            if self._thread == threading.get_ident():
                # deep recursion must not meet these frames at each level
                self.restore("it calls itself")
            return self.plain(*args)
        try:
            self._thread = threading.get_ident()
            return self._run(args)
        finally:
            self._busy.release()

    def _run(self, args: tuple[Any, ...]) -> Any:
        found = _kind(args) if may_run() else None
        if found is None:
            self.misses += 1
            if self.misses > _MISSES:
                self.restore("its arguments are views, or of classes that no program takes")
            return self.plain(*args)
        key, template, arrays = found
        case = self.cases.get(key)
        if case is None:
            if len(self.cases) >= _CASES:
                self.restore(f"more than {_CASES} kinds of arguments")
                return self.plain(*args)
            case = self.cases[key] = Case(0.0 if self.cases else SECONDS)
        program = case.program
        if program is not None:
            if program.serves(arrays):
                try:
                    return program(_computed(arrays))
                except Exception as error:  # nothing was written: Python raises it at its line
                    case.refused = f"{type(error).__name__}: {error}"
            else:
                case.refused = _CHANGED
            case.program = None
        long = self.calls and self.seconds > _SHORT * self.calls
        if case.refused or not long or case.seconds < SECONDS:
            return self._timed(case, args)
        if case.candidate is None:
            self._trace(case, template, arrays)
        if case.candidate is None or case.seconds < case.price:
            return self._timed(case, args)
        return self._trial(case, case.candidate, args, arrays)

    def _trace(self, case: Case, template: tuple[Any, ...], arrays: list[Any]) -> None:
        """Trace the function for arguments like these: on copies, whose shape it may change."""
        try:
            program = Program(self.plain, template)
            with np.errstate(all="ignore"):
                operations = program.trace([_copy(a) for a in arrays])
            case.candidate, case.price = program, SECONDS + _COMPILING * operations
        except (Exception, CannotStage) as why:
            case.refused = str(why) or type(why).__name__

    def _timed(self, case: Case, args: tuple[Any, ...]) -> Any:
        begin = time.perf_counter()
        try:
            return self.plain(*args)
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

    def _trial(self, case: Case, program: Program, args: tuple[Any, ...], arrays: list[Any]) -> Any:
        """Run it in Python, then as a program on copies; compare."""
        first, second = [[_copy(a) for a in arrays] for _ in range(2)]
        begin = time.perf_counter()
        want = materialize(self.plain(*args))
        _computed(arrays)
        python = time.perf_counter() - begin
        case.candidate = None
        try:
            if not program.serves(first):
                raise CannotStage(_CHANGED)
            with np.errstate(all="ignore"):
                if not self._same(program(first), want, first, arrays):
                    raise CannotStage("its results differ")
                begin = time.perf_counter()
                program(second)
                compiled = time.perf_counter() - begin
            if compiled > FASTER * python:
                raise CannotStage(f"it takes {compiled / python:.1f} of Python's time")
            case.program = program
            self.programs += 1
            STATS.promotions += 1
        except (Exception, CannotStage) as why:
            case.refused = str(why) or type(why).__name__
        return want

    def _same(self, got: Any, want: Any, ours: list[Any], theirs: list[Any]) -> bool:
        written = all(close(np.asarray(o), np.asarray(t)) for o, t in zip(ours, theirs))
        return written and agree(got, want)

    def explained(self) -> str:
        name = self.plain.__name__
        lines = [f"{name}: {self.programs} program{'s' * (self.programs != 1)}"]
        whys = [case.refused for case in self.cases.values()]
        lines += [
            f"runs in Python: {why}" for why in dict.fromkeys([self.given_back, *whys]) if why
        ]
        return "\n".join(lines)


class _Plain:
    """A pickled `Promoted`."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    def run(self, *args: Any) -> Any:
        return self._function(*args)


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


def _kind(args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    """The key of the case, the arguments without the arrays, the arrays; None: Python runs it."""
    key, template, arrays = [], [], []
    for x in args:
        if type(x) is NDArray:
            if x._base is not None or x._flags is not None or x._order is not None:
                return None
            if any(x is a for a in arrays) or not x.dtype.isnative or is_tracer(x._node):
                return None
        elif type(x) is Scalar:
            if is_tracer(x._node):
                return None
        elif type(x) in _NUMBERS or type(x) is tuple and all(type(y) in _NUMBERS for y in x):
            key.append((type(x), repr(x)))
            template.append(x)
            continue
        else:
            return None
        key.append((type(x), x.aval))
        template.append(ARRAY)
        arrays.append(x)
    return tuple(key), tuple(template), arrays


def _copy(x: Any) -> Any:
    return new_array(leaf(np.array(x))) if type(x) is NDArray else x


def _computed(arrays: list[Any]) -> list[Any]:
    """The arrays, with their values there: else a call would be compiled together with what is
    pending.
    """
    for x in arrays:
        np.asarray(x)
    return arrays


# -- code ------------------------------------------------------------------------------------------


def promote(function: FunctionType) -> bool:
    """Put a `Promoted` in front of the function; whether that was possible."""
    code = function.__code__
    if code.co_freevars or code.co_kwonlyargcount or _PLACE in code.co_consts:
        return False
    promoted = Promoted(function)
    function.__code__ = _calling(promoted, code)
    fronts.append(promoted)
    return True


def _calling(promoted: Promoted, code: CodeType) -> CodeType:
    """Code with the parameters of `code`, at its place, that calls `promoted.run`."""
    names, positional = code.co_varnames[: code.co_argcount], code.co_posonlyargcount
    given = [*names[:positional], *(["/"] if positional else []), *names[positional:]]
    space: dict[str, Any] = {}
    text = f"def f({', '.join(given)}):\n return {_PLACE!r}.run({', '.join(names)})"
    exec(compile(text, code.co_filename, "exec"), space)
    made: CodeType = space["f"].__code__
    constants = tuple([promoted if c == _PLACE else c for c in made.co_consts])
    return made.replace(
        co_consts=constants, co_name=code.co_name, co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
    )  # fmt: skip
