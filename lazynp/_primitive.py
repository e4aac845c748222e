"""Primitives: the operations of a jaxpr, each with all its rules in one object.

| rule | signature |
|---|---|
| `abstract` | `(*avals, **params) -> Aval` (a tuple of them with `multiple_results`) |
| `explicit` | `(ins, params) -> tuple[Aval, ...]`: the avals to cast and broadcast operands to |
| `reference` | `(*numpy_values, **params) -> numpy value`; accepts whatever `explicit` accepts |
| `lower` | `(b, *values, **params) -> value`: emits StableHLO through the builder `b` |
| `jvp` | `(primals, tangents, **params) -> (out, tangent)`; a tangent None is zero |
| `transpose` | `(ct, *operands, **params) -> list`; linear operands are `Undefined` |
| `linearize` | like `jvp`, of jaxprs and where `jvp` looks at tangents: keeps these apart |
| `discharge` | `(operands, first, **params) -> outs, found, failures`: a call and its checks |
| `batch` | `(size, batched, *operands, **params) -> out`; batched operands have axis 0 in front |

If a rule cannot exist, the primitive says so with one of the sentinels; no rule is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lazynp._array import Array, bind, new_array
from lazynp._avals import Aval
from lazynp._cost import Cost
from lazynp._dataclass import dataclass
from lazynp._errors import Failure, LoweringError
from lazynp._flush import host_value, materialize

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Missing:
    """A rule that does not exist, and the reason."""

    reason: str


NOT_DIFFERENTIABLE = Missing("its derivative is zero wherever it exists")
NOT_LINEAR = Missing("not linear in any operand")


def host_only(reason: str) -> Rule:
    """The `lower` rule of an operation that no compiled program can hold."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise LoweringError(reason)

    return refuse


class Undefined:
    """Stands for a linear operand in a transpose rule; only its aval is known.

    sum: to which the rule adds the cotangent, if it is one that can (`Primitive.sums`).
    """

    __slots__ = ("aval", "sum")

    def __init__(self, aval: Aval, sum: Any = None) -> None:
        self.aval, self.sum = aval, sum


@dataclass(frozen=True, eq=False)
class Primitive:
    """One operation and all its rules. Calling it records it."""

    name: str
    abstract: Rule
    reference: Rule
    lower: Rule
    jvp: Rule | Missing
    transpose: Rule | Missing
    batch: Rule | Missing
    explicit: Rule | None = None
    multiple_results: bool = False
    # nanoseconds beyond moving the data, by NumPy and by XLA: see `_cost`. None: no more than that
    cost: Cost | Callable[[Sequence[Aval]], Cost] | None = None
    free: bool = False  # cheaper to recompute than to store: views, broadcasts, iotas
    copies: bool = False  # whether NumPy has to copy memory that is not contiguous
    linearize: Rule | None = None  # a jvp whose tangents are separate programs, without values
    discharge: Rule | None = None  # of calls: see `primitives.checks`
    # params -> the places of operands that many rounds may read; the transpose rule is given the
    # sums of their cotangents, and adds to them in place
    sums: Rule | None = None
    inplace: Rule | None = None  # a reference that may overwrite one operand,
    overwrites: int = 0  # this one
    # `inplace` gives the part of the first operand to which the second is added, and the second:
    # adding must not be repeated, so who does it stores the result in the same step
    adds: bool = False
    # (params, explicit avals) -> the reference for exactly these, or None; for large savings
    specialize: Rule | None = None
    specialize_inplace: Rule | None = None
    kind: str = "other"  # elementwise, reduction, view, fill, update, contract, index, sort

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Record the primitive on arrays or Python scalars. Returns a new Array, or a tuple of
        them.
        """
        return bind(self, operands, params)

    def decided(self, operands: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
        """The results of a call that contains checks; raises what the checks find."""
        arrays = [new_array(o) if type(o) is list else o for o in operands]
        assert self.discharge is not None
        outs, found, failures = self.discharge(arrays, 0, **params)
        raise_found(found, failures)
        return tuple([materialize(o._read()) for o in outs])

    def __repr__(self) -> str:
        return self.name


def raise_found(found: Array, failures: Sequence[Failure]) -> None:
    """Raise what the checks of a call found, if anything: see `primitives.checks`."""
    which, *values = host_value(found._read())
    if which:
        raise failures[which - 1].error(*values)
