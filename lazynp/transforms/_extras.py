"""stop_gradient, checkpoint, linear_transpose, and calls of host code from traced functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval, aval_of
from lazynp._jaxpr import Jaxpr, eval_reference
from lazynp._node import aval_of_node
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Missing, Primitive, Undefined
from lazynp._tree import tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import shaping
from lazynp.transforms._branches import kind_of_argument
from lazynp.transforms._call import jaxpr_explicit, jit_call, moving_flags, present, strong
from lazynp.transforms._stack import Flat, check_leaf, name_of, node_of, result_handle
from lazynp.transforms._stage import (
    ShapeDtype,
    batch_jaxpr,
    jvp_jaxpr,
    run_jaxpr,
    spread_out,
    stage,
    stage_closed,
    transpose_jaxpr,
)

# -- stop_gradient ---------------------------------------------------------------------------------


stop = Primitive(
    "stop_gradient",
    abstract=lambda x: x,
    reference=lambda x: x,
    lower=lambda b, x: x,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=lambda size, batched, x: stop(x),
    free=True,
    kind="view",
)


def stop_gradient(x: Any) -> Any:
    """The same values, without tangents."""

    def stopped(leaf: Any) -> Any:
        if not isinstance(leaf, Array) or leaf.dtype.kind not in "fc":
            return leaf
        return result_handle(stop(leaf)._read(), type(leaf))

    return tree_map(stopped, x)


# -- checkpoint ------------------------------------------------------------------------------------


def _remat_abstract(*avals: Aval, jaxpr: Jaxpr) -> tuple[Aval, ...]:
    return strong(jaxpr.out_avals)


def _remat_reference(*values: Any, jaxpr: Jaxpr) -> tuple[Any, ...]:
    return tuple(eval_reference(jaxpr, values))


def _remat_lower(b: Any, *values: Any, jaxpr: Jaxpr) -> tuple[Any, ...]:
    """The barriers keep XLA from taking what was computed before for what is computed again."""
    return tuple(b.subjaxpr(jaxpr, [b.barrier(v) for v in values]))


def _remat_jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr) -> Any:
    pushed, moves = jvp_jaxpr(jaxpr, moving_flags(tangents))
    outs = remat_call(*primals, *present(tangents), jaxpr=pushed)
    n = len(jaxpr.outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _remat_linearize(primals: Any, tangents: Any, *, jaxpr: Jaxpr) -> Any:
    """The residuals are the operands: the tangent program computes all else again."""
    moving = moving_flags(tangents)
    pushed, moves = jvp_jaxpr(jaxpr, moving)
    n = len(jaxpr.outputs)
    tangent = stage_closed(lambda xs: run_jaxpr(pushed, xs)[n:], pushed.in_avals)
    outs = remat_call(*primals, jaxpr=jaxpr)
    moved = remat_call(*primals, *present(tangents), jaxpr=tangent)
    return outs, spread_out(moved, moves)


def _remat_transpose(cts: Sequence[Array], *operands: Any, jaxpr: Jaxpr) -> list[Any]:
    linear = tuple(isinstance(x, Undefined) for x in operands)
    known = [x for x in operands if not isinstance(x, Undefined)]
    found = remat_call(*known, *cts, jaxpr=transpose_jaxpr(jaxpr, linear))
    return spread_out(found, linear)


def _remat_batch(
    size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr
) -> tuple[Any, ...]:
    mapped, _ = batch_jaxpr(jaxpr, size, tuple(batched), (True,) * len(jaxpr.outputs))
    return remat_call(*operands, jaxpr=mapped)


remat_call = Primitive(
    "checkpoint",
    abstract=_remat_abstract,
    explicit=jaxpr_explicit,
    reference=_remat_reference,
    lower=_remat_lower,
    jvp=_remat_jvp,
    linearize=_remat_linearize,
    transpose=_remat_transpose,
    batch=_remat_batch,
    multiple_results=True,
    kind="call",
)

POLICIES = ("nothing", "everything")


def checkpoint(
    function: Callable[..., Any] | None = None, *, policy: str | None = None,
    prevent_cse: bool = True, static_argnums: Any = (),
) -> Any:  # fmt: skip
    """The function, which keeps only its arguments for reverse mode and is computed again there.

    policy: "nothing" is saved (the default), or "everything" (no checkpoint at all).
    """
    if policy not in (None, *POLICIES):
        raise ValueError(f"checkpoint: policy must be one of {POLICIES}, got {policy!r}")
    if function is None:
        return lambda f: checkpoint(f, policy=policy, static_argnums=static_argnums)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    primitive = jit_call if policy == "everything" else remat_call

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        fixed = {n % len(args): args[n] for n in numbers}
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)

        def call(given: Any, keywords: Any) -> Any:
            rest = iter(given)
            whole = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
            return function(*whole, **keywords)

        leaves, structure = tree_flatten((dynamic, kwargs))
        nodes = [node_of(x) for x in leaves]
        avals = [aval_of_node(n) for n in nodes]
        kinds = [kind_of_argument(x, a) for x, a in zip(leaves, avals, strict=True)]
        flat = Flat(call, structure)
        program = stage(flat, avals, f"checkpoint of {name_of(function)}", kinds)
        params: dict[str, Any] = {"jaxpr": program.jaxpr}
        if primitive is jit_call:
            params["name"] = name_of(function)
        outs = primitive(*map(new_array, nodes), *program.captured, **params)
        program.write_back(outs[flat.count :])
        return flat.rebuilt([o._read() for o in outs], program.like)

    return checkpointed


# -- linear_transpose ------------------------------------------------------------------------------


def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a function that is linear; only types of `primals` matter."""
    what = f"linear_transpose of {name_of(function)}"
    leaves, structure = tree_flatten(primals)
    avals = [x.aval if isinstance(x, ShapeDtype) else aval_of_node(node_of(x)) for x in leaves]
    flat = Flat(function, structure)
    program = stage(flat, avals, what)
    linear = (*[True] * len(avals), *[False] * len(program.captured))
    turned = transpose_jaxpr(program.jaxpr, linear)

    def transposed(ct: Any) -> Any:
        given, tree = tree_flatten(ct)
        if tree != flat.tree:
            raise TypeError(f"{what}: the cotangent must be a tree like the result, got {ct!r}")
        cts = [new_array(node_of(x)) for x in given]
        found = run_jaxpr(turned, [*program.captured, *cts])
        return tree_unflatten(structure, [result_handle(x._read()) for x in found])

    return transposed


