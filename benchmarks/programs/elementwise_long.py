"""Big arrays through sines, powers, logarithms and selections: only bandwidth and functions
count.
"""

import numpy as np

CATEGORY = "elementwise"
SIZES = {"T": (20,), "S": (230000,), "M": (2200000,), "L": (15000000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(65)
    return rng.random(n) + 0.1, rng.random(n)


def kernel(x, y):
    r = np.sqrt(x * x + y * y)
    angle = np.arctan2(y, x)
    bright = np.log1p(r) * np.sin(3 * angle) ** 2 + np.cbrt(x)
    return np.clip(np.where(bright > 0.5, bright, 1 - bright), 0.2, 0.9).sum(), bright
