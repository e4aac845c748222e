"""Kernels beside JAX's interpreter, and beside the same function on whole arrays under `jit`.

`python benchmarks/kernels.py [--jax] [NAME ...]` prints a row for each kernel: milliseconds of the
first call (run with LAZYNP_CACHE=off) and of a repeated one, the best of many; the same of JAX's
kernel, with `interpret=True`, under `jax.jit`; how many times as long JAX takes, the first time and
later; and how many times as long as the function on whole arrays ours takes. All in one process, in
turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy

import lazynp
import lazynp.pallas

RNG = numpy.random.default_rng(0)


def data(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


@dataclass(frozen=True)
class Kernels:
    """The kernels, in the names of one library."""

    np: Any
    pl: Any
    shape: Any  # shape and dtype
    loop: Any  # fori_loop

    def add(self, n: int, block: int, **options: Any) -> Any:
        def add_kernel(x: Any, y: Any, o: Any) -> None:
            o[...] = x[...] + y[...]

        spec = self.pl.BlockSpec((block,), lambda i: i)
        return self.pl.pallas_call(
            add_kernel, self.shape((n,), "f4"), grid=-(-n // block), in_specs=[spec, spec],
            out_specs=spec, **options,
        )  # fmt: skip

    def gelu(self, x: Any) -> Any:
        return 0.5 * x * (1 + self.np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def matmul(self, n: int, block: int, **options: Any) -> Any:
        """Accumulated over the third axis of the grid."""
        pl, B = self.pl, self.pl.BlockSpec

        def matmul_kernel(x: Any, y: Any, o: Any) -> None:
            k = pl.program_id(2)
            pl.when(k == 0)(lambda: o.__setitem__(..., self.np.zeros(o.shape, "f4")))
            o[...] += x[...] @ y[...]
            pl.when(k == pl.num_programs(2) - 1)(lambda: o.__setitem__(..., self.gelu(o[...])))

        return pl.pallas_call(
            matmul_kernel, self.shape((n, n), "f4"), grid=(n // block,) * 3,
            in_specs=[B((block, block), lambda i, j, k: (i, k)),
                      B((block, block), lambda i, j, k: (k, j))],
            out_specs=B((block, block), lambda i, j, k: (i, j)), **options,
        )  # fmt: skip

    def softmax(self, x: Any) -> Any:
        e = self.np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def layer_norm(self, x: Any) -> Any:
        d = x - x.mean(axis=-1, keepdims=True)
        return d / self.np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)

    def rows(
        self, function: Callable[[Any], Any], count: int = 4096, size: int = 512, block: int = 8,
        **options: Any,
    ) -> Any:  # fmt: skip
        """A function of rows, of some at a time."""
        spec = self.pl.BlockSpec((block, size), lambda i: (i, 0))
        return self.pl.pallas_call(
            lambda x, o: o.__setitem__(..., function(x[...])), self.shape((count, size), "f4"),
            grid=count // block, in_specs=[spec], out_specs=spec, **options,
        )  # fmt: skip

    def attention(
        self, heads: int = 4, length: int = 512, size: int = 64, block: int = 64, **options: Any
    ) -> Any:
        """Attention that reads keys and values block by block."""
        np, pl = self.np, self.pl

        def attention_kernel(q: Any, k: Any, v: Any, o: Any) -> None:
            scaled = q[...] * 0.125

            def step(j: Any, carry: Any) -> Any:
                top, total, out = carry
                scores = scaled @ k[pl.ds(j * block, block)].T
                new = np.maximum(top, scores.max(axis=1))
                p, old = np.exp(scores - new[:, None]), np.exp(top - new)
                part = p @ v[pl.ds(j * block, block)]
                return new, total * old + p.sum(axis=1), out * old[:, None] + part

            zeros = np.zeros(block, "f4"), np.zeros((block, size), "f4")
            begin = np.full(block, -np.inf, "f4"), *zeros
            _, total, out = self.loop(0, length // block, step, begin)
            o[...] = out / total[:, None]

        part = pl.BlockSpec((None, block, size), lambda h, i: (h, i, 0))
        whole = pl.BlockSpec((None, length, size), lambda h, i: (h, 0, 0))
        return pl.pallas_call(
            attention_kernel, self.shape((heads, length, size), "f4"),
            grid=(heads, length // block), in_specs=[part, whole, whole], out_specs=part,
            **options,
        )  # fmt: skip

    def stencil(self, **options: Any) -> Any:
        pl = self.pl

        def stencil_kernel(x: Any, o: Any) -> None:
            i, j = pl.program_id(0) * 64, pl.program_id(1) * 64

            def window(a: int, b: int) -> Any:
                return x[pl.ds(i + a, 64), pl.ds(j + b, 64)]

            o[...] = window(0, 1) + window(2, 1) + window(1, 0) + window(1, 2) - 4 * window(1, 1)

        return pl.pallas_call(
            stencil_kernel, self.shape((1024, 1024), "f4"), grid=(16, 16),
            out_specs=pl.BlockSpec((64, 64), lambda i, j: (i, j)), **options,
        )  # fmt: skip


LAZYNP = Kernels(lazynp, lazynp.pallas, lazynp.ShapeDtype, lazynp.fori_loop)
add, gelu, matmul, rows, attention, stencil = (
    LAZYNP.add, LAZYNP.gelu, LAZYNP.matmul, LAZYNP.rows, LAZYNP.attention, LAZYNP.stencil,
)  # fmt: skip
softmax, layer_norm = LAZYNP.softmax, LAZYNP.layer_norm


def whole_stencil(x: Any) -> Any:
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def whole_attention(q: Any, k: Any, v: Any) -> Any:
    return softmax((q * 0.125) @ k.swapaxes(1, 2)) @ v


Make = Callable[..., Any]  # of a library's kernels and options, the call


def cases() -> dict[str, tuple[Make, Callable[..., Any], tuple[Any, ...]]]:
    """How the call is made, the same on whole arrays, the arguments."""
    long, short = (data(1 << 20), data(1 << 20)), (data(4096), data(4096))
    square, table = (data(512, 512), data(512, 512)), (data(4096, 512),)
    heads = data(4, 512, 64), data(4, 512, 64), data(4, 512, 64)
    fused = lambda x, y: gelu(x @ y)  # noqa: E731
    return {
        "add 2^20 by 1024": (lambda m, **o: m.add(1 << 20, 1024, **o), lazynp.add, long),
        "add 2^20 by 65536": (lambda m, **o: m.add(1 << 20, 65536, **o), lazynp.add, long),
        "add 4096 by 128": (lambda m, **o: m.add(4096, 128, **o), lazynp.add, short),
        "matmul 512, gelu, by 128": (lambda m, **o: m.matmul(512, 128, **o), fused, square),
        "matmul 512, gelu, by 32": (lambda m, **o: m.matmul(512, 32, **o), fused, square),
        "softmax of rows by 8": (lambda m, **o: m.rows(m.softmax, **o), softmax, table),
        "layer norm of rows by 8": (lambda m, **o: m.rows(m.layer_norm, **o), layer_norm, table),
        "attention by 64": (lambda m, **o: m.attention(**o), whole_attention, heads),
        "stencil 1024^2 by 64": (lambda m, **o: m.stencil(**o), whole_stencil, (data(1026, 1026),)),
    }


def jax_call(make: Make, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The kernel as JAX interprets it, and its arguments."""
    jax, pallas = import_module("jax"), import_module("jax.experimental.pallas")
    jnp = import_module("jax.numpy")
    kernels = Kernels(jnp, pallas, jax.ShapeDtypeStruct, jax.lax.fori_loop)
    call = jax.jit(make(kernels, interpret=True))
    return lambda *xs: call(*xs).block_until_ready(), tuple(map(jnp.asarray, args))


