"""Stack nested lists that contain lazy arrays, without computing anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from lazynp._array import (
    Array,
    Scalar,
    array_of,
    as_operand,
    concrete,
    from_host,
    new_array,
    new_scalar,
)
from lazynp._avals import Shape, on_device
from lazynp._flush import host_value
from lazynp._node import ARGS, AVAL, OP, VALUE, Node, aval_of_node, is_tracer, leaf
from lazynp._sizes import Size, Test
from lazynp._values import knowable
from lazynp.functions._object_arrays import boxed_list
from lazynp.primitives import elementwise, shaping


def holds_lazy(tree: Any) -> bool:
    """Whether a list contains a lazy array, or a size without a value, at any depth."""
    return any(any(issubclass(kind, _LAZY) for kind in kinds) for kinds in _levels(tree))


_LAZY = (Array, Size, Test)


def _levels(tree: Any) -> Iterator[set[type]]:
    """The types of the items of a list, and of each list within. A list may hold itself."""
    lists, seen = [tree], {id(tree)}
    while lists:
        items = lists.pop()
        kinds = set(map(type, items))
        yield kinds
        if any(issubclass(kind, (list, tuple)) for kind in kinds):
            for item in items:
                if isinstance(item, (list, tuple)) and id(item) not in seen:
                    seen.add(id(item))
                    lists.append(item)


def opened(tree: Any) -> Any:
    """Nested lists with convertible objects converted: NumPy accepts no lazy arrays from these."""
    try:
        return _opened(tree)
    except RecursionError:  # a list that holds itself
        raise ValueError(_TOO_DEEP) from None


def _opened(tree: Any) -> Any:
    if isinstance(tree, (list, tuple)):
        items = [_opened(item) for item in tree]
        return items if isinstance(tree, list) else tuple(items)
    if type(tree) is Size or type(tree) is Test:
        return of_size(tree)
    known = isinstance(tree, (Array, np.ndarray, np.generic))
    return tree if known else array_of(tree)


def of_size(x: Size | Test) -> Array:
    """A size, or a comparison of sizes, as an array."""
    made = new_array(as_operand(x))
    return elementwise.convert(made, dtype=made.dtype) if made.aval.weak else made


class _Ragged(Exception):
    pass


_TOO_DEEP = (
    "setting an array element with a sequence. The requested array would exceed the maximum number "
    "of dimension of 64."
)


def assemble(tree: Any, dtype: Any = None) -> Array:
    """The array that NumPy would make of a nested list. Raises its ValueError for a ragged list."""
    if (known := _of_known_numbers(tree)) is not None:
        return new_array(from_host(np.array(known, dtype), copy=False))
    if dtype is None and (stacked := of_numbers(tree)) is not None:
        return stacked
    pieces: list[Any] = []
    if dtype is not None and np.dtype(dtype).names is not None:  # a tuple is one record
        return new_array(from_host(np.array(_values(tree), dtype), copy=False))
    try:
        shape = _gather(tree, dtype, pieces)
    except RecursionError:  # a list that holds itself
        raise ValueError(_TOO_DEEP) from None
    except _Ragged:
        # raises with the shape that NumPy finds, unless the dtype is object
        found = np.array(_dummies(tree), dtype)
        if np.dtype(dtype) != object:
            return new_array(from_host(np.array(_values(tree), dtype), copy=False))
        held = np.array(tree, dtype) if all_known(tree) else boxed_list(tree, found.shape)
        return new_array(from_host(held, copy=False))
    if dtype is not None and np.dtype(dtype) == object and not all_known(tree):
        return new_array(from_host(boxed_list(tree, shape), copy=False))
    try:
        found = np.result_type(*[p.dtype for p in pieces]) if dtype is None else np.dtype(dtype)
    except np.exceptions.DTypePromotionError:  # mixed dates and numbers
        found = np.dtype(object)
    lazy = [p for p in pieces if isinstance(p, Array)]
    at_once = all(p.ndim == 0 and concrete(p) is not None for p in lazy)
    if at_once or not all(on_device(d) for d in (found, *(p.dtype for p in pieces))):
        return new_array(from_host(np.array(_values(tree), dtype), copy=False))
    flat = [_flat(p, found) for p in _joined(pieces)]
    out = flat[0] if len(flat) == 1 else shaping.concatenate(*flat, axis=0)
    return out if out.shape == shape else shaping.reshape(out, shape=shape)


def _of_known_numbers(tree: Any) -> list[Any] | None:
    """A list of scalars whose values are there as NumPy's numbers, and of Python's numbers; or of
    such lists. None for other lists.
    """
    if type(tree) is not list:
        return None
    kinds = set(map(type, tree))
    if kinds == {list}:
        rows = [
            row if _PLAIN.issuperset(map(type, row)) else _of_known_numbers(row) for row in tree
        ]
        return None if None in rows else rows
    if Scalar not in kinds or not kinds <= _NUMBERS:
        return None
    values = [x._node[VALUE] if type(x) is Scalar else x for x in tree]
    return values if all([issubclass(t, _KNOWN) for t in set(map(type, values))]) else None


def of_numbers(tree: Any) -> Array | None:
    """The array of a list of traced numbers, or of lists of these: what a derivative finds in most
    lists. They have one dtype; numbers of Python's may stand among float64. None for other lists.
    """
    if type(tree) is not list or not tree:
        return None
    rows = tree if type(tree[0]) is list else [tree]
    kinds: set[type] = set()
    for row in rows:
        if type(row) is not list or len(row) != len(rows[0]):
            return None
        kinds.update(map(type, row))
    if Scalar not in kinds or not kinds <= _NUMBERS:
        return None
    items = [x for row in rows for x in row] if rows is tree else tree
    if kinds != _SCALARS:
        if int in kinds and not all([-_EXACT <= x <= _EXACT for x in items if type(x) is int]):
            return None
        items = [x if type(x) is Scalar else new_scalar(leaf(np.float64(x))) for x in items]
    traced = {id(x._node[AVAL]): x._node for x in items}
    first = next((n for n in traced.values() if is_tracer(n)), None)
    if first is None or not _are_alike(traced.values(), aval_of_node(first).dtype):
        return None
    out = shaping.stack(*items)
    return shaping.reshape(out, shape=(len(rows), len(rows[0]))) if rows is tree else out


_SCALARS = {Scalar}
_NUMBERS = {Scalar, float, int}
_PLAIN = {float, int}
_KNOWN = (np.number, np.bool_, float, int)
_EXACT = 1 << 53  # integers up to this magnitude are float64


def _are_alike(nodes: Iterable[Node], dtype: np.dtype[Any]) -> bool:
    avals = list(map(aval_of_node, nodes))
    return on_device(dtype) and all([a.dtype is dtype and not a.shape for a in avals])


def all_known(tree: Any) -> bool:
    """Whether NumPy can look at every array of a nested list: it keeps those that become objects,
    and their names go on showing what is written.
    """
    if isinstance(tree, (list, tuple)):
        return all(map(all_known, tree))
    return not isinstance(tree, Array) or knowable(tree._read()) and not is_tracer(tree._read())


def of_objects(value: Any, dtype: Any) -> Array | None:
    """The array of an object array's elements where one of them is traced. Otherwise None."""
    if value.dtype != object or not on_device(dtype):
        return None
    items = value.tolist() if value.ndim else [value.item()]
    if not holds_lazy(items) or all_known(items):
        return None
    out = assemble(items, dtype)
    return out if value.ndim else shaping.reshape(out, shape=())


