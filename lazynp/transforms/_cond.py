"""cond and switch: a choice between jaxprs, with every rule.

Under vmap, a predicate that is the same for all examples still chooses one branch. For a batched
predicate, all branches are computed and the results selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval, In, aval_of
from lazynp._dimensions import table
from lazynp._extents import surely
from lazynp._flush import host_value
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._memo import cached
from lazynp._node import aval_of_node
from lazynp._primitive import Primitive, Undefined
from lazynp._tree import tree_flatten
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._branches import (
    Merged,
    Operands,
    same_types,
)
from lazynp.transforms._call import joined, moving_flags, present
from lazynp.transforms._checks import (
    alike,
    batch_discharged,
    discharged,
    guarded,
    has_checks,
    holds_rules,
)
from lazynp.transforms._elements import by_elements
from lazynp.transforms._for_users import for_users
from lazynp.transforms._sized_loops import (
    Staged,
    may_decide,
    merged_types,
    opened_branches,
    staged_body,
)
from lazynp.transforms._sizing import Own
from lazynp.transforms._stack import at_once, node_of, zeros
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
from lazynp.transforms._stretches import as_lowered
from lazynp.transforms._vmap import flagged

_INT = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)
Branches = tuple[Jaxpr, ...]


def _abstract(index: Aval, *avals: Aval, branches: Branches) -> tuple[Aval, ...]:
    return joined([j.out_avals for j in branches])


def _explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    return (aval_of((), _INT), *params["branches"][0].in_avals)


def _reference(index: Any, *values: Any, branches: Branches) -> tuple[Any, ...]:
    return tuple(eval_reference(branches[int(index)], values))


def _lower(b: Any, index: Any, *values: Any, branches: Branches) -> tuple[Any, ...]:
    if not branches[0].outputs:
        return ()
    if sum(map(_work, branches)) <= _SELECTED:
        return tuple(_selected_values(b, index, [b.subjaxpr(j, values) for j in branches]))
    lowered = [as_lowered(b, j) for j in branches]
    bodies = [lambda inner, j=j: inner.subjaxpr(j, values) for j in lowered]
    return tuple(b.case(b.convert(index, _INT32), bodies))


# A conditional costs some ten operations on numbers, more where XLA makes it a kernel of its own.
_SELECTED = 16  # operations, of all branches
_FEW = 4  # elements
_CHEAP = {
    "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_in_dim", "check",
    "concatenate", "convert", "equal", "full", "greater", "greater_equal", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
    "negative", "not_equal", "positive", "reshape", "select", "sign", "slice", "square", "stack",
    "subtract",
}  # fmt: skip
_FREE = {"check", "broadcast_in_dim", "concatenate", "full", "positive", "reshape", "stack"}
_COSTS = {"divide": 4, "sqrt": 4, "floor_divide": 8, "remainder": 8}


def _work(jaxpr: Jaxpr) -> float:
    """The number of operations, if they are cheap ones on few numbers."""
    total = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if (
            name not in _CHEAP
            and name not in _COSTS
            or any(not surely(a.aval.size <= _FEW) for a in (*eqn.inputs, *eqn.outputs))
        ):
            return math.inf
        total += 0 if name in _FREE else _COSTS.get(name, 1)
    return math.inf if any(not surely(a.aval.size <= _FEW) for a in jaxpr.outputs) else total


def _selected_values(b: Any, index: Any, results: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """The results of the branch at the index; out of range, those of the last."""
    chosen = results[-1]
    for k, outs in reversed(list(enumerate(results[:-1]))):
        here = b.compare(index, b.constant(k, _INT), "EQ")
        chosen = [x if x is y else b.select(here, x, y) for x, y in zip(outs, chosen, strict=True)]
    return chosen


def _union(flags: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(map(any, zip(*flags, strict=True)))


def _jvp(
    primals: Sequence[Array], tangents: Sequence[Array | None], *, branches: Branches
) -> tuple[Any, Any]:
    moving = moving_flags(tangents[1:])
    moves = _union([jvp_jaxpr(j, moving)[1] for j in branches])
    pushed = tuple([jvp_jaxpr(j, moving, moves)[0] for j in branches])
    outs = cond_call(*primals, *present(tangents[1:]), branches=pushed)
    n = len(branches[0].outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _linearize(
    primals: Sequence[Array], tangents: Sequence[Array | None], *, branches: Branches
) -> tuple[Any, Any]:
    """Each branch returns its own residuals, and zeros in place of the others'."""
    first, second, moves = _linearized(branches, moving_flags(tangents[1:]))
    n = len(branches[0].outputs)
    outs = cond_call(*primals, branches=first)
    moved = cond_call(primals[0], *outs[n:], *present(tangents[1:]), branches=second)
    return outs[:n], spread_out(moved, moves)


