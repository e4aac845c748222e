"""`cmath` for the user's modules under `install` and `python -m lazynp`: see `_numbers_of`."""

from __future__ import annotations

import cmath
from typing import Any

import lazynp as np
from lazynp.interop._numbers_of import Rule, log, module_of


def _rect(r: Any, phi: Any) -> Any:
    return np.real(r) * np.exp(1j * np.real(phi))


_RULES: dict[str, Rule] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "log": log, "log10": np.log10,
    "sqrt": np.sqrt, "phase": np.angle, "polar": lambda z: (abs(z), np.angle(z)), "rect": _rect,
}  # fmt: skip
_DISCRETE: dict[str, Rule | None] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isclose": None,
}

globals().update(module_of(cmath, _RULES, _DISCRETE, complex))
