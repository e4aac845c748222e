"""The edit distance of two texts, with a table filled element by element."""

import numpy as np

CATEGORY = "element loop"
SIZES = {"T": (4, 5), "S": (96, 100), "M": (290, 290), "L": (1000, 990)}


def inputs(size):
    rng = np.random.default_rng(69)
    return tuple(rng.integers(0, 4, n) for n in SIZES[size])


def kernel(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j]
            else:
                table[i + 1, j + 1] = 1 + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table
