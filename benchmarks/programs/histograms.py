"""Counts: bins of equal width, weighted bins, two dimensions, the equalisation of an image."""

import numpy as np

CATEGORY = "histograms"
SIZES = {"T": (30, 4), "S": (240000, 41), "M": (3000000, 64), "L": (22000000, 79)}


def inputs(size):
    n, bins = SIZES[size]
    rng = np.random.default_rng(39)
    return rng.normal(size=n), rng.random(n), rng.integers(0, 256, n).astype(np.uint8), bins


def kernel(x, weights, pixels, bins):
    counts, edges = np.histogram(x, bins=bins, range=(-4, 4))
    place = np.clip(((x + 4) * (bins / 8)).astype(np.int64), 0, bins - 1)
    weighted = np.bincount(place, weights=weights, minlength=bins)
    other = (weights * bins).astype(np.int64)
    joint = np.bincount(place * bins + other, minlength=bins * bins).reshape(bins, bins)
    levels = np.cumsum(np.bincount(pixels, minlength=256))
    equal = (255 * levels[pixels] // len(pixels)).astype(np.uint8)
    return counts, edges, weighted, joint, equal
