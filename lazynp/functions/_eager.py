"""Composed functions run eagerly, as a whole, by NumPy's function of that name.

In a loop of small operations (see `_backends.Eager`), operations that cost less to execute than to
record are executed. A function made of ten primitives would then be ten calls of NumPy with a
handle each; NumPy's own function is one. Its result, errors and promotion are the ones that ours
must give anyway.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from inspect import CO_VARARGS
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from lazynp import lowering
from lazynp._array import NDArray, Scalar, new_array
from lazynp._avals import on_device
from lazynp._config import config
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._node import leaf
from lazynp._overrides import overrides
from lazynp._quiet import told_result
from lazynp._recorder import elsewhere, local
from lazynp._strides import laid_out, order_of_strides
from lazynp._values import knowable, there, watched
from lazynp.functions._index_keys import known_places
from lazynp.functions._likes import by_its_like
from lazynp.functions._placing import USED, placed
from lazynp.functions._replayed import REPLAYED, replayed
from lazynp.functions._scalars import AVALS, scalar
from lazynp.functions._stores import write_into

_PLAIN = frozenset({int, float, bool, complex, str, type(None), type(np._NoValue), *AVALS})  # type: ignore[attr-defined]

# parameters that are written, and those that NumPy's functions lack
_NOT_NUMPYS = frozenset(
    {
        "out",
        "overwrite_input",
        "length",
        "total_repeat_length",
        "size",
        "fill_value",
        "assume_unique_indices",
        "strip_zeros",
        "device",
    }
)

_ANY_NUMBER = 99  # of arguments
# functions that ignore `out`, as they did before NumPy 2.5
IGNORES_OUT = np.lib.NumpyVersion(np.__version__) < "2.5.0.dev0"
_IGNORING_OUT = (np.fft.hfft, np.fft.ifft2, np.fft.irfft2) if IGNORES_OUT else ()

F = TypeVar("F", bound=Callable[..., Any])


def by_numpy(
    reference: Callable[..., Any], *, always: bool = False, kind: Any = None, method: Any = None,
    outer: bool = False, itself: int = 0, faster: Any = None, many: int = 0, first: Any = None,
) -> Callable[[F], F]:  # fmt: skip
    """Decorate a function that returns new arrays; `out` and `overwrite_input` are not for it.

    always: NumPy's own always wins on the host: call it at any size under `adaptive`, and force
    pending operands. kind: the class of a returned tuple. method: the method of NumPy's arrays that
    does the same in less time. outer: the result is as large as the product of the operands.
    itself: 2 if it may return its first argument. faster: as in `by_method`. first: gives a view
    of `(args, kwargs)`, or None.
    """

    def decorate(function: F) -> F:
        recorded = _recorded(function)
        before_out = _before_out(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if first is not None and (shown := first(args, kwargs)) is not None:
                return shown
            largest = _largest(always)
            if not largest or len(args) > before_out:
                return recorded(args, kwargs)
            if largest == math.inf:
                for a in (*args, *kwargs.values()):
                    if type(a) is NDArray:
                        _settle(a)
            if kwargs:
                out = kwargs.get("out")
                if out is not None and _written(reference, out, args, kwargs):
                    return out
            values = _values(args, largest)
            if values is None:
                return function(*args, **kwargs)
            if outer and not local.recorder.backend.in_loop and _is_large(values, largest):
                return recorded(args, kwargs)
            whole = faster if many and getattr(values[0], "size", 0) >= many else reference
            if kwargs:
                named = {k: _value(v, largest) for k, v in kwargs.items()}
                if _Unfit in map(type, named.values()) or not _NOT_NUMPYS.isdisjoint(named):
                    return function(*args, **kwargs)
                whole = functools.partial(whole, **named)
            result = told_result(local.recorder.quiet, whole, *values)
            if itself and values and result is values[0]:
                return args[0]
            out = handle(result, values, args)
            if out is None:
                return function(*args, **kwargs)
            named = isinstance(result, tuple) and type(result) is not tuple
            return kind(*out) if kind is not None and named else out

        return in_front(
            "whole", call, function=undispatched(reference), handle=handle, not_numpys=_NOT_NUMPYS,
            operands=min(before_out, _ANY_NUMBER), method=method or _method_of(reference),
            outer=outer, itself=itself, named=_method_of(reference) is not None, many=many,
            into=_writes_out(reference), **({"faster": faster} if many else {"tuples": kind}),
        )  # fmt: skip

    return decorate


def _writes_out(reference: Any) -> bool:
    """Whether NumPy may be given any `out`: accumulations write beyond one that is too small."""
    return "cum" not in getattr(reference, "__name__", "cum") and reference not in _IGNORING_OUT


def _before_out(function: Any) -> int:
    """How many arguments stand before `out`. (`inspect.signature` takes longer, at each import.)"""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    if code.co_flags & CO_VARARGS:
        return sys.maxsize
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names.index("out") if "out" in names else len(names)


def _is_large(values: list[Any], largest: float) -> bool:
    """Whether the product of the arrays' sizes is large."""
    arrays = [v for v in values if type(v) is ndarray]
    size = math.prod([v.size for v in arrays])
    return size * max((v.itemsize for v in arrays), default=0) > largest


