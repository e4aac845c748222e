"""Kinds of calls, and their trials: who runs a call, Python or a program?

What calls are taken apart by `_given`; the calls of one kind are a `Case`. Once Python has spent
enough on a case, one call runs in Python, which gives its result, and then on copies as a program.
If both agree, and the program is faster, it runs later calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from lazynp import lowering
from lazynp._plan import STATS
from lazynp._promotion import _clock, _earlier
from lazynp._promotion._allowed import may_run
from lazynp._promotion._both import first_run, later_runs
from lazynp._promotion._budget import Later, budget, lost_to_python
from lazynp._promotion._copies import computed, copies
from lazynp._promotion._gains import FASTER, HOPELESS, Slower
from lazynp._promotion._given import Given, Numbers, Path
from lazynp._promotion._loops import has_slower
from lazynp._promotion._objects import attributes, put
from lazynp._promotion._program import Program
from lazynp._promotion._waiting import texts_of, too_many, waits_for
from lazynp._quiet import quietly
from lazynp.functions.tools import materialize
from lazynp.transforms._jit import STATS as JIT
from lazynp.transforms.control import CannotStage, TooLong

RENT = 0.04  # seconds of Python, before the function is traced for arguments like these
SECONDS = 0.1  # of Python: a call that takes as long is a long one
_SURE = 0.6  # of Python's time: a program that takes longer, but wins, has a second trial
_SURE_LONG = 0.75  # the same where a call takes long: noise matters less, a second trial costs more
_RUNS = 3  # of a program in its trial, besides the first: the machine may be busy with others
_LOST = 1.1  # of Python's time: a long run like this needs no other
_UNSURE = 4  # calls that it runs before that
_CALLS = 16  # after so many, those that are too short to be worth it are given up
_CASES = 8  # kinds of arguments that are followed at once
_KINDS = 64  # that were dropped for others, and none has got a program: then all calls are Python's
_MISSES = 64  # calls that no program could run
_SLOW = 2.0  # a call is slow that takes so many times as long as the one before
_UNFIT = 3  # slow calls: after so many, the program does not fit
_WORTH_WAITING = 4.0  # times as long as compiling
_DOUBTFUL = 12.0  # calls of Python's, before the trial of a function whose loops have lost
_PARTS = 8  # of a program that are compiled in the background, before it is waited for
PART = 0.03  # of the time of calls in Python, for taking some of them apart
_LATER = 4.0  # times as long as Python has run, a trace waits that has taken too long so far
_ATTEMPTS = 5  # traces, while it turns out which attributes are read, and which numbers vary
CHANGED = "what it reads from outside has changed, or is an argument"


class Case:
    """Arguments of one kind. seconds: what Python has spent on them. candidate: traced, and waits
    until that is the price of compiling it. program: None before a trial, and for good if `refused`
    says why. key: of a note for later processes; won: what an earlier one has noted. texts: among
    its constants.
    """

    def __init__(
        self, seconds: float, key: str | None = None, texts: tuple[str, ...] = ()
    ) -> None:  # fmt: skip
        self.seconds, self.refused, self.texts = seconds, "", texts
        self.least = RENT  # seconds of Python's, before a trace
        self.key, self.won = key, _earlier.has_won(key)
        if self.won:
            self.seconds = max(seconds, RENT)
        self.candidate: Program | None = None
        self.program: Program | None = None
        self._works: list[lowering.Work] = []  # compiling for the candidate in the background
        self.compiling = 0.0  # seconds, by estimate
        self.takes_long = False  # whether the candidate took longer than Python until it gave way
        self.last: float | None = None  # seconds of Python's last call
        self._by_loops = False  # whether programs of its loops take most of a call's time
        self._unfit = 0
        self._wins = 0
        self._left: int | None = None  # calls before the second trial

    def begins(self, program: Program, given: Given) -> bool:
        """Whether the candidate is compiled in the background from now on, so that its trial has
        to wait. If Python's calls take much longer than compiling, the trial waits for the
        compiler instead.
        """
        return not (self._works or self._waits) and self.has_begun(program, given)

    def has_begun(self, program: Program, given: Given) -> bool:
        """Have the candidate compiled in the background; False if there is nothing to wait for."""
        work = program.begin(given.leaves, given.objects)
        self._works += [] if work is None else [work]
        return work is not None

    @property
    def _waits(self) -> bool:
        return (self.last or 0.0) >= _WORTH_WAITING * self.compiling

    @property
    def ready(self) -> bool:
        """Whether the candidate may have its trial."""
        return self.seconds >= self.price and self.is_compiled()

    def is_compiled(self) -> bool:
        """Whether what was begun in the background has ended."""
        return all(w.done for w in self._works)

    def first_run(self, program: Program, *args: Any) -> Any:
        """The program's first results. Raises `Unfinished` while the program is compiled in the
        background.
        """
        if len(self._works) >= _PARTS or self._waits:
            return program(*args)
        try:
            with lowering.unfinished_allowed():
                return program(*args)
        except lowering.Unfinished as unfinished:
            self.candidate = program
            self._works.append(unfinished.work)
            raise

    @property
    def price(self) -> float:
        """Seconds of Python, before the candidate is compiled."""
        lost = lost_to_python(self.compiling, self.last or 0.0)
        return max(RENT, _earlier.times(self.won) * lost)

    def check_hope(self, program: Program) -> None:
        """Raise `Slower` if the program would not win, by estimate. Where a trial takes long, the
        estimate must leave it a chance without the help of other cores: NumPy's BLAS has them too.
        A program that has won needs no estimate.
        """
        python = self.last
        if self._wins or not python:
            return
        if program.seconds > (min(FASTER, HOPELESS) if python > SECONDS else HOPELESS) * python:
            raise Slower(f"it would take {program.seconds / python:.1f} of Python's time")

    def is_unfit(self, python: float, made: bool) -> bool:
        """Whether this run of Python's tells nothing: the machine was busy, or programs were made
        meanwhile. Then the next call is the trial.
        """
        slow = self.last is not None and python > _SLOW * self.last
        self.last = python
        self._unfit += made or slow
        return (made or slow) and self._unfit <= _UNFIT

    def took(self, spent: float, in_loops: float) -> None:
        """Python ran a call in so many seconds, some of them programs of its loops. If these have
        begun to run most of it, then what Python spent before tells nothing.
        """
        self.last = spent
        if in_loops > spent / 2 and not self._by_loops:
            self._by_loops, self.seconds = True, 0.0
        self.seconds += max(spent - in_loops, 0.0)

    def wins(self, program: Program, sure: bool) -> bool:
        """The program has won a trial: it runs later calls. Whether this is its first win.

        A slow moment of the machine may make Python lose, so whoever wins by little is asked again.
        """
        self.program = program
        self._wins += 1
        self._left = None if sure or self._wins > 1 else _UNSURE
        return self._wins == 1

    def asks_again(self) -> bool:
        """Whether the program, about to run a call, has its second trial instead."""
        if self._left is None:
            return False
        self._left -= 1
        if self._left >= 0:
            return False
        self.candidate, self.program, self._left = self.program, None, None
        return True

    @property
    def due(self) -> bool:
        """Whether Python has spent enough for a trace."""
        waiting = self.won is False and self.least <= RENT
        return self.seconds >= (_earlier.WAITING * RENT if waiting else self.least)

    def refuse(self, why: BaseException) -> None:
        self.refused = str(why) or type(why).__name__
        if not (self.won and isinstance(why, Slower)):  # the machine may be busy
            _earlier.keep(self.key, won=False)


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
        self.before, self.running = SECONDS, 0.0
        self._in_loops = _clock.in_loops.seconds  # before that
        self.given_back = ""  # why
        self._missed = ""  # why the last call that was not taken was not
        # while calls run in Python: seconds of taking them apart that their time has not paid for
        # yet, and the case of the last one
        self._debt = 0.0
        self._recent: Case | None = None
        self._again = 0  # times that programs were dropped because a number began to vary
        self._dropped = 0  # kinds of arguments that made room for others

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
                except Exception as error:  # nothing was written: Python raises it at its line
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
        if case.refused or not long or not case.due or waits:
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
        if case.candidate is not None and not case.refused:
            self._has_candidate(case, given, case.candidate)
        if waits or candidate is None:
            return self._timed(case, args, kwargs)
        return self._trial(case, candidate, given, args, kwargs)

    def _doubts(self, case: Case) -> bool:
        """Whether a loop of the function has lost: then its program seldom gains much. So its
        trial, which takes as long as some of Python's calls, comes late.
        """
        early = case.seconds < _DOUBTFUL * (case.last or 0.0)
        return early and has_slower(getattr(self.plain, "__code__", None))

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
        numbers = self.numbers
        before = len(numbers.varying), len(numbers.moving)
        try:
            return self._taken(args, kwargs)
        except Exception as why:  # `NotTaken`, or whatever a strange object does when looked at
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
            by_loops = _clock.in_loops.seconds > self._in_loops  # the call that began before
            first = 0.0 if by_loops else self.before + self.running
            key = _earlier.key_of("call", self._identity, _earlier.of_kind(given.leaves))
            case = Case(0.0 if self.cases else first, key, texts_of(given.fixed))
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
                case.least = _LATER * max(case.seconds, RENT)
                break
            except TooLong as why:
                case.refuse(why)
                break
            except (Exception, CannotStage) as why:
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
                    case.compiling = self.compiling * operations
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
            return self.plain(*args, **kwargs)
        finally:
            spent = _clock.of_python(begin)
            case.took(spent, _clock.in_loops.seconds - in_loops)
            if not self._count(spent) and all(c.refused for c in self.cases.values()):
                self.restore(self.whys[0] if len(self.whys) == 1 else "")

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
        first, *more = program.trial_copies(leaves)
        before = [attributes(x) or {} for x in objects]
        made, begin = (JIT.traces, STATS.compiles), _clock.now()
        want = materialize(self.plain(*args, **kwargs))
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
            sure, most = (_SURE_LONG, 1) if python > SECONDS else (_SURE, _RUNS)
            run = partial(case.first_run, program)
            compiled = quietly(first_run, [run, given, first, want, before])
            if most > 1 or sure * python < compiled <= _LOST * python:
                compiled = quietly(later_runs, [program, given, more, compiled, python, most])
            if compiled > FASTER * python:
                raise Slower(f"it takes {compiled / python:.1f} of Python's time")
            program.gives_numpys(want)
            self._won(case, program, compiled <= sure * python)
        except lowering.Unfinished:
            pass
        except (Exception, CannotStage) as why:
            case.refuse(why)
        return want

    def _won(self, case: Case, program: Program, sure: bool) -> None:
        if case.wins(program, sure):
            self.programs += 1
            budget.won()
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
        return waits_for(self.cases.values(), RENT)

    @property
    def whys(self) -> list[str]:
        """Why calls stayed with Python."""
        found = [self.given_back, *(case.refused for case in self.cases.values())]
        return [why for why in dict.fromkeys(found) if why]


def _replaced(program: Program, given: Given) -> set[Path]:
    """The numbers among attributes that it sets."""
    return {given.paths[place] for place in program.replaced if place in given.paths}
