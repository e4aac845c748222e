"""Value and gradient of programs that loop and write in place: `python benchmarks/derivatives.py`.

Each program runs by NumPy, by lazynp, and under `value_and_grad`, with and without `jit`; with
autograd and jax too, where they are installed and have the operations (autograd cannot write into
arrays, nor can jax). Best of several calls after the first, in ms. *gradient*: each call runs in
Python; *program*: after so many calls (and seconds) that the gradient has become a program. Each
program runs in a process of its own: programs of the others would count for it, or be in its way.
`--only NAME` chooses programs, `--jit` adds the compiled gradients, `--profile` prints where the
Python time of a gradient goes.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import lazynp

Program = tuple[Callable[[Any, Any], Any], Any, bool]  # f(np, x), x, whether it writes into arrays


def jacobi(np: Any, x: Any) -> Any:
    u = x.copy()
    for _ in range(30):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return (u * u).sum()


def horizontal_diffusion(np: Any, x: Any) -> Any:
    lap = 4.0 * x[1:-1, 1:-1] - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]
    across = lap[1:, 1:-1] - lap[:-1, 1:-1]
    across = np.where(across * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0.0, across)
    along = lap[1:-1, 1:] - lap[1:-1, :-1]
    along = np.where(along * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0.0, along)
    out = x[2:-2, 2:-2] - 0.1 * (across[1:] - across[:-1] + along[:, 1:] - along[:, :-1])
    return (out * out).sum()


def cavity(np: Any, x: Any) -> Any:
    u, v, p = x.copy(), np.zeros_like(x), np.zeros_like(x)
    for _ in range(10):
        b = (u[1:-1, 2:] - u[1:-1, :-2]) + (v[2:, 1:-1] - v[:-2, 1:-1])
        for _ in range(10):
            p[1:-1, 1:-1] = 0.25 * (
                p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
            ) - 0.1 * b  # fmt: skip
            p[:, -1] = p[:, -2]
            p[0] = p[1]
        u[1:-1, 1:-1] -= 0.1 * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] -= 0.1 * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[-1] = 1.0
    return (u * u + v * v).sum()


def implicit_columns(np: Any, x: Any) -> Any:
    u = x.copy()
    n = u.shape[0]
    p, q = np.zeros_like(u), np.zeros_like(u)
    for _ in range(2):
        q[:, 0] = u[:, 0]
        for j in range(1, n - 1):
            p[:, j] = -0.2 / (0.2 * p[:, j - 1] + 1.4)
            q[:, j] = (u[:, j] + 0.2 * q[:, j - 1]) / (0.2 * p[:, j - 1] + 1.4)
        for j in range(n - 2, 0, -1):
            u[:, j] = p[:, j] * u[:, j + 1] + q[:, j]
        u = u.T.copy()
    return (u * u).sum()


def rows(np: Any, x: Any) -> Any:
    u = x.copy()
    for i in range(1, u.shape[0]):
        u[i] += 0.5 * np.sin(u[i - 1])
    return (u * u).sum()


def trace_of_tanh(np: Any, x: Any) -> Any:
    out = np.tanh(x[:, None] * x)
    total = 0.0
    for i in range(out.shape[0]):
        total = total + out[i, i]
    return total


def gram_schmidt(np: Any, x: Any) -> Any:
    a = x.copy()
    n = a.shape[1]
    for j in range(n):
        a[:, j] = a[:, j] / np.sqrt((a[:, j] * a[:, j]).sum())
        for k in range(j + 1, n):
            a[:, k] -= (a[:, j] * a[:, k]).sum() * a[:, j]
    return (a[0] * a[0]).sum()


def smoke(np: Any, x: Any) -> Any:
    d, u, v = x.copy(), 0.1 * x, np.roll(x, 1, 0) * 0.1
    for _ in range(2):
        v[1:-1] += 0.1 * d[1:-1]
        div = np.roll(u, -1, 1) - np.roll(u, 1, 1) + np.roll(v, -1, 0) - np.roll(v, 1, 0)
        p = np.zeros_like(d)
        for _ in range(10):
            p = 0.25 * (
                np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1) - div
            )
        u -= 0.5 * (np.roll(p, -1, 1) - np.roll(p, 1, 1))
        v -= 0.5 * (np.roll(p, -1, 0) - np.roll(p, 1, 0))
        d[1:-1, 1:-1] -= 0.1 * (u * d)[1:-1, 1:-1]
    return (d * d).sum()


def quaternions(np: Any, x: Any) -> Any:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for gx, gy, gz in x:
        w, a, b, c = q
        rate = 0.5 * np.array([
            -a * gx - b * gy - c * gz, w * gx + b * gz - c * gy,
            w * gy - a * gz + c * gx, w * gz + a * gy - b * gx,
        ])  # fmt: skip
        q = q + 0.01 * rate
        q = q / np.sqrt((q * q).sum())
    return q[1] * q[2] + q[3]


def scalars(np: Any, x: Any) -> Any:
    y = x[0]
    for _ in range(250):
        y = np.sin(y) * 0.9 + y * 0.1
    return y


def network(np: Any, x: Any) -> Any:
    w = x.reshape(5, 20, 20)
    h = w[0]
    for k in range(1, 5):
        h = np.tanh(h @ w[k])
    return (h * h).sum()


_rng = numpy.random.default_rng(0)
PROGRAMS: dict[str, Program] = {
    "Jacobi 100x100, 30 steps": (jacobi, _rng.normal(size=(100, 100)), True),
    "horizontal diffusion 128x128": (horizontal_diffusion, _rng.normal(size=(128, 128)), False),
    "cavity flow 41x41": (cavity, _rng.normal(size=(41, 41)), True),
    "implicit columns 60x60": (implicit_columns, _rng.normal(size=(60, 60)), True),
    "rows 200x500": (rows, _rng.normal(size=(200, 500)), True),
    "trace of tanh of outer, 100": (trace_of_tanh, _rng.normal(size=100), False),
    "Gram-Schmidt 60x30": (gram_schmidt, _rng.normal(size=(60, 30)), True),
    "smoke 60x60, 2 steps": (smoke, _rng.normal(size=(60, 60)), True),
    "quaternions, 5 steps": (quaternions, _rng.normal(size=(5, 3)), False),
    "scalars, 1000 operations": (scalars, _rng.normal(size=1), False),
    "network 20x20, 4 layers": (network, 0.2 * _rng.normal(size=2000), False),
}


_PATIENCE = 30.0  # seconds until a gradient must have become a program


def best(call: Callable[[], Any], seconds: float) -> float:
    """The least time of a call, in ms, after two that do not count."""
    call(), call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def others(f: Any, x: Any, writes: bool, seconds: float) -> dict[str, float]:
    """The gradient by autograd and by jax, if they are here and can."""
    found: dict[str, float] = {}
    autograd, anp = _optional("autograd"), _optional("autograd.numpy")
    if autograd is not None and not writes:
        slope = autograd.value_and_grad(lambda x: f(anp, x))
        found["autograd"] = best(lambda: slope(x), seconds)
    jax, jnp = _optional("jax"), _optional("jax.numpy")
    if jax is not None and not writes:
        compiled = jax.jit(jax.value_and_grad(lambda x: f(jnp, x)))
        found["jax.jit"] = best(lambda: jax.block_until_ready(compiled(x)), seconds)
    return found


def _programs(slope: Any) -> int:
    front = slope.recipe.front
    return front.programs if front else 0


def measure(name: str, seconds: float, jitted: bool) -> dict[str, float]:
    f, x, writes = PROGRAMS[name]
    lazy = lazynp.asarray(x)
    slope: Any = lazynp.value_and_grad(lambda x: f(lazynp, x))

    def gradient(by: Any) -> None:
        value, ct = by(lazy)
        float(value), numpy.asarray(ct)

    out = {
        "numpy": best(lambda: f(numpy, x), seconds),
        "lazynp": best(lambda: float(f(lazynp, lazy)), seconds),
    }
    with lazynp.config(promotion=False):
        out["gradient"] = best(lambda: gradient(slope), seconds)
    begin, calls = time.perf_counter(), 0
    while time.perf_counter() - begin < _PATIENCE and not _programs(slope):
        gradient(slope)
        calls += 1
    out |= {"calls": calls, "after": time.perf_counter() - begin}
    out["program"] = best(lambda: gradient(slope), seconds)
    if jitted:
        compiled = lazynp.jit(slope)
        begin = time.perf_counter()
        gradient(compiled)
        out["first"] = (time.perf_counter() - begin) * 1e3
        out["jit"] = best(lambda: gradient(compiled), seconds)
    return out | others(f, x, writes, seconds)


def profile(name: str) -> None:
    f, x, _ = PROGRAMS[name]
    lazy = lazynp.asarray(x)
    slope = lazynp.value_and_grad(lambda x: f(lazynp, x))
    for _ in range(3):
        numpy.asarray(slope(lazy)[1])
    lazynp.config(promotion=False)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(5):
        numpy.asarray(slope(lazy)[1])
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement")
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    names = [name for name in PROGRAMS if given.only in name]
    if len(names) > 1:
        for name in names:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--only", name], check=True)
        return
    for name in names:
        if given.profile:
            profile(name)
            continue
        found = measure(name, given.seconds, given.jit)
        ratios = " ".join(f"{found[k] / found['lazynp']:.1f}" for k in ("gradient", "program"))
        times = "  ".join(f"{k} {v:.3g}" for k, v in found.items())
        print(f"{name:30} {times}  gradient, program / lazynp {ratios}", flush=True)


if __name__ == "__main__":
    main()
