"""Chains of elementwise operations, block by block: NumPy's values, little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp import _blocks
from lazynp._node import OP
from tests.helpers import be_eager, fresh_start

pytestmark = pytest.mark.own_policy

DTYPES = ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays run in small blocks. (Operations know whether they are large; those of other
    tests have the same shapes.)
    """
    monkeypatch.setattr(_blocks, "BLOCK", 256)
    monkeypatch.setattr(_blocks, "_LEAST", -99)
    run = _blocks.run

    def of_small(nodes: list[Any], asked: Any) -> None:
        ops = [op for op in {n[OP] for n in nodes} if not op.blocked and _is_large(op)]
        for op in ops:
            op.blocked = True
        try:
            run(nodes, asked)
        finally:
            for op in ops:
                op.blocked = False

    monkeypatch.setattr(_blocks, "run", of_small)
    fresh_start()
    be_eager(False)
    with np.config(execution="reference"):
        yield


def _is_large(op: Any) -> bool:
    return op.primitive.kind == "elementwise" and not op.host and op.aval.nbytes >= 64


class Chains:
    """The names of the primitives of each chain that ran block by block."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[tuple[list[str], int]] = []  # and how many results were stored whole
        run = _blocks._Chain.run

        def noted(chain: Any) -> None:
            run(chain)
            names = [getattr(f, "__name__", "?") for f, _, _ in chain.steps]
            self.ran.append((names, len(chain.results)))

        monkeypatch.setattr(_blocks._Chain, "run", noted)


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> Chains:
    return Chains(monkeypatch)


def same(got: Any, want: Any) -> None:
    """Bits, dtype, shape and the order in memory."""
    got = numpy.asarray(got)
    assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
    assert got.tobytes() == want.tobytes()


def both(program: Callable[..., Any], *arrays: numpy.ndarray) -> None:
    with numpy.errstate(all="ignore"):
        want = program(numpy, *[a.copy("K") for a in arrays])
    got = program(np, *[np.array(a, order="K") for a in arrays])
    for g, w in zip(got, want, strict=True):
        same(g, w)


@pytest.mark.parametrize(("size", "blocked"), [(1 << 20, True), ((1 << 20) - 1, False)])
def test_large_operations_know(size: int, blocked: bool) -> None:
    x = np.array(numpy.zeros(size))
    assert [y._node[OP].blocked for y in (x * 2.0, np.sqrt(x))] == [blocked] * 2
    assert not x.sum()._node[OP].blocked


def test_only_what_is_wanted_is_stored(chains: Chains) -> None:
    def program(np: Any, x: Any, y: Any) -> Any:
        a = x * y + 1.0
        b = np.sqrt(a * a) - x
        return b / (1.0 + y), a

    rng = numpy.random.default_rng(0)
    both(program, rng.random(1001), rng.random(1001))
    names = ["multiply", "add", "multiply", "sqrt", "subtract", "add", "divide"]
    assert chains.ran == [(names, 2)]


def test_memory_of_blocks(monkeypatch: pytest.MonkeyPatch, chains: Chains) -> None:
    monkeypatch.setattr(_blocks, "BLOCK", 1 << 13)
    x = np.array(numpy.random.default_rng(0).random(1 << 17))
    tracemalloc.start()
    try:
        a = np.sqrt(x * x + 1) - x / 2
        b = np.sqrt(a * a + x) - a / 3
        c = np.sqrt(b * b + a) - b / 4
        y = np.sqrt(c * c + b) - c / 5
        del a, b, c
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        np.materialize(y)
        assert tracemalloc.get_traced_memory()[1] - before < 1.3 * x.nbytes
    finally:
        tracemalloc.stop()
    assert [(len(names), stored) for names, stored in chains.ran] == [(20, 1)]


@pytest.mark.parametrize("kept", [False, True])
def test_chains_that_gain_little_run_as_usual(
    kept: bool, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_blocks, "_LEAST", 3)
    x = np.array(numpy.arange(300.0))
    a = x * 2.0
    b = a + x
    c = b * a
    d = c - 1.0
    if not kept:
        del a, b, c
    np.materialize(d)
    assert len(chains.ran) == (not kept)


def others(np: Any, x: Any, y: Any) -> Any:
    """Operations that are not elementwise, between and after those that are."""
    a = x + y
    total = a.sum()
    b = a * y
    c = b - total
    d = np.where(c > 0, c, -c)
    e = d[1:] + d[:-1]
    return a, c, d, e * e + 1.0, np.sort(e), total


def updates(np: Any, x: Any, y: Any) -> Any:
    """Writes between the operations."""
    a = x * 2.0
    b = a + y
    a[3:] = b[3:] - 1.0
    c = a + b
    c[c > 1.0] = 0.5
    a += c * a
    return a, b, c, x


@pytest.mark.parametrize("program", [others, updates])
@pytest.mark.parametrize("shape", [(301,), (40, 9), (3, 130)])
def test_other_operations_between(program: Any, shape: Any, chains: Chains) -> None:
    rng = numpy.random.default_rng(1)
    both(program, rng.standard_normal(shape), rng.standard_normal(shape))
    assert len(chains.ran) > 1


def mixed(np: Any, x: Any, y: Any) -> Any:
    """Casts, results of several dtypes, functions that are no ufuncs."""
    a = x * y + x
    b = np.where(x > y, a, x)
    c = (a != b) & (x == x)
    d = np.real(b).astype(numpy.float32) + np.real(a).astype(numpy.float32)
    return a, b, c, np.conj(b) * d, np.real(b * b) + np.imag(a), d


@pytest.mark.parametrize("second", ["?", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("first", DTYPES)
def test_dtypes(first: str, second: str, chains: Chains) -> None:
    rng = numpy.random.default_rng(2)
    both(
        mixed,
        (rng.random(333) * 3).astype(first),
        (rng.random(333) * 3).astype(second),
    )
    assert chains.ran


def parts(np: Any, x: Any, y: Any) -> Any:
    """The real part of a block lies in its memory, which other operations must not take over."""
    z = np.exp(x + 1j * y)
    re = np.real(z)
    w = z * 2.0
    v = np.sqrt(w) + w * w
    u = np.real(v) * re
    return u - np.imag(v), np.maximum(u, re)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_parts_of_blocks(dtype: str, chains: Chains) -> None:
    rng = numpy.random.default_rng(7)
    both(parts, rng.random(400).astype(dtype), rng.random(400).astype(dtype))
    assert chains.ran


SHAPES = [(700,), (1, 700), (700, 1), (25, 31), (31, 1), (1, 31), (31,), (4, 25, 31), (4, 1, 31),
          (1, 1, 1), (2, 3, 5, 40), (3, 1, 40), (5, 1), (1,), ()]  # fmt: skip


@pytest.mark.parametrize("second", SHAPES, ids=str)
@pytest.mark.parametrize("first", SHAPES, ids=str)
def test_shapes(first: Any, second: Any) -> None:
    try:
        numpy.broadcast_shapes(first, second)
    except ValueError:
        return  # no program

    def program(np: Any, x: Any, y: Any) -> Any:
        a = x * y - x
        return a * a + y, np.where(a > y, a, 2.0) - x

    rng = numpy.random.default_rng(3)
    both(program, rng.random(first), rng.random(second))


ORDERS: list[Callable[[numpy.ndarray], Any]] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::2, 1:],
    lambda x: x[::-1],
    lambda x: x[:, ::-1].T,
    lambda x: numpy.broadcast_to(x[:1], x.shape),
]


@pytest.mark.parametrize("second", ORDERS)
@pytest.mark.parametrize("first", ORDERS)
def test_orders_in_memory(first: Any, second: Any) -> None:
    def program(np: Any, x: Any, y: Any) -> Any:
        x, y = (v[:20, :20] if min(v.shape) > 20 else v for v in (first(x), second(y)))
        n = tuple(slice(min(a, b)) for a, b in zip(x.shape, y.shape, strict=True))
        a = x[n] * y[n] + 1.0
        return a - y[n], a

    rng = numpy.random.default_rng(4)
    both(program, rng.random((40, 41)), rng.random((40, 41)))


def test_every_function_has_the_same_bits_in_blocks() -> None:
    """Whatever the place in a block: NumPy's vectors take the last elements in other ways."""
    rng = numpy.random.default_rng(5)
    for name in sorted(dir(numpy)):
        function = getattr(numpy, name)
        if type(function) is not numpy.ufunc or function.nout != 1 or function.nin > 2:
            continue
        for dtype in ("f8", "f4", "c16", "i8"):
            values = [(rng.random(997) * 2).astype(dtype) for _ in range(function.nin)]
            try:
                with numpy.errstate(all="ignore"):
                    want = function(*values) + 1
            except (TypeError, ValueError):
                continue
            with numpy.errstate(all="ignore"):
                got = getattr(np, name)(*map(np.array, values)) + 1
            assert numpy.asarray(got).tobytes() == want.tobytes(), (name, dtype)


