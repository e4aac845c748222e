"""Ranks of pages by power iteration until they settle."""

import numpy as np

CATEGORY = "BLAS 2"
RTOL = 1e-8
SIZES = {"T": (8,), "S": (820,), "M": (1700,), "L": (4500,)}


def inputs(size):
    (n,) = SIZES[size]
    return ((np.random.default_rng(88).random((n, n)) < 5 / n).astype(float),)


def kernel(links):
    n = links.shape[0]
    out = links.sum(axis=0)
    links[:, out == 0] = 1.0
    links /= links.sum(axis=0)
    rank = np.full(n, 1 / n)
    for i in range(100):
        new = 0.85 * (links @ rank) + 0.15 / n
        moved = np.abs(new - rank).sum()
        rank = new
        if moved < 1e-9:
            break
    return rank, i
