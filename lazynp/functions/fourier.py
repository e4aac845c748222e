"""Discrete Fourier transforms: `numpy.fft` over one primitive."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from lazynp._array import Array, from_host, new_array
from lazynp._dimensions import require, require_some, size_of
from lazynp._extents import surely
from lazynp._sizes import is_size, smallest
from lazynp._strides import copied_order, in_order
from lazynp.functions import ufuncs
from lazynp.functions._arguments import as_size, check_device, static
from lazynp.functions._eager import IGNORES_OUT, by_numpy
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import as_array, cast, plain, store
from lazynp.functions._placing import placing
from lazynp.functions.manipulation import roll
from lazynp.primitives import fourier, shaping

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_SWAPPED = {"backward": "forward", None: "forward", "ortho": "ortho", "forward": "backward"}
_INVERSE = ("IFFT", "IRFFT")


# -- one or several axes at once -------------------------------------------------------------------


def _transform(x: Array, kind: str, sizes: Sequence[Any], axes: Sequence[Any], norm: Any) -> Array:
    """Apply `kind` over the axes, the last axis first. sizes: of the signals."""
    sizes = list(map(as_size, sizes))
    for n in sizes:
        if is_size(n):
            require(n - 1, _too_few, n)
        elif n < 1:
            raise _too_few(n)
    norm = _checked_norm(norm, kind)
    if x.dtype.char == "e" and norm != ("forward" if kind in _INVERSE else "backward"):
        return _by_halves(x, kind, sizes, axes, norm)
    places = [normalize_axis_index(k, x.ndim) for k in axes]
    lying = copied_order(x)
    x = plain(cast(x, _computed_in(x.dtype, kind)))
    if len(set(places)) < len(places) or len(places) > fourier.MOST_AXES:
        return in_order(_in_turns(x, kind, sizes, places, norm), lying)
    half = kind == "IRFFT"
    wanted = [*sizes[:-1], sizes[-1] // 2 + 1] if half else sizes
    x = _resized(x, dict(zip(places, wanted, strict=True)))
    order = [*(k for k in range(x.ndim) if k not in places), *places]
    if order != sorted(order):
        x = shaping.transpose(x, permutation=tuple(order))
    out = fourier.fft(x, kind=kind, length=tuple(sizes), norm=norm)
    if order != sorted(order):
        out = shaping.transpose(out, permutation=tuple(map(order.index, range(x.ndim))))
    return in_order(out, lying)


def _by_halves(x: Array, kind: str, sizes: Sequence[Any], axes: Sequence[Any], norm: str) -> Array:
    """Of float16: NumPy rounds the factor of the axis that comes first to float16."""
    result = _transform(cast(x, np.dtype(np.float32)), kind, sizes, axes, norm)
    size = as_size(sizes[0 if kind == "IRFFT" else -1])
    if is_size(size):
        return result
    with np.errstate(all="ignore"):
        n: Any = size if norm != "ortho" else np.sqrt(size, dtype=np.float16)
        exact = size ** (0.5 if norm == "ortho" else 1)
        more = np.float32(exact * float(np.reciprocal(n, dtype=np.float16)))
    return result if more == 1 else as_array(ufuncs.multiply(result, more))


def _too_few(n: int) -> ValueError:
    return ValueError(f"Invalid number of FFT data points ({n}) specified.")


def _in_turns(x: Array, kind: str, sizes: Sequence[int], places: Sequence[int], norm: str) -> Array:
    """Transform one axis after another, if axes repeat or exceed one transform's limit. The real
    axis is the last one: forward it comes first, backward last.
    """
    first = max(1, len(places) - fourier.MOST_AXES + 1)
    if len(set(places)) < len(places):
        first = len(places) - 1
    rest = {"RFFT": "FFT", "IRFFT": "IFFT"}.get(kind, kind)
    groups = [(kind, slice(first, None)), (rest, slice(0, first))]
    for name, part in reversed(groups) if kind == "IRFFT" else groups:
        x = _transform(x, name, sizes[part], places[part], norm)
    return x


def _computed_in(dtype: np.dtype[Any], kind: str) -> np.dtype[Any]:
    """Single precision stays single; a complex signal for a real transform is NumPy's error."""
    if kind == "RFFT" and dtype.kind == "c":
        np.fft.rfft(np.zeros(1, dtype))  # raises TypeError
    letter = "f" if dtype.char in "efF" else "d"
    return np.dtype(letter.upper() if kind == "IRFFT" or dtype.kind == "c" else letter)


