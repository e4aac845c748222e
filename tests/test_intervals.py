"""Intervals of integers without values: they contain every value, and prove indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import fori_loop, jit, make_jaxpr, vmap
from lazynp._intervals import distance, interval
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp._node import leaf

N = 12


def count(jaxpr: Jaxpr, name: str) -> int:
    inner = [j for e in jaxpr.eqns for j in jaxprs_in(e.params)]
    return sum(e.primitive.name == name for e in jaxpr.eqns) + sum(count(j, name) for j in inner)


def intervals(f: Callable[..., Any], low: int, high: int, *more: Any) -> Any:
    """The interval of f(index), in a loop with low <= index < high."""
    found = []

    def body(i: Any, state: Any) -> Any:
        found.append(interval(f(i, *more)._read()))
        return state

    make_jaxpr(lambda x: fori_loop(low, high, body, x))(1.0)
    return found[-1]


ANY = (-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    "f, want",
    [
        (lambda i: i, (2, 9)),
        (lambda i: i - 1, (1, 8)),
        (lambda i: N - 1 - i, (2, 9)),
        (lambda i: -i, (-9, -2)),
        (lambda i: 2 * i + 1, (5, 19)),
        (lambda i: i * (i - 4), (-18, 45)),
        (lambda i: abs(i - 4), (0, 5)),
        (lambda i: (i - 4) ** 2, (0, 25)),
        (lambda i: i // 2, (1, 4)),
        (lambda i: (i - 4) // 3, (-1, 1)),
        (lambda i: i % 4, (0, 3)),
        (lambda i: (i - 4) % 20, (0, 19)),
        (lambda i: i % 100, (0, 9)),
        (lambda i: i >> 1, (1, 4)),
        (lambda i: i & 3, (0, 3)),
        (lambda i: (i - 5) & 7, (0, 7)),
        (lambda i: (i - 5) & -2, ANY),
        (lambda i: np.minimum(i, 5), (2, 5)),
        (lambda i: np.clip(i, 3, 5), (3, 5)),
        (lambda i: np.where(i > 4, i, 0), (0, 9)),
        (lambda i: np.int32(i) + 1, (3, 10)),
        (lambda i: i + numpy.array([0, 2, 5]), (2, 14)),
        (lambda i: np.arange(4) + i, (2, 12)),
        (lambda i: np.array([i, i])[0], ANY),
        (lambda i: i // 0, ANY),
        (lambda i: i // (i - 4), ANY),
        (lambda i: i % -3, ANY),
        (lambda i: i << 2, ANY),
        (lambda i: i * 2**62, ANY),
        (lambda i: (i * 0.5).astype(int), ANY),
        (lambda i: np.int8(i * 20), (-128, 127)),
        (lambda i: np.uint8(i - 3), (0, 255)),
    ],
)
def test_a_table(f: Any, want: Any) -> None:
    with numpy.errstate(all="ignore"):
        assert intervals(f, 2, 10) == want


def test_places_in_an_axis() -> None:
    x = numpy.sin(numpy.arange(float(N)))
    for find in (np.argmax, np.argmin, np.argsort):
        assert intervals(lambda i, find=find: find(x * i), 0, 9) == (0, N - 1)
    text = str(jit(lambda x: x[(2 * x).argmax()] + x[(x * x).argsort()]).lower(x).jaxpr)
    assert "check" not in text


def test_of_values() -> None:
    assert interval(leaf(numpy.array([3, -1, 2]))) == (-1, 3)
    assert interval(leaf(numpy.uint8(7))) == (7, 7)
    assert interval(leaf(numpy.zeros(0, int))) == ANY
    assert interval(leaf(numpy.zeros(10**5, numpy.int8))) == (-128, 127)


def _expressions() -> Any:
    leaves = st.sampled_from(["i", "j"]) | st.integers(-9, 9).map(str)
    binary = st.sampled_from(["+", "-", "*", "//", "%", "&"])
    calls = st.sampled_from(["np.minimum", "np.maximum"])
    unary = st.sampled_from(["-", "abs", "np.square"])

    def grown(inner: Any) -> Any:
        return (
            st.tuples(inner, binary, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
            | st.tuples(calls, inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
            | st.tuples(unary, inner).map(lambda t: f"{t[0]}({t[1]})")
            | st.tuples(inner, inner, inner).map(lambda t: f"np.where({t[0]} > {t[1]}, i, {t[2]})")
        )

    return st.recursive(leaves, grown, max_leaves=8).filter(lambda e: "i" in e or "j" in e)


@settings(deadline=None, max_examples=60)
@given(_expressions(), st.integers(-5, 5), st.integers(1, 7), st.integers(-5, 5))
def test_every_value_is_inside(text: str, low: int, rounds: int, other: int) -> None:
    """Of an expression of the indices of a loop and of a loop within."""
    found: list[Any] = []
    code = compile(text, "expression", "eval")

    def inner(i: Any, j: Any, state: Any) -> Any:
        value = eval(code, {"np": np, "i": i, "j": j, "abs": abs})
        if isinstance(value, np.ndarray) or hasattr(value, "_read"):
            found.append(interval(value._read()))
        return state

    def outer(i: Any, state: Any) -> Any:
        return fori_loop(other, i + other + 9, lambda j, s: inner(i, j, s), state)

    make_jaxpr(lambda x: fori_loop(low, low + rounds, outer, x))(1.0)
    if not found:
        return
    least, most = found[-1]
    with numpy.errstate(all="ignore"):
        for i in range(low, low + rounds):
            for j in range(other, i + other + 9):
                names = {"i": numpy.int64(i), "j": numpy.int64(j), "np": numpy, "abs": abs}
                assert least <= eval(code, names) <= most, (text, i, j)


# -- indices ---------------------------------------------------------------------------------------


def _checks(index: Callable[[Any], Any], low: int = 1, high: int = N - 1) -> tuple[int, int]:
    """The checks, and the equations, of a loop that reads one element a round."""

    def f(x: Any) -> Any:
        return fori_loop(low, high, lambda i, a: a + x[index(i)], 0.0)

    jaxpr = make_jaxpr(f)(np.ones(N))
    return count(jaxpr, "check"), jaxpr.operations


def test_an_index_that_fits_is_used_as_it_is() -> None:
    plain = _checks(lambda i: i)
    assert plain == (0, 4)  # the scan; the read, its sum, the next index
    assert _checks(lambda i: i - 1) == _checks(lambda i: i + 1) == (0, 5)
    assert _checks(lambda i: N - 1 - i) == (0, 5)
    assert _checks(lambda i: -i) == (0, 6)  # all counted from the end
    assert _checks(lambda i: i - 2) == (0, 8)  # some: compared, added, selected
    assert _checks(lambda i: i + 2)[0] == _checks(lambda i: -i - 3)[0] == 1


def test_an_index_out_of_bounds_is_found() -> None:
    for shift, bad in ((2, N), (-N - 2, -N - 1)):
        f = jit(lambda x, shift=shift: fori_loop(1, N - 1, lambda i, a: a + x[i + shift], 0.0))
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0"):
            f(np.ones(N))


def test_the_same_index_is_checked_once_a_body() -> None:
    def body(i: Any, x: Any, k: Any) -> Any:
        j = k[i]
        x[j] = x[j] + x[j] * 2
        return x

    def f(x: Any, k: Any) -> Any:
        return fori_loop(0, N, lambda i, x: body(i, x, k), x.copy())

    k = np.arange(N) - 3
    assert count(make_jaxpr(f)(np.ones(N), k), "check") == 1
    numpy.testing.assert_array_equal(jit(f)(np.arange(float(N)), k), 3.0 * numpy.arange(N))
    with pytest.raises(IndexError, match=f"index {N} is out of bounds"):
        jit(f)(np.ones(N), np.arange(N) + 3)

    def two_lengths(x: Any, y: Any, i: Any) -> Any:
        return x[i] + y[i] + x[i] + y[i]

    jaxpr = make_jaxpr(two_lengths)(np.ones(4), np.ones(5), np.arange(3)[1])
    assert count(jaxpr, "check") == 2


def test_what_is_written_is_no_constant_of_the_loop() -> None:
    """A 0-d array from outside stands for another value in each round that writes it."""

    def f(x: Any) -> Any:
        k = np.array(0)

        def body(i: Any, a: Any) -> Any:
            a = a + x[k[()]]
            k[...] = k + 3
            return a

        return fori_loop(0, 4, body, 0.0)

    assert float(jit(f)(np.arange(12.0))) == 18.0
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        jit(f)(np.arange(9.0))


def test_traced_bounds() -> None:
    """Of a triangle; and of a loop whose end is unknown, which is checked above only."""

    def triangle(x: Any) -> Any:
        return fori_loop(
            0, N, lambda i, a: fori_loop(i + 1, N, lambda j, a: a + x[j] * x[i], a), 0.0
        )

    x = numpy.arange(float(N))
    assert count(make_jaxpr(triangle)(np.array(x)), "check") == 0
    want = sum(x[i] * x[j] for i in range(N) for j in range(i + 1, N))
    numpy.testing.assert_allclose(jit(triangle)(np.array(x)), want)

    def until(x: Any, n: Any) -> Any:
        return fori_loop(0, n, lambda i, a: a + x[i], 0.0)

    jaxpr = make_jaxpr(until)(np.array(x), 3)
    assert (count(jaxpr, "check"), count(jaxpr, "maximum")) == (1, 0)
    assert float(jit(until)(np.array(x), 5)) == x[:5].sum()
    assert float(jit(until)(np.array(x), -2)) == 0
    with pytest.raises(IndexError, match=f"index {N} is out of bounds"):
        jit(until)(np.array(x), N + 1)


def test_scanned_integers() -> None:
    def f(x: Any) -> Any:
        return np.scan(lambda a, i: (a + x[i], None), 0.0, np.arange(N))[0]

    assert count(make_jaxpr(f)(np.ones(N)), "check") == 0
    given = make_jaxpr(lambda x, k: np.scan(lambda a, i: (a + x[i], None), 0.0, k)[0])
    assert count(given(np.ones(N), np.arange(N)), "check") == 1


def test_examples() -> None:
    """Under vmap, an index is that of all examples."""

    def f(x: Any, shift: Any) -> Any:
        return fori_loop(0, N, lambda i, a: a + x[np.minimum(i + shift % 4, N - 1)] * x[i], 0.0)

    x = numpy.arange(float(N))
    want = [sum(x[min(i + s % 4, N - 1)] * x[i] for i in range(N)) for s in (0, 3, -1)]
    many = vmap(f, (None, 0))
    numpy.testing.assert_allclose(many(np.array(x), np.array([0, 3, -1])), want)
    jaxpr = make_jaxpr(many)(np.array(x), np.array([0, 3, -1]))
    assert count(jaxpr, "check") == 0


# -- distances -------------------------------------------------------------------------------------


def distances(f: Callable[..., Any], low: int, high: int) -> Any:
    """What is known of the distance of the two results of f(index)."""
    found = []

    def body(i: Any, state: Any) -> Any:
        found.append(distance(*(np.asarray(b)._read() for b in f(i))))
        return state

    make_jaxpr(lambda x: fori_loop(low, high, body, x))(1.0)
    return found[-1]


@pytest.mark.parametrize(
    "f, want",
    [
        (lambda i: (i, i + 3), 3),
        (lambda i: (i - 1, i + 2), 3),
        (lambda i: (i + 3, i), -3),
        (lambda i: (N - 1 - i, N + 2 - i), 3),
        (lambda i: (-i, 2 - i), 2),
        (lambda i: (3 * i, (i + 1) * 3), 3),
        (lambda i: (i * 3, i + i + i + 1), 1),
        (lambda i: (i // 2, 1 + i // 2), 1),
        (lambda i: (i % 4 - 1, i % 4), 1),
        (lambda i: (np.minimum(i, 4), np.minimum(i, 4) + 2), 2),
        (lambda i: (np.minimum(i, 4), np.minimum(i, 5) + 2), None),
        (lambda i: (i // 2, i // 3), None),
        (lambda i: (i, 2 * i), None),
        (lambda i: (i, 7), None),
        (lambda i: (i, i * i), None),
        (lambda i: (np.int8(i), np.int8(i) + np.int8(3)), 3),
        (lambda i: (np.int8(i), np.int8(i) + np.int8(120)), None),  # it may wrap round
        (lambda i: (np.uint8(i), np.uint8(i) - np.uint8(3)), None),
        (lambda i: (np.int8(i), np.int16(i)), None),
        (lambda i: (i * 2**62, i * 2**62 + 1), None),
    ],
)
def test_distances(f: Any, want: Any) -> None:
    with numpy.errstate(all="ignore"):
        assert distances(f, 2, 10) == want
