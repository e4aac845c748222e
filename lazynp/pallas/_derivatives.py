"""Derivatives of kernels as kernels: where each block of the arrays is visited once, the derivative
of the call is the derivative of its programs, on the same grid.

Forward mode is a kernel on blocks and their tangents. Reverse mode has two, each of which begins
with the program itself: one from tangents of inputs to those of outputs, and its transpose, from
cotangents of outputs to those of inputs. Any other call is differentiated as a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array
from lazynp._avals import aval_of
from lazynp._dataclass import dataclass, replace
from lazynp._jaxpr import Jaxpr, Var, jaxprs_in
from lazynp._memo import cached
from lazynp.lowering._kernel import Block, Kernel
from lazynp.pallas._loop import chunked, looped
from lazynp.pallas._refs import blanks
from lazynp.transforms._checks import has_checks
from lazynp.transforms._stage import (
    LinearPair,
    jvp_jaxpr,
    linearize_jaxpr,
    run_jaxpr,
    stage_closed,
    transpose_jaxpr,
)

Flags = tuple[bool, ...]


def _is_plain(kernel: Kernel | None, moving: Flags) -> bool:
    """Whether each block of its outputs is visited once, and nothing outside of arrays is read."""
    return (
        kernel is not None
        and not (kernel.reason or kernel.scratch or kernel.aliases)
        and len(moving) == len(kernel.inputs) + len(kernel.captured)
        and not any(d.stands_out for x in (*kernel.inputs, *kernel.outputs) for d in x.dims)
        and not any(x.revisited() for x in kernel.outputs)
    )


def _taken(blocks: Sequence[Block], flags: Sequence[bool]) -> tuple[Block, ...]:
    return tuple([x for x, f in zip(blocks, flags, strict=True) if f])


def _moving(kernel: Kernel, moving: Flags) -> Flags:
    """Which inputs of the kernel's jaxpr move."""
    n, ids = len(kernel.inputs), len(kernel.grid) - kernel.extra
    return (*[False] * ids, *moving[:n], *[False] * len(kernel.outputs), *moving[n:])


@cached()
def pushed(kernel: Kernel | None, moving: Flags, moves: Flags) -> Kernel | None:
    """Of blocks, and tangents of those that move, to outputs and tangents of those in `moves`; None
    if the call has no such kernel.
    """
    if kernel is None or not _is_plain(kernel, moving):
        return None
    count = len(kernel.outputs)
    jaxpr, found = jvp_jaxpr(kernel.jaxpr, _moving(kernel, moving), moves[:count])
    if found != moves[:count] or any(moves[count:]):
        return None
    tangents = _taken(kernel.outputs, found)
    first = len(kernel.jaxpr.inputs) - len(kernel.captured)
    begun = [Var(x.aval) for x in tangents]
    inputs = [*jaxpr.inputs[:first], *begun, *jaxpr.inputs[first:]]
    given = _taken((*kernel.inputs, *kernel.captured), moving)
    return replace(
        kernel,
        jaxpr=Jaxpr(inputs, jaxpr.eqns, jaxpr.outputs),
        captured=(*kernel.captured, *given),
        outputs=(*kernel.outputs, *tangents),
    )


# -- reverse mode ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Linear:
    """A function of known operands and of others in which it is linear, as a jaxpr and a kernel."""

    jaxpr: Jaxpr
    kernel: Kernel

    def __repr__(self) -> str:
        return "..."

    def batched(self, jaxpr: Jaxpr, size: int, flags: Flags) -> Linear:
        return Linear(jaxpr, self.kernel.batched(size, flags))


@cached()
def linear_pair(
    jaxpr: Jaxpr, kernel: Kernel | None, moving: Flags
) -> tuple[Linear, Linear, Flags] | None:
    """From operands, and tangents of those that move, to tangents of results; from operands, and
    cotangents of these results, to those of the operands that move; and which results these are.
    """
    if kernel is None or not _is_plain(kernel, moving) or has_checks(jaxpr):
        return None
    n, count = len(kernel.inputs), len(kernel.outputs)
    given = _taken(kernel.inputs, moving[:n])
    once = not any(x.revisited() or len(x.lead) < kernel.extra for x in given)
    if any(moving[n:]) or not once or not all(x.covers() for x in given):
        return None
    whole = linearize_jaxpr(jaxpr, moving)
    part = linearize_jaxpr(kernel.jaxpr, _moving(kernel, moving), whole.moves[:count])
    if part.moves != whole.moves[:count] or any(whole.moves[count:]) or _is_custom(part.tangent):
        return None
    taken = _taken(kernel.outputs, part.moves)
    kernels = (
        _kernel(kernel, part, given, taken, turned=False),
        _kernel(kernel, part, taken, given, turned=True),
    )
    if kernel.extra or len(jaxpr.inputs) != len(moving):
        jaxprs = _both(whole, list(jaxpr.in_avals), len(jaxpr.outputs))
    else:
        jaxprs = tuple([_loop(k, list(jaxpr.in_avals)) for k in kernels])
    there, back = map(Linear, jaxprs, kernels)
    return there, back, whole.moves


