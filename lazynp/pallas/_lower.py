"""lower: the program of a function that calls kernels, without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazynp import lowering
from lazynp._dataclass import dataclass, field
from lazynp.transforms import make_jaxpr
from lazynp.transforms._checks import discharged, has_checks

_PLATFORMS = ("cpu", "cuda", "tpu")


@dataclass(frozen=True)
class Lowered:
    """A program for a platform. kernels: those that are modules of their own, with `name`, `text`
    and `grid` (of what is launched); none on the CPU, where they are loops of the program.
    """

    text: str
    kernels: list[Any] = field(default_factory=list)

    def as_text(self) -> str:
        """The StableHLO of the whole program."""
        return self.text


def lower(f: Callable[..., Any], *args: Any, platform: str = "cpu") -> Lowered:
    """The program of `f(*args)`; args are arrays, or `np.ShapeDtype`.

    Arrays that f captures are operands after the arguments. A program that may raise an IndexError
    has one more result, which says whether it does. "cuda": kernels are Triton modules, which
    MLIR has verified; "tpu": Mosaic modules. Nothing is compiled. LoweringError (a
    NotImplementedError) says what there is no way for.
    """
    if platform not in _PLATFORMS:
        raise ValueError(f"lower: platform must be one of {_PLATFORMS}, got {platform!r}")
    jaxpr = make_jaxpr(f)(*args)
    if has_checks(jaxpr):
        jaxpr, _ = discharged(jaxpr, 0)
    text, kernels = lowering.lower_module(jaxpr, platform=platform)
    return Lowered(text, list(kernels))
