"""What a call of a kernel means, as a loop in NumPy: the same kernel, on views of padded arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lazynp.pallas as pl
from lazynp.pallas._kernels import program


def blank(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    if dtype.kind == "c":
        return complex(np.nan, np.nan)
    return False if dtype.kind == "b" else np.nan


class Margined:
    """An array in the middle of blanks, so that blocks may stand out of it."""

    def __init__(self, array: np.ndarray, spec: Any, copy: bool) -> None:
        shape = array.shape
        block = (None if spec is None else spec.block_shape) or shape
        self.entries = [pl.Squeezed() if b is None else b for b in block]
        self.sizes = [_size(b) for b in self.entries]
        self.map = None if spec is None else spec.index_map
        self.margins = [
            n + (sum(b.padding) if isinstance(b, pl.Element) else 0)
            for n, b in zip(self.sizes, self.entries)
        ]
        whole = [n + 2 * m for n, m in zip(shape, self.margins)]
        self.memory = np.full(whole, blank(array.dtype), array.dtype)
        self.middle = tuple(slice(m, m + n) for n, m in zip(shape, self.margins))
        self.memory[self.middle] = array

    def view(self, at: Sequence[int]) -> np.ndarray:
        numbers = (0,) * len(self.sizes) if self.map is None else self.map(*at)
        numbers = numbers if isinstance(numbers, (tuple, list)) else (numbers,)
        index: list[Any] = []
        for number, entry, size, margin in zip(numbers, self.entries, self.sizes, self.margins):
            element = isinstance(entry, pl.Element)
            start = int(number) - entry.padding[0] if element else int(number) * size
            start += margin
            squeezed = isinstance(entry, pl.Squeezed)
            index.append(start if squeezed else slice(start, start + size))
        return self.memory[(*index, ...)]

    def drop(self) -> None:
        """Forget what was written outside of the array."""
        kept = self.memory[self.middle].copy()
        self.memory[...] = blank(self.memory.dtype)
        self.memory[self.middle] = kept


def _size(entry: Any) -> int:
    if isinstance(entry, pl.Squeezed):
        return 1
    return entry if isinstance(entry, int) else entry.block_size


def by_loop(
    kernel: Callable[..., Any],
    out_shapes: Sequence[Any],
    args: Sequence[np.ndarray],
    *,
    grid: tuple[int, ...] = (),
    in_specs: Any = None,
    out_specs: Any = None,
    scratch_shapes: Sequence[Any] = (),
    input_output_aliases: Any = None,
) -> list[np.ndarray]:
    """The results of a call."""
    ins = [Margined(x, s, False) for x, s in zip(args, in_specs or [None] * len(args))]
    begun = [np.full(s.shape, blank(s.dtype), s.dtype) for s in out_shapes]
    for i, o in (input_output_aliases or {}).items():
        begun[o] = args[i].copy()
    outs = [Margined(x, s, True) for x, s in zip(begun, out_specs or [None] * len(begun))]
    scratch = [np.full(s.shape, blank(s.dtype), s.dtype) for s in scratch_shapes]
    for at in itertools.product(*map(range, grid)):
        with program("oracle", at, grid), np.errstate(all="ignore"):
            kernel(*[m.view(at) for m in [*ins, *outs]], *scratch)
        for m in outs:
            m.drop()
    return [m.memory[m.middle] for m in outs]
