"""Discrete Fourier transforms. At present each function runs in NumPy on the values."""

from __future__ import annotations

import numpy.fft as _numpy

from lazynp.functions._host import hosted as _hosted

fft = _hosted(_numpy.fft)
ifft = _hosted(_numpy.ifft)
rfft = _hosted(_numpy.rfft)
irfft = _hosted(_numpy.irfft)
hfft = _hosted(_numpy.hfft)
ihfft = _hosted(_numpy.ihfft)
rfftn = _hosted(_numpy.rfftn)
irfftn = _hosted(_numpy.irfftn)
rfft2 = _hosted(_numpy.rfft2)
irfft2 = _hosted(_numpy.irfft2)
fft2 = _hosted(_numpy.fft2)
ifft2 = _hosted(_numpy.ifft2)
fftn = _hosted(_numpy.fftn)
ifftn = _hosted(_numpy.ifftn)
fftshift = _hosted(_numpy.fftshift)
ifftshift = _hosted(_numpy.ifftshift)
fftfreq = _hosted(_numpy.fftfreq)
rfftfreq = _hosted(_numpy.rfftfreq)

__all__ = [
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "hfft",
    "ihfft",
    "rfftn",
    "irfftn",
    "rfft2",
    "irfft2",
    "fft2",
    "ifft2",
    "fftn",
    "ifftn",
    "fftshift",
    "ifftshift",
    "fftfreq",
    "rfftfreq",
]
