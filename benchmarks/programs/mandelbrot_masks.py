"""Escape counts: complex numbers, reads and stores through a boolean mask."""

import numpy as np

CATEGORY = "masks"
SIZES = {"T": (10, 5), "S": (140, 75), "M": (410, 86), "L": (1000, 140)}


def inputs(size):
    return SIZES[size]


def kernel(n, steps):
    x, y = np.linspace(-2.0, 0.6, n), np.linspace(-1.2, 1.2, n)
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(steps):
        near = np.abs(z) < 2.0
        z[near] = z[near] ** 2 + c[near]
        counts[near] += 1
    return counts
