"""The types of what a program takes and returns, with sizes by their places."""

from __future__ import annotations

from typing import Any

from lazynp._avals import Aval, aval_of
from lazynp._dataclass import dataclass


@dataclass(frozen=True)
class ShapeDtype:
    """A shape and a dtype: the result of `eval_shape`, also accepted as its argument."""

    shape: tuple[Any, ...]
    dtype: Any
    sharding: Any = None  # for `jit(f).lower`: where the argument will be

    @property
    def aval(self) -> Aval:
        """The abstract value of such arrays."""
        return aval_of(tuple(self.shape), self.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True)
class DBIdx:
    """In a shape of `Jaxpr.in_type`: the size is the input at this place of it."""

    val: int


@dataclass(frozen=True)
class InDBIdx:
    """In a shape of `Jaxpr.out_type`: the size is the input at this place of `in_type`."""

    val: int


@dataclass(frozen=True)
class OutDBIdx:
    """In a shape of `Jaxpr.out_type`: the size is the output at this place of it."""

    val: int


Type = tuple[tuple[ShapeDtype, bool], ...]
