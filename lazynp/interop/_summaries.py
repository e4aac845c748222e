"""scipy.stats: numbers that describe a sample. scipy.signal: its power at each frequency."""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, only

# -- scipy.stats -----------------------------------------------------------------------------------


def _flat(a: Any, axis: Any) -> tuple[Any, int]:
    (a,) = inexact(a)
    return (a.ravel(), 0) if axis is None else (a, axis)


def _plain(name: str, nan_policy: str, keepdims: bool = False) -> None:
    only(name, nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))


def _central(a: Any, order: int, axis: int) -> Any:
    return ((a - a.mean(axis=axis, keepdims=True)) ** order).mean(axis=axis)


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zmap(a, a, axis, ddof, nan_policy)


def zmap(
    scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    _plain("zscore", nan_policy)
    scores, compare = inexact(scores, compare)
    mean = compare.mean(axis=axis, keepdims=True)
    return (scores - mean) / compare.std(axis=axis, ddof=ddof, keepdims=True)


def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("gmean", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return np.exp(np.average(np.log(a), axis=axis, weights=weights))


def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("hmean", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return 1.0 / np.average(1.0 / a, axis=axis, weights=weights)


def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("moment", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    middle = a.mean(axis=axis, keepdims=True) if center is None else center
    return ((a - middle) ** order).mean(axis=axis)


def skew(
    a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("skew", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    value, n = _central(a, 3, axis) / _central(a, 2, axis) ** 1.5, a.shape[axis]
    return value if bias or n < 3 else value * (n * (n - 1.0)) ** 0.5 / (n - 2)


def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("kurtosis", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    value, n = _central(a, 4, axis) / _central(a, 2, axis) ** 2.0, a.shape[axis]
    if not bias and n > 3:
        value = ((n * n - 1.0) * value - 3 * (n - 1.0) ** 2) / ((n - 2) * (n - 3)) + 3
    return value - 3 if fisher else value


def sem(
    a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    _plain("sem", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return a.std(axis=axis, ddof=ddof) / a.shape[axis] ** 0.5


def variation(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    _plain("variation", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return a.std(axis=axis, ddof=ddof) / a.mean(axis=axis)


def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("entropy", nan_policy, keepdims)
    (p,) = inexact(pk)
    p = p / p.sum(axis=axis, keepdims=True)
    if qk is None:
        value = np.special.entr(p).sum(axis=axis)
    else:
        (q,) = inexact(qk)
        p, q = np.broadcast_arrays(p, q / q.sum(axis=axis, keepdims=True))
        value = np.special.rel_entr(p, q).sum(axis=axis)
    return value if base is None else value / np.log(base)


# -- scipy.signal ----------------------------------------------------------------------------------


def welch(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    only("welch", average=(average, "mean"))
    (x,) = inexact(x)
    only("welch", x=(x.dtype.kind, "f"))
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    if isinstance(window, (str, tuple)):
        size = min(256 if nperseg is None else int(nperseg), n)
        weights = scipy.signal.get_window(window, size)
    else:
        weights, size = window, len(window)
    length = size if nfft is None else nfft
    step = size - (size // 2 if noverlap is None else noverlap)
    parts = np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[..., ::step, :]
    if detrend:
        kind = detrend
        only("welch", detrend=(callable(kind), False))
        parts = parts @ scipy.signal.detrend(numpy.eye(size), axis=0, type=kind).T
    if return_onesided:
        powers, places = np.fft.rfft(parts * weights, length), numpy.fft.rfftfreq(length, 1 / fs)
    else:
        powers, places = np.fft.fft(parts * weights, length), numpy.fft.fftfreq(length, 1 / fs)
    powers = powers.real**2 + powers.imag**2
    total = (weights * weights).sum() * fs if scaling == "density" else weights.sum() ** 2
    doubled = numpy.ones(len(places))
    if return_onesided:
        doubled[1 : None if length % 2 else -1] = 2.0
    powers = (powers * (doubled / total)).mean(axis=-2)
    return places, np.moveaxis(powers, -1, axis)


def periodogram(
    x: Any, fs: float = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    n = np.asarray(x).shape[axis]
    only("periodogram", nfft=(nfft is None or nfft >= n, True), window=(is_traced(window), False))
    window = "boxcar" if window is None else window
    return welch(x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)
