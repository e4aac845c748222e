"""Discharging checks: where a program is called, the findings of its checks become a result.

See `primitives.checks`. The rule `discharge` of each primitive with jaxprs says how.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import aval_of
from lazynp._errors import Failure
from lazynp._flush import host_value
from lazynp._jaxpr import Eqn, Jaxpr, Var, jaxprs_in
from lazynp._memo import cached
from lazynp._placed import placed_in
from lazynp._primitive import Primitive
from lazynp._recorder import local
from lazynp.primitives.checks import check, earlier, nothing, renumbered, type_of, widened
from lazynp.primitives.elementwise import select
from lazynp.transforms._stage import batch_jaxpr, run_jaxpr, stage_closed
from lazynp.transforms._vmap import flagged

Failures = tuple[Failure, ...]


@cached()
def has_checks(jaxpr: Jaxpr) -> bool:
    return any(e.primitive is check or _holds_checks(e) for e in jaxpr.eqns)


def _holds_checks(eqn: Eqn) -> bool:
    return any(map(has_checks, jaxprs_in(eqn.params)))


def discharged(jaxpr: Jaxpr, first: int) -> tuple[Jaxpr, Failures]:
    """The jaxpr without checks and with their findings as its last result, and their failures,
    numbered from `first + 1`.
    """
    return _discharged(jaxpr, first, False)[:2]


@cached()
def _discharged(
    jaxpr: Jaxpr, first: int, apart: bool
) -> tuple[Jaxpr, Failures, tuple[tuple[int, int], ...]]:  # fmt: skip
    """apart: what some findings were reduced from becomes results, after the others. The numbers of
    their failures, and how many results each has, are returned as well.
    """
    failures: list[Failure] = []
    numbers: list[tuple[int, int]] = []

    def run(xs: list[Array]) -> list[Array]:
        found = nothing()
        places: list[Array] = []

        def special(eqn: Eqn, operands: list[Array]) -> Sequence[Array] | None:
            nonlocal found
            shift = first + len(failures)
            if eqn.primitive is check and apart and len(operands) > 1:
                numbers.append((shift + 1, len(operands) - 1))
                places.extend(operands[1:])
                failures.extend(eqn.params["failures"])
                return ()
            if eqn.primitive is check:
                outs, now, more = (), renumbered(operands[0], shift), eqn.params["failures"]
            elif _holds_checks(eqn):
                rule: Any = eqn.primitive
                outs, now, more = rule.discharge(operands, shift, **eqn.params)
            else:
                return None
            failures.extend(more)
            found = earlier(found, now)
            return outs

        return [*run_jaxpr(jaxpr, xs, special), found, *places]

    made = stage_closed(run, jaxpr.in_avals)
    return made, tuple(failures), tuple(numbers)


def alike(jaxprs: Sequence[Jaxpr]) -> list[Jaxpr]:
    """Such jaxprs with findings of one type."""
    width = type_of(*jaxprs).shape[0]

    def run(jaxpr: Jaxpr, xs: list[Array]) -> list[Array]:
        *outs, found = run_jaxpr(jaxpr, xs)
        return [*outs, widened(found, width)]

    if all(j.outputs[-1].aval.shape == (width,) for j in jaxprs):
        return list(jaxprs)
    return [stage_closed(functools.partial(run, j), j.in_avals) for j in jaxprs]


def apart(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr as it runs on several devices of this process: see `discharge_call`."""
    return _discharged(jaxpr, 0, True)[0]


