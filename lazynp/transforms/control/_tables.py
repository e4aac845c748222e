"""Lists, tuples and strings that are read by a traced index, and the extremes of an array."""

from __future__ import annotations

import math
import operator
from collections import OrderedDict
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array, new_scalar
from lazynp._dimensions import as_number
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives.checks import check_later
from lazynp.transforms._stack import argument_node
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._asked import key_of
from lazynp.transforms.control._letters import Letter, codes
from lazynp.transforms.control._state import (
    CannotStage,
    fresh,
    numeric,
    pythons,
    session,
    undecided,
)

_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)


def _kind(x: Any) -> type | None:
    """The type of Python's that finds `x[index]`, also of named tuples and other derived types."""
    for kind in (list, tuple, str, bytes):
        if isinstance(x, kind) and type(x).__getitem__ is kind.__getitem__:
            return kind
    return None


def item(x: Any, index: Any, of: Any = None) -> Any:
    """`x[index]`. of: the type that an error names, if not that of x."""
    if is_size(index):
        index = _of_size(x, index)
    if undecided(index) and type(x) in (dict, OrderedDict):
        return _entry(x, index)
    if undecided(index) and _is_numpys(x):
        # as it is now, like other operands; who calls a hot function may write it later
        return x[index] if session.strict is not None else new_array(argument_node(x))[index]
    if not undecided(index) or (kind := _kind(x)) is None:
        return x[index]
    if index.dtype == np.bool_ and weak_aval(index).weak:  # Python's, which is an int
        index = pythons(index, _INT)
    if index.ndim or index.dtype.kind not in "iu" or not x:
        return x[index]
    if kind is bytes:
        return item(codes(x), index, "")
    if kind is str:
        return Letter(item(codes(x), index, "string"))
    of = kind.__name__ if of is None else of
    found = _columns(x, index, of)
    if found is not None:
        return found
    table = table_of(x)
    if table is None:
        return x[index]
    values, weak = table
    found = values[_place(index, len(x), of)]
    return pythons(found, found.dtype) if weak else found


def _is_numpys(x: Any) -> bool:
    """Whether it is an array of NumPy's own, of numbers."""
    return type(x) is np.ndarray and x.dtype.kind in "biufc"


def _of_size(x: Any, index: Any) -> Any:
    """A size as what finds something in x."""
    if isinstance(x, dict):
        key = key_of(x, index)
        return key if key in x else as_number(key)
    return index if _kind(x) is None else as_number(index)


def cut(x: Any, lower: Any, upper: Any, step: Any) -> Any:
    """`x[lower:upper:step]`"""
    out = x[lower:upper:step]
    return fresh(out) if type(x) is list else out


def _entry(x: dict[Any, Any], index: Any) -> Any:
    """`x[index]` of a dict of numbers whose keys are ints."""
    if index.ndim or index.dtype.kind not in "iu" or not x or {type(k) for k in x} != {int}:
        return x[index]
    if any(not -(2**63) <= k < 2**63 for k in x) or (table := _table([*x.values()])) is None:
        return x[index]
    i = elementwise.convert(index, dtype=_INT)
    found = elementwise.equal(new_array(argument_node(np.array([*x]))), i)
    none = elementwise.logical_not(reduction.reduce_or(found, axes=(0,)))
    check_later(shaping.reshape(none, shape=(1,)), KeyError, "{}", shaping.reshape(i, shape=(1,)))
    values, weak = table
    out = values[found.argmax()]
    return pythons(out, out.dtype) if weak else out


def place(x: list[Any], index: Any, value: Any) -> None:
    """`x[index] = value`, where the index is traced: each element may be the one."""
    table = _with(x, value)
    if table is None and session.strict is not None and all(map(_is_number, [*x, value])):
        raise CannotStage(
            "a list of numbers gets one of another type at a traced index: begin it with numbers "
            "of that type (`float(v)`, or `[np.float64(0)] * n`), or use an array"
        )
    if table is None or undecided(index) and (index.ndim or index.dtype.kind not in "iu"):
        raise CannotStage("a list gets something at a traced index, and holds other than numbers")
    values, new, weak = table
    made = values.copy()
    made[_place(index, len(x), "list assignment") if undecided(index) else index] = new
    unstack(x, made, weak)


def _with(x: list[Any], value: Any) -> tuple[Any, Any, bool] | None:
    """The list as an array, the value as an element of it, and whether they are Python's; or
    None.
    """
    known = known_table(x)
    if known is not None and _is_number(value):
        aval, (values, weak) = weak_aval(value), known
        if aval.dtype == values.dtype and aval.weak is weak:
            return values, _plain(value, values.dtype), weak
    table = _table([*x, value])
    return None if table is None else (table[0][:-1], table[0][-1], table[1])


