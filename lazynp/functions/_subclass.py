"""Subclasses of `ndarray` as in NumPy's manual: `__new__`, `__array_finalize__`, and so on.

Code for plain arrays does not look for subclasses. A class derived from `Array` gets `Subclass`
inserted between the two. Its methods call `Array`'s and give their results the class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array, of_either
from lazynp._avals import SCALAR_DTYPES
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._views import same
from lazynp.functions._checks import traced
from lazynp.functions._numpys_classes import for_numpy
from lazynp.functions._numpys_own import method_of
from lazynp.functions._scalars import AVALS

# the results of these are not arrays, are plain arrays, or have their class already
_PLAIN = {
    "__array__", "__array_function__", "__array_ufunc__", "__init__", "__len__", "__reduce__",
    "__repr__", "__setitem__", "nonzero", "searchsorted", "view",
}  # fmt: skip

_REDUCTIONS = {
    "all", "any", "max", "mean", "min", "prod", "std", "sum", "var", "__matmul__", "__rmatmul__",
}  # fmt: skip


class Subclass(NDArray):
    """The class between `NDArray` and the classes derived from it."""

    __slots__ = ()
    __array_priority__ = 0.0  # pyright: ignore[reportAssignmentType]

    def __array_finalize__(self, obj: Any) -> None:
        """Called for each new array of this class; `obj` is its source, or None."""

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """Convert the result of a function, scalar or not, to this class."""
        if isinstance(array, np.ndarray):  # of NumPy's code
            array = new_array(from_host(array))
        return of_class(type(self), array, self)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.pop("out", None)
        if any([takes_over(type(x)) for x in (*inputs, *(outs or ()))]):
            return NotImplemented  # as NumPy's: the class that calls it has not converted them
        if outs is not None:
            bare = tuple([stripped(o) for o in outs])
            options["out"] = bare if method != "reduce" else bare[0]
        done = getattr(function, method)(*map(stripped, inputs), **options)
        results = done if isinstance(done, tuple) else (done,)
        first = max(
            [x for x in (*inputs, *(outs or ())) if isinstance(x, Subclass)],
            key=lambda x: x.__array_priority__,
            default=None,
        )
        if first is None:
            return done
        wrapped = []
        asked = method in ("__call__", "outer")  # of reductions, NumPy does not tell the function
        for k, result in enumerate(results):
            context = (function, inputs, k) if asked else None
            if outs is not None and outs[k] is not None:
                wrapped.append(_wrapped_out(outs[k], context))
            elif isinstance(result, (Array, np.generic)):
                scalar = isinstance(result, (Scalar, np.generic))
                array = _array_of_result(result)
                wrapped.append(first.__array_wrap__(array, context, scalar))
            else:
                wrapped.append(result)
        return tuple(wrapped) if isinstance(done, tuple) else wrapped[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(named_alike(self))

    def __reduce__(self) -> Any:
        state: Any = np.asarray(host_value(self._read())).__reduce__()[2]
        return _rebuilt, (type(self),), (*state, getattr(self, "__dict__", {}))

    def __setstate__(self, state: Any) -> None:
        """Accepts NumPy's five items, and optionally the attributes."""
        value: Any = np.empty(0)
        value.__setstate__(tuple(state[:5]))
        self._node = from_host(value)
        if len(state) > 5:
            vars(self).update(state[5])


def _wrapped_out(out: Any, context: Any) -> Any:
    """What a function returns that has stored into `out`: a class may give something else."""
    own = is_derived(type(out)) and _of_type(type(out), "__array_wrap__") is not _HOOKS[1]
    return out.__array_wrap__(out, context, False) if own else out


def named_alike(x: Any) -> Any:
    """NumPy's array of a class of the same name; anything but an array of a subclass unchanged."""
    if not isinstance(x, Subclass):
        return x
    kind: Any = type(type(x).__name__, (np.ndarray,), {})
    return np.asarray(host_value(x._read())).view(kind)


def _rebuilt(kind: type) -> Any:
    return of_class(kind, new_array(from_host(np.empty(0))), None)


