"""scipy.stats: the distribution function of the normal distribution of one or two numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop import _special
from lazynp.interop._calls import inexact, refuse
from lazynp.interop._special import call

_FAR = 40.0  # there, the normal distribution function is 0 or 1


def _area(h: Any, k: Any, r: Any) -> Any:
    """The probability of x < h and y < k, where r is their correlation: by Owen's function."""
    rest = numpy.sqrt((1 - r) * (1 + r))
    owens, ndtr = scipy.special.owens_t, scipy.special.ndtr
    h, k = (numpy.where(x == 0, 0.0, x) for x in (h, k))  # no zero is negative
    first, second = owens(h, (k - r * h) / (h * rest)), owens(k, (h - r * k) / (k * rest))
    apart = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    area = (ndtr(h) + ndtr(k)) / 2 - first - second - numpy.where(apart, 0.5, 0.0)
    middle = 0.25 + numpy.arcsin(r) / (2 * math.pi)
    return numpy.where((h == 0) & (k == 0), middle, numpy.maximum(area, 0.0))


def _by_place(h: Any, k: Any, r: Any, out: Any) -> Any:
    density = np.exp(-0.5 * h * h) / math.sqrt(2 * math.pi)
    return density * np.special.ndtr((k - r * h) / np.sqrt((1 - r) * (1 + r)))


def _by_correlation(h: Any, k: Any, r: Any, out: Any) -> Any:
    rest = (1 - r) * (1 + r)
    return np.exp(-(h * h - 2 * r * h * k + k * k) / (2 * rest)) / (2 * math.pi * np.sqrt(rest))


_special.OWN["normal-area"] = _area
_special.ROWS["normal-area"] = (
    _by_place,
    lambda h, k, r, out: _by_place(k, h, r, out),
    _by_correlation,
)


def _below(x: Any, mean: Any, cov: Any) -> Any:
    """The probability of being less than x in each coordinate."""
    widths = np.sqrt(np.diagonal(cov))
    z = np.clip((x - mean) / widths, -_FAR, _FAR)
    if mean.shape[0] == 1:
        return np.special.ndtr(z[..., 0])
    r = cov[0, 1] / (widths[0] * widths[1])
    return call("normal-area", *np.broadcast_arrays(z[..., 0], z[..., 1], r))


def normal_area(x: Any, mean: Any, cov: Any, lower_limit: Any = None) -> Any:
    """x: one point in each row."""
    if mean.shape[0] > 2:
        refuse("multivariate_normal.cdf", f"{mean.shape[0]} dimensions (of one and two, there is)")
    if lower_limit is None:
        return _below(x, mean, cov).squeeze()[()]
    low, x = np.broadcast_arrays(*inexact(lower_limit, x))
    if mean.shape[0] == 1:
        return (_below(x, mean, cov) - _below(low, mean, cov)).squeeze()[()]
    area: Any = 0.0
    for first, sign in ((x, 1.0), (low, -1.0)):
        for second, other in ((x, 1.0), (low, -1.0)):
            corner = np.stack([first[..., 0], second[..., 1]], axis=-1)
            area = area + sign * other * _below(corner, mean, cov)
    return area.squeeze()[()]
