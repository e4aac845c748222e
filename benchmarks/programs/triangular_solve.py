"""Forward and back substitution, a row and a dot product at a time."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (6,), "S": (900,), "M": (5000,), "L": (9000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(20)
    lower = np.tril(rng.random((n, n)), -1) / n + np.eye(n)
    return lower, rng.random(n)


def kernel(lower, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = (x[i] - lower[i, i + 1 :] @ y[i + 1 :]) / lower[i, i]
    return x, y
