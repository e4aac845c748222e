"""Programs with sizes: how they are written down, and what numbers make of them.

While a function is traced, sizes stand in types and parameters. `expanded` writes the program as a
jaxpr in which each size is a variable, bound before its use. `with_values` puts numbers in, and
infers every equation again: so errors of sizes are NumPy's, and are found before anything runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, SizedAval, aval_of
from lazynp._dimensions import LENGTH, OPERATORS, integer_form
from lazynp._extents import Numbers, emptied, mapped, sizes_in
from lazynp._jaxpr import Atom as Operand, Eqn, Jaxpr, Literal, Var
from lazynp._sizes import Atom, Dim, Size
from lazynp.primitives import elementwise

Values = Callable[[Size], int]


# -- writing down ----------------------------------------------------------------------------------


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
        found = self.names.get(Size({(atom,): 1}))
        if found is not None or not atom.op:
            assert found is not None
            return found
        sides = [self.name(x) if type(x) is Size else x for x in atom.args]
        found = self._write(OPERATORS[atom.op], *sides)
        return self.names.setdefault(Size({(atom,): 1}), found)

    def _write(self, primitive: Any, *sides: Any) -> Var:
        inputs = [x if isinstance(x, Var) else Literal(np.int64(x), LENGTH) for x in sides]
        var = Var(LENGTH)
        self.eqns.append(Eqn(primitive, inputs, {}, (var,)))
        forms = [self.forms.get(x) if isinstance(x, Var) else int(x) for x in sides]
        form = integer_form(primitive.name, forms)
        assert form is not None
        self.enter(var, form)
        return self.names[form] if type(form) is Size else var

    def equation(self, eqn: Eqn) -> None:
        sizes = [self.name(s) for p in eqn.params.values() for s in sizes_in(p)]
        for var in eqn.outputs:
            for n in var.aval.shape:
                if type(n) is Size:
                    self.name(n)
        params = {k: emptied(p) for k, p in eqn.params.items()} if sizes else eqn.params
        self.eqns.append(Eqn(eqn.primitive, (*eqn.inputs, *sizes), params, eqn.outputs, len(sizes)))
        if len(eqn.outputs) == 1 and not eqn.outputs[0].aval.shape:
            sides = [int(a.value) if isinstance(a, Literal) and a.aval.dtype.kind in "iu"
                     else self.forms.get(a) for a in eqn.inputs]  # fmt: skip
            form = integer_form(eqn.primitive.name, sides)
            if form is not None and eqn.outputs[0].aval.dtype.kind in "iu":
                self.enter(eqn.outputs[0], form)


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
    kept = jaxpr.outputs[: len(jaxpr.outputs) - len(made)]
    defined = dict(zip(jaxpr.outputs[len(kept) :], made, strict=True))

    def bound(var: Any) -> None:
        if var in defined:
            into.enter(var, Size({(defined[var],): 1}))

    for var in jaxpr.inputs:
        bound(var)
    for eqn in jaxpr.eqns:
        into.equation(eqn)
        for var in eqn.outputs:
            bound(var)
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


# -- putting numbers in ----------------------------------------------------------------------------


def rotated(items: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The items with the first ones last."""
    return (*items[count:], *items[:count])


def with_values(jaxpr: Jaxpr, values: Values, sizes: Sequence[int] = ()) -> Jaxpr:
    """The jaxpr in which the variables of sizes have these values. sizes: those that its first
    inputs hold, which become constants.
    """
    first = len(sizes)
    env: dict[Operand, Operand] = {
        v: Literal(np.int64(n), v.aval) for v, n in zip(jaxpr.inputs, sizes, strict=False)
    }
    inputs = [Var(_aval(v.aval, values)) for v in jaxpr.inputs[first:]]
    env.update(zip(jaxpr.inputs[first:], inputs, strict=True))

    def read(a: Operand) -> Operand:
        return a if isinstance(a, Literal) else env[a]

    eqns = []
    for eqn in jaxpr.eqns:
        operands = [read(a) for a in eqn.inputs]
        params = {k: numbered(p, values) for k, p in eqn.params.items()}
        out = eqn.primitive.abstract(*[a.aval for a in operands], **params)
        avals = out if eqn.primitive.multiple_results else (out,)
        outs = [Var(a) for a in avals]
        if any([n < 0 for a in avals for n in a.shape if type(n) is int]):
            raise ValueError("negative dimensions are not allowed")
        env.update(zip(eqn.outputs, outs, strict=True))
        eqns.append(Eqn(eqn.primitive, operands, params, outs))
    return Jaxpr(inputs, eqns, [read(a) for a in jaxpr.outputs])  # type: ignore[arg-type]


def _aval(aval: Aval, values: Values) -> Aval:
    if type(aval) is not SizedAval:
        return aval
    return aval_of(mapped(aval.shape, values), aval.dtype, aval.weak)


def numbered(x: Any, values: Values) -> Any:
    """A parameter with these values for its sizes, also in jaxprs."""
    if isinstance(x, Jaxpr):
        return with_values(x, values)
    if isinstance(x, tuple) and any(isinstance(j, Jaxpr) for j in x):
        return tuple([numbered(j, values) for j in x])
    if not isinstance(x, tuple) and hasattr(x, "mapped"):  # the jaxprs of a custom rule
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

    __slots__ = ("raw", "places", "axes", "made", "jaxpr", "known", "required")

    def __init__(
        self,
        raw: Jaxpr,
        places: dict[str, list[tuple[int, int]]],
        axes: Sequence[Atom],
        made: Sequence[Atom],
        own: tuple[int, int],
        required: Sequence[Required],
    ) -> None:
        """own: how many inputs, and results, are the function's own. required: see `Table`."""
        self.raw, self.places, self.axes, self.made = raw, places, list(axes), list(made)
        self.required = list(required)
        self.jaxpr = expanded(raw, axes, made, *own)
        self.known: dict[tuple[int, ...], Jaxpr] = {}  # of the sizes met last

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
        found = self.known.get(key)
        if found is None:
            for size, told, error in self.required:
                if mapped(size, numbers) < 0:
                    raise error(mapped(told, numbers))
            whole = Jaxpr(self.raw.inputs, self.raw.eqns, self.raw.outputs[:first])
            found = with_values(whole, numbers, sizes)
            with _lock:
                if len(self.known) >= _KNOWN:
                    del self.known[next(iter(self.known))]
                self.known[key] = found
        return found, numbers


Required = tuple[Dim, Any, Callable[[Any], BaseException]]
_lock = threading.Lock()  # of `known`, which threads with different sizes change
_KNOWN = 64  # sizes whose programs are kept
