"""Loops over elements: NumPy, lazynp under a bare `jit`, and numba's `njit`, on the same sources.

python benchmarks/loops.py [--repeats N] [--only NAME]

Each program runs in one process with all libraries in turn; figures are the best of several calls.
The first call of a compiled function is measured apart. numba is left out where it is missing, and
where it refuses a program. Every result is compared with NumPy's.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import math
import os
import time
import types
import warnings
from typing import Any

import numpy

from benchmarks import loop_programs

lazy: Any = importlib.import_module(os.environ.get("LAZYNP_TEST_MODULE", "lazynp"))


def over(function: Any, namespace: Any) -> Any:
    """The program with this namespace as its `np`."""
    scope = {**function.__globals__, "np": namespace}
    made = types.FunctionType(function.__code__, scope, function.__name__)
    made.__module__ = function.__module__
    return made


def seconds(function: Any, args: tuple[Any, ...]) -> tuple[float, Any]:
    given = copy.deepcopy(args)
    begin = time.perf_counter()
    out = numpy.asarray(function(*given))
    return time.perf_counter() - begin, out


def best(function: Any, args: tuple[Any, ...], repeats: int) -> float:
    return min(seconds(function, args)[0] for _ in range(repeats))


def measured(function: Any, args: tuple[Any, ...], repeats: int, numba: Any) -> list[float]:
    """NumPy; lazynp's first call and a later one; numba's."""
    plain, want = seconds(over(function, numpy), args)
    plain = min(plain, best(over(function, numpy), args, 2))
    row = [plain]
    ours = lazy.jit(over(function, lazy))
    arrays = tuple(lazy.array(a) if isinstance(a, numpy.ndarray) else a for a in args)
    first, got = seconds(ours, arrays)
    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    row += [first, best(ours, arrays, repeats)]
    if numba is None:
        return [*row, math.nan, math.nan]
    try:
        theirs = numba.njit(over(function, numpy))
        first, _ = seconds(theirs, args)
        return [*row, first, best(theirs, args, repeats)]
    except numba.core.errors.NumbaError:
        return [*row, math.nan, math.nan]


def mean(ratios: list[float]) -> float:
    """Geometric, of those that are known."""
    known = [math.log(r) for r in ratios if not math.isnan(r)]
    return math.exp(sum(known) / len(known)) if known else math.nan


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        numba = None
        print("numba is not installed: left out")
    warnings.simplefilter("ignore")
    print(f"{'ms':16}{'NumPy':>9}{'first':>9}{'jit':>9}{'x NumPy':>9}{'numba 1st':>10}{'numba':>9}"
          f"{'of numba':>9}")  # fmt: skip
    faster, of_numba = [], []
    for function, args in loop_programs.inputs().items():
        if options.only in function.__name__:
            row = measured(function, args, options.repeats, numba)
            faster.append(row[0] / row[2])
            of_numba.append(row[4] / row[2])
            ms = [f"{1e3 * t:9.3f}" for t in row]
            print(f"{function.__name__:16}{ms[0]}{ms[1]}{ms[2]}{faster[-1]:9.1f}{ms[3]:>10}{ms[4]}"
                  f"{of_numba[-1]:9.3f}", flush=True)  # fmt: skip
    print(f"geometric mean: {mean(faster):.1f} times NumPy, {mean(of_numba):.3f} of numba")


if __name__ == "__main__":
    main()
