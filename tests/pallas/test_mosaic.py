"""Kernels as Mosaic modules: MLIR verifies them, and an interpreter of the tests' runs them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl
from benchmarks.kernels import add, attention, layer_norm, matmul, rows, softmax
from lazynp.lowering._mlir import _context
from lazynp.primitives import elementwise
from tests.lowering.test_cuda import PAGE
from tests.pallas.mosaic import run
from tests.pallas.programs import fused

# what is lowered depends on no policy
pytestmark = pytest.mark.own_policy

S, B = np.ShapeDtype, pl.BlockSpec
RNG = numpy.random.default_rng(0)


def data(*shape: int, dtype: str = "f4") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def check(f: Callable[..., Any], *args: Any, rtol: float = 2e-5) -> Any:
    """Whether what is lowered gives what the function gives. Returns the kernel."""
    lowered = pl.lower(f, *args, platform="tpu")
    (kernel,) = lowered.kernels
    results = f(*map(np.array, args))
    results = results if isinstance(results, (list, tuple)) else [results]
    for got, want in zip(run(lowered, [*map(numpy.asarray, args)]), results, strict=False):
        want = numpy.asarray(want)
        got = got.view(want.dtype) if want.dtype.kind == "u" else got
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)
    return kernel


# -- the kernels of the tutorial and of the benchmark ----------------------------------------------


def small_attention() -> Any:
    return attention(heads=2, length=16, size=128, block=8)


ROWS = {"count": 16, "size": 128, "block": 8, "name": "rows"}
SIZES = (32, 256, 256, 16, 128, 128)
FACTORS = (data(32, 256), data(256, 256), data(256))
HEADS = (data(2, 16, 128), data(2, 16, 128), data(2, 16, 128))
KERNELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "add": (add(256, 128), (data(256), data(256))),
    "add, a block stands out": (add(200, 128), (data(200), data(200))),
    "matmul, a grid axis": (matmul(256, 128), (data(256, 256), data(256, 256))),
    "matmul, Python loop": (fused(*SIZES, staged=False), FACTORS),
    "matmul, fori_loop": (fused(*SIZES, staged=True), FACTORS),
    "softmax": (rows(softmax, **ROWS), (data(16, 128),)),
    "layer norm": (rows(layer_norm, **ROWS), (data(16, 128),)),
    "attention": (small_attention(), HEADS),
    "vmap of add": (np.vmap(add(200, 128), in_axes=(0, None)), (data(3, 200), data(200))),
    "vmap of vmap": (
        np.vmap(np.vmap(add(256, 128), in_axes=(None, 0)), in_axes=(0, None)),
        (data(2, 256), data(3, 256)),
    ),
    "vmap of attention": (
        np.vmap(small_attention(), in_axes=(0, None, 0)), (data(2, *HEADS[0].shape), *HEADS[1:2],
        data(2, *HEADS[0].shape)),
    ),
    "jit": (np.jit(lambda x: rows(softmax, **ROWS)(x)), (data(16, 128),)),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    f, args = KERNELS[name]
    check(f, *args)


def test_what_the_module_says() -> None:
    kernel = check(*KERNELS["matmul, a grid axis"][:1], *KERNELS["matmul, a grid axis"][1])
    text = kernel.text
    assert kernel.name == "matmul_kernel" and kernel.grid == (2, 2, 2)
    memref = "memref<128x128xf32, #tpu.memory_space<vmem>>"
    args = "%arg0: i32, %arg1: i32, %arg2: i32, " + ", ".join(
        f"%arg{k}: {memref}" for k in (3, 4, 5)
    )
    assert f"func.func @matmul_kernel({args}) attributes" in text
    assert "iteration_bounds = array<i64: 2, 2, 2>" in text
    kind = "#tpu.dimension_semantics<arbitrary>"
    assert f"dimension_semantics = [{kind}, {kind}, {kind}]" in text
    for k, places in enumerate(("0, 2", "2, 1", "0, 1")):
        assert f"transform_indices = @transform_{k}, window_bounds = array<i64: 128, 128>" in text
        i, j = places.split(", ")
        assert re.search(rf"@transform_{k}\(.*\n    return %arg{i}, %arg{j} : i32, i32", text)
    for op, count in {"tpu.matmul": 1, "contract_precision<fp32>,": 1, "vector.load": 3,
                      "tpu.vector_store": 1, "scf.if": 2, "math.tanh": 1}.items():  # fmt: skip
        assert text.count(f"{op} ") == count, op


def test_the_call_around_it() -> None:
    f = add(256, 128, name="two sums")
    lowered = pl.lower(lambda x, y: f(f(x, y), y), *KERNELS["add"][1], platform="tpu")
    (kernel,) = lowered.kernels
    assert kernel.name == "two_sums" and kernel.grid == (2,)
    text = lowered.as_text()
    assert text.count('call_target_name = "tpu_custom_call"') == 2
    config = json.loads(re.search(r'backend_config = "(.*?)", call', text)[1].replace("\\22", '"'))
    body = base64.b64decode(config["custom_call_config"]["body"])
    ir, context = _context(True)
    module = str(ir.Module.parse(body, context))  # Mosaic's form, which later releases read too
    assert "stable_mosaic.version" in module and "stable_mosaic.vector.load" in module
    assert (
        text == pl.lower(lambda x, y: f(f(x, y), y), *KERNELS["add"][1], platform="tpu").as_text()
    )


# -- one thing at a time ---------------------------------------------------------------------------


def one(kernel: Any, *args: Any, out: Any = None, grid: Any = (), **options: Any) -> Any:
    like = args[0]
    out = out or S(like.shape, like.dtype)
    return check(pl.pallas_call(kernel, out, grid=grid, **options), *args)


def test_indices() -> None:
    def kernel(x: Any, a: Any, b: Any, c: Any, d: Any) -> None:
        a[...] = x[1:5, ::2]
        b[...] = x[-1, None]
        c[...] = np.full((8, 128), x[2, 5], "f4")
        d[...] = x[...][2:6].T @ x[4:]

    outs = [S((4, 64), "f4"), S((1, 128), "f4"), S((8, 128), "f4"), S((128, 128), "f4")]
    check(pl.pallas_call(kernel, outs), data(8, 128))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u4", "f4"])
def test_dtypes(dtype: str) -> None:
    def kernel(x: Any, o: Any, p: Any, q: Any) -> None:
        v = x[...]
        o[...] = v
        p[...] = v.max(axis=0, keepdims=True)
        q[...] = np.where(v > 1, v, v + v)

    outs = [S((32, 128), dtype), S((1, 128), dtype), S((32, 128), dtype)]
    check(pl.pallas_call(kernel, outs), numpy.abs(data(32, 128) * 10).astype("i4").astype(dtype))


def test_numbers_as_arguments() -> None:
    def kernel(x: Any, a: Any, o: Any, p: Any) -> None:
        o[...] = x[...] * a[...]
        p[...] = x[...].sum() + (x[...] > a[...]).all() + (x[...] > a[...]).any()

    check(pl.pallas_call(kernel, [S((8, 128), "f4"), S((), "f4")]), data(8, 128), numpy.float32(2))


def test_blocks_of_every_kind() -> None:
    def kernel(x: Any, o: Any) -> None:
        o[...] = x[...] * 2

    x = data(3, 40, 256)
    one(kernel, x, grid=(3, 5),
        in_specs=[B((pl.Squeezed(), 8, pl.Blocked(256)), lambda i, j: (i, j, 0))],
        out_specs=B((None, 8, 256), lambda i, j: (i, j, 0)))  # fmt: skip
    one(kernel, x, grid=(2, 3, 2, 1), in_specs=[B((1, 24, 128), lambda a, i, j, b: (i, j, a))],
        out_specs=B((1, 24, 128), lambda a, i, j, b: (i, j, a)))  # fmt: skip


def test_windows_that_overlap() -> None:
    def kernel(x: Any, o: Any) -> None:
        v = x[...]
        o[...] = v[:8] + np.where(np.isnan(v[8:]), 5, v[8:])

    # from its second element on, and with two rows before the array
    spec = B((pl.Element(16, (2, 0)), pl.Element(128)), lambda i: (i * 8, 128))
    kernel = one(
        kernel, data(32, 256), out=S((24, 128), "f4"), grid=3, in_specs=[spec],
        out_specs=B((8, 128), lambda i: (2 - i, 0)),
    )  # fmt: skip
    assert "window_kind = #tpu.element_window<[2, 0], [0, 0]>" in kernel.text


def test_an_output_that_begins_as_an_input() -> None:
    def kernel(x: Any, y: Any, o: Any) -> None:
        o[...] += y[...]

    spec = B((8, 128), lambda i: (i, 0))
    args = data(16, 128), data(16, 128)
    found = one(kernel, *args, grid=2, in_specs=[spec, spec], out_specs=spec,
                input_output_aliases={0: 0})  # fmt: skip
    assert found.text.count("memref<8x128xf32, #tpu.memory_space<vmem>>,") >= 3
    # the input is seen as a whole; what the output begins as is one more operand
    one(kernel, *args, grid=2, in_specs=[None, spec], out_specs=spec, input_output_aliases={0: 0})
    # programs that visit a block after one another
    one(kernel, data(16, 128), data(32, 128), grid=(2, 2),
        in_specs=[twice := B((8, 128), lambda i, j: (i, 0)),
                  B((8, 128), lambda i, j: (2 * i + j, 0))],
        out_specs=twice, input_output_aliases={0: 0})  # fmt: skip
    # two axes of the grid lead to a block; vmap puts one in front
    f = pl.pallas_call(
        kernel, S((16, 128), "f4"), grid=4, in_specs=[B((8, 128), lambda i: (i // 2, 0)), spec],
        out_specs=B((8, 128), lambda i: (i // 2, 0)), input_output_aliases={0: 0},
    )  # fmt: skip
    check(f, data(16, 128), data(32, 128))
    check(np.vmap(f), data(2, 16, 128), data(2, 32, 128))


def test_stores_to_parts() -> None:
    def kernel(x: Any, o: Any, p: Any, q: Any) -> None:
        o[0] = x[1]
        o[1] = x[0] * 2
        o[2:4] = x[2:4] + o[:2]
        p[...] = x[...]
        p[1, 2] = 7
        q[1, ::2] = x[1, ::2] * 2

    check(
        pl.pallas_call(kernel, [S((8, 128), "f4")] * 3, input_output_aliases={0: 2}), data(8, 128)
    )


def test_scratch_keeps_what_the_program_before_left() -> None:
    def kernel(x: Any, o: Any, total: Any, count: Any) -> None:
        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            total[...] = np.zeros((8, 128), "f4")
            count[0] = 0

        total[...] += x[...]
        count[0] += 1
        o[...] = total[...] * count[0]

    spec = B((8, 128), lambda i: (i, 0))
    f = pl.pallas_call(
        kernel, S((24, 128), "f4"), grid=3, in_specs=[spec], out_specs=spec,
        scratch_shapes=[pl.VMEM((8, 128), "f4"), pl.SMEM((1,), "f4")],
    )  # fmt: skip
    found = check(f, data(24, 128))
    assert "scratch_operands = 2" in found.text
    assert "memref<1xf32, #tpu.memory_space<smem>>" in found.text
    check(np.vmap(f), data(2, 24, 128))


def test_scratch_is_blank_at_first() -> None:
    def kernel(x: Any, o: Any, s: Any) -> None:
        s[0] = x[0]
        o[...] = np.where(np.isnan(s[...]), x[...] * 0, s[...])
        s[pl.program_id(0) + 1] = x[1]

    spec = B((8, 128), lambda i: (i, 0))
    one(kernel, data(24, 128), grid=3, in_specs=[spec], out_specs=spec,
        scratch_shapes=[S((8, 128), "f4")])  # fmt: skip


def test_numbers_in_smem() -> None:
    def kernel(a: Any, x: Any, o: Any) -> None:
        o[...] = x[...] * a[pl.program_id(0), 1]

    spec = B((8, 128), lambda i: (i, 0))
    f = pl.pallas_call(
        kernel, S((16, 128), "f4"), grid=2, in_specs=[B(memory_space=pl.SMEM), spec],
        out_specs=spec,
    )  # fmt: skip
    assert "memref<2x2xf32, #tpu.memory_space<smem>>" in check(f, data(2, 2), data(16, 128)).text


def test_masks_and_what_nobody_wrote() -> None:
    def kernel(x: Any, o: Any, p: Any) -> None:
        pl.store(o, ..., x[...], mask=x[...] > 0)
        p[1] = pl.load(x, 1, mask=x[1] > 0, other=3)

    spec = B((8, 128), lambda i: (i, 0))
    f = pl.pallas_call(
        kernel, [S((16, 128), "f4")] * 2, grid=2, in_specs=[spec], out_specs=[spec, spec]
    )
    check(f, data(16, 128))


def test_arrays_from_outside() -> None:
    table = np.array(data(128))

    def kernel(x: Any, o: Any) -> None:
        o[...] = x[...] * table + np.arange(128, dtype="f4")

    spec = B((8, 128), lambda i: (i, 0))
    f = pl.pallas_call(kernel, S((16, 128), "f4"), grid=2, in_specs=[spec], out_specs=spec)
    x = data(16, 128)
    lowered = pl.lower(f, x, platform="tpu")
    assert "tpu.iota" in lowered.kernels[0].text  # `arange` is not read
    got = run(lowered, [x, numpy.array(table), numpy.arange(128, dtype="f4")])
    numpy.testing.assert_allclose(got[0], numpy.asarray(f(np.array(x))), rtol=1e-5)


def test_control_flow() -> None:
    def kernel(x: Any, o: Any) -> None:
        i = pl.program_id(0)
        v = np.cond(i % 2 == 0, lambda v: np.exp(v) @ v.T, lambda v: v - 1, x[...])
        v = np.switch(i, [lambda v: v, lambda v: v * 2, lambda v: np.sin(np.cos(v)) @ v], v)
        _, v = np.while_loop(
            lambda c: c[0] < i + 2, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0, v)
        )  # fmt: skip
        o[...] = v

        @pl.loop(0, 8)
        def _(k: Any) -> None:
            o[k] = x[7 - k] * 2

    spec = B((None, 128, 128), lambda i: (i, 0, 0))
    one(kernel, data(4, 128, 128) / 8, grid=4, in_specs=[spec], out_specs=spec)


def test_hints() -> None:
    spec = B((8, 128), lambda i, j: (i, j))
    f = pl.pallas_call(
        lambda x, o: o.__setitem__(..., x[...]), S((16, 256), "f4"), grid=(2, 2), in_specs=[spec],
        out_specs=spec, name="8 copies",
        compiler_params=pl.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )  # fmt: skip
    found = check(np.vmap(f), data(3, 16, 256))
    kinds = re.findall(r"dimension_semantics<(\w+)>", found.text)
    assert kinds == ["parallel", "parallel", "arbitrary"]
    assert found.name == "k_8_copies" and found.grid == (3, 2, 2)
    with pytest.raises(ValueError, match="2 entries for the grid 2"):
        pl.pallas_call(
            lambda x, o: None, S((4,), "f4"), grid=2,
            compiler_params=pl.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
        )  # fmt: skip


def test_interpret_and_derivatives_are_loops() -> None:
    lowered = pl.lower(add(256, 128, interpret=True), *KERNELS["add"][1], platform="tpu")
    assert lowered.kernels == [] and "tpu_custom_call" not in lowered.as_text()


# -- elementwise -----------------------------------------------------------------------------------

# what of floats Mosaic has no operation for
LACKING = {
    "complex_", "convert", "digamma", "conjugate", "real", "imag", "bitwise_count", "bessel_i1",
    "bessel_i1e", "polygamma", "zeta", "gammainc", "gammaincc", "gammainc_slope", "arccos",
    "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cosh", "erf_inv", "erfc",
    "lgamma", "nextafter", "sinh",
    # by way of float64
    "bessel_i0", "bessel_i0e", "beta", "betaln", "entr", "float_power", "gamma", "integer_power",
    "ldexp", "log_ndtr", "logit", "ndtr", "ndtri", "rel_entr", "trigamma", "xlog1py", "xlogy",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(elementwise.ROWS)))
def test_elementwise(name: str) -> None:
    """Lowered and right, or refused by the name of the operation; float64 is run as float32."""
    ran = 0
    for f, args in PAGE.elementwise_examples(name):
        if any(numpy.asarray(a).dtype.char not in "?bBhHiIfd" for a in args):
            continue
        rng = numpy.random.default_rng(1)
        given = [
            rng.uniform(0.1, 0.9, (8, 128)).astype("f4") if a.dtype.kind == "f"
            else (rng.integers(0, 2, (8, 128)) + 1).astype("i4" if a.dtype == bool else a.dtype)
            for a in map(numpy.asarray, args)
        ]  # fmt: skip
        bools = [numpy.asarray(a).dtype == bool for a in args]

        def g(*xs: Any, f: Any = f, bools: Any = tuple(bools)) -> Any:
            out = f(*[x > 1 if b else x for x, b in zip(xs, bools, strict=True)])
            return out.astype("i4") if out.dtype.char in "?lL" else out

        like = np.make_jaxpr(g)(*given).out_avals[0]

        def kernel(*refs: Any, g: Any = g) -> None:
            refs[-1][...] = g(*[np.asarray(r[...]) for r in refs[:-1]])

        try:
            check(pl.pallas_call(kernel, S(like.shape, like.dtype), name=name), *given, rtol=3e-5)
        except pl.LoweringError as error:
            assert name in LACKING or given[0].dtype.kind != "f", str(error)
            continue
        ran += 1
    assert ran or name in LACKING


# -- what there is no way for ----------------------------------------------------------------------


def refused(kernel: Any, match: str, *args: Any, out: Any = None, **options: Any) -> None:
    like = args[0]
    f = pl.pallas_call(kernel, out or S(like.shape, like.dtype), name="kernel", **options)
    with pytest.raises(pl.LoweringError, match=f"^pallas_call: kernel: .*{match}"):
        pl.lower(f, *args, platform="tpu")


def test_refusals() -> None:
    def copies(x: Any, o: Any) -> None:
        o[...] = x[...] * 2

    x, at, spec = data(16, 128), np.array([1, 0]), B((8, 128), lambda i: (i, 0))
    tile = "input 0: the last two dimensions of a block must be multiples of 8 and 128"
    refused(
        copies, tile, x, grid=4, in_specs=[B((4, 128), lambda i: (i, 0))], out=S((4, 128), "f4")
    )
    refused(
        copies, tile, x, grid=2, in_specs=[B((16, 64), lambda i: (0, i))], out=S((16, 64), "f4")
    )
    refused(copies, tile, data(64), grid=2, in_specs=[B((32,), lambda i: i)], out=S((32,), "f4"))
    refused(copies, "output 0: programs come back to a block after another one", x, grid=4,
            in_specs=[spec2 := B((8, 128), lambda i: (i % 2, 0))], out_specs=spec2)  # fmt: skip
    for dtype in ("f8", "i8", "?"):
        refused(copies, "Mosaic has no", x.astype(dtype), out=S(x.shape, "f4"))
    refused(lambda x, o: o.__setitem__(..., np.sort(x[...])), "sort: Mosaic has no", x)
    refused(lambda x, o: o.__setitem__(..., x[::-1]), "reading backwards", x)
    refused(lambda x, o: o.__setitem__(..., x[np.asarray([1] * 16)]), "arrays of indices", x)
    refused(
        lambda x, o: o.__setitem__(..., x[...].astype("i4").sum()), "Mosaic has no int64: say", x
    )
    refused(lambda x, o: (pl.atomic_add(o, (np.asarray([1, 2]),), x[:2]), None)[-1],
            "int64 in memory", x)  # fmt: skip
    refused(copies, "index map reads an array", x, grid=2, out_specs=spec,
            in_specs=[B((8, 128), lambda i: (at[i], 0))])  # fmt: skip
    refused(lambda x, o: (pl.debug_print("{}", x[0]), copies(x, o), None)[-1], "on the host", x)
    refused(lambda x, o, s: o.__setitem__(..., s[:, :2].sum()), "numbers are read from SMEM", x,
            scratch_shapes=[pl.SMEM((2, 2), "f4")])  # fmt: skip
    with pytest.raises(pl.LoweringError, match="TPU has no library"):
        pl.lower(np.linalg.inv, data(4, 4), platform="tpu")
