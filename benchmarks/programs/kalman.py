"""Tracking in the plane: 4x4 matrices, a small solve, one measurement after another."""

import numpy as np

CATEGORY = "small arrays"
RTOL = 1e-8
SIZES = {"T": (6,), "S": (310,), "M": (3100,), "L": (31000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(77)
    return (np.cumsum(rng.standard_normal((n, 2)), axis=0) + rng.standard_normal((n, 2)),)


def kernel(measured, dt=0.1):
    f = np.eye(4)
    f[0, 2] = f[1, 3] = dt
    h = np.eye(2, 4)
    q, r = 0.01 * np.eye(4), np.eye(2)
    x, p = np.zeros(4), 10.0 * np.eye(4)
    track = np.zeros((len(measured), 4))
    for i in range(len(measured)):
        x = f @ x
        p = f @ p @ f.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        x = x + gain @ (measured[i] - h @ x)
        p = p - gain @ h @ p
        track[i] = x
    return track, p
