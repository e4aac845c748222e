"""Loops that never need a value: few programs, in bounded memory, for any number of iterations.

Each body also runs on NumPy, for the result. Arrays have some tens of elements, so that several
iterations make a program, or are large enough for a program in each iteration.
"""

from __future__ import annotations

import functools
import gc
import math
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import settings

import lazynp as np
from tests.helpers import Counted, fresh_start

LONG, SHORT = 10_000, 300  # iterations
MOST = 7  # programs: of a round, of many, of what comes before and after them
Body = Callable[[Any, int, int], Any]  # of the module, how often, how large; the final state


def heat(np: Any, n: int, s: int) -> Any:
    """Time stepping, in place."""
    u = np.zeros(64 * s)
    u[30:34] = 1.0
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def heat_out_of_place(np: Any, n: int, s: int) -> Any:
    u = np.linspace(0.0, 1.0, 64 * s)
    for _ in range(n):
        u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return u


def wave(np: Any, n: int, s: int) -> Any:
    """Three buffers that take turns."""
    x = np.linspace(0.0, 1.0, 64 * s)
    before, now, after = np.sin(x), np.sin(x), np.zeros(64 * s)
    for _ in range(n):
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now, after = now, after, before
    return now


def ping_pong(np: Any, n: int, s: int) -> Any:
    """Two buffers, each written from the other."""
    a, b = np.linspace(0.0, 1.0, 50 * s), np.zeros(50 * s)
    for _ in range(n // 2):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a[1:-1] = 0.5 * (b[2:] + b[:-2])
    return a + b


def red_black(np: Any, n: int, s: int) -> Any:
    """In-place sweeps over every other element."""
    u = np.linspace(0.0, 1.0, 64 * s + 1)
    for _ in range(n):
        u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2])
        u[2:-2:2] = 0.5 * (u[1:-3:2] + u[3:-1:2])
    return u


def growing_scalar(np: Any, n: int, s: int) -> Any:
    """A time that grows, as an operand."""
    t, dt = 0.0, 0.001
    x = np.linspace(0.0, 1.0, 32 * s)
    for _ in range(n):
        x = x + dt * np.sin(t - x)
        t += dt
    return x


def learning_rate(np: Any, n: int, s: int) -> Any:
    """A step that shrinks, of an integer and a float."""
    w, target = np.zeros(20 * s), np.linspace(-1.0, 1.0, 20 * s)
    for i in range(n):
        w -= 0.5 / (i + 1) ** 0.5 * (w - target)
    return w


def momentum(np: Any, n: int, s: int) -> Any:
    """An optimiser with state in a dict."""
    state = {name: np.zeros(16 * s) for name in "wmv"}
    target = np.linspace(-1.0, 1.0, 16 * s)
    for i in range(1, n + 1):
        g = 2.0 * (state["w"] - target)
        state["m"] = 0.9 * state["m"] + 0.1 * g
        state["v"] = 0.999 * state["v"] + 0.001 * g * g
        m, v = state["m"] / (1 - 0.9**i), state["v"] / (1 - 0.999**i)
        state["w"] = state["w"] - 0.01 * m / (np.sqrt(v) + 1e-8)
    return state["w"]


