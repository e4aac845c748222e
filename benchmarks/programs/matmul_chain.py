"""Three products and a sum of matrices."""

import numpy as np

CATEGORY = "BLAS 3"
SIZES = {"T": (5, 6, 7, 8), "S": (370, 390, 340, 320), "M": (800, 820, 780, 730)}
SIZES["L"] = (1800, 1700, 1700, 1700)


def inputs(size):
    n, k, m, p = SIZES[size]
    rng = np.random.default_rng(28)
    return rng.random((n, k)), rng.random((k, m)), rng.random((m, p)), rng.random((n, p))


def kernel(a, b, c, d):
    d *= 0.5
    d += 1.5 * (a @ b) @ c
    return d, d.T @ d
