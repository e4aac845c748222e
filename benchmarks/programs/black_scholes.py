"""Prices and sensitivities of options: long chains of elementwise functions."""

import numpy as np

CATEGORY = "elementwise"
SIZES = {"T": (10,), "S": (150000,), "M": (820000,), "L": (7500000,)}


def inputs(size):
    (n,) = SIZES[size]
    rng = np.random.default_rng(64)
    return 50 + 50 * rng.random(n), 50 + 50 * rng.random(n), 0.2 + rng.random(n), 0.02, 0.3


def normal_cdf(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = 0.31938153 + k * (
        -0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))
    )
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * k * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def kernel(spot, strike, years, rate, sigma):
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma * sigma / 2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted, normal_cdf(d1)
