"""Simulations, likelihoods, filters and geometry as they are written for NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial.distance
from scipy import linalg, optimize, signal, stats
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import norm

_rng = np.random.default_rng(42)
XR = _rng.normal(size=(12, 3))
YB = (XR[:, 0] + 0.3 * _rng.normal(size=12) > 0).astype(int)
YC = _rng.poisson(2.0, 12)
DATA = _rng.gamma(2.0, 1.5, 15)


def heat_crank(p: Any) -> Any:
    n = len(p)
    u = np.zeros((5, n))
    u[0] = p
    A = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    L = np.eye(n) + 0.1 * A
    R = np.eye(n) - 0.1 * A
    for t in range(1, 5):
        u[t, :] = np.linalg.solve(L, R @ u[t - 1])
        u[t, 0] = u[t, -1] = 0.5 * (u[t, 1] + u[t, -2])
    return np.trapezoid(u[-1] ** 2) + u[2].max()


def double_pendulum(p: Any) -> Any:
    m1, m2, l1, l2, g = 1.0, 0.7, 1.0, 0.8, 9.81
    state = p.copy()

    def deriv(s):
        th1, th2, w1, w2 = s
        d = th1 - th2
        M = np.array([[(m1 + m2) * l1, m2 * l2 * np.cos(d)], [l1 * np.cos(d), l2]])
        f = np.array(
            [
                -m2 * l2 * w2**2 * np.sin(d) - (m1 + m2) * g * np.sin(th1),
                l1 * w1**2 * np.sin(d) - g * np.sin(th2),
            ]
        )
        a = np.linalg.solve(M, f)
        return np.concatenate(([w1, w2], a))

    dt = 0.02
    for _ in range(4):
        k1 = deriv(state)
        k2 = deriv(state + dt / 2 * k1)
        k3 = deriv(state + dt / 2 * k2)
        k4 = deriv(state + dt * k3)
        state += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state @ state + np.sin(state[0])


def nbody_leapfrog(p: Any) -> Any:
    pos = p[:6].reshape(3, 2).copy()
    vel = 0.1 * p[6:].reshape(3, 2).copy()
    mass = np.array([1.0, 0.5, 2.0])

    def acc(x):
        r = x[None, :, :] - x[:, None, :]
        d2 = np.sum(r**2, axis=-1) + 0.01
        inv = d2**-1.5
        np.fill_diagonal(inv, 0.0)
        return np.einsum("ij,ijk,j->ik", inv, r, mass)

    a = acc(pos)
    for _ in range(3):
        vel += 0.05 * a
        pos += 0.1 * vel
        a = acc(pos)
        vel += 0.05 * a
    ke = 0.5 * np.sum(mass[:, None] * vel**2)
    iu = np.triu_indices(3, 1)
    d = np.linalg.norm(pos[iu[0]] - pos[iu[1]], axis=1)
    return ke - np.sum(mass[iu[0]] * mass[iu[1]] / d)


def wave_2d(p: Any) -> Any:
    u = np.zeros((6, 6))
    u[1:-1, 1:-1] = p.reshape(4, 4)
    um = u.copy()
    c = 0.3
    for _ in range(4):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        un = 2 * u - um + c * lap
        un[[0, -1], :] = 0
        un[:, [0, -1]] = 0
        um, u = u, un
    return np.sum(u**2) + 0.1 * np.abs(u).sum()


def sod_flux(p: Any) -> Any:
    rho = np.where(np.arange(8) < 4, p[0], p[1])
    v = np.zeros(8)
    e = np.full(8, p[2])
    U = np.vstack([rho, rho * v, e])
    g = 1.4
    for _ in range(3):
        r, m, E = U
        pr = (g - 1) * (E - 0.5 * m**2 / r)
        F = np.stack((m, m * m / r + pr, (E + pr) * m / r))
        a = np.sqrt(g * pr / r)
        s = np.maximum(np.abs(m / r)[:-1] + a[:-1], np.abs(m / r)[1:] + a[1:])
        flux = 0.5 * (F[:, :-1] + F[:, 1:]) - 0.5 * s * (U[:, 1:] - U[:, :-1])
        U[:, 1:-1] -= 0.1 * (flux[:, 1:] - flux[:, :-1])
    return (U[0] * np.arange(8)).sum() + U[2].std()


def particles_add_at(p: Any) -> Any:
    x = np.array([0.2, 1.7, 2.4, 3.1]) * p[0] + p
    grid = np.zeros(8)
    i = np.floor(x).astype(int)
    w = x - i
    np.add.at(grid, i % 8, (1 - w) * p)
    np.add.at(grid, (i + 1) % 8, w * p)
    rho_k = np.fft.rfft(grid)
    k = np.arange(1, 5)
    phi = np.zeros(5, dtype=complex)
    phi[1:] = rho_k[1:] / k**2
    field = np.fft.irfft(phi, 8)
    return np.sum(field[i % 8] * p) + np.sum(grid**2)


def mass_spring_damper(p: Any) -> Any:
    k, c = p[:3], p[3:]
    K = np.diag(k) + np.diag(np.append(k[1:], 0)) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
    C = c[0] * np.eye(3) + c[1] * K
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -C]])
    y = linalg.expm(0.3 * A) @ np.array([1.0, 0, 0, 0, 0, 0.5])
    return np.linalg.norm(y[:3])


def mixture_loglik(p: Any) -> Any:
    mu1, mu2 = p[0], p[1] + 2
    w = expit(p[2])
    comp = np.column_stack(
        [np.log(w) + norm.logpdf(DATA, mu1, 1.0), np.log1p(-w) + norm.logpdf(DATA, mu2, 0.7)]
    )
    return -logsumexp(comp, axis=1).sum()


def censored_weibull(p: Any) -> Any:
    shape, scale = np.exp(p)
    cens = DATA > 4
    ll = np.where(
        cens,
        stats.weibull_min.logsf(DATA, shape, scale=scale),
        stats.weibull_min.logpdf(DATA, shape, scale=scale),
    )
    return -np.sum(ll)


def neg_binomial(p: Any) -> Any:
    r = np.exp(p[0])
    mu = np.exp(XR @ p[1:])
    return -np.sum(
        gammaln(YC + r)
        - gammaln(r)
        - gammaln(YC + 1)
        + r * np.log(r / (r + mu))
        + YC * np.log(mu / (r + mu))
    )


def mvn_cholesky(p: Any) -> Any:
    L = np.zeros((3, 3))
    L[np.tril_indices(3)] = np.concatenate([p, [1.0]])
    L[np.diag_indices(3)] = np.exp(np.diag(L))
    S = L @ L.T
    return -stats.multivariate_normal.logpdf(XR, mean=p[:3], cov=S).sum()


def student_t_garch(p: Any) -> Any:
    r = XR[:, 1]
    h = np.empty(len(r))
    h[0] = 0.5
    w, a, nu = np.abs(p[0]) * 0.1, expit(p[1]), 2 + np.exp(p[2])
    for t in range(1, len(r)):
        h[t] = w + a * 0.3 * r[t - 1] ** 2 + 0.5 * h[t - 1]
    return -np.sum(stats.t.logpdf(r / np.sqrt(h), nu) - 0.5 * np.log(h)) if True else 0


def kalman_loglik(p: Any) -> Any:
    F = np.array([[1.0, 0.1], [p[0], 0.9]])
    H = np.array([[1.0, p[1]]])
    Q = np.exp(p[2]) * np.eye(2)
    R = np.array([[np.exp(p[3])]])
    x, Pm = np.zeros(2), np.eye(2)
    ll = 0.0
    for y in XR[:6, 0]:
        x = F @ x
        Pm = F @ Pm @ F.T + Q
        S = H @ Pm @ H.T + R
        K = Pm @ H.T @ np.linalg.inv(S)
        v = y - H @ x
        ll += -0.5 * (np.log(np.linalg.det(2 * np.pi * S)) + v @ np.linalg.solve(S, v))
        x = x + K @ v
        Pm = (np.eye(2) - K @ H) @ Pm
    return -ll


def gp_marginal(p: Any) -> Any:
    ls, amp, noise = np.exp(p)
    d = scipy.spatial.distance.cdist(XR / ls, XR / ls, "sqeuclidean")
    K = amp * np.exp(-0.5 * d) + (noise + 1e-6) * np.eye(len(XR))
    c, low = linalg.cho_factor(K, lower=True)
    alpha = linalg.cho_solve((c, low), YC - 2.0)
    return 0.5 * (YC - 2.0) @ alpha + np.log(np.diag(c)).sum()


def gp_matern_slogdet(p: Any) -> Any:
    ls, s2 = np.exp(p)
    diff = XR[:, np.newaxis, :] - XR[np.newaxis, :, :]
    r = np.sqrt((diff**2).sum(-1)) / ls
    K = (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r) + s2 * np.eye(len(XR))
    sign, logdet = np.linalg.slogdet(K)
    assert sign > 0
    y = XR[:, 0]
    return 0.5 * logdet + 0.5 * y.T @ np.linalg.solve(K, y)


def cox_partial(b: Any) -> Any:
    t = np.argsort(-DATA[:12])
    z = (XR[:, :2] @ b)[t]
    risk = np.logaddexp.accumulate(z)
    ev = YB[t].astype(bool)
    return -(z - risk)[ev].sum()


def sosfilt_energy(x: Any) -> Any:
    sos = signal.butter(4, 0.2, output="sos")
    y = signal.sosfilt(sos, x)
    return np.sum(y**2) + np.max(y)


def hilbert_envelope(x: Any) -> Any:
    a = signal.hilbert(x)
    env = np.abs(a)
    ph = np.unwrap(np.angle(a))
    return env.sum() + np.diff(ph).std()


def stft_loss(x: Any) -> Any:
    frames = np.lib.stride_tricks.sliding_window_view(x, 8)[::4]
    F = np.fft.rfft(frames * signal.windows.hann(8), axis=-1)
    return np.log1p(np.abs(F)).sum() + (F.real * F.imag).mean()


def rotation_rodrigues(w: Any) -> Any:
    th = np.linalg.norm(w)
    k = w / th
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    R = np.eye(3) + np.sin(th) * K + (1 - np.cos(th)) * (K @ K)
    return np.sum((XR @ R.T - XR[:, ::-1]) ** 2)


def orbit_elements(p: Any) -> Any:
    r, v = p[:3] + np.array([1.0, 0, 0]), p[3:]
    mu = 1.0
    h = np.cross(r, v)
    n = np.cross([0, 0, 1.0], h)
    e = np.cross(v, h) / mu - r / np.linalg.norm(r)
    inc = np.arccos(h[2] / np.linalg.norm(h))
    ecc = np.linalg.norm(e)
    raan = np.arccos(n[0] / np.linalg.norm(n))
    if n[1] < 0:
        raan = 2 * np.pi - raan
    a = 1 / (2 / np.linalg.norm(r) - v @ v / mu)
    return inc + ecc * raan + a


def bundle_projection(p: Any) -> Any:
    R, t, f = p[:3], p[3:6], 1 + 0.1 * p[6:]
    pts = XR + np.array([0, 0, 6.0])
    th = np.sqrt(R @ R + 1e-12)
    k = R / th
    rot = (
        pts * np.cos(th)
        + np.cross(k, pts) * np.sin(th)
        + np.outer(pts @ k, k) * (1 - np.cos(th))
        + t
    )
    uv = -rot[:, :2] / rot[:, 2:]
    r2 = (uv**2).sum(axis=1, keepdims=True)
    proj = f[0] * uv * (1 + f[1] * 0.01 * r2 + f[2] * 0.001 * r2**2)
    return np.sum(np.sqrt(1 + (proj - XR[:, 1:]) ** 2) - 1)


def attention(p: Any) -> Any:
    X = XR[:5, :2]
    Wq, Wk, Wv, Wo = p.reshape(4, 2, 2)
    q, k, v = X @ Wq, X @ Wk, X @ Wv
    s = q @ k.T / np.sqrt(2)
    mask = np.triu(np.ones((5, 5), bool), 1)
    s[mask] = -np.inf
    s = s - s.max(axis=-1, keepdims=True)
    a = np.exp(s)
    a /= a.sum(-1, keepdims=True)
    o = (a @ v) @ Wo
    o = (o - o.mean(-1, keepdims=True)) / np.sqrt(o.var(-1, keepdims=True) + 0.1)
    return np.sum(o * X)


def conv2d_im2col(p: Any) -> Any:
    img = np.arange(25.0).reshape(5, 5) / 25
    k = p.reshape(2, 3, 3)
    win = np.lib.stride_tricks.sliding_window_view(img, (3, 3))
    out = np.einsum("ijkl,fkl->fij", win, k)
    out = np.where(out > 0, out, 0.1 * np.expm1(out))
    return np.log(np.mean(out**2, axis=(1, 2))).sum()


def bspline_curve(c: Any) -> Any:
    k = 3
    t = np.r_[[0] * 3, np.linspace(0, 1, 5), [1] * 3]
    spl = scipy.interpolate.BSpline(t, c, k)
    x = np.linspace(0.05, 0.95, 9)
    return (spl(x) ** 2).sum() + spl.derivative()(x).sum()


def implied_vol(p: Any) -> Any:
    def bs(sig):
        d1 = (np.log(100 / 95) + 0.5 * sig**2) / sig
        return 100 * norm.cdf(d1) - 95 * norm.cdf(d1 - sig)

    return optimize.brentq(lambda s: bs(s) - (8 + 10 * p[0] * p[1]), 1e-3, 5.0, xtol=1e-13)


def pca_explained(p: Any) -> Any:
    X = XR + np.outer(np.arange(12) / 10.0, p[:3]) + p[3:] * 0.1
    Xc = X - X.mean(axis=0)
    w, V = np.linalg.eigh(np.cov(Xc.T))
    s = np.linalg.svd(Xc, compute_uv=False)
    return w[-1] / w.sum() + np.abs(V[:, -1] @ np.array([1.0, 2, 3])) + s[1]


def svd_lowrank(p: Any) -> Any:
    A = p.reshape(3, 3)
    U, s, Vt = np.linalg.svd(A)
    A2 = (U[:, :2] * s[:2]) @ Vt[:2]
    return (
        np.linalg.norm(A - A2) + np.sum(A2**3) + np.linalg.norm(A, "nuc") + np.linalg.cond(A) * 1e-2
    )


def markov_stationary(p: Any) -> Any:
    T = np.exp(p.reshape(3, 3))
    T /= T.sum(axis=1, keepdims=True)
    A = np.vstack([T.T - np.eye(3), np.ones(3)])
    pi = np.linalg.pinv(A) @ np.array([0, 0, 0, 1.0])
    return -np.sum(pi * np.log(pi)) + np.linalg.matrix_power(T, 5)[0, 1]


def lyapunov_stability(p: Any) -> Any:
    A = p.reshape(2, 2) - 2 * np.eye(2)
    X = linalg.solve_continuous_lyapunov(A, -np.eye(2))
    ev = np.linalg.eigvals(A)
    return np.trace(X) + ev.real.max() + np.abs(ev).prod()


PARAMETERS = {
    "heat_crank": [0.1, 0.18, 0.26, 0.34, 0.42, 0.5],
    "double_pendulum": [0.3, 1.1, 0.2, -0.4],
    "nbody_leapfrog": [0.3, -1.04, 0.75, 0.94, -1.95, -1.3, 0.13, -0.32, -0.02, -0.85, 0.88, 0.78],
    "wave_2d": [
        0.02,
        0.34,
        0.14,
        -0.26,
        0.11,
        -0.29,
        0.26,
        -0.01,
        -0.06,
        -0.2,
        0.37,
        -0.05,
        -0.13,
        -0.11,
        0.16,
        0.11,
    ],
    "sod_flux": [0.8, 0.3, 1.2],
    "particles_add_at": [1.2, 0.4, 0.9, 0.3],
    "mass_spring_damper": [0.65, 1.18, 1.24, 1.47, 0.83],
    "mixture_loglik": [0.3, 0.2, -0.4],
    "censored_weibull": [0.7, 0.3],
    "neg_binomial": [0.5, 0.2, -0.3, 0.7],
    "mvn_cholesky": [0.3, 0.2, 0.5, 0.1, -0.2],
    "student_t_garch": [0.4, 0.3, 2.0],
    "kalman_loglik": [0.1, 0.2, -0.3, 0.5],
    "gp_marginal": [0.2, -0.3, 0.1],
    "gp_matern_slogdet": [0.2, -0.3],
    "cox_partial": [0.4, -0.1],
    "sosfilt_energy": [-0.16, -1.04, -1.67, -0.49, -0.05, 1.77, 0.13, 0.98, -0.5, -1.18],
    "hilbert_envelope": [
        1.46,
        -1.11,
        -0.89,
        0.64,
        -0.39,
        -0.01,
        -0.16,
        0.34,
        1.41,
        0.09,
        0.64,
        -2.05,
    ],
    "stft_loss": [
        -0.05,
        -0.84,
        -1.22,
        -0.88,
        -0.33,
        0.92,
        -1.33,
        0.03,
        -0.48,
        -0.33,
        1.0,
        0.54,
        1.34,
        -0.15,
        -0.7,
        -0.22,
    ],
    "rotation_rodrigues": [0.3, 0.8, -0.5],
    "orbit_elements": [0.7, 0.1, 0.3, 1.2, 0.4, 0.9],
    "bundle_projection": [-0.59, 0.32, 1.21, -0.73, -0.65, -2.15, -0.16, -1.06, -0.53],
    "attention": [
        -0.19,
        -0.07,
        -0.69,
        -0.12,
        -0.13,
        0.12,
        -0.28,
        0.24,
        0.51,
        0.08,
        0.18,
        0.03,
        0.0,
        -0.36,
        0.16,
        -0.05,
    ],
    "conv2d_im2col": [
        0.06,
        0.59,
        -1.03,
        -0.09,
        0.07,
        0.12,
        -0.15,
        -0.7,
        0.13,
        0.69,
        -0.61,
        0.35,
        -0.13,
        -0.02,
        -0.42,
        -0.13,
        0.52,
        0.23,
    ],
    "bspline_curve": [-0.3, 0.07, -0.7, 0.99, -1.18, 0.78, -0.19],
    "implied_vol": [0.7, 1.4],
    "pca_explained": [-1.01, 0.03, -1.22, -0.67, 0.31, 1.16],
    "svd_lowrank": [0.61, -2.29, 0.3, 0.07, 0.41, 1.62, -2.06, -0.59, 0.59],
    "markov_stationary": [-0.47, 0.44, 0.11, 0.25, -0.17, 0.24, 0.32, 0.07, 0.07],
    "lyapunov_stability": [0.14, -0.43, -0.07, -0.08],
}
