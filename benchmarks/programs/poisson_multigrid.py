"""One-dimensional multigrid, recursive: arrays of every length from long to three."""

import numpy as np

CATEGORY = "sweep"
RTOL = 1e-8
SIZES = {"T": (17, 1), "S": (2049, 9), "M": (32769, 22), "L": (262145, 26)}


def inputs(size):
    n, cycles = SIZES[size]
    return np.random.default_rng(89).standard_normal(n), cycles


def smooth(u, f, h2):
    for _ in range(2):
        u[1:-1] += 0.6667 * (0.5 * (u[:-2] + u[2:] + h2 * f[1:-1]) - u[1:-1])


def cycle(u, f, h2):
    if len(u) <= 3:
        u[1] = 0.5 * (u[0] + u[2] + h2 * f[1])
        return
    smooth(u, f, h2)
    residual = np.zeros_like(u)
    residual[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h2
    coarse = residual[::2].copy()
    coarse[1:-1] = 0.25 * (residual[1:-3:2] + 2 * residual[2:-2:2] + residual[3:-1:2])
    error = np.zeros_like(coarse)
    cycle(error, coarse, 4 * h2)
    u[::2] += error
    u[1::2] += 0.5 * (error[1:] + error[:-1])
    smooth(u, f, h2)


def kernel(f, cycles):
    u = np.zeros_like(f)
    h2 = 1.0 / (len(f) - 1) ** 2
    norms = []
    for _ in range(cycles):
        cycle(u, f, h2)
        norms.append(np.abs(f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h2).max())
    return u, np.array(norms)
