"""A running loop's rounds, traced: as a function of the variables that they read.

What rounds append to lists, and the random numbers that they draw, are found by a first trace, the
probe.
"""

from __future__ import annotations

import ast
import copy
import gc
import sys
from types import FrameType
from typing import Any

from lazynp._array import NDArray
from lazynp._promotion._blocks import check_used
from lazynp._promotion._boxes import (
    BOXES,
    Boxes,
    appended,
    begun as boxes_begun,
    ended as boxes_ended,
    is_box,
    prologue as boxes_prologue,
)
from lazynp._promotion._copies import copies
from lazynp._promotion._draws import DRAWS, CalledDraws, Draws, begun, ended, prologue
from lazynp._promotion._guards import reads
from lazynp._promotion._histories import KEPT, Histories, Site, of_methods
from lazynp._promotion._items import ITEMS, Items, Taking
from lazynp._promotion._lists import check_sites
from lazynp._promotion._loops import Loop
from lazynp._promotion._placed_draws import PlacedDraws
from lazynp._promotion._program import Program
from lazynp._promotion._round_functions import rounds_function
from lazynp._promotion._template import ARRAY, Listed
from lazynp._promotion._tuples import TUPLES
from lazynp._promotion._variables import Variables, cell_of, is_module, value_of
from lazynp.functions._host import to_host
from lazynp.transforms.control import CannotStage, inner_codes, names

NEVER = sys.maxsize
_ATTEMPTS = 8
_MOST = 16  # statements that append


