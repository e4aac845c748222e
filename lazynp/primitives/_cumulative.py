"""cumsum, cumprod, cumlogaddexp, cummax, cummin; the linear recurrence of their derivatives.

The host lowering is a `while` over the axis, one slice at a time. It reproduces NumPy's accumulate
bit for bit, at NumPy's speed in one dimension and two to four times that speed in more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._fronts import BUILT, fastpath
from lazynp._primitive import NOT_LINEAR, Primitive, Undefined
from lazynp.primitives import elementwise, elementwise_emit as e
from lazynp.primitives._extrema import pick_larger, pick_smaller
from lazynp.primitives._layout import (
    BOOL,
    INT64,
    check_axes,
    iota,
    linear,
    reverse,
    spread,
)
from lazynp.primitives.elementwise_transcendental import log_share
from lazynp.primitives.shaping import pad

Step = Callable[..., Any]  # (b, accumulated, element) -> accumulated; see scan for `by`


def scan(b: Any, x: Any, axis: int, step: Step, backwards: bool = False, by: Any = None) -> Any:
    """Accumulate x along an axis: out[0] = x[0], out[i] = step(b, out[i - 1], x[i]).

    With a second array `by`, step also receives its slice. The loop reads x from the buffer that it
    writes the result to, so it needs the memory of one copy of x.
    """
    shape = x.aval.shape
    n = shape[axis]
    if x.aval.size == 0 or n == 1:
        return x
    if not b.platform.host:
        return _doubling(b, x, axis, step, backwards, by)
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])

    def at(i: Any) -> list[Any]:
        return [i if k == axis else b.constant(0, INT64) for k in range(len(shape))]

    def cond(b: Any, state: list[Any]) -> Any:
        return b.compare(state[0], b.constant(-1 if backwards else n, INT64), "NE")

    def body(b: Any, state: list[Any]) -> list[Any]:
        i, acc, out = state
        parts = [b.dynamic_slice(a, at(i), sizes) for a in ([out] if by is None else [out, by])]
        acc = step(b, acc, *parts)
        out = b.dynamic_update_slice(out, acc, at(i))
        return [b.binary("stablehlo.add", i, b.constant(-1 if backwards else 1, INT64)), acc, out]

    first = n - 1 if backwards else 0
    low = [first if k == axis else 0 for k in range(len(shape))]
    acc = b.slice(x, low, [lo + size for lo, size in zip(low, sizes, strict=True)])
    second = b.constant(n - 2 if backwards else 1, INT64)
    return b.while_loop(cond, body, [second, acc, x])[2]


def _doubling(b: Any, x: Any, axis: int, step: Step, backwards: bool, by: Any) -> Any:
    """Like `scan`, in log2(n) steps over whole arrays, for devices where a loop is too slow.

    It associates sums and products differently from NumPy.
    """
    shape = x.aval.shape
    index = b.iota(shape, axis, INT64)
    distance = 1
    while distance < shape[axis]:
        into = [distance if k == axis else 0 for k in range(len(shape))]
        out = [-d for d in into]
        low, high = (out, into) if backwards else (into, out)
        edge = shape[axis] - distance if backwards else distance
        inside = b.compare(index, b.constant(edge, INT64, shape), "LT" if backwards else "GE")

        def moved(a: Any, low: Any = low, high: Any = high) -> Any:
            return b.pad(a, b.constant(0, a.aval.dtype), low, high)

        factors = () if by is None else (by,)
        x = b.select(inside, step(b, moved(x), x, *factors), x)
        if by is not None:
            by = b.select(inside, b.binary("stablehlo.multiply", moved(by), by), by)
        distance *= 2
    return x


def _cumulative_abstract(x: Aval, *, axis: int) -> Aval:
    check_axes("cumulative", x.ndim, (axis,))
    return aval_of(x.shape, x.dtype)


def _reference_by(ufunc: np.ufunc) -> Any:
    def reference(x: Any, *, axis: int) -> Any:
        x = np.asarray(x)
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    return reference


def _lower_by(step_of: Callable[[Aval], Step]) -> Any:
    def lower(b: Any, x: Any, *, axis: int) -> Any:
        return scan(b, x, axis, step_of(x.aval))

    return lower


def _step(name: str, name_of_bools: str) -> Callable[[Aval], Step]:
    def step_of(aval: Aval) -> Step:
        op = name_of_bools if aval.dtype == BOOL else name
        return lambda b, acc, elem: b.binary(op, acc, elem)

    return step_of


def previous(x: Any, axis: int, fill: Any, backwards: bool = False) -> Any:
    """x shifted by one along an axis: out[i] = x[i - 1], and `fill` at the end that has no x[i -
    1].
    """
    ndim = len(x.shape)
    into = tuple(int(i == axis) for i in range(ndim))
    out = tuple(-int(i == axis) for i in range(ndim))
    low, high = (out, into) if backwards else (into, out)
    return pad(x, fill, low=low, high=high, interior=(0,) * ndim)


# -- cumsum ------------------------------------------------------------------------------------


def _cumsum_transpose(ct: Any, x: Any, *, axis: int) -> list[Any]:
    flipped = cumsum(reverse(ct, axes=(axis,)), axis=axis)
    return [reverse(flipped, axes=(axis,))]


def _cumsum_batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
    return cumsum(x, axis=axis + 1)


cumsum = linear(
    "cumsum",
    abstract=_cumulative_abstract,
    reference=_reference_by(np.add),
    lower=_lower_by(_step("stablehlo.add", "stablehlo.or")),
    transpose=_cumsum_transpose,
    batch=_cumsum_batch,
    cost=(3.4, 4.5),
    kind="reduction",
)


# -- linear_recurrence -------------------------------------------------------------------------


def _linear_recurrence_abstract(a: Aval, x: Aval, *, axis: int, backwards: bool) -> Aval:
    check_axes("linear_recurrence", x.ndim, (axis,))
    if a.shape != x.shape or a.dtype != x.dtype:
        raise TypeError(f"linear_recurrence: operands of one type are required, got {a} and {x}")
    return aval_of(x.shape, x.dtype)


def _linear_recurrence_reference(a: Any, x: Any, *, axis: int, backwards: bool) -> Any:
    out = np.array(x, order="C")
    if BUILT and fastpath.linear_recurrence(np.ascontiguousarray(a), out, axis, backwards):
        return out
    factors, rows = np.moveaxis(np.asarray(a), axis, 0), np.moveaxis(out, axis, 0)
    if rows[:1].size <= _FEW_LANES and out.dtype.char in "dD":
        _recur_in_python(factors, rows, backwards)
        return out
    if backwards:
        factors, rows = factors[::-1], rows[::-1]
    for i in range(1, len(rows)):
        rows[i] += elementwise.multiply_no_nan.reference(factors[i], rows[i - 1])
    return out


_FEW_LANES = 8  # up to so many, Python's numbers are faster than NumPy's rows


def _recur_in_python(factors: Any, rows: Any, backwards: bool) -> None:
    """The recurrence of each lane of `rows`, in place, for numbers of 64 bits."""
    step = -1 if backwards else 1
    for lane in np.ndindex(rows.shape[1:]):
        place = (slice(None, None, step), *lane)
        pairs = zip(rows[place].tolist(), factors[place].tolist(), strict=True)
        first = next(pairs, (0.0, 0.0))[0]
        steps = itertools.accumulate(
            pairs, lambda last, pair: _product(pair[1], last) + pair[0], initial=first
        )
        rows[place] = list(steps)[: len(rows)]


def _product(factor: Any, last: Any) -> Any:
    product = factor * last
    return 0.0 if product != product and (factor == 0 or last == 0) else product


def _linear_recurrence_lower(b: Any, a: Any, x: Any, *, axis: int, backwards: bool) -> Any:
    def step(b: Any, acc: Any, elem: Any, factor: Any) -> Any:
        product = b.product(factor, acc)
        zero = b.or_(*(e.is_(b, v, "EQ", 0) for v in (factor, acc)))
        lost = b.and_(e.is_nan(b, product), zero)
        return b.binary("stablehlo.add", elem, b.select(lost, e.like(b, 0, product), product))

    return scan(b, x, axis, step, backwards, by=a)


def _linear_recurrence_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, backwards: bool
) -> tuple[Any, Any]:
    (a, x), (da, dx) = primals, tangents
    y = linear_recurrence(a, x, axis=axis, backwards=backwards)
    drive = dx
    if da is not None:
        drive = elementwise.multiply_no_nan(da, previous(y, axis, 0, backwards))
        drive = drive if dx is None else elementwise.add(drive, dx)
    if drive is None:
        return y, None
    return y, linear_recurrence(a, drive, axis=axis, backwards=backwards)


def _linear_recurrence_transpose(
    ct: Any, a: Any, x: Any, *, axis: int, backwards: bool
) -> list[Any]:
    if isinstance(a, Undefined):
        raise TypeError("linear_recurrence: linear in its second operand only")
    factors = previous(a, axis, 0, not backwards)
    return [None, linear_recurrence(factors, ct, axis=axis, backwards=not backwards)]


def _linear_recurrence_batch(
    size: int, batched: Sequence[bool], a: Any, x: Any, *, axis: int, backwards: bool
) -> Any:
    shape = x.shape[1:] if batched[1] else x.shape
    a, x = spread(size, batched[0], a, shape), spread(size, batched[1], x, shape)
    return linear_recurrence(a, x, axis=axis + 1, backwards=backwards)


# y[i] = a[i] * y[i - 1] + x[i], with y[0] = x[0]; `backwards` starts at the other end. Zero times
# infinity is zero, as in `multiply_no_nan`
linear_recurrence = Primitive(
    "linear_recurrence",
    abstract=_linear_recurrence_abstract,
    reference=_linear_recurrence_reference,
    lower=_linear_recurrence_lower,
    jvp=_linear_recurrence_jvp,
    transpose=_linear_recurrence_transpose,
    batch=_linear_recurrence_batch,
    cost=(2.5, 5.0),
    kind="reduction",
)


# -- accumulations -----------------------------------------------------------------------------


def _accumulation(
    name: str, ufunc: np.ufunc, step_of: Callable[[Aval], Step], tangent: Callable[..., Any],
    cost: tuple[float, float],
) -> Primitive:  # fmt: skip
    """NumPy's `ufunc.accumulate`. tangent: of the results, from x, the results, the tangent of x
    and the axis.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
        (x,), (dx,) = primals, tangents
        out = primitive(x, axis=axis)
        return out, None if dx is None else tangent(x, out, dx, axis)

    def batch(size: int, batched: Sequence[bool], x: Any, *, axis: int) -> Any:
        return primitive(x, axis=axis + 1)

    primitive = Primitive(
        name,
        abstract=_cumulative_abstract,
        reference=_reference_by(ufunc),
        lower=_lower_by(step_of),
        jvp=jvp,
        transpose=NOT_LINEAR,
        batch=batch,
        cost=cost,
        kind="reduction",
    )
    return primitive


