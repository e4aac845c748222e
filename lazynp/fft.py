"""Discrete Fourier transforms: the namespace of `numpy.fft`."""

from __future__ import annotations

import numpy.fft as _numpy

from lazynp.functions._dispatch import dispatching as _dispatching
from lazynp.functions.fourier import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

test = _numpy.test  # type: ignore[attr-defined]
globals().update(_dispatching({n: globals()[n] for n in __all__}, _numpy, "lazynp.fft"))
