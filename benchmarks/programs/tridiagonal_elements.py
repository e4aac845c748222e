"""Thomas's algorithm on one system, element by element."""

import numpy as np

CATEGORY = "element loop"
SIZES = {"T": (8,), "S": (3600,), "M": (45000,), "L": (450000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(85)
    return rng.random(n), 3 + rng.random(n), rng.random(n), rng.random(n)


def kernel(low, middle, high, x):
    n = len(x)
    high[0] /= middle[0]
    x[0] /= middle[0]
    for i in range(1, n):
        pivot = middle[i] - low[i] * high[i - 1]
        high[i] /= pivot
        x[i] = (x[i] - low[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= high[i] * x[i + 1]
    return x
