"""scipy.interpolate on a grid: RegularGridInterpolator; and PchipInterpolator, by the data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, is_traced, refuse
from lazynp.interop._splines import hold, keep_places, plain_places

# -- RegularGridInterpolator -----------------------------------------------------------------------


def regular_grid(
    self: Any, points: Any, values: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = numpy.nan, **options: Any,
) -> Any:  # fmt: skip
    """`RegularGridInterpolator.__init__`, for traced values."""
    if is_traced((points, fill_value)):
        refuse("RegularGridInterpolator", "points or fill_value that are traced")
    (values,) = inexact(values)
    zeros = numpy.zeros(values.shape)  # SciPy checks the arguments, and keeps what is not traced
    scipy.interpolate.RegularGridInterpolator.__init__(
        self, points, zeros, method, bounds_error, fill_value, **options
    )
    flipped = tuple(i for i, p in enumerate(points) if numpy.asarray(p)[-1] < numpy.asarray(p)[0])
    self._lazynp = np.flip(values, flipped) if flipped else values
    return None


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = numpy.nan,
) -> Any:  # fmt: skip
    """`scipy.interpolate.interpn`: an interpolator that is asked once."""
    if method == "splinef2d":
        refuse("interpn", f"method={method!r}")
    made = scipy.interpolate.RegularGridInterpolator(
        points, values, method=method, bounds_error=bounds_error, fill_value=fill_value
    )
    return made(xi)


def regular_grid_at(self: Any, xi: Any, method: Any = None, **options: Any) -> Any:
    """`RegularGridInterpolator.__call__`."""
    kept = getattr(self, "_lazynp", None)
    if kept is None and not is_traced(xi):
        return NotImplemented
    method = self.method if method is None else method
    if method not in ("linear", "nearest") or any(v is not None for v in options.values()):
        refuse("RegularGridInterpolator", f"method={method!r}")
    data = np.asarray(self.values) if kept is None else kept
    grid = [numpy.asarray(p, float) for p in self.grid]
    xi = xi[0] if isinstance(xi, tuple) and len(xi) == 1 else xi
    if isinstance(xi, tuple):
        axes = np.broadcast_arrays(*inexact(*xi))
        places = np.stack(axes, axis=-1)
    else:
        (places,) = inexact(np.asarray(xi))
        places = places.reshape(-1, len(grid)) if places.ndim == 1 else places
    at = np.stop_gradient(places)
    low, high = numpy.array([p[0] for p in grid]), numpy.array([p[-1] for p in grid])
    outside = ((at < low) | (at > high)).any(axis=-1)
    if self.bounds_error:
        check(outside.any(), ValueError, "One of the requested xi is out of bounds")
    out = _multilinear(grid, data, places, at, method)
    rest = (..., *[None] * (data.ndim - len(grid)))
    if not self.bounds_error and self.fill_value is not None:
        out = np.where(outside[rest], self.fill_value, out)
    return np.where(np.isnan(at).any(axis=-1)[rest], numpy.nan, out)


def _multilinear(grid: Any, data: Any, places: Any, at: Any, method: str) -> Any:
    """The sum over the corners of the cell; the nearest of them."""
    lower, shares = [], []
    for k, knots in enumerate(grid):
        i = np.clip(np.searchsorted(knots, at[..., k]) - 1, 0, len(knots) - 2)
        lower.append(i)
        first, second = np.asarray(knots)[i], np.asarray(knots)[i + 1]
        shares.append((places[..., k] - first) / (second - first))
    if method == "nearest":
        return data[tuple(np.where(s <= 0.5, i, i + 1) for i, s in zip(lower, shares, strict=True))]
    rest = (..., *[None] * (data.ndim - len(grid)))
    out: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(grid)):
        weight: Any = 1.0
        for c, s in zip(corner, shares, strict=True):
            weight = weight * (s if c else 1 - s)
        values = data[tuple(i + c for i, c in zip(lower, corner, strict=True))]
        out = out + values * weight[rest]
    return out


# -- PchipInterpolator -----------------------------------------------------------------------------


def pchip(self: Any, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Any:
    """`PchipInterpolator.__init__`, for traced y: Fritsch and Butland's slopes."""
    if type(self) is not scipy.interpolate.PchipInterpolator:
        return NotImplemented
    (y,) = inexact(y)
    axis, zeros = axis % y.ndim, numpy.zeros(y.shape)
    scipy.interpolate.PchipInterpolator.__init__(self, plain_places(x), zeros, axis, extrapolate)
    x, data = keep_places(self, x), np.moveaxis(y, axis, 0)
    h = (x[1:] - x[:-1]).reshape(-1, *[1] * (data.ndim - 1))
    rise = (data[1:] - data[:-1]) / h
    slopes = _slopes(h, rise) if len(x) > 2 else np.concatenate([rise, rise], axis=0)
    t = (slopes[:-1] + slopes[1:] - 2 * rise) / h
    c = np.stack([t / h, (rise - slopes[:-1]) / h - t, slopes[:-1], data[:-1]])
    hold(self, "c", c)
    return None


def _slopes(h: Any, rise: Any) -> Any:
    """Weighted harmonic means of the rises on both sides; 0 at extrema."""
    before, after = rise[:-1], rise[1:]
    flat = (np.sign(before) != np.sign(after)) | (before == 0) | (after == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    safe = [np.where(flat, 1.0, v) for v in (before, after)]
    inner = np.where(flat, 0.0, (w1 + w2) / (w1 / safe[0] + w2 / safe[1]))
    ends = [_end(h[0], h[1], rise[0], rise[1]), _end(h[-1], h[-2], rise[-1], rise[-2])]
    return np.concatenate([ends[0][None], inner, ends[1][None]], axis=0)


def _end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Three points, if that keeps the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    wrong = np.sign(d) != np.sign(m0)
    steep = (np.sign(m0) != np.sign(m1)) & (abs(d) > 3.0 * abs(m0))
    return np.where(wrong, 0.0, np.where(steep, 3.0 * m0, d))
