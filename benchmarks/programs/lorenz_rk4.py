"""Runge-Kutta on three numbers: a string of tiny arrays."""

import numpy as np

CATEGORY = "small arrays"
RTOL = 1e-6
SIZES = {"T": (5,), "S": (430,), "M": (4400,), "L": (39000,)}


def inputs(size):
    return np.array([1.0, 1.0, 20.0]), SIZES[size][0], 0.0005


def slope(s):
    x, y, z = s
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def kernel(state, steps, dt):
    history = np.empty((steps, 3))
    for i in range(steps):
        k1 = slope(state)
        k2 = slope(state + dt / 2 * k1)
        k3 = slope(state + dt / 2 * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        history[i] = state
    return history
