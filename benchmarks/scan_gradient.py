"""The gradient through many steps of a stencil by `scan`, and by checkpointed `scan`.

python benchmarks/scan_gradient.py [--size N] [--steps N]

Each variant runs in its own process: lazynp with a step that assigns to a slice, and jax (if
installed) with the same step written for jax. Prints the first call, the median of three more, and
the peak memory of the process. Checkpointed: sqrt(steps) blocks of as many steps, and only the
state at the start of each block is kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy


def new_inside(u: Any) -> Any:
    """Diffusion and a cubic sink on the interior of the grid."""
    mid = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return mid + 0.1 * (around - 4 * mid) - 0.01 * mid**3


def with_lazynp() -> tuple[Any, Any, Any, Any, Any, Any]:
    import lazynp as np  # noqa: PLC0415

    def step(u: Any, _: Any) -> Any:
        u = u.copy()
        u[1:-1, 1:-1] = new_inside(u)
        return u, None

    return np.array, np.scan, np.checkpoint, np.grad, np.jit, step


def with_jax() -> tuple[Any, Any, Any, Any, Any, Any]:
    import jax  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)

    def step(u: Any, _: Any) -> Any:
        return u.at[1:-1, 1:-1].set(new_inside(u)), None

    return jax.numpy.array, jax.lax.scan, jax.checkpoint, jax.grad, jax.jit, step


def measure(module: str, how: str, size: int, steps: int) -> str:
    array, scan, checkpoint, grad, jit, step = (with_jax if module == "jax" else with_lazynp)()
    blocks = int(steps**0.5)

    def plain(u: Any) -> Any:
        return (scan(step, u, None, length=steps)[0] ** 2).sum()

    def checkpointed(u: Any) -> Any:
        block = checkpoint(lambda u, _: scan(step, u, None, length=steps // blocks))
        return (scan(block, u, None, length=blocks)[0] ** 2).sum()

    gradient = jit(grad(checkpointed if how == "checkpointed" else plain))
    start = array(numpy.random.default_rng(0).random((size, size)))
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        numpy.asarray(gradient(start))
        times.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again = statistics.median(times[1:])
    return f"{module:8}{how:14}{times[0]:8.2f} s first{again:8.2f} s again{peak:8.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(measure(*given.one, given.size, given.steps))
        return
    modules = [m for m in ("lazynp", "jax") if importlib.util.find_spec(m)]
    for how in ("plain", "checkpointed"):
        for module in modules:
            options = ["--size", str(given.size), "--steps", str(given.steps), "--one", module, how]
            subprocess.run([sys.executable, __file__, *options], check=True)


if __name__ == "__main__":
    main()
