"""Rounds of loops: microseconds a round, in four columns, for bodies of several sizes.

    .venv/bin/python benchmarks/rounds.py [--only heat] [--rounds 300]

NumPy; unmodified (after the loop has run often enough that its program has paid); `jit` of the
body, called in each round; the whole loop as one `fori_loop`. Each row runs in its own process. The
times are processor time of the whole process, the best of several calls, so that a busy machine
matters little.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import lazynp

State = tuple[Any, ...]


def heat(np: Any, n: int) -> State:
    u = np.zeros((n, n))
    u[n // 4 : n // 2, n // 4 : n // 2] = 1.0
    return (u,)


def heat_step(np: Any, u: Any) -> State:
    u[1:-1, 1:-1] += 0.1 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    return (u,)


def chain(np: Any, n: int) -> State:
    return np.linspace(0, 1, n), np.linspace(0.1, 0.3, n)


def chain_step(np: Any, x: Any, c: Any) -> State:
    y = x * c + 0.5
    z = y - x * 0.25
    w = z * z - y
    v = w * 0.1 + z
    return v - w * 0.3, c


def lorenz(np: Any, n: int) -> State:
    return (np.ones(3) if n == 1 else np.ones((3, n)),)


def lorenz_step(np: Any, s: Any) -> State:
    x, y, z = s[0], s[1], s[2]
    d = np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])
    return (s + 0.001 * d,)


def shallow_water(np: Any, n: int) -> State:
    h = np.ones((n, n))
    h[n // 3 : n // 2, n // 3 : n // 2] += 0.1
    return h, np.zeros((n, n)), np.zeros((n, n))


def shallow_water_step(np: Any, h: Any, u: Any, v: Any) -> State:
    u[1:-1, 1:-1] -= 0.01 * (h[1:-1, 2:] - h[1:-1, :-2])
    v[1:-1, 1:-1] -= 0.01 * (h[2:, 1:-1] - h[:-2, 1:-1])
    h[1:-1, 1:-1] -= 0.01 * (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1])
    u[0] = 0.0
    u[-1] = 0.0
    v[:, 0] = 0.0
    v[:, -1] = 0.0
    return h, u, v


def alternating(np: Any, n: int) -> State:
    return np.linspace(0, 1, n), np.zeros(n)


def alternating_step(np: Any, a: Any, b: Any) -> State:
    b[1:-1] = 0.5 * a[1:-1] + 0.25 * (a[2:] + a[:-2])
    return b, a


BODIES: dict[str, tuple[Callable[..., State], Callable[..., State], tuple[int, ...]]] = {
    "heat": (heat, heat_step, (64, 128, 256, 512)),
    "chain": (chain, chain_step, (10, 1000, 10**4, 10**5)),
    "lorenz": (lorenz, lorenz_step, (1, 1000)),
    "shallow_water": (shallow_water, shallow_water_step, (62, 110, 220)),
    "alternating": (alternating, alternating_step, (500, 10**5)),
}
_CALLS = 6
_WARM_SECONDS = 20.0  # at most, until an unmodified loop has its program
_SAME = 10  # calls without a new program: first a round may have one, then the loop


def row(name: str, n: int, rounds: int) -> list[float]:
    """Microseconds a round: NumPy, unmodified, jit of the body, the whole loop."""
    make, step, _ = BODIES[name]

    def looped(np: Any, body: Callable[..., State]) -> State:
        state = make(np, n)
        for _ in range(rounds):
            state = body(*state)
        return tuple(numpy.asarray(x) for x in state)

    def ours(*state: Any) -> State:
        return step(lazynp, *state)

    jitted = lazynp.jit(ours)
    whole = lazynp.jit(lambda *s: lazynp.fori_loop(0, rounds, lambda i, s: ours(*s), s))
    until, same = time.perf_counter() + _WARM_SECONDS, 0
    while same < _SAME and time.perf_counter() < until:
        compiled = lazynp.stats().compiles
        looped(lazynp, ours)
        same = same + 1 if compiled == lazynp.stats().compiles > 0 else 0
    columns: list[Callable[[], Any]] = [
        lambda: looped(numpy, lambda *s: step(numpy, *s)),
        lambda: looped(lazynp, ours),
        lambda: looped(lazynp, jitted),
        lambda: [numpy.asarray(x) for x in whole(*make(lazynp, n))],
    ]
    return [_best(call) / rounds * 1e6 for call in columns]


def _best(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(_CALLS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(BODIES))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--row", nargs=2)
    options = parser.parse_args()
    if options.row:
        print(*[f"{t:.2f}" for t in row(options.row[0], int(options.row[1]), options.rounds)])
        return
    print("| body | NumPy | unmodified | `jit` of the body | whole loop |")
    print("|---|---|---|---|---|")
    for name in options.only:
        for n in BODIES[name][2]:
            command = [sys.executable, __file__, "--rounds", str(options.rounds), "--row", name]
            done = subprocess.run([*command, str(n)], capture_output=True, text=True, check=True)
            print(f"| {name} {n} |", " | ".join(done.stdout.split()), "|", flush=True)


if __name__ == "__main__":
    main()
