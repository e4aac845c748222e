"""Alternating directions: implicit along rows, then along columns, a line at a time."""

import numpy as np

CATEGORY = "sweep"
SIZES = {"T": (6, 1), "S": (48, 6), "M": (93, 31), "L": (180, 130)}


def inputs(size):
    n, steps = SIZES[size]
    return np.random.default_rng(13).random((n, n)), steps


def kernel(u, steps):
    n = u.shape[0]
    r = 0.3
    p, q, w = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    w[:] = u
    for _ in range(steps):
        for source, target in ((u, w), (w, u)):
            p[:, 0], q[:, 0] = 0.0, source[0, :]
            for j in range(1, n - 1):
                p[1:-1, j] = r / (1 + 2 * r - r * p[1:-1, j - 1])
                explicit = r * source[j, :-2] + (1 - 2 * r) * source[j, 1:-1] + r * source[j, 2:]
                q[1:-1, j] = (explicit + r * q[1:-1, j - 1]) / (1 + 2 * r - r * p[1:-1, j - 1])
            for j in range(n - 2, 0, -1):
                target[1:-1, j] = p[1:-1, j] * target[1:-1, j + 1] + q[1:-1, j]
