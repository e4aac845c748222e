"""Evaluate series of orthogonal polynomials by Clenshaw's recurrence, as NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from lazynp._array import Array
from lazynp._later import is_of_numpys_class
from lazynp.functions._eager import done_by_numpy
from lazynp.functions._foreign import elements
from lazynp.functions._operands import as_array, cast
from lazynp.functions.manipulation import reshape


def _power(c: list[Any], x: Any) -> Any:
    value = c[-1] + x * 0
    for ck in reversed(c[:-1]):
        value = ck + value * x
    return value


def _series(
    step: Callable[[Any, Any, Any, Any, int], tuple[Any, Any]], last: Callable[[Any], Any]
) -> Callable[[list[Any], Any], Any]:
    """`step(c_k, c0, c1, x, n)` is one step of the recurrence; `last(x)` is the first
    polynomial.
    """

    def value(c: list[Any], x: Any) -> Any:
        if len(c) == 1:
            c0, c1 = c[0], 0
        else:
            c0, c1 = c[-2], c[-1]
            for k in range(len(c) - 3, -1, -1):
                c0, c1 = step(c[k], c0, c1, x, k + 2)
        return c0 + c1 * last(x)

    return value


# n is the degree of the polynomial with coefficient c1
_chebyshev = _series(lambda c, c0, c1, x, n: (c - c1, c0 + c1 * (2 * x)), lambda x: x)
_legendre = _series(
    lambda c, c0, c1, x, n: (c - c1 * ((n - 1) / n), c0 + c1 * x * ((2 * n - 1) / n)), lambda x: x
)
_laguerre = _series(
    lambda c, c0, c1, x, n: (c - (c1 * (n - 1)) / n, c0 + (c1 * ((2 * n - 1) - x)) / n),
    lambda x: 1 - x,
)
_hermite = _series(
    lambda c, c0, c1, x, n: (c - c1 * (2 * (n - 1)), c0 + c1 * (2 * x)), lambda x: 2 * x
)
_hermite_e = _series(lambda c, c0, c1, x, n: (c - c1 * (n - 1), c0 + c1 * x), lambda x: x)

SERIES = {
    "poly": _power,
    "cheb": _chebyshev,
    "leg": _legendre,
    "lag": _laguerre,
    "herm": _hermite,
    "herme": _hermite_e,
}


_NUMPYS = {
    "poly": polynomial.polyval,
    "cheb": chebyshev.chebval,
    "leg": legendre.legval,
    "lag": laguerre.lagval,
    "herm": hermite.hermval,
    "herme": hermite_e.hermeval,
}


def values(kind: str, x: Any, c: Any, tensor: bool = True) -> Any:
    """The series with coefficients `c` (on axis 0) at `x`: shape `c.shape[1:] + x.shape`."""
    done = done_by_numpy(_NUMPYS[kind], x, c, tensor)
    if done is not None:
        return done
    c = as_array(elements(c))
    if c.ndim == 0:
        c = reshape(c, (1,))
    if c.dtype.kind in "biu":
        c = cast(c, np.float64)
    if isinstance(x, (list, tuple, np.ndarray)):
        x = _of_its_class(x)
    if isinstance(x, (Array, np.ndarray)) and tensor and x.ndim:
        c = reshape(c, c.shape + (1,) * x.ndim)
    return SERIES[kind]([c[k] for k in range(len(c))], x)


def _of_its_class(x: Any) -> Any:
    """An Array; a matrix or masked array as it is: the values are of its class."""
    return x if is_of_numpys_class(type(x)) else as_array(x)


def _at_points(kind: str, points: tuple[Any, ...], c: Any) -> Any:
    points = tuple(_of_its_class(p) for p in points)
    if any(p.shape != points[0].shape for p in points):
        names = {2: "x, y", 3: "x, y, z"}[len(points)]
        raise ValueError(f"{names} are incompatible")
    c = values(kind, points[0], c)
    for p in points[1:]:
        c = values(kind, p, c, tensor=False)
    return c


def _on_grid(kind: str, points: tuple[Any, ...], c: Any) -> Any:
    for p in points:
        c = values(kind, p, c)
    return c


def evaluators(kind: str) -> dict[str, Callable[..., Any]]:
    """`polyval`, `polyval2d`, ... for one kind of series, by name."""

    def val(x: Any, c: Any, tensor: bool = True) -> Any:
        return values(kind, x, c, tensor)

    def val2d(x: Any, y: Any, c: Any) -> Any:
        return _at_points(kind, (x, y), c)

    def val3d(x: Any, y: Any, z: Any, c: Any) -> Any:
        return _at_points(kind, (x, y, z), c)

    def grid2d(x: Any, y: Any, c: Any) -> Any:
        return _on_grid(kind, (x, y), c)

    def grid3d(x: Any, y: Any, z: Any, c: Any) -> Any:
        return _on_grid(kind, (x, y, z), c)

    made = {f.__name__: f for f in (val, val2d, val3d, grid2d, grid3d)}
    for name, function in made.items():
        function.__name__ = kind + name
        function.__doc__ = f"Lazy and differentiable: see NumPy's `{kind}{name}`."
    return {kind + name: f for name, f in made.items()}


def from_roots(x: Any, r: Any, tensor: bool = True) -> Any:
    """See `numpy.polynomial.polynomial.polyvalfromroots`."""
    r, x = as_array(elements(r)), _of_its_class(x)
    if r.ndim == 0:
        r = reshape(r, (1,))
    if r.dtype.kind in "biu":
        r = cast(r, np.float64)
    if tensor:
        r = reshape(r, r.shape + (1,) * x.ndim)
    elif x.ndim >= r.ndim:
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return (x - r).prod(axis=0)
