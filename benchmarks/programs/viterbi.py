"""The likeliest states of a hidden Markov chain: maxima forward, pointers back."""

import numpy as np

CATEGORY = "dynamic programming"
SIZES = {"T": (3, 6), "S": (48, 300), "M": (100, 1200), "L": (220, 2700)}


def inputs(size):
    states, length = SIZES[size]
    rng = np.random.default_rng(71)
    return rng.random((states, states)), rng.random((length, states))


def kernel(transition, emission):
    length, states = emission.shape
    log_t, log_e = np.log(transition), np.log(emission)
    score = log_e[0]
    back = np.zeros((length, states), dtype=np.int64)
    for t in range(1, length):
        through = score[:, None] + log_t
        back[t] = through.argmax(axis=0)
        score = through.max(axis=0) + log_e[t]
    path = np.zeros(length, dtype=np.int64)
    path[-1] = score.argmax()
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()