def by_method(
    method: Callable[..., Any], operands: int = _ANY_NUMBER, *, without: Iterable[str] = (),
    raw: bool = False, function: Any = None, itself: int = 0, faster: Any = None, many: int = 0,
) -> Callable[[F], F]:  # fmt: skip
    """Put a front before a function that does the same to arrays as this method of NumPy's, called
    with at most so many arguments by position, `self` among them.

    without: names of arguments that mean something else to NumPy. raw: the result is no array.
    itself: as in `created`.
    function: NumPy's function that does the same; only then may other arguments be arrays.
    faster: what does the same in less time from so many elements on.
    """
    function = function and undispatched(function)

    def decorate(python: F) -> F:
        return in_front(
            "whole", python, method=method, function=function, handle=handle, operands=operands,
            raw=raw, not_numpys=_NOT_NUMPYS.union(without), itself=itself, arrays_only=True,
            faster=faster, many=many, into=not raw and _writes_out(method),
        )  # fmt: skip

    return decorate


def looked_at(reference: Callable[..., Any]) -> Callable[[F], F]:
    """Put a front before a function whose result is Python's, as NumPy's function makes it."""

    def decorate(python: F) -> F:
        return in_front(
            "whole", python, function=undispatched(reference), handle=handle, raw=True,
            operands=_ANY_NUMBER, not_numpys=_NOT_NUMPYS,
        )  # fmt: skip

    return decorate


def or_itself(reference: Callable[..., Any]) -> Callable[[F], F]:
    """Put a front before a function that returns an array as it is where NumPy's does, and else
    makes one of numbers and lists.
    """

    def decorate(python: F) -> F:
        return in_front(
            "whole", python, function=undispatched(reference), handle=handle, creates=True,
            anytime=True, itself=2, operands=1, not_numpys=_NOT_NUMPYS,
        )  # fmt: skip

    return decorate


def copied(reference: Callable[..., Any]) -> Callable[[F], F]:
    """Put a front before a function that copies an array, or makes one of numbers and lists."""

    def decorate(python: F) -> F:
        return in_front(
            "whole", python, function=undispatched(reference), handle=handle, operands=1,
            not_numpys=_NOT_NUMPYS | {"subok"},
        )  # fmt: skip

    return decorate


def of_numbers(reference: Callable[..., Any], operands: int, largest: int) -> Callable[[F], F]:
    """Put a front before a function that makes an array of host data, in any mode, from ints of at
    most this magnitude.
    """

    def decorate(function: F) -> F:
        return in_front(
            "whole", function, function=undispatched(reference), handle=handle,
            operands=operands, creates=True,
            anytime=True, lengths=largest, not_numpys=_NOT_NUMPYS | {"like", "start", "device"},
        )  # fmt: skip

    return decorate


def evenly(reference: Callable[..., Any], largest: int) -> Callable[[F], F]:
    """Put a front before a function that makes an array of host data, in any mode, if none of the
    ints among its arguments is larger.
    """

    def decorate(function: F) -> F:
        behind = by_numpy(reference)(function)
        return in_front(
            "whole", behind, function=undispatched(reference), handle=handle,
            operands=_ANY_NUMBER, creates=2, anytime=True, lengths=largest, not_numpys=_NOT_NUMPYS,
        )  # fmt: skip

    return decorate