def unchecked(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr without its checks."""
    if not has_checks(jaxpr):
        return jaxpr
    whole, _ = discharged(jaxpr, 0)
    return Jaxpr(whole.inputs, whole.eqns, whole.outputs[:-1])


def discharge_call(
    primitive: Any, operands: Any, first: int, *, jaxpr: Jaxpr, **params: Any
) -> Any:
    """The rule of a primitive that consists of its jaxpr alone.

    On several devices of this process, the host finds who is at fault: the devices need not agree.
    """
    if not local.recorder.staging and any(_on_own_devices(x) for x in operands):
        return _discharged_apart(primitive, operands, jaxpr, params)
    inner, failures = discharged(jaxpr, first)
    *outs, found = primitive(*operands, jaxpr=inner, **params)
    return outs, found, failures


def _on_own_devices(x: Any) -> bool:
    placed = placed_in(x._read()) if isinstance(x, Array) else None
    return placed is not None and placed.place.mesh is not None and not placed.place.shared


def _discharged_apart(primitive: Any, operands: Any, jaxpr: Jaxpr, params: dict[str, Any]) -> Any:
    inner, failures, numbers = _discharged(jaxpr, 0, True)
    results = primitive(*operands, jaxpr=inner, **params)
    count = len(jaxpr.outputs)
    found, places = results[count], iter(results[count + 1 :])
    which, *values = host_value(found._read())
    for number, each in numbers:
        bad, *shown = [next(places) for _ in range(each)]
        at_fault = None if 0 < which < number else np.asarray(host_value(bad._read()))
        if at_fault is not None and at_fault.any():
            which, values = number, [0]
            if shown:
                there = [np.broadcast_to(host_value(x._read()), at_fault.shape) for x in shown]
                values = [x[at_fault].flat[0] for x in there]
    if which:
        raise failures[which - 1].error(*values)
    return results[:count], nothing(), failures


def batch_discharged(
    primitive: Primitive, size: int, batched: Sequence[bool], operands: Sequence[Array],
    params: dict[str, Any],
) -> tuple[Array, ...]:  # fmt: skip
    """The batch rule of a call whose checks depend on the example: discharge the call, then batch
    it. Each example then has its own finding, according to its branch or its rounds.
    """

    def run(xs: list[Array]) -> list[Array]:
        outs, found, failures = primitive.discharge(xs, 0, **params)  # type: ignore[misc]
        check(found, failures=failures, effect=True)
        return list(outs)

    avals = primitive.explicit([x.aval for x in operands], params)  # type: ignore[misc]
    jaxpr = stage_closed(run, avals)
    mapped, flags = batch_jaxpr(jaxpr, size, tuple(batched))
    return flagged(run_jaxpr(mapped, operands), flags)


# -- rules where branches are selected -------------------------------------------------------------
# A custom rule is not part of the program until the program is differentiated. The findings of its
# checks must count only for the examples whose branch (or round) contains the rule.

_BOOL = aval_of((), np.dtype(bool))
# these pass the last input of their jaxprs on as their last operand
_HANDED_ON = {"jit", "cond", "checkpoint", "custom_call", "pallas_call"}


@cached()
def holds_rules(jaxpr: Jaxpr) -> bool:
    return any("rule" in e.params or _inner_rules(e) for e in jaxpr.eqns)


def _inner_rules(eqn: Eqn) -> bool:
    return any(map(holds_rules, jaxprs_in(eqn.params)))


@cached()
def guarded(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with one more input, last: whether findings of checks in custom rules count."""
    active = Var(_BOOL)
    eqns = [_guarded_eqn(e, active) for e in jaxpr.eqns]
    return Jaxpr((*jaxpr.inputs, active), eqns, jaxpr.outputs)


def _guarded_eqn(eqn: Eqn, active: Var) -> Eqn:
    if "rule" not in eqn.params and not _inner_rules(eqn):
        return eqn
    if eqn.primitive.name not in _HANDED_ON:  # in loops, the checks of custom rules are dropped
        return Eqn(eqn.primitive, eqn.inputs, _with_jaxprs(eqn.params, without_rules_checks),
                   eqn.outputs)  # fmt: skip
    params = _with_jaxprs(eqn.params, guarded)
    if "rule" in params:
        params["rule"] = params["rule"].mapped(lambda part, _: _guarded_part(part))
    return Eqn(eqn.primitive, (*eqn.inputs, active), params, eqn.outputs)


def _with_jaxprs(params: dict[str, Any], function: Callable[[Jaxpr], Jaxpr]) -> dict[str, Any]:
    def mapped(p: Any) -> Any:
        if type(p) is tuple:
            return tuple(map(mapped, p))
        return function(p) if isinstance(p, Jaxpr) else p

    return {k: mapped(p) for k, p in params.items()}


def _guarded_part(part: Jaxpr) -> Jaxpr:
    inner = guarded(part)
    if not has_checks(inner):
        return inner

    def run(xs: list[Array]) -> list[Array]:
        whole, failures = discharged(inner, 0)
        *outs, found = run_jaxpr(whole, xs)
        check(select(xs[-1], found, nothing(found.shape[0])), failures=failures, effect=True)
        return outs

    return stage_closed(run, inner.in_avals)


@cached()
def without_rules_checks(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with custom rules that check nothing."""
    if not holds_rules(jaxpr):
        return jaxpr
    eqns = []
    for eqn in jaxpr.eqns:
        params = _with_jaxprs(eqn.params, without_rules_checks)
        if "rule" in params:
            params["rule"] = params["rule"].mapped(
                lambda part, _: without_rules_checks(unchecked(part))
            )
        eqns.append(Eqn(eqn.primitive, eqn.inputs, params, eqn.outputs))
    return Jaxpr(jaxpr.inputs, eqns, jaxpr.outputs)
