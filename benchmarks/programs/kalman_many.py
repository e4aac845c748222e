"""Thousands of one-dimensional filters side by side, forward in time."""

import numpy as np

CATEGORY = "elementwise"
SIZES = {"T": (5, 4), "S": (320, 6000), "M": (570, 39000), "L": (1100, 260000)}


def inputs(size):
    rng = np.random.default_rng(78)
    return rng.standard_normal(SIZES[size]), 1e-3, 0.1


def kernel(z, process, noise):
    x, p = np.zeros(z.shape[1]), np.ones(z.shape[1])
    for row in z:
        p += process
        gain = p / (p + noise)
        x += gain * (row - x)
        p *= 1 - gain
    return x, p
