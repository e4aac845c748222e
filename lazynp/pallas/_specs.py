"""What a call is given besides its arguments: grids, blocks, memory, hints to compilers."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._dataclass import dataclass

_ORDER = (
    "BlockSpec: block_shape comes first, then index_map; got the function first: "
    "BlockSpec(block_shape, index_map)"
)


@dataclass(frozen=True)
class Blocked:
    """A dimension cut into blocks of this size; the index map gives the number of the block."""

    block_size: int


@dataclass(frozen=True)
class Squeezed:
    """A dimension in which a block has size 1, and the Ref no axis. None means the same."""


@dataclass(frozen=True)
class Element:
    """A window of this size; the index map gives its first element, so windows may overlap.

    padding: so many elements before and after the array count as part of it, and element 0 is the
    first of them. They are read as blanks; what is written there is dropped.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class MemorySpace:
    """A kind of memory, where platforms tell them apart. Called, it describes scratch there."""

    name: str

    def __call__(self, shape: Any, dtype: Any) -> Scratch:
        shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
        return Scratch(tuple(map(operator.index, shape)), np.dtype(dtype), self)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Scratch:
    """Memory that the programs of a call share, blank at first."""

    shape: tuple[int, ...]
    dtype: Any
    memory_space: Any = None


VMEM = MemorySpace("VMEM")
SMEM = MemorySpace("SMEM")
ANY = MemorySpace("ANY")


@dataclass(frozen=True)
class BlockSpec:
    """How an array is cut into blocks, and which of them a program gets.

    block_shape: an entry for each dimension: an int or `Blocked(n)`, None or `Squeezed()`,
    `Element(n)`; without it, the block is the whole array. index_map: a function of the program
    ids to the number of the block, one for each dimension; without it, it is block 0. memory_space
    has no effect on the CPU.
    """

    block_shape: Any = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any = None

    def __init__(
        self, block_shape: Any = None, index_map: Any = None, *, memory_space: Any = None
    ) -> None:
        if callable(block_shape):
            raise TypeError(_ORDER)
        if index_map is not None and not callable(index_map):
            raise TypeError(f"BlockSpec: index_map must be a function, got {index_map!r}")
        if block_shape is not None:
            entries = (block_shape,) if isinstance(block_shape, int) else tuple(block_shape)
            block_shape = tuple(map(_entry, entries))
        object.__setattr__(self, "block_shape", block_shape)
        object.__setattr__(self, "index_map", index_map)
        object.__setattr__(self, "memory_space", memory_space)


def _entry(entry: Any) -> Any:
    """An entry of a block shape, checked."""
    if entry is None or isinstance(entry, Squeezed):
        return entry
    size = entry.block_size if isinstance(entry, (Blocked, Element)) else entry
    if isinstance(size, bool) or not hasattr(type(size), "__index__"):
        raise TypeError(f"BlockSpec: a block's size must be an int, got {entry!r}")
    if operator.index(size) < 0:
        raise ValueError(f"BlockSpec: a block's size must not be negative, got {entry!r}")
    if isinstance(entry, Element):
        low, high = entry.padding
        if operator.index(low) < 0 or operator.index(high) < 0:
            raise ValueError(f"BlockSpec: padding must not be negative, got {entry!r}")
    return entry if isinstance(entry, (Blocked, Element)) else operator.index(size)


@dataclass(frozen=True)
class GridSpec:
    """The grid, the specs and the scratch of a call together."""

    grid: Any = ()
    in_specs: Any = None
    out_specs: Any = None
    scratch_shapes: Any = ()


@dataclass(frozen=True)
class CompilerParams:
    """Hints to the compilers of GPUs and TPUs. They change no result, and nothing on the CPU."""

    num_warps: int = 4
    num_stages: int = 3
    dimension_semantics: Any = None

    def __post_init__(self) -> None:
        for kind in self.dimension_semantics or ():
            if kind not in ("parallel", "arbitrary"):
                raise ValueError(
                    "CompilerParams: dimension_semantics must be 'parallel' or 'arbitrary' for "
                    f"each axis, got {kind!r}"
                )


@dataclass(frozen=True)
class CostEstimate:
    """What a call costs, for schedulers. It changes no result, and nothing on the CPU."""

    flops: int
    transcendentals: int
    bytes_accessed: int


def checked_grid(grid: Any, what: str) -> tuple[int, ...]:
    """The grid as a tuple of ints."""
    entries = grid if isinstance(grid, (tuple, list)) else (grid,)
    for n in entries:
        if isinstance(n, (bool, np.bool_)) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"{what}: a grid is an int or a tuple of ints, got {grid!r}")
        if n < 0:
            raise ValueError(f"{what}: a grid has no negative sizes, got {grid!r}")
    return tuple(map(int, entries))


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


def cdiv(a: Any, b: Any) -> Any:
    """`a / b` rounded up: how many blocks of b cover a."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The least power of two that is not below n."""
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"next_power_of_2: n must not be negative, got {n}")
    return 1 << max(0, n - 1).bit_length()
