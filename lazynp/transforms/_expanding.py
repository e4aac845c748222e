"""How programs with sizes are written down: each size is a variable, bound before its use.

Jaxprs within equations capture nothing, so the sizes in their types are inputs of theirs, before
the others, and operands of the equation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lazynp._dimensions import LENGTH, OPERATORS, integer_form
from lazynp._extents import emptied, sizes_in
from lazynp._jaxpr import Atom as Operand, Eqn, Jaxpr, Literal, Var
from lazynp._sizes import Atom, Dim, Size
from lazynp.primitives import elementwise
from lazynp.transforms._sizing import Own, atoms_in


class Unnamed(Exception):
    """A size of the program around a nested jaxpr has no variable in it."""

    def __init__(self, size: Size) -> None:
        self.size = size


def refuse_unbound(jaxpr: Jaxpr, what: str) -> None:
    """Raise TypeError where its types have a size that no variable of it stands for."""
    for var in (*jaxpr.inputs, *[v for eqn in jaxpr.eqns for v in eqn.outputs]):
        for n in var.aval.shape:
            if type(n) is Size and n not in jaxpr.sizes:
                raise TypeError(
                    f"{what}: its types have the size {n}, which belongs to a function around it; "
                    "use jit here, or take the jaxpr of the outer function"
                )


class _Expansion:
    """The equations of an expanded jaxpr, as they are written."""

    def __init__(self) -> None:
        self.eqns: list[Eqn] = []
        self.names: dict[Size, Var] = {}  # the first variable with the value of a size
        self.forms: dict[Operand, Dim] = {}  # of integer variables

    def enter(self, var: Var, form: Dim) -> None:
        self.forms[var] = form
        if type(form) is Size:
            self.names.setdefault(form, var)

    def operand(self, n: Dim) -> Operand:
        return self.name(n) if type(n) is Size else Literal(np.int64(n), LENGTH)

    def name(self, size: Size) -> Var:
        """The variable of a size; its equations are written here, if there are none yet."""
        found = self.names.get(size)
        if found is None:  # what was learnt since of its variables may have made it another form
            found = self.names[size] = self._sum(size)
        return found

    def _sum(self, size: Size) -> Var:
        total: Any = None
        for monomial, count in sorted(size.terms.items(), key=lambda t: -len(t[0])):
            term: Any = None
            for atom in monomial:
                factor = self._atom(atom)
                term = factor if term is None else self._write(elementwise.multiply, term, factor)
            if term is None:
                term = count
            elif count != 1:
                term = self._write(elementwise.multiply, term, count)
            total = term if total is None else self._write(elementwise.add, total, term)
        return total

    def _atom(self, atom: Atom) -> Var:
        size = Size({(atom,): 1})
        found = self.names.get(size)
        if found is not None:
            return found
        if not atom.op:
            raise Unnamed(size)
        sides = [self.name(x) if type(x) is Size else x for x in atom.args]
        found = self._write(OPERATORS[atom.op], *sides)
        return self.names.setdefault(size, found)

    def _write(self, primitive: Any, *sides: Any) -> Var:
        inputs = [x if isinstance(x, Var) else Literal(np.int64(x), LENGTH) for x in sides]
        var = Var(primitive.abstract(*[x.aval for x in inputs]))
        self.eqns.append(Eqn(primitive, inputs, {}, (var,)))
        forms = [self.forms.get(x) if isinstance(x, Var) else int(x) for x in sides]
        form = integer_form(primitive.name, forms)
        assert form is not None
        self.enter(var, form)
        return self.names[form] if type(form) is Size else var

    def program(self, jaxpr: Jaxpr, made: Sequence[Atom]) -> None:
        """Write the equations, in an order in which what decides a size comes before its use.
        made: the integers that the last outputs are.
        """
        first = len(jaxpr.outputs) - len(made)
        places = dict(zip(made, jaxpr.outputs[first:], strict=True))
        named = {v: a for a, v in places.items() if isinstance(v, Var)}

        def bound(var: Any) -> None:
            if var in named:
                self.enter(var, Size({(named[var],): 1}))

        for var in jaxpr.inputs:
            bound(var)
        for eqn in in_order(jaxpr.eqns, places):
            self.equation(eqn)
            for var in eqn.outputs:
                bound(var)

    def equation(self, eqn: Eqn) -> None:
        written = self._with_bodies(eqn) if _sized_bodies(eqn) else eqn
        sizes = [self.name(s) for p in written.params.values() for s in sizes_in(p)]
        for var in eqn.outputs:
            for n in var.aval.shape:
                if type(n) is Size and not _decides(eqn):
                    self.name(n)
        params = {k: emptied(p) for k, p in written.params.items()} if sizes else written.params
        inputs = (*written.inputs, *sizes)
        self.eqns.append(Eqn(eqn.primitive, inputs, params, eqn.outputs, len(sizes), written.plain))
        if len(eqn.outputs) == 1 and not eqn.outputs[0].aval.shape:
            sides = [int(a.value) if isinstance(a, Literal) and a.aval.dtype.kind in "iu"
                     else self.forms.get(a) for a in eqn.inputs]  # fmt: skip
            form = integer_form(eqn.primitive.name, sides)
            if form is not None and eqn.outputs[0].aval.dtype.kind in "iu":
                self.enter(eqn.outputs[0], form)

    def _with_bodies(self, eqn: Eqn) -> Eqn:
        """The equation with jaxprs that take the sizes in their types as inputs."""
        sizes: list[Size] = []
        own = {a for o in _owns(eqn) for a in o.atoms()}
        for jaxpr in _bodies(eqn):
            for var in jaxpr.inputs:
                for n in sizes_in(var.aval.shape):
                    if n not in sizes and own.isdisjoint(n.variables()):
                        sizes.append(n)
        while True:
            try:
                params = {k: _body(eqn, k, p, sizes) for k, p in eqn.params.items()}
                break
            except Unnamed as missing:
                sizes.append(missing.size)
        params = {k: p for k, p in params.items() if k not in _OWN}
        if "consts" in params:
            params["consts"] += len(sizes)
        names = list(map(self.name, sizes))
        at = 1 if "branches" in params else 0  # after the index
        inputs = (*eqn.inputs[:at], *names, *eqn.inputs[at:])
        return Eqn(eqn.primitive, inputs, params, eqn.outputs, 0, eqn)


_OWN = {"own", "cond_own", "owns", "places", "decided", "outs"}  # of loops that change sizes


def _owns(eqn: Eqn) -> Iterator[Own]:
    for p in eqn.params.values():
        for own in p if type(p) is tuple else (p,):
            if type(own) is Own:
                yield own


def _decides(eqn: Eqn) -> bool:
    return "decided" in eqn.params


def _bodies(eqn: Eqn) -> Iterator[Jaxpr]:
    for p in eqn.params.values():
        for jaxpr in p if type(p) is tuple else (p,):
            if isinstance(jaxpr, Jaxpr):
                yield jaxpr


def _sized_bodies(eqn: Eqn) -> bool:
    """Whether sizes without values are in the types of its jaxprs."""
    bodies = list(_bodies(eqn))
    return bool(bodies) and (_decides(eqn) or any(
        bool(sizes_in(v.aval.shape)) for j in bodies for v in (*j.inputs, *j.outputs)
    ) or any(atoms_in(e) for j in bodies for e in j.eqns))  # fmt: skip


def _body(eqn: Eqn, key: str, p: Any, sizes: Sequence[Size]) -> Any:
    """A parameter with nested jaxprs that take these sizes."""
    if isinstance(p, Jaxpr):
        own = eqn.params.get("cond_own" if key == "cond" else "own") or Own()
        decides = eqn.params.get("places", ()) if key == "body" else ()
        return _nested(p, sizes, own, decides)
    if type(p) is tuple and any(isinstance(j, Jaxpr) for j in p):
        owns = eqn.params.get("owns") or [Own()] * len(p)
        decides = eqn.params.get("decided", ())
        return tuple([_nested(j, sizes, o, decides) for j, o in zip(p, owns, strict=True)])
    return p


def _nested(
    jaxpr: Jaxpr, sizes: Sequence[Size], own: Own, decides: Sequence[tuple[int, int]]
) -> Jaxpr:
    """decides: the results, and their axes, whose sizes it returns as well."""
    into = _Expansion()
    given = [Var(LENGTH) for _ in sizes]
    for var, size in zip(given, sizes, strict=True):
        into.enter(var, size)
    for var, atom in zip(jaxpr.inputs, own.variables, strict=False):
        into.enter(var, Size({(atom,): 1}))
    into.program(jaxpr, own.made)
    outs = jaxpr.outputs[: len(jaxpr.outputs) - len(own.made)]
    implicit = [into.operand(outs[k].aval.shape[axis]) for k, axis in decides]
    for atom in outs:
        for n in sizes_in(atom.aval.shape):
            into.name(n)
    return Jaxpr([*given, *jaxpr.inputs], into.eqns, [*implicit, *outs], into.names)


def in_order(eqns: Sequence[Eqn], places: dict[Atom, Any]) -> list[Eqn]:
    """The equations, each after those that decide the sizes in it."""
    maker = {v: i for i, eqn in enumerate(eqns) for v in eqn.outputs}
    seen: set[int] = set()
    ordered: list[Eqn] = []

    def visit(i: int) -> None:
        if i in seen:
            return
        seen.add(i)
        for atom in sorted(atoms_in(eqns[i]), key=lambda a: a.order):
            if places.get(atom) in maker:
                visit(maker[places[atom]])
        for a in eqns[i].inputs:
            if isinstance(a, Var) and a in maker:
                visit(maker[a])
        ordered.append(eqns[i])

    for i in range(len(eqns)):
        visit(i)
    return ordered


def expanded(
    jaxpr: Jaxpr, axes: Sequence[Atom], made: Sequence[Atom], count: int, results: int
) -> Jaxpr:
    """The jaxpr with a variable for each size.

    Its first inputs are those of `axes`, its last outputs the integers that `made` stand for.
    count: of inputs after those of the axes that are the function's own. results: of its results.
    """
    into = _Expansion()
    for var, atom in zip(jaxpr.inputs, axes, strict=False):
        into.enter(var, Size({(atom,): 1}))
    into.program(jaxpr, made)
    kept = jaxpr.outputs[: len(jaxpr.outputs) - len(made)]
    inputs = set(jaxpr.inputs)
    implicit: list[Var] = []
    for atom in kept:
        for n in atom.aval.shape:
            if type(n) is Size:
                var = into.name(n)
                if var not in inputs and var not in implicit:
                    implicit.append(var)
    first = len(axes)
    explicit = (
        tuple([first <= i < first + count for i in range(len(jaxpr.inputs))]),
        (*[False] * len(implicit), *[i < results for i in range(len(kept))]),
    )
    return Jaxpr(jaxpr.inputs, into.eqns, (*implicit, *kept), into.names, explicit)
