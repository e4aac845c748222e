"""Arguments of a jitted function: the key of a trace, and the operands that the arguments become.

The key refers to arrays by owner, so it shows which arguments share memory. It does not contain the
start of a view. A function called with one slice after another is traced for the first slice, and
then once more with the starts as operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, new_array, new_view
from lazynp._avals import SCALAR_DTYPES, Aval, aval_of, short_name
from lazynp._node import Node, leaf
from lazynp._recorder import local
from lazynp._steps import Basic, Slice
from lazynp._strides import dense_order, writeable
from lazynp._tree import flatten_in_order
from lazynp.transforms._axes import Names
from lazynp.transforms._stack import check_leaf
from lazynp.transforms._stage import ShapeDtype, weak_aval

START = aval_of((), np.dtype(np.int64))


def _meanings(path: Sequence[Any]) -> list[Any]:
    return [step.meaning if isinstance(step, Basic) else step for step in path]


def _key_of_path(steps: Sequence[Any]) -> tuple[Any, ...]:
    """The part of the key for a view's path. Slices that mean the same are equal."""
    return tuple([
        ("Slice" if isinstance(step, Slice) else type(step).__name__, _frozen(vars(step)))
        for step in steps
    ])  # fmt: skip


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple([(k, _frozen(v)) for k, v in value.items() if k not in _APART])
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value if not isinstance(value, slice) else (value.start, value.stop, value.step)


_APART = ("ops", "index", "starts")


class Arguments:
    """The dynamic arguments, flattened."""

    __slots__ = (
        "tree",
        "leaves",
        "structure",
        "owners",
        "values",
        "owned",
        "key",
        "starts",
        "names",
        "of_owners",
    )

    def __init__(self, tree: Any, what: str, names: Sequence[Names] = ()) -> None:
        """names: of the axes of each leaf, where sizes are not to be known."""
        self.tree = tree  # of the caller's own containers
        self.leaves, self.structure, orders = flatten_in_order(tree)
        self.owners: list[Array] = []
        self.values: list[Any] = []  # not an array of ours, or immutable, or on the host
        self.starts: list[Any] = []  # of views: Python ints, or nodes if traced
        self.owned = [type(x) is NDArray and x.dtype.isnative for x in self.leaves]
        self.names = list(names) if any(names) and not self._shared(names) else []
        self.of_owners: list[int] = []  # the first leaf of each owner, where there are names
        key: list[Any] = [(self.structure, orders) if orders else self.structure]
        if self.names:
            for i, (x, own) in enumerate(zip(self.leaves, self.names, strict=True)):
                self.owned[i] = self.owned[i] and not (own and x._base is not None)
                key.append(self._enter_named(i, x, own, what))
        else:
            for x, owned in zip(self.leaves, self.owned):
                key.append(self._enter(x, owned, what))
        self.key = tuple(key)

    def _shared(self, names: Sequence[Names]) -> bool:
        """Whether a view with names shares memory with another argument. It then is traced as it
        is.
        """
        owners = [x._owner() for x in self.leaves if type(x) is NDArray]
        return any(
            own and type(x) is NDArray and x._base is not None
            and sum(o is x._owner() for o in owners) > 1
            for x, own in zip(self.leaves, names, strict=True)
        )  # fmt: skip

    def _enter_named(self, i: int, leaf: Any, names: Names, what: str) -> Any:
        """The key of a leaf, with names in place of sizes. A view stands for itself: its owner has
        a shape of its own.
        """
        x: Any = leaf
        before = len(self.owners)
        if not names:
            entry = self._enter(x, self.owned[i], what)
        else:
            aval = leaf.aval if isinstance(leaf, ShapeDtype) else weak_aval(leaf)
            shape = tuple([n if m is None else m for n, m in zip(aval.shape, names, strict=True)])
            if self.owned[i]:
                flags = tuple((x._flags or {}).items())
                entry = self._owner(x), (shape, aval.dtype), flags, x._order
            else:
                self._enter(x, False, what)
                entry = "array", (shape, aval.dtype, aval.weak), type(x) is NDArray
        if len(self.owners) > before:
            self.of_owners.append(i)
        return entry

    def _enter(self, x: Any, owned: bool, what: str) -> Any:
        t = type(x)
        if owned:
            flags = x._flags
            if x._base is None:
                if flags is None and x._order is None:
                    return self._owner(x), x.aval
                return self._owner(x), x.aval, tuple((flags or {}).items()), x._order
            owner, steps = x._owner(), _meanings(x._short_path())
            for step in steps:
                self.starts += getattr(step, "starts", ())
            return self._owner(owner), owner.aval, owner._order, _key_of_path(steps), writeable(x)
        if t in SCALAR_DTYPES:
            self.values.append(x)
            return t
        if not isinstance(x, (Scalar, ShapeDtype)):
            check_leaf(x, what)
        self.values.append(x)
        if isinstance(x, ShapeDtype):
            return "array", x.aval
        if t is Scalar:
            return t, x.aval
        order = dense_order(x) if isinstance(x, np.ndarray) else None
        return ("array", weak_aval(x)) if order is None else ("array", weak_aval(x), order)

    def _owner(self, owner: Array) -> int:
        for i, known in enumerate(self.owners):
            if known is owner:
                return i
        self.owners.append(owner)
        return len(self.owners) - 1

    @property
    def places(self) -> tuple[int, ...] | None:
        """Where the views begin; None if unknown."""
        return None if any([type(s) is list for s in self.starts]) else tuple(self.starts)

    @property
    def avals(self) -> list[Aval]:
        return [x.aval if isinstance(x, ShapeDtype) else weak_aval(x) for x in self.leaves]

    def start_operands(self) -> list[Array]:
        return [new_array(s if type(s) is list else leaf(np.int64(s))) for s in self.starts]

    def moved(self, nodes: Sequence[Node]) -> list[Any]:
        """The leaves, with views that begin at the places in these nodes."""
        rest, made = iter(nodes), {}
        leaves = []
        for x, owned in zip(self.leaves, self.owned):
            if owned and x._base is not None:
                view = _moved_view(x, rest)
                x = made.setdefault(id(x), view)  # an argument given twice is one handle
            leaves.append(x)
        return leaves


