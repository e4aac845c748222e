"""The Fourier primitive: lowered against reference, and its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._primitive import Undefined
from lazynp.primitives.fourier import fft
from tests.primitives.harness import run_lowered
from tests.primitives.rules import array, check_batch, check_jvp, value

KINDS = ["FFT", "IFFT", "RFFT", "IRFFT"]
LENGTHS: list[tuple[int, ...]] = [(1,), (7,), (8,), (3, 4), (4, 5), (2, 3, 4)]
Length = tuple[int, ...]


def signal(kind: str, length: Length, batch: Length = (2,), single: bool = False) -> Any:
    rng = np.random.default_rng(0)
    last = length[-1] // 2 + 1 if kind == "IRFFT" else length[-1]
    x = rng.normal(size=(*batch, *length[:-1], last))
    if kind == "RFFT":
        return x.astype("f4") if single else x
    return (x + 1j * rng.normal(size=x.shape)).astype("c8" if single else "c16")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_lowered(kind: str, length: Length) -> None:
    for norm in ("backward", "ortho", "forward") if length in ((7,), (3, 4)) else ("backward",):
        params: Any = {"kind": kind, "length": length, "norm": norm}
        x = signal(kind, length)
        (got,) = run_lowered(fft, x, **params)
        wanted = fft.reference(x, **params)
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-14 * np.abs(wanted).max())
        if kind in ("FFT", "IFFT"):
            (got,) = run_lowered(fft, x.real, **params)
            np.testing.assert_allclose(got, fft.reference(x.real, **params), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind: str) -> None:
    x = signal(kind, (100,), single=True)
    (got,) = run_lowered(fft, x, kind=kind, length=(100,), norm="ortho")
    wanted = fft.reference(x, kind=kind, length=(100,), norm="ortho")
    assert got.dtype == wanted.dtype and wanted.dtype.itemsize <= 8
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_empty() -> None:
    (got,) = run_lowered(fft, np.zeros((0, 4)), kind="RFFT", length=(4,), norm="backward")
    assert got.shape == (0, 3) and got.dtype == np.complex128


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [(5,), (6,), (3, 4), (2, 3, 5)], ids=str)
def test_rules(kind: str, length: Length) -> None:
    for norm in ("backward", "ortho", "forward"):
        params: Any = {"kind": kind, "length": length, "norm": norm}
        x = signal(kind, length)
        check_jvp(fft, (x,), (0,), **params)
        check_batch(fft, (x,), (True,), **params)
        check_transpose(x, params)
        if kind in ("FFT", "IFFT"):
            check_jvp(fft, (x.real,), (0,), **params)
            check_transpose(x.real, params)


def check_transpose(x: Any, params: Any) -> None:
    """Between real and complex the inner products agree in their real part."""
    rng = np.random.default_rng(1)
    out = fft.reference(x, **params)
    ct = rng.normal(size=out.shape)
    if out.dtype.kind == "c":
        ct = ct + 1j * rng.normal(size=out.shape)
    with config(execution="reference"):
        (back,) = fft.transpose(array(ct), Undefined(aval_of(x.shape, x.dtype)), **params)
        back = value(back)
    assert back.shape == x.shape and back.dtype == x.dtype
    np.testing.assert_allclose((back * x).sum().real, (ct * out).sum().real, rtol=1e-10)


def test_abstract_rejects() -> None:
    x = aval_of((4, 4), np.dtype("c16"))
    for params in (
        {"kind": "FFT", "length": (3,)},
        {"kind": "FFT", "length": ()},
        {"kind": "IRFFT", "length": (4,)},
    ):
        with pytest.raises(ValueError, match="fft"):
            fft.abstract(x, norm="backward", **params)
    with pytest.raises(TypeError, match="RFFT"):
        fft.abstract(x, kind="RFFT", length=(4,), norm="backward")
