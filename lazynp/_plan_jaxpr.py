"""How the steps of a plan become a jaxpr, and its varying slots operands of it.

Casts and broadcasts that a step implies become equations. The slots of one kind that vary are
packed into one vector, which the jaxpr takes apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._extents import same_shape
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Rules, Var, check
from lazynp._node import PROJECT, Op
from lazynp._quiet import quietly


@dataclass(frozen=True)
class Structural:
    """The primitives that make a recorded node explicit. The module `shaping` provides them."""

    convert: Rules
    broadcast_in_dim: Rules
    slice: Rules


_structural: list[Structural] = []


def install(structural: Structural) -> None:
    """Called once, by the module that declares these primitives."""
    _structural[:] = [structural]


# An operand of a step: ("node", i), ("leaf", j) or ("slot", k).
Ref = tuple[str, int]


@dataclass(slots=True)
class Step:
    position: int  # the position of the node in the form
    op: Op
    refs: tuple[Ref, ...]


@dataclass(slots=True)
class Program:
    """One executable and its calling convention: these leaves, then a vector for each slot kind."""

    jaxpr: Jaxpr
    executable: Any
    leaves: list[int]
    packed: list[tuple[str, list[int]]]
    dtypes: dict[str, list[np.dtype[Any]]]


# Every dtype of a kind fits exactly into the vector of its kind.
VECTORS = {"f": np.dtype("f8"), "i": np.dtype("i8"), "c": np.dtype("c16")}
_KIND = {"b": "i", "i": "i", "u": "i", "f": "f", "c": "c"}


def cast_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python or NumPy scalar, cast as NumPy casts it when combined with an array of this
    dtype.
    """
    if isinstance(value, np.generic):
        return quietly(value.astype, [dtype])
    return quietly(dtype.type, [value])


def packed_scalars(
    kind: str, values: list[Any], dtypes: list[np.dtype[Any]]
) -> np.ndarray[Any, Any]:
    vector = VECTORS[kind]
    if all([d is vector for d in dtypes]):
        return np.array(values, vector)
    cast = [cast_scalar(v, d) for v, d in zip(values, dtypes, strict=True)]
    if kind == "i":
        cast = [int(v) - (1 << 64) if int(v) > 0x7FFFFFFFFFFFFFFF else int(v) for v in cast]
    return np.array(cast, vector)


