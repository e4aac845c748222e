"""The edit distance of two texts along rows: a running minimum replaces the inner loop."""

import numpy as np

CATEGORY = "dynamic programming"
SIZES = {"T": (6, 7), "S": (580, 560), "M": (4400, 1200), "L": (12000, 8000)}


def inputs(size):
    rng = np.random.default_rng(68)
    return tuple(rng.integers(0, 4, n) for n in SIZES[size])


def kernel(a, b):
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for i in range(len(a)):
        new = np.empty_like(row)
        new[0] = i + 1
        new[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != a[i]))
        row = np.minimum.accumulate(new - steps) + steps
    return row[-1], row
