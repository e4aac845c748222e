"""Loops in which arrays get longer or shorter by the same numbers in each round, as one writes them
in NumPy. Each takes a vector of 24 numbers and a matrix of eleven by twelve, and may change both.
"""

from __future__ import annotations

import numpy as np


def binomial_tree(x, a):
    v = np.maximum(x - 0.5, 0)
    for _ in range(23):
        v = 0.99 * (0.6 * v[1:] + 0.4 * v[:-1])
    return v[0]


def american_option(x, a):
    s = 100 * 1.02 ** np.arange(24) * 0.98 ** np.arange(23, -1, -1)
    v = np.maximum(100 - s, 0)
    for _i in range(22, -1, -1):
        v = 0.99 * (0.6 * v[1:] + 0.4 * v[:-1])
        s = s[1:] / 1.02
        v = np.maximum(v, 100 - s)
    return v[0]


def prices_made_anew(x, a):
    v = np.maximum(1 - x, 0)
    for i in range(22, -1, -1):
        v = 0.99 * (0.6 * v[1 : i + 2] + 0.4 * v[0 : i + 1])
        v = np.maximum(v, 1 - 1.02 ** np.arange(i + 1) * 0.98 ** np.arange(i, -1, -1))
    return v


def repeated_differences(x, a):
    for _ in range(12):
        x = np.diff(x)
    return x


def differences_of_rows(x, a):
    for _ in range(10):
        a = np.diff(a)
    for _ in range(9):
        a = np.diff(a, axis=0)
    return a


def newton_table(x, a):
    first = np.zeros(20)
    for k in range(20):
        first[k] = x[0]
        x = x[1:] - x[:-1]
    return first, x


def neville(x, a):
    p, at = x * 1.0, np.arange(24.0)
    for k in range(1, 24):
        p = ((2.5 - at[k:]) * p[:-1] + (at[:-k] - 2.5) * p[1:]) / (at[:-k] - at[k:])
    return p[0]


def richardson(x, a):
    t, k = x[:16] * 1.0, 4.0
    for _ in range(12):
        t = (k * t[1:] - t[:-1]) / (k - 1)
        k = k * 4
    return t, k


def pascal(x, a):
    row = np.ones(1)
    for _ in range(15):
        row = np.concatenate([[1.0], row[1:] + row[:-1], [1.0]])
    return row


def pascal_by_appending(x, a):
    row = x[:1]
    for _ in range(15):
        row = np.append(row, 0) + np.append(0, row)
    return row


def history(x, a):
    y, ys = x[0], np.array([x[0]])
    for _ in range(30):
        y = 1.5 * y * (1.5 - y)
        ys = np.append(ys, y)
    return ys, y


def history_of_rows(x, a):
    rows = x.reshape(1, -1)
    for _k in range(12):
        x = 0.9 * x + 0.1 * x.mean()
        rows = np.vstack([rows, x])
    return rows


def history_of_columns(x, a):
    y = a[:, :1] * 1.0
    for k in range(12):
        y = np.hstack([y, y[:, -1:] * 0.5 + k])
    return y


def history_of_several(x, a):
    ys = np.zeros(0)
    for k in range(12):
        ys = np.concatenate((ys, x[:3] * k))
    return ys


def eroded(x, a):
    a = np.concatenate([a, a], axis=0)
    for _ in range(5):
        a = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    return a


def sums(x, a):
    total = 0.0
    for _ in range(11):
        x = x[1:-1]
        total = total + x.sum() * x[0] - x[-1] + x.max() + x.argmin() + x.mean()
    return total, x


def first_and_last_three(x, a):
    y = np.zeros(3)
    for _ in range(20):
        x = x[1:] * 0.9
        y = y + x[:3] + x[-3:]
    return y, x


def rows_of_a_shrinking_matrix(x, a):
    y = np.zeros(12)
    for _ in range(9):
        a = a[1:] + a[:-1]
        y = y + a[0] - a[-1] * a[0, 1]
    return y, a


def with_an_inner_loop(x, a):
    for _ in range(20):
        x = x[1:] + 1
        for _ in range(12):
            x = x * 0.5 + 0.1
    return x


def lengths(x, a):
    n = 0
    for _ in range(20):
        x = x[:-1]
        n = n + len(x) * x.shape[0] + x.size
    return n, x


def booleans(x, a):
    b = x > 0.7
    for _ in range(20):
        b = b[1:] ^ b[:-1]
    return b


def integers_become_floats(x, a):
    n = (x * 100).astype(int)
    for _ in range(20):
        n = (n[1:] - n[:-1]) * 0.5
    return n


def written_meanwhile(x, a):
    y = x * 2
    for k in range(20):
        y = y[1:] + y[:-1]
        x[k] = y.sum() / y.size
    return y


def two_that_depend(x, a):
    u, v = x * 1.0, x[:-1] * 2.0
    for _ in range(12):
        u, v = u[1:] * 0.5 + v, v[1:] - u[1:-1]
    return u, v


def down_to_nothing(x, a):
    for _ in range(24):
        x = x[:-1]
    return x


def from_the_second_round_on(x, a):
    y = x
    for k in range(12):
        if k > 0:
            y = y[1:]
        else:
            y = y[1:]
    return y + 0


# -- these are unrolled ----------------------------------------------------------------------------


def a_view_of_what_is_written(x, a):
    y = x
    for k in range(12):
        y = y[1:]
        x[k + 1] = y.sum()
    return y


def written_in_place(x, a):
    for _ in range(12):
        x = x[1:] + x[:-1]
        x *= 0.5
    return x


def halved(x, a):
    y = np.concatenate([x, x[:8]])
    for _ in range(3):
        for _ in range(3):
            y = y * 1.0
        y = y[::2] + y[1::2]
    return y


UNROLLED = ["a_view_of_what_is_written", "halved"]
