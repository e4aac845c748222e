"""A small interpreter of Mosaic modules, and of the StableHLO around them, on NumPy arrays.

Programs run in order. A window is what a program sees of an array: it is read when its place
changes, and written back before that. Memory that nobody wrote, and what a window has outside of
its array, holds poison. A window that stands wholly outside is an error.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from jaxlib.mlir.dialects import stablehlo

from lazynp.lowering._mlir import _context
from tests.pallas import dialects
from tests.pallas.dialects import DTYPES, Array, type_of

_REDUCTIONS: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum,
    "maxui": dialects.OPS["arith.maxui"], "minui": dialects.OPS["arith.minui"],
    "maxsi": np.maximum, "minsi": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
_MORE: dict[str, Callable[..., Any]] = {
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "math.tanh": np.tanh,
    "math.tan": np.tan, "math.log1p": np.log1p, "math.expm1": np.expm1, "math.powf": np.power,
    "math.roundeven": np.rint, "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.atan2": np.arctan2,
    "math.erf": scipy.special.erf, "math.round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}  # fmt: skip


def poison(shape: Sequence[int], dtype: Any) -> Array:
    """What nobody should read."""
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 77, dtype)


class Program(dialects.Program):
    """One program of a launched kernel. Memory is an array, which is written in place."""

    ops = dialects.OPS | _MORE

    def arith_index_cast(self, op: Any, xs: Any) -> Any:
        return [np.asarray(xs[0]).astype(type_of(str(op.results[0].type))[1])]

    # -- memory ------------------------------------------------------------------------------------

    def _region(self, op: Any, memory: Array, at: Any, shape: Sequence[int]) -> Any:
        strides = list(op.attributes["strides"]) if "strides" in op.attributes else []
        found = []
        strides = strides or [1] * len(shape)
        for start, n, step, size in zip(at, shape, strides, memory.shape, strict=True):
            assert 0 <= start and start + (n - 1) * step < size, "outside of the block"
            found.append(slice(int(start), int(start) + (n - 1) * step + 1, step))
        return tuple(found)

    def vector_load(self, op: Any, xs: Any) -> Any:
        memory, *at = xs
        shape, dtype = type_of(str(op.results[0].type))
        got = memory[self._region(op, memory, at, shape)].copy()
        assert got.shape == shape and got.dtype == dtype
        return [got]

    tpu_strided_load = vector_load

    def tpu_vector_store(self, op: Any, xs: Any) -> Any:
        value, memory, *at = xs
        memory[self._region(op, memory, at, value.shape)] = value
        return []

    def tpu_strided_store(self, op: Any, xs: Any) -> Any:
        first = str(op.operands[0].type).startswith("memref")
        memory, value = (xs[0], xs[-1]) if first else (xs[1], xs[0])
        at = xs[1:-1] if first else xs[2:]
        memory[self._region(op, memory, at, value.shape)] = value
        return []

    def memref_load(self, op: Any, xs: Any) -> Any:
        return [xs[0][tuple(map(int, xs[1:]))]]

    def memref_store(self, op: Any, xs: Any) -> Any:
        xs[1][tuple(map(int, xs[2:]))] = xs[0]
        return []

    # -- vectors -----------------------------------------------------------------------------------

    def tpu_iota(self, op: Any, xs: Any) -> Any:
        shape, dtype = type_of(str(op.results[0].type))
        (axis,) = op.attributes["dimensions"]
        place = np.arange(shape[axis], dtype=dtype)
        return [np.broadcast_to(place.reshape([-1] + [1] * (len(shape) - axis - 1)), shape)]

    def vector_broadcast(self, op: Any, xs: Any) -> Any:
        return [np.broadcast_to(xs[0], type_of(str(op.results[0].type))[0])]

    def vector_shape_cast(self, op: Any, xs: Any) -> Any:
        return [xs[0].reshape(type_of(str(op.results[0].type))[0])]

    def vector_extract(self, op: Any, xs: Any) -> Any:
        return [xs[0][tuple(op.attributes["static_position"])]]

    def vector_transpose(self, op: Any, xs: Any) -> Any:
        return [xs[0].transpose(list(op.attributes["permutation"]))]

    def tpu_concatenate(self, op: Any, xs: Any) -> Any:
        return [np.concatenate(xs, op.attributes["dimension"].value)]

    def vector_extract_strided_slice(self, op: Any, xs: Any) -> Any:
        at, sizes = ([i.value for i in op.attributes[k]] for k in ("offsets", "sizes"))
        return [xs[0][tuple(slice(a, a + n) for a, n in zip(at, sizes, strict=True))]]

    def vector_multi_reduction(self, op: Any, xs: Any) -> Any:
        how = _REDUCTIONS[re.search(r"<(\w+)>", str(op)).group(1)]
        axes, found = tuple(op.attributes["reduction_dims"]), xs[1]
        rows = np.moveaxis(xs[0], axes, range(len(axes)))
        for row in rows.reshape(-1, *found.shape):
            found = np.asarray(how(found, row)).astype(found.dtype)
        return [found]

    def tpu_matmul(self, op: Any, xs: Any) -> Any:
        text = str(op.attributes["dimension_numbers"])
        (i, j, *_), x, y = re.findall(r"\[([^\]]*)\]", text), xs[0], xs[1]
        assert "fp32" in str(op.attributes["precision"])
        return [np.tensordot(x, y, ((int(i),), (int(j),))) + xs[2]]


# -- windows ---------------------------------------------------------------------------------------


@dataclass
class Window:
    """The part of an array that programs see."""

    array: Array
    sizes: list[int]
    transform: Any
    low: list[int] | None  # of windows that are counted in elements
    output: bool
    at: tuple[int, ...] | None = None
    held: Any = None

    def move(self, ids: Sequence[Any]) -> Array:
        found = Program().block(self.transform, ids)
        at = tuple(map(int, found))
        if at != self.at:
            self.leave()
            self.at, self.held = at, poison(self.sizes, self.array.dtype)
            here, there = self._places()
            if not self.output:
                self.held[there] = self.array[here]
        return self.held

    def leave(self) -> None:
        if self.output and self.at is not None:
            here, there = self._places()
            self.array[here] = self.held[there]

    def _places(self) -> Any:
        """Of what is inside: in the array, and in the window."""
        here, there = [], []
        low = self.low or [0] * len(self.sizes)
        for number, n, length, before in zip(
            self.at, self.sizes, self.array.shape, low, strict=True
        ):
            start = number - before if self.low else number * n
            first, last = max(0, start), min(length, start + n)
            assert first < last, "a window outside of its array"
            here.append(slice(first, last))
            there.append(slice(first - start, last - start))
        return tuple(here), tuple(there)


def launch(kernel: Any, arrays: Sequence[Array], outputs: int) -> None:
    """Run all programs, the last axis of the grid fastest."""
    ir, context = _context()
    module = ir.Module.parse(kernel.text, context)
    functions = {op.operation.attributes["sym_name"].value: op for op in module.body.operations}
    function = functions[kernel.name].operation
    blocks = {k: f.operation.regions[0].blocks[0] for k, f in functions.items()}
    main, windows = blocks[kernel.name], []
    params = function.attributes["window_params"]
    assert list(function.attributes["iteration_bounds"]) == list(kernel.grid)
    assert len(function.attributes["dimension_semantics"]) == len(kernel.grid)
    for k, (array, param) in enumerate(zip(arrays, params, strict=True)):
        kind = (
            re.findall(r"\[([\d, ]*)\]", str(param["window_kind"])) if "window_kind" in param else 0
        )
        windows.append(Window(
            array, list(param["window_bounds"]), blocks[param["transform_indices"].value],
            [int(n) for n in kind[0].split(",")] if kind else None, k >= len(arrays) - outputs,
        ))  # fmt: skip
    scratch = [
        poison(*_memory(str(a.type)))
        for a in list(main.arguments)[len(kernel.grid) + len(arrays) :]
    ]
    assert function.attributes["scratch_operands"].value == len(scratch)
    for place in itertools.product(*map(range, kernel.grid)):
        ids = [np.int32(i) for i in place]
        held = [w.move(ids) for w in windows]
        for w, a in zip(held, main.arguments[len(ids) :], strict=False):
            assert (w.shape, w.dtype) == _memory(str(a.type))
        Program().block(main, [*ids, *held, *scratch])
    for w in windows:
        w.leave()


def _memory(text: str) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of `memref<8x128xf32, #tpu.memory_space<vmem>>`."""
    sizes, element = re.fullmatch(r"memref<((?:\d+x)*)(\w+), #tpu.*>", text).groups()
    return tuple(map(int, sizes.split("x")[:-1])), np.dtype(DTYPES[element])


