"""The knapsack problem: one row of values for each item, shifted by its weight."""

import numpy as np

CATEGORY = "dynamic programming"
SIZES = {"T": (4, 20), "S": (880, 5300), "M": (2500, 34000), "L": (6400, 95000)}


def inputs(size):
    n, room = SIZES[size]
    rng = np.random.default_rng(70)
    return rng.integers(1, room // 4, n).tolist(), rng.integers(1, 1000, n), room


def kernel(weights, values, room):
    best = np.zeros(room + 1, dtype=np.int64)
    for weight, value in zip(weights, values):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
    return best, best.max()
