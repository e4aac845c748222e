"""Discrete Fourier transforms over the last one to three axes: one primitive, `fft`.

kind: FFT, IFFT (to complex), RFFT (real to half of a complex spectrum), IRFFT (back). length: the
signal's length on each axis. norm: NumPy's 'backward', 'ortho', 'forward'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import Undefined
from lazynp._sizes import is_size
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._layout import linear

Length = tuple[int, ...]

MOST_AXES = 3  # in one operation: XLA's limit
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _fft_abstract(x: Aval, *, kind: str, length: Length, norm: str) -> Aval:
    wanted = {"RFFT": "fd", "IRFFT": "FD"}.get(kind, "fdFD")
    if x.dtype.char not in wanted:
        raise TypeError(f"fft: {kind} is required of one of the dtypes {wanted!r}, got {x}")
    few = any([type(n) is int and n < 1 for n in length])
    if not 1 <= len(length) <= min(x.ndim, MOST_AXES) or few:
        raise ValueError(f"fft: 1 to {MOST_AXES} positive lengths are required, got {length}")
    given = (*length[:-1], length[-1] // 2 + 1) if kind == "IRFFT" else length
    if x.shape[-len(length) :] != given:
        raise ValueError(f"fft: {kind} of length {length} is required of {given}, got {x}")
    if kind == "RFFT":
        return aval_of((*x.shape[:-1], length[-1] // 2 + 1), x.dtype.char.upper())
    if kind == "IRFFT":
        return aval_of((*x.shape[:-1], length[-1]), x.dtype.char.lower())
    return aval_of(x.shape, x.dtype.char.upper())


_ONE = {"FFT": np.fft.fft, "IFFT": np.fft.ifft, "RFFT": np.fft.rfft, "IRFFT": np.fft.irfft}
_MANY = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}


def _fft_reference(x: Any, *, kind: str, length: Length, norm: str) -> Any:
    if len(length) == 1:
        return _ONE[kind](x, length[0], norm=norm)  # type: ignore[arg-type]
    axes = tuple(range(-len(length), 0))
    return _MANY[kind](x, length, axes=axes, norm=norm)  # type: ignore[arg-type]


def _fft_lower(b: Any, x: Any, *, kind: str, length: Length, norm: str) -> Any:
    """XLA normalises inverse transforms like NumPy's default."""
    out = _fft_abstract(x.aval, kind=kind, length=length, norm=norm)
    if out.size == 0:
        return b.constant(0, out.dtype, out.shape)
    y = b.fft(b.convert(x, out.dtype) if kind in ("FFT", "IFFT") else x, kind, length)
    size = math.prod(length)
    if kind in ("FFT", "RFFT"):
        factor = {"backward": 1.0, "ortho": 1 / math.sqrt(size), "forward": 1 / size}[norm]
    else:
        factor = {"backward": 1.0, "ortho": math.sqrt(size), "forward": float(size)}[norm]
    if factor == 1:
        return y
    scale = b.constant(factor, np.dtype(out.dtype.char.lower()), out.shape)
    if kind == "IRFFT":
        return b.binary("stablehlo.multiply", y, scale)
    parts = [b.binary("stablehlo.multiply", part, scale) for part in (b.real(y), b.imag(y))]
    return b.complex(*parts)


def _fft_transpose(ct: Any, x: Any, *, kind: str, length: Length, norm: str) -> list[Any]:
    """The matrix of a complex transform is symmetric. Real transforms transpose through their
    parts.
    """
    assert isinstance(x, Undefined)
    if kind in ("FFT", "IFFT"):
        back = fft(ct, kind=kind, length=length, norm=norm)
        return [elementwise.real(back) if x.aval.dtype.kind == "f" else back]
    if kind == "RFFT":
        nothing = (0,) * ct.ndim
        missing = (*nothing[1:], length[-1] - ct.shape[-1])
        whole = shaping.pad(ct, 0, low=nothing, high=missing, interior=nothing)
        return [elementwise.real(fft(whole, kind="FFT", length=length, norm=norm))]
    half = fft(ct, kind="RFFT", length=length, norm=_SWAPPED[norm])
    return [elementwise.conjugate(elementwise.multiply(_multiplicity(half, length[-1]), half))]


def _multiplicity(half: Any, n: int) -> Any:
    """How often each element of the half spectrum occurs in the whole: the first and the middle
    once.
    """
    if is_size(n):
        odd, dtype = n % 2, np.dtype(bool)
        parts = (True, 1), (False, n // 2 - 1 + odd), (True, 1 - odd)
        once = shaping.concatenate(
            *[shaping.full(x, shape=(k,), dtype=dtype) for x, k in parts], axis=0
        )
    else:
        at = shaping.iota(shape=half.shape[-1:], axis=0, dtype=np.dtype("i8"))
        once = elementwise.equal(at, 0)
        if n % 2 == 0:
            once = elementwise.logical_or(once, elementwise.equal(at, n // 2))
    dtype = np.dtype(half.dtype.char.lower())
    return elementwise.convert(elementwise.select(once, 1, 2), dtype=dtype)


def _fft_batch(
    size: int, batched: Sequence[bool], x: Any, *, kind: str, length: Length, norm: str
) -> Any:
    return fft(x, kind=kind, length=length, norm=norm)


fft = linear(
    "fft",
    abstract=_fft_abstract,
    reference=_fft_reference,
    lower=_fft_lower,
    transpose=_fft_transpose,
    batch=_fft_batch,
    kind="fft",
)
