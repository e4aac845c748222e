"""Votes of the nearest points: distances by a product, argpartition by a sort, a one-hot sum."""

import numpy as np

CATEGORY = "learning"
SIZES = {"T": (15, 4, 3), "S": (750, 150, 5), "M": (1700, 260, 5), "L": (3800, 900, 7)}


def inputs(size):
    n, m, k = SIZES[size]
    rng = np.random.default_rng(80)
    return rng.random((n, 8)), rng.integers(0, 5, n), rng.random((m, 8)), k


def kernel(points, labels, queries, k):
    squared = (points**2).sum(axis=1) + (queries**2).sum(axis=1)[:, None]
    distance = squared - 2 * queries @ points.T
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    votes = (labels[nearest][:, :, None] == np.arange(5)).sum(axis=1)
    return votes.argmax(axis=1), np.take_along_axis(distance, nearest, axis=1)
