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
from lazynp.functions import special, ufuncs
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
