"""The jaxpr of a kernel as it was written, with Refs, to look at.

Kernels are staged as functions of values: blocks go in, and come out. Here a block is a Ref again;
`get` reads of it, and `swap` writes to it and gives the Ref as it is afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval
from lazynp._dataclass import dataclass
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Var


@dataclass(frozen=True)
class RefAval:
    """The type of a Ref."""

    block: Aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.block.shape

    @property
    def dtype(self) -> Any:
        return self.block.dtype

    def __repr__(self) -> str:
        return f"Ref{{{self.block}}}"


@dataclass(frozen=True)
class _Shown:
    """An operation that is only looked at."""

    name: str


_GET: Any = _Shown("get")
_SWAP: Any = _Shown("swap")


def with_refs(jaxpr: Jaxpr, first: int, inputs: int, written: int) -> Jaxpr:
    """first: how many program ids there are; after them, the inputs and what is written, which the
    jaxpr returns.
    """
    count = first + inputs + written
    refs = [Var(_ref(v)) for v in jaxpr.inputs[first:count]]
    made = _Refs(dict(zip(jaxpr.inputs[first:count], refs, strict=True)))
    for eqn in jaxpr.eqns:
        made.take(eqn)
    ends = zip(refs[inputs:], jaxpr.outputs, strict=False)
    outputs = [made.end(ref, atom) for ref, atom in ends]
    return Jaxpr([*jaxpr.inputs[:first], *refs, *jaxpr.inputs[count:]], made.eqns, outputs)


def _ref(v: Var) -> Any:
    return RefAval(v.aval)


class _Refs:
    """Which Ref stands for a value."""

    def __init__(self, refs: dict[Atom, Var]) -> None:
        self.refs = refs
        self.now = {ref: ref for ref in refs.values()}  # each Ref as it is now
        self.first = {ref: ref for ref in refs.values()}  # and as it was
        self.eqns: list[Eqn] = []

    def take(self, eqn: Eqn) -> None:
        target, name = eqn.inputs[0] if eqn.inputs else None, eqn.primitive.name
        ref = self.refs.get(target) if target is not None else None
        rest = [self.read(a) for a in eqn.inputs[1:]]
        if ref is not None and name == "slice":
            self.eqns.append(Eqn(_GET, [ref, *rest], _region(eqn), eqn.outputs))
        elif ref is not None and name == "update_slice":
            self.refs[eqn.outputs[0]] = self.swap(ref, rest, _region(eqn))
        else:
            head = [] if target is None else [self.read(target)]
            self.eqns.append(Eqn(eqn.primitive, [*head, *rest], eqn.params, eqn.outputs))

    def read(self, atom: Atom) -> Atom:
        """The atom, or what is in the Ref that stands for it."""
        ref = self.refs.get(atom)
        if ref is None:
            return atom
        value = Var(atom.aval)
        self.eqns.append(Eqn(_GET, [ref], {}, [value]))
        return value

    def swap(self, ref: Var, operands: Sequence[Atom], params: dict[str, Any]) -> Var:
        after = Var(ref.aval)
        self.eqns.append(Eqn(_SWAP, [ref, *operands], params, [after]))
        first = self.first[after] = self.first[ref]
        self.now[first] = after
        return after

    def end(self, first: Var, atom: Atom) -> Var:
        """The Ref at the end, whose value is the atom."""
        ref = self.refs.get(atom)
        if ref is not None and self.first[ref] is first:
            return ref
        return self.swap(self.now[first], [self.read(atom)], {})


def _region(eqn: Eqn) -> dict[str, Any]:
    """What is read or written; nothing for all of it."""
    return {k: v for k, v in eqn.params.items() if eqn.params["axes"]}
