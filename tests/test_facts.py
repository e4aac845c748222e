"""What decided tests say of sizes, against all numbers of which they are true."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._extents import slice_extent
from lazynp._facts import hold, note
from lazynp._sizes import Size, Test as Comparison, bounds, largest, smallest, value_at, variable

NAMES = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
SIDES = [
    lambda n: n, lambda n: n - 3, lambda n: 2 * n + 1, lambda n: n // 2, lambda n: n % 2,
    lambda n: (n + 1) % 4, lambda n: 5 - n, lambda n: n // 2 - n // 3, lambda n: 3 * (n % 3) - n,
]  # fmt: skip
FOUND = [
    *SIDES, lambda n: (n + 1) // 2 - n // 2, lambda n: smallest(n, 4) - n,
    lambda n: n - 2 * (n // 2), lambda n: (n - 3) // 4 + (5 - n) // 3,
    lambda n: largest(n - 3, 0) - n, lambda n: (n + 3) % 2 + (n + 2) // 4, lambda n: n * n - 4 * n,
]  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(SIDES), st.integers(-2, 6)), max_size=4
    ),
    st.integers(0, 12),
)
def test_bounds_hold_where_the_tests_are_true(tests: list[Any], chosen: int) -> None:
    n = variable("n")
    (atom,) = n.variables()
    decided = []
    for name, side, number in tests:
        size = side(n)
        test = Comparison(name, size, number)
        found = test.at(lambda _: chosen)
        decided.append((name, side, number, found))
        note(test, found)
    for value in range(40):
        held = [getattr(numpy, name)(s(value), k) == found for name, s, k, found in decided]
        assert hold([atom], [value]) is all(held)
        for size in [f(n) for f in FOUND] if all(held) else ():
            low, high = bounds(size)
            got = value_at(size, lambda _, value=value: value)
            assert (low is None or low <= got) and (high is None or got <= high)


def test_what_a_test_says() -> None:
    n, m = variable("n"), variable("m")
    note(Comparison("less", n, 4), False)
    assert slice_extent(slice(None, 4), n)[1] == 4 and bounds(n - 2)[0] == 2
    note(n % 2, False)
    assert (n + 1) // 2 == n // 2 and slice_extent(slice(1, None, 2), n)[1] == n // 2
    note(Comparison("equal", m, n), True)
    assert m == n and m // 2 == n // 2 and not m != n
    k = variable("k")
    note(k, True)
    assert bounds(k)[0] == 1 and type(k - 1) is Size
    note(Comparison("less_equal", k, 1), True)
    assert k == 1


def doubled(np: Any, x: Any) -> Any:
    k = 1
    while k < len(x):
        k *= 2
    y = np.zeros(k)
    y[: len(x)] = x
    return y


def guarded(np: Any, x: Any) -> Any:
    if len(x) < 3:
        return x.sum()
    a, b, c = x[:3]
    return a * b * c + (x[:3] * np.arange(3)).sum()


def paired(np: Any, x: Any) -> Any:
    if len(x) % 2:
        x = np.append(x, 0.0)
    return x[::2] * x[1::2]


def halved(np: Any, x: Any) -> Any:
    while len(x) > 1:
        if len(x) % 2:
            x = np.concatenate([x, np.zeros(1)])
        x = x[::2] + x[1::2]
    return x


def transformed(np: Any, x: Any) -> Any:
    if len(x) % 2 or not len(x):
        return np.fft.fft(x) if len(x) else x + 0j
    even, odd = transformed(np, x[::2]), transformed(np, x[1::2])
    odd = odd * np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x))
    return np.concatenate([even + odd, even - odd])


@pytest.mark.parametrize("policy", ("adaptive", "compiled"))
@pytest.mark.parametrize("program", [doubled, guarded, paired, halved, transformed])
def test_sizes_are_what_the_tests_say(program: Any, policy: str) -> None:
    compiled = np.jit(lambda x: program(np, x), abstracted_axes={0: "n"})
    gradient = np.jit(np.grad(lambda x: (abs(program(np, x)) ** 2).sum()), abstracted_axes={0: "n"})
    with np.config(execution=policy):
        for n in (3, 8, 5, 1, 0, 2, 7, 4, 6, 16, 12, 3):
            x = numpy.arange(1.0, n + 1)
            got, want = numpy.asarray(compiled(x)), program(numpy, x)
            assert got.shape == numpy.shape(want) and got.dtype == numpy.result_type(want)
            numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
            if policy == "adaptive":
                want = np.grad(lambda x: (abs(program(np, x)) ** 2).sum())(np.array(x))
                numpy.testing.assert_allclose(gradient(x), want, rtol=1e-9, atol=1e-9)


def test_two_names_that_are_known_to_be_equal_mix() -> None:
    def product(x: Any, y: Any) -> Any:
        if len(x) != len(y):
            raise RuntimeError("lengths")
        return x * y

    f = np.jit(product, abstracted_axes=({0: "n"}, {0: "m"}))
    for n in (3, 1, 0, 5):
        numpy.testing.assert_array_equal(f(numpy.arange(n), numpy.arange(n)), numpy.arange(n) ** 2)
    assert f._cache_size() == 1
    with pytest.raises(RuntimeError, match="lengths"):
        f(numpy.ones(3), numpy.ones(4))
