"""The cost of recording one operation, as a multiple of NumPy's own addition.

python benchmarks/recording.py [--repeats N]

All rows run in one process, in turn, round after round, so that a change of the machine's speed
affects them equally. Each figure is the median of its rounds. The column `x add` has as its unit
NumPy's time to add two arrays of 8 elements, measured in the same rounds.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy

lazy: Any = import_module(os.environ.get("LAZYNP_TEST_MODULE", "lazynp"))

PER_ROUND = 200  # operations between two readings of the clock
FEW = 10  # operations that may be pending before lazynp looks for a place to flush


@dataclass
class Row:
    """One line of the table: a loop over an operation, and its times per operation in ns."""

    loop: Callable[[int], Any]
    count: int = PER_ROUND
    settle: Callable[[], Any] | None = None  # forces the recorded operations, outside the clock
    times: list[float] = field(default_factory=list)

    def run(self) -> None:
        begin = time.perf_counter_ns()
        pending = self.loop(self.count)
        self.times.append((time.perf_counter_ns() - begin) / self.count)
        del pending
        if self.settle is not None:
            self.settle()


def small_operations(np: Any) -> dict[str, Row]:
    """The rows of one module, by label."""
    a, b = np.arange(8.0), np.ones(8)
    m = np.ones((8, 8))
    target, inner = np.zeros(8), np.ones(6)

    def add(n: int) -> None:
        for _ in range(n):
            a + b

    def times_two(n: int) -> None:
        for _ in range(n):
            a * 2.0

    def slice_1d(n: int) -> None:
        for _ in range(n):
            a[1:-1]

    def slice_2d(n: int) -> None:
        for _ in range(n):
            m[1:-1, 1:-1]

    def element(n: int) -> None:
        for _ in range(n):
            a[3]

    def chain(n: int) -> Any:
        x = a
        for _ in range(n):
            x = x + b
        return x

    def store_slice(n: int) -> None:
        for _ in range(n):
            target[1:-1] = inner

    def store_element(n: int) -> None:
        for _ in range(n):
            target[3] = 2.0

    def settle() -> Any:
        return numpy.asarray(target)

    def forget() -> Any:
        return float((a + b)[0])  # a flush: dropped results are not computed

    # run many of NumPy's operations, so that they are warm; few of lazynp's, to measure only
    # recording
    alone = (PER_ROUND, None) if np is numpy else (FEW, forget)
    return {
        "a + b": Row(add, *alone),
        "a * 2.0": Row(times_two, *alone),
        "a[1:-1]": Row(slice_1d, *alone),
        "m[1:-1, 1:-1]": Row(slice_2d, *alone),
        "a[3]": Row(element, *alone),
        "a[1:-1] = b": Row(store_slice, FEW, settle),
        "a[3] = 2.0": Row(store_element, FEW, settle),
        # flushes happen inside these loops: they measure recording and running together
        "x = x + b, 200 in a row": Row(chain),
        "a[1:-1] = b, 200 in a row": Row(store_slice, settle=settle),
        "ten operations, float()": Row(ten_operations(np)),
    }


def ten_operations(np: Any) -> Callable[[int], None]:
    """Nine operations and float() on 8 elements: a cached program after a few runs."""
    a, b = np.arange(8.0), np.ones(8)

    def loop(n: int) -> None:
        for _ in range(n):
            x = a * 2.0 + b
            y = np.sqrt(x) - a
            z = (x * y + 1.5) / b - y
            float(z.sum())

    return loop


def print_small(rounds: int) -> None:
    """Print the table of recording costs."""
    modules = {"numpy": numpy, lazy.__name__: lazy}
    rows: dict[tuple[str, str], Row] = {}
    for name, np in modules.items():
        rows |= {(label, name): row for label, row in small_operations(np).items()}
    for row in rows.values():  # warm-up: fills memo tables, compiles programs
        for _ in range(10):
            row.run()
        row.times.clear()
    gc.collect()
    for _ in range(rounds):
        for row in rows.values():
            row.run()

    add = statistics.median(rows["a + b", "numpy"].times)
    print(f"unit: NumPy's a + b of 8 elements, {add:.0f} ns (median of {rounds} rounds)\n")
    print(f"{'operation':26}" + "".join(f"{name + ' ns':>13}{'x add':>8}" for name in modules))
    for label in dict.fromkeys(label for label, _ in rows):
        cells = [statistics.median(rows[label, name].times) for name in modules]
        print(f"{label:26}" + "".join(f"{ns:13.0f}{ns / add:8.2f}" for ns in cells))


def median_seconds(f: Callable[[], Any], rounds: int) -> float:
    """The median time of a call; its result is dropped after the clock stops."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        kept = f()
        times.append(time.perf_counter() - begin)
        del kept
    return statistics.median(times)


def print_transfers(rounds: int, megabytes: int = 100) -> None:
    """Print times of transfers from and to host memory, against NumPy's copy of as many bytes."""
    host = numpy.ones(megabytes * 125_000)
    inside = lazy.array(host)
    numpy.asarray(inside)
    copy = median_seconds(host.copy, rounds)
    print(f"\n{megabytes} MB of host memory; a copy by NumPy takes {1e3 * copy:.1f} ms\n")
    name = lazy.__name__
    transfers = {
        f"{name}.array(host)": lambda: lazy.array(host),
        f"{name}.asarray(host)": lambda: lazy.asarray(host),
        "numpy.asarray(x)": lambda: numpy.asarray(inside),
        "numpy.array(x)": lambda: numpy.array(inside),
        "numpy.asarray(x + 1.0)": lambda: numpy.asarray(inside + 1.0),
    }
    for label, f in transfers.items():
        seconds = median_seconds(f, rounds)
        print(f"{label:26}{1e3 * seconds:10.3f} ms{seconds / copy:8.2f} copies")
    first, again = numpy.asarray(inside), numpy.asarray(inside)
    print(f"numpy.asarray(x) twice shares memory: {numpy.shares_memory(first, again)}")
    print(f"what it returns can be written: {first.flags.writeable}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200, help="rounds of the small table")
    rounds = parser.parse_args().repeats
    if lazy is not numpy:
        print("As it is by default: loops of small operations are soon run, not recorded.\n")
        print_small(rounds)
        print("\nWith execution=compiled: everything is recorded.\n")
        lazy.config(execution="compiled")
    print_small(rounds)
    print_transfers(max(3, rounds // 20))


if __name__ == "__main__":
    main()
