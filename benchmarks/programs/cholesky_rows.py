"""The Cholesky factor in place, one row of dot products at a time."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (6,), "S": (490,), "M": (1300,), "L": (2300,)}


def inputs(size):
    (n,) = SIZES[size]
    a = np.random.default_rng(21).random((n, n))
    return (a @ a.T / n + np.eye(n),)


def kernel(a):
    n = a.shape[0]
    for j in range(n):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
        a[j, j + 1 :] = 0.0
