"""Walks on a line: positions, first returns, records, spread against time."""

import numpy as np

CATEGORY = "Monte Carlo"
SIZES = {"T": (4, 10), "S": (710, 570), "M": (2700, 1400), "L": (9100, 4600)}


def inputs(size):
    return (np.random.default_rng(83).integers(0, 2, SIZES[size]) * 2 - 1,)


def kernel(steps):
    position = np.cumsum(steps, axis=1)
    home = position == 0
    first = np.where(home.any(axis=1), home.argmax(axis=1), -1)
    record = np.maximum.accumulate(position, axis=1)
    return position[:, -1], first, (record == position).sum(axis=1), position.var(axis=0)
