"""The fast path of a jitted function, for arguments that are plain arrays and numbers.

If a trace captured no arrays of the user's, writes nothing and returns new arrays, a call is one
recorded operation. Its op and the ops of its results are cached by the types of the arguments. All
other calls, and the first call of each kind, take the general path (`_jit`). The arrays may lie
elsewhere, all on the same devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from sys import _getframe
from typing import Any

import numpy as np

from lazynp._alone import (
    ALONE as ALONE_HERE,
    PATIENCE,
    TIMES,
    Alone,
    Prepared,
    at_once as at_once_here,
)
from lazynp._array import NDArray, Scalar, begin, new_array, new_scalar
from lazynp._avals import NUMBERS, SCALAR_DTYPES, TracedAval, on_device, traced_aval
from lazynp._config import config
from lazynp._fronts import in_front
from lazynp._jaxpr import Jaxpr
from lazynp._node import (
    AVAL,
    BORROWED,
    CODE,
    OP,
    VALUE,
    Node,
    Op,
    aval_of_node,
    leaf,
    op_of,
    projection,
    tracer_node,
)
from lazynp._observers import observers
from lazynp._on_devices import ALONE, at_once, count
from lazynp._placed import TRACE, Place, Placed, delivered, enter, placed_in
from lazynp._plan import STATS, Plan, buffer_of
from lazynp._positions import user_frame
from lazynp._primitive import raise_found
from lazynp._recorder import PlacedRecorder, StagingRecorder, elsewhere, known, local, staged
from lazynp._reference import host, lock, watched
from lazynp._sequences import OpSequence
from lazynp._strides import laid_like
from lazynp._trace import only_checks
from lazynp._tree import LEAF, flatten_in_order, tree_unflatten
from lazynp._unread import DONE
from lazynp.primitives.placing import places_inside
from lazynp.transforms._call import jit_call
from lazynp.transforms._checks import Failures, discharged
from lazynp.transforms._stack import DISABLED, node_of

# the key of the arguments, their nodes, and the arguments one by one
Operands = tuple[Any, tuple[Node, ...], Sequence[Any]]


def operands_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operands | None:
    """The key of the arguments, and their nodes in the order of a trace's inputs: arrays, then the
    others. None if the call must take the general path.
    """
    if not kwargs:
        found = _of_leaves(args)
        if found is not None or all([type(x) in _SINGLE for x in args]):
            return found
    leaves, structure, orders = flatten_in_order((args, kwargs))
    found = _of_leaves(leaves)
    if found is None:
        return None
    try:
        hash(structure)
    except TypeError:  # the general path tells
        return None
    return (structure, orders, found[0]), *found[1:]


def operands_beside(
    args: tuple[Any, ...], kwargs: dict[str, Any], places: set[int], names: set[str]
) -> Operands | None:
    """The same where the arguments at these places and of these names are static: they are a part
    of the key.
    """
    static = [(i, type(args[i]), args[i]) for i in sorted(places)]
    static += [(k, type(kwargs[k]), kwargs[k]) for k in sorted(names & kwargs.keys())]
    try:
        hash(fixed := tuple(static))
    except TypeError:  # the general path tells
        return None
    rest = tuple([x for i, x in enumerate(args) if i not in places])
    found = operands_of(rest, {k: v for k, v in kwargs.items() if k not in names})
    return found and ((fixed, found[0]), *found[1:])


_NUMPYS = frozenset(NUMBERS)
_SINGLE = frozenset({NDArray, Scalar, np.ndarray, *SCALAR_DTYPES, *NUMBERS})  # no trees


def _of_leaves(args: Sequence[Any]) -> Operands | None:
    if staged and any([isinstance(s, StagingRecorder) for s in staged]):
        return None  # here, or by another thread, which may have borrowed an array
    borrowed = StagingRecorder.borrowed
    key: list[Any] = []
    nodes: list[Node] = []
    values: list[Node] = []
    arrays: set[int] = set()
    place: Any = None
    plain = False
    for x in args:
        t = type(x)
        if t is NDArray or t is Scalar:
            if x._base is not None or x._flags is not None or id(x) in arrays:
                return None  # a view, a read-only array, or one array twice
            arrays.add(id(x))
            node = x._node
            op = node[OP]
            aval = node[AVAL] if op is None else op.aval
            if type(aval) is TracedAval:
                placed = placed_in(node)
                if placed is None or placed.place.is_first:
                    return None
                where = placed.place, placed.committed
                if place is None:
                    key += where
                    place = where
                elif place != where:
                    return None
                aval = placed.aval
            else:
                plain = True
            if t is Scalar:
                key.append(t)
            key.append(aval)
            if x._order is not None:
                key.append(x._order)
            (values if t is Scalar else nodes).append(node)
        elif t in SCALAR_DTYPES:
            key.append(t)
            values.append(leaf(SCALAR_DTYPES[t].type(x)))
        elif (t is np.ndarray and x.flags.c_contiguous) or t in _NUMPYS:
            if not (on_device(x.dtype) and x.dtype.isnative):
                return None
            node = leaf(x)
            node[CODE] = BORROWED
            plain = True
            key += "array", node[AVAL]
            values.append(node)
        else:
            return None
    if plain and place is not None:
        return None  # some have to go where the others are
    if elsewhere:  # where numbers go, and what the function makes
        if place is None:
            return None
        key.append(config.device)
    if StagingRecorder.borrowed != borrowed:
        return None  # another thread has staged something meanwhile
    return tuple(key), (*nodes, *values), args


def _copied(node: Node) -> Node:
    """A node with a copy of NumPy's value, which may change before the call runs."""
    return node_of(node[VALUE])


