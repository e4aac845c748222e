"""Convert a value for storage into elements of some dtype and shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, from_host
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._extents import shown
from lazynp._flush import host_value
from lazynp._node import aval_of_node
from lazynp._trace import record
from lazynp._values import knowable, seen_value
from lazynp.functions._fitting import check_stored
from lazynp.functions._foreign import elements
from lazynp.functions._nested import holds_lazy
from lazynp.functions._operands import operand_of, tuple_text, warn_of_lost_imaginary_part
from lazynp.primitives import elementwise, shaping

# these convert differently from arrays
_TIMES = (np.datetime64, np.timedelta64)
_SCALARS = (str, bytes, np.str_, np.bytes_, *_TIMES)


def assigned(
    value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], *, by_index: bool = False
) -> Any:
    """The operand for assigning `value` to elements of this dtype, checked as NumPy checks.

    by_index: to elements that index arrays choose.
    """
    if by_index:
        value = without_unit(value, dtype)
    if type(value) in SCALAR_DTYPES or type(value) in _SCALARS and on_device(dtype):
        return assigned_scalar(value, dtype)
    if isinstance(value, (int, float, complex)) and not isinstance(value, (Array, np.generic)):
        return assigned_scalar(value, dtype)  # of a subclass: it must fit, as Python's own
    operand = operand_of(_of_list(elements(value), dtype))
    if type(operand) is not list:
        return assigned_scalar(operand, dtype)
    aval = aval_of_node(operand)
    if on_device(dtype) and not on_device(aval.dtype):  # strings, objects: NumPy converts
        operand = from_host(np.asarray(np.asarray(host_value(operand)).astype(dtype)))
        aval = aval_of_node(operand)
    check_range(value, aval.dtype, dtype)
    if by_index:
        check_weak(value, dtype)
    if aval.dtype.kind == "c" and dtype.kind in "fiu":
        warn_of_lost_imaginary_part()
        operand = record(elementwise.convert, (operand,), {"dtype": dtype})  # NumPy would warn too
        aval = aval_of_node(operand)
    kept = _without_needless_axes(aval.shape, len(shape), by_index)
    if kept != aval.shape:
        operand = record(shaping.reshape, (operand,), {"shape": kept})
        aval = aval_of_node(operand)
    if aval.shape != shape and aval.ndim:
        _check_broadcast(aval.shape, shape)
    return operand


def of_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """What is stored into the one element that an index names. Of a sequence, a truth takes that of
    the whole; other elements refuse it. An array of NumPy's of a class that says which number it is
    (what is masked is nan, or an error) becomes that number.
    """
    kind = type(value)
    if issubclass(kind, (list, tuple)):
        return len(value) > 0 if dtype.kind == "b" else value
    if issubclass(kind, np.ndarray) and kind.__float__ is not np.ndarray.__float__:
        try:
            return _NUMBER_OF.get(dtype.kind, _unchanged)(value)
        except Exception as error:
            if value.ndim:
                raise ValueError("setting an array element with a sequence.") from error
            raise
    return value


def _unchanged(value: Any) -> Any:
    return value


_NUMBER_OF = {"f": float, "i": int, "u": int}


def _of_list(value: Any, dtype: np.dtype[Any]) -> Any:
    """A list as NumPy converts it for elements of this dtype: what it holds beside numbers, one by
    one. Anything else unchanged.
    """
    if type(value) is not list and type(value) is not tuple or not on_device(dtype):
        return value
    if holds_lazy(value):
        return value
    try:
        made = np.asarray(value)
    except (TypeError, ValueError):  # it may hold objects that only we can convert
        return value
    joined = made.dtype.kind == "f" and dtype.kind in "iu"  # of large ints too, which it rounds
    return made if on_device(made.dtype) and not joined else np.asarray(value, dtype)


def _without_needless_axes(shape: tuple[int, ...], ndim: int, by_index: bool) -> tuple[int, ...]:
    """The shape less the leading axes of length 1 that the target has not. Where index arrays
    choose, NumPy drops all such axes if the number of elements stays: of nothing, any."""
    extra = max(len(shape) - ndim, 0)
    if by_index:
        return shape[extra:] if math.prod(shape) == math.prod(shape[extra:]) else shape
    ones = next((k for k in range(extra) if shape[k] != 1), extra)
    return shape[ones:]


def check_range(value: Any, found: np.dtype[Any], dtype: np.dtype[Any]) -> None:
    """The error for Python numbers that do not fit this dtype, as integers that are too large or
    nan for integers; `found` is their dtype as an array.
    """
    if found is dtype or dtype.kind not in "iuf" or found.kind not in "iufc":
        return
    if np.can_cast(found, dtype, "same_kind" if dtype.kind == "f" else "safe"):
        return
    if type(value) in SCALAR_DTYPES:
        np.asarray(value, dtype)
    elif isinstance(value, (list, tuple)):
        for x in _pythons_numbers(value) if holds_lazy(value) else [value]:
            np.asarray(x, dtype)


def _pythons_numbers(values: Any) -> list[Any]:
    """Those in a nested list. (Arrays and NumPy's numbers become anything without an error.)"""
    nested = [x for x in values if type(x) in (list, tuple)]
    return [x for x in values if type(x) in SCALAR_DTYPES] + [
        x for inner in nested for x in _pythons_numbers(inner)
    ]


def assigned_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python scalar converted for storage into this dtype. Raises as NumPy does (NaN to int,
    ...).
    """
    t = type(value)
    if t is float and dtype.kind == "f" or t is bool:
        return value
    if not dtype.hasobject and dtype.kind in "biufc":
        cell = np.empty((), dtype)
        cell[()] = value
        return cell.item()
    return from_host(np.asarray(value))


def without_unit(value: Any, dtype: np.dtype[Any]) -> Any:
    """A date or duration as a number, for elements that an index chooses: NumPy casts it there, and
    converts it to an object of Python's elsewhere.
    """
    if type(value) in _TIMES and dtype.kind in "biufc":
        return np.asarray(value).astype(dtype)[()]
    return value


def check_fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """For a number stored into integers: NumPy's error, if it is too large, or nan. A traced
    function records a check. (Arrays and stores by advanced indices wrap instead.) Returns whether
    it was checked.
    """
    if dtype.kind not in "iu" or not isinstance(value, (Array, np.generic)):
        return False
    if value.ndim or value.dtype.kind not in "iufc" or np.can_cast(value.dtype, dtype):
        return False
    if value.dtype.kind == "c" and not (isinstance(value, Array) and type(value) is not Scalar):
        check_fits(value.real, dtype)
        return True
    if isinstance(value, np.generic) and type(value) is not Scalar:
        assigned_scalar(value, dtype)
    elif type(value) is Scalar:
        if knowable(value._read()):
            assigned_scalar(seen_value(value._read()), dtype)
        elif dtype.kind == "i" or value.aval.weak:  # a number of NumPy's wraps in unsigned ones
            check_stored(value, dtype)
    return True  # a 0-d array too: it shares its memo entry with a scalar


def check_weak(value: Any, dtype: np.dtype[Any]) -> None:
    """`check_fits` where a number of NumPy's wraps: only Python's own must fit."""
    if type(value) is Scalar and value.aval.weak:
        check_fits(value, dtype)


def _check_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    fits = len(shape) <= len(target) and all(
        n == m or n == 1 for n, m in zip(reversed(shape), reversed(target), strict=False)
    )
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {tuple_text(shape)} into shape "
            f"{shown([target])}"
        )
