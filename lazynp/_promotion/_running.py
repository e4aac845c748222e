"""A loop that is running continues as a program.

A hot function has to be called again; most scripts are one long loop. A `Running` is asked at the
beginning of a round, when the variables are as the round before has left them. (`_iterated` and
`_conditional` say how.) It has the loop traced (`_loops`, `_variables`), lets Python run some
rounds, runs them again as a program on copies, and compares. From then on it runs many rounds at
once by the program, binds what they have computed, and lets Python run one. The last round of a
loop is always Python's, so the loop ends as loops do, and every variable that a round binds anew is
there.

A program that stops, because the loop ends or a round has effects, has told after how many rounds.
It is run again, for the rounds before that one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from lazynp import lowering
from lazynp._plan import STATS
from lazynp._promotion import _clock, _earlier
from lazynp._promotion._allowed import may_run
from lazynp._promotion._budget import Later, budget
from lazynp._promotion._case import awaited, contains, note_slower
from lazynp._promotion._committing import Committing
from lazynp._promotion._compared import check_same, have_drawn
from lazynp._promotion._copies import computed
from lazynp._promotion._draws import Draws
from lazynp._promotion._gains import Gains, Slower
from lazynp._promotion._items import Items
from lazynp._promotion._loops import Loop, describe
from lazynp._promotion._program import Program
from lazynp._promotion._ready import Form, Ready, forget, keep
from lazynp._promotion._taken import Taken
from lazynp._promotion._tracing import NEVER, Tracing
from lazynp._promotion._tuples import Tuples
from lazynp._promotion._variables import Variables, grown_in, value_of
from lazynp._quiet import quietly
from lazynp._signals import let_through
from lazynp.functions.tools import materialize
from lazynp.transforms.control import CannotStage, TooLong

SECONDS = 0.05  # in a loop, before it is looked at
LEFT = 0.3  # seconds of Python that must be left, before a loop is traced
SOON = 0.1  # as many, if its function is hot, or an earlier process has found that programs win
LOADING = 0.2  # more of these, if jaxlib is not loaded yet: that takes as long
COMPILING = 0.01  # more of these for each operation of the program
_IN_BACKGROUND = 0.3  # of that, where Python goes on meanwhile
_TRIAL = 0.03  # seconds of Python in a trial
_ROUNDS = 100  # ... at most: small differences grow
_ASKING = 0.005  # seconds of Python, before it asks again whether a program is compiled
_LATER = 1.0  # seconds of Python, before a trace that has taken too long so far
_CHUNK = 0.1  # seconds of the program, before Python runs a round
_ATTEMPTS = 8  # at a beginning: something else watches, or rounds with effects come soon
_FAILURES = 8  # programs that meet an error which a round may handle, before the last one

# what a loop that is entered again must know of a program that was traced, or has won: see `_ready`
_TRACED = ("_key", "_most", "_carried", "_note", "_won", "_moving", "_sites",
           "_tuples", "_stays")  # fmt: skip
_KEPT = (*_TRACED, "program", "gains", "_length", "_flags")


def least(soon: bool | None) -> float:
    """Seconds of Python that must be left for a program. soon: whether its function is hot, or an
    earlier process has found that its programs win.
    """
    return (SOON if soon else LEFT) + loading()


def loading() -> float:
    return 0.0 if lowering.is_loaded() else LOADING


class Running(Committing):
    """A loop, from its round `at` on. due: the round before which something is to be done, which
    is `_step`. items: what it goes over, if it is a `for` loop.
    """

    def __init__(self, loop: Loop, told: Taken, items: Items | None, rate: float) -> None:
        self.loop, self.told, self.items, self.at = loop, told, items, 0
        self.gains = Gains(rate)  # rate: seconds of a round in Python
        self._resumed: tuple[_clock.Moment, int] | None = None  # since when Python runs a round
        self.program: Program | None = None
        self._candidate: Program | None = None
        self._work: lowering.Work | None = None  # it is being compiled
        self._inputs: list[list[Any]] = []
        self._first = 0
        self.due, self._attempts, self._started = 0, 0, _clock.now()
        self._step: Callable[[Any, FrameType], None] = Running._begin
        self._length, self._key = 2, ()
        self._most = NEVER  # rounds of a program that makes histories
        self._trial = _ROUNDS  # rounds of a trial
        self._stopped, self._next_stop = -1, -1  # the last round that a program stopped at
        self._lengths: dict[str, int] = {}  # of lists, before the trial
        self._sites: list[Any] = []  # of the loop, as the program was traced
        self._flags: set[str] = set()  # variables that are Python's True or False
        self._note: str | None = None  # its key, and what it says: see `_earlier`
        self._won: bool | None = None
        self._moving: frozenset[Any] | None = None  # of `Boxes`
        self._tuples: Tuples | None = None
        self._carried: list[str] = []  # variables, and slots of objects
        self._failed = 0  # runs of the program, by errors
        self._draws: Draws | None = None  # if rounds draw random numbers
        self._numbers: list[Any] = []  # of the trial
        self._states: list[Any] = []  # of the generators, after the trial
        self._stays: set[str] = set()  # arrays that the loop binds again only to themselves

    def _left(self) -> int:
        """The number of rounds, from here on, without the last one."""
        raise NotImplementedError

    def _pays(self, seconds: float) -> bool:
        """Whether a program is worth so much; if it is too early to say, `due` is the round in
        which to ask again.
        """
        raise NotImplementedError

    def _expected(self) -> float:
        """Seconds that Python will take for what is left, or has taken."""
        raise NotImplementedError

    def _do(self, frame: FrameType) -> None:
        try:
            with _clock.in_loops():
                quietly(self._step, [self, frame])
        except Exception as why:
            let_through(why)
            if not self._fails():
                self._refuse(str(why) or type(why).__name__)
        except Later:
            self._attempts += 1
            self.due = self.at + max(int(_LATER / self.gains.rate), 1)
            if self._attempts > _ATTEMPTS:
                self._refuse("tracing it takes too long")
        except (CannotStage, TooLong) as why:
            self.loop.slower |= isinstance(why, Slower)
            if isinstance(why, Slower) and self._step is Running._run:
                _earlier.keep(self._note, won=False)
            self._refuse(str(why) or type(why).__name__)

    def _fails(self) -> bool:
        """Whether to try again later: a round may have a handler for what the program has met."""
        self._failed += 1
        if self._step is not Running._run or not self.loop.tries or self._failed > _FAILURES:
            return False
        self.due = self.at + self._length  # Python runs as many
        return True

    def _refuse(self, why: str) -> None:
        if self._step is Running._compare and not self._won:
            _earlier.keep(self._note, won=False)
        forget(self.loop, self.program)
        self.loop.traced = None
        self.loop.refused, self.program, self.due = why, None, NEVER
        self._inputs, self._candidate = [], None

    # -- steps -------------------------------------------------------------------------------------

    def _begin(self, frame: FrameType) -> None:
        """Trace the loop."""
        count = self._free(frame)
        if count < 2 or not may_run():
            self._wait(count)
            return
        loop = self.loop
        if self._goes_on(frame) or self._tries_again(frame):
            return
        if not loop.affords(self._expected(), least(self._won or loop.hot)):
            self.due = NEVER
            return
        if budget.left() <= 0:
            self.due = self.at + max(int(_ASKING / self.gains.rate), 1)
            return
        lists = grown_in(loop, frame)
        if lists != loop.lists:
            describe(loop, lists, rate=self.gains.rate)
            count = self._free(frame, again=True)
        try:
            given, program = self._traced(frame)
        except CannotStage:
            if loop.wary:
                raise
            describe(loop, lists, wary=True, rate=self.gains.rate)
            given, program = self._traced(frame)
        if program is None:
            return
        self._prepare(frame, given, program)

    def _prepare(self, frame: FrameType, given: Variables, program: Program) -> None:
        """Have the program compiled, before the arrays are copied for its trial."""
        self.gains.expects(program.seconds / len(self.loop.rounds))
        numbers = [] if self._draws is None else self._draws.empty()
        work = program.begin([*given.varying, *numbers, *self._bounds(self.at, 2)])
        if work is None:
            self._choose(frame, given, program)
            return
        self._key, self._candidate, self._work = given.key, program, work
        awaited.add(self)
        self.due, self._step = self.at + self._pause(), Running._await

    def covers(self, code: CodeType | None) -> bool:
        """Whether the program that is to come contains the function of this code."""
        return contains(self._candidate, code)

    def _goes_on(self, frame: FrameType) -> bool:
        """Whether a program serves that has won its trial when the loop was entered before."""
        found = (r.serving(self.loop, frame, self.items) for r in self.loop.ready)
        state = next((s for s in found if s is not None), None)
        if state is None:
            return False
        for name, value in state.items():
            setattr(self, name, value)
        self._step = Running._run
        self._run(frame)
        return True

    def _tries_again(self, frame: FrameType) -> bool:
        """Whether there is a program that was traced before, and has had no trial yet."""
        traced = self.loop.traced
        state = None if traced is None else traced.serving(self.loop, frame, self.items)
        if traced is None or state is None:
            return False
        for name, value in state.items():
            setattr(self, name, value)
        if self._pays(traced.price):
            self._prepare(frame, self._variables(frame), traced.program)
        return True

    def _keep(self, program: Program, scope: dict[str, Any]) -> None:
        """Keep the program for the next time that the loop is entered."""
        self.loop.traced, self.loop.rate = None, self.gains.rate
        keep(self.loop, self._kept(program, scope, _KEPT))

    def _kept(self, program: Program, scope: dict[str, Any], names: Any, price: float = 0) -> Ready:
        state = {name: getattr(self, name) for name in names}
        draws = None if self._draws is None else self._draws.again({})
        return Ready(program, scope, Form(self.loop, self.items), state, draws, price)

    def _choose(self, frame: FrameType, given: Variables, program: Program) -> None:
        """Choose rounds for a trial."""
        count = min(self._free(frame), self._trial, max(2, int(_TRIAL / self.gains.rate)))
        count = self._whole(count)
        if count < 2:
            self._wait(count)
            return
        self._key = given.key
        self._flags = {n for n in self.loop.flags if type(value_of(n, frame)) is bool}
        self._lengths = {n: len(of) for n, of in self._lists(frame).items()}
        computed(given.varying)
        self._inputs = program.trial_copies(given.varying)
        if self._draws is not None:
            value = lambda n: value_of(n, frame)  # noqa: E731
            self._numbers, self._states = self._draws.ahead(count, value)
        self._candidate, self._first = program, self.at
        self.due, self._step = self.at + count, Running._compare
        self._started = _clock.now()

    def _wait(self, count: int) -> None:
        self._attempts += 1
        if self._attempts > _ATTEMPTS:
            raise CannotStage("too few rounds without effects at a time, or something watches them")
        self.due, self._step = self.at + max(count, 0) + 1, Running._begin

    def _variables(self, frame: FrameType) -> Variables:
        return Variables(self.loop, frame, self.items, self._moving)

    def _traced(self, frame: FrameType) -> tuple[Variables, Program | None]:
        """The variables, and a program; None if it is too early to say whether it will pay."""
        self._sites = self.loop.sites
        lists = self._lists(frame)
        made = Tracing(self.loop, frame, self.items, self._bounds(self.at, 2), lists)
        given, program, self._draws = made.given, made.program, made.draws
        self._moving, self._sites, self._tuples = made.moving, made.sites, given.tuples
        self._stays = given.boxes.unwritten
        self._carried = [*self.loop.carried, *given.boxes.slot_names]
        self._most = self._whole(made.most) if made.most < NEVER else NEVER
        kind = _earlier.of_kind(given.varying)
        self._note = _earlier.key_of("rounds", _earlier.of_loop(self.loop.node), kind)
        self._won = _earlier.has_won(self._note)
        compiling = COMPILING * (_IN_BACKGROUND if lowering.in_background() else 1.0)
        price = _earlier.times(self._won) * compiling * made.operations
        made.check(frame)
        self._key = given.key
        self.loop.traced = self._kept(program, frame.f_globals, _TRACED, price)
        return given, program if self._pays(price) else None

    def _compare(self, frame: FrameType) -> None:
        """Python has run the rounds of the trial: do the same by the program."""
        now = self._variables(frame)
        materialize(now.varying)
        python = _clock.of_python(self._started)
        program, inputs = self._candidate, self._inputs
        self._candidate, self._inputs = None, []
        assert program is not None
        if now.key != self._key:
            raise CannotStage("a variable changes its type")
        count = self.at - self._first
        bounds = self._bounds(self._first, count)
        if not program.serves(now.varying, self._objects(now, frame)):
            raise CannotStage("what it reads from outside has changed, or is written by it")
        materialize(inputs)
        computed(now.varying)
        try:
            with lowering.unfinished_allowed():
                out = program.outcome([*inputs[0], *self._numbers, *bounds])
        except lowering.Unfinished as unfinished:
            self._candidate, self._work = program, unfinished.work
            self.due, self._step = self.at + self._pause(), Running._await
            return
        if self._complete(out, count) < count:  # a round has had effects
            self._trial = max(2, self._complete(out, count))
            self._wait(0)
            return
        if not have_drawn(self._draws, self._states, out, count):
            self._wait(0)
            return
        got, changes = self._parted(out, frame)
        same = changes.agree(self._lengths)
        self._stays |= check_same(
            self.loop, self._carried, now, got, same, inputs[0], frame, self._stays
        )
        # the rounds of the trial may have run while the machine was busy
        self.gains.rate = min(self.gains.rate, python / count)
        try:
            count, seconds = self._paying(program, inputs[-1], count, self._free(frame))
        except Slower:
            note_slower(program)
            raise
        self._length = max(self._fewest, int(count * min(_CHUNK / max(seconds, 1e-9), 8)))
        self.program, self._numbers = program, []
        self._step = Running._run
        self._keep(program, frame.f_globals)
        STATS.promotions += 1
        _earlier.keep(self._note, won=True)
        _earlier.keep(_earlier.key_of("loops", _earlier.of_code(frame.f_code)), won=True)
        del now, got, inputs, changes, out  # references are counted
        self._run(frame)

    def _await(self, frame: FrameType) -> None:
        """The program is being compiled: Python goes on, and another trial begins when it is
        done.
        """
        program, work = self._candidate, self._work
        assert program is not None and work is not None
        if not work.done:
            self.due = self.at + self._pause()
            return
        self._work = None
        given = self._variables(frame)
        if given.key != self._key:
            raise CannotStage("a variable changes its type")
        self._choose(frame, given, program)

    def _pause(self) -> int:
        """Rounds after which to ask whether a program is compiled."""
        return self._whole(int(_ASKING / self.gains.rate)) + len(self.loop.rounds)

    def _paying(
        self, program: Program, inputs: list[Any], count: int, free: int
    ) -> tuple[int, float]:
        """How many rounds at once take less than Python's time for each, and the seconds of so
        many.
        """

        def run(count: int) -> tuple[float, int]:
            begin, compiling = _clock.now(), STATS.compile_seconds
            out = program.outcome([*inputs, *self._numbers, *self._bounds(self._first, count)])
            seconds = _clock.since(begin, STATS.compile_seconds - compiling)
            drawing = self._draws.seconds * count if self._draws else 0.0
            return seconds + drawing, self._complete(out, count)

        left = 0 if self.loop.is_while else self._left()
        allowed = 0.5 * SECONDS + self.gains.rate * (0.5 * self.at + 0.1 * left)
        return self.gains.paying(run, count, self._fewest, self._whole(free), allowed)

    def _run(self, frame: FrameType) -> None:
        """Run rounds by the program, up to one round before the next that must be Python's."""
        count = self._whole(min(self._free(frame) - 1, self._length))
        count = self._whole(self._draws.limit(count)) if self._draws else count
        self.due = self.at + 1  # Python runs one
        if count < 1 or not may_run():
            return
        begin, compiles = _clock.now(), STATS.compiles
        if self._resumed is not None and self.at > self._resumed[1]:
            seconds = _clock.of_python(self._resumed[0]) / (self.at - self._resumed[1])
            if self.gains.was_copying(seconds):  # the next round tells
                self._resumed = begin, self.at
                return
            self.gains.of_round(seconds, self.loop.stops or bool(self.loop.events))
        now = self._variables(frame)
        if now.key != self._key:
            raise CannotStage("a variable changes its type, or one that it reads was bound again")
        now.check_shared(self._stays)
        program = self.program
        assert program is not None
        if not program.serves(now.varying, self._objects(now, frame)):
            raise CannotStage("what it reads from outside has changed")
        computed(now.varying)
        ran = self._commit(program, frame, now, count)
        if ran < 0:
            return
        if ran < count:
            self._stopped, self._next_stop = self.at + ran, 2 * (self.at + ran) - self._stopped
            if ran and self._commit(program, frame, now, ran) < ran:
                raise CannotStage("its rounds are others each time")
        self.at += ran
        self.due = self.at + 1
        spent = _clock.since(begin)
        self.told.rounds += ran
        _clock.in_loops.rounds += ran
        self.told.chunks += ran > 0
        if ran == self._whole(self._length):  # aim at the time of a chunk
            factor = min(max(_CHUNK / max(spent, 1e-9), 0.25), 4.0)
            self._length = max(self._fewest, int(count * factor))
        if STATS.compiles == compiles:
            self.gains.weigh(spent, ran)
        self.gains.written = program.bytes_written(now.varying)
        self._resumed = _clock.now(), self.at

    # -- rounds ------------------------------------------------------------------------------------

    def _whole(self, count: int) -> int:
        return count - count % len(self.loop.rounds)

    @property
    def _fewest(self) -> int:
        return max(2, len(self.loop.rounds))

    def _free(self, frame: FrameType, again: bool = False) -> int:
        """The number of rounds from here on that are known to have no effects, without the last of
        the loop, up to the number that a program may run at once. again: the effects are others by
        now.
        """
        stop = self._next_stop - self.at  # if they come at regular intervals
        return min(self._left(), self._most, stop if stop > 0 else NEVER)
