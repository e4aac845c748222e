"""Principal components: centre, covariance, eigenvectors, projection, variance explained."""

import numpy as np

CATEGORY = "linear algebra"
RTOL = 1e-7
SIZES = {"T": (12, 4), "S": (1500, 60), "M": (4000, 200), "L": (12000, 500)}


def inputs(size):
    n, m = SIZES[size]
    rng = np.random.default_rng(31)
    return rng.standard_normal((n, m)) * np.linspace(1, 3, m), min(m, 8)


def kernel(data, keep):
    centred = data - data.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(data) - 1))
    order = np.argsort(values)[::-1][:keep]
    scores = np.abs(centred @ vectors[:, order])  # signs of eigenvectors are free
    return values[order] / values.sum(), scores, scores.std(axis=0)
