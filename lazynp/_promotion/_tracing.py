"""A running loop's rounds, traced: as a function of the variables that they read.

What rounds append to lists, and the random numbers that they draw, are found by a first trace, the
probe.
"""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

from lazynp._array import NDArray
from lazynp._promotion._blocks import is_errstate
from lazynp._promotion._draws import DRAWS, Draws, begun, prologue
from lazynp._promotion._given import ARRAY, Listed, copies
from lazynp._promotion._guards import reads
from lazynp._promotion._histories import KEPT, Histories
from lazynp._promotion._items import ITEMS, Items, Taking
from lazynp._promotion._lists import check_sites
from lazynp._promotion._loops import Loop
from lazynp._promotion._program import Program
from lazynp._promotion._round_functions import rounds_function
from lazynp._promotion._variables import Variables, is_module, value_of
from lazynp.functions._host import to_host
from lazynp.transforms.control import CannotStage, inner_codes

NEVER = sys.maxsize


class Tracing:
    """A program of the rounds, for variables like those of now. most: rounds that it may run."""

    def __init__(
        self, loop: Loop, frame: FrameType, items: Items | None, bounds: list[int],
        lists: dict[str, Any],
    ) -> None:  # fmt: skip
        self._loop, self._items, self._bounds = loop, items, bounds
        self.given, self.most = Variables(loop, frame, items), NEVER
        check_sites(loop.sites, lists)
        for name in loop.modules:
            if not is_errstate(value_of(name, frame)):
                raise CannotStage(f"`{name}.errstate` is not NumPy's")
        self.draws: Draws | None = None
        self._drew = False  # a trace has met random numbers
        try:
            self.program, self.operations = self._found(frame)
        except (CannotStage, TypeError):
            if not self._drew:
                raise
            # while a function is traced, an array's value is not to be had
            values = {n: to_host(value_of(n, frame)) for n in self.given.only_read(loop)}
            self.draws = Draws(values.__getitem__)
            self.program, self.operations = self._found(frame)
        self._check_written()

    def _found(self, frame: FrameType) -> tuple[Program, int]:
        sites, draws = self._loop.sites, self.draws
        histories = Histories(sites)
        if sites or draws is not None:
            probe, _ = self._traced(frame, histories)
            step = 1 if self._items is None else self._items.step
            histories.check(lambda e: _evaluated(e, frame), step)
            self.most = histories.capacity if sites else NEVER
            if draws is not None:
                draws.check(_names_in(probe), lambda n: value_of(n, frame))
                self.most = min(self.most, draws.capacity)
        return self._traced(frame, histories)

    def _traced(self, frame: FrameType, histories: Histories) -> tuple[Program, int]:
        """A program, and the number of its operations."""
        given, draws = self.given, self.draws
        head = [_same(name, variable) for name, variable in given.same.items()]
        first, parameters, template = list[ast.stmt](), list[str](), list[Any]()
        leaves = copies([*given.varying], empty=True)
        if draws is not None:
            tables = draws.names()
            first, parameters, template = begun(), [DRAWS, *tables], [draws, *[ARRAY] * len(tables)]
            head += prologue(given.only_read(self._loop), tables)
            leaves += draws.empty()
        names = (*given.names, *parameters, KEPT, ITEMS)
        function = rounds_function(self._loop, frame, names, self._items, head, first)
        self._code = function.__code__
        template = [*given.template, *template, histories, Taking(), ARRAY, ARRAY]
        program = Program(function, Listed(template, given.compact))
        try:
            return program, program.trace([*leaves, *self._bounds])
        finally:
            self._drew = program.drew

    def _check_written(self) -> None:
        given, written = self.given, self.program.written
        arrays = [i for i, x in enumerate(given.varying) if type(x) is NDArray]
        for i, name in given.views.items():
            if arrays.index(i) in written:
                raise CannotStage(f"`{name}` is a view, and is written")
        for name in () if self.draws is None else self.draws.used:
            if arrays.index(given.place(name)) in written:
                raise CannotStage(f"numbers are drawn from `{name}`, which is written")

    def check(self, frame: FrameType) -> None:
        """Refuse functions that read, from the module, what the loop changes."""
        if is_module(frame):
            shared = reads(self.program.functions, self._code) & self._loop.stored
            if shared:
                raise CannotStage(f"a function reads `{min(shared)}`, which the loop changes")


def _evaluated(e: ast.expr, frame: FrameType) -> Any:
    """A constant or a variable."""
    return value_of(e.id, frame) if isinstance(e, ast.Name) else getattr(e, "value", None)


def _same(name: str, variable: str) -> ast.stmt:
    """`name = variable`"""
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Name(variable, ast.Load()))
    return ast.fix_missing_locations(made)


def _names_in(program: Program) -> set[str]:
    """The names that its functions read."""
    codes = [c for f in program.functions for c in inner_codes(f.__code__)]
    return {name for c in codes for name in c.co_names}
