"""The fft extension: lazynp's functions, with the `dtype` keyword for the frequencies."""

from __future__ import annotations

from typing import Any

from lazynp import fft as _fft
from lazynp._array import Array
from lazynp.fft import (
    fft as fft,
    fftn as fftn,
    fftshift as fftshift,
    hfft as hfft,
    ifft as ifft,
    ifftn as ifftn,
    ifftshift as ifftshift,
    ihfft as ihfft,
    irfft as irfft,
    irfftn as irfftn,
    rfft as rfft,
    rfftn as rfftn,
)
from lazynp.functions._arguments import check_device, dtype_argument
from lazynp.functions._operands import as_array, cast

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def _frequencies(function: Any, n: int, d: float, dtype: Any, device: Any) -> Array:
    check_device(device)
    wanted = dtype_argument("f8" if dtype is None else dtype)
    if wanted.kind != "f":
        raise ValueError(f"dtype must be a real-valued floating-point one, got {wanted}")
    return cast(as_array(function(n, d)), wanted)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The sample frequencies of `fft`, in a real floating-point dtype."""
    return _frequencies(_fft.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The sample frequencies of `rfft`, in a real floating-point dtype."""
    return _frequencies(_fft.rfftfreq, n, d, dtype, device)
