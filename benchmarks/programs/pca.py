"""Principal components: centre, covariance, eigenvectors, projection, variance explained."""

import numpy as np

CATEGORY = "linear algebra"
RTOL = 1e-7
SIZES = {"T": (12, 4), "S": (3200, 130), "M": (5600, 280), "L": (14000, 600)}


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
