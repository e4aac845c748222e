"""`splu(a).solve(x)` and `factorized(a)(x)` of SciPy take lazy arrays: the factors are objects in
C, which want NumPy's own arrays.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from lazynp.functions._host import to_host
from lazynp.functions._loaded import when_loaded

_MODULES = ("", "._dsolve", "._dsolve.linsolve")
_NAMES = ("splu", "spilu")


class Factors:
    """Stands for a `SuperLU`."""

    def __init__(self, factors: Any) -> None:
        self._factors = factors

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """See `scipy.sparse.linalg.SuperLU.solve`."""
        return self._factors.solve(to_host(rhs), trans)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factors, name)

    def __repr__(self) -> str:
        return repr(self._factors)


def _giving_factors(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return Factors(function(*args, **kwargs))

    return call


def _change(module: Any) -> None:
    made = {name: _giving_factors(getattr(module, name)) for name in _NAMES}
    for end in _MODULES:
        found = sys.modules.get(module.__name__ + end)
        for name in _NAMES if found is not None else ():
            setattr(found, name, made[name])


def hook() -> None:
    """Called once, when lazynp is imported."""
    when_loaded("scipy.sparse.linalg", _change)


__all__ = ["hook"]
