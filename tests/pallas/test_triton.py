"""Kernels as Triton modules: MLIR verifies them, and an interpreter of the tests' runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl
from benchmarks.kernels import add, attention, layer_norm, rows, softmax
from lazynp.primitives import elementwise
from tests.lowering.deviceless import compiler
from tests.lowering.test_cuda import PAGE
from tests.pallas.programs import fused
from tests.pallas.triton import launch

# what is lowered depends on no policy
pytestmark = pytest.mark.own_policy

S, B = np.ShapeDtype, pl.BlockSpec
RNG = numpy.random.default_rng(0)


def data(*shape: int, dtype: str = "f4") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def launched(f: Callable[..., Any], *args: Any) -> list[Any]:
    """What the program's one kernel leaves in its outputs, which are the program's."""
    lowered = pl.lower(f, *args, platform="cuda")
    (kernel,) = lowered.kernels
    text = lowered.as_text()
    assert text.count("__gpu$xla.gpu.triton") == 1 and f'name = "{kernel.name}"' in text
    results = [numpy.array(x) for x in _leaves(f(*map(np.array, args)))]
    outs = [numpy.full(x.shape, 7, x.dtype) for x in results]
    for out, given in _aliases(text, args):
        outs[out][...] = given
    launch(kernel, [*map(numpy.array, args), *outs])
    return [outs, results]


def _leaves(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _aliases(text: str, args: Any) -> list[Any]:
    if "operand_index" not in text:
        return []
    return [(0, args[0])]  # the only alias that these tests have


def check(f: Callable[..., Any], *args: Any, rtol: float = 2e-5) -> None:
    outs, results = launched(f, *args)
    for got, want in zip(outs, results, strict=True):
        numpy.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)


# -- the kernels of the tutorial and of the benchmark ----------------------------------------------


SIZES = (64, 64, 48, 32, 16, 16)
ROWS = {"count": 16, "size": 32, "block": 4, "name": "rows"}


def small_attention() -> Any:
    return attention(heads=2, length=64, size=16, block=16)


def stencil(n: int, masked: bool) -> Any:
    """The Laplacian: with zeros around by masked loads, or of windows of a larger array."""

    def kernel(x: Any, o: Any) -> None:
        i, j = pl.program_id(0) * 8, pl.program_id(1) * 8

        def at(a: int, b: int) -> Any:
            if not masked:
                return x[pl.ds(i + a + 1, 8), pl.ds(j + b + 1, 8)]
            rows, columns = i + a + np.arange(8)[:, None], j + b + np.arange(8)
            inside = (rows >= 0) & (rows < n) & (columns >= 0) & (columns < n)
            return pl.load(x, (rows, columns), mask=inside, other=0.0)

        o[...] = at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0) - 4 * at(0, 0)

    return pl.pallas_call(
        kernel, S((n, n), "f4"), grid=(pl.cdiv(n, 8),) * 2,
        out_specs=B((8, 8), lambda i, j: (i, j)), name="stencil",
    )  # fmt: skip


KERNELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "add": (add(64, 16), (data(64), data(64))),
    "add, a block stands out": (add(60, 16), (data(60), data(60))),
    "matmul, Python loop": (fused(*SIZES, staged=False), (data(64, 64), data(64, 48), data(48))),
    "matmul, fori_loop": (fused(*SIZES, staged=True), (data(64, 64), data(64, 48), data(48))),
    "softmax": (rows(softmax, **ROWS), (data(16, 32),)),
    "layer norm": (rows(layer_norm, **ROWS), (data(16, 32),)),
    "attention": (small_attention(), (data(2, 64, 16), data(2, 64, 16), data(2, 64, 16))),
    "stencil, masked loads": (stencil(24, True), (data(24, 24),)),
    "stencil, masked loads, uneven": (stencil(20, True), (data(20, 20),)),
    "stencil, windows": (stencil(24, False), (data(26, 26),)),
    "vmap of add": (np.vmap(add(60, 16), in_axes=(0, None)), (data(3, 60), data(60))),
    "vmap of vmap": (
        np.vmap(np.vmap(add(64, 16), in_axes=(None, 0)), in_axes=(0, None)),
        (data(2, 64), data(3, 64)),
    ),
    "vmap of attention": (
        np.vmap(small_attention(), in_axes=(0, None, 0)),
        (data(2, 2, 64, 16), data(2, 64, 16), data(2, 2, 64, 16)),
    ),
    "jit": (np.jit(lambda x: rows(softmax, **ROWS)(x)), (data(16, 32),)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    f, args = KERNELS[name]
    check(f, *args)


def _parts(x: Any, o: Any, p: Any, q: Any) -> None:
    o[0] = x[1]
    o[1] = x[0] * 2
    o[2:4] = x[2:4] + o[:2]
    p[...] = x[...]
    p[1, 2] = 7
    p[:, 3] = x[:, 0]
    pl.store(q, (np.arange(4), np.arange(4)), x[0, :4], mask=x[0, :4] > 0)
    q[...] = pl.load(q) + 1


def _histogram(x: Any, begun: Any, o: Any) -> None:
    at = x[...]
    pl.atomic_add(o, (at,), 1, mask=at != 3)


PARTS = pl.pallas_call(
    _parts, [S((4, 8), "f4")] * 3, input_output_aliases={0: 2}, name="parts"
)  # fmt: skip
HISTOGRAM = pl.pallas_call(
    _histogram, S((7,), "i8"), grid=4, in_specs=[B((8,), lambda i: i), None],
    input_output_aliases={1: 0},
)  # fmt: skip


@pytest.mark.slow
def test_they_compile_without_a_gpu() -> None:
    compiled = compiler()
    more = [(PARTS, (data(4, 8),)), (HISTOGRAM, (numpy.arange(32), numpy.zeros(7, "i8")))]
    for f, args in [*KERNELS.values(), *more]:
        compiled(pl.lower(f, *args, platform="cuda").as_text())


# -- one thing at a time ---------------------------------------------------------------------------


def one(kernel: Any, *args: Any, out: Any = None, grid: Any = (), **options: Any) -> None:
    like = args[0]
    check(
        pl.pallas_call(kernel, out or S(like.shape, like.dtype), grid=grid, **options), *args
    )  # fmt: skip


def test_indices() -> None:
    x = data(8, 16)

    def kernel(x: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
        a[...] = x[1:5, ::2]
        b[...] = x[-1, None]
        c[...] = x[::-1, 3]
        d[...] = x[np.asarray([3, 2, 1, 0])]
        e[...] = x[2, 5]

    outs = [S((4, 8), "f4"), S((1, 16), "f4"), S((8,), "f4"), S((4, 16), "f4"), S((), "f4")]
    check(pl.pallas_call(kernel, outs), x)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u4", "i8", "f2", "f4", "f8"])
def test_dtypes(dtype: str) -> None:
    x = (data(16) * 10).astype("i4").astype(dtype)

    def kernel(x: Any, o: Any, p: Any, q: Any) -> None:
        v = x[...]
        o[...] = v
        p[...] = v.max()
        q[...] = np.where(v > 1, v, v + v)

    outs = [S((16,), dtype), S((), dtype), S((16,), dtype)]
    f = pl.pallas_call(kernel, outs)
    got, want = launched(f, x)
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_array_equal(g, w)


def test_blocks_of_every_kind() -> None:
    x = data(3, 20, 8)

    def kernel(x: Any, o: Any) -> None:
        o[...] = x[...] * 2

    one(kernel, x, grid=(3, 5),
        in_specs=[B((pl.Squeezed(), 4, pl.Blocked(8)), lambda i, j: (i, j, 0))],
        out_specs=B((None, 4, 8), lambda i, j: (i, j, 0)))  # fmt: skip
    one(kernel, x, grid=(2, 3, 5, 1), in_specs=[B((1, 4, 4), lambda a, i, j, b: (i, j, a))],
        out_specs=B((1, 4, 4), lambda a, i, j, b: (i, j, a)))  # fmt: skip
    y = data(32)
    one(
        kernel,
        y,
        out=S((24,), "f4"),
        grid=3,
        in_specs=[B((pl.Element(8),), lambda i: i * 8 + 3)],
        out_specs=B((8,), lambda i: i),
    )
    one(kernel, y, out=S((32,), "f4"), grid=4,
        in_specs=[B((pl.Element(8, (2, 0)),), lambda i: i * 8)],
        out_specs=B((8,), lambda i: 3 - i))  # fmt: skip


def test_an_output_that_begins_as_an_input() -> None:
    def kernel(x: Any, y: Any, o: Any) -> None:
        o[...] += y[...]

    spec = B((8,), lambda i: i)
    one(kernel, data(16), data(16), grid=2, in_specs=[spec, spec], out_specs=spec,
        input_output_aliases={0: 0})  # fmt: skip


def test_masked_stores_and_what_nobody_wrote() -> None:
    def kernel(x: Any, o: Any, p: Any) -> None:
        pl.store(o, ..., x[...], mask=x[...] > 0)

    spec = B((8,), lambda i: i)
    f = pl.pallas_call(
        kernel, [S((16,), "f4")] * 2, grid=2, in_specs=[spec], out_specs=[spec, spec]
    )
    check(f, data(16))


def test_arrays_from_outside() -> None:
    table, steps = np.array(data(8)), np.array(numpy.arange(8))

    def kernel(x: Any, o: Any) -> None:
        o[...] = x[...] * table + np.arange(8) + steps

    spec = B((8,), lambda i: i)
    f = pl.pallas_call(kernel, S((16,), "f4"), grid=2, in_specs=[spec], out_specs=spec)
    x = data(16)
    lowered = pl.lower(f, x, platform="cuda")
    (found,) = lowered.kernels
    out = numpy.zeros(16, "f4")
    # `arange` belongs to the kernel; the user's array, which may change, is read
    launch(found, [x, *(numpy.array(a) for a in (table, steps)), out])
    numpy.testing.assert_allclose(out, numpy.asarray(f(np.array(x))), rtol=1e-5)


def test_histogram() -> None:
    """Programs share an output that they only change by atomics."""
    values, zeros = RNG.integers(0, 7, 32), numpy.zeros(7, "i8")
    (found,) = pl.lower(HISTOGRAM, values, zeros, platform="cuda").kernels
    out = zeros.copy()
    launch(found, [values, out, out])
    want = numpy.bincount(values, minlength=7)
    want[3] = 0
    assert out.tolist() == want.tolist() == HISTOGRAM(values, zeros).tolist()


@pytest.mark.parametrize("name", ["add", "max", "min", "and", "or", "xor"])
@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "f4", "f8"])
def test_atomics(name: str, dtype: str) -> None:
    at = numpy.array([0, 1, 1, 3, 3, 2, 0, 7])
    x, v = (RNG.integers(0, 50, 8).astype(dtype) for _ in "xv")

    def kernel(x: Any, v: Any, at: Any, o: Any) -> None:
        getattr(pl, f"atomic_{name}")(o, (at[...],), v[...])

    f = pl.pallas_call(kernel, S((8,), dtype), input_output_aliases={0: 0})
    if dtype[0] == "f" and name != "add":
        with pytest.raises((pl.LoweringError, TypeError), match="atomic"):
            pl.lower(f, x, v, at, platform="cuda")
        return
    check(f, x, v, at)


def test_stores_to_parts() -> None:
    x = data(4, 8)
    (found,) = pl.lower(PARTS, x, platform="cuda").kernels
    assert "gpu.barrier" in found.text
    outs = [numpy.zeros((4, 8), "f4") for _ in range(2)] + [x.copy()]
    launch(found, [x.copy(), *outs])
    for got, want in zip(outs, PARTS(np.array(x)), strict=True):
        numpy.testing.assert_allclose(got, numpy.asarray(want), rtol=1e-6)


def test_work_in_place_on_what_was_read() -> None:
    """Values that were read, and then changed in place, are not the Refs."""

    def kernel(x: Any, o: Any, p: Any) -> None:
        v, w = x[...], x[...]
        v[0] = 5
        w[:, 1] = 2
        before = o[...]
        before[2] = 9
        o[...] = v + w
        p[...] = before

    f = pl.pallas_call(kernel, [S((4, 8), "f4")] * 2, input_output_aliases={0: 0})
    check(f, data(4, 8))


def test_rows_written_in_a_loop() -> None:
    def kernel(x: Any, o: Any) -> None:
        o[...] = np.zeros((8, 16), "f4")

        @pl.loop(0, 8)
        def _(i: Any) -> None:
            o[i] = x[7 - i] * i

    one(kernel, data(8, 16))


def test_control_flow() -> None:
    def kernel(x: Any, o: Any) -> None:
        i = pl.program_id(0)
        v = np.cond(i % 2 == 0, lambda v: np.exp(v) @ v.T, lambda v: v - 1, x[...])
        v = np.switch(i, [lambda v: v, lambda v: v * 2, lambda v: np.sin(np.cos(v)) @ v], v)
        _, v = np.while_loop(
            lambda c: c[0] < i + 2, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0, v)
        )  # fmt: skip
        o[...] = v

    spec = B((None, 16, 16), lambda i: (i, 0, 0))
    one(kernel, data(4, 16, 16) / 8, grid=4, in_specs=[spec], out_specs=spec)


def test_a_derivative_is_a_loop() -> None:
    f = add(64, 16)
    text = pl.lower(np.grad(lambda x: f(x, x).sum()), data(64), platform="cuda").as_text()
    assert "stablehlo" in text and "lapack" not in text


def test_interpret_is_a_loop() -> None:
    f = pl.pallas_call(lambda x, o: o.__setitem__(..., x[...]), S((4,), "f4"), interpret=True)
    lowered = pl.lower(f, data(4), platform="cuda")
    assert lowered.kernels == [] and "triton" not in lowered.as_text()


def test_hints_of_the_compiler() -> None:
    f = pl.pallas_call(
        lambda x, o: o.__setitem__(..., x[...]), S((4,), "f4"), name="8 copies",
        compiler_params=pl.CompilerParams(num_warps=8, num_stages=2),
    )  # fmt: skip
    lowered = pl.lower(f, data(4), platform="cuda")
    assert "num_warps = 8 : i32, num_stages = 2 : i32" in lowered.as_text()
    assert lowered.kernels[0].name == "k_8_copies" and lowered.kernels[0].grid == (1, 1, 1)


# -- elementwise -----------------------------------------------------------------------------------

# complex numbers, and what libdevice or Triton lack
LACKING = {
    "complex_", "convert", "digamma", "conjugate", "real", "imag", "bitwise_count", "bessel_i1",
    "bessel_i1e", "polygamma", "zeta", "gammainc", "gammaincc", "gammainc_slope",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(elementwise.ROWS)))
def test_elementwise(name: str) -> None:
    """Lowered and right, or refused by the name of the operation."""
    ran = 0
    for f, args in PAGE.elementwise_examples(name):
        if any(numpy.asarray(a).dtype.kind == "c" for a in args):
            continue
        rng = numpy.random.default_rng(1)
        given = [
            (rng.uniform(0.1, 0.9, 16) if a.dtype.kind == "f" else rng.integers(0, 2, 16) + 1)
            .astype(a.dtype)
            for a in map(numpy.asarray, args)
        ]  # fmt: skip
        like = np.make_jaxpr(f)(*given).out_avals[0]

        def kernel(*refs: Any, f: Any = f) -> None:
            refs[-1][...] = f(*[np.asarray(r[...]) for r in refs[:-1]])

        call = pl.pallas_call(kernel, S(like.shape, like.dtype), name=name)
        try:
            got, want = launched(call, *given)
        except pl.LoweringError as error:
            assert name in LACKING or given[0].dtype.kind != "f", str(error)
            continue
        ran += 1
        tolerance = 2e-3 if given[0].dtype == "f2" else 3e-5
        numpy.testing.assert_allclose(got[0], want[0], rtol=tolerance, atol=1e-6)
    assert ran or name in LACKING


# -- what there is no way for ----------------------------------------------------------------------


def refused(kernel: Any, match: str, *args: Any, **options: Any) -> None:
    f = pl.pallas_call(kernel, S(args[0].shape, args[0].dtype), name="kernel", **options)
    with pytest.raises(pl.LoweringError, match=match):
        pl.lower(f, *args, platform="cuda")
    with pytest.raises(NotImplementedError, match="^pallas_call: kernel: "):
        np.jit(f).lower(*args).as_text(platform="cuda")


def test_refusals() -> None:
    def copies(x: Any, o: Any) -> None:
        o[...] = x[...] * 2

    refused(copies, "powers of 2", data(12))
    refused(lambda x, o: o.__setitem__(..., x[...] @ x[...]), "at least 16", data(8, 8))
    refused(lambda x, o: o.__setitem__(..., np.sort(x[...])), "sort: Triton has no", data(8))
    refused(
        lambda x, o: (
            o.__setitem__(0, x[0]),
            pl.loop(0, 3)(lambda i: o.__setitem__(pl.ds(i, 2), x[:2])),
            None,
        )[-1],
        "no operation for dynamic_slice",
        data(8),
    )
    refused(
        lambda x, o: (pl.atomic_add(o, (np.asarray([1, 2]),), x[:2]), None)[-1],
        "not the alias of an input",
        data(8),
    )
    refused(copies, "run at once", data(8), grid=2)
    refused(lambda x, o, s: o.__setitem__(..., x[...]), "scratch", data(8),
            scratch_shapes=[pl.VMEM((8,), "f4")])  # fmt: skip
    refused(copies, "Triton has no complex64", data(8).astype("F"))
    at = np.array(numpy.arange(2))
    spec = B((4,), lambda i: at[i])
    refused(copies, "index map reads an array", data(8), grid=2, in_specs=[spec],
            out_specs=B((4,), lambda i: i))  # fmt: skip
    refused(lambda x, o: (pl.debug_print("{}", x[0]), copies(x, o), None)[-1], "on the host",
            data(8))  # fmt: skip
