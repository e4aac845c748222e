"""One program, one size, one process: time and compare; prints a line of JSON for each result.

python benchmarks/worker.py NAME SIZE lazynp|jax|numpy|profile [--repeats N] [--seconds S]

The first call comes before NumPy has run the program, so nothing is warm. After it, calls of both
sides alternate, so that a change of the machine's speed affects them equally. Then calls go on
until the seconds are over; every fourth is followed by one of NumPy. Arguments are made
anew for every call, before the clock starts; results and written arrays are read before it stops.
On Linux, `peak` is the maximum by which the process grew during the first call, in bytes. `profile`
says where the time went in the fastest of some later calls of lazynp.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import numpy


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def memory(field: str) -> int:
    """Bytes of this process, from /proc/self/status: the present size `VmRSS`, or the peak
    `VmHWM`.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{field}:")[1].split()[0])


class Side:
    """A module and the program on it."""

    def __init__(self, kernel: Callable[..., Any], array: Callable[[Any], Any]) -> None:
        self.kernel, self.array = kernel, array

    def first(self, inputs: Any) -> tuple[Any, dict[str, int]]:
        """`run`, and by how much the process grew meanwhile."""
        if not Path("/proc/self/clear_refs").exists():
            return self.run(inputs), {}
        gc.collect()
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        done = self.run(inputs)
        return done, {"peak": memory("VmHWM") - before}

    def run(
        self, inputs: Any, collect: bool = True
    ) -> tuple[float, list[numpy.ndarray], list[numpy.ndarray]]:
        """Seconds; the results (or the written arrays, if there are none); and both."""
        arguments = harness.converted(inputs, self.array)
        if collect:
            gc.collect()
        begin = time.perf_counter()
        result = self.kernel(*arguments)
        seen = harness.outcome(result, arguments)
        seconds = time.perf_counter() - begin
        return seconds, harness.on_host(result) if result is not None else seen, seen


def numpy_side(name: str) -> Side:
    return Side(harness.load(name).kernel, numpy.array)


def lazynp_side(name: str) -> tuple[Side, Callable[[], int]]:
    """The side, and a function that counts the programs it has compiled so far."""
    module = harness.import_module("lazynp")
    side = Side(harness.load(name, "lazynp").kernel, module.array)
    return side, lambda: module.stats().compiles


def jax_side(name: str) -> tuple[Side, Callable[[], int | None]]:
    versions = harness.import_module("jax_versions")
    return Side(versions.VERSIONS[name], versions.array), lambda: None


def measure(name: str, size: str, module: str, repeats: int, seconds: float) -> None:
    source = harness.load(name)
    inputs = source.inputs(size)
    rtol = getattr(source, "RTOL", None)
    base = numpy_side(name)
    if module == "numpy":
        done, grown = base.first(inputs)
        say(numpy_first=done[0], **{f"numpy_{k}": v for k, v in grown.items()})
        if repeats:
            say(numpy=[base.run(inputs)[0] for _ in range(repeats)])
        return
    if module == "profile":
        profile(name, inputs, base, repeats)
        return
    side, compiles = lazynp_side(name) if module == "lazynp" else jax_side(name)

    def check(got: tuple[Any, ...]) -> str | None:
        if module == "lazynp":
            return harness.difference(want[2], got[2], rtol)
        return harness.difference(want[1], got[1], rtol, dtypes=False)

    got, grown = side.first(inputs)
    say(first=got[0], first_compiles=compiles(), **grown)
    want = base.run(inputs)
    say(numpy=[want[0]], wrong=check(got))
    times: dict[str, list[float]] = {"numpy": [], "repeated": []}
    begin = time.perf_counter()
    while len(times["repeated"]) < repeats:
        got = side.run(inputs)
        times["repeated"].append(got[0])
        times["numpy"].append(base.run(inputs)[0])
        say(**times, compiles=compiles())
        if len(times["repeated"]) >= 3 and time.perf_counter() - begin > seconds:
            break
    later: dict[str, list[float]] = {"numpy": times["numpy"], "later": []}
    while time.perf_counter() - begin < seconds:
        got = side.run(inputs, collect=False)
        later["later"].append(got[0])
        if len(later["later"]) % 4 == 0:
            later["numpy"].append(base.run(inputs, collect=False)[0])
    say(**later, compiles=compiles())
    wrong = check(got)
    if wrong is not None:
        say(wrong=f"repeated: {wrong}")


def profile(name: str, inputs: Any, base: Side, repeats: int) -> None:
    side, _ = lazynp_side(name)
    module = harness.import_module("lazynp")
    for _ in range(3):  # until everything worth compiling is compiled
        side.run(inputs)
    times, best = [], None
    for _ in range(max(repeats, 1)):
        times.append(base.run(inputs)[0])
        with module.profile() as watched:
            seconds = side.run(inputs)[0]
        if best is None or seconds < best[0]:
            best = seconds, watched
    seconds, watched = best  # type: ignore[misc]
    parts = {tier: tally.seconds for tier, tally in watched.tiers.items()}
    parts["compiling"] = watched.compiling.seconds + watched.loading.seconds
    runs = sum(tally.count for tally in watched.tiers.values())
    say(numpy=min(times), seconds=seconds, parts=parts, runs=runs, cuts=len(watched.cuts))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("size")
    parser.add_argument("module", choices=("lazynp", "jax", "numpy", "profile"))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        measure(options.name, options.size, options.module, options.repeats, options.seconds)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        lines = [f"{f.name}:{f.lineno}" for f in where if "programs" in f.filename]
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        say(error=f"{text[:200]} (in {', '.join(lines) or 'the harness'})")


if __name__ == "__main__":
    main()
