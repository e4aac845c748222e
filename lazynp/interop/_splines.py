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
from lazynp.interop._matrix_functions import solve_banded

# -- places of the data ----------------------------------------------------------------------------


def held(self: Any, name: str) -> Any:
    """The coefficients `c` or breakpoints `x` of a polynomial or spline, as they were stored: these
    attributes convert. SciPy 1.18 stores them in another object, others as `_c` and `_x`.
    """
    at = getattr(self, "_delegate_to", self)
    found = getattr(at, f"_{name}", None)
    return getattr(at, name) if found is None else found


def hold(self: Any, name: str, value: Any) -> None:
    at = getattr(self, "_delegate_to", self)
    setattr(at, f"_{name}" if hasattr(at, f"_{name}") else name, value)


def breaks_of(self: Any) -> Any:
    """The breakpoints of a piecewise polynomial."""
    return held(self, "x")


def plain_places(x: Any) -> Any:
    """What SciPy gets for the places, to check the other arguments: numbers, in any case."""
    return numpy.arange(float(len(x))) if is_traced(x) else numpy.asarray(x, float)


def keep_places(self: Any, x: Any) -> Any:
    """x, differentiable if it is traced. The object keeps it then."""
    if not is_traced(x):
        return numpy.asarray(x, float)
    (x,) = inexact(x)
    check(np.any(x[1:] <= x[:-1]), ValueError, "`x` must be strictly increasing sequence.")
    hold(self, "x", x)
    return x


# -- evaluation ------------------------------------------------------------------------------------


