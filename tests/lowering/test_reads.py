"""Loops write their arrays in place, and only reads that need it are put apart."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import fori_loop, grad, jit
from tests.lowering.test_options import gauss_seidel, optimised, python_loop

N = 700  # elements: enough to be ordered


def copies(text: str) -> list[str]:
    """The copies of large arrays that the optimised program makes outside of its entry."""
    found, inside = [], ""
    for line in text.splitlines():
        if re.match(r"\S.*\{$", line):
            inside = line
        made = re.search(r"= \w+\[([\d,]+)\]\S* copy\(", line)
        if made and math.prod(map(int, made[1].split(","))) >= 512:
            if not inside.startswith("ENTRY"):
                found.append(line.strip())
    return found


def text_of(f: Any, *args: Any) -> str:
    return jit(f).lower(*args).as_text()


def looped(body: Any) -> Any:
    """The sum of what a body makes of an array, element by element."""

    def f(x: Any) -> Any:
        x = x.copy()
        c = fori_loop(1, N - 1, lambda i, c: body(i, c, x), 1.0)
        return (x * x).sum() + c

    return f


def recurrence(i: Any, c: Any, x: Any) -> Any:
    x[i] = 0.5 * x[i] + x[i - 1] * x[i + 1]
    return c


def kept(i: Any, c: Any, x: Any) -> Any:
    """What is read is used after the write."""
    before = x[i - 1]
    x[i] = 0.5 * before + c
    return 0.25 * before


def twice(i: Any, c: Any, x: Any) -> Any:
    """The second read is of what the first write made."""
    x[i] = x[i - 1] * 0.5
    x[i + 1] = x[i - 1] + x[i] * 0.25
    return c


def added(i: Any, c: Any, x: Any) -> Any:
    x[i] += x[i + 1] * c
    x[i - 1] -= x[i]
    return c


def exchanged(i: Any, c: Any, x: Any) -> Any:
    x[i], x[i + 1] = x[i + 1], x[i] * 0.5
    return c


def at_a_fixed_place(i: Any, c: Any, x: Any) -> Any:
    """The read has no computed index, the write has one."""
    before = x[3]
    x[i] = c + 0.25 * before
    return 0.5 * before


def at_a_place_that_is_read(i: Any, c: Any, x: Any) -> Any:
    """What is read decides where is written."""
    first = x[3]
    at = (first * 7.0).astype(int) % 9 if hasattr(first, "_read") else int(first * 7.0) % 9
    x[at] = c + first
    return 0.5 * first


def to_a_fixed_place(i: Any, c: Any, x: Any) -> Any:
    before = x[i]
    x[3] = c + 0.25 * before
    return 0.5 * before


def exchanged_with_the_first(i: Any, c: Any, x: Any) -> Any:
    """As a heap does. The read after the first write has no computed index."""
    x[0], x[i] = x[i], x[0] * 0.5
    return c


def between_fixed_places(i: Any, c: Any, x: Any) -> Any:
    """No read or write has a computed index."""
    x[3], x[5] = x[5], x[3] + 1.0
    return c


BODIES = [recurrence, kept, twice, added, exchanged]
FIXED = [at_a_fixed_place, to_a_fixed_place, exchanged_with_the_first, between_fixed_places]
# their gradients both read and write there: copied


@pytest.mark.parametrize("body", [*BODIES, *FIXED])
def test_no_round_copies_the_array(body: Any) -> None:
    x = np.sin(np.arange(float(N)))
    for f in (looped(body), grad(looped(body)))[: 1 if body in FIXED else 2]:
        assert copies(optimised(f, x)) == []
    y = numpy.sin(numpy.arange(float(N)))
    c: Any = 1.0
    for i in range(1, N - 1):
        c = body(i, c, y)
    numpy.testing.assert_allclose(jit(looped(body))(x), (y * y).sum() + c)


def test_reads_that_decide_where_others_are_written() -> None:
    def body(i: Any, c: Any, x: Any, y: Any) -> Any:
        a, b = x[3], y[3]
        x[(b * 9.0).astype(int) % 11] = a + c
        y[(a * 9.0).astype(int) % 11] = b - c
        return a - b

    def f(x: Any, y: Any, loop: Any) -> Any:
        return loop(1, 9, lambda i, c: body(i, c, x, y), np.float64(1.0)), x, y

    x, y = numpy.sin(numpy.arange(float(N))) ** 2, numpy.cos(numpy.arange(float(N))) ** 2
    lazy = jit(lambda x, y: f(x.copy(), y.copy(), fori_loop))(np.array(x), np.array(y))
    for got, want in zip(lazy, f(x, y, python_loop), strict=True):
        numpy.testing.assert_allclose(got, want)
    one = np.sin(np.arange(float(N))) ** 2
    z, c = numpy.array(one), numpy.float64(1.0)
    for i in range(1, N - 1):
        c = at_a_place_that_is_read(i, c, z)
    numpy.testing.assert_allclose(jit(looped(at_a_place_that_is_read))(one), (z * z).sum() + c)


def test_reads_that_only_the_written_value_needs_stay() -> None:
    x = np.ones(N)
    assert "stablehlo.case" not in text_of(looped(recurrence), x)
    assert text_of(looped(kept), x).count("stablehlo.case") == 1
    square = np.ones((30, 30))
    sweeps = lambda x: gauss_seidel(np, x.copy(), 2, fori_loop)  # noqa: E731
    assert "stablehlo.case" not in text_of(sweeps, square)
    assert copies(optimised(sweeps, square)) == []
    want = gauss_seidel(numpy, numpy.ones((30, 30)), 2, python_loop)
    numpy.testing.assert_array_equal(jit(sweeps)(square), want)


INDEX = st.sampled_from(["i", "i - 1", "i + 1", "3", "N - i", "k[i]"])
READ = st.tuples(st.sampled_from("xy"), INDEX).map(lambda t: f"{t[0]}[{t[1]}]")
VALUE = st.recursive(
    READ | st.just("c"),
    lambda v: st.tuples(v, st.sampled_from("+-"), v).map(lambda t: f"({t[0]} {t[1]} 0.5 * {t[2]})"),
    max_leaves=4,
)
LINE = st.tuples(READ, VALUE).map(" = ".join) | VALUE.map("c = 0.5 * {}".format)


@settings(deadline=None, max_examples=15)
@given(st.lists(LINE, min_size=1, max_size=5))
def test_generated_bodies(lines: list[str]) -> None:
    code = compile("\n".join(lines), "body", "exec")
    k = numpy.random.default_rng(0).integers(0, N, N)

    def run(x: Any, y: Any, k: Any, loop: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            names = {"i": i, "c": c, "x": x, "y": y, "k": k, "N": N}
            exec(code, names)
            return names["c"] * 1.0

        return loop(1, 9, body, 1.0), x, y

    def lazy(x: Any, y: Any, k: Any) -> Any:
        return run(x.copy(), y.copy(), k, fori_loop)

    x, y = numpy.sin(numpy.arange(float(N))), numpy.cos(numpy.arange(float(N)))
    given = np.array(x), np.array(y), np.array(k)
    assert copies(optimised(lazy, *given)) == []
    for got, want in zip(jit(lazy)(*given), run(x, y, k, python_loop), strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_branches_of_python_that_write_elements_copy_nothing() -> None:
    def f(x: Any) -> Any:
        values, lengths = np.zeros(N), np.zeros(N)
        k = 0
        for i in range(1, N):
            if x[i] == x[i - 1]:
                lengths[k] += 1.0
            else:
                k += 1
                values[k] = x[i]
                lengths[k] = 1.0
        return values, lengths

    x = np.floor(np.arange(N) ** 0.7)
    assert not copies(optimised(f, x))
