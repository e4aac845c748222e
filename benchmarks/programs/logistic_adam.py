"""Logistic regression by Adam on batches taken in turn, regularised."""

import numpy as np

CATEGORY = "networks"
RTOL = 1e-8
SIZES = {"T": (20, 3, 1, 5), "S": (5100, 29, 5, 100), "M": (49000, 72, 9, 500)}
SIZES["L"] = (150000, 220, 17, 1000)


def inputs(size):
    n, features, epochs, batch = SIZES[size]
    rng = np.random.default_rng(50)
    x = rng.standard_normal((n, features))
    y = (x @ rng.standard_normal(features) > 0).astype(float)
    return x, y, epochs, batch


def kernel(x, y, epochs, batch):
    w, m, v = (np.zeros(x.shape[1]) for _ in range(3))
    t = 0
    for _ in range(epochs):
        for begin in range(0, len(x), batch):
            xb, yb = x[begin : begin + batch], y[begin : begin + batch]
            p = 1 / (1 + np.exp(-(xb @ w)))
            g = xb.T @ (p - yb) / len(yb) + 1e-4 * w
            t += 1
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g**2
            w -= 0.02 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w, ((x @ w > 0) == y).mean()
