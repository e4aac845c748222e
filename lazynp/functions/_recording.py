"""The hot path: how operators, ufuncs and composed functions record.

`binary(primitive)` and `unary(primitive)` make the functions behind operators and ufunc calls.
They hold a memo from what the operands are known by to the interned op, so that recording is a
few lookups, a list and a handle. Whatever is not two plain operands goes the long way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from sys import _getframe
from typing import Any, Literal

import numpy as np
from numpy import ndarray

from lazynp import _errstate
from lazynp._array import (
    Array,
    NDArray,
    Scalar,
    as_operand,
    enter,
    new_array,
    new_scalar,
    wrap,
    write_lock,
)
from lazynp._avals import SCALAR_DTYPES, Aval, TracedAval, on_device
from lazynp._config import config
from lazynp._fronts import in_front
from lazynp._node import (
    ARGS,
    AVAL,
    OP,
    VALUE,
    Node,
    Op,
    Traced,
    aval_of_node,
    is_tracer,
    leaf,
    op_of,
)
from lazynp._overrides import ask
from lazynp._primitive import Primitive
from lazynp._quiet import quiet_result, quietly
from lazynp._strides import in_common_order, out_of_order, writeable
from lazynp._trace import (
    Recorder,
    at_once,
    check_bounds,
    checked,
    host_value,
    known,
    local,
    on_host,
    record_traced,
    staged,
    there,
    user_frame,
)
from lazynp.functions._nested import assemble, holds_lazy, opened
from lazynp.functions._scalars import AVALS
from lazynp.functions._stores import write_into
from lazynp.primitives import elementwise, shaping

_new = object.__new__
Slow = Callable[..., Any]


def _at_once(op: Op, operands: tuple[Any, ...]) -> Node | None:
    """Arithmetic between concrete host scalars costs less to do than to record."""
    if config.debug_nans:
        return None  # what is recorded is looked at
    values = []
    for o in operands:
        if type(o) is list:
            o = o[VALUE]
            if not isinstance(o, np.generic):
                return None
        values.append(o)
    return [None, None, _computed(op, values, local.recorder), None, op.aval]


def _scalar(node: Node, recorder: Recorder) -> Scalar:
    """The end of the hot path for a result without dimensions: computed, if its operands are."""
    values = []
    for o in node[ARGS]:
        if type(o) is list:
            o = o[VALUE]
            if not isinstance(o, np.generic):
                done = at_once(node[OP], node[ARGS]) if recorder.eager else None
                if done is None:
                    recorder.pending.append(node)
                else:
                    node = done
                break
        values.append(o)
    else:
        op = node[OP]
        if config.debug_nans:  # what is recorded is looked at
            recorder.pending.append(node)
        else:
            node = [None, None, _computed(op, values, recorder), None, op.aval]
    scalar = _new(Scalar)
    scalar._node = node
    scalar._base = scalar._flags = scalar._seen = scalar._order = None
    return scalar


def _computed(op: Op, values: list[Any], recorder: Recorder) -> Any:
    """The result for scalars. Python's own arithmetic is IEEE's, and a tenth of a ufunc's time."""
    if len(values) == 2 and type(values[0]) in _DOUBLES and type(values[1]) in _DOUBLES:
        of_floats = _OF_FLOATS.get(op.primitive.name)
        if of_floats is not None:
            return np.float64(of_floats(*values))
    out = quiet_result(recorder.quiet, op.reference, *values)
    return out[()] if type(out) is ndarray else out  # `numpy.where` of scalars is an array


_DOUBLES = frozenset({float, np.float64})
_OF_FLOATS = {"add": float.__add__, "subtract": float.__sub__, "multiply": float.__mul__}


def _host_result(node: Node) -> Any:
    """Objects, strings, dates alone are Python's and NumPy's own; everything else is wrapped."""
    op = node[OP]
    if op.scalar and not on_device(op.aval.dtype):
        value = node[VALUE]
        return value[()] if isinstance(value, np.ndarray) else value
    return wrap(node)


def _record_slow(op: Op, operands: tuple[Any, ...]) -> Array:
    """Recording with every check: the first time an op is met, and for host dtypes."""
    if op.bounds is not None:
        check_bounds(op, operands)
    if op.host:
        return _host_result(on_host(op, operands))
    if _errstate.watching:
        node = checked(op, operands)
        if node is not None:
            return wrap(node)
    if op.scalar:
        node = _at_once(op, operands)
        if node is not None:
            return new_scalar(node)
    if local.recorder.eager:
        node = at_once(op, operands)
        if node is not None:
            return wrap(node)
    frame = user_frame(_getframe(2))
    node = [op, operands, None, frame.f_code, frame.f_lasti]
    local.recorder.pending.append(node)
    return wrap(node)


