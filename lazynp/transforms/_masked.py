"""A round of a loop that may be over: its state stays as it is then.

A conditional around the whole round would copy the arrays that loops within it write. So the round
is cut at these loops. Each part between them runs in a branch (see `_elements`), and the loops run
no round, or rounds that are masked in turn. Nothing is computed of values that are not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from lazynp.primitives import elementwise
from lazynp.transforms._checks import has_checks
from lazynp.transforms._cond import cond_call
from lazynp.transforms._elements import Uses, by_elements
from lazynp.transforms._scan import scan_call
from lazynp.transforms._stack import zeros
from lazynp.transforms._stage import literal, run_jaxpr, stage_closed

_INT = np.dtype(np.int64)


def masked(going: Array, jaxpr: Jaxpr, state: int, xs: Sequence[Array]) -> list[Array]:
    """What the jaxpr makes of xs if `going`, else the last xs, from number `state` on."""
    if not any(map(_is_cut, jaxpr.eqns)):
        unchanged = stage_closed(lambda ys: ys[state:], jaxpr.in_avals)
        return by_elements(cond_call, _index(going), xs, [unchanged, jaxpr])
    return _Round(going, jaxpr, xs).run(state)


def _index(going: Array) -> Array:
    return elementwise.convert(going, dtype=_INT)


def _is_cut(eqn: Eqn) -> bool:
    """Whether this is a loop that can run no round, or be masked."""
    if eqn.primitive.name == "while":
        return not has_checks(eqn.params["cond"])
    return eqn.primitive is scan_call and len(eqn.outputs) == eqn.params["carry"]


class _Round:
    """One round, cut at the loops in it."""

    def __init__(self, going: Array, jaxpr: Jaxpr, xs: Sequence[Array]) -> None:
        self.going, self.jaxpr, self.xs = going, jaxpr, xs
        self.env: dict[Var, Array] = dict(zip(jaxpr.inputs, xs, strict=True))
        # for what is one of xs unless `going`: which of them
        self.origin: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.inputs)}

    def run(self, state: int) -> list[Array]:
        part: list[Eqn] = []
        for place, eqn in enumerate(self.jaxpr.eqns):
            if not _is_cut(eqn):
                part.append(eqn)
                continue
            self._branch(part, self.jaxpr.eqns[place:])
            self._loop(eqn)
            part = []
        self._branch(part, ())
        return [
            self._read(a) if self.origin.get(a) == i
            else elementwise.select(self.going, self._read(a), self.xs[i])
            for i, a in enumerate(self.jaxpr.outputs, state)
        ]  # fmt: skip

    def _read(self, atom: Atom) -> Array:
        return literal(atom) if isinstance(atom, Literal) else self.env[atom]

    def _branch(self, eqns: Sequence[Eqn], rest: Sequence[Eqn]) -> None:
        """Run equations if `going`. Otherwise the results are zeros, or arrays as they were."""
        later = {a for e in rest for a in e.inputs} | set(self.jaxpr.outputs)
        made = [v for e in eqns for v in e.outputs]
        outs = [v for v in made if v in later]
        if not eqns:
            return
        known = set(made)
        read = dict.fromkeys(
            a for e in eqns for a in e.inputs if isinstance(a, Var) and a not in known
        )
        inner = Jaxpr(list(read), eqns, outs)
        uses = Uses(inner)
        places = [uses.version(i, uses.whole) for i in range(len(outs))]

        def otherwise(ys: list[Array]) -> list[Array]:
            return [
                zeros(v.aval) if place is None else ys[place]
                for v, place in zip(outs, places, strict=True)
            ]

        other = stage_closed(otherwise, inner.in_avals)
        operands = [self.env[v] for v in read]
        results = by_elements(cond_call, _index(self.going), operands, [other, inner])
        self.env.update(zip(outs, results, strict=True))
        for v, place in zip(outs, places, strict=True):
            before = None if place is None else self.origin.get(inner.inputs[place])
            if before is not None:
                self.origin[v] = before

    def _loop(self, eqn: Eqn) -> None:
        operands = [self.going, *map(self._read, eqn.inputs)]
        params, consts = dict(eqn.params), eqn.params["consts"]
        params["consts"] = consts + 1
        if eqn.primitive is scan_call:
            step = params["jaxpr"]
            params["jaxpr"] = stage_closed(
                lambda ys: masked(ys[0], step, consts, ys[1:]), [self.going.aval, *step.in_avals]
            )
        else:
            cond, body = params["cond"], params["body"]
            avals = [self.going.aval, *body.in_avals]
            params["cond"] = stage_closed(
                lambda ys: [elementwise.logical_and(ys[0], run_jaxpr(cond, ys[1:])[0])], avals
            )
            params["body"] = stage_closed(lambda ys: run_jaxpr(body, ys[1:]), avals)
        rule: Any = eqn.primitive
        self.env.update(zip(eqn.outputs, rule(*operands, **params), strict=True))
        for v, a in zip(eqn.outputs, eqn.inputs[consts:], strict=False):
            if a in self.origin:
                self.origin[v] = self.origin[a]