def undispatched(reference: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function without the search for objects that override it. Arguments that it refuses,
    it names otherwise.
    """
    return getattr(reference, "_implementation", reference)


def _method_of(reference: Any) -> Any:
    """The method of NumPy's arrays that NumPy's function calls, with the same arguments in the same
    order; else None.
    """
    name = reference.__name__
    return (
        getattr(ndarray, name) if name in _BY_METHODS and reference is getattr(np, name) else None
    )


_BY_METHODS = frozenset(
    """
    argmax argmin argpartition choose cumprod cumsum mean nonzero repeat round searchsorted
    std take trace var
    """.split()
)


def _recorded(function: Callable[..., Any]) -> Callable[[Any, dict[str, Any]], Any]:
    """The function, where it is recorded."""
    if function.__name__.lstrip("_") not in REPLAYED:
        return lambda args, kwargs: function(*args, **kwargs)
    return functools.partial(replayed, function)


def _values(args: Sequence[Any], largest: float) -> list[Any] | None:
    """The arguments for NumPy; at least one must be an array, of ours or of NumPy's."""
    values = []
    ours = False
    for x in args:
        t = type(x)
        if t in _PLAIN:
            value = x
        else:
            value = _value(x, largest)
            if value is _UNFIT:
                return None
            ours = ours or value is not x or t is ndarray
        values.append(value)
    return values if ours else None


def done_by_numpy(function: Callable[..., Any], *args: Any) -> Any:
    """NumPy's result for arrays that are there and small, in a loop of small operations; else
    None.
    """
    largest = _largest()
    values = _values(args, largest) if largest else None
    if values is None:
        return None
    return handle(told_result(local.recorder.quiet, function, *values), values)


def _written(reference: Any, out: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """The call, into available memory."""
    if reference in _IGNORING_OUT or not (getattr(out, "ndim", 1) or _writes_out(reference)):
        return False  # NumPy ends the process where `out` has no axis and another dtype
    named = {k: _value(v, math.inf) for k, v in kwargs.items() if k != "out"}
    if _Unfit in map(type, named.values()) or not _NOT_NUMPYS.isdisjoint(named):
        return False
    first, rest = args[:1], [_value(a, math.inf) for a in args[1:]]
    if _Unfit in map(type, rest):
        return False
    return write_into(out, first, lambda *v: reference(*v[:-1], *rest, out=v[-1], **named))


def _largest(always: bool = False) -> float:
    """The largest operands, in bytes, for which NumPy runs the whole function; 0 if everything is
    recorded. always: for functions that NumPy does best at any size.
    """
    recorder = local.recorder
    if elsewhere:  # what NumPy makes is here
        return 0
    if always and config.execution == "adaptive" and not recorder.staging and not watched():
        if not config.debug_nans and lowering.on_host():
            return math.inf
    return recorder.backend.largest()


def _settle(x: NDArray) -> None:
    node = x._read()
    if node[2] is None and knowable(node):
        host_value(node)


def created(
    reference: Callable[..., Any], *, like: bool = False, anytime: bool = False,
    itself: int = False, first: Callable[[Any], Any] | None = None, bare: bool = False,
) -> Callable[[F], F]:  # fmt: skip
    """Decorate a function that makes an array. Its first argument determines the size: a length, a
    shape, a list of the elements, or an array that the result is to be `like`.

    anytime: it makes an array of host data at once, in any mode. itself: it returns an array that
    is its only argument; 2: where NumPy's does. first: makes the arrays of some arguments. bare: it
    makes plain arrays of those of derived classes, unless `subok` asks for the class.
    """

    def decorate(function: F) -> F:
        recorded = _recorded(function)
        of_shape = not like and not anytime

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if first is not None and not kwargs and len(args) == 1:
                if (made := first(args[0])) is not None:
                    return made
            if kwargs and overrides(kwargs.get("like")):
                return by_its_like(public, *args, **kwargs)
            if USED or "device" in kwargs:
                return placed(function, args, kwargs, like)
            largest = _largest()
            if not largest or not args:
                return recorded(args, kwargs)
            if of_shape and type(args[0]) is not int:  # lengths may be NumPy's integers
                args = (known_places(args[0]), *args[1:])
            shape = args[0].shape if like and type(args[0]) is NDArray else args[0]
            if not _is_small(shape):
                return function(*args, **kwargs)
            if not kwargs and len(args) == 1 and (type(shape) is tuple or type(shape) is int):
                result = reference(args[0]) if not like else None
                if type(result) is ndarray and result.ndim:
                    return new_array(leaf(result))
            values = [_value(a, largest) for a in args]
            named = {k: _value(v, largest) for k, v in kwargs.items()} if kwargs else kwargs
            if _Unfit in map(type, values) or _Unfit in map(type, named.values()):
                return function(*args, **kwargs)
            out = handle(reference(*values, **named), values)
            return function(*args, **kwargs) if out is None else out

        public = in_front(
            "whole", call, function=undispatched(reference), handle=handle,
            not_numpys=_NOT_NUMPYS | {"like"},
            operands=_ANY_NUMBER, creates=True, anytime=anytime, itself=itself, bare=bare,
        )  # fmt: skip
        return public

    return decorate


FEW = 1 << 12  # elements of a list
FILLED = 1 << 20  # elements of an array that is filled at once, where operations run at once
_AXES = 64  # that an array may have


def _is_small(shape: Any) -> bool:
    if type(shape) is int:
        return shape <= FILLED
    if type(shape) is tuple or type(shape) is list:
        if len(shape) > _AXES and type(shape[0]) is int:  # elements
            return len(shape) <= FEW
        size = 1
        for n in shape:
            if type(n) is not int:  # elements, or rows of unknown length
                few = FEW if type(n) is not list and type(n) is not tuple else FEW >> 6
                return type(shape) is list and len(shape) <= few
            size *= n
        return size <= FILLED
    return False


def handle(result: Any, values: list[Any], args: Sequence[Any] = ()) -> Any:
    """The Array or Scalar, or the tuple of them, for NumPy's result; numbers of Python's stay
    what they are. None for other results, and for views of one of the values. If a tuple contains
    one of the values itself (the edges of a histogram), the corresponding item of `args` takes its
    place.
    """
    if type(result) is ndarray:
        if not on_device(result.dtype):
            return None
        base = result.base
        for value in values:
            if value is result:
                return None
            if (
                base is not None
                and type(value) is ndarray
                and (base is value or base is value.base)
            ):
                return None
        if not result.ndim:
            return new_array(leaf(result[()]))
        array = new_array(leaf(result))
        if result.ndim > 1 and not result.flags.c_contiguous:
            array._order = order_of_strides(result)
        return array
    t = type(result)
    if t is bool or t is int:  # of `allclose`, `matrix_rank`
        return result
    aval = AVALS.get(t)
    if aval is not None:
        return scalar(result, aval)
    if isinstance(result, (tuple, list)):
        places = {id(v): a for v, a in zip(values, args) if type(a) is not ndarray}
        handles = [places[id(r)] if id(r) in places else handle(r, values) for r in result]
        if all(h is not None for h in handles):
            return handles if t is list else tuple(handles)
    return None


class _Unfit:
    """The type of an argument that is not available, or that NumPy would treat differently."""


_UNFIT: Any = _Unfit()


_DEEPEST = 64  # axes that NumPy's arrays may have; a list may contain itself


def _value(x: Any, largest: float, depth: int = _DEEPEST) -> Any:
    """The form of an argument for NumPy. depth: how deep lists may nest."""
    t = type(x)
    if t is NDArray or t is Scalar:
        node = x._read()
        value = node[2]
        if type(value) is not ndarray:
            value = there(node)
        if value is None or value.nbytes > largest or not on_device(value.dtype):
            return _UNFIT
        if t is NDArray and type(value) is not ndarray:
            return np.asarray(value)  # NumPy casts a number where it refuses an array
        if x._order is not None or not value.flags.c_contiguous:
            return laid_out(value, x)
        return value
    if t in _PLAIN or isinstance(x, (type, np.dtype)):
        return x
    if t is ndarray:  # NumPy's own
        fits = x.nbytes <= largest and on_device(x.dtype) and x.dtype.isnative
        return x if fits and x.flags.aligned else _UNFIT
    if (t is tuple or t is list) and depth:
        items = []
        for item in x:
            t_item = type(item)
            if t_item is Scalar:
                item = item._node[2]
                if type(item) not in AVALS:
                    return _UNFIT
            elif t_item is not float and t_item is not int:
                item = _value(item, largest, depth - 1)
                if item is _UNFIT:
                    return _UNFIT
            items.append(item)
        return items if t is list else tuple(items)
    return _UNFIT
