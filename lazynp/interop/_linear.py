"""SciPy's functions that are linear in one argument, by their matrix.

SciPy makes the matrix: it is what the function does to unit vectors. So every option and boundary
is SciPy's, and forward and reverse mode are products. The matrix has as many elements as the
product of both sizes, along the axis or, where the whole array matters, of the whole array.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, refuse

Function = Callable[..., Any]
_MOST = 1 << 26  # elements of a matrix


def _bound(original: Function, argument: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The linear argument, and a function of it by SciPy."""
    given = inspect.signature(original).bind(*args, **kwargs)
    given.apply_defaults()
    x = given.arguments.pop(argument)
    if is_traced(tuple(given.arguments.values())):
        refuse(original.__name__, f"arguments other than {argument}")

    def function(v: Any, **changed: Any) -> Any:
        every = {**given.arguments, argument: v, **changed}
        call = inspect.BoundArguments(given.signature, {k: every[k] for k in _order(given, every)})
        return original(*call.args, **call.kwargs)

    (x,) = inexact(x)
    return x, (function, given.arguments)


def _order(given: Any, every: Any) -> list[str]:
    return [name for name in given.signature.parameters if name in every]


def _check(name: str, size: int) -> None:
    if size > _MOST:
        refuse(name, f"so large an array: its matrix would have {size} elements")


def along_axis(original: Function, argument: str = "x") -> Function:
    """For functions with a parameter `axis`."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        x, (function, options) = _bound(original, argument, args, kwargs)
        axis = options["axis"] % x.ndim
        n = x.shape[axis]
        _check(original.__name__, n * n)
        probe = function(numpy.zeros(n, x.dtype), axis=0)
        if isinstance(probe, tuple):
            refuse(original.__name__, "options with which it returns several arrays")
        matrix = numpy.asarray(function(numpy.eye(n, dtype=x.dtype), axis=0))
        out = np.tensordot(matrix.astype(probe.dtype), np.moveaxis(x, axis, 0), axes=1)
        return np.moveaxis(out, 0, axis) if probe.ndim else out

    return ours


def of_whole(original: Function, argument: str = "input") -> Function:
    """For functions that mix all elements."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        x, (function, options) = _bound(original, argument, args, kwargs)
        if options.get("output") not in (None, numpy.float64):
            refuse(original.__name__, "output")
        probe = numpy.asarray(function(numpy.zeros(x.shape, x.dtype)))
        _check(original.__name__, x.size * probe.size)
        columns = [
            numpy.asarray(function(unit.reshape(x.shape))) - probe
            for unit in numpy.eye(x.size, dtype=x.dtype)
        ]
        matrix = numpy.stack(columns, axis=-1)
        return np.tensordot(matrix, x.ravel(), axes=1) + probe

    return ours


# -- order statistics of a neighbourhood -----------------------------------------------------------

_MODES = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
          "constant": "constant"}  # fmt: skip


def _ranked(
    name: str, x: Any, size: Any, footprint: Any, mode: str, cval: Any, origin: Any,
    output: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """The elements of each neighbourhood in order, as a last axis."""
    if output is not None or axes is not None:
        refuse(name, "output and axes")
    (x,) = inexact(x)
    if numpy.any(origin) or mode not in _MODES:
        refuse(name, f"origin={origin!r}, mode={mode!r}")
    if footprint is None:
        footprint = numpy.ones(numpy.broadcast_to(size, x.ndim), bool)
    chosen = numpy.asarray(footprint, bool)
    widths = [(k // 2, k - k // 2 - 1) for k in chosen.shape]
    options = {"constant_values": cval} if mode == "constant" else {}
    padded = np.pad(x, widths, _MODES[mode], **options)
    windows = np.lib.stride_tricks.sliding_window_view(padded, chosen.shape)
    flat = windows.reshape(*x.shape, chosen.size)[..., numpy.flatnonzero(chosen)]
    return np.sort(flat, axis=-1)


def order_filter(name: str) -> Function:
    """minimum_filter, maximum_filter, median_filter."""

    def ours(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None,
        mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        values = _ranked(name, input, size, footprint, mode, cval, origin, output, axes)
        count = values.shape[-1]
        at = {"minimum_filter": 0, "maximum_filter": count - 1, "median_filter": count // 2}
        return values[..., at[name]]

    return ours


def rank_filter(
    input: Any, rank: int, size: Any = None, footprint: Any = None, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    values = _ranked("rank_filter", input, size, footprint, mode, cval, origin, output, axes)
    count = values.shape[-1]
    if not -count <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    return values[..., rank]


def percentile_filter(
    input: Any, percentile: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    values = _ranked("percentile_filter", input, size, footprint, mode, cval, origin, output, axes)
    count, share = values.shape[-1], percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    return values[..., min(int(float(count) * share / 100.0), count - 1)]


def median_of_odd(volume: Any = None, kernel_size: Any = None, *, input: Any = None) -> Any:
    """medfilt, medfilt2d: zeros outside."""
    (x,) = inexact(input if volume is None else volume)
    sizes = numpy.broadcast_to(3 if kernel_size is None else kernel_size, x.ndim)
    if (sizes % 2 != 1).any():
        raise ValueError("Each element of kernel_size should be odd.")
    values = _ranked("medfilt", x, sizes, None, "constant", 0.0, 0)
    return values[..., values.shape[-1] // 2]
