"""A blur that keeps edges: weights from distance and from difference, loops over the window."""

import numpy as np

CATEGORY = "image filters"
SIZES = {"T": (7, 1), "S": (160, 2), "M": (360, 3), "L": (720, 4)}


def inputs(size):
    n, radius = SIZES[size]
    return np.random.default_rng(74).random((n, n)), radius


def kernel(picture, radius):
    n, m = picture.shape
    padded = np.pad(picture, radius, mode="reflect")
    total, norm = np.zeros_like(picture), np.zeros_like(picture)
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            near = np.exp(-0.5 * ((i - radius) ** 2 + (j - radius) ** 2) / radius**2)
            other = padded[i : i + n, j : j + m]
            weight = near * np.exp(-8.0 * (other - picture) ** 2)
            total += weight * other
            norm += weight
    return total / norm
