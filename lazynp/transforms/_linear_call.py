"""linear_call: a linear function whose transpose is a program of its own, not made by the rules of
its operations.

The operands are `known` ones and the linear ones. The program `backward` takes the known ones, the
cotangents, and sums to which it adds the cotangents of the first `sums` linear operands: then loops
around it need not add arrays to arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array
from lazynp._avals import Aval
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._memo import cached
from lazynp._primitive import Primitive, Undefined
from lazynp.transforms._call import jit_call, moving_flags, present
from lazynp.transforms._stack import summed, zeros
from lazynp.transforms._stage import (
    batch_jaxpr,
    jvp_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
)
from lazynp.transforms._vmap import flagged


def _explicit(ins: Any, params: dict[str, Any]) -> tuple[Aval, ...]:
    return params["forward"].in_avals


def _jvp(primals: Any, tangents: Any, *, forward: Jaxpr, known: int, **params: Any) -> Any:
    if not any(t is not None for t in tangents[:known]):
        moving = [
            zeros(p.aval) if t is None else t
            for p, t in zip(primals[known:], tangents[known:], strict=True)
        ]
        params |= {"forward": forward, "known": known}
        return linear_call(*primals, **params), linear_call(*primals[:known], *moving, **params)
    pushed, moves = jvp_jaxpr(forward, moving_flags(tangents))
    outs = run_jaxpr(pushed, [*primals, *present(tangents)])
    n = len(forward.outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _linearize(primals: Any, tangents: Any, *, forward: Jaxpr, known: int, **params: Any) -> Any:
    if not any(t is not None for t in tangents[:known]):
        return _jvp(primals, tangents, forward=forward, known=known, **params)
    rule: Any = jit_call.linearize
    return rule(primals, tangents, jaxpr=forward, name="linear_call")


def _transpose(
    cts: Sequence[Array], *operands: Any, forward: Jaxpr, backward: Jaxpr, known: int, sums: int
) -> list[Any]:
    given, linear = operands[:known], operands[known:]
    onto = [x for x in linear[:sums] if isinstance(x, Undefined) and x.sum is not None]
    if onto:  # no transposition of this one will come: it is reverse mode's last
        start = [summed(x) if isinstance(x, Undefined) else zeros(x.aval) for x in linear[:sums]]
        found = jit_call(*given, *cts, *start, jaxpr=backward, name="linear_call")
    else:
        turned = {"forward": _from_zero(backward, sums), "backward": forward}
        found = linear_call(*given, *cts, **turned, known=known, sums=0)
    rest = zip(found, linear, strict=True)
    return [*[None] * known, *(ct if isinstance(x, Undefined) else None for ct, x in rest)]


@cached()
def _from_zero(backward: Jaxpr, sums: int) -> Jaxpr:
    avals = backward.in_avals
    given, rest = avals[: len(avals) - sums], avals[len(avals) - sums :]
    return stage_closed(lambda xs: run_jaxpr(backward, [*xs, *map(zeros, rest)]), given)


def _batch(
    size: int, batched: Sequence[bool], *operands: Array, forward: Jaxpr, backward: Jaxpr,
    known: int, sums: int,
) -> tuple[Any, ...]:  # fmt: skip
    """All that is linear is batched, so that cotangents are, too."""
    given = tuple(batched[:known])
    ins, outs = len(operands) - known, len(forward.outputs)
    mapped, flags = batch_jaxpr(forward, size, (*given, *[True] * ins), (True,) * outs)
    turned, _ = batch_jaxpr(backward, size, (*given, *[True] * (outs + sums)), (True,) * ins)
    linear = [
        x if b else repeated(x, size)
        for x, b in zip(operands[known:], batched[known:], strict=True)
    ]
    params = {"forward": mapped, "backward": turned, "known": known, "sums": sums}
    return flagged(linear_call(*operands[:known], *linear, **params), flags)


linear_call = Primitive(
    "linear_call",
    abstract=lambda *_, forward, **__: tuple(forward.out_avals),
    explicit=_explicit,
    reference=lambda *values, forward, **_: tuple(eval_reference(forward, values)),
    lower=lambda b, *values, forward, **_: tuple(b.subjaxpr(forward, values)),
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    sums=lambda params: range(params["known"], params["known"] + params["sums"]),
    multiple_results=True,
    kind="call",
)
