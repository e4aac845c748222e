"""A loop that is running continues as a program.

A hot function has to be called again; most scripts are one long loop. `Running` takes the place of
the iterator of such a loop, which CPython keeps on the stack of the frame. So it is asked at the
beginning of each round, when the variables are as the round before has left them. It has the loop
traced (`_loops`, `_variables`), lets Python run some rounds, runs them again as a program on
copies, and compares. From then on it runs many rounds at once by the program, binds what they have
computed, and lets Python run one. The last round of a loop is always Python's, so the loop ends as
loops do, and every variable that a round binds anew is there.
"""

from __future__ import annotations

import ast
import sys
import time
from collections import deque
from types import CodeType, FrameType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, write_lock
from lazynp._fronts import BUILT, fastpath
from lazynp._memo import Memo
from lazynp._plan import STATS
from lazynp._promotion._agreement import agree, close
from lazynp._promotion._given import ARRAY, Listed, copies
from lazynp._promotion._guards import reads
from lazynp._promotion._histories import KEPT, Histories
from lazynp._promotion._items import ITEMS, Items, Taking, source_of
from lazynp._promotion._lists import Changes, check_sites
from lazynp._promotion._loops import Loop, describe, loops_at, rounds_function
from lazynp._promotion._program import Program
from lazynp._promotion._trials import FASTER, may_run
from lazynp._promotion._variables import Variables, bind, is_module, value_of
from lazynp.functions.tools import about_loops, materialize
from lazynp.transforms.control import CannotStage, TooLong

SECONDS = 0.2  # in a loop, before it is looked at
LEFT = 1.0  # seconds of Python that must be left, before a loop is traced
_COMPILING = 0.01  # more of these for each operation of the program
_TRIAL = 0.03  # seconds of Python in a trial
_ROUNDS = 100  # ... at most: small differences grow
_CHUNK = 0.1  # seconds of the program, before Python runs a round
_ATTEMPTS = 8  # at a beginning: something else watches, or rounds with effects come soon
_WEIGHED = 16  # runs of the program, before their time is compared with Python's again
_NEVER = sys.maxsize
_ALONE = 3  # references to an iterator: the frame's, our variable's, the question's
_RANGE = type(iter(range(0)))

# of this process, for its report
taken: deque[Taken] = deque(maxlen=64)


class Taken:
    """What became of a loop, for reports."""

    def __init__(self, loop: Loop, code: CodeType, why: str = "") -> None:
        self.loop, self.code, self.why = loop, code, why
        self.name = code.co_qualname
        self.rounds, self.chunks = 0, 0  # that programs have run

    def explained(self) -> str:
        head = f"the loop at line {self.loop.line} of {self.name}"
        ran = f"{head}: {self.rounds} rounds ran in {self.chunks} programs" if self.rounds else head
        why = self.loop.refused or self.why
        return f"{ran}; runs in Python: {why}" if why else ran


def _about(code: Any) -> list[str]:
    """What became of the loops of this code."""
    return [t.explained() for t in taken if t.code is code]


about_loops.append(_about)


