"""Builtins, and functions of `math`, of traced numbers.

They give numbers of Python's. Where Python raises an error, the program does: a check of the
operands records it.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_scalar
from lazynp._dimensions import as_number, is_unsized
from lazynp._sizes import Size
from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._asked import as_bool
from lazynp.transforms.control._letters import order
from lazynp.transforms.control._rounding import rounds_exactly, to_digits
from lazynp.transforms.control._state import (
    CannotStage,
    involved,
    numeric,
    operators,
    pythons,
    session,
    truth,
    undecided,
    user_line,
)
from lazynp.transforms.control._tables import as_table, extreme, table_of
from lazynp.transforms.control._tables_reduced import extreme_of, total_of, truths_of

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)
_COMPLEX, _BOOL = np.dtype(np.complex128), np.dtype(np.bool_)
_SUMS_CAREFULLY = sys.version_info >= (3, 12)  # `sum` of floats compensates for rounding


def _element(x: Any) -> Any:
    return x.reshape(()) if x.ndim else x


def _is_pythons(x: Any) -> bool:
    """Whether this is a number of Python's, known or traced."""
    if type(x) in (bool, int, float, complex):
        return True
    return undecided(x) and type(x) is not NDArray and weak_aval(x).weak


def _counts(x: Any) -> bool:
    """Whether this is an int of Python's, of 64 bits, known or traced."""
    if type(x) is int:
        return -(2**63) <= x < 2**63
    return undecided(x) and x.dtype == np.int64 and weak_aval(x).weak


# -- builtins --------------------------------------------------------------------------------------


def _int(*args: Any, **kwargs: Any) -> Any:
    x = as_bool(args[0]) if len(args) == 1 and not kwargs else None
    if type(args[0] if args else None) is Size:
        return args[0]
    args = args if x is None else (x,)
    if not undecided(x) or x is None or x.size != 1 or x.dtype.kind not in "biuf":
        return int(*args, **kwargs)
    return _whole(_element(x), "int()")


def _whole(x: Any, what: str) -> Any:
    """The int of Python's that a number without a fraction is."""
    if x.dtype.kind == "f":
        check_later(elementwise.not_equal(x, x), ValueError, "cannot convert float NaN to integer")
        large = elementwise.greater_equal(elementwise.absolute(x), 2.0**63)
        check_later(large, OverflowError, f"{what}: a number of more than 64 bits")
    elif x.dtype == np.uint64 and not _is_pythons(x):
        large = elementwise.greater_equal(x, np.uint64(2**63))
        check_later(large, OverflowError, f"{what}: a number of more than 64 bits")
    return pythons(x, x.dtype if x.dtype == np.uint64 and _is_pythons(x) else _INT)


def _len(*args: Any) -> Any:
    x: Any = args[0] if len(args) == 1 else None
    if not (isinstance(x, Array) or is_unsized(x)) or not x.ndim:
        return len(*args)
    size = x.shape[0]
    return size if type(size) is Size else pythons(size, _INT) if undecided(size) else len(x)


def _float(*args: Any) -> Any:
    x = as_number(as_bool(args[0])) if len(args) == 1 else None
    args = args if x is None else (x,)
    if not undecided(x) or x is None or x.size != 1 or x.dtype.kind not in "biuf":
        return float(*args)
    return pythons(_element(x), _FLOAT)


def _complex(*args: Any, **kwargs: Any) -> Any:
    """`complex(x)`, or `complex(x, y)`, of real numbers."""
    if kwargs or not 1 <= len(args) <= 2 or not any(map(undecided, args)):
        return complex(*args, **kwargs)
    if not all(numeric(x) and not np.ndim(x) and weak_aval(x).dtype.kind in "biuf" for x in args):
        return complex(*args)
    parts = [
        elementwise.convert(x, dtype=_FLOAT, weak=False) if undecided(x) else np.float64(float(x))
        for x in (*args, 0.0)[:2]
    ]
    return pythons(elementwise.complex_(*parts), _COMPLEX)


def _bool(*args: Any) -> Any:
    return pythons(truth(args[0]), _BOOL) if args and undecided(args[0]) else bool(*args)


