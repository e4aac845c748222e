"""Calls of functions with a custom derivative rule, as the interpreters see them.

A call is handled immediately (final style), so Python control flow in the function and the rule
sees values. Staged, it is an equation that carries both as jaxprs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp._avals import Aval, In
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr
from lazynp._node import Node, aval_of_node, is_tracer, tracer_node
from lazynp._primitive import Missing, Primitive
from lazynp._recorder import StagingRecorder, local
from lazynp._trace import innermost
from lazynp.transforms._call import jaxpr_explicit, jit_call, present
from lazynp.transforms._checks import discharged, unchecked
from lazynp.transforms._closures import outside
from lazynp.transforms._custom_batches import Arrays, Call, Mapped, Maybe, Names, Staged
from lazynp.transforms._jvp import JVPTrace
from lazynp.transforms._linearize import Entry, LinearTracer
from lazynp.transforms._stack import node_of, zeros
from lazynp.transforms._stage import (
    Program,
    jvp_jaxpr,
    run_jaxpr,
    stage,
    stage_closed,
)
from lazynp.transforms._vmap import BatchTrace, flagged


def dispatch(call: Call, nodes: Sequence[Node]) -> list[Node]:
    """Run a call on the innermost interpreter that one of its arguments belongs to."""
    top = innermost(nodes)
    if isinstance(top, JVPTrace):
        return _differentiated(call, nodes, top)
    if isinstance(top, BatchTrace):
        return _batched(call, nodes, top)
    if isinstance(local.recorder, StagingRecorder):
        return _staged(call, nodes)
    return [x._read() for x in call.function(list(map(new_array, nodes)))]


def forward_error(name: str) -> TypeError:
    return TypeError(
        f"forward mode of {name}, which has only a custom_vjp rule: use custom_jvp for a function "
        "that both modes shall differentiate"
    )


def _differentiated(call: Call, nodes: Sequence[Node], trace: JVPTrace) -> list[Node]:
    primals, tangents = zip(*map(trace.split, nodes), strict=True)
    if all(t is None for t in tangents):
        return dispatch(call, primals)
    given = list(map(new_array, primals))
    if call.jvp is not None:
        outs, dots = call.jvp(given, [None if t is None else new_array(t) for t in tangents])
        ends = [None if t is None else t._read() for t in dots]
        _check_closure([*outs, *present(dots)], trace, call.name)
        return [trace.joined(p._read(), t) for p, t in zip(outs, ends, strict=True)]
    linear: Any = trace.linear
    if linear is None:
        raise forward_error(call.name)
    assert call.fwd is not None
    outs, residuals = call.fwd(given)
    _check_closure([*outs, *residuals], trace, call.name)
    avals = tuple([o.aval for o in outs])
    atoms = [
        *(r._read() for r in residuals),
        *(linear.tracer_of(t) or t for t in present(tangents)),
    ]
    params = {
        "bwd": call.bwd, "avals": avals, "residuals": len(residuals), "name": call.name,
        "moving": tuple(t is not None for t in tangents),
    }  # fmt: skip
    tracers = [LinearTracer(linear, a) for a in avals]
    linear.tape.append(Entry(custom_linear, atoms, params, tracers, local.where))
    return [
        trace.joined(p._read(), tracer_node(t) if t.aval.dtype.kind in "fc" else None)
        for p, t in zip(outs, tracers, strict=True)
    ]


def _check_closure(arrays: Arrays, trace: JVPTrace, name: str) -> None:
    """Refuse a rule's result that itself carries a tangent: the rule knows only its arguments."""
    if any(trace.split(a._read())[1] is not None for a in arrays):
        raise _closure_error(f"{trace.what}: {name}")


def _closure_error(what: str) -> TypeError:
    return TypeError(
        f"{what}, which has a custom rule, uses a value from outside that is being differentiated; "
        "make it an argument"
    )


# -- vmap ------------------------------------------------------------------------------------------


def _batched(call: Call, nodes: Sequence[Node], trace: BatchTrace) -> list[Node]:
    values, flags = zip(*map(trace.split, nodes), strict=True)
    mapped = Mapped(call, flags, trace)
    outs = dispatch(mapped.call, values)
    return [trace.tracer(n) if f else n for n, f in zip(outs, mapped.outs, strict=True)]


# -- staged ----------------------------------------------------------------------------------------


class Rule:
    """A rule as jaxprs, staged at first use, because rules may call the function itself.

    `parts()` returns jaxprs that take their own operands and then everything that the call
    captured.
    """

    def __init__(self, build: Callable[[], list[Jaxpr]]) -> None:
        self._build = build
        self._found: list[Jaxpr] | None = None

    def parts(self) -> list[Jaxpr]:
        if self._found is None:
            self._found = self._build()
        return self._found

    def mapped(self, function: Callable[[Jaxpr, int], Jaxpr]) -> Rule:
        """The rule with `function(jaxpr, part number)` applied to its jaxprs."""
        return Rule(lambda: [function(j, i) for i, j in enumerate(self.parts())])