class Running:
    """The iterator of a loop over a range, from its round `at` on. due: the round before which
    something is to be done, which is `_step`.
    """

    def __init__(self, loop: Loop, told: Taken, items: Items, rate: float) -> None:
        self.loop, self.told, self.items, self.at = loop, told, items, 0
        self._source = items.source
        self.rate = rate  # seconds of a round in Python
        self.program: Program | None = None
        self._candidate: Program | None = None
        self._inputs: list[list[Any]] = []
        self._first = 0
        self._spent: list[tuple[float, float]] = []  # by programs, and what Python would have
        self._due, self._attempts, self._started = 0, 0, 0.0
        self._step = Running._begin
        self._event, self._length, self._key = -1, 2, ()
        self._most = _NEVER  # rounds of a program that makes histories
        self._lengths: dict[str, int] = {}  # of lists, before the trial
        self._stays: set[str] = set()  # arrays that the loop binds again only to themselves

    def __iter__(self) -> Running:
        return self

    def __next__(self) -> Any:
        if self.at >= self._due:
            self._do(sys._getframe(1))
        at = self.at
        if at >= len(self._source):
            self.program, self._due = None, _NEVER
            raise StopIteration
        value = self._source.value(at)
        self.at = at + 1
        return value

    def _do(self, frame: FrameType) -> None:
        try:
            with np.errstate(all="ignore"):
                self._step(self, frame)
        except (Exception, CannotStage, TooLong) as why:
            self._refuse(str(why) or type(why).__name__)

    def _refuse(self, why: str) -> None:
        self.loop.refused, self.program, self._due = why, None, _NEVER
        self._inputs, self._candidate = [], None

    # -- steps -------------------------------------------------------------------------------------

    def _begin(self, frame: FrameType) -> None:
        """Trace the loop, and choose rounds for a trial."""
        count = self._free(frame)
        if count < 2 or not may_run():
            self._wait(count)
            return
        loop = self.loop
        lists = {n for n in loop.grown if type(value_of(n, frame)) is list}
        if lists != loop.lists:
            describe(loop, lists)
            count = self._free(frame, again=True)
        given = Variables(loop, frame, self.items)
        program = self._traced(frame, given)
        count = self._whole(min(self._free(frame), _ROUNDS, max(2, int(_TRIAL / self.rate))))
        if count < 2:
            self._wait(count)
            return
        self._key = given.key
        self._lengths = {n: len(of) for n, of in self._lists(frame).items()}
        self._inputs = [copies(given.varying) for _ in range(2)]
        self._candidate, self._first = program, self.at
        self._due, self._step = self.at + count, Running._compare
        self._started = time.perf_counter()

    def _wait(self, count: int) -> None:
        self._attempts += 1
        if self._attempts > _ATTEMPTS:
            raise CannotStage("too few rounds without effects at a time, or something watches them")
        self._due = self.at + max(count, 0) + 1

    def _traced(self, frame: FrameType, given: Variables) -> Program:
        sites = self.loop.sites
        check_sites(sites, self._lists(frame))
        names = (*given.names, KEPT, ITEMS)
        head = [_same(name, variable) for name, variable in given.same.items()]
        function = rounds_function(self.loop, frame, names, self.items, head)
        histories = Histories(sites)
        template = [*given.template, histories, Taking(), ARRAY, ARRAY]
        if sites:
            probe = Program(function, Listed(template))
            probe.trace([*copies(given.varying), *self._bounds(2)])
            histories.check(lambda e: _evaluated(e, frame), self.items.step)
            self._most = self._whole(histories.capacity)
        program = Program(function, Listed(template))
        operations = program.trace([*copies(given.varying), *self._bounds(2)])
        if (len(self.items) - self.at) * self.rate < LEFT + _COMPILING * operations:
            raise CannotStage("it ends too soon")
        if is_module(frame):
            shared = reads(program.functions, function.__code__) & self.loop.stored
            if shared:
                raise CannotStage(f"a function reads `{min(shared)}`, which the loop changes")
        return program

    def _compare(self, frame: FrameType) -> None:
        """Python has run the rounds of the trial: do the same by the program."""
        now = Variables(self.loop, frame, self.items)
        materialize(now.varying)
        python = time.perf_counter() - self._started
        program, inputs = self._candidate, self._inputs
        self._candidate, self._inputs = None, []
        assert program is not None
        if now.key != self._key:
            raise CannotStage("a variable changes its type")
        count = self.at - self._first
        bounds = [self._value(self._first), self._value(self.at)]
        if not program.serves(now.varying, []):
            raise CannotStage("what it reads from outside has changed, or is written by it")
        materialize(inputs)
        got, changes = self._parted(_results_of(program, [*inputs[0], *bounds]), frame)
        want = [value_of(n, frame) for n in self.loop.carried]
        varying = [n for n, t in zip(now.names, now.template) if t is ARRAY]
        kept = [n not in self.loop.carried for n in varying]
        for name, value in zip(self.loop.carried, got):
            if type(value) is NDArray and any(value is x for x in inputs[0]):
                if value is not inputs[0][varying.index(name)]:
                    raise CannotStage(f"`{name}` becomes another array")
                self._stays.add(name)  # `u += v` writes it
        self._check_shared(now)
        same = (
            agree(got, want)
            and changes.agree(self._lengths)
            and all(
                close(np.asarray(ours), np.asarray(theirs))
                for ours, theirs, stays in zip(inputs[0], now.varying, kept)
                if stays
            )
        )
        if not same:
            raise CannotStage("its results differ")
        self.rate = python / count
        self._length = self._paying(program, inputs[1], count, python / count, self._free(frame))
        self.program = program
        self._step = Running._run
        STATS.promotions += 1
        del now, want, got, inputs, changes
        self._run(frame)

    def _check_shared(self, now: Variables) -> None:
        """Who else refers to an array must see what Python would show."""
        if now.shared - self._stays:
            name = min(now.shared - self._stays)
            raise CannotStage(f"something else refers to `{name}`, which the loop replaces")

    def _paying(
        self, program: Program, inputs: list[Any], count: int, python: float, free: int
    ) -> int:
        """How many rounds at once take less than Python's time for each. (Each run of a program
        copies the arrays that it writes.)
        """
        while True:
            bounds = [self._value(self._first), self._value(self._first + count)]
            times = []
            for _ in range(3):  # numbers that vary may have it compiled again; memory may be new
                begin = time.perf_counter()
                _results_of(program, [*inputs, *bounds])
                times.append(time.perf_counter() - begin)
            compiled = min(times)
            if compiled <= FASTER * python * count:
                return max(2, int(count * min(_CHUNK / max(compiled, 1e-9), 8)))
            if compiled > 4 * _CHUNK or count >= self._whole(free):
                raise CannotStage(f"it takes {compiled / python / count:.1f} of Python's time")
            count = self._whole(min(8 * count, free))

    def _run(self, frame: FrameType) -> None:
        """Run rounds by the program, up to one round before the next that must be Python's."""
        count = self._whole(min(self._free(frame) - 1, self._length))
        self._due = self.at + 1  # Python runs one
        if count < 1 or not may_run():
            return
        begin, compiles = time.perf_counter(), STATS.compiles
        now = Variables(self.loop, frame, self.items)
        if now.key != self._key:
            raise CannotStage("a variable changes its type, or one that it reads was bound again")
        self._check_shared(now)
        program = self.program
        assert program is not None
        if not program.serves(now.varying, []):
            raise CannotStage("what it reads from outside has changed")
        bounds = [self._value(self.at), self._value(self.at + count)]
        self._commit(program, frame, now, bounds, self.at + count)
        spent = time.perf_counter() - begin
        self.told.rounds += count
        self.told.chunks += 1
        if count == self._whole(self._length):  # aim at the time of a chunk
            factor = min(max(_CHUNK / max(spent, 1e-9), 0.25), 4.0)
            self._length = max(2, int(count * factor))
        if STATS.compiles == compiles:
            self._weigh(spent, count)

    def _weigh(self, spent: float, count: int) -> None:
        """Now and then, ask whether the programs still gain: there may be few rounds for each."""
        self._spent.append((spent, self.rate * count))
        if len(self._spent) == _WEIGHED:
            ours, pythons = map(sum, zip(*self._spent))
            self._spent.clear()
            if ours > FASTER * pythons:
                raise CannotStage("programs of so few rounds between effects gain nothing")

    def _commit(
        self, program: Program, frame: FrameType, now: Variables, bounds: list[int], at: int
    ) -> None:
        """All of the rounds, or, after an error or a signal, none."""
        arrays = [x for x in now.varying if isinstance(x, Array)]
        materialize(arrays)
        before = [(x, x._node) for x in arrays]
        last, changes = self.items.bindings(at - 1), None
        try:
            out = _results_of(program, [*now.varying, *bounds])
            values, changes = self._parted(out, frame)
            changes.keep(self.loop.carried, values, lambda n: value_of(n, frame))
            bound = bind(self.loop, frame, values, last)  # so that none is destroyed there
            changes.apply()
        except BaseException:
            if changes and all(value_of(n, frame) is v for n, v in last):
                changes.apply()  # a signal came after it was bound
                self.at, self._due = at, at + 1
                raise
            with write_lock:
                for x, node in before:
                    x._node = node
            raise
        self.at, self._due = at, at + 1
        del bound, changes

    def _parted(self, out: Any, frame: FrameType) -> tuple[list[Any], Changes]:
        """What a program gives: what is carried, and what becomes of lists."""
        count, sites = len(self.loop.carried), self.loop.sites
        lists = self._lists(frame)
        check_sites(sites, lists)
        return list(out[:count]), Changes(sites, list(out[count:]), lists)

    def _lists(self, frame: FrameType) -> dict[str, Any]:
        return {n: value_of(n, frame) for n in sorted({s.of for s in self.loop.sites})}

    # -- rounds ------------------------------------------------------------------------------------

    def _value(self, at: int) -> int:
        return self.items.bound(at)

    def _bounds(self, count: int) -> list[int]:
        return [self._value(self.at), self._value(self.at + count)]

    def _whole(self, count: int) -> int:
        return count - count % len(self.loop.rounds)

    def _free(self, frame: FrameType, again: bool = False) -> int:
        """The number of rounds from here on that have no effects, without the last of the loop, up
        to the number that a program may run at once. again: the effects are others by now.
        """
        if again or self._event < self.at:
            self._event = self._next_event(frame)
        return min(min(self._event, len(self.items) - 1) - self.at, self._most)

    def _next_event(self, frame: FrameType) -> int:
        at, end = self.at, min(len(self.items), self.at + 100_000)
        for test, names in self.loop.events:
            scope: dict[str, Any] = {"__builtins__": {}}
            for name in names - self.loop.counters:
                scope[name] = value_of(name, frame)
                if type(scope[name]) not in (int, float, bool):
                    raise CannotStage(f"`{name}`, which decides about effects, is no number")
            for i in range(at, end):
                scope.update(self.items.bindings(i))
                if eval(test, scope):
                    end = i
                    break
        return end


