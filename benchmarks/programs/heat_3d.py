"""Heat in a block: the seven-point stencil, two fields that alternate."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (6, 2), "S": (28, 20), "M": (45, 50), "L": (74, 120)}


def inputs(size):
    n, steps = SIZES[size]
    a = np.random.default_rng(2).random((n, n, n))
    return a, a.copy(), steps


def kernel(a, b, steps):
    for _ in range(steps):
        for old, new in ((a, b), (b, a)):
            mid = old[1:-1, 1:-1, 1:-1]
            new[1:-1, 1:-1, 1:-1] = (
                mid
                + 0.1 * (old[2:, 1:-1, 1:-1] - 2.0 * mid + old[:-2, 1:-1, 1:-1])
                + 0.1 * (old[1:-1, 2:, 1:-1] - 2.0 * mid + old[1:-1, :-2, 1:-1])
                + 0.1 * (old[1:-1, 1:-1, 2:] - 2.0 * mid + old[1:-1, 1:-1, :-2])
            )