def _extremum(function: Any, better: str) -> Any:
    def of(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and kwargs.keys() <= {"key", "default"}:
            given: Any = args[0]
            whole = isinstance(given, (Array, np.ndarray)) and "key" not in kwargs
            if isinstance(given, Iterable) and not whole and not isinstance(given, str):
                given = given if type(given) in (list, tuple) else list(given)
                if "key" not in kwargs and (found := extreme_of(given, better == "greater")):
                    return found[0]
                args = tuple(given) if len(given) > 1 else (given,)
                kwargs = {k: v for k, v in kwargs.items() if k == "key" or len(args) == 1}
            elif (found := extreme(given, better == "greater")) is not None:
                return found
        args = tuple(map(as_number, args))
        key = kwargs.get("key")
        if key is not None and len(args) > 1 and len(kwargs) == 1:
            return _best(better, args, operators[0].call(key), function)
        if kwargs or len(args) < 2 or not any(map(undecided, args)):
            return function(*args, **kwargs)
        if not all(numeric(x) and not np.ndim(x) for x in args):
            return function(*args)
        out = args[0]
        whole = all(map(_counts, args))
        for x in args[1:]:
            if whole:  # without a branch, and its interval is known
                least = elementwise.minimum if better == "less" else elementwise.maximum
                known = not undecided(out) and not undecided(x)
                out = function(out, x) if known else pythons(least(out, x), _INT)
                continue
            closer = x < out if better == "less" else x > out
            out = operators[0].choose(closer, lambda x=x: x, lambda out=out: out, 0)
        return out

    return of


def _best(better: str, values: Any, key: Any, function: Any) -> Any:
    """The extreme of these by a key."""
    keys = list(map(key, values))
    if not any(map(involved, keys)):
        return function(zip(keys, range(len(keys)), values), key=lambda x: x[0])[2]
    if not all(numeric(x) and not np.ndim(x) for x in keys):
        raise CannotStage(f"{function.__name__}() by a key that is no number")
    out, best = values[0], keys[0]
    for x, k in zip(values[1:], keys[1:], strict=True):
        closer = k < best if better == "less" else k > best
        out, best = operators[0].choose(
            closer, lambda x=x, k=k: (x, k), lambda out=out, best=best: (out, best), user_line()
        )
    return out


_FEW = 5  # numbers, which `sorted` compares one by one


def _sorted(*args: Any, **kwargs: Any) -> Any:
    """`sorted` of traced numbers, or by a key that is one."""
    if len(args) != 1 or not kwargs.keys() <= {"key", "reverse"} or not _iterates(args[0]):
        return sorted(*args, **kwargs)
    values = list(args[0])
    key, reverse = kwargs.get("key"), bool(kwargs.get("reverse", False))
    keys = values if key is None else list(map(operators[0].call(key), values))
    if len(values) < 2 or not any(map(involved, keys)):
        places = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        return operators[0].fresh([values[k] for k in places])
    table = as_table(keys[::-1] if reverse else keys)  # equal ones keep their order
    if table is None:
        raise CannotStage(
            f"line {user_line()}: sorted() of what are not all numbers, and some are only traced; "
            "give it a key that is a number, or sort an array by np.argsort"
        )
    few = key is None and not reverse and len(values) <= _FEW
    if few and table.dtype.kind in "iuf":
        return operators[0].fresh(_exchanged(values))
    order = table.argsort(kind="stable")
    order = len(values) - 1 - order[::-1] if reverse else order
    return operators[0].fresh([operators[0].item(values, order[k]) for k in range(len(values))])


def _exchanged(values: list[Any]) -> list[Any]:
    """Few numbers in order, by exchanging neighbours: in a loop, a sort of them takes as long as
    thirty such exchanges.
    """
    table, weak = table_of(values)  # type: ignore[misc]
    found = [table[k] for k in range(len(values))]
    for end in range(len(found) - 1, 0, -1):
        for k in range(end):
            first, second = found[k], found[k + 1]
            later = elementwise.less(second, first)
            if first.dtype.kind == "f":  # nan last, as in an argsort
                is_nan, other = elementwise.isnan(first), elementwise.isnan(second)
                later = elementwise.logical_or(
                    later, elementwise.logical_and(is_nan, elementwise.logical_not(other))
                )
            found[k] = elementwise.select(later, second, first)
            found[k + 1] = elementwise.select(later, first, second)
    return [pythons(x, x.dtype) if weak else new_scalar(x._read()) for x in found]


def _iterates(x: Any) -> bool:
    return isinstance(x, Iterable) and not (isinstance(x, (Array, np.ndarray)) and x.ndim != 1)


def _abs(*args: Any) -> Any:
    if len(args) != 1 or not undecided(args[0]) or not _is_pythons(args[0]):
        return abs(*args)
    x = args[0]
    if x.dtype.kind == "c":
        out = elementwise.absolute(x)
        infinite = elementwise.logical_not(elementwise.isfinite(out))
        lost = elementwise.logical_and(infinite, elementwise.isfinite(x))
        check_later(lost, OverflowError, "absolute value too large")
        return pythons(out, _FLOAT)
    if x.dtype.kind == "b":
        return pythons(x, _INT)
    if x.dtype == np.int64:
        least = elementwise.equal(x, np.int64(-(2**63)))
        check_later(least, OverflowError, "abs(): a number of more than 64 bits")
    return pythons(elementwise.absolute(x), x.dtype)


def _divmod(*args: Any) -> Any:
    if len(args) != 2 or not any(map(undecided, args)) or not all(map(_is_pythons, args)):
        return divmod(*args)
    return tuple([operators[0].arithmetic(name, *args, 0) for name in ("FloorDiv", "Mod")])


def _pow(*args: Any, **kwargs: Any) -> Any:
    if len(args) != 2 or kwargs or not any(map(undecided, args)):
        return pow(*args, **kwargs)
    return operators[0].arithmetic("Pow", *args, 0)


def _round(*args: Any, **kwargs: Any) -> Any:
    x = args[0] if len(args) == 1 and not kwargs else None
    if x is None:
        if any(map(undecided, args)) and _is_pythons(args[0]):
            if len(args) == 2 and not kwargs and rounds_exactly(*args):
                return to_digits(*args)
            if len(args) == 2 and _counts(args[0]) and type(args[1]) is int and args[1] >= 0:
                return args[0]
            raise CannotStage("round() of a traced number to so many digits")
        return round(*args, **kwargs)
    plain: Any = x
    if not undecided(x) or x.ndim or x.dtype.kind not in "biuf" or type(x) is NDArray:
        return round(plain)
    if x.dtype.kind != "f":
        return _whole(x, "round()") if _is_pythons(x) else round(plain)
    return _whole(elementwise.rint(x), "round()")


def _is_float(x: Any) -> bool:
    return type(x) is float or undecided(x) and x.dtype == _FLOAT and _is_pythons(x)


def refuse_compensation(total: Any, value: Any) -> None:
    """Raise where values must be Python's to the last bit, and `sum` would add more than these."""
    if _SUMS_CAREFULLY and session.strict is not None:
        if _is_float(value) or _is_float(total) and _is_pythons(value):
            raise CannotStage("sum() of floats of Python's, which compensates for rounding")


def _sum(*args: Any, **kwargs: Any) -> Any:
    values: Any = args[0] if args else None
    plain: Any = sum
    start = args[1] if len(args) == 2 else kwargs.get("start", 0)
    wrong = len(args) > 2 or kwargs.keys() - {"start"} or len(args) == 2 and kwargs
    if isinstance(values, Iterator) and session.strict is not None and not wrong:
        values = list(values)
        args = (values, *args[1:])
    if wrong or type(values) not in (list, tuple) or not any(map(undecided, values)):
        return plain(*args, **kwargs)
    if type(start) is int and (total := total_of(values)) is not None:
        refuse_compensation(0, total)
        return operators[0].arithmetic("Add", total, start, 0) if start else total
    out = start
    for x in values:
        refuse_compensation(out, x)
        out = operators[0].arithmetic("Add", out, x, 0)
    return out


def _of_truths(function: Any) -> Any:
    """`any` or `all`. A hot function leaves iterators to Python, which takes no more items from
    them than it needs.
    """
    decides = function is any
    join: Any = elementwise.logical_or if decides else elementwise.logical_and

    def of(*args: Any) -> Any:
        given: Any = args[0] if len(args) == 1 else None
        if type(given) is NDArray and undecided(given) and given.ndim == 1:
            values: Any = elementwise.convert(given, dtype=_BOOL)
            return pythons(values.any() if decides else values.all(), _BOOL)
        if type(given) not in (_GIVEN if session.strict is None else (list, tuple)):
            return function(*args)
        if (found := truths_of(given, decides)) is not None:
            return found
        items = list(given)
        traced = [truth(x) for x in items if undecided(x)]
        if not traced:
            return function(items)
        if any([bool(x) is decides for x in items if not undecided(x)]):
            return decides
        return pythons(functools.reduce(join, traced), _BOOL)

    return of


_GIVEN = (list, tuple, set, frozenset, map, zip)


# -- math ------------------------------------------------------------------------------------------

_Check = Callable[..., list[tuple[Any, type[Exception]]]]


def _no_failures(out: Any, *_: Any) -> list[tuple[Any, type[Exception]]]:
    return []


def _domain(out: Any, *xs: Any) -> list[tuple[Any, type[Exception]]]:
    """The result is nan, and no operand is."""
    return [(_new(elementwise.isnan, out, xs), ValueError)]


def _pole(out: Any, *xs: Any) -> list[tuple[Any, type[Exception]]]:
    """... or it is infinite, and all operands are finite."""
    return [*_domain(out, *xs), (_infinite(out, xs), ValueError)]


def _range(out: Any, *xs: Any) -> list[tuple[Any, type[Exception]]]:
    return [(_infinite(out, xs), OverflowError)]


def _log(out: Any, x: Any) -> list[tuple[Any, type[Exception]]]:
    return [(elementwise.less_equal(x, 0.0), ValueError)]


def _negative(out: Any, x: Any) -> list[tuple[Any, type[Exception]]]:
    return [(elementwise.less(x, 0.0), ValueError)]


def _endless(out: Any, x: Any) -> list[tuple[Any, type[Exception]]]:
    return [(elementwise.isinf(x), ValueError)]


def _power(out: Any, x: Any, y: Any) -> list[tuple[Any, type[Exception]]]:
    infinite, zero = _infinite(out, (x, y)), elementwise.equal(x, 0.0)
    pole = elementwise.logical_and(infinite, zero)
    return [*_domain(out, x, y), (pole, ValueError), (infinite, OverflowError)]


def _new(kind: Any, out: Any, xs: Any) -> Any:
    found = kind(out)
    for x in xs:
        found = elementwise.logical_and(found, elementwise.logical_not(kind(x)))
    return found


def _infinite(out: Any, xs: Any) -> Any:
    found = elementwise.isinf(out)
    for x in xs:
        found = elementwise.logical_and(found, elementwise.isfinite(x))
    return found


def operand(x: Any) -> Any:
    """A float of NumPy's, or None if `math` takes no such number, or takes it otherwise."""
    if type(x) in (bool, int, float):
        try:
            return np.float64(x)
        except OverflowError:
            return None
    if not isinstance(x, (Array, np.generic)) or x.ndim or x.dtype.kind not in "biuf":
        return None
    if not isinstance(x, Array):
        return np.float64(x)
    # a conversion of its own: from here on, it is no number of Python's (see `_program`)
    return elementwise.convert(pythons(x, _FLOAT), dtype=_FLOAT)


def _of_floats(function: Any, compute: Any, failures: _Check) -> Any:
    """A function of `math` that takes floats and gives one."""

    def of(*args: Any) -> Any:
        args = tuple([as_number(as_bool(x)) for x in args])
        if not any(map(undecided, args)):
            return function(*args)
        xs = [operand(x) for x in args]
        if any(x is None for x in xs):
            return function(*args)
        out = compute(*xs)
        for bad, kind in failures(out, *xs):
            text = "math range error" if kind is OverflowError else "math domain error"
            check_later(bad, kind, text)
        return pythons(out, _FLOAT)

    return of


def _hypot(*xs: Any) -> Any:
    out = elementwise.absolute(xs[0])
    for x in xs[1:]:
        out = elementwise.hypot(out, x)
    return out


def _raised(x: Any, y: Any) -> Any:
    """x**y. (NumPy takes the root for y = 0.5, which differs for -0.0 and -inf.)"""
    ends = elementwise.logical_or(elementwise.equal(x, 0.0), elementwise.isinf(x))
    special = elementwise.logical_and(elementwise.equal(y, 0.5), ends)
    return elementwise.select(special, elementwise.absolute(x), elementwise.power(x, y))


def _log_of(*args: Any) -> Any:
    """math.log(x), or math.log(x, base)"""
    if len(args) != 2 or not any(map(undecided, args)):
        return _LOG(*args)
    out, base = _LOG(args[0]), _LOG(args[1])
    if undecided(base):
        check_later(elementwise.equal(base, 0.0), ZeroDivisionError, "division by zero")
    return operators[0].arithmetic("Div", out, base, 0)


def _rounded(function: Any, compute: Any) -> Any:
    """math.floor and the like: an int."""

    def of(*args: Any) -> Any:
        x = args[0] if len(args) == 1 else None
        if not undecided(x) or x is None or x.ndim or x.dtype.kind not in "biuf":
            return function(*args)
        return _whole(compute(x) if x.dtype.kind == "f" else x, f"{function.__name__}()")

    return of


def _tested(function: Any, compute: Any) -> Any:
    """math.isnan and the like: a bool."""

    def of(*args: Any) -> Any:
        x = operand(args[0]) if len(args) == 1 and undecided(args[0]) else None
        return function(*args) if x is None else pythons(compute(x), _BOOL)

    return of


# by the ids of functions of ours that stand for those of `math` and `cmath`: these
STANDING: dict[int, Any] = {}
_e = elementwise
_FAILURES: dict[str, tuple[Any, _Check]] = {
    "sqrt": (_e.sqrt, _negative), "cbrt": (_e.cbrt, _no_failures), "exp": (_e.exp, _range),
    "exp2": (_e.exp2, _range), "expm1": (_e.expm1, _range), "log": (_e.log, _log),
    "log2": (_e.log2, _log), "log10": (_e.log10, _log), "log1p": (_e.log1p, _pole),
    "sin": (_e.sin, _endless), "cos": (_e.cos, _endless), "tan": (_e.tan, _endless),
    "asin": (_e.arcsin, _domain), "acos": (_e.arccos, _domain), "atan": (_e.arctan, _no_failures),
    "sinh": (_e.sinh, _range), "cosh": (_e.cosh, _range), "tanh": (_e.tanh, _no_failures),
    "asinh": (_e.arcsinh, _no_failures), "acosh": (_e.arccosh, _domain),
    "atanh": (_e.arctanh, _pole), "atan2": (_e.arctan2, _no_failures),
    "hypot": (_hypot, _no_failures), "pow": (_raised, _power), "fmod": (_e.fmod, _domain),
    "copysign": (_e.copysign, _no_failures), "fabs": (_e.fabs, _no_failures),
    "degrees": (_e.degrees, _no_failures), "radians": (_e.radians, _no_failures),
    "erf": (_e.erf, _no_failures), "erfc": (_e.erfc, _no_failures),
}  # fmt: skip
_LOG = _of_floats(math.log, *_FAILURES["log"])

OF_TRACED: dict[Any, Any] = {
    int: _int, float: _float, complex: _complex, bool: _bool, min: _extremum(min, "less"),
    max: _extremum(max, "greater"), abs: _abs, divmod: _divmod, pow: _pow, round: _round,
    sum: _sum, any: _of_truths(any), all: _of_truths(all), ord: order, len: _len, sorted: _sorted,
    **{getattr(math, name): _of_floats(getattr(math, name), *how)
       for name, how in _FAILURES.items() if hasattr(math, name)},
    math.log: _log_of,
    math.floor: _rounded(math.floor, _e.floor), math.ceil: _rounded(math.ceil, _e.ceil),
    math.trunc: _rounded(math.trunc, _e.trunc), math.isnan: _tested(math.isnan, _e.isnan),
    math.isinf: _tested(math.isinf, _e.isinf), math.isfinite: _tested(math.isfinite, _e.isfinite),
}  # fmt: skip
