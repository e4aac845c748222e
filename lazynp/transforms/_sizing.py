"""Programs with sizes: what numbers make of them.

While a function is traced, sizes stand in types and parameters. `with_values` puts numbers in, and
infers every equation again: so errors of sizes are NumPy's, and are found before anything runs.
`_expanding` writes such programs down.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._avals import Aval, SizedAval, aval_of, on_device
from lazynp._errors import Failure
from lazynp._extents import Numbers, mapped
from lazynp._jaxpr import Atom as Operand, Eqn, Jaxpr, Literal, Var
from lazynp._memo import cached, drop_oldest
from lazynp._node import hosted
from lazynp._sizes import Atom, Dim, Size
from lazynp.primitives import shaping

Values = Callable[[Size], int]


# -- sizes of bodies -------------------------------------------------------------------------------

Required = tuple[Dim, Any, Callable[[Any], BaseException]]


@dataclass(frozen=True, eq=False)
class Own:
    """The sizes that belong to a staged body.

    variables: the first inputs hold them. made: the last outputs hold the integers of these.
    required: see `Table`.
    """

    variables: tuple[Atom, ...] = ()
    made: tuple[Atom, ...] = ()
    required: tuple[Required, ...] = ()

    def atoms(self) -> set[Atom]:
        return {*self.variables, *self.made}


def atoms_of(x: Any, found: set[Atom]) -> None:
    """Add the variables of all sizes in a parameter or type, also in jaxprs."""
    if type(x) is Size:
        found.update(x.variables())
    elif type(x) is tuple:
        for y in x:
            atoms_of(y, found)
    elif isinstance(x, Jaxpr):
        for var in (*x.inputs, *x.outputs):
            atoms_of(var.aval.shape, found)
        for eqn in x.eqns:
            found |= atoms_in(eqn)
    elif hasattr(x, "mapped"):  # the jaxprs of a custom rule
        x.mapped(lambda part, _: (atoms_of(part, found), part)[1])


def atoms_in(eqn: Eqn) -> set[Atom]:
    """The variables of all sizes in an equation, but for those of its bodies' own."""
    found: set[Atom] = set()
    for var in (*eqn.inputs, *eqn.outputs):
        atoms_of(var.aval.shape, found)
    for p in eqn.params.values():
        atoms_of(p, found)
    for p in eqn.params.values():
        for own in p if type(p) is tuple else (p,):
            if type(own) is Own:
                found -= own.atoms()
    return found


# -- putting numbers in ----------------------------------------------------------------------------


