"""`math` for the user's modules under `install` and `python -m lazynp`: see `_numbers_of`."""

from __future__ import annotations

import math
from typing import Any

import lazynp as np
from lazynp import special
from lazynp.interop._numbers_of import Rule, log, module_of


def _pow(x: Any, y: Any) -> Any:
    return np.power(x, y)


def _hypot(*xs: Any) -> Any:
    out = abs(xs[0])
    for x in xs[1:]:
        out = np.hypot(out, x)
    return out


def _dist(p: Any, q: Any) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _remainder(x: Any, y: Any) -> Any:
    """x - n * y for the nearest n, the even one of two."""
    return x - np.rint(np.stop_gradient(x / y)) * y


def _sum(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total = total + x
    return total


def _modf(x: Any) -> Any:
    whole = np.trunc(x)
    return x - whole, whole


def _frexp(x: Any) -> Any:
    """The mantissa scales with x at a fixed exponent."""
    _, exponent = np.frexp(np.stop_gradient(x))
    return np.ldexp(x, -exponent), exponent


_RULES: dict[str, Rule] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "cbrt": np.cbrt, "fabs": np.fabs, "degrees": np.degrees, "radians": np.radians,
    "atan2": np.arctan2, "pow": _pow, "hypot": _hypot, "fmod": np.fmod,
    "copysign": np.copysign, "remainder": _remainder, "ldexp": np.ldexp, "dist": _dist,
    "fsum": _sum, "modf": _modf, "frexp": _frexp, "erf": special.erf, "erfc": special.erfc,
    "gamma": special.gamma, "lgamma": special.gammaln, "fma": lambda x, y, z: x * y + z,
    "nextafter": lambda x, y: x + np.stop_gradient(np.nextafter(x, y) - x),
}  # fmt: skip
_DISCRETE: dict[str, Rule | None] = {
    "floor": lambda x: np.floor(x).astype(int), "ceil": lambda x: np.ceil(x).astype(int),
    "trunc": lambda x: np.trunc(x).astype(int), "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "isclose": None, "ulp": np.spacing,
}  # fmt: skip

globals().update(module_of(math, _RULES, _DISCRETE, float))
