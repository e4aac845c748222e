"""A matrix changed by two outer products, then two products with it."""

import numpy as np

CATEGORY = "BLAS 2"
SIZES = {"T": (6,), "S": (800,), "M": (2200,), "L": (6500,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(27)
    return (rng.random((n, n)), *(rng.random(n) / n for _ in range(6)))


def kernel(a, u1, v1, u2, v2, y, z):
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x = 1.2 * (y @ a) + z
    return x, 1.5 * (a @ x)
