"""What becomes of a number whose dtype depends on the path that a program takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import Aval
from lazynp._intervals import interval
from lazynp._quiet import quietly
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._state import session, user_line

_ORDER, _WIDE, _LARGEST = "biufc", np.dtype(np.int64), np.dtype(np.uint64)
_PYTHONS = (bool, int, float, complex)
_NUMBERS = {np.dtype(t): t.__name__ for t in _PYTHONS}


def common_dtype(a: Aval, b: Aval) -> np.dtype[Any]:
    """The dtype that holds the values of both; a Python number takes the other's."""
    if a.dtype == b.dtype:
        return a.dtype
    if are_wide(a, b):
        return _LARGEST
    given = [x.dtype.type(0).item() if x.weak else x.dtype for x in (a, b)]
    return np.result_type(*given) if a.weak is not b.weak else np.result_type(a.dtype, b.dtype)


def are_wide(a: Aval, b: Aval) -> bool:
    """Whether both are ints of Python's, of int64 and of uint64 (`_wide`)."""
    return a.weak and b.weak and {a.dtype, b.dtype} == {_WIDE, _LARGEST}


def _lossy(x: Any, a: Aval, dtype: np.dtype[Any], checks: bool = False) -> str:
    """Why a number of Python's cannot become a number of this dtype, which another path gives.
    checks: whether the program checks an int that is traced (`check_narrowed`).
    """
    if not a.weak or a.dtype == dtype:
        return ""
    number = x if type(x) in _PYTHONS else None  # (a Scalar of float64 is a float)
    exact = session.strict is not None and dtype in (np.float32, np.complex64)
    if number is None:
        lost = exact or a.dtype.kind == "i" and dtype.kind in "iu" and not checks
    else:
        lost = not _holds(number, dtype, exact)
    kinds = {"b": "a bool", "i": "an int", "f": "a float"}
    shown = kinds.get(a.dtype.kind, "a complex") if number is None else repr(number)
    return f"is {shown} of Python's on one path, which {dtype} of the other may not hold" * lost


def loses(
    a: tuple[Any, Aval], b: tuple[Any, Aval], dtype: np.dtype[Any],
    checks: tuple[bool, bool] = (True, True),
) -> str:  # fmt: skip
    """Why these must not become numbers of this dtype. checks: of each, see `_lossy`."""
    why = _lossy(*a, dtype, checks[0]) or _lossy(*b, dtype, checks[1])
    return why or _apart(a[1], b[1], dtype)


def check_narrowed(x: Any, dtype: np.dtype[Any], line: int) -> None:
    """Record that a traced int of Python's must be one that this dtype, of another path, holds."""
    if not isinstance(x, Array) or x.dtype != _WIDE or dtype.kind not in "iu":
        return
    if not weak_aval(x).weak:
        return
    least, most = interval(x._read())
    low, high = max(np.iinfo(dtype).min, -(2**63)), min(np.iinfo(dtype).max, 2**63 - 1)
    if low <= least and most <= high:
        return
    bad = elementwise.logical_or(elementwise.less(x, low), elementwise.greater(x, high))
    text = f"line {line}: an int of Python's is {{}} on one path, and {dtype} on another"
    check_later(bad, OverflowError, text, x)


def _holds(number: Any, dtype: np.dtype[Any], exact: bool) -> bool:
    """exact: whether floats must not be rounded. (Under `jit`, they are of the lower precision.)"""
    try:
        made = quietly(dtype.type, [number]).item()
    except OverflowError:
        return False
    if number != number or made == number:
        return True
    if exact or isinstance(number, int):
        return False
    return bool(np.isfinite(made) or not np.isfinite(number))


def _apart(a: Aval, b: Aval, dtype: np.dtype[Any]) -> str:
    """Why numbers of NumPy's must not become of this dtype: where Python could notice it."""
    if session.strict is None or all(x.weak or x.dtype == dtype for x in (a, b)):
        return ""
    return f"is of dtype {a.dtype} on one path and {b.dtype} on another"


def are_mixed_bools(a: Aval, b: Aval) -> bool:
    """Whether one is a bool of Python's and one of NumPy's. Sums of them differ, and `is True`."""
    return a.dtype.kind == b.dtype.kind == "b" and a.weak is not b.weak


