"""scipy.interpolate: CubicSpline and other piecewise polynomials, interp1d.

Coefficients depend linearly on the data. For traced data they are a constant matrix, SciPy's
coefficients for the unit vectors, times the data.
"""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, is_traced, refuse

# -- evaluation ------------------------------------------------------------------------------------


def evaluated(c: Any, breaks: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    """The piecewise polynomial c[k, interval, ...] at x; the shape is x.shape + c.shape[2:]."""
    breaks = numpy.asarray(breaks)
    if not (numpy.diff(breaks) >= 0).all():
        refuse("PPoly", "breakpoints in descending order")
    c, x = np.asarray(c), inexact(x)[0]
    if extrapolate == "periodic":
        x = breaks[0] + (x - breaks[0]) % (breaks[-1] - breaks[0])
    place = np.stop_gradient(x)
    i = np.clip(np.searchsorted(breaks, place, "right") - 1, 0, len(breaks) - 2)
    s = (x - np.asarray(breaks)[i]).reshape((*x.shape, *[1] * (c.ndim - 2)))
    degree = c.shape[0] - 1
    out: Any = 0.0
    for k in range(degree - nu + 1):
        power = degree - k
        factor = float(numpy.prod([power - j for j in range(nu)])) if nu else 1.0
        out = out * s + c[k][i] * factor
    if nu > degree:
        out = np.zeros((*x.shape, *c.shape[2:]), c.dtype)
    if not extrapolate:
        outside = np.logical_not((place >= breaks[0]) & (place <= breaks[-1]))
        out = np.where(outside.reshape(s.shape), np.nan, out)
    return out


def piecewise(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """`PPoly.__call__`, of CubicSpline and its relatives as well."""
    c = getattr(self, "_c", None)  # `c` itself converts
    c = self.c if c is None else c
    if not isinstance(self, scipy.interpolate.PPoly) or not is_traced((x, c)):
        return NotImplemented
    if nu < 0:
        refuse("PPoly", f"nu={nu}")
    x = np.asarray(x)
    out = evaluated(c, self.x, x, nu, self.extrapolate if extrapolate is None else extrapolate)
    if self.axis:
        n = x.ndim
        order = list(range(out.ndim))
        out = out.transpose(order[n : n + self.axis] + order[:n] + order[n + self.axis :])
    return out


# -- construction ----------------------------------------------------------------------------------


def cubic(
    self: Any, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """`CubicSpline.__init__`, for traced y."""
    if type(self) is not scipy.interpolate.CubicSpline:
        return NotImplemented
    if is_traced(x):
        refuse("CubicSpline", "the places x of the data")
    x = numpy.asarray(x, float)
    y = np.asarray(y)
    axis = axis % y.ndim
    data = np.moveaxis(inexact(y)[0], axis, 0)
    if data.shape[0] != len(x):
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    basis = numpy.eye(len(x))
    if bc_type == "periodic":
        basis = basis[:, :-1]
        basis[-1, 0] = 1.0
        check(
            np.logical_not(np.allclose(data[0], data[-1], rtol=1e-15, atol=1e-15)),
            ValueError,
            "The first and last `y` point along axis 0 must be identical when bc_type='periodic'.",
        )
        data = data[:-1]
    elif not isinstance(bc_type, str):
        for end in bc_type:
            if not isinstance(end, str) and numpy.any(end[1]):
                refuse("CubicSpline", f"bc_type={bc_type!r}, with values")
        bc_type = tuple(e if isinstance(e, str) else (e[0], numpy.zeros(len(x))) for e in bc_type)
    scipy.interpolate.CubicSpline.__init__(self, x, basis, 0, bc_type, extrapolate)
    c = np.tensordot(self.c, data, axes=1)
    setattr(self, "_c" if hasattr(self, "_c") else "c", c)
    self.axis = axis
    return None


# -- interp1d --------------------------------------------------------------------------------------


def interp1d(
    self: Any,
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: Any = None,
    fill_value: Any = numpy.nan,
    assume_sorted: bool = False,
) -> Any:
    """`interp1d.__init__`, for traced y: notes what `interp1d_at` needs."""
    if is_traced(x):
        refuse("interp1d", "the places x of the data")
    if is_traced(fill_value):
        refuse("interp1d", "fill_value")
    y = np.asarray(y)
    zeros = numpy.zeros(y.shape)  # SciPy checks the arguments, and keeps what is not traced
    scipy.interpolate.interp1d.__init__(
        self, x, zeros, kind, axis, copy, bounds_error, fill_value, assume_sorted
    )
    data = np.moveaxis(inexact(y)[0], axis, 0)
    if not assume_sorted:
        data = data[numpy.argsort(numpy.asarray(x), kind="mergesort")]
    if kind in ("previous", "next") and isinstance(fill_value, str):
        value = data[-1] if kind == "previous" else data[0]
        fill_value = (numpy.nan, value) if kind == "previous" else (value, numpy.nan)
    self._lazynp = data, fill_value
    return None


def _steps(kind: str, x: Any, data: Any, at: Any) -> Any:
    """Piecewise constant functions."""
    last = len(x) - 1
    if kind in ("nearest", "nearest-up"):
        middles = x[1:] / 2.0 + x[:-1] / 2.0
        i = np.searchsorted(middles, at, "left" if kind == "nearest" else "right")
    elif kind == "next":
        i = np.searchsorted(x, at, "left")
    else:  # previous, zero
        i = np.searchsorted(x, at, "right") - 1
    return data[np.clip(i, 0, last)]


def _spline(order: int, x: Any, data: Any, at: Any) -> Any:
    made = scipy.interpolate.make_interp_spline(x, numpy.eye(len(x)), k=order, check_finite=False)
    convert = scipy.interpolate.PPoly.from_spline
    pieces = [convert((made.t, column, order)) for column in made.c.T]
    knots = pieces[0].x
    wide = numpy.diff(knots) > 0  # repeated knots at the ends
    breaks = numpy.append(knots[:-1][wide], knots[-1])
    matrix = numpy.stack([p.c for p in pieces], axis=-1)[:, wide]
    return evaluated(np.tensordot(matrix, data, axes=1), breaks, at, 0, True)


def interp1d_at(self: Any, x: Any) -> Any:
    """`interp1d.__call__`."""
    kept = getattr(self, "_lazynp", None)
    if kept is None and not is_traced(x):
        return NotImplemented
    data, fill = kept or (np.asarray(numpy.moveaxis(self.y, self.axis, 0)), self.fill_value)
    knots, kind = numpy.asarray(self.x, float), self._kind
    (x,) = inexact(x)
    at = np.stop_gradient(x)
    if kind == "linear":
        i = np.clip(np.searchsorted(knots, at), 1, len(knots) - 1)
        low, high = np.asarray(knots)[i - 1], np.asarray(knots)[i]
        shape = (*x.shape, *[1] * (data.ndim - 1))
        slope = (data[i] - data[i - 1]) / (high - low).reshape(shape)
        out = slope * (x - low).reshape(shape) + data[i - 1]
    elif kind == "spline" and self._spline.k:
        out = _spline(self._spline.k, knots, data, x)
    else:
        out = _steps(kind, knots, data, at)
    out = _outside(self.bounds_error, fill, knots, at, out, data)
    axis = self.axis % data.ndim
    n, order = x.ndim, list(range(out.ndim))
    return out.transpose(order[n : n + axis] + order[:n] + order[n + axis :])


def _outside(strict: bool, fill: Any, knots: Any, at: Any, out: Any, data: Any) -> Any:
    """The values beyond the data: errors, fill values, or those that are extrapolated."""
    if isinstance(fill, str):  # "extrapolate"
        return out
    below, above = at < knots[0], at > knots[-1]
    if strict:
        check(below.any(), ValueError, "A value in x_new is below the interpolation range.")
        check(above.any(), ValueError, "A value in x_new is above the interpolation range.")
    pair = fill if isinstance(fill, tuple) and len(fill) == 2 else (fill, fill)
    shape = (*at.shape, *[1] * (data.ndim - 1))
    for mask, value in zip((below, above), pair, strict=True):
        out = np.where(mask.reshape(shape), np.asarray(value), out)
    nan = np.isnan(at).reshape(shape)
    return np.where(nan, numpy.nan, out)
