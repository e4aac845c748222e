"""How a loop's variables start that have no value yet, or get another type or shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._extents import surely
from lazynp._sizes import is_size, sized
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise
from lazynp.transforms._stack import argument_node, zeros
from lazynp.transforms.control._joining import check_narrowed
from lazynp.transforms.control._state import Maybe, numeric, user_line
from lazynp.transforms.control._wide import as_traced


class Blank:
    """A variable without a value yet: its type."""

    def __init__(self, tree: Any, avals: list[Aval]) -> None:
        self.tree, self.avals = tree, avals


class Recast:
    """A variable whose type the body has found. It is converted outside of the body's trace."""

    def __init__(
        self, value: Any, dtypes: list[np.dtype[Any] | None], weak: Sequence[bool]
    ) -> None:
        """weak: which stay numbers of Python's."""
        self.value, self.dtypes, self.weak = value, dtypes, weak


class Enlarged:
    """An array whose shape the body changes. It gets its window outside of the body's trace."""

    def __init__(self, value: Any, window: Any) -> None:
        self.value, self.window = value, window


class Read:
    """What this place holds. It is read outside of the body's trace."""

    def __init__(self, place: Any) -> None:
        self.place = place


class Numbered:
    """A size that the rounds change. It becomes a number outside of the body's trace."""

    def __init__(self, value: Any) -> None:
        self.value = value


def numbered(v: Any) -> Any:
    """The value with numbers in place of sizes, and of what int64 does not hold."""
    leaves, tree = tree_flatten(v)
    made = list(map(as_traced, leaves))
    changed = any(x is not y for x, y in zip(leaves, made, strict=True))
    return tree_unflatten(tree, made) if changed else v


def keeps_sizes(start: Any, v: Any) -> bool | None:
    """Whether a variable that held sizes holds the same; None: these are numbers that change."""
    first, tree_first = tree_flatten(start)
    leaves, tree = tree_flatten(v)
    if not sized(first) or tree != tree_first:
        return False
    if all(x is y or is_size(x) and surely(x == y) for x, y in zip(first, leaves, strict=True)):
        return True
    return None if all(is_size(x) or numeric(x) for x in [*first, *leaves]) else False


def cast(x: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    array = new_array(argument_node(x))
    made = elementwise.convert(array, dtype=dtype, weak=weak)
    if weak:
        return new_scalar(made._read())
    return made if type(x) is NDArray else made[()]


def _recast(x: Any, dtype: np.dtype[Any], weak: bool) -> Any:
    wide = weak and dtype.kind == "u"
    if wide:
        check_narrowed(x, dtype, int(user_line()))
    return cast(x, dtype, wide)


def started(v: Any) -> Any:
    """The initial value of a variable that is first bound in the loop, or changes its type."""
    if type(v) is Recast:
        leaves, tree = tree_flatten(v.value)
        kinds = zip(leaves, v.dtypes, v.weak, strict=True)
        made = [x if d is None else _recast(x, d, weak) for x, d, weak in kinds]
        return tree_unflatten(tree, made)
    if type(v) is int:
        return as_traced(v)
    if type(v) is Enlarged:
        return v.window.started(v.value)
    if type(v) is Numbered:
        return numbered(v.value)
    if type(v) is Read:
        return v.place.cell_contents
    if type(v) is Maybe and type(v.value) is Blank:
        blank = [_zero(a) for a in v.value.avals]
        return Maybe(tree_unflatten(v.value.tree, blank), False, v.none)
    return v


def _zero(a: Aval) -> Any:
    if a.weak and not a.shape:
        return a.dtype.type(0).item()
    made = zeros(aval_of(a.shape, a.dtype))
    return made if a.shape else made[()]
