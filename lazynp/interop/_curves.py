"""scipy.interpolate: B-splines of one and two variables, as piecewise polynomials.

A spline is linear in its coefficients: SciPy gives the polynomials of each element of the basis.
"""

from __future__ import annotations

from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.functions._checks import refuse as check
from lazynp.interop._calls import inexact, is_traced, refuse
from lazynp.interop._splines import evaluated, held, hold


def _basis(t: Any, k: int) -> tuple[Any, Any]:
    """Polynomials [power, interval, element] between the knots t[k] and t[-k - 1], and breaks."""
    t, n = numpy.asarray(t, float), len(t) - k - 1
    make, convert = scipy.interpolate.BSpline.construct_fast, scipy.interpolate.PPoly.from_spline
    pieces = numpy.stack([convert(make(t, unit, k)).c for unit in numpy.eye(n)], axis=-1)
    inside = numpy.arange(k, n)
    inside = inside[numpy.diff(t)[inside] > 0]
    return pieces[:, inside], numpy.append(t[inside], t[n])


def _at(t: Any, c: Any, k: int, x: Any, nu: int, extrapolate: Any) -> Any:
    matrix, breaks = _basis(t, k)
    polynomials = np.tensordot(matrix, c[: matrix.shape[-1]], axes=1)
    return evaluated(polynomials, breaks, x, nu, extrapolate)


# -- BSpline ---------------------------------------------------------------------------------------


