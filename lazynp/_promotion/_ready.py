"""Programs of loops that have won their trial, for the next time that the loop is entered.

A loop in a function, or in another loop, is entered again and again. Its program serves whenever
the variables are of the same types, and the loop goes over items of the same form.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import FrameType
from typing import Any

from lazynp._promotion._items import Items
from lazynp._promotion._loops import Loop
from lazynp._promotion._program import Program
from lazynp._promotion._variables import Variables
from lazynp.transforms.control import CannotStage

SECONDS = 0.002  # that such a loop must take, before and after it is taken
_MOST = 4  # of one loop


class Form:
    """What a program contains of the items that a loop goes over."""

    def __init__(self, loop: Loop, items: Items | None) -> None:
        self._text, self._low, self._high = "", None, None
        if items is not None:
            parts = "" if items.plain else ast.dump(items.binding(0))
            self._text = f"{items.plain} {items.step} {parts}"
            self._low, self._high = items.ends(len(loop.rounds))

    def serves(self, other: Form) -> bool:
        """Whether a program of this form is right for the other: its numbers lie in ours."""
        low = self._low is None or other._low is not None and self._low <= other._low
        high = self._high is None or other._high is not None and other._high <= self._high
        return self._text == other._text and low and high


@dataclass
class Ready:
    """scope: the globals of the loop's code. key: of `Variables`. moving: of `Boxes`. state: what
    else a `Running` knows of it.
    """

    program: Program
    scope: dict[str, Any]
    key: Any
    form: Form
    moving: frozenset[Any] | None
    state: dict[str, Any]

    def serves(self, loop: Loop, frame: FrameType, items: Items | None) -> bool:
        if frame.f_globals is not self.scope:
            return False
        try:
            if not self.form.serves(Form(loop, items)):
                return False
            now = Variables(loop, frame, items, self.moving)
        except CannotStage:
            return False
        return now.key == self.key and self.program.serves(now.varying, [])


def keep(loop: Loop, ready: Ready) -> None:
    loop.ready[:0] = [ready]
    del loop.ready[_MOST:]


def forget(loop: Loop, program: Program | None) -> None:
    loop.ready[:] = [r for r in loop.ready if r.program is not program]
