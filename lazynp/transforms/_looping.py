"""while_loop, fori_loop, and loops that count to a bound that is not an int: staging their bodies.

`_loops` has the primitive and its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._dimensions import scalar_of
from lazynp._flush import host_value
from lazynp._intervals import between, interval, size_bounds
from lazynp._jaxpr import Jaxpr
from lazynp._positions import position
from lazynp._recorder import user_position
from lazynp._sizes import Dim, Size, largest
from lazynp._tree import tree_flatten
from lazynp.primitives import elementwise
from lazynp.transforms._branches import (
    Merged,
    as_carried,
    carried_aval,
    kind_of_argument,
    same_types,
    settled,
    staged_function,
)
from lazynp.transforms._for_users import for_users
from lazynp.transforms._loops import Count, while_call
from lazynp.transforms._scanning import scanned
from lazynp.transforms._sized_loops import (
    Classes,
    Staged,
    may_decide,
    opened_loop,
    staged_body,
    staged_for,
)
from lazynp.transforms._sizing import Own
from lazynp.transforms._stack import DISABLED, at_once, check_leaf, node_of
from lazynp.transforms._stage import (
    Ranges,
    run_jaxpr,
    stage_closed,
)


@for_users
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    preserve_dimensions: bool = True,
) -> Any:  # fmt: skip
    """`while cond_fun(val): val = body_fun(val)`. The types of val must not change.

    In-place writes to val count if the body returns val; init_val stays as it is. Reverse mode
    runs the loop again from checkpoints; that of scan, and of fori_loop with int bounds, is faster.
    preserve_dimensions: see `fori_loop`. The condition may look at sizes.

    >>> import lazynp as np
    >>> float(np.while_loop(lambda x: x < 100, lambda x: x * x, 3.0))
    6561.0
    """
    return looped(cond_fun, body_fun, init_val, preserve=bool(preserve_dimensions))


def looped(
    cond_fun: Any, body_fun: Any, init_val: Any, weak: Sequence[int] = (),
    ranges: Ranges | None = None, count: Count | None = None, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """weak: the leaves that count as Python numbers, besides actual Python numbers. ranges: those
    of leaves, in the body, if they are known. count: if the first leaf counts. preserve: as
    `preserve_dimensions`; None: the body has no sizes of its own.
    """
    if DISABLED and at_once(going := cond_fun(init_val)):
        val = init_val
        while bool(host_value(node_of(going))):
            val = body_fun(val)
            going = cond_fun(val)
        return val
    leaves, structure = tree_flatten((init_val,))
    for x in leaves:
        check_leaf(x, "while_loop")
    nodes = [node_of(x) for x in leaves]
    avals = list(map(carried_aval, leaves, nodes))
    for i in weak:
        avals[i] = aval_of(avals[i].shape, avals[i].dtype, True)
    kinds = [kind_of_argument(x, a) for x, a in zip(leaves, avals, strict=True)]
    preserve = preserve if may_decide() else None
    classes = Classes(avals if preserve is not None else [], preserve is not False)
    what = "while_loop body"
    while True:
        body, given = staged_for(
            body_fun, structure, avals, [], kinds, what, ranges, preserve, classes
        )
        alike = body.flat.tree == structure[2][0]
        new = settled(given, body.outs, body.program.jaxpr) if alike else None
        if new is not None:
            avals = [aval_of(a.shape, n.dtype, n.weak) for a, n in zip(avals, new, strict=True)]
        elif not alike or not classes.changed(body.outs):
            break
    start = list(map(new_array, as_carried(nodes, avals)))
    body.settled()
    test = _staged_test(cond_fun, structure, given, kinds, preserve, classes)
    outs = classes.check("while_loop", body.outs) if alike else body.outs
    same_types(
        "while_loop",
        ("the value", structure[2][0], given),
        ("the result of the body", body.flat.tree, outs),
    )
    if body.opens or test.opens:
        found, _ = opened_loop("while_loop", body, test, classes, avals, start, [], [], None, False)
    else:
        found = _run_merged(Merged([body.program, test.program], len(avals)), start, count)
    return body.flat.rebuilt([o._read() for o in found], [kind or None for kind in kinds])


def _staged_test(
    cond_fun: Any, structure: Any, avals: Sequence[Aval], kinds: Any, preserve: bool | None,
    classes: Classes,
) -> Staged:  # fmt: skip
    what = "while_loop condition"
    if preserve is None:
        test = Staged(*staged_function(cond_fun, structure, avals, kinds, what), Own())
    else:
        test = staged_body(cond_fun, structure, avals, kinds, what, None, classes.variables)
    if len(test.outs) != 1 or test.outs[0].shape or test.outs[0].dtype != np.bool_:
        raise TypeError(f"while_loop: the condition must return one bool, got {list(test.outs)}")
    if test.program.written:
        raise TypeError("while_loop: the condition must not write arrays from outside")
    return test.settled()


def _run_merged(merged: Merged, init: list[Array], count: Count | None) -> list[Array]:
    """Captured arrays that the body writes are carried too."""
    n, written = len(init), merged.written
    others = [i for i in range(len(merged.avals)) if i not in written]
    consts = len(others)

    def rearranged(jaxpr: Jaxpr, outputs: slice) -> Jaxpr:
        def run(xs: list[Array]) -> list[Array]:
            captured = dict(zip(others, xs[:consts], strict=True))
            captured.update(zip(written, xs[consts + n :], strict=True))
            rest = [captured[i] for i in range(len(merged.avals))]
            return run_jaxpr(jaxpr, [*xs[consts : consts + n], *rest])[outputs]

        avals = [merged.avals[i] for i in others] + [x.aval for x in init]
        return stage_closed(run, [*avals, *(merged.avals[i] for i in written)])

    captured = merged.captured
    operands = [captured[i] for i in others] + init + [captured[i] for i in written]
    body, test = merged.jaxprs
    outs = while_call(
        *operands,
        cond=rearranged(test, slice(0, 1)),
        body=rearranged(body, slice(None)),
        consts=consts,
        count=count,
        place=position(*user_position()),
    )
    merged.write_back(outs[n:])
    return list(outs[:n])


@for_users
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    unroll: int | bool | None = None, preserve_dimensions: bool = True,
) -> Any:  # fmt: skip
    """`for i in range(lower, upper): val = body_fun(i, val)`.

    With int bounds it is a scan, with the same `unroll`. With other bounds it is a while_loop; in
    reverse mode a scan if something limits them, as the index `k` of an outer loop does in
    `fori_loop(k + 1, n, ...)`. `i` is a scalar, as in a range: `x[i]` is a view.

    preserve_dimensions: axes of init_val that have one traced size go on sharing one. False: each
    axis is carried for itself, and may change; in the body, no two are known to be equal.

    >>> import lazynp as np
    >>> float(np.fori_loop(0, 3, lambda i, total: total + i, 0.0))
    3.0
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        _check_bound(name, bound)
    return counted(lower, upper, body_fun, init_val, unroll, bool(preserve_dimensions))


