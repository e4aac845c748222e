"""Discrete Fourier transforms: the namespace of `numpy.fft`."""

from __future__ import annotations

import numpy.fft as _numpy

from lazynp.functions._dispatch import make_overridable as _make_overridable
from lazynp.functions.fourier import (
    fft as fft,
    fft2 as fft2,
    fftfreq as fftfreq,
    fftn as fftn,
    fftshift as fftshift,
    hfft as hfft,
    ifft as ifft,
    ifft2 as ifft2,
    ifftn as ifftn,
    ifftshift as ifftshift,
    ihfft as ihfft,
    irfft as irfft,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft as rfft,
    rfft2 as rfft2,
    rfftfreq as rfftfreq,
    rfftn as rfftn,
)

__all__: list[str] = []
__all__ += _numpy.__all__

test = _numpy.test  # type: ignore[attr-defined]
_make_overridable(globals(), _numpy)
