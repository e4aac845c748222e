"""A driven cavity: momentum by slices, pressure by some Jacobi iterations in each step."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (8, 2, 3), "S": (41, 15, 15), "M": (93, 41, 31), "L": (190, 97, 42)}


def inputs(size):
    n, steps, iterations = SIZES[size]
    return n, steps, iterations


def kernel(n, steps, iterations):
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    b = np.zeros((n, n))
    dx, dt, nu = 2.0 / (n - 1), 0.0002, 0.1
    for _ in range(steps):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = (ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2
        for _ in range(iterations):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]
            ) / 4 - dx * dx / 4 * b[1:-1, 1:-1]
            p[:, -1], p[:, 0] = p[:, -2], p[:, 1]
            p[0, :], p[-1, :] = p[1, :], 0
        un, vn = u.copy(), v.copy()
        for w, wn, gradient in (
            (u, un, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, vn, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            mid = wn[1:-1, 1:-1]
            w[1:-1, 1:-1] = (
                mid
                - dt / dx * un[1:-1, 1:-1] * (mid - wn[1:-1, :-2])
                - dt / dx * vn[1:-1, 1:-1] * (mid - wn[:-2, 1:-1])
                - dt / (2 * dx) * gradient
                + nu * dt / dx**2 * (wn[1:-1, 2:] + wn[1:-1, :-2] - 4 * mid)
                + nu * dt / dx**2 * (wn[2:, 1:-1] + wn[:-2, 1:-1])
            )
        u[0, :], u[:, 0], u[:, -1], u[-1, :] = 0, 0, 0, 1
        v[0, :], v[-1, :], v[:, 0], v[:, -1] = 0, 0, 0, 0
    return u, v, p
