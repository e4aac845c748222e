"""How operators, ufuncs and composed functions record: the definition of the fast path.

`binary(primitive)` and `unary(primitive)` make the functions behind operators and ufunc calls. The
keys of the operands lead to one `Entry`, which holds the interned op and the aval of NumPy's
result. So an operation is a look-up, a node and a handle. Operands that are neither arrays nor
scalars of Python or NumPy take the slow path, an argument.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from sys import _getframe
from typing import Any, Literal

import numpy as np

from lazynp._array import Array, NDArray, Scalar, begin, begins, begins_late, new_array, wrap
from lazynp._avals import SCALAR_DTYPES, Aval, TracedAval, on_device
from lazynp._extents import broadcast_shapes
from lazynp._fronts import in_front
from lazynp._memo import Memo
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
from lazynp._positions import user_frame
from lazynp._primitive import Primitive
from lazynp._quiet import told_result
from lazynp._recorder import Recorder, elsewhere, known, local, staged
from lazynp._strides import in_common_order, out_of_order
from lazynp._trace import check_bounds, node_of, record_traced, scalar_node, staging
from lazynp._tracebacks import show_users
from lazynp._values import watched
from lazynp.functions._fitting import check_narrowed
from lazynp.functions._object_arrays import as_objects, beside_objects
from lazynp.functions._operands import numpys, operand_of, there_by_default
from lazynp.functions._scalars import AVALS
from lazynp.primitives.elementwise import power
from lazynp.primitives.elementwise_factory import are_pythons_bools

Slow = Callable[..., Any]
NUMBERS = frozenset({*SCALAR_DTYPES, *AVALS})  # classes of Python's and NumPy's numbers


class Entry:
    """What is known of one function for one kind of operands."""

    __slots__ = ("op", "aval")

    op: Op | Literal[False] | None  # the recorded op; False: it takes more than one operation
    aval: Aval | None  # of NumPy's result

    def __init__(self) -> None:
        self.op = self.aval = None


Entries = Memo[Any, Entry]


def entries_of(function: Any) -> Entries:
    return Memo(getattr(function, "__name__", "function"), hot=True)


def plain_operand(x: Any) -> Any:
    """A node, or a Python scalar unchanged; None for operands of the slow path."""
    t = type(x)
    if t is NDArray or t is Scalar:
        return x._read()
    if t in SCALAR_DTYPES:
        return x
    aval = AVALS.get(t)  # the aval of NumPy's scalar
    return None if aval is None else [None, None, x, None, aval]


def done_at_once(
    entry: Entry,
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    recorder: Recorder,
    any_size: bool = False,
) -> Array | None:
    """NumPy's result for operands that are available and small; None: record it.

    In loops whose slices grow or shrink, hardly any operation repeats, so nothing is inferred. For
    operations that do repeat, the aval of the result is cached.
    """
    aval = entry.aval
    any_size = any_size or aval is not None and recorder.backend.in_loop
    values = []
    for o in operands:
        if type(o) is list:
            value = o[VALUE]
            if not any_size or aval is None or type(value) is not np.ndarray:
                value = recorder.backend.value(o, any_size)
                if value is None:
                    return None
            o = value
        values.append(o)
    if not any_size and not recorder.backend.in_loop and not _is_small(values, recorder):
        return None
    result = told_result(recorder.quiet, function, *values)
    if recorder.policy.spend(result.nbytes):
        recorder.spent()
    recorder.countdown -= 1
    if recorder.countdown <= 0:
        recorder.ticked()
    if aval is not None:
        return wrap([None, None, result, None, aval])
    node = leaf(result)
    entry.aval = node[AVAL]
    return wrap(node)


def _is_small(values: list[Any], recorder: Recorder) -> bool:
    """Whether the result of small operands is small, too: broadcast ones, or those of a product."""
    arrays = [v for v in values if type(v) is np.ndarray and v.ndim]
    if len(arrays) < 2 or arrays[0].shape == arrays[1].shape:
        return True
    a, b = arrays
    try:
        size = math.prod(broadcast_shapes(a.shape, b.shape))
    except ValueError:
        rows, columns = a.shape[-2:-1] or (1,), b.shape[-1:] if b.ndim > 1 else (1,)
        contracted = max(a.shape[-1], 1)
        size = max(a.size * columns[0], b.size * rows[0]) // contracted
    return size * max(a.itemsize, b.itemsize) <= recorder.policy.largest


def recorded(op: Op, operands: tuple[Any, ...], recorder: Recorder, depth: int) -> Array:
    """The handle of a recorded operation. depth: the number of frames up to the user's."""
    node = scalar_node(op, operands) if op.scalar else None
    if node is None:
        frame = _getframe(depth + 1)
        node = [op, operands, None, frame.f_code, frame.f_lasti]
        recorder.pending.append(node)
    return wrap(node)


