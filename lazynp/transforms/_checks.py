"""Where programs with checks in them are called: what those find becomes a result.

See `primitives.checks`. Each primitive with jaxprs in it says how, by its rule `discharge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lazynp._array import Array
from lazynp._errors import Failure
from lazynp._jaxpr import Eqn, Jaxpr, jaxprs_in
from lazynp._primitive import Primitive
from lazynp.primitives.checks import check, earlier, nothing, renumbered
from lazynp.transforms._stage import batch_jaxpr, run_jaxpr, stage_closed

Failures = tuple[Failure, ...]


@lru_cache(maxsize=4096)
def has_checks(jaxpr: Jaxpr) -> bool:
    return any(e.primitive is check or _holds_checks(e) for e in jaxpr.eqns)


def _holds_checks(eqn: Eqn) -> bool:
    return any(map(has_checks, jaxprs_in(eqn.params)))


@lru_cache(maxsize=4096)
def discharged(jaxpr: Jaxpr, first: int = 0) -> tuple[Jaxpr, Failures]:
    """The jaxpr without checks, with what they find as its last result, and their failures,
    which are numbered from `first + 1`."""
    failures: list[Failure] = []

    def run(xs: list[Array]) -> list[Array]:
        found = nothing()

        def special(eqn: Eqn, operands: list[Array]) -> Sequence[Array] | None:
            nonlocal found
            shift = first + len(failures)
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

        return [*run_jaxpr(jaxpr, xs, special), found]

    return stage_closed(run, jaxpr.in_avals), tuple(failures)


def unchecked(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr without its checks."""
    if not has_checks(jaxpr):
        return jaxpr
    whole, _ = discharged(jaxpr)
    return Jaxpr(whole.inputs, whole.eqns, whole.outputs[:-1])


def discharge_call(
    primitive: Any, operands: Any, first: int, *, jaxpr: Jaxpr, **params: Any
) -> Any:
    """The rule of a primitive that is nothing but its jaxpr."""
    inner, failures = discharged(jaxpr, first)
    *outs, found = primitive(*operands, jaxpr=inner, **params)
    return outs, found, failures


def batch_discharged(
    primitive: Primitive, size: int, batched: Sequence[bool], operands: Sequence[Array],
    params: dict[str, Any],
) -> tuple[Array, ...]:  # fmt: skip
    """The batch rule of a call whose checks depend on the example: the call discharged, batched.
    Then what is found is another for each example, as its branch or its rounds have it."""

    def run(xs: list[Array]) -> list[Array]:
        outs, found, failures = primitive.discharge(xs, 0, **params)  # type: ignore[misc]
        check(found, failures=failures, effect=True)
        return list(outs)

    avals = primitive.explicit([x.aval for x in operands], params)  # type: ignore[misc]
    jaxpr = stage_closed(run, avals)
    mapped, _ = batch_jaxpr(jaxpr, size, tuple(batched), (True,) * len(jaxpr.outputs))
    return tuple(run_jaxpr(mapped, operands))