def ours(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: numpy.asarray(function(*xs))


Calls = list[tuple[Callable[..., Any], tuple[Any, ...]]]


def _first(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    call(*args)
    return 1e3 * (time.perf_counter() - start)


def _best(calls: Calls, seconds: float) -> list[float]:
    """Milliseconds of a call of each, in turns; short ones several times in a row, as after another
    caches are cold.
    """
    best, end = [float("inf")] * len(calls), time.perf_counter() + seconds
    for count in range(100_000):
        for k, (call, args) in enumerate(calls):
            slow = best[k] > 100  # what is slow varies little
            for _ in range(0 if slow and count > 2 else 1 if slow else 5):
                best[k] = min(best[k], _first(call, args))
        if time.perf_counter() > end:
            break
    return best


def main(names: list[str], with_jax: bool, seconds: float = 3.0) -> None:
    """Print the table."""
    print("| | first | repeated | JAX first | repeated | JAX / ours, first | repeated "
          "| ours / whole arrays |\n" + "|---" * 8 + "|")  # fmt: skip
    table = cases()
    for name in names or table:
        make, function, given = table[name]
        args = tuple(map(lazynp.asarray, given))
        calls: Calls = [(ours(make(LAZYNP)), args), (ours(lazynp.jit(function)), args)]
        if with_jax:
            calls.append(jax_call(make, given))
        with lazynp.config(execution="compiled"):
            first = [_first(*call) for call in calls]
            got, want = (numpy.asarray(f(*xs)) for f, xs in calls[:2])
            numpy.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-3)
            best = _best(calls, seconds)
        theirs = ""
        if with_jax:
            theirs = (
                f"{first[2]:.0f} | {best[2]:.3g} | {first[2] / first[0]:.1f} | "
                f"{best[2] / best[0]:.1f} | "
            )
        print(f"| {name} | {first[0]:.0f} | {best[0]:.3g} | {theirs}{best[0] / best[1]:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="of kernels; all")
    parser.add_argument("--jax", action="store_true", help="beside JAX's interpreter")
    options = parser.parse_args()
    main(options.names, options.jax)
