"""scipy.ndimage: correlations with constant or traced weights, and map_coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, only, refuse

_PADS = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant",
    "grid-constant": "constant", "nearest": "edge", "mirror": "reflect", "wrap": "wrap",
    "grid-wrap": "wrap",
}  # fmt: skip


def _padded(x: Any, widths: Sequence[tuple[int, int]], mode: Any, cval: Any) -> Any:
    """x with its continuation; a mode for each axis, or one for all."""
    modes = [mode] * x.ndim if isinstance(mode, str) else list(mode)
    if len(modes) != x.ndim:
        raise RuntimeError("sequence argument must have length equal to input rank")
    for axis, (width, name) in enumerate(zip(widths, modes, strict=True)):
        if name not in _PADS:
            raise RuntimeError("boundary mode not supported")
        if any(width):
            pads = [(0, 0)] * x.ndim
            pads[axis] = width
            options = {"constant_values": cval} if _PADS[name] == "constant" else {}
            x = np.pad(x, pads, _PADS[name], **options)
    return x


def _operands(name: str, x: Any, weights: Any, output: Any) -> tuple[Any, Any]:
    """Input and weights. The result has the input's dtype, as in SciPy."""
    only(name, output=(output, None))
    x, weights = np.asarray(x), np.asarray(weights)
    if x.dtype.kind not in "fc":
        refuse(name, f"an input of dtype {x.dtype}, whose result SciPy rounds")
    return x, weights


def _many(value: Any, count: int) -> list[Any]:
    """One value for each axis."""
    if numpy.ndim(value) == 0:
        return [value] * count
    if len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(value)