class Lowerer:
    """Turns a plan into a jaxpr: implicit casts and broadcasts become equations."""

    def __init__(self, plan: Any, slots: list[Any], varying: frozenset[int]) -> None:
        self.plan, self.slots, self.varying = plan, slots, varying
        self.tools = _structural[0]
        self.eqns: list[Eqn] = []
        self.nodes: dict[int, Any] = {}  # position -> Var, or a tuple with multiple results
        self.leaf_vars: dict[int, Var] = {}
        self.vectors: dict[str, tuple[Var, list[int]]] = {}
        self.slot_vars: dict[int, Atom] = {}
        self.coerced: dict[tuple[Atom, Aval], Atom] = {}
        self.tied = plan.tied or {} if varying else {}
        self.origins: Sequence[Any] = ()  # of the steps
        self.origin: Any = None  # of this step

    def program(self) -> Program:
        jaxpr = self.jaxpr()
        if config.debug:
            check(jaxpr)
        packed = [(kind, indices) for kind, (_, indices) in self.vectors.items()]
        dtypes = {kind: [self.plan.slot_avals[k].dtype for k in ks] for kind, ks in packed}
        executable = self.plan.compiled(jaxpr, list(self.leaf_vars))
        return Program(jaxpr, executable, list(self.leaf_vars), packed, dtypes)

    def jaxpr(self, wanted: list[Ref] | None = None, origins: Sequence[Any] = ()) -> Jaxpr:
        self.origins = origins
        self._declare_vectors()
        for step in self.plan.steps:
            self._step(step)
        if wanted is None:
            wanted = [("node", position) for position in self.plan.outputs]
        outputs: list[Atom] = []
        for kind, index in wanted:
            value = self.nodes[index] if kind == "node" else self.leaf_vars[index]
            outputs.extend(value if isinstance(value, tuple) else (value,))
        inputs = [*self.leaf_vars.values(), *(var for var, _ in self.vectors.values())]
        return Jaxpr(inputs, self.eqns, outputs)

    def _declare_vectors(self) -> None:
        kinds: dict[str, list[int]] = {}
        for k in sorted(self.varying - self.tied.keys()):
            kinds.setdefault(_KIND[self.plan.slot_avals[k].dtype.kind], []).append(k)
        for kind, indices in kinds.items():
            self.vectors[kind] = (Var(aval_of((len(indices),), VECTORS[kind])), indices)

    def _step(self, step: Step) -> None:
        op = step.op
        if op.primitive is PROJECT:
            self.nodes[step.position] = self.nodes[step.refs[0][1]][op.params["index"]]
            return
        inputs = [
            self._coerce(self._atom(ref, aval), aval)
            for ref, aval in zip(step.refs, op.explicit, strict=True)
        ]
        self.origin = self.origins[step.position] if self.origins else None
        self.nodes[step.position] = self._emit(op.primitive, inputs, op.params)

    def _emit(self, primitive: Rules, inputs: list[Atom], params: dict[str, Any]) -> Any:
        avals = primitive.abstract(*[a.aval for a in inputs], **params)
        if primitive.multiple_results:
            outs = tuple(Var(a) for a in avals)
            self.eqns.append(Eqn(primitive, inputs, params, outs, origin=self.origin))
            return outs
        out = Var(avals)
        self.eqns.append(Eqn(primitive, inputs, params, (out,), origin=self.origin))
        return out

    def _atom(self, ref: Ref, target: Aval) -> Atom:
        kind, index = ref
        if kind == "node":
            return self.nodes[index]
        if kind == "leaf":
            var = self.leaf_vars.get(index)
            if var is None:
                var = self.leaf_vars[index] = Var(self.plan.leaf_avals[index])
            return var
        if index in self.varying:
            return self._unpack(self.tied.get(index, index))
        aval = aval_of((), target.dtype, target.weak)
        return Literal(cast_scalar(self.slots[index], target.dtype), aval)

    def _unpack(self, slot: int) -> Atom:
        var = self.slot_vars.get(slot)
        if var is None:
            dtype = self.plan.slot_avals[slot].dtype
            vector, indices = self.vectors[_KIND[dtype.kind]]
            start = Literal(np.int64(indices.index(slot)), aval_of((), np.dtype("i8")))
            params = {"axes": (0,), "sizes": (1,), "strides": (1,), "shape": ()}
            var = self._emit(self.tools.slice, [vector, start], params)
            var = self.slot_vars[slot] = self._coerce(var, aval_of((), dtype))
        return var

    def _coerce(self, atom: Atom, target: Aval) -> Atom:
        """Cast, then broadcast, by separate equations."""
        if atom.aval is target:
            return atom
        key = (atom, target)
        done = self.coerced.get(key)
        if done is None:
            done = atom
            if done.aval.dtype != target.dtype:
                done = self._emit(self.tools.convert, [done], {"dtype": target.dtype})
            if not same_shape(done.aval.shape, target.shape):
                first = target.ndim - done.aval.ndim
                params = {"shape": target.shape, "dims": tuple(range(first, target.ndim))}
                done = self._emit(self.tools.broadcast_in_dim, [done], params)
            if isinstance(atom, Var):
                self.coerced[key] = done
        return done


def lowered_plan(
    plan: Any, slots: list[Any], varying: frozenset[int], wanted: list[Ref]
) -> tuple[Jaxpr, list[Var], dict[str, tuple[Var, list[int]]]]:
    """The jaxpr with every leaf an input and these outputs, the variables of its leaves, and those
    of its packed slots.
    """
    lowerer = Lowerer(plan, slots, varying)
    lowerer.leaf_vars = {j: Var(aval) for j, aval in enumerate(plan.leaf_avals)}
    jaxpr = lowerer.jaxpr(wanted)
    return jaxpr, list(lowerer.leaf_vars.values()), lowerer.vectors
