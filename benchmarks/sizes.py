"""Sweeps over sizes, beside NumPy and JAX: one call at each of many sizes, once and again.

    .venv/bin/python benchmarks/sizes.py [--sizes 200] [--only NAME ...] [--no-shapes]

Columns, in milliseconds a size: NumPy; lazynp without `jit`; `jit` by shape; `jit` with
`abstracted_axes`; and, if jax is installed, `jax.jit` by shape, and what `jax.export` made with a
symbolic size. *first* is the first sweep, tracing and compiling included; *later* is the best
of nine more. All run in one process, one after the other, on the same data. `--no-shapes` leaves
out what compiles a program for each size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

import lazynp as np
from benchmarks.harness import import_module

Function = Callable[..., Any]
FIRST = 801  # the smallest size


def stencil(np: Any, x: Any) -> Any:
    d = x[2:] - 2 * x[1:-1] + x[:-2]
    return (np.sin(d) * d + 0.5 * x[1:-1]).sum() / x.shape[0] + d.max()


def loss(np: Any, w: Any, x: Any) -> Any:
    return ((np.tanh(x @ w) @ w[0] - x[:, 0]) ** 2).mean()


def selected(np: Any, x: Any) -> Any:
    return np.sort(x[x > 0])


def triangle(np: Any, x: Any) -> Any:
    """A loop whose slices grow, over a part of the axis."""
    total = 0.0
    for i in range(x.shape[0] // 100):
        total += (x[: i * 10] * x[: i * 10]).sum()
    return total


def sized_triangle(x: Any) -> Any:
    body = lambda i, s: s + (x[: i * 10] * x[: i * 10]).sum()  # noqa: E731
    return np.fori_loop(0, x.shape[0] // 100, body, 0.0)


def slopes(w: Any, x: Any) -> Any:
    """The gradient of `loss`, by hand."""
    y = numpy.tanh(x @ w)
    r = (y @ w[0] - x[:, 0]) * (2 / len(x))
    out = x.T @ (numpy.outer(r, w[0]) * (1 - y * y))
    out[0] += y.T @ r
    return out


@dataclass(frozen=True)
class Sweep:
    """One function, in the names of each library; None where it cannot be written."""

    by_numpy: Function
    plain: Function
    sized: Function
    axes: Any
    arguments: Callable[[int], tuple[Any, ...]]
    of_jax: Callable[[Any, Any], Function] | None  # (jax, jax.numpy) -> function


def vectors(n: int) -> tuple[Any, ...]:
    return (numpy.cos(numpy.arange(n) * 0.7),)


def batches(n: int) -> tuple[Any, ...]:
    return numpy.eye(8) / 3, numpy.cos(numpy.arange(n * 8.0)).reshape(n, 8)


N = {0: "n"}
SWEEPS = {
    "stencil": Sweep(
        lambda x: stencil(numpy, x), lambda x: stencil(np, x), lambda x: stencil(np, x), N,
        vectors, lambda jax, jnp: lambda x: stencil(jnp, x),
    ),
    "network": Sweep(
        slopes, np.grad(lambda w, x: loss(np, w, x)), np.grad(lambda w, x: loss(np, w, x)),
        ({}, N), batches, lambda jax, jnp: jax.grad(lambda w, x: loss(jnp, w, x)),
    ),
    "selected": Sweep(
        lambda x: selected(numpy, x), lambda x: selected(np, x), lambda x: selected(np, x), N,
        vectors, None,
    ),
    "triangle": Sweep(
        lambda x: triangle(numpy, x), lambda x: triangle(np, x), sized_triangle, N, vectors,
        lambda jax, jnp: lambda x: triangle(jnp, x),
    ),
}  # fmt: skip


def swept(function: Function, calls: list[tuple[Any, ...]], again: int) -> tuple[float, float]:
    """Milliseconds a size of the first sweep, and of the best of the others."""
    times = []
    for _ in range(1 + again):
        began = time.perf_counter()
        for args in calls:
            numpy.asarray(function(*args))
        times.append((time.perf_counter() - began) / len(calls) * 1e3)
    return times[0], min(times[1:])


def exported(jax: Any, function: Function, axes: Any, args: tuple[Any, ...]) -> Function:
    """A program of JAX's with a symbolic size."""
    export = import_module("jax.export")
    specs = axes if isinstance(axes, tuple) else (axes,) * len(args)
    scope = export.SymbolicScope(["n >= 4"])  # without it, n - min(n, 2) and max(n - 2, 0) differ
    given = []
    for spec, x in zip(specs, args, strict=True):
        text = ",".join(spec.get(i, str(n)) for i, n in enumerate(x.shape))
        shape = export.symbolic_shape(text, scope=scope)
        given.append(jax.ShapeDtypeStruct(shape, x.dtype))
    return jax.jit(export.export(jax.jit(function))(*given).call)


def columns(name: str, sizes: int, again: int, shapes: bool) -> dict[str, tuple[float, float]]:
    sweep = SWEEPS[name]
    calls = [sweep.arguments(n) for n in range(FIRST, FIRST + sizes)]
    arrays = [tuple(map(np.array, args)) for args in calls]
    found = {"NumPy": swept(sweep.by_numpy, calls, again)}
    found["lazynp"] = swept(sweep.plain, arrays, again)
    jitted = np.jit(sweep.sized, abstracted_axes=sweep.axes)
    found["`abstracted_axes`"] = swept(jitted, arrays, again)
    if shapes and name != "selected":
        found["`jit` by shape"] = swept(np.jit(sweep.plain), arrays, again)
    try:
        jax = import_module("jax")
    except ImportError:
        return found
    if sweep.of_jax is None:
        return found
    jax.config.update("jax_enable_x64", True)
    function = sweep.of_jax(jax, import_module("jax.numpy"))
    if shapes:
        found["`jax.jit` by shape"] = swept(jax.jit(function), calls, again)
    try:
        found["`jax.export`"] = swept(exported(jax, function, sweep.axes, calls[0]), calls, again)
    except Exception as error:  # `range` over a symbolic size, ...
        print(f"jax.export of {name}: {type(error).__name__}: {str(error)[:100]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, default=200)
    parser.add_argument("--again", type=int, default=9)
    parser.add_argument("--only", nargs="*", choices=list(SWEEPS), default=list(SWEEPS))
    parser.add_argument("--no-shapes", action="store_true")
    options = parser.parse_args()
    print("| sweep | | first | later |\n|---|---|---|---|")
    for name in options.only:
        for column, (first, later) in columns(
            name, options.sizes, options.again, not options.no_shapes
        ).items():
            print(f"| {name} | {column} | {first:.3g} | {later:.3g} |", flush=True)


if __name__ == "__main__":
    main()
