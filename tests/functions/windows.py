"""Loops over slices of constant length, as one writes them in NumPy. Each takes a vector of twelve
numbers and a matrix of six by eight, and may change both.
"""

from __future__ import annotations

import numpy as np


def _helper(x, i):
    return x[i : i + 3].sum()


# -- these are staged ------------------------------------------------------------------------------


def moving_sum(x, a):
    for i in range(1, len(x) - 1):
        a[0, i % 8] += x[i - 1 : i + 2].sum()


def of_length_one(x, a):
    for k in range(len(x)):
        x[k : k + 1] *= 2.0 + k


def written_blocks(x, a):
    for i in range(0, 12, 3):
        x[i : i + 3] = a[i // 2, i // 3 : i // 3 + 3]


def augmented_blocks(x, a):
    for i in range(4):
        r = i * 3
        x[r : r + 3] += 0.5 * x[9 - r : 12 - r]
        x[r : r + 3] *= 2


def overlapping(x, a):
    for i in range(10):
        x[i + 1 : i + 3] = x[i : i + 2]


def backwards(x, a):
    n = len(x)
    for i in range(n - 4):
        x[i + 3 : i : -1] = x[i + 1 : i + 4] * 0.5
        x[n - 1 - i : n - 4 - i : -1] += i


def every_third(x, a):
    out = 0.0
    for i in range(3):
        out = out + x[i : i + 9 : 3] @ x[i + 2 : i + 8 : 2] - x[i + 9 : i : -4].prod()
    return out


def strides_past_the_end(x, a):
    """The last element is within; the bound is not."""
    out = 0.0
    for i in range(3):
        out = out + x[i + 6 : i + 11 : 3].sum()
    return out


def from_the_end(x, a):
    n = len(x)
    for i in range(n - 2):
        x[n - 2 - i : n - i] += x[i : i + 2]


def counted_from_the_end(x, a):
    for i in range(1, 11):
        x[-i - 2 : -i] += x[i - 1 : i + 1]


def empty(x, a):
    out = 0.0
    for i in range(10):
        out = out + x[i:i].sum() + x[i + 2 : i].sum() + x[i : i + 2 : -1].sum()
        x[i:i] = 7.0
    return out


def convolution(x, a):
    w = x[:6].reshape(2, 3)
    out = np.zeros((5, 6))
    for i in range(5):
        for j in range(6):
            out[i, j] = (a[i : i + 2, j : j + 3] * w).sum()
    return out


def trailing_axes(x, a):
    stack = np.stack([a, a + 1.0, a * 2.0])
    out = np.zeros((3, 5, 7))
    for i in range(5):
        for j in range(7):
            out[:, i, j] = stack[:, i : i + 2, j : j + 2].max(axis=(1, 2))
            stack[..., j : j + 2] -= 0.1
    return out


def new_axes(x, a):
    for i in range(5):
        a[i : i + 2] += x[None, i : i + 8] * a[i, :, None][i : i + 1]


def rows_in_turn(x, a):
    for i in range(4):
        a[i : i + 2], a[i + 1 : i + 3] = a[i + 1 : i + 3].copy(), a[i : i + 2].copy()


def views_show_writes(x, a):
    for i in range(9):
        v = x[i : i + 3]
        v[1] = v.sum()
        x[i] = 5.0
        a[0, 0] += v[0] + v[1]
        v[::-1][:2] -= 1.0
        a[1, 1] += x[i + 2]


def views_of_views(x, a):
    for i in range(5):
        block = a[i : i + 2, 1:7]
        for j in range(4):
            part = block[:, j : j + 3]
            part *= 0.9
            part.T[1] += 1.0
            block[0, j : j + 2] = part[1, :2]


def transposed(x, a):
    for i in range(6):
        a.T[i : i + 3] += a.T[i + 2 : i - 1 : -1] if False else a.T[i : i + 3] * 0.5


def nested_starts(x, a):
    out = 0.0
    for i in range(4):
        s, e = 2 * i, 2 * (i + 1)
        for j in range(4):
            out = out + x[s:e].sum() * j + x[e - 2 : s + 2].prod() - x[s + j : e + j].sum()
    return out


def limited(x, a):
    for i in range(12):
        k = min(i, 9)
        x[k : k + 3] += max(i - 4, 0)
        m = i % 5
        x[m + 1 : m + 5] -= 1.0


def in_branches(x, a):
    for i in range(1, 11):
        if x[i] > 0.5:
            w = x[i - 1 : i + 2]
            w[1] = w.sum() * 0.1
        elif x[i] < -0.5:
            x[i : i + 2] = 0.0


def by_a_helper(x, a):
    out = 0.0
    for i in range(10):
        out = out + _helper(x, i)
    return out


def triangular(x, a):
    for i in range(9):
        for j in range(i, 10):
            x[j : j + 2] += x[i : i + 2] * 0.1


def broken(x, a):
    for i in range(10):
        if x[i : i + 3].sum() > 2.0:
            break
        x[i : i + 2] += 0.25


def comparisons(x, a):
    out = 0
    for i in range(8):
        out = out + np.argmax(x[i : i + 4]) + int((x[i : i + 4] > x[i + 1 : i + 5]).sum())
    return out


# -- these are not: a slice leaves the array, or its size varies -----------------------------------


def cut_off(x, a):
    out = 0.0
    for i in range(12):
        out = out + x[i : i + 3].sum()
    return out


def cut_off_in_front(x, a):
    out = 0.0
    for i in range(12):
        out = out + x[i - 1 : i + 2].sum()
    return out


def from_the_end_to_the_end(x, a):
    out = 0.0
    for i in range(10):
        out = out + x[-i - 2 : -i].sum()
    return out


def backwards_to_the_front(x, a):
    out = 0.0
    for i in range(10):
        out = out + x[i + 2 : i - 1 : -1].sum()
    return out


def blocks_of_another_size(x, a):
    for i in range(0, 50, 5):
        x[i : i + 5] += 1.0


def counted_from_another(x, a):
    """That j is never less than i follows from no interval."""
    for i in range(9):
        for j in range(i, 10):
            x[j : j + 2] += x[j - i : j - i + 2] * 0.1


UNROLLED = ["counted_from_another"]