def test_an_interruption_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array(numpy.arange(500.0))
    y = x * 2 + 1
    z = (y - x) * y
    run = _blocks._Chain.run

    def interrupted(chain: Any) -> None:
        run(chain)
        raise KeyboardInterrupt

    monkeypatch.setattr(_blocks._Chain, "run", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            z.tolist()
    monkeypatch.setattr(_blocks._Chain, "run", run)
    v = numpy.arange(500.0)
    same(z, (v * 2 + 1 - v) * (v * 2 + 1))
    same(y, v * 2 + 1)


def test_a_failure_concerns_what_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array(numpy.arange(500.0))
    a = x + 1
    bad = np.sqrt(a) * 2
    reads = bad.sum()
    good = x[:-1] * 3 - x[1:]
    monkeypatch.setattr(_blocks._Chain, "run", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        good.tolist()
    monkeypatch.undo()
    v = numpy.arange(500.0)
    same(good, v[:-1] * 3 - v[1:])
    same(reads, (numpy.sqrt(v + 1) * 2).sum())


def test_a_view_of_a_result_stays_a_view() -> None:
    x = np.array(numpy.arange(400.0))
    a = x * 2
    part = a[10:20]
    b = a + x
    np.materialize(b)
    part[:] = -1.0
    want = numpy.arange(400.0) * 2
    same(b, want + numpy.arange(400.0))
    want[10:20] = -1.0
    same(a, want)


@pytest.mark.parametrize(
    ("shape", "itemsize", "cut"),
    [
        ((100,), 8, (0, 25)),
        ((33,), 8, (0, 17)),
        ((5, 8), 8, (0, 3)),
        ((3, 100), 8, (1, 25)),
        ((7, 2, 16), 8, (0, 1)),
        ((7, 3, 16), 8, (1, 2)),
        ((9, 4), 16, (0, 3)),
    ],
)
def test_blocks(shape: Any, itemsize: int, cut: Any) -> None:
    """At most 256 bytes each, of even lengths."""
    assert _blocks._block(shape, itemsize) == cut


OPERATIONS: list[Any] = [
    lambda np, a, b: a + b,
    lambda np, a, b: a * 0.5 - b,
    lambda np, a, b: np.where(a > b, a, b),
    lambda np, a, b: np.sqrt(abs(a)),
    lambda np, a, b: a - a.mean(),
    lambda np, a, b: np.maximum(a, b[::1]),
    lambda np, a, b: a[::-1] + b,
    lambda np, a, b: b.cumsum(axis=-1) - a,
    lambda np, a, b: (a > 0) * b,
    lambda np, a, b: a.sum(axis=0) + b,
]


@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 9), st.integers(0, 9)), max_size=14
    ),
    st.sampled_from([(150,), (12, 13), (2, 3, 40)]),
    st.lists(st.integers(0, 15), max_size=4),
)
def test_random_programs(steps: Any, shape: Any, kept: Any) -> None:
    def program(np: Any, x: Any, y: Any) -> Any:
        values = [x, y]
        for operation, i, j in steps:
            values.append(operation(np, values[i % len(values)], values[j % len(values)]))
        return [values[-1], *(values[k % len(values)] for k in kept)]

    rng = numpy.random.default_rng(6)
    both(program, rng.standard_normal(shape), rng.standard_normal(shape))
