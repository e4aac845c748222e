"""Orthogonal columns and their triangle, a column at a time."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (7, 4), "S": (180, 120), "M": (370, 300), "L": (760, 630)}


def inputs(size):
    return (np.random.default_rng(23).standard_normal(SIZES[size]),)


def kernel(a):
    rows, columns = a.shape
    q, r = np.zeros((rows, columns)), np.zeros((columns, columns))
    for k in range(columns):
        r[k, k] = np.sqrt((a[:, k] ** 2).sum())
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= q[:, k : k + 1] * r[k, k + 1 :]
    return q, r
