"""Maxwell's equations on a staggered grid: three fields updated through shifted slices."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 9, 3), "S": (100, 120, 90), "M": (220, 250, 220), "L": (450, 500, 400)}


def inputs(size):
    nx, ny, steps = SIZES[size]
    rng = np.random.default_rng(5)
    return (*(rng.random((nx, ny)) for _ in range(3)), np.hanning(steps))


def kernel(ex, ey, hz, pulse):
    for strength in pulse:
        ey[0, :] = strength
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