def _correlated(x: Any, weights: Any, mode: Any, cval: Any, origins: Sequence[int]) -> Any:
    """The sum over k of weights[k] x[i + k - size // 2 - origin]."""
    widths = []
    for size, origin in zip(weights.shape, origins, strict=True):
        if not -(size // 2) <= origin <= (size - 1) // 2:
            raise ValueError("invalid origin")
        widths.append((size // 2 + origin, size - size // 2 - 1 - origin))
    if not x.size:
        return x
    padded = _padded(x, widths, mode, cval)
    kind = numpy.result_type(x.dtype, weights.dtype)
    out_dtype = kind if kind.kind == "c" else x.dtype
    kernel = np.flip(weights).astype(kind)
    return np.special.convolve(padded, kernel, "valid").astype(out_dtype)


def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    x, weights = _operands("correlate", input, weights, output)
    only("correlate", axes=(axes, None))
    if x.ndim != weights.ndim:
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({x.ndim})")
    return _correlated(x, weights, mode, cval, _many(origin, x.ndim))


def _mirrored(sizes: Sequence[int], origins: Sequence[int]) -> list[int]:
    """A convolution is a correlation with the kernel reversed, about another origin."""
    return [-o - (1 - n % 2) for n, o in zip(sizes, origins, strict=True)]


def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    weights = np.asarray(weights)
    origins = _mirrored(weights.shape, _many(origin, weights.ndim))
    return correlate(input, np.flip(weights), output, mode, cval, origins, axes=axes)


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    x, weights = _operands("correlate1d", input, weights, output)
    axis = range(x.ndim)[axis]
    shape, origins = [1] * x.ndim, [0] * x.ndim
    shape[axis], origins[axis] = weights.size, origin
    return _correlated(x, weights.reshape(shape), mode, cval, origins)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    weights = np.asarray(weights)
    (origin,) = _mirrored(weights.shape, [origin])
    return correlate1d(input, weights[::-1], axis, output, mode, cval, origin)


# -- smoothing -------------------------------------------------------------------------------------


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The sampled Gaussian, or its derivative: a polynomial times it."""
    at = numpy.arange(-radius, radius + 1)
    phi = np.exp(-0.5 / (sigma * sigma) * at**2)
    phi = phi / phi.sum()
    polynomial: list[Any] = [1.0]
    for _ in range(order):  # the derivative of q phi is (q' - x / sigma^2 q) phi
        grown = [0.0] * (len(polynomial) + 1)
        for k, q in enumerate(polynomial):
            if k:
                grown[k - 1] = grown[k - 1] + k * q
            grown[k + 1] = grown[k + 1] - q / (sigma * sigma)
        polynomial = grown
    return sum(q * at**k for k, q in enumerate(polynomial)) * phi if order else phi


def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    if order < 0:
        raise ValueError("order must be non-negative")
    if not is_traced(sigma):
        sigma = float(sigma)
    if radius is None:
        radius = int(truncate * float(np.stop_gradient(sigma)) + 0.5)
    weights = np.asarray(_gaussian(sigma, order, radius))
    return correlate1d(input, weights[::-1], axis, output, mode, cval, 0)


def _axes(axes: Any, ndim: int) -> list[int]:
    chosen = range(ndim) if axes is None else [axes] if numpy.ndim(axes) == 0 else axes
    return [range(ndim)[a] for a in chosen]


def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    x = np.asarray(input)
    chosen = _axes(axes, x.ndim)
    count = len(chosen)
    modes = [mode] * count if isinstance(mode, str) else _many(mode, count)
    options = zip(chosen, _many(sigma, count), _many(order, count), modes, _many(radius, count))
    for axis, width, degree, name, reach in options:
        if float(np.stop_gradient(width)) > 1e-15:
            x = gaussian_filter1d(
                x, width, axis, degree, output, name, cval, truncate, radius=reach
            )
    return x


def _derivatives(
    input: Any, sigma: Any, order: int, output: Any, mode: Any, cval: Any, axes: Any, options: Any
) -> list[Any]:
    """Gaussian filters, each with a derivative along one axis."""
    x = np.asarray(input)
    chosen = _axes(axes, x.ndim)
    if len(chosen) < x.ndim:
        refuse("gaussian_laplace", f"axes={axes!r}")
    modes = [mode] * x.ndim if isinstance(mode, str) else _many(mode, x.ndim)
    return [
        gaussian_filter(x, sigma, [order * (a == k) for k in range(x.ndim)], output, name, cval,
                        **options)
        for a, name in zip(chosen, modes, strict=True)
    ]  # fmt: skip


def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *,
    axes: Any = None, **options: Any,
) -> Any:  # fmt: skip
    parts = _derivatives(input, sigma, 2, output, mode, cval, axes, options)
    return sum(parts[1:], parts[0])


def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *,
    axes: Any = None, **options: Any,
) -> Any:  # fmt: skip
    parts = _derivatives(input, sigma, 1, output, mode, cval, axes, options)
    return np.sqrt(sum([p * p for p in parts[1:]], parts[0] * parts[0]))


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlate1d(input, numpy.full(size, 1 / size), axis, output, mode, cval, origin)


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    x = np.asarray(input)
    chosen = _axes(axes, x.ndim)
    count = len(chosen)
    modes = [mode] * count if isinstance(mode, str) else _many(mode, count)
    for axis, n, shift, name in zip(chosen, _many(size, count), _many(origin, count), modes):
        if n > 1:
            x = uniform_filter1d(x, int(n), axis, output, name, cval, shift)
    return x


def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    x = np.asarray(input)
    chosen = _axes(axes, x.ndim)
    modes = [mode] * len(chosen) if isinstance(mode, str) else _many(mode, len(chosen))
    parts = [
        correlate1d(x, [1.0, -2.0, 1.0], axis, output, name, cval)
        for axis, name in zip(chosen, modes, strict=True)
    ]
    return sum(parts[1:], parts[0])


def _slope(name: str, side: Sequence[float]) -> Any:
    def slope(
        input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
    ) -> Any:
        x = np.asarray(input)
        axis = range(x.ndim)[axis]
        modes = [mode] * x.ndim if isinstance(mode, str) else _many(mode, x.ndim)
        x = correlate1d(x, [-1.0, 0.0, 1.0], axis, output, modes[axis], cval)
        for other in range(x.ndim):
            if other != axis:
                x = correlate1d(x, side, other, output, modes[other], cval)
        return x

    slope.__name__ = name
    return slope


sobel, prewitt = _slope("sobel", [1.0, 2.0, 1.0]), _slope("prewitt", [1.0, 1.0, 1.0])


# -- interpolation ---------------------------------------------------------------------------------


def _folded(c: Any, n: int, mode: str) -> Any:
    """Coordinates outside of an axis of n points, brought into it, as SciPy does."""
    if mode == "nearest":
        return np.clip(c, 0, n - 1)
    if mode == "mirror":
        period = 2.0 * (n - 1)
        return abs((c + (n - 1)) % period - (n - 1)) if n > 1 else 0 * c
    if mode in ("reflect", "grid-mirror"):
        return abs((c + 0.5 + n) % (2.0 * n) - n) - 0.5
    if mode == "wrap":
        inside = (c >= 0) & (c <= n - 1)
        return np.where(inside, c, c % (n - 1.0)) if n > 1 else 0 * c
    return c % (1.0 * n) if mode == "grid-wrap" else c


def _tap(i: Any, n: int, mode: str) -> Any:
    """The index of a sample that the interpolation needs beyond an end."""
    if mode == "grid-wrap":
        return i % n
    if mode in ("reflect", "grid-mirror"):
        i = i % (2 * n)
        return np.where(i < n, i, 2 * n - 1 - i)
    if mode == "nearest":
        return np.clip(i, 0, n - 1)
    if n == 1:
        return 0 * i
    i = i % (2 * n - 2)
    return np.where(i < n, i, 2 * n - 2 - i)


def _weights(s: Any, order: int) -> list[Any]:
    """B-splines at the samples around, s after the first of them (order 1) or the second (3)."""
    if order == 0:
        return [1.0]
    if order == 1:
        return [1.0 - s, s]
    r = 1.0 - s
    return [r**3 / 6, 2 / 3 - s * s * (2 - s) / 2, 2 / 3 - r * r * (2 - r) / 2, s**3 / 6]


def _prefiltered(x: Any, mode: str) -> Any:
    """The coefficients of the cubic spline, linear in x: a matrix along each axis."""
    kind = mode if mode in ("reflect", "grid-mirror", "grid-wrap") else "mirror"
    for axis, n in enumerate(x.shape):
        if n > 1:
            matrix = scipy.ndimage.spline_filter1d(numpy.eye(n), 3, 0, mode=kind)
            x = np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
    return x


def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    only("map_coordinates", output=(output, None))
    if order not in (0, 1, 3):
        refuse("map_coordinates", f"order={order}")
    if mode not in (*_PADS, "wrap") or mode == "grid-constant":
        refuse("map_coordinates", f"mode={mode!r}")
    x = np.asarray(input)
    coordinates = inexact(coordinates)[0]
    if x.dtype.kind not in "fc":
        if is_traced(coordinates) and x.dtype.kind in "biu":
            refuse("map_coordinates", f"an input of dtype {x.dtype}, whose result SciPy rounds")
    if coordinates.shape[:1] != (x.ndim,):
        raise RuntimeError("invalid shape for coordinate array")
    pad = 0
    outside: Any = False
    if order == 3 and prefilter:
        if mode == "nearest":
            pad = 12
            x = np.pad(x, pad, "edge")
        x = _prefiltered(x, mode)
    index, weights = [], []
    for c, n in zip(coordinates, x.shape, strict=True):
        at = np.stop_gradient(c)
        if mode == "constant":
            outside = outside | np.logical_not((at >= 0) & (at <= n - 1))
        c = _folded(c + pad, n, mode)
        at = np.stop_gradient(c)
        base = np.floor(at + 0.5 if order == 0 else at)
        first = base.astype(numpy.int64) - (order == 3)
        weights.append(_weights(c - base, order))
        index.append([_tap(first + k, n, mode) for k in range(len(weights[-1]))])
    out: Any = 0.0
    for k in numpy.ndindex(*[len(w) for w in weights]):
        term = x[tuple(i[j] for i, j in zip(index, k, strict=True))]
        for w, j in zip(weights, k, strict=True):
            term = term * w[j]
        out = out + term
    out = np.where(outside, cval, out) if mode == "constant" else out
    return np.asarray(out).astype(np.asarray(input).dtype)
