"""Objects, dicts and lists that the rounds of a running loop read and change.

Each number and array in them is a variable of the program, its *slot*. In the function of the
rounds, stand-ins take the places of the objects. They get the values of the slots at the beginning
of each round, and give them back at its end. After the program, the objects get what has changed.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, deque
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, new_array, new_scalar
from lazynp._node import leaf
from lazynp._promotion._generators import is_generator
from lazynp._promotion._objects import Unread, attributes, bare, is_plain, put
from lazynp._recorder import local
from lazynp._tree import register_pytree_node
from lazynp.transforms.control import CannotStage, place, session, undecided

BOXES = ".boxes"  # the function's name of the `Boxes`
_MOST = 64  # parts of one object
_DEEP = 3
_FIXED = (bool, str, bytes, type(None))
_NUMBERS = (int, float, complex)
_KNOWN = (FunctionType, BuiltinFunctionType, np.ufunc)
_ALONE = 5  # references to a value of one slot: its object's, three of ours, the question's


def of_numpy(x: Any) -> Any:
    """A number of NumPy's own, which functions of Python's numbers give, as one of ours."""
    known = isinstance(x, np.generic) and type(x) is not Scalar
    if not known or x.dtype.kind not in "biufc" or x.dtype.char in "gG":
        return x
    return new_scalar(leaf(x))


def is_box(value: Any) -> bool:
    if type(value) is deque:
        return len(value) == value.maxlen  # each new part takes the place of an old one
    return type(value) in (dict, list) or is_plain(type(value))


class _Dict(dict[Any, Any]):
    """The stand-in of a dict. (It is no tree: arrays in it would count as its variable's.)"""


class _List(list[Any]):
    """The stand-in of a list."""

    def __setitem__(self, k: Any, value: Any) -> None:
        if undecided(k):
            place(self, k, value)
        else:
            super().__setitem__(k, value)


class _Deque:
    """The stand-in of a full deque. level: where the round is traced."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._level: Any = None

    def put(self, items: list[Any], level: Any) -> None:
        self._items, self._level = items, level

    def append(self, value: Any) -> None:
        self._check()
        self._items = [*self._items[1:], value]

    def appendleft(self, value: Any) -> None:
        self._check()
        self._items = [value, *self._items[:-1]]

    def _check(self) -> None:
        if self._level != (session.depth, local.recorder):
            raise CannotStage("a deque changes in a branch, or in a loop within the loop")

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, k: Any) -> Any:
        if type(k) is not int:
            raise CannotStage("a part of a deque at a traced index")
        return self._items[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._items)

    def _refuse(self, *_: Any) -> Any:
        raise CannotStage("it does something else with a deque")

    __getattr__ = __setitem__ = __delitem__ = __contains__ = __add__ = __iadd__ = _refuse
    __mul__ = __imul__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse  # type: ignore
    __hash__ = None  # type: ignore[assignment]


_LISTS = (list, deque)
_STANDING: dict[type, Any] = {dict: _Dict, list: _List, deque: _Deque}
for _kind in _STANDING.values():
    register_pytree_node(_kind, lambda x: ((), id(x)), lambda *_: None)


class _Growing:
    """Stands for a list to which methods append."""

    def __init__(self, boxes: Boxes, path: str) -> None:
        self._boxes, self._path = boxes, path

    def append(self, value: Any) -> None:
        boxes = self._boxes
        if boxes.level != (session.depth, local.recorder):
            raise CannotStage(
                "a method appends to a list in a branch, or in a loop within the loop"
            )
        boxes.appended.setdefault(self._path, []).append(value)

    def _refuse(self, *_: Any) -> Any:
        raise CannotStage("it reads a list to which a method appends")

    __getattr__ = __getitem__ = __setitem__ = __delitem__ = __iter__ = __len__ = _refuse
    __contains__ = __bool__ = __add__ = __radd__ = __iadd__ = __mul__ = __imul__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = _refuse  # type: ignore
    __hash__ = None  # type: ignore[assignment]


class _Box:
    """An object. path: what the source would call it. parts: by key, a slot's number, a fixed
    value, or another box.
    """

    def __init__(self, of: Any, path: str) -> None:
        self.of, self.path = of, path
        self.parts: list[tuple[Any, str, Any]] = []

    def items(self) -> list[tuple[Any, Any]]:
        return items_of(self.of)


def items_of(x: Any) -> list[tuple[Any, Any]]:
    if isinstance(x, dict):
        return list(x.items())
    if isinstance(x, (list, deque, _Deque)):
        return list(enumerate(x))
    return list((attributes(x) or {}).items())


class Boxes:
    """Those of the variables around a loop. names: of the variables; slots: where each value is;
    key: what must stay as it is.
    """

    def __init__(
        self, moving: frozenset[Any] = frozenset(), growing: frozenset[str] = frozenset(),
        grown: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """moving: the places of numbers that rounds change; others are part of the program.
        growing: names of attributes, or keys, of lists that only Python's rounds touch. grown:
        paths of lists to which methods append.
        """
        self._growing, self._grown = growing, grown
        self.grows: dict[str, int] = {}  # what a trace has found: how often, by path
        self.appended: dict[str, list[Any]] = {}  # in this round
        self._written = set[int]()  # slots whose arrays the rounds write in place, or move
        self.level: Any = None  # where the round is traced
        self.moving, self.moves = moving, set[Any]()  # those that a trace has found
        self.names: list[str] = []
        self.slots: list[tuple[Any, Any]] = []
        self.values: list[Any] = []
        self.key: list[Any] = []
        self.classes: list[type] = []
        self.shared: set[str] = set()
        self._roots: list[_Box] = []
        self._boxes: list[_Box] = []
        self._made: list[Any] = []
        self._given: list[tuple[Any, Any]] = []
        self._nodes: list[Any] = []

    def add(self, name: str, value: Any) -> None:
        self.names.append(name)
        self._roots.append(self._box(value, name, 0))

    def _box(self, x: Any, path: str, depth: int) -> _Box:
        if any(b.of is x for b in self._boxes):
            raise CannotStage("an object has two names")
        box = _Box(x, path)
        self._boxes.append(box)
        items = box.items()
        if len(items) > _MOST or depth > _DEEP:
            raise CannotStage("it uses an object of many parts")
        if type(x) not in (dict, *_LISTS) and type(x) not in self.classes:
            self.classes.append(type(x))
        if type(x) is dict and not all(type(k) in (str, int) for k, _ in items):
            raise CannotStage("it uses a dict with strange keys")
        self.key.append((type(x), tuple([k for k, _ in items])))
        number = len(self._boxes) - 1
        for k, value in items:
            moves = (number, k) in self.moving
            inner = f"{path}[{k!r}]" if type(x) in (dict, *_LISTS) else f"{path}.{k}"
            box.parts.append((k, *self._part(x, k, value, inner, depth, moves)))
        return box

    def _part(
        self, x: Any, k: Any, value: Any, path: str, depth: int, moves: bool
    ) -> tuple[str, Any]:
        if path in self._grown and type(value) is list:
            self.key.append((list, "grows"))
            return "fixed", _Growing(self, path)
        value = of_numpy(value)
        kind = type(value)
        plain = kind is Scalar or kind is NDArray and _is_plain_array(value)
        if plain or moves and kind in _NUMBERS:
            if kind is NDArray and any(v is value for v in self.values):
                raise CannotStage("an array is a part of two objects")
            self.slots.append((x, k))
            self.values.append(value)
            self.key.append(kind if kind in _NUMBERS else (kind, value.aval))
            return "slot", len(self.slots) - 1
        if _is_fixed(value):
            self.key.append((kind, repr(value)))
            return "fixed", value
        if isinstance(value, _KNOWN) or is_generator(value):
            self.key.append((kind, id(value)))
            return "fixed", value
        grows = type(value) is list and (not _is_short(value) or k in self._growing)
        if is_box(value) and not grows:
            return "box", self._box(value, path, depth + 1)
        return "fixed", _Growing(self, path) if type(value) is list else Unread()

    def hold(self, lists: list[Any]) -> bool:
        """Whether one of these lists is among the objects."""
        return any(b.of is x for b in self._boxes for x in lists)

    @property
    def objects(self) -> list[Any]:
        return [b.of for b in self._boxes]

    @property
    def slot_names(self) -> list[str]:
        return [f".slot{k}" for k in range(len(self.slots))]

    @property
    def unwritten(self) -> set[str]:
        """The slots of arrays that nothing writes or moves: who else refers to these sees them as
        they are.
        """
        return {n for k, n in enumerate(self.slot_names) if k not in self._written}

    def find_shared(self, counts: Counter[int]) -> None:
        """The slots of arrays to which something else refers. counts: references, by id, of
        variables that the next round binds anew.
        """
        for k in range(len(self.values)):
            if type(self.values[k]) is NDArray:
                x, key = self.slots[k]
                value = _get(x, key)
                if sys.getrefcount(value) > _ALONE + counts[id(value)]:
                    self.shared.add(f".slot{k}")
                del value
        self.values = []  # a program keeps this object

    def now(self) -> list[Any]:
        """The values of the slots."""
        return [_get(x, k) for x, k in self.slots]

    def put(self, values: list[Any]) -> None:
        """Doing it again does nothing more."""
        for (x, k), value in zip(self.slots, values, strict=True):
            if _get(x, k) is not value:
                _set(x, k, value)

    # -- while the rounds are traced ---------------------------------------------------------------

    def root(self, number: int) -> Any:
        """The stand-in of a variable, when the function begins."""
        if not number:
            self._made = []
        return self._standing(self._roots[number])

    def _standing(self, box: _Box) -> Any:
        kind = type(box.of)
        made: Any = _STANDING[kind]() if kind in _STANDING else bare(kind)
        inner = {id(b): self._standing(b) for _, k, b in box.parts if k == "box"}
        self._made.append((box, made, inner))
        return made

    def load(self, *values: Any) -> None:
        """A round begins. The stand-ins get handles of their own: who writes these in place, binds
        the slot anew.
        """
        self._given = [(x, new_array(x._read())) if type(x) is NDArray else (x, x) for x in values]
        self.appended, self.level = {}, (session.depth, local.recorder)
        self._nodes = [h._node if type(h) is NDArray else None for _, h in self._given]
        values = tuple([h for _, h in self._given])
        for box, made, inner in self._made:
            parts = [
                (k, values[v] if kind == "slot" else inner[id(v)] if kind == "box" else v)
                for k, kind, v in box.parts
            ]
            if isinstance(made, dict):
                made.clear()
                made.update(parts)
            elif isinstance(made, list):
                made[:] = [v for _, v in parts]
            elif isinstance(made, _Deque):
                made.put([v for _, v in parts], self.level)
            else:
                for k in attributes(made) or ():
                    if all(k != name for name, _ in parts):
                        raise CannotStage(f"it sets the new attribute `{k}`")
                for k, v in parts:
                    put(made, k, v)
            session.fresh[id(made)] = made, session.depth

    def taken(self, path: str) -> Any:
        """What a method has appended to a list, one by one."""
        values = self.appended.get(path)
        if not values:
            raise CannotStage("a method appends to a list in some rounds only")
        return values.pop(0)

    def read(self) -> Any:
        """A round ends."""
        found: dict[int, Any] = {}
        numbers = {id(b): n for n, b in enumerate(self._boxes)}
        for box, made, inner in self._made:
            items = items_of(made)
            if type(made) is _List and len(made) > len(box.parts):
                self.grows[box.path] = len(made) - len(box.parts)
            if [k for k, _ in items] != [k for k, _, _ in box.parts]:
                raise CannotStage("it adds something to an object, or deletes it")
            for (k, kind, v), (_, value) in zip(box.parts, items, strict=True):
                if kind == "slot":
                    found[v] = value
                elif value is not (inner[id(v)] if kind == "box" else v):
                    if type(v) not in _NUMBERS:
                        raise CannotStage(f"it changes `{k}` of an object, no number or array")
                    self.moves.add((numbers[id(box)], k))
        for path, values in self.appended.items():
            if values:  # the function of the rounds has not taken them
                self.grows[path] = len(values)
        if self.grows:
            raise CannotStage("a method appends to a list")
        if self.moves:
            raise CannotStage("it changes numbers of an object")
        out: list[Any] = []
        for k, (x, handle) in enumerate(self._given):
            if type(handle) is NDArray:
                moved = any(v is handle for j, v in found.items() if j != k)
                if moved or handle._node is not self._nodes[k]:
                    self._written.add(k)
            same = found[k] is handle and (handle is x or handle._node is self._nodes[k])
            out.append(x if same else found[k])
        return tuple(out)


def _is_plain_array(x: Any) -> bool:
    return x._base is None and x._flags is None and x._order is None and x.dtype.isnative


def _is_fixed(x: Any) -> bool:
    if type(x) is tuple:
        return len(x) <= _MOST and all(map(_is_fixed, x))
    return type(x) in _FIXED or type(x) in _NUMBERS


def _is_short(x: list[Any]) -> bool:
    return len(x) <= _MOST


def _get(x: Any, k: Any) -> Any:
    return x[k] if type(x) in (dict, *_LISTS) else getattr(x, k)


def _set(x: Any, k: Any, value: Any) -> None:
    if type(x) in (dict, *_LISTS):
        x[k] = value
    else:
        put(x, k, value)


for _name in ("load", "read", "root", "taken"):
    # the function of the rounds knows them by names that no variable of the user's has
    setattr(Boxes, f".{_name}", getattr(Boxes, _name))


def growing(statements: list[ast.stmt]) -> frozenset[str]:
    """Names of attributes, and keys, of lists that the statements append to."""
    found: set[str] = set()
    for n in (n for s in statements for n in ast.walk(s)):
        if isinstance(n, ast.Attribute) and n.attr in ("append", "extend"):
            of = n.value
            if isinstance(of, ast.Attribute):
                found.add(of.attr)
            elif isinstance(of, ast.Subscript) and isinstance(of.slice, ast.Constant):
                found.add(str(of.slice.value))
    return frozenset(found)


# -- the source ------------------------------------------------------------------------------------


def prologue(boxes: Boxes) -> Iterator[ast.stmt]:
    for k, name in enumerate(boxes.names):
        yield ast.Assign([ast.Name(name, ast.Store())], _call("root", ast.Constant(k)))


def begun(boxes: Boxes) -> list[ast.stmt]:
    """Statements at the beginning of a round."""
    return [ast.Expr(_call("load", *[ast.Name(n, ast.Load()) for n in boxes.slot_names]))]


def ended(boxes: Boxes) -> list[ast.stmt]:
    """Statements at the end of a round."""
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in boxes.slot_names]
    return [ast.Assign([ast.Tuple(targets, ast.Store())], _call("read"))]


def appended(path: str) -> ast.expr:
    return _call("taken", ast.Constant(path))


def _call(function: str, *args: ast.expr) -> ast.expr:
    of = ast.Attribute(ast.Name(BOXES, ast.Load()), f".{function}", ast.Load())
    return ast.Call(of, list(args), [])