def rotated(items: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The items with the first ones last."""
    return (*items[count:], *items[:count])


# whose results have the sizes that they were traced with, if these are not negative: whatever they
# require of sizes was decided for all values then
_DECIDED = {
    "broadcast_in_dim", "concatenate", "constant", "cumprod", "cumsum", "full", "iota",
    "reduce_and", "reduce_or", "reduce_prod", "reduce_sum", "reverse", "transpose",
}  # fmt: skip


class _Step:
    """What numbers change of an equation."""

    __slots__ = ("eqn", "keys", "checked", "length")

    def __init__(self, eqn: Eqn) -> None:
        """keys: of parameters with sizes. checked: whether it must be inferred again."""
        self.eqn, self.length = eqn, type(eqn.params.get("length")) is Size
        self.keys = [k for k, p in eqn.params.items() if _holds_sizes(p)]
        avals = [a.aval for a in (*eqn.inputs, *eqn.outputs)]
        sized = bool(self.keys) or any(type(a) is SizedAval for a in avals)
        name, kind = eqn.primitive.name, eqn.primitive.kind
        self.checked = sized and kind != "elementwise" and name not in _DECIDED


def _holds_sizes(p: Any) -> bool:
    if type(p) is tuple:
        return any(map(_holds_sizes, p))
    if type(p) is Failure:
        return type(p.size) is Size
    return type(p) is Size or isinstance(p, Jaxpr) or hasattr(p, "mapped")


@cached()
def _steps_of(jaxpr: Jaxpr) -> list[_Step]:
    return list(map(_Step, jaxpr.eqns))


def with_values(jaxpr: Jaxpr, values: Values, sizes: Sequence[int] = ()) -> Jaxpr:
    """The jaxpr in which the variables of sizes have these values. sizes: those that its first
    inputs hold, which become constants.
    """
    first = len(sizes)
    env: dict[Operand, Operand] = {
        v: Literal(np.int64(n), v.aval) for v, n in zip(jaxpr.inputs, sizes, strict=False)
    }
    known: dict[Aval, Aval] = {}

    def aval(x: Aval) -> Aval:
        if type(x) is not SizedAval:
            return x
        found = known.get(x)
        if found is None:
            found = known[x] = _aval(x, values)
            if any([n < 0 for n in found.shape if type(n) is int]):
                raise ValueError("negative dimensions are not allowed")
        return found

    inputs = [Var(aval(v.aval)) for v in jaxpr.inputs[first:]]
    env.update(zip(jaxpr.inputs[first:], inputs, strict=True))
    eqns = []
    for step in _steps_of(jaxpr):
        eqn = step.eqn
        operands = [a if type(a) is Literal else env[a] for a in eqn.inputs]
        params = eqn.params
        if step.length and not values(params["length"]):
            eqns += _no_round(eqn, operands, env, values)
            continue
        if step.keys:
            params = params | {k: numbered(params[k], values) for k in step.keys}
        if step.checked:
            out = eqn.primitive.abstract(*[a.aval for a in operands], **params)
            avals = out if eqn.primitive.multiple_results else (out,)
            if any([n < 0 for a in avals for n in a.shape if type(n) is int]):
                raise ValueError("negative dimensions are not allowed")
        else:
            avals = [aval(v.aval) for v in eqn.outputs]
        outs = list(map(Var, avals))
        env.update(zip(eqn.outputs, outs, strict=True))
        eqns.append(Eqn(eqn.primitive, operands, params, outs))
    outputs = [a if type(a) is Literal else env[a] for a in jaxpr.outputs]
    made = Jaxpr(inputs, eqns, outputs)  # type: ignore[arg-type]
    made.hosted = _hosts(jaxpr)
    return made


@cached()
def _hosts(jaxpr: Jaxpr) -> bool:
    return any(
        hosted(e.primitive, e.params) or not all(on_device(v.aval.dtype) for v in e.outputs)
        for e in jaxpr.eqns
    )


def _no_round(
    eqn: Eqn, operands: Sequence[Operand], env: dict[Operand, Operand], values: Values
) -> list[Eqn]:
    """A scan of no round gives what it was given; its body need not be right for such sizes."""
    consts, carry = eqn.params["consts"], eqn.params["carry"]
    env.update(zip(eqn.outputs[:carry], operands[consts : consts + carry], strict=True))
    made = []
    for var in eqn.outputs[carry:]:
        shape = tuple([max(n, 0) for n in mapped(var.aval.shape, values)])
        aval = aval_of(shape, var.aval.dtype, var.aval.weak)
        zero = Literal(aval.dtype.type(0), aval_of((), aval.dtype))
        new = env[var] = Var(aval)
        params = {"shape": shape, "dtype": aval.dtype}
        made.append(Eqn(shaping.full, (zero,), params, (new,)))
    return made


def _aval(aval: Aval, values: Values) -> Aval:
    if type(aval) is not SizedAval:
        return aval
    return aval_of(mapped(aval.shape, values), aval.dtype, aval.weak)


def numbered(x: Any, values: Values) -> Any:
    """A parameter with these values for its sizes, also in jaxprs."""
    if isinstance(x, Jaxpr):
        return with_values(x, values)
    if type(x) is Failure:
        return replace(x, size=mapped(x.size, values))
    if isinstance(x, tuple) and any(isinstance(j, (Jaxpr, Failure)) for j in x):
        return tuple([numbered(j, values) for j in x])
    if not isinstance(x, (tuple, Size)) and hasattr(x, "mapped"):  # the jaxprs of a custom rule
        return x.mapped(lambda part, _: with_values(part, values))
    return mapped(x, values)


def computing(jaxpr: Jaxpr, place: int) -> Jaxpr:
    """The part of a jaxpr that computes one of its outputs."""
    wanted = {jaxpr.outputs[place]}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if wanted.intersection(eqn.outputs):
            wanted.update(eqn.inputs)
            eqns.append(eqn)
    return Jaxpr(jaxpr.inputs, eqns[::-1], (jaxpr.outputs[place],))


# -- a traced program ------------------------------------------------------------------------------


class SizedProgram:
    """A program that was traced once for all sizes.

    raw: with sizes in its types; its first inputs are the sizes in `places` (by name: leaves of the
    arguments, axes), its last outputs the integers that `made` stand for.
    """

    __slots__ = ("raw", "places", "axes", "made", "jaxpr", "known", "required", "pieces",
                 "by_data", "buckets", "whole", "costs", "largest")  # fmt: skip

    def __init__(
        self,
        raw: Jaxpr,
        places: dict[str, list[tuple[int, int]]],
        axes: Sequence[Atom],
        made: Sequence[Atom],
        jaxpr: Jaxpr,
        required: Sequence[Required],
    ) -> None:
        """jaxpr: the expanded one. required: see `Table`."""
        self.raw, self.places, self.axes, self.made = raw, places, list(axes), list(made)
        self.required = list(required)
        self.jaxpr = jaxpr
        self.known: dict[tuple[int, ...], Jaxpr] = {}  # of the sizes met last
        self.pieces: Any = None  # see `_sized_runs`
        self.by_data: bool | None = None
        first = len(raw.outputs) - len(self.made)
        self.whole = Jaxpr(raw.inputs, raw.eqns, raw.outputs[:first])  # without these
        self.costs: dict[tuple[int, ...], float] = {}  # by reference, at about these sizes
        self.buckets: Any = None  # see `_buckets`
        self.largest = 1  # the largest size that was met

    def varies(self) -> bool:
        """Whether the next call may run by another program (that of a bucket) than this one."""
        return self.buckets is None or self.buckets.varies()

    def program(
        self, sizes: list[int], value: Callable[[Jaxpr | int], int]
    ) -> tuple[Jaxpr, Values]:
        """The program for these sizes, and the values of its variables. value: an integer that the
        program takes (by place) or computes (by a jaxpr).
        """
        values: dict[Atom, int] = dict(zip(self.axes, sizes, strict=True))
        numbers = Numbers(values.__getitem__).__getitem__
        first = len(self.raw.outputs) - len(self.made)
        inputs = {v: i for i, v in enumerate(self.raw.inputs)}
        for i, atom in enumerate(self.made):
            out = self.raw.outputs[first + i]
            if isinstance(out, Var) and out in inputs:
                values[atom] = value(inputs[out] - len(self.axes))
            else:
                part = computing(self.raw, first + i)
                values[atom] = value(with_values(part, numbers, sizes))
        key = tuple(values.values())
        self.largest = max(self.largest, *sizes) if sizes else max(self.largest, *key)
        found = self.known.get(key)
        if found is None:
            for size, told, error in self.required:
                if mapped(size, numbers) < 0:
                    raise error(mapped(told, numbers))
            found = with_values(self.whole, numbers, sizes)
            near = tuple([n >> max(n.bit_length() - 3, 0) << max(n.bit_length() - 3, 0)
                          for n in key])  # fmt: skip
            if near not in self.costs and len(self.costs) < _KNOWN:
                self.costs[near] = _cost.by_reference(found)
            found.cost = self.costs.get(near)
            with _lock:
                if len(self.known) >= _KNOWN:
                    drop_oldest(self.known)
                self.known[key] = found
        return found, numbers


_lock = threading.RLock()  # of `known`; destructors and signal handlers may compute
_KNOWN = 64  # sizes whose programs are kept