def evaluated(c: Any, breaks: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    """The piecewise polynomial c[k, interval, ...] at x; the shape is x.shape + c.shape[2:]."""
    if is_traced(breaks):
        breaks = np.asarray(breaks)
        check(np.any(breaks[1:] < breaks[:-1]), ValueError, "`x` must be strictly increasing.")
    else:
        breaks = numpy.asarray(breaks)
        if not (numpy.diff(breaks) >= 0).all():
            refuse("PPoly", "breakpoints in descending order")
    c, x = np.asarray(c), inexact(x)[0]
    if extrapolate == "periodic":
        x = breaks[0] + (x - breaks[0]) % (breaks[-1] - breaks[0])
    place = np.stop_gradient(x)
    i = np.clip(np.searchsorted(np.stop_gradient(breaks), place, "right") - 1, 0, len(breaks) - 2)
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
    if not isinstance(self, scipy.interpolate.PPoly):
        return NotImplemented
    c, breaks = held(self, "c"), breaks_of(self)
    if not is_traced((x, c, breaks)):
        return NotImplemented
    if nu < 0:
        refuse("PPoly", f"nu={nu}")
    x = np.asarray(x)
    out = evaluated(c, breaks, x, nu, self.extrapolate if extrapolate is None else extrapolate)
    if self.axis:
        n = x.ndim
        order = list(range(out.ndim))
        out = out.transpose(order[n : n + self.axis] + order[:n] + order[n + self.axis :])
    return out


# -- construction ----------------------------------------------------------------------------------


def cubic(
    self: Any, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """`CubicSpline.__init__`, for traced y; also for traced places, and values at the ends."""
    if type(self) is not scipy.interpolate.CubicSpline:
        return NotImplemented
    if is_traced((x, bc_type)):
        return _cubic_by_slopes(self, x, y, axis, bc_type, extrapolate)
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
    hold(self, "c", c)
    self.axis = axis
    return None


_ENDS = {"natural": (2, 0.0), "clamped": (1, 0.0)}


def _end(kind: Any, h: Any, rise: Any) -> tuple[Any, Any, Any]:
    """The equation at an end: factors of the slope there and of the next one, and what they add up
    to. Intervals and rises are counted from that end; a second derivative has its sign there.
    """
    if kind == "not-a-knot":
        d = h[0] + h[1]
        share = ((h[0] + 2 * d) * h[1] * rise[0] + h[0] ** 2 * rise[1]) / d
        return h[1], d, share
    order, value = _ENDS[kind] if isinstance(kind, str) else kind
    value = np.asarray(value)
    if order == 1:
        return np.ones_like(h[0]), np.zeros_like(h[0]), value
    return 2 * h[0], h[0], 3 * h[0] * rise[0] - 0.5 * value * h[0] ** 2


def _cubic_by_slopes(self: Any, x: Any, y: Any, axis: int, bc_type: Any, extrapolate: Any) -> Any:
    kinds = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    y = inexact(y)[0]
    axis = axis % y.ndim
    data = np.moveaxis(y, axis, 0)
    n = data.shape[0]
    if n < 4 or "periodic" in [k for k in kinds if isinstance(k, str)]:
        refuse("CubicSpline", "traced places or end values of fewer than 4 data or a period")
    zero = numpy.zeros(data.shape[1:])
    ends = tuple(k if isinstance(k, str) else (k[0], zero) for k in kinds)
    scipy.interpolate.CubicSpline.__init__(
        self, plain_places(x), numpy.zeros(data.shape), 0, ends, extrapolate
    )
    x = np.asarray(keep_places(self, x))
    h = x[1:] - x[:-1]
    wide = h.reshape(-1, *[1] * (data.ndim - 1))
    rise = (data[1:] - data[:-1]) / wide
    inner = 3 * (wide[1:] * rise[:-1] + wide[:-1] * rise[1:])
    left, right = kinds[0], kinds[1]
    if not isinstance(right, str) and right[0] == 2:
        right = (2, -np.asarray(right[1]))
    d0, u0, b0 = _end(left, h, rise)
    d1, u1, b1 = _end(right, h[::-1], rise[::-1])
    nothing = np.zeros_like(h[:1])
    bands = np.stack([
        np.concatenate([nothing, u0[None], h[:-1]]),
        np.concatenate([d0[None], 2 * (h[:-1] + h[1:]), d1[None]]),
        np.concatenate([h[1:], u1[None], nothing]),
    ])  # fmt: skip
    b0, b1 = (np.broadcast_to(b, data.shape[1:])[None] for b in (b0, b1))
    given = np.concatenate([b0, inner, b1])
    slopes = solve_banded((1, 1), bands, given.reshape(n, -1)).reshape(given.shape)
    t = (slopes[:-1] + slopes[1:] - 2 * rise) / wide
    c = np.stack([t / wide, (rise - slopes[:-1]) / wide - t, slopes[:-1], data[:-1]])
    hold(self, "c", c)
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
    """`interp1d.__init__`, for traced y, x and fill values: notes what `interp1d_at` needs."""
    y = np.asarray(y)
    zeros = numpy.zeros(y.shape)  # SciPy checks the arguments, and keeps what is not traced
    plain = fill_value
    if is_traced(fill_value):
        plain = (0.0, 0.0) if isinstance(fill_value, tuple) else 0.0
    scipy.interpolate.interp1d.__init__(
        self, plain_places(x), zeros, kind, axis, copy, bounds_error, plain, assume_sorted
    )
    data = np.moveaxis(inexact(y)[0], axis, 0)
    if not assume_sorted:
        order = np.argsort(np.stop_gradient(np.asarray(x)), kind="mergesort")
        if is_traced(x):
            order = np.argsort(np.stop_gradient(np.asarray(x)), kind="mergesort")
            x = np.asarray(x)[order]
        else:
            order = numpy.argsort(numpy.asarray(x), kind="mergesort")
        data = data[order]
    if is_traced(x) and self._kind == "spline" and self._spline.k:
        refuse("interp1d", f"the places x of the data and kind={kind!r}")
    if kind in ("previous", "next") and isinstance(fill_value, str):
        value = data[-1] if kind == "previous" else data[0]
        fill_value = (numpy.nan, value) if kind == "previous" else (value, numpy.nan)
    self._lazynp = data, fill_value, inexact(x)[0] if is_traced(x) else None
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
    data, fill, places = kept or (
        np.asarray(numpy.moveaxis(self.y, self.axis, 0)), self.fill_value, None
    )  # fmt: skip
    knots, kind = numpy.asarray(self.x, float), self._kind
    if places is not None:
        knots = np.stop_gradient(places)
    (x,) = inexact(x)
    at = np.stop_gradient(x)
    if kind == "linear":
        i = np.clip(np.searchsorted(knots, at), 1, len(knots) - 1)
        places = np.asarray(knots if places is None else places)
        low, high = places[i - 1], places[i]
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
