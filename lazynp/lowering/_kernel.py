"""What a kernel is to a platform that launches it: jaxpr, grid, the blocks of its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._avals import Aval
from lazynp._dataclass import dataclass, replace
from lazynp._jaxpr import Jaxpr
from lazynp.lowering._refs import with_refs


@dataclass(frozen=True)
class BlockDim:
    """One dimension of an array: its length; the size of a block; the elements from one block
    number to the next; how far block 0 begins before the array, and the last may end after it.
    squeezed: the Ref has no axis for
    it. stands_out: blocks may stand out of the array.
    """

    length: int
    size: int
    step: int
    before: int = 0
    after: int = 0
    squeezed: bool = False
    stands_out: bool = False


@dataclass(frozen=True, eq=False)
class Block:
    """How an array is cut. maps: program ids to block numbers; None: block 0. lead: dimensions in
    front, of which a program has the element of its place on this axis of the grid.
    """

    aval: Aval  # of the Ref
    dims: tuple[BlockDim, ...]
    maps: Jaxpr | None = None
    lead: tuple[tuple[int, int], ...] = ()
    # of data in the kernel: start and step, if it is a progression on one axis
    progression: tuple[int, int] | None = None
    space: str = "vmem"  # or "smem": the memory of TPUs
    # whether several programs get a block, whether they come back to it after another, and whether
    # the blocks are all of the array
    revisited: Callable[[], bool] = bool
    returned: Callable[[], bool] = bool
    covers: Callable[[], bool] = bool
    view: Any = None  # what the loop knows of the blocks

    def batched(self, size: int, is_batched: bool) -> Block:
        """With one more axis of the grid, in front."""
        lead = tuple([(n, axis + 1) for n, axis in self.lead])
        return replace(self, lead=((size, 0), *lead) if is_batched else lead)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel and its grid. jaxpr: program ids, blocks of inputs, of outputs, scratch, captured
    arrays, to the blocks of outputs and scratch. aliases: outputs to inputs. semantics: of the axes
    of the grid, as TPUs know them. extra: axes of the grid, in front, that the kernel does not
    know. reason: why no platform can launch it, or nothing.
    """

    name: str
    jaxpr: Jaxpr
    grid: tuple[int, ...]
    inputs: tuple[Block, ...]
    outputs: tuple[Block, ...]
    captured: tuple[Block, ...]
    aliases: dict[int, int]
    warps: int
    stages: int
    scratch: tuple[Block, ...] = ()
    semantics: tuple[str, ...] = ()
    extra: int = 0
    reason: str = ""

    def batched(self, size: int, flags: Sequence[bool]) -> Kernel:
        """The kernel for `size` examples; flags: of inputs, then captured arrays."""
        n = len(self.inputs)
        return replace(
            self,
            grid=(size, *self.grid),
            inputs=tuple([x.batched(size, f) for x, f in zip(self.inputs, flags)]),
            captured=tuple([x.batched(size, f) for x, f in zip(self.captured, flags[n:])]),
            outputs=tuple([x.batched(size, True) for x in self.outputs]),
            extra=self.extra + 1,
        )

    @property
    def shown(self) -> Jaxpr:
        """Its jaxpr as it was written, with Refs."""
        written = len(self.outputs) + len(self.scratch)
        return with_refs(self.jaxpr, len(self.grid) - self.extra, len(self.inputs), written)

    def __repr__(self) -> str:
        return str(self.shown)


@dataclass(frozen=True)
class Launched:
    """A kernel as a platform's module: its text, and the grid that is launched."""

    name: str
    text: str
    grid: tuple[int, ...]
