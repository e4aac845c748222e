"""Robust summaries of tables: medians, percentiles, deviations from them."""

import numpy as np

CATEGORY = "sorting"
SIZES = {"T": (12, 3), "S": (2800, 19), "M": (15000, 36), "L": (43000, 55)}


def inputs(size):
    return (np.random.default_rng(38).standard_normal(SIZES[size]),)


def kernel(table):
    middle = np.median(table, axis=0)
    deviation = np.median(np.abs(table - middle), axis=0)
    low, high = np.percentile(table, [5, 95], axis=0)
    inside = (table >= low) & (table <= high)
    trimmed = np.where(inside, table, 0.0).sum(axis=0) / inside.sum(axis=0)
    return middle, deviation, low, high, trimmed
