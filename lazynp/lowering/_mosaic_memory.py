"""Memory in Mosaic: vectors are read from VMEM and written to it, numbers from and to SMEM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import aval_of
from lazynp._errors import LoweringError
from lazynp.lowering._arith import INT32, INT64
from lazynp.lowering._core import Value
from lazynp.lowering._kernel import Block
from lazynp.lowering._memory import (
    Memory,
    blank,
    check_version,
    known,
    plus,
    steps,
    times,
    within,
    written,
)
from lazynp.lowering._mosaic import Mosaic, element_text, kind
from lazynp.lowering._text import dims


def memory_kind(sizes: Sequence[int], block: Block) -> str:
    """`memref<8x128xf32, #tpu.memory_space<vmem>>`"""
    return _kind(sizes, block.aval.dtype, block.space)


def _kind(sizes: Sequence[int], dtype: Any, space: str) -> str:
    if dtype == INT64 or dtype.kind == "b":
        raise LoweringError(f"Mosaic has no {dtype} in memory")
    shape = "".join(f"{n}x" for n in sizes)
    return f"memref<{shape}{element_text(dtype)}, #tpu.memory_space<{space}>>"


class InVmem(Mosaic):
    """The body of a kernel, and how it reads and writes memory."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: set[str] = set()  # pointers to memory whose first contents matter
        self.spaces: dict[str, str] = {}  # of pointers
        self.begun: set[str] = set()  # pointers to outputs that begin as inputs

    def inner(self) -> Any:
        made = super().inner()
        made.kept, made.spaces, made.begun = self.kept, self.spaces, self.begun
        return made

    def keep(self, m: Memory) -> None:
        """What is there before the kernel runs matters."""
        self.kept.add(m.pointer)

    # -- loads and stores --------------------------------------------------------------------------

    def _place(self, place: Any) -> str:
        """A place as an `index`."""
        out = aval_of((), INT32)
        if isinstance(place, int):
            return self.write(f"arith.constant {place} : index", out).name
        name = self.use(self.convert(place, INT32))
        return self.write(f"arith.index_cast {name} : i32 to index", out).name

    def _access(
        self, m: Memory, starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]
    ) -> tuple[str, str, list[int], list[int]]:
        """The element where an access begins, the memory's type, sizes and strides of all its
        axes. starts: of those that the Ref has, as the rest.
        """
        check_version(self, m)
        given = iter(zip(starts, sizes, strides, strict=True))
        found = [next(given) if d.axis else (0, 1, 1) for d in m.dims]
        if any(s < 1 and n > 1 for _, n, s in found):
            raise self.lacks("reading backwards")
        names = ", ".join(self._place(start) for start, _, _ in found)
        sort = _kind([d.size for d in m.dims], m.dtype, self.spaces[m.pointer])
        here = f"{m.pointer}[{names}]"
        return here, sort, [n for _, n, _ in found], [s if n > 1 else 1 for _, n, s in found]

    def load(
        self, m: Memory, starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]
    ) -> Value:
        """The elements; blank out of the array."""
        if m.blank:
            check_version(self, m)
            return self.constant(blank(m.dtype), m.dtype, tuple(sizes))
        if m.pointer in self.begun:
            self.keep(m)
        here, sort, shape, along = self._access(m, starts, sizes, strides)
        out, apart = aval_of(tuple(shape), m.dtype), any(s != 1 for s in along)
        if self.spaces[m.pointer] == "smem":
            self._check_single(shape)
            got = self.write(f"memref.load {here} : {sort}", aval_of((), m.dtype), again=True)
            got = self.broadcast_in_dim(got, out.shape, ())
        elif apart:
            steps = ", ".join(map(str, along))
            got = self.write(
                f"tpu.strided_load {here} {{strides = array<i32: {steps}>}} : {sort}, "
                f"{kind(out)}", out, again=True,
            )  # fmt: skip
        else:
            got = self.write(f"vector.load {here} : {sort}, {kind(out)}", out, again=True)
        inside = self._inside(m, starts, along, out.shape)
        if inside is not None:
            rest = self.constant(blank(m.dtype), m.dtype, out.shape)
            got = self.select(inside, got, rest)
        return self.reshape(got, tuple(sizes))

    def _inside(
        self, m: Memory, starts: Sequence[Any], strides: Sequence[int], shape: tuple[int, ...]
    ) -> Value | None:
        """Which elements belong to the array; None if all do."""
        given, found = iter(starts), None
        for axis, (dim, stride) in enumerate(zip(m.dims, strides, strict=True)):
            start = next(given) if dim.axis else 0
            if dim.stands_out:
                place = times(self, steps(self, shape[axis]), stride)
                good = within(self, plus(self, plus(self, place, start), dim.start), dim.length)
                good = self.broadcast_in_dim(good, shape, (axis,) if good.aval.shape else ())
                found = good if found is None else self.binary("and", found, good)
        return found

    def store(self, m: Memory, value: Value, starts: Sequence[Any] = (), **region: Any) -> None:
        """Write the elements; those out of the array, the hardware drops."""
        shape = m.aval.shape
        sizes = region.get("sizes", shape)
        strides = region.get("strides", (1,) * len(shape))
        here, sort, whole, along = self._access(m, starts or (0,) * len(shape), sizes, strides)
        if self.spaces[m.pointer] == "smem":
            self._check_single(whole)
            self.line(f"memref.store {self.use(self.reshape(value, ()))}, {here} : {sort}")
            return
        value = self.reshape(value, tuple(whole))
        if any(s != 1 for s in along):
            steps = f"strides = array<i32: {', '.join(map(str, along))}>"
            self.line(
                f"tpu.strided_store {here}, {self.use(value)} {{{steps}}} : {sort}, "
                f"{kind(value.aval)}"
            )
            return
        self.line(
            f"tpu.vector_store {here}, {self.use(value)} {{strides = array<i32>}} : {sort}, "
            f"{kind(value.aval)},"
        )

    def _check_single(self, shape: Sequence[int]) -> None:
        if any(n != 1 for n in shape):
            raise LoweringError(f"numbers are read from SMEM, and written to it, got {dims(shape)}")

    # -- what jaxprs do with memory ----------------------------------------------------------------

    def whole(self, m: Memory) -> Value:
        if m.behind:
            raise self.lacks("reading where arrays of indices say")
        sizes = tuple(d.size for d in m.dims if d.axis)
        got = self.load(m, (0,) * len(sizes), sizes, (1,) * len(sizes))
        return self.reshape(got, m.aval.shape)

    def part(
        self, m: Memory, starts: Sequence[Any], axes: Sequence[int], sizes: Sequence[int],
        strides: Sequence[int], shape: tuple[int, ...],
    ) -> Value:  # fmt: skip
        where = self._region(m, starts, axes, sizes, strides)
        return self.reshape(self.load(m, *where), tuple(shape))

    def replaced(
        self, m: Memory, value: Value, starts: Sequence[Any], axes: Sequence[int],
        sizes: Sequence[int], strides: Sequence[int], shape: tuple[int, ...],
    ) -> Memory:  # fmt: skip
        self.keep(m)
        first, region, along = self._region(m, starts, axes, sizes, strides)
        self.store(m, value, first, sizes=region, strides=along)
        return written(self, m, "stores")

    def _region(
        self, m: Memory, starts: Sequence[Any], axes: Sequence[int], sizes: Sequence[int],
        strides: Sequence[int],
    ) -> tuple[list[Any], list[int], list[int]]:  # fmt: skip
        """Starts, sizes and strides on all axes of a Ref."""
        first: list[Any] = [0] * m.aval.ndim
        region, along = list(m.aval.shape), [1] * m.aval.ndim
        for axis, start, size, stride in zip(axes, starts, sizes, strides, strict=True):
            first[axis], region[axis], along[axis] = known(start), size, stride
        return first, region, along
