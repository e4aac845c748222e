"""The rounds that a program has run become those of the loop, or never were."""

from __future__ import annotations

from types import FrameType
from typing import Any

from lazynp._array import Array, write_lock
from lazynp._promotion._compared import parted
from lazynp._promotion._draws import Draws
from lazynp._promotion._lists import Changes, check_sites
from lazynp._promotion._loops import Loop
from lazynp._promotion._program import Program
from lazynp._promotion._tails import is_tail
from lazynp._promotion._tuples import Tuples
from lazynp._promotion._variables import Variables, bind, value_of
from lazynp.functions.tools import materialize


class Committing:
    """What `Running` does with a program's results. See there for the fields."""

    loop: Loop
    at: int
    due: int
    _draws: Draws | None
    _carried: list[str]
    _tuples: Tuples | None
    _sites: list[Any]
    _flags: set[str]

    def _bounds(self, at: int, count: int) -> list[int]:
        """How a program is told which rounds to run."""
        raise NotImplementedError

    def _pass_over(self, count: int) -> None:
        """Have the items of so many rounds, as Python would: whoever gives them may notice."""

    def _passed(self, count: int) -> None:
        """These rounds are done."""

    def _last(self, at: int) -> list[tuple[str, Any]]:
        """The loop's variables in a round, and their values."""
        return []

    def _commit(self, program: Program, frame: FrameType, now: Variables, count: int) -> int:
        """All of the rounds, or, after an error or a signal, none; or none, if the program has
        stopped. Returns how many rounds were complete.
        """
        arrays = [x for x in now.varying if isinstance(x, Array)]
        materialize(arrays)
        before = [(x, x._node) for x in arrays]
        last, changes = self._last(self.at + count - 1), None
        draws, after = self._draws, None
        states = draws.states() if draws else []
        names, values, slots = list[str](), list[Any](), list[Any]()
        replaced: list[Any] = []  # none of them is destroyed between two steps
        try:
            numbers = draws.draw(count, lambda n: value_of(n, frame)) if draws else []
            given = [*now.varying, *numbers, *self._bounds(self.at, count)]
            out = program.outcome(given, now.given_back)
            complete = self._complete(out, count)
            after = draws.after(out, count) if draws else None
            if draws and after is None:
                complete = -1  # its next run will draw more
            elif complete == count:
                self._pass_over(count)
                values, changes = self._parted(out, frame)
                changes.keep(self.loop.carried, values, lambda n: value_of(n, frame))
                slots = values[len(self.loop.carried) :]
                pairs = [(n, v) for n, v in zip(self.loop.carried, values) if not is_tail(n)]
                pairs += [*last, *changes.longer.items()]
                names, values = [n for n, _ in pairs], [v for _, v in pairs]
                replaced += [*bind(frame, names, values), *now.boxes.now()]
                changes.apply()
                now.boxes.put(slots)
                if draws:
                    draws.go_on(after)
                self._passed(count)
        except BaseException:
            if changes and all(value_of(n, frame) is v for n, v in zip(names, values)):
                changes.apply()  # a signal came after it was bound
                now.boxes.put(slots)
                if draws:
                    draws.go_on(after)
                self._passed(count)
                self.at += count
                self.due = self.at + 1
                raise
            self._undo(before, states)
            raise
        if complete < count:
            self._undo(before, states)
        return complete

    def _undo(self, before: list[tuple[Any, Any]], states: list[Any]) -> None:
        with write_lock:
            for x, node in before:
                x._node = node
        if self._draws is not None:
            self._draws.restore(states)

    def _complete(self, out: Any, count: int) -> int:
        """Of so many rounds, those before the one that the program has stopped at, or before the
        last of the loop.
        """
        if not self.loop.stops:
            return count
        begun, goes = out[len(self._carried) :][:2]
        period = len(self.loop.rounds)
        return count if goes and begun * period >= count else max(int(begun) - 1, 0) * period

    def _parted(self, out: Any, frame: FrameType) -> tuple[list[Any], Changes]:
        """What a program gives: what is carried, and what becomes of lists."""
        lists = self._lists(frame)
        check_sites(self._sites, lists)
        rows = list(out[len(self._carried) + 2 * self.loop.stops :])
        values = parted(self.loop, self._carried, self._tuples, self._flags, out, frame)
        return values, Changes(self._sites, rows, lists)

    def _objects(self, now: Variables, frame: FrameType) -> list[Any]:
        """What the rounds change of Python's."""
        return [*now.boxes.objects, *self._lists(frame).values()]

    def _lists(self, frame: FrameType) -> dict[str, Any]:
        return {n: value_of(n, frame) for n in sorted({s.of for s in self._sites})}
