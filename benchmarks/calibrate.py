"""The cost of operations by NumPy and compiled: the measurements behind lazynp/_cost.py.

    python benchmarks/calibrate.py [--only NAME...] [--repeats N] [--rows]

Each operation runs alone at three sizes, by the reference interpreter and as a compiled program.
Printed are microseconds for a call (the least of the repeats: what else the machine does only
adds), and per thousand elements what the largest size costs more than the smallest. At the end:
what compiling costs, against the number of operations.

`--rows` prints the cost of every elementwise row instead: nanoseconds an element beyond moving it,
and the `cost` that the row declares.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

import lazynp as np
from lazynp import _cost
from lazynp.primitives.elementwise_factory import ROWS

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


def row_operands(name: str, n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands that the row takes, inside its domain, and its parameters."""
    rng = numpy.random.default_rng(0)
    unit, greater = rng.random(n) * 0.4 + 0.5, rng.random(n) + 1.5
    integers, few = rng.integers(1, 1000, n), rng.integers(1, 8, n)
    mask = rng.random(n) < 0.5
    special: dict[str, tuple[Any, ...]] = {
        "arccosh": (greater,), "zeta": (greater, unit), "select": (mask, unit, greater),
        "polygamma": (few, unit), "ldexp": (unit, few), "left_shift": (integers, few),
        "right_shift": (integers, few), "real": (unit + 1j,), "imag": (unit + 1j,),
        "conjugate": (unit + 1j,),
    }  # fmt: skip
    params = {"convert": {"dtype": numpy.dtype("f4")}, "integer_power": {"exponent": 3}}
    if name in special:
        return special[name], {}
    if name in params:
        return (unit,), params[name]
    ufunc = ROWS[name].ufunc
    count = 2 if ufunc is None else ufunc.nin
    real = ufunc is None or any("d" in loop.split("->")[0] for loop in ufunc.types)
    return ((unit, greater) if real else (integers, few))[:count], {}


def print_rows(only: list[str], repeats: int) -> None:
    """Between two sizes that fit into the caches: what is left is not the memory's."""
    small, large = 2_000, 32_000
    print(f"{'row':18}{'by NumPy':>12}{'by XLA':>12}{'declared':>18}")
    for name, row in ROWS.items():
        if only and name not in only:
            continue
        found = []
        for tier in ("reference", "compiled"):
            times = []
            for n in (small, large):
                operands, params = row_operands(name, n)
                arrays = [np.array(x) for x in operands]
                with np.config(execution=tier):
                    result = np.materialize(row.primitive(*arrays, **params))
                    times.append(least(partial(row.primitive, *arrays, **params), repeats))
            moved = result.itemsize + sum(a.itemsize for a in arrays)
            per_byte = _cost.MOVED if tier == "reference" else _cost.MOVED_FUSED
            found.append(1e3 * ((times[1] - times[0]) / (large - small) - moved * per_byte))
        print(f"{name:18}{found[0]:12.2f}{found[1]:12.2f}{row.primitive.cost!s:>18}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--rows", action="store_true", help="the elementwise rows, nothing else")
    options = parser.parse_args()
    if options.rows:
        print_rows(options.only, options.repeats)
        return
    print_operations(options.only, options.repeats)
    print_compiling()


if __name__ == "__main__":
    main()
