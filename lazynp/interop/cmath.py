"""`cmath` for the user's modules under `install` and `python -m lazynp`: see `_numbers_of`."""

from __future__ import annotations

import cmath
from typing import Any

import lazynp as np
from lazynp.interop._numbers_of import Rule, module_of


def _log(z: Any, base: Any = None) -> Any:
    return np.log(z) if base is None else np.log(z) / np.log(base)


def _rect(r: Any, phi: Any) -> Any:
    return r.real * np.exp(1j * np.real(phi)) if hasattr(r, "real") else r * np.exp(1j * phi)


_RULES: dict[str, Rule] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "log": _log, "log10": np.log10,
    "sqrt": np.sqrt, "phase": np.angle, "polar": lambda z: (abs(z), np.angle(z)), "rect": _rect,
}  # fmt: skip
_DISCRETE: dict[str, Rule | None] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isclose": None,
}

globals().update(module_of(cmath, _RULES, _DISCRETE, complex))
