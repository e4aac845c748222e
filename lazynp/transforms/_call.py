"""jit_call: a jaxpr as one operation. Each of its rules calls a transformed jaxpr.

`donate`: operands whose memory the compiled program may reuse once nothing else reads them. A
transformation reads the values again, so under one nothing is donated.

`compiled`: compile it when it is first called. Otherwise it has to earn that, under `adaptive`.
"generic": at once with all its numbers as operands, because they will vary. An `Allowance`: if that
permits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lazynp._allowance import Allowance
from lazynp._array import Array
from lazynp._avals import Aval, In, aval_of
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._memo import cached
from lazynp._primitive import Primitive, Undefined
from lazynp.primitives import elementwise
from lazynp.transforms._checks import discharge_call
from lazynp.transforms._stage import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    run_jaxpr,
    spread_out,
    stage_closed,
    transpose_jaxpr,
)
from lazynp.transforms._vmap import flagged

Places = tuple[int, ...]
Compiled = bool | Literal["generic"] | Allowance


def _limit(compiled: Compiled, *kind: Any) -> dict[str, Any]:
    """The parameter of a call that a transformation makes of such a call."""
    return {"compiled": compiled.of(kind)} if isinstance(compiled, Allowance) else {}


def moving_flags(tangents: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(t is not None for t in tangents)


def present(items: Sequence[Any]) -> list[Any]:
    return [x for x in items if x is not None]


def jaxpr_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    return params["jaxpr"].in_avals


def _abstract(
    *avals: Aval, jaxpr: Jaxpr, name: str, donate: Places = (), compiled: Compiled = False
) -> tuple[Aval, ...]:
    return tuple(jaxpr.out_avals)


def joined(avals: Sequence[Sequence[Aval]]) -> tuple[Aval, ...]:
    """The types of results that one of several programs returns: weak where all are weak."""
    return tuple([
        aval_of(first.shape, first.dtype, all([a.weak for a in others]))
        for first, *others in zip(avals[0], *avals, strict=True)
    ])  # fmt: skip


@cached()
def delivered(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with results that no trace sees: they are not weak, as no NumPy result is."""
    if not any(a.weak for a in jaxpr.out_avals):
        return jaxpr

    def run(xs: list[Array]) -> list[Array]:
        return [
            elementwise.convert(x, dtype=x.dtype) if x.aval.weak else x
            for x in run_jaxpr(jaxpr, xs)
        ]

    return stage_closed(run, jaxpr.in_avals)


def _reference(
    *values: Any, jaxpr: Jaxpr, name: str, donate: Places = (), compiled: Compiled = False
) -> tuple[Any, ...]:
    return tuple(eval_reference(jaxpr, values))


def _lower(
    b: Any, *values: Any, jaxpr: Jaxpr, name: str, donate: Places = (), compiled: Compiled = False
) -> tuple[Any, ...]:
    return tuple(b.subjaxpr(jaxpr, values))


def _jvp(
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
    *,
    jaxpr: Jaxpr,
    name: str,
    donate: Places = (),
    compiled: Compiled = False,
) -> tuple[Any, Any]:
    flags = moving_flags(tangents)
    pushed, moves = jvp_jaxpr(jaxpr, flags)
    limit = _limit(compiled, "jvp", flags)
    outs = jit_call(*primals, *present(tangents), jaxpr=pushed, name=name, **limit)
    n = len(jaxpr.outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _linearize(
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
    *,
    jaxpr: Jaxpr,
    name: str,
    donate: Places = (),
    compiled: Compiled = False,
) -> tuple[Any, Any]:
    flags = moving_flags(tangents)
    pair = linearize_jaxpr(jaxpr, flags)
    limit = _limit(compiled, "primal", flags)
    outs = jit_call(*primals, jaxpr=pair.primal, name=name, **limit)
    n = len(jaxpr.outputs)
    limit = _limit(compiled, "tangent", flags)
    moved = jit_call(*outs[n:], *present(tangents), jaxpr=pair.tangent, name=name, **limit)
    return outs[:n], spread_out(moved, pair.moves)


def _transpose(
    cts: Sequence[Array],
    *operands: Any,
    jaxpr: Jaxpr,
    name: str,
    donate: Places = (),
    compiled: Compiled = False,
) -> list[Any]:
    linear = tuple(isinstance(x, Undefined) for x in operands)
    known = [x for x in operands if not isinstance(x, Undefined)]
    limit = _limit(compiled, "transpose", linear)
    found = jit_call(*known, *cts, jaxpr=transpose_jaxpr(jaxpr, linear), name=name, **limit)
    return spread_out(found, linear)


def _batch(
    size: int,
    batched: Sequence[bool],
    *operands: Array,
    jaxpr: Jaxpr,
    name: str,
    donate: Places = (),
    compiled: Compiled = False,
) -> tuple[Any, ...]:
    mapped, flags = batch_jaxpr(jaxpr, size, tuple(batched))
    limit = _limit(compiled, "batch", size, tuple(batched))
    return flagged(jit_call(*operands, jaxpr=mapped, name=name, **limit), flags)


def _discharge(
    operands: Sequence[Array],
    first: int,
    *,
    jaxpr: Jaxpr,
    name: str,
    donate: Places = (),
    compiled: Compiled = False,
) -> Any:
    """Donate nothing: after an exception, the arguments must be as before."""
    now = {"compiled": compiled} if compiled else {}
    return discharge_call(jit_call, operands, first, jaxpr=jaxpr, name=name, **now)


jit_call = Primitive(
    "jit",
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
