"""scan and map: staging their bodies. `_scan` has the primitive and its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, NDArray, new_array
from lazynp._avals import Aval, aval_of
from lazynp._dimensions import length_of
from lazynp._extents import known_empty
from lazynp._intervals import interval
from lazynp._node import aval_of_node
from lazynp._sizes import Dim, Size, is_size
from lazynp._tree import tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import shaping
from lazynp.transforms._branches import (
    Merged,
    as_carried,
    carried_aval,
    kind_of_argument,
    same_types,
    settled,
)
from lazynp.transforms._for_users import for_users
from lazynp.transforms._scan import scan_call
from lazynp.transforms._sized_loops import (
    Classes,
    Staged,
    may_decide,
    opened_loop,
    staged_for,
)
from lazynp.transforms._stack import at_once, check_leaf, node_of, result_handle
from lazynp.transforms._stage import Ranges, run_jaxpr, stage_closed
from lazynp.transforms._vmap import vmap


@for_users
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    preserve_dimensions: bool = True,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each x on axis 0 of xs; returns the last carry and the stacked
    ys.

    Arrays from outside that f writes are carried along. f gets its own values: it may work in place
    on them, and init and xs stay as they are.

    One round of the compiled loop contains `unroll` steps (True: all steps, so no loop remains), in
    both directions. preserve_dimensions: see `fori_loop`. TypeError if the carry changes its
    structure, a shape or a dtype.

    >>> import lazynp as np
    >>> last, sums = np.scan(lambda carry, x: (carry + x, carry + x), 0.0, np.array([1.0, 2.0]))
    >>> float(last), sums
    (3.0, array([1., 3.]))
    """
    return scanned(f, init, xs, length, reverse, unroll, {}, bool(preserve_dimensions))


def scanned(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    ranges: Ranges,
    preserve: bool | None = None,
    op: str = "scan",
) -> tuple[Any, Any]:
    """`scan`. ranges: those of leaves of the carry, if they are known. preserve: as
    `preserve_dimensions`; None: the body has no sizes of its own. op: what the user called;
    "fori_loop" carries a counter before the user's value.
    """
    carry_leaves, carry_tree = tree_flatten(init)
    x_leaves, x_tree = tree_flatten(xs)
    for x in [*carry_leaves, *x_leaves]:
        check_leaf(x, "scan")
    xs_nodes = [node_of(x) for x in x_leaves]
    length = _length([aval_of_node(n) for n in xs_nodes], length)
    if at_once() and length:
        return _one_by_one(f, init, xs, length, reverse)
    unroll = _unroll(unroll, length)
    slices = [aval_of(aval_of_node(n).shape[1:], aval_of_node(n).dtype) for n in xs_nodes]
    start = [node_of(x) for x in carry_leaves]
    structure = (tuple, None, (carry_tree, x_tree))
    kinds = [kind_of_argument(x, aval_of_node(n))
             for x, n in zip(carry_leaves, start, strict=True)]  # fmt: skip
    kinds += [NDArray if a.ndim else None for a in slices]
    ranges = ranges | {
        len(start) + i: interval(n)
        for i, (n, a) in enumerate(zip(xs_nodes, slices, strict=True))
        if a.dtype.kind in "iu" and not known_empty(a.size)
    }
    preserve = preserve if may_decide() else None
    body, given, classes, start = _staged_body(
        f, structure, carry_leaves, start, slices, kinds, ranges, preserve, length, op
    )
    flat = body.flat
    arrays = list(map(new_array, start))
    stacked = list(map(new_array, xs_nodes))
    if body.opens:
        _check_rows(body, len(start))
        carry, ys = opened_loop(
            "scan", body, None, classes, given, arrays, stacked, slices, length, bool(reverse)
        )
    else:
        merged = Merged([body.program], len(start) + len(slices))
        carry, ys = _run(merged, arrays, stacked, slices, length, reverse, unroll)
    y_tree = flat.tree[2][1]
    kinds = [NDArray if k is NDArray else None for k in kinds]
    last = [result_handle(c._read(), k) for c, k in zip(carry, kinds)]
    return tree_unflatten(carry_tree, last), tree_unflatten(y_tree, ys)


