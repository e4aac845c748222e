"""A symmetric update of the lower triangle only, one row at a time."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (6, 4), "S": (410, 270), "M": (1000, 740), "L": (2100, 1300)}


def inputs(size):
    n, m = SIZES[size]
    rng = np.random.default_rng(29)
    return rng.random((n, n)), rng.random((n, m)), 1.5, 1.2


def kernel(c, a, alpha, beta):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        c[i, : i + 1] += alpha * (a[: i + 1] @ a[i])
