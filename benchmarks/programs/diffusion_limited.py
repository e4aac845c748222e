"""Horizontal diffusion of an atmosphere's levels with a flux limiter: 3-D fields, where."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (10, 9, 3), "S": (120, 120, 40), "M": (190, 190, 87), "L": (390, 390, 180)}


def inputs(size):
    nx, ny, nz = SIZES[size]
    rng = np.random.default_rng(6)
    return rng.random((nx, ny, nz)), rng.random((nx, ny, nz))


def kernel(field, strength):
    lap = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    lap -= 4.0 * field[1:-1, 1:-1]
    across = lap[1:, 1:-1] - lap[:-1, 1:-1]
    across = np.where(across * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, across)
    along = lap[1:-1, 1:] - lap[1:-1, :-1]
    along = np.where(along * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, along)
    out = field.copy()
    out[2:-2, 2:-2] -= strength[2:-2, 2:-2] * (
        across[1:] - across[:-1] + along[:, 1:] - along[:, :-1]
    )
    return out
