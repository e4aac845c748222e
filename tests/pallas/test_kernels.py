"""What kernels call: masked loads and stores, atomics, branches, loops, scratch, ids."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl

S = np.ShapeDtype
X = numpy.arange(24.0).reshape(4, 6)


def run(kernel: Any, out: Any, *args: Any, **options: Any) -> Any:
    return pl.pallas_call(kernel, out, **options)(*map(np.asarray, args))


MASKED: dict[str, Any] = {  # index; the elements that it names, with a margin of 9 around X
    "whole": (lambda i: ..., (slice(0, 4), slice(0, 6))),
    "row": (lambda i: 2, (2, slice(0, 6))),
    "slices": (lambda i: (slice(1, 3), slice(None, None, 2)), (slice(1, 3), slice(0, 6, 2))),
    "start": (lambda i: (i + 1, pl.ds(i, 3)), (1, slice(0, 3))),
    "start beyond the end": (lambda i: (slice(None), pl.ds(i + 4, 5)), (slice(0, 4), slice(4, 9))),
    "start before the beginning": (lambda i: pl.ds(i - 2, 4), (slice(-2, 2), slice(0, 6))),
    "stride beyond": (lambda i: (0, pl.ds(1, 4, 3)), (0, slice(1, 11, 3))),
    "array": (lambda i: (i + np.arange(6), 1), (slice(0, 6), 1)),
    "arrays": (
        lambda i: (np.arange(5)[:, None], i + np.arange(3, 8)),
        (slice(0, 5), slice(3, 8)),
    ),
    "array behind a start": (
        lambda i: (pl.ds(i + 2, 3), np.arange(7) + i),
        (slice(2, 5), slice(0, 7)),
    ),
    "new axis": (lambda i: (None, i, pl.ds(i + 3, 4)), (None, 0, slice(3, 7))),
}


def _margined() -> numpy.ndarray:
    around = numpy.full((22, 24), numpy.nan)
    around[9:13, 9:15] = X
    return around


def _moved(index: Any) -> Any:
    return tuple(
        i if i is None else i + 9 if isinstance(i, int) else slice(i.start + 9, i.stop + 9, i.step)
        for i in index
    )


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", MASKED)
def test_masked_loads_and_stores(name: str, traced: bool) -> None:
    make, where = MASKED[name]
    around = _margined()
    part = around[_moved(where)]
    keep = ~numpy.isnan(part) & (part % 5 != 0)

    def kernel(x: Any, o: Any, p: Any, q: Any) -> None:
        i = pl.program_id(0) if traced else 0
        q[...] = pl.load(x, make(i), mask=keep)
        p[...] = pl.load(x, make(i), mask=keep, other=-1)
        pl.store(o, make(i), p[...] * 10, mask=keep)

    outs = [S(X.shape, "f8"), S(part.shape, "f8"), S(part.shape, "f8")]
    o, p, q = run(kernel, outs, X, grid=1, input_output_aliases={0: 0})
    numpy.testing.assert_array_equal(p, numpy.where(keep, part, -1))
    numpy.testing.assert_array_equal(q, numpy.where(keep, part, numpy.nan))
    around[_moved(where)] = numpy.where(keep, part * 10, part)
    numpy.testing.assert_array_equal(o, around[9:13, 9:15])


def test_masked_lanes_out_of_bounds_that_are_not_masked_out() -> None:
    def loads(x: Any, o: Any) -> None:
        at = pl.program_id(0) * 4 + np.arange(4)
        o[...] = pl.load(x, (at,), mask=at < 7)

    def stores(x: Any, o: Any) -> None:
        at = pl.program_id(0) * 4 + np.arange(4)
        pl.store(o, (at,), x[0], mask=at < 7)

    for kernel in (loads, stores):
        with pytest.raises(IndexError, match="6 is out of bounds for axis 0 with size 6"):
            run(kernel, S((6,), "f8"), X[0], grid=2,
                out_specs=pl.BlockSpec((4,), lambda i: i) if kernel is loads else None)  # fmt: skip


def test_integers_masked_out_are_the_least() -> None:
    def kernel(x: Any, o: Any) -> None:
        o[...] = pl.load(x, ..., mask=x[...] > 1)

    least = numpy.iinfo("i2").min
    assert run(kernel, S((3,), "i2"), numpy.arange(3, dtype="i2")).tolist() == [least, least, 2]


def test_swap_gives_what_was_there() -> None:
    def kernel(x: Any, o: Any, p: Any) -> None:
        o[...] = 1
        p[0] = pl.swap(o, (), x[...])[2]
        p[1] = pl.swap(o, 3, 7)
        p[2:] = pl.swap(o, pl.ds(2, 2), 9, mask=np.asarray([True, False]))

    o, p = run(kernel, [S((6,), "f8"), S((4,), "f8")], X[1])
    assert o.tolist() == [6, 7, 9, 7, 10, 11]
    assert p.tolist()[:3] == [1, 9, 8] and numpy.isnan(p.tolist()[3])


ATOMICS = {
    "add": numpy.add, "max": numpy.maximum, "min": numpy.minimum, "and": numpy.bitwise_and,
    "or": numpy.bitwise_or, "xor": numpy.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f4"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name: str, dtype: str) -> None:
    """Each, for a slice, for an element, and for an array that names elements several times."""
    atomic, ufunc = getattr(pl, f"atomic_{name}"), ATOMICS[name]
    at, mask = numpy.array([0, 1, 1, 3, 3, 9]), numpy.array([1, 1, 1, 1, 0, 0], bool)
    x = numpy.array([6, 3, 5, 12, 10, 9]).astype(dtype)
    value = numpy.array([5, 6, 3, 7, 1, 1]).astype(dtype)
    if dtype == "f4" and name in ("and", "or", "xor"):
        with pytest.raises(TypeError, match="integers or bools"):
            run(lambda x, o: atomic(o, 0, 1), S((6,), dtype), x)
        return

    def kernel(x: Any, v: Any, o: Any, old: Any) -> None:
        old[...] = atomic(o, ..., v[...])
        atomic(o, 2, v[0])
        old[0] = atomic(o, (at,), v[...], mask=mask)[1]

    want = ufunc(x, value)
    want[2] = ufunc(want[2], value[0])
    before = want[1]
    ufunc.at(want, at[mask], value[mask])
    o, old = run(kernel, [S((6,), dtype)] * 2, x, value, input_output_aliases={0: 0})
    numpy.testing.assert_array_equal(o, want)
    numpy.testing.assert_array_equal(old, [before, *x[1:]])


def test_exchange_and_compare() -> None:
    def kernel(o: Any, p: Any) -> None:
        o[...] = np.arange(4)
        p[0] = pl.atomic_xchg(o, 1, 9)
        p[1] = pl.atomic_cas(o.at[2], 2, 7)
        p[2] = pl.atomic_cas(o.at[3], 2, 7)

    o, p = run(kernel, [S((4,), "i4"), S((3,), "i4")])
    assert (o.tolist(), p.tolist()) == ([0, 9, 7, 3], [1, 2, 3])


@pytest.mark.parametrize("interpret", [False, True])
def test_a_histogram(interpret: bool) -> None:
    values = numpy.random.default_rng(3).integers(0, 7, 30)

    def kernel(x: Any, o: Any) -> None:
        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            o[...] = 0

        pl.atomic_add(o, (x[...],), 1)

    spec = pl.BlockSpec((6,), lambda i: i)
    got = run(kernel, S((7,), "i8"), values, grid=5, in_specs=[spec], interpret=interpret)
    assert got.tolist() == numpy.bincount(values, minlength=7).tolist()


def test_reads_and_writes_keep_their_order_in_branches_and_loops() -> None:
    def kernel(x: Any, o: Any, p: Any) -> None:
        o[...] = x[...]

        @pl.when(x[0] < 1)
        def _() -> None:
            p[0] = o[1]
            o[1] = 50

        np.cond(o[1] > 10, lambda: o.__setitem__(2, o[1] + 1), lambda: o.__setitem__(2, 0))
        np.switch(1, [lambda: None, lambda: o.__setitem__(3, o[2] * 2)])

        @pl.loop(0, 3)
        def _(i: Any) -> None:
            o[i + 1] += o[i]

        def step(c: Any, y: Any) -> Any:
            o[4] += y
            return c + o[4], o[0]

        p[1], _ = np.scan(step, 0.0, np.arange(3.0))
        p[2] = np.while_loop(
            lambda c: o[5] < 9, lambda c: (o.__setitem__(5, o[5] + 1), c + 1)[1], 0
        )

        @np.jit
        def inner(v: Any) -> Any:
            o[0] += v
            return o[0] * 2

        p[3] = inner(1.0)
        p[4] = np.grad(lambda v: v * v * o[0])(3.0)

    x, o, p = X[0], X[0].copy(), [0.0] * 5
    p[0], o[1] = o[1], 50
    o[2] = o[1] + 1
    o[3] = o[2] * 2
    for i in range(3):
        o[i + 1] += o[i]
    for y in range(3):
        o[4] += y
        p[1] += o[4]
    p[2], o[5] = 9 - o[5], 9
    o[0] += 1
    p[3], p[4] = o[0] * 2, 6 * o[0]
    got = run(kernel, [S((6,), "f8"), S((5,), "f8")], x)
    assert got[0].tolist() == o.tolist()
    assert got[1].tolist() == p


def test_when_of_a_python_bool_decides_at_once() -> None:
    seen = []

    def kernel(o: Any) -> None:
        pl.when(True)(lambda: seen.append(1))
        pl.when(False)(lambda: seen.append(2))
        pl.when(numpy.bool_(True))(lambda: o.__setitem__(..., 3))

    assert run(kernel, S((), "i4")).tolist() == 3
    assert seen == [1]


@pytest.mark.parametrize(
    ("bounds", "options"),
    [((0, 5), {}), ((2, 9), {"step": 3}), ((5, 0), {"step": -2}), ((3, 3), {}),
     ((0, 4), {"unroll": 2}), ((0, 4), {"unroll": True}), ((0, 4), {"unroll": False})],
)  # fmt: skip
@pytest.mark.parametrize("traced", [False, True])
def test_loops(bounds: Any, options: Any, traced: bool) -> None:
    if traced and "unroll" in options:
        pytest.skip("unroll requires ints")
    lower, upper = bounds
    numbers = list(range(lower, upper, options.get("step", 1)))

    def kernel(b: Any, o: Any, p: Any) -> None:
        lower, upper = (b[0], b[1]) if traced else bounds
        o[...] = 0

        @pl.loop(lower, upper, **options)
        def _(i: Any) -> None:
            o[i] += i + 1

        @pl.loop(lower, upper, init_carry=(0, 1.0), **options)
        def last(i: Any, carry: Any) -> Any:
            return carry[0] + i, carry[1] * 2

        p[0], p[1] = last

    o, p = run(kernel, [S((10,), "i8"), S((2,), "f8")], numpy.array(bounds))
    assert o.tolist() == [i + 1 if i in numbers else 0 for i in range(10)]
    assert p.tolist() == [sum(numbers), 2.0 ** len(numbers)]


def test_scoped_scratch_is_blank_each_time_and_ends() -> None:
    kept = []

    def kernel(o: Any) -> None:
        def body(a: Any, n: Any) -> Any:
            kept.append(a)
            blank = np.isnan(a[0])
            n[...] = pl.program_id(0)
            a[...] = 1
            return blank + n[...] * 10

        o[...] = pl.run_scoped(body, pl.VMEM((2,), "f4"), pl.SMEM((), "i4"))

    got = run(kernel, S((3,), "i4"), grid=3, out_specs=pl.BlockSpec((1,), lambda i: i))
    assert got.tolist() == [1, 11, 21]
    with pytest.raises(TypeError, match="after its kernel"):
        kept[0][...]


def test_ids_are_as_weak_as_numbers() -> None:
    def kernel(x: Any, o: Any) -> None:
        assert (pl.program_id(0) * x[...]).dtype == numpy.float32
        assert (pl.num_programs(1) * x[...]).dtype == numpy.float32
        assert pl.num_programs(0) == 2 and pl.num_programs(1) == 3
        o[...] = pl.program_id(0) * 10 + pl.program_id(1) + x[0]

    got = run(
        kernel, S((2, 3), "f4"), numpy.ones(1, "f4"), grid=(2, 3),
        out_specs=pl.BlockSpec((None, 1), lambda i, j: (i, j)),
    )  # fmt: skip
    assert got.tolist() == [[1, 2, 3], [11, 12, 13]]


def test_ids_of_a_call_within_a_kernel_are_its_own() -> None:
    inner = pl.pallas_call(lambda o: o.__setitem__(..., pl.program_id(0)), S((), "i8"), grid=7)

    def kernel(o: Any) -> None:
        o[...] = inner() * 10 + pl.program_id(0)

    assert run(kernel, S((), "i8"), grid=3).tolist() == 62


def test_ids_belong_to_the_thread() -> None:
    found = []

    def asks() -> None:
        try:
            pl.program_id(0)
        except RuntimeError as error:
            found.append(str(error))

    def kernel(o: Any) -> None:
        other = threading.Thread(target=asks)
        other.start()
        other.join()
        o[...] = 0

    run(kernel, S((), "i8"), grid=3)
    assert found == ["program_id is called outside of a kernel"]


def test_debug_print_runs_program_after_program(capsys: Any) -> None:
    def kernel(x: Any, o: Any) -> None:
        pl.debug_print("{} {}", pl.program_id(0), x[0])
        o[...] = x[...]

    spec = pl.BlockSpec((2,), lambda i: i)
    run(kernel, S((6,), "f8"), X[0], grid=3, in_specs=[spec], out_specs=spec).tolist()
    assert capsys.readouterr().out == "0 0.0\n1 2.0\n2 4.0\n"


def test_helpers() -> None:
    assert [pl.cdiv(7, 3), pl.cdiv(6, 3), pl.cdiv(0, 3)] == [3, 2, 0]
    assert [pl.next_power_of_2(n) for n in (0, 1, 2, 3, 8, 9)] == [1, 1, 2, 4, 8, 16]