def _out_of_bounds(op: Op, a: Any, b: Any) -> bool:
    number = a if type(a) is int else b
    return not op.bounds[0] <= number <= op.bounds[1]  # type: ignore[index]


class _Done:
    """What an eager recorder has done at once: NumPy is called, nothing is inferred.

    In loops whose slices grow or shrink hardly any operation comes twice; of those that do, the
    aval of the result is remembered. `any_size`: else what is larger than the recorder's `largest`
    is recorded, as it may gain from a program.
    """

    __slots__ = ("avals", "function", "any_size")

    def __init__(self, function: Callable[..., Any], *, any_size: bool = False) -> None:
        self.avals: dict[Any, Aval] = _errstate.memo({})
        self.function = function
        self.any_size = any_size

    def first(self, key: Any, *operands: Any, any_size: bool = False) -> Array | None:
        """The result for operands not met before; None if this is for the recorder."""
        if _errstate.watching:
            return None
        recorder = local.recorder
        largest = math.inf if any_size or self.any_size else recorder.largest
        values = []
        for o in operands:
            if type(o) is list:
                o = there(o)
                if type(o) is not ndarray or o.nbytes > largest or not on_device(o.dtype):
                    if not isinstance(o, np.generic):
                        return None
            values.append(o)
        result = quiet_result(recorder.quiet, self.function, *values)
        node = leaf(result)
        if len(self.avals) >= _MOST:
            self.avals.clear()
        _errstate.remember(self.avals, key, node[AVAL])
        return wrap(node)

    def again(self, recorder: Recorder, a: Any, b: Any) -> Array | None:
        """The result for two operands, nodes or Python scalars; see `first`."""
        known_a, known_b = known(a), known(b)
        aval = self.avals.get((known_a, known_b))
        if aval is None:
            return self.first((known_a, known_b), a, b)
        if type(a) is list:
            a = a[2] if type(a[2]) is ndarray else there(a)
        if type(b) is list:
            b = b[2] if type(b[2]) is ndarray else there(b)
        if a is None or b is None:
            return None
        value = quiet_result(recorder.quiet, self.function, a, b)
        out = _new(NDArray if type(value) is ndarray else Scalar)
        out._node = [None, None, value, None, aval]
        out._base = out._flags = out._seen = out._order = None
        return out


_MOST = 1 << 14


def done_first(slow: Slow, function: Callable[[Any, Any], Any]) -> Slow:
    """`slow`, but where an eager recorder has NumPy's `function` do it: for what is no one op."""
    done = _Done(function)

    def call(x: Any, y: Any) -> Any:
        recorder = local.recorder
        if recorder.eager and not staged:
            if type(x) is NDArray and (type(y) is NDArray or type(y) in _REALS):
                a = x._node if x._base is None else x._read()
                b = y if type(y) in _REALS else y._node if y._base is None else y._read()
                # of bools, the dtype of the square is another than that of the cube
                out = None if known(a).dtype.kind == "b" else done.again(recorder, a, b)
                if out is not None:
                    return in_common_order(out, x, y) if out_of_order(x, y) else out
        return slow(x, y)

    return in_front("elementwise", call, function=function, done=done.avals, memo={}, operands=2)


_REALS = frozenset({int, float})
_PLAIN, _FRESH = "p", "f"  # see `elementwise` in C


