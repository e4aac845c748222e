"""The cost of operations by NumPy and compiled: the measurements behind lazynp/_cost.py.

python benchmarks/calibrate.py [--only NAME...] [--repeats N]

Runs each operation alone at three sizes, by the reference interpreter and as a compiled program.
Prints microseconds for a call (the minimum of the repeats, because other load only adds time), and
the cost per thousand elements (from the difference between the largest and the smallest size). At
the end: the cost of compiling against the number of operations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np

SIZES = (1_000, 30_000, 1_000_000)


def operations(n: int) -> dict[str, Callable[[], Any]]:
    """One call of each kind on about n elements (for products, n is the size of the matrix)."""
    rng = numpy.random.default_rng(0)
    x, y = np.array(rng.random(n) + 0.5), np.array(rng.random(n) + 0.5)
    k = int(n**0.5)
    m, v = np.array(rng.random((k, k))), np.array(rng.random(k))
    z = np.array(rng.random((k, k)) + 1j)
    mask = np.array(rng.random(n) < 0.5)
    places = np.array(rng.integers(0, n, n))
    few = np.array(rng.integers(0, 100, n))
    integers = np.array(rng.integers(1, 1000, n))
    np.materialize((x, y, m, v, z, mask, places, few, integers))

    def put(target: Any, value: Any) -> Any:
        out = target.copy()
        out[places] = value
        return out

    def put_add(target: Any, value: Any) -> Any:
        out = np.zeros_like(target)
        np.add.at(out, places, value)
        return out

    return {
        "add": lambda: x + y,
        "divide": lambda: x / y,
        "sqrt": lambda: np.sqrt(x),
        "exp": lambda: np.exp(x),
        "log": lambda: np.log(x),
        "sin": lambda: np.sin(x),
        "tanh": lambda: np.tanh(x),
        "power": lambda: x**y,
        "power 3": lambda: x**3,
        "arctan2": lambda: np.arctan2(x, y),
        "floor_divide": lambda: integers // 7,
        "remainder": lambda: x % y,
        "compare": lambda: x < y,
        "where": lambda: np.where(mask, x, y),
        "convert": lambda: x.astype(np.float32),
        "transposed copy": lambda: m.T + m,
        "concatenate": lambda: np.concatenate([x, y]),
        "sum": lambda: x.sum(),
        "sum axis 0": lambda: m.sum(axis=0),
        "sum axis 1": lambda: m.sum(axis=1),
        "max": lambda: x.max(),
        "argmax": lambda: x.argmax(),
        "any": lambda: mask.any(),
        "cumsum": lambda: np.cumsum(x),
        "sort": lambda: np.sort(x),
        "argsort": lambda: np.argsort(x),
        "take": lambda: x[places],
        "put": lambda: put(x, y),
        "add.at": lambda: put_add(x, y),
        "bincount": lambda: np.bincount(few, weights=x, minlength=100),
        "matrix @ vector": lambda: m @ v,
        "vector @ matrix": lambda: v @ m,
        "matrix @ matrix": lambda: m @ m,
        "complex @": lambda: z @ z,
        "fft": lambda: np.fft.fft(x),
        "10 operations": lambda: ((x * y + 1.0) / (x + 2.0) - y * 0.5) * x + y / 3.0 - 1.0,
    }


def least(call: Callable[[], Any], repeats: int, seconds: float = 0.3) -> float:
    """Microseconds for a call, including the computation of its result, after a few warm-up
    runs.
    """
    for _ in range(4):
        np.materialize(call())
    best, end = float("inf"), time.perf_counter() + seconds
    for _ in range(repeats):
        begin = time.perf_counter()
        np.materialize(call())
        best = min(best, time.perf_counter() - begin)
        if time.perf_counter() > end:
            break
    return best * 1e6


def print_operations(only: list[str], repeats: int) -> None:
    columns = "".join(f"{f'{tier} {n}':>20}" for n in SIZES for tier in ("numpy", "compiled"))
    print(f"{'operation':18}{columns}{'ns/element':>22}")
    for name in operations(16):
        if only and name not in only:
            continue
        times = []
        for n in SIZES:
            for tier in ("reference", "compiled"):
                with np.config(execution=tier):
                    times.append(least(operations(n)[name], repeats))
        slopes = [1e3 * (times[4 + i] - times[i]) / (SIZES[2] - SIZES[0]) for i in (0, 1)]
        cells = "".join(f"{t:20.1f}" for t in times)
        print(f"{name:18}{cells}{slopes[0]:11.2f}{slopes[1]:11.2f}", flush=True)


def print_compiling() -> None:
    """Print the time to compile chains of operations that do not fuse into fewer."""
    print("\ncompiling: operations, milliseconds")
    x = np.array(numpy.random.default_rng(0).random(1000))
    functions = (np.sin, np.sqrt, np.exp, np.abs, np.tanh, np.square)
    with np.config(execution="compiled", cache="off"):
        for count in (1, 2, 4, 8, 16, 32, 64):
            before = np.stats().compile_seconds
            y = x
            for k in range(count):
                y = functions[k % len(functions)](y) + float(count)
            np.materialize(y)
            print(f"{2 * count:6d}{1e3 * (np.stats().compile_seconds - before):10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=2000)
    options = parser.parse_args()
    print_operations(options.only, options.repeats)
    print_compiling()


if __name__ == "__main__":
    main()
