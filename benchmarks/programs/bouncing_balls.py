"""Many balls in a box: masks put escaped balls back; one cell list by sorting."""

import numpy as np

CATEGORY = "particles"
SIZES = {"T": (12, 3), "S": (6900, 81), "M": (37000, 110), "L": (270000, 180)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(61)
    return rng.random((n, 2)), rng.standard_normal((n, 2)), steps


def kernel(position, velocity, steps, dt=0.01):
    hits = 0
    for _ in range(steps):
        velocity[:, 1] -= 9.81 * dt
        position += dt * velocity
        for low, sign in ((position < 0, -1.0), (position > 1, 1.0)):
            velocity[low] *= -0.9
            position[low] = (1 + sign) - position[low]
            hits += low.sum()
    np.clip(position, 0, 1, out=position)
    cell = (position * 9.999).astype(int)
    order = np.argsort(cell[:, 0] * 10 + cell[:, 1], kind="stable")
    return position[order], velocity, hits
