"""Escape counts in real arithmetic, where in place of masks."""

import numpy as np

CATEGORY = "masks"
SIZES = {"T": (10, 5), "S": (96, 110), "M": (320, 130), "L": (630, 220)}


def inputs(size):
    n, steps = SIZES[size]
    x, y = np.linspace(-2.0, 0.6, n), np.linspace(-1.2, 1.2, n)
    cx, cy = np.meshgrid(x, y)
    return cx, cy, steps


def kernel(cx, cy, steps):
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    counts = np.zeros(cx.shape, dtype=np.int32)
    for _ in range(steps):
        xx, yy = x * x, y * y
        near = xx + yy < 4.0
        x, y = np.where(near, xx - yy + cx, x), np.where(near, 2 * x * y + cy, y)
        counts += near
    return counts
