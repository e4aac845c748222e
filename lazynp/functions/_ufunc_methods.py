"""The methods of ufuncs beside the call: outer, at, reduce, accumulate, reduceat."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from lazynp import _errstate
from lazynp._array import Array, NDArray, Scalar, write_lock
from lazynp._avals import on_device
from lazynp._quiet import aloud
from lazynp._recorder import local
from lazynp._sizes import sized
from lazynp._strides import out_of_order
from lazynp._values import watched
from lazynp.functions import _advanced, _assigned, _getset
from lazynp.functions._arguments import part
from lazynp.functions._checks import traced
from lazynp.functions._eager import by_method, done_by_numpy
from lazynp.functions._fold import fold, fold_along, reduceat
from lazynp.functions._foreign import elsewhere, overridden
from lazynp.functions._host import host_into, is_hosts, needs_host, to_host
from lazynp.functions._index_keys import normal_item
from lazynp.functions._operands import (
    as_array,
    broadcast,
    check_writeable,
    numpys,
    plain,
    store,
)
from lazynp.functions._recording import apply
from lazynp.functions._reduce import (
    NO_VALUE,
    ROWS,
    accumulate,
    reduce,
    single_axis,
    single_out,
)
from lazynp.functions._releases import SINCE_2_5
from lazynp.functions._stores import host_index, write_into
from lazynp.functions._written import by_writing
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._at import check_at, combine_at

_AT = (
    "array to perform in place operation on"
    if SINCE_2_5
    else "operand array with iterator write flag set"
)
_AT_MODES = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "minimum": "minimum",
    "maximum": "maximum",
}


# methods that give a new array, and the arguments by position for which NumPy may run the whole
_WHOLE = {"reduce": 2, "accumulate": 2, "reduceat": 3}


F = TypeVar("F", bound=Callable[..., Any])


def _asking_first(method: F) -> F:
    """Decorate a method that leaves operands with an `__array_ufunc__` of their own to that: it is
    told what the call names, and no default.
    """
    name, code = method.__name__, method.__code__
    operands = 2 if name == "reduceat" else 1
    known = code.co_varnames[1 + operands : code.co_argcount]

    @functools.wraps(method)
    def call(self: Methods, *args: Any, **kwargs: Any) -> Any:
        if "array" in kwargs:
            args = (kwargs.pop("array"), *args)
        out = args[operands + 2] if len(args) > operands + 2 else kwargs.get("out")
        plainly = not args or type(args[0]) is NDArray and (out is None or type(out) is NDArray)
        if not plainly and len(args) >= operands:
            if overridden(args[0], *(out if type(out) is tuple else (out,))):
                options = dict(zip(known, args[operands:], strict=False)) | kwargs
                self._need_binary(name)
                return elsewhere(self, name, args[:operands], _told(options))
        return method(self, *args, **kwargs)

    return cast(F, call)


def _told(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a reduction in the form that `__array_ufunc__` gets."""
    out = options.get("out")
    left_out = {"out"} if out is None or out is Ellipsis else set()
    if options.get("initial", 0) is np._NoValue:
        left_out.add("initial")
    told = {k: v for k, v in options.items() if k not in left_out}
    if "out" in told and not isinstance(out, tuple):
        told["out"] = (out,)
    return told


_AXES = 64  # that an array may have
_OPTIONS = {"casting", "dtype", "order", "sig", "signature", "subok"}


