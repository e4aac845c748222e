"""Likelihoods, losses and layers of networks as people write them, of a vector of parameters.

Plain NumPy: `test_derivative_programs.py` runs each with `np` bound to lazynp as well.
"""

# ruff: noqa: E741

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.RandomState(0)


def kalman(p: Any) -> Any:
    q, r, x0 = p[0], p[1], p[2]
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = np.exp(q) * np.array([[0.025, 0.05], [0.05, 0.1]])
    R = np.exp(r) * np.eye(1)
    x = np.array([x0, p[3]])
    P = np.eye(2)
    ll = 0.0
    ys = np.sin(np.arange(20) * 0.3)
    for y in ys:
        x = F @ x
        P = F @ P @ F.T + Q
        e = y - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ e
        P = (np.eye(2) - K @ H) @ P
        ll -= 0.5 * (np.log(2 * np.pi * np.linalg.det(S)) + e @ np.linalg.solve(S, e))
    return ll


def hmm(p: Any) -> Any:
    A = p[:9].reshape(3, 3)
    A = np.exp(A) / np.exp(A).sum(1, keepdims=True)
    B = p[9:18].reshape(3, 3)
    B = np.exp(B) / np.exp(B).sum(1, keepdims=True)
    al = np.full(3, 1 / 3.0)
    ll = 0.0
    for o in [0, 2, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0]:
        al = (al @ A) * B[:, o]
        s = al.sum()
        ll += np.log(s)
        al = al / s
    return ll


def hmm_log(p: Any) -> Any:
    A = p[:9].reshape(3, 3)
    m = A.max(1, keepdims=True)
    A = A - m - np.log(np.exp(A - m).sum(1, keepdims=True))
    B = p[9:18].reshape(3, 3)
    B = B - np.logaddexp.reduce(B, axis=1)[:, None]
    al = np.array([0.0, -np.inf, -np.inf])
    for o in [0, 2, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0]:
        al = np.logaddexp.reduce(al[:, None] + A, axis=0) + B[:, o]
    return np.logaddexp.reduce(al)


def pca(p: Any) -> Any:
    X = p.reshape(8, 3)
    X = X - X.mean(0)
    C = X.T @ X / 7
    w, V = np.linalg.eigh(C)
    return w[-1] / w.sum() + np.sum(np.abs(V[:, -1]) * np.array([1.0, 2, 3]))


def sinkhorn(p: Any) -> Any:
    x = p.reshape(6, 2)
    y = np.stack([np.cos(np.arange(5.0)), np.sin(np.arange(5.0))], 1)
    C = ((x[:, None] - y[None]) ** 2).sum(-1)
    K = np.exp(-C / 0.5)
    u = np.ones(6) / 6
    v = np.ones(5) / 5
    for _ in range(20):
        u = (1 / 6.0) / (K @ v)
        v = (1 / 5.0) / (K.T @ u)
    return np.sum(u[:, None] * K * v * C)


def tsne(p: Any) -> Any:
    Y = p.reshape(8, 2)
    X = np.sin(np.arange(24.0)).reshape(8, 3)
    D = ((X[:, None] - X) ** 2).sum(-1)
    P = np.exp(-D)
    np.fill_diagonal(P, 0)
    P = P / P.sum()
    num = 1 / (1 + ((Y[:, None] - Y) ** 2).sum(-1))
    num[range(8), range(8)] = 0.0
    Q = np.maximum(num / num.sum(), 1e-12)
    P = np.maximum(P, 1e-12)
    return np.sum(P * np.log(P / Q))


def gmm(p: Any) -> Any:
    mu = p[:6].reshape(3, 2)
    ls = p[6:9]
    w = p[9:12]
    X = np.stack([np.sin(np.arange(20.0)), np.cos(2 * np.arange(20.0))], 1)
    lw = w - np.log(np.sum(np.exp(w)))
    lp = (
        lw
        - 0.5 * (((X[:, None] - mu) / np.exp(ls)[None, :, None]) ** 2).sum(-1)
        - 2 * ls
        - np.log(2 * np.pi)
    )
    m = lp.max(1)
    return np.sum(m + np.log(np.exp(lp - m[:, None]).sum(1)))


def lstm(p: Any) -> Any:
    H = 4
    W = p[: H * 4 * (H + 2)].reshape(H + 2, 4 * H)
    b = p[H * 4 * (H + 2) :]

    def sg(z):
        return 1 / (1 + np.exp(-z))

    h = np.zeros(H)
    c = np.zeros(H)
    loss = 0.0
    for t in range(10):
        z = np.concatenate([h, [np.sin(t), np.cos(t)]]) @ W + b
        i, f, o, g = sg(z[:H]), sg(z[H : 2 * H]), sg(z[2 * H : 3 * H]), np.tanh(z[3 * H :])
        c = f * c + i * g
        h = o * np.tanh(c)
        loss = loss + (h.sum() - np.sin(t + 1)) ** 2
    return loss