def mixed(of: Any, a: Aval, b: Aval) -> str:
    """Why these must not become one element of a list: the caller would find another type. of: what
    holds it.
    """
    if session.strict is None or type(of) is not list or (a.weak, a.dtype) == (b.weak, b.dtype):
        return ""
    first, second = [_NUMBERS.get(x.dtype, x.dtype) if x.weak else x.dtype for x in (a, b)]
    return f"holds {first} on one path and {second} on another, and is in a list"


def settles(a: Aval, b: Aval) -> np.dtype[Any] | None:
    """The dtype that the carry must have instead; None: it stays, or becomes that of the body."""
    if a.dtype == b.dtype:
        return None
    if a.weak and not a.shape and _ORDER.index(b.dtype.kind) >= _ORDER.index(a.dtype.kind):
        return None
    if b.weak and common_dtype(a, b) == a.dtype:
        return a.dtype
    return common_dtype(a, b)


# -- an int of Python's on one path, and of a small dtype on another -------------------------------


def wraps_on_one_path(a: Aval, b: Aval, dtype: np.dtype[Any]) -> bool:
    """Whether a number that is one of these becomes of a dtype in which NumPy's wraps, and Python's
    does not. (`arithmetic` checks what is computed of it.)
    """
    return a.weak is not b.weak and _is_small(dtype)


def may_wrap(x: Any) -> bool:
    """Whether this is a small integer of NumPy's on some paths and an int of Python's on others."""
    return isinstance(x, Array) and x.dtype.kind in "iu" and session.pick_of(x) is not None


def _note(x: Any) -> None:
    session.note_pick(x, None, (), True)


class Either:
    """Which numbers of a carry are such, in a round and after the loop."""

    def __init__(self) -> None:
        self._inside: set[tuple[str, int]] = set()
        self._after: set[tuple[str, int]] = set()

    def begin(self, n: str, leaves: list[Any]) -> None:
        """A round begins with these."""
        for k, x in enumerate(leaves):
            if (n, k) in self._inside and isinstance(x, Array):
                _note(x)

    def change(self, place: tuple[str, int], start: Any, made: Any, least: int) -> bool:
        """Whether the rounds must be traced again: one leaves an int of Python's where it began
        with one of NumPy's, or may leave one. least: rounds that run at least.
        """
        a, b = weak_aval(start), weak_aval(made)
        small = not a.shape and any(_is_small(x.dtype) and not x.weak for x in (a, b))
        if small and (a.weak and not b.weak or may_wrap(start)) and not least:
            self._after.add(place)
        if not small or place in self._inside or not (b.weak or may_wrap(made)):
            return False
        self._inside.add(place)
        return True

    def end(self, n: str, leaves: list[Any]) -> None:
        for k, x in enumerate(leaves):
            if (n, k) in self._inside | self._after and isinstance(x, Array):
                _note(x)


def _is_small(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize < _WIDE.itemsize


def of_either(compute: Any, a: Any, b: Any, estimated: bool) -> Any:
    """`compute(a, b)`, where one may be an int of Python's and the other is one, or may be; None if
    they are others. Where the dtype does not hold the result, the program raises: Python's int
    would not wrap. estimated: as floats, since the result may have more than 64 bits.
    """
    may = [may_wrap(x) for x in (a, b)]
    if not any(may) or not all(m or _is_int(x) for m, x in zip(may, (a, b), strict=True)):
        return None
    out = compute(a, b)
    limits = np.iinfo(out.dtype)
    wide = compute(*[_widened(x, np.dtype(float) if estimated else _WIDE) for x in (a, b)])
    low, high = (kind(end) for kind in [wide.dtype.type] for end in (limits.min, limits.max))
    bad = elementwise.logical_or(elementwise.less(wide, low), elementwise.greater(wide, high))
    text = (
        f"line {user_line()}: a number is {out.dtype} on one path and an int of Python's on "
        f"another, and {out.dtype} does not hold the result; convert it before, by int() or "
        f"np.{out.dtype}()"
    )
    check_later(bad, OverflowError, text)
    _note(out)
    return out


def _is_int(x: Any) -> bool:
    if not isinstance(x, Array):
        return type(x) in (bool, int)
    aval = weak_aval(x)
    return aval.weak and not aval.shape and aval.dtype.kind in "bi"


def _widened(x: Any, dtype: np.dtype[Any]) -> Any:
    return elementwise.convert(x, dtype=dtype) if isinstance(x, Array) else dtype.type(x)
