"""Kinds of calls, and their trials: who runs a call, Python or a program?

What calls are taken apart by `_given`; the calls of one kind are a `Case`. Once Python has spent
enough on a case, one call runs in Python, which gives its result, and then on copies as a program.
If both agree, and the program is faster, it runs later calls.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from lazynp import lowering
from lazynp._plan import STATS
from lazynp._promotion import _case, _clock, _earlier
from lazynp._promotion._allowed import may_run
from lazynp._promotion._at_once import NotNow
from lazynp._promotion._both import first_run, later_runs
from lazynp._promotion._budget import Later, budget
from lazynp._promotion._case import Case, awaited, is_in_slower, note_slower
from lazynp._promotion._copies import computed, copies
from lazynp._promotion._gains import FASTER, Slower
from lazynp._promotion._given import Given, Numbers, Path
from lazynp._promotion._loops import has_slower
from lazynp._promotion._objects import attributes, put
from lazynp._promotion._program import Program
from lazynp._promotion._waiting import texts_of, too_many, waits_for
from lazynp._quiet import quietly
from lazynp._signals import let_through
from lazynp.functions.tools import materialize
from lazynp.transforms._jit import STATS as JIT
from lazynp.transforms.control import CannotStage, TooLong

_SURE = 0.6  # of Python's time: a program that takes longer, but wins, has a second trial
_SURE_LONG = 0.75  # the same where a call takes long: noise matters less, a second trial costs more
_RUNS = 3  # of a program in its trial, besides the first: the machine may be busy with others
_LOST = 1.1  # of Python's time: a long run like this needs no other
_CALLS = 16  # after so many, those that are too short to be worth it are given up
_CASES = 8  # kinds of arguments that are followed at once
_KINDS = 64  # that were dropped for others, and none has got a program: then all calls are Python's
_MISSES = 64  # calls that no program could run
_DOUBTFUL = 12.0  # calls of Python's, before the trial of a function whose loops have lost
PART = 0.03  # of the time of calls in Python, for taking some of them apart
_LATER = 4.0  # times as long as Python has run, a trace waits that has taken too long so far
_ATTEMPTS = 5  # traces, while it turns out which attributes are read, and which numbers vary
CHANGED = "what it reads from outside has changed, or is an argument"


class _Local(threading.local):
    """cases: of the calls that Python runs, each within the one before."""

    def __init__(self) -> None:
        self.cases: list[Case] = []


_local = _Local()


class Trials:
    """The calls of one function, by kind."""

    plain: Callable[..., Any]  # what Python runs

    def __init__(self, name: str, short: float, compiling: float, identity: str) -> None:
        """short: seconds; calls that are shorter are not worth it. compiling: seconds that Python
        must have spent for each operation of the program. identity: of the function, for later
        processes.
        """
        self.name, self.short, self.compiling, self._identity = name, short, compiling, identity
        self.cases: dict[Any, Case] = {}
        self.numbers = Numbers()
        self.calls, self.seconds, self.programs, self.misses = 0, 0.0, 0, 0
        # seconds that calls have taken before there was this front, and the one that then ran
        self.before, self.running = _case.SECONDS, 0.0
        self._rounds = _clock.in_loops.rounds  # before that
        self.given_back = ""  # why
        self._missed = ""  # why the last call that was not taken was not
        # while calls run in Python: seconds of taking them apart that their time has not paid for
        # yet, and the case of the last one
        self._debt = 0.0
        self._recent: Case | None = None
        self._again = 0  # times that programs were dropped because a number began to vary
        self._dropped = 0  # kinds of arguments that made room for others

    @property
    def rent(self) -> float:
        """Seconds of Python, before the function is traced for arguments of a kind."""
        return _case.RENT

    def restore(self, why: str = "") -> None:
        """Leave all further calls to Python."""
        raise NotImplementedError

    def _taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
        """The call, taken apart."""
        raise NotImplementedError

    def _program(self, given: Given) -> Program:
        """What is to be traced for calls like this one."""
        raise NotImplementedError

    def _learns_why(self, why: BaseException) -> bool:
        """Whether a trace has failed because of something that can be an input from now on."""
        return False

    def _has_candidate(self, case: Case, given: Given, program: Program) -> None:
        """Python is about to run this call, and there is a candidate, whose trial may be later."""

    def _moves(self, program: Program) -> bool:
        """Whether what the program read from outside has changed, and is an input from now on."""
        return False

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        case = self._recent
        if self._debt > 0 and case is not None and case.program is None and may_run():
            return self._timed(case, args, kwargs)
        begin = time.perf_counter()
        given = self._given(args, kwargs) if may_run() else None
        self._debt += time.perf_counter() - begin
        if given is None:
            self.misses += 1
            if self.misses > _MISSES:
                self.restore("its arguments are of classes that no program takes")
            return self.plain(*args, **kwargs)
        case = self._case(given)
        if case is None:
            return self.plain(*args, **kwargs)
        program, self._recent = case.program, case
        if program is not None and not case.asks_again():
            self._debt = 0.0  # each call is taken apart for its program
            if program.serves(given.originals, given.objects):
                nodes = [given.leaves[i]._node for i in given.compact]
                try:
                    computed(given.leaves)
                    out, changes = program(*given.call)
                except NotNow:
                    return self.plain(*args, **kwargs)
                except Exception as error:  # nothing was written: Python raises it at its line
                    let_through(error)
                    case.refused = f"{type(error).__name__}: {error}"
                else:
                    for i, node in zip(given.compact, nodes, strict=True):
                        if given.leaves[i]._node is not node:
                            given.originals[i][...] = given.leaves[i]
                    for k, name, value in changes:
                        put(given.objects[k], name, value)
                    return out
            elif self._moves(program):
                return self.plain(*args, **kwargs)
            else:
                case.refused = CHANGED
            case.program = None
        long = self.running > self.short or self.calls and self.seconds > self.short * self.calls
        waits = case.candidate is None and budget.left() + (case.last or 0.0) <= 0
        if case.refused or not long or not case.due or waits or self._is_covered():
            return self._timed(case, args, kwargs)
        if case.candidate is None:
            given = self._trace(case, given, args, kwargs)
        candidate = case.candidate if case.ready and not self._doubts(case) else None
        if candidate is not None:
            try:
                case.check_hope(candidate)
            except Slower as why:
                case.refuse(why)
        waits = candidate is None or bool(case.refused) or case.begins(candidate, given)
        if case.candidate is not None and not (case.refused or case.lost):
            self._has_candidate(case, given, case.candidate)
        if waits or candidate is None:
            return self._timed(case, args, kwargs)
        return self._trial(case, candidate, given, args, kwargs)

    def _is_covered(self) -> bool:
        """Whether a call around this one, or a loop, waits for a program that contains this
        function. Then a program of its own would seldom run.
        """
        code = getattr(self.plain, "__code__", None)
        return any([x.covers(code) for x in (*_local.cases, *awaited)])

    def _doubts(self, case: Case) -> bool:
        """Whether a loop of the function has lost, or a program that contains the function: then
        its program seldom gains much. So it is compiled, and has its trial, late.
        """
        code = getattr(self.plain, "__code__", None)
        if is_in_slower(code):
            return case.seconds < _earlier.WAITING * case.price
        return case.seconds < _DOUBTFUL * (case.last or 0.0) and has_slower(code)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
        numbers = self.numbers
        before = len(numbers.varying), len(numbers.moving)
        try:
            return self._taken(args, kwargs)
        except Exception as why:  # `NotTaken`, or whatever a strange object does when looked at
            let_through(why)
            self._missed = str(why)
            return None
        finally:
            if before != (len(numbers.varying), len(numbers.moving)):
                self._forget()

    def _forget(self) -> None:
        """Drop the cases: their keys hold what has become an input."""
        self._again += any(c.program is not None for c in self.cases.values())
        self.cases.clear()

    def _case(self, given: Given) -> Case | None:
        case = self.cases.get(given.key)
        if case is None:
            if not self._has_room():
                return None
            key = _earlier.key_of("call", self._identity, _earlier.of_kind(given.leaves))
            case = Case(0.0, key, texts_of(given.fixed), self.rent)
            if not self.cases:
                case.began(self.before, self.running, _clock.in_loops.rounds > self._rounds)
            self.cases[given.key] = case
        return case

    def _has_room(self) -> bool:
        """Whether another kind may be followed. One that has no program, and has taken the least
        time, makes room for it.
        """
        if self._again > _CASES:
            self.restore("its numbers and attributes change")
            return False
        if len(self.cases) < _CASES:
            return True
        without = [key for key, case in self.cases.items() if case.program is None]
        self._dropped += 1
        if self._dropped > _KINDS and len(without) == len(self.cases):
            self.restore(too_many(self.cases.values(), _KINDS))
            return False
        if without:
            del self.cases[min(without, key=lambda key: self.cases[key].seconds)]
        return bool(without)

    # -- tracing -----------------------------------------------------------------------------------

    def _trace(
        self, case: Case, given: Given, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Given:
        """Trace the function for arguments like these: on others, whose shape it may change. Gives
        the call as the trace has found that it must be taken apart.
        """
        key, numbers = given.key, self.numbers
        for _ in range(_ATTEMPTS):
            program = self._program(given)
            try:
                empty = copies(given.leaves, empty=True)
                operations = quietly(program.trace, [empty, case.seconds, case.last or 0.0])
            except Later:
                case.least = _LATER * max(case.seconds, _case.RENT)
                break
            except TooLong as why:
                case.refuse(why)
                break
            except (Exception, CannotStage) as why:
                let_through(why)
                if given.skipped:
                    numbers.names, numbers.lists = None, True  # it may need one of them
                elif not self._learns_why(why) and not numbers.keep():
                    case.refuse(why)
                    break
            else:
                if any(not numbers.may_vary(path) for path in _replaced(program, given)):
                    case.refused = "sets a number that must be known"
                    break
                if not self._learns(program, given):
                    case.compiling = 0.0 if program.at_once else self.compiling * operations
                    case.candidate = program
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
        dropped = {name for _, name in given.paths if type(name) is str} - read
        missing = given.skipped & read
        numbers.names = read
        numbers.varying |= changed
        return bool(changed or dropped or missing)

    # -- running -----------------------------------------------------------------------------------

    def _timed(self, case: Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begin, in_loops = _clock.now(), _clock.in_loops.seconds
        try:
            return self._plainly(case, args, kwargs)
        finally:
            spent = _clock.of_python(begin)
            case.took(spent, _clock.in_loops.seconds - in_loops)
            if not self._count(spent) and all(c.refused for c in self.cases.values()):
                self.restore(self.whys[0] if len(self.whys) == 1 else "")

    def _plainly(self, case: Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        _local.cases.append(case)
        try:
            return self.plain(*args, **kwargs)
        finally:
            _local.cases.pop()

    def _count(self, spent: float) -> bool:
        """Count a call of Python's; whether calls are too short."""
        self.seconds += spent
        self.calls += 1
        self._debt -= PART * spent
        short = self.calls >= _CALLS and self.seconds <= self.short * self.calls
        if short:
            self.restore(f"its calls are shorter than {1e3 * self.short:g} ms")
        return short

    def _trial(
        self, case: Case, program: Program, given: Given, args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Run it in Python, then as a program on copies; compare."""
        leaves, originals, objects = given.leaves, given.originals, given.objects
        computed(originals)
        first, *more = program.trial_copies(leaves, case.last or 0.0)
        before = [attributes(x) or {} for x in objects]
        made, begin = (JIT.traces, STATS.compiles), _clock.now()
        want = materialize(self._plainly(case, args, kwargs))
        computed(originals)
        python = _clock.of_python(begin)
        if case.is_unfit(python, made != (JIT.traces, STATS.compiles)):
            return want
        case.candidate = None
        try:
            if not program.serves(originals, objects):
                if self._moves(program):
                    return want
                raise CannotStage(CHANGED)
            case.check_hope(program)
            # in long calls, noise matters less, and runs cost more
            sure, most = (_SURE_LONG, 1) if python > _case.SECONDS else (_SURE, _RUNS)
            run = partial(case.first_run, program)
            compiled, new = quietly(first_run, [run, given, first, want, before])
            if most > 1 or compiled > sure * python and compiled - new <= _LOST * python:
                compiled = quietly(later_runs, [program, given, more, compiled, python, most])
            if compiled > FASTER * python:
                case.loses(program, compiled, python)
                return want
            program.gives_numpys(want)
            self._won(case, program, compiled <= sure * python)
        except lowering.Unfinished:
            pass
        except (Exception, CannotStage) as why:
            let_through(why)
            case.refuse(why)
            if isinstance(why, Slower):
                note_slower(program)
        return want

    def _won(self, case: Case, program: Program, sure: bool) -> None:
        if case.wins(program, sure):
            self.programs += 1
            budget.won(case.compiling)
            STATS.promotions += 1
        _earlier.keep(case.key, won=True)
        _earlier.keep(_earlier.key_of("function", self._identity), won=True)

    def explained(self) -> str:
        lines = [f"{self.name}: {self.programs} program{'s' * (self.programs != 1)}"]
        whys = self.whys or [w for w in (self._waits_for(),) if w and not self.programs]
        return "\n".join([*lines, *(f"runs in Python: {why}" for why in whys)])

    def _waits_for(self) -> str:
        if self._missed and not self.cases:
            return f"no program takes its arguments: {self._missed}"
        return waits_for(self.cases.values(), _case.RENT)

    @property
    def whys(self) -> list[str]:
        """Why calls stayed with Python."""
        found = [self.given_back, *(case.refused for case in self.cases.values())]
        return [why for why in dict.fromkeys(found) if why]


def _replaced(program: Program, given: Given) -> set[Path]:
    """The numbers among attributes that it sets."""
    return {given.paths[place] for place in program.replaced if place in given.paths}
