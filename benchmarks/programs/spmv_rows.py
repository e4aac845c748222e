"""A sparse matrix (CSR) times a vector, a row at a time."""

import numpy as np

CATEGORY = "gathers"
SIZES = {"T": (8, 3, 1), "S": (3200, 14, 1), "M": (5000, 21, 3), "L": (28000, 33, 8)}


def inputs(size):
    n, each, rounds = SIZES[size]
    rng = np.random.default_rng(41)
    pointers = np.concatenate(([0], np.cumsum(rng.integers(1, 2 * each, n))))
    columns = rng.integers(0, n, pointers[-1])
    return pointers, columns, rng.random(pointers[-1]) / each, rng.random(n), rounds


def kernel(pointers, columns, values, x, rounds):
    y = np.empty_like(x)
    for _ in range(rounds):
        for i in range(len(x)):
            begin, end = pointers[i], pointers[i + 1]
            y[i] = values[begin:end] @ x[columns[begin:end]]
        x = y.copy()
    return x
