"""while_loop, and loops that count to a bound that is not an int.

A loop that is known to run so many rounds at most has a reverse mode: as a scan of so many rounds,
which leaves the values as they are once the condition is false. Of other loops, nobody knows how
much reverse mode would have to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazynp import _unit
from lazynp._array import Array, new_array, new_scalar
from lazynp._avals import Aval, In, aval_of
from lazynp._dimensions import scalar_of
from lazynp._flush import host_value
from lazynp._interpreter import eval_reference
from lazynp._intervals import interval
from lazynp._jaxpr import Jaxpr
from lazynp._positions import position
from lazynp._primitive import Missing, Primitive
from lazynp._recorder import user_position
from lazynp._sizes import Dim, Size, bounds, largest
from lazynp._tree import tree_flatten
from lazynp.primitives import elementwise, reduction, shaping
from lazynp.primitives.checks import FOUND, any_found, earlier
from lazynp.transforms._branches import (
    Merged,
    as_carried,
    carried_aval,
    kind_of_argument,
    same_types,
    settled,
    staged_function,
)
from lazynp.transforms._call import joined, moving_flags, present
from lazynp.transforms._checks import batch_discharged, discharged, guarded, has_checks
from lazynp.transforms._cond import select_examples
from lazynp.transforms._masked import masked
from lazynp.transforms._scan import linearize as linearize_scan
from lazynp.transforms._scanning import scanned
from lazynp.transforms._sized_loops import (
    Classes,
    Staged,
    may_decide,
    opened_loop,
    staged_body,
    staged_for,
)
from lazynp.transforms._sizing import Own
from lazynp.transforms._stack import DISABLED, at_once, check_leaf, node_of, zeros
from lazynp.transforms._stage import (
    Ranges,
    batch_jaxpr,
    jvp_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
)
from lazynp.transforms._vmap import flagged

Flags = tuple[bool, ...]


class Count(NamedTuple):
    """What is known of a loop whose first value counts its rounds."""

    rounds: int | None  # the most that the condition allows
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
    fixed, carry = values[:consts], values[consts:]
    return tuple(
        b.while_loop(
            lambda inner, state: inner.subjaxpr(cond, [*fixed, *state])[0],
            lambda inner, state: inner.subjaxpr(body, [*fixed, *state]),
            carry,
        )
    )


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
    if params["count"] is None or params["count"].rounds is None:
        raise TypeError(
            f"{params['place']}: this loop has no reverse mode, because the number of rounds is "
            "not known in advance, and has no limit. Use scan, or fori_loop with int bounds "
            "(static_argnums), or in a function under jit `for ... in range(limit)` with `break`, "
            "or forward mode (jvp, jacfwd)"
        )
    return linearize_scan(primals, tangents, **_as_scan(**params))


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
    avals = [*body.in_avals, FOUND]
    *outs, found = while_call(
        *operands, start,
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


_unit.install(
    _unit.Looping(loop=while_call, add=elementwise.add, less=elementwise.less, slice=shaping.slice_)
)


# -- the public functions --------------------------------------------------------------------------


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    preserve_dimensions: bool = True,
) -> Any:  # fmt: skip
    """`while cond_fun(val): val = body_fun(val)`. The types of val must not change.

    In-place writes to val count if the body returns val; init_val stays as it is. while_loop
    supports forward mode and vmap. For reverse mode use scan, or fori_loop with int bounds.
    preserve_dimensions: see `fori_loop`. The condition may look at sizes.
    """
    return looped(cond_fun, body_fun, init_val, preserve=bool(preserve_dimensions))


def looped(
    cond_fun: Any, body_fun: Any, init_val: Any, weak: Sequence[int] = (),
    ranges: Ranges | None = None, count: Count | None = None, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """weak: the leaves that count as Python numbers, besides actual Python numbers. ranges: those
    of leaves, in the body, if they are known. count: if the first leaf counts. preserve: as
    `preserve_dimensions`; None: the body has no sizes of its own.
    """
    if DISABLED and at_once(going := cond_fun(init_val)):
        val = init_val
        while bool(host_value(node_of(going))):
            val = body_fun(val)
            going = cond_fun(val)
        return val
    leaves, structure = tree_flatten((init_val,))
    for x in leaves:
        check_leaf(x, "while_loop")
    nodes = [node_of(x) for x in leaves]
    avals = list(map(carried_aval, leaves, nodes))
    for i in weak:
        avals[i] = aval_of(avals[i].shape, avals[i].dtype, True)
    kinds = [kind_of_argument(x, a) for x, a in zip(leaves, avals, strict=True)]
    preserve = preserve if may_decide() else None
    classes = Classes(avals if preserve is not None else [], preserve is not False)
    what = "while_loop body"
    while True:
        body, given = staged_for(
            body_fun, structure, avals, [], kinds, what, ranges, preserve, classes
        )
        alike = body.flat.tree == structure[2][0]
        new = settled(given, body.outs, body.program.jaxpr) if alike else None
        if new is not None:
            avals = [aval_of(a.shape, n.dtype, n.weak) for a, n in zip(avals, new, strict=True)]
        elif not alike or not classes.changed(body.outs):
            break
    start = list(map(new_array, as_carried(nodes, avals)))
    test = _staged_test(cond_fun, structure, given, kinds, preserve, classes)
    outs = classes.check("while_loop", body.outs) if alike else body.outs
    same_types(
        "while_loop",
        ("the value", structure[2][0], given),
        ("the result of the body", body.flat.tree, outs),
    )
    if body.opens or test.opens:
        found, _ = opened_loop("while_loop", body, test, classes, avals, start, [], [], None, False)
    else:
        found = _run_merged(Merged([body.program, test.program], len(avals)), start, count)
    return body.flat.rebuilt([o._read() for o in found], [kind or None for kind in kinds])


def _staged_test(
    cond_fun: Any, structure: Any, avals: Sequence[Aval], kinds: Any, preserve: bool | None,
    classes: Classes,
) -> Staged:  # fmt: skip
    what = "while_loop condition"
    if preserve is None:
        test = Staged(*staged_function(cond_fun, structure, avals, kinds, what), Own())
    else:
        test = staged_body(cond_fun, structure, avals, kinds, what, None, classes.variables)
    if len(test.outs) != 1 or test.outs[0].shape or test.outs[0].dtype != np.bool_:
        raise TypeError(f"while_loop: the condition must return one bool, got {list(test.outs)}")
    if test.program.written:
        raise TypeError("while_loop: the condition must not write arrays from outside")
    return test


def _run_merged(merged: Merged, init: list[Array], count: Count | None) -> list[Array]:
    """Captured arrays that the body writes are carried too."""
    n, written = len(init), merged.written
    others = [i for i in range(len(merged.avals)) if i not in written]
    consts = len(others)

    def rearranged(jaxpr: Jaxpr, outputs: slice) -> Jaxpr:
        def run(xs: list[Array]) -> list[Array]:
            captured = dict(zip(others, xs[:consts], strict=True))
            captured.update(zip(written, xs[consts + n :], strict=True))
            rest = [captured[i] for i in range(len(merged.avals))]
            return run_jaxpr(jaxpr, [*xs[consts : consts + n], *rest])[outputs]

        avals = [merged.avals[i] for i in others] + [x.aval for x in init]
        return stage_closed(run, [*avals, *(merged.avals[i] for i in written)])

    captured = merged.captured
    operands = [captured[i] for i in others] + init + [captured[i] for i in written]
    body, test = merged.jaxprs
    outs = while_call(
        *operands,
        cond=rearranged(test, slice(0, 1)),
        body=rearranged(body, slice(None)),
        consts=consts,
        count=count,
        place=position(*user_position()),
    )
    merged.write_back(outs[n:])
    return list(outs[:n])


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    unroll: int | bool | None = None, preserve_dimensions: bool = True,
) -> Any:  # fmt: skip
    """`for i in range(lower, upper): val = body_fun(i, val)`.

    With int bounds it is a scan, with a reverse mode and the same `unroll`. With other bounds it is
    a while_loop, with a reverse mode if something limits them, as the index `k` of an outer loop
    does in `fori_loop(k + 1, n, ...)`. `i` is a scalar, as in a range: `x[i]` is a view.

    preserve_dimensions: axes of init_val that have one traced size go on sharing one. False: each
    axis is carried for itself, and may change; in the body, no two are known to be equal.
    """
    return counted(lower, upper, body_fun, init_val, unroll, bool(preserve_dimensions))


def counted(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any,
    unroll: int | bool | None = None, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """`fori_loop`. preserve: None: the body has no sizes of its own."""
    if _is_int(lower) and _is_int(upper):
        if upper <= lower:
            return init_val
        step = lambda i, val: (body_fun(i, val), None)  # noqa: E731
        return stacked_loop(int(lower), int(upper), step, init_val, unroll or 1, preserve)[0]

    if all(type(b) is Size or _is_int(b) for b in (lower, upper)):
        step = lambda i, val: (body_fun(i, val), None)  # noqa: E731
        return stacked_loop(lower, upper, step, init_val, unroll or 1, preserve)[0]

    if unroll is not None:
        raise ValueError("fori_loop: unroll requires int bounds")

    return counted_loop(lower, upper, body_fun, init_val, preserve=preserve)


_FAR = 1 << 62  # no size is as great


def stacked_loop(
    lower: Dim, upper: Dim, body_fun: Callable[[Any, Any], Any], init_val: Any,
    unroll: int | bool = 1, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """`for i in range(lower, upper): val, y = body_fun(i, val)`. The last val; the y stacked."""

    def step(carry: Any, _: Any) -> Any:
        i, val = carry
        val, y = body_fun(i, val)
        return (elementwise.add(i, 1), val), y

    low, most = bounds(lower)[0], bounds(upper)[1]
    ranges = {0: (-_FAR if low is None else low, (_FAR if most is None else most) - 1)}
    length = largest(upper - lower, 0)
    start = scalar_of(lower) if type(lower) is Size else lower
    (_, val), ys = scanned(step, (start, init_val), None, length, False, unroll, ranges, preserve)
    return val, ys


_MOST_ROUNDS = 1 << 24  # that reverse mode would run


def counted_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    going: Callable[[Any], Any] | None = None, bound: int | None = None,
    preserve: bool | None = None,
) -> Any:  # fmt: skip
    """A loop whose number of rounds depends on values, though it has a bound:

        for i in range(lower, upper)[:bound]:
            if not going(val): break
            val = body_fun(i, val)

    `going` returns a bool, for instance a flag in `val` that the body clears for `break` and
    `return`. The bounds are ints or traced. If `bound` is None, it follows from what is known of
    them (`range(k + 1, n)` in a loop over k). With a bound there is a reverse mode, which costs as
    much as `bound` rounds.
    """
    first, stop = [elementwise.convert(new_array(node_of(b)), dtype=_INT) for b in (lower, upper)]
    if bound is not None:
        stop = elementwise.minimum(stop, elementwise.add(first, bound))
    (low, most), high = interval(first._read()), interval(stop._read())[1] - 1
    high = high if bound is None else min(high, most + bound - 1)
    rounds = max(0, high - low + 1)
    if bound is not None:
        rounds = min(rounds, max(0, bound))

    def test(state: Any) -> Any:
        more = elementwise.less(state[0], state[1])
        return more if going is None else elementwise.logical_and(more, going(state[2]))

    def body(state: Any) -> Any:
        i, stop, val = state
        return elementwise.add(i, 1), stop, body_fun(i, val)

    init = new_scalar(first._read()), new_scalar(stop._read()), init_val
    count = Count(rounds if rounds <= _MOST_ROUNDS else None, low, max(low, high))
    return looped(test, body, init, (0,), {0: (count.low, count.high)}, count, preserve)[2]


_INT = np.dtype(np.int64)


def _is_int(x: Any) -> bool:
    return type(x) is int or isinstance(x, np.integer) and not isinstance(x, Array)
