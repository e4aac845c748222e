"""Vertical diffusion of many columns, implicit: a tridiagonal solve level by level."""

import numpy as np

CATEGORY = "sweep"
SIZES = {"T": (4, 5, 6), "S": (80, 80, 54), "M": (140, 140, 93), "L": (256, 256, 150)}


def inputs(size):
    nx, ny, nz = SIZES[size]
    rng = np.random.default_rng(7)
    return rng.random((nx, ny, nz)), rng.random((nx, ny, nz + 1))


def kernel(values, mixing):
    levels = values.shape[2]
    upper, right = np.zeros_like(values), np.zeros_like(values)
    for k in range(levels):
        a, c = -mixing[:, :, k], -mixing[:, :, k + 1]
        b = 1.0 - a - c
        if k == 0:
            pivot = 1.0 / b
            upper[:, :, k] = c * pivot
            right[:, :, k] = values[:, :, k] * pivot
        else:
            pivot = 1.0 / (b - a * upper[:, :, k - 1])
            upper[:, :, k] = c * pivot
            right[:, :, k] = (values[:, :, k] - a * right[:, :, k - 1]) * pivot
    values[:, :, -1] = right[:, :, -1]
    for k in range(levels - 2, -1, -1):
        values[:, :, k] = right[:, :, k] - upper[:, :, k] * values[:, :, k + 1]
