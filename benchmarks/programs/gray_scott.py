"""Reaction and diffusion of two substances, periodic through roll."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 2), "S": (57, 31), "M": (120, 120), "L": (256, 300)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(8)
    return 1 - 0.1 * rng.random((n, n)), 0.3 * rng.random((n, n)), steps


def laplace(field):
    return (
        np.roll(field, 1, 0)
        + np.roll(field, -1, 0)
        + np.roll(field, 1, 1)
        + np.roll(field, -1, 1)
        - 4 * field
    )


def kernel(u, v, steps):
    for _ in range(steps):
        reaction = u * v * v
        u += 0.16 * laplace(u) - reaction + 0.035 * (1 - u)
        v += 0.08 * laplace(v) + reaction - 0.095 * v
    return u, v