@cached()
def _linearized(
    branches: Branches, moving: tuple[bool, ...]
) -> tuple[Branches, Branches, tuple[bool, ...]]:
    """The branches with their residuals, the branches of tangents, and which results these move."""
    moves = _union([linearize_jaxpr(j, moving).moves for j in branches])
    pairs = [linearize_jaxpr(j, moving, moves) for j in branches]
    n = len(branches[0].outputs)
    everything = [a for p in pairs for a in p.residuals]
    firsts = [sum(len(p.residuals) for p in pairs[:k]) for k in range(len(pairs))]

    def primal(k: int) -> Jaxpr:
        def run(xs: list[Array]) -> list[Array]:
            outs = run_jaxpr(pairs[k].primal, xs)
            rest = list(map(zeros, everything))
            rest[firsts[k] : firsts[k] + len(pairs[k].residuals)] = outs[n:]
            return [*outs[:n], *rest]

        return stage_closed(run, branches[k].in_avals)

    def tangent(k: int) -> Jaxpr:
        first, last = firsts[k], firsts[k] + len(pairs[k].residuals)

        def run(xs: list[Array]) -> list[Array]:
            return run_jaxpr(pairs[k].tangent, [*xs[first:last], *xs[len(everything) :]])

        moved = pairs[k].tangent.in_avals[len(pairs[k].residuals) :]
        return stage_closed(run, [*everything, *moved])

    places = range(len(branches))
    return tuple(map(primal, places)), tuple(map(tangent, places)), moves


def _transpose(cts: Sequence[Array], index: Any, *operands: Any, branches: Branches) -> list[Any]:
    linear = tuple(isinstance(x, Undefined) for x in operands)
    known = [x for x in operands if not isinstance(x, Undefined)]
    turned = tuple([transpose_jaxpr(j, linear) for j in branches])
    return [None, *spread_out(cond_call(index, *known, *cts, branches=turned), linear)]


def _batch(
    size: int, batched: Sequence[bool], index: Array, *operands: Array, branches: Branches
) -> tuple[Any, ...]:
    everything = (True,) * len(branches[0].outputs)
    if batched[0] and any(map(has_checks, branches)):
        params = {"branches": branches}
        return batch_discharged(cond_call, size, batched, (index, *operands), params)
    if not batched[0]:
        flags = tuple(batched[1:])
        outs = _union([batch_jaxpr(j, size, flags)[1] for j in branches])
        mapped = tuple([batch_jaxpr(j, size, flags, outs)[0] for j in branches])
        return flagged(cond_call(index, *operands, branches=mapped), outs)
    flags = tuple([
        b or not x.ndim and x.dtype.kind in "fc"
        for x, b in zip(operands, batched[1:], strict=True)
    ])  # fmt: skip
    if any(map(holds_rules, branches)):
        mapped = [batch_jaxpr(guarded(j), size, (*flags, True), everything)[0] for j in branches]
        results = [
            run_jaxpr(j, [*_chosen_by(index, k, operands, flags), elementwise.equal(index, k)])
            for k, j in enumerate(mapped)
        ]
        return _selected(index, results)
    mapped = [batch_jaxpr(j, size, flags, everything)[0] for j in branches]
    results = [run_jaxpr(j, _chosen_by(index, k, operands, flags)) for k, j in enumerate(mapped)]
    return _selected(index, results)


def _chosen_by(
    index: Array, k: int, operands: Sequence[Array], flags: Sequence[bool]
) -> list[Array]:
    """The operands of a branch, for the examples that choose it. For the other examples the
    branch's results are unused and the cotangents zero, although the branch itself may produce nan.

    flags: which operands are batched. Arrays that all examples share stay shared; their cotangents
    are sums.
    """
    here, size = elementwise.equal(index, k), index.shape[0]
    return [
        examples(here, x if x.ndim else repeated(x, size)) if b and x.dtype.kind in "fc" else x
        for x, b in zip(operands, flags, strict=True)
    ]


def _examples_transpose(ct: Array, mask: Array, x: Any) -> list[Any]:
    mask = shaping.broadcast_in_dim(mask, shape=ct.shape, dims=tuple(range(mask.ndim)))
    return [None, elementwise.select(mask, ct, 0.0)]


def _examples_jvp(primals: Sequence[Array], tangents: Sequence[Array | None]) -> Any:
    mask, dx = primals[0], tangents[1]
    return examples(*primals), None if dx is None else examples(mask, dx)


def _examples_batch(size: int, batched: Sequence[bool], *operands: Array) -> Array:
    return examples(*[x if b else repeated(x, size) for x, b in zip(operands, batched)])


# (mask, x) -> x, but only the examples where the mask is true have derivatives
examples = Primitive(
    "examples",
    abstract=lambda mask, x: x,
    reference=lambda mask, x: x,
    lower=lambda b, mask, x: x,
    jvp=_examples_jvp,
    transpose=_examples_transpose,
    batch=_examples_batch,
    free=True,
    kind="view",
)


