"""A `for` loop that is running.

`Iterated` takes the place of the loop's iterator, which CPython keeps on the stack of the frame. So
it is asked at the beginning of each round.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from lazynp._promotion import _clock, _running
from lazynp._promotion._items import Items
from lazynp._promotion._loops import Loop
from lazynp._promotion._running import NEVER, Running
from lazynp._promotion._taken import Taken
from lazynp._promotion._variables import value_of
from lazynp._promotion._wrapped import Wrapped
from lazynp.transforms.control import CannotStage

_LOSSES = 2  # loops that took longer by programs, one after the other
_AHEAD = 100_000  # rounds in which effects are looked for


class Iterated(Running):
    """The iterator of a loop, from its round `at` on."""

    items: Items

    def __init__(self, loop: Loop, told: Taken, items: Items, rate: float) -> None:
        super().__init__(loop, told, items, rate)
        self._source, self._event = items.source, -1
        self._asked: tuple[_clock.Moment, int] | None = None  # when it was too early to say
        self._spent = loop.spent  # before it was entered
        self._went_on: tuple[_clock.Moment, int] | None = None  # when it went on by a program

    def __iter__(self) -> Iterated:
        return self

    def __next__(self) -> Any:
        if self.at >= self.due:
            self._do(sys._getframe(1))
        at = self.at
        try:
            value = self._item(at)
        except StopIteration:
            self._over()
            self.program, self.due = None, NEVER
            raise
        self.at = at + 1
        return value

    def plain(self) -> Any:
        """An iterator of Python's for what is left, if nothing is to be done in any round."""
        source = self._source
        return None if self.due < NEVER or type(source) is Wrapped else source.rest(self.at)

    def _goes_on(self, frame: FrameType) -> bool:
        begin = _clock.now(), self.at
        if not super()._goes_on(frame):
            return False
        self._went_on = begin
        return True

    def _over(self) -> None:
        """The loop ends. If programs have run it from early on, they must have taken less time than
        Python once did: rounds may become shorter, and then a program of many comes too late.
        """
        if self._went_on is None or self.program is None:
            return
        moment, at = self._went_on
        if self.at == at:
            return
        took, python = _clock.since(moment), self.loop.whole * (self.at - at)
        self.loop.losses = self.loop.losses + 1 if took > python else 0
        if self.loop.losses == _LOSSES:
            self._refuse(f"it takes {took / python:.1f} of Python's time")

    def _item(self, at: int) -> Any:
        if type(self._source) is Wrapped:
            return self._source.take()
        if at >= len(self._source):
            raise StopIteration
        return self._source.value(at)

    def _pass_over(self, count: int) -> None:
        if type(self._source) is Wrapped:
            self._source.pass_over(self.at, count)

    def _passed(self, count: int) -> None:
        if type(self._source) is Wrapped:
            self._source.passed(count)

    def _left(self) -> int:
        return len(self.items) - 1 - self.at

    def _bounds(self, at: int, count: int) -> list[int]:
        first = self.items.bound(at)
        if self.loop.stops:
            return [first, count // len(self.loop.rounds)]
        return [first, self.items.bound(at + count)]

    def _expected(self) -> float:
        return (len(self.items) - self.at) * self.gains.rate

    def _pays(self, seconds: float) -> bool:
        """If not, it is asked again after as many rounds: they may take longer by then, as those do
        that make an array longer.
        """
        now = _clock.now(), self.at
        if self._asked is not None:
            moment, at = self._asked
            self.gains.rate = _clock.of_python(moment) / (self.at - at)
        left = self._expected() + self._spent
        if left >= _running.least(self._won or self.loop.hot) + seconds:
            self.told.why = ""
            return True
        self.loop.spent, self.told.why = left, "it ends too soon"
        more = max(self.at, int(_running.SECONDS / self.gains.rate) if self.gains.rate else 1, 1)
        self._asked, self.due = now, self.at + more if more < self._left() else NEVER
        return False

    def _last(self, at: int) -> list[tuple[str, Any]]:
        return self.items.bindings(at)

    def _free(self, frame: FrameType, again: bool = False) -> int:
        if again or self._event < self.at:
            self._event = self._next_event(frame)
        return min(super()._free(frame), self._event - self.at)

    def _next_event(self, frame: FrameType) -> int:
        at, end = self.at, min(len(self.items), self.at + _AHEAD)
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
