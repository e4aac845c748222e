"""Kernels beside the same function on whole arrays under `jit`: `python benchmarks/kernels.py`.

For each: the first call of the kernel (milliseconds; run with LAZYNP_CACHE=off), a repeated one,
and the ratio of a repeated one to that of `interpret=True` and of the whole-array function. All in
one process, the best of many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
import lazynp.pallas as pl

S, B = np.ShapeDtype, pl.BlockSpec
RNG = numpy.random.default_rng(0)


def data(*shape: int) -> Any:
    return np.asarray(RNG.standard_normal(shape).astype("f4"))


def add_kernel(x: Any, y: Any, o: Any) -> None:
    o[...] = x[...] + y[...]


def add(n: int, block: int, **options: Any) -> Any:
    spec = B((block,), lambda i: i)
    return pl.pallas_call(
        add_kernel, S((n,), "f4"), grid=pl.cdiv(n, block), in_specs=[spec, spec], out_specs=spec,
        **options,
    )  # fmt: skip


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def matmul_kernel(x: Any, y: Any, o: Any) -> None:
    k = pl.program_id(2)
    pl.when(k == 0)(lambda: o.__setitem__(..., 0))
    o[...] += x[...] @ y[...]
    pl.when(k == pl.num_programs(2) - 1)(lambda: o.__setitem__(..., gelu(o[...])))


def matmul(n: int, block: int, **options: Any) -> Any:
    return pl.pallas_call(
        matmul_kernel, S((n, n), "f4"), grid=(n // block,) * 3,
        in_specs=[B((block, block), lambda i, j, k: (i, k)),
                  B((block, block), lambda i, j, k: (k, j))],
        out_specs=B((block, block), lambda i, j, k: (i, j)), **options,
    )  # fmt: skip


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)


def rows(
    function: Callable[[Any], Any], count: int = 4096, size: int = 512, block: int = 8,
    **options: Any,
) -> Any:  # fmt: skip
    """A function of rows, of some at a time."""
    spec = B((block, size), lambda i: (i, 0))
    return pl.pallas_call(
        lambda x, o: o.__setitem__(..., function(x[...])), S((count, size), "f4"),
        grid=count // block, in_specs=[spec], out_specs=spec, **options,
    )  # fmt: skip


def attention(
    heads: int = 4, length: int = 512, size: int = 64, block: int = 64, **options: Any
) -> Any:
    """Attention that reads keys and values block by block."""

    def attention_kernel(q: Any, k: Any, v: Any, o: Any) -> None:
        scaled = q[...] * 0.125

        def step(j: Any, carry: Any) -> Any:
            top, total, out = carry
            scores = scaled @ k[pl.ds(j * block, block)].T
            new = np.maximum(top, scores.max(axis=1))
            p, old = np.exp(scores - new[:, None]), np.exp(top - new)
            part = p @ v[pl.ds(j * block, block)]
            return new, total * old + p.sum(axis=1), out * old[:, None] + part

        begin = np.full(block, -np.inf, "f4"), np.zeros(block, "f4"), np.zeros((block, size), "f4")
        _, total, out = np.fori_loop(0, length // block, step, begin)
        o[...] = out / total[:, None]

    part = B((None, block, size), lambda h, i: (h, i, 0))
    whole = B((None, length, size), lambda h, i: (h, 0, 0))
    return pl.pallas_call(
        attention_kernel, S((heads, length, size), "f4"), grid=(heads, length // block),
        in_specs=[part, whole, whole], out_specs=part, **options,
    )  # fmt: skip


def stencil_kernel(x: Any, o: Any) -> None:
    i, j = pl.program_id(0) * 64, pl.program_id(1) * 64

    def window(a: int, b: int) -> Any:
        return x[pl.ds(i + a, 64), pl.ds(j + b, 64)]

    o[...] = window(0, 1) + window(2, 1) + window(1, 0) + window(1, 2) - 4 * window(1, 1)


def stencil(**options: Any) -> Any:
    return pl.pallas_call(
        stencil_kernel, S((1024, 1024), "f4"), grid=(16, 16),
        out_specs=B((64, 64), lambda i, j: (i, j)), **options,
    )  # fmt: skip


def whole_stencil(x: Any) -> Any:
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def whole_attention(q: Any, k: Any, v: Any) -> Any:
    return softmax((q * 0.125) @ k.swapaxes(1, 2)) @ v


def cases() -> dict[str, tuple[Callable[..., Any], Any, tuple[Any, ...]]]:
    """The kernel's call (of options), the same on whole arrays, the arguments."""
    long, short = (data(1 << 20), data(1 << 20)), (data(4096), data(4096))
    square, table = (data(512, 512), data(512, 512)), (data(4096, 512),)
    heads = data(4, 512, 64), data(4, 512, 64), data(4, 512, 64)
    return {
        "add 2^20 by 1024": (lambda **o: add(1 << 20, 1024, **o), np.add, long),
        "add 2^20 by 65536": (lambda **o: add(1 << 20, 65536, **o), np.add, long),
        "add 4096 by 128": (lambda **o: add(4096, 128, **o), np.add, short),
        "matmul 512, gelu, by 128": (
            lambda **o: matmul(512, 128, **o), lambda x, y: gelu(x @ y), square),
        "matmul 512, gelu, by 32": (
            lambda **o: matmul(512, 32, **o), lambda x, y: gelu(x @ y), square),
        "softmax of rows by 8": (lambda **o: rows(softmax, **o), softmax, table),
        "layer norm of rows by 8": (lambda **o: rows(layer_norm, **o), layer_norm, table),
        "attention by 64": (attention, whole_attention, heads),
        "stencil 1024^2 by 64": (stencil, whole_stencil, (data(1026, 1026),)),
    }  # fmt: skip


def _best(functions: list[Callable[..., Any]], args: tuple[Any, ...], rounds: int) -> list[float]:
    """Milliseconds of a call of each, in turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            numpy.asarray(function(*args))
            best[k] = min(best[k], 1e3 * (time.perf_counter() - start))
    return best


def main(rounds: int = 30) -> None:
    """Print the table."""
    print("| | first | repeated | of interpret=True | of whole arrays |\n|---|---|---|---|---|")
    with np.config(execution="compiled"):
        for name, (make, function, args) in cases().items():
            call, plain, whole = (
                make(),
                make(interpret=True),
                np.jit(lambda *xs, f=function: f(*xs)),
            )
            start = time.perf_counter()
            got = numpy.asarray(call(*args))
            first = 1e3 * (time.perf_counter() - start)
            numpy.testing.assert_allclose(got, numpy.asarray(whole(*args)), rtol=1e-2, atol=1e-3)
            time_of, slow, other = _best([call, plain, whole], args, rounds)
            ratios = f"{time_of / slow:.2f} | {time_of / other:.2f}"
            print(f"| {name} | {first:.0f} | {time_of:.2f} | {ratios} |")


if __name__ == "__main__":
    main()
