"""Data types, and the functions about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    ALL,
    COMPLEX,
    DEVICES,
    FLOATING,
    FLOATS,
    INTEGERS,
    KINDS,
    NUMERIC,
    REAL,
    SIGNED,
    arrays,
    check,
    dtype,
    make,
    pairs,
    real_name,
    xp,
)  # fmt: skip


@pytest.mark.parametrize("one", ALL)
def test_equality(one: str) -> None:
    """ "must be comparable for equality": each dtype equals itself and no other."""
    for other in ALL:
        assert (dtype(one) == dtype(other)) is (one == other)
        assert (dtype(one) != dtype(other)) is (one != other)
    assert make(np.ones(1, one)).dtype == dtype(one)


@given(x=arrays(), name=st.sampled_from(ALL), copy=st.booleans(), device=st.sampled_from(DEVICES))
def test_astype(x: Any, name: str, copy: bool, device: Any) -> None:
    if x.dtype.name in COMPLEX and name in REAL:
        return  # not permitted
    if name in INTEGERS and (np.real(x) < np.iinfo(name).min).any():
        return  # "unspecified" where the value is out of range
    options = {} if device is None else {"device": device}
    check(xp.astype(make(x), dtype(name), copy=copy, **options), x.astype(name))


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_to_real_is_refused(name: str) -> None:
    """ "Casting a complex floating-point array to a real-valued ... should not be permitted." """
    x = make(np.ones(2, name))
    for real in REAL:
        with pytest.raises(Exception):  # noqa: B017
            xp.astype(x, dtype(real))


def test_astype_copies() -> None:
    a = xp.asarray([1, 2])
    b, c = xp.astype(a, xp.int64), xp.astype(a, xp.int64, copy=False)
    assert c is a  # "the input array must be returned"
    a[0] = 5
    check(b, np.asarray([1, 2]))
    check(c, np.asarray([5, 2]))


@pytest.mark.parametrize("name", FLOATING)
def test_finfo(name: str) -> None:
    """Dtypes and arrays are accepted; numbers are Python floats; complex dtypes give those of the
    parts.
    """
    wanted = np.finfo(name)
    for subject in (dtype(name), make(np.ones(2, name))):
        info = xp.finfo(subject)
        assert type(info.bits) is int and info.bits == wanted.bits
        for field in ("eps", "max", "min", "smallest_normal"):
            value = getattr(info, field)
            assert isinstance(value, float), (field, type(value))
            assert value == float(getattr(wanted, field))
        assert info.dtype == dtype(real_name(name))


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name: str) -> None:
    bits = int(name.lstrip("uint"))
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name in SIGNED else (0, 2**bits - 1)
    for subject in (dtype(name), make(np.ones(2, name))):
        info = xp.iinfo(subject)
        assert (info.bits, info.min, info.max) == (bits, low, high)
        assert all(isinstance(v, int) for v in (info.bits, info.min, info.max))
        assert info.dtype == dtype(name)


@pytest.mark.parametrize("name", ALL)
def test_isdtype(name: str) -> None:
    d = dtype(name)
    for kind, members in KINDS.items():
        assert xp.isdtype(d, kind) is (name in members), kind
    for other in ALL:
        assert xp.isdtype(d, dtype(other)) is (name == other)
    assert xp.isdtype(d, ("bool", "numeric"))
    assert xp.isdtype(d, ("integral", xp.float32)) is (name in (*INTEGERS, "float32"))


def _bits(name: str) -> int:
    return np.dtype(name).itemsize * 8


@pytest.mark.parametrize("kind", ["signed integer", "unsigned integer", "real floating",
                                  "complex floating"])  # fmt: skip
def test_can_cast(kind: str) -> None:
    """ "according to type promotion rules": within a kind, to dtypes that are not narrower."""
    for one in KINDS[kind]:
        for other in KINDS[kind]:
            wanted = _bits(one) <= _bits(other)
            assert xp.can_cast(dtype(one), dtype(other)) is wanted
            assert xp.can_cast(make(np.ones(1, one)), dtype(other)) is wanted


@pytest.mark.parametrize("kind", ["signed integer", "unsigned integer", "real floating",
                                  "complex floating"])  # fmt: skip
def test_result_type(kind: str) -> None:
    for one in KINDS[kind]:
        for other in KINDS[kind]:
            wanted = dtype(max(one, other, key=_bits))
            assert xp.result_type(dtype(one), dtype(other)) == wanted
            assert xp.result_type(make(np.ones(1, one)), dtype(other)) == wanted
            assert xp.result_type(make(np.ones(1, one)), make(np.ones(2, other))) == wanted


@pytest.mark.parametrize("name", NUMERIC)
def test_result_type_of_scalars(name: str) -> None:
    """Scalars count as "the same kind as the array"; added in 2024.12."""
    x = make(np.ones(2, name))
    assert xp.result_type(x, 1) == x.dtype
    assert xp.result_type(dtype(name), 1) == x.dtype
    if name in FLOATING:
        assert xp.result_type(x, 1.5) == x.dtype
    if name in FLOATS:
        assert xp.result_type(x, 1j) == dtype({"float32": "complex64"}.get(name, "complex128"))


@given(pairs(ALL))
def test_broadcast_arrays(xs: Any) -> None:
    """ "Tuple of broadcasted arrays", each with its own dtype."""
    out = xp.broadcast_arrays(*map(make, xs))
    assert isinstance(out, tuple)
    for got, wanted in zip(out, np.broadcast_arrays(*xs)):
        check(got, wanted)


@given(x=arrays(ALL), lead=st.sampled_from([(), (2,), (1, 3)]))
def test_broadcast_to(x: Any, lead: tuple[int, ...]) -> None:
    shape = (*lead, *x.shape)
    check(xp.broadcast_to(make(x), shape), np.broadcast_to(x, shape))


def test_broadcast_to_raises() -> None:
    """ "If the array is incompatible with the specified shape, must raise an exception." """
    for shape in ((2,), (3, 2), ()):
        with pytest.raises(Exception):  # noqa: B017
            xp.broadcast_to(make([1, 2, 3]), shape)