def _moved_view(x: Array, starts: Iterator[Node]) -> Array:
    owner = x._owner()
    node, path = owner._node, []
    for step in _meanings(x._path):
        if isinstance(step, Slice):
            places: Any = tuple([next(starts) for _ in step.starts])
            step = step.moved(places)
        node = step.get(node)
        path.append(step)
    view = new_view(owner, tuple(path), node, x._order)
    view._flags = x._flags
    return view


def fixed(path: Sequence[Any], starts: Sequence[Node]) -> Sequence[Any] | None:
    """The steps as every call has them, if apart from these starts and sizes, no index is traced;
    else None. A start that is a size is that size in them: see `with_numbers`.
    """
    sizes = getattr(local.recorder, "sizes", None)
    known: dict[int, Any] = {} if sizes is None else sizes.by_node
    steps = path if sizes is None else tuple(_meanings(path))
    found = []
    for step in steps:
        places = getattr(step, "starts", ())
        settled = tuple([known.get(id(s), s) if type(s) is list else s for s in places])
        if any(type(s) is list and not any(s is n for n in starts) for s in settled):
            return None
        if settled != places:
            step = type(step)(step.index, step.params, settled)
        found.append(step)
    return path if sizes is None else tuple(found)


def at_places(path: Sequence[Any], starts: Sequence[Node], places: Sequence[Any]) -> Any:
    """The steps with these places in place of the starts."""
    if not starts:
        return path

    def place(s: Any) -> Any:
        return next((p for n, p in zip(starts, places, strict=True) if n is s), s)

    return tuple([
        step.moved(tuple(map(place, step.starts))) if isinstance(step, Slice) else step
        for step in _meanings(path)
    ])  # fmt: skip


# -- what was new ----------------------------------------------------------------------------------


def difference(key: Any, last: Any) -> str:
    """Describe what these arguments have that those of the last trace did not."""
    if key[1] != last[1]:
        return f"static arguments {key[1]}"
    if key[0][0] != last[0][0]:
        return "arguments of another structure"
    new = [
        f"leaf {i}: {_said(a)} (was {_said(b)})"
        for i, (a, b) in enumerate(zip(key[0][1:], last[0][1:]))
        if a != b
    ]
    if new:
        return ", ".join(new)
    return "views begin elsewhere" if key[2] != last[2] else "a captured array changed its type"


def _said(entry: Any) -> str:
    if isinstance(entry, type):
        return f"a Python {entry.__name__}"
    if type(entry[1]) is tuple:  # names in place of sizes
        shape, dtype, *_ = entry[1]
        return f"{short_name(dtype)}[{','.join(map(str, shape))}]" + (
            f" of owner {entry[0]}" if isinstance(entry[0], int) else ""
        )
    if isinstance(entry[0], int):
        shared = f" of owner {entry[0]}"
        if len(entry) == 2:
            return f"{entry[1]}{shared}"
        if len(entry) == 5:
            return f"{entry[1]}{shared}, a view"
        order = "" if entry[3] is None else f" in the order of axes {entry[3]}"
        return f"{entry[1]}{shared}{order}, {dict(entry[2])}"
    return str(entry[1]) if entry[0] == "array" else f"a scalar {entry[1]}"
