"""Sparse products as whole-array gathers and sums: CSR by reduceat, COO by bincount and add.at."""

import numpy as np

CATEGORY = "gathers"
SIZES = {"T": (8, 3, 2), "S": (6600, 11, 15), "M": (56000, 14, 20), "L": (230000, 17, 24)}


def inputs(size):
    n, each, rounds = SIZES[size]
    rng = np.random.default_rng(42)
    counts = rng.integers(1, 2 * each, n)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    columns = rng.integers(0, n, counts.sum())
    return starts, np.repeat(np.arange(n), counts), columns, rng.random(len(columns)) / each, rounds


def kernel(starts, rows, columns, values, rounds):
    n = len(starts)
    x = np.ones(n)
    for _ in range(rounds):
        x = np.add.reduceat(values * x[columns], starts)
        x /= x.sum()
    z = np.zeros(n)
    np.add.at(z, columns, values * x[rows])
    return x, np.bincount(columns, weights=values * x[rows], minlength=n), z
