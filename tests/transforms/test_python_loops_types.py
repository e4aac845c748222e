"""Types and memory in control flow: what a program cannot do as Python does, is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

# -- jumps -----------------------------------------------------------------------------------------


def broken_or_returned(x):
    for i in range(12):
        if x[i % 4] > 5:
            break
        if x[i % 4] > 2:
            return x * 2
        x[i % 4] += 1
    else:
        x[0] = -1
    return x


def in_another_loop(x):
    for w in x:
        for i in range(12):
            if x[i % 4] > 5 + w:
                break
            if x[i % 4] > 3:
                return x * 2
            x[i % 4] += 1
        else:
            x[0] = -1
    return x


@pytest.mark.parametrize("f", [broken_or_returned, in_another_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("values", [[0, 0, 0, 0], [9, 0, 0, 0], [0, 0, 2.5, 7], [-9, -9, -9, -9]])
def test_a_loop_with_break_and_return(f: Any, values: list[float]) -> None:
    theirs, ours = numpy.array(values, float), np.array(values, float)
    want, got = f(theirs), np.jit(f)(ours)
    assert numpy.asarray(got).tolist() == want.tolist()
    assert numpy.asarray(ours).tolist() == theirs.tolist()


# -- which array a variable shows ------------------------------------------------------------------


def filled(u):
    u.fill(3)


def swapped(x, z, n):
    for _ in range(9):
        x, z = z, x
    x[0] = 3
    return z + 1


def swapped_and_filled(x, z, n):
    for _ in range(9):
        x, z = z, x
    filled(x)


def swapped_while(x, z, n):
    k = 0
    while z[k] > n:
        x, z = z, x
        k += 1
    x[0] = 3


def halved_while(x, z, n):
    while z[0] > n:
        x = x * 0.5
        n += 1
    x[1] = 7


def halved_some_rounds(x, z, n):
    for _ in range(int(n)):
        x = x * 0.5
    x[1:].fill(7)


def in_a_tuple(x, z, n):
    t = (x, 0.0)
    while z[0] > n:
        t = (t[0] * 2, t[1] + 1)
        n += 1
    t[0][0] = 3


def row_of_a_matrix(x, z, n):
    m = z.reshape(2, -1)
    b = m[0]
    for row in m:
        if row[0] > n:
            b = row
    b.fill(8)


def rounds_that_are_known(x, z, n):
    for _ in range(9):
        x, z = z, x * 0.5
    x[0] = 3
    z[0] = 4
    return x + z


@pytest.mark.parametrize("n", [0.0, 2.0, 100.0])
@pytest.mark.parametrize(
    ("f", "runs"),
    [
        (swapped, True), (rounds_that_are_known, True), (swapped_and_filled, False),
        (swapped_while, False), (halved_while, False), (halved_some_rounds, False),
        (in_a_tuple, False), (row_of_a_matrix, False),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)  # fmt: skip
def test_a_write_after_a_loop_reaches_the_array_or_is_refused(f: Any, runs: bool, n: float) -> None:
    """If no round runs, the variable is still the argument."""
    theirs = [numpy.ones(6), numpy.arange(1.0, 7.0)]
    ours = [np.ones(6), np.arange(1.0, 7.0)]
    try:
        got = np.jit(f)(*ours, np.array(n))
    except (TypeError, ValueError):
        assert not runs
        assert [numpy.asarray(x).tolist() for x in ours] == [x.tolist() for x in theirs]
        return
    assert runs
    want = f(*theirs, numpy.array(n))
    assert numpy.asarray(got).tolist() == want.tolist()
    assert [numpy.asarray(x).tolist() for x in ours] == [x.tolist() for x in theirs]


# -- types that settle -----------------------------------------------------------------------------


def narrower(x):
    z, i = x * 1.0, 0
    while x[i] < 3:
        z = x.astype(np.float32)
        i += 1
    return z


def pythons(x):
    k, i = x[0] * 1.0, 0
    while x[i] < 3:
        k = 7
        i += 1
    return k


def nested(x):
    z, a = x, 0
    while x[a] < 3:
        a += 1
        for _ in range(12):
            z = z * 0.5 + a
    return z


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "f4", "f8"])
@pytest.mark.parametrize("f", [narrower, pythons, nested], ids=lambda f: f.__name__)
def test_types_settle(f: Any, dtype: str) -> None:
    values = numpy.array([1, 2, 3, 4]).astype(dtype)
    want, got = f(values), np.jit(f)(np.array(values))
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-6)


# -- numbers of Python's beside small types --------------------------------------------------------


def one_or(value: Any) -> Callable[..., Any]:
    def f(x):
        n = value
        if x[0] > 0:
            n = x[1]
        return n

    return f


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("value", [1, 300, -1, 2**40, 2**60 + 1, 0.5, 1e300, True, float("inf")])
def test_a_number_that_the_other_dtype_cannot_hold_is_refused(value: Any, dtype: str) -> None:
    f = one_or(value)
    for first in (-1, 1) if dtype != "u1" else (0, 1):
        x = numpy.array([first, 2, 3]).astype(dtype)
        try:
            got = np.jit(f)(np.array(x))
        except TypeError as error:
            assert "may not hold" in str(error)
            kept = numpy.result_type(0.5 if type(value) is float else 0, x.dtype)
            with numpy.errstate(all="ignore"):
                held = numpy.array(value).astype(kept)
            assert numpy.isinf(held) or held.item() != value
            return
        assert got == f(x)


def counted(v, step):
    n = 0
    for q in range(12):
        if v[q % 4] >= 0:
            n += step
    return n


def add(x, n):
    return x + n


def below(x, n):
    return x < n


def equal(x, n):
    return x == n


def add_in_place(x, n):
    x += n


def add_to_one(x, n):
    x[1] += n


def store(x, n):
    x[1] = n


def store_slice(x, n):
    x[1:3] = n


def store_masked(x, n):
    x[x == 0] = n


def store_listed(x, n):
    x[[0, 1]] = n


def fill(x, n):
    x.fill(n)


def full(x, n):
    return np.full_like(x, n) if isinstance(x, np.ndarray) else numpy.full_like(x, n)


OF_INTS = [
    add, below, equal, add_in_place, add_to_one, store, store_slice, store_masked, store_listed,
    fill, full,
]  # fmt: skip


def outcome(f: Any, x: Any, *args: Any) -> Any:
    try:
        out = f(x, *args)
    except (OverflowError, ValueError) as error:
        return type(error)
    out = None if out is None else numpy.asarray(out)
    return None if out is None else (out.dtype, out.tolist()), numpy.asarray(x).tolist()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8"])
@pytest.mark.parametrize("step", [1, 30, -1])
@pytest.mark.parametrize("f", OF_INTS, ids=lambda f: f.__name__)
def test_an_int_of_pythons_beside_small_integers(f: Any, step: int, dtype: str) -> None:
    """NumPy raises OverflowError for what the dtype does not hold, and compares exactly."""

    def program(x, v):
        n = counted(v, step)
        return f(x, n)

    given, v = numpy.array([0, 1, 2, 3], dtype), numpy.arange(4)
    want = outcome(program, given.copy(), v)
    assert outcome(np.jit(program), np.array(given), np.array(v)) == want


OF_NUMPY = [
    -180.5, 3.7, numpy.inf, numpy.nan, 1e20, 2.0**63, -128.9, numpy.float32(numpy.nan),
    numpy.int64(300), numpy.int32(-3), numpy.uint64(2**64 - 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8", "f4"])
@pytest.mark.parametrize("f", [store, store_slice, fill, add_to_one], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_number_of_numpys_stored_into_integers(f: Any, dtype: str) -> None:
    def program(x, v):
        return f(x, v[0])

    jitted = np.jit(program)
    for value in OF_NUMPY:  # traced once for each of their dtypes
        given, v = numpy.zeros(4, dtype), numpy.array([value])
        want = outcome(program, given.copy(), v)
        got = outcome(jitted, np.array(given), np.array(v))
        assert str(got) == str(want), value  # nan is itself


def test_a_stored_counter_that_fits_is_not_checked() -> None:
    """Its interval proves that."""

    def program(x):
        for i in range(100):
            x[i] = i

    jaxpr = np.make_jaxpr(np.jit(program))(np.zeros(100, np.int8))
    assert "check" not in str(jaxpr)


# -- an int of Python's on one path, a small integer of NumPy's on another -------------------------


def chosen(x):
    best = 0
    if x[0] > 0:
        best = x[0]
    return best + 100


def chosen_in_a_loop(x):
    best = 5
    for i in range(len(x)):
        if x[i] > 10:
            best = x[i]
        else:
            best = 7
    return best * 50


def before_a_while(x):
    best, i = 100, 0
    while x[i] > 3:
        best = x[i]
        i += 1
    return best * 2


def largest_doubled(x):
    best = 0
    for v in x:
        if v > best:
            best = v
    best += best
    return best


def negative(x):
    best = 3
    if x[0] > 9:
        best = x[0]
    return -best


def power_in_a_helper(x):
    def cube(v):
        return v**3

    return cube(x[0] if x[1] > 0 else 6)


SMALL = [[0] * 10, [50, 20, *[1] * 8], [*[-5] * 9, 0], [3, -3] * 5, [12, 1, 100, *[0] * 7],
         [*[100] * 9, 0]]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8"])
@pytest.mark.parametrize(
    "f",
    [chosen, chosen_in_a_loop, before_a_while, largest_doubled, negative, power_in_a_helper],
    ids=lambda f: f.__name__,
)
def test_a_number_of_two_kinds_is_what_it_is_in_python_or_refused(f: Any, dtype: str) -> None:
    """NumPy's numbers of small dtypes wrap, with a warning, and Python's do not."""
    ours, equal = np.jit(f), 0
    for values in SMALL:
        x = numpy.array(values).astype(dtype)
        with numpy.errstate(all="ignore"):
            want = f(x)
        try:
            got = ours(np.array(x))
        except OverflowError as error:
            assert "on one path and an int of Python's on another" in str(error)
            with numpy.errstate(all="ignore"):
                wide = f(x.astype(object))
            assert not numpy.iinfo(dtype).min <= wide <= numpy.iinfo(dtype).max
            continue
        equal += 1
        assert int(got) == int(want)
    assert equal >= 4 or dtype in ("i1", "u1")


# -- a traced int of Python's beside a small dtype -------------------------------------------------


def peak(x):
    top, at = -1, 0
    for i in range(len(x)):
        if x[i] > top:
            top, at = x[i], i
    return top, at


def counted_or_taken(x):
    taken, n = 0, int(x[0])
    for i in range(20):
        n = n + 3
        if x[i % 5] > 3:
            taken = x[i % 5]
        else:
            taken = n
    return taken, n


def computed_in_each_round(x):
    taken, n, i = x[0], int(x[1]), 0
    while i < 5:
        taken = n * 30
        if x[i] > 50:
            taken = x[i]
        i += 1
    return taken, i


def largest_of_a_table(x):
    table, top = x.reshape(5, 2), 0
    for i in range(12):
        for j in range(12):
            v = max(0, table[i % 5, j % 2] - 1)
            if v > top:
                top = v
    return top, 0


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
@pytest.mark.parametrize(
    "f",
    [peak, counted_or_taken, computed_in_each_round, largest_of_a_table],
    ids=lambda f: f.__name__,
)
def test_a_traced_int_of_python_joins_a_small_dtype_that_holds_it(f: Any, dtype: str) -> None:
    ours = np.jit(f)
    for values in ([0, 5, 2, 1, 9], [100, 2, 3, 4, 1], [1, 60, 3, 3, 3], [7, 4, 60, 2, 8]):
        x = numpy.array(values * 2).astype(dtype)
        with numpy.errstate(all="ignore"):
            want = [int(v) for v in f(x)]
        try:
            got = [int(v) for v in ours(np.array(x))]
        except OverflowError as error:
            assert "an int of Python's is" in str(error)
            assert want[0] > numpy.iinfo(dtype).max
            continue
        assert got == want
    assert "unrolled" not in str(np.explain(ours))


# -- ranges with traced steps ----------------------------------------------------------------------


def summed(x):
    total = 0
    for i in range(x[0], x[1], x[2]):
        total = total * 3 + i
    return total, 0


def summed_backwards(x):
    total = 0
    for k, i in enumerate(reversed(range(x[0], x[1], x[2]))):
        total = total * 3 + i + k
    return total, 0


def left_early(x):
    total = 0
    i = -1
    for i in range(int(x[0]), int(x[1]), int(x[2])):
        if total > 50:
            break
        total = total * 3 + i
    else:
        total = total + 1000
    return total, i


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("f", [summed, summed_backwards, left_early], ids=lambda f: f.__name__)
def test_a_range_may_have_a_traced_step(f: Any, dtype: str) -> None:
    ours = np.jit(f)
    for bounds in ([0, 10, 3], [10, 0, -3], [10, 0, 3], [5, -7, -1], [3, 18, 5], [3, 18, 20]):
        x = numpy.array(bounds, dtype)
        assert [int(v) for v in ours(np.array(x))] == [int(v) for v in f(x)]
    with pytest.raises(ValueError, match="arg 3 must not be zero"):
        ours(np.array([1, 2, 0], dtype))


def test_a_sieve() -> None:
    def sieve(flags):
        for i in range(2, len(flags)):
            if flags[i]:
                for j in range(i * i, len(flags), i):
                    flags[j] = False
        return flags

    for n in (30, 200):
        want = sieve(numpy.arange(n) > 1)
        assert (numpy.asarray(np.jit(sieve)(np.arange(n) > 1)) == want).all()
