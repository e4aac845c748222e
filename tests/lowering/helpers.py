"""Programs written directly on the builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._avals import aval_of
from lazynp._jaxpr import Eqn, Jaxpr, Var


class Stub:
    """A primitive whose `lower` rule is a function of the test."""

    name, multiple_results, explicit = "stub", True, None
    free, kind, cost = False, "other", None

    def __init__(self, lower: Callable[..., Any]) -> None:
        self._lower = lower

    def lower(self, b: Any, *operands: Any) -> list[Any]:
        out = self._lower(b, *operands)
        return list(out) if isinstance(out, list | tuple) else [out]

    def abstract(self, *avals: Any) -> list[Any]:
        values = [lowering.Value(f"%a{i}", aval) for i, aval in enumerate(avals)]
        return [v.aval for v in self.lower(lowering.Builder(), *values)]

    def reference(self, *args: Any) -> Any:
        raise NotImplementedError


def jaxpr_of(lower: Callable[..., Any], arrays: Sequence[Any]) -> Jaxpr:
    stub = Stub(lower)
    inputs = [Var(aval_of(np.shape(a), np.asarray(a).dtype)) for a in arrays]
    outputs = [Var(aval) for aval in stub.abstract(*[v.aval for v in inputs])]
    return Jaxpr(inputs, [Eqn(stub, inputs, {}, outputs)], outputs)


def compiled(lower: Callable[..., Any], *arrays: Any, donate: Sequence[int] = ()) -> Any:
    return lowering.compile_program(jaxpr_of(lower, arrays), donate)


def evaluate(lower: Callable[..., Any], *arrays: Any) -> Any:
    """Run the program: one array, or a list of them."""
    executable = compiled(lower, *arrays)
    outs = executable.run([lowering.put(np.asarray(a)) for a in arrays])
    outs = [lowering.host(x) for x in outs]
    return outs[0] if len(outs) == 1 else outs
