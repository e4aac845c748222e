"""The examples of the design document, as written but for the import and the order of BlockSpec."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl
from lazynp import ShapeDtype


def gelu(x: Any) -> Any:
    return x * 0.5 * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


# -- the kernels -----------------------------------------------------------------------------------


def add_kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
    x = x_ref[:]
    y = y_ref[:]
    o_ref[:] = x + y


def sliced(x_ref: Any, o_ref: Any) -> None:
    x = x_ref[0, 2:5, :]
    o_ref[np.arange(3), :] = x


def by_indices(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[np.arange(2)[..., None], np.arange(3)[None, ...]]


def loaded(x_ref: Any, o_ref: Any) -> None:
    x = pl.load(x_ref, (0, slice(2, 5), slice(None)))
    x = x + pl.load(x_ref, (0, 2 + np.arange(3), slice(None)))
    pl.store(o_ref, (0, pl.ds(start=2, size=3), slice(None)), x)


def masked(x_ref: Any, o_ref: Any) -> None:
    idx = np.arange(8)
    mask = idx < 5
    o_ref[:] = pl.load(x_ref, (idx,), mask=mask, other=float("-inf"))


def by_program(x_ref: Any, o_ref: Any) -> None:
    i = pl.program_id(axis=0)
    o_ref[i] = np.exp(x_ref[i])


def make_kernel(eltwise_kernel: Any) -> Any:
    def add(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
        x = pl.load(x_ref, ())
        y = pl.load(y_ref, ())
        pl.store(o_ref, (), eltwise_kernel(x + y))

    return add


def matmul_kernel(x_ref: Any, y_ref: Any, o_ref: Any, *, activation: Any, block_k: int) -> None:
    acc = np.zeros((x_ref.shape[0], y_ref.shape[1]), np.float32)
    for k in range(x_ref.shape[1] // block_k):
        x = x_ref[:, k * block_k : (k + 1) * block_k]
        y = y_ref[k * block_k : (k + 1) * block_k, :]
        acc += x @ y
    o_ref[:, :] = activation(acc).astype(o_ref.dtype)


@partial(np.jit, static_argnames=["block_shape", "activation"])
def matmul(x: Any, y: Any, *, block_shape: tuple[int, int, int], activation: Any) -> Any:
    block_m, block_n, block_k = block_shape
    fused_matmul = pl.pallas_call(
        partial(matmul_kernel, block_k=block_k, activation=activation),
        out_shape=ShapeDtype((x.shape[0], y.shape[1]), np.float32),
        in_specs=[
            pl.BlockSpec((block_m, x.shape[1]), lambda i, j: (i, 0)),
            pl.BlockSpec((y.shape[0], block_n), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j: (i, j)),
        grid=(x.shape[0] // block_m, y.shape[1] // block_n),
    )
    return fused_matmul(x, y)


BLOCKS = pl.BlockSpec((2,), lambda i: i)
CUBE = numpy.arange(2 * 6 * 4.0).reshape(2, 6, 4)
# name -> (the function, its arguments, its value by NumPy, whether grad has a meaning)
EXAMPLES: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "add": (
        pl.pallas_call(add_kernel, out_shape=ShapeDtype((8,), np.int32)),
        (numpy.arange(8, dtype="i4"), numpy.arange(8, 16, dtype="i4")),
        numpy.arange(8, 24, 2),
    ),
    "add, by blocks": (
        pl.pallas_call(
            add_kernel, out_shape=ShapeDtype((8,), np.int32), in_specs=[BLOCKS, BLOCKS],
            out_specs=BLOCKS, grid=(4,),
        ),
        (numpy.arange(8, dtype="i4"), numpy.arange(8, 16, dtype="i4")),
        numpy.arange(8, 24, 2),
    ),
    "slices": (
        pl.pallas_call(sliced, out_shape=ShapeDtype((3, 4), np.float64)), (CUBE,), CUBE[0, 2:5],
    ),
    "indices": (
        pl.pallas_call(by_indices, out_shape=ShapeDtype((2, 3), np.float64)),
        (CUBE[0],),
        CUBE[0, :2, :3],
    ),
    "load and store": (
        lambda x: pl.pallas_call(
            loaded, out_shape=ShapeDtype((1, 6, 4), np.float64), input_output_aliases={0: 0}
        )(x[:1]),
        (CUBE,),
        numpy.concatenate([CUBE[:1, :2], 2 * CUBE[:1, 2:5], CUBE[:1, 5:]], axis=1),
    ),
    "mask": (
        pl.pallas_call(masked, out_shape=ShapeDtype((8,), np.float64)),
        (numpy.arange(8.0),),
        numpy.array([0, 1, 2, 3, 4, *[-numpy.inf] * 3]),
    ),
    "program_id": (
        pl.pallas_call(by_program, out_shape=ShapeDtype((8,), np.float64), grid=8),
        (numpy.linspace(0, 1, 8),),
        numpy.exp(numpy.linspace(0, 1, 8)),
    ),
    "template, times two": (
        pl.pallas_call(
            make_kernel(lambda x: x * 2), out_shape=ShapeDtype((), np.float64), grid=1
        ),
        (1.0, 1.0),
        4.0,
    ),
    "template, exp": (
        pl.pallas_call(make_kernel(np.exp), out_shape=ShapeDtype((), np.float64), grid=1),
        (1.0, 1.0),
        numpy.exp(2.0),
    ),
}  # fmt: skip
WHOLE = {"add", "add, by blocks"}  # of integers: no derivative


@pytest.mark.parametrize("name", EXAMPLES)
def test_values(name: str) -> None:
    f, args, expected = EXAMPLES[name]
    numpy.testing.assert_allclose(f(*args), expected)
    numpy.testing.assert_allclose(np.jit(f)(*args), expected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_batches(name: str) -> None:
    f, args, _ = EXAMPLES[name]
    several = [numpy.stack([numpy.asarray(a) * k for k in (1, 2, 3)]) for a in args]
    expected = [numpy.asarray(f(*each)) for each in zip(*several, strict=True)]
    numpy.testing.assert_allclose(np.vmap(f)(*several), expected)
    numpy.testing.assert_allclose(np.jit(np.vmap(f))(*several), expected)


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - WHOLE))
def test_derivatives(name: str) -> None:
    f, args, _ = EXAMPLES[name]

    def total(*xs: Any) -> Any:
        out = f(*xs)
        return np.sum(np.where(np.isfinite(out), out, 0.0) ** 2)

    args = tuple([numpy.asarray(a) / 10 for a in args])
    np.check_grads(total, args, order=1, modes=("fwd", "rev"))
    numpy.testing.assert_allclose(np.jit(np.grad(total))(*args), np.grad(total)(*args))


@pytest.mark.parametrize("activation", [lambda x: x, np.tanh, gelu])
def test_a_fused_product(activation: Any) -> None:
    rng = numpy.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype("f4") / 8 for s in ((64, 32), (32, 128)))
    z = matmul(x, y, block_shape=(16, 32, 16), activation=activation)
    assert z.dtype == np.float32
    numpy.testing.assert_allclose(z, activation(np.array(x @ y)), rtol=2e-4, atol=1e-5)

    def total(x: Any) -> Any:
        return matmul(x, y, block_shape=(16, 32, 16), activation=activation).sum()

    numpy.testing.assert_allclose(
        np.grad(total)(x), np.grad(lambda x: activation(x @ y).sum())(x), rtol=2e-3, atol=1e-4
    )
    several = numpy.stack([x, 2 * x])
    batch = np.vmap(
        lambda x: matmul(x, y, block_shape=(16, 32, 16), activation=activation)
    )(several)  # fmt: skip
    numpy.testing.assert_allclose(batch[0], z, rtol=1e-5, atol=1e-6)


def test_the_documents_sizes() -> None:
    x, y = np.ones((512, 256), np.float32), np.ones((256, 1024), np.float32)
    z = matmul(x, y, block_shape=(128, 256, 128), activation=gelu)
    assert z.shape == (512, 1024)
    numpy.testing.assert_allclose(z, numpy.full((512, 1024), 256.0), rtol=1e-5)


def test_the_documents_order_of_a_block_spec_says_so() -> None:
    with pytest.raises(TypeError, match="block_shape"):
        pl.BlockSpec(lambda i: i, (2,))  # type: ignore[arg-type]


def test_memory_beside_arguments_and_results() -> None:
    """Programs that need little are run a chunk at a time: all at once, they would take 2 GB."""

    def distances(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
        d = x_ref[:][:, None, :] - y_ref[:][None, :, :]
        o_ref[...] = np.sqrt((d * d).sum(-1))

    f = pl.pallas_call(
        distances,
        ShapeDtype((4096, 4096), np.float64),
        grid=(32, 32),
        in_specs=[
            pl.BlockSpec((128, 16), lambda i, j: (i, 0)),
            pl.BlockSpec((128, 16), lambda i, j: (j, 0)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
    )
    x = ShapeDtype((4096, 16), np.float64)
    memory = np.jit(f).lower(x, x).compile().memory_analysis()
    assert memory.temp_size_in_bytes <= 64 << 20
