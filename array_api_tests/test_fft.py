"""The fft extension, against explicit sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    COMPLEX,
    DEVICES,
    FLOATS,
    arrays,
    axis_of,
    check,
    complex_name,
    dtype,
    make,
    real_name,
    tolerance,
    xp,
)  # fmt: skip

NORMS = ("backward", "ortho", "forward")
VECTORS, RANKED = ((4,), (5,), (1,)), ((4,), (2, 3), (2, 1, 3))
norms, lengths = st.sampled_from(NORMS), st.none() | st.integers(1, 6)


def _scale(n: int, norm: str, inverse: bool) -> float:
    if norm == "ortho":
        return 1 / np.sqrt(n)
    return 1 / n if (norm == "backward") is inverse else 1.0


def _dft(x: Any, n: int | None, axis: int, norm: str, inverse: bool = False) -> Any:
    """The defining sum along one axis, padded or cropped to n."""
    x = np.moveaxis(np.asarray(x, "c16"), axis, -1)
    n = x.shape[-1] if n is None else n
    x = np.concatenate([x, np.zeros((*x.shape[:-1], n))], -1)[..., :n]
    k = np.arange(n)
    kernel = np.exp((2j if inverse else -2j) * np.pi * np.outer(k, k) / n)
    return np.moveaxis(x @ kernel * _scale(n, norm, inverse), -1, axis)


def _dftn(x: Any, s: Any, axes: Any, norm: str, inverse: bool = False) -> Any:
    for i, axis in enumerate(axes):
        x = _dft(x, None if s is None else s[i], axis, norm, inverse)
    return x


def _close(out: Any, wanted: Any, name: str) -> None:
    check(out, np.asarray(wanted).astype(name), rtol=10 * tolerance(name))


def test_small_transform() -> None:
    check(xp.fft.fft(make([1 + 0j, 2, 3, 4])), np.asarray([10, -2 + 2j, -2, -2 - 2j]), rtol=1e-14)


@pytest.mark.parametrize("function", ["fft", "ifft"])
@given(st.data(), arrays(COMPLEX, RANKED), lengths, norms)
def test_complex(function: str, data: Any, x: Any, n: int | None, norm: str) -> None:
    axis, call = data.draw(axis_of(x.ndim)), getattr(xp.fft, function)
    inverse = function == "ifft"
    out = call(make(x), n=n, axis=axis, norm=norm)
    _close(out, _dft(x, n, axis, norm, inverse), x.dtype.name)
    _close(call(make(x)), _dft(x, None, -1, "backward", inverse), x.dtype.name)


@given(st.data(), arrays(FLOATS, RANKED), lengths, norms)
def test_rfft(data: Any, x: Any, n: int | None, norm: str) -> None:
    axis, name = data.draw(axis_of(x.ndim)), complex_name(x.dtype.name)
    full = _dft(x, n, axis, norm)
    half = np.take(full, range(full.shape[axis] // 2 + 1), axis)
    _close(xp.fft.rfft(make(x), n=n, axis=axis, norm=norm), half, name)


@given(st.data(), arrays(FLOATS, ((4,), (2, 6))), norms)
def test_irfft_inverts(data: Any, x: Any, norm: str) -> None:
    name = x.dtype.name
    spectrum = xp.fft.rfft(make(x), norm=norm)
    _close(xp.fft.irfft(spectrum, norm=norm), x, name)
    _close(xp.fft.irfft(spectrum, n=x.shape[-1], axis=-1, norm=norm), x, name)


@given(arrays(FLOATS, ((4,), (5,), (2, 6))), norms)
def test_ihfft_and_hfft(x: Any, norm: str) -> None:
    """ihfft is the conjugate of rfft with the opposite norm."""
    name, turned = x.dtype.name, {"backward": "forward", "forward": "backward"}.get(norm, norm)
    full = np.conj(_dft(x, None, -1, turned))
    half = full[..., : x.shape[-1] // 2 + 1]
    _close(xp.fft.ihfft(make(x), norm=norm), half, complex_name(name))
    back = xp.fft.hfft(xp.fft.ihfft(make(x), norm=norm), n=x.shape[-1], norm=norm)
    _close(back, x, name)


@pytest.mark.parametrize("function", ["fftn", "ifftn"])
@given(st.data(), arrays(COMPLEX, ((2, 3), (2, 1, 3))), norms)
def test_several_axes(function: str, data: Any, x: Any, norm: str) -> None:
    call, inverse = getattr(xp.fft, function), function == "ifftn"
    everything = tuple(range(x.ndim))
    _close(call(make(x), norm=norm), _dftn(x, None, everything, norm, inverse), x.dtype.name)
    axes = tuple(data.draw(st.permutations(everything)))[:2]
    s = tuple(data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=2)))
    out = call(make(x), s=s, axes=axes, norm=norm)
    _close(out, _dftn(x, s, axes, norm, inverse), x.dtype.name)


@given(arrays(FLOATS, ((2, 4), (3, 2, 4))), norms)
def test_rfftn_and_irfftn(x: Any, norm: str) -> None:
    full = _dftn(x, None, tuple(range(x.ndim)), norm)
    half = full[..., : x.shape[-1] // 2 + 1]
    out = xp.fft.rfftn(make(x), norm=norm)
    _close(out, half, complex_name(x.dtype.name))
    axes = tuple(range(x.ndim))
    _close(xp.fft.irfftn(out, s=x.shape, axes=axes, norm=norm), x, x.dtype.name)
    _close(xp.fft.irfftn(out, norm=norm), x, x.dtype.name)


@pytest.mark.parametrize("function", ["fftfreq", "rfftfreq"])
@given(st.integers(1, 8), st.sampled_from([1.0, 0.5, 3.0]), st.sampled_from(DEVICES))
def test_frequencies(function: str, n: int, d: float, device: Any) -> None:
    k = np.arange(n // 2 + 1) if function == "rfftfreq" else np.arange(n)
    if function == "fftfreq":
        k = np.where(k < (n + 1) // 2, k, k - n)
    wanted = k / (n * d)
    check(getattr(xp.fft, function)(n, d=d, device=device), wanted, rtol=1e-15)
    check(getattr(xp.fft, function)(n), k / n, rtol=1e-15)


@pytest.mark.parametrize("function", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("name", FLOATS)
def test_dtype_of_frequencies(function: str, name: str) -> None:
    """2024.12: "add dtype keyword argument" """
    wanted = host_frequencies(function).astype(name)
    check(getattr(xp.fft, function)(4, dtype=dtype(name)), wanted)


def host_frequencies(function: str) -> Any:
    return (
        np.asarray([0, 0.25, 0.5]) if function == "rfftfreq" else np.asarray([0, 0.25, -0.5, -0.25])
    )


@pytest.mark.parametrize("function", ["fftshift", "ifftshift"])
@given(st.data(), arrays((*FLOATS, *COMPLEX), RANKED))
def test_shifts(function: str, data: Any, x: Any) -> None:
    axis = data.draw(axis_of(x.ndim))
    sign = 1 if function == "fftshift" else -1

    def moved(v: Any, a: int) -> Any:
        n = v.shape[a]
        return np.roll(v, n // 2 if sign > 0 else -(n // 2), a)

    call = getattr(xp.fft, function)
    check(call(make(x), axes=axis), moved(x, axis))
    everything = x
    for a in range(x.ndim):
        everything = moved(everything, a)
    check(call(make(x)), everything)
    check(call(make(x), axes=tuple(range(x.ndim))), everything)
    assert real_name(x.dtype.name) in FLOATS
