"""A rod relaxing to its mean: three-point averages, long and thin."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (20, 4), "S": (6000, 600), "M": (26000, 2000), "L": (140000, 3600)}


def inputs(size):
    n, steps = SIZES[size]
    return np.random.default_rng(3).random(n), steps


def kernel(rod, steps):
    for _ in range(steps):
        rod[1:-1] = (rod[:-2] + rod[1:-1] + rod[2:]) / 3.0
    return rod, rod.mean()
