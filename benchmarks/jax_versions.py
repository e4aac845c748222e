"""Some of the programs as one would write them for jax.jit: no mutation, loops as fori_loop.

They show what rewriting gains. Each function takes the arguments of the program's `kernel`, and
returns its results or the arrays that the kernel writes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy

jax.config.update("jax_enable_x64", True)
array = jnp.array


@partial(jax.jit, static_argnums=1)
def heat_2d(u: Any, steps: int) -> Any:
    def step(_: Any, u: Any) -> Any:
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.2 * (near - 4 * u[1:-1, 1:-1]))

    return jax.lax.fori_loop(0, steps, step, u)


@partial(jax.jit, static_argnums=1)
def jacobi_1d(rod: Any, steps: int) -> Any:
    def step(_: Any, rod: Any) -> Any:
        return rod.at[1:-1].set((rod[:-2] + rod[1:-1] + rod[2:]) / 3.0)

    rod = jax.lax.fori_loop(0, steps, step, rod)
    return rod, rod.mean()


@partial(jax.jit, static_argnums=2)
def gauss_seidel_rows(u: Any, rhs: Any, sweeps: int) -> Any:
    n = u.shape[0]

    def row(i: Any, u: Any) -> Any:
        near = u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:]
        return u.at[i, 1:-1].set(0.25 * (near - rhs[i, 1:-1] / (n * n)))

    def sweep(_: Any, u: Any) -> Any:
        return jax.lax.fori_loop(1, n - 1, row, u)

    return jax.lax.fori_loop(0, sweeps, sweep, u), rhs


@partial(jax.jit, static_argnums=1)
def gauss_seidel_elements(u: Any, sweeps: int) -> Any:
    n = u.shape[0]

    def element(k: Any, u: Any) -> Any:
        i, j = 1 + k // (n - 2), 1 + k % (n - 2)
        return u.at[i, j].set(0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]))

    return jax.lax.fori_loop(0, sweeps * (n - 2) ** 2, lambda k, u: element(k % (n - 2) ** 2, u), u)


@partial(jax.jit, static_argnums=2)
def mandelbrot_where(cx: Any, cy: Any, steps: int) -> Any:
    def step(_: Any, state: Any) -> Any:
        x, y, counts = state
        xx, yy = x * x, y * y
        near = xx + yy < 4.0
        new_x, new_y = jnp.where(near, xx - yy + cx, x), jnp.where(near, 2 * x * y + cy, y)
        return new_x, new_y, counts + near

    start = jnp.zeros_like(cx), jnp.zeros_like(cy), jnp.zeros(cx.shape, dtype=jnp.int32)
    return jax.lax.fori_loop(0, steps, step, start)[2]


@jax.jit
def black_scholes(spot: Any, strike: Any, years: Any, rate: Any, sigma: Any) -> Any:
    def cdf(x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * jnp.abs(x))
        factors = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153)
        poly = jnp.zeros_like(k)
        for factor in factors:
            poly = factor + k * poly
        tail = jnp.exp(-0.5 * x * x) / numpy.sqrt(2 * numpy.pi) * k * poly
        return jnp.where(x >= 0, 1.0 - tail, tail)

    root = sigma * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + sigma * sigma / 2) * years) / root
    discounted = strike * jnp.exp(-rate * years)
    call = spot * cdf(d1) - discounted * cdf(d1 - root)
    return call, call - spot + discounted, cdf(d1)


@partial(jax.jit, static_argnums=3)
def n_body(position: Any, velocity: Any, mass: Any, steps: int, dt: float = 0.001) -> Any:
    def step(state: Any, _: Any) -> Any:
        position, velocity = state
        apart = position[None, :, :] - position[:, None, :]
        squared = (apart**2).sum(axis=2) + 0.1
        velocity = velocity + dt * (apart * (mass * squared**-1.5)[:, :, None]).sum(axis=1)
        energy = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
        return (position + dt * velocity, velocity), energy

    (position, velocity), energies = jax.lax.scan(step, (position, velocity), length=steps)
    return position, velocity, energies


@jax.jit
def floyd_warshall(d: Any) -> Any:
    def through(k: Any, d: Any) -> Any:
        return jnp.minimum(d, d[:, k, None] + d[k, :])

    return jax.lax.fori_loop(0, d.shape[0], through, d)


@partial(jax.jit, static_argnums=2)
def matvec_chain(a: Any, x: Any, rounds: int) -> Any:
    def once(_: Any, state: Any) -> Any:
        x, y, _ = state
        y = a @ x
        y = y / jnp.sqrt(y @ y)
        x = y @ a
        size = jnp.sqrt((x * x).sum())
        return x / size, y, size

    return jax.lax.fori_loop(0, rounds, once, (x, jnp.zeros(a.shape[0]), jnp.float64(0)))


@jax.jit
def matmul_chain(a: Any, b: Any, c: Any, d: Any) -> Any:
    d = d * 0.5 + 1.5 * (a @ b) @ c
    return d, d.T @ d


@jax.jit
def mlp_forward(x: Any, w1: Any, w2: Any, w3: Any, b1: Any, b2: Any, b3: Any) -> Any:
    x = jnp.maximum(x @ w1 + b1, 0)
    x = jnp.maximum(x @ w2 + b2, 0)
    return jax.nn.softmax(x @ w3 + b3, axis=-1)


@partial(jax.jit, static_argnums=1)
def lorenz_rk4(state: Any, steps: int, dt: float) -> Any:
    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        k1 = slope(s)
        k2 = slope(s + dt / 2 * k1)
        k3 = slope(s + dt / 2 * k2)
        k4 = slope(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return jax.lax.scan(step, state, length=steps)[1]


VERSIONS = {
    f.__name__: f
    for f in (
        heat_2d,
        jacobi_1d,
        gauss_seidel_rows,
        gauss_seidel_elements,
        mandelbrot_where,
        black_scholes,
        n_body,
        floyd_warshall,
        matvec_chain,
        matmul_chain,
        mlp_forward,
        lorenz_rk4,
    )
}
