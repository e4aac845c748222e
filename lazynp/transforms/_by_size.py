"""How a function of sizes is called, where its arguments decide them all.

A size that is met for the first time runs by the reference rules, lazily: the call is one node,
whose op no table keeps. A program for a bucket of sizes, or for one size, has to be earned.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from typing import Any

from lazynp._array import Array, new_array
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._flush import flush
from lazynp._jaxpr import Jaxpr
from lazynp._node import aval_of_node, single_ops
from lazynp._positions import user_frame
from lazynp._primitive import Missing, Primitive
from lazynp._recorder import local
from lazynp.primitives.placing import placed_behind, places_inside
from lazynp.transforms._buckets import Buckets, run_in_bucket
from lazynp.transforms._direct import apart, once, runs_here
from lazynp.transforms._sized_program import Once, SizedProgram
from lazynp.transforms._sizing import Values

Sizes = tuple[int, ...]


def _abstract(*avals: Aval, run: Once, name: str) -> tuple[Aval, ...]:
    return run.avals


def _reference(*values: Any, run: Once, name: str) -> tuple[Any, ...]:
    return tuple(apart(run.run(*values), values))


def _lower(b: Any, *values: Any, run: Once, name: str) -> tuple[Any, ...]:
    """Another thread's flush may need its result within a program."""
    return tuple(b.subjaxpr(run.jaxpr(), values))


_NOT_TRACED = Missing("recorded only where nothing interprets its operands")

call_once = Primitive(
    "call_once",
    abstract=_abstract,
    reference=_reference,
    lower=_lower,
    jvp=_NOT_TRACED,
    transpose=_NOT_TRACED,
    batch=_NOT_TRACED,
    multiple_results=True,
    kind="once",
)


def called_by_size(
    sized: SizedProgram, key: Sizes, numbers: Values, operands: list[Array], params: dict[str, Any]
) -> tuple[Sequence[Array] | None, dict[str, Any]]:
    """The results, unless the program for just these sizes is to be called: then the parameters of
    its call.
    """
    ns, name = key[: len(sized.axes)], params["name"]
    run = None
    if runs_here(sized.whole, operands) and sized.programs.first(key):
        sized.check(numbers)
        run = sized.programs.once(numbers, ns)
    if config.execution == "reference" or config.debug_nans:
        return None if run is None else _called(sized, run, operands, name), params
    buckets = _buckets_of(sized)
    if any(placed_behind(x) is not None for x in operands):
        return None, params
    avals = run.avals if run is not None else sized.exact(key, numbers).out_avals
    cost = sized.programs.cost(key, numbers, ns)
    way = buckets.way(ns, cost)
    if way is True:
        return None, params | {"compiled": "generic"}
    if way is None:
        if run is not None and not buckets.leaves_room(cost):
            return _called(sized, run, operands, name), params
        return None, params | {"compiled": buckets.limit}
    return run_in_bucket(way, ns, operands, avals, name), params


def settled(sized: SizedProgram, key: Sizes) -> tuple[Jaxpr | None, dict[str, Any]]:
    """The program of every later call at these sizes, with the parameters of its calls, if that is
    known.
    """
    jaxpr = sized.programs.known.get(key)
    if jaxpr is None or sized.made:
        return None, {}
    buckets = _buckets_of(sized)
    reference = config.execution == "reference"
    compiled = buckets.limit if reference else buckets.settled(key)
    return (None, {}) if compiled is None else (jaxpr, {"compiled": compiled})


def _buckets_of(sized: SizedProgram) -> Buckets:
    if sized.buckets is None:
        sized.buckets = Buckets(sized, not places_inside(sized.whole))
    return sized.buckets


def _called(sized: SizedProgram, run: Once, operands: list[Array], name: str) -> list[Array]:
    """Record the call; what calls host code, or checks values, runs at once."""
    if sized.hosts:
        return once(run, operands)
    nodes = tuple([x._read() for x in operands])
    recorder = local.recorder
    if recorder.pending:
        flush(recorder, reason="a call at a new size")
    where = local.where
    if where is None:
        frame = user_frame(_getframe(1))
        where = frame.f_code, frame.f_lasti
    ins = tuple(map(aval_of_node, nodes))
    params = {"run": run, "name": name}

    def reference(*values: Any) -> Any:
        return _reference(*values, **params)

    op, parts = single_ops(call_once, params, ins, run.avals, reference)
    node = [op, nodes, None, *where]
    outs = [[part, (node,), None, *where] for part in parts]
    recorder.pending.append(node)
    recorder.pending += outs
    return [new_array(out) for out in outs]