def _one_by_one(f: Any, carry: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """Under `disable_jit`, loop in Python, so that f sees the values."""
    arrays, ys = tree_map(lambda x: new_array(node_of(x)), xs), []
    way = slice(None, None, -1 if reverse else 1)
    for i in range(length)[way]:
        pair = f(carry, tree_map(lambda x, i=i: x[i], arrays))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError("scan: the body must return a pair (carry, y)")
        carry, y = pair
        ys.append(tree_map(_row, y))
    return carry, tree_map(
        lambda *rows: shaping.concatenate(*rows, axis=0), *ys[:: -1 if reverse else 1]
    )


def _row(x: Any) -> Array:
    array = new_array(node_of(x))
    return shaping.reshape(array, shape=(1, *array.shape))


def _length(avals: Sequence[Aval], length: int | None) -> int:
    for a in avals:
        if not a.ndim:
            raise ValueError("scan: the arrays of xs must have a leading axis, got a scalar")
    sizes = {a.shape[0] for a in avals}
    if length is not None:
        found = length_of(length)
        sizes.add(int(length) if found is None else found)
    if len(sizes) != 1:
        if not sizes:
            raise ValueError("scan: without xs, length is required")
        raise ValueError(
            f"scan: the leading axes of xs, and length, must agree, got {_told(sizes)}"
        )
    return sizes.pop()


def _told(sizes: set[Any]) -> list[Any]:
    return list(sizes) if any(map(is_size, sizes)) else sorted(sizes)


def _unroll(unroll: int | bool, length: int) -> int:
    if unroll is True or unroll is False:
        return max(1, length) if unroll else 1
    if not isinstance(unroll, int) or unroll < 1:
        raise ValueError(f"scan: unroll must be a positive int or a bool, got {unroll!r}")
    return max(1, unroll if is_size(length) else min(unroll, length))


def _check_rows(body: Staged, carry: int) -> None:
    """What rounds give to be stacked must have one size in all of them."""
    inner = {*body.own.variables, *body.own.made}
    for aval in body.outs[carry:]:
        for n in aval.shape:
            if type(n) is Size and not inner.isdisjoint(n.variables()):
                raise TypeError(
                    f"scan: what the rounds return must have one size to be stacked, got {aval}"
                )


def _staged_body(
    f: Any,
    structure: Any,
    leaves: list[Any],
    start: list[Any],
    slices: list[Aval],
    kinds: Any,
    ranges: Ranges,
    preserve: bool | None,
    length: Dim,
    op: str,
) -> tuple[Staged, list[Aval], Classes, list[Any]]:
    """Stage the body. Python numbers in the carry take the type that the body returns. Returns the
    types of the carry that it was staged for, and the classes of its sizes.
    """
    avals = list(map(carried_aval, leaves, start))
    classes = Classes(avals if preserve is not None else [], preserve is not False)
    while True:
        body, given = staged_for(
            f, structure, avals, slices, kinds, "scan body", ranges, preserve, classes, length
        )
        tree, outs = body.flat.tree, body.program.jaxpr.out_avals[: len(start)]
        if tree is None or tree[0] is not tuple or len(tree[2]) != 2:
            raise TypeError("scan: the body must return a pair (carry, y)")
        alike = tree[2][0] == structure[2][0]
        new = settled(given, outs, body.program.jaxpr) if alike else None
        if new is not None:
            avals = [aval_of(a.shape, n.dtype, n.weak) for a, n in zip(avals, new, strict=True)]
        elif not alike or not classes.changed(outs):
            break
    _check_carry(op, (structure[2][0], given), (tree[2][0], classes.check(op, outs)))
    return body.settled(), avals, classes, as_carried(start, avals)


def _check_carry(op: str, before: tuple[Any, list[Aval]], after: tuple[Any, list[Aval]]) -> None:
    """Raise TypeError that names what differs in the carry, as the user of `op` sees it."""
    names = ("the carry", "the carry that the body returns")
    if op == "fori_loop":
        names = ("the value", "the value that the body returns")
        before, after = ((tree[2][1], avals[1:]) for tree, avals in (before, after))
    same_types(op, (names[0], *before), (names[1], *after))


def _run(
    merged: Merged, init: list[Array], xs: list[Array], slices: list[Aval], length: int,
    reverse: bool, unroll: int,
) -> tuple[list[Array], list[Array]]:  # fmt: skip
    """Captured arrays that the body writes are carried too."""
    n, written = len(init), merged.written
    others = [i for i in range(len(merged.avals)) if i not in written]
    consts, w = len(others), len(written)

    def run(args: list[Array]) -> list[Array]:
        captured = dict(zip(others, args[:consts], strict=True))
        captured.update(zip(written, args[consts + n : consts + n + w], strict=True))
        rest = [captured[i] for i in range(len(merged.avals))]
        outs = run_jaxpr(
            merged.jaxprs[0], [*args[consts : consts + n], *args[consts + n + w :], *rest]
        )
        results = len(outs) - w
        return [*outs[:n], *outs[results:], *outs[n:results]]

    fixed = [merged.avals[i] for i in others]
    avals = [*fixed, *(x.aval for x in init), *(merged.avals[i] for i in written), *slices]
    captured = merged.captured
    outs = scan_call(
        *(captured[i] for i in others), *init, *(captured[i] for i in written), *xs,
        jaxpr=stage_closed(run, avals), length=length, reverse=bool(reverse), consts=consts,
        carry=n + w, unroll=unroll,
    )  # fmt: skip
    merged.write_back(outs[n : n + w])
    return list(outs[:n]), list(outs[n + w :])


def map_(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each x on axis 0 of xs, one after the other; stacks the results.

    batch_size: how many of them vmap computes at a time.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    if batch_size < 1:
        raise ValueError(f"map: batch_size must be positive, got {batch_size}")
    arrays = tree_map(lambda x: new_array(node_of(x)), xs)
    n = _length([x.aval for x in tree_flatten(arrays)[0]], None)
    rounds, mapped = n // batch_size, vmap(f)
    whole = rounds * batch_size
    rows = (rounds, batch_size)
    parts = []
    if rounds:
        batches = tree_map(lambda x: x[:whole].reshape(*rows, *x.shape[1:]), arrays)
        ys = map_(mapped, batches)
        parts.append(tree_map(lambda y: y.reshape(whole, *y.shape[2:]), ys))
    if whole < n or not rounds:
        parts.append(mapped(tree_map(lambda x: x[whole:], arrays)))
    return tree_map(lambda *ys: shaping.concatenate(*ys, axis=0), *parts)
