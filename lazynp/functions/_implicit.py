"""Derivatives of samples by the parameters of their distributions.

A sample keeps its place in the distribution: `cdf(x, *parameters)` does not change with the
parameters. So its derivative by one of them is that of the cdf, over the density, negative
(Figurnov, Mohamed, Mnih: Implicit reparameterization gradients). How the sample was drawn, as by
rejection, has no part in that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._memo import cached
from lazynp.functions import reductions, special, ufuncs
from lazynp.functions._operands import as_array, cast
from lazynp.functions.indexing import where

_F64 = np.dtype("f8")


@cached()
def _placed(cdf: Callable[..., Any], density: Callable[..., Any]) -> Any:
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        x = placed(*primals)
        parameters = tuple(primals[1:])
        moved = transforms.jvp(lambda *p: cdf(x, *p), parameters, tuple(tangents[1:]))[1]
        dense = density(x, *parameters)
        there = ufuncs.logical_and(ufuncs.isfinite(dense), ufuncs.greater(dense, 0.0))
        speed = ufuncs.divide(ufuncs.negative(moved), where(there, dense, 1.0))
        return x, where(there, speed, 0.0)

    placed = transforms.custom_jvp(lambda x, *parameters: x)
    placed.defjvp(rule)
    return placed


def at_its_place(
    cdf: Callable[..., Any], density: Callable[..., Any], x: Any, *parameters: Any
) -> Any:
    """The samples x, drawn without derivatives, as functions of the parameters, which have their
    shape.
    """
    x = transforms.stop_gradient(as_array(x))
    wide = [cast(as_array(p), _F64) for p in (x, *parameters)]
    return cast(_placed(cdf, density)(*wide), x.dtype)


def moved_by(speed: Callable[..., Any], x: Any, parameter: Any, *others: Any) -> Any:
    """The samples x as functions of one more parameter, by which their derivative is
    `speed(x, parameter, *others)`. x may depend on the others.
    """
    return _moved(speed)(*[cast(as_array(p), _F64) for p in (x, parameter, *others)])


@cached()
def _moved(speed: Callable[..., Any]) -> Any:
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        x = moved(*primals)
        return x, tangents[0] + speed(x, *primals[1:]) * tangents[1]

    moved = transforms.custom_jvp(lambda x, *parameters: x)
    moved.defjvp(rule)
    return moved


def gamma_density(x: Any, a: Any) -> Any:
    """The density of `special.gammainc(a, x)`."""
    return ufuncs.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))


def gamma_cdf(x: Any, a: Any) -> Any:
    """`special.gammainc` with the sample first."""
    return special.gammainc(a, x)


def wald_cdf(x: Any, mean: Any, scale: Any) -> Any:
    """The cdf of the inverse Gaussian."""
    root, ratio = ufuncs.sqrt(scale / x), x / mean
    far = 2.0 * scale / mean + special.log_ndtr(root * (-1.0 - ratio))
    return special.ndtr(root * (ratio - 1.0)) + ufuncs.exp(far)


def wald_density(x: Any, mean: Any, scale: Any) -> Any:
    """The density of the inverse Gaussian."""
    square = ufuncs.square((x - mean) / mean)
    height = ufuncs.sqrt(scale / (2.0 * math.pi * x * x * x))
    return height * ufuncs.exp(scale * square / (-2.0 * x))


_TERMS = 32  # of a continued fraction: with the bound at its end, 1e-13 of the ratio


def noncentral_chisquare_speed(x: Any, nonc: Any, df: Any) -> Any:
    """The derivative of a sample by nonc: the density for df + 2 over that for df. The former is
    the derivative of the cdf but for its sign.
    """
    z = ufuncs.sqrt(nonc * x)
    return x * _bessel_ratio(0.5 * df, z)


def _bessel_ratio(v: Any, z: Any) -> Any:
    """`iv(v, z) / iv(v - 1, z) / z`: Perron's continued fraction, from the end, where it begins
    with the bound of Amos.
    """
    square = z * z
    end = v + float(_TERMS)
    first = 1.0 / (end - 0.5 + ufuncs.sqrt(ufuncs.square(end + 0.5) + square))

    def term(ratio: Any, k: Any) -> tuple[Any, None]:
        return 1.0 / (2.0 * (v + k) + square * ratio), None

    return transforms.scan(term, first, np.arange(_TERMS - 1.0, -1.0, -1.0))[0]


@cached()
def _quadrature() -> tuple[Any, Any]:
    """Gauss's nodes between 0 and 1, and their weights: made when one asks, as each program
    that draws random numbers loads this module.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return (nodes + 1.0) / 2.0, weights / 2.0


_FAR = 9.0  # from there on, in standard deviations of the density, there is nothing to add


def vonmises_speed(x: Any, kappa: Any) -> Any:
    """The derivative of a sample between -pi and pi by kappa: the integral of
    `(cos t - i1(kappa) / i0(kappa)) exp(kappa (cos t - cos x))` from the sample outwards.
    """
    nodes, weights = _quadrature()
    far = ufuncs.absolute(x)[..., None]
    kappa = kappa[..., None]
    mean = special.i1e(kappa) / special.i0e(kappa)
    width = ufuncs.minimum(math.pi - far, _FAR / ufuncs.sqrt(ufuncs.maximum(kappa, 1e-9)))
    apart = width * nodes
    # cos t - cos x, where digits would cancel
    height = -2.0 * ufuncs.sin(far + apart / 2.0) * ufuncs.sin(apart / 2.0)
    inside = (ufuncs.cos(far + apart) - mean) * ufuncs.exp(kappa * height)
    return ufuncs.sign(x) * reductions.sum(inside * weights * width, axis=-1)
