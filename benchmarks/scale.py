"""What sharded programs move, what a call of one costs, and what scaling that promises.

    .venv/bin/python benchmarks/scale.py            # bytes a step; calls beside their floor
    .venv/bin/python benchmarks/scale.py --paper    # compiled for 1 to 64 virtual devices, not run

Bytes and collectives are counted, and the same on every machine; tests check them. `--paper` reads
the operations and the bytes that one device computes and sends from the compiled programs, and
computes times from stated rates: nothing is run, and nothing overlaps.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import lazynp as np
from benchmarks import harness
from benchmarks.hlo import operations

P = np.PartitionSpec
Moved = dict[str, int]


def rows(*shape: int, devices: int = 8, dtype: Any = float) -> Any:
    """Random numbers, split by rows."""
    value = numpy.random.default_rng(0).normal(size=shape).astype(dtype)
    return np.device_put(value, np.NamedSharding(np.make_mesh((devices,), ("x",)), P("x")))


# -- what a step moves -----------------------------------------------------------------------------


def heat(height: int, steps: int = 50) -> Any:
    u = rows(height, 64)
    harness.load("heat_2d", "lazynp").kernel(u, steps)
    return u


def gradient(x: Any) -> Any:
    """Of a network's loss with respect to 32 * 16 + 16 parameters; the examples are split."""
    mesh = x.sharding.mesh
    first = np.device_put(numpy.full((32, 16), 0.1), np.NamedSharding(mesh, P()))
    second = np.device_put(numpy.full((16, 1), 0.1), np.NamedSharding(mesh, P()))

    def loss(a: Any, b: Any) -> Any:
        return ((np.tanh(x @ a) @ b - x[:, :1]) ** 2).mean()

    return np.grad(loss, (0, 1))(first, second)


PARAMETERS = 8 * (32 * 16 + 16)  # bytes


def matrices(x: Any) -> Any:
    a = x.reshape(len(x), 4, 8)
    return a @ a.swapaxes(1, 2) + numpy.eye(4)


def ordered() -> Any:
    return np.sort(rows(256, 32), axis=1)


def places() -> Any:
    """Indices into 32 columns, which a program has to check."""
    return (np.abs(rows(256, 5)) * 10).astype(int) % 32


def stored(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i] = 2.0
    return x


def stored_beside(x: Any, i: Any) -> Any:
    x = x.copy()
    x[np.arange(len(x))[:, None], i] = 2.0
    return x


STEPS: dict[str, Callable[[], Any]] = {
    "heat_2d, 128 rows, 50 steps": lambda: heat(128),
    "heat_2d, 1024 rows, 50 steps": lambda: heat(1024),
    "gradient of 4224 bytes of parameters": lambda: gradient(rows(256, 32)),
    "sum": lambda: rows(256, 32).sum(),
    "elementwise": lambda: np.sin(rows(256, 32)) * 2 + 1,
    "sum, axis 1": lambda: rows(256, 32).sum(1),
    "max, axis 1": lambda: rows(256, 32).max(1),
    "cumsum, axis 1": lambda: rows(256, 32).cumsum(1),
    "fft, axis 1": lambda: np.fft.fft(rows(256, 32), axis=1),
    "sort, axis 1": lambda: np.sort(rows(256, 32), axis=1),
    "argsort, axis 1": lambda: np.argsort(rows(256, 32), axis=1),
    "median, axis 1": lambda: np.median(rows(256, 32), axis=1),
    "solve, stack of matrices": lambda: np.linalg.solve(matrices(rows(256, 32)), numpy.eye(4)),
    "cholesky, stack of matrices": lambda: np.linalg.cholesky(matrices(rows(256, 32))),
    "svd, stack of matrices": lambda: np.linalg.svd(matrices(rows(256, 32)))[1],
    "vmap of fft": lambda: np.vmap(np.fft.fft)(rows(256, 32)),
    "vmap of sort": lambda: np.vmap(np.sort)(rows(256, 32)),
    "vmap of cumsum": lambda: np.vmap(np.cumsum)(rows(256, 32)),
    "vmap of inv": lambda: np.vmap(np.linalg.inv)(matrices(rows(256, 32))),
    "vmap of searchsorted": lambda: np.vmap(np.searchsorted)(ordered(), rows(256, 32)),
    "jit of vmap of searchsorted": lambda: np.jit(np.vmap(np.searchsorted))(
        ordered(), rows(256, 32)
    ),
    "jit of x[i] of each row": lambda: np.jit(np.vmap(lambda x, i: x[i]))(rows(256, 32), places()),
    "jit of take_along_axis": lambda: np.jit(lambda x, i: np.take_along_axis(x, i, 1))(
        rows(256, 32), places()
    ),
    "jit of stores into each row": lambda: np.jit(np.vmap(stored))(rows(256, 32), places()),
    "jit of x[arange(n)[:, None], i]": lambda: np.jit(
        lambda x, i: x[np.arange(len(x))[:, None], i]
    )(rows(256, 32), places()),
    "jit of stores at [arange(n)[:, None], i]": lambda: np.jit(stored_beside)(
        rows(256, 32), places()
    ),
    "fft, axis 0": lambda: np.fft.fft(rows(256, 32), axis=0),
    "sort, axis 0": lambda: np.sort(rows(256, 32), axis=0),
}


