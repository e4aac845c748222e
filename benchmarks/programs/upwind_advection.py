"""A cloud carried by a wind that turns: upwind differences chosen by where."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 3), "S": (110, 47), "M": (170, 94), "L": (320, 150)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(11)
    return rng.random((n, n)), rng.standard_normal((n, n)), rng.standard_normal((n, n)), steps


def kernel(cloud, wind_x, wind_y, steps, courant=0.1):
    for i in range(steps):
        turn = np.cos(0.05 * i)
        wx, wy = wind_x[1:-1, 1:-1] * turn, wind_y[1:-1, 1:-1]
        mid = cloud[1:-1, 1:-1]
        dx = np.where(wx > 0, mid - cloud[:-2, 1:-1], cloud[2:, 1:-1] - mid)
        dy = np.where(wy > 0, mid - cloud[1:-1, :-2], cloud[1:-1, 2:] - mid)
        cloud[1:-1, 1:-1] = np.clip(mid - courant * (wx * dx + wy * dy), 0, 1)
    return cloud, cloud.sum()
