"""scan: a body with a carry over the leading axis of arrays, with every rule.

The operands, like the body's inputs, are constants, carry, slices of `xs`. The body's results are
the next carry and slices of `ys`. Reverse mode runs the linearized body backwards over the
residuals that the forward scan stacked. Residuals that are constants of the loop are not stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import Aval, In, aval_of
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._memo import cached
from lazynp._primitive import Primitive, Undefined
from lazynp.primitives import shaping
from lazynp.primitives.checks import earlier, nothing, type_of
from lazynp.transforms._call import joined, moving_flags, present
from lazynp.transforms._checks import discharged
from lazynp.transforms._stack import summed, zeros
from lazynp.transforms._stage import (
    LinearPair,
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
    transpose_jaxpr,
)
from lazynp.transforms._stretches import as_lowered
from lazynp.transforms._vmap import flagged

_INT = np.dtype(np.int64)


def _stacked(aval: Aval, length: int) -> Aval:
    return aval_of((length, *aval.shape), aval.dtype)


def _abstract(
    *avals: Aval, jaxpr: Jaxpr, length: int, reverse: bool, consts: int, carry: int, unroll: int
) -> tuple[Aval, ...]:
    outs = jaxpr.out_avals
    last = joined([outs[:carry], avals[consts : consts + carry]])
    return (*last, *(_stacked(a, length) for a in outs[carry:]))


def _explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    avals, first = params["jaxpr"].in_avals, params["consts"] + params["carry"]
    return (*avals[:first], *(_stacked(a, params["length"]) for a in avals[first:]))


def _reference(
    *values: Any, jaxpr: Jaxpr, length: int, reverse: bool, consts: int, carry: int, unroll: int
) -> tuple[Any, ...]:
    fixed, state = values[:consts], list(values[consts : consts + carry])
    xs = values[consts + carry :]
    ys = [np.empty((length, *a.shape), a.dtype) for a in jaxpr.out_avals[carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = eval_reference(jaxpr, [*fixed, *state, *(x[i] for x in xs)])
        state = outs[:carry]
        for y, out in zip(ys, outs[carry:], strict=True):
            y[i] = out
    return (*state, *ys)


def _lower(
    b: Any, *values: Any, jaxpr: Jaxpr, length: int, reverse: bool, consts: int, carry: int,
    unroll: int,
) -> tuple[Any, ...]:  # fmt: skip
    """Rounds of `unroll` steps; the remaining steps come after the loop."""
    fixed, init = values[:consts], list(values[consts : consts + carry])
    xs = values[consts + carry :]
    outs = [aval_of(a.shape, a.dtype) for a in jaxpr.out_avals[carry:]]
    state = [*init, *(b.constant(0, a.dtype, (length, *a.shape)) for a in outs)]
    rounds, lowered = length // unroll, as_lowered(b, jaxpr)

    def step(inner: Any, i: Any, state: Any) -> list[Any]:
        now, stacks = state[:carry], state[carry:]
        place = i
        if reverse:
            last = inner.constant(length - 1, _INT)
            place = inner.op("stablehlo.subtract", last, i, out=i.aval)
        results = inner.subjaxpr(lowered, [*fixed, *now, *(_slice(inner, x, place) for x in xs)])
        stacks = [_put(inner, y, r, place) for y, r in zip(stacks, results[carry:], strict=True)]
        return [*results[:carry], *stacks]

    def test(inner: Any, state: Any) -> Any:
        return inner.compare(state[0], inner.constant(rounds * unroll, _INT), "LT")

    def body(inner: Any, state: Any) -> Any:
        i, now = state[0], list(state[1:])
        for _ in range(unroll):
            now = step(inner, i, now)
            i = inner.op("stablehlo.add", i, inner.constant(1, _INT), out=i.aval)
        return [i, *now]

    def pair(inner: Any, state: Any) -> Any:
        return inner.twice(body, state)

    begin = [b.constant(0, _INT), *state]
    if unroll == 1 and rounds > _FEW and b.alternates(body, begin):
        rounds -= rounds % 2
        state = list(b.while_loop(test, pair, begin)[1:])
    elif rounds > 1:
        state = list(b.while_loop(test, body, begin)[1:])
    for i in range(rounds * unroll if rounds > 1 else 0, length):
        state = step(b, b.constant(i, _INT), state)
    return tuple(state)


def _put(b: Any, y: Any, result: Any, place: Any) -> Any:
    starts = [place, *[b.constant(0, _INT)] * result.aval.ndim]
    return b.dynamic_update_slice(y, b.reshape(result, (1, *result.aval.shape)), starts)


def _slice(b: Any, x: Any, place: Any) -> Any:
    shape = x.aval.shape[1:]
    starts = [place, *[b.constant(0, _INT)] * len(shape)]
    return b.reshape(b.dynamic_slice(x, starts, (1, *shape)), shape)


Params = dict[str, Any]
_FEW = 4  # rounds


def _split(items: Sequence[Any], consts: int, carry: int) -> tuple[Any, Any, Any]:
    return items[:consts], items[consts : consts + carry], items[consts + carry :]


def _fixpoint(step: Callable[[Any], Sequence[bool]], carry: Sequence[bool]) -> tuple[bool, ...]:
    """The smallest flags of the carry that one round leaves unchanged."""
    flags = tuple(carry)
    while True:
        out = tuple(a or b for a, b in zip(step(flags), flags, strict=True))
        if out == flags:
            return flags
        flags = out


def _started(primals: Any, tangents: Any, moves: Sequence[bool]) -> list[Array]:
    return [
        zeros(p.aval) if t is None else t
        for p, t, m in zip(primals, tangents, moves, strict=True)
        if m
    ]


def _jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: int, carry: int,
         **params: Any) -> tuple[Any, Any]:  # fmt: skip
    fixed, start, slices = _split(moving_flags(tangents), consts, carry)
    moves = _fixpoint(lambda c: jvp_jaxpr(jaxpr, (*fixed, *c, *slices))[1][:carry], start)
    flags = (*fixed, *moves, *slices)
    ys = len(jaxpr.outputs) - carry
    pushed, outs_move = jvp_jaxpr(jaxpr, flags, (*moves, *[False] * ys))
    k, m = sum(fixed), sum(moves)
    nx = len(slices)

    def run(xs: list[Array]) -> list[Array]:
        c, cd, rest = xs[:consts], xs[consts : consts + k], xs[consts + k :]
        now, now_dot, rest = rest[:carry], rest[carry : carry + m], rest[carry + m :]
        outs = run_jaxpr(pushed, [*c, *now, *rest[:nx], *cd, *now_dot, *rest[nx:]])
        n = carry + ys
        return [*outs[:carry], *outs[n : n + m], *outs[carry:n], *outs[n + m :]]

    pc, ps, px = _split(primals, consts, carry)
    tc, ts, tx = _split(tangents, consts, carry)
    ic, is_, ix = _split(jaxpr.in_avals, consts, carry)
    avals = [*ic, *_chosen(ic, fixed), *is_, *_chosen(is_, moves), *ix, *_chosen(ix, slices)]
    outs = scan_call(
        *pc, *present(tc), *ps, *_started(ps, ts, moves), *px, *present(tx),
        jaxpr=stage_closed(run, avals), consts=consts + k, carry=carry + m, **params,
    )  # fmt: skip
    state, state_dot = outs[:carry], outs[carry : carry + m]
    stacked, stacked_dot = outs[carry + m : carry + m + ys], outs[carry + m + ys :]
    dots = [*spread_out(state_dot, moves), *spread_out(stacked_dot, outs_move[carry:])]
    return [*state, *stacked], dots


def _chosen(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(items, flags, strict=True) if f]


def linearize(primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: int, carry: int,
              **params: Any) -> tuple[Any, Any]:  # fmt: skip
    flags = tuple(moving_flags(tangents))
    pair, moves, loose, first, body = _linearized(jaxpr, flags, consts, carry)
    fixed, n = flags[:consts], len(jaxpr.outputs)
    outs = scan_call(*primals, jaxpr=first, consts=consts, carry=carry, **params)
    kept = [primals[c] for c, each in zip(pair.constant, loose, strict=True) if not each]
    tc, ts, tx = _split(tangents, consts, carry)
    moved = scan_call(
        *kept, *present(tc), *_started(primals[consts : consts + carry], ts, moves),
        *outs[n:], *present(tx),
        jaxpr=body, consts=len(kept) + sum(fixed), carry=sum(moves), **params,
    )  # fmt: skip
    return outs[:n], spread_out(moved, pair.moves)


@cached()
def _linearized(
    jaxpr: Jaxpr, flags: tuple[bool, ...], consts: int, carry: int
) -> tuple[LinearPair, tuple[bool, ...], list[bool], Jaxpr, Jaxpr]:
    """The rule of a round; what moves of the carry; which residuals differ from step to step; a
    round with these, and a round of tangents.
    """
    fixed, start, slices = _split(flags, consts, carry)
    moves = _fixpoint(lambda c: linearize_jaxpr(jaxpr, (*fixed, *c, *slices)).moves[:carry], start)
    n = len(jaxpr.outputs)
    forced = (*moves, *[False] * (n - carry))
    pair = linearize_jaxpr(jaxpr, (*fixed, *moves, *slices), forced)
    loose = [c is None or c >= consts for c in pair.constant]

    def run(xs: list[Array]) -> list[Array]:
        outs = run_jaxpr(pair.primal, xs)
        return [*outs[:n], *_chosen(outs[n:], loose)]

    first = stage_closed(run, jaxpr.in_avals)
    return pair, moves, loose, first, _tangent_body(pair, loose, sum(fixed), sum(moves))


def _tangent_body(pair: Any, loose: Sequence[bool], k: int, m: int) -> Jaxpr:
    """`(kept residuals, constants' tangents, carry's, stacked residuals, slices' tangents)`."""
    steady = [not each for each in loose]
    residuals, moving = pair.residuals, pair.tangent.in_avals[len(pair.residuals) :]
    s = sum(steady)

    def run(xs: list[Array]) -> list[Array]:
        kept, cd, now = xs[:s], xs[s : s + k], xs[s + k : s + k + m]
        rest = xs[s + k + m :]
        stacked, xd = rest[: sum(loose)], rest[sum(loose) :]
        a, b = iter(kept), iter(stacked)
        values = [next(b) if each else next(a) for each in loose]
        return run_jaxpr(pair.tangent, [*values, *cd, *now, *xd])

    avals = [*_chosen(residuals, steady), *moving[: k + m], *_chosen(residuals, loose)]
    return stage_closed(run, [*avals, *moving[k + m :]])


def _transpose(cts: Sequence[Array], *operands: Any, jaxpr: Jaxpr, consts: int, carry: int,
               length: int, reverse: bool, unroll: int) -> list[Any]:  # fmt: skip
    """Run backwards. The carry holds the cotangents of the carry and of the linear constants."""
    flags = tuple([isinstance(x, Undefined) for x in operands])
    fixed, _, slices = _split(flags, consts, carry)
    known_c = [x for x, f in zip(operands[:consts], fixed, strict=True) if not f]
    known_x = [x for x, f in zip(operands[consts + carry :], slices, strict=True) if not f]
    lin = [summed(x) for x in operands[:consts] if isinstance(x, Undefined)]
    nc, nl = len(known_c), len(lin)
    found = scan_call(
        *known_c, *lin, *cts[:carry], *known_x, *cts[carry:],
        jaxpr=_turned(jaxpr, flags, consts, carry), consts=nc, carry=nl + carry, length=length,
        reverse=not reverse, unroll=unroll,
    )  # fmt: skip
    ct_init = [
        ct if isinstance(x, Undefined) else None
        for ct, x in zip(found[nl : nl + carry], operands[consts : consts + carry], strict=True)
    ]
    return [*spread_out(found[:nl], fixed), *ct_init, *spread_out(found[nl + carry :], slices)]


@cached()
def _turned(jaxpr: Jaxpr, flags: tuple[bool, ...], consts: int, carry: int) -> Jaxpr:
    """A round backwards. flags: which operands of the round are linear, the carry among them."""
    fixed, _, slices = _split(flags, consts, carry)
    turned = transpose_jaxpr(jaxpr, (*fixed, *[True] * carry, *slices), sum(fixed))
    ic, _, ix = _split(jaxpr.in_avals, consts, carry)
    known_c, lin = _chosen(ic, [not f for f in fixed]), _chosen(ic, fixed)
    known_x = _chosen(ix, [not f for f in slices])
    nc, nl, nx = len(known_c), len(lin), len(known_x)

    def run(xs: list[Array]) -> list[Array]:
        c, sums = xs[:nc], xs[nc : nc + nl]
        ct_carry, rest = xs[nc + nl : nc + nl + carry], xs[nc + nl + carry :]
        return run_jaxpr(turned, [*c, *rest[:nx], *ct_carry, *rest[nx:], *sums])

    outs = jaxpr.out_avals
    return stage_closed(run, [*known_c, *lin, *outs[:carry], *known_x, *outs[carry:]])


def _batch(size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr, consts: int,
           carry: int, **params: Any) -> tuple[Any, ...]:  # fmt: skip
    fixed, start, slices = _split(tuple(batched), consts, carry)
    flags = _fixpoint(lambda c: batch_jaxpr(jaxpr, size, (*fixed, *c, *slices))[1][:carry], start)
    ys = len(jaxpr.outputs) - carry
    wanted = (*flags, *[False] * ys)
    mapped, outs_flags = batch_jaxpr(jaxpr, size, (*fixed, *flags, *slices), wanted)
    c, now, xs = _split(operands, consts, carry)
    now = [
        repeated(x, size) if f and not b else x for x, f, b in zip(now, flags, start, strict=True)
    ]
    xs = [_swapped(x) if b else x for x, b in zip(xs, slices, strict=True)]
    outs = scan_call(*c, *now, *xs, jaxpr=mapped, consts=consts, carry=carry, **params)
    stacks = zip(outs[carry:], outs_flags[carry:], strict=True)
    return flagged([*outs[:carry], *(_swapped(y) if f else y for y, f in stacks)], outs_flags)


def _discharge(operands: Sequence[Array], first: int, *, jaxpr: Jaxpr, consts: int, carry: int,
               **params: Any) -> Any:  # fmt: skip
    """Carry the findings of the steps along."""
    inner, failures = discharged(jaxpr, first)
    n = consts + carry

    def run(xs: list[Array]) -> list[Array]:
        *outs, now = run_jaxpr(inner, [*xs[:n], *xs[n + 1 :]])
        return [*outs[:carry], earlier(xs[n], now), *outs[carry:]]

    found = type_of(inner)
    body = stage_closed(run, [*jaxpr.in_avals[:n], found, *jaxpr.in_avals[n:]])
    outs = scan_call(
        *operands[:n], nothing(found.shape[0]), *operands[n:],
        jaxpr=body, consts=consts, carry=carry + 1, **params,
    )  # fmt: skip
    return [*outs[:carry], *outs[carry + 1 :]], outs[carry], failures


def _swapped(x: Array) -> Array:
    """Exchange the batch axis and the step axis."""
    return shaping.transpose(x, permutation=(1, 0, *range(2, x.ndim)))


scan_call = Primitive(
    "scan",
    abstract=_abstract,
    explicit=_explicit,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    linearize=linearize,
    transpose=_transpose,
    batch=_batch,
    discharge=_discharge,
    sums=lambda params: range(params["consts"]),
    multiple_results=True,
    kind="call",
)
