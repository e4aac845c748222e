"""Least squares with a Vandermonde matrix for many signals, residuals, an evaluation by Horner."""

import numpy as np

CATEGORY = "linear algebra"
RTOL = 1e-7
SIZES = {"T": (10, 3, 2), "S": (2200, 7, 160), "M": (5500, 9, 300), "L": (14000, 10, 880)}


def inputs(size):
    n, degree, signals = SIZES[size]
    rng = np.random.default_rng(33)
    return np.linspace(-1, 1, n), rng.standard_normal((n, signals)), degree


def kernel(x, signals, degree):
    table = np.stack([x**k for k in range(degree + 1)], axis=1)
    c = np.linalg.solve(table.T @ table, table.T @ signals)
    fitted = np.zeros_like(signals)
    for k in range(degree, -1, -1):
        fitted *= x[:, None]
        fitted += c[k]
    return c, ((signals - fitted) ** 2).mean(axis=0)
