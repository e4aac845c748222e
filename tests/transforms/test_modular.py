"""Sums and products of Python's ints of which only low bits count: exact, however large."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np

MASK = 0xFFFFFFFF


def drand48(s):
    s, seen = int(s), 0
    for _ in range(30):
        s = (25214903917 * s + 11) & ((1 << 48) - 1)
        seen ^= s
    return seen


def of_63_bits(s):
    s = int(s)
    for _ in range(30):
        s = (6364136223846793005 * s + 1442695040888963407) % 2**63
    return s


def fnv(s):
    h = 2166136261
    for k in range(40):
        h = ((h ^ int(s) % (k + 7)) * 16777619) & MASK
    return h


def with_other_operators(s):
    h, s = 5381, int(s)
    for k in range(40):
        h = (h * 33 ^ s - k * 10**15) % 2**40
    return h


def without_a_loop(s):
    s = int(s)
    return (s * 10**19 - 5 * 2**70 * s) % 2**50 + (-s * 3 - 10**18 * s * 7) % 1024


def until(s):
    s = int(s)
    while s < 2**39:
        s = (s * 0x5DEECE66D + 0xB) & ((1 << 40) - 1)
        if s % 7 == 0:
            break
    return s


def another_modulus(s):
    s, m = int(s) % 1000, 2**31 - 1
    for k in range(20):
        s = (s * 16807 + k) % m
    return s


def of_numbers_of_numpy(s):
    x, y, z = (s * 3 + 1) % 8, (s * 2.5 + 1) % 8, ((s + 1) * 7) & 15
    for _ in range(12):
        z = (z * 5 + s) & 255
    return x + y + z


FUNCTIONS = [
    drand48, of_63_bits, fnv, with_other_operators, without_a_loop, until, another_modulus,
    of_numbers_of_numpy,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_low_bits_are_those_of_pythons_ints(f: Any) -> None:
    ours = np.jit(f)
    for seed in (0, 1, 5, 12345, 2**31 + 7, 2**40 + 1, -3):
        assert ours(np.array(seed)).item() == f(numpy.int64(seed))
    assert "unrolled" not in str(np.explain(ours))


def products(x, y):
    a, b = int(x), int(y)
    return (a * b + 1) & MASK, (a * a * b - 2**64 * b - a) % 2**17, (b - a * 3) % (1 << 63)


_OURS = np.jit(products)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_products_of_any_two_numbers(a: int, b: int) -> None:
    assert tuple(int(v) for v in _OURS(np.array(a), np.array(b))) == products(a, b)
