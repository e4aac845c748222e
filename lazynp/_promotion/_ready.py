"""Programs of loops that have won their trial, for the next time that the loop is entered.

A loop in a function, or in another loop, is entered again and again. Its program serves whenever
the variables are of the same types, and the loop goes over items of the same form.
"""

from __future__ import annotations

import ast
from copy import copy
from types import FrameType
from typing import Any

from lazynp._dataclass import dataclass
from lazynp._promotion._draws import Draws
from lazynp._promotion._generators import generator_of, is_generator, kind_of
from lazynp._promotion._items import Items
from lazynp._promotion._lists import check_sites
from lazynp._promotion._loops import Loop
from lazynp._promotion._program import Program
from lazynp._promotion._variables import Constant, Variables, grown_in, value_of
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
    """scope: the globals of the loop's code. state: what else a `Running` knows of it. price:
    seconds that it must be worth, before its trial.
    """

    program: Program
    scope: dict[str, Any]
    form: Form
    state: dict[str, Any]
    draws: Draws | None
    price: float = 0.0

    def is_for(self, loop: Loop, items: Items | None) -> bool:
        """Whether it goes over items like these."""
        return self.form.serves(Form(loop, items))

    def serving(self, loop: Loop, frame: FrameType, items: Items | None) -> dict[str, Any] | None:
        """What a `Running` goes on with; None if the program does not serve."""
        if frame.f_globals is not self.scope:
            return None
        try:
            sites = self.state["_sites"]
            lists = grown_in(loop, frame)
            if lists != loop.lists or not self.is_for(loop, items):
                return None
            grown = {s.of: value_of(s.of, frame) for s in sites}
            check_sites(sites, grown)
            now = Variables(loop, frame, items, self.state["_moving"])
            others = self._others(now)
            changed = [*now.boxes.objects, *grown.values()]
            if others is None or not self.program.serves(now.varying, changed):
                return None
            draws = None if self.draws is None else self.draws.again(others)
        except CannotStage:
            return None
        return self.state | {"_key": now.key, "_draws": draws, "_sites": [copy(s) for s in sites]}

    def _others(self, now: Variables) -> dict[int, Any] | None:
        """The generators that stand for those which the trace has met, by id; None if the
        variables are of other types.
        """
        key, found = self.state["_key"], dict[int, Any]()
        if len(key) != len(now.key):
            return None
        for a, b in zip(key, now.key):
            if a == b:
                continue
            if not all(type(x) is Constant and is_generator(x.value) for x in (a, b)):
                return None
            old, other = generator_of(a.value), generator_of(b.value)
            if kind_of(old) != kind_of(other) or found.setdefault(id(old), other) is not other:
                return None
        if not found:
            return found
        # one that was met twice must not be two by now, nor the other way round
        same = [a.value for a, b in zip(key, now.key) if a == b and type(a) is Constant]
        known, new = {id(generator_of(x)) for x in same}, {id(g) for g in found.values()}
        alone = len(new) == len(found) and not (known | new) & found.keys() and not known & new
        return found if alone and not (now.boxes.names or self._outside(found)) else None

    def _outside(self, found: dict[int, Any]) -> bool:
        """Whether the functions may read one of these from elsewhere than the variables."""
        guards = self.program.guards
        return guards is None or any(id(generator_of(x)) in found for x in guards.values())


def keep(loop: Loop, ready: Ready) -> None:
    loop.ready[:0] = [ready]
    del loop.ready[_MOST:]


def forget(loop: Loop, program: Program | None) -> None:
    loop.ready[:] = [r for r in loop.ready if r.program is not program]
