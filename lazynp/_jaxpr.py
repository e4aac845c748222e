"""Jaxprs: programs as data.

A jaxpr is `{ lambda inputs . let equations in ( outputs ) }`. Equations are ordered, and every
variable is bound once. Operands are explicit: no primitive in a jaxpr broadcasts or promotes. Under
`debug`, `check` infers every equation of each jaxpr again and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from lazynp._avals import Aval, short_name
from lazynp._extents import filled
from lazynp._memo import cached
from lazynp._positions import position
from lazynp._signature import DBIdx, InDBIdx, OutDBIdx, ShapeDtype, Type
from lazynp._sizes import Size


class Rules(Protocol):
    """A primitive, as seen by the modules below `_primitive`."""

    @property
    def name(self) -> str: ...
    @property
    def abstract(self) -> Callable[..., Any]: ...
    @property
    def explicit(self) -> Callable[..., Any] | None: ...
    @property
    def reference(self) -> Callable[..., Any]: ...
    @property
    def inplace(self) -> Callable[..., Any] | None: ...
    @property
    def overwrites(self) -> int: ...
    @property
    def adds(self) -> bool: ...
    @property
    def specialize(self) -> Callable[..., Any] | None: ...
    @property
    def specialize_inplace(self) -> Callable[..., Any] | None: ...
    @property
    def lower(self) -> Callable[..., Any]: ...
    @property
    def multiple_results(self) -> bool: ...
    @property
    def free(self) -> bool: ...
    @property
    def copies(self) -> bool: ...
    @property
    def cost(self) -> tuple[float, float] | Callable[..., tuple[float, float]] | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def jvp(self) -> Any: ...
    @property
    def transpose(self) -> Any: ...
    @property
    def batch(self) -> Any: ...
    @property
    def decided(self) -> Any: ...


class Var:
    """A variable, compared by identity; printing assigns the names."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval


class Literal:
    """A scalar constant of an equation, already in its dtype."""

    __slots__ = ("value", "aval")

    def __init__(self, value: Any, aval: Aval) -> None:
        self.value, self.aval = value, aval

    def __repr__(self) -> str:
        return f"{self.value}:{self.aval}"


Atom = Var | Literal


class Eqn:
    """`outputs = primitive[params] inputs`

    The last `sizes` operands are sizes, in place of None in the parameters. plain: the equation
    without the sizes that its jaxprs take. origin: code and offset of the instruction that recorded
    it, if that is known.
    """

    __slots__ = ("primitive", "inputs", "params", "outputs", "sizes", "plain", "origin")

    def __init__(
        self,
        primitive: Rules,
        inputs: Sequence[Atom],
        params: dict[str, Any],
        outputs: Sequence[Var],
        sizes: int = 0,
        plain: Eqn | None = None,
        origin: tuple[Any, int] | None = None,
    ) -> None:
        self.origin = origin
        self.primitive, self.params, self.sizes, self.plain = primitive, params, sizes, plain
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)

    @property
    def where(self) -> str:
        """`file:line` of its origin, or nothing."""
        return position(*self.origin) if self.origin and self.origin[0] is not None else ""


Flags = tuple[bool, ...]


class Jaxpr:
    """Inputs, equations, outputs.

    sizes: the variables of the sizes in its types. explicit: which inputs, and which outputs, the
    Python function takes and returns itself; None: all. cost, hosted: what is known of running it
    by reference, and of calls of host code in it, from the same program at other sizes.
    """

    __slots__ = (
        "inputs", "eqns", "outputs", "prepared", "sizes", "explicit", "raw", "cost", "hosted"
    )  # fmt: skip

    def __init__(
        self,
        inputs: Sequence[Var],
        eqns: Sequence[Eqn],
        outputs: Sequence[Atom],
        sizes: dict[Size, Var] | None = None,
        explicit: tuple[Flags, Flags] | None = None,
    ) -> None:
        self.inputs, self.eqns, self.outputs = tuple(inputs), tuple(eqns), tuple(outputs)
        self.sizes, self.explicit = sizes or {}, explicit
        self.prepared: Any = None  # for the reference interpreter; False: it has run once
        self.cost: float | None = None
        self.hosted: bool | None = None
        self.raw: Any = None  # of one with sizes: the jaxpr as it was traced, and its sizes

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self.inputs)

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self.outputs)

    @property
    def in_type(self) -> Type:
        """For each input its type, and whether the Python function takes it itself. A size that is
        an input is `DBIdx(place)`.
        """
        places = {v: DBIdx(i) for i, v in enumerate(self.inputs)}
        flags = self.explicit[0] if self.explicit else [True] * len(self.inputs)
        return tuple([(self._type(v, places), f) for v, f in zip(self.inputs, flags, strict=True)])

    @property
    def out_type(self) -> Type:
        """For each output its type, and whether the Python function returns it itself. A size is
        `InDBIdx(place in in_type)`, or `OutDBIdx(place in out_type)`.
        """
        places: dict[Any, Any] = {v: OutDBIdx(i) for i, v in enumerate(self.outputs)}
        places.update({v: InDBIdx(i) for i, v in enumerate(self.inputs)})
        flags = self.explicit[1] if self.explicit else [True] * len(self.outputs)
        return tuple([(self._type(v, places), f) for v, f in zip(self.outputs, flags, strict=True)])

    def _type(self, atom: Atom, places: dict[Any, Any]) -> ShapeDtype:
        shape = [places[self.sizes[n]] if type(n) is Size else n for n in atom.aval.shape]
        return ShapeDtype(tuple(shape), atom.aval.dtype)

    @property
    def operations(self) -> int:
        """The number of equations, including those of jaxprs among their params."""
        inner = [j for eqn in self.eqns for j in jaxprs_in(eqn.params)]
        return len(self.eqns) + sum(j.operations for j in inner)

    def __reduce__(self) -> Any:
        return Jaxpr, (self.inputs, self.eqns, self.outputs, self.sizes, self.explicit)

    def __str__(self) -> str:
        return format_jaxpr(self)

    __repr__ = __str__


