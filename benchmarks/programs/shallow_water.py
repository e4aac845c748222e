"""A dam break: heights and momenta, Lax-Friedrichs, walls that reflect."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 3), "S": (62, 43), "M": (110, 120), "L": (220, 280)}


def inputs(size):
    n, steps = SIZES[size]
    height = np.ones((n, n)) + 0.01 * np.random.default_rng(9).random((n, n))
    height[: n // 3, : n // 2] += 1.0
    return height, np.zeros((n, n)), np.zeros((n, n)), steps


def average(q):
    return 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])


def kernel(h, hu, hv, steps, dt=0.05):
    for _ in range(steps):
        u, v = hu / h, hv / h
        pressure = 0.5 * 9.81 * h * h
        fx, gy, cross = hu * u + pressure, hv * v + pressure, hu * v
        new_h = average(h) - dt * (hu[2:, 1:-1] - hu[:-2, 1:-1] + hv[1:-1, 2:] - hv[1:-1, :-2])
        new_hu = average(hu) - dt * (
            fx[2:, 1:-1] - fx[:-2, 1:-1] + cross[1:-1, 2:] - cross[1:-1, :-2]
        )
        new_hv = average(hv) - dt * (
            cross[2:, 1:-1] - cross[:-2, 1:-1] + gy[1:-1, 2:] - gy[1:-1, :-2]
        )
        h[1:-1, 1:-1], hu[1:-1, 1:-1], hv[1:-1, 1:-1] = new_h, new_hu, new_hv
        for q, sign_x, sign_y in ((h, 1, 1), (hu, -1, 1), (hv, 1, -1)):
            q[0, :], q[-1, :] = sign_x * q[1, :], sign_x * q[-2, :]
            q[:, 0], q[:, -1] = sign_y * q[:, 1], sign_y * q[:, -2]