def _captured(program: Program) -> list[Any]:
    if program.written:
        raise TypeError("a function with a custom rule must not write arrays from outside")
    return [*program.owners, *program.nodes]


def _arrays(items: Sequence[Any]) -> list[Array]:
    return [x if isinstance(x, Array) else new_array(x) for x in items]


def _aligned(program: Program, items: Sequence[Any], name: str) -> Jaxpr:
    """The program as a function of its arguments, then of `items`. Any other captured array becomes
    a constant of the program, provided that it can never change.
    """
    own = _captured(program)
    places = [next((i for i, x in enumerate(items) if x is k), None) for k in own]
    for x, place in zip(own, places, strict=True):
        if place is None and (isinstance(x, Array) or is_tracer(x)):
            raise TypeError(
                f"{name}: its rule reads an array from outside, {aval_of_node(node_of(x))}, that "
                "the function itself does not read; make it an argument"
            )
    avals = [x.aval if isinstance(x, Array) else aval_of_node(x) for x in items]
    n = len(program.jaxpr.inputs) - len(own)

    def run(xs: list[Array]) -> list[Array]:
        given = [new_array(k) if p is None else xs[n + p] for k, p in zip(own, places, strict=True)]
        return run_jaxpr(program.jaxpr, [*xs[:n], *given])

    return stage_closed(run, [*program.jaxpr.in_avals[:n], *avals])


def _staged(call: Call, nodes: Sequence[Node]) -> list[Node]:
    avals = list(map(aval_of_node, nodes))
    program = stage(lambda xs: list(call.function(xs)), avals, call.name)
    names = Names()
    items = _captured(program)  # and what the rules read, which are not staged yet
    for x in (*outside(call.sees), *names.numbers):
        if not any(x is k for k in (*items, *nodes)):
            items.append(x)
    make = _jvp_rule if call.jvp is not None else _vjp_rule
    jaxpr = _aligned(program, items, call.name)
    outs = custom_call(
        *map(new_array, nodes), *_arrays(items), jaxpr=jaxpr, rule=make(call, avals, items, names),
        count=len(nodes), kind="jvp" if call.jvp is not None else "vjp", name=call.name,
    )  # fmt: skip
    return [o._read() for o in outs]


def _there(items: list[Any], names: Names, numbers: list[Node]) -> list[Any]:
    """What was captured, with the numbers of examples that there are where a rule is staged."""
    new = dict(zip(map(id, names.numbers), numbers, strict=True))
    return [new.get(id(x), x) for x in items]


def _jvp_rule(call: Call, avals: Sequence[Aval], items: list[Any], names: Names) -> Rule:
    moving = [a.dtype.kind in "fc" for a in avals]
    moved = [a for a, m in zip(avals, moving, strict=True) if m]
    n = len(avals)

    def rule(xs: list[Array]) -> list[Array]:
        rest = iter(xs[n:])
        outs, dots = call.jvp(xs[:n], [next(rest) if m else None for m in moving])  # type: ignore[misc]
        return [*outs, *(zeros(o.aval) if d is None else d for o, d in zip(outs, dots))]

    def build() -> list[Jaxpr]:
        with names.again() as numbers:
            program = stage(rule, [*avals, *moved], f"the rule of {call.name}")
            return [_aligned(program, _there(items, names, numbers), call.name)]

    return Rule(build)


def _vjp_rule(call: Call, avals: Sequence[Aval], items: list[Any], names: Names) -> Rule:
    count: list[int] = []

    def forward(xs: list[Array]) -> list[Array]:
        outs, residuals = call.fwd(xs)  # type: ignore[misc]
        count[:] = [len(residuals)]
        return [*outs, *residuals]

    def backward(xs: list[Array]) -> list[Array]:
        found = call.bwd(xs[: count[0]], xs[count[0] :])  # type: ignore[misc]
        return [zeros(a) if ct is None else ct for a, ct in zip(avals, found, strict=True)]

    def build() -> list[Jaxpr]:
        with names.again() as numbers:
            fwd = stage(forward, avals, f"the forward rule of {call.name}")
            results = len(fwd.like) - count[0]
            made = fwd.jaxpr.out_avals
            given = [*made[results : len(fwd.like)], *made[:results]]
            bwd = stage(backward, given, f"the backward rule of {call.name}")
            there = _there(items, names, numbers)
            return [_aligned(part, there, call.name) for part in (fwd, bwd)]

    return Rule(build)


def _abstract(*avals: Aval, jaxpr: Jaxpr, **_: Any) -> tuple[Aval, ...]:
    return tuple(jaxpr.out_avals)


