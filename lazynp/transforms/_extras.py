"""stop_gradient, linear_transpose, and calls of host code from traced functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval, aval_of
from lazynp._node import aval_of_node
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Missing, Primitive, host_only
from lazynp._tree import tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import shaping
from lazynp.transforms._stack import (
    Flat,
    check_leaf,
    coerced,
    name_of,
    node_of,
    result_handle,
)
from lazynp.transforms._stage import (
    ShapeDtype,
    repeated,
    run_jaxpr,
    stage,
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


# -- linear_transpose ------------------------------------------------------------------------------


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a linear function; only the types of `primals` matter."""
    what = f"linear_transpose of {name_of(fun)}"
    leaves, structure = tree_flatten(primals)
    avals = [x.aval if isinstance(x, ShapeDtype) else aval_of_node(node_of(x)) for x in leaves]
    flat = Flat(fun, structure)
    program = stage(flat, avals, what)
    linear = (*[True] * len(avals), *[False] * len(program.captured))
    try:
        turned = transpose_jaxpr(program.jaxpr, linear)
    except TypeError as error:
        raise TypeError(f"{what}: the function must be linear: {error}") from None

    results = program.jaxpr.out_avals[: flat.count]

    def transposed(ct: Any) -> Any:
        given, tree = tree_flatten(ct)
        if tree != flat.tree:
            raise TypeError(f"{what}: the cotangent must be a tree like the result, got {ct!r}")
        cts = [_cotangent(x, a, what) for x, a in zip(given, results)]
        found = run_jaxpr(turned, [*program.captured, *cts])
        return tree_unflatten(structure, [result_handle(x._read()) for x in found])

    return transposed


def _cotangent(ct: Any, aval: Aval, what: str) -> Array:
    if type(ct) in (bool, int, float, complex):
        return coerced(ct, aval_of((), aval.dtype))
    array = new_array(node_of(ct))
    if array.shape != aval.shape or array.dtype != aval.dtype:
        raise TypeError(f"{what}: a cotangent must be like its result, got {array.aval} for {aval}")
    return array


# -- host code -------------------------------------------------------------------------------------


def _callback_abstract(*avals: Aval, outs: tuple[Aval, ...], **_: Any) -> tuple[Aval, ...]:
    return outs


def _callback_reference(
    *values: Any, function: Any, outs: tuple[Aval, ...], **_: Any
) -> tuple[Any, ...]:
    found = function(*values)
    if len(found) != len(outs):
        raise TypeError(f"pure_callback: {len(outs)} results are declared, got {len(found)}")
    return tuple([_declared(x, a) for x, a in zip(found, outs, strict=True)])


def _callback_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    if not params["effect"] and any(t is not None for t in tangents):
        raise TypeError("pure_callback has no derivative: give its caller a custom_jvp rule")
    outs = callback_call(*primals, **params)
    return outs, [None] * len(outs)


def _callback_batch(
    size: int, batched: Sequence[bool], *operands: Array, outs: tuple[Aval, ...], method: str,
    **params: Any,
) -> tuple[Any, ...]:  # fmt: skip
    params["method"] = method
    if method in _AT_ONCE:
        many = size if method == "broadcast_all" else 1
        whole = [x if b else repeated(x, many) for x, b in zip(operands, batched, strict=True)]
        avals = tuple([aval_of((size, *a.shape), a.dtype) for a in outs])
        return callback_call(*whole, outs=avals, **params)
    rows = []
    for i in range(size):
        args = [_row(x, i) if b else x for x, b in zip(operands, batched, strict=True)]
        rows.append(callback_call(*args, outs=outs, **params))
    return tuple(
        shaping.concatenate(*(shaping.reshape(r[k], shape=(1, *a.shape)) for r in rows), axis=0)
        for k, a in enumerate(outs)
    )


def _row(x: Array, i: int) -> Array:
    return shaping.slice(x, i, axes=(0,), sizes=(1,), strides=(1,), shape=x.shape[1:])


callback_call = Primitive(
    "callback",
    abstract=_callback_abstract,
    reference=_callback_reference,
    lower=host_only("it calls Python, on the host"),
    jvp=_callback_jvp,
    transpose=Missing("host code has no transpose"),
    batch=_callback_batch,
    multiple_results=True,
    kind="host",
)


_AT_ONCE = ("expand_dims", "broadcast_all")
_VMAP_METHODS = (None, "sequential", "sequential_unrolled", *_AT_ONCE)


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
    vmap_method: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args)` with NumPy arrays; the results have these shapes and dtypes.

    Under jit, NumPy runs the program. Under vmap, "sequential" (the default) makes one call for
    each example. The other methods make one call, and every result and argument has the example
    axis in front. For an argument without examples that axis has length 1 ("expand_dims") or is
    repeated ("broadcast_all").
    """
    if vmap_method not in _VMAP_METHODS:
        raise ValueError(
            f"pure_callback: vmap_method must be one of {_VMAP_METHODS}, got {vmap_method!r}"
        )
    shapes, tree = tree_flatten(result_shape_dtypes)
    outs = tuple(aval_of(tuple(s.shape), np.dtype(s.dtype)) for s in shapes)
    leaves, structure = tree_flatten((args, kwargs))
    for x in leaves:
        check_leaf(x, "pure_callback")

    def call(*values: Any) -> Sequence[Any]:
        given, keywords = tree_unflatten(structure, list(values))
        return tree_flatten(callback(*given, **keywords))[0]

    given = [new_array(node_of(x)) for x in leaves]
    made = callback_call(
        *given, function=call, outs=outs, effect=False, method=vmap_method or "sequential"
    )
    return tree_unflatten(tree, [result_handle(x._read()) for x in made])


def _declared(x: Any, aval: Aval) -> Any:
    value = np.asarray(x)
    if value.shape != aval.shape:
        raise TypeError(f"pure_callback: a result of {aval} is declared, got shape {value.shape}")
    return value.astype(aval.dtype)


_TOKEN = (aval_of((), np.dtype(np.int64)),)


def debug_callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any
) -> None:
    """Call `callback(*args)` with NumPy arrays once they are computed; args are primals, one
    example each.

    Calls happen in order, whether `ordered` or not.
    """
    leaves, structure = tree_flatten((args, kwargs))

    def call(*values: Any) -> tuple[Any, ...]:
        given, keywords = tree_unflatten(structure, list(values))
        callback(*given, **keywords)
        return (np.int64(0),)

    operands = [new_array(node_of(x)) for x in leaves]
    callback_call(*operands, function=call, outs=_TOKEN, effect=True, method="sequential")


def debug_print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print `fmt.format(*args)` once the values are computed; in order, whether `ordered` or
    not.
    """
    debug_callback(lambda *a, **k: print(fmt.format(*a, **k)), *args, **kwargs)