def _selected(index: Array, results: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
    chosen = results[0]
    for k, outs in enumerate(results[1:], 1):
        here = elementwise.equal(index, k)
        chosen = [select_examples(here, new, old) for new, old in zip(outs, chosen, strict=True)]
    return tuple(chosen)


def _discharge(operands: Sequence[Array], first: int, *, branches: Branches) -> Any:
    made, failures = [], ()
    for branch in branches:
        inner, more = discharged(branch, first + len(failures))
        made.append(inner)
        failures += more
    *outs, found = cond_call(*operands, branches=tuple(alike(made)))
    return outs, found, failures


def select_examples(mask: Array, new: Array, old: Array) -> Array:
    """`new` for the examples where the mask is true, else `old`."""
    mask = shaping.broadcast_in_dim(mask, shape=new.shape, dims=(0,))
    return elementwise.select(mask, new, old)


cond_call = Primitive(
    "cond",
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

_NO_OPERAND: Any = object()  # None is a valid operand


@for_users
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = _NO_OPERAND) -> Any:  # fmt: skip
    """`true_fun(*operands)` if pred, else `false_fun(*operands)`; both must return the same types.

    If the chosen function writes its operands or arrays from outside in place, the writes take
    effect after the call. The results are new arrays, also where a function returns an operand.

    >>> import lazynp as np
    >>> x = np.array([-2.0, 3.0])
    >>> np.cond(x.sum() > 0, lambda x: x * 10, lambda x: -x, x)
    array([-20.,  30.])
    """
    if operand is not _NO_OPERAND:
        operands = (operand,)
    node = node_of(pred)
    aval = aval_of_node(node)
    if aval.shape:
        raise TypeError(f"cond: the predicate must be a scalar, got shape {aval.shape}")
    if aval.dtype.kind not in "biuf":
        raise TypeError(f"cond: the predicate must be a bool or a number, got {aval.dtype}")
    array = new_array(node)
    if at_once(pred):
        return (true_fun if bool(host_value(node)) else false_fun)(*operands)
    if aval.dtype.kind != "b":
        array = elementwise.not_equal(array, 0)
    index = elementwise.convert(array, dtype=_INT)
    return _chosen("cond", index, [false_fun, true_fun], ["false_fun", "true_fun"], operands)


@for_users
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any,
           operand: Any = _NO_OPERAND) -> Any:  # fmt: skip
    """`branches[index](*operands)`; an index out of range takes the nearest branch.

    Writes of the chosen branch take effect as with `cond`.
    """
    if operand is not _NO_OPERAND:
        operands = (operand,)
    if not branches:
        raise ValueError("switch: at least one branch is required")
    node = node_of(index)
    aval = aval_of_node(node)
    if aval.shape or aval.dtype.kind not in "iu":
        raise TypeError(f"switch: the index must be an integer scalar, got {aval}")
    if len(branches) == 1:
        return branches[0](*operands)
    if at_once(index):
        return branches[min(max(int(host_value(node)), 0), len(branches) - 1)](*operands)
    array = elementwise.convert(new_array(node), dtype=_INT)
    clipped = elementwise.minimum(elementwise.maximum(array, 0), len(branches) - 1)
    names = [f"branch {i}" for i in range(len(branches))]
    return _chosen("switch", clipped, list(branches), names, operands)


def _chosen(
    what: str,
    index: Array,
    functions: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple[Any, ...],
) -> Any:
    leaves, structure = tree_flatten(operands)
    given = Operands(leaves, what)
    staged = [_staged(given, f, structure, f"{what} {n}:") for f, n in zip(functions, names)]
    first = staged[0].flat
    types = merged_types(staged) if may_decide() and _one_tree(staged) else None
    if types is not None and (types[1] or any(s.opens for s in staged)):
        outs = opened_branches(what, index, given.values, staged, types)
        given.finish()
        return first.rebuilt([o._read() for o in outs], staged[0].program.like)
    for other, name in zip(staged[1:], names[1:], strict=True):
        same_types(
            what,
            (f"the result of {names[0]}", first.tree, staged[0].outs),
            (f"that of {name}", other.flat.tree, other.outs),
        )
    merged = Merged([s.program for s in staged], len(given.values))
    outs = by_elements(cond_call, index, [*given.values, *merged.captured], merged.jaxprs)
    merged.write_back(outs[first.count :])
    given.finish()
    return first.rebuilt([o._read() for o in outs], staged[0].program.like)


def _staged(given: Operands, function: Any, structure: Any, what: str) -> Staged:
    if table() is None:
        return Staged(*given.staged(function, structure, what), Own())
    return staged_body(
        function, structure, given.avals, given.kinds, what, call=given.applied
    ).settled()  # fmt: skip


def _one_tree(staged: Sequence[Staged]) -> bool:
    return all(s.flat.tree == staged[0].flat.tree for s in staged)
