"""Maximum and minimum, with and without NaN; clip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._cost import MEMORY_BOUND
from lazynp._primitive import Primitive, Rule
from lazynp.primitives import elementwise_emit as e
from lazynp.primitives.elementwise_arithmetic import add, multiply
from lazynp.primitives.elementwise_comparison import (
    complex_compare,
    equal,
    isnan,
    logical_or,
    select,
)
from lazynp.primitives.elementwise_emit import kind
from lazynp.primitives.elementwise_factory import row


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


def _extreme_jvp(primitive: Callable[[], Primitive], skip_nan: bool) -> Rule:
    """The tangent of the selected operand; half of each where they are equal."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x, y), (gx, gy) = primals, tangents
        ans = primitive()(x, y)
        if ans.dtype.kind not in "fc" or (gx is None and gy is None):
            return ans, None
        first = logical_or(equal(ans, x), isnan(ans if skip_nan else x))
        if gx is None or gy is None:
            both = gy if gx is None else gx
        else:
            both = add(gx, gy)
        one = select(first, 0.0 if gx is None else gx, 0.0 if gy is None else gy)
        return ans, select(equal(x, y), multiply(both, 0.5), one)

    return jvp


# 0.0 against -0.0: either may win, as in NumPy
_maximum_jvp = _extreme_jvp(lambda: maximum, False)
_minimum_jvp = _extreme_jvp(lambda: minimum, False)
maximum = row("maximum", _extreme("maximum", "GE", e.or_, False), _maximum_jvp, cost=MEMORY_BOUND)
minimum = row("minimum", _extreme("minimum", "LE", e.and_, False), _minimum_jvp, cost=MEMORY_BOUND)
fmax = row(
    "fmax",
    _extreme("maximum", "GE", e.or_, True),
    _extreme_jvp(lambda: fmax, True),
    cost=MEMORY_BOUND,
)
fmin = row(
    "fmin",
    _extreme("minimum", "LE", e.and_, True),
    _extreme_jvp(lambda: fmin, True),
    cost=MEMORY_BOUND,
)


# -- clip ------------------------------------------------------------------------------------------


def _lower_clip(b: Any, x: Any, low: Any, high: Any) -> Any:
    """Of two zeros, XLA takes the second: that of x."""
    return minimum.lower(b, high, maximum.lower(b, low, x))


def _clip_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Of the two steps: half where x is a bound."""
    (x, low, high), (gx, glow, ghigh) = primals, tangents
    bounded, g = _maximum_jvp((x, low), (gx, glow))
    return _minimum_jvp((bounded, high), (g, ghigh))


# For bounds that are numbers: NumPy takes them in one pass, at a quarter of the time of the steps.
clip = row(
    "clip",
    _lower_clip,
    _clip_jvp,
    ufunc=np._core.umath.clip,  # type: ignore[attr-defined]
    cost=MEMORY_BOUND,
)