def _gather(item: Any, dtype: Any, pieces: list[Any]) -> Shape:
    """Collect the pieces in C order; returns their joint shape."""
    if isinstance(item, Array):
        pieces.append(item)
        return item.shape
    if isinstance(item, (list, tuple)) and holds_lazy(item):
        shapes = [_gather(i, dtype, pieces) for i in item]
        if any(s != shapes[0] for s in shapes):
            raise _Ragged
        return (len(item), *shapes[0])
    made = _opened(item)
    if isinstance(made, Array):
        return _gather(made, dtype, pieces)
    value = np.array(made, dtype)
    pieces.append(value)
    return value.shape


def _joined(pieces: list[Any]) -> list[Any]:
    """The pieces, where rows of one array in their order are a part of it, as after a loop that
    has appended each row to a list.
    """
    parts: list[Any] = []  # (array, first row, number of rows), or a piece
    for piece in pieces:
        found = as_row(piece)
        if found is None:
            parts.append(piece)
            continue
        source, k = found
        last = parts[-1] if parts else None
        if type(last) is tuple and last[0] is source and last[1] + last[2] == k:
            parts[-1] = source, last[1], last[2] + 1
        else:
            parts.append((source, k, 1))
    rows = iter(pieces)
    made = []
    for part in parts:
        first, count = next(rows), part[2] if type(part) is tuple else 1
        for _ in range(count - 1):
            next(rows)
        made.append(first if count == 1 else _rows(*part))
    return made


def _rows(source: Node, first: int, count: int) -> Array:
    shape = (count, *aval_of_node(source).shape[1:])
    return shaping.slice(
        new_array(source), first, axes=(0,), sizes=(count,), strides=(1,), shape=shape
    )


def as_row(piece: Any) -> tuple[Node, int] | None:
    """The node of an array, and which of its rows the piece is; None if it is none."""
    if not isinstance(piece, Array):
        return None
    node = piece._read()
    pending = node[OP] is not None and node[VALUE] is None
    if pending and node[OP].primitive is elementwise.convert:
        before = node[ARGS][0]
        node = before if aval_of_node(before).dtype == piece.dtype else node
    if node[OP] is None or node[OP].primitive is not shaping.slice_ or node[VALUE] is not None:
        return None
    params = node[OP].params
    if params["axes"] != (0,) or params["sizes"] != (1,) or params["strides"] != (1,):
        return None
    source, start = node[ARGS]
    if aval_of_node(source).ndim != len(params["shape"]) + 1 or type(start) is not int:
        return None
    return source, start


def _flat(piece: Any, dtype: np.dtype[Any]) -> Array:
    if not isinstance(piece, Array):
        if piece.ndim == 0:
            return shaping.full(piece.astype(dtype).item(), shape=(1,), dtype=dtype)
        piece = new_array(from_host(piece.astype(dtype).reshape(-1), copy=False))
    if piece.dtype != dtype:
        piece = elementwise.convert(piece, dtype=dtype)
    return piece if piece.ndim == 1 else shaping.reshape(piece, shape=(piece.size,))


def _values(tree: Any) -> Any:
    if isinstance(tree, Array):
        return host_value(tree._read())
    if isinstance(tree, (list, tuple)):
        items = [_values(i) for i in tree]
        return items if isinstance(tree, list) else tuple(items)
    return tree


def _dummies(tree: Any) -> Any:
    if isinstance(tree, Array):
        return np.broadcast_to(np.zeros((), "b"), tree.shape)
    if isinstance(tree, (list, tuple)):
        return [_dummies(i) for i in tree]
    return tree
