"""Ints of Python's of 64 bits, without a sign: hashes and random numbers as they are written for
Python, under `jit`. Each is compared with Python, whose ints have any size.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np

M = (1 << 64) - 1


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data:
        h ^= int(b)
        h = (h * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def xorshift(data):
    x = int(data[0]) * 88172645463325252 + 1
    for _ in range(30):
        x ^= (x << 13) & M
        x ^= x >> 7
        x ^= (x << 17) & M
    return x


def splitmix(data):
    s, found = int(data[1]), 0
    for _ in range(20):
        s = (s + 0x9E3779B97F4A7C15) & M
        z = s
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        found ^= z ^ (z >> 31)
    return found


def crc64(data):
    crc = M
    for b in data:
        crc ^= int(b)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xC96C5795D7870F42
            else:
                crc >>= 1
    return crc ^ M


def rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & M


def xoshiro(data):
    s0, s1, s2, s3 = int(data[0]), 0x9E3779B97F4A7C15, 3, M
    for _ in range(20):
        found = (rotated((s1 * 5) & M, 7) * 9) & M
        t = (s1 << 17) & M
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= t
        s3 = rotated(s3, 45)
    return found


def until(data):
    s, n = int(data[2]) & M, 0
    while s >> 60 != 7:
        s = (6364136223846793005 * s + 1442695040888963407) % 2**64
        n += 1
    return s + n


def other_bits(data):
    s, c = int(data[0]), 0
    for k in range(30):
        s = (~s * 3935559000370003845 - k) & M
        if s & (1 << 63):
            c += 1
        if s & 0x8000000000000001 == 0x8000000000000001:
            c += 100
    return c + (s & 0xF0F0F0F0F0F0F0F0) // 3 + (255 & s * 7)


def constant_in_a_branch(data):
    h = 5
    for b in data:
        h = 1 << 63 if b > 1 else (h * 31) & M
    return h ^ 1 << 63


HASHES = [
    fnv, xorshift, splitmix, crc64, xoshiro, until, other_bits, constant_in_a_branch,
]  # fmt: skip
DATA = numpy.array([3, 250, 17, 0, 0, 9, 1, 88, 1, 2, 77, 1])


@pytest.mark.parametrize("f", HASHES, ids=lambda f: f.__name__)
def test_values_are_pythons(f: Any) -> None:
    ours = np.jit(f)
    for data in (DATA, DATA[::-1].copy(), DATA * 0):
        assert int(ours(np.array(data))) == f(data.tolist())
    assert "unrolled" not in str(np.explain(ours))


def state_of(s):
    s = int(s)
    for _ in range(9):
        s = (s * 6364136223846793005 + 1442695040888963407) & M
    return s


def uses(s, x, u):
    s = state_of(s)
    top = s | 1 << 63
    counts = np.zeros(3, dtype=int)
    counts[s % 3] += s >> 40
    u[0], u[1], x[0] = top, s >> 3, s >> 1
    return (
        counts, u, x, x + s % 5, u ^ s, x[1] < top, top > 5, top == s, top < -1, s / 2**64, s * 0.5,
        float(top), int(top), min(s % 7, 3), max(top, 7), divmod(s, 10), s // 7, round(top),
        np.uint64(top), np.sqrt(s), not top, [x[0], x[1]][top % 2], -(s >> 1), ~(s >> 5), abs(top),
    )  # fmt: skip


@pytest.mark.parametrize("execution", ["reference", "compiled"])
def test_what_becomes_of_them(execution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, u = numpy.arange(3), numpy.arange(3, dtype=numpy.uint64)
    with np.config(execution=execution):
        got = np.jit(uses)(np.array(5), np.array(x), np.array(u))
    with monkeypatch.context() as m:
        m.setitem(globals(), "np", numpy)
        want = uses(5, x, u)
    for ours, numpys in zip(got, want, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(numpys))


BEYOND = [
    lambda s: state_of(s) * 3 + (1 << 63),
    lambda s: (state_of(s) | 1 << 63) << 1,
    lambda s: (state_of(s) | 1 << 63) + (1 << 63),
    lambda s: -(state_of(s) | 1 << 63),
    lambda s: (state_of(s) | 1 << 63) ^ (int(s) - 100),
    lambda s: (state_of(s) | 1 << 63) * np.arange(3),
]


@pytest.mark.parametrize("f", BEYOND)
def test_what_has_more_bits_is_an_error(f: Any) -> None:
    with pytest.raises(OverflowError, match=r"line \d+: .* 64 bits"):
        np.jit(f)(np.array(5)).sum()


def mixed(a, b, n):
    a, b, c, t = int(a) & M, int(b) & M, M, 0.0
    for k in range(n):
        a = (~(a * b ^ c << k) - ((b & M) >> k | (a * 31 & M) % (c | 1))) & M
        if a > b:
            b = (b + 0x9E3779B97F4A7C15 * (a & ~k)) % 2**64
        else:
            b >>= 1
        c = (-c * 5 + (a ^ 1 << 63)) & 0xF0FFFFFFFFFFFFFF
        t += (a >> 11) / 2**53
    return a, b, c, t


_OURS = np.jit(mixed, static_argnums=2)
INTS = st.integers(-(2**63), 2**63 - 1)


@given(INTS, INTS)
def test_mixtures(a: int, b: int) -> None:
    got, want = _OURS(np.array(a), np.array(b), 20), mixed(a, b, 20)
    assert [int(x) for x in got[:3]] == list(want[:3])
    assert float(got[3]) == pytest.approx(want[3])


def test_a_result_that_is_known() -> None:
    assert int(np.jit(lambda x: (1 << 64) - 1)(1.0)) == M
