"""A residual block: three convolutions as products and loops over the kernel, batch norm, relu."""

import numpy as np

CATEGORY = "networks"
SIZES = {"T": (1, 6, 4, 2), "S": (4, 46, 63, 23), "M": (6, 54, 150, 39), "L": (11, 88, 280, 57)}


def inputs(size):
    batch, n, wide, narrow = SIZES[size]
    rng = np.random.default_rng(47)
    shapes = ((batch, n, n, wide), (wide, narrow), (3, 3, narrow, narrow), (narrow, wide))
    return tuple((rng.standard_normal(s) / s[-2] ** 0.5).astype(np.float32) for s in shapes)


def normalise(x):
    mean = x.mean(axis=0, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=0, keepdims=True) + 1e-5)


def convolve_3x3(x, weights):
    batch, rows, columns, channels = x.shape
    padded = np.zeros((batch, rows + 2, columns + 2, channels), dtype=x.dtype)
    padded[:, 1:-1, 1:-1] = x
    out = np.zeros((batch, rows, columns, weights.shape[3]), dtype=x.dtype)
    for i in range(3):
        for j in range(3):
            out += padded[:, i : i + rows, j : j + columns] @ weights[i, j]
    return out


def kernel(x, reduce, weights, expand):
    y = np.maximum(normalise(x @ reduce), 0)
    y = np.maximum(normalise(convolve_3x3(y, weights)), 0)
    return np.maximum(normalise(y @ expand) + x, 0)
