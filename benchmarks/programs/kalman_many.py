"""Thousands of one-dimensional filters side by side, forward in time, repeated over a record."""

import numpy as np

CATEGORY = "elementwise"
SIZES = {"T": (3, 4, 5), "S": (50, 5000, 300), "M": (50, 30000, 450), "L": (50, 190000, 700)}


def inputs(size):
    rows, n, steps = SIZES[size]
    rng = np.random.default_rng(78)
    return rng.standard_normal((rows, n)), 1e-3, 0.1, steps


def kernel(z, process, noise, steps):
    x, p = np.zeros(z.shape[1]), np.ones(z.shape[1])
    for t in range(steps):
        p += process
        gain = p / (p + noise)
        x += gain * (z[t % len(z)] - x)
        p *= 1 - gain
    return x, p
