"""A separable blur and a sharpening: sums of shifted slices of a padded picture."""

import numpy as np

CATEGORY = "image filters"
SIZES = {"T": (8, 2), "S": (560, 5), "M": (840, 8), "L": (1700, 9)}


def inputs(size):
    n, radius = SIZES[size]
    return np.random.default_rng(73).random((n, n)), radius


def kernel(picture, radius):
    n, m = picture.shape
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / (radius / 2)) ** 2)
    weights /= weights.sum()
    padded = np.pad(picture, radius, mode="edge")
    rows = sum(w * padded[i : i + n, :] for i, w in enumerate(weights))
    blurred = sum(w * rows[:, i : i + m] for i, w in enumerate(weights))
    return blurred, np.clip(picture + 0.7 * (picture - blurred), 0, 1)
