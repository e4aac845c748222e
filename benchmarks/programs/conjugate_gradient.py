"""Conjugate gradients on a dense matrix: matrix-vector products, and scalars that end the loop."""

import numpy as np

CATEGORY = "BLAS 2"
RTOL = 1e-7
SIZES = {"T": (8, 4), "S": (520, 200), "M": (1050, 200), "L": (2400, 200)}


def inputs(size):
    n, most = SIZES[size]
    rng = np.random.default_rng(24)
    a = rng.standard_normal((n, n)) / n**0.5
    return (a + a.T) / 2 + np.diag(np.linspace(3, 300, n)), rng.random(n), most


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
