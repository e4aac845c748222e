"""Reverse mode of a `while` whose number of rounds nobody knows beforehand.

What each round leaves for reverse mode has no place, since there may be any number of rounds. So it
is computed again. The forward run counts its rounds. Reverse mode runs the loop once more and keeps
a few states on the way, evenly apart: checkpoints. It does the same between two of them, and then
goes back round by round. Where the rounds are more than two levels of checkpoints can hold, each
round is reached from the checkpoint before it.

Only the variables are run again on which the derivatives depend: of `y[i] += a[j] * x[j]`, the
counter, but not y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazynp._array import Array, new_scalar
from lazynp._avals import Aval, SizedAval, aval_of
from lazynp._jaxpr import Jaxpr
from lazynp._memo import cached
from lazynp._node import leaf
from lazynp._primitive import Primitive
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._call import moving_flags, present
from lazynp.transforms._checks import unchecked
from lazynp.transforms._dependence import dependent
from lazynp.transforms._linear_call import linear_call
from lazynp.transforms._stack import zeros
from lazynp.transforms._stage import (
    LinearPair,
    linearize_jaxpr,
    run_jaxpr,
    spread_out,
    stage_closed,
    transpose_jaxpr,
)

Arrays = list[Array]
Flags = tuple[bool, ...]
_LEVELS = 2
_MOST, _BYTES = 256, 1 << 24  # checkpoints of a level, and the memory that they may take


class _Rounds(NamedTuple):
    """A round of a loop, as it is run again. Of its state, only what derivatives depend on."""

    loop: Primitive
    pair: LinearPair
    count: Any  # see `_loops.Count`
    fixed: tuple[Aval, ...]  # the constants
    carry: tuple[Aval, ...]
    kept: tuple[int, ...]  # places of the state in the carry
    moving: Flags  # which constants have tangents

    def residuals(self, consts: Arrays, state: Arrays) -> Arrays:
        return self._run(consts, state)[len(self.carry) :]

    def after(self, consts: Arrays, state: Arrays) -> Arrays:
        outs = self._run(consts, state)
        return [outs[k] for k in self.kept]

    def _run(self, consts: Arrays, state: Arrays) -> Arrays:
        given = dict(zip(self.kept, state, strict=True))
        carry = [given[k] if k in given else zeros(a) for k, a in enumerate(self.carry)]
        if self.count is not None:  # in a batch, rounds run for examples that are over
            carry[0] = self.count.inside(carry[0])
        return run_jaxpr(self.pair.primal, [*consts, *carry])

    def run(
        self, test: Callable[[Arrays], Array], step: Callable[[Arrays, Arrays], Arrays],
        consts: Arrays, carry: Arrays,
    ) -> Arrays:  # fmt: skip
        """A loop in the program of derivatives."""
        n = len(consts)
        avals = [x.aval for x in [*consts, *carry]]
        body = stage_closed(lambda xs: step(xs[:n], xs[n:]), avals)
        cond = stage_closed(lambda xs: [test(xs[n:])], avals)
        params = {"cond": cond, "body": body, "consts": n, "count": None, "place": ""}
        return list(self.loop(*consts, *carry, **params))  # type: ignore[operator]

    def advanced(self, consts: Arrays, state: Arrays, rounds: Array) -> Arrays:
        def step(consts: Arrays, carry: Arrays) -> Arrays:
            return [elementwise.subtract(carry[0], 1), *self.after(consts, carry[1:])]

        return self.run(_is_positive, step, consts, [rounds, *state])[1:]

    def forward(self, xs: Arrays) -> Arrays:
        """`(rounds, constants, state, tangents of constants, of the carry) -> of the carry`"""
        n, s, m = len(self.fixed), len(self.kept), sum(self.moving)

        def step(fixed: Arrays, carry: Arrays) -> Arrays:
            consts, state = fixed[:n], carry[1 : s + 1]
            dots = [*fixed[n:], *carry[s + 1 :]]
            moved = run_jaxpr(self.pair.tangent, [*self.residuals(consts, state), *dots])
            return [elementwise.subtract(carry[0], 1), *self.after(consts, state), *moved]

        rounds, consts, state, dots = xs[0], xs[1 : n + 1], xs[n + 1 : n + s + 1], xs[n + s + 1 :]
        fixed, carry = [*consts, *dots[:m]], [rounds, *state, *dots[m:]]
        return self.run(_is_positive, step, fixed, carry)[s + 1 :]

    def backward(self, xs: Arrays) -> Arrays:
        """`(rounds, constants, state, cotangents of the carry, sums) -> of constants, of the carry`

        sums: to which the cotangents of the constants are added.
        """
        n, s, m = len(self.fixed), len(self.kept), sum(self.moving)
        rounds, consts, state, cts = xs[0], xs[1 : n + 1], xs[n + 1 : n + s + 1], xs[n + s + 1 :]
        begun = [*cts[len(cts) - m :], *cts[: len(cts) - m]]
        return self._back(consts, state, rounds, begun, _LEVELS)

    def _back(
        self, consts: Arrays, state: Arrays, rounds: Array, sums: Arrays, level: int
    ) -> Arrays:
        """Go back so many rounds to this state."""
        s, n = len(state), len(consts)
        if not level:

            def one(fixed: Arrays, carry: Arrays) -> Arrays:
                last = elementwise.subtract(carry[0], 1)
                before = self.advanced(fixed[:n], fixed[n:], last)
                return [last, *self._pulled(fixed[:n], before, carry[1:])]

            return self.run(_is_positive, one, [*consts, *state], [rounds, *sums])[1:]
        places = _checkpoints(state)
        apart = elementwise.floor_divide(elementwise.add(rounds, places - 1), places)
        apart = elementwise.maximum(apart, 1)

        def keep(fixed: Arrays, carry: Arrays) -> Arrays:
            now, stacks, rounds = carry[1 : s + 1], carry[s + 1 : -1], carry[-1]
            # in a batch, rounds run for examples that are over
            place = elementwise.minimum(elementwise.floor_divide(carry[0], fixed[n]), places - 1)
            stacks = [_stored(y, x, place) for y, x in zip(stacks, now, strict=True)]
            after = elementwise.add(carry[0], fixed[n])
            last = elementwise.subtract(rounds, 1)  # beyond, a round may have no index
            ahead = elementwise.subtract(elementwise.minimum(after, last), carry[0])
            return [after, *self.advanced(fixed[:n], now, ahead), *stacks, rounds]

        def on(carry: Arrays) -> Array:
            return elementwise.less(carry[0], carry[-1])

        stacks = [zeros(aval_of((places, *x.shape), x.dtype)) for x in state]
        begun = [_zero(), *state, *stacks, rounds]
        stacks = self.run(on, keep, [*consts, apart], begun)[s + 1 : -1]

        def back(fixed: Arrays, carry: Arrays) -> Arrays:
            apart, stacks = fixed[n], fixed[n + 1 :]
            last = elementwise.maximum(elementwise.subtract(carry[0], 1), 0)
            place = elementwise.floor_divide(last, apart)
            first = elementwise.multiply(place, apart)
            state = [_taken(y, place) for y in stacks]
            count = elementwise.subtract(carry[0], first)
            return [first, *self._back(fixed[:n], state, count, carry[1:], level - 1)]

        return self.run(_is_positive, back, [*consts, apart, *stacks], [rounds, *sums])[1:]

    def _pulled(self, consts: Arrays, state: Arrays, sums: Arrays) -> Arrays:
        """The cotangents before a round."""
        pair, m = self.pair, sum(self.moving)
        known = len(pair.residuals)
        linear = (*[False] * known, *[True] * (len(pair.tangent.inputs) - known))
        turned = transpose_jaxpr(pair.tangent, linear, m)
        return run_jaxpr(turned, [*self.residuals(consts, state), *sums[m:], *sums[:m]])


def _is_positive(carry: Arrays) -> Array:
    return elementwise.greater(carry[0], 0)


def _checkpoints(state: Arrays) -> int:
    """How many states to keep on a level."""
    size = sum([int(x.aval.nbytes) for x in state])
    return max(2, min(_MOST, _BYTES // max(size, 1)))


def _place_in(x: Aval) -> dict[str, Any]:
    """The parameters of a part of a stack, which is as large as x."""
    axes = tuple(range(len(x.shape) + 1))
    return {"axes": axes, "sizes": (1, *x.shape), "strides": (1,) * len(axes), "shape": x.shape}


def _stored(stack: Array, x: Array, place: Array) -> Array:
    starts = [place, *[0] * len(x.shape)]
    return shaping.update_slice(stack, x, *starts, **_place_in(x.aval))


def _taken(stack: Array, place: Array) -> Array:
    x = aval_of(stack.shape[1:], stack.dtype)
    return shaping.slice(stack, place, *[0] * len(x.shape), **_place_in(x))


def _zero() -> Array:
    return new_scalar(leaf(np.int64(0)))


@cached()
def _planned(
    loop: Any, cond: Jaxpr, body: Jaxpr, consts: int, count: Any, flags: Flags
) -> tuple[Flags, tuple[int, ...], Jaxpr, Jaxpr, dict[str, Any]] | None:
    """What moves of the carry; which places of the operands are needed; the loop that counts its
    rounds; what becomes of tangents, and of cotangents. None if there are sizes without values.
    """
    if any(type(a) is SizedAval for a in body.in_avals):
        return None
    fixed, moves = flags[:consts], flags[consts:]
    again = unchecked(body)
    while True:
        out = linearize_jaxpr(again, (*fixed, *moves)).moves
        now = tuple([a or b for a, b in zip(moves, out, strict=True)])
        if now == moves:
            break
        moves = now
    pair = linearize_jaxpr(again, (*fixed, *moves), moves)
    kept = _kept(pair.primal, consts, len(moves))
    avals = body.in_avals
    rounds = _Rounds(loop, pair, count, avals[:consts], avals[consts:], kept, fixed)
    state = [avals[consts + k] for k in kept]
    known = [_INDEX, *avals[:consts], *state]
    moving = [a for a, f in zip(avals[consts:], moves, strict=True) if f]
    sums = [a for a, f in zip(avals, fixed, strict=False) if f]

    def counting(xs: Arrays) -> Arrays:
        return [*run_jaxpr(body, xs[:-1]), elementwise.add(xs[-1], 1)]

    return (
        moves,
        (*range(consts), *[consts + k for k in kept]),
        stage_closed(lambda xs: run_jaxpr(cond, xs[:-1]), [*avals, _INDEX]),
        stage_closed(counting, [*avals, _INDEX]),
        {
            "forward": stage_closed(rounds.forward, [*known, *sums, *moving]),
            "backward": stage_closed(rounds.backward, [*known, *moving, *sums]),
            "known": len(known),
            "sums": len(sums),
        },
    )


_INDEX = aval_of((), np.dtype(np.int64))


def _kept(primal: Jaxpr, consts: int, carry: int) -> tuple[int, ...]:
    """The variables on which derivatives depend, directly or by those of later rounds."""
    depends = []
    for k in range(carry):
        only = (*[False] * (consts + k), True, *[False] * (carry - k - 1))
        depends.append(dependent(primal, only))
    kept = {k for k in range(carry) if any(depends[k][carry:])}
    while more := {k for k in range(carry) if any(depends[k][j] for j in kept)} - kept:
        kept |= more
    return tuple(sorted(kept))


def linearize_loop(
    loop: Any, primals: Sequence[Array], tangents: Sequence[Array | None], *, cond: Jaxpr,
    body: Jaxpr, consts: int, count: Any, place: str,
) -> tuple[Any, Any] | None:  # fmt: skip
    """The rule of `while`; loop: that primitive. None if there is no such program."""
    flags = moving_flags(tangents)
    planned = _planned(loop, cond, body, consts, count, flags)
    if planned is None:
        return None
    moves, needed, test, counting, derivatives = planned
    params = {"cond": test, "body": counting, "consts": consts, "count": count, "place": place}
    *outs, rounds = loop(*primals, _zero(), **params)
    known = [rounds, *[primals[k] for k in needed]]
    start = [
        zeros(p.aval) if t is None else t
        for p, t, m in zip(primals[consts:], tangents[consts:], moves, strict=True)
        if m
    ]
    dots = linear_call(*known, *present(tangents[:consts]), *start, **derivatives)
    return outs, spread_out(dots, moves)