class Tracing:
    """A program of the rounds, for variables like those of now. most: rounds that it may run."""

    given: Variables
    program: Program

    def __init__(
        self, loop: Loop, frame: FrameType, items: Items | None, bounds: list[int],
        lists: dict[str, Any],
    ) -> None:  # fmt: skip
        self._loop, self._items, self._bounds = loop, items, bounds
        self.draws: Draws | None = None
        self._drawing, self._unequal = Draws, False
        self._instead: type[Draws] | None = None  # of `PlacedDraws`, if these fail
        self.moving: frozenset[Any] | None = None  # see `Boxes`; None: without objects
        check_sites(loop.sites, lists)
        for path in loop.blocks:
            check_used(path, lambda n: value_of(n, frame))
        first = ""
        for _ in range(_ATTEMPTS):
            self._drew = False  # the trace has met random numbers
            self.boxes: Boxes | None = None
            try:
                self._attempt(frame)
                return
            except (CannotStage, TypeError) as why:
                self._unequal = self.draws is not None and self.draws.unequal
                first = first or str(why) or type(why).__name__
            gc.collect(1)  # what it leaves behind refers to arrays
            if not self._finds_more(frame):
                break
            if self._drew or self._unequal:
                first = ""
        raise CannotStage(first)

    def _attempt(self, frame: FrameType) -> None:
        self.__dict__.pop("given", None)  # it refers to arrays
        self.given, self.most = Variables(self._loop, frame, self._items, self.moving), NEVER
        self.boxes = self.given.boxes
        if self.draws is not None:
            # while a function is traced, an array's value is not to be had
            names = self.given.only_read(self._loop)
            values = {n: to_host(value_of(n, frame)) for n in names}
            self.draws = self._drawing(values.__getitem__)
        self.program, self.operations = self._found(frame)
        self.sites = list(map(copy.copy, self._loop.sites))  # another trace may change these
        self._check_written()

    def _finds_more(self, frame: FrameType) -> bool:
        """After an attempt that has failed: whether it tells how another may succeed."""
        if self._drew and self.draws is None:
            self.draws = Draws(lambda _: None)
            return True
        if self._unequal and self._drawing is Draws:
            assert self.draws is not None
            self._instead = CalledDraws if self.draws.mixed else None
            self._drawing = PlacedDraws
            return True
        return self._finds_boxes(frame) or self._falls_back()

    def _falls_back(self) -> bool:
        if self._instead is not None:
            self._drawing, self._instead = self._instead, None
            return True
        return False

    def _finds_boxes(self, frame: FrameType) -> bool:
        if self.moving is None:
            self.moving = frozenset()
            return self._has_boxes(frame)
        if self.boxes is not None and self.boxes.grows:
            return self._appends(self.boxes.grows, frame)
        moves = self.boxes.moves if self.boxes is not None else set[Any]()
        new = not moves <= self.moving
        self.moving |= moves
        return new

    def _appends(self, grows: dict[str, int], frame: FrameType) -> bool:
        """Have sites for the lists to which methods append, so often in each round."""
        sites = self._loop.sites
        if {s.of for s in sites} & grows.keys() or len(sites) + sum(grows.values()) > _MOST:
            return False
        for path, count in grows.items():
            for _ in range(count):
                made = Site(len(sites), path, self._loop.line, False, True, inside=True)
                sites.append(made)
        try:
            check_sites(sites, {s.of: value_of(s.of, frame) for s in sites})
        except CannotStage:
            del sites[len(sites) - sum(grows.values()) :]
            return False
        return True

    def _has_boxes(self, frame: FrameType) -> bool:
        """Whether objects may be taken apart: at the end of each round, they are read."""
        loop = self._loop
        parts = [n for s in loop.body for n in ast.walk(s)]
        if any(isinstance(n, ast.Continue) for n in parts):
            return False
        tested = names(loop.test).loads if loop.test is not None else set[str]()
        boxes = {n for n in loop.boxed if is_box(value_of(n, frame))}
        return bool(boxes) and not boxes & tested

    def _found(self, frame: FrameType) -> tuple[Program, int]:
        sites, draws = self._loop.sites, self.draws
        for s in sites:  # of a trace before
            s.spec, s.leaves, s.begun, s.rounds = None, [], False, 1
        histories = Histories(sites, self._loop.always)
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
        first, last = list[ast.stmt](), list[ast.stmt]()
        parameters, template = list[str](), list[Any]()
        leaves, slots = copies([*given.varying], empty=True), given.boxes.slot_names
        drawn = list[ast.expr]()
        if given.tuples.parts:
            parameters, template = [TUPLES], [given.tuples]
            head += given.tuples.prologue()
            first, last = given.tuples.around()
        if given.boxes.names:
            boxes = given.boxes
            parameters += [BOXES, *[f".class{k}" for k in range(len(boxes.classes))]]
            template += [boxes, *boxes.classes]
            head += boxes_prologue(boxes)
            first += boxes_begun(boxes)
            last += [*of_methods(self._loop.sites, appended), *boxes_ended(boxes)]
        if draws is not None:
            tables = draws.names()
            first += begun()
            parameters += [DRAWS, *tables]
            template += [draws, *[ARRAY] * len(tables)]
            head += prologue(given.only_read(self._loop), tables)
            leaves += draws.empty()
            drawn = [ended()]
        takes = (*given.names, *parameters, KEPT, ITEMS)
        function = rounds_function(
            self._loop, frame, takes, self._items, head, first, last, slots,
            given.tuples.results(self._loop.carried), drawn,
        )  # fmt: skip
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
        for name in set(self._loop.carried) - self._loop.written:
            if name in given.arrays() and arrays.index(given.place(name)) in written:
                raise CannotStage(f"`{name}` is bound to other arrays, and a function writes it")
        for name in self.draws.used if self.draws is not None else ():
            if arrays.index(given.place(name)) in written:
                raise CannotStage(f"numbers are drawn from `{name}`, which is written")

    def check(self, frame: FrameType) -> None:
        """Refuse functions that read, from the module or by a cell, what the loop changes."""
        changed = self._loop.stored.union(self.given.boxes.names)
        if is_module(frame):
            shared = reads(self.program.functions, self._code) & changed
        else:
            cells = {id(c) for f in self.program.functions for c in f.__closure__ or ()}
            shared = {n for n in changed if id(cell_of(n, frame)) in cells}
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
