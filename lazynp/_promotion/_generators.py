"""NumPy's random generators, without loading `numpy.random`: without it, nobody has one."""

from __future__ import annotations

import sys
from typing import Any


def is_generator(x: Any) -> bool:
    """Ours say that they are of NumPy's classes."""
    random: Any = sys.modules.get("numpy.random")
    return random is not None and isinstance(x, (random.Generator, random.RandomState))


__all__ = ["is_generator"]
