"""Simulations, geometry and signals as people write them, of a vector of parameters.

Plain NumPy: `test_derivative_programs.py` runs each with `np` bound to lazynp as well.
"""

# ruff: noqa: E741

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.RandomState(0)


def raymarch(p: Any) -> Any:
    c = p[:3]
    rad = p[3]
    ys, xs = np.mgrid[-0.5:0.5:6j, -0.5:0.5:6j]
    d = np.stack([xs, ys, np.ones_like(xs)], -1)
    d = d / np.linalg.norm(d, axis=-1, keepdims=True)
    t = np.zeros(xs.shape)
    for _ in range(12):
        pos = t[..., None] * d
        s = np.minimum(np.linalg.norm(pos - c, axis=-1) - rad, pos[..., 1] + 1.0)
        t = t + s
    pos = t[..., None] * d
    n = (pos - c) / rad
    shade = np.clip(n @ np.array([0.3, -0.5, -0.8]), 0, 1)
    return np.sum(np.where(t < 4, shade, 0.1 * t))


def springs(p: Any) -> Any:
    pos = np.linspace(0, 1, 8)[:, None] * np.array([1.0, 0.0])
    vel = np.zeros((8, 2))
    k = np.exp(p[0])
    damp = p[1]
    L = 1 / 7
    for _ in range(15):
        f = np.zeros((8, 2))
        f[:, 1] -= p[2]
        d = pos[1:] - pos[:-1]
        l = np.sqrt((d**2).sum(1, keepdims=True))
        s = k * (l - L) * d / l
        f[:-1] += s
        f[1:] -= s
        vel += 0.02 * (f - damp * vel)
        vel[0] = 0
        vel[-1] = 0
        pos += 0.02 * vel
    return (pos[:, 1] ** 2).sum()


def spline(p: Any) -> Any:
    n = len(p)
    a = np.full(n - 2, 1 / 6.0)
    b = np.full(n - 2, 2 / 3.0)
    r = p[2:] - 2 * p[1:-1] + p[:-2]
    cp = np.zeros(n - 2)
    dp = np.zeros(n - 2)
    cp[0] = a[0] / b[0]
    dp[0] = r[0] / b[0]
    for i in range(1, n - 2):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = a[i] / m
        dp[i] = (r[i] - a[i] * dp[i - 1]) / m
    M = np.zeros(n)
    for i in range(n - 3, -1, -1):
        M[i + 1] = dp[i] - cp[i] * M[i + 2]
    t = np.linspace(0.1, n - 1.1, 30)
    i = np.floor(t).astype(int)
    u = t - i
    y = (
        (1 - u) * p[i]
        + u * p[i + 1]
        + (((1 - u) ** 3 - (1 - u)) * M[i] + (u**3 - u) * M[i + 1]) / 6
    )
    return np.sum(y**2)


def ode_rk4(p: Any) -> Any:
    def f(y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])

    y = np.array([1.0, 0.5])
    h = 0.1
    out = []
    for _ in range(20):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(y)
    return np.mean((np.array(out) - np.ones(2)) ** 2)


def imagefilter(p: Any) -> Any:
    img = np.add.outer(np.sin(np.arange(12.0)), np.cos(np.arange(10.0)))
    k = p.reshape(3, 3)
    out = np.zeros((10, 8))
    for i in range(3):
        for j in range(3):
            out += k[i, j] * img[i : i + 10, j : j + 8]
    g = np.pad(out, 1, mode="edge")
    gx = g[1:-1, 2:] - g[1:-1, :-2]
    gy = g[2:, 1:-1] - g[:-2, 1:-1]
    return np.sum(np.hypot(gx, gy)) + np.sum(np.maximum(out, 0))


