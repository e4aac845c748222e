"""Cells that live and die: eight shifted slices of small integers, masks."""

import numpy as np

CATEGORY = "masks"
SIZES = {"T": (8, 3), "S": (130, 59), "M": (360, 56), "L": (730, 170)}


def inputs(size):
    n, steps = SIZES[size]
    return np.random.default_rng(16).integers(0, 2, (n, n), dtype=np.uint8), steps


def kernel(cells, steps):
    for _ in range(steps):
        near = np.zeros_like(cells)
        for rows, from_rows in (
            (slice(1, None), slice(None, -1)),
            (slice(None), slice(None)),
            (slice(None, -1), slice(1, None)),
        ):
            near[rows, 1:] += cells[from_rows, :-1]
            near[rows, :-1] += cells[from_rows, 1:]
            if rows != slice(None):
                near[rows] += cells[from_rows]
        born = (near == 3) & (cells == 0)
        dies = ((near < 2) | (near > 3)) & (cells == 1)
        cells[born] = 1
        cells[dies] = 0
    return cells, cells.sum()
