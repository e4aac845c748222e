"""scipy.signal: convolutions, and recursive filters by a scan over time."""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._primitive import Undefined
from lazynp._values import knowable
from lazynp.interop._calls import each, inexact, on_host, only

# -- convolutions ----------------------------------------------------------------------------------


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return np.special.convolve(in1, in2, mode, method)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, kernel = np.asarray(in1), np.asarray(in2)
    turned = np.conj(np.flip(kernel))
    if mode == "valid" and any(k > n for n, k in zip(x.shape, kernel.shape)):
        return np.conj(np.flip(np.special.convolve(kernel, np.conj(np.flip(x)), mode, method)))
    return np.special.convolve(x, turned, mode, method)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    only("fftconvolve", axes=(axes, None))
    x, kernel = inexact(in1, in2)
    return np.special.convolve(x, kernel, mode, "fft")


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    x, kernel = np.asarray(in1), np.asarray(in2)
    if x.ndim != 2 or kernel.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    names = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap",
             "symm": "symmetric", "symmetric": "symmetric"}  # fmt: skip
    if boundary not in names:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), "
                         "and 'symmetric' (or 'symm').")  # fmt: skip
    if mode == "valid":
        return np.special.convolve(x, kernel, mode)
    options = {"constant_values": fillvalue} if names[boundary] == "constant" else {}
    widths = [(k - 1, k - 1) for k in kernel.shape]
    if mode == "same":
        widths = [(k - 1 - (k - 1) // 2, (k - 1) // 2) for k in kernel.shape]
    return np.special.convolve(np.pad(x, widths, names[boundary], **options), kernel, "valid")


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    only("oaconvolve", axes=(axes, None))
    return fftconvolve(in1, in2, mode)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """A convolution with the kernel turned around; "same" begins at the kernel's other middle."""
    kernel = np.conj(np.asarray(in2)[::-1, ::-1])
    if mode != "same":
        return convolve2d(in1, kernel, mode, boundary, fillvalue)
    x, size = np.asarray(in1), kernel.shape
    whole = convolve2d(x, kernel, "full", boundary, fillvalue)
    begin = [k // 2 for k in size]
    return whole[begin[0] : begin[0] + x.shape[0], begin[1] : begin[1] + x.shape[1]]


# -- recursive filters -----------------------------------------------------------------------------


def _coefficients(b: Any, a: Any, dtype: Any) -> tuple[Any, Any, int]:
    """b and a, of one length, divided by a[0]."""
    b, a = np.atleast_1d(np.asarray(b)).astype(dtype), np.atleast_1d(np.asarray(a)).astype(dtype)
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if not a.size or not b.size:
        raise ValueError("a and b must not be empty")
    size = max(a.size, b.size)
    first = a[0]
    grown = [np.concatenate([c, np.zeros(size - c.size, dtype)]) / first for c in (b, a)]
    return grown[0], grown[1], size


def _filtered(b: Any, a: Any, x: Any, z: Any) -> tuple[Any, Any]:
    """The transposed direct form II. x: time first; z: the state, one row for each delay."""
    rest = (-1, *[1] * (x.ndim - 1))
    b_rest, a_rest, first = b[1:].reshape(rest), a[1:].reshape(rest), b[0]

    def step(z: Any, u: Any) -> tuple[Any, Any]:
        y = first * u + z[0]
        moved = np.concatenate([z[1:], np.zeros_like(z[:1])], axis=0)
        return moved + b_rest * u - a_rest * y, y

    z, y = np.scan(step, z, x)
    return y, z


def _delays(x: Any, count: int) -> Any:
    """x, and x later by one, two, ... samples: in front of the last axis."""
    n, zeros = x.shape[-1], np.zeros_like(x)
    rows = [
        np.concatenate([zeros[..., :k], x[..., : n - k]], axis=-1) for k in range(min(count, n))
    ]
    return np.stack([*rows, *[zeros] * (count - len(rows))], axis=-2)


def _filter_reference(b: Any, a: Any, x: Any, *, effect: bool) -> tuple[Any, ...]:
    b, a, x = map(numpy.asarray, (b, a, x))
    rows = b.reshape(-1, b.shape[-1]), a.reshape(-1, a.shape[-1])
    if x.size and all((r == r[0]).all() for r in rows):
        out = scipy.signal.lfilter(rows[0][0], rows[1][0], x)
    else:
        out = each(scipy.signal.lfilter, (1, 1, 1), b, a, x)
    return (numpy.zeros_like(x) if out is None else out.astype(x.dtype),)


def _filter_jvp(primals: Any, tangents: Any, *, effect: bool) -> Any:
    """a * y = b * x, so a * y' = b * x' + b' * x - a' * y, where * is a convolution."""
    (b, a, x), (b_dot, a_dot, x_dot) = primals, tangents
    (y,) = filtered(b, a, x, effect=False)
    moved = None if x_dot is None else filtered(b, a, x_dot, effect=False)[0]
    for dot, signal, sign in ((b_dot, x, 1.0), (a_dot, y, -1.0)):
        if dot is None:
            continue
        late = (dot[..., None, :] @ _delays(signal, dot.shape[-1]))[..., 0, :]
        first = np.broadcast_to(numpy.eye(1, b.shape[-1], dtype=b.dtype)[0], b.shape)
        (more,) = filtered(sign * first, a, late, effect=False)
        moved = more if moved is None else moved + more
    return (y,), [moved]


def _filter_transpose(cts: Any, b: Any, a: Any, x: Any, *, effect: bool) -> list[Any]:
    """Backwards in time."""
    if not isinstance(x, Undefined) or cts[0] is None:
        return [None, None, None]
    return [None, None, filtered(b, a, cts[0][..., ::-1], effect=False)[0][..., ::-1]]


filtered = on_host(
    "lfilter", lambda b, a, x, **_: (x,), _filter_reference, _filter_jvp, _filter_transpose
)


def _filtered_at_once(b: Any, a: Any, x: Any) -> Any:
    """Along the last axis, by SciPy."""
    rows = [np.broadcast_to(c, (*x.shape[:-1], c.shape[-1])) for c in (b, a)]
    return filtered(*rows, x, effect=False)[0]


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    x = np.asarray(x)
    dtype = numpy.result_type(*[np.asarray(v).dtype for v in (b, a, x)], numpy.float32)
    if all(np.asarray(v).dtype.kind not in "fc" for v in (b, a, x)):
        dtype = numpy.dtype(numpy.float64)
    b, a, size = _coefficients(b, a, dtype)
    if zi is None and all(knowable(v._read()) for v in (b, a, x)):  # else a program may hold it
        y = _filtered_at_once(b, a, np.moveaxis(x.astype(dtype), axis, -1))
        return np.moveaxis(y, -1, axis)
    turned = np.moveaxis(x.astype(dtype), axis, 0)
    if zi is None:
        z = np.zeros((size - 1, *turned.shape[1:]), dtype)
    else:
        zi = np.moveaxis(np.asarray(zi).astype(dtype), axis, 0)
        z = np.broadcast_to(zi, (size - 1, *turned.shape[1:]))
    if size == 1:
        y = b[0] * turned
    elif not turned.shape[0]:
        y = turned
    else:
        y, z = _filtered(b, a, turned, z)
    y = np.moveaxis(y, 0, axis)
    return y if zi is None else (y, np.moveaxis(z, 0, axis))


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None,
    fs: float = 2 * numpy.pi, include_nyquist: bool = False,
) -> Any:  # fmt: skip
    """The response at SciPy's frequencies."""
    only("freqz", plot=(plot, None), b=(np.ndim(b) < 2 and np.ndim(a) < 2, True))
    one = numpy.ones(1)
    w, _ = scipy.signal.freqz(one, one, worN, whole, None, fs, include_nyquist)
    z = numpy.exp(-2j * numpy.pi * w / fs)
    top, bottom = (np.polyval(np.atleast_1d(np.asarray(c))[::-1], z) for c in (b, a))
    return w, top / bottom


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    sos, x = inexact(sos, x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    states = []
    for section, row in enumerate(sos):
        if zi is None:
            x = lfilter(row[:3], row[3:], x, axis)
        else:
            x, state = lfilter(row[:3], row[3:], x, axis, zi[section])
            states.append(state)
    return x if zi is None else (x, np.stack(states))
