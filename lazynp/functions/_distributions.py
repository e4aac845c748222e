"""Distributions of keys that are composed of others, or drawn by rejection. `keys` has the rest.

Parameters come first, then the shape of the samples. Samples are differentiable with respect to the
parameters in closed formulas (`lognormal`, `weibull`, `multivariate_normal`, ...), and in `wald`,
`vonmises` and what is made of gamma samples (`_implicit`); integers are not. NumPy's
`standard_normal`, `standard_gamma`, ... are `normal()`, `gamma(a)`, ... here; `shuffle` is
`permutation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp.functions import linear_algebra, reductions, sorting, special, ufuncs
from lazynp.functions._arguments import shape_argument
from lazynp.functions._implicit import (
    at_its_place,
    moved_by,
    noncentral_chisquare_speed,
    vonmises_speed,
    wald_cdf,
    wald_density,
)
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.functions.indexing import take_along_axis, where
from lazynp.functions.manipulation import moveaxis, ravel, reshape
from lazynp.primitives import shaping

_F64, _I64, _U64 = np.dtype("f8"), np.dtype("i8"), np.dtype("u8")
_FEW = 10  # expected value below which we step through the probabilities one by one
exp, log, log1p, sqrt, floor = ufuncs.exp, ufuncs.log, ufuncs.log1p, ufuncs.sqrt, ufuncs.floor


def sample_shape(shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of the samples; by default that of the parameters."""
    if not isinstance(shape, (tuple, list)) or len(shape):
        return shape_argument(shape)
    return np.broadcast_shapes(*(getattr(p, "shape", np.shape(p)) for p in parameters))


def accepted(key: Any, shape: tuple[int, ...], dtype: Any, propose: Any) -> Array:
    """The first accepted value for each element; `propose(key)` returns (accepted, values)."""

    def again(state: Any) -> Any:
        return ufuncs.logical_not(state[1].all())

    def draw(state: Any) -> Any:
        step, done, found = state
        fits, values = propose(key.fold_in(step))
        fresh = ufuncs.logical_and(fits, ufuncs.logical_not(done))
        return step + 1, ufuncs.logical_or(done, fits), where(fresh, values, found)

    none = shaping.full(False, shape=shape, dtype=np.dtype(bool))
    start = (as_array(np.int64(0)), none, shaping.full(0, shape=shape, dtype=np.dtype(dtype)))
    return transforms.while_loop(again, draw, start)[2]


def from_mode(u: Array, mode: Array, at_mode: Array, up: Any, down: Any) -> Array:
    """Invert the distribution of an integer at u, in (0, 1): subtract probabilities from u, from
    the mode outwards. up, down: functions of k, the ratio of the next probability to that of k.
    """

    def taken(left: Any, found: Any, k: Any, p: Any, ratio: Callable[[Any], Any], by: int) -> Any:
        p = p * ratio(k)
        k = k + by
        now = left - p
        hit = ufuncs.logical_and(ufuncs.greater(left, 0), ufuncs.less_equal(now, 0))
        return now, where(hit, k, found), k, p

    def again(state: Any) -> Any:
        left, _, _, p, _, q = state
        more = ufuncs.greater(p + q, 0)  # otherwise the rest is rounding error
        return ufuncs.logical_and(ufuncs.greater(left, 0), more).any()

    def step(state: Any) -> Any:
        left, found, k, p, j, q = state
        left, found, k, p = taken(left, found, k, p, up, 1)
        left, found, j, q = taken(left, found, j, q, down, -1)
        return left, found, k, p, j, q

    start = (u - at_mode, mode, mode, at_mode, mode, at_mode)
    return transforms.while_loop(again, step, start)[1]


def _parameters(shape: tuple[int, ...], *values: Any) -> list[Array]:
    """The parameters in the shape of the samples, as constants for derivatives."""
    arrays = [cast(transforms.stop_gradient(as_array(v)), _F64) for v in values]
    return [plain(broadcast(a, shape)) for a in arrays]


def _whole(x: Any) -> Any:
    return scalar_if_0d(plain(cast(x, _I64)))


def _lgamma(x: Any) -> Any:
    return special.gammaln(x)


def _refuse(wrong: Any, message: str, *parameters: Any) -> None:
    """NumPy's error for parameters that are numbers; lazy parameters are not checked."""
    if not any(isinstance(p, Array) for p in parameters) and np.any(wrong(*parameters)):
        raise ValueError(message)


def _no_probability(p: Any) -> Any:
    return ~((np.asarray(p) >= 0) & (np.asarray(p) <= 1))


