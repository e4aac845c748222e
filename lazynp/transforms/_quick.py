"""The short way through a jitted function: arguments that are plain arrays and numbers.

A trace that captured nothing, writes nothing and returns new arrays is one recorded operation;
its op and those of its results are kept by the types of the arguments. All else, and the first
call of each kind, goes the long way (`_jit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from typing import Any

from lazynp._array import NDArray, Scalar, begin, new_array, new_scalar
from lazynp._avals import SCALAR_DTYPES, TracedAval
from lazynp._jaxpr import Jaxpr
from lazynp._node import AVAL, OP, Node, Op, aval_of_node, leaf, op_of, projection
from lazynp._positions import user_frame
from lazynp._primitive import raise_found
from lazynp._recorder import known, local
from lazynp._trace import only_checks
from lazynp._tree import LEAF, tree_unflatten
from lazynp.transforms._call import jit_call
from lazynp.transforms._checks import Failures, discharged

Operands = tuple[tuple[Any, ...], tuple[Node, ...]]


def operands_of(args: Sequence[Any]) -> Operands | None:
    """What the arguments are known by, and their nodes; None if the long way must be taken."""
    if local.recorder.staging:
        return None
    key: list[Any] = []
    nodes: list[Node] = []
    arrays: set[int] = set()
    for x in args:
        t = type(x)
        if t is NDArray or t is Scalar:
            if x._base is not None or x._flags is not None or id(x) in arrays:
                return None  # views, read-only ones, an array twice
            arrays.add(id(x))
            node = x._node
            op = node[OP]
            aval = node[AVAL] if op is None else op.aval
            if type(aval) is TracedAval:
                return None
            if t is Scalar:
                key.append(t)
            key.append(aval)
            if x._order is not None:
                key.append(x._order)
            nodes.append(node)
        elif t in SCALAR_DTYPES:
            key.append(t)
            nodes.append(leaf(SCALAR_DTYPES[t].type(x)))
        else:
            return None
    return tuple(key), tuple(nodes)


class Quick:
    """The operation that a call is, for arguments known by one key."""

    __slots__ = ("op", "projections", "makers", "tree")

    def __init__(self, op: Op, made: Sequence[Any], tree: Any) -> None:
        """made: for each result, whether it is an array even without dimensions."""
        self.op, self.tree = op, None if tree is LEAF else tree
        self.projections = [projection(op.aval, i) for i in range(len(op.aval))]
        self.makers = [
            new_array if is_array or aval.ndim else new_scalar
            for is_array, aval in zip(made, op.aval, strict=True)
        ]

    def call(self, args: tuple[Any, ...], nodes: tuple[Node, ...]) -> Any:
        """Record it: what `bind` does, all known beforehand. The caller is called by the user."""
        recorder = local.recorder
        pending = recorder.pending
        begin(recorder, *args, depth=2)
        where = local.where
        if where is None:
            frame = user_frame(_getframe(2))
            where = frame.f_code, frame.f_lasti
        node = [self.op, nodes, None, *where]
        outs: list[Node] = [[op, (node,), None, *where] for op in self.projections]
        pending.append(node)
        pending += outs
        leaves = [make(out) for make, out in zip(self.makers, outs)]
        return leaves[0] if self.tree is None else tree_unflatten(self.tree, leaves)


class CheckedQuick(Quick):
    """The same of a function with checks in it: what they found is its last result."""

    __slots__ = ("failures",)

    def __init__(self, op: Op, made: Sequence[Any], tree: Any, failures: Failures) -> None:
        super().__init__(op, made, tree)
        self.failures = failures

    def call(self, args: tuple[Any, ...], nodes: tuple[Node, ...]) -> Any:
        result, found = super().call(args, nodes)
        raise_found(found, self.failures)
        return result


def quick_of(
    jaxpr: Jaxpr, name: str, nodes: tuple[Node, ...], made: Sequence[Any], tree: Any
) -> Quick | None:
    """The short way of a trace, if it has one."""
    ins = tuple([known(n) for n in nodes])
    op = op_of(jit_call, {"jaxpr": jaxpr, "name": name}, ins)
    if not all(aval_of_node(n).dtype.isnative for n in nodes):
        return None
    if op.host and only_checks(op):
        jaxpr, failures = discharged(jaxpr, 0)
        op = op_of(jit_call, {"jaxpr": jaxpr, "name": name}, ins)
        return CheckedQuick(op, [*made, True], (tuple, None, (tree, LEAF)), failures)
    return None if op.host or not op.aval else Quick(op, made, tree)
