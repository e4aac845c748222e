"""A covariance matrix row by row, mirrored, and its correlations."""

import numpy as np

CATEGORY = "linear algebra by rows"
SIZES = {"T": (9, 5), "S": (390, 360), "M": (960, 760), "L": (1900, 1500)}


def inputs(size):
    return (np.random.default_rng(30).standard_normal(SIZES[size]),)


def kernel(data):
    n, m = data.shape
    data -= data.mean(axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1)
        cov[i:, i] = cov[i, i:]
    scale = np.sqrt(np.diag(cov))
    return cov, cov / scale[:, None] / scale[None, :]
