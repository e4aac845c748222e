"""The lists get what Python would have put there: each value of the type that the probe has found
(`_histories`), an array as an array of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array
from lazynp._collector import uncollected
from lazynp._node import leaf
from lazynp._promotion._agreement import agree
from lazynp._promotion._histories import Site
from lazynp._promotion._joins import block_of, check_joins, longer, same
from lazynp._promotion._paths import joined
from lazynp._promotion._row_views import shown
from lazynp.transforms.control import CannotStage


class Changes:
    """What a program has left for the lists. given: rows and counts, as the function gives them.
    objects: the lists by name.
    """

    def __init__(self, sites: list[Site], given: list[Any], objects: dict[str, Any]) -> None:
        self._lists: list[tuple[list[Any], list[Any]]] = []  # and what to append
        self._sets: list[tuple[list[Any], int, Any]] = []
        self._sites, self._appended = sites, dict[str, list[Any]]()
        self._same: dict[str, bool] = {}
        self.longer = dict[str, Any]()  # arrays, by name, with what the rounds join to them
        self._blocks = dict[str, Any]()
        for name, of in objects.items():
            if type(of) is NDArray:
                rows = [_rows(s, given) for s in sites if s.of == name]
                block = block_of(of, [r for (r,) in rows])
                self._blocks[name], self.longer[name] = (of, block), longer(of, block)
                continue
            ours = [(s, _values(s, given)) for s in sites if s.of == name]
            if len(ours) > 1 and any(s.spec[0] == "picked" for s, _ in ours):
                raise CannotStage(f"`{name}` gets arrays that branches have picked, and others")
            self._same[name] = _begins_with_same(ours[0][0], given) if ours else False
            appended = _merged([(s, v) for s, v in ours if not s.sets])
            self._appended[name] = appended
            self._lists.append((of, appended))
            for k in range(max([len(v) for s, v in ours if s.sets], default=0)):
                for s, values in ours:
                    if s.sets and k < len(values):
                        self._sets.append((of, *values[k]))
        for of, i, _ in self._sets:
            if type(i) is not int or not -len(of) <= i < len(of):
                raise CannotStage("an index is out of the list's bounds")
        self._before = [len(of) for of, _ in self._lists]

    def keep(self, carried: Sequence[str], values: list[Any], begin: Callable[[str], Any]) -> None:
        """Arrays that are variables as well: the objects themselves. values: of what is carried,
        after the rounds. begin: gives a variable from before.
        """
        for name, appended in self._appended.items():
            ours = [s for s in self._sites if s.of == name]
            for k, s in enumerate(ours):
                if not appended and s.kept and not s.sure and s.name in carried:
                    values[carried.index(s.name)] = begin(s.name)
                if appended and s.begun:
                    appended[k] = begin(s.name)
                if appended and s.spec[0] == "picked":  # the first ones are the object from before
                    shared = [x is appended[0] for x in appended] if self._same[name] else []
                    count = shared.index(False) if False in shared else len(shared)
                    appended[:count] = [begin(s.name)] * count
                    values[carried.index(s.name)] = appended[-1]
                if appended and s.spec[0] == "view" and s.holder in carried:
                    array = values[carried.index(s.holder)]
                    appended[k - len(ours)] = shown(array, s.spec[3])
                if appended and s.kept and s.spec[0] == "array" and s.name in carried:
                    appended[k - len(ours)] = values[carried.index(s.name)]

    def apply(self) -> None:
        """Doing it again does nothing more."""
        for (of, values), n in zip(self._lists, self._before):
            of[n:] = values
        for of, i, value in self._sets:
            of[i] = value

    def agree(self, lengths: dict[str, int]) -> bool:
        """Whether Python has left the same in the lists. lengths: those before."""
        if not all(agree(*same(b, of, lengths[n])) for n, (of, b) in self._blocks.items()):
            return False
        rest = [n for name, n in lengths.items() if name not in self._blocks]
        for (of, values), n in zip(self._lists, rest):
            if not agree(values, of[n:]):
                return False
        last = {(id(of), i % len(of)): (of, i, value) for of, i, value in self._sets}
        return all(agree(value, of[i]) for of, i, value in last.values())


def check_sites(sites: list[Site], objects: dict[str, Any]) -> None:
    """Values of several sites must come in Python's order. objects: the lists by name."""
    if len({id(of) for of in objects.values()}) < len(objects):
        raise CannotStage("a list that grows has two names")
    for name, of in objects.items():
        joining = [s for s in sites if s.of == name and joined(s.at)]
        if type(of) is not (NDArray if joining else list):
            raise CannotStage(f"`{name}` is no {'array' if joining else 'list'} any longer")
        if joining:
            check_joins(name, of, joining)
    for name in {s.of for s in sites}:
        ours = [s for s in sites if s.of == name]
        if len(ours) > 1 and (not all(s.sure for s in ours) or len({s.sets for s in ours}) > 1):
            raise CannotStage(f"`{name}` is changed in several branches")


def _merged(parts: list[tuple[Site, list[Any]]]) -> list[Any]:
    if len(parts) == 1:
        return parts[0][1]
    return [v for round_ in zip(*[values for _, values in parts], strict=True) for v in round_]


def _rows(site: Site, given: list[Any]) -> list[Any]:
    """What the rounds have left at this place: arrays with a row for each of them."""
    found, count = given[2 * site.number], int(given[2 * site.number + 1])
    if any(count >= len(r) for r in found):
        raise CannotStage(f"line {site.line}: more rounds change `{site.of}` than was expected")
    return [np.asarray(r)[:count] for r in found]


def _values(site: Site, given: list[Any]) -> list[Any]:
    columns, count = iter(_rows(site, given)), int(given[2 * site.number + 1])
    with uncollected():
        return _column(site.spec, columns, count)


def _column(spec: Any, columns: Any, count: int) -> list[Any]:
    """The values of so many rounds."""
    kind = spec[0]
    if kind == "fixed":
        return [spec[1]] * count
    if kind in (tuple, list, dict):
        parts = [_column(inner, columns, count) for inner in spec[1]]
        make: Callable[[Any], Any] = kind
        if kind is dict:
            make = lambda values: dict(zip(spec[2], values))  # noqa: E731
        return [make(p) for p in zip(*parts)] if parts else [make(()) for _ in range(count)]
    rows = next(columns)
    if kind == "picked":
        return _picked(rows, next(columns).tolist())
    if kind == "number":
        return rows.tolist()
    if kind == "scalar":
        return list(new_array(leaf(rows)))  # in C
    made = [new_array(leaf(np.array(row))) for row in rows]
    return [shown(x, spec[3]) for x in made] if kind == "view" else made


def _picked(rows: Any, same: list[bool]) -> list[Any]:
    """Arrays; the same object again, where the round has left it."""
    made: list[Any] = []
    for row, again in zip(rows, same, strict=True):
        made.append(made[-1] if again and made else new_array(leaf(np.array(row))))
    return made


def _begins_with_same(site: Site, given: list[Any]) -> bool:
    """Whether the first round has appended the array that was there before."""
    if site.spec[0] != "picked" or not int(given[2 * site.number + 1]):
        return False
    return bool(np.asarray(given[2 * site.number][-1])[0])
