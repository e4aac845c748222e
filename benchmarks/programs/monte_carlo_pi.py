"""Points in a square that are shifted repeatedly; an estimate is read after each batch."""

import numpy as np

CATEGORY = "Monte Carlo"
SIZES = {"T": (3, 10), "S": (50, 3000), "M": (80, 17000), "L": (100, 130000)}


def inputs(size):
    batches, n = SIZES[size]
    rng = np.random.default_rng(63)
    return rng.random(n), rng.random(n), batches


def kernel(x, y, batches):
    inside, total, estimates = 0, 0, []
    for i in range(batches):
        x = (x + 0.6180339887498949) % 1.0
        y = (y + 0.7548776662466927) % 1.0
        inside += int((x * x + y * y <= 1).sum())
        total += x.shape[0]
        estimates.append(4 * inside / total)
    return np.array(estimates)