class _Elementwise:
    """One elementwise primitive and NumPy's function for it."""

    __slots__ = ("primitive", "function", "slow", "depth", "entries", "numbers")

    def __init__(
        self, primitive: Primitive, function: np.ufunc, slow: Slow, depth: int, numbers: bool
    ) -> None:
        self.primitive, self.function, self.slow = primitive, function, slow
        self.numbers = numbers  # whether it gives NumPy's numbers for Python's, as no operator does
        self.depth = depth  # the number of frames from the caller of `result` up to the user's
        self.entries = entries_of(function)

    def result(self, recorder: Recorder, xs: Any, operands: tuple[Any, ...], key: Any) -> Any:
        """key: what the operands are known by; a tuple, if there are two."""
        entry = self.entries.get(key)
        if entry is None:
            kinds = list(map(known, operands))
            if self.numbers and are_pythons_bools(kinds):
                return self.slow(*xs)  # which takes them as NumPy's
            if TracedAval in map(type, kinds):
                if not all([on_device(k.dtype) for k in kinds if isinstance(k, Aval)]):
                    return self.slow(*xs)  # text or dates, about which operators know more
                return self._made(wrap(record_traced(self.primitive, operands, {})), xs)
            if watched():
                return self.slow(*xs)
            entry = self.entries.put(key, Entry())
        out = recorder.backend.attempt(self._at_once, recorder, entry, operands)
        if out is not None:
            return _ordered(out, xs)
        begins_late(recorder, *xs, depth=self.depth + 1)
        op = entry.op or self._infer(entry, operands)
        if not op or op.bounds is not None and _out_of_bounds(op, operands):
            return self.slow(*xs)
        return self._made(recorded(op, operands, recorder, self.depth + 1), xs)

    def _made(self, out: Any, xs: Any) -> Any:
        if self.numbers and type(out) is Scalar:
            return numpys(out)
        return _ordered(out, xs)

    def _at_once(self, recorder: Recorder, entry: Entry, operands: tuple[Any, ...]) -> Any:
        if not recorder.backend.in_loop:
            return done_at_once(entry, self.function, operands, recorder)
        small = entry.op and entry.op.small  # then its size is no reason to record it
        if small or entry.op is None:
            out = done_at_once(entry, self.function, operands, recorder, bool(small))
            if out is not None or small:
                return out
            op = self._infer(entry, operands)
            if op and op.small:
                return done_at_once(entry, self.function, operands, recorder, True)
        elif entry.aval is not None:
            return done_at_once(entry, self.function, operands, recorder)
        return None

    def _infer(self, entry: Entry, operands: tuple[Any, ...]) -> Op | None:
        """The op. None for the slow path, which raises the error of the inference or handles the
        operands.
        """
        try:
            op = op_of(self.primitive, {}, tuple(map(known, operands)))
        except TypeError:
            return None
        if op.host:
            return None
        entry.op = op
        return op


def binary(
    primitive: Primitive, slow: Slow, function: np.ufunc, *, depth: int = 1, swap: bool = False,
    numbers: bool = False,
) -> Callable[[Any, Any], Any]:  # fmt: skip
    """`f(x, y)`; `slow(x, y)` takes operands that are neither arrays nor scalars.

    function: NumPy's own. depth: the number of frames up to the user's. swap: make it `f(y, x)`,
    for reflected operators. numbers: `slow` takes operands that are both NumPy's or Python's, and
    gives NumPy's result.
    """
    elementwise = _Elementwise(primitive, function, slow, depth, numbers)

    def call(x: Any, y: Any) -> Any:
        if swap:
            x, y = y, x
        recorder = local.recorder
        begins(recorder, x, y, depth=depth)
        a, b = plain_operand(x), plain_operand(y)
        try:
            if a is None or b is None or type(a) is not list and type(b) is not list:
                return slow(x, y)  # for two Python numbers, their size decides the dtype
            if numbers and type(x) in NUMBERS and type(y) in NUMBERS:
                return slow(x, y)
            return elementwise.result(recorder, (x, y), (a, b), (known(a), known(b)))
        except Exception as error:
            show_users(error)
            raise

    return in_front(
        "elementwise", call, function=function, entries=elementwise.entries, operands=2,
        depth=depth, swap=swap, records=True, creates=numbers, primitive=primitive,
    )  # fmt: skip