class Distributions:
    """The part of `Key` that draws from these distributions."""

    __slots__ = ()

    split: Any
    normal: Any
    uniform: Any
    exponential: Any
    gamma: Any
    bits: Any
    _open: Any

    # -- of one number -----------------------------------------------------------------------------

    def lognormal(
        self, shape: Any = (), mean: Any = 0.0, sigma: Any = 1.0, dtype: Any = float
    ) -> Any:
        """exp of normal samples; mean and sigma are those of the logarithm."""
        return exp(self.normal(shape, mean, sigma, dtype))

    def rayleigh(self, shape: Any = (), scale: Any = 1.0, dtype: Any = float) -> Any:
        """Rayleigh samples: the length of a plane vector of two normal samples."""
        unit = self.exponential(sample_shape(shape, scale), 2.0, dtype)
        return ufuncs.multiply(sqrt(unit), scale)

    def weibull(self, a: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Weibull samples of shape `a` and scale 1."""
        unit = self.exponential(sample_shape(shape, a), dtype=dtype)
        return ufuncs.power(unit, ufuncs.divide(1.0, a))

    def pareto(self, a: Any, shape: Any = (), dtype: Any = float) -> Any:
        """The Pareto distribution of the second kind (Lomax): from 0, as in NumPy."""
        unit = self.exponential(sample_shape(shape, a), dtype=dtype)
        return ufuncs.expm1(ufuncs.divide(unit, a))

    def power(self, a: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Between 0 and 1, with density a x**(a - 1)."""
        u = self._open(sample_shape(shape, a), dtype)
        return ufuncs.power(u, ufuncs.divide(1.0, a))

    def triangular(self, left: Any, mode: Any, right: Any, shape: Any = ()) -> Any:
        """Samples from left to right, with a peak at mode."""
        u = self._open(sample_shape(shape, left, mode, right), float)
        whole, below = ufuncs.subtract(right, left), ufuncs.subtract(mode, left)
        above = ufuncs.subtract(right, mode)
        rising = ufuncs.add(left, sqrt(u * whole * below))
        falling = ufuncs.subtract(right, sqrt((1.0 - u) * whole * above))
        return scalar_if_0d(plain(where(ufuncs.less_equal(u * whole, below), rising, falling)))

    def chisquare(self, df: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Chi-squared samples with df degrees of freedom."""
        return self.gamma(ufuncs.divide(df, 2.0), sample_shape(shape, df), 2.0, dtype)

    def noncentral_chisquare(self, df: Any, nonc: Any, shape: Any = ()) -> Any:
        """Noncentral chi-squared samples: df is increased by twice a Poisson number."""
        first, second = self.split()
        size = sample_shape(shape, df, nonc)
        more = first.poisson(ufuncs.divide(nonc, 2.0), size)
        drawn = second.chisquare(ufuncs.add(df, more * 2.0), size)
        parameters = [broadcast(cast(as_array(p), _F64), size) for p in (nonc, df)]
        return scalar_if_0d(plain(moved_by(noncentral_chisquare_speed, drawn, *parameters)))

    def f(self, dfnum: Any, dfden: Any, shape: Any = (), dtype: Any = float) -> Any:
        """F samples: the ratio of two chi-squared samples, each divided by its degrees of
        freedom.
        """
        return self.noncentral_f(dfnum, dfden, None, shape, dtype)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, shape: Any = (), dtype: Any = float
    ) -> Any:
        """F samples whose numerator is a noncentral chi-squared sample."""
        first, second = self.split()
        size = sample_shape(shape, dfnum, dfden, 0.0 if nonc is None else nonc)
        if nonc is None:
            above = first.chisquare(dfnum, size, dtype)
        else:
            above = first.noncentral_chisquare(dfnum, nonc, size)
        below = second.chisquare(dfden, size, dtype)
        return ufuncs.divide(ufuncs.divide(above, dfnum), ufuncs.divide(below, dfden))

    def standard_t(self, df: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Student's t samples with df degrees of freedom."""
        first, second = self.split()
        size = sample_shape(shape, df)
        scale = sqrt(ufuncs.divide(second.chisquare(df, size, dtype), df))
        return ufuncs.divide(first.normal(size, dtype=dtype), scale)

    def wald(self, mean: Any, scale: Any, shape: Any = ()) -> Any:
        """The inverse Gaussian, after Michael, Schucany and Haas."""
        first, second = self.split()
        size = sample_shape(shape, mean, scale)
        parameters = [broadcast(cast(as_array(p), _F64), size) for p in (mean, scale)]
        mean, scale = _parameters(size, mean, scale)
        y = ufuncs.square(first.normal(size)) * mean
        root = sqrt(4.0 * ufuncs.multiply(scale, y) + y * y)
        low = ufuncs.multiply(mean, 1.0 + ufuncs.divide(y - root, ufuncs.multiply(scale, 2.0)))
        keep = ufuncs.less_equal(second._open(size, float), ufuncs.divide(mean, low + mean))
        drawn = where(keep, low, ufuncs.square(mean) / low)
        return scalar_if_0d(plain(at_its_place(wald_cdf, wald_density, drawn, *parameters)))

    def vonmises(self, mu: Any, kappa: Any, shape: Any = ()) -> Any:
        """Between -pi and pi, by rejection (Best, Fisher)."""
        size = sample_shape(shape, mu, kappa)
        (k,) = _parameters(size, kappa)
        k = ufuncs.maximum(k, 1e-9)
        r = 1.0 + sqrt(1.0 + 4.0 * k * k)
        rho = (r - sqrt(2.0 * r)) / (2.0 * k)
        s = where(ufuncs.less(k, 1e-5), 1.0 / k + k, (1.0 + rho * rho) / (2.0 * rho))

        def propose(key: Any) -> Any:
            first, second, third = key.split(3)
            z = ufuncs.cos(math.pi * first._open(size, float))
            w = (1.0 + s * z) / (s + z)
            y, v = k * (s - w), second._open(size, float)
            fits = ufuncs.logical_or(y * (2.0 - y) - v > 0, log(y / v) + 1.0 - y >= 0)
            sign = where(ufuncs.less(third._open(size, float), 0.5), -1.0, 1.0)
            return fits, sign * ufuncs.arccos(ufuncs.minimum(ufuncs.maximum(w, -1.0), 1.0))

        drawn = accepted(self, size, _F64, propose)
        parameter = broadcast(cast(as_array(kappa), _F64), size)
        still = transforms.stop_gradient(drawn)
        angle = ufuncs.add(moved_by(vonmises_speed, still, parameter), mu)
        turned = ufuncs.remainder(ufuncs.add(angle, math.pi), 2.0 * math.pi)
        return scalar_if_0d(plain(ufuncs.subtract(turned, math.pi)))

    # -- whole numbers -----------------------------------------------------------------------------

    def poisson(self, lam: Any = 1.0, shape: Any = ()) -> Any:
        """By rejection (Hoermann's PTRS), or from the mode for small expected values."""
        _refuse(lambda v: ~(np.asarray(v) >= 0), "lam < 0 or lam is NaN", lam)
        size = sample_shape(shape, lam)
        (mean,) = _parameters(size, lam)
        first, second = self.split()
        few = ufuncs.less(mean, _FEW)
        small, large = where(few, mean, 0.0), where(few, 100.0, mean)
        mode = floor(small)
        start = exp(special.xlogy(mode, small) - small - _lgamma(mode + 1.0))
        counted = from_mode(
            first._open(size, float), mode, start, lambda k: small / (k + 1.0),
            lambda k: k / ufuncs.maximum(small, 1e-300),
        )  # fmt: skip
        b = 0.931 + 2.53 * sqrt(large)
        a = -0.059 + 0.02483 * b
        height = log(1.1239 + 1.1328 / (b - 3.4))

        def propose(key: Any) -> Any:
            for_u, for_v = key.split()
            u, v = for_u._open(size, float) - 0.5, for_v._open(size, float)
            inside = 0.5 - ufuncs.absolute(u)
            k = floor((2.0 * a / inside + b) * u + large + 0.43)
            bound = -large + k * log(large) - _lgamma(ufuncs.maximum(k, 0.0) + 1.0)
            fits = log(v) + height - log(a / (inside * inside) + b) <= bound
            return ufuncs.logical_and(fits, k >= 0), k

        return _whole(where(few, counted, accepted(second, size, _F64, propose)))

    def binomial(self, n: Any, p: Any, shape: Any = ()) -> Any:
        """By rejection (Hoermann's BTRS), or from the mode for small expected values."""
        _refuse(lambda v: np.less(v, 0), "n < 0", n)
        _refuse(_no_probability, "p < 0, p > 1 or p is NaN", p)
        size = sample_shape(shape, n, p)
        count, chance = _parameters(size, n, p)
        turned = chance > 0.5
        q = where(turned, 1.0 - chance, chance)
        first, second = self.split()
        few = count * q < _FEW
        counted = _few_of(first._open(size, float), count, where(few, q, 0.0))
        found = where(few, counted, _many_of(second, size, where(few, 1000.0, count),
                                             where(few, 0.5, q)))  # fmt: skip
        return _whole(where(turned, count - found, found))

    def geometric(self, p: Any, shape: Any = ()) -> Any:
        """The number of the first success, counted from 1."""
        _refuse(lambda v: ~((np.asarray(v) > 0) & (np.asarray(v) <= 1)),
                "p <= 0, p > 1 or p contains NaNs", p)  # fmt: skip
        size = sample_shape(shape, p)
        (chance,) = _parameters(size, p)
        tries = ufuncs.ceil(log(self._open(size, float)) / log1p(-chance))
        return _whole(ufuncs.maximum(tries, 1.0))

    def negative_binomial(self, n: Any, p: Any, shape: Any = ()) -> Any:
        """The number of failures before n successes: a Poisson number with a gamma-distributed
        rate.
        """
        first, second = self.split()
        odds = ufuncs.divide(ufuncs.subtract(1.0, p), p)
        return second.poisson(first.gamma(n, sample_shape(shape, n, p), odds))

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, shape: Any = ()) -> Any:
        """The number of good items in a sample. Steps from the mode outwards, one step for each
        number.
        """
        _refuse(lambda g, b, s: np.add(g, b) < s, "ngood + nbad < nsample", ngood, nbad, nsample)
        size = sample_shape(shape, ngood, nbad, nsample)
        good, bad, drawn = _parameters(size, ngood, nbad, nsample)
        mode = floor((drawn + 1.0) * (good + 1.0) / (good + bad + 2.0))

        def ways(n: Any, k: Any) -> Any:
            return _lgamma(n + 1.0) - _lgamma(k + 1.0) - _lgamma(n - k + 1.0)

        start = exp(ways(good, mode) + ways(bad, drawn - mode) - ways(good + bad, drawn))

        def up(k: Any) -> Any:
            below = ufuncs.maximum((k + 1.0) * (bad - drawn + k + 1.0), 1.0)
            return ufuncs.maximum((good - k) * (drawn - k), 0.0) / below

        def down(k: Any) -> Any:
            below = ufuncs.maximum((good - k + 1.0) * (drawn - k + 1.0), 1.0)
            return ufuncs.maximum(k * (bad - drawn + k), 0.0) / below

        return _whole(from_mode(self._open(size, float), mode, start, up, down))

    def logseries(self, p: Any, shape: Any = ()) -> Any:
        """After Kemp."""
        size = sample_shape(shape, p)
        (chance,) = _parameters(size, p)
        first, second = self.split()
        v = first._open(size, float)
        q = -ufuncs.expm1(log1p(-chance) * second._open(size, float))
        many = floor(1.0 + log(v) / log(q))
        few = where(v >= q, 1.0, 2.0)
        return _whole(where(v <= q * q, ufuncs.maximum(many, 1.0), few))

    def zipf(self, a: Any, shape: Any = ()) -> Any:
        """By rejection (Devroye); a > 1."""
        size = sample_shape(shape, a)
        (exponent,) = _parameters(size, a)
        less = exponent - 1.0
        b = ufuncs.exp2(less)

        def propose(key: Any) -> Any:
            first, second = key.split()
            u, v = first._open(size, float), second._open(size, float)
            x = floor(ufuncs.power(u, -1.0 / less))
            t = ufuncs.power(1.0 + 1.0 / x, less)
            fits = v * x * (t - 1.0) / (b - 1.0) <= t / b
            return ufuncs.logical_and(fits, x < 2.0**63), x

        return _whole(accepted(self, size, _F64, propose))

    # -- of several numbers ------------------------------------------------------------------------

    def dirichlet(self, alpha: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Samples of shape (*shape, *alpha.shape); each sums to 1 along the last axis."""
        alpha = as_array(alpha)
        size = (*shape_argument(shape), *alpha.shape)
        a = plain(broadcast(cast(alpha, dtype), size))
        first, second = self.split()
        # draw with shape a + 1 and scale down in logarithms, because small values would all be zero
        sizes = log(first.gamma(a + 1.0, size, dtype=dtype)) + log(second._open(size, dtype)) / a
        return special.softmax(sizes, axis=-1)

    def multivariate_normal(
        self, mean: Any, cov: Any, shape: Any = (), dtype: Any = float, method: str = "cholesky"
    ) -> Any:
        """Samples of shape (*shape, n). method: "cholesky", or "eigh" or "svd" for a singular
        cov.
        """
        mean, cov = as_array(mean), as_array(cov)
        n = mean.shape[-1]
        z = self.normal((*shape_argument(shape), *mean.shape), dtype=dtype)
        if cov.shape[-2:] != (n, n):
            raise ValueError("mean and cov must have same length")
        if method == "cholesky":
            factor = linear_algebra.cholesky(cov)
        elif method in ("eigh", "svd"):
            w, v = linear_algebra.eigh(cov)
            factor = v * reshape(sqrt(ufuncs.maximum(w, 0.0)), (*w.shape[:-1], 1, n))
        else:
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        turned = linear_algebra.matmul(factor, reshape(z, (*z.shape, 1)))
        return cast(ufuncs.add(mean, reshape(turned, z.shape)), dtype)

    def multinomial(self, n: Any, pvals: Any, shape: Any = ()) -> Any:
        """Samples of shape (*shape, k) for k probabilities, by one binomial after another."""
        p = cast(transforms.stop_gradient(as_array(pvals)), _F64)
        # the probability of this category and all later ones
        rest = ufuncs.subtract(1.0, reductions.cumsum(p, axis=-1)) + p
        chance = ufuncs.minimum(p / ufuncs.maximum(rest, 1e-300), 1.0)
        place = shaping.iota(shape=p.shape, axis=p.ndim - 1, dtype=_I64)
        chance = where(ufuncs.equal(place, p.shape[-1] - 1), 1.0, chance)
        size = (*shape_argument(shape), *np.broadcast_shapes(np.shape(n), p.shape[:-1]))

        def step(left: Any, x: Any) -> Any:
            key, q = x
            now = key.binomial(left, q, size)
            return left - now, now

        start = plain(broadcast(cast(as_array(n), _I64), size))
        _, counts = transforms.scan(step, start, (self.split(p.shape[-1]), moveaxis(chance, -1, 0)))
        return moveaxis(counts, 0, -1)

    def multivariate_hypergeometric(self, colors: Any, nsample: Any, shape: Any = ()) -> Any:
        """Samples of shape (*shape, k) for k colors, by one hypergeometric number after another."""
        colors = cast(as_array(colors), _I64)
        size, k = shape_argument(shape), colors.shape[0]
        later = colors.sum() - reductions.cumsum(colors)

        def step(left: Any, x: Any) -> Any:
            key, good, bad = x
            now = key.hypergeometric(good, bad, left, size)
            return left - now, now

        start = plain(broadcast(cast(as_array(nsample), _I64), size))
        _, counts = transforms.scan(step, start, (self.split(k), colors, later))
        return moveaxis(counts, 0, -1)

    def permuted(self, x: Any, axis: Any = None) -> Any:
        """Permute each lane along an axis independently; without an axis, all elements together."""
        array = as_array(x)
        if axis is None:
            return reshape(self.permuted(ravel(array), 0), array.shape)
        order = sorting.argsort(self.bits(array.shape, _U64), axis=index(axis))
        return take_along_axis(array, order, index(axis))


def _few_of(u: Any, n: Any, p: Any) -> Any:
    """A binomial number for small n * p, p <= 0.5."""
    mode = floor((n + 1.0) * p)
    ways = _lgamma(n + 1.0) - _lgamma(mode + 1.0) - _lgamma(n - mode + 1.0)
    start = exp(ways + special.xlogy(mode, p) + (n - mode) * log1p(-p))
    odds = p / (1.0 - p)

    def up(k: Any) -> Any:
        return ufuncs.maximum(n - k, 0.0) / (k + 1.0) * odds

    def down(k: Any) -> Any:
        return k / (ufuncs.maximum(n - k + 1.0, 1.0) * ufuncs.maximum(odds, 1e-300))

    return from_mode(u, mode, start, up, down)


def _many_of(key: Any, size: tuple[int, ...], n: Any, p: Any) -> Any:
    """A binomial number for large n * p, p <= 0.5."""
    spread = sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = floor((n + 1.0) * p)
    top = _lgamma(mode + 1.0) + _lgamma(n - mode + 1.0)

    def propose(key: Any) -> Any:
        for_u, for_v = key.split()
        u, v = for_u._open(size, float) - 0.5, for_v._open(size, float)
        inside = 0.5 - ufuncs.absolute(u)
        k = floor((2.0 * a / inside + b) * u + n * p + 0.5)
        within = ufuncs.logical_and(k >= 0, k <= n)
        j = where(within, k, mode)
        bound = top - _lgamma(j + 1.0) - _lgamma(n - j + 1.0) + (j - mode) * log(p / (1.0 - p))
        return ufuncs.logical_and(log(v * alpha / (a / (inside * inside) + b)) <= bound, within), k

    return accepted(key, size, _F64, propose)
