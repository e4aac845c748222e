"""Images, finance, samples and interpolation as they are written for NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial.transform
from scipy import linalg, ndimage, signal, stats

_rng = np.random.default_rng(42)
XR = _rng.normal(size=(12, 3))
IMG = np.add.outer(np.sin(np.arange(8)), np.cos(np.arange(8) * 0.7))


def image_registration(p: Any) -> Any:
    y, x = np.mgrid[0:8, 0:8].astype(float)
    c, s = np.cos(p[2]), np.sin(p[2])
    yy = c * (y - 3.5) - s * (x - 3.5) + 3.5 + p[0]
    xx = s * (y - 3.5) + c * (x - 3.5) + 3.5 + p[1]
    w = ndimage.map_coordinates(IMG, [yy, xx], order=1, mode="nearest")
    return np.sum((w - IMG**2) ** 2)


def bilinear_manual(p: Any) -> Any:
    img = p.reshape(3, 3)
    u = np.array([0.2, 1.3, 1.9])
    v = np.array([1.1, 0.4, 0.6])
    x0 = np.floor(u).astype(int)
    y0 = np.floor(v).astype(int)
    x1 = np.minimum(x0 + 1, 2)
    y1 = np.minimum(y0 + 1, 2)
    a, b = u - x0, v - y0
    out = (
        img[x0, y0] * (1 - a) * (1 - b)
        + img[x1, y0] * a * (1 - b)
        + img[x0, y1] * (1 - a) * b
        + img[x1, y1] * a * b
    )
    return np.prod(out) + out.sum() ** 2


def binomial_american(p: Any) -> Any:
    S, sig, r = p
    n = 6
    dt = 1 / n
    u = np.exp(sig * np.sqrt(dt))
    d = 1 / u
    q = (np.exp(r * dt) - d) / (u - d)
    ST = S * u ** np.arange(n, -n - 1, -2)
    V = np.maximum(1.05 - ST, 0)
    for i in range(n - 1, -1, -1):
        ST = S * u ** np.arange(i, -i - 1, -2)
        V = np.exp(-r * dt) * (q * V[:-1] + (1 - q) * V[1:])
        V = np.maximum(V, 1.05 - ST)
    return V[0]


def portfolio_cvar(w: Any) -> Any:
    w = np.abs(w) / np.abs(w).sum()
    loss = -(XR @ w)
    srt = np.sort(loss)[::-1]
    cov = np.cov(XR, rowvar=False)
    return srt[:3].mean() + np.sqrt(w @ cov @ w) + np.percentile(loss, 30) + np.median(loss)


def robust_stats(x: Any) -> Any:
    med = np.median(x)
    mad = np.median(np.abs(x - med))
    z = (x - med) / (1.4826 * mad)
    w = 1.345 / np.maximum(np.abs(z), 1.345)
    return np.average(x, weights=w) + np.ptp(x) + stats.iqr(x)


def correlations(x: Any) -> Any:
    y = np.arange(12.0) ** 1.1
    r, pv = stats.pearsonr(x, y)
    return r + np.corrcoef(x, y)[0, 1] + stats.linregress(y, x).slope


def kde_entropy(x: Any) -> Any:
    k = stats.gaussian_kde(x)
    g = np.linspace(-2, 2, 7)
    return -np.log(k(g)).sum()


def group_means(x: Any) -> Any:
    lab = np.array([0, 2, 1, 0, 2, 1, 1, 0])
    u, inv = np.unique(lab, return_inverse=True)
    s = np.bincount(inv, weights=x)
    n = np.bincount(inv)
    m = s / n
    resid = x - m[inv]
    return (resid**2).sum() + np.add.reduceat(x, [0, 3, 5]).prod()


def masked_nan(x: Any) -> Any:
    y = x.copy()
    y[2] = np.nan
    y[y < -0.5] *= 2
    m = np.nanmean(y)
    s = np.nanstd(y)
    z = np.nan_to_num((y - m) / s)
    return np.sum(z**3) + np.nanmax(y)


def try_except_chol(p: Any) -> Any:
    A = np.outer(p, p) + np.diag([0.1, -2.0, 0.3])
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        w, V = np.linalg.eigh(A)
        w = np.maximum(w, 1e-3)
        L = V * np.sqrt(w)
    return np.sum((L @ L.T) ** 2) + np.sum(A)


def complex_eig_mode(p: Any) -> Any:
    H = np.array([[p[0], p[1] + 1j * p[2]], [p[1] - 1j * p[2], p[3]]])
    w, v = np.linalg.eigh(H)
    psi = linalg.expm(-1j * 0.4 * H) @ np.array([1, 0])
    rho = np.outer(psi, psi.conj())
    return (
        np.real(np.trace(rho @ np.array([[0, -1j], [1j, 0]])))
        + w[0] ** 2
        + np.abs(np.vdot(v[:, 0], psi)) ** 2
    )


def ufunc_out_where(x: Any) -> Any:
    y = np.zeros_like(x)
    np.sqrt(x, out=y, where=x > 0)
    np.multiply(y, x, out=y)
    z = np.empty(6)
    np.add(y, 1.0, out=z[::-1])
    np.copyto(z, x, where=x < -0.5)
    z[1:4] += z[3:6]
    z.T[::2] *= 1.5
    return np.log(np.abs(z) + 1).sum()


def select_piecewise(x: Any) -> Any:
    a = np.select([x < -0.5, x < 0.5], [x**2, np.sin(x)], default=np.exp(-x))
    b = np.piecewise(x, [x < 0, x >= 0], [lambda t: -(t**3), lambda t: np.sqrt(t)])
    c = np.choose((x > 0).astype(int), [x, 2 * x])
    return a.sum() + b @ c + np.heaviside(x, 0.5) @ x


def argmax_select(x: Any) -> Any:
    i = np.argmax(x)
    j = x.argmin()
    top = np.partition(x, -3)[-3:]
    o = np.argsort(x)
    r = np.take_along_axis(x**2, o, axis=0)
    x2 = x.copy()
    x2[i], x2[j] = x2[j] * 2, x2[i]
    return x[i] * x[j] + top.sum() + r @ np.arange(6) + x2 @ np.arange(6) ** 2


def views_chain(p: Any) -> Any:
    a = p.reshape(3, 4).copy()
    b = a.T[1:3]
    b *= 2
    a[:, 0] += b[0]
    d = a.ravel()
    d[::5] = np.exp(d[::5])
    e = np.rot90(a).copy()
    e[np.ix_([0, 2], [1, 2])] = 0
    f = np.flip(e, 0)
    f[0] -= f[1]
    return (e**2).sum() + np.diagonal(a).prod() + np.trace(a[:, 1:])


def scipy_rotation(p: Any) -> Any:
    R = scipy.spatial.transform.Rotation.from_euler("zyx", p)
    v = R.apply(XR)
    return np.sum(v[:, 0] * np.arange(12)) + R.as_matrix()[0, 1] + R.magnitude()


def rbf_interp(y: Any) -> Any:
    pts = np.linspace(0, 1, 5)[:, None]
    f = scipy.interpolate.RBFInterpolator(pts, y, kernel="gaussian", epsilon=2.0)
    return (f(np.array([[0.3], [0.6]])) ** 2).sum()


def medfilt_trend(x: Any) -> Any:
    t = signal.medfilt(x, 3)
    return np.sum((x - t) ** 2) + signal.detrend(x).std() + signal.savgol_filter(x, 5, 2).sum()


PARAMETERS = {
    "image_registration": [0.3, -0.2, 0.05],
    "bilinear_manual": [-2.31, 0.05, -0.47, 0.46, 0.7, 0.14, 0.76, 0.23, 0.53],
    "binomial_american": [1.0, 0.2, 0.03],
    "portfolio_cvar": [0.3, 0.2, 0.5],
    "robust_stats": [-1.503, 1.361, 0.904, -0.717, -1.489, -2.962, -0.541, 2.418, 0.433],
    "correlations": [-0.56, 0.47, -1.56, -0.3, 0.1, -0.09, 0.79, 0.34, 0.67, -0.69, 0.9, 1.63],
    "kde_entropy": [-0.97, -0.89, 1.34, -0.19, 1.4, -0.44],
    "group_means": [1.46, 0.13, 0.26, 1.56, -0.36, -0.94, -0.45, 0.45],
    "masked_nan": [-1.57, 0.64, -0.54, 1.15, -2.39, -0.79],
    "try_except_chol": [0.5, -0.3, 0.8],
    "complex_eig_mode": [0.71, 0.66, 0.39, 0.56],
    "ufunc_out_where": [0.3, 2.04, -0.09, -0.31, -0.75, -1.03],
    "select_piecewise": [-1.24, -0.89, -0.07, 0.33, 0.05],
    "argmax_select": [-0.77, 0.9, 0.74, -0.16, -0.65, 0.55],
    "views_chain": [0.19, -1.45, -0.07, 0.26, -0.9, 0.19, -1.45, 1.34, 1.25, -0.25, 0.36, -2.41],
    "scipy_rotation": [0.4, 0.2, 0.9],
    "rbf_interp": [-1.16, -0.29, -1.07, 0.71, 2.0],
    "medfilt_trend": [-1.18, -0.84, 0.24, 1.61, -1.22, 0.25, 1.82, -1.65, -1.28],
}
