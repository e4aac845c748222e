"""`ufunc.reduce` and `ufunc.accumulate` over the reduction primitives, below the ufuncs.

A row says how one ufunc is reduced natively. `reduce` and `accumulate` take the arguments of
NumPy's methods and give their results, dtypes and exceptions.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from operator import index
from sys import _getframe
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from lazynp._array import Array, NDArray, begin, new_array, new_scalar
from lazynp._avals import Aval, on_device
from lazynp._dataclass import dataclass, field
from lazynp._dimensions import as_operand, require_some
from lazynp._errstate import DIRECT
from lazynp._extents import broadcast_shapes, known_empty
from lazynp._fronts import in_front
from lazynp._memo import Memo
from lazynp._node import OP, Node, Op, aval_of_node, is_tracer, leaf, op_of
from lazynp._positions import user_frame
from lazynp._primitive import Primitive
from lazynp._quiet import told_result
from lazynp._recorder import local, staged
from lazynp._sizes import sized
from lazynp._strides import common_order, in_order, out_of_order, reduced_order
from lazynp._ufunc_loops import resolve_dtypes
from lazynp.functions._arguments import check_axis, converted, dtype_of_no_array, mask_argument
from lazynp.functions._eager import done_by_numpy, handle
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import (
    as_array,
    broadcast,
    cast,
    check_writeable,
    scalar_if_0d,
    store,
)
from lazynp.functions._recording import apply
from lazynp.functions._releases import accumulates_repeatedly
from lazynp.functions._scalars import AVALS, scalar
from lazynp.functions._stores import write_into
from lazynp.primitives import elementwise, reduction, shaping

Axes = tuple[int, ...]
Dtype = np.dtype[Any]

NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]
BOOL = np.dtype(np.bool_)


@dataclass(frozen=True, eq=False)
class Reduction:
    """How one ufunc reduces: over axes, and cumulatively along one."""

    ufunc: np.ufunc
    over: Callable[..., Array]  # (x, axes=)
    running: Callable[..., Array] | None  # (x, axis=)
    combine: Any  # the elementwise primitive
    identity: Callable[[Dtype], Any] | None  # the neutral value; None if there is none
    # reductions that are one operation, by (aval, axis, dtype, keepdims)
    ops: Memo[Any, Op] = field(default_factory=lambda: Memo("reduce", hot=True))

    @property
    def name(self) -> str:
        return self.ufunc.__name__


NO_IDENTITY = "zero-size array to reduction operation {} which has no identity"


def _skipping_nan(over: Callable[..., Array], all_of: Callable[..., Array], sign: int) -> Any:
    """A maximum or minimum that ignores nan, unless there is nothing else."""
    name = "fmax" if sign < 0 else "fmin"

    def call(x: Array, **kw: Any) -> Array:
        for a in kw.get("axes", ()):
            require_some(x.shape[a], ValueError(NO_IDENTITY.format(name)))
        if x.dtype.kind not in "fc":
            return over(x, **kw)
        nan = elementwise.isnan(x)
        least = complex(sign * np.inf, sign * np.inf) if x.dtype.kind == "c" else sign * np.inf
        rest = over(elementwise.select(nan, shaping.full(least, shape=(), dtype=x.dtype), x), **kw)
        nothing = shaping.full(np.nan, shape=(), dtype=x.dtype)
        return elementwise.select(all_of(nan, **kw), nothing, rest)

    return call


def _constant(value: Any) -> Callable[[Dtype], Any]:
    return lambda dtype: value


def _all_ones(dtype: Dtype) -> Any:
    return True if dtype == BOOL else dtype.type(~dtype.type(0)).item()


_r, _e = reduction, elementwise
_fmax = _skipping_nan(_r.reduce_max, _r.reduce_and, -1)
_fmin = _skipping_nan(_r.reduce_min, _r.reduce_and, 1)
_fmax_along = _skipping_nan(_r.cummax, _r.cummin, -1)
_fmin_along = _skipping_nan(_r.cummin, _r.cummin, 1)

ROWS = {
    row.name: row
    for row in (
        Reduction(np.add, _r.reduce_sum, _r.cumsum, _e.add, _constant(0)),
        Reduction(np.multiply, _r.reduce_prod, _r.cumprod, _e.multiply, _constant(1)),
        Reduction(np.maximum, _r.reduce_max, _r.cummax, _e.maximum, None),
        Reduction(np.minimum, _r.reduce_min, _r.cummin, _e.minimum, None),
        Reduction(np.fmax, _fmax, _fmax_along, _e.fmax, None),
        Reduction(np.fmin, _fmin, _fmin_along, _e.fmin, None),
        Reduction(
            np.logaddexp, _r.reduce_logaddexp, _r.cumlogaddexp, _e.logaddexp, _constant(-np.inf)
        ),
        Reduction(
            np.logaddexp2, _r.reduce_logaddexp2, _r.cumlogaddexp2, _e.logaddexp2, _constant(-np.inf)
        ),
        Reduction(np.logical_and, _r.reduce_and, _r.cummin, _e.logical_and, _constant(True)),
        Reduction(np.logical_or, _r.reduce_or, _r.cummax, _e.logical_or, _constant(False)),
        Reduction(np.logical_xor, _r.reduce_xor, None, _e.logical_xor, _constant(False)),
        Reduction(np.bitwise_and, _r.reduce_and, None, _e.bitwise_and, _all_ones),
        Reduction(np.bitwise_or, _r.reduce_or, None, _e.bitwise_or, _constant(0)),
        Reduction(np.bitwise_xor, _r.reduce_xor, None, _e.bitwise_xor, _constant(0)),
    )
}
ADD, MULTIPLY, MAXIMUM, MINIMUM = (ROWS[n] for n in ("add", "multiply", "maximum", "minimum"))
FMAX, FMIN, ALL, ANY = (ROWS[n] for n in ("fmax", "fmin", "logical_and", "logical_or"))


# -- arguments -------------------------------------------------------------------------------------


def reduced_axes(axis: Any, ndim: int) -> Axes:
    """The axes that `axis` names, in order. Raises as NumPy does."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        for a in axis:
            check_axis(a)
        if len({normalize_axis_index(a, ndim) for a in axis}) < len(axis):
            raise ValueError("duplicate value in 'axis'")
        return tuple(sorted(normalize_axis_tuple(axis, ndim)))
    check_axis(axis)
    axis = index(axis)
    if ndim == 0 and axis in (0, -1):  # a scalar counts as an array of one element
        return ()
    return (normalize_axis_index(axis, ndim),)


