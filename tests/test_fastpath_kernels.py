"""Kernels in place of NumPy's: masks, `where`, reductions of short rows, cumulative sums.

Each bit of the result, its dtype, shape and order in memory, each exception and each warning must
be NumPy's, for every dtype and layout: those that a kernel takes, and those that it leaves to
NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._fronts import BUILT
from lazynp._recorder import local
from tests.helpers import be_eager
from tests.test_fastpath_loops import bits, numbers

pytestmark = pytest.mark.own_policy

DTYPES = "?bBhHiIlLqQefdFD"
WIDTHS = [*range(1, 10), 12, 15, 16, 17, 31, 32, 33, 100, 127, 128, 129, 130]


@pytest.fixture(autouse=True)
def eagerly() -> Iterator[None]:
    with np.config(execution="adaptive"):
        local.recorder.reset_policy()
        be_eager()
        yield
    local.recorder.reset_policy()


def outcome(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The result, or the exception, and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            out = f(*args)
        except Exception as e:
            return type(e).__mro__[-3:], str(e)
    messages = sorted({str(w.message) for w in told}) if BUILT else []  # Python tells of fewer
    results = out if isinstance(out, list) else [out]
    return [(x.dtype, x.shape, lies(x), bits(x)) for x in results], messages


def lies(x: Any) -> Any:
    """The strides that matter."""
    strides = getattr(x, "strides", ())
    return [s for n, s in zip(x.shape, strides, strict=False) if n > 1] if x.size else None


def check(f: Callable[..., Any], *given: Any) -> None:
    """`f(module, *arrays)`, three times: the first may fill memo tables."""
    theirs = outcome(f, numpy, *(x.copy() if isinstance(x, numpy.ndarray) else x for x in given))
    for _ in range(3):
        ours = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in given]
        assert outcome(f, np, *ours) == theirs


def masks(n: int) -> list[Any]:
    rng = numpy.random.default_rng(n)
    some = [rng.random(n) < p for p in (0, 0.003, 0.05, 0.1, 0.5, 0.9, 0.98, 1)]
    alternating = numpy.arange(n) % 3 == 0
    ends = numpy.zeros(n, bool)
    ends[[0, -1]] = True
    blocks = numpy.arange(n) // 8 % 2 == 0
    return [*some, alternating, ends, blocks]


@pytest.mark.parametrize("n", [31, 32, 33, 40, 1000, 1003, 5000])
def test_of_masks(n: int) -> None:
    for mask in masks(n):
        for dtype in DTYPES:
            x = numbers(dtype, n)
            check(lambda np, x, m: x[m], x, mask)
            check(lambda np, x, m: x[m], x[:1], mask)  # too short
        x = numbers("d", n)
        check(lambda np, x, m: x[::-1][m], x, mask)
        check(lambda np, x, m: x.reshape(1, -1)[m.reshape(1, -1)], x, mask)
        check(lambda np, x, m: x[m[::-1]], x, mask)


@pytest.mark.parametrize("n", [1, 31, 32, 300, 8160, 8161, 20000])
def test_counts(n: int) -> None:
    for mask in masks(n):
        check(lambda np, m: m.sum(), mask)
        check(lambda np, m: np.sum(m.reshape(1, -1)), mask)
        check(lambda np, m: np.sum(m[::-1]), mask)
        check(lambda np, m: np.sum(m, dtype="i4"), mask)
        check(lambda np, m: np.sum(m, keepdims=True), mask)
        check(lambda np, m: m.sum() / m.size, mask)


def stored(np: Any, x: Any, mask: Any, value: Any) -> Any:
    kept = x.copy()
    x[mask] = value(x) if callable(value) else value
    return [x, kept, mask]


@pytest.mark.parametrize("n", [31, 40, 1003, 5000])
def test_stores_by_masks(n: int) -> None:
    for mask in masks(n):
        count = int(mask.sum())
        for dtype in DTYPES:
            x = numbers(dtype, n)
            one = numpy.roll(x, 3)
            for value in (True, 0, 1, 255, 256, -1, 2.5, 1e300, float("nan"), 1j, x[4]):
                check(stored, x, mask, value)
            for value in (one[:count], one[: count + 1], one[:1], numpy.arange(count) * 1.5):
                check(stored, x, mask, value)
        x = numbers("d", n)
        check(stored, x, mask, lambda x, n=count: x[:n].copy())
        check(stored, x, mask, lambda x, m=mask: x[::-1][m])
        check(lambda np, x, m: stored(np, x[::-1], m, 1.5), x, mask)
        check(lambda np, x, m: stored(np, x.reshape(1, -1), m.reshape(1, -1), 1.5), x, mask)
        check(lambda np, m: stored(np, m, m, False), mask)
        check(lambda np, m: stored(np, m, ~m, m[::-1][~m]), mask)


def test_stores_read_before_they_write() -> None:
    """Unlike NumPy's, where the values are part of the array."""
    for mask in masks(100):
        x = np.arange(100.0)
        count = int(mask.sum())
        x[mask] = x[:count]
        assert x[mask].tolist() == list(range(count))
        assert x[~mask].tolist() == numpy.arange(100.0)[~mask].tolist()


