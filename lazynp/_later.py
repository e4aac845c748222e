"""Modules of other packages that lazynp loads when it first uses them, not when it is imported."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np


class Later:
    """Stands for a module. The first attribute that is asked for imports it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        if not name.startswith("_"):
            setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"<module {self._name!r}, loaded at its first use>"


def matrix_classes() -> tuple[type, ...]:
    """NumPy's matrix and masked array. Importing `numpy.ma` takes 7 ms, and where nothing else has
    imported it, there are no masked arrays.
    """
    ma = sys.modules.get("numpy.ma")
    masked = getattr(ma, "MaskedArray", None)
    return (np.matrix,) if masked is None else (np.matrix, masked)


scipy_special: Any = Later("scipy.special")
array_api_compat: Any = Later("array_api_compat")
