"""The reference interpreter of jaxprs: equation by equation, by NumPy.

A jaxpr that runs again is prepared: its rules are looked up once, and each value is dropped after
its last use. Many run only once, at one size of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray, ufunc

from lazynp._avals import Aval
from lazynp._config import config
from lazynp._errors import NanError
from lazynp._jaxpr import Atom, Jaxpr, Literal, has_new_nan

Rule = Callable[..., Any]


def rule_for(specialize: Any, rule: Any, params: dict[str, Any], avals: tuple[Aval, ...]) -> Any:
    """The rule for these parameters and avals: a specialised one, or the rule with the parameters
    bound.
    """
    special = None if specialize is None else specialize(params, avals)
    return special or (rule and with_params(rule, params))


def with_params(rule: Rule, params: dict[str, Any]) -> Rule:
    """The rule with its parameters bound."""
    if not params:
        return rule

    def call(*values: Any) -> Any:
        return rule(*values, **params)

    return call


# of an equation: the rule, the places of the operands, that of the result (of each, in a tuple),
# and the places of values that nothing reads any more
_Step = tuple[Rule, tuple[int, ...], Any, tuple[int, ...]]


class _Prepared:
    """A jaxpr whose variables are places in a list. The list begins with the inputs."""

    __slots__ = ("rest", "steps", "outputs", "scalars")

    def __init__(self, jaxpr: Jaxpr) -> None:
        places: dict[Atom, int] = {}
        self.rest: list[Any] = []  # of the list after the inputs: constants, and room for results
        for var in jaxpr.inputs:
            places[var] = len(places)
        first = len(places)
        self.scalars = [i for i, v in enumerate(jaxpr.inputs) if not v.aval.ndim]

        def place(atom: Atom) -> int:
            found = places.get(atom)
            if found is None:
                found = places[atom] = first + len(self.rest)
                self.rest.append(atom.value if isinstance(atom, Literal) else None)
            return found

        reads = [tuple(map(place, eqn.inputs)) for eqn in jaxpr.eqns]
        self.outputs = [place(a) for a in jaxpr.outputs]
        kept = {*range(first), *self.outputs, *(i for a, i in places.items() if type(a) is Literal)}
        self.steps: list[_Step] = []
        for eqn, ins in zip(reversed(jaxpr.eqns), reversed(reads), strict=True):
            outs = tuple(map(place, eqn.outputs))
            dead = tuple({*ins, *outs} - kept)
            kept.update(ins)
            p, avals = eqn.primitive, tuple([a.aval for a in eqn.inputs])
            rule = rule_for(p.specialize, p.reference, eqn.params, avals)
            if not p.multiple_results and not eqn.outputs[0].aval.ndim:
                rule = _scalar_of(rule)
            self.steps.append((rule, ins, outs if p.multiple_results else outs[0], dead))
        self.steps.reverse()

    def run(self, args: Sequence[Any]) -> list[Any]:
        env = [*args, *self.rest]
        for i in self.scalars:
            env[i] = _scalar(env[i])
        for rule, ins, outs, dead in self.steps:
            if len(ins) == 2:  # half of all equations
                result = rule(env[ins[0]], env[ins[1]])
            else:
                result = rule(*[env[i] for i in ins])
            if type(outs) is int:
                env[outs] = result
            else:
                for i, x in zip(outs, result, strict=True):
                    env[i] = _scalar(x)
            for i in dead:
                env[i] = None
        return [env[i] for i in self.outputs]


def _scalar(x: Any) -> Any:
    """A 0-d array as NumPy's scalar: that is what the rules get from the graph, too."""
    return x[()] if type(x) is ndarray and not x.ndim else x


def _scalar_of(rule: Rule) -> Rule:
    if type(rule) is ufunc:  # gives scalars
        return rule
    return lambda *values: _scalar(rule(*values))


def eval_reference(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Run a jaxpr on NumPy values with the reference rules."""
    if len(args) != len(jaxpr.inputs):
        raise ValueError(f"{len(jaxpr.inputs)} values are required, got {len(args)}")
    prepared = jaxpr.prepared
    if prepared is None or config.debug_nans:
        jaxpr.prepared = prepared or False
        return _eval_once(jaxpr, args, config.debug_nans)
    if prepared is False:
        prepared = jaxpr.prepared = _Prepared(jaxpr)
    return prepared.run(args)


def _eval_once(jaxpr: Jaxpr, args: Sequence[Any], checked: bool) -> list[Any]:
    """checked: under `debug_nans`."""
    env: dict[Atom, Any] = dict(zip(jaxpr.inputs, args, strict=True))

    def read(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = [read(a) for a in eqn.inputs]
        out = eqn.primitive.reference(*operands, **eqn.params)
        outs = out if eqn.primitive.multiple_results else (out,)
        if checked and has_new_nan(outs, operands):
            raise NanError(eqn.primitive.name)
        env.update(zip(eqn.outputs, outs, strict=True))
    return [read(a) for a in jaxpr.outputs]