def binary(
    primitive: Primitive,
    slow: Slow,
    function: np.ufunc,
    *,
    depth: int = 1,
    swap: bool = False,
) -> Callable[[Any, Any], Any]:
    """`f(x, y)`; `slow(x, y)` takes operands that are neither arrays nor Python scalars.

    function: NumPy's own. depth: how many frames up the user's is. swap: make it `f(y, x)`, for
    reflected operators.
    """
    done = _Done(function)
    avals = done.avals
    memo: dict[tuple[Any, Any], Op] = _errstate.memo({})

    def call(x: Any, y: Any) -> Any:
        if swap:
            x, y = y, x
        recorder = local.recorder
        eager = recorder.eager
        pending = recorder.pending
        if (not eager or recorder.due) and len(pending) >= recorder.limit:
            enter(_getframe(depth), x, y)
        order = None
        t = type(x)
        if t is NDArray or t is Scalar:
            order = x._order
            a = x._node if x._base is None else x._read()
            op = a[0]
            known_a = a[4] if op is None else op.aval
        elif t in SCALAR_DTYPES:
            a = x
            known_a = t
        elif t in AVALS:  # NumPy's scalar
            known_a = AVALS[t]
            a = [None, None, x, None, known_a]
        else:
            return slow(x, y)
        t = type(y)
        if t is NDArray or t is Scalar:
            order = order or y._order
            b = y._node if y._base is None else y._read()
            op = b[0]
            known_b = b[4] if op is None else op.aval
        elif t in SCALAR_DTYPES:
            if type(a) is not list:  # two numbers of Python's: their size decides the dtype
                return slow(x, y)
            b = y
            known_b = t
        elif t in AVALS:
            known_b = AVALS[t]
            b = [None, None, y, None, known_b]
        else:
            return slow(x, y)
        key = known_a, known_b
        if eager:
            aval = avals.get(key)
            if aval is None:
                op = memo.get(key)
                if op is None and (type(known_a) is TracedAval or type(known_b) is TracedAval):
                    out = wrap(record_traced(primitive, (a, b), {}))
                    return out if order is None else in_common_order(out, x, y)
                out = None
                if op is None or op.small:  # which tells that its size is none to record it for
                    out = done.first(key, a, b, any_size=op is not None)
                if out is not None:
                    return out if order is None else in_common_order(out, x, y)
            else:  # `done.first`, without the call
                u = a
                if type(a) is list:
                    u = a[2]
                    if type(u) is not ndarray and type(u) not in AVALS:
                        u = there(a)
                v = b
                if type(b) is list:
                    v = b[2]
                    if type(v) is not ndarray and type(v) not in AVALS:
                        v = there(b)
                if u is not None and v is not None:
                    try:
                        u = recorder.quiet(function, u, v)
                    except RuntimeError:  # see `quiet_result`
                        u = quietly(function, [u, v])
                    out = _new(NDArray if type(u) is ndarray else Scalar)
                    out._node = [None, None, u, None, aval]
                    out._base = out._flags = out._seen = out._order = None
                    return out if order is None else in_common_order(out, x, y)
        try:
            op = memo[key]
        except KeyError:
            try:
                op = op_of(primitive, {}, key)
            except Traced:
                out = wrap(record_traced(primitive, (a, b), {}))
                return out if order is None else in_common_order(out, x, y)
            except TypeError:
                return slow(x, y)  # which raises it again, or knows better
            if op.host or op.bounds is not None and _out_of_bounds(op, a, b):
                return slow(x, y)
            if _errstate.watching and _errstate.strict():
                return slow(x, y)
            _errstate.remember(memo, key, op)
        if op.bounds is not None and _out_of_bounds(op, a, b):
            return slow(x, y)
        if eager:
            made = at_once(op, (a, b))
            if made is not None:
                out = wrap(made)
                return out if order is None else in_common_order(out, x, y)
            if len(pending) >= recorder.limit:
                enter(_getframe(depth), x, y)
        frame = _getframe(depth)
        node = [op, (a, b), None, frame.f_code, frame.f_lasti]
        if op.scalar:
            return _scalar(node, recorder)
        pending.append(node)
        out = _new(NDArray)
        out._node = node
        out._base = out._flags = out._seen = out._order = None
        return out if order is None else in_common_order(out, x, y)

    return in_front(
        "elementwise", call, function=function, done=avals, memo=memo, operands=2, depth=depth,
        swap=swap, code=_PLAIN,
    )  # fmt: skip