def _checked_norm(norm: Any, kind: str) -> str:
    if norm is None:
        return "backward"
    if norm not in ("backward", "ortho", "forward"):
        getattr(np.fft, kind.lower())(np.zeros(2), norm=norm)  # raises ValueError
    return norm


def _swapped(norm: Any) -> str:
    """The norm under which a transform is the inverse of the opposite one."""
    try:
        return _SWAPPED[norm]
    except KeyError:
        raise ValueError(
            f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        ) from None


def _resized(x: Array, sizes: dict[int, int]) -> Array:
    """Crop axes at the end, or fill them with zeros."""
    cut = tuple(k for k, n in sorted(sizes.items()) if not surely(n >= x.shape[k]))
    if cut:
        shape = tuple(smallest(n, sizes.get(k, n)) for k, n in enumerate(x.shape))
        x = shaping.slice(
            x, *[0] * len(cut), axes=cut, sizes=tuple(shape[k] for k in cut),
            strides=(1,) * len(cut), shape=shape,
        )  # fmt: skip
    high = tuple(sizes.get(k, n) - n for k, n in enumerate(x.shape))
    if not all(type(n) is int and not n for n in high):
        nothing = (0,) * x.ndim
        x = shaping.pad(x, 0, low=nothing, high=high, interior=nothing)
    return x


def _stored(result: Array, out: Any) -> Any:
    if out is not None and getattr(out, "shape", result.shape) != result.shape:
        raise ValueError("output array has wrong shape.")
    return store(result, out)


# -- one axis --------------------------------------------------------------------------------------


def _one(kind: str, name: str, a: Any, n: Any, axis: Any, norm: Any, out: Any) -> Any:
    x = as_array(a)
    if needs_host(x):
        return host_into(getattr(np.fft, name), x, n, axis, norm, out=out)
    if n is None:
        n = x.shape[axis] if kind != "IRFFT" else (x.shape[axis] - 1) * 2
    result = _transform(x, kind, [n], [axis], norm)
    if kind == "IRFFT" and x.dtype.char == "e":
        result = cast(result, x.dtype)
    return _stored(result, out)


