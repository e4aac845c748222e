"""Relaxation element by element, in Python loops."""

import numpy as np

CATEGORY = "element loop"
SIZES = {"T": (6, 1), "S": (69, 1), "M": (120, 3), "L": (220, 8)}


def inputs(size):
    n, sweeps = SIZES[size]
    return np.random.default_rng(15).random((n, n)), sweeps


def kernel(u, sweeps):
    n = u.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
