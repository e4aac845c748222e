"""Adversarial values by dtype, and the comparison in ulp: for the tests of elementwise rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._avals import DEVICE_DTYPES

Array = np.ndarray[Any, Any]
DTYPES = sorted(DEVICE_DTYPES, key=lambda d: ("biufc".index(d.kind), d.itemsize, d.kind))


def _integers(dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2]
    small = [v for v in range(-9, 10) if info.min <= v]
    widths = [v for v in (15, 16, 31, 32, 63, 64, 65, 100, -64, -100) if info.min <= v <= info.max]
    shifts = rng.integers(0, info.bits, 40)
    spread = rng.integers(info.min, info.max, 40, dtype, endpoint=True) >> shifts.astype(dtype)
    return np.concatenate([np.array(edges + small + widths, dtype), spread.astype(dtype)])


def _floats(dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    info = np.finfo(dtype)
    top = float(np.log10(float(info.max)))
    low = float(np.log10(float(info.tiny)))
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, -info.max, 16 * info.tiny, info.eps]
    whole = [v for k in range(-12, 13) for v in (k, k + 0.5)]
    steps = [127.0, 128.0, 255.0, 256.0, 300.0, -129.0, -300.0, 1000.0, 22.0, 2048.0, -1024.0]
    near_one = 1 + rng.normal(size=60) * 1e-2
    scale = 10.0 ** rng.uniform(low * 0.9, top * 0.9, 100) * rng.choice([-1, 1], 100)
    middle = np.concatenate([rng.normal(size=150), rng.normal(size=100) * 20])
    tiny = 10.0 ** rng.uniform(max(-12, low), -1, 60) * rng.choice([-1, 1], 60)
    exact = np.concatenate([2.0 ** np.arange(-14, 15), 10.0 ** np.arange(0, min(top, 22))])
    values = np.concatenate([special, whole, steps, near_one, scale, middle, tiny, exact])
    with np.errstate(all="ignore"):
        values = values.astype(dtype)
    return values[(values == 0) | ~(np.abs(values) < info.tiny)]  # denormals are flushed


def values(dtype: np.dtype[Any], seed: int = 0) -> Array:
    """A 1-d array of hard values of this dtype."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.array([True, False, True, False, False])
    if dtype.kind in "iu":
        return _integers(dtype, rng)
    if dtype.kind == "f":
        return _floats(dtype, rng)
    part = np.dtype(f"f{dtype.itemsize // 2}")
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 0.5, -2, 3], part)
    re, im = (v.ravel() for v in np.meshgrid(special, special))
    n = 400
    modulus = np.concatenate([rng.exponential(size=n), 10.0 ** rng.uniform(-5, 4, n)])
    angle = rng.uniform(-np.pi, np.pi, 2 * n)
    axis = rng.normal(size=50)
    re = np.concatenate([re, modulus * np.cos(angle), axis, 0 * axis])
    im = np.concatenate([im, modulus * np.sin(angle), 0 * axis, axis])
    out = np.empty(re.size, dtype)
    out.real, out.imag = re, im
    return out


def pairs(x: Array, y: Array, limit: int = 120) -> tuple[Array, Array]:
    """The first values of each crossed, and all of each beside one another."""
    a, c = (v.ravel() for v in np.meshgrid(x[:limit], y[:limit]))
    rng = np.random.default_rng(7)
    return np.concatenate([a, x]), np.concatenate([c, rng.choice(y, x.size)])


def ulp_errors(got: Array, want: Array, scale: float = 0.0) -> Array:
    """Distance in units of the last place of `want` (or of `scale`, if larger); inf for a
    nan or an infinity on one side only. Denormals count as zero. Complex: of the modulus."""
    if want.dtype.kind not in "fc":
        return np.where(got == want, 0.0, np.inf)
    part = np.dtype(f"f{want.dtype.itemsize // 2}") if want.dtype.kind == "c" else want.dtype
    tiny = np.finfo(part).tiny
    if want.dtype.kind == "c":
        same_nan = (np.isnan(got.real) == np.isnan(want.real)) & (
            np.isnan(got.imag) == np.isnan(want.imag)
        )
        special = ~np.isfinite(want)
        parts = [_flat_error(g, w, tiny, 0.0) for g, w in _parts(got, want)]
        per_part = np.where(same_nan, np.where(np.maximum(*parts) < 64, 0.0, np.inf), np.inf)
        wide = np.clongdouble
        unit = np.spacing(np.maximum(np.maximum(np.abs(want), tiny), scale).astype(part))
        error = np.abs(got.astype(wide) - want.astype(wide)) / unit
        error = np.where((np.abs(got) <= 2 * tiny) & (np.abs(want) <= 2 * tiny), 0.0, error)
        return np.where(special, per_part, error).astype(float)
    return _flat_error(got, want, tiny, scale)


def _parts(got: Array, want: Array) -> list[tuple[Array, Array]]:
    return [(got.real, want.real), (got.imag, want.imag)]


def _flat_error(got: Array, want: Array, tiny: Any, scale: float) -> Array:
    got, want = (np.where(np.abs(v) < tiny, v.dtype.type(0), v) for v in (got, want))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    unit = np.spacing(np.maximum(np.maximum(np.abs(want), tiny), want.dtype.type(scale)))
    error = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / unit
    error = np.where(np.isfinite(error), error, np.inf)
    return np.where(same, 0.0, error).astype(float)