def unary(
    primitive: Primitive, slow: Slow, function: np.ufunc, *, depth: int = 1, numbers: bool = False
) -> Callable[[Any], Any]:
    """`f(x)`; see `binary`."""
    elementwise = _Elementwise(primitive, function, slow, depth, numbers)

    def call(x: Any) -> Any:
        recorder = local.recorder
        begins(recorder, x, depth=depth)
        a = plain_operand(x)
        try:
            if type(a) is not list or numbers and type(x) in NUMBERS:
                return slow(x)
            return elementwise.result(recorder, (x,), (a,), known(a))
        except Exception as error:
            show_users(error)
            raise

    return in_front(
        "elementwise", call, function=function, entries=elementwise.entries, operands=1,
        depth=depth, records=True, creates=numbers, primitive=primitive,
    )  # fmt: skip


def of_numbers(function: np.ufunc, slow: Slow) -> Slow:
    """`slow`; of numbers that are not lazy, it gives NumPy's result."""
    if (function.nin, function.nout) == (2, 1):  # powers
        slow = done_first(slow, function)
    return in_front(
        "elementwise", slow, function=function, entries=entries_of(function), operands=function.nin,
        creates=True,
    )  # fmt: skip


def done_first(
    slow: Slow,
    function: Callable[[Any, Any], Any],
    square: np.ufunc | None = None,
    *,
    swap: bool = False,
) -> Slow:
    """`slow`, unless NumPy's `function` can run eagerly; for powers, which are not one op.

    square: what NumPy does for `x ** 2`, but not for `power(x, 2)`. swap: the exponent comes first.
    """
    entries = entries_of(function)
    more: dict[str, Any] = {} if square is None else {"method": square}
    is_power = function is np.power or square is not None
    if is_power:
        more |= {"primitive": power, "powers": 2 if square is None and not swap else 1}

    def call(x: Any, y: Any, modulus: Any = None) -> Any:
        if modulus is not None:  # `pow(x, y, z)`
            return NotImplemented
        if (type(x) is NDArray or type(y) is NDArray) and not staged:
            xs = (y, x) if swap else (x, y)
            out = local.recorder.backend.attempt(at_once, *xs)
            if out is not None:
                return out
        out = slow(x, y)
        if is_power and not swap and (type(y) is int or type(y) is float) and not staged:
            _note_exponent(entries, slow, x, y)
        return out

    def at_once(x: Any, y: Any) -> Any:
        a, b = plain_operand(x), plain_operand(y)
        if a is None or b is None or type(a) is bool or type(b) is bool:
            return None
        if type(a) is list and known(a).dtype.kind == "b":  # type: ignore[union-attr]
            return None  # the dtype of the square differs from that of the cube
        return _met_at_once(entries, function, (x, y), (a, b))

    return in_front(
        "elementwise", call, function=function, entries=entries, operands=2, swap=swap, **more
    )


def _note_exponent(entries: Entries, slow: Slow, x: Any, y: float) -> None:
    """Note which operation a constant exponent makes of a traced base: C replays the next one."""
    if type(x) is not NDArray and type(x) is not Scalar or not is_tracer(x._read()):
        return
    aval = aval_of_node(x._read())
    key: Any = (aval, type(y), y)
    if y == y and type(aval) is Aval and on_device(aval.dtype) and key not in entries:
        entries.put(key, Entry()).op = _op_on(slow, (aval,), y)


def powers_first(slow: Slow, reflected: bool) -> Slow:
    """`done_first` for `x ** y`; reflected: for the method of y."""
    if reflected:
        return done_first(slow, np.power, swap=True)
    return done_first(slow, operator.pow, np.square)


def owners_first(slow: Slow, function: np.ufunc) -> Slow:
    """`slow`, unless this ufunc of SciPy's can run eagerly, on real numbers of 32 and 64 bits.

    Of others, lazynp's function may have another dtype, under any policy.
    """
    entries = entries_of(function)

    def call(*xs: Any) -> Any:
        if not staged:
            out = local.recorder.backend.attempt(at_once, *xs)
            if out is not None:
                return out
        return slow(*xs)

    def at_once(*xs: Any) -> Any:
        operands = tuple([plain_operand(x) for x in xs])
        if not all([type(o) is float or type(o) is list and _is_float(o) for o in operands]):
            return None
        return _met_at_once(entries, function, xs, operands)

    return in_front("elementwise", call, function=function, entries=entries, operands=function.nin)


def _met_at_once(entries: Entries, function: Any, xs: tuple[Any, ...], operands: Any) -> Any:
    """`done_at_once`, with the entry of these operands; C finds it under the same key."""
    kinds: Any = tuple([known(o) for o in operands])
    key = kinds if len(kinds) > 1 else kinds[0]
    entry = entries.get(key) or entries.put(key, Entry())
    out = done_at_once(entry, function, operands, local.recorder)
    return None if out is None else _ordered(out, xs)