# -- cumprod -----------------------------------------------------------------------------------


def cumprod_tangent(x: Any, out: Any, dx: Any, axis: int) -> Any:
    """d(p[i]) = x[i] d(p[i - 1]) + p[i - 1] dx[i]. Correct where x is zero, unlike a quotient."""
    drive = elementwise.multiply_no_nan(previous(out, axis, 1), dx)
    return linear_recurrence(x, drive, axis=axis, backwards=False)


cumprod = _accumulation(
    "cumprod", np.multiply, _step("stablehlo.multiply", "stablehlo.and"), cumprod_tangent,
    (3.4, 4.5),
)  # fmt: skip


# -- cumlogaddexp, cumlogaddexp2 ---------------------------------------------------------------


def _log_sums(name: str, ufunc: np.ufunc, combine: Primitive, power: Primitive) -> Primitive:
    def tangent(x: Any, out: Any, dx: Any, axis: int) -> Any:
        """d(y[i]) = e^(y[i - 1] - y[i]) d(y[i - 1]) + e^(x[i] - y[i]) dx[i]."""
        kept = power(log_share(previous(out, axis, -np.inf), out))
        drive = elementwise.multiply_no_nan(dx, power(log_share(x, out)))
        return linear_recurrence(kept, drive, axis=axis, backwards=False)

    return _accumulation(name, ufunc, lambda aval: combine.lower, tangent, (30.0, 30.0))


