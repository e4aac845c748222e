"""Maximum and minimum, with and without NaN; clip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._cost import MEMORY_BOUND
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import multiply
from lazynp.primitives.elementwise_comparison import (
    complex_compare,
    equal,
    isnan,
    logical_and,
    logical_or,
    select,
)
from lazynp.primitives.elementwise_emit import kind
from lazynp.primitives.elementwise_factory import Formula, jvp_of, row


def _extreme(op: str, direction: str, on_bool: Any, skip_nan: bool) -> Any:
    """maximum, minimum: the first nan wins; fmax, fmin: numbers win. Complex: lexicographic."""

    def lower(b: Any, x: Any, y: Any) -> Any:
        if kind(x) == "b":
            return on_bool(b, x, y)
        if kind(x) in "iu" or (kind(x) == "f" and not skip_nan):
            return b.binary("stablehlo." + op, x, y)
        if kind(x) == "f":
            return b.select(b.or_(b.compare(x, y, direction), e.is_nan(b, y)), x, y)
        re, im = e.parts(b, y if skip_nan else x)
        bad = b.or_(e.is_nan(b, re), e.is_nan(b, im))
        first = b.or_(complex_compare(b, x, y, direction), bad)
        return b.complex(*[b.select(first, u, v) for u, v in zip(e.parts(b, x), e.parts(b, y))])

    return lower


def _extreme_formulas() -> list[Formula]:
    """The tangent of the selected operand; half of each where they are equal."""

    def part(g: Any, ans: Any, own: Any, other: Any) -> Any:
        taken = logical_or(equal(ans, own), logical_and(isnan(ans), isnan(own)))
        return select(equal(own, other), multiply(g, 0.5), select(taken, g, 0.0))

    return [part, lambda g, ans, x, y: part(g, ans, y, x)]


# 0.0 against -0.0: either may win, as in NumPy
maximum = row(
    "maximum", _extreme("maximum", "GE", e.or_, False), _extreme_formulas(), cost=MEMORY_BOUND
)
minimum = row(
    "minimum", _extreme("minimum", "LE", e.and_, False), _extreme_formulas(), cost=MEMORY_BOUND
)
fmax = row("fmax", _extreme("maximum", "GE", e.or_, True), _extreme_formulas(), cost=MEMORY_BOUND)
fmin = row("fmin", _extreme("minimum", "LE", e.and_, True), _extreme_formulas(), cost=MEMORY_BOUND)


# -- clip ------------------------------------------------------------------------------------------


def _lower_clip(b: Any, x: Any, low: Any, high: Any) -> Any:
    """Of two zeros, XLA takes the second: that of x."""
    return minimum.lower(b, high, maximum.lower(b, low, x))


def _clip_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Of the two steps: half where x is a bound."""
    (x, low, high), (gx, glow, ghigh) = primals, tangents
    lower, upper = (jvp_of(lambda p=p: p, _extreme_formulas()) for p in (maximum, minimum))
    bounded, g = lower((x, low), (gx, glow))
    return upper((bounded, high), (g, ghigh))


# For bounds that are numbers: NumPy takes them in one pass, at a quarter of the time of the steps.
clip = row(
    "clip",
    _lower_clip,
    _clip_jvp,
    ufunc=np._core.umath.clip,  # type: ignore[attr-defined]
    cost=MEMORY_BOUND,
)