def test_bools_of_other_bytes() -> None:
    """A view of bytes as bools may hold any byte; all but 0 are true."""
    odd = numpy.arange(100, dtype="u1").view("?")
    for x in (numpy.arange(100.0), numpy.arange(100, dtype="i1")):
        ours = np.array(x)
        mask = np.asarray(odd)
        assert len(ours[mask]) == 99
        ours[mask] = 5
        assert ours.tolist() == [0] + [5] * 99


@pytest.mark.parametrize("n", [0, 1, 7, 32, 1003, 5000])
def test_where(n: int) -> None:
    for mask in masks(n)[4:6] if n > 1 else [numpy.zeros(n, bool)]:
        for dtype in DTYPES:
            x = numbers(dtype, n)
            y = numpy.roll(x, 2)
            some = [x, y, 0, 1.5, True, 300, 1e300, numpy.float32(2), numpy.int64(3)]
            if n:
                some += [x[0], x[:1]]
            for a in some:
                for b in some:
                    if isinstance(a, numpy.ndarray) or isinstance(b, numpy.ndarray):
                        check(lambda np, m, a, b: np.where(m, a, b), mask, a, b)
        for a in (1.0, 2, True, 1j):
            for b in (0.0, 3, False, 2**70):
                check(lambda np, m, a, b: np.where(m, a, b), mask, a, b)
        x = numbers("d", n)
        check(lambda np, m, x: np.where(m.reshape(1, -1), x, x[::-1]), mask, x)
        check(lambda np, m, x: np.where(m.reshape(-1, 1), x.reshape(-1, 1), 0.0), mask, x)
        check(lambda np, m, x: np.where(x > 0, x, m), mask, x)
        check(lambda np, m, x: np.where(x, x, 0.0), mask, x)


REDUCTIONS: list[Callable[..., Any]] = [
    lambda np, x, **named: x.sum(**named),
    lambda np, x, **named: np.sum(x, **named),
    lambda np, x, **named: x.mean(**named),
    lambda np, x, **named: np.mean(x, **named),
    lambda np, x, **named: x.max(**named),
    lambda np, x, **named: np.amin(x, **named),
    lambda np, x, **named: np.any(x, **named),
    lambda np, x, **named: x.all(**named),
    lambda np, x, **named: np.linalg.norm(x, **named),
    lambda np, x, **named: np.add.reduce(x, **named),
    lambda np, x, **named: np.maximum.reduce(x, **named),
]


@pytest.mark.parametrize("f", REDUCTIONS)
def test_reductions_of_short_rows(f: Callable[..., Any]) -> None:
    rng = numpy.random.default_rng(5)
    for at, width in enumerate(WIDTHS):
        rows = (40, 3, 1, 400)[at % 4]
        for dtype in DTYPES:
            special = numbers(dtype, rows * width)
            usual = (rng.normal(size=rows * width) * 10).astype(dtype)
            for x in (special, usual):
                for axis in (-1, 0, 1, 2):
                    check(lambda np, x, a=axis: f(np, x, axis=a), x.reshape(rows, width))
            check(lambda np, x: f(np, x, axis=-1, keepdims=True), usual.reshape(rows, width))
            check(lambda np, x: f(np, x, axis=-1), usual.reshape(1, rows, 1, width))
            check(lambda np, x: f(np, x, axis=1), usual.reshape(rows, 1, width))
            check(lambda np, x: f(np, x[::2], axis=-1), usual.reshape(rows, width))
            check(lambda np, x: f(np, x.T, axis=-1), usual.reshape(width, rows))
            check(lambda np, x: f(np, x, axis=-1), usual.reshape(rows, width)[:0])
            check(lambda np, x: f(np, x, axis=-1), usual.reshape(rows, width)[:, :0])


def test_reductions_with_zeros_of_both_signs() -> None:
    rng = numpy.random.default_rng(7)
    for width in WIDTHS:
        for dtype in "df":
            x = numpy.where(rng.random((50, width)) < 0.5, 0.0, -0.0).astype(dtype)
            for f in REDUCTIONS:
                check(lambda np, x, f=f: f(np, x, axis=-1), x)
                check(lambda np, x, f=f: f(np, x, axis=-1), numpy.full_like(x, -0.0))
                check(lambda np, x, f=f: f(np, x, axis=0), numpy.full_like(x, -0.0))