def nested(np: Any, n: int, s: int) -> Any:
    """A loop in a loop."""
    x = np.linspace(0.0, 1.0, 40 * s)
    for _ in range(n // 10):
        y = x * 0.5
        for _ in range(10):
            y = y + 0.1 * (x - y)
        x = np.cos(y)
    return x


def nested_of_varying_length(np: Any, n: int, s: int) -> Any:
    x = np.linspace(0.0, 1.0, 40 * s)
    for i in range(n // 10):
        for _ in range(i % 7):
            x = x * 0.9 + 0.1
        x = np.cos(x)
    return x


def branch(np: Any, n: int, s: int) -> Any:
    """A branch on the number of the iteration."""
    x = np.linspace(0.0, 1.0, 40 * s)
    for i in range(n):
        x = x * 0.9 + 0.01
        if i % 3 == 0:
            x = x - 0.02 * np.sin(x)
    return x


def branch_on_values(np: Any, n: int, s: int) -> Any:
    """A branch on a computed value."""
    x, rate = np.linspace(0.0, 1.0, 40 * s), 0.1
    for _ in range(n):
        x = x + rate * (0.5 - x)
        if x.max() > 0.7:
            rate = 0.05
        else:
            rate = -0.05
    return x


def rows(np: Any, n: int, s: int) -> Any:
    """Rows of an array, by a moving index."""
    m = np.linspace(0.0, 1.0, 40 * 8 * s).reshape(40, 8 * s)
    for k in range(n):
        i = 1 + k % 38
        m[i] = 0.5 * m[i - 1] + 0.25 * m[i] + 0.25 * m[i + 1]
    return m


def columns(np: Any, n: int, s: int) -> Any:
    m = np.linspace(0.0, 1.0, 8 * s * 100).reshape(8 * s, 100)
    for k in range(n):
        j = k % 99
        m[:, j + 1] += 0.1 * (m[:, j] - m[:, j + 1])
    return m


def iterated_rows(np: Any, n: int, s: int) -> Any:
    """Rows as the loop variable."""
    m = np.linspace(0.0, 1.0, 100 * 8 * s).reshape(100, 8 * s)
    total = np.zeros(8 * s)
    for _ in range(n // 100):
        for row in m:
            total = 0.9 * total + row * row
    return total


def elements(np: Any, n: int, s: int) -> Any:
    """Single elements, each from the one before."""
    x = np.zeros(200 * s)
    x[0] = 1.0
    for k in range(n):
        i = k % 199
        x[i + 1] = 0.5 * x[i + 1] + 0.25 * x[i] + 0.1
    return x


def accumulated(np: Any, n: int, s: int) -> Any:
    """A sum that nobody reads until the end."""
    x, total = np.linspace(0.0, 1.0, 30 * s), 0.0
    for i in range(n):
        total = total + (x * (i % 5)).sum()
    return total


def recorded_history(np: Any, n: int, s: int) -> Any:
    """Every tenth state goes into an array of all such states."""
    x, seen = np.linspace(0.0, 1.0, 16 * s), np.zeros((30, 16 * s))
    for i in range(n):
        x = x + 0.01 * (0.5 - x)
        if i % 10 == 9:
            seen[i // 10 % 30] = x
    return seen


def power_iteration(np: Any, n: int, s: int) -> Any:
    """A product and a norm."""
    k = 12 * math.isqrt(s)
    m = np.linspace(0.0, 1.0, k * k).reshape(k, k) + np.eye(k)
    v = np.ones(k)
    for _ in range(n):
        v = m @ v
        v = v / np.sqrt((v * v).sum())
    return v


def generator(np: Any, n: int, s: int) -> Any:
    """Integers that wrap around, masks, and a generator function as the loop."""

    def steps() -> Any:
        x = np.arange(32 * s, dtype=np.uint32)
        for _ in range(n):
            x = x * np.uint32(1664525) + np.uint32(1013904223)
            yield x

    hits = np.zeros(32 * s, dtype=np.int64)
    for x in steps():
        hits[x > 1 << 31] += 1
    return hits


BODIES: list[Body] = [
    heat, heat_out_of_place, wave, ping_pong, red_black, growing_scalar, learning_rate, momentum,
    nested, nested_of_varying_length, branch, branch_on_values, rows, columns, iterated_rows,
    elements, accumulated, recorded_history, power_iteration, generator,
]  # fmt: skip
assert len(BODIES) == 20


POLICY = np.config.execution  # of this run of the suite: `make test` has one for each

# More programs than there should be; under "compiled", which compiles everything.
OVER: dict[tuple[str, str, int], str] = {
    ("compiled", "nested_of_varying_length", 1): (
        "rounds of one length run together; each other length is a program of its own, as is what "
        "comes before and after"
    )
}


def cases() -> list[Any]:
    found = []
    for size in (1, 1000):
        for body in BODIES:
            why = OVER.get((POLICY, body.__name__, size))
            marks = [] if why is None else [pytest.mark.xfail(reason=why)]
            found.append(pytest.param(body, size, marks=marks, id=f"{body.__name__}-{size}"))
    return found


@pytest.fixture
def iterations() -> int:
    return LONG if settings.default.max_examples >= 500 else SHORT  # `make test-full`


@functools.cache
def outcome(body: Body, n: int, size: int) -> tuple[int, Any]:
    """Programs compiled, and the final state."""
    fresh_start()
    with Counted() as counted:
        state = numpy.asarray(body(np, n, size))
    return counted.compiles, state


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_results(body: Body, size: int, iterations: int) -> None:
    _, state = outcome(body, iterations, size)
    expected = body(numpy, iterations, size)
    numpy.testing.assert_allclose(state, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("body", "size"), cases())
def test_few_programs(body: Body, size: int, iterations: int) -> None:
    assert outcome(body, iterations, size)[0] <= MOST


# Some seconds each: a quarter of the loops under the default policy, some of the others elsewhere.
WATCHED = BODIES[::4] if POLICY == "adaptive" else BODIES[1::8]


@pytest.mark.slow
@pytest.mark.parametrize("body", WATCHED, ids=lambda body: body.__name__)
def test_memory_does_not_grow(body: Body, iterations: int) -> None:
    """Of Python and NumPy, with small arrays: five times the iterations take no more."""
    many = min(iterations, 3000)  # they are slow when watched
    peaks = []
    for n in 2 * (many, many // 5) + (many,):  # the first three to compile
        gc.collect()
        tracemalloc.start()
        try:
            # no traces of running loops: a clock says when, and each takes memory once
            with np.config(max_pending=32, promotion=False):
                body(np, n, 1)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[4] < 1.2 * peaks[3] + 60_000  # fewer iterations come to fewer places


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("body", WATCHED, ids=lambda body: body.__name__)
def test_memory_of_the_process_does_not_grow(body: Body, iterations: int) -> None:
    """XLA's too, with large arrays."""
    peaks = []
    for n in (iterations, iterations, iterations // 5, iterations):  # the first two to compile
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak
        before = of_process("VmRSS")
        body(np, n, 1000)
        peaks.append(of_process("VmHWM") - before)
    # some arrays more or less may lie free; one an iteration would be 80 MB and more
    assert peaks[3] < peaks[2] + 40e6


def of_process(field: str) -> int:
    """Bytes, of /proc/self/status."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{field}:")[1].split()[0])