# -- host code -------------------------------------------------------------------------------------


def _callback_abstract(*avals: Aval, outs: tuple[Aval, ...], **_: Any) -> tuple[Aval, ...]:
    return outs


def _callback_reference(
    *values: Any, function: Any, outs: tuple[Aval, ...], **_: Any
) -> tuple[Any, ...]:
    return function(*values)


def _callback_lower(*_: Any, **__: Any) -> Any:
    raise AssertionError("a program with callbacks is run by NumPy")


def _callback_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    if not params["effect"] and any(t is not None for t in tangents):
        raise TypeError("pure_callback has no derivative: give its caller a custom_jvp rule")
    outs = callback(*primals, **params)
    return outs, [None] * len(outs)


def _callback_batch(
    size: int, batched: Sequence[bool], *operands: Array, outs: tuple[Aval, ...], **params: Any
) -> tuple[Any, ...]:
    """One call for each example."""
    rows = []
    for i in range(size):
        args = [_row(x, i) if b else x for x, b in zip(operands, batched, strict=True)]
        rows.append(callback(*args, outs=outs, **params))
    return tuple(
        shaping.concatenate(*(shaping.reshape(r[k], shape=(1, *a.shape)) for r in rows), axis=0)
        for k, a in enumerate(outs)
    )


def _row(x: Array, i: int) -> Array:
    return shaping.slice(x, i, axes=(0,), sizes=(1,), strides=(1,), shape=x.shape[1:])


callback = Primitive(
    "callback",
    abstract=_callback_abstract,
    reference=_callback_reference,
    lower=_callback_lower,
    jvp=_callback_jvp,
    transpose=Missing("host code has no transpose"),
    batch=_callback_batch,
    multiple_results=True,
    kind="host",
)


def pure_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
    vmap_method: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args)` with NumPy arrays, its results of these shapes and dtypes.

    Under jit the program runs by NumPy. Under vmap there is a call for each example.
    """
    shapes, tree = tree_flatten(result_shape_dtypes)
    outs = tuple(aval_of(tuple(s.shape), np.dtype(s.dtype)) for s in shapes)
    leaves, structure = tree_flatten((args, kwargs))
    for x in leaves:
        check_leaf(x, "pure_callback")

    def call(*values: Any) -> tuple[Any, ...]:
        given, keywords = tree_unflatten(structure, list(values))
        found = tree_flatten(function(*given, **keywords))[0]
        if len(found) != len(outs):
            raise TypeError(f"pure_callback: {len(outs)} results are declared, got {len(found)}")
        return tuple(_declared(x, a) for x, a in zip(found, outs, strict=True))

    given = [new_array(node_of(x)) for x in leaves]
    made = callback(*given, function=call, outs=outs, effect=False)
    return tree_unflatten(tree, [result_handle(x._read()) for x in made])


def _declared(x: Any, aval: Aval) -> Any:
    value = np.asarray(x)
    if value.shape != aval.shape:
        raise TypeError(f"pure_callback: a result of {aval} is declared, got shape {value.shape}")
    return value.astype(aval.dtype)


_TOKEN = (aval_of((), np.dtype(np.int64)),)


def debug_callback(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Call `function(*args)` with NumPy arrays when they are computed; primals and examples."""
    leaves, structure = tree_flatten((args, kwargs))

    def call(*values: Any) -> tuple[Any, ...]:
        given, keywords = tree_unflatten(structure, list(values))
        function(*given, **keywords)
        return (np.int64(0),)

    callback(*(new_array(node_of(x)) for x in leaves), function=call, outs=_TOKEN, effect=True)


def debug_print(text: str, *args: Any, **kwargs: Any) -> None:
    """Print `text.format(*args)` when the values are computed."""
    debug_callback(lambda *a, **k: print(text.format(*a, **k)), *args, **kwargs)