def robust(p: Any) -> Any:
    t = np.linspace(0, 3, 25)
    y = np.sin(t) + np.where(np.arange(25) % 7 == 0, 3.0, 0.0)
    r = np.abs(p[0] * np.sin(p[1] * t + p[2]) + p[3] * t - y)
    return np.where(r < 1, 0.5 * r**2, r - 0.5).mean() + np.log1p((r / 0.5) ** 2).sum()


def arma(p: Any) -> Any:
    y = np.cos(np.arange(25.0) * 0.7)
    e = np.zeros(25)
    for t in range(2, 25):
        e[t] = y[t] - p[0] * y[t - 1] - p[1] * y[t - 2] - p[2] * e[t - 1]
    s = np.mean(e[2:] ** 2)
    return 12.5 * np.log(s) + 0.5 * np.sum(e**2) / s


def garch(p: Any) -> Any:
    r = np.sin(np.arange(30.0) ** 1.3)
    w, a, b = np.exp(p[:3])
    h = [np.var(r)]
    for t in range(1, 30):
        h.append(w + a * r[t - 1] ** 2 + b * h[-1])
    h = np.array(h)
    return 0.5 * np.sum(np.log(h) + r**2 / h)


def attention(p: Any) -> Any:
    X = np.sin(np.arange(20.0)).reshape(5, 4)
    Q, K, V = (p[i * 16 : (i + 1) * 16].reshape(4, 4) for i in range(3))
    s = (X @ Q) @ (X @ K).T / 2
    s = np.where(np.tril(np.ones((5, 5), bool)), s, -np.inf)
    a = np.exp(s - s.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    o = a @ (X @ V)
    mu = o.mean(-1, keepdims=True)
    o = (o - mu) / np.sqrt(o.var(-1, keepdims=True) + 1e-5)
    return np.sum(o * np.arange(4.0))


def conv2d(p: Any) -> Any:
    x = np.sin(np.arange(2 * 8 * 8.0)).reshape(2, 8, 8)
    w = p.reshape(2, 3, 3)
    win = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    y = np.einsum("bijkl,ckl->bcij", win, w)
    y = np.maximum(y, 0.01 * y)
    y = y.reshape(2, 2, 3, 2, 3, 2).max(axis=(3, 5))
    return np.sum(y**2)


def survival(p: Any) -> Any:
    t = np.abs(np.sin(np.arange(1, 15.0))) * 5
    ev = np.arange(14) % 3 > 0
    X = np.cos(np.outer(np.arange(14.0), [1.0, 2, 3]))
    eta = X @ p[:3]
    o = np.argsort(-t)
    eta = eta[o]
    ev = ev[o]
    return -np.sum((eta - np.log(np.cumsum(np.exp(eta))))[ev])


def unet1d(p: Any) -> Any:
    x = np.sin(np.arange(16.0))
    w1, w2, w3 = p[:3], p[3:6], p[6:9]
    h = np.tanh(np.convolve(x, w1, "same"))
    d = h.reshape(8, 2).mean(1)
    m = np.tanh(np.convolve(d, w2, "same"))
    up = np.repeat(m, 2) + h
    return np.mean((np.convolve(up, w3, "same") - x) ** 2)


def vi(p: Any) -> Any:
    V = np.zeros(6)
    R = p[:6]
    g = 0.9
    for _ in range(12):
        l = np.roll(V, 1)
        r = np.roll(V, -1)
        Q = np.stack([R + g * l, R + g * r])
        m = Q.max(0)
        V = m + 0.1 * np.log(np.exp((Q - m) / 0.1).sum(0))
    return V.sum()


def icp(p: Any) -> Any:
    A = p.reshape(5, 3)
    B = np.sin(np.arange(15.0)).reshape(5, 3)
    a = A - A.mean(0)
    b = B - B.mean(0)
    U, s, Vt = np.linalg.svd(a.T @ b)
    d = np.sign(np.linalg.det(U @ Vt))
    S = np.diag([1.0, 1.0, d])
    R = U @ S @ Vt
    return np.sum((a @ R - b) ** 2)


# the parameters at which derivatives are taken
PARAMETERS: dict[str, Any] = {
    "kalman": [-1.0, -0.5, 0.1, 0.3],
    "hmm": RANDOM.randn(18),
    "hmm_log": RANDOM.randn(18),
    "pca": RANDOM.randn(24),
    "sinkhorn": RANDOM.randn(12),
    "tsne": RANDOM.randn(16),
    "gmm": RANDOM.randn(12),
    "lstm": RANDOM.randn(112) * 0.5,
    "robust": [0.9, 1.1, 0.1, 0.05],
    "arma": [0.4, -0.2, 0.3],
    "garch": [-2.0, -1.0, -1.0],
    "attention": RANDOM.randn(48),
    "conv2d": RANDOM.randn(18),
    "survival": RANDOM.randn(3),
    "unet1d": RANDOM.randn(9),
    "vi": RANDOM.randn(6),
    "icp": RANDOM.randn(15),
}