def stays(jaxpr: Jaxpr, nodes: tuple[Node, ...]) -> bool:
    """Whether a call runs where its operands are, whatever the program puts somewhere."""
    inside = places_inside(jaxpr)
    if not inside:
        return True
    there = next((p.place for n in nodes if (p := placed_in(n)) and p.committed), None)
    return there is not None and all(place.devices == there.devices for place, _ in inside)


class Quick:
    """The operation that a call becomes, for arguments with one key."""

    __slots__ = ("op", "projections", "makers", "tree", "constants", "classes", "borrows")

    def __init__(self, op: Op, made: Sequence[Any], tree: Any, constants: tuple[Node, ...]) -> None:
        """made: for each result, whether it is an Array (not a Scalar) even if 0-d, its order and
        its flags. constants: the last operands, the same at each call.
        """
        self.op, self.tree, self.constants = op, None if tree is LEAF else tree, constants
        self.projections = [projection(op.aval, i) for i in range(len(op.aval))]
        self.makers = [
            new_scalar if not (is_array or aval.ndim)
            else partial(laid_like, order=order, flags=flags) if order or flags
            else new_array
            for (is_array, order, flags), aval in zip(made, op.aval, strict=True)
        ]  # fmt: skip
        # of the results' handles, for the front in C; none: it leaves such calls to `call`
        plain = not constants and all([m is new_scalar or m is new_array for m in self.makers])
        classes = [Scalar if m is new_scalar else NDArray for m in self.makers]
        self.classes = tuple(classes) if plain else ()
        self.borrows = False  # whether arguments are NumPy's

    def call(self, args: Sequence[Any], nodes: tuple[Node, ...]) -> Any:
        """Record the call. Does what `bind` does, with everything precomputed. The user's frame is
        the caller's caller.
        """
        recorder = local.recorder
        pending = recorder.pending
        if self.constants:
            nodes += self.constants
        outs: list[Node]
        found = at_once_here(recorder, self.op, nodes)
        if found is None:
            if self.borrows:
                nodes = tuple([_copied(n) if n[CODE] is BORROWED else n for n in nodes])
            begin(recorder, *args, depth=2)
        where = local.where
        if where is None:
            frame = user_frame(_getframe(2))
            where = frame.f_code, frame.f_lasti
        if found is not None:
            plan, values = found
            outs = [[op, plan, v, *where] for op, v in zip(self.projections, values)]
            return self._returned(outs)
        node = [self.op, nodes, None, *where]
        outs = [[op, (node,), None, *where] for op in self.projections]
        pending.append(node)
        pending += outs
        return self._returned(outs)

    def _returned(self, nodes: Sequence[Node]) -> Any:
        """The results as the function returned them."""
        leaves = [make(node) for make, node in zip(self.makers, nodes)]
        return leaves[0] if self.tree is None else tree_unflatten(self.tree, leaves)


