"""Three products and a sum of matrices."""

import numpy as np

CATEGORY = "BLAS 3"
SIZES = {"T": (5, 6, 7, 8), "S": (300, 320, 280, 300), "M": (700, 720, 680, 700)}
SIZES["L"] = (1600, 1500, 1550, 1600)


def inputs(size):
    n, k, m, p = SIZES[size]
    rng = np.random.default_rng(28)
    return rng.random((n, k)), rng.random((k, m)), rng.random((m, p)), rng.random((n, p))


def kernel(a, b, c, d):
    d *= 0.5
    d += 1.5 * (a @ b) @ c
    return d, d.T @ d
