"""A `while` loop that is running.

There is no iterator to replace. A round begins where the frame comes to the line of the condition,
or of the first statement under `while True`. Nothing of the loop is on the stack there.
`_c/frames.c` waits for that line by a trace function of CPython's, which is set only while Python
runs rounds. The program evaluates the condition in each round. Python evaluates it again after the
rounds of the program, which has found it to be true.
"""

from __future__ import annotations

from types import FrameType

from lazynp._fronts import fastpath
from lazynp._promotion import _clock, _running
from lazynp._promotion._loops import Loop
from lazynp._promotion._running import NEVER, Running
from lazynp._promotion._taken import Taken

_MOST = 2**40
_OFTEN = 3  # times that a loop may end during its trial


class Conditional(Running):
    """A loop from where it was seen on. How many rounds are left is not known: a program must be
    worth its price after as much time as Python has spent.
    """

    def __init__(self, loop: Loop, told: Taken, since: _clock.Moment) -> None:
        super().__init__(loop, told, None, 0.0)
        self.due, self._since, self._began = 2, since, since
        self._price = 0.0 if loop.ready else loop.price

    def begin(self, frame: FrameType) -> bool:
        """Wait for a round; False if something else watches this thread."""
        loop = self.loop
        body = loop.node.body
        first, last = loop.line, max(loop.line, body[-1].end_lineno)
        return fastpath.wait_for_line(frame, loop.head, first, last, self._arrived)

    def _arrived(self, frame: FrameType | None) -> None:
        loop = self.loop
        if frame is None:  # it has left the loop
            loop.watch, self.program = None, None
            loop.spent += 0.0 if self.told.chunks else self._expected()
            loop.left_early += not self.told.chunks and self._step is Running._compare
            if loop.left_early > _OFTEN:
                loop.refused = loop.refused or "it ends too soon"
            return
        if self.at == 0:
            self._began = _clock.now()
        elif not self.gains.rate and self.at >= self.due:
            self.gains.rate = _clock.of_python(self._began) / self.at
        if self.at >= self.due and (not self._price or self._pays(self._price)):
            self._do(frame)
        self.at += 1
        if self.due == NEVER or not self.begin(frame):
            loop.watch = None

    def _left(self) -> int:
        return _MOST

    def _bounds(self, at: int, count: int) -> list[int]:
        return [0, count // len(self.loop.rounds)]

    def _expected(self) -> float:
        return _clock.of_python(self._since)

    def _pays(self, seconds: float) -> bool:
        """If not, it is asked again before the loop is traced again."""
        pays = self._expected() + self.loop.spent >= seconds + _running.loading()
        self._price = self.loop.price = 0.0 if pays else seconds
        if not pays:
            self.due = 2 * self.at
        return pays
