"""Algorithms and idioms as they are written for NumPy: in place, by indices, by structures."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
from numpy.linalg import norm as vnorm
from scipy import stats


def swap_inplace(x: Any) -> Any:
    a = x.reshape(3, 3).copy()
    a[[0, 2]] = a[[2, 0]]
    a[:, 0], a[:, 1] = a[:, 1].copy(), a[:, 0].copy()
    a[1], a[2] = a[2], a[1]  # the classic aliasing trap
    b = a[::-1, ::2]
    b -= b.mean(axis=0)
    a += a.T
    return (a**3).sum()


def gauss_elim_pivot(x: Any) -> Any:
    A = x.reshape(3, 3).copy() + 2 * np.eye(3)
    b = np.arange(3.0) + x[:3]
    n = 3
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = (b[i] - A[i, i + 1 :] @ y[i + 1 :]) / A[i, i]
    return y @ y


def jacobi_eig(x: Any) -> Any:
    A = x.reshape(3, 3)
    A = A + A.T
    for _ in range(4):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            th = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
            J = np.eye(3)
            J[p, p] = J[q, q] = np.cos(th)
            J[p, q] = np.sin(th)
            J[q, p] = -np.sin(th)
            A = J.T @ A @ J
    return np.sort(np.diag(A)) @ np.array([1.0, 2, 3])


def haar(x: Any) -> Any:
    a = x.copy()
    n = len(a)
    while n > 1:
        h = n // 2
        s, d = (a[0:n:2] + a[1:n:2]) / np.sqrt(2), (a[0:n:2] - a[1:n:2]) / np.sqrt(2)
        a[:h], a[h:n] = s, np.sign(d) * np.maximum(np.abs(d) - 0.1, 0)
        n = h
    return np.sum(a**2) + a[0] * a[-1]


def viterbi_smooth(p: Any) -> Any:
    T = p[:4].reshape(2, 2)
    em = p[4:].reshape(3, 2)
    d = em[0]
    bp = []
    for t in range(1, 3):
        s = d[:, None] + T
        bp.append(s.argmax(0))
        d = s.max(0) + em[t]
    path = [int(d.argmax())]
    for b in bp[::-1]:
        path.append(int(b[path[-1]]))
    return d.max() + sum(em[2 - i, k] for i, k in enumerate(path)) ** 2


def dtw_np(x: Any) -> Any:
    y = np.sin(np.arange(5))
    D = np.full((8, 6), np.inf)
    D[0, 0] = 0
    for i in range(1, 8):
        for j in range(1, 6):
            D[i, j] = (x[i - 1] - y[j - 1]) ** 2 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[7, 5]


def ewma_deque(x: Any) -> Any:
    q = collections.deque(maxlen=3)
    out = []
    for v in x:
        q.append(v)
        out.append(np.mean(q))
    a = np.array(out)
    a[a > 0.2] **= 2
    return np.dot(a, np.arange(6)) + np.std(out, ddof=1)


def structured_state(p: Any) -> Any:
    st = {"pos": p[:6].reshape(2, 3).copy(), "vel": p[6:].reshape(2, 3).copy(), "t": 0.0}

    def step(s, dt):
        r = np.diff(s["pos"], axis=0)[0]
        f = -r / np.sqrt(r.dot(r) + 0.1) ** 3
        s["vel"][0] -= dt * f
        s["vel"][1] += dt * f
        s["pos"] += dt * s["vel"]
        s["t"] += dt
        np.clip(s["pos"], -1.5, 1.5, out=s["pos"])
        return s

    for _ in range(5):
        st = step(st, 0.1)
    return np.linalg.norm(st["pos"]) + (st["vel"] ** 2).sum() * st["t"]


def histogram_weights(w: Any) -> Any:
    x = np.array([0.1, 0.4, 0.35, 0.8, 0.9])
    h, e = np.histogram(x, bins=4, range=(0, 1), weights=w, density=True)
    c = np.cumsum(h * np.diff(e))
    q = np.interp(0.5, c, e[1:])
    return (h**2).sum() + q


def nan_stats(x: Any) -> Any:
    y = np.where(np.arange(6) == 3, np.nan, x)
    return (
        np.nansum(y**2)
        + np.nanvar(y)
        + np.nanmedian(y)
        + np.nanpercentile(y, 40)
        + np.nancumsum(y)[-2]
        + np.nanprod(y)
    )


def poly_classes(c: Any) -> Any:
    p = np.poly1d(c[:3])
    q = np.polynomial.Polynomial(c[3:])
    return (
        p(0.3)
        + p.deriv()(0.2) * (p * p)(0.1)
        + q(0.5) * q.integ()(1.0)
        + np.polynomial.chebyshev.chebval(0.3, c)
        + np.polynomial.legendre.legval(0.2, c[:4])
        + np.polyint(c)[0]
        + np.convolve(c, c)[5]
        + np.polydiv(c, c[:2] + 3)[0].sum()
    )


def einsum_many(x: Any) -> Any:
    A = x.reshape(3, 4)
    B = np.arange(24.0).reshape(4, 3, 2) / 10
    t = np.einsum("ij,jkl->ikl", A, B)
    u = np.einsum("ii...->...", t)
    v = np.einsum("ij,ij->j", A, A)
    w = np.tensordot(A, B, axes=([0, 1], [1, 0]))
    k = np.kron(A[:2, :2], A[1:, 1:])
    o = np.outer(v, v)
    return (
        u.sum()
        + w @ w
        + np.linalg.multi_dot([A, A.T, A])[0, 1]
        + np.trace(k)
        + np.vdot(o, o) ** 0.5
        + np.inner(A, A)[0, 2]
    )


def norms(x: Any) -> Any:
    a = x.reshape(3, 3)
    return (
        sum(vnorm(a, o) for o in (None, "fro", "nuc", 1, -1, np.inf, 2, -2))
        + sum(vnorm(x, o) for o in (1, 2, 3, np.inf, -np.inf, 0.5))
        + np.linalg.cond(a)
        + np.linalg.vector_norm(a, axis=1).sum()
        + np.linalg.matrix_norm(a, ord=1)
    )


def copula(p: Any) -> Any:
    u = np.array([[0.2, 0.3], [0.6, 0.7], [0.9, 0.4]])
    rho = np.tanh(p[0])
    z = stats.norm.ppf(u)
    ll = -0.5 * np.log(1 - rho**2) - (rho**2 * (z**2).sum(1) - 2 * rho * z[:, 0] * z[:, 1]) / (
        2 * (1 - rho**2)
    )
    return (
        ll.sum()
        + stats.norm.cdf(p[1]) * stats.norm.pdf(p[2])
        + stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).logpdf(z).sum()
    )


def bootstrapped_curve(p: Any) -> Any:
    t = np.array([0.5, 1, 2, 3.0])
    df = np.ones(4)
    rates = 0.02 + 0.01 * p[0] * np.exp(-t / p[1])
    for i in range(4):
        acc = np.sum(df[:i] * np.diff(np.r_[0, t[:i]]))
        df[i] = (1 - rates[i] * acc) / (1 + rates[i] * (t[i] - (t[i - 1] if i else 0)))
    f = scipy.interpolate.interp1d(t, -np.log(df) / t, kind="linear", fill_value="extrapolate")
    return f(1.7) * p[2] + f(3.5)


def lqr_cost(p: Any) -> Any:
    A = np.array([[1.0, 0.1], [p[0] * 0.1, 1.0]])
    B = np.array([[0.0], [0.1 * np.exp(p[1])]])
    Q = np.diag(np.exp(p[2:4]))
    Rr = np.eye(1) * np.exp(p[4])
    Pm = Q
    for _ in range(5):
        K = np.linalg.solve(Rr + B.T @ Pm @ B, B.T @ Pm @ A)
        Pm = Q + A.T @ Pm @ (A - B @ K)
    x = np.array([1.0, p[5]])
    X = scipy.linalg.solve_discrete_are(A, B, Q, Rr)
    return x @ Pm @ x + np.trace(X)


def ivp_event_time(p: Any) -> Any:
    def hit(t: Any, y: Any) -> Any:
        return y[0] - 0.1

    hit.terminal = True
    s = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -9.8 * p[1]],
        [0, 3],
        [1.0 * p[0], 0.5],
        events=hit,
        rtol=1e-9,
        atol=1e-11,
    )
    return s.t_events[0][0]


def fft2_poisson(p: Any) -> Any:
    f = p.reshape(4, 4)
    fh = np.fft.fft2(f - f.mean())
    k = np.fft.fftfreq(4) * 2 * np.pi
    k2 = k[:, None] ** 2 + k[None] ** 2
    k2[0, 0] = 1
    u = np.fft.ifft2(fh / k2).real
    return (
        (u * f).sum() + np.abs(np.fft.ifftshift(fh)).max() + scipy.fft.dctn(u, norm="ortho")[1, 1]
    )


def chirp_demod(x: Any) -> Any:
    n = np.arange(16)
    c = np.exp(1j * (0.1 * n**2))
    z = (x * c).cumsum()
    ph = np.unwrap(np.angle(z))
    y = np.abs(z) ** 2 * np.exp(1j * ph)
    return (
        np.real(np.vdot(y, z))
        + np.sum(np.log(z + 3)).imag
        + (z**0.5).real.sum()
        + np.sum(np.sqrt(z) * np.conj(z)).real
    )


def reduceat_where(x: Any) -> Any:
    s = np.add.reduceat(x, [0, 3, 7])
    m = np.maximum.reduceat(x, [0, 5])
    p = np.multiply.reduce(x[:3])
    a = np.subtract.outer(x[:3], x[3:6])
    b = np.add.reduce(x, where=x > 0, initial=1.0)
    c = np.minimum.accumulate(x)
    d = np.hypot.reduce(x[:3])
    e = np.logaddexp.reduce(x)
    return (
        s @ s
        + m.sum()
        + p
        + (a**2).sum()
        + b**2
        + c.sum()
        + d
        + e
        + np.sum(x**2, where=x < 0)
        + np.mean(x, where=x > -1)
        + x.max(initial=0.5, where=x < 1)
    )


def at_ops(x: Any) -> Any:
    a = np.zeros(4)
    i = np.array([0, 1, 1, 3, 0, 2, 2, 2, 3, 1])
    np.add.at(a, i, x**2)
    b = np.ones(4)
    np.multiply.at(b, i, 1 + 0.1 * x)
    c = np.full(4, -9.0)
    np.maximum.at(c, i, x)
    np.subtract.at(a, i[:3], x[:3])
    d = np.zeros((2, 4))
    d[:, i[:4]] += x[:4]
    e = np.zeros(4)
    e[i] = x
    return a @ b + c.sum() + (d**2).sum() + e @ np.arange(4)


def put_take(x: Any) -> Any:
    f = x.copy().reshape(2, 5)
    np.put_along_axis(f, np.array([[0], [1]]), 2 * x[:2, None], 1)
    np.put(f, [3, 8], x[3:5] ** 2)
    np.putmask(f, f > 0.5, 0.25 * f)
    np.place(f, f < -0.8, [0.1, 0.2])
    g = np.take(f, [[0, 1], [9, 4]])
    h = np.compress([1, 0, 1], f.T[:3], axis=0)
    k = np.extract(f > 0, f)
    left = np.delete(x, [1, 3])
    m = np.insert(left, 2, x[0] * x[1])
    n = np.append(m, x[-1])
    o = np.trim_zeros(n)
    q = np.resize(x, 13)
    r = np.array_split(q, 4)[1]
    return (f**2).sum() + g.prod() + h.sum() + k @ k + n @ n + o.sum() + r @ r + q.sum()


def stateful_class(p: Any) -> Any:
    class Layer:
        def __init__(self, w, b):
            self.w, self.b, self.cache = w, b, None

        def __call__(self, x):
            self.cache = x
            return np.maximum(self.w * x + self.b, 0.1 * (self.w * x + self.b))

    net = [Layer(p[i], p[i + 1]) for i in range(0, 6, 2)]
    x = np.linspace(-1, 1, 5)
    for layer in net:
        x = layer(x)
    return x @ x + sum(np.sum(layer.cache) for layer in net)


def qr_cholesky_update(x: Any) -> Any:
    A = x.reshape(3, 3) + 3 * np.eye(3)
    Q, R = np.linalg.qr(A, mode="complete")
    L = np.linalg.cholesky(A @ A.T)
    Q2, R2 = scipy.linalg.qr(A[:, :2], mode="economic")
    lu, piv = scipy.linalg.lu_factor(A)
    y = scipy.linalg.lu_solve((lu, piv), x[:3])
    return (
        Q[0, 1] * R[0, 2]
        + np.log(np.diag(L)).sum()
        + (Q2 @ R2).sum()
        + y @ y
        + np.abs(np.diag(lu)).prod()
    )


def frozen_rv(x: Any) -> Any:
    d = stats.norm(loc=x[0], scale=np.exp(x[1]))
    g = stats.gamma(a=2.0, scale=np.exp(x[2]))
    return (
        d.logpdf([0.1, 0.2]).sum()
        + g.logpdf([1.0, 2.0]).sum()
        + d.cdf(0.3)
        + g.sf(1.5)
        + d.ppf(0.2)
        + d.mean()
        + g.var()
        + d.entropy()
    )


PARAMETERS = {
    "swap_inplace": [0.0, 0.3, -0.27, -0.89, -0.45, -0.99, 0.06, 1.34, -0.49],
    "gauss_elim_pivot": [0.0, 0.3, -0.27, -0.89, -0.45, -0.99, 0.06, 1.34, -0.49],
    "jacobi_eig": [0.0, 0.3, -0.27, -0.89, -0.45, -0.99, 0.06, 1.34, -0.49],
    "haar": [-0.46, -1.9, -1.29, -1.84, -0.24, -1.27, 0.27, 0.16],
    "viterbi_smooth": [-0.48, -0.98, -0.81, 1.06, -0.81, -0.03, 0.88, -0.58, -0.11, 0.11],
    "dtw_np": [0.06, -1.23, 0.08, 1.36, -1.55, 0.86, 0.12],
    "ewma_deque": [-0.64, 2.0, 0.76, -1.2, 0.07, 0.58],
    "structured_state": [
        -0.19,
        0.68,
        -0.07,
        0.67,
        1.44,
        -0.68,
        0.2,
        -0.46,
        0.13,
        -1.19,
        -0.58,
        -0.2,
    ],
    "histogram_weights": [1.35, 1.06, 1.12, 0.86, 0.56],
    "nan_stats": [0.58, -1.29, 0.35, -1.69, -2.04, -0.3],
    "poly_classes": [-1.05, 0.26, -0.86, 0.97, 0.19, 0.09],
    "einsum_many": [-2.13, 0.85, -1.75, 0.76, -0.85, 0.78, 0.13, -1.54, 1.25, 1.44, -0.07, -0.27],
    "norms": [-0.67, -1.05, 0.34, 1.41, -1.45, -0.21, -0.63, -1.76, 0.73],
    "copula": [0.2, 0.4, -0.3],
    "bootstrapped_curve": [0.5, 1.5, 0.3],
    "lqr_cost": [-0.14, 0.54, 0.78, 0.83, 0.92, -0.46],
    "ivp_event_time": [0.9, 0.5],
    "fft2_poisson": [
        1.88,
        1.48,
        -1.15,
        -1.69,
        0.82,
        -1.02,
        -0.01,
        0.84,
        -1.64,
        -2.11,
        0.26,
        0.04,
        -0.25,
        0.04,
        -0.86,
        -1.51,
    ],
    "chirp_demod": [
        0.89,
        -0.09,
        -0.01,
        -1.45,
        -0.46,
        0.74,
        -0.08,
        0.08,
        -0.29,
        1.15,
        -0.02,
        -2.2,
        -0.69,
        -1.97,
        -3.25,
        -0.53,
    ],
    "reduceat_where": [1.33, 0.05, -1.17, -0.94, 1.13, 0.16, 0.05, -0.05, 0.04, 0.81],
    "at_ops": [0.55, 0.22, -1.04, 0.51, -0.68, 1.09, -1.27, -0.14, -0.01, -1.32],
    "put_take": [1.72, 1.46, -0.46, 0.77, 0.38, -2.61, 0.25, -0.06, 0.08, -1.08],
    "stateful_class": [-0.27, -0.18, 1.19, 0.33, -0.01, 1.53],
    "qr_cholesky_update": [-0.31, -0.6, 0.19, -0.0, -0.99, 0.46, 2.02, -0.26, -0.2],
    "frozen_rv": [0.68, 0.38, -0.56, -1.38, 0.95, 0.97],
}
