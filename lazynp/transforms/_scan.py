"""scan: a body with a carry over the leading axis of arrays, with every rule.

The operands, like the body's inputs, are constants, carry, slices of `xs`. The body's results are
the next carry and slices of `ys`. Reverse mode runs the linearized body backwards over the
residuals that the forward scan stacked. Residuals that are constants of the loop are not stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, new_array
from lazynp._avals import Aval, In, aval_of
from lazynp._jaxpr import Jaxpr, eval_reference
from lazynp._node import aval_of_node
from lazynp._primitive import Primitive, Undefined
from lazynp._tree import tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import shaping
from lazynp.primitives.checks import FOUND, earlier, nothing
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
from lazynp.transforms._checks import discharged
from lazynp.transforms._stack import at_once, check_leaf, node_of, result_handle, zeros
from lazynp.transforms._stage import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
    transpose_jaxpr,
)
from lazynp.transforms._vmap import flagged, vmap

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
    rounds = length // unroll

    def step(inner: Any, i: Any, state: Any) -> list[Any]:
        now, stacks = state[:carry], state[carry:]
        place = i
        if reverse:
            last = inner.constant(length - 1, _INT)
            place = inner.op("stablehlo.subtract", last, i, out=i.aval)
        results = inner.subjaxpr(jaxpr, [*fixed, *now, *(_slice(inner, x, place) for x in xs)])
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

    if rounds > 1:
        state = list(b.while_loop(test, body, [b.constant(0, _INT), *state])[1:])
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


def _linearize(primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: int, carry: int,
               **params: Any) -> tuple[Any, Any]:  # fmt: skip
    fixed, start, slices = _split(moving_flags(tangents), consts, carry)
    moves = _fixpoint(lambda c: linearize_jaxpr(jaxpr, (*fixed, *c, *slices)).moves[:carry], start)
    ys = len(jaxpr.outputs) - carry
    pair = linearize_jaxpr(jaxpr, (*fixed, *moves, *slices), (*moves, *[False] * ys))
    n = carry + ys
    loose = [c is None or c >= consts for c in pair.constant]  # differs from step to step

    def run(xs: list[Array]) -> list[Array]:
        outs = run_jaxpr(pair.primal, xs)
        return [*outs[:n], *_chosen(outs[n:], loose)]

    outs = scan_call(
        *primals, jaxpr=stage_closed(run, jaxpr.in_avals), consts=consts, carry=carry, **params
    )
    kept = [primals[c] for c, each in zip(pair.constant, loose, strict=True) if not each]
    tc, ts, tx = _split(tangents, consts, carry)
    body = _tangent_body(pair, loose, sum(fixed), sum(moves))
    moved = scan_call(
        *kept, *present(tc), *_started(primals[consts : consts + carry], ts, moves),
        *outs[n:], *present(tx),
        jaxpr=body, consts=len(kept) + sum(fixed), carry=sum(moves), **params,
    )  # fmt: skip
    return outs[:n], spread_out(moved, pair.moves)


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
    flags = [isinstance(x, Undefined) for x in operands]
    fixed, _, slices = _split(flags, consts, carry)
    linear = (*fixed, *[True] * carry, *slices)
    turned = transpose_jaxpr(jaxpr, linear, sum(fixed))
    ic, _, ix = _split(jaxpr.in_avals, consts, carry)
    known_c = [x for x, f in zip(operands[:consts], fixed, strict=True) if not f]
    known_x = [x for x, f in zip(operands[consts + carry :], slices, strict=True) if not f]
    lin = _chosen(ic, fixed)
    nc, nl, nx = len(known_c), len(lin), len(known_x)

    def run(xs: list[Array]) -> list[Array]:
        c, sums = xs[:nc], xs[nc : nc + nl]
        ct_carry, rest = xs[nc + nl : nc + nl + carry], xs[nc + nl + carry :]
        return run_jaxpr(turned, [*c, *rest[:nx], *ct_carry, *rest[nx:], *sums])

    x_avals = [a for a, f in zip(ix, slices, strict=True) if not f]
    outs = jaxpr.out_avals
    avals = [*(x.aval for x in known_c), *lin, *outs[:carry], *x_avals, *outs[carry:]]
    found = scan_call(
        *known_c, *map(zeros, lin), *cts[:carry], *known_x, *cts[carry:],
        jaxpr=stage_closed(run, avals), consts=nc, carry=nl + carry, length=length,
        reverse=not reverse, unroll=unroll,
    )  # fmt: skip
    ct_init = [
        ct if isinstance(x, Undefined) else None
        for ct, x in zip(found[nl : nl + carry], operands[consts : consts + carry], strict=True)
    ]
    return [*spread_out(found[:nl], fixed), *ct_init, *spread_out(found[nl + carry :], slices)]


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

    body = stage_closed(run, [*jaxpr.in_avals[:n], FOUND, *jaxpr.in_avals[n:]])
    outs = scan_call(
        *operands[:n], nothing(), *operands[n:],
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
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    discharge=_discharge,
    multiple_results=True,
    kind="call",
)


# -- the public functions --------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each x on axis 0 of xs; returns the last carry and the stacked
    ys.

    Arrays from outside that f writes are carried along. f gets its own values: it may work in place
    on them, and init and xs stay as they are.

    One round of the compiled loop contains `unroll` steps (True: all steps, so no loop remains), in
    both directions.
    """
    carry_leaves, carry_tree = tree_flatten(init)
    x_leaves, x_tree = tree_flatten(xs)
    for x in [*carry_leaves, *x_leaves]:
        check_leaf(x, "scan")
    xs_nodes = [node_of(x) for x in x_leaves]
    length = _length([aval_of_node(n) for n in xs_nodes], length)
    if length and at_once():
        return _one_by_one(f, init, xs, length, reverse)
    unroll = _unroll(unroll, length)
    slices = [aval_of(aval_of_node(n).shape[1:], aval_of_node(n).dtype) for n in xs_nodes]
    start = [node_of(x) for x in carry_leaves]
    structure = (tuple, None, (carry_tree, x_tree))
    kinds = [kind_of_argument(x, aval_of_node(n))
             for x, n in zip(carry_leaves, start, strict=True)]  # fmt: skip
    kinds += [NDArray if a.ndim else None for a in slices]
    program, flat, start = _staged_body(f, structure, carry_leaves, start, slices, kinds)
    merged = Merged([program], len(start) + len(slices))
    arrays = list(map(new_array, start))
    stacked = list(map(new_array, xs_nodes))
    carry, ys = _run(merged, arrays, stacked, slices, length, reverse, unroll)
    y_tree = flat.tree[2][1]
    kinds = [NDArray if k is NDArray else None for k in kinds]
    last = [result_handle(c._read(), k) for c, k in zip(carry, kinds)]
    return tree_unflatten(carry_tree, last), tree_unflatten(y_tree, ys)


