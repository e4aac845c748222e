"""Platforms: what a `lower` rule may ask about the machine that a program is for.

A builder carries one. A rule says what it computes, and asks where it matters how:
`b.platform.host`, `b.platform.solvers`.
"""

from __future__ import annotations

from typing import Any

from lazynp._dataclass import dataclass
from lazynp.lowering._solvers import Cusolver, Lapack, NoSolvers


@dataclass(frozen=True)
class Platform:
    """A kind of device that programs are lowered for.

    host: one processor that works through an operation in order. So the last of several writes to
    one element wins, a loop of small rounds is cheap, and fusion follows the rules of XLA's CPU
    compiler, for which values are held (`_holds`) and reads set apart (`_reads`). Elsewhere a
    conditional waits for the device, which costs more than the copy that it saves.
    kernels: the dialect of modules that kernels are launched as, "triton" or "mosaic"; "" if none.
    convolves: the dtypes whose convolutions it has, in up to three dimensions; all if it is empty.
    exact_products: products of float32 matrices must ask for float32, or are rounded to less.
    """

    name: str
    host: bool
    exact_products: bool
    solvers: Any
    kernels: str = ""
    convolves: str = ""


CPU = Platform("cpu", True, False, Lapack())
CUDA = Platform("cuda", False, True, Cusolver(), kernels="triton", convolves="fd")
TPU = Platform("tpu", False, True, NoSolvers("TPU"), kernels="mosaic")

_PLATFORMS = {p.name: p for p in (CPU, CUDA, TPU)}


def platform_of(name: str) -> Platform:
    """The platform of this name; ValueError if programs cannot be lowered for it."""
    try:
        return _PLATFORMS[name]
    except (KeyError, TypeError):
        raise ValueError(f"platform must be one of {tuple(_PLATFORMS)}, got {name!r}") from None
