"""The policy: whether a thread records its operations or lets NumPy run them eagerly.

Recording gains nothing in a loop whose programs will never be compiled: a loop of small operations,
one whose programs never repeat, one whose shapes depend on the data. `LoopPolicy` finds such loops
from the facts about each flush. Until it knows better, small operations are eager and larger ones
are recorded. It is a pure function of what it has observed: it reads no other
state and no clock.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from lazynp import _cost
from lazynp._dataclass import dataclass

# bytes: an eager recorder still records operations on larger operands. NumPy runs chains of these
# block by block (`_blocks`). To record a smaller one costs a tenth to half of what it takes.
LARGEST = (1 << 23) - 1
_OFTEN = 3  # flushes at one place that make it a loop
_LOOP = 64  # operations in such loops before the recorder becomes eager
# Bytes that eager operations write before some of their rounds are recorded, to find a unit; and
# where one was found before.
_PATIENCE = 1e9
_PATIENCE_AGAIN = 3e7
_IMPATIENT = 4.0  # it grows by this factor if the rounds were not worth a program
_IN_VAIN = 4.0  # microseconds that an operation loses if it is recorded, and no program runs it
_MOST_VAIN = 8  # times in a row: beyond, the patience grows no more
_CHOICES = 16  # results with a data-dependent shape, or visits by new programs


class Mode(Enum):
    FIRST = "first"  # nothing is known yet: small operations are eager, larger ones are learnt from
    RECORD = "record"
    EAGER = "eager"  # recording has gained nothing


# To record an operation for the first time takes ten times as long as NumPy needs to run a small
# one. Tests of what is recorded set RECORD.
INITIAL = Mode.FIRST


@dataclass(frozen=True)
class Cut:
    """The facts about a flush that has run."""

    operations: int
    gain: float  # microseconds that a program might gain; infinite if the flush called one
    place: Any  # where it happened; a tuple if that is a position in the code
    visits: int  # how many flushes have followed one at that place
    first: bool  # its form is new
    compiled: bool  # a program ran it

    @property
    def large(self) -> bool:
        return self.compiled or self.gain > 4 * _cost.RECORDING * self.operations

    @property
    def small(self) -> bool:
        return not self.compiled and self.gain <= _cost.CUT + _cost.RECORDING * self.operations


class LoopPolicy:
    """Counts operations that gained nothing by being recorded, minus other operations since."""

    __slots__ = (
        "mode", "largest", "patience", "_spent", "_small", "_novel", "_chosen", "_novel_at",
        "_before", "_earning", "_gained", "_vain",
    )  # fmt: skip

    def __init__(self) -> None:
        # by place: visits by new forms, minus other visits since
        self._novel_at: dict[Any, int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget what was found about loops."""
        self.mode = INITIAL
        self.largest: float = LARGEST
        self._small = 0  # operations in loops of small operations
        self._novel = 0  # operations of new forms, at places visited often
        self._chosen = 0  # results with a data-dependent shape
        self._novel_at.clear()
        self.patience = _PATIENCE
        self._spent = 0.0  # bytes; C keeps a count of its own
        self._before = Mode.RECORD
        self._earning = False  # rounds are known whose program is not paid for: they run eagerly
        self._gained = 0.0  # microseconds, by the program of the rounds that are being recorded
        self._vain = 0  # times in a row that recording lost more than that

    def spend(self, written: int) -> bool:
        """An eager operation has written these bytes. Whether it is time to record some rounds."""
        self._spent += written
        if self._spent < self.patience:
            return False
        self._spent = 0.0
        return True

    def begin_rounds(self) -> None:
        """Record some rounds of a loop, whatever the mode."""
        self._before, self.mode = self.mode, Mode.RECORD

    def gains(self, microseconds: float) -> None:
        """A program has run rounds, and gained so much, by estimate."""
        self._gained += microseconds

    def break_rounds(self, others: int) -> bool:
        """A run of alike rounds has ended. others: the operations that were recorded since, and
        that no program has run. Returns whether they cost more than the program gained, as where
        few rounds follow each other: then the next rounds run eagerly.
        """
        if not self._gained:
            return False
        lost = others * _IN_VAIN > self._gained
        self._gained, self._vain = 0.0, self._vain + 1 if lost else 0
        if lost:
            self.mode, self._earning = Mode.EAGER, True
            self.patience = _PATIENCE_AGAIN * _IMPATIENT ** min(self._vain, _MOST_VAIN)
        return lost

    def end_rounds(self, short: float, small: bool = False) -> None:
        """short: the bytes that rounds must still write before a program pays; 0 if one ran them,
        infinite if there were no rounds. small: whether eager operations compute them in less time
        than recorded ones.
        """
        earns = small and short < math.inf and self._before is not Mode.EAGER
        self._earning = bool(short) and (earns or self._earning)
        if short and earns:
            self.mode, self.patience = Mode.EAGER, max(short, _PATIENCE)
        elif not short:
            self._small = self._novel = self._chosen = 0
            self._novel_at.clear()
            self.largest, self.patience = LARGEST, _PATIENCE_AGAIN
            self._before = Mode.RECORD
        else:
            self.mode = self._before
            if self.mode is not Mode.RECORD:
                self.patience = min(_IMPATIENT * self.patience, max(short, _PATIENCE))

    def observe(self, cut: Cut) -> Mode:
        """The mode after this flush."""
        often = cut.visits >= _OFTEN
        if cut.large:
            self._chosen, self._earning = 0, False
        # one large flush is no loop
        operations = min(cut.operations, _LOOP // 2)
        self._novel = _counted(self._novel, operations, self._is_novel(cut, often))
        small = cut.small and (often or type(cut.place) is tuple)
        self._small = _counted(self._small, cut.operations, small)
        eager = self._earning or max(self._small, self._novel) > _LOOP
        if eager:
            self.mode = Mode.EAGER
        elif self.mode is Mode.EAGER:
            self.mode = Mode.RECORD
        if self._novel > _LOOP:
            self.largest = math.inf
        return self.mode

    def observe_choice(self) -> Mode:
        """The mode after the data determined the shape of a result. Where that happens repeatedly,
        no program will repeat.
        """
        self._chosen += 1
        if self._chosen > _CHOICES:
            self.mode = Mode.EAGER
        return self.mode

    def _is_novel(self, cut: Cut, often: bool) -> bool:
        novel = often and cut.first
        if cut.visits:
            if len(self._novel_at) > 1 << 12:
                self._novel_at.clear()
            here = _counted(self._novel_at.get(cut.place, 0), 1, novel)
            self._novel_at[cut.place] = here
            return novel and (not cut.large or here > _CHOICES)
        return novel


def _counted(count: int, step: int, more: bool) -> int:
    return count + step if more else max(0, count - step)