def _of_kind(kind: Any, x: Array) -> Any:
    """A handle of this class with the value of an array. Of a view, a view."""
    made = object.__new__(kind)
    made._node, made._base, made._flags = x._node, x._base, x._flags
    made._seen, made._order = x._seen, x._order
    if x._base is not None:
        made._path = x._path
    return made


def of_class(kind: Any, array: Array, source: Any) -> Any:
    """Make this array, which nothing else refers to, an instance of a subclass."""
    made = _of_kind(kind, array)
    if made.__array_finalize__ is not None:
        made.__array_finalize__(source)
    return made


of_class = in_front("of_class", of_class)


def priority(x: Any) -> float:
    """By which a function of several arrays chooses the class of its result; plain ones have 0."""
    return x.__array_priority__ if is_derived(type(x)) else 0.0


def joined_in_class(result: Any, operands: Iterable[Any]) -> Any:
    """What `concatenate` gives: in the class whose priority is the greatest and above that of plain
    arrays. Like NumPy's, it has no source.
    """
    first = max(operands, key=priority, default=None)
    if priority(first) <= 0:
        return result
    if type(result) is tuple:  # of `intersect1d`, with indices
        return (of_class(type(first), result[0], None), *result[1:])
    return of_class(type(first), result, None) if type(result) is NDArray else result


def mapped_in_class(result: Any, operands: Iterable[Any]) -> Any:
    """What a function of elements gives: in the class of the operand of most priority."""
    first = max([x for x in operands if is_derived(type(x))], key=priority, default=None)
    if first is None:
        return result
    if type(result) is tuple:
        return tuple([_in_class(first, x) for x in result])
    return _in_class(first, result)


def stripped(x: Any) -> Any:
    """A plain view of an array of a subclass; anything else unchanged."""
    return same(x) if isinstance(x, Subclass) else x


stripped = in_front("stripped", stripped)


