"""Waves in a basin by leapfrog: three time levels that rotate, a moving source."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (10, 4), "S": (110, 81), "M": (200, 140), "L": (380, 270)}


def inputs(size):
    n, steps = SIZES[size]
    depth = 0.2 + 0.1 * np.random.default_rng(4).random((n, n))
    return depth, steps


def kernel(speed, steps):
    n = speed.shape[0]
    before, now, after = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for i in range(steps):
        curvature = (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1]
        after[1:-1, 1:-1] += speed[1:-1, 1:-1] * curvature
        after[n // 2, 1 + i % (n - 2)] += np.sin(0.1 * i)
        before, now, after = now, after, before
    return now, np.abs(now).max()