def test_what_numpy_warns_of() -> None:
    """A kernel leaves the call to NumPy then."""
    for values in ([1e308] * 3, [numpy.inf, -numpy.inf, 1.0], [numpy.nan, 1.0, 2.0]):
        x = numpy.array(values * 20).reshape(20, 3)
        for f in REDUCTIONS[:6] + REDUCTIONS[8:]:
            check(lambda np, x, f=f: f(np, x, axis=1), x)
        check(lambda np, x: x.cumsum(), x)
        check(lambda np, x: x.cumsum(1), x)


def test_cumulative_sums() -> None:
    for dtype in DTYPES:
        for shape in ((31,), (1003,), (5000,), (40, 3), (3, 40), (5, 4, 300), (0, 3), (100, 1)):
            x = numpy.random.default_rng(1).normal(size=shape) * 10
            for values in (x.astype(dtype), numbers(dtype, x.size).reshape(shape)):
                check(lambda np, x: x.cumsum(), values)
                check(lambda np, x: np.cumsum(x, axis=None), values)
                for axis in range(-len(shape) - 1, len(shape) + 1):
                    check(lambda np, x, a=axis: np.cumsum(x, a), values)
                    check(lambda np, x, a=axis: x.cumsum(axis=a), values)
                check(lambda np, x: np.cumsum(x, 0, dtype="f4"), values)
                check(lambda np, x: x.T.cumsum(0), values)


PARTS: list[Callable[[Any], Any]] = [
    lambda x: x[:99],
    lambda x: x[98::-1],
    lambda x: x[:198:2],
    lambda x: x[3:102],
    lambda x: x[:130].reshape(10, 13)[:9, 1:12],
    lambda x: x[:99].reshape(9, 11),
    lambda x: x[:99].reshape(11, 9).T,
    lambda x: x[:11],
    lambda x: x[5:6],
    lambda x: x[:9].reshape(9, 1),
]


def given_out(np: Any, name: str, whole: Any, n: int, parts: list[Any], other: Any) -> Any:
    """The first part is written; the others may be of the same array."""
    target, *operands = [part(x) for part, x in zip(parts, (whole, whole, other), strict=True)]
    with numpy.errstate(all="ignore"):  # recorded operations warn of nothing
        result = getattr(np, name)(*operands[:n], out=target)
        assert result is target
        getattr(np, name)(*operands[-n:], target)
    return [whole, other]


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "sqrt", "negative"])
@pytest.mark.parametrize("dtype", ["d", "f", "q", "B", "D"])
def test_out(name: str, dtype: str) -> None:
    n = getattr(numpy, name).nin
    x, y = numbers(dtype, 200), numpy.roll(numbers(dtype, 200), 2)
    for target in PARTS[:6]:
        for one in PARTS:
            for another in (*PARTS[::3], lambda x: 3, lambda x: x[7]):
                parts = [target, one, another]
                check(lambda np, x, y, p=parts: given_out(np, name, x, n, p, y), x, y)
        check(lambda np, x, p=target: given_out(np, name, x, n, [p, p, p], x), x)


@pytest.mark.parametrize("dtype", "fdDq")
def test_out_of_numbers_alone(dtype: str) -> None:
    """NumPy computes with Python's numbers in their own dtype, and casts the result."""
    calls: list[Any] = [("negative", 0), ("negative", 3), ("subtract", 2**53 + 1, 1)]
    for name, *args in (*calls, ("divide", 1, 3), ("multiply", 0.1, 3), ("sqrt", 2)):

        def run(np: Any, x: Any, name: str = name, args: Any = args) -> Any:
            try:
                getattr(np, name)(*args, out=x)
            except TypeError:
                pass
            return x

        check(run, numpy.ones(5, dtype))


@given(data=st.data())
def test_chains(data: st.DataObject) -> None:
    """Kernels between other operations, on views, in one array."""
    n = data.draw(st.sampled_from([40, 64, 300]))
    steps = data.draw(
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=6)
    )

    def run(np: Any) -> Any:
        x = np.array(numpy.linspace(-3.0, 5.0, n * 4).reshape(n, 4))
        kept = []
        for what, k in steps:
            mask = x > k - 1.5
            if what == 0:
                x[mask] = k
            elif what == 1:
                x[~mask] = x[~mask] * 0.5 - k
            elif what == 2:
                x = np.where(mask, x, -x)
            elif what == 3:
                x = x - x.mean(axis=0)
            elif what == 4:
                x[:, k % 4] = np.linalg.norm(x, axis=1)
            elif what == 5:
                kept.append(x[mask])
            elif what == 6:
                x[k:][mask[k:]] = x[mask].sum()
            else:
                x = np.cumsum(x, axis=k % 2) / 4
            kept.append(x.max(axis=1))
        return [*kept, x]

    assert outcome(run, np) == outcome(run, numpy)
