"""A function with a `Promoted` in front of it: who runs a call of it, Python or a program?

The function stays the same object, with its name, signature and place. Only its code is replaced:
by code that calls a `Door`, which calls the `Promoted`. The function as it was is `Promoted.plain`.
The function's dict keeps the `Promoted`, so both end together.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections import deque
from types import CodeType, FunctionType
from typing import Any

from lazynp._promotion._earlier import of_code
from lazynp._promotion._expected import expect
from lazynp._promotion._given import Given
from lazynp._promotion._program import Program
from lazynp._promotion._trials import Trials
from lazynp._promotion._watching import begins
from lazynp.functions.tools import about_code
from lazynp.transforms.control import Door, Front, front_of

_SHORT = 2e-4  # seconds: calls that are shorter are not worth it
_COMPILING = 0.002  # more seconds of Python for each operation of the program
_PLACE = ".promoted"

# of this process, for its report
_fronts: deque[weakref.ref[Promoted]] = deque(maxlen=64)


class Promoted(Trials, Front):
    """What stands in front of a hot function."""

    def __init__(self, function: FunctionType) -> None:
        self.function, self.code = function, function.__code__
        self.plain: FunctionType = _copied(function)
        super().__init__(function.__name__, _SHORT, _COMPILING, of_code(function.__code__))
        self.entered = False
        self._busy = threading.Lock()
        self._thread = 0  # that is inside

    def __reduce__(self) -> Any:
        return _Plain, (self.plain,)

    def restore(self, why: str = "") -> None:
        """The function as it was."""
        self.given_back = why
        if self.function.__code__ is not self.code:
            self.function.__code__ = self.code
            spent = sum(case.seconds for case in self.cases.values())
            expect(self.code, max(spent, self.seconds), self.calls and self.seconds / self.calls)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._busy.acquire(blocking=False):  # recursion, or another thread
            if self._thread == threading.get_ident():
                # deep recursion must not meet these frames at each level
                self.restore("it calls itself")
            return self.plain(*args, **kwargs)
        try:
            self._thread, self.entered = threading.get_ident(), True
            begins(self.code)
            return self._run(args, kwargs)
        finally:
            self._busy.release()

    def _taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
        return Given(self.plain, args, kwargs, self.numbers)

    def _program(self, given: Given) -> Program:
        return Program(self.plain, given)


# what calls `Promoted.plain`
in_front = {f.__code__ for f in (Promoted.run, Trials._run, Trials._plainly)}


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


def _given_back(code: CodeType) -> list[str]:
    """What became of functions of this code that have no front any more."""
    return [p.explained() for p in fronts() if p.code is code and front_of(p.function) is not p]


about_code.append(_given_back)


def _copied(function: FunctionType) -> FunctionType:
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    return made


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


def was_promoted(function: FunctionType) -> bool:
    return _PLACE in function.__dict__


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
        co_firstlineno=code.co_firstlineno, co_linetable=_on_one_line(len(made.co_code) // 2),
    )  # fmt: skip


def _on_one_line(units: int) -> bytes:
    """The table of lines of that many code units, all on the first line of their code. So tracers
    and tracebacks find no other line of the function in its front.
    """
    counts = [min(8, units - k) for k in range(0, units, 8)]
    return b"".join([bytes([0x80 | _NO_COLUMNS << 3 | n - 1, 0]) for n in counts])


_NO_COLUMNS = 13  # CPython's kind of entry: a line, relative to the last, without columns
