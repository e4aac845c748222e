"""Loops over slices whose size changes with the round, as one writes them in NumPy. Each takes a
vector of six positive numbers and a matrix of six by six, and may change both.
"""

from __future__ import annotations

import numpy as np


def dot_products(x, a):
    for i in range(6):
        x[i] = (x[i] - a[i, :i] @ x[:i]) / (2 + a[i, i])


def dot_products_backwards(x, a):
    for i in range(5, -1, -1):
        x[i] = (x[i] - np.dot(a[i, i + 1 :], x[i + 1 :])) / (2 + a[i, i])


def cholesky(x, a):
    a += a.T.copy()
    for i in range(6):
        a[i, i] += 20.0
    for j in range(6):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
        a[j, j + 1 :] = 0.0


def lu(x, a):
    for i in range(6):
        a[i, i] += 9.0
    for k in range(5):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def lu_by_rows(x, a):
    for i in range(6):
        a[i, i] += 9.0
    for i in range(6):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, 6):
            a[i, j] -= np.dot(a[i, :i], a[:i, j])


def symmetric_update(x, a):
    b = a.copy()
    for i in range(6):
        a[i, : i + 1] *= 0.5
        a[i, : i + 1] += 2.0 * (b[: i + 1] @ b[i])


def covariance(x, a):
    out = np.zeros((6, 6))
    for i in range(6):
        out[i, i:] = a[:, i] @ a[:, i:] / 5
        out[i:, i] = out[i, i:]
    return out


def gram_schmidt(x, a):
    q, r = np.zeros((6, 6)), np.zeros((6, 6))
    for k in range(6):
        r[k, k] = np.sqrt((a[:, k] ** 2).sum())
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= q[:, k : k + 1] * r[k, k + 1 :]
    return q + r


def growing_sums(x, a):
    y = np.zeros(6)
    for k in range(7):
        y[:k] = x[:k] * 2 + y[:k]
        y[k:] -= np.sum(x[:k])
    return y


def of_functions(x, a):
    for k in range(1, 6):
        x[:k] = np.sqrt(x[:k]) + np.log(x[:k]) * np.exp(-x[:k]) + 1.5
        x[k:] = np.maximum(x[k:], 0.5) ** 2 / (x[k:] + 1)
        a[0, k] = np.arctan2(x[:k], a[1, :k]).prod() + (x[:k] > 1.0).sum()


def counted_from_the_end(x, a):
    for i in range(1, 6):
        x[-i:] *= 1.5
        x[:-i] += x[-i:].sum()


def beyond_the_ends(x, a):
    """NumPy cuts these off."""
    for i in range(9):
        x[i - 2 : i + 3] += 1.0
        x[0] += a[i % 6, i - 3 : i - 1].sum() + a[1, 4 : i - 2].sum() + x[i:].sum()


def of_two_bounds(x, a):
    for i in range(4):
        for j in range(i + 1, 7):
            x[i:j] += a[i, i:j] * 0.1
            a[i:j, i] = x[i:j].sum()


def reductions(x, a):
    out = np.zeros(6)
    for k in range(1, 6):
        out[k] = x[:k].max() - x[k:].min() + x[:k].prod() + x[k:].mean()
        out[0] += (x[:k] > 1.0).any() + np.all(x[k:] > 0.5)
        out[:k] += a[:k].sum(axis=1)
        out += a[:k].sum(axis=0) + a[:, :k].sum(axis=-1)
    return out


def parts_live(x, a):
    """A part is a view: writes show on both sides."""
    out = x[0] * 1.0
    for k in range(1, 6):
        v = x[:k]
        x[0] += 1.0
        out = out + v.sum()
        x[:k] += 0.5
        out = out + x.sum() * v.sum()
        x[:k] *= v
        out = out + x[0] - v.mean()
    return out


def of_views(x, a):
    b = a.T
    row = a[2]
    for k in range(6):
        b[k, :k] += x[:k]
        row[k:] -= 1.0
        a[::-1][k, k:] *= 0.5


def written_rows(x, a):
    for k in range(6):
        a[:k] = x
        a[k:, 0] = 0.25
        a[k, :k] = k
        a[:, k:] += x[:, None]


def in_branches(x, a):
    for k in range(1, 6):
        if x[k] > 1.0:
            x[:k] -= 0.5
        else:
            x[k:] += x[:k].sum()


def early_ends(x, a):
    for k in range(6):
        if x[:k].sum() > 6.0:
            break
        x[k:] += 0.5


def durbin(x, a):
    y = np.zeros(6)
    y[0] = -0.1 * x[0]
    beta, alpha = 1.0, -0.1 * x[0]
    for k in range(1, 6):
        beta *= 1.0 - alpha * alpha
        alpha = -(0.1 * x[k] + np.dot(x[:k], y[:k]) * 0.01) / beta
        y[:k] += alpha * 0.1
        y[k] = alpha
    return y