def jaxprs_in(params: dict[str, Any]) -> list[Jaxpr]:
    """The jaxprs among the parameters of a primitive."""
    found = []
    for p in params.values():
        found += [j for j in (p if isinstance(p, tuple) else (p,)) if isinstance(j, Jaxpr)]
    return found


@cached()
def meets(jaxpr: Jaxpr, axis_name: Any) -> bool:
    """Whether there is a collective over the axis of this name."""
    return any(
        eqn.primitive.kind == "collective" and eqn.params["axis_name"] == axis_name
        or any(meets(j, axis_name) for j in jaxprs_in(eqn.params))
        for eqn in jaxpr.eqns
    )  # fmt: skip


def with_sizes(eqn: Eqn, value: Callable[[Any], Any]) -> dict[str, Any]:
    """The parameters of an equation with the values of its last operands for its sizes."""
    sizes = iter([value(a) for a in eqn.inputs[len(eqn.inputs) - eqn.sizes :]])
    return {k: filled(p, sizes) for k, p in eqn.params.items()}


# -- printing ----------------------------------------------------------------------------------


def _names() -> Iterator[str]:
    """a, b, ..., z, aa, ab, ..."""
    width = 1
    while True:
        for i in range(26**width):
            yield "".join(chr(97 + i // 26**k % 26) for k in reversed(range(width)))
        width += 1


def _format_param(value: Any) -> str:
    value = getattr(value, "shown", value)
    if isinstance(value, Jaxpr):
        return format_jaxpr(value)
    return str(value).replace("\n", " ")


def format_jaxpr(jaxpr: Jaxpr) -> str:
    """Format the jaxpr: on one line if short, else one equation a line."""
    fresh = _names()
    names: dict[Any, str] = {}

    def bind(v: Var) -> str:
        names[v] = next(fresh)
        return f"{names[v]}:{named(v.aval)}"

    def named(aval: Aval) -> str:
        dims = [names.get(jaxpr.sizes.get(n), n) if type(n) is Size else n for n in aval.shape]
        text = f"{short_name(aval.dtype)}[{','.join(map(str, dims))}]"
        return text if isinstance(aval, Aval) else f"Ref{{{text}}}"

    def use(atom: Atom) -> str:
        return names[atom] if isinstance(atom, Var) else repr(atom)

    inputs = " ".join(bind(v) for v in jaxpr.inputs)
    lines = []
    for eqn in jaxpr.eqns:
        params = " ".join(f"{k}={_format_param(v)}" for k, v in eqn.params.items())
        operands = " ".join(use(a) for a in eqn.inputs)
        head = f"{eqn.primitive.name}[{params}]" if params else eqn.primitive.name
        lines.append(f"{' '.join(bind(v) for v in eqn.outputs)} = {head} {operands}".rstrip())
    outputs = ", ".join(use(a) for a in jaxpr.outputs)
    if len(lines) <= 1:
        body = "".join(f" {line}" for line in lines)
        return f"{{ lambda {inputs} . let{body} in ( {outputs} ) }}"
    body = "\n".join(f"    {line}" for line in lines)
    return f"{{ lambda {inputs} . let\n{body}\n  in ( {outputs} ) }}"


# -- checking ----------------------------------------------------------------------------------


class JaxprTypeError(TypeError):
    """A malformed jaxpr: a defect of lazynp, not of the user's program."""


def check(jaxpr: Jaxpr) -> None:
    """Raise `JaxprTypeError` unless every variable is bound once and every equation has the right
    types.
    """
    bound: set[Var] = set()

    def bind(v: Var) -> None:
        if v in bound:
            raise JaxprTypeError(f"variable bound twice in\n{jaxpr}")
        bound.add(v)

    def use(atom: Atom) -> Aval:
        if isinstance(atom, Var) and atom not in bound:
            raise JaxprTypeError(f"unbound variable of type {atom.aval}")
        return atom.aval

    named = {v: n for n, v in jaxpr.sizes.items()}

    def size_named(atom: Atom) -> Any:
        return int(atom.value) if isinstance(atom, Literal) else named[atom]

    for v in jaxpr.inputs:
        bind(v)
    for eqn in jaxpr.eqns:
        operands, params = [use(a) for a in eqn.inputs], eqn.params
        if eqn.plain is not None:
            for inner in jaxprs_in(params):
                check(inner)
            operands, params = [use(a) for a in eqn.plain.inputs], eqn.plain.params
        elif eqn.sizes:
            operands, params = operands[: -eqn.sizes], with_sizes(eqn, size_named)
        inferred = eqn.primitive.abstract(*operands, **params)
        inferred = tuple(inferred) if eqn.primitive.multiple_results else (inferred,)
        declared = tuple(v.aval for v in eqn.outputs)
        if inferred != declared:
            raise JaxprTypeError(f"{eqn.primitive.name}: declared {declared}, inferred {inferred}")
        for v in eqn.outputs:
            bind(v)
    for atom in jaxpr.outputs:
        use(atom)


# -- values ----------------------------------------------------------------------------------------


def has_new_nan(results: Sequence[Any], operands: Sequence[Any]) -> bool:
    """Whether a result contains NaN and no operand does."""
    return any(map(_has_nan, results)) and not any(map(_has_nan, operands))


def _has_nan(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "f" if type(value) is float else "")
    return kind in ("f", "c") and bool(np.isnan(value).any())
