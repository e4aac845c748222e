"""Conjugate gradients on a dense matrix: matrix-vector products and scalars that decide."""

import numpy as np

CATEGORY = "BLAS 2"
RTOL = 1e-7
SIZES = {"T": (8, 4), "S": (1000, 74), "M": (2300, 120), "L": (6100, 190)}


def inputs(size):
    n, most = SIZES[size]
    rng = np.random.default_rng(24)
    a = rng.standard_normal((n, n))
    return a @ a.T / n + np.eye(n), rng.random(n), most


def kernel(a, b, most):
    x = np.zeros_like(b)
    residual = b - a @ x
    direction = residual.copy()
    old = residual @ residual
    for _ in range(most):
        image = a @ direction
        step = old / (direction @ image)
        x += step * direction
        residual -= step * image
        new = residual @ residual
        if np.sqrt(new) < 1e-10:
            break
        direction = residual + new / old * direction
        old = new
    return x, np.sqrt(new)