def derived_first(function: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """`other(*operands)`, unless arrays of derived classes are among them that have no
    `__array_ufunc__` and no `__array_wrap__` of their own: then the function of plain arrays, in
    the class. This is the usual case, and `other` would ask each operand whether it takes over.

    function: elementwise, so its results are no views of its operands.
    """

    @functools.wraps(other)
    def call(*operands: Any) -> Any:
        first, plain = None, []
        for x in operands:
            if type(x) not in _KNOWN:
                if not _has_no_hooks(type(x)):
                    return other(*operands)
                if first is None or x.__array_priority__ > first.__array_priority__:
                    first = x
                x = new_array(x._read())
            plain.append(x)
        if first is None:
            return other(*operands)
        result = function(*plain)
        if type(result) is tuple:
            return tuple([_in_class(first, x) for x in result])
        return _in_class(first, result)

    return in_front("in_class", call, function=function, handle=_in_class)


_KNOWN = frozenset({NDArray, Scalar, *SCALAR_DTYPES, *AVALS})
_HOOKS = Subclass.__array_ufunc__, Subclass.__array_wrap__
_of_type = type.__getattribute__  # the metaclass has one of its own, in Python


def is_derived(kind: Any) -> bool:
    return Subclass in _of_type(kind, "__mro__")


def takes_over(kind: Any) -> bool:
    """Whether a class of arrays is a derived one with its own `__array_ufunc__`."""
    return is_derived(kind) and _of_type(kind, "__array_ufunc__") is not _HOOKS[0]


def has_own_hooks(kind: Any) -> bool:
    """Whether a class of arrays is a derived one with its own `__array_ufunc__`, or its own
    `__array_wrap__`.
    """
    return is_derived(kind) and not _has_no_hooks(kind)


def _has_no_hooks(kind: Any) -> bool:
    """Whether it is a derived class that leaves ufuncs, and their results, to us."""
    if not is_derived(kind):
        return False
    return (_of_type(kind, "__array_ufunc__"), _of_type(kind, "__array_wrap__")) == _HOOKS


def _array_of_result(result: Any) -> Any:
    """A result without axes as an array; anything else unchanged."""
    if type(result) is Scalar:
        return new_array(result._read())
    if isinstance(result, np.generic):  # of a dtype that NumPy computes
        return new_array(from_host(np.asarray(result)))
    return result


def _in_class(first: Any, result: Any) -> Any:
    result = _array_of_result(result)
    return of_class(type(first), result, first) if type(result) is NDArray else result


# Methods that only read the array. A plain array in its place takes the short way in C.
_READING = {
    "T", "__getitem__", "argmax", "argmin", "argsort", "astype", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "flatten", "imag", "mT", "ravel", "real", "repeat", "reshape", "round",
    "squeeze", "swapaxes", "take", "tolist", "transpose",
} | _REDUCTIONS  # fmt: skip


def _read(function: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    """A reading method by a plain array. Views of that are views of the array itself."""
    plain = _of_kind(NDArray, self)
    if args:
        args = [x if type(x) in SIMPLE else _plain_or_not(x) for x in args]
    result = function(plain, *args, **kwargs)
    if result is plain:
        return self
    if type(result) is NDArray and result._base is plain:
        result._base = self
    return result


SIMPLE = _KNOWN | {slice, str, type, type(None), type(...)}


def _plain_or_not(x: Any) -> Any:
    return _of_kind(NDArray, x) if _has_no_hooks(type(x)) else x


def _kept(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    asked, reads = _asked(name), name in _READING

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if asked is not None and has_own_hooks(type(self)):
            return asked(self, *args, **kwargs)
        source = self
        if name == "dot" and args:  # no ufunc, and the class of most priority stays
            source = max(self, args[0], key=priority)
            args = (stripped(args[0]), *args[1:])
        result = _read(function, self, args, kwargs) if reads else function(self, *args, **kwargs)
        if any(result is x for x in (*args, *kwargs.values())):
            return result  # `out`
        if kwargs.get("subok") is False:
            return stripped(result)
        if type(result) is Scalar and name in _REDUCTIONS:
            result = new_array(result._read())
        return of_class(type(source), result, source) if type(result) is NDArray else result

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    if not reads:
        return method
    return in_front(
        "kept", method, function=function, asks=asked is not None, reduces=name in _REDUCTIONS
    )


# methods that NumPy writes in Python, over ufuncs
_NUMPYS = {"sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "clip"}
_ACCUMULATED = {"cumsum": "add", "cumprod": "multiply"}


def _asked(name: str) -> Callable[..., Any] | None:
    """A method that asks the class's own `__array_ufunc__`, if NumPy's method is a ufunc's."""

    def numpys(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        done = method_of(name, of_traced=traced(self))(self, *args, **kwargs)
        return done[()] if type(done) is NDArray and not done.ndim and traced(done) else done

    def accumulated(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x, axis = (self.ravel(), 0) if axis is None else (self, axis)
        typed = {} if dtype is None else {"dtype": np.dtype(dtype)}
        return functions[_ACCUMULATED[name]].accumulate(x, axis=axis, **typed, out=out)

    def product(self: Any, other: Any) -> Any:
        operands = (self, other) if name == "__matmul__" else (other, self)
        return self.__array_ufunc__(functions["matmul"], "__call__", *operands)

    def trace(
        self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
        out: Any = None,
    ) -> Any:  # fmt: skip
        typed = {} if dtype is None else {"dtype": np.dtype(dtype)}
        diagonal = self.diagonal(offset, axis1, axis2)
        done = functions["add"].reduce(diagonal, axis=-1, **typed, out=out)
        return stripped(done)[()] if isinstance(done, Subclass) and not done.ndim else done

    def rounded(self: Any, decimals: int = 0, out: Any = None) -> Any:
        if self.dtype.kind != "f":
            return of_class(type(self), stripped(self).round(decimals, stripped(out)), self)
        given = {} if out is None else {"out": out}
        if decimals == 0:
            return functions["rint"](self, **given)
        scaled, back = functions["multiply"], functions["divide"]
        if decimals < 0:
            scaled, back = back, scaled
        factor = 10.0 ** abs(decimals)
        made = scaled(self, factor, out=stripped(self).copy() if out is None else out)
        return back(functions["rint"](made, out=made), factor, out=made)

    if name in _NUMPYS:
        return numpys
    if name == "round":
        return rounded
    if name in _ACCUMULATED:
        return accumulated
    if name == "trace":
        return trace
    return product if name in ("__matmul__", "__rmatmul__") else None


functions: dict[str, Any] = {}  # ufuncs by name


def _derived(cls: type) -> None:
    """`NDArray.__init_subclass__`."""
    if not issubclass(cls, Subclass):
        cls.__bases__ = tuple([Subclass if b is NDArray else b for b in cls.__bases__])
    for name, told in (("__array_ufunc__", _told_of_ufunc), ("__array_function__", _told)):
        own = vars(cls).get(name)
        if isinstance(own, FunctionType):
            setattr(cls, name, told(own))


def _told_of_ufunc(own: Any) -> Any:
    """A class's own `__array_ufunc__`, which compares the ufunc with those of its module (ours),
    also when NumPy's is applied.
    """

    @functools.wraps(own)
    def asked(self: Any, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if type(function) is np.ufunc:
            ours = functions.get(function.__name__)
            function = ours if ours == function else function  # SciPy has some of the same name
        if np.ndarray in map(type, inputs):  # which does not know our classes for `view`
            inputs = tuple([_of_ours(x) for x in inputs])
        return own(self, function, method, *inputs, **options)

    return asked


def _of_ours(x: Any) -> Any:
    return new_array(from_host(x)) if type(x) is np.ndarray else x


def _told(own: Any) -> Any:
    """The same for `__array_function__`."""

    @functools.wraps(own)
    def asked(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return own(self, of_numpys.get(function, function), types, args, kwargs)

    return asked


of_numpys: dict[Any, Any] = {}  # public functions of ours by NumPy's


def attach(operators: set[str], ufuncs: dict[str, Any]) -> None:
    """Call this once `Array` has its methods. Operators are ufuncs, which ask `__array_ufunc__`."""
    functions.update(ufuncs)
    for name, method in vars(Array).items():
        private = name.startswith("_") and not name.startswith("__")
        if private or name in vars(Subclass) or name in _PLAIN | operators:
            continue
        if isinstance(method, FunctionType) and name != "__new__":
            setattr(Subclass, name, _kept(name, method))
            if hasattr(np.ndarray, name):
                of_either[name] = _of_either(name, method)
        elif isinstance(method, property) and method.fget is not None and name in _OF_THE_CLASS:
            setattr(Subclass, name, property(_kept(name, method.fget), method.fset))
    for name in operators - vars(Subclass).keys():
        function = vars(Array).get(name)
        if function is not None and not name.startswith("__i"):
            setattr(Subclass, name, derived_first(function, function))
    for name in ("__array_finalize__", "__array_wrap__", "__setstate__"):
        of_either[name] = _hook(name)
    for name in ("__reduce__", "__repr__", "__setitem__", "view"):
        of_either[name] = _of_either(name, vars(NDArray).get(name) or getattr(Array, name))
    NDArray.__init_subclass__ = classmethod(_derived)  # type: ignore[assignment]


def _of_either(name: str, function: Any) -> Any:
    """The method of this name, as a function that accepts plain, derived and NumPy arrays."""

    @functools.wraps(function)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(self) is NDArray:
            return function(self, *args, **kwargs)
        kind = Subclass if isinstance(self, Subclass) else Array
        if isinstance(self, np.ndarray):
            if name == "view":
                args = tuple(map(for_numpy, args))
                kwargs = {k: for_numpy(v) for k, v in kwargs.items()}
            return getattr(np.ndarray, name)(self, *args, **kwargs)
        return getattr(kind, name)(self, *args, **kwargs)

    return method


def _hook(name: str) -> Any:
    """A method that NumPy calls on derived classes, and that these call on their base."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Array) and not isinstance(self, Subclass):
            return args[0]
        return getattr(Subclass if isinstance(self, Array) else np.ndarray, name)(
            self, *args, **kwargs
        )

    method.__name__ = name
    return method


_OF_THE_CLASS = ("T", "mT", "real", "imag")
