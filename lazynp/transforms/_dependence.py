"""Which results of a program depend on which of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._jaxpr import Jaxpr, Literal
from lazynp._memo import cached

Flags = tuple[bool, ...]
_PLAIN = ("jit", "checkpoint", "custom_call", "pallas_call")  # these consist of their jaxpr alone


@cached()
def dependent(jaxpr: Jaxpr, flags: Flags) -> Flags:
    """Flag the results that depend on a flagged input."""
    reached = {v for v, f in zip(jaxpr.inputs, flags, strict=True) if f}
    for eqn in jaxpr.eqns:
        ins = tuple([not isinstance(a, Literal) and a in reached for a in eqn.inputs])
        if any(ins):
            outs = results_of(eqn.primitive.name, eqn.params, ins, len(eqn.outputs))
            reached.update(v for v, f in zip(eqn.outputs, outs, strict=True) if f)
    return tuple([not isinstance(a, Literal) and a in reached for a in jaxpr.outputs])


def results_of(name: str, params: dict[str, Any], flags: Sequence[bool], count: int) -> Flags:
    """Flag the results of an operation with `count` results; all of them if the dependence is
    unknown.
    """
    if name in _PLAIN:
        return dependent(params["jaxpr"], tuple(flags))
    if name == "cond" and not flags[0]:
        found = [dependent(j, tuple(flags[1:])) for j in params["branches"]]
        return tuple(map(any, zip(*found, strict=True)))
    if name == "scan":
        return _of_scan(params, tuple(flags))
    if name == "while":
        return _of_while(params, tuple(flags))
    if name == "open_cond" and not flags[0] and not params["through"]:
        return _of_branches(params, tuple(flags[1:]))
    if name == "open_loop" and params["cond"] is None and not params["through"]:
        return _of_open_loop(params, tuple(flags))
    return (True,) * count


def _of_scan(params: dict[str, Any], flags: Flags) -> Flags:
    first, last = params["consts"], params["consts"] + params["carry"]
    carry = flags[first:last]
    while True:
        outs = dependent(params["jaxpr"], (*flags[:first], *carry, *flags[last:]))
        now = tuple([a or b for a, b in zip(carry, outs)])
        if now == carry:
            return (*carry, *outs[len(carry) :])
        carry = now


def _of_while(params: dict[str, Any], flags: Flags) -> Flags:
    consts, carry = flags[: params["consts"]], flags[params["consts"] :]
    while True:
        if any(dependent(params["cond"], (*consts, *carry))):
            return (True,) * len(carry)  # so does the number of rounds
        now = tuple([a or b for a, b in zip(carry, dependent(params["body"], (*consts, *carry)))])
        if now == carry:
            return carry
        carry = now


def _of_branches(params: dict[str, Any], flags: Flags) -> Flags:
    """What branches decide comes first, and after their results what their sizes are."""
    found = []
    for jaxpr, own in zip(params["branches"], params["owns"], strict=True):
        outs = dependent(jaxpr, flags)
        found.append(outs[: len(outs) - len(own.made)])
    return (*[False] * len(params["decided"]), *map(any, zip(*found, strict=True)))


def _of_open_loop(params: dict[str, Any], flags: Flags) -> Flags:
    first, last = params["consts"], params["consts"] + params["carry"]
    own, carry = params["own"], flags[first:last]
    while True:
        given = (*[False] * len(own.variables), *flags[:first], *carry, *flags[last:])
        outs = dependent(params["body"], given)
        now = tuple([a or b for a, b in zip(carry, outs)])
        if now == carry:
            rest = outs[len(carry) : len(outs) - len(own.made)]
            return (*[False] * len(params["decided"]), *carry, *rest)
        carry = now
