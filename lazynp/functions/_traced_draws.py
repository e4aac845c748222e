"""Random samples whose parameters, or whose elements, a transformation traces.

A normal sample is `loc + scale * z`, and the generator draws z without knowing either. So the
numbers are NumPy's, and they have the derivative of the formula. To choose, to permute and to
shuffle is to index by places that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._extents import sized
from lazynp.functions import indexing, ufuncs
from lazynp.functions._checks import refuse, traced
from lazynp.functions._integers import normalize_axis_index


def rule_of(name: str) -> Callable[..., Any] | None:
    """What a generator's function of this name does with traced arguments, if there is a way. The
    rule gets the function and its arguments, and returns None where it has none.
    """
    draw = _RULES.get(name)
    if draw is None:
        return None

    def rule(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return draw(function, *args, **kwargs) if traced(*args, *kwargs.values()) else None

    return rule


def shuffled(shuffle: Callable[[Any], None], x: Array, axis: int = 0) -> Any:
    """The array after `shuffle(x, axis)` of a generator."""
    axis = normalize_axis_index(axis, x.ndim)
    order = np.arange(x.shape[axis])
    shuffle(order)
    return indexing.take(x, order, axis=axis)


def _like(x: Any, number: float) -> Any:
    """This number, in the shape of a parameter: NumPy then draws, and refuses, as for that."""
    return np.full(np.shape(x), number)


def _moved(loc: Any, scale: Any, z: Any, negative: str = "scale < 0") -> Any:
    """negative: the error of a scale below zero, if there is one."""
    if negative:
        refuse(ufuncs.less(scale, 0), ValueError, negative)
    return ufuncs.add(loc, ufuncs.multiply(scale, z))


def _is_legacy(function: Any) -> bool:
    return isinstance(function.__self__, np.random.RandomState)


def _located(function: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(loc, scale, function(_like(loc, 0.0), _like(scale, 1.0), size))


def _uniform(function: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    z = function(_like(low, 0.0), _like(high, 1.0), size)
    negative = "" if _is_legacy(function) else "high - low < 0"
    return _moved(low, ufuncs.subtract(high, low), z, negative)


def _scaled(function: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(0.0, scale, function(_like(scale, 1.0), size))


def _lognormal(function: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    z = function.__self__.normal(_like(mean, 0.0), _like(sigma, 1.0), size)
    return ufuncs.exp(_moved(mean, sigma, z, "sigma < 0"))


def _gamma(function: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    if traced(shape):
        return None
    return _moved(0.0, scale, function(shape, _like(scale, 1.0), size))


def _choice(
    function: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
    **more: Any,
) -> Any:  # fmt: skip
    if not isinstance(a, Array) or not a.ndim or traced(p, size) or sized(a.shape):
        return None
    if a.ndim > 1 and _is_legacy(function):
        raise ValueError("a must be 1-dimensional")
    p = p if p is None else np.asarray(p)
    return indexing.take(a, function(a.shape[axis], size, replace, p, **more), axis=axis)


def _permutation(function: Any, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, Array) or not x.ndim or sized(x.shape):
        return None
    axis = normalize_axis_index(axis, x.ndim)
    return indexing.take(x, function(x.shape[axis]), axis=axis)


_RULES: dict[str, Callable[..., Any]] = {
    "choice": _choice,
    "exponential": _scaled,
    "gamma": _gamma,
    "gumbel": _located,
    "laplace": _located,
    "logistic": _located,
    "lognormal": _lognormal,
    "normal": _located,
    "permutation": _permutation,
    "rayleigh": _scaled,
    "uniform": _uniform,
}
