"""Explicit linear algebra: rows, columns, pivots, products."""

import numpy as np


def lu_slices(a):
    """LU without pivoting, in place, a rank-one update a step."""
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    lower = np.tril(a, -1) + np.eye(n)
    return lower, np.triu(a), lower @ np.triu(a)


def lu_elements(a):
    """Polybench's LU, one element at a time."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def solve_with_pivoting(a, b):
    """Gaussian elimination on an augmented matrix; rows change places."""
    m = np.hstack([a, b[:, None]])
    n = len(m)
    swaps = 0
    for k in range(n):
        pivot = k + np.argmax(np.abs(m[k:, k]))
        if pivot != k:
            m[[k, pivot]] = m[[pivot, k]]
            swaps += 1
        m[k] /= m[k, k]
        for i in range(n):
            if i != k:
                m[i] -= m[i, k] * m[k]
    x = m[:, -1]
    return x, swaps, np.abs(a @ x - b).max() < 1e-9


def cholesky_rows(a):
    """Cholesky-Banachiewicz with dot products of row pieces."""
    n = len(a)
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = np.dot(low[i, :j], low[j, :j])
            low[i, j] = np.sqrt(a[i, i] - s) if i == j else (a[i, j] - s) / low[j, j]
    return low, low @ low.T


def gram_schmidt(a):
    """Modified Gram-Schmidt; columns are views that are normalised in place."""
    q = a.copy()
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        column = q[:, k]
        r[k, k] = np.sqrt((column**2).sum())
        column /= r[k, k]
        r[k, k + 1 :] = column @ q[:, k + 1 :]
        q[:, k + 1 :] -= np.outer(column, r[k, k + 1 :])
    return q, r


def jacobi_eigenvalues(a, sweeps):
    """Rotations that clear one off-diagonal element at a time."""
    n = len(a)
    v = np.eye(n)
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                theta = 0.5 * np.arctan2(2 * a[p, q], a[q, q] - a[p, p])
                c, s = np.cos(theta), np.sin(theta)
                rotation = np.array([[c, s], [-s, c]])
                a[:, [p, q]] = a[:, [p, q]] @ rotation
                a[[p, q], :] = rotation.T @ a[[p, q], :]
                v[:, [p, q]] = v[:, [p, q]] @ rotation
    order = np.argsort(np.diag(a))
    return np.diag(a)[order], np.abs(v[:, order])


def conjugate_gradient(a, b):
    """Until the residual is small: the count of steps depends on the data."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    steps = 0
    while np.sqrt(rs) > 1e-9 and steps < 2 * len(b):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
        steps += 1
    return x, steps


def thomas(lower, main, upper, rhs):
    """Tridiagonal solve, forward and back, by elements; the inputs are overwritten."""
    n = len(rhs)
    for i in range(1, n):
        w = lower[i - 1] / main[i - 1]
        main[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    x = np.zeros(n)
    x[-1] = rhs[-1] / main[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (rhs[i] - upper[i] * x[i + 1]) / main[i]
    return x


def floyd_warshall(d):
    """All shortest paths, a broadcast sum and a minimum for each middle node."""
    for k in range(len(d)):
        np.minimum(d, d[:, k, np.newaxis] + d[np.newaxis, k, :], out=d)
    reachable = np.isfinite(d)
    return d, reachable.sum(axis=1), d[reachable].max()


def pagerank(links, damping=0.85):
    """Power iteration with dangling nodes until the change is small."""
    n = links.shape[0]
    out = links.sum(axis=1)
    dangling = out == 0
    share = links / np.where(dangling, 1, out)[:, None]
    rank = np.full(n, 1 / n)
    steps = 0
    while True:
        new = damping * (rank @ share + rank[dangling].sum() / n) + (1 - damping) / n
        steps += 1
        change = np.abs(new - rank).sum()
        rank = new
        if change < 1e-10:
            break
    order = np.argsort(-rank, kind="stable")
    return rank, order, steps, rank.sum()


def power_method(a, steps):
    """The leading singular vector, and the rest without it."""
    v = np.ones(a.shape[1]) / np.sqrt(a.shape[1])
    for _ in range(steps):
        v = a.T @ (a @ v)
        v /= np.sqrt(np.vdot(v, v))
    sigma = np.sqrt(((a @ v) ** 2).sum())
    rest = a - np.outer(a @ v, v)
    return sigma, np.abs(v), (rest**2).sum()


def covariance_kernel(data):
    """Polybench's covariance, next to the one-line form."""
    data -= data.mean(axis=0)
    m = data.shape[1]
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:, i] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
        cov[i, i:] = cov[i:, i]
    return cov, data.T @ data / (data.shape[0] - 1)


def einsum_and_friends(a, b, x):
    """Products in several spellings."""
    return (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij,ij->", a, a),
        np.einsum("bij,bj->bi", x, x[:, 0]),
        np.tensordot(x, x, axes=([0, 2], [0, 2])),
        np.matmul(x, np.swapaxes(x, 1, 2)),
        np.inner(a, a),
        np.kron(a[:2, :2], np.eye(2)),
        np.trace(a @ b),
        x @ a.T,
    )


def matrix_power_fibonacci(n):
    """Integer matrix power by squaring; wraps around as int64 does."""
    base, out = np.array([[1, 1], [1, 0]]), np.eye(2, dtype=int)
    numbers = []
    while n:
        if n & 1:
            out = out @ base
        base = base @ base
        n >>= 1
        numbers.append(out[0, 1])
    return out, numbers
