"""Two layers trained by momentum: forward, backward by hand, weights updated in place."""

import numpy as np

CATEGORY = "networks"
RTOL = 1e-8
SIZES = {"T": (6, 4, 5, 3), "S": (140, 29, 47, 57), "M": (410, 51, 81, 76)}
SIZES["L"] = (700, 120, 150, 180)


def inputs(size):
    n, features, hidden, steps = SIZES[size]
    rng = np.random.default_rng(45)
    x = rng.standard_normal((n, features))
    y = np.tanh(x[:, :1]) * x[:, 1:2]
    w1 = rng.standard_normal((features, hidden)) / features**0.5
    return x, y, w1, rng.standard_normal((hidden, 1)) / hidden**0.5, steps


def kernel(x, y, w1, w2, steps, rate=0.05):
    b1, b2 = np.zeros(w1.shape[1]), np.zeros(1)
    weights = [w1, b1, w2, b2]
    speeds = [np.zeros_like(w) for w in weights]
    losses = []
    for step in range(steps):
        hidden = np.tanh(x @ w1 + b1)
        error = hidden @ w2 + b2 - y
        losses.append((error**2).mean())
        out = 2 * error / len(x)
        back = (out @ w2.T) * (1 - hidden**2)
        gradients = [x.T @ back, back.sum(axis=0), hidden.T @ out, out.sum(axis=0)]
        for w, speed, gradient in zip(weights, speeds, gradients):
            speed *= 0.9
            speed -= rate / (1 + 0.01 * step) * gradient
            w += speed
    return w1, b1, w2, b2, np.array(losses)