def spline(self: Any, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
    """`BSpline.__init__`, for traced coefficients."""
    if is_traced(t):
        refuse("BSpline", "the knots")
    (c,) = inexact(c)
    zeros = numpy.zeros(c.shape)  # SciPy checks the arguments
    scipy.interpolate.BSpline.__init__(self, t, zeros, k, extrapolate, axis)
    moved = np.moveaxis(c, self.axis, 0)
    hold(self, "c", moved)
    return None


def spline_at(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """`BSpline.__call__`."""
    c = held(self, "c")
    if not is_traced((x, c)):
        return NotImplemented
    x = np.asarray(x)
    chosen = self.extrapolate if extrapolate is None else extrapolate
    out = _at(self.t, np.asarray(c), self.k, x, nu, chosen)
    order = list(range(out.ndim))
    n, axis = x.ndim, self.axis
    return out.transpose(order[n : n + axis] + order[:n] + order[n + axis :]) if axis else out


def _made(like: Any, t: Any, c: Any, k: int, extrapolate: Any) -> Any:
    found = object.__new__(type(like))
    spline(found, t, np.moveaxis(c, 0, like.axis), k, extrapolate, like.axis)
    return found


def derived(name: str) -> Any:
    """`BSpline.derivative` and `BSpline.antiderivative`: linear in the coefficients."""

    def method(self: Any, nu: int = 1) -> Any:
        c = held(self, "c")
        if not is_traced(c):
            return NotImplemented
        n = len(self.t) - self.k - 1
        plain = scipy.interpolate.BSpline(self.t, numpy.eye(n), self.k, self.extrapolate)
        found = getattr(plain, name)(nu)
        matrix = found.c[: len(found.t) - found.k - 1]
        return _made(self, found.t, np.tensordot(matrix, c[:n], axes=1), found.k, found.extrapolate)

    return method


def integral(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """`BSpline.integrate`."""
    c = held(self, "c")
    if not is_traced((a, b, c)):
        return NotImplemented
    chosen = self.extrapolate if extrapolate is None else extrapolate
    if chosen == "periodic":
        refuse("BSpline.integrate", "extrapolate='periodic'")
    a, b = inexact(a, b)
    if not chosen:
        first, last = self.t[self.k], self.t[-self.k - 1]
        a, b = np.clip(a, first, last), np.clip(b, first, last)
    n = len(self.t) - self.k - 1
    plain = scipy.interpolate.BSpline(self.t, numpy.eye(n), self.k).antiderivative()
    matrix = plain.c[: len(plain.t) - plain.k - 1]
    sums = np.tensordot(matrix, np.asarray(c)[:n], axes=1)
    ends = [_at(plain.t, sums, plain.k, x, 0, True) for x in (a, b)]
    return ends[1] - ends[0]


def fitted(name: str) -> Any:
    """`make_interp_spline` and `make_lsq_spline`, for traced values: linear in them."""

    def ours(x: Any, y: Any, *args: Any, axis: int = 0, **options: Any) -> Any:
        if is_traced((x, args, tuple(options.values()))):
            refuse(name, "what is not the values y")
        if not _without_values(options.get("bc_type")):
            refuse(name, "bc_type with values")
        data = np.moveaxis(inexact(y)[0], axis, 0)
        unit = numpy.eye(data.shape[0])
        found = getattr(scipy.interpolate, name)(x, unit, *args, **options)
        c = np.tensordot(found.c, data, axes=1)
        out = object.__new__(scipy.interpolate.BSpline)
        spline(out, found.t, np.moveaxis(c, 0, axis), found.k, found.extrapolate, axis)
        return out

    return ours


def _without_values(kind: Any) -> bool:
    parts = kind if isinstance(kind, tuple) else (kind,)
    return all(isinstance(e, (str, type(None))) for e in parts)


# -- FITPACK ---------------------------------------------------------------------------------------


def _beyond(x: Any, first: float, last: float, ext: Any) -> Any:
    """Outside, FITPACK extrapolates (0), gives zeros (1), raises (2), or takes the end (3)."""
    outside = (x < first) | (x > last)
    if ext in (2, "raise"):
        check(outside.any(), ValueError, "Error code returned by spleval: 1")
    inside = np.clip(x, first, last) if ext in (3, "const") else x
    return inside, outside if ext in (1, "zeros") else None


def _fitpack(t: Any, c: Any, k: int, x: Any, nu: int, ext: Any) -> Any:
    (x,) = inexact(x)
    place, outside = _beyond(x, t[k], t[-k - 1], ext)
    out = _at(t, np.asarray(c), k, place, nu, True)
    return out if outside is None else np.where(outside, 0.0, out)


def splev(x: Any, tck: Any, der: int = 0, ext: Any = 0) -> Any:
    if isinstance(tck, scipy.interpolate.BSpline):
        return spline_at(tck, x, der, bool(ext == 0))
    t, c, k = tck
    if is_traced(t):
        refuse("splev", "the knots")
    if isinstance(c, (list, tuple)):
        return [_fitpack(t, row, k, x, der, ext) for row in c]
    return _fitpack(t, c, k, x, der, ext)


def univariate_at(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """`UnivariateSpline.__call__`, also of InterpolatedUnivariateSpline."""
    t, c, k = self._eval_args
    return _fitpack(t, c, k, x, nu, self.ext if ext is None else ext)


def bivariate_at(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    """`BivariateSpline.__call__`: outside of the domain, the value at its border."""
    if not hasattr(self, "tck"):
        refuse("BivariateSpline", "splines on a sphere")
    (tx, ty, c), (kx, ky) = self.tck, self.degrees
    sizes = len(tx) - kx - 1, len(ty) - ky - 1
    weights = []
    for v, t, k, size, nu in ((x, tx, kx, sizes[0], dx), (y, ty, ky, sizes[1], dy)):
        (v,) = inexact(v)
        weights.append(_at(t, np.eye(size), k, np.clip(v, t[k], t[-k - 1]), nu, True))
    table = np.asarray(numpy.reshape(c, sizes))
    if grid:
        return np.asarray(weights[0]) @ table @ np.asarray(weights[1]).mT
    first, second = weights
    return ((first @ table) * second).sum(axis=-1)


def bivariate_ev(self: Any, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
    return bivariate_at(self, xi, yi, dx, dy, False)


# -- radial basis functions ------------------------------------------------------------------------

_KERNELS: dict[str, Any] = {  # of the squared distance
    "linear": lambda s: -np.sqrt(s),
    "thin_plate_spline": lambda s: np.special.xlogy(s, s) / 2,
    "cubic": lambda s: s * np.sqrt(s),
    "quintic": lambda s: -s * s * np.sqrt(s),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}


def _kernel(self: Any, x: Any, y: Any) -> Any:
    gaps = (x[:, None, :] - y[None, :, :]) * self.epsilon
    return _KERNELS[self.kernel]((gaps * gaps).sum(axis=-1))


def _monomials(self: Any, x: Any) -> Any:
    scaled = (x - self._shift) / self._scale
    columns = []
    for powers in numpy.asarray(self.powers):
        factors = [scaled[:, j] ** int(p) for j, p in enumerate(powers) if p]
        column: Any = np.ones(x.shape[0])
        for factor in factors:
            column = column * factor
        columns.append(column)
    return np.stack(columns, axis=-1) if columns else np.zeros((x.shape[0], 0))


def radial(
    self: Any, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline", epsilon: Any = None, degree: Any = None,
) -> Any:  # fmt: skip
    """`RBFInterpolator.__init__`, for traced places, values, smoothing or epsilon."""
    if neighbors is not None:
        refuse("RBFInterpolator", f"neighbors={neighbors}")
    y, d = inexact(y, d)
    if y.ndim != 2:
        raise ValueError("`y` must be a 2-dimensional array.")
    places = numpy.random.default_rng(0).normal(size=y.shape)
    plain = 1.0 if is_traced(epsilon) else epsilon
    scipy.interpolate.RBFInterpolator.__init__(  # checks the arguments
        self, places, numpy.zeros(d.shape), None, 1.0, kernel, plain, degree
    )
    self.y, self.d_dtype = y, numpy.float64
    self.epsilon = epsilon if is_traced(epsilon) else self.epsilon
    low, high = np.stop_gradient(y.min(axis=0)), np.stop_gradient(y.max(axis=0))
    self._shift, half = (high + low) / 2, (high - low) / 2
    self._scale = np.where(half == 0, 1.0, half)
    n = y.shape[0]
    extra = _monomials(self, y)
    count = extra.shape[1]
    square = _kernel(self, y, y) + np.diag(np.broadcast_to(np.asarray(smoothing, float), (n,)))
    system = np.block([[square, extra], [extra.T, np.zeros((count, count))]])
    right = np.concatenate([d.reshape(n, -1), np.zeros((count, d.size // n))])
    self._coeffs = np.linalg.solve(system, right)
    return None


def radial_at(self: Any, x: Any) -> Any:
    """`RBFInterpolator.__call__`."""
    traced = is_traced((x, getattr(self, "_coeffs", None), self.y))
    if not traced:
        return NotImplemented
    if self.neighbors is not None:
        refuse("RBFInterpolator", f"neighbors={self.neighbors}")
    if self.d_dtype != numpy.float64:
        refuse("RBFInterpolator", "complex values")
    (x,) = inexact(x)
    if x.ndim != 2:
        raise ValueError("`x` must be a 2-dimensional array.")
    parts = np.concatenate([_kernel(self, x, np.asarray(self.y)), _monomials(self, x)], axis=1)
    return (parts @ np.asarray(self._coeffs)).reshape(x.shape[0], *self.d_shape)
