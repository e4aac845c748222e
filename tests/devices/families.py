"""NumPy programs by family. Each takes a namespace and arrays, which it may write.

The arrays: `x` and `y` of float64 (8, 16), `k` of int64 (8, 16), `s` of float64 (16, 16), well
conditioned, `z` of complex128 (8, 16), `r` of float64 (16,), `m` of bool (8, 16).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

FAMILIES: dict[str, Callable[..., Any]] = {}


def arrays() -> dict[str, Any]:
    g = numpy.random.default_rng(7)
    return {
        "x": g.normal(size=(8, 16)),
        "y": g.uniform(0.5, 2.0, size=(8, 16)),
        "k": g.integers(-5, 9, size=(8, 16)),
        "s": g.normal(size=(16, 16)) + 8 * numpy.eye(16),
        "z": g.normal(size=(8, 16)) + 1j * g.normal(size=(8, 16)),
        "r": g.normal(size=16),
        "m": g.normal(size=(8, 16)) > 0,
    }


def family(function: Callable[..., Any]) -> Callable[..., Any]:
    FAMILIES[function.__name__] = function
    return function


def simple(name: str, function: Callable[..., Any]) -> None:
    FAMILIES[name] = function


# -- elementwise -----------------------------------------------------------------------------------

simple("arithmetic", lambda np, x, y, r, **_: x * 2.0 + y / r - x**2)
simple("integers", lambda np, k, **_: (k // 3, k % 3, k << 1, k & 3, -k, abs(k)))
simple("mixed", lambda np, x, k, m, **_: (x + k, k + m, x * m, k / 2, k**2))
simple("complex", lambda np, z, x, **_: (z * x, z.conj(), z.real + z.imag, np.abs(z), np.angle(z)))
simple("functions", lambda np, x, y, **_: (np.sin(x), np.exp(x), np.log(y), np.arctan2(x, y)))
simple("comparisons", lambda np, x, y, k, **_: (x < y, k == 3, (x > 0) & (y > 1), ~(k > 0)))
simple("extremes", lambda np, x, y, **_: (np.maximum(x, y), np.clip(x, -1, 1), np.fmin(x, y)))
simple("where", lambda np, x, y, m, **_: np.where(m, x, y))
simple("casts", lambda np, x, k, **_: (x.astype("f4"), x.astype("i4"), k.astype("c16"), x > 0))
simple("python scalars", lambda np, x, k, **_: (1 - x, 2 ** k.clip(0, 8), True + k, 1j * x))
simple("of lists", lambda np, x, **_: x + list(range(16)))
simple("of numpy", lambda np, x, r, **_: x * numpy.linspace(0, 1, 16) + numpy.float32(2))
simple("divmod", lambda np, k, x, **_: (divmod(k, 4), np.modf(x), np.frexp(x)))

# -- reductions, scans, order ----------------------------------------------------------------------

simple("sums", lambda np, x, k, m, **_: (x.sum(), x.sum(0), x.sum(1), k.sum(), m.sum(1), k.prod(0)))
simple(
    "bits",
    lambda np, k, m, **_: (
        np.bitwise_or.reduce(k, 0), np.bitwise_and.reduce(k, 1), np.bitwise_xor.reduce(k, None),
        np.bitwise_or.reduce(k.astype("u1"), None), np.bitwise_and.reduce(m, 0), m.any(0), m.all(),
    ),
)  # fmt: skip
simple(
    "extrema",
    lambda np, x, k, **_: (x.max(), x.min(0), x.max(1), k.max(0), k.argmax(), x.argmin(1)),
)
simple("moments", lambda np, x, **_: (x.mean(), x.std(0), x.var(1, ddof=1), np.average(x, 0)))
simple(
    "logic", lambda np, m, x, **_: (m.any(0), m.all(), np.count_nonzero(m, 1), np.allclose(x, x))
)
simple("scans", lambda np, x, k, **_: (x.cumsum(0), x.cumsum(1), k.cumprod(1), np.diff(x, axis=0)))
simple("sorting", lambda np, x, k, **_: (np.sort(x, 0), np.sort(x, 1), k.argsort(0, kind="stable")))
simple("order", lambda np, x, **_: (np.median(x), np.median(x, 0), np.percentile(x, 30, axis=1)))
simple(
    "nan", lambda np, x, **_: (np.nansum(np.where(x > 1, np.nan, x), 0), (x / (x > 9) * 0).max())
)
simple("keepdims", lambda np, x, **_: x / x.sum(1, keepdims=True) - x.mean(0, keepdims=True))
simple("where=", lambda np, x, m, **_: (x.sum(where=m), x.mean(1, where=m), np.add.reduce(x, 0)))
simple("accumulate", lambda np, x, **_: (np.add.accumulate(x, 1), np.multiply.outer(x[0], x[1])))
simple(
    "sets", lambda np, k, **_: (np.unique(k), np.isin(k, [1, 2]), np.unique(k, return_counts=True))
)
simple("histogram", lambda np, x, k, **_: (np.histogram(x, 5), np.bincount(k.ravel() + 5)))
simple(
    "search", lambda np, r, x, **_: (np.searchsorted(np.sort(r), x), np.digitize(x, [-1.0, 0, 1]))
)

# -- shapes and views ------------------------------------------------------------------------------

simple(
    "views", lambda np, x, **_: (x[1:-1, ::2], x.T, x[::-1], x[..., None], x[3], x[2, 5], x[-1, 1:])
)
simple(
    "reshape",
    lambda np, x, **_: (x.reshape(4, 32), x.ravel(), x.T.reshape(-1), x.reshape(2, 4, 16)),
)
simple(
    "joining",
    lambda np, x, y, **_: (np.concatenate([x, y]), np.stack([x, y], 1), np.hstack([x, y])),
)
simple("splitting", lambda np, x, **_: (np.split(x, 4), np.array_split(x, 3, 1)))
simple("moving", lambda np, x, **_: (np.roll(x, 3), np.roll(x, 1, 0), np.flip(x, 1), np.rot90(x)))
simple("repeating", lambda np, x, r, **_: (np.tile(r, 3), np.repeat(x, 2, 0), np.pad(x, 1)))
simple("broadcasting", lambda np, r, x, **_: (np.broadcast_to(r, (3, 16)), r[:, None] * r, x + r))
simple("triangles", lambda np, s, **_: (np.tril(s), np.triu(s, 1), np.trace(s), s.diagonal()))
simple("parts", lambda np, z, **_: (z.real, z.imag, z.T.conj()))
simple("moveaxis", lambda np, x, **_: (np.moveaxis(x.reshape(2, 4, 16), 0, 2), x.swapaxes(0, 1)))
simple("iteration", lambda np, x, **_: ([row.sum() for row in x], [float(v) for v in x[0]]))

# -- indexing --------------------------------------------------------------------------------------

simple("take", lambda np, x, k, **_: (x[[0, 3, 1]], x[:, [2, 2]], x[k % 8, 3], np.take(x, [1, 40])))
simple(
    "masks", lambda np, x, m, **_: (x[m], x[x > 0].sum(), x[m[:, 0]], np.nonzero(m), np.where(m))
)
simple("along axis", lambda np, x, **_: np.take_along_axis(x, x.argsort(1), 1))
simple("choose", lambda np, x, y, m, **_: (np.select([m, x > 0], [x, y], -1.0), np.extract(m, x)))


@family
def stores(np: Any, x: Any, y: Any, r: Any, m: Any, **_: Any) -> Any:
    x[1:-1] = y[:-2]
    x[0] = r
    x[:, 3] = 7
    x[-1, -1] += 2
    x[m] = -1.0
    x[[2, 4]] = 0.5
    x[x > 1] *= 3
    return x


@family
def stores_through_views(np: Any, x: Any, y: Any, r: Any, **_: Any) -> Any:
    v = x[2:6]
    w = v.T
    w[3] = 9.0
    v *= y[2:6]
    w += 1.0
    u = x.reshape(-1)
    u[::5] = r[0]
    return v, w, u


@family
def in_place(np: Any, x: Any, y: Any, k: Any, m: Any, **_: Any) -> Any:
    x += y
    x *= 2
    k -= 1
    k <<= 1
    np.add(x, y, out=x)
    np.multiply(x, 0.5, out=y, where=m)
    x[:4] = x[4:]
    x[1:] = x[:-1]
    np.sin(x, out=x)
    x.sort(axis=1)
    return x.cumsum(0, out=y)


@family
def writers(np: Any, x: Any, y: Any, k: Any, m: Any, s: Any, **_: Any) -> None:
    np.copyto(x, y, where=m)
    np.put(k, [1, 5], 99)
    np.place(y, m, [1.0, 2.0])
    np.fill_diagonal(s, 3.0)
    np.add.at(k, ([0, 0, 1], [1, 1, 2]), 5)
    np.put_along_axis(x, x.argmax(1)[:, None], 0.0, 1)
    x.fill(2.5)
    y.flat[3] = 1.25


@family
def heat(np: Any, s: Any, **_: Any) -> Any:
    for _i in range(20):
        s[1:-1, 1:-1] += 0.1 * (
            s[2:, 1:-1] + s[:-2, 1:-1] + s[1:-1, 2:] + s[1:-1, :-2] - 4 * s[1:-1, 1:-1]
        )
    return s


@family
def loops(np: Any, x: Any, y: Any, **_: Any) -> Any:
    a = x.copy()
    for i in range(60):
        a = a * 0.9 + y * (i % 3)
        if i % 20 == 0:
            a[i % 8] = i
    return a, a.sum()


@family
def branches(np: Any, x: Any, **_: Any) -> Any:
    count = 0
    while x.max() > 0.1 and count < 30:
        x = np.where(x > 0, x * 0.5, x)
        count += 1
    return x, count


# -- products, linear algebra, transforms ----------------------------------------------------------

simple(
    "products", lambda np, x, s, r, **_: (x @ s, s @ s, x @ r, r @ r, np.dot(x, s), np.outer(r, r))
)
simple("einsum", lambda np, x, y, **_: (np.einsum("ij,ij->i", x, y), np.einsum("ij,kj", x, y)))
simple(
    "tensordot", lambda np, x, s, **_: (np.tensordot(x, s, 1), np.inner(x, x), np.kron(x[:2], x[0]))
)
simple("solve", lambda np, s, r, **_: (np.linalg.solve(s, r), np.linalg.inv(s), np.linalg.det(s)))
simple(
    "decompositions", lambda np, s, x, **_: (np.linalg.cholesky(s @ s.T), np.linalg.qr(x)[1] ** 2)
)
simple("spectra", lambda np, s, x, **_: (np.linalg.eigvalsh(s + s.T), np.linalg.svd(x)[1]))
simple(
    "norms", lambda np, x, s, **_: (np.linalg.norm(x), np.linalg.norm(x, axis=0), np.linalg.cond(s))
)
simple("fft", lambda np, x, z, **_: (np.fft.fft(z, axis=1), np.fft.rfft(x, axis=0), np.fft.fft2(z)))
simple("convolve", lambda np, r, x, **_: (np.convolve(r, x[0, :5]), np.correlate(r, x[0], "same")))
simple("gradient", lambda np, x, **_: (np.gradient(x), np.trapezoid(x, axis=1), np.cov(x)))
simple("interp", lambda np, x, r, **_: (np.interp(x, np.arange(16.0), r), np.polyval(r[:4], x)))

# -- errors ----------------------------------------------------------------------------------------

simple("error: shapes", lambda np, x, y, **_: x[:3] + y)
simple("error: index", lambda np, x, **_: x[100])
simple("error: index array", lambda np, x, **_: x[[1, 100]])
simple("error: store", lambda np, x, y, **_: x.__setitem__(slice(3), y))
simple("error: cast", lambda np, x, k, **_: k.__iadd__(x))
simple("error: axis", lambda np, x, **_: x.sum(5))
simple("error: singular", lambda np, s, **_: np.linalg.inv(s * 0))
simple("error: truth", lambda np, x, **_: bool(x))
simple("error: matmul", lambda np, x, y, **_: x @ y)
simple("error: reshape", lambda np, x, **_: x.reshape(7, 3))
simple("error: list", lambda np, x, **_: x + "a")

# -- values taken out ------------------------------------------------------------------------------

simple("text", lambda np, x, k, **_: (str(x), repr(k), f"{x[0, 0]:.3f}", str(x[0, 0])))
simple(
    "taken out", lambda np, x, k, **_: (x.tolist(), k.item(3), float(x[0, 0]), int(k[0, 0]), len(x))
)
simple("bytes", lambda np, x, k, **_: (x.tobytes(), numpy.asarray(k).sum(), bool(x[0, 0] > 0)))
simple(
    "attributes",
    lambda np, x, **_: (x.shape, x.strides, x.nbytes, x.flags.c_contiguous, x.T.flags.f_contiguous),
)
