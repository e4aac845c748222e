"""scipy.fft: Fourier transforms are NumPy's; cosine and sine transforms are constant matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, only


def transform(name: str) -> Callable[..., Any]:
    """A transform along one axis, whose second and third parameters are n and axis."""
    ours = getattr(np.fft, name)

    def function(
        x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        only(name, plan=(plan, None))
        return ours(x, n, axis, norm)

    return functools.wraps(ours)(function)


def transform_of_many(name: str) -> Callable[..., Any]:
    """A transform along several axes: s and axes."""
    ours = getattr(np.fft, name)
    default = (-2, -1) if name.endswith("2") else None

    def function(
        x: Any, s: Any = None, axes: Any = default, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        only(name, plan=(plan, None))
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return ours(x, s, axes, norm)

    return functools.wraps(ours)(function)


def cosine(name: str) -> Callable[..., Any]:
    """dct, idct, dst or idst: linear, so the transforms of the unit vectors are its matrix."""

    def function(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        (x,) = inexact(x)
        basis = numpy.eye(x.shape[axis], dtype=x.real.dtype)
        theirs = getattr(scipy.fft, name)
        matrix = theirs(basis, type, n, 0, norm, orthogonalize=orthogonalize)
        return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)

    function.__name__ = name
    return function


def cosine_of_many(name: str) -> Callable[..., Any]:
    """dctn, idctn, dstn or idstn."""
    along = cosine(name[:-1])

    def function(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, *, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        (x,) = inexact(x)
        if axes is None:
            axes = range(x.ndim) if s is None else range(-len(numpy.atleast_1d(s)), 0)
        axes = [axes] if numpy.ndim(axes) == 0 else list(axes)
        sizes = [None] * len(axes) if s is None else numpy.atleast_1d(s)
        for axis, n in zip(axes, sizes, strict=True):
            x = along(x, type, n, axis, norm, orthogonalize=orthogonalize)
        return x

    function.__name__ = name
    return function
