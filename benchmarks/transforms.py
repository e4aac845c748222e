"""The cost of transformations, beside jax and autograd if they are installed.

python benchmarks/transforms.py [--repeats N]

Everything runs in one process, in turn, round after round; figures are medians. A missing library
is left out, and a line says so. Arrays have 8 float64 elements, so this measures Python.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

lazy: Any = importlib.import_module(os.environ.get("LAZYNP_TEST_MODULE", "lazynp"))

OPERATIONS = 1000  # in the loop that is traced and differentiated
# between two readings of the clock: so few may be pending before lazynp looks for a place to flush
CALLS = 5
Rows = dict[str, dict[str, Callable[[], float]]]  # label -> library -> seconds


def optional(name: str) -> Any:
    """The module, or None if it is not installed here."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


def loop(np: Any) -> Callable[[Any], Any]:
    """A Python loop of 1000 operations on a small array, reduced to a number."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(OPERATIONS // 5):
            y = np.sin(y) * 0.5 + y * x - 0.25
        return y.sum()

    return f


def elapsed(f: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    kept = f()
    seconds = time.perf_counter() - begin
    del kept
    return seconds


def several(f: Callable[[], Any]) -> float:
    """The seconds of one call, averaged over a few."""
    return elapsed(lambda: [f() for _ in range(CALLS)]) / CALLS


def small(np: Any) -> Callable[[Any], Any]:
    return lambda x: np.sin(x) * 2.0 + 1.0


# -- the rows of each library ----------------------------------------------------------------------


def of_lazynp() -> dict[str, Callable[[], float]]:
    x, f = lazy.linspace(0.1, 0.9, 8), loop(lazy)
    jitted, jitted_grad = lazy.jit(small(lazy)), lazy.jit(lazy.grad(f))

    def calls() -> float:
        seconds = several(lambda: jitted(x))
        float(x[0] + 1.0)  # forgets recorded and dropped operations
        return seconds

    def by_reference(g: Callable[[Any], Any]) -> float:
        with lazy.config(execution="reference"):
            return elapsed(lambda: numpy.asarray(g(x)))

    return {
        "jit call": calls,
        "jit call, and its value": lambda: several(lambda: lazy.materialize(jitted(x))),
        "tracing, per operation": lambda: elapsed(lambda: lazy.make_jaxpr(f)(x)) / OPERATIONS,
        "tracing a gradient, per operation": lambda: (
            elapsed(lambda: lazy.make_jaxpr(lazy.grad(f))(x)) / OPERATIONS
        ),
        "1000 operations": lambda: by_reference(f),
        "gradient of 1000 operations": lambda: by_reference(lazy.grad(f)),
        "jitted gradient, again": lambda: elapsed(lambda: lazy.materialize(jitted_grad(x))),
    }


def of_jax(jax: Any) -> dict[str, Callable[[], float]]:
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    x, f = jnp.linspace(0.1, 0.9, 8), loop(jnp)
    jitted, jitted_grad = jax.jit(small(jnp)), jax.jit(jax.grad(f))

    def anew(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
        # a new function, because jax caches the jaxprs of functions that it knows
        return lambda x: g(x)

    return {
        "jit call": lambda: several(lambda: jitted(x)),
        "jit call, and its value": lambda: several(lambda: jitted(x).block_until_ready()),
        "tracing, per operation": lambda: elapsed(lambda: jax.make_jaxpr(anew(f))(x)) / OPERATIONS,
        "tracing a gradient, per operation": lambda: (
            elapsed(lambda: jax.make_jaxpr(anew(jax.grad(f)))(x)) / OPERATIONS
        ),
        "1000 operations": lambda: elapsed(lambda: f(x).block_until_ready()),
        "gradient of 1000 operations": lambda: elapsed(lambda: jax.grad(f)(x).block_until_ready()),
        "jitted gradient, again": lambda: elapsed(lambda: jitted_grad(x).block_until_ready()),
    }


def of_autograd(autograd: Any) -> dict[str, Callable[[], float]]:
    np = importlib.import_module("autograd.numpy")
    x, f = numpy.linspace(0.1, 0.9, 8), loop(np)
    return {
        "1000 operations": lambda: elapsed(lambda: f(x)),
        "gradient of 1000 operations": lambda: elapsed(lambda: autograd.grad(f)(x)),
    }


# -- measuring -------------------------------------------------------------------------------------


def measured(rows: Rows, rounds: int) -> dict[str, dict[str, float]]:
    """Medians in seconds; the first round of each row is a warm-up."""
    times: dict[str, dict[str, list[float]]] = {k: {n: [] for n in row} for k, row in rows.items()}
    for _ in range(rounds + 1):
        for label, row in rows.items():
            for library, run in row.items():
                times[label][library].append(run())
    return {
        label: {library: statistics.median(seen[1:]) for library, seen in row.items()}
        for label, row in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds")
    rounds = parser.parse_args().repeats
    libraries = {"lazynp": of_lazynp()}
    for name, make in (("jax", of_jax), ("autograd", of_autograd)):
        module = optional(name)
        if module is not None:
            libraries[name] = make(module)
    labels = list(libraries["lazynp"])
    rows: Rows = {k: {n: lib[k] for n, lib in libraries.items() if k in lib} for k in labels}
    print(f"microseconds, medians of {rounds} rounds; lazynp runs gradients by reference\n")
    others = [name for name in libraries if name != "lazynp"]
    print(f"{'':36}{'lazynp':>10}" + "".join(f"{name:>12}{'ratio':>8}" for name in others))
    for label, row in measured(rows, rounds).items():
        line = f"{label:36}{1e6 * row['lazynp']:10.1f}"
        for name in others:
            seconds = row.get(name)
            line += " " * 20 if seconds is None else (
                f"{1e6 * seconds:12.1f}{row['lazynp'] / seconds:8.2f}"
            )  # fmt: skip
        print(line)


if __name__ == "__main__":
    main()
