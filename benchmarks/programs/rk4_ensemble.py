"""Runge-Kutta on many pendulums at once."""

import numpy as np

CATEGORY = "elementwise"
SIZES = {"T": (4, 3), "S": (480, 58), "M": (3000, 150), "L": (15000, 300)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(82)
    return rng.standard_normal((2, n)), steps


def slope(t, s):
    return np.stack([s[1], -9.81 * np.sin(s[0]) - 0.2 * s[1] + 0.5 * np.cos(0.7 * t)])


def kernel(state, steps, dt=0.005):
    t = 0.0
    for _ in range(steps):
        k1 = slope(t, state)
        k2 = slope(t + dt / 2, state + dt / 2 * k1)
        k3 = slope(t + dt / 2, state + dt / 2 * k2)
        k4 = slope(t + dt, state + dt * k3)
        state += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += dt
    return state
