"""Two rounds in one, where arrays change places: nothing is copied, and every count is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _hold_call


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    with np.config(execution="compiled"):
        yield


Round = Callable[[Any, Any], Any]  # of the module, and of what is carried

needs_the_call = pytest.mark.skipif(
    not _hold_call.BUILT, reason="holds in place are part of the fast path in C"
)
RNG = numpy.random.default_rng(1)
SQUARE = RNG.random((100, 100))
LINE = RNG.random(10_000)


def heat(np: Any, u: Any) -> Any:
    v = u.copy()
    v[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return v * 0.9


def rod(np: Any, u: Any) -> Any:
    u = u.copy()
    u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3.0
    return u


def rolled(np: Any, u: Any) -> Any:
    return 0.5 * (np.roll(u, 1, 0) + u.T)


def wave(np: Any, state: Any) -> Any:
    before, now = state
    after = 2 * now - before
    after[1:-1] += 0.1 * (now[2:] + now[:-2] - 2 * now[1:-1])
    return now, after


def exchanged(np: Any, state: Any) -> Any:
    a, b = state
    return b, a


def product(np: Any, u: Any) -> Any:
    return u @ u * 0.02


ROUNDS: dict[str, tuple[Round, Any]] = {
    "heat": (heat, SQUARE),
    "rod": (rod, LINE),
    "rolled": (rolled, SQUARE),
    "wave": (wave, (LINE, LINE * 0.99)),
    "exchanged": (exchanged, (LINE, LINE + 1.0)),
    "product": (product, SQUARE),
    "float32": (rod, LINE.astype("f4")),
    "complex": (rod, LINE * 1j),
    "int": (lambda np, u: np.roll(u, 3) + 1, numpy.arange(30_000)),
}


def expected(f: Round, state: Any, count: int) -> list[Any]:
    for _ in range(count):
        state = f(numpy, state)
    return list(state) if isinstance(state, tuple) else [state]


def ours(state: Any) -> Any:
    return tuple(map(np.array, state)) if isinstance(state, tuple) else np.array(state)


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 11, 12])
def test_any_number_of_rounds(name: str, count: int) -> None:
    f, state = ROUNDS[name]

    def known(state: Any) -> Any:
        return np.fori_loop(0, count, lambda i, s: f(np, s), state)

    def traced(n: Any, state: Any) -> Any:
        return np.fori_loop(0, n, lambda i, s: f(np, s), state)

    want = expected(f, state, count)
    for got in (np.jit(known)(ours(state)), np.jit(traced)(np.array(count), ours(state))):
        for g, w in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
            assert g.dtype == w.dtype
            numpy.testing.assert_allclose(g, w, rtol=1e-5 if g.dtype == "f4" else 1e-10)


@pytest.mark.parametrize("name", ["heat", "rod", "wave", "product"])
def test_other_loops_and_derivatives(name: str) -> None:
    f, state = ROUNDS[name]
    first = state[0] if isinstance(state, tuple) else state

    def scanned(state: Any) -> Any:
        def step(s: Any, x: Any) -> Any:
            s = f(np, s)
            return s, (s[0] if isinstance(s, tuple) else s).sum() * x

        return np.scan(step, state, np.arange(7.0))[1]

    totals, s = [], state
    for i in range(7):
        s = f(numpy, s)
        totals.append((s[0] if isinstance(s, tuple) else s).sum() * i)
    numpy.testing.assert_allclose(np.jit(scanned)(ours(state)), totals, rtol=1e-10)

    def loss(x: Any) -> Any:
        start = (x, np.array(state[1])) if isinstance(state, tuple) else x
        out = np.fori_loop(0, 9, lambda i, s: f(np, s), start)
        return ((out[1] if isinstance(out, tuple) else out) ** 2).sum()

    x = np.array(first)
    for g in (np.grad(loss), np.jit(np.grad(loss))):
        slope = g(x)
        direction = numpy.cos(numpy.arange(first.size)).reshape(first.shape)
        step = 1e-5
        difference = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
        numpy.testing.assert_allclose((slope * direction).sum(), difference, rtol=1e-6)


@needs_the_call
@pytest.mark.parametrize("name", ["heat", "rod", "product", "int"])
def test_nothing_is_copied(name: str) -> None:
    f, state = ROUNDS[name]
    hlo = np.jit(lambda s: np.fori_loop(0, 50, lambda i, s: f(np, s), s)).lower(ours(state))
    text = hlo.compile().as_text()
    (body,) = re.findall(r"body=%?([\w.\-]+)", text)
    found = re.search(rf"\n%?{re.escape(body)} \(.*?\n\}}", text, re.DOTALL)
    assert found and not re.findall(r"= \w+\[\d[\d,]*\]\S* copy\(", found[0])


@pytest.mark.parametrize(
    ("f", "state"),
    [
        (lambda np, u: u * 0.5 + 1.0, LINE),  # in place as it is
        (lambda np, u: u * u.sum(), LINE),
        (rod, LINE[:500]),  # small
    ],
    ids=["elementwise", "a sum", "small"],
)
def test_other_rounds_stay_one(f: Round, state: Any) -> None:
    def text(rounds: int) -> str:
        loop = np.jit(lambda s: np.fori_loop(0, rounds, lambda i, s: f(np, s), s))
        return loop.lower(np.array(state)).as_text()

    once = np.jit(lambda s: f(np, s)).lower(np.array(state)).as_text()
    for operation in ("stablehlo.multiply", "stablehlo.divide"):
        assert text(50).count(operation) == once.count(operation)


@pytest.mark.parametrize("begin", [250, 251, 254, 255])
def test_a_counter_at_the_end_of_its_dtype(begin: int) -> None:
    def loop(i: Any, u: Any) -> Any:
        return np.while_loop(
            lambda s: s[0] < 255, lambda s: (s[0] + numpy.uint8(1), rod(np, s[1])), (i, u)
        )

    i, got = np.jit(loop)(np.array(begin, "u1"), np.array(LINE))
    assert i == 255
    numpy.testing.assert_allclose(got, expected(rod, LINE, 255 - begin)[0], rtol=1e-10)


def test_a_condition_that_never_holds() -> None:
    def loop(i: Any, n: Any, u: Any) -> Any:
        return np.while_loop(lambda s: n < s[0], lambda s: (s[0] + 1, rod(np, s[1])), (i, u))

    i, got = np.jit(loop)(np.array(5), np.array(5), np.array(LINE))
    assert i == 5
    numpy.testing.assert_array_equal(got, LINE)