def _evaluated(e: ast.expr, frame: FrameType) -> Any:
    """A constant or a variable."""
    return value_of(e.id, frame) if isinstance(e, ast.Name) else getattr(e, "value", None)


def _same(name: str, variable: str) -> ast.stmt:
    """`name = variable`"""
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Name(variable, ast.Load()))
    return ast.fix_missing_locations(made)


def _results_of(program: Program, leaves: list[Any]) -> Any:
    out, _ = program(leaves, leaves, [])
    return out


# -- sampling --------------------------------------------------------------------------------------


class _Watch:
    """A loop that was seen: since when, and how many rounds were left then."""

    def __init__(self, iterator: Any, left: int) -> None:
        self.iterator, self.left, self.time = iterator, left, time.perf_counter()


# by code: when it was first seen, and the code, kept alive. (Its source is parsed later: that takes
# time, and most code has no long loops.)
_first: Memo[int, tuple[float, CodeType]] = Memo("code with loops", 1024)


def seen(frame: FrameType) -> None:
    """Operations have run in this frame: whether one of its loops has taken long, and will."""
    code = frame.f_code
    first = _first.get(id(code)) or _first.put(id(code), (time.perf_counter(), code))
    if time.perf_counter() - first[0] < SECONDS:
        return
    for loop in loops_at(frame):
        if loop.refused:
            _tell(loop, code, loop.refused)
            continue
        iterator = fastpath.frame_value(frame, -1 - loop.depth, None)
        if type(iterator) is Running:
            return
        source = source_of(iterator)
        watched = loop.watch is not None and loop.watch.iterator is iterator
        named = sys.getrefcount(iterator) > _ALONE + watched and type(iterator) is not _RANGE
        if source is None or named:
            _tell(loop, code, f"it is over a {type(iterator).__name__}")
            continue
        watch, left = loop.watch, len(source)
        if watch is None or watch.iterator is not iterator:
            loop.watch = _Watch(iterator, left)
            continue
        elapsed, done = time.perf_counter() - watch.time, watch.left - left
        if elapsed < SECONDS or done < 1:
            continue
        rate = elapsed / done
        if left < 4 or left * rate < LEFT:
            continue
        loop.watch = None
        told = Taken(loop, code)
        running = Running(loop, told, Items(source, loop.node.target), rate)
        fastpath.set_frame_values(frame, (-1 - loop.depth,), [running])
        taken.append(told)
        return


def _tell(loop: Loop, code: CodeType, why: str) -> None:
    """Report that a long loop stays with Python, once."""
    if not any(t.loop is loop for t in taken):
        taken.append(Taken(loop, code, why))


def _known() -> bool:
    """Whether the values of a frame are where they are expected."""
    mark = object()  # the first variable
    frame = sys._getframe()
    for _ in range(1):
        try:
            first, top = fastpath.frame_value(frame, 0, None), fastpath.frame_value(frame, -1, None)
        except (NotImplementedError, IndexError):
            return False
        return first is mark and type(top) is _RANGE
    return False


KNOWN = BUILT and _known()
