"""Softened gravity among bodies, all pairs, leapfrog, energies each step."""

import numpy as np

CATEGORY = "particles"
SIZES = {"T": (5, 3), "S": (38, 37), "M": (94, 58), "L": (240, 87)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(60)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), 1 + rng.random(n), steps


def kernel(position, velocity, mass, steps, dt=0.001):
    energies = np.zeros(steps)
    for i in range(steps):
        apart = position[None, :, :] - position[:, None, :]
        squared = (apart**2).sum(axis=2) + 0.1
        pull = (apart * (mass * squared**-1.5)[:, :, None]).sum(axis=1)
        velocity += dt * pull
        position += dt * velocity
        energies[i] = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    return position, velocity, energies