def _reference(*values: Any, jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
    return tuple(eval_reference(jaxpr, values))


def _lower(b: Any, *values: Any, jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
    return tuple(b.subjaxpr(jaxpr, values))


def _call_jvp(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, rule: Rule, count: int, kind: str, name: str
) -> Any:
    if not any(t is not None for t in tangents[:count]):  # as without staging
        return jit_call.jvp(primals, tangents, jaxpr=jaxpr, name=name)  # type: ignore[operator]
    if kind == "vjp":
        raise forward_error(name)
    pushed = rule.parts()[0]
    _check_captured(pushed, tangents[count:], name)
    moving = [
        zeros(p.aval) if t is None else t
        for p, t in zip(primals[:count], tangents[:count], strict=True)
        if p.aval.dtype.kind in "fc"
    ]
    outs = run_jaxpr(pushed, [*primals[:count], *moving, *primals[count:]])
    n = len(jaxpr.outputs)
    return outs[:n], [d if d.dtype.kind in "fc" else None for d in outs[n:]]


def _call_linearize(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, rule: Rule, count: int, kind: str, name: str
) -> Any:
    if not any(t is not None for t in tangents[:count]):
        return jit_call.linearize(primals, tangents, jaxpr=jaxpr, name=name)  # type: ignore[misc]
    if kind == "jvp":
        return _call_jvp(
            primals, tangents, jaxpr=jaxpr, rule=rule, count=count, kind=kind, name=name
        )
    fwd, bwd = rule.parts()
    _check_captured(fwd, tangents[count:], name)
    outs = run_jaxpr(fwd, primals)
    n, captured = len(jaxpr.outputs), primals[count:]
    residuals = [*outs[n:], *captured]
    dots = custom_linear(
        *residuals, *present(tangents[:count]), bwd=Backward(bwd, len(captured)),
        avals=tuple(o.aval for o in outs[:n]), residuals=len(residuals), name=name,
        moving=tuple(t is not None for t in tangents[:count]),
    )  # fmt: skip
    return outs[:n], [d if d.dtype.kind in "fc" else None for d in dots]


def _check_captured(part: Jaxpr, tangents: Maybe, name: str) -> None:
    """`_check_closure` for a staged rule: its captures come last."""
    own = len(part.inputs) - len(tangents)
    flags = (*[False] * own, *(t is not None for t in tangents))
    if any(flags) and any(jvp_jaxpr(part, flags)[1]):
        raise _closure_error(name)


class Backward:
    """A backward rule as a jaxpr of residuals, cotangents, captured values."""

    def __init__(self, jaxpr: Jaxpr, captured: int) -> None:
        self.jaxpr, self.captured = jaxpr, captured

    def __call__(self, residuals: Arrays, cts: Arrays) -> list[Array | None]:
        k = len(residuals) - self.captured
        found = run_jaxpr(self.jaxpr, [*residuals[:k], *cts, *residuals[k:]])
        return [ct if ct.dtype.kind in "fc" else None for ct in found]


def _call_batch(
    size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr, rule: Rule, count: int,
    kind: str, name: str,
) -> tuple[Any, ...]:  # fmt: skip
    """Map the function and its rule together."""
    staged = Staged(jaxpr, size, batched, count, kind, name)
    outs = custom_call(
        *operands, jaxpr=staged.jaxpr, rule=rule.mapped(staged.part), count=count, kind=kind,
        name=name,
    )  # fmt: skip
    return flagged(outs, staged.outs)


def _call_discharge(
    operands: Arrays, first: int, *, jaxpr: Jaxpr, rule: Rule, name: str, **params: Any
) -> Any:
    """The rule applies to the results only; the findings are computed beside them."""
    outs = custom_call(*operands, jaxpr=unchecked(jaxpr), rule=rule, name=name, **params)
    whole, failures = discharged(jaxpr, first)
    finding = Jaxpr(whole.inputs, whole.eqns, whole.outputs[-1:])
    return outs, jit_call(*operands, jaxpr=finding, name=name)[0], failures


custom_call = Primitive(
    "custom_call",
    abstract=_abstract,
    explicit=jaxpr_explicit,
    reference=_reference,
    lower=_lower,
    jvp=_call_jvp,
    linearize=_call_linearize,
    transpose=Missing("its rule decides what its derivative is"),
    batch=_call_batch,
    discharge=_call_discharge,
    multiple_results=True,
    kind="call",
)


# -- the tangent of a custom_vjp: known only by its transpose --------------------------------------


def _linear_abstract(*_: Aval, avals: tuple[Aval, ...], **__: Any) -> tuple[Aval, ...]:
    return avals


def _linear_forward(*_: Any, name: str, **__: Any) -> Any:
    raise forward_error(name)


def _linear_transpose(
    cts: Any, *operands: Any, bwd: Any, residuals: int, moving: Sequence[bool], **_: Any
) -> list[Any]:
    found = bwd(list(operands[:residuals]), list(cts))
    return [*[None] * residuals, *(ct for ct, m in zip(found, moving, strict=True) if m)]


def _same(ins: Sequence[In], params: Any) -> tuple[Any, ...]:
    return tuple(ins)


custom_linear = Primitive(
    "custom_linear",
    abstract=_linear_abstract,
    explicit=_same,
    reference=_linear_forward,
    lower=_linear_forward,
    jvp=Missing("it stands in the tangent of a custom_vjp, which has no forward mode"),
    transpose=_linear_transpose,
    batch=Missing("it stands in the tangent of a custom_vjp, which has no forward mode"),
    multiple_results=True,
    kind="call",
)
