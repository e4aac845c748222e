"""A chaotic map and a moving average of it, scalars read and written one at a time."""

import numpy as np

CATEGORY = "element loop"
RTOL = 1e-6
SIZES = {"T": (10,), "S": (12000,), "M": (120000,), "L": (1200000,)}


def inputs(size):
    (n,) = SIZES[size]
    return np.random.default_rng(86).random(n), 3.2


def kernel(noise, rate):
    n = len(noise)
    x = np.zeros(n)
    x[0] = 0.4
    total = 0.0
    for i in range(1, n):
        x[i] = rate * x[i - 1] * (1.0 - x[i - 1]) + 1e-3 * noise[i]
        total += x[i]
    return x, total / n
