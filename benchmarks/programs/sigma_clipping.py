"""A stack of noisy images: values far from the mean are masked, repeatedly."""

import numpy as np

CATEGORY = "masks"
SIZES = {"T": (5, 6, 2), "S": (13, 97, 5), "M": (19, 230, 5), "L": (31, 360, 6)}


def inputs(size):
    frames, n, rounds = SIZES[size]
    rng = np.random.default_rng(17)
    stack = rng.normal(100.0, 5.0, (frames, n, n))
    stack[rng.random(stack.shape) < 0.02] += 500.0
    return stack, rounds


def kernel(stack, rounds):
    good = np.ones(stack.shape, dtype=bool)
    for _ in range(rounds):
        count = good.sum(axis=0)
        mean = np.where(good, stack, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(good, stack - mean, 0.0) ** 2).sum(axis=0) / count)
        good &= np.abs(stack - mean) <= 2.5 * spread + 1e-9
    stack[~good] = np.nan
    return mean, spread, good.sum(axis=0), np.nanmean(stack, axis=0)
