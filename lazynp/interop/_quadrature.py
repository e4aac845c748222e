"""scipy.integrate of samples: trapezoid, simpson, and their cumulative forms."""

from __future__ import annotations

from typing import Any

import numpy

import lazynp as np


def _front(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """y with the axis last, and the steps: a number, or an array like y[..., 1:]."""
    y = np.asarray(y)
    turned = np.moveaxis(y, axis, -1)
    if x is None:
        return turned, dx
    x = np.asarray(x)
    if x.ndim == 1:
        if x.size != turned.shape[-1]:
            raise ValueError("If given, shape of `x` must be 1-D or the same as `y`.")
        return turned, x[1:] - x[:-1]
    x = np.moveaxis(x, axis, -1)
    return turned, x[..., 1:] - x[..., :-1]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y, step = _front(y, x, dx, axis)
    return (step * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    y, step = _front(y, x, dx, axis)
    if not y.shape[-1]:
        raise ValueError("At least one point is required along `axis`.")
    out = np.cumsum(step * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        out = np.concatenate([np.full((*out.shape[:-1], 1), initial, out.dtype), out], axis=-1)
    return np.moveaxis(out, -1, axis)


def _pairs(y: Any, h: Any) -> Any:
    """The integrals over pairs of intervals, of the parabolas through three points each."""
    if not hasattr(h, "ndim") or not h.ndim:
        return h / 3.0 * (y[..., :-2:2] + 4.0 * y[..., 1:-1:2] + y[..., 2::2])
    first, second = h[..., :-1:2], h[..., 1::2]
    both, ratio = first + second, first / second
    middle = both * both / (first * second)
    return (
        both
        / 6.0
        * (
            y[..., :-2:2] * (2.0 - 1.0 / ratio)
            + y[..., 1:-1:2] * middle
            + y[..., 2::2] * (2.0 - ratio)
        )
    )


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """An even number of points: Cartwright's correction for the last interval, as SciPy does."""
    y, h = _front(y, x, dx, axis)
    n, steps = y.shape[-1], None
    if x is not None:
        steps = h
    if n % 2:
        return _pairs(y, h).sum(-1) if n > 1 else np.zeros_like(y[..., 0] * 1.0)
    if n == 2:
        return (h * (y[..., 1:] + y[..., :-1]) * 0.5)[..., 0]
    whole = _pairs(y[..., :-1], h if steps is None else h[..., :-1]).sum(-1)
    last = h if steps is None else h[..., -1]
    before = h if steps is None else h[..., -2]
    a = (2 * last**2 + 3 * last * before) / (6 * (before + last))
    b = (last**2 + 3 * before * last) / (6 * before)
    c = last**3 / (6 * before * (before + last))
    return whole + (a * y[..., -1] + b * y[..., -2] - c * y[..., -3])


def _intervals(y: Any, h: Any) -> Any:
    """For each interval but the last, the integral of the parabola through three points."""
    f1, f2, f3 = y[..., :-2], y[..., 1:-1], y[..., 2:]
    if not hasattr(h, "ndim") or not h.ndim:
        return h / 3 * (5 * f1 / 4 + 2 * f2 - f3 / 4)
    x21, x32 = h[..., :-1], h[..., 1:]
    x31 = x21 + x32
    ratio, product = x21 / x31, x21**2 / (x31 * x32)
    return x21 / 6 * ((3 - ratio) * f1 + (3 + product + ratio) * f2 - product * f3)


def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    y, h = _front(y, x, dx, axis)
    if y.shape[-1] < 3:
        parts = h * (y[..., 1:] + y[..., :-1]) / 2.0
    else:
        forward = _intervals(y, h)
        turned = h[..., ::-1] if hasattr(h, "ndim") and h.ndim else h
        backward = _intervals(y[..., ::-1], turned)[..., ::-1]
        # even intervals look ahead, odd ones back, the last one back
        n = y.shape[-1] - 1
        even = numpy.arange(n) % 2 == 0
        even[-1] = False
        ahead = np.concatenate([forward, backward[..., -1:]], axis=-1)
        back = np.concatenate([forward[..., :1], backward], axis=-1)
        parts = np.where(even, ahead, back)
    out = np.cumsum(parts, axis=-1)
    if initial is not None:
        initial = np.asarray(initial)
        if initial.ndim:
            initial = np.moveaxis(initial, axis, -1)
        first = np.broadcast_to(initial, (*out.shape[:-1], 1))
        out = np.concatenate([first, out + first], axis=-1)
    return np.moveaxis(out, -1, axis)
