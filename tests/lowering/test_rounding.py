"""Products: bit for bit NumPy's, guarded only where they can meet an addition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import assume, given, strategies as st

import lazynp as np
from lazynp.lowering._emit import module_text

GUARD = str(numpy.array(numpy.nan).view("i8"))  # the constant of a region's guards
Expression = Callable[[Any, Any, Any, Any, Any], Any]  # of the module, three arrays, integers

# Every way a product can come to an addition, and functions that NumPy rounds as it is written.
MEETING: dict[str, Expression] = {
    "added": lambda np, a, b, c, k: a * b + c,
    "subtracted": lambda np, a, b, c, k: c - a * b,
    "two": lambda np, a, b, c, k: a * b - b * c,
    "product of three": lambda np, a, b, c, k: a * b * c + a,
    "by a constant": lambda np, a, b, c, k: a * 1.1 + c,
    "by a negative constant": lambda np, a, b, c, k: a * -1.1 + c,
    "square": lambda np, a, b, c, k: a**2 + c,
    "in place": lambda np, a, b, c, k: _in_place(a, b, c),
    "selected": lambda np, a, b, c, k: np.where(a > 0, a * b, c) + b,
    "clipped": lambda np, a, b, c, k: np.minimum(np.maximum(a * b, -0.2), 0.2) + c,
    "negated": lambda np, a, b, c, k: -(a * b) + c,
    "magnitude": lambda np, a, b, c, k: np.abs(a * b) - c,
    "sliced": lambda np, a, b, c, k: (a * b)[1:] + c[:-1],
    "strided": lambda np, a, b, c, k: (a * b)[::2] - c[::2],
    "reversed": lambda np, a, b, c, k: (a * b)[::-1] + c,
    "rolled": lambda np, a, b, c, k: np.roll(a * b, 3) + c,
    "concatenated": lambda np, a, b, c, k: np.concatenate([a * b, c]) + np.concatenate([c, a]),
    "reshaped": lambda np, a, b, c, k: (a * b).reshape(-1, 10).T + c.reshape(-1, 10).T,
    "broadcast": lambda np, a, b, c, k: (a[:100] * b[:100])[:, None] + c[:50],
    "taken": lambda np, a, b, c, k: (a * b)[k] + c,
    "copysign": lambda np, a, b, c, k: np.copysign(a * b, c) + a,
    "written": lambda np, a, b, c, k: _written(a, b) + c,
    "shared": lambda np, a, b, c, k: (lambda p: p + (p - c) * p)(a * b),
    "horner": lambda np, a, b, c, k: ((a * b + c) * b + a) * c - b,
    "stencil": lambda np, a, b, c, k: a[1:-1] + 0.1 * (a[2:] - 2.0 * a[1:-1] + a[:-2]),
    "parts of a complex": lambda np, a, b, c, k: ((a * b) + 1j * c).real + a,
    "complex, added": lambda np, a, b, c, k: (a * b + 1j * c) + (c + 1j * a),
    "sum of two": lambda np, a, b, c, k: (a.reshape(-1, 2) * b.reshape(-1, 2)).sum(axis=1),
    "difference": lambda np, a, b, c, k: np.diff(a * b),
    "wider": lambda np, a, b, c, k: (a * b).astype(numpy.float64) + c,
}
# Where none is, so that no guard is written.
ALONE: dict[str, Expression] = {
    "result": lambda np, a, b, c, k: a * b,
    "product of three": lambda np, a, b, c, k: a * b * c,
    "two constants": lambda np, a, b, c, k: a * 0.1 * 3.0,
    "overflow": lambda np, a, b, c, k: a * 1e30 * 1e30 * 1e-30 * 1e-30,
    "quotient": lambda np, a, b, c, k: a * b / c,
    "quotient by": lambda np, a, b, c, k: c / (a * b),
    "compared": lambda np, a, b, c, k: a * b > c,
    "root": lambda np, a, b, c, k: np.sqrt(np.abs(a * b)),
    "root of a square": lambda np, a, b, c, k: np.sqrt(a * a),
    "square of a root": lambda np, a, b, c, k: np.sqrt(np.abs(a)) * np.sqrt(np.abs(a)),
    "floor": lambda np, a, b, c, k: np.floor(a * 100.0),
    "selected": lambda np, a, b, c, k: np.where(a * b > 0, a * b, c),
    "taken": lambda np, a, b, c, k: (a * b)[k],
}


def _in_place(a: Any, b: Any, c: Any) -> Any:
    p = a * b
    p += c
    p *= 0.3
    p -= a
    return p


def _written(a: Any, b: Any) -> Any:
    out = a.copy()
    out[5:50] = a[5:50] * b[5:50]
    return out


def drawn(dtype: str, n: int) -> list[Any]:
    rng = numpy.random.default_rng(7)
    floats = [(rng.random(n) - 0.5).astype(dtype) for _ in range(3)]
    return [*floats, rng.integers(0, n, n)]


def text_of(f: Expression, operands: list[Any]) -> str:
    jaxpr = np.make_jaxpr(lambda *xs: f(np, *xs))(*map(np.array, operands))
    return module_text(jaxpr)


@pytest.mark.parametrize("n", [1000, 40_000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [*MEETING, *(f"alone: {name}" for name in ALONE)])
def test_products_are_numpys_to_the_last_bit(name: str, dtype: str, n: int) -> None:
    f = {**MEETING, **{f"alone: {k}": v for k, v in ALONE.items()}}[name]
    operands = drawn(dtype, n)
    with numpy.errstate(all="ignore"):
        expected = f(numpy, *operands)
    got = np.jit(lambda *xs: f(np, *xs))(*map(np.array, operands))
    numpy.testing.assert_array_equal(numpy.asarray(got), expected)


@pytest.mark.parametrize("name", MEETING)
def test_a_product_that_meets_an_addition_is_guarded(name: str) -> None:
    assert GUARD in text_of(MEETING[name], drawn("f8", 1000))


@pytest.mark.parametrize("name", ALONE)
def test_a_product_that_does_not_is_not(name: str) -> None:
    assert GUARD not in text_of(ALONE[name], drawn("f8", 1000))


def test_only_the_product_that_is_added_is_guarded() -> None:
    text = text_of(lambda np, a, b, c, k: a * b * c * a + b, drawn("f8", 10))
    assert text.count('"stablehlo.minimum"') == text.count(GUARD) == 1
    assert text.count('"stablehlo.optimization_barrier"') == 2


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [3, 1000])
def test_products_carried_by_loops_and_branches(dtype: str, n: int) -> None:
    """What a loop carries is read in the next round; what a branch gives, after it."""
    a, b, c, _ = drawn(dtype, n)

    def carried(np: Any, a: Any, b: Any, c: Any, loop: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            x, p = state
            return x + p, x * b

        return loop(0, 7, body, (a * c, c * b))

    def rounds(start: int, stop: int, body: Any, state: Any) -> Any:
        for i in range(start, stop):
            state = body(i, state)
        return state

    got = np.jit(lambda *xs: carried(np, *xs, np.fori_loop))(*map(np.array, (a, b, c)))
    for x, y in zip(got, carried(numpy, a, b, c, rounds), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(x), y)
    branch = np.jit(lambda a, b, c: np.cond(a[0] > 9, lambda: a, lambda: a * b) + c)
    numpy.testing.assert_array_equal(numpy.asarray(branch(*map(np.array, (a, b, c)))), a * b + c)


BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
}
UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "sqrt": lambda np, x: np.sqrt(np.abs(x)),
    "roll": lambda np, x: np.roll(x, 1),
    "negate": lambda np, x: -x,
    "choose": lambda np, x: np.where(x > 0, x, x * 0.7),
    "scale": lambda np, x: x * 0.3,
}
STEPS = st.tuples(st.sampled_from([*BINARY, *UNARY]), st.integers(0, 99), st.integers(0, 99))


@given(st.lists(STEPS, min_size=2, max_size=12), st.sampled_from(["f4", "f8"]))
def test_random_programs(steps: list[tuple[str, int, int]], dtype: str) -> None:
    """+ - * / and roots of whatever came before."""

    def run(np: Any, *operands: Any) -> Any:
        values = list(operands)
        for name, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            values.append(BINARY[name](x, y) if name in BINARY else UNARY[name](np, x))
        return values

    operands = drawn(dtype, 67)[:3]
    with numpy.errstate(all="ignore"):
        every = run(numpy, *operands)
    tiny = numpy.finfo(dtype).tiny
    assume(not any(((numpy.abs(v) < tiny) & (v != 0)).any() for v in every))  # flushed to zero
    got = numpy.asarray(np.jit(lambda *xs: run(np, *xs)[-1])(*map(np.array, operands)))
    numpy.testing.assert_array_equal(got, every[-1])