def moved(name: str) -> tuple[Moved, int, Any]:
    """The collectives of a step, their bytes, and its result."""
    stats = np.stats()
    before, size = dict(stats.collectives), stats.collective_bytes
    result = np.materialize(STEPS[name]())
    counts = {k: n - before.get(k, 0) for k, n in stats.collectives.items()}
    return {k: n for k, n in counts.items() if n}, stats.collective_bytes - size, result


def show_steps() -> None:
    print("\n| program, split by rows over 8 devices | collectives | bytes | result |")
    print("|---|---|---|---|")
    for name in STEPS:
        kinds, size, result = moved(name)
        text = ", ".join(f"{n} {k}" for k, n in kinds.items()) or "-"
        leaf: Any = np.tree.leaves(result)[0]
        found = leaf.sharding.spec
        print(f"| {name} | {text} | {size:,} | `{str(found).replace('Partition', '')}` |")


# -- what a call costs -----------------------------------------------------------------------------


def chain(x: Any) -> Any:
    return np.sin(x) * 2 + x * x - 1


def call_ratio(
    devices: int, size: int, calls: int = 20, rounds: int = 100
) -> tuple[float, float, float]:
    """Microseconds of one of many jitted calls in a row, and of one of as many bare executions:
    best of the rounds. And the ratio, the median of the rounds': others may use the machine.
    """
    f, x = np.jit(chain), rows(size, size, devices=devices)
    for _ in range(4):  # the first ones wait for others to run with
        np.materialize(f(x))
    executable = f.lower(x).compile()._program.executable
    buffer = x._read()[2].force()
    start, consume = executable._loaded.execute_sharded, executable._consume

    def bare() -> None:
        for _ in range(calls):
            result = consume(start([buffer]))[0]
        result.block_until_ready()

    def jitted() -> None:
        for _ in range(calls):
            result = np.materialize(f(x))
        result._read()[2].force().block_until_ready()

    found: dict[Any, list[float]] = {jitted: [], bare: []}
    for _ in range(rounds):
        for run, times in found.items():
            began = time.perf_counter()
            run()
            times.append((time.perf_counter() - began) / calls * 1e6)
    ratio = numpy.median(numpy.divide(found[jitted], found[bare]))
    return min(found[jitted]), min(found[bare]), float(ratio)


def show_calls() -> None:
    print("\n| jitted call | us | bare execution, us | ratio |")
    print("|---|---|---|---|")
    for devices in (2, 4, 8):
        for size in (64, 512):
            ours, floor, ratio = call_ratio(devices, size)
            what = f"{devices} devices, {size} x {size}"
            print(f"| {what} | {ours:.0f} | {floor:.0f} | {ratio:.2f} |")


# -- on paper --------------------------------------------------------------------------------------

DEVICES = (1, 2, 4, 8, 16, 32, 64)
LINKS = {"25 Gb/s": 25e9 / 8, "400 Gb/s": 400e9 / 8, "450 GB/s": 450e9}  # bytes a second
RATES = {"1 Tflop/s": 1e12, "10 Tflop/s": 1e13}


def heat_step(u: Any) -> Any:
    u = u.copy()
    u[1:-1, 1:-1] += 0.2 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    return u