def cloth(p: Any) -> Any:
    N = 5
    pos = np.zeros((N, N, 3))
    pos[..., 0], pos[..., 1] = np.meshgrid(np.linspace(0, 1, N), np.linspace(0, 1, N))
    prev = pos.copy()
    wind = p[:3]
    rest = 0.25
    for _ in range(6):
        acc = np.zeros_like(pos)
        acc[..., 2] -= 9.8
        acc += wind
        new = 2 * pos - prev + acc * 0.001
        prev = pos.copy()
        pos = new
        for _ in range(2):
            for ax in (0, 1):
                a = pos[1:] if ax == 0 else pos[:, 1:]
                b = pos[:-1] if ax == 0 else pos[:, :-1]
                d = a - b
                l = np.linalg.norm(d, axis=-1, keepdims=True)
                corr = p[3] * 0.5 * d * (1 - rest / l)
                if ax == 0:
                    pos[1:] -= corr
                    pos[:-1] += corr
                else:
                    pos[:, 1:] -= corr
                    pos[:, :-1] += corr
            pos[0] = prev[0]
    return pos[..., 2].sum() + pos[-1, -1, 0]


def logistic_map(p: Any) -> Any:
    x = np.array([0.1, 0.2, 0.3])
    tot = 0.0
    for _ in range(12):
        x = p[0] * x * (1 - x)
        tot += x.sum()
    return tot + p[1] * x.prod()


def ising_mf(p: Any) -> Any:
    m = np.tanh(p)
    for _ in range(15):
        m = 0.5 * m + 0.5 * np.tanh(0.4 * (np.roll(m, 1) + np.roll(m, -1)) + p)
    return np.sum(m) + np.dot(m, np.roll(m, 1))


def heat_inplace(p: Any) -> Any:
    u = np.zeros(20)
    u[5:15] = p[0]
    u[10] += p[1]
    for _ in range(20):
        u[1:-1] += 0.2 * p[2] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2) + u.max()


def bezier(p: Any) -> Any:
    P = p.reshape(4, 2)
    t = np.linspace(0, 1, 20)[:, None]
    pts = [P[i] * np.ones((20, 1)) for i in range(4)]
    while len(pts) > 1:
        pts = [(1 - t) * a + t * b for a, b in zip(pts[:-1], pts[1:])]
    c = pts[0]
    return np.sum(np.sqrt(np.sum(np.diff(c, axis=0) ** 2, 1)))


def fftfilter(p: Any) -> Any:
    x = np.sin(np.arange(32.0)) + p
    X = np.fft.rfft(x)
    fr = np.fft.rfftfreq(32)
    y = np.fft.irfft(X * np.exp(-((fr / 0.2) ** 2)))
    return np.sum(y**4) + np.sum(np.log1p(np.abs(X)))


def nbody(p: Any) -> Any:
    q = p.reshape(4, 2).copy()
    v = np.zeros((4, 2))
    for _ in range(8):
        d = q[None] - q[:, None]
        r2 = (d**2).sum(-1) + 0.01
        a = (d / r2[..., None] ** 1.5).sum(1)
        v = v + 0.01 * a
        q = q + 0.01 * v
    iu = np.triu_indices(4, 1)
    return 0.5 * np.sum(v**2) - np.sum(1 / np.sqrt(((q[:, None] - q) ** 2).sum(-1) + 0.01)[iu])


def hough(p: Any) -> Any:
    th = p[0]
    R = np.array([[np.cos(th), -np.sin(th)], [np.sin(th), np.cos(th)]])
    g = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0), indexing="ij"), -1) - 3.5
    s = g @ R.T * p[1] + 3.5 + p[2:4]
    img = np.sin(np.arange(64.0)).reshape(8, 8)
    i = np.clip(np.floor(s).astype(int), 0, 6)
    f = np.clip(s - i, 0, 1)
    v = (
        img[i[..., 0], i[..., 1]] * (1 - f[..., 0]) * (1 - f[..., 1])
        + img[i[..., 0] + 1, i[..., 1]] * f[..., 0] * (1 - f[..., 1])
        + img[i[..., 0], i[..., 1] + 1] * (1 - f[..., 0]) * f[..., 1]
        + img[i[..., 0] + 1, i[..., 1] + 1] * f[..., 0] * f[..., 1]
    )
    return np.sum(v**2)


