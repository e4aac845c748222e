"""The profile of an image about its centre: rings of the distance, sums and means in each."""

import numpy as np

CATEGORY = "histograms"
SIZES = {"T": (9, 3), "S": (690, 38), "M": (1400, 71), "L": (3200, 110)}


def inputs(size):
    n, rings = SIZES[size]
    return np.random.default_rng(40).random((n, n)), rings


def kernel(image, rings):
    n = image.shape[0]
    y, x = np.mgrid[0:n, 0:n]
    distance = np.sqrt((x - n / 2) ** 2 + (y - n / 2) ** 2)
    ring = np.minimum((distance / distance.max() * rings).astype(np.int64), rings - 1).ravel()
    count = np.bincount(ring, minlength=rings)
    total = np.bincount(ring, weights=image.ravel(), minlength=rings)
    mean = total / np.maximum(count, 1)
    return count, mean, image - mean[ring].reshape(n, n)