def _one_by_one(f: Any, carry: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """Under `disable_jit`, loop in Python, so that f sees the values."""
    arrays, ys = tree_map(lambda x: new_array(node_of(x)), xs), []
    way = slice(None, None, -1 if reverse else 1)
    for i in range(length)[way]:
        pair = f(carry, tree_map(lambda x, i=i: x[i], arrays))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError("scan: the body must return a pair (carry, y)")
        carry, y = pair
        ys.append(tree_map(_row, y))
    return carry, tree_map(
        lambda *rows: shaping.concatenate(*rows, axis=0), *ys[:: -1 if reverse else 1]
    )


def _row(x: Any) -> Array:
    array = new_array(node_of(x))
    return shaping.reshape(array, shape=(1, *array.shape))


def _length(avals: Sequence[Aval], length: int | None) -> int:
    for a in avals:
        if not a.ndim:
            raise ValueError("scan: the arrays of xs must have a leading axis, got a scalar")
    sizes = {a.shape[0] for a in avals}
    if length is not None:
        sizes.add(int(length))
    if len(sizes) != 1:
        if not sizes:
            raise ValueError("scan: without xs, length is required")
        raise ValueError(
            f"scan: the leading axes of xs, and length, must agree, got {sorted(sizes)}"
        )
    return sizes.pop()


def _unroll(unroll: int | bool, length: int) -> int:
    if unroll is True or unroll is False:
        return max(1, length) if unroll else 1
    if not isinstance(unroll, int) or unroll < 1:
        raise ValueError(f"scan: unroll must be a positive int or a bool, got {unroll!r}")
    return max(1, min(unroll, length))


def _staged_body(
    f: Any, structure: Any, leaves: list[Any], start: list[Any], slices: list[Aval], kinds: Any
) -> tuple[Any, Any, list[Any]]:
    """Stage the body. Python numbers in the carry take the type that the body returns."""
    avals = list(map(carried_aval, leaves, start))
    while True:
        program, flat = staged_function(f, structure, [*avals, *slices], kinds, "scan body")
        if flat.tree is None or flat.tree[0] is not tuple or len(flat.tree[2]) != 2:
            raise TypeError("scan: the body must return a pair (carry, y)")
        outs = program.jaxpr.out_avals[: len(start)]
        alike = flat.tree[2][0] == structure[2][0]
        new = settled(avals, outs, program.jaxpr) if alike else None
        if new is None:
            break
        avals = new
    same_types(
        "scan",
        ("the carry", structure[2][0], avals),
        ("the carry that the body returns", flat.tree[2][0], outs),
    )
    return program, flat, as_carried(start, avals)


def _run(
    merged: Merged, init: list[Array], xs: list[Array], slices: list[Aval], length: int,
    reverse: bool, unroll: int,
) -> tuple[list[Array], list[Array]]:  # fmt: skip
    """Captured arrays that the body writes are carried too."""
    n, written = len(init), merged.written
    others = [i for i in range(len(merged.avals)) if i not in written]
    consts, w = len(others), len(written)

    def run(args: list[Array]) -> list[Array]:
        captured = dict(zip(others, args[:consts], strict=True))
        captured.update(zip(written, args[consts + n : consts + n + w], strict=True))
        rest = [captured[i] for i in range(len(merged.avals))]
        outs = run_jaxpr(
            merged.jaxprs[0], [*args[consts : consts + n], *args[consts + n + w :], *rest]
        )
        results = len(outs) - w
        return [*outs[:n], *outs[results:], *outs[n:results]]

    fixed = [merged.avals[i] for i in others]
    avals = [*fixed, *(x.aval for x in init), *(merged.avals[i] for i in written), *slices]
    captured = merged.captured
    outs = scan_call(
        *(captured[i] for i in others), *init, *(captured[i] for i in written), *xs,
        jaxpr=stage_closed(run, avals), length=length, reverse=bool(reverse), consts=consts,
        carry=n + w, unroll=unroll,
    )  # fmt: skip
    merged.write_back(outs[n : n + w])
    return list(outs[:n]), list(outs[n + w :])


def map_(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each x on axis 0 of xs, one after the other; stacks the results.

    batch_size: how many of them vmap computes at a time.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    if batch_size < 1:
        raise ValueError(f"map: batch_size must be positive, got {batch_size}")
    arrays = tree_map(lambda x: new_array(node_of(x)), xs)
    n = _length([x.aval for x in tree_flatten(arrays)[0]], None)
    rounds, mapped = n // batch_size, vmap(f)
    whole = rounds * batch_size
    rows = (rounds, batch_size)
    parts = []
    if rounds:
        batches = tree_map(lambda x: x[:whole].reshape(*rows, *x.shape[1:]), arrays)
        ys = map_(mapped, batches)
        parts.append(tree_map(lambda y: y.reshape(whole, *y.shape[2:]), ys))
    if whole < n or not rounds:
        parts.append(mapped(tree_map(lambda x: x[whole:], arrays)))
    return tree_map(lambda *ys: shaping.concatenate(*ys, axis=0), *parts)