def beam(p: Any) -> Any:
    n = 6
    K = np.zeros((n, n))
    for i in range(n - 1):
        k = np.exp(p[i])
        K[i : i + 2, i : i + 2] += k * np.array([[1.0, -1], [-1, 1]])
    K[0, :] = 0
    K[:, 0] = 0
    K[0, 0] = 1
    f = np.zeros(n)
    f[-1] = p[5]
    u = np.linalg.solve(K, f)
    return f @ u


def option(p: Any) -> Any:
    S, K, r, s, T = p[0], 1.0, p[1], p[2], 1.0
    n = 20
    dt = T / n
    u = np.exp(s * np.sqrt(dt))
    d = 1 / u
    q = (np.exp(r * dt) - d) / (u - d)
    ST = S * u ** np.arange(n, -n - 1, -2.0)
    v = np.maximum(K - ST, 0)
    for i in range(n - 1, -1, -1):
        v = np.exp(-r * dt) * (q * v[:-1] + (1 - q) * v[1:])
        ST = S * u ** np.arange(i, -i - 1, -2.0)
        v = np.maximum(v, K - ST)
    return v[0]


def dtw(p: Any) -> Any:
    a = p[:6]
    b = np.cos(np.arange(5.0))
    D = np.full((7, 6), 1e3)
    D[0, 0] = 0.0
    for i in range(1, 7):
        for j in range(1, 6):
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 - 0.1 * np.log(
                np.exp(-D[i - 1, j] / 0.1)
                + np.exp(-D[i, j - 1] / 0.1)
                + np.exp(-D[i - 1, j - 1] / 0.1)
                + 1e-300
            )
    return D[6, 5]


def eikonal(p: Any) -> Any:
    n = 6
    T = np.full((n + 2, n + 2), 10.0)
    T[1, 1] = 0.0
    f = np.exp(p.reshape(n, n) * 0.1)
    for _ in range(4):
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                if i == 1 and j == 1:
                    continue
                a = min(T[i - 1, j], T[i + 1, j])
                b = min(T[i, j - 1], T[i, j + 1])
                fi = f[i - 1, j - 1]
                if abs(a - b) < fi:
                    t = (a + b + np.sqrt(2 * fi**2 - (a - b) ** 2)) / 2
                else:
                    t = min(a, b) + fi
                T[i, j] = min(T[i, j], t)
    return T[1:-1, 1:-1].sum()


def wavelet(p: Any) -> Any:
    x = p.copy()
    out = []
    while len(x) > 1:
        out.append((x[0::2] - x[1::2]) / np.sqrt(2))
        x = (x[0::2] + x[1::2]) / np.sqrt(2)
    c = np.concatenate(out + [x])
    return np.sum(np.sign(c) * np.maximum(np.abs(c) - 0.1, 0) ** 2)


# the parameters at which derivatives are taken
PARAMETERS: dict[str, Any] = {
    "raymarch": [0.05, 0.1, 3.0, 0.9],
    "springs": [3.0, 0.5, 9.8],
    "spline": RANDOM.randn(9),
    "ode_rk4": [1.0, 0.8, 0.6, 0.5],
    "imagefilter": RANDOM.randn(9),
    "cloth": [0.3, 0.2, 0.1, 0.8],
    "logistic_map": [3.1, 0.5],
    "ising_mf": RANDOM.randn(9) * 0.5,
    "heat_inplace": [1.0, 0.5, 0.8],
    "bezier": RANDOM.randn(8),
    "fftfilter": RANDOM.randn(32),
    "nbody": RANDOM.randn(8),
    "hough": [0.3, 0.9, 0.2, -0.1],
    "beam": RANDOM.randn(6),
    "option": [0.95, 0.05, 0.3],
    "dtw": RANDOM.randn(6),
    "eikonal": RANDOM.randn(36),
    "wavelet": RANDOM.randn(16),
}
