"""Calls of kernels against the loop that defines them: specs, grids, dtypes, ways to run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
import lazynp.pallas as pl
from tests.pallas.oracle import by_loop

S = np.ShapeDtype
WAYS = [False, True]


def data(shape: Any, dtype: Any = "f8", seed: int = 0) -> numpy.ndarray:
    values = numpy.random.default_rng(seed).integers(-9, 10, shape)
    if numpy.dtype(dtype).kind == "u":
        values = numpy.abs(values)
    return values.astype(dtype)


def check(kernel: Any, outs: Any, args: Any, interpret: Any = False, **options: Any) -> None:
    """The call, run in this way, against the loop in NumPy."""
    got = pl.pallas_call(kernel, outs, interpret=interpret, **options)(*map(np.asarray, args))
    for x, want in zip(got, by_loop(kernel, outs, args, **options), strict=True):
        assert x.shape == want.shape and x.dtype == want.dtype
        numpy.testing.assert_allclose(
            numpy.asarray(x), want, rtol=1e-5 if want.dtype.itemsize < 8 else 1e-12
        )


def double(x: Any, o: Any) -> None:
    o[...] = x[...] + x[...]


def total(x: Any, o: Any) -> None:
    o[...] = x[...].sum()


B, E = pl.BlockSpec, pl.Element
CASES = {
    "one program": (double, [((3, 4), None)], [((3, 4), None)], ()),
    "no axes": (double, [((), None)], [((), None)], ()),
    "0-d over a grid": (double, [((), B((), lambda i: ()))], [((), None)], (3,)),
    "blocks": (double, [((8,), B((2,), lambda i: i))], [((8,), B((2,), lambda i: i))], (4,)),
    "a tuple of one": (double, [((8,), B((2,), lambda i: (i,)))], [((8,), B((2,), lambda i: i))],
                       (4,)),
    "reversed blocks": (double, [((8,), B((2,), lambda i: 3 - i))], [((8,), B((2,), lambda i: i))],
                        (4,)),
    "outputs in another order": (double, [((8,), B((2,), lambda i: i))],
                                 [((8,), B((2,), lambda i: (i * 3 + 1) % 4))], (4,)),
    "some blocks unwritten": (double, [((8,), B((2,), lambda i: i))],
                              [((8,), B((2,), lambda i: 2 * i))], (2,)),
    "the last visit wins": (double, [((8,), B((2,), lambda i: i))],
                            [((4,), B((2,), lambda i: i // 2))], (4,)),
    "tails": (double, [((7,), B((3,), lambda i: i))], [((7,), B((3,), lambda i: i))], (3,)),
    "tails of sums": (total, [((7,), B((3,), lambda i: i))], [((3,), B((1,), lambda i: i))], (3,)),
    "no map": (double, [((8,), B((2,)))], [((8,), B((2,), lambda i: i))], (4,)),
    "squeezed": (double, [((4, 3), B((None, 3), lambda i: (i, 0)))],
                 [((4, 3), B((pl.Squeezed(), 3), lambda i: (i, 0)))], (4,)),
    "all squeezed": (double, [((4, 3), B((None, None), lambda i, j: (i, j)))],
                     [((3, 4), B((None, None), lambda i, j: (j, i)))], (4, 3)),
    "blocked by name": (double, [((8,), B((pl.Blocked(4),), lambda i: i))],
                        [((8,), B((4,), lambda i: i))], (2,)),
    "windows": (total, [((10,), B((E(4),), lambda i: i * 2))], [((4,), B((1,), lambda i: i))],
                (4,)),
    "windows that stand out": (total, [((10,), B((E(4),), lambda i: i * 3 - 2))],
                               [((4,), B((1,), lambda i: i))], (4,)),
    "windows with padding": (double, [((10,), B((E(4, (1, 2)),), lambda i: i * 3))],
                             [((16,), B((4,), lambda i: i))], (4,)),
    "written windows": (double, [((8,), B((2,), lambda i: i))],
                        [((9,), B((E(2, (1, 0)),), lambda i: 2 * i))], (4,)),
    "overlapping outputs": (double, [((8,), B((2,), lambda i: i))],
                            [((9,), B((E(2),), lambda i: i))], (4,)),
    "two axes": (double, [((4, 6), B((2, 2), lambda i, j: (i, j)))],
                 [((4, 6), B((2, 2), lambda i, j: (i, j)))], (2, 3)),
    "transposed blocks": (double, [((4, 6), B((2, 2), lambda i, j: (i, j)))],
                          [((4, 6), B((2, 2), lambda j, i: (j, i)))], (2, 3)),
    "an axis of one output": (double, [((4, 6), B((2, 2), lambda i, j: (i, j)))],
                              [((4, 2), B((2, 2), lambda i, j: (i, 0)))], (2, 3)),
    "three axes": (double, [((4, 6, 2), B((2, 3, 1), lambda k, i, j: (i, j, k)))],
                   [((4, 6, 2), B((2, 3, 1), lambda k, i, j: (i, j, k)))], (2, 2, 2)),
    "sums of ids": (double, [((12,), B((2,), lambda i, j: i + j))],
                    [((4, 6), B((None, 2), lambda i, j: (i, j)))], (4, 3)),
    "an empty grid": (double, [((8,), B((2,), lambda i: i))], [((8,), B((2,), lambda i: i))], (0,)),
    "an empty array": (double, [((0, 3), None)], [((0, 3), None)], (2,)),
}  # fmt: skip


@pytest.mark.parametrize("interpret", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_specs(name: str, interpret: Any) -> None:
    kernel, ins, outs, grid = CASES[name]
    check(
        kernel, [S(shape, "f8") for shape, _ in outs], [data(shape) for shape, _ in ins],
        interpret, grid=grid, in_specs=[s for _, s in ins], out_specs=[s for _, s in outs],
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("interpret", WAYS)
def test_dtypes_and_their_blanks(dtype: str, interpret: Any) -> None:
    """Blocks that stand out of arrays, and results that are not written at all."""
    check(
        lambda x, o, p, q: o.__setitem__(..., x[::-1]), [S((7,), dtype)] * 2 + [S((2, 2), dtype)],
        [data(7, dtype)], interpret, grid=(3,), in_specs=[B((3,), lambda i: i)],
        out_specs=[B((3,), lambda i: i), None, None],
    )  # fmt: skip


@pytest.mark.parametrize("interpret", WAYS)
def test_programs_accumulate_in_blocks_that_they_visit_again(interpret: Any) -> None:
    def product(x: Any, y: Any, o: Any) -> None:
        first = pl.program_id(2) == 0
        o[...] = numpy.where(first, 0, o[...]) + x[...] @ y[...]

    check(
        product, [S((5, 6), "f8")], [data((5, 8)), data((8, 6), seed=1)], interpret,
        grid=(3, 2, 4),
        in_specs=[B((2, 2), lambda i, j, k: (i, k)), B((2, 3), lambda i, j, k: (k, j))],
        out_specs=[B((2, 3), lambda i, j, k: (i, j))],
    )  # fmt: skip


@pytest.mark.parametrize("interpret", WAYS)
def test_scratch_keeps_what_the_program_before_left(interpret: Any) -> None:
    def running(x: Any, o: Any, s: Any, n: Any) -> None:
        s[...] = numpy.where(numpy.isnan(s[...]), 0.0, s[...]) + x[...]
        n[0] = n[0] + 1
        o[...] = s[...] + n[0]

    check(
        running, [S((8,), "f8")], [data(8)], interpret, grid=(4,),
        in_specs=[B((2,), lambda i: i)], out_specs=[B((2,), lambda i: i)],
        scratch_shapes=[pl.VMEM((2,), "f8"), pl.SMEM((1,), "i4")],
    )  # fmt: skip


@pytest.mark.parametrize("interpret", WAYS)
def test_an_aliased_output_begins_as_its_input(interpret: Any) -> None:
    def some(x: Any, o: Any) -> None:
        o[0] = o[1] * 10

    x = data(9)
    given = np.asarray(x.copy())
    options: Any = {"grid": (2,), "in_specs": [B((4,), lambda i: i)],
                    "out_specs": [B((4,), lambda i: i)]}  # fmt: skip
    call = pl.pallas_call(
        some, [S((9,), "f8")], input_output_aliases={0: 0}, interpret=interpret, **options
    )
    (want,) = by_loop(some, [S((9,), "f8")], [x], input_output_aliases={0: 0}, **options)
    numpy.testing.assert_array_equal(numpy.asarray(call(given)[0]), want)
    numpy.testing.assert_array_equal(numpy.asarray(given), x)


def test_trees_of_arguments_and_results() -> None:
    def kernel(p: Any, x: Any, out: Any) -> None:
        out["sum"][...] = p["w"][0][...] * x[...] + p["b"][...]
        out["two"][1][...] = out["two"][0].shape[0]
        out["two"][0][...] = -x[...]

    shape = S((4,), "f8")
    call = pl.pallas_call(
        kernel, {"sum": shape, "two": (shape, S((), "i4"))}, grid=2,
        in_specs=[B((2,), lambda i: i), B((2,), lambda i: i)],
        out_specs={"sum": B((2,), lambda i: i), "two": (B((2,), lambda i: i), None)},
    )  # fmt: skip
    x = numpy.arange(4.0)
    got = call({"w": (np.ones(4) * 3,), "b": x}, x)
    assert got["sum"].tolist() == (3 * x + x).tolist()
    assert got["two"][0].tolist() == (-x).tolist()
    assert got["two"][1].tolist() == 2 and got["two"][1].dtype == numpy.int32


def test_numbers_are_arguments_too() -> None:
    call = pl.pallas_call(lambda x, y, o: o.__setitem__((), x[()] + y[()]), S((), "f4"))
    assert call(1.5, numpy.float64(2)).tolist() == 3.5


def test_grid_spec_and_hints_change_no_result() -> None:
    spec = pl.GridSpec((2,), [B((2,), lambda i: i)], B((2,), lambda i: i), [pl.VMEM((1,), "f4")])
    call = pl.pallas_call(
        lambda x, o, s: double(x, o), S((4,), "f8"), grid_spec=spec, name="twice",
        compiler_params=pl.CompilerParams(num_warps=8, dimension_semantics=("parallel",)),
        cost_estimate=pl.CostEstimate(1, 2, 3),
    )  # fmt: skip
    assert call(np.arange(4.0)).tolist() == [0, 2, 4, 6]
    assert call.__name__ == "twice"
    assert "name=twice" in str(np.make_jaxpr(call)(np.arange(4.0)))


def test_reversed_runs_the_last_program_first() -> None:
    def last(o: Any) -> None:
        o[...] = pl.program_id(0)

    assert pl.pallas_call(last, S((), "i8"), grid=5)().tolist() == 4
    assert pl.pallas_call(last, S((), "i8"), grid=5, interpret="reversed")().tolist() == 0


def test_debug_prints_the_jaxpr_when_it_is_traced(capsys: Any) -> None:
    call = pl.pallas_call(double, S((4,), "f8"), debug=True)
    call(np.arange(4.0)).tolist()
    assert "add" in capsys.readouterr().out
    call(np.ones(4)).tolist()
    assert capsys.readouterr().out == ""


def test_python_runs_kernels_under_disable_jit() -> None:
    seen = []

    def kernel(x: Any, o: Any, s: Any) -> None:
        i = pl.program_id(0)
        seen.append((i, float(x[0])))
        s[...] = x[...] if i == 0 else s[...] + x[...]
        o[...] = s[...]

    call = pl.pallas_call(
        kernel, S((5,), "f8"), grid=3, in_specs=[B((2,), lambda i: i)],
        out_specs=B((2,), lambda i: i), scratch_shapes=[pl.VMEM((2,), "f8")],
    )  # fmt: skip
    with np.disable_jit():
        got = call(np.arange(5.0))
    assert seen == [(0, 0.0), (1, 2.0), (2, 4.0)]
    assert got.tolist() == [0, 1, 2, 4, 6]


def test_closures_are_operands_read_at_each_call() -> None:
    weights, scale = np.arange(4.0), 3
    call = pl.pallas_call(
        lambda x, o: o.__setitem__(..., x[...] * weights[:2] * scale), S((4,), "f8"), grid=2,
        in_specs=[B((2,), lambda i: i)], out_specs=B((2,), lambda i: i),
    )  # fmt: skip
    x = np.ones(4)
    assert call(x).tolist() == [0, 3, 0, 3]
    weights[1] = 5
    assert call(x).tolist() == [0, 15, 0, 15]


def test_an_index_map_may_read_an_array_if_blocks_are_in_bounds() -> None:
    order = np.asarray([2, 0, 1])
    call = pl.pallas_call(
        double, S((6,), "f8"), grid=3, in_specs=[B((2,), lambda i: order[i])],
        out_specs=B((2,), lambda i: i),
    )  # fmt: skip
    x = np.arange(6.0)
    assert call(x).tolist() == [8, 10, 0, 2, 4, 6]
    order[0] = 3
    with pytest.raises(IndexError, match="a block is out of bounds"):
        call(x).tolist()


# -- random calls ----------------------------------------------------------------------------------


@st.composite
def calls(draw: Any) -> Any:
    """A grid, and for each operand a shape, a block and a map of sums of ids."""
    grid = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    operands = []
    for _ in range(draw(st.integers(1, 2)) + 1):
        ndim = draw(st.integers(1, 2))
        block, shape, maps = [], [], []
        for _ in range(ndim):
            size = draw(st.integers(1, 3))
            kind = draw(st.sampled_from(["block", "block", "squeezed", "element"]))
            factors = [draw(st.sampled_from([0, 0, 1, 1, 2])) for _ in grid]
            most = sum(f * (n - 1) for f, n in zip(factors, grid))
            step = 1 if kind == "element" else (1 if kind == "squeezed" else size)
            length = most * step + size + draw(st.integers(0, 2))
            length -= draw(st.integers(0, size - 1)) if kind == "block" else 0
            block.append({"block": size, "squeezed": None, "element": E(size)}[kind])
            shape.append(max(1, length))
            maps.append(tuple(factors))
        operands.append((tuple(shape), B(tuple(block), partial(_mapped, tuple(maps)))))
    return grid, operands, draw(st.sampled_from(["f8", "f4", "i4", "i8"]))


def _mapped(maps: Any, *ids: Any) -> Any:
    return tuple(sum((f * i for f, i in zip(factors, ids)), 0) for factors in maps)


def mixed(*refs: Any) -> None:
    """All inputs, the ids and what was in the output, of which blanks count as 1."""
    *ins, o = refs
    value = sum(numpy.where(_blank(r), 2, r[...]).sum() for r in ins) + pl.program_id(0)
    o[...] = numpy.where(_blank(o), 1, o[...]) * 2 + value


def _blank(ref: Any) -> Any:
    value = ref[...]
    return numpy.isnan(value) if ref.dtype.kind == "f" else value == numpy.iinfo(ref.dtype).min


@settings(max_examples=40, deadline=None)
@given(calls(), st.sampled_from([False, True]))
def test_random_calls(call: Any, interpret: Any) -> None:
    grid, operands, dtype = call
    shapes, specs = zip(*operands)
    with numpy.errstate(all="ignore"):
        check(
            mixed, [S(shapes[-1], dtype)], [data(s, dtype) for s in shapes[:-1]], interpret,
            grid=grid, in_specs=list(specs[:-1]), out_specs=[specs[-1]],
            input_output_aliases=None,
        )  # fmt: skip


def test_the_jaxpr_shows_the_kernel_with_its_refs(capsys: Any) -> None:
    def kernel(x: Any, o: Any) -> None:
        o[...] = x[...] * 2
        o[0] = 7

    spec = B((2,), lambda i: i)
    call = pl.pallas_call(
        kernel, S((8,), "f8"), grid=(4,), in_specs=[spec], out_specs=spec, name="double",
        debug=True,
    )  # fmt: skip
    text = str(np.make_jaxpr(call)(np.arange(8.0)))
    assert (
        "pallas_call[name=double grid=(4,) kernel={ lambda a:i64[] b:Ref{f64[2]} c:Ref{f64[2]}"
        in text
    )
    shown = [line.split(" = ")[1] for line in capsys.readouterr().out.splitlines() if " = " in line]
    assert [line.split()[0].split("[")[0] for line in shown] == [
        "get", "broadcast_in_dim", "multiply", "swap", "swap"
    ]  # fmt: skip
    assert shown[0] == "get b" and shown[3] == "swap c f" and "Ref{f64[2]} = get" not in text
    mapped = np.make_jaxpr(np.vmap(call))(np.ones((3, 8)))
    assert "name=double grid=(3, 4) kernel={ lambda a:i64[] b:Ref{f64[2]}" in str(mapped)


def test_what_is_written_as_a_whole_or_read_late_is_shown_too(capsys: Any) -> None:
    """Branches take values: a Ref is read before one, and written after it."""

    def kernel(x: Any, o: Any, s: Any) -> None:
        pl.when(pl.program_id(0) == 0)(lambda: o.__setitem__(..., x[...]))
        s[...] = np.sin(o[...])

    pl.pallas_call(
        kernel, S((4,), "f8"), grid=2, scratch_shapes=[pl.VMEM((4,), "f8")], debug=True
    )(np.ones(4)).tolist()  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    names = [line.split(" = ")[1].split()[0].split("[")[0] for line in lines if " = " in line]
    assert names.count("swap") == 2 and names.index("get") < names.index("cond")
