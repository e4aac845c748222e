"""The equation of a call: the loop over its grid as one operation, with its name and its grid.

It consists of its jaxpr alone, in which Refs are discharged. Where each block is visited once, its
derivatives are calls too (`_derivatives`); otherwise they are those of that jaxpr, and are `jit`
equations. A batch is a call with one more axis of the grid, in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array
from lazynp._avals import Aval
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._primitive import Primitive, Undefined
from lazynp.lowering._kernel import Kernel
from lazynp.lowering._launching import launch
from lazynp.pallas._derivatives import Linear, linear_pair, pushed
from lazynp.primitives._axes import broadcast_front
from lazynp.transforms._call import jaxpr_explicit, jit_call, moving_flags, present
from lazynp.transforms._checks import discharge_call
from lazynp.transforms._stage import batch_jaxpr, jvp_jaxpr, spread_out
from lazynp.transforms._vmap import flagged

Grid = tuple[int, ...]
_jit: Any = jit_call


def _abstract(*avals: Aval, jaxpr: Jaxpr, **_: Any) -> tuple[Aval, ...]:
    return tuple(jaxpr.out_avals)


def _reference(*values: Any, jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
    return tuple(eval_reference(jaxpr, values))


def _lower(
    b: Any, *values: Any, jaxpr: Jaxpr, name: str, grid: Grid, kernel: Kernel | None
) -> tuple[Any, ...]:
    """Where kernels are launched, a finding of checks, the last result, is that there is none."""
    if kernel is None or not b.platform.kernels:
        return tuple(b.subjaxpr(jaxpr, values))
    count = len(kernel.inputs) + len(kernel.captured)
    outs = launch(b, kernel, values[:count])
    rest = jaxpr.out_avals[len(outs) :]
    return *outs, *(b.constant(0, a.dtype, a.shape) for a in rest)


def _jvp(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, name: str, grid: Grid, kernel: Kernel | None
) -> Any:
    moving = moving_flags(tangents)
    both, moves = jvp_jaxpr(jaxpr, moving)
    made = pushed(kernel, moving, moves)
    if made is None:
        return _jit.jvp(primals, tangents, jaxpr=jaxpr, name=name)
    outs = equation(*primals, *present(tangents), name=name, grid=grid, kernel=made, jaxpr=both)
    n = len(jaxpr.outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _linearize(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, name: str, grid: Grid, kernel: Kernel | None
) -> Any:
    pair = linear_pair(jaxpr, kernel, moving_flags(tangents))
    if pair is None:
        return _jit.linearize(primals, tangents, jaxpr=jaxpr, name=name)
    there, back, moves = pair
    outs = equation(*primals, name=name, grid=grid, kernel=kernel, jaxpr=jaxpr)
    moved = linear(
        *primals, *present(tangents), jaxpr=there.jaxpr, name=name, grid=grid, here=there,
        turned=back, known=len(primals),
    )  # fmt: skip
    return outs, spread_out(moved, moves)


def _transpose(cts: Any, *operands: Any, jaxpr: Jaxpr, name: str, **_: Any) -> Any:
    return _jit.transpose(cts, *operands, jaxpr=jaxpr, name=name)


def _batch(
    size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr, name: str, grid: Grid,
    kernel: Kernel | None,
) -> tuple[Any, ...]:  # fmt: skip
    begins = set(kernel.aliases.values()) if kernel else set()  # an output has all examples
    flags = [b or i in begins for i, b in enumerate(batched)]
    whole = [b is f for b, f in zip(batched, flags)]
    operands = tuple([x if w else broadcast_front(x, size) for x, w in zip(operands, whole)])
    mapped, outs = batch_jaxpr(jaxpr, size, tuple(flags), (True,) * len(jaxpr.outputs))
    many = kernel and kernel.batched(size, flags)
    return flagged(
        equation(*operands, name=name, grid=(size, *grid), kernel=many, jaxpr=mapped), outs
    )


def _discharge(operands: Sequence[Array], first: int, **params: Any) -> Any:
    return discharge_call(equation, operands, first, **params)


equation: Any = Primitive(
    "pallas_call",
    abstract=_abstract,
    explicit=jaxpr_explicit,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    discharge=_discharge,
    multiple_results=True,
    kind="call",
)


# -- the linear part of a call ---------------------------------------------------------------------


def _lower_linear(b: Any, *values: Any, here: Linear, **params: Any) -> tuple[Any, ...]:
    params = {k: params[k] for k in ("jaxpr", "name", "grid")}
    return _lower(b, *values, **params, kernel=here.kernel)


def _jvp_linear(primals: Any, tangents: Any, *, jaxpr: Jaxpr, name: str, **_: Any) -> Any:
    return _jit.jvp(primals, tangents, jaxpr=jaxpr, name=name)


def _linearize_linear(primals: Any, tangents: Any, *, jaxpr: Jaxpr, name: str, **_: Any) -> Any:
    return _jit.linearize(primals, tangents, jaxpr=jaxpr, name=name)


def _transpose_linear(
    cts: Any, *operands: Any, jaxpr: Jaxpr, name: str, grid: Grid, here: Linear, turned: Linear,
    known: int,
) -> Any:  # fmt: skip
    flags = [isinstance(x, Undefined) for x in operands]
    if any(flags[:known]) or not all(flags[known:]):
        return _jit.transpose(cts, *operands, jaxpr=jaxpr, name=name)
    found = linear(
        *operands[:known], *cts, jaxpr=turned.jaxpr, name=name, grid=grid, here=turned, turned=here,
        known=known,
    )  # fmt: skip
    return [*[None] * known, *found]


def _batch_linear(
    size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr, name: str, grid: Grid,
    here: Linear, turned: Linear, known: int,
) -> tuple[Any, ...]:  # fmt: skip
    flags = tuple(batched[:known])
    operands = tuple([
        x if b or i < known else broadcast_front(x, size)
        for i, (x, b) in enumerate(zip(operands, batched, strict=True))
    ])  # fmt: skip
    made = []
    for one in (here, turned):
        every = (*flags, *[True] * (len(one.jaxpr.inputs) - known))
        mapped, _ = batch_jaxpr(one.jaxpr, size, every, (True,) * len(one.jaxpr.outputs))
        made.append(one.batched(mapped, size, every))
    outs = linear(
        *operands, jaxpr=made[0].jaxpr, name=name, grid=(size, *grid), here=made[0],
        turned=made[1], known=known,
    )  # fmt: skip
    return flagged(outs, (True,) * len(outs))


linear: Any = Primitive(
    "pallas_call_linear",
    abstract=_abstract,
    explicit=jaxpr_explicit,
    reference=_reference,
    lower=_lower_linear,
    jvp=_jvp_linear,
    linearize=_linearize_linear,
    transpose=_transpose_linear,
    batch=_batch_linear,
    discharge=_discharge,
    multiple_results=True,
    kind="call",
)
