"""Relaxation sweeping down the rows: each row uses the new row above it."""

import numpy as np

CATEGORY = "sweep"
SIZES = {"T": (7, 2), "S": (96, 9), "M": (270, 22), "L": (570, 65)}


def inputs(size):
    n, sweeps = SIZES[size]
    rng = np.random.default_rng(12)
    return rng.random((n, n)), rng.random((n, n)), sweeps


def kernel(u, rhs, sweeps):
    n = u.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            u[i, 1:-1] = 0.25 * (
                u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:] - rhs[i, 1:-1] / (n * n)
            )