@by_numpy(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.fft`."""
    return _one("FFT", "fft", a, n, axis, norm, out)


@by_numpy(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.ifft`."""
    return _one("IFFT", "ifft", a, n, axis, norm, out)


@by_numpy(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.rfft`."""
    return _one("RFFT", "rfft", a, n, axis, norm, out)


@by_numpy(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.irfft`."""
    return _one("IRFFT", "irfft", a, n, axis, norm, out)


@by_numpy(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.hfft`, which ignores `out` before NumPy 2.5."""
    x = as_array(a)
    if n is None:
        n = (x.shape[axis] - 1) * 2
    return irfft(ufuncs.conjugate(x), n, axis, norm=_swapped(norm), out=_used(out))


@by_numpy(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.ihfft`."""
    x = as_array(a)
    if n is None:
        n = x.shape[axis]
    return _stored(ufuncs.conjugate(rfft(x, n, axis, norm=_swapped(norm))), out)


# -- several axes ----------------------------------------------------------------------------------


def _many(kind: str, name: str, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    x = as_array(a)
    if needs_host(x):
        return host_into(getattr(np.fft, name), x, s, axes, norm, out=out)
    s = list(map(_known, s)) if isinstance(s, (list, tuple)) else static(s)
    sizes, axes = _sizes_and_axes(x, s, static(axes), kind == "IRFFT")
    if not axes and kind in ("FFT", "IFFT"):
        return _stored(x, out)
    result = _transform(x, kind, [_size(x, n, k) for n, k in zip(sizes, axes)], axes, norm)
    if kind == "IRFFT" and x.dtype.char == "e" and len(axes) == 1:
        result = cast(result, x.dtype)
    return _stored(result, out)


def _known(n: Any) -> Any:
    return n if n is None else as_size(n)


def _size(x: Array, n: Any, axis: Any) -> Any:
    """The size of an axis; None means its own size, which is deprecated but accepted."""
    return x.shape[axis] if n is None else n


def _sizes_and_axes(x: Array, s: Any, axes: Any, half: bool) -> tuple[list[Any], list[Any]]:
    """Normalise the arguments as NumPy does, with its warnings."""
    shapeless = s is None
    if shapeless:
        s = x.shape if axes is None else [x.shape[k] for k in axes]
    s = list(s)
    if axes is None:
        if not shapeless:
            _deprecated(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0). In a "
                "future version of NumPy, this will raise an error and `s[i]` will correspond to "
                "the size along the transformed axis specified by `axes[i]`. To retain current "
                "behaviour, pass a sequence [0, ..., k-1] to `axes` for an array of dimension k."
            )
        axes = range(-len(s), 0)
    axes = list(axes)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if half and shapeless:
        s[-1] = (x.shape[axes[-1]] - 1) * 2
    if None in s:
        _deprecated(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0 and will "
            "raise an error in a future version of NumPy. To use the default behaviour of the "
            "corresponding 1-D transform, pass the value matching the default for its `n` "
            "parameter. To use the default behaviour for every axis, the `s` argument can be "
            "omitted."
        )
        if half and s[-1] is None:
            s[-1] = (x.shape[axes[-1]] - 1) * 2
    return [x.shape[k] if n == -1 else n for n, k in zip(s, axes, strict=True)], axes


def _deprecated(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=5)


@by_numpy(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.fftn`."""
    return _many("FFT", "fftn", a, s, axes, norm, out)


@by_numpy(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.ifftn`."""
    return _many("IFFT", "ifftn", a, s, axes, norm, out)


@by_numpy(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.rfftn`."""
    return _many("RFFT", "rfftn", a, s, axes, norm, out)


@by_numpy(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.irfftn`."""
    return _many("IRFFT", "irfftn", a, s, axes, norm, out)


@by_numpy(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.fft2`."""
    return _many("FFT", "fft2", a, s, axes, norm, out)


@by_numpy(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.ifft2`, which ignores `out` before NumPy 2.5."""
    return _many("IFFT", "ifft2", a, s, axes, norm, _used(out))


@by_numpy(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.rfft2`."""
    return _many("RFFT", "rfft2", a, s, axes, norm, out)


@by_numpy(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """See `numpy.fft.irfft2`, which ignores `out` before NumPy 2.5."""
    return _many("IRFFT", "irfft2", a, s, axes, norm, _used(out))


# -- helpers ---------------------------------------------------------------------------------------


def _used(out: Any) -> Any:
    """The argument `out` of a function that ignored it before NumPy 2.5."""
    return None if IGNORES_OUT else out


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    x, axes = as_array(x), static(axes)
    if axes is None:
        axes = tuple(range(x.ndim))
    if isinstance(axes, (int, np.integer)):
        return roll(x, sign * (x.shape[axes] // 2), axes)
    shifts = [sign * (x.shape[k] // 2) for k in axes]
    if not any(map(is_size, shifts)):
        return roll(x, shifts, axes)
    for k, shift in zip(axes, shifts, strict=True):  # a size may be a shift, but no part of a list
        x = roll(x, shift, k)
    return x


def fftshift(x: Any, axes: Any = None) -> Any:
    """See `numpy.fft.fftshift`."""
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """See `numpy.fft.ifftshift`."""
    return _shifted(x, axes, -1)


def _frequencies(n: Any, d: Any, device: Any, half: bool) -> Any:
    if is_size(found := size_of(n)):
        check_device(device)
        return _sized_frequencies(found, d, half)
    n = static(n)
    if not isinstance(n, (int, np.integer)):
        raise ValueError("n should be an integer")
    check_device(device)
    step = 1.0 / (n * d)
    if half:
        numbers = np.arange(0, n // 2 + 1)
    else:
        numbers, middle = np.empty(n, np.int64), (n - 1) // 2 + 1  # a length below 0 is an error
        numbers[:middle], numbers[middle:] = np.arange(middle), np.arange(middle - n, 0)
    return ufuncs.multiply(new_array(from_host(numbers, copy=False)), step)


def _sized_frequencies(n: Any, d: Any, half: bool) -> Any:
    require_some(n, ZeroDivisionError("float division by zero"))
    shape = (n // 2 + 1 if half else n,)
    numbers: Any = shaping.iota(shape=shape, axis=0, dtype=np.dtype(np.int64))
    if not half:
        behind = ufuncs.greater_equal(numbers, (n + 1) // 2)
        numbers = ufuncs.subtract(numbers, ufuncs.multiply(behind, n))
    return ufuncs.multiply(numbers, ufuncs.divide(1.0, ufuncs.multiply(n, d)))


@placing
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """See `numpy.fft.fftfreq`."""
    return _frequencies(n, d, device, half=False)


@placing
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """See `numpy.fft.rfftfreq`."""
    return _frequencies(n, d, device, half=True)
