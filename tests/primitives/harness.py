"""Run one primitive alone, compiled, to compare its `lower` rule with `reference`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._avals import SCALAR_DTYPES, Aval, aval_of
from lazynp._jaxpr import Eqn, Jaxpr, Literal, Var

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Static:
    """An argument that becomes a literal in the jaxpr: a Python or NumPy scalar."""

    value: Any

    @property
    def aval(self) -> Aval:
        if isinstance(self.value, np.generic):
            return aval_of((), self.value.dtype)
        return aval_of((), SCALAR_DTYPES[type(self.value)])

    @property
    def key(self) -> tuple[Any, ...]:
        return type(self.value), repr(self.value)  # -0.0 is not 0.0, nan is nan


def _aval(arg: Any) -> Aval:
    if isinstance(arg, Static):
        return arg.aval
    array = np.asarray(arg)
    return aval_of(array.shape, array.dtype.newbyteorder("="))


def one_equation(prim: Any, *args: Any, **params: Any) -> Jaxpr:
    """`{ lambda arrays . let outs = prim[params] args in outs }`"""
    atoms = [
        Literal(np.asarray(a.value, a.aval.dtype)[()], a.aval)
        if isinstance(a, Static)
        else Var(_aval(a))
        for a in args
    ]
    outs = prim.abstract(*[a.aval for a in atoms], **params)
    outs = tuple(outs) if prim.multiple_results else (outs,)
    out_vars = [Var(aval) for aval in outs]
    inputs = [a for a in atoms if isinstance(a, Var)]
    return Jaxpr(inputs, [Eqn(prim, atoms, params, out_vars)], out_vars)


_executables: dict[Any, lowering.Executable] = {}


def run_lowered(prim: Any, *args: Any, **params: Any) -> tuple[Array, ...]:
    """The outputs of a primitive, lowered, compiled and run. Always a tuple of arrays."""
    signature = tuple(a.key if isinstance(a, Static) else _aval(a) for a in args)
    key = prim, signature, tuple(sorted(params.items()))
    executable = _executables.get(key)
    if executable is None:
        jaxpr = one_equation(prim, *args, **params)
        executable = _executables[key] = lowering.compile_program(jaxpr)
    buffers = [lowering.put(np.asarray(a)) for a in args if not isinstance(a, Static)]
    return tuple(lowering.host(b) for b in executable.run(buffers))


def elsewhere(prim: Any, **platform: Any) -> Any:
    """The primitive as lowered for a device other than the host, with the host's solvers. platform:
    what else is different there.
    """

    def lower(b: Any, *values: Any, **params: Any) -> Any:
        before, b.platform = b.platform, replace(b.platform, host=False, **platform)
        out = prim.lower(b, *values, **params)
        b.platform = before
        return out

    return replace(prim, lower=lower)


def lowered_text(prim: Any, *args: Any, **params: Any) -> str:
    """The StableHLO of a primitive, for looking at."""
    return lowering.lower(one_equation(prim, *args, **params))
