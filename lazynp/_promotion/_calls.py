"""A call of a transformed function, taken apart: the function, and what it is made of, is an input.

The function to differentiate is often made anew for each call, `grad(lambda w: loss(w, batch))(w)`.
So functions of the user's are known by their code. Their variables, defaults and `self` are taken
apart like arguments. What a program takes here it only reads: lists and dicts are rebuilt for each
trace, and NumPy's arrays are inputs.
"""

from __future__ import annotations

import functools
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar
from lazynp._promotion._given import Given, Path
from lazynp._promotion._template import Again, NotTaken, Spec, Template
from lazynp.functions.functional import adopt
from lazynp.transforms._recipes import Recipe, recipe_of
from lazynp.transforms.control import PURE, is_users, plain_of, wrappers

_MOST = 256  # parts of a list or dict
_DEEP = 6  # functions in functions
_OWN = {".promoted"}  # of the dict of a function


class Call(Given):
    """A call of a transformed function; its first argument is the function's recipe."""

    __slots__ = ("_inside",)

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: Any) -> None:
        self._inside: list[int] = []  # what is being taken apart, by id
        super().__init__(None, args, kwargs, numbers)

    def _variables(self, function: Any) -> Spec:
        """Global names that are bound anew between calls."""
        return tuple([
            (i, name, self._keep(scope), self._global(scope, name, ("global", i, name)))
            for (i, name), scope in self._numbers.scopes.items()
        ])  # fmt: skip

    def _global(self, scope: dict[str, Any], name: str, path: Path) -> Spec:
        if name not in scope:
            raise NotTaken("a name that is gone")
        return self._enter(scope[name], path, 0)

    def _enter(self, x: Any, path: Path, depth: int) -> Spec:
        t = type(x)
        if t is NDArray or t is Scalar:
            return self._array(x)
        if t is list or t is dict:
            return self._rebuilt(x, path, depth)
        if t is np.ndarray or isinstance(x, np.inexact):
            return self._numpys(x)
        if t is ModuleType and x.__name__.partition(".")[0] in PURE:
            return "fixed", x, self._keep(x)
        if t is Recipe:
            return self._recipe(x, path, depth)
        if t is FunctionType:
            return self._function(x, path, depth)
        if t is functools.partial:
            parts = self._enter((x.func, x.args, x.keywords), path, depth)
            return "partial", parts
        return super()._enter(x, path, depth)

    def _reads(self, name: str) -> bool:
        return True

    def _rebuilt(self, x: Any, path: Path, depth: int) -> Spec:
        if len(x) > _MOST or depth > _DEEP:
            raise NotTaken("a large list or dict")
        if id(x) in self._inside:
            raise NotTaken("a list that contains itself")
        known = self._known.get(id(x))
        if known is not None:  # another name of it
            return known
        self._inside.append(id(x))
        try:
            if type(x) is dict and not all(type(k) in (str, int) for k in x):
                raise NotTaken("a dict with strange keys")
            items = x.items() if type(x) is dict else enumerate(x)
            parts = [self._enter(y, (*path, k), depth + 1) for k, y in items]
        finally:
            self._inside.pop()
        names = tuple(x) if type(x) is dict else ()
        self._known[id(x)] = spec = (type(x).__name__, len(self._known), names, *parts)
        return spec

    def _function(self, x: FunctionType, path: Path, depth: int) -> Spec:
        """A function, by its code; by its identity, if a variable of it cannot be taken."""
        if id(x) in self._inside or len(self._inside) > _DEEP:
            raise NotTaken("a function that refers to itself")
        recipe, plain = recipe_of(x), plain_of(x)
        if recipe is not None:
            return self._recipe(recipe, path, depth)
        if x.__code__ in wrappers:
            return "adopted", self._enter(x.__wrapped__, (*path, "adopted"), depth)
        self._inside.append(id(x))
        try:
            found = None
            if is_users(plain.__code__) and not x.__dict__.keys() - _OWN:
                found = self._attempt(lambda: self._by_code(plain, path, depth))
            return super()._enter(x, path, depth) if found is None else found
        finally:
            self._inside.pop()

    def _recipe(self, x: Recipe, path: Path, depth: int) -> Spec:
        return "made", x.maker, x.options, x.moving, self._enter(x.function, (*path, "f"), depth)

    def _by_code(self, x: FunctionType, path: Path, depth: int) -> Spec:
        values = [cell.cell_contents for cell in x.__closure__ or () if not _is_empty(cell)]
        if len(values) != len(x.__code__.co_freevars):
            raise NotTaken("a variable that is not bound")
        named = x.__kwdefaults__ or {}
        parts = [
            self._enter(v, (*path, kind, i), depth)
            for kind, found in (
                ("variable", values), ("default", x.__defaults__ or ()), ("named", named.values())
            )
            for i, v in enumerate(found)
        ]  # fmt: skip
        bare = FunctionType(
            x.__code__, x.__globals__, x.__name__, None, tuple([CellType() for _ in values])
        )
        bare.__module__, bare.__qualname__ = x.__module__, x.__qualname__
        counts = len(values), len(x.__defaults__ or ()), tuple(named)
        return "function", x.__code__, id(x.__globals__), counts, self._keep(bare), *parts


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class AgainCall(Again):
    """A call like a given one, with functions made anew."""

    def __init__(self, given: Template, function: Any, leaves: list[Any]) -> None:
        self._rebuilts: dict[int, Any] = {}  # lists and dicts, each once, by number
        super().__init__(given, function, leaves)

    def _bind(self, given: Template, function: Any) -> None:
        for i, name, place, spec in given.closure:
            scope = self.scopes.get(i)
            if scope is None:
                scope = self.scopes[i] = dict(given.fixed[place])
            scope[name] = self._made(spec)

    def _made(self, spec: Spec) -> Any:
        kind = spec[0]
        if kind == "list" or kind == "dict":
            return self._rebuilt(spec)
        if kind == "partial":
            function, args, named = self._made(spec[1])
            return functools.partial(function, *args, **named)
        if kind == "adopted":
            return adopt(self._made(spec[1]))
        if kind == "made":
            _, maker, options, _, inner = spec
            return maker(self._made(inner), *options)
        return self._function(spec) if kind == "function" else super()._made(spec)

    def _rebuilt(self, spec: Spec) -> Any:
        kind, number, names, *parts = spec
        found = self._rebuilts.get(number)
        if found is None:
            made = [self._made(s) for s in parts]
            found = made if kind == "list" else dict(zip(names, made, strict=True))
            self._rebuilts[number] = found
        return found

    def _function(self, spec: Spec) -> FunctionType:
        _, code, _, (variables, defaults, names), place, *parts = spec
        values = [self._made(s) for s in parts]
        cells = tuple(map(CellType, values[:variables]))
        for cell, value in zip(cells, values, strict=False):
            self.cells[id(cell)] = cell
            self.bound.append((cell, value))
        bare = self._given.fixed[place]
        rest = values[variables:]
        made = FunctionType(
            code, bare.__globals__, bare.__name__, tuple(rest[:defaults]) or None, cells
        )
        made.__kwdefaults__ = dict(zip(names, rest[defaults:], strict=True)) or None
        made.__module__, made.__qualname__ = bare.__module__, bare.__qualname__
        return made

    @property
    def rebound(self) -> bool:
        """Whether a function has bound a variable of a function around it."""
        return any(_is_empty(cell) or cell.cell_contents is not v for cell, v in self.bound)
