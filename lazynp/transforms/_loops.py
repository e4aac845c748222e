"""while_loop, and loops that count to a bound that is not an int.

A loop that is known to run so many rounds at most has a reverse mode as a scan of so many rounds,
which leaves the values as they are once the condition is false. `_unbounded` has that of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lazynp import _unit
from lazynp._array import Array
from lazynp._avals import Aval, In
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from lazynp._primitive import Missing, Primitive
from lazynp._sizes import Dim
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives.checks import any_found, earlier, type_of, widened
from lazynp.transforms._call import joined, moving_flags, present
from lazynp.transforms._checks import batch_discharged, discharged, guarded, has_checks
from lazynp.transforms._cond import select_examples
from lazynp.transforms._loop_at_once import loops
from lazynp.transforms._masked import masked
from lazynp.transforms._scan import linearize as linearize_scan
from lazynp.transforms._stack import zeros
from lazynp.transforms._stage import (
    batch_jaxpr,
    jvp_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
)
from lazynp.transforms._stretches import as_lowered
from lazynp.transforms._unbounded import linearize_loop
from lazynp.transforms._vmap import flagged

Flags = tuple[bool, ...]


class Count(NamedTuple):
    """What is known of a loop whose first value counts its rounds."""

    rounds: Dim | None  # the most that the condition allows
    low: int  # what it counts from and to, in rounds that run
    high: int

    def inside(self, i: Array) -> Array:
        """The index of a round that does not run as one that could: `_intervals` may have proved
        indices from that.
        """
        return elementwise.minimum(elementwise.maximum(i, self.low), self.high)


def _abstract(
    *avals: Aval, cond: Jaxpr, body: Jaxpr, consts: int, count: Count | None, place: str
) -> tuple[Aval, ...]:
    return joined([body.out_avals, avals[consts:]])


def _explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    return params["body"].in_avals


def _reference(
    *values: Any, cond: Jaxpr, body: Jaxpr, consts: int, count: Count | None, place: str
) -> tuple[Any, ...]:
    fixed, carry = values[:consts], list(values[consts:])
    while bool(eval_reference(cond, [*fixed, *carry])[0]):
        carry = eval_reference(body, [*fixed, *carry])
    return tuple(carry)


def _lower(
    b: Any, *values: Any, cond: Jaxpr, body: Jaxpr, consts: int, count: Count | None, place: str
) -> tuple[Any, ...]:
    fixed, carry = values[:consts], list(values[consts:])
    lowered = as_lowered(b, body)

    def test(inner: Any, state: Any) -> Any:
        return inner.subjaxpr(cond, [*fixed, *state])[0]

    def once(inner: Any, state: Any) -> Any:
        return inner.subjaxpr(lowered, [*fixed, *state])

    counter = _counter(cond, body, consts)
    if counter is not None and b.alternates(once, carry):

        def two_more(inner: Any, state: Any) -> Any:
            i = state[counter]
            after = inner.op("stablehlo.add", i, inner.constant(1, i.aval.dtype), out=i.aval)
            following = [*state[:counter], after, *state[counter + 1 :]]
            return inner.and_(test(inner, state), test(inner, following))

        carry = b.while_loop(two_more, lambda inner, state: inner.twice(once, state), carry)
    return tuple(b.while_loop(test, once, carry))


def _counter(cond: Jaxpr, body: Jaxpr, consts: int) -> int | None:
    """The place, in what is carried, of a counter of the rounds, if the condition depends on
    nothing else that changes: then it also tells, before a round, whether there is another one.
    """
    asked = {v for eqn in cond.eqns for v in eqn.inputs} | set(cond.outputs)
    carried = zip(cond.inputs[consts:], body.inputs[consts:], body.outputs, strict=True)
    changing = [
        place
        for place, (v, before, after) in enumerate(carried)
        if v in asked and before is not after
    ]
    if len(changing) != 1:
        return None
    (place,) = changing
    before, after = body.inputs[consts + place], body.outputs[place]
    return place if any(_counts(eqn, before, after) for eqn in body.eqns) else None


def _counts(eqn: Eqn, before: Var, after: Atom) -> bool:
    """Whether an equation makes the one by adding one to the other."""
    if eqn.primitive.name != "add" or eqn.outputs[0] is not after or eqn.inputs[0] is not before:
        return False
    one = eqn.inputs[1]
    return isinstance(one, Literal) and bool(one.value == 1)


def _jvp(
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
    *,
    cond: Jaxpr,
    body: Jaxpr,
    consts: int,
    count: Count | None,
    place: str,
) -> tuple[Any, Any]:
    flags = moving_flags(tangents)
    fixed, moves = flags[:consts], flags[consts:]
    while True:  # whatever moves in one round may make more move in the next
        _, out = jvp_jaxpr(body, (*fixed, *moves), moves)
        if out == moves:
            break
        moves = out
    pushed, _ = jvp_jaxpr(body, (*fixed, *moves), moves)
    n, k = len(moves), sum(fixed)

    def run_body(xs: list[Array]) -> list[Array]:
        constants, constants_dot = xs[:consts], xs[consts : consts + k]
        carry, carry_dot = xs[consts + k : consts + k + n], xs[consts + k + n :]
        return run_jaxpr(pushed, [*constants, *carry, *constants_dot, *carry_dot])

    def run_cond(xs: list[Array]) -> list[Array]:
        return run_jaxpr(cond, [*xs[:consts], *xs[consts + k : consts + k + n]])

    moving = [
        (zeros(p.aval) if t is None else t)
        for p, t, m in zip(primals[consts:], tangents[consts:], moves, strict=True)
        if m
    ]
    operands = [*primals[:consts], *present(tangents[:consts]), *primals[consts:], *moving]
    avals = [x.aval for x in operands]
    outs = while_call(
        *operands,
        cond=stage_closed(run_cond, avals),
        body=stage_closed(run_body, avals),
        consts=consts + k,
        count=count,
        place=place,
    )
    return outs[:n], spread_out(outs[n:], moves)


def _linearize(primals: Any, tangents: Any, **params: Any) -> Any:
    if all(t is None for t in tangents):
        outs = while_call(*primals, **params)
        return outs, [None] * len(outs)
    if params["count"] is not None and params["count"].rounds is not None:
        return linearize_scan(primals, tangents, **_as_scan(**params))
    found = linearize_loop(while_call, primals, tangents, **params)
    if found is None:
        raise TypeError(
            f"{params['place']}: this loop has no reverse mode, because it holds sizes that are "
            "traced, and the number of rounds has no limit. Use scan, or fori_loop with int bounds "
            "(static_argnums), or in a function under jit `for ... in range(limit)` with `break`, "
            "or forward mode (jvp, jacfwd)"
        )
    return found


def _as_scan(*, cond: Jaxpr, body: Jaxpr, consts: int, count: Count, place: str) -> dict[str, Any]:
    """The parameters of a scan that does the same."""

    def indexed(xs: list[Array]) -> list[Array]:
        return run_jaxpr(body, [*xs[1 : consts + 1], xs[0], *xs[consts + 2 :]])

    inner = stage_closed(indexed, [body.in_avals[consts], *body.in_avals])

    def run(xs: list[Array]) -> list[Array]:
        (going,) = run_jaxpr(cond, xs)
        return masked(going, inner, consts + 1, [count.inside(xs[consts]), *xs])

    return {
        "jaxpr": stage_closed(run, body.in_avals), "length": count.rounds, "reverse": False,
        "consts": consts, "carry": len(body.outputs), "unroll": 1,
    }  # fmt: skip


def _batch(
    size: int,
    batched: Sequence[bool],
    *operands: Array,
    cond: Jaxpr,
    body: Jaxpr,
    consts: int,
    count: Count | None,
    place: str,
) -> tuple[Any, ...]:
    fixed, carry = tuple(batched[:consts]), tuple(batched[consts:])
    if has_checks(cond) or has_checks(body):
        params = {"cond": cond, "body": body, "consts": consts, "count": count, "place": place}
        return batch_discharged(while_call, size, batched, operands, params)
    while True:
        _, out = batch_jaxpr(body, size, (*fixed, *carry), carry)
        _, (by_example,) = batch_jaxpr(cond, size, (*fixed, *out))
        if by_example:
            out = (True,) * len(carry)
        if out == carry:
            break
        carry = out
    mapped, _ = batch_jaxpr(body, size, (*fixed, *carry), carry)
    test, _ = batch_jaxpr(cond, size, (*fixed, *carry))
    given = [
        repeated(x, size) if now and not before else x
        for x, now, before in zip(operands[consts:], carry, batched[consts:], strict=True)
    ]
    whole = [*operands[:consts], *given]
    if by_example:
        mapped, _ = batch_jaxpr(guarded(body), size, (*fixed, *carry, True), carry)
        mapped, test = _selecting(mapped, test, [x.aval for x in whole], consts, count)
    outs = while_call(*whole, cond=test, body=mapped, consts=consts, count=count, place=place)
    return flagged(outs, carry)


def _discharge(
    operands: Sequence[Array], first: int, *, cond: Jaxpr, body: Jaxpr, consts: int,
    count: Count | None,
    place: str,
) -> Any:  # fmt: skip
    """Carry the findings of the rounds along. A finding ends the loop, which otherwise might never
    end. The condition is checked before the first round and after each.
    """
    test, failures = discharged(cond, first)
    inner, more = discharged(body, first + len(failures))

    def run_body(xs: list[Array]) -> list[Array]:
        *state, now = run_jaxpr(inner, xs[:-1])
        _, after = run_jaxpr(test, [*xs[:consts], *state])
        return [*state, earlier(now, after)]

    def run_test(xs: list[Array]) -> list[Array]:
        going, _ = run_jaxpr(test, xs[:-1])
        return [elementwise.logical_and(going, elementwise.logical_not(any_found(xs[-1])))]

    _, start = run_jaxpr(test, operands)
    found = type_of(test, inner)
    avals = [*body.in_avals, found]
    *outs, found = while_call(
        *operands, widened(start, found.shape[0]),
        cond=stage_closed(run_test, avals), body=stage_closed(run_body, avals), consts=consts,
        count=count, place=place,
    )  # fmt: skip
    return outs, found, (*failures, *more)


def _selecting(
    body: Jaxpr, test: Jaxpr, avals: Sequence[Aval], consts: int, count: Count | None
) -> tuple[Jaxpr, Jaxpr]:
    """Finished examples keep their values until all are finished. body: guarded by that test."""

    def run_body(xs: list[Array]) -> list[Array]:
        (active,) = run_jaxpr(test, xs)
        given = xs if count is None else [*xs[:consts], count.inside(xs[consts]), *xs[consts + 1 :]]
        outs = run_jaxpr(body, [*given, active])
        return [select_examples(active, o, x) for o, x in zip(outs, xs[consts:], strict=True)]

    def run_test(xs: list[Array]) -> list[Array]:
        (active,) = run_jaxpr(test, xs)
        return [reduction.reduce_or(active, axes=(0,))]

    return stage_closed(run_body, avals), stage_closed(run_test, avals)


while_call = Primitive(
    "while",
    abstract=_abstract,
    explicit=_explicit,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    linearize=_linearize,
    transpose=Missing("how many rounds a while_loop takes is not known beforehand"),
    batch=_batch,
    discharge=_discharge,
    multiple_results=True,
    kind="call",
)


loops.append(while_call)
_unit.install(
    _unit.Looping(loop=while_call, add=elementwise.add, less=elementwise.less, slice=shaping.slice_)
)
