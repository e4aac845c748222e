"""Magnets on a checkerboard: half of the spins at a time accept or refuse through masks."""

import numpy as np

CATEGORY = "Monte Carlo"
SIZES = {"T": (6, 2), "S": (64, 45), "M": (160, 90), "L": (400, 140)}


def inputs(size):
    n, sweeps = SIZES[size]
    rng = np.random.default_rng(84)
    return rng.integers(0, 2, (n, n)) * 2 - 1, rng.random((sweeps, n, n)), 0.44


def kernel(spins, chances, beta):
    n = spins.shape[0]
    black = np.add.outer(np.arange(n), np.arange(n)) % 2 == 0
    magnetisation = []
    for chance in chances:
        for colour in (black, ~black):
            field = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
            field += np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            cost = 2 * spins * field
            flips = colour & ((cost <= 0) | (chance < np.exp(-beta * cost)))
            spins[flips] *= -1
        magnetisation.append(spins.mean())
    return spins, np.array(magnetisation)
