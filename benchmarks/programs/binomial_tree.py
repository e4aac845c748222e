"""An American put: a vector that shrinks by one at each step back in time."""

import numpy as np

CATEGORY = "dynamic programming"
SIZES = {"T": (5,), "S": (840,), "M": (4700,), "L": (19000,)}


def inputs(size):
    return 100.0, 105.0, SIZES[size][0]


def kernel(spot, strike, steps):
    up = np.exp(0.3 / np.sqrt(steps))
    p = (np.exp(0.05 / steps) - 1 / up) / (up - 1 / up)
    discount = np.exp(-0.05 / steps)
    prices = spot * up ** (2.0 * np.arange(steps + 1) - steps)
    value = np.maximum(strike - prices, 0)
    for _ in range(steps):
        prices = prices[1:] / up
        value = np.maximum(discount * (p * value[1:] + (1 - p) * value[:-1]), strike - prices)
    return value