def single_axis(axis: Any, ndim: int, name: str) -> int:
    """The axis of `accumulate` and `reduceat`; for a tuple, its only element."""
    if axis is not None and type(axis) is not tuple:
        check_axis(axis)
        return normalize_axis_index(axis, ndim)
    axes = reduced_axes(axis, ndim)
    if len(axes) != 1:
        raise ValueError(f"{name} does not allow multiple axes")
    return axes[0]


def to_loop(x: Array, dtype: Dtype) -> Array:
    """x in the dtype of the loop, with NumPy's warning if imaginary parts are lost."""
    return converted(x, dtype) if x.dtype.kind == "c" != dtype.kind else cast(x, dtype)


def kept_shape(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduced_shape(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


_loops: Memo[Any, Dtype] = Memo("loop dtypes")


def loop_dtype(ufunc: np.ufunc, x: Dtype, dtype: Any, out: Dtype | None, operand: int = 1) -> Dtype:
    """The dtype in which NumPy reduces: that of the loop it would pick. operand: 0 for what has
    been reduced so far, which `ldexp` has in another dtype.
    """
    key = (ufunc, x, dtype, out, operand)
    if (known := _loops.get(key)) is not None:
        return known
    options = {} if dtype is None else {"signature": (dtype_of_no_array(dtype), None, None)}
    # unsafe: a requested dtype may lose information
    found = resolve_dtypes(ufunc, (out, x, None), casting="unsafe", reduction=True, **options)
    return _loops.put(key, found[operand])


def single_out(out: Any) -> Any:
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        out = out[0]
        check_writeable(out)
    elif out is not None:
        check_writeable(out)
    return out


def check_out(name: str, out: Any, shape: tuple[int, ...], keepdims: bool) -> None:
    if out.ndim != len(shape):
        hint = " (must match the operand's when keepdims=True)" if keepdims else ""
        raise ValueError(
            f"output parameter for reduction operation {name} has the wrong number of dimensions: "
            f"Found {out.ndim} but expected {len(shape)}{hint}"
        )
    if out.shape != shape:
        raise ValueError(
            f"operands could not be broadcast together with shapes {out.shape} {shape}"
        )


# -- reduce ----------------------------------------------------------------------------------------

# axes that cannot be keys: True and 1.0 would be found as 1
_LOOK_ALIKE = frozenset({list, bool, float, np.bool_, np.float64})
_plans: Memo[Any, tuple[Dtype | None, Axes, tuple[int, ...] | None]] = Memo("reductions")


def reduce(
    row: Reduction,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """`ufunc.reduce`, with all of NumPy's argument handling."""
    x = as_array(array)
    if dtype is not None and isinstance(dtype, Array):
        dtype = dtype_of_no_array(dtype)
    if type(axis) is ndarray or type(axis) is NDArray:
        axis = index(axis)
    if type(keepdims) is not bool:
        keepdims = keepdims is not NO_VALUE and bool(index(keepdims))
    if out is not None or initial is not NO_VALUE or (where is not True and where is not NO_VALUE):
        options = (axis, dtype, out, keepdims, initial, where)
        done = _options_at_once(row, x, *options)
        return _reduce_with_options(row, x, *options) if done is None else done
    node = x._node if x._base is None and not staged else x._read()
    if x._order is not None:
        result = reduce(row, new_array(node), axis, dtype, None, keepdims)
        if type(result) is NDArray and result.ndim > 1:
            result._order = reduced_order(x, reduced_axes(axis, x.ndim), keepdims)
        return result
    recorder = local.recorder
    value = recorder.backend.value(node)
    if type(value) is ndarray:
        result = told_result(recorder.quiet, row.ufunc.reduce, value, axis, dtype, None, keepdims)
        aval = AVALS.get(type(result))
        if aval is not None:
            return scalar(result, aval)
        if type(result) is ndarray:  # otherwise one of the objects
            return new_array(leaf(result))
    key = (aval_of_node(node), axis, dtype, keepdims)
    op = row.ops.get(key) if type(axis) not in _LOOK_ALIKE and not is_tracer(node) else None
    if op is not None:
        return record_reduction(op, node)
    plan = _plans.get((row, key)) if type(axis) not in _LOOK_ALIKE else None
    if plan is None:
        if needs_host(x):
            options: Any = {"axis": axis, "dtype": dtype, "out": None, "keepdims": keepdims}
            return host_into(row.ufunc.reduce, x, **options)
        plan = _plan(row, x, axis, dtype, keepdims)
        if not sized(x.shape):
            _plans.put((row, key), plan)
    loop, axes, shape = plan
    if loop is not None:
        x = converted(x, loop) if x.dtype.kind == "c" else elementwise.convert(x, dtype=loop)
    nothing = known_empty(x.size)
    result = _of_nothing(row, x.aval, axes, NO_VALUE) if nothing else row.over(x, axes=axes)
    if shape is not None:
        result = shaping.reshape(result, shape=shape)
    made = result._read()
    if loop is None and shape is None and not nothing:
        _remember(row, key, made, axes)
    return scalar_if_0d(result)


def _remember(row: Reduction, key: Any, made: Node, axes: Axes) -> None:
    """Keep the op of a reduction for the next one; of a traced array, C replays it."""
    if is_tracer(made):
        if isinstance(row.over, Primitive) and type(key[1]) not in _LOOK_ALIKE:
            op = op_of(row.over, {"axes": axes}, (key[0],))
            if not op.sized:
                row.ops.put(key, op)
    elif made[OP] is not None and made[OP].primitive is row.over and not made[OP].sized:
        row.ops.put(key, made[OP])


def _plan(row: Reduction, x: Array, axis: Any, dtype: Any, keepdims: bool) -> Any:
    """The dtype to convert to, if any; the axes; and the shape to give the result, if any."""
    loop = loop_dtype(row.ufunc, x.dtype, dtype, None)
    axes = reduced_axes(axis, x.ndim)
    return loop if loop != x.dtype else None, axes, kept_shape(x.shape, axes) if keepdims else None


F = TypeVar("F", bound=Callable[..., Any])


def reduced_by(row: Reduction, *, typed: bool = False) -> Callable[[F], F]:
    """Decorate a function `(a, axis, ...)` that is `reduce` for this row. typed: it takes a
    dtype.
    """
    known = {"function": row.ufunc.reduce, "handle": handle, "ops": row.ops, "typed": typed}
    known["begins"] = row is not ANY and row is not ALL

    def decorate(function: F) -> F:
        DIRECT.add(function.__code__)  # type: ignore[attr-defined]
        return in_front("reduction", function, **known)

    return decorate


def record_reduction(op: Op, node: Node) -> Any:
    """The fast path: one node, recorded like an operator's."""
    recorder = local.recorder
    made = recorder.backend.operation(op, (node,))
    if made is None:
        begin(recorder, depth=2)
        frame = user_frame(_getframe(2))
        made = [op, (node,), None, frame.f_code, frame.f_lasti]
        recorder.pending.append(made)
    return new_scalar(made) if op.scalar else new_array(made)


def _of_nothing(row: Reduction, aval: Aval, axes: Axes, initial: Any) -> Array:
    """The reduction of an empty array."""
    shape = reduced_shape(aval.shape, axes)
    if initial is NO_VALUE or initial is None:
        empty = any(known_empty(aval.shape[a]) for a in axes)
        if empty and (row.identity is None or initial is None):
            raise ValueError(NO_IDENTITY.format(row.name))
        initial = 0 if row.identity is None else row.identity(aval.dtype)
    if isinstance(initial, Array):
        return broadcast(initial, shape)
    return shaping.full(initial, shape=shape, dtype=aval.dtype)


def _options_at_once(
    row: Reduction, x: Array, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any,
    where: Any,
) -> Any:  # fmt: skip
    """The result of NumPy's method, if all is there and small; else None."""
    method, where = row.ufunc.reduce, True if where is NO_VALUE else where
    kinds = (x.dtype.kind, dtype_of_no_array(dtype).kind, getattr(initial, "dtype", BOOL).kind)
    if type(initial) is complex or "c" in kinds and (out is not None or dtype is not None):
        return None  # where imaginary parts are lost, the warning names the user's line
    options = {"initial": initial, "where": where}
    given = {k: v for k, v in options.items() if all(v is not o for o in (True, None, NO_VALUE))}
    options |= {"axis": axis, "dtype": dtype, "keepdims": keepdims}

    def call(v: Any, *values: Any) -> Any:  # where `out` is given, it is the last
        return method(v, **options | dict(zip((*given, "out"), values, strict=False)))

    if out is None:
        return done_by_numpy(call, x, *given.values())
    return out if write_into(out, (x, *given.values()), call) else None


def _reduce_with_options(
    row: Reduction,
    x: Array,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    out = single_out(out)
    options = {} if initial is NO_VALUE else {"initial": initial}
    if needs_host(x) or out is not None and not on_device(out.dtype):
        masked = {} if where is True or where is NO_VALUE else {"where": where}
        return host_into(
            row.ufunc.reduce,
            x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **options, **masked,
        )  # fmt: skip
    axes = reduced_axes(axis, x.ndim)
    x = to_loop(x, loop_dtype(row.ufunc, x.dtype, dtype, None if out is None else out.dtype))
    shape = kept_shape(x.shape, axes) if keepdims else reduced_shape(x.shape, axes)
    if out is not None:
        check_out(row.name, out, shape, keepdims)
    start = _initial(initial, x.dtype)
    if where is not True and where is not NO_VALUE:
        x = _masked(row, x, where, start)
    given: Any = None if start is NO_VALUE else start
    if sized(x.shape) and row.identity is None and axes and given is not None:
        x = _with_first(x, axes[0], given)
    if known_empty(x.size):
        result = _of_nothing(row, x.aval, axes, start)
    else:
        result = row.over(x, axes=axes)
        if given is not None:
            result = row.combine(given, result)
    if keepdims:
        result = shaping.reshape(result, shape=shape)
    return scalar_if_0d(result) if out is None else store(result, out, "unsafe")


def _with_first(x: Array, axis: int, value: Array) -> Array:
    """x with one more place on an axis, which holds a value: where it may have no elements."""
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    first = shaping.broadcast_in_dim(value, shape=shape, dims=())
    return shaping.concatenate(first, x, axis=axis)


def _initial(initial: Any, dtype: Dtype) -> Any:
    if initial is NO_VALUE or initial is None:
        return initial
    initial = as_operand(initial)
    if isinstance(initial, (Array, np.ndarray)):
        if initial.ndim:
            raise ValueError("setting an array element with a sequence.")
        return to_loop(as_array(initial), dtype)
    made = np.empty((), dtype)
    made.fill(initial)  # raises for an impossible element value
    return as_array(made[()])


def _masked(row: Reduction, x: Array, where: Any, start: Any) -> Array:
    """x with excluded elements replaced by a neutral value."""
    mask = mask_argument(where)
    if mask.ndim > x.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if broadcast_shapes(x.shape, mask.shape) != x.shape:
        raise ValueError(
            f"non-broadcastable operand with shape {x.shape} doesn't match the broadcast shape "
            f"{broadcast_shapes(x.shape, mask.shape)}"
        )
    if row.identity is not None and start is not None:
        fill = shaping.full(row.identity(x.dtype), shape=(), dtype=x.dtype)
    elif start is NO_VALUE or start is None:
        raise ValueError(
            f"reduction operation '{row.name}' does not have an identity, so to use a where mask "
            "one has to specify 'initial'"
        )
    else:
        fill = start
    return apply(elementwise.select, mask, x, fill)


# -- accumulate ------------------------------------------------------------------------------------


def accumulate(row: Reduction, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """`ufunc.accumulate` for a row with a cumulative form."""
    assert row.running is not None
    x, out = as_array(array), single_out(out)
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    axis = accumulated_axis(axis, x, out)
    if needs_host(x) or out is not None and not on_device(out.dtype):
        return host_into(row.ufunc.accumulate, x, axis=axis, dtype=dtype, out=out)
    loop = loop_dtype(row.ufunc, x.dtype, dtype, None if out is None else out.dtype)
    if out is not None and out.shape != x.shape:
        x = _repeated_into(x, axis, out.shape)
    order = common_order((x,), x.shape) if out_of_order(x) else None
    x = to_loop(x, loop)
    result = row.running(x, axis=axis) if not known_empty(x.size) else new_array(x._read())
    in_order(result, order)
    if out is not None:
        result = to_loop(result, out.dtype)
    return store(result, out, "unsafe")


def accumulated_axis(axis: Any, x: Array, out: Array | None) -> int:
    """The axis of `accumulate`. An `out` without axes is refused here: it ends NumPy's process."""
    axis = single_axis(axis, x.ndim, "accumulate")
    if out is not None and not out.ndim:
        raise ValueError(_WRONG_SIZE)
    return axis


def _repeated_into(x: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """The operand of an accumulation into an array that repeats it along other axes."""
    if len(shape) == x.ndim and shape[axis] == x.shape[axis] and accumulates_repeatedly():
        with contextlib.suppress(ValueError):
            return broadcast(x, shape)
    raise ValueError(_WRONG_SIZE)


_WRONG_SIZE = "provided out is the wrong size for the accumulation."


def count_of(shape: Sequence[int], axes: Axes) -> int:
    """The number of elements behind one result."""
    return math.prod(shape[a] for a in axes)
