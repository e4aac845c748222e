"""Gaussian elimination in place: the rest of the matrix changes by an outer product."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (6,), "S": (210,), "M": (520,), "L": (1100,)}


def inputs(size):
    (n,) = SIZES[size]
    return (np.random.default_rng(22).random((n, n)) + n * np.eye(n),)


def kernel(a):
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
