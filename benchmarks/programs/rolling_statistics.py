"""Moving means, deviations and correlations of many series through cumulative sums."""

import numpy as np

CATEGORY = "elementwise"
RTOL = 1e-6
SIZES = {"T": (2, 12, 3), "S": (25, 2800, 21), "M": (82, 9600, 54), "L": (200, 20000, 100)}


def inputs(size):
    series, n, width = SIZES[size]
    rng = np.random.default_rng(87)
    return rng.standard_normal((series, n)), rng.standard_normal((series, n)), width


def windowed(x, width):
    total = np.cumsum(x, axis=1)
    total[:, width:] = total[:, width:] - total[:, :-width]
    return total[:, width - 1 :] / width


def kernel(x, y, width):
    mx, my = windowed(x, width), windowed(y, width)
    vx = windowed(x * x, width) - mx**2
    vy = windowed(y * y, width) - my**2
    correlation = (windowed(x * y, width) - mx * my) / np.sqrt(vx * vy)
    score = (x[:, width - 1 :] - mx) / np.sqrt(vx)
    return mx, correlation, np.count_nonzero(np.abs(score) > 2, axis=1)
