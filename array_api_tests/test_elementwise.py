"""Elementwise functions on finite values: results and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.operators import BINARY, UNARY, scalar_of
from array_api_tests.support import (
    FLOATS,
    INTEGERS,
    PAIRS,
    REAL,
    arrays,
    check,
    make,
    pairs,
    pool,
    tolerance,
    xp,
)  # fmt: skip


def _checked(out: Any, wanted: Any, f: Any, name: str, what: str) -> None:
    check(out, np.asarray(wanted, f.out(name)), rtol=f.loose * tolerance(name), what=what)


@pytest.mark.parametrize("function", UNARY)
@given(st.data())
def test_unary(function: str, data: Any) -> None:
    f = UNARY[function]
    x = data.draw(arrays(f.dtypes, values=f.values))
    _checked(getattr(xp, function)(make(x)), f.oracle(x), f, x.dtype.name, function)


def _operands(f: Any, data: Any) -> tuple[Any, Any]:
    name, shapes = data.draw(st.sampled_from(f.dtypes)), data.draw(st.sampled_from(PAIRS))
    second = f.values if f.second is None else f.second
    first = data.draw(arrays(name, (shapes[0],), values=f.values))
    return first, data.draw(arrays(name, (shapes[1],), values=second))


@pytest.mark.parametrize("function", BINARY)
@given(st.data())
def test_binary(function: str, data: Any) -> None:
    f = BINARY[function]
    x, y = _operands(f, data)
    out = getattr(xp, function)(make(x), make(y))
    _checked(out, f.oracle(x, y), f, x.dtype.name, function)


@pytest.mark.parametrize("function", BINARY)
@given(st.data())
def test_scalar_operand(function: str, data: Any) -> None:
    """2024.12: "Added scalar argument support." The result has the dtype of the array."""
    f = BINARY[function]
    x, y = _operands(f, data)
    values = pool(x.dtype.name) if f.values is None else f.values
    number = data.draw(st.sampled_from(values if f.second is None else f.second))
    scalar = scalar_of(x.dtype.name, number)
    call = getattr(xp, function)
    _checked(call(make(x), scalar), f.oracle(x, x.dtype.type(scalar)), f, x.dtype.name, function)
    if f.second is None:
        wanted = f.oracle(x.dtype.type(scalar), y)
        _checked(call(scalar, make(y)), wanted, f, y.dtype.name, function)


_BOUNDS = (None, -2, 0, 1, 3)


@given(x=arrays(REAL), low=st.sampled_from(_BOUNDS), high=st.sampled_from((None, 3, 5, 7)))
def test_clip_by_scalars(x: Any, low: int | None, high: int | None) -> None:
    if low is not None and x.dtype.kind == "u":
        low = max(low, 0)
    wanted = x if low is None else np.maximum(x, x.dtype.type(low))
    wanted = wanted if high is None else np.minimum(wanted, x.dtype.type(high))
    check(xp.clip(make(x), low, high), wanted)
    check(xp.clip(make(x), min=low, max=high), wanted)
    if x.dtype.name in FLOATS and low is not None:
        check(xp.clip(make(x), float(low)), np.maximum(x, low))


@given(xs=pairs(REAL))
def test_clip_by_arrays(xs: Any) -> None:
    x, low = xs
    check(xp.clip(make(x), make(low)), np.maximum(x, low))
    check(xp.clip(make(x), None, make(low)), np.minimum(x, low))
    high = low + low.dtype.type(2)
    check(xp.clip(make(x), make(low), make(high)), np.minimum(np.maximum(x, low), high))


@given(x=arrays(REAL))
def test_clip_without_bounds(x: Any) -> None:
    check(xp.clip(make(x)), x)


@pytest.mark.parametrize("name", INTEGERS)
def test_right_shift_is_arithmetic(name: str) -> None:
    """ "must be an arithmetic shift (i.e., sign-propagating)" """
    x = np.asarray([v for v in (-8, -1, 0, 7) if v >= np.iinfo(name).min], name)
    check(xp.bitwise_right_shift(make(x), 1), x // x.dtype.type(2))


@pytest.mark.parametrize("name", FLOATS)
def test_no_undue_overflow(name: str) -> None:
    """hypot: "to avoid underflow and overflow during intermediate stages"; abs likewise."""
    big = float(np.finfo(name).max) / 4
    x = np.asarray([3 * big / 4, 1.0], name)
    y = np.asarray([big, 1.0], name)
    check(xp.hypot(make(x), make(y)), np.hypot(x, y), rtol=tolerance(name))
    z = (x + 1j * y).astype({"float32": "complex64"}.get(name, "complex128"))
    check(xp.abs(make(z)), np.abs(z), rtol=tolerance(name))


@pytest.mark.parametrize("name", FLOATS)
def test_accuracy_near_zero(name: str) -> None:
    """expm1, log1p: "more accurately when x is close to zero"."""
    x = np.asarray([1e-10, -1e-10, 1e-5, -3e-6], name)
    check(xp.expm1(make(x)), np.expm1(x.astype("f8")).astype(name), rtol=2e-7)
    check(xp.log1p(make(x)), np.log1p(x.astype("f8")).astype(name), rtol=2e-7)


_EXPONENTS = st.lists(st.integers(-20, 20), min_size=40, max_size=40)
_FRACTIONS = st.lists(st.integers(1, 2**50), min_size=40, max_size=40)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", ["add", "subtract", "multiply", "divide"])
@given(st.data())
def test_arithmetic_is_correctly_rounded(function: str, name: str, data: Any) -> None:
    """ "computed and rounded to the nearest representable value according to IEEE 754-2019" """
    x, y = (
        np.ldexp(np.asarray(data.draw(_FRACTIONS), "f8"), data.draw(_EXPONENTS)).astype(name)
        for _ in range(2)
    )
    wanted = getattr(np, function)(x, -y)
    check(getattr(xp, function)(make(x), make(-y)), wanted)


@pytest.mark.parametrize("name", FLOATS)
def test_sqrt_is_correctly_rounded(name: str) -> None:
    """ "each result must be indistinguishable from the infinitely precise result" """
    x = np.linspace(0.1, 1000, 301).astype(name)
    check(xp.sqrt(make(x)), np.sqrt(x))
