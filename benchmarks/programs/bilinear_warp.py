"""An image rotated about its centre: bilinear interpolation by four gathers."""

import numpy as np

CATEGORY = "gathers"
SIZES = {"T": (8,), "S": (380,), "M": (860,), "L": (2300,)}


def inputs(size):
    (n,) = SIZES[size]
    return np.random.default_rng(43).random((n, n)), 0.3


def kernel(image, angle):
    n = image.shape[0]
    y, x = np.meshgrid(np.arange(n) - n / 2, np.arange(n) - n / 2, indexing="ij")
    u = np.clip(np.cos(angle) * x - np.sin(angle) * y + n / 2, 0, n - 1.001)
    v = np.clip(np.sin(angle) * x + np.cos(angle) * y + n / 2, 0, n - 1.001)
    i, j = np.floor(v).astype(int), np.floor(u).astype(int)
    a, b = v - i, u - j
    top = (1 - b) * image[i, j] + b * image[i, j + 1]
    bottom = (1 - b) * image[i + 1, j] + b * image[i + 1, j + 1]
    return (1 - a) * top + a * bottom
