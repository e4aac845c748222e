"""Tuples, and objects of dataclasses, that the rounds of a running loop make anew, `s = step(s)`:
programs take their parts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import NDArray, Scalar
from lazynp._promotion._boxes import of_numpy
from lazynp._recorder import StagingRecorder, local
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.transforms.control import CannotStage, Record, closed, fresh, opened, session

TUPLES = ".tuples"  # the function's name of the `Tuples`
_NUMBERS = (int, float, complex)
_MOST = 64  # parts of one tuple
_DEEP = 3


def is_tuple(x: Any) -> bool:
    return type(x) is tuple or isinstance(x, tuple) and hasattr(type(x), "_fields")


def is_made(x: Any) -> bool:
    """Whether rounds may make such a thing anew."""
    return is_tuple(x) or type(closed(x)) is Record


class Tuples:
    """Those of the variables around a loop. parts: arrays and numbers, by the name of a variable
    of the function; key: what must stay as it is; stays: parts that each round leaves alone, by
    name and place.
    """

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.key: list[Any] = []
        self.stays: set[tuple[str, int]] = set()
        self._begun: list[list[Any]] = []
        self._trees: dict[str, Any] = {}
        self._names: dict[str, list[str]] = {}

    def add(self, name: str, value: Any) -> None:
        self._names[name] = []
        self._trees[name] = self._tree(name, value, 0)

    def _tree(self, name: str, x: Any, depth: int) -> Any:
        record = x if depth else closed(x)
        if type(record) is Record:
            self.key.append((record.kind, tuple(record.parts), record.fixed))
            return record, [self._tree(name, y, 1) for y in record.parts.values()]
        if is_tuple(x):
            if len(x) > _MOST or depth > _DEEP:
                raise CannotStage(f"`{name}` is a tuple of many parts")
            self.key.append((type(x), len(x)))
            return type(x), [self._tree(name, y, depth + 1) for y in x]
        x = of_numpy(x)
        if type(x) not in (NDArray, Scalar, *_NUMBERS):
            raise CannotStage(f"`{name}`, a tuple, holds a {type(x).__name__}")
        part = f".part{len(self.parts)}"
        self.parts[part] = x
        self._names[name].append(part)
        return "part", part

    def pack(self, name: str, *parts: Any) -> Any:
        """The tuple, when the function begins."""
        made = _made(self._trees[name], iter(parts))
        return made if is_tuple(made) else fresh(made)

    def begin(self, *values: Any) -> None:
        """A round begins."""
        self._begun = [tree_flatten(closed(v))[0] for v in values]

    def end(self, *values: Any) -> None:
        """A round ends. Each array in a tuple must be a new one, or that which was there."""
        held = [x for leaves in self._begun for x in leaves]
        for name, value, first in zip(self._names, values, self._begun, strict=True):
            leaves = tree_flatten(closed(value))[0]
            for k, x in enumerate(leaves):
                if type(x) is not NDArray:
                    continue
                if k < len(first) and x is first[k]:
                    self.stays.add((name, k))
                elif any(x is y for y in held) or not _is_new(x) or (name, k) in self.stays:
                    raise CannotStage(f"`{name}` gets an array that the round has not made")

    def kept(self, name: str, made: Any, before: Callable[[str], Any]) -> Any:
        """What a program has made of a tuple or object, with the arrays that stay."""
        if name not in self._names:
            return made
        if any(n == name for n, _ in self.stays):
            leaves, tree = tree_flatten(made)
            old = tree_flatten(closed(before(name)))[0]
            pairs = enumerate(zip(leaves, old, strict=True))
            leaves = [y if (name, k) in self.stays else x for k, (x, y) in pairs]
            made = tree_unflatten(tree, leaves)
        record = self._trees[name][0]
        return _object(record, made) if type(record) is Record else made

    def close(self, value: Any) -> Any:
        """What the function gives for an object."""
        return tuple(closed(value).parts.values())

    def results(self, carried: Sequence[str]) -> list[ast.expr]:
        """What the function gives for the variables that it carries."""
        made: list[ast.expr] = []
        for n in carried:
            value: ast.expr = ast.Name(n, ast.Load())
            if n in self._names and not isinstance(self._trees[n][0], type):
                of = ast.Attribute(ast.Name(TUPLES, ast.Load()), ".close", ast.Load())
                value = ast.Call(of, [value], [])
            made.append(value)
        return made

    def around(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Statements at the beginning and at the end of a round."""
        made: list[ast.stmt] = []
        for function in (".begin", ".end"):
            of = ast.Attribute(ast.Name(TUPLES, ast.Load()), function, ast.Load())
            args: list[ast.expr] = [ast.Name(n, ast.Load()) for n in self._names]
            made.append(ast.Expr(ast.Call(of, args, [])))
        return made[:1], made[1:]

    def prologue(self) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for name, parts in self._names.items():
            of = ast.Attribute(ast.Name(TUPLES, ast.Load()), ".pack", ast.Load())
            args: list[ast.expr] = [ast.Name(p, ast.Load()) for p in parts]
            call = ast.Call(of, [ast.Constant(name), *args], [])
            made.append(ast.Assign([ast.Name(name, ast.Store())], call))
        return made


def _made(tree: Any, parts: Any) -> Any:
    kind, inner = tree
    if type(kind) is str:
        return next(parts)
    made = [_made(t, parts) for t in inner]
    if type(kind) is Record:
        return _object(kind, made)
    return tuple(made) if kind is tuple else kind(*made)


def _object(like: Record, parts: Any) -> Any:
    return opened(Record(like.kind, dict(zip(like.parts, parts, strict=True)), like.fixed))


for _name in ("begin", "close", "end", "pack"):
    # the function of the rounds knows them by names that no variable of the user's has
    setattr(Tuples, f".{_name}", getattr(Tuples, _name))


def _is_new(x: Any) -> bool:
    """Whether the round has made this array, and no branch has picked it."""
    recorder = local.recorder
    if not isinstance(recorder, StagingRecorder) or session.pick_of(x) is not None:
        return False
    plain = x._base is None and x._flags is None and x._order is None
    return plain and id(x) not in recorder.handles and recorder.owns(x._node)


def of_ours(x: Any) -> Any:
    """A value with numbers of ours in place of NumPy's; a tuple of its parts for an object."""
    record = closed(x)
    if type(record) is Record:
        return tuple(map(of_ours, record.parts.values()))
    if not is_tuple(x):
        return of_numpy(x)
    made = [of_ours(y) for y in x]
    return tuple(made) if type(x) is tuple else type(x)(*made)
