"""`math.gcd`, `lcm`, `isqrt` of traced ints, and `math.isclose` of traced numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp.primitives import elementwise
from lazynp.primitives.checks import check_later
from lazynp.transforms.control._numbers import operand
from lazynp.transforms.control._state import operators, pythons, undecided

_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)
_LARGEST_ROOT = math.isqrt(2**63 - 1)


def _int(x: Any) -> Any:
    """An int of 64 bits, or None."""
    if type(x) in (bool, int):
        return np.int64(x) if -(2**63) <= x < 2**63 else None
    if not isinstance(x, np.integer) and not undecided(x):
        return None
    narrow = x.dtype.kind in "ib" or x.dtype.kind == "u" and x.dtype.itemsize < 8
    return elementwise.convert(x, dtype=_INT) if narrow and not x.ndim else None


def _of_ints(function: Any, compute: Callable[..., Any]) -> Any:
    """A function of `math` that takes ints and gives one."""

    def of(*args: Any) -> Any:
        ints = [_int(x) for x in args] if any(map(undecided, args)) else [None]
        return function(*args) if any(x is None for x in ints) else pythons(compute(*ints), _INT)

    return of


def _gcd(*xs: Any) -> Any:
    out = functools.reduce(elementwise.gcd, xs)
    return out if len(xs) > 1 else elementwise.absolute(out)


def _lcm(*xs: Any) -> Any:
    out = pythons(elementwise.absolute(xs[0]), _INT)
    for x in xs[1:]:
        x = pythons(elementwise.absolute(x), _INT)
        share = elementwise.maximum(elementwise.gcd(out, x), 1)
        out = operators[0].arithmetic("Mult", out, x // pythons(share, _INT), 0)  # checks its size
    return out


def _above(root: Any, x: Any) -> Any:
    """1 where the square of the root is above x, else 0."""
    return elementwise.convert(elementwise.greater(root * root, x), dtype=_INT)


def _isqrt(x: Any) -> Any:
    text = "isqrt() argument must be nonnegative"
    check_later(elementwise.less(x, 0), ValueError, text)
    x = elementwise.maximum(x, 0)
    root = elementwise.sqrt(elementwise.convert(x, dtype=np.dtype(np.float64)))
    root = elementwise.minimum(elementwise.convert(root, dtype=_INT), _LARGEST_ROOT)
    root = root - _above(root, x)  # a float may be one too large,
    root = elementwise.minimum(root + 1, _LARGEST_ROOT)  # or one too small
    return root - _above(root, x)


def _isclose(*args: Any, **kwargs: Any) -> Any:
    tolerances = [kwargs.get("rel_tol", 1e-9), kwargs.get("abs_tol", 0.0)]
    given = [*args, *tolerances]
    xs = [operand(x) for x in given] if any(map(undecided, given)) else [None]
    if len(args) != 2 or kwargs.keys() - {"rel_tol", "abs_tol"} or any(x is None for x in xs):
        return math.isclose(*args, **kwargs)
    a, b, share, least = xs
    for t in (share, least):
        check_later(elementwise.less(t, 0.0), ValueError, "tolerances must be non-negative")
    distance = elementwise.absolute(elementwise.subtract(b, a))
    found = elementwise.less_equal(distance, least)
    for x in (a, b):
        near = elementwise.less_equal(
            distance, elementwise.absolute(elementwise.multiply(share, x))
        )
        found = elementwise.logical_or(found, near)
    finite = elementwise.logical_and(elementwise.isfinite(a), elementwise.isfinite(b))
    found = elementwise.logical_and(found, finite)
    return pythons(elementwise.logical_or(found, elementwise.equal(a, b)), _BOOL)


OF_TRACED: dict[Any, Any] = {
    math.gcd: _of_ints(math.gcd, _gcd), math.lcm: _of_ints(math.lcm, _lcm),
    math.isqrt: _of_ints(math.isqrt, _isqrt), math.isclose: _isclose,
}  # fmt: skip
