"""Heat on a plate: the five-point stencil through slices, in place."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 3), "S": (128, 100), "M": (256, 250), "L": (560, 570)}


def inputs(size):
    n, steps = SIZES[size]
    return np.random.default_rng(1).random((n, n)), steps


def kernel(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
