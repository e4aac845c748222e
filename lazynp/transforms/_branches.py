"""Functions for control flow: stage them with their captures, and merge them to one signature.

A captured array that a branch or a body writes becomes an output (cond) or a carry (loops), and is
written back after the whole. So bodies may work in place on arrays from outside. Array operands of
branches are captured too; the carry of a loop is passed by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, new_array
from lazynp._avals import SCALAR_DTYPES, Aval
from lazynp._extents import same_shape
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp._node import Node, aval_of_node
from lazynp._tree import Structure, show
from lazynp.primitives import elementwise
from lazynp.transforms._stack import (
    Flat,
    check_leaf,
    handle_like,
    in_native_order,
    name_of,
    node_of,
    store,
    write,
)
from lazynp.transforms._stage import Program, Ranges, run_jaxpr, stage, stage_closed, weak_aval


def staged_function(
    function: Callable[..., Any],
    structure: Structure,
    avals: Sequence[Aval],
    kinds: Sequence[Any],
    what: str,
    ranges: Ranges | None = None,
) -> tuple[Program, Flat]:
    """Stage a function of a tuple of trees."""
    flat = Flat(function, structure)
    program = stage(flat, avals, f"{what} {name_of(function)}", kinds, ranges)
    return program, flat


def kind_of_argument(x: Any, aval: Aval) -> Any:
    """In the body, a 0-d Array stays an Array, and a number becomes a Scalar."""
    return NDArray if aval.ndim or type(x) is NDArray else None


def carried_aval(x: Any, node: Node) -> Aval:
    """The initial type of a carry; Python numbers are weak."""
    return weak_aval(x) if type(x) in SCALAR_DTYPES else aval_of_node(node)


def as_carried(nodes: Sequence[Node], avals: Sequence[Aval]) -> list[Node]:
    """The initial values of a loop, cast to the types of the carry."""
    return [
        n if aval_of_node(n).dtype == a.dtype
        else elementwise.convert(new_array(n), dtype=a.dtype)._read()
        for n, a in zip(nodes, avals, strict=True)
    ]  # fmt: skip


_ORDER = "biufc"  # kinds of numbers; each contains the kinds before it


def settled(avals: Sequence[Aval], outs: Sequence[Aval], jaxpr: Jaxpr) -> list[Aval] | None:
    """The types of a carry whose Python numbers take the types that the body returns. None if the
    body was staged for these types already.
    """
    new = [_settled(a, out) for a, out in zip(avals, outs)]
    if all(a is b for a, b in zip(avals, new)):
        return None
    same = all(a.dtype == b.dtype for a, b in zip(avals, new))
    return None if same and not _counted_as_weak(jaxpr) else new


def _settled(aval: Aval, out: Aval) -> Aval:
    if not aval.weak or out.shape or aval is out:
        return aval
    loses = _ORDER.index(out.dtype.kind) < _ORDER.index(aval.dtype.kind)
    return aval if loses else out


def _counted_as_weak(jaxpr: Jaxpr) -> bool:
    """Whether weakness mattered: somewhere, a weak number took the type of another operand."""
    return any(
        getattr(atom, "aval", None) is not None
        and atom.aval.weak
        and (eqn.primitive.name == "convert" or bool(jaxprs_in(eqn.params)))
        for eqn in jaxpr.eqns
        for atom in eqn.inputs
    )


class Operands:
    """The operands of branches. Numbers are passed by value. Arrays are captured: if a branch
    writes one, or anything that shares its memory, the write is visible wherever Python would show
    it.

    A NumPy array, or one of a derived class, gets a stand-in, and takes the stand-in's value in the
    end.
    """

    def __init__(self, leaves: Sequence[Any], what: str) -> None:
        for x in leaves:
            check_leaf(x, what)
        # array, stand-in, the stand-in's initial value
        self._foreign: dict[int, tuple[Any, Array, Any]] = {}
        self._arrays = [self._array(x) for x in leaves]
        values = [x for x, a in zip(leaves, self._arrays, strict=True) if a is None]
        nodes = list(map(node_of, values))
        self.avals = list(map(carried_aval, values, nodes))
        self.kinds = [kind_of_argument(x, a) for x, a in zip(values, self.avals, strict=True)]
        self.values = list(map(new_array, nodes))

    def _array(self, x: Any) -> Array | None:
        if type(x) is NDArray:
            return x
        if not isinstance(x, (np.ndarray, Array)) or isinstance(x, Scalar):
            return None
        if id(x) not in self._foreign:
            made = handle_like(x, node_of(x))
            self._foreign[id(x)] = x, made, made._node
        return self._foreign[id(x)][1]

    def staged(
        self, function: Callable[..., Any], structure: Structure, what: str
    ) -> tuple[Program, Flat]:
        """Stage a function of these operands."""
        flat = Flat(function, structure)

        def run(handles: list[Array]) -> list[Any]:
            return self.applied(flat, handles)

        return stage(run, self.avals, f"{what} {name_of(function)}", self.kinds), flat

    def applied(self, flat: Flat, handles: list[Any]) -> list[Any]:
        """The results of a function of these operands, with handles for those by value."""
        rest = iter(handles)
        return flat([next(rest) if a is None else a for a in self._arrays])

    def finish(self) -> None:
        """Copy the values of written stand-ins to their arrays."""
        for x, made, before in self._foreign.values():
            if made._node is not before:
                store(x, made)


class Merged:
    """Programs with one signature: `(arguments, owners, nodes) -> (results, new values)`."""

    def __init__(self, programs: Sequence[Program], count: int) -> None:
        self.owners: list[Array] = []
        self.nodes: list[Node] = []
        for p in programs:
            _add(self.owners, p.owners)
            _add(self.nodes, p.nodes)
        self.written: list[int] = []
        for p in programs:
            for i in p.written:
                place = _place(self.owners, p.owners[i])
                if place not in self.written:
                    self.written.append(place)
        self.avals = [
            *(in_native_order(o).aval for o in self.owners), *(aval_of_node(n) for n in self.nodes)
        ]  # fmt: skip
        self.jaxprs = [self._aligned(p, count) for p in programs]

    def _aligned(self, program: Program, count: int) -> Jaxpr:
        places = [_place(self.owners, o) for o in program.owners]
        places += [len(self.owners) + _place(self.nodes, n) for n in program.nodes]
        new = {_place(self.owners, program.owners[i]): k for k, i in enumerate(program.written)}
        results = len(program.jaxpr.outputs) - len(program.written)

        def run(xs: list[Array]) -> list[Array]:
            args, rest = xs[:count], xs[count:]
            outs = run_jaxpr(program.jaxpr, [*args, *(rest[p] for p in places)])
            values = [outs[results + new[w]] if w in new else rest[w] for w in self.written]
            return [*outs[:results], *values]

        return stage_closed(run, [*program.jaxpr.in_avals[:count], *self.avals])

    @property
    def captured(self) -> list[Array]:
        return [*map(in_native_order, self.owners), *map(new_array, self.nodes)]

    def write_back(self, values: Sequence[Array]) -> None:
        for i, value in zip(self.written, values, strict=True):
            write(self.owners[i], value._read())


def _add(known: list[Any], more: Sequence[Any]) -> None:
    for x in more:
        if not any(x is k for k in known):
            known.append(x)


def _place(items: Sequence[Any], x: Any) -> int:
    return next(i for i, k in enumerate(items) if k is x)


def same_types(
    what: str,
    first: tuple[str, Structure, Sequence[Aval]],
    second: tuple[str, Structure, Sequence[Aval]],
) -> None:
    """Raise TypeError that says where two trees of results differ."""
    (a, tree_a, avals_a), (b, tree_b, avals_b) = first, second
    if tree_a != tree_b:
        raise TypeError(
            f"{what}: {a} and {b} must be trees of one structure, got {show(tree_a)} and "
            f"{show(tree_b)}"
        )
    for i, (x, y) in enumerate(zip(avals_a, avals_b)):
        if not same_shape(x.shape, y.shape) or x.dtype != y.dtype:
            raise TypeError(
                f"{what}: {a} and {b} must have the same types, but leaf {i} is {x} and {y}"
            )