cumlogaddexp = _log_sums("cumlogaddexp", np.logaddexp, elementwise.logaddexp, elementwise.exp)
cumlogaddexp2 = _log_sums("cumlogaddexp2", np.logaddexp2, elementwise.logaddexp2, elementwise.exp2)


# -- cummax, cummin ----------------------------------------------------------------------------


def _held(x: Any, out: Any, dx: Any, axis: int) -> Any:
    """The tangent at the place of each running extremum, held until the next extremum. Two equal
    values contribute half each, as in maximum and minimum.
    """
    before = previous(out, axis, 0)
    same = elementwise.equal(out, before)
    stays = elementwise.logical_or(same, elementwise.isnan(before))
    tie = elementwise.logical_and(same, elementwise.equal(x, before))
    first = elementwise.equal(iota(shape=out.shape, axis=axis, dtype=INT64), 0)
    kept = elementwise.select(tie, 0.5, elementwise.convert(stays, dtype=out.dtype))
    kept = elementwise.select(first, 0.0, kept)
    return linear_recurrence(
        kept, elementwise.multiply(elementwise.subtract(1.0, kept), dx), axis=axis, backwards=False
    )


def _extremum(name: str, ufunc: np.ufunc, pick: Step) -> Primitive:
    return _accumulation(name, ufunc, lambda aval: pick, _held, (2.0, 6.0))


cummax = _extremum("cummax", np.maximum, pick_larger)
cummin = _extremum("cummin", np.minimum, pick_smaller)