def unary(
    primitive: Primitive, slow: Slow, function: np.ufunc, *, depth: int = 1
) -> Callable[[Any], Any]:
    """`f(x)`; see `binary`."""
    done = _Done(function)
    avals = done.avals
    memo: dict[Any, Op] = _errstate.memo({})

    def call(x: Any) -> Any:
        recorder = local.recorder
        eager = recorder.eager
        pending = recorder.pending
        if (not eager or recorder.due) and len(pending) >= recorder.limit:
            enter(_getframe(depth), x)
        order = None
        t = type(x)
        if t is NDArray or t is Scalar:
            order = x._order
            a = x._node if x._base is None else x._read()
            op = a[0]
            known_a = a[4] if op is None else op.aval
        elif t in AVALS:
            known_a = AVALS[t]
            a = [None, None, x, None, known_a]
        else:
            return slow(x)
        if eager:
            aval = avals.get(known_a)
            if aval is None:
                op = memo.get(known_a)
                out = None
                if op is None or op.small:
                    out = done.first(known_a, a, any_size=op is not None)
                if out is not None:
                    return out if order is None else in_common_order(out, x)
            else:
                u = a[2]
                if type(u) is not ndarray and type(u) not in AVALS:
                    u = there(a)
                if u is not None:
                    try:
                        u = recorder.quiet(function, u)
                    except RuntimeError:
                        u = quietly(function, [u])
                    out = _new(NDArray if type(u) is ndarray else Scalar)
                    out._node = [None, None, u, None, aval]
                    out._base = out._flags = out._seen = out._order = None
                    return out if order is None else in_common_order(out, x)
        try:
            op = memo[known_a]
        except KeyError:
            try:
                op = op_of(primitive, {}, (known_a,))
            except Traced:
                out = wrap(record_traced(primitive, (a,), {}))
                return out if order is None else in_common_order(out, x)
            if op.host:
                return slow(x)
            if _errstate.watching and _errstate.strict():
                return slow(x)
            _errstate.remember(memo, known_a, op)
        if eager:
            made = at_once(op, (a,))
            if made is not None:
                out = wrap(made)
                return out if order is None else in_common_order(out, x)
            if len(pending) >= recorder.limit:
                enter(_getframe(depth), x)
        frame = _getframe(depth)
        node = [op, (a,), None, frame.f_code, frame.f_lasti]
        if op.scalar:
            return _scalar(node, recorder)
        pending.append(node)
        out = _new(NDArray)
        out._node = node
        out._base = out._flags = out._seen = out._order = None
        return out if order is None else in_common_order(out, x)

    return in_front(
        "elementwise", call, function=function, done=avals, memo=memo, operands=1, depth=depth,
        code=_PLAIN,
    )  # fmt: skip


