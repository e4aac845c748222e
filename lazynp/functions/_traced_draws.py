"""Random samples whose parameters, or whose elements, a transformation traces.

What is drawn has no parameter: a normal sample is `loc + scale * z`, with z from the generator. So
the numbers are NumPy's, and they have the derivative of the formula. To choose and to permute is to
index by what is drawn.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._extents import sized
from lazynp.functions import indexing, ufuncs
from lazynp.functions._checks import refuse, traced


def rule_of(name: str) -> Callable[..., Any] | None:
    """What a generator's function of this name does with traced arguments, if there is a way. The
    rule gets the function and its arguments, and returns None where it has none.
    """
    draw = _RULES.get(name)

    def rule(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return draw(function, *args, **kwargs) if draw and traced(*args, *kwargs.values()) else None

    return rule if draw else None


def shuffled(generator: Any, x: Array, axis: int = 0) -> Any:
    """The array after `generator.shuffle(x, axis)`."""
    order = np.arange(x.shape[axis])
    generator.shuffle(order)
    return indexing.take(x, order, axis=axis)


def _shape(size: Any, *parameters: Any) -> Any:
    if size is not None:
        return tuple(size) if np.ndim(size) else (operator.index(size),)
    return np.broadcast_shapes(*[getattr(p, "shape", None) or np.shape(p) for p in parameters])


def _moved(loc: Any, scale: Any, z: Any, names: tuple[str, str] = ("loc", "scale")) -> Any:
    refuse(ufuncs.less(scale, 0), ValueError, f"{names[1]} < 0")
    given = _shape(None, loc, scale)
    try:
        fits = np.broadcast_shapes(given, np.shape(z)) == np.shape(z)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"Output size {np.shape(z)} is not compatible with broadcast dimensions of inputs "
            f"{given}."
        )
    return ufuncs.add(loc, ufuncs.multiply(scale, z))


def _located(function: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(loc, scale, function(0.0, 1.0, _shape(size, loc, scale)))


def _uniform(function: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    z = function(0.0, 1.0, _shape(size, low, high))
    return _moved(low, ufuncs.subtract(high, low), z, ("low", "high - low"))


def _scaled(function: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(0.0, scale, function(1.0, _shape(size, scale)))


def _lognormal(function: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    z = function.__self__.normal(0.0, 1.0, _shape(size, mean, sigma))
    return ufuncs.exp(_moved(mean, sigma, z, ("mean", "sigma")))


def _gamma(function: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    if traced(shape):
        return None
    return _moved(0.0, scale, function(shape, 1.0, _shape(size, shape, scale)))


def _choice(
    function: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
    **more: Any,
) -> Any:  # fmt: skip
    if not isinstance(a, Array) or not a.ndim or traced(p, size) or sized(a.shape):
        return None
    p = p if p is None else np.asarray(p)
    return indexing.take(a, function(a.shape[axis], size, replace, p, **more), axis=axis)


def _permutation(function: Any, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, Array) or not x.ndim or sized(x.shape):
        return None
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
