"""Hybrid programs: compiled pieces and NumPy calls in sequence, where that is faster.

Each operation of a jaxpr gets a stage, after the NumPy calls that it depends on. The operations
between two stages are compiled as one piece.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from lazynp._observers import observers
from lazynp._quiet import quietly


class Pieces:
    """Runs like `lowering.Executable`. Donates nothing, so an interrupted run loses nothing."""

    def __init__(self, jaxpr: Jaxpr, by_host: Container[int]) -> None:
        """`by_host`: the positions of the equations that NumPy runs."""
        self._inputs, self._outputs = jaxpr.inputs, jaxpr.outputs
        stage_of: dict[Var, int] = {}
        # for each stage: compiled equations, then NumPy's
        stages: list[tuple[list[Eqn], list[Eqn]]] = [([], [])]
        for place, eqn in enumerate(jaxpr.eqns):
            stage = max([stage_of.get(a, 0) for a in eqn.inputs if isinstance(a, Var)], default=0)
            host = place in by_host
            while len(stages) <= stage + host:
                stages.append(([], []))
            stages[stage][host].append(eqn)
            stage_of.update((v, stage + host) for v in eqn.outputs)
        self.steps: list[_Piece | Eqn] = []
        for k, (compiled, calls) in enumerate(stages):
            if compiled:
                later = [e for pair in stages[k + 1 :] for es in pair for e in es]
                self.steps.append(_Piece(compiled, [*calls, *later], jaxpr.outputs))
            self.steps += calls
        self.wanted = [None for _ in jaxpr.inputs]
        pieces = [s.executable for s in self.steps if isinstance(s, _Piece)]
        self.from_disk = all(e.from_disk for e in pieces) if pieces else None
        self.text = "\n".join(
            s.executable.text if isinstance(s, _Piece) else f"// by NumPy: {s}" for s in self.steps
        )

    def put(self, array: Any, owned: bool) -> Any:
        """As `lowering.Executable` does it."""
        return lowering.put(array, owned)

    def brought(self, buffer: Any) -> Any:
        """Each piece accepts the buffer as it is."""
        return buffer

    def run(self, buffers: Sequence[Any], into: list[Any], checked: bool = False) -> list[Any]:
        """`into` becomes a list that contains the returned list. The pieces check their operands in
        any case.
        """
        env: dict[Atom, Any] = dict(zip(self._inputs, buffers, strict=True))
        for step in self.steps:
            begin = perf_counter() if observers else 0.0
            if isinstance(step, _Piece):
                step.run(env)
                continue
            quietly(_call, [step, env])
            if begin:
                for o in observers:
                    o.called(begin, step.primitive.name)
        into[:] = [[a.value if isinstance(a, Literal) else env[a] for a in self._outputs]]
        return into[0]


class _Piece:
    """A compiled part of a program; its inputs and outputs are the program's variables."""

    def __init__(self, eqns: list[Eqn], later: list[Eqn], outputs: Sequence[Atom]) -> None:
        own = {v for e in eqns for v in e.outputs}
        wanted = [*outputs, *(a for e in later for a in e.inputs)]
        self.outputs = list(dict.fromkeys(a for a in wanted if isinstance(a, Var) and a in own))
        needed = (a for e in eqns for a in e.inputs)
        self.inputs = list(dict.fromkeys(a for a in needed if isinstance(a, Var) and a not in own))
        self.executable = lowering.compile_program(Jaxpr(self.inputs, eqns, list(self.outputs)))

    def run(self, env: dict[Atom, Any]) -> None:
        buffers = []
        for v in self.inputs:
            value = env[v]
            if not lowering.is_buffer(value):
                value = np.asarray(value)
                value = env[v] = self.executable.put(value, lowering.is_aligned(value))
            buffers.append(value)
        env.update(zip(self.outputs, self.executable.run(buffers), strict=True))


def _call(eqn: Eqn, env: dict[Atom, Any]) -> None:
    values = [a.value if isinstance(a, Literal) else _host(env[a]) for a in eqn.inputs]
    result = eqn.primitive.reference(*values, **eqn.params)
    results = result if eqn.primitive.multiple_results else (result,)
    for var, value in zip(eqn.outputs, results, strict=True):
        env[var] = value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _host(value: Any) -> Any:
    return lowering.host(value) if lowering.is_buffer(value) else value