def _is_float(node: Node) -> bool:
    return not is_tracer(node) and aval_of_node(node).dtype.char in "fd"


def composed(
    function: Callable[[Any, Any], Any], of_numpy: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """`function(x, y)`, which for most operands amounts to one operation on them.

    That operation is cached and recorded directly the next time; see `binary`.
    """
    entries = entries_of(of_numpy)

    def look(x: Any, y: Any, entry: Entry) -> Any:
        with local.recorder.recording():  # so that it can be observed
            out = function(x, y)
        entry.op = False
        if isinstance(out, Array):
            node = out._node
            if node[OP] is not None and node[VALUE] is None and len(node[ARGS]) == 2:
                if node[ARGS][0] is x._read() and node[ARGS][1] is y._read():
                    entry.op = False if node[OP].host else node[OP]
        return out

    def call(x: Any, y: Any) -> Any:
        if type(x) is not NDArray or type(y) is not NDArray or staged:
            return function(x, y)
        a, b = plain_operand(x), plain_operand(y)
        key = aval_of_node(a), aval_of_node(b)
        if is_tracer(a) or is_tracer(b):
            out = function(x, y)  # which raises what is to be raised
            entry = entries.get(key) or entries.put(key, Entry())
            if entry.op is None:  # C replays the next one
                entry.op = _op_on(function, key)
            return out
        recorder = local.recorder
        entry = entries.get(key) or entries.put(key, Entry())
        backend = recorder.backend
        out = backend.attempt(done_at_once, entry, of_numpy, (a, b), recorder, backend.in_loop)
        if out is not None:
            return out
        op = entry.op
        if op is None:
            return look(x, y, entry)
        if not op or recorder.is_full():
            return function(x, y)  # which looks for a flush where it begins
        node = scalar_node(op, (a, b)) if op.scalar else None
        if node is None:
            frame = user_frame(_getframe(1))
            node = [op, (a, b), None, frame.f_code, frame.f_lasti]
            recorder.pending.append(node)
        return wrap(node)

    return in_front(
        "elementwise", call, function=of_numpy, entries=entries, operands=2, arrays_only=True
    )


def _op_on(function: Callable[[Any, Any], Any], types: tuple[Aval, ...], *numbers: float) -> Any:
    """The one operation that a function of such operands records; False if it is not one."""
    with staging("a function of two arrays") as recorder:
        inputs = [recorder.input(aval) for aval in types]
        out = function(*map(new_array, inputs), *numbers)
        node = out._node if isinstance(out, Array) else inputs[0]
        if node[OP] is None or node[OP].host or not len(types) <= len(node[ARGS]) <= 2:
            return False
        given = (*inputs, *numbers)
        return node[OP] if all(a is b for a, b in zip(node[ARGS], given)) else False


def apply(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """Record an elementwise primitive on anything that NumPy accepts: a Scalar if the result is
    0-d.
    """
    nodes = tuple([operand_of(o) for o in operands])
    begin(local.recorder)
    try:
        op = op_of(primitive, params, tuple([known(n) for n in nodes]))
    except Traced:
        op = None
    if (op is None or op.host) and beside_objects(nodes):
        return apply(primitive, *map(as_objects, nodes), **params)
    out = wrap(record_traced(primitive, nodes, params)) if op is None else _made(op, nodes)
    return in_common_order(out, *operands) if out_of_order(*operands) else out


def _made(op: Op, operands: tuple[Any, ...]) -> Any:
    if op.bounds is not None:
        check_bounds(op, operands)
        if staged:
            check_narrowed(op, operands)
    node = scalar_node(op, operands) if op.scalar and not watched() else None
    if node is None:
        node = node_of(op, operands)
    if elsewhere and list not in map(type, operands):
        node = there_by_default(node)
    if op.host and op.scalar and not on_device(op.aval.dtype):
        return _host_scalar(node)
    return wrap(node)


def _host_scalar(node: Node) -> Any:
    """Single objects, strings and dates are Python's and NumPy's own."""
    value = node[VALUE]
    return value[()] if isinstance(value, np.ndarray) else value


def _ordered(out: Any, xs: tuple[Any, ...]) -> Any:
    """The result in the memory order of NumPy's."""
    for x in xs:
        if (type(x) is NDArray or type(x) is Scalar) and x._order is not None:
            return in_common_order(out, *xs)
    return out


def _out_of_bounds(op: Op, operands: tuple[Any, ...]) -> bool:
    low, high = op.bounds  # type: ignore[misc]
    if staged:
        check_narrowed(op, operands)
    return any([type(o) is int and not low <= o <= high for o in operands])
