"""Sorts, orders, ranks, searches, and the pieces between changes."""

import numpy as np

CATEGORY = "sorting"
SIZES = {"T": (20,), "S": (29000,), "M": (200000,), "L": (1500000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(37)
    return rng.random(n), rng.integers(0, 50, n), rng.random(n // 10)


def kernel(values, groups, wanted):
    ordered = np.sort(values)
    order = np.argsort(groups, kind="stable")
    grouped, members = groups[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], grouped[1:] != grouped[:-1])))
    sums = np.add.reduceat(members, starts)
    return ordered, sums, np.searchsorted(ordered, wanted), ordered[:: len(ordered) // 10]
