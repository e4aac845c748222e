"""Long vectors: axpy, dot, norms, a plane rotation, a maximum."""

import numpy as np

CATEGORY = "BLAS 1"
SIZES = {"T": (30, 2), "S": (37000, 52), "M": (420000, 55), "L": (1300000, 67)}


def inputs(size):
    n, rounds = SIZES[size]
    rng = np.random.default_rng(25)
    return rng.standard_normal(n), rng.standard_normal(n), rounds


def kernel(x, y, rounds):
    report = []
    for i in range(rounds):
        y += 0.01 * i * x
        angle = np.arctan2(np.dot(x, y), np.linalg.norm(x) * np.linalg.norm(y))
        c, s = np.cos(angle), np.sin(angle)
        x, y = c * x + s * y, c * y - s * x
        report.append(np.abs(y).max())
    return x, y, np.array(report)
