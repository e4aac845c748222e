"""NumPy's random generators, without loading `numpy.random`: without it, nobody has one."""

from __future__ import annotations

import sys
from typing import Any


def is_generator(x: Any) -> bool:
    """Ours say that they are of NumPy's classes."""
    random: Any = sys.modules.get("numpy.random")
    return random is not None and isinstance(x, (random.Generator, random.RandomState))


def generator_of(x: Any) -> Any:
    """NumPy's own generator, of one of ours, or of one of its methods; None of anything else."""
    if not is_generator(x):
        x = getattr(getattr(x, "__wrapped__", x), "__self__", None)
    return getattr(x, "_generator", x) if is_generator(x) else None


def kind_of(generator: Any) -> tuple[type, type]:
    """Its class and that of its stream."""
    bits = getattr(generator, "bit_generator", None) or generator._bit_generator
    return type(generator), type(bits)


__all__ = ["generator_of", "is_generator", "kind_of"]