def composed(
    function: Callable[[Any, Any], Any], of_numpy: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """`function(x, y)`, which for most operands comes down to one operation on them as they are.

    What it came down to is remembered and recorded straight away the next time; see `binary`.
    """
    done = _Done(of_numpy, any_size=True)
    # False: it comes down to more than one operation
    memo: dict[tuple[Any, Any], Op | Literal[False]] = _errstate.memo({})

    def look(x: Any, y: Any, key: Any, recorder: Recorder) -> Any:
        eager = recorder.eager
        recorder.eager = False  # recorded, so that it can be seen
        try:
            out = function(x, y)
        finally:
            recorder.eager = eager
        op: Op | Literal[False] = False
        if isinstance(out, Array):
            node = out._node
            if node[OP] is not None and node[VALUE] is None and len(node[ARGS]) == 2:
                if node[ARGS][0] is x._read() and node[ARGS][1] is y._read():
                    op = False if node[OP].host else node[OP]
        _errstate.remember(memo, key, op)
        return out

    def call(x: Any, y: Any) -> Any:
        if type(x) is not NDArray or type(y) is not NDArray or staged:
            return function(x, y)
        a = x._node if x._base is None else x._read()
        b = y._node if y._base is None else y._read()
        recorder = local.recorder
        if recorder.eager:
            out = done.again(recorder, a, b)
            if out is not None:
                return out
        key = (aval_of_node(a), aval_of_node(b))
        if is_tracer(a) or is_tracer(b):
            return function(x, y)
        op = memo.get(key)
        if op is None:
            return look(x, y, key, recorder)
        if not op:
            return function(x, y)
        if len(recorder.pending) >= recorder.limit:
            return function(x, y)
        frame = user_frame(_getframe(1))
        node = [op, (a, b), None, frame.f_code, frame.f_lasti]
        if op.scalar:
            return _scalar(node, recorder)
        recorder.pending.append(node)
        return new_array(node)

    return in_front(
        "elementwise", call, function=of_numpy, done=done.avals, memo={}, operands=2, code=_FRESH
    )


def apply(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """Record an elementwise primitive on anything NumPy takes: a Scalar if the result is 0-d."""
    nodes = tuple([operand_of(o) for o in operands])
    recorder = local.recorder
    if len(recorder.pending) >= recorder.limit:
        enter(_getframe(1))
    try:
        op = op_of(primitive, params, tuple([known(n) for n in nodes]))
    except Traced:
        out = wrap(record_traced(primitive, nodes, params))
    else:
        out = _record_slow(op, nodes)
    return in_common_order(out, *operands) if out_of_order(*operands) else out


# -- arguments that every room takes ---------------------------------------------------------------


def operand_of(x: Any) -> Any:
    """`as_operand`, which leaves what is lazy in a list lazy."""
    if isinstance(x, (list, tuple)):
        if holds_lazy(x):
            return assemble(x)._read()
        try:
            return as_operand(x)
        except ValueError:
            if not holds_lazy(x := opened(x)):
                raise
        return assemble(x)._read()
    return as_operand(x)


def as_array(x: Any) -> Array:
    """Whatever NumPy takes for an array, as an Array (no copy of an Array; a view is read)."""
    if type(x) is NDArray or type(x) is Scalar:
        return x
    if isinstance(x, Array):
        ask(x)
        return x
    operand = operand_of(x)
    return new_array(operand) if type(operand) is list else scalar_array(operand)


def scalar_array(x: Any) -> Array:
    """A Python scalar as a 0-d Array of NumPy's dtype for it."""
    value = np.asarray(x)  # an object where no integer dtype holds it
    return new_array(leaf(value if value.dtype.kind == "O" else value[()]))


def plain(x: Any) -> Array:
    """An owner holding the same value: what rules and reductions are given."""
    return new_array(as_array(x)._read())


def scalar_if_0d(x: Array) -> Array:
    """What NumPy returns for this result: a Scalar if it has no dimension."""
    if x.ndim:
        return x
    if on_device(x.dtype):
        return new_scalar(x._read())
    return host_value(x._read())[()]  # an object, string, date


def cast(x: Any, dtype: Any) -> Array:
    """The array in this dtype; itself if it has it already."""
    array, dtype = as_array(x), np.dtype(dtype)
    return array if array.dtype == dtype else elementwise.convert(array, dtype=dtype)


def broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    """A fresh array of the value broadcast to a shape. Raises ValueError as NumPy does."""
    if x.shape == shape:
        return x
    first = len(shape) - x.ndim
    if first < 0 or any(n not in (1, m) for n, m in zip(x.shape, shape[first:], strict=True)):
        raise ValueError(
            f"could not broadcast input array from shape {_text(x.shape)} into shape {_text(shape)}"
        )
    return shaping.broadcast_in_dim(x, shape=shape, dims=tuple(range(first, len(shape))))


def _text(shape: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def check_writeable(out: Any, what: str = "return arrays must be of ArrayType") -> None:
    if isinstance(out, np.ndarray):  # somebody's memory: a buffer, a memmap
        if not out.flags.writeable:
            raise ValueError("output array is read-only")
        return
    if not isinstance(out, Array) or isinstance(out, Scalar):
        raise TypeError(what)
    if not writeable(out):
        raise ValueError("output array is read-only")


def check_shapes(
    inputs: list[tuple[int, ...]],
    outs: list[tuple[int, ...]],
    masks: Sequence[tuple[int, ...]] = (),
) -> None:
    """NumPy's errors where operands, masks and outputs do not fit together."""
    try:
        shape = np.broadcast_shapes(*inputs, *outs, *masks)
    except ValueError:
        listed = " ".join(map(_text, (*inputs, *outs, *masks)))
        raise ValueError(
            f"operands could not be broadcast together with shapes {listed} "
        ) from None
    for out in outs:
        if out != shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {_text(out)} doesn't match the "
                f"broadcast shape {_text(shape)}"
            )


def _copied(value: Any, out: Any) -> None:
    np.copyto(out, value, casting="unsafe")


def store(result: Any, out: Any, casting: str = "same_kind", name: str = "") -> Any:
    """Store a result into `out` with NumPy's checks, and return `out`; the result if None."""
    if out is None:
        return result
    check_writeable(out)
    result = as_array(result)
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast {f'ufunc {name!r} ' if name else ''}output from {result.dtype!r} to "
            f"{out.dtype!r} with casting rule {casting!r}"
        )
    check_shapes([result.shape], [out.shape])
    if write_into(out, (result,), _copied):
        return out
    if isinstance(out, np.ndarray):
        np.copyto(out, host_value(result._read()), casting="unsafe")
        return out
    with write_lock:
        out._write(broadcast(cast(result, out.dtype), out.shape)._read())
    return out