class PlacedQuick(Quick):
    """`Quick` for arrays that lie elsewhere: what `PlacedTrace.process` does."""

    __slots__ = ()

    def call(self, args: Sequence[Any], nodes: tuple[Node, ...]) -> Any:
        first: Any = None
        inner: Any = []
        for n in nodes:
            value = n[VALUE]
            if type(value) is Placed:
                first = value
                n = value.node
            inner.append(n)
        inner = tuple(inner)
        place, committed = first.place, first.committed
        recorder = local.recorder_of(place)
        found = at_once(recorder, self.op, inner)
        if found is not None:
            return self._returned(delivered(self.op, found, place, committed))
        outside = local.where is None
        if outside:
            frame = user_frame(_getframe(2))
            local.where = frame.f_code, frame.f_lasti
        try:
            if recorder.is_full():
                enter(recorder)
            where: Any = local.where
            node = [self.op, inner, None, *where]
            outs: list[Node] = [[op, (node,), None, *where] for op in self.projections]
            recorder.pending.append(node)
            recorder.pending += outs
            held = [tracer_node(Placed(out, place, committed)) for out in outs]
        finally:
            if outside:
                local.where = None
        return self._returned(held)


def front_calls(jitted: Any, stats: Any) -> None:
    """Put a front before `__call__` of the class of jitted functions. It makes the calls that
    `at_once` would run, here and elsewhere. stats: counts calls.
    """
    classes = (
        jitted, PlacedQuick, Placed, Place, PlacedRecorder, Alone, Plan, Prepared, OpSequence,
    )  # fmt: skip
    known = (
        DISABLED, ALONE, observers, count, STATS, stats, tree_unflatten, TRACE, traced_aval,
        ALONE_HERE, elsewhere, watched, lock, buffer_of, DONE, BORROWED, PATIENCE, host,
    )  # fmt: skip
    call = jitted.__call__
    jitted.__call__ = in_front("jitted", call, function=classes, known=known, times=TIMES)


class CheckedQuick(Quick):
    """`Quick` for a function with checks: their finding is its last result."""

    __slots__ = ("failures",)

    def __init__(
        self, op: Op, made: Sequence[Any], tree: Any, constants: tuple[Node, ...],
        failures: Failures,
    ) -> None:  # fmt: skip
        super().__init__(op, made, tree, constants)
        self.failures = failures

    def call(self, args: Sequence[Any], nodes: tuple[Node, ...]) -> Any:
        result, found = super().call(args, nodes)
        raise_found(found, self.failures)
        return result


def quick_of(
    jaxpr: Jaxpr, params: dict[str, Any], nodes: tuple[Node, ...], made: Sequence[Any], tree: Any,
    constants: Sequence[Node],
) -> Quick | None:  # fmt: skip
    """The fast path of a trace, or None. params: of the call, but for the jaxpr. constants:
    operands after the arguments' nodes.
    """
    always = tuple(constants)
    elsewhere = any(placed_in(n) is not None for n in nodes)
    nodes += always
    ins = tuple([aval_of_node(n) if placed_in(n) else known(n) for n in nodes])
    op = op_of(jit_call, {"jaxpr": jaxpr, **params}, ins)
    if not all(aval_of_node(n).dtype.isnative for n in nodes):
        return None
    if elsewhere:
        plain = not always and not op.host and op.bounds is None and op.aval
        plain = plain and not any(order or flags for _, order, flags in made)
        return PlacedQuick(op, made, tree, ()) if plain else None
    if op.host and only_checks(op):
        jaxpr, failures = discharged(jaxpr, 0)
        op = op_of(jit_call, {"jaxpr": jaxpr, **params}, ins)
        made, tree = [*made, (True, None, None)], (tuple, None, (tree, LEAF))
        quick: Quick = CheckedQuick(op, made, tree, always, failures)
    elif op.host or not op.aval:
        return None
    else:
        quick = Quick(op, made, tree, always)
    quick.borrows = any(n[CODE] is BORROWED for n in nodes)
    return quick