def unstack(x: list[Any], values: Any, weak: bool) -> None:
    """Let the list hold the elements of this array. weak: as Python's numbers."""
    parts = [values[k] for k in range(len(x))]
    x[:] = [pythons(v, v.dtype) if weak else v for v in parts]
    session.tables[id(x[0])] = values, weak, tuple(x)


def known_table(x: Any) -> tuple[Any, bool] | None:
    """The array whose elements the list holds, and whether they are Python's numbers; None if it
    is not known. No element is read: that would be an operand of a body.
    """
    found = session.tables.get(id(x[0])) if x else None
    if found is None or len(found[2]) != len(x) or not all(map(operator.is_, x, found[2])):
        return None
    return found[:2]


def table_of(x: Any) -> tuple[Any, bool] | None:
    """The numbers as one array, and whether they are Python's; None if one array would change what
    they are.
    """
    return known_table(x) or _table(x)


def _is_number(x: Any) -> bool:
    return numeric(x) and not getattr(x, "ndim", 0)


def _place(index: Any, count: int, of: str) -> Any:
    """The index from the beginning, within bounds. of: what an error names."""
    i = elementwise.convert(index, dtype=_INT)
    i = elementwise.select(elementwise.less(i, 0), elementwise.add(i, count), i)
    bad = elementwise.logical_or(elementwise.less(i, 0), elementwise.greater_equal(i, count))
    check_later(bad, IndexError, f"{of} index out of range".lstrip())
    return elementwise.minimum(elementwise.maximum(i, 0), count - 1)


def _columns(x: Any, index: Any, of: str) -> Any:
    """What a table of rows that are all alike gives, or None. A list is one that nothing may change
    here.
    """
    kinds = {list if _kind(row) is list else type(row) for row in x}
    if kinds not in ({tuple}, {list}) or not x[0]:
        return None
    if list in kinds and not session.depth:
        return None
    if len({len(row) for row in x}) > 1:
        return None
    out = kinds.pop()(item(column, index, of) for column in zip(*x, strict=True))
    if type(out) is list:
        session.merged[id(out)] = out, 0, None  # a write to it must reach the table
    return out


def _table(x: Any) -> tuple[Any, bool] | None:
    """The numbers as one array, and whether they are Python's; None if one array would change what
    they are.
    """
    kinds = {type(v) for v in x}
    mixed = session.strict is None and kinds == {int, float}
    if mixed and all(type(v) is float or abs(v) <= 2**53 for v in x):
        x = list(map(float, x))  # as a variable that is one or the other
    elif kinds in ({int}, {float}, {complex}, {bool}):
        if int in kinds and not all(-(2**63) <= v < 2**63 for v in x):
            return None
        return new_array(argument_node(np.array(x))), True
    if not all(numeric(v) and not isinstance(v, (NDArray, np.ndarray)) for v in x):
        return None
    avals = [weak_aval(v) for v in x]
    weak = all(a.weak for a in avals)
    dtype = _joined(avals)
    if dtype is None or any(a.shape for a in avals):
        return None
    parts = [shaping.reshape(_plain(v, dtype), shape=(1,)) for v in x]
    return shaping.concatenate(*parts, axis=0), weak


def as_table(x: list[Any]) -> Any:
    """The numbers as one array, or None."""
    table = table_of(x)
    return None if table is None else table[0]


def _joined(avals: list[Any]) -> Any:
    """The dtype of all these numbers, as that of a variable which is one or the other; None if a
    program that nobody asked for would show that they were joined.
    """
    kinds = {(a.dtype, a.weak) for a in avals}
    if len(kinds) == 1:
        return avals[0].dtype
    numbers = {a.dtype for a in avals if a.weak}
    given = {a.dtype for a in avals if not a.weak}
    if session.strict is not None or not numbers <= {_INT, _FLOAT} or len(given) > 1:
        return None
    dtype = given.pop() if given else _FLOAT
    return None if dtype.kind != "f" and numbers != {_INT} or dtype.kind not in "if" else dtype


def _plain(v: Any, dtype: Any) -> Any:
    return elementwise.convert(new_array(argument_node(v)), dtype=dtype, weak=False)


def extreme(values: Any, largest: bool) -> Any:
    """`max` or `min` of a traced array of one axis, as comparing one after the other finds it; None
    if this does not apply.
    """
    if type(values) is not NDArray or values.ndim != 1 or not undecided(values):
        return None
    if is_size(values.size) or not values.size or values.dtype.kind not in "biuf":
        return None
    known: Array = values
    if values.dtype.kind == "f":  # nan is only found in the first place
        none = values.dtype.type(-math.inf if largest else math.inf)
        known = elementwise.select(elementwise.isnan(values), none, values)
    place = known.argmax() if largest else known.argmin()
    if values.dtype.kind == "f":
        place = elementwise.select(elementwise.isnan(values[0]), 0, place)
    return new_scalar(values[place]._read())
