"""Forward and back substitution, a row and a dot product at a time, for some right-hand sides."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (6, 2), "S": (600, 2), "M": (2200, 3), "L": (3500, 12)}


def inputs(size):
    n, count = SIZES[size]
    rng = np.random.default_rng(20)
    lower = np.tril(rng.random((n, n)), -1) / n + np.eye(n)
    return lower, rng.random((count, n))


def kernel(lower, right):
    n = lower.shape[0]
    out = np.zeros_like(right)
    for b, y in zip(right, out):
        x = np.zeros(n)
        for i in range(n):
            x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
        for i in range(n - 1, -1, -1):
            y[i] = (x[i] - lower[i, i + 1 :] @ y[i + 1 :]) / lower[i, i]
    return out