def _loop(kernel: Kernel, avals: list[Any]) -> Jaxpr:
    """The loop over the grid of one of both. avals: of the operands before the tangents."""
    n, known = len(kernel.inputs), len(avals) - len(kernel.inputs)  # captured arrays
    added = kernel.captured[known:]
    ins, outs = ([x.view for x in xs] for xs in ((*kernel.inputs, *added), kernel.outputs))
    first, count = len(kernel.grid), len(kernel.outputs)
    ids, given, begun, captured, more = _cut(
        kernel.jaxpr.inputs, first, n, count, known, len(added)
    )
    jaxpr = Jaxpr([*ids, *given, *more, *begun, *captured], kernel.jaxpr.eqns, kernel.jaxpr.outputs)
    chunk = chunked(kernel.grid, ins, outs, jaxpr)

    def run(xs: list[Array]) -> list[Array]:
        given, captured, more = _cut(xs, n, known, len(added))
        begun = [blanks(tuple(d.length for d in v.dims), v.dtype) for v in outs]
        return looped(chunk, ins, outs, [*given, *more], begun, (), captured)

    whole = [aval_of(tuple(d.length for d in x.dims), x.aval.dtype) for x in added]
    return stage_closed(run, [*avals, *whole])


def _is_custom(jaxpr: Jaxpr) -> bool:
    """Whether it has the tangent of a `custom_vjp`, which has no forward mode, so no batch."""
    return any(
        e.primitive.name == "custom_linear" or any(map(_is_custom, jaxprs_in(e.params)))
        for e in jaxpr.eqns
    )


def _cut(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """The items in pieces of these sizes."""
    rest = iter(items)
    return [[next(rest) for _ in range(n)] for n in sizes]


def _both(pair: LinearPair, avals: list[Any], count: int) -> tuple[Jaxpr, Jaxpr]:
    """The linear function of operands, then tangents, and its transpose."""
    n, residuals = len(avals), len(pair.residuals)
    tangents = list(pair.tangent.in_avals[residuals:])

    def there(xs: list[Array]) -> list[Array]:
        return run_jaxpr(pair.tangent, [*run_jaxpr(pair.primal, xs[:n])[count:], *xs[n:]])

    def back(xs: list[Array]) -> list[Array]:
        linear = (False,) * residuals + (True,) * len(tangents)
        known = run_jaxpr(pair.primal, xs[:n])[count:]
        return run_jaxpr(transpose_jaxpr(pair.tangent, linear), [*known, *xs[n:]])

    return (
        stage_closed(there, [*avals, *tangents]),
        stage_closed(back, [*avals, *pair.tangent.out_avals]),
    )


def _kernel(
    kernel: Kernel, pair: LinearPair, given: Sequence[Block], outputs: Sequence[Block], turned: bool
) -> Kernel:
    """The kernel of one of both, with blocks of tangents after those that are captured. What the
    outputs hold at first is blank for the program, and does not matter for tangents.
    """
    ids, n = len(kernel.grid) - kernel.extra, len(kernel.inputs)
    avals = list(kernel.jaxpr.in_avals)
    first, last = ids + n, ids + n + len(kernel.outputs)
    jaxpr = _both(pair, avals, len(kernel.jaxpr.outputs))[turned]

    def run(xs: list[Array]) -> list[Array]:
        begun = [blanks(a.shape, a.dtype) for a in avals[first:last]]
        rest = xs[first + len(outputs) :]
        return run_jaxpr(jaxpr, [*xs[:first], *begun, *rest])

    kinds = [*avals[:first], *[x.aval for x in outputs], *avals[last:], *[x.aval for x in given]]
    return replace(
        kernel,
        jaxpr=stage_closed(run, kinds),
        captured=(*kernel.captured, *given),
        outputs=tuple(outputs),
    )


__all__ = ["Linear", "linear_pair", "pushed"]
