"""Nine velocities around a cylinder: collide, stream by roll, bounce back through a mask."""

import numpy as np

CATEGORY = "stencil"
SIZES = {"T": (10, 8, 2), "S": (60, 30, 12), "M": (160, 60, 35), "L": (330, 120, 84)}


def inputs(size):
    nx, ny, steps = SIZES[size]
    f = 1 + 0.01 * np.random.default_rng(10).random((9, nx, ny))
    x, y = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    return f, (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 5) ** 2, steps


def kernel(f, solid, steps):
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opposite = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    for _ in range(steps):
        for i in range(9):
            f[i] = np.roll(f[i], (int(cx[i]), int(cy[i])), axis=(0, 1))
        bounced = f[:, solid][opposite]
        rho = f.sum(axis=0)
        ux = (f * cx[:, None, None]).sum(axis=0) / rho + 1e-5
        uy = (f * cy[:, None, None]).sum(axis=0) / rho
        squared = 1.5 * (ux * ux + uy * uy)
        for i in range(9):
            cu = 3 * (cx[i] * ux + cy[i] * uy)
            f[i] += 0.6 * (weight[i] * rho * (1 + cu + 0.5 * cu * cu - squared) - f[i])
        f[:, solid] = bounced
    return f, rho