def with_options(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What NumPy's ufunc gives of these operands and options, if NumPy runs it at once; else None.
    Where results go, and where they do not, are no such options, unless they say nothing.
    """
    if options.get("where") is True and ufunc.signature is None:
        options = {k: v for k, v in options.items() if k != "where"}
    if "out" not in options and all([a is None for a in args[ufunc.nin :]]):
        args = args[: ufunc.nin]
    if len(args) != ufunc.nin or not options.keys() <= _OPTIONS:
        return None
    if options.get("casting") == "unsafe" and any(map(np.iscomplexobj, args)):
        return None  # NumPy would tell of lost imaginary parts, at a line of ours
    if isinstance(options.get("dtype"), Array):
        return None  # NumPy would take the array's dtype
    return done_by_numpy(functools.partial(ufunc, **options), *args)


def selected(
    function: Any, inputs: tuple[Any, ...], outs: Any, order: Any, options: dict[str, Any]
) -> Any:
    """What NumPy's ufunc gives where `where` is true, if NumPy runs it at once: it warns of what it
    computes there. None otherwise.
    """
    told = {name: x for name, x in options.items() if x is not None}
    mask, of_numpy = told.pop("where"), function._numpy
    if function.nout > 1 or not mask.ndim or order not in ("K", None):
        return None
    if told["casting"] == "unsafe" or any(map(is_hosts, (*inputs, *outs))):
        return None

    def into(*values: Any) -> Any:
        *operands, where, memory = values
        return of_numpy(*operands, out=memory, where=where, **told)

    def fresh(*values: Any) -> Any:
        (zeros,) = function._zeros(values[:-1], where=values[-1], **told)
        return into(*values, zeros)

    if outs[0] is not None:
        return outs[0] if write_into(outs[0], (*inputs, mask), into) else None
    return None if out_of_order(*inputs) else done_by_numpy(fresh, *inputs, mask)


class Methods:
    """What `ufunc` inherits. `_numpy` is NumPy's function, `_apply` ours of any operands."""

    __slots__ = ()
    __dict__: dict[str, Any]

    __name__: str
    nin: int
    nout: int
    _numpy: np.ufunc
    _apply: Callable[..., Any]
    _call: Callable[..., Any]
    __call__: Callable[..., Any]

    def _put_fronts(self) -> None:
        """Put a front before each method that gives a new array, and before calls that give two."""
        if self.nout == 2:
            self._call = by_method(self._numpy, self.nin, function=self._numpy)(self._call)
        if self.nin == 2 and self.nout == 1:
            for name, operands in _WHOLE.items():
                whole = getattr(self._numpy, name)
                front = by_method(
                    whole, operands, without=("dtype", "initial", "where"), function=whole
                )
                self.__dict__[name] = front(getattr(self, name))
        if self.nin <= 2 and self.nout == 1:
            combine = functools.partial(combine_at, self._numpy)
            self.__dict__["at"] = by_writing(combine, self.nin + 1)(self.at)

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """`f(a[i...], b[j...])` for all pairs of elements."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        if len(args) != 2:
            raise TypeError("exactly two arguments expected")
        a, b = args
        if overridden(a, b):
            return elsewhere(self, "outer", (a, b), kwargs)
        x, y = [v if type(v) is NDArray else numpys(plain(v)) for v in (a, b)]
        if x.ndim + y.ndim > _AXES:
            raise ValueError(
                f"maximum supported dimension for an ndarray is {_AXES}, but "
                f"`{self.__name__}.outer()` result would have {x.ndim + y.ndim}."
            )
        if x.ndim and y.ndim:
            x = _getset.getitem(x, (Ellipsis, *(None,) * y.ndim))  # in its memory order
        return self(x, y, **kwargs)

    def _at_now(self, a: NDArray, indices: Any, inputs: tuple[Any, ...]) -> bool:
        where = host_index(indices)
        return where is not None and write_into(
            a, inputs, lambda *v: combine_at(self._numpy, v[-1], where, *v[:-1])
        )

    def at(self, a: Any, indices: Any, b: Any = NO_VALUE, /) -> None:
        """Apply in place and unbuffered: repeated indices apply repeatedly."""
        inputs = () if b is NO_VALUE else (b,)
        if type(a) is NDArray and local.recorder.backend.attempt(self._at_now, a, indices, inputs):
            return
        if overridden(a, *inputs):
            return elsewhere(self, "at", (a, indices, *inputs), {})
        if isinstance(a, np.ndarray):  # a NumPy array, from another library
            combine_at(self._numpy, a, *to_host((indices, *inputs)))
            return
        if not isinstance(a, Array) or isinstance(a, Scalar):
            raise TypeError("first operand must be array")
        check_writeable(a, name=_AT)
        mode = _AT_MODES.get(self.__name__)
        value = as_array(b) if inputs else None
        if _never_repeats(indices) and traced(a, indices, *inputs):
            found = _getset.getitem(a, indices)
            if value is not None:
                check_at(value.shape, found.shape)
            new = self(found) if value is None else self(found, value)
            if np.can_cast(new.dtype, a.dtype, "same_kind"):
                _getset.setitem(a, indices, new)
                return
        if mode is None or value is None or watched() or not _scatters(mode, a.dtype, value.dtype):
            if traced(a, *inputs) and self._at_in_turn(a, indices, value):
                return
            self._at_without_mode(a, indices, *inputs)
            return
        if self.__name__ == "subtract":
            value = apply(elementwise.negative, value)
        with write_lock:
            node = a._read()
            found = _as_advanced(a, indices)
            check_at(value.shape, found.shape)
            operand = _assigned.assigned(value, a.dtype, found.shape)
            a._write(_advanced.put(node, found, operand, mode))

    def _at_in_turn(self, a: Array, indices: Any, value: Array | None) -> bool:
        """Without NumPy: first where each place occurs first, then where it occurs again, and so
        on. Whether it could.
        """
        where = host_index(indices)
        if where is None or sized(a.shape) or needs_host(a):
            return False
        places = np.arange(a.size).reshape(a.shape)[where]
        occurrence, values = _occurrences(places.ravel()), None
        if value is not None:
            check_at(value.shape, places.shape)
            values = shaping.reshape(broadcast(value, places.shape), shape=(places.size,))
        x = shaping.reshape(a, shape=(a.size,))
        for turn in range(occurrence.max(initial=-1) + 1):
            chosen = np.flatnonzero(occurrence == turn)
            at = places.ravel()[chosen]
            given = () if values is None else (_getset.getitem(values, chosen),)
            new = self(_getset.getitem(x, at), *given)
            if not np.can_cast(new.dtype, a.dtype, "same_kind"):
                return False
            _getset.setitem(x, at, new)
        _getset.setitem(a, Ellipsis, shaping.reshape(x, shape=a.shape))
        return True

    def _at_without_mode(self, a: Array, indices: Any, *inputs: Any) -> None:
        """For functions without their own scatter: NumPy, on the host."""
        from_host = np.array(a)
        args = (from_host, indices, *[np.asarray(b) for b in inputs])
        if watched():
            _errstate.checked(combine_at, self._numpy, *args)
        else:
            aloud(combine_at, [self._numpy, *args])
        store(from_host, a, "unsafe")

    @_asking_first
    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        """Reduce along axes. See `numpy.ufunc.reduce`."""
        self._need_binary("reduce")
        plainly = out is None and where is True and initial is np._NoValue
        if plainly and type(array) is NDArray and not _of_objects(dtype):
            done = done_by_numpy(self._numpy.reduce, array, axis, dtype, None, keepdims)
            if done is not None:
                return done
        if out is Ellipsis:  # like None, but never returns a scalar
            return plain(self.reduce(array, axis, dtype, None, keepdims, initial, where))
        if _of_objects(dtype):
            options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
            options |= {} if initial is np._NoValue else {"initial": initial}
            options |= {} if where is True else {"where": where}
            return host_into(self._numpy.reduce, as_array(array), out=single_out(out), **options)
        row = ROWS.get(self.__name__)
        if row is not None:
            return reduce(row, array, axis, dtype, out, keepdims, initial, where)
        return fold(self._numpy, self._apply, array, axis, dtype, out, keepdims, initial, where)

    @_asking_first
    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """All partial results along an axis. See `numpy.ufunc.accumulate`."""
        self._need_binary("accumulate")
        if _of_objects(dtype) and isinstance(array, Array):
            out = None if out is Ellipsis else single_out(out)
            return host_into(self._numpy.accumulate, array, axis, dtype, out=out)
        if out is None and type(array) is NDArray:
            done = done_by_numpy(self._numpy.accumulate, array, axis, dtype)
            if done is not None:
                return done
        out = None if out is Ellipsis else out
        row = ROWS.get(self.__name__)
        if row is not None and row.running is not None:
            return accumulate(row, array, axis, dtype, out)
        return fold_along(self._numpy, self._apply, array, axis, dtype, out)

    @_asking_first
    def reduceat(
        self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Reductions over slices. See `numpy.ufunc.reduceat`.

        NumPy runs many slices of very different lengths, and functions without a primitive.
        """
        self._need_binary("reduceat")
        if out is None and type(array) is NDArray:
            done = done_by_numpy(self._numpy.reduceat, array, indices, axis, dtype)
            if done is not None:
                return done
        out = None if out is Ellipsis else out
        row = ROWS.get(self.__name__)
        if row is not None:
            return reduceat(row, array, indices, axis, dtype, out)
        if traced(array) and not isinstance(indices, Array):
            found = self._reduceat_by_slices(as_array(array), np.asarray(indices), axis, dtype)
            if found is not None:
                return store(found, single_out(out), "unsafe")
        return host_into(
            self._numpy.reduceat,
            as_array(array),
            indices,
            axis=axis,
            dtype=dtype,
            out=single_out(out),
        )

    def _reduceat_by_slices(self, x: Array, starts: Any, axis: Any, dtype: Any) -> Array | None:
        """A reduction of each slice; None if NumPy must do it, or tell what is wrong."""
        if sized(x.shape) or needs_host(x) or not x.ndim or starts.ndim != 1:
            return None
        axis = single_axis(axis, x.ndim, "reduceat")
        n = x.shape[axis]
        if not starts.size:  # of lists without elements, NumPy refuses the dtype
            fits = n and starts.dtype.kind in "iu"
            return part(self.reduce(x, axis, dtype, None, True), axis, 0, 0) if fits else None
        if starts.dtype.kind not in "iu" or starts.min() < 0 or starts.max() >= n:
            return None
        stops = np.maximum([*starts[1:], n], starts + 1)
        slices = [
            self.reduce(part(x, axis, int(i), int(j)), axis, dtype, None, True)
            for i, j in zip(starts, stops, strict=True)
        ]
        return shaping.concatenate(*slices, axis=axis)

    def _need_binary(self, what: str) -> None:
        if self.nin != 2 or self.nout != 1:
            wanted = "binary functions" if self.nin != 2 else "functions returning a single value"
            raise ValueError(f"{what} only supported for {wanted}")


def _occurrences(places: Any) -> Any:
    """How often each place has occurred before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    out = np.empty_like(places)
    out[order] = np.arange(places.size) - np.repeat(first, np.diff(first, append=places.size))
    return out


def _never_repeats(index: Any) -> bool:
    """Whether it consists of integers and slices, which select each element at most once."""
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, (Array, np.ndarray, np.generic)):
            if i.ndim or i.dtype.kind not in "iu":
                return False
        elif type(i) is not int and not (i is None or i is Ellipsis or isinstance(i, slice)):
            return False
    return True


def _of_objects(dtype: Any) -> bool:
    """Whether NumPy computes with objects, whose results are no numbers of 64 bits."""
    return dtype is not None and np.dtype(dtype).hasobject


def _as_advanced(a: Array, indices: Any) -> Any:
    """Any index in advanced form, so that `put` handles all."""
    items = indices if isinstance(indices, tuple) else (indices,)
    if all(i is None or i is Ellipsis or isinstance(i, (int, slice, np.integer)) for i in items):
        places = np.arange(a.size).reshape(a.shape)[indices]
        chosen = np.unravel_index(places, a.shape)
        items = tuple(chosen) if a.ndim else (np.bool_(True),)
    return _advanced.advanced(a.aval, tuple(normal_item(i) for i in items))


def _scatters(mode: str, dtype: np.dtype[Any], given: np.dtype[Any]) -> bool:
    """Whether `at` may convert the values first. NumPy computes in the common dtype, then casts."""
    if dtype.kind in "iu" and given.kind in "iu" and mode in ("add", "multiply"):
        # modulo a power of two, the order makes no difference; uint64 and int64 meet in float64
        return np.result_type(dtype, given).kind != "f"
    if dtype.kind in "fc" and given.kind in "biu":
        return True
    if not (on_device(dtype) and on_device(given)):
        return False
    return np.can_cast(given, dtype, "same_kind" if dtype.kind in "fc" else "safe")
