"""A matrix changed by two outer products, then two products with it, repeated."""

import numpy as np

CATEGORY = "BLAS 2"
SIZES = {"T": (6, 2), "S": (600, 3), "M": (1400, 4), "L": (3200, 4)}


def inputs(size):
    n, rounds = SIZES[size]
    rng = np.random.default_rng(27)
    return (rng.random((n, n)) / n, *(rng.random(n) / n for _ in range(6)), rounds)


def kernel(a, u1, v1, u2, v2, y, z, rounds):
    for _ in range(rounds):
        a += np.outer(u1, v1) + np.outer(u2, v2)
        x = 1.2 * (y @ a) + z
        y = 1.5 * (a @ x)
    return x, y
