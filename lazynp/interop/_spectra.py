"""scipy.signal: powers at each frequency, of a whole signal or along it."""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, only, refuse


class _Segments:
    """How a signal is cut into segments, weighted and transformed."""

    def __init__(
        self, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
        onesided: bool, scaling: str, n: int,
    ) -> None:  # fmt: skip
        if isinstance(window, (str, tuple)):
            self.size = min(256 if nperseg is None else int(nperseg), n)
            self.weights = scipy.signal.get_window(window, self.size)
        else:
            self.weights, self.size = window, len(window)
        self.length = self.size if nfft is None else nfft
        self.step = self.size - (self.size // 2 if noverlap is None else noverlap)
        self.detrend, self.onesided = detrend, onesided
        only("scipy.signal", detrend=(callable(detrend), False))
        weights = self.weights
        density = scaling == "density"
        self.total = (weights * weights).sum() * fs if density else weights.sum() ** 2
        places = numpy.fft.rfftfreq if onesided else numpy.fft.fftfreq
        self.places = places(self.length, 1 / fs)

    def transformed(self, x: Any) -> Any:
        """[..., segment, frequency]"""
        parts = np.lib.stride_tricks.sliding_window_view(x, self.size, axis=-1)
        parts = parts[..., :: self.step, :]
        if self.detrend:
            kind = self.detrend
            parts = parts @ scipy.signal.detrend(numpy.eye(self.size), axis=0, type=kind).T
        transform = np.fft.rfft if self.onesided else np.fft.fft
        return transform(parts * self.weights, self.length)

    def powers(self, products: Any) -> Any:
        """Of each frequency: the negative ones count with the positive ones."""
        doubled = numpy.ones(len(self.places))
        if self.onesided:
            doubled[1 : None if self.length % 2 else -1] = 2.0
        return products * (doubled / self.total)


def _signal(name: str, x: Any, axis: int) -> Any:
    (x,) = inexact(x)
    only(name, x=(x.dtype.kind, "f"))
    return np.moveaxis(x, axis, -1)


def welch(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    only("welch", average=(average, "mean"))
    x = _signal("welch", x, axis)
    cut = _Segments(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
                    x.shape[-1])  # fmt: skip
    found = cut.transformed(x)
    powers = cut.powers(found.real**2 + found.imag**2).mean(axis=-2)
    return cut.places, np.moveaxis(powers, -1, axis)


def periodogram(
    x: Any, fs: float = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    n = np.asarray(x).shape[axis]
    only("periodogram", nfft=(nfft is None or nfft >= n, True), window=(is_traced(window), False))
    window = "boxcar" if window is None else window
    return welch(x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


def csd(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    only("csd", average=(average, "mean"))
    first, second = (_signal("csd", v, axis) for v in (x, y))
    only("csd", y=(first.shape[-1] == second.shape[-1], True))
    cut = _Segments(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
                    first.shape[-1])  # fmt: skip
    products = np.conj(cut.transformed(first)) * cut.transformed(second)
    powers = cut.powers(products).mean(axis=-2)
    powers = powers.real if y is x else powers
    return cut.places, np.moveaxis(powers, -1, axis)


def coherence(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant", axis: int = -1,
) -> Any:  # fmt: skip
    options = fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis
    places, cross = csd(x, y, *options)
    share = np.real(cross * np.conj(cross)) / welch(x, *options)[1] / welch(y, *options)[1]
    return places, share


def _along(plain: Any, found: Any, axis: int) -> Any:
    """SciPy's frequencies and times, with [..., segment, frequency] as it places them."""
    return plain[0], plain[1], np.moveaxis(found, -1, axis - 1 if axis < 0 else axis)


def stft(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None,
    nfft: Any = None, detrend: Any = False, return_onesided: bool = True,
    boundary: Any = "zeros", padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    if boundary not in ("zeros", None):
        refuse("stft", f"boundary={boundary!r}")
    plain = scipy.signal.stft(
        numpy.zeros(np.shape(x)), fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        boundary, padded, axis, scaling,
    )  # fmt: skip
    x = _signal("stft", x, axis)
    scaling = "density" if scaling == "psd" else scaling
    cut = _Segments(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
                    x.shape[-1])  # fmt: skip
    ends = cut.size // 2 if boundary else 0
    more = (-(x.shape[-1] + 2 * ends - cut.size) % cut.step) % cut.size if padded else 0
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(ends, ends + more)])
    return _along(plain, cut.transformed(x) / cut.total**0.5, axis)


def spectrogram(
    x: Any, fs: float = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> Any:  # fmt: skip
    if mode not in ("psd", "complex", "magnitude", "angle"):
        refuse("spectrogram", f"mode={mode!r}")
    options = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling
    plain = scipy.signal.spectrogram(numpy.zeros(np.shape(x)), fs, *options, axis, mode)
    x = _signal("spectrogram", x, axis)
    cut = _Segments(fs, *options, x.shape[-1])
    cut.step = cut.size - (cut.size // 8 if noverlap is None else noverlap)
    found = cut.transformed(x)
    if mode == "psd":
        found = cut.powers(found.real**2 + found.imag**2)
    else:
        found = found / cut.total**0.5
        found = {"complex": found, "magnitude": np.abs(found), "angle": np.angle(found)}[mode]
    return _along(plain, found, axis)
