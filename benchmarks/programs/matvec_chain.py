"""Products of a matrix and its transpose with vectors, normalised each time."""

import numpy as np

CATEGORY = "BLAS 2"
SIZES = {"T": (7, 5, 2), "S": (680, 570, 32), "M": (1400, 1100, 65), "L": (3000, 2500, 60)}


def inputs(size):
    rows, columns, rounds = SIZES[size]
    rng = np.random.default_rng(26)
    return rng.random((rows, columns)), rng.random(columns), rounds


def kernel(a, x, rounds):
    for _ in range(rounds):
        y = a @ x
        y /= np.sqrt(y @ y)
        x = y @ a
        size = np.sqrt((x * x).sum())
        x = x / size
    return x, y, size