# -- the program around it -------------------------------------------------------------------------


class Main(dialects.Program):
    """A StableHLO function that launches kernels."""

    def __init__(self, kernels: Any) -> None:
        super().__init__()
        self.kernels = list(kernels)

    def stablehlo_reshape(self, op: Any, xs: Any) -> Any:
        return [xs[0].reshape(type_of(str(op.results[0].type))[0])]

    def stablehlo_constant(self, op: Any, xs: Any) -> Any:
        return [np.zeros(type_of(str(op.results[0].type))[0], "i8")]

    def stablehlo_custom_call(self, op: Any, xs: Any) -> Any:
        assert op.attributes["call_target_name"].value == "tpu_custom_call"
        outs = [poison(*type_of(str(r.type))) for r in op.results]
        for text in map(str, op.attributes["output_operand_aliases"]):
            out = re.search(r"output_tuple_indices = \[(\d*)\]", text).group(1)
            given = re.search(r"operand_index = (\d+)", text).group(1)
            outs[int(out or 0)][...] = xs[int(given)]
        launch(self.kernels.pop(0), [*xs, *outs], len(outs))
        return outs


def run(lowered: Any, args: Sequence[Array]) -> list[Array]:
    """The results of a lowered program."""
    ir, context = _context()
    stablehlo.register_dialect(context)
    text = re.sub(r"(?<=[x<])ui(?=\d)", "i", lowered.as_text())
    module = ir.Module.parse(text, context)
    held = [a.view(f"i{a.dtype.itemsize}") if a.dtype.kind == "u" else a for a in args]
    main = module.body.operations[0].operation.regions[0].blocks[0]
    return Main(lowered.kernels).block(main, held)
