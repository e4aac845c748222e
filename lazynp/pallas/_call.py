"""pallas_call: the loop over the grid, as a function of arrays."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp._avals import aval_of
from lazynp._dataclass import dataclass
from lazynp._tree import broadcast_prefix, tree_flatten, tree_unflatten
from lazynp.lowering._refs import with_refs
from lazynp.pallas._blocks import View, view_of
from lazynp.pallas._equation import equation
from lazynp.pallas._kernels import program
from lazynp.pallas._launch import launchable
from lazynp.pallas._loop import blank_outside, chunked, looped
from lazynp.pallas._refs import Ref, blanks
from lazynp.pallas._rounds import Chunk
from lazynp.pallas._specs import BlockSpec, CompilerParams, GridSpec, checked_grid, takes
from lazynp.transforms import jit
from lazynp.transforms._stack import at_once, check_leaf, name_of, node_of
from lazynp.transforms._stage import Program, stage

_ID = aval_of((), np.dtype(np.int64), True)


@dataclass(frozen=True)
class _Kernel:
    """A call without its arguments."""

    function: Callable[..., Any]
    name: str
    grid: tuple[int, ...]
    in_specs: Any
    out_shape: Any
    out_specs: Any
    scratch: tuple[Any, ...]
    aliases: dict[int, int]
    interpret: bool | str
    debug: bool
    params: CompilerParams

    def run(self, *args: Any) -> Any:
        """The results for these arguments."""
        call = _Call(self, args)
        if math.prod(self.grid) == 0:
            results = call.begun()
        elif at_once(args):
            results = call.by_python()
        else:
            results = call.recorded()
        return tree_unflatten(call.out_tree, results)


class _Call:
    """A call of a kernel with arguments of one kind."""

    def __init__(self, kernel: _Kernel, args: tuple[Any, ...]) -> None:
        self.kernel, name = kernel, kernel.name
        leaves, self.in_tree = tree_flatten(args)
        for x in leaves:
            check_leaf(x, name)
        self.given = [new_array(node_of(x)) for x in leaves]
        self.out_shapes, self.out_tree = _leaves_of(kernel.out_shape)
        specs = _specs_of_arguments(kernel, args)
        self.ins: list[View] = []
        self.outs: list[View] = []
        many = isinstance(kernel.out_shape, (tuple, list))
        refs = len(args) + (len(kernel.out_shape) if many else 1) + len(kernel.scratch)
        if not takes(kernel.function, refs):
            raise TypeError(
                f"{name}: the kernel must take {refs} Refs, of {len(args)} arguments, of the "
                f"results, and of {len(kernel.scratch)} scratch shapes"
            )
        self._check_aliases()
        if math.prod(kernel.grid) == 0:
            return
        for i, (x, spec) in enumerate(zip(self.given, specs, strict=True)):
            what = f"{name}: argument {i}"
            self.ins.append(view_of(spec, x.shape, x.dtype, kernel.grid, what))
        out_specs = broadcast_prefix(
            kernel.out_specs, self.out_tree, f"{name}: out_specs", _is_spec
        )
        for i, (s, spec) in enumerate(zip(self.out_shapes, out_specs, strict=True)):
            what = f"{name}: output {i}"
            self.outs.append(view_of(spec, s[0], s[1], kernel.grid, what))

    def _check_aliases(self) -> None:
        name = self.kernel.name
        for i, o in self.kernel.aliases.items():
            if not 0 <= i < len(self.given) or not 0 <= o < len(self.out_shapes):
                raise ValueError(
                    f"{name}: input_output_aliases has {i}: {o}, but there are {len(self.given)} "
                    f"inputs and {len(self.out_shapes)} outputs"
                )
            x, (shape, dtype) = self.given[i], self.out_shapes[o]
            if x.shape != shape or x.dtype != dtype:
                raise ValueError(
                    f"{name}: input {i}, {x.dtype} of shape {x.shape}, cannot be the beginning of "
                    f"output {o}, {dtype} of shape {shape}"
                )

    def begun(self) -> list[Array]:
        """The outputs before the first program."""
        sources = {o: i for i, o in self.kernel.aliases.items()}
        return [
            self.given[sources[o]] if o in sources else blanks(shape, dtype)
            for o, (shape, dtype) in enumerate(self.out_shapes)
        ]

    def _scratch(self) -> list[Array]:
        return [blanks(tuple(s.shape), s.dtype) for s in self.kernel.scratch]

    # -- one program -------------------------------------------------------------------------------

    def program(self, handles: Sequence[Any]) -> list[Array]:
        """Run the kernel on values: program ids, blocks of inputs and outputs, scratch. Returns the
        blocks of outputs and the scratch that it leaves.
        """
        kernel, axes = self.kernel, len(self.kernel.grid)
        ids, values = handles[:axes], handles[axes:]
        n, m = len(self.ins), len(self.outs)
        refs = [
            Ref(f"{kernel.name}: {_what(k, n, m)}", x, writeable=k >= n)
            for k, x in enumerate(values)
        ]
        args = tree_unflatten(self.in_tree, refs[:n])
        outs = tree_unflatten(self.out_tree, refs[n : n + m])
        outs = outs if isinstance(kernel.out_shape, (tuple, list)) else (outs,)
        try:
            with program(kernel.name, ids, kernel.grid):
                result = kernel.function(*args, *outs, *refs[n + m :])
            if tree_flatten(result)[0]:
                raise ValueError(f"{kernel.name}: a kernel must return None, got {result!r}")
            return [ref._value() for ref in refs[n:]]
        finally:
            for ref in refs:
                ref._close()

    def staged(self) -> Program:
        """The kernel as a program on values."""
        kernel, grid = self.kernel, self.kernel.grid
        blocks = [aval_of(v.ref_shape, v.dtype) for v in (*self.ins, *self.outs)]
        blocks += [aval_of(tuple(s.shape), np.dtype(s.dtype)) for s in kernel.scratch]
        ranges = {i: (0, n - 1) for i, n in enumerate(grid)}
        kinds = [None] * len(grid) + [NDArray] * len(blocks)
        avals = [_ID] * len(grid) + blocks
        staged = stage(self.program, avals, f"the kernel {kernel.name}", kinds, ranges)
        if staged.written:
            raise TypeError(
                f"{kernel.name}: a kernel must not write arrays from outside; it may write "
                "the Refs of outputs and scratch"
            )
        if kernel.debug:
            written = len(self.outs) + len(kernel.scratch)
            print(with_refs(staged.jaxpr, len(grid), len(self.ins), written))
        return staged

    # -- all programs ------------------------------------------------------------------------------

    def recorded(self) -> list[Array]:
        """The loop over all programs, as one operation on the arguments and what they capture."""
        n, staged = len(self.given), self.staged()
        operands = [*self.given, *staged.captured]

        def run(handles: list[Array]) -> list[Array]:
            self.given = handles[:n]
            return self.looped(staged, handles[n:])

        kernel, kinds = self.kernel, [NDArray] * len(operands)
        loop = stage(run, [x.aval for x in operands], f"the call of {kernel.name}", kinds)
        launched = None if kernel.interpret else launchable(self, staged, operands[n:])
        return equation(
            *operands, *loop.captured, name=kernel.name, grid=kernel.grid, kernel=launched,
            jaxpr=loop.jaxpr,
        )  # fmt: skip

    def looped(self, staged: Program, captured: list[Array]) -> list[Array]:
        """All programs as one loop, over chunks of programs where they are independent."""
        kernel, jaxpr = self.kernel, staged.jaxpr
        if kernel.interpret or kernel.scratch:
            chunk = Chunk((), kernel.grid, jaxpr)
        else:
            chunk = chunked(kernel.grid, self.ins, self.outs, jaxpr)
        return looped(
            chunk, self.ins, self.outs, self.given, self.begun(), self._scratch(), captured,
            kernel.interpret == "reversed",
        )  # fmt: skip

    def by_python(self) -> list[Array]:
        """All programs one after the other, each by Python, with values in the Refs."""
        inputs = [v.pad(x) for v, x in zip(self.ins, self.given, strict=True)]
        outs = [v.pad(x) for v, x in zip(self.outs, self.begun(), strict=True)]
        scratch = self._scratch()
        places = list(itertools.product(*map(range, self.kernel.grid)))
        for ids in places[:: -1 if self.kernel.interpret == "reversed" else 1]:
            blocks = [v.read(x, v.starts(ids)) for v, x in zip(self.ins, inputs, strict=True)]
            starts = [v.starts(ids) for v in self.outs]
            for v, x, s in zip(self.outs, outs, starts, strict=True):
                blocks.append(blank_outside(v, v.read(x, s), s, False))
            results = self.program([*ids, *map(_own, blocks), *map(_own, scratch)])
            outs = [v.write(x, r, s) for v, x, r, s in zip(self.outs, outs, results, starts)]
            scratch = results[len(outs) :]
        return [v.crop(x) for v, x in zip(self.outs, outs, strict=True)]


def _own(x: Array) -> Array:
    return new_array(x._read())


def _what(place: int, inputs: int, outputs: int) -> str:
    if place < inputs:
        return f"input {place}"
    place -= inputs
    return f"output {place}" if place < outputs else f"scratch {place - outputs}"


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, BlockSpec)


def _leaves_of(out_shape: Any) -> tuple[list[tuple[tuple[int, ...], Any]], Any]:
    """The shapes and dtypes of the results, and their tree."""
    leaves, tree = tree_flatten(out_shape)
    found = []
    for s in leaves:
        if not hasattr(s, "shape") or not hasattr(s, "dtype"):
            raise TypeError(
                f"pallas_call: out_shape must have a shape and a dtype (np.ShapeDtype), got {s!r}"
            )
        dtype = np.dtype(s.dtype)
        if dtype.kind not in "biufc":
            raise TypeError(f"pallas_call: results must be of numbers or bools, got {dtype}")
        found.append((tuple(map(int, s.shape)), dtype))
    return found, tree


def _specs_of_arguments(kernel: _Kernel, args: tuple[Any, ...]) -> list[Any]:
    """A spec, or None, for each leaf of the arguments."""
    if kernel.in_specs is None:
        return [None] * len(tree_flatten(args)[0])
    if len(kernel.in_specs) != len(args):
        raise ValueError(
            f"{kernel.name}: in_specs has {len(kernel.in_specs)} entries for {len(args)} arguments"
        )
    found = []
    for i, (spec, x) in enumerate(zip(kernel.in_specs, args, strict=True)):
        what = f"{kernel.name}: in_specs[{i}]"
        found += broadcast_prefix(spec, tree_flatten(x)[1], what, _is_spec)
    return found


def pallas_call(
    kernel: Callable[..., Any],
    out_shape: Any,
    *,
    grid: Any = (),
    grid_spec: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    scratch_shapes: Any = (),
    input_output_aliases: Any = None,
    name: str | None = None,
    debug: bool = False,
    interpret: bool | str = False,
    compiler_params: Any = None,
    cost_estimate: Any = None,
) -> Callable[..., Any]:
    """A function of arrays that runs a kernel once for each point of a grid, on blocks.

    kernel: it gets a Ref for each argument, for each result and for each scratch shape; it reads
    the first and writes the others. out_shape: a tree of things with `shape` and `dtype`; the
    result is such a tree. grid: the number of programs along each axis; () is one program.
    in_specs: an entry for each argument: a BlockSpec, or a tree of them, or None. out_specs: a tree
    like out_shape. grid_spec: grid, specs and scratch together. scratch_shapes: memory that the
    programs share. input_output_aliases: {input: output}; the output begins as that input.

    The results are those of a loop over the grid, last axis fastest. Results that no program
    writes are blank: NaN, the least integer, False. interpret=True runs the programs one after the
    other; "reversed", the last one first, shows who depends on the order. debug prints the kernel's
    jaxpr when it is traced. compiler_params and cost_estimate have no effect on the CPU.
    """
    if not callable(kernel):
        raise TypeError(f"pallas_call: a kernel must be a function, got {kernel!r}")
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif checked_grid(grid, "pallas_call") or in_specs is not None or out_specs is not None:
        raise ValueError("pallas_call: grid_spec stands for grid, in_specs and out_specs")
    name = name or name_of(getattr(kernel, "func", kernel))
    params = compiler_params if isinstance(compiler_params, CompilerParams) else CompilerParams()
    made = _checked(
        kernel, out_shape, grid_spec, input_output_aliases, name, interpret, debug, params
    )

    def run(*args: Any) -> Any:
        return made.run(*args)

    run.__name__ = run.__qualname__ = name
    jitted = jit(run)

    @functools.wraps(run)
    def call(*args: Any) -> Any:
        return jitted(*args)

    return call


def _checked(
    kernel: Callable[..., Any], out_shape: Any, spec: Any, aliases: Any, name: str,
    interpret: bool | str, debug: bool, params: CompilerParams,
) -> _Kernel:  # fmt: skip
    """What can be said before there are arguments."""
    if spec.in_specs is not None and not isinstance(spec.in_specs, (tuple, list)):
        raise TypeError(
            f"{name}: in_specs must be a tuple or list with an entry for each argument, got "
            f"{spec.in_specs!r}"
        )
    if interpret not in (True, False, "reversed"):
        raise ValueError(f"{name}: interpret must be True, False or 'reversed', got {interpret!r}")
    kinds = params.dimension_semantics
    if kinds is not None and len(kinds) != len(checked_grid(spec.grid, name)):
        raise ValueError(
            f"{name}: dimension_semantics has {len(kinds)} entries for the grid {spec.grid!r}"
        )
    leaves, tree = _leaves_of(out_shape)
    broadcast_prefix(spec.out_specs, tree, f"{name}: out_specs", _is_spec)
    return _Kernel(
        function=kernel, name=name, grid=checked_grid(spec.grid, name), in_specs=spec.in_specs,
        out_shape=out_shape, out_specs=spec.out_specs,
        scratch=_checked_scratch(spec.scratch_shapes, name),
        aliases=_checked_aliases(aliases, len(leaves), name), interpret=interpret, debug=debug,
        params=params,
    )  # fmt: skip


def _checked_scratch(shapes: Any, what: str) -> tuple[Any, ...]:
    found = tuple(shapes) if isinstance(shapes, (tuple, list)) else None
    if found is None or not all(hasattr(s, "shape") and hasattr(s, "dtype") for s in found):
        raise TypeError(
            f"{what}: scratch_shapes must be a tuple or list of things with a shape and a dtype "
            f"(VMEM(shape, dtype)), got {shapes!r}"
        )
    return found


def _checked_aliases(aliases: Any, outputs: int, what: str) -> dict[int, int]:
    found = dict(aliases or {})
    if not all(isinstance(k, int) for pair in found.items() for k in pair):
        raise TypeError(f"{what}: input_output_aliases maps ints to ints, got {aliases!r}")
    if len(set(found.values())) < len(found) or any(not 0 <= o < outputs for o in found.values()):
        raise ValueError(
            f"{what}: input_output_aliases must name outputs 0 to {outputs - 1}, each once, got "
            f"{aliases!r}"
        )
    return found
