"""Programs with sizes: what numbers make of them.

While a function is traced, sizes stand in types and parameters. `with_values` puts numbers in, and
infers every equation again: so errors of sizes are NumPy's, and are found before anything runs.
`_expanding` writes such programs down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, SizedAval, aval_of, on_device
from lazynp._dataclass import dataclass, replace
from lazynp._errors import Failure, of_these_sizes
from lazynp._extents import mapped
from lazynp._jaxpr import Atom as Operand, Eqn, Jaxpr, Literal, Var
from lazynp._memo import cached
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
    elif type(x) is Failure:
        atoms_of(x.size, found)
    elif isinstance(x, tuple):
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
DECIDED = {
    "broadcast_in_dim", "concatenate", "constant", "cumprod", "cumsum", "full", "iota",
    "reduce_and", "reduce_or", "reduce_prod", "reduce_sum", "reverse", "transpose",
}  # fmt: skip


class Step:
    """What numbers change of an equation."""

    __slots__ = ("eqn", "keys", "checked", "length")

    def __init__(self, eqn: Eqn) -> None:
        """keys: of parameters with sizes. checked: whether it must be inferred again."""
        self.eqn, self.length = eqn, type(eqn.params.get("length")) is Size
        self.keys = [k for k, p in eqn.params.items() if _holds_sizes(p)]
        avals = [a.aval for a in (*eqn.inputs, *eqn.outputs)]
        sized = bool(self.keys) or any(type(a) is SizedAval for a in avals)
        name, kind = eqn.primitive.name, eqn.primitive.kind
        self.checked = sized and kind != "elementwise" and name not in DECIDED


def _holds_sizes(p: Any) -> bool:
    if isinstance(p, tuple):
        return any(map(_holds_sizes, p))
    if type(p) is Failure:
        return type(p.size) is Size
    return type(p) is Size or isinstance(p, Jaxpr) or hasattr(p, "mapped")


@cached()
def steps_of(jaxpr: Jaxpr) -> list[Step]:
    return list(map(Step, jaxpr.eqns))


def avals_with(values: Values) -> Callable[[Aval], Aval]:
    """What gives an aval these values for its sizes. Raises NumPy's error for a negative one."""
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

    return aval


def with_values(jaxpr: Jaxpr, values: Values, sizes: Sequence[int] = ()) -> Jaxpr:
    """The jaxpr in which the variables of sizes have these values. sizes: those that its first
    inputs hold, which become constants.
    """
    first = len(sizes)
    env: dict[Operand, Operand] = {
        v: Literal(np.int64(n), v.aval) for v, n in zip(jaxpr.inputs, sizes, strict=False)
    }
    aval = avals_with(values)
    inputs = [Var(aval(v.aval)) for v in jaxpr.inputs[first:]]
    env.update(zip(jaxpr.inputs[first:], inputs, strict=True))
    eqns = []
    for step in steps_of(jaxpr):
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
    made.hosted = hosts_of(jaxpr) and _hosts(made)  # what no round runs is left out
    return made


@cached()
def hosts_of(jaxpr: Jaxpr) -> bool:
    """Whether it calls host code, or has values that no device holds."""
    return _hosts(jaxpr)


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
        try:
            return with_values(x, values)
        except (TypeError, ValueError, LookupError) as error:
            raise of_these_sizes(error) from None  # the call may not come to this body
    if type(x) is Failure:
        return replace(x, size=mapped(x.size, values))
    if isinstance(x, tuple) and any(isinstance(j, (Jaxpr, Failure)) for j in x):
        return tuple([numbered(j, values) for j in x])
    if not isinstance(x, (tuple, Size)) and hasattr(x, "mapped"):  # the jaxprs of a custom rule
        return x.mapped(lambda part, _: with_values(part, values))
    return mapped(x, values)