def training(x: Any, y: Any, first: Any, second: Any) -> Any:
    def loss(first: Any, second: Any) -> Any:
        return ((np.tanh(x @ first) @ second - y) ** 2).mean()

    slopes = np.grad(loss, (0, 1))(first, second)
    return first - 0.1 * slopes[0], second - 0.1 * slopes[1]


def line(devices: int) -> Any:
    return np.make_mesh((devices,), ("x",))


def squarest(devices: int) -> Any:
    across = 2 ** (int(math.log2(devices)) // 2)
    return np.make_mesh((devices // across, across), ("x", "y"))


Shapes = list[tuple[tuple[int, ...], Any]]
# function, and for a mesh of n devices the shapes and specs of its arguments
PAPER: dict[str, tuple[Callable[..., Any], Callable[[int], Any], Callable[[Any, int], Shapes]]] = {
    "heat_2d": (heat_step, line, lambda m, n: [((512 * n, 2048), P("x"))]),
    "matmul, rows x whole": (
        np.matmul, line, lambda m, n: [((512 * n, 1024), P("x")), ((1024, 1024), P())],
    ),
    "matmul, rows x columns": (
        np.matmul, squarest,
        lambda m, n: [
            ((512 * m.shape["x"], 1024), P("x", None)), ((1024, 512 * m.shape["y"]), P(None, "y")),
        ],
    ),
    "matmul, inner axis split": (
        np.matmul, line,
        lambda m, n: [((1024, 512 * n), P(None, "x")), ((512 * n, 1024), P("x"))],
    ),
    "MLP training": (
        training, line,
        lambda m, n: [
            ((1024 * n, 512), P("x")), ((1024 * n, 16), P("x")),
            ((512, 512), P()), ((512, 16), P()),
        ],
    ),
    "fft2": (np.fft.fft2, line, lambda m, n: [((256 * n, 4096), P("x"))]),
}  # fmt: skip


class OnPaper(NamedTuple):
    """What one device does in a compiled program."""

    operations: float
    bytes: int  # of the collectives' results
    sent: int  # on a ring, which takes those of an all-reduce around twice

    def seconds(self, link: float, rate: float) -> float:
        """Without any overlap."""
        return self.operations / rate + self.sent / link


def on_paper(name: str, devices: int) -> OnPaper:
    function, mesh_of, arguments = PAPER[name]
    mesh = mesh_of(devices)
    dtype = complex if name == "fft2" else float
    shapes = [
        np.ShapeDtype(shape, dtype, sharding=np.NamedSharding(mesh, spec))
        for shape, spec in arguments(mesh, devices)
    ]
    compiled = np.jit(function).lower(*shapes).compile()
    found = compiled.collectives()
    size = sum(c.bytes * c.count for c in found)
    twice = sum(c.bytes * c.count for c in found if c.kind == "all-reduce")
    return OnPaper(operations(compiled.as_text()), size, size + twice)


def show_paper() -> None:
    print("\nCompiled for n virtual devices, not run.")
    print("\n| program | " + " | ".join(f"n = {n}" for n in DEVICES) + " |")
    print("|---" * (len(DEVICES) + 1) + "|")
    found = {name: [on_paper(name, n) for n in DEVICES] for name in PAPER}
    for name, each in found.items():
        print(f"| {name}: Mflop | " + " | ".join(f"{e.operations / 1e6:,.1f}" for e in each) + " |")
        print("| kB moved | " + " | ".join(f"{e.bytes / 1e3:,.1f}" for e in each) + " |")
    print("\nThe time of one device alone by that of one of 64, as far as rates tell.\n")
    heads = [f"{link}, {rate}" for link in LINKS for rate in RATES]
    print("| program | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for name, each in found.items():
        cells = [
            f"{each[0].seconds(link, rate) / each[-1].seconds(link, rate):.1%}"
            for link in LINKS.values()
            for rate in RATES.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--paper", action="store_true", help="compile for 1 to 64 devices")
    paper = parser.parse_args().paper
    np.config(cpu_devices=DEVICES[-1] if paper else 8)
    if paper:
        show_paper()
    else:
        show_steps()
        show_calls()


if __name__ == "__main__":
    main()