def at_other_places(x, a):
    for k in range(1, 10):
        a[0, : min(k, 5)] = a[1, 1 : min(k, 5) + 1]
    for k in range(6):
        a[2, 6 - k :] += a[3, :k] * a[:k, 4] * a[4:3:-1, 1 : 1 + k].sum(axis=0)
        a[5, k:] -= a[4, : 6 - k] * a[: 6 - k, 1]


def flipped(x, a):
    """Levinson and Durbin's recursion, and what else runs backwards."""
    y = np.zeros(6)
    y[0] = -0.1 * x[0]
    beta, alpha = 1.0, -0.1 * x[0]
    for k in range(1, 6):
        beta *= 1.0 - alpha * alpha
        alpha = -(0.1 * x[k] + np.dot(np.flip(x[:k]), y[:k]) * 0.01) / beta
        y[:k] += alpha * np.flip(y[:k]) * 0.1
        y[k] = alpha
        a[k, :k] = a[k, :k][::-1] + x[k:][::-1].sum()
        a[:k, k:] *= np.flip(a[:k, k:], axis=0) + np.flip(a[:k, k:])
    return y


def new_axes(x, a):
    for k in range(5):
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k][:, None] * a[k, k + 1 :][None, :] * 0.1
        a[k + 1 :, : k + 1] += a[: k + 1, k + 1 :].T + x[: k + 1]


def pivots(x, a):
    for k in range(6):
        p = k + np.argmax(np.abs(a[k:, k]))
        q = a[k, : k + 1].argmin()
        t = a[k, :].copy()
        a[k, :] = a[p, :]
        a[p, :] = t + q
        x[k] += a[q, k]


def functions_of_numpy(x, a):
    out = np.zeros(6)
    for k in range(1, 6):
        out[k] = np.linalg.norm(x[:k]) + np.linalg.norm(a[:k, k:]) + np.count_nonzero(a[k, k:] > 0)
        out[k] += np.where(x[:k] > 1.0, x[:k], a[k, :k]).sum() + np.vdot(x[k:], a[0, k:])
        out[:k] += np.cumsum(x[:k]) * np.clip(x[:k], 0.7, 1.2) + np.cumprod(x[:k]).copy()
        out[k] += (a[k, :k] > 0).astype(float).sum() / x[:k].shape[0] + np.inner(x[k:], x[k:])
        out[0] += x[k:].size
    return out


def reversed_parts(x, a):
    for k in range(1, 10):
        x[0] += x[: min(k, 5) + 1][::-1].sum() * 0.5


def elements_of(x, a):
    out = 0.0
    for k in range(1, 10):
        out = out + x[: min(k, 6)][0] + len(x[: min(k, 6)])
    return out


def sorted_parts(x, a):
    for k in range(1, 10):
        x[: min(k, 6)] = np.sort(x[: min(k, 6)])[::-1]


def backward_parts(x, a):
    for k in range(1, 10):
        x[0] += x[min(k, 5) :: -1].sum() * 0.5


def backward_stores(x, a):
    for k in range(10):
        x[min(k, 5) :: -1] += 0.5 * x[min(k, 5)]
        a[min(k, 5), 5 : min(k, 4) : -1] = x[: 5 - min(k, 4)]


def backward_bounds(x, a):
    out = np.zeros(6)
    for k in range(1, 10):
        for j in range(-2, 6):
            out[j] = out[j] * 0.5 + np.sum(x[min(k, 5) : j : -1] * x[0]) + a[:j:-1, 0].sum()
            out[j] += np.dot(x[k % 6 :: -1], x[: k % 6 + 1])
    return out


def medians(x, a):
    out = np.zeros(6)
    for k in range(1, 6):
        out[k] = np.median(x[:k]) + np.median(a[k, k - 1 :]) + np.sort(a[k:, 0])[-1]
    return out


def slices_of_slices(x, a):
    out = np.zeros(6)
    for k in range(6):
        out[k] = x[:k][-3:].sum() + x[k:][:4].sum() + x[k - 2 : k + 9][1:].sum()
        out[k] += x[k:][(6 - k) // 2] + x[k:][-1] + np.sum(np.sort(x[: k + 1])[k // 3 : k // 2 + 1])
    return out


# -- this is unrolled ------------------------------------------------------------------------------


def changed_by_another_name(x, a):
    """The loop does not know whose memory a name shows that is bound to no array."""
    for k in range(1, 10):
        v = x[: min(k, 5)]
        v *= 0.5
        x[0] += v.sum()


UNROLLED = ["changed_by_another_name"]
