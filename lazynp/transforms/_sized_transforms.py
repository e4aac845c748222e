"""Loops and branches that change sizes as equations, and their transformations.

No program holds such an equation: a driver runs it, once its sizes are numbers. So a transformation
within a traced function is left to that moment, too. `through` lists the transformations, innermost
first; the driver applies them to the function that runs the loop, as from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lazynp._array import Array, new_array
from lazynp._avals import Aval, aval_of
from lazynp._extents import Numbers, mapped
from lazynp._node import aval_of_node
from lazynp._primitive import Primitive, Undefined, host_only
from lazynp.primitives.placing import current_spmd
from lazynp.transforms._call import moving_flags, present
from lazynp.transforms._dependence import Flags, results_of
from lazynp.transforms._jvp import jvp_nodes
from lazynp.transforms._linearize import linearize_nodes
from lazynp.transforms._sized_runs import DRIVERS, Driver, Values, run_branch, run_loop
from lazynp.transforms._stack import zeros
from lazynp.transforms._stage import repeated, run_jaxpr, spread_out
from lazynp.transforms._vmap import BatchTrace, batch_nodes, current_axis, flagged

Params = dict[str, Any]
Function = Callable[[list[Array]], list[Array]]
Type = tuple[Any, Any, bool]  # shape, dtype, weak


# -- when sizes are numbers ------------------------------------------------------------------------


def driven(base: Driver) -> Driver:
    """The driver of an equation that may have been transformed."""

    def run(params: Params, operands: list[Array], values: Values, name: str) -> list[Array]:
        numbers = Numbers(values.__getitem__).__getitem__

        function: Function = lambda xs: base(params, xs, values, name)  # noqa: E731
        for kind, *options in params["through"]:
            function = _STEPS[kind](function, *mapped(tuple(options), numbers))
        return function(operands)

    return run


def _moved(function: Function, flags: Flags, moves: Flags) -> Function:
    """`(primals, their tangents) -> (results, their tangents)`"""
    n = len(flags)

    def run(xs: list[Array]) -> list[Array]:
        tangents = [None if t is None else t._read() for t in spread_out(xs[n:], flags)]
        outs, dots, _ = jvp_nodes(
            lambda handles: function(list(handles)), xs[:n], [x._read() for x in xs[:n]],
            tangents, "jvp of a loop",
        )  # fmt: skip
        made = [
            zeros(aval_of_node(p)) if t is None else new_array(t)
            for p, t, m in zip(outs, dots, moves, strict=True)
            if m
        ]
        return [*map(new_array, outs), *made]

    return run


def _pushed(function: Function, flags: Flags, moves: Flags) -> Function:
    """`(primals, their tangents) -> tangents of the results`"""
    moved, n = _moved(function, flags, moves), len(moves)
    return lambda xs: moved(xs)[n:]


def _pulled(function: Function, flags: Flags, moves: Flags) -> Function:
    """`(primals, cotangents of the results) -> cotangents`"""
    n = len(flags)

    def run(xs: list[Array]) -> list[Array]:
        primals = xs[:n]
        _, program, _ = linearize_nodes(
            lambda handles: function(list(handles)), primals, [x._read() for x in primals], flags,
            "vjp of a loop",
        )  # fmt: skip
        cts = program.backward(spread_out(xs[n:], moves))
        return [
            zeros(x.aval) if ct is None else ct
            for x, ct, f in zip(primals, cts, flags, strict=True)
            if f
        ]

    return run


def _turned(function: Function, linear: Flags, types: Sequence[Type], moves: Flags) -> Function:
    """`(other operands, cotangents of the results) -> cotangents of the linear operands`"""
    pulled, known = _pulled(function, linear, moves), len(linear) - sum(linear)

    def run(xs: list[Array]) -> list[Array]:
        given, made = iter(xs), iter([zeros(aval_of(*t)) for t in types])
        return pulled([*[next(made) if f else next(given) for f in linear], *xs[known:]])

    return run


def _batched(
    function: Function, size: int, flags: Flags, outs_flags: Flags, axis: Any, spmd: Any
) -> Function:
    """For all examples, which are axis 0 of the operands and results with flags."""

    def run(xs: list[Array]) -> list[Array]:
        trace = BatchTrace("vmap of a loop", size, axis, spmd)
        axes = [0 if f else None for f in flags]
        outs, _ = batch_nodes(
            lambda handles: function(list(handles)), xs, [x._read() for x in xs], axes, trace,
            run_jaxpr,
        )  # fmt: skip
        return [
            repeated(new_array(node), size) if f and not batched else new_array(node)
            for (node, batched), f in zip(outs, outs_flags, strict=True)
        ]

    return run


_STEPS: dict[str, Callable[..., Function]] = {
    "jvp": _moved, "push": _pushed, "pull": _pulled, "turn": _turned, "vmap": _batched,
}  # fmt: skip


# -- while a function is traced --------------------------------------------------------------------


def _type(aval: Aval) -> Type:
    return aval.shape, aval.dtype, False


def _through(params: Params, step: tuple[Any, ...], outs: Sequence[Type]) -> Params:
    return params | {"through": (*params["through"], step), "outs": tuple(outs)}


def _chosen(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(items, flags, strict=True) if f]


def _moving(outs: Sequence[Type]) -> Flags:
    return tuple([dtype.kind in "fc" for _, dtype, _ in outs])


def _steps_of(params: Params) -> tuple[str, ...]:
    return tuple([step[0] for step in params["through"]])


def _abstract(*_: Aval, outs: Sequence[Type], **__: Any) -> tuple[Aval, ...]:
    return tuple([aval_of(*t) for t in outs])


def _no_value(*_: Any, **__: Any) -> NoReturn:
    raise TypeError(
        "a loop or a branch that changes sizes, or whose body decides some, runs by parts"
    )


def open_primitive(name: str, base: Driver) -> Primitive:
    """A primitive whose equations are run by a driver."""
    DRIVERS[name] = driven(base)

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        outs = params["outs"]
        flags, moves = moving_flags(tangents), _moving(outs)
        step = ("jvp", flags, moves)
        found = made(*primals, *present(tangents),
                     **_through(params, step, [*outs, *_chosen(outs, moves)]))  # fmt: skip
        return found[: len(outs)], spread_out(found[len(outs) :], moves)

    def linearize(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        outs, results = params["outs"], made(*primals, **params)
        flags, moves = moving_flags(tangents), _moving(params["outs"])
        if not any(flags):
            return results, [None] * len(outs)
        step = ("push", flags, moves)
        dots = made(*primals, *present(tangents), **_through(params, step, _chosen(outs, moves)))
        return results, spread_out(dots, moves)

    def transpose(cts: Sequence[Array], *operands: Any, **params: Any) -> list[Any]:
        linear = tuple([isinstance(x, Undefined) for x in operands])
        known = [x for x in operands if not isinstance(x, Undefined)]
        types = tuple([_type(x.aval) for x in operands if isinstance(x, Undefined)])
        *before, (kind, *options) = params["through"]
        if kind == "push" and linear == (*[False] * len(options[0]), *[True] * sum(options[0])):
            step, params = ("pull", *options), params | {"through": tuple(before)}
        else:
            step = ("turn", linear, types, (True,) * len(cts))
        found = made(*known, *cts, **_through(params, step, types))
        return spread_out(found, linear)

    def batch(size: int, batched: Sequence[bool], *operands: Array, **params: Any) -> Any:
        outs = params["outs"]
        flags = results_of(name, params, tuple(batched), len(outs))
        if not set(_steps_of(params)) - {"jvp", "vmap"}:  # its first results are sizes
            count = len(params["decided"])
            flags = (*[False] * count, *flags[count:])
        step = ("vmap", size, tuple(batched), flags, current_axis(), current_spmd())
        types = [((size, *t[0]), *t[1:]) if f else t for t, f in zip(outs, flags, strict=True)]
        return flagged(made(*operands, **_through(params, step, types)), flags)

    made = Primitive(
        name,
        abstract=_abstract,
        reference=_no_value,
        lower=host_only("its sizes are not known before it runs"),
        jvp=jvp,
        linearize=linearize,
        transpose=transpose,
        batch=batch,
        multiple_results=True,
        kind="call",
    )
    return made


# (constants, carry, slices) -> (sizes that it decides, last carry, stacked results)
open_loop = open_primitive("open_loop", run_loop)
# (index, operands) -> (sizes that it decides, results)
open_cond = open_primitive("open_cond", run_branch)