def _check_bound(name: str, bound: Any) -> None:
    if type(bound) is Size or _is_int(bound):
        return
    check_leaf(bound, "fori_loop")
    aval = new_array(node_of(bound)).aval
    if aval.shape or aval.dtype.kind not in "biu":
        raise TypeError(f"fori_loop: {name} must be an integer, got {aval}")


def counted(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any,
    unroll: int | bool | None = None, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """`fori_loop`. preserve: None: the body has no sizes of its own."""
    if _is_int(lower) and _is_int(upper):
        if upper <= lower:
            return init_val
        step = lambda i, val: (body_fun(i, val), None)  # noqa: E731
        return stacked_loop(int(lower), int(upper), step, init_val, unroll or 1, preserve)[0]

    if all(type(b) is Size or _is_int(b) for b in (lower, upper)):
        step = lambda i, val: (body_fun(i, val), None)  # noqa: E731
        return stacked_loop(lower, upper, step, init_val, unroll or 1, preserve)[0]

    if unroll is not None:
        raise ValueError("fori_loop: unroll requires int bounds")

    return counted_loop(lower, upper, body_fun, init_val, preserve=preserve)


_FAR = 1 << 62  # no bound is as great


def stacked_loop(
    lower: Dim, upper: Dim, body_fun: Callable[[Any, Any], Any], init_val: Any,
    unroll: int | bool = 1, preserve: bool | None = None,
) -> Any:  # fmt: skip
    """`for i in range(lower, upper): val, y = body_fun(i, val)`. The last val; the y stacked."""

    def step(carry: Any, _: Any) -> Any:
        i, val = carry
        val, y = body_fun(i, val)
        return (elementwise.add(i, 1), val), y

    low, high = max(_interval(lower)[0], -_FAR), min(_interval(upper)[1], _FAR) - 1
    ranges = {0: between(low, high, lower, _if_any(upper, low) - 1)}
    length = largest(upper - lower, 0)
    start = scalar_of(lower) if type(lower) is Size else lower
    carry = start, init_val
    (_, val), ys = scanned(
        step, carry, None, length, False, unroll, ranges, preserve, op="fori_loop"
    )
    return val, ys


def _if_any(upper: Dim, low: int) -> Dim:
    """The end of a loop that has a round: maximum(n, 0) is n there, if it counts from 0."""
    for atom in upper.atoms() if type(upper) is Size and low >= 0 else ():
        if upper.terms == {(atom,): 1} and atom.op == "maximum":
            a, b = atom.args
            return a if type(b) is int and b <= 0 else b if type(a) is int and a <= 0 else upper
    return upper


def _interval(n: Dim) -> tuple[int, int]:
    return interval(scalar_of(n)._read()) if type(n) is Size else (n, n)


_MOST_ROUNDS = 1 << 24  # that reverse mode would run


def counted_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
    going: Callable[[Any], Any] | None = None, bound: int | None = None,
    preserve: bool | None = None,
) -> Any:  # fmt: skip
    """A loop whose number of rounds depends on values, though it has a bound:

        for i in range(lower, upper)[:bound]:
            if not going(val): break
            val = body_fun(i, val)

    `going` returns a bool, for instance a flag in `val` that the body clears for `break` and
    `return`. The bounds are ints or traced. If `bound` is None, it follows from what is known of
    them (`range(k + 1, n)` in a loop over k). With a bound there is a reverse mode, which costs as
    much as `bound` rounds.
    """
    first, stop = [elementwise.convert(new_array(node_of(b)), dtype=_INT) for b in (lower, upper)]
    if bound is not None:
        stop = elementwise.minimum(stop, elementwise.add(first, bound))
    (low, most), high = interval(first._read()), interval(stop._read())[1] - 1
    high = high if bound is None else min(high, most + bound - 1)
    rounds = max(0, high - low + 1)
    if bound is not None:
        rounds = min(rounds, max(0, bound))

    def test(state: Any) -> Any:
        more = elementwise.less(state[0], state[1])
        return more if going is None else elementwise.logical_and(more, going(state[2]))

    def body(state: Any) -> Any:
        i, stop, val = state
        return elementwise.add(i, 1), stop, body_fun(i, val)

    init = new_scalar(first._read()), new_scalar(stop._read()), init_val
    limit: Dim | None = rounds if rounds <= _MOST_ROUNDS else None
    least, end = size_bounds(first._read())[0], size_bounds(stop._read())[1]
    if limit is None and least is not None and end is not None:
        limit = largest(end - least, 0)
    count = Count(limit, low, max(low, high))
    counts: Any = (count.low, count.high)
    if type(limit) is Size:
        counts = between(count.low, count.high, least, end - 1)  # type: ignore[arg-type, operator]
    return looped(test, body, init, (0,), {0: counts}, count, preserve)[2]


_INT = np.dtype(np.int64)


def _is_int(x: Any) -> bool:
    return type(x) is int or isinstance(x, np.integer) and not isinstance(x, Array)
