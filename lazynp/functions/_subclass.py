"""Subclasses of `ndarray`, as NumPy's manual has them: `__new__`, `__array_finalize__`, and so on.

Nothing looks for subclasses where plain arrays are dealt with. A class derived from `Array` gets
`Subclass` put between the two, whose methods do as `Array`'s and give their results the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array
from lazynp._trace import host_value
from lazynp._views import Reshape, view
from lazynp.functions._getset import getitem

# results of these are no arrays, plain arrays, or have their class already
_PLAIN = {
    "__array__", "__array_function__", "__array_ufunc__", "__init__", "__len__", "__reduce__",
    "__repr__", "__setitem__", "nonzero", "view",
}  # fmt: skip

_REDUCTIONS = {"all", "any", "max", "mean", "min", "prod", "std", "sum", "var"}


class Subclass(NDArray):
    """Between `NDArray` and what is derived from it."""

    __slots__ = ()
    __array_priority__ = 0.0

    def __array_finalize__(self, obj: Any) -> None:
        """Called for each array made of this class; `obj` is what it was made from, or None."""

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of a function, as one of this class."""
        return getitem(array, ()) if return_scalar else of_class(type(self), array, self)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.pop("out", None)
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
        for k, result in enumerate(results):
            if outs is not None and outs[k] is not None:
                wrapped.append(outs[k])
            elif isinstance(result, Array):
                scalar = isinstance(result, Scalar)
                array = new_array(result._read()) if scalar else result
                wrapped.append(first.__array_wrap__(array, (function, inputs, k), scalar))
            else:
                wrapped.append(result)
        return tuple(wrapped) if isinstance(done, tuple) else wrapped[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        kind: Any = type(type(self).__name__, (np.ndarray,), {})
        return repr(np.asarray(host_value(self._read())).view(kind))

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), np.asarray(host_value(self._read()))), vars(self)


def _rebuilt(kind: type, value: Any) -> Any:
    return of_class(kind, new_array(from_host(value)), None)


def of_class(kind: Any, array: Array, source: Any) -> Any:
    """This array, which nobody else has, as one of a subclass."""
    made = object.__new__(kind)
    made._node, made._base, made._flags = array._node, array._base, array._flags
    if array._base is not None:
        made._path, made._seen = array._path, array._seen
    if made.__array_finalize__ is not None:
        made.__array_finalize__(source)
    return made


def stripped(x: Any) -> Any:
    """A plain view of an array of a subclass; anything else as it is."""
    return view(x, Reshape(x.shape)) if isinstance(x, Subclass) else x


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(self, *args, **kwargs)
        if type(result) is Scalar and function.__name__ in _REDUCTIONS:
            result = new_array(result._read())
        return of_class(type(self), result, self) if type(result) is NDArray else result

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _derived(cls: type) -> None:
    """`NDArray.__init_subclass__`."""
    if not issubclass(cls, Subclass):
        cls.__bases__ = tuple([Subclass if b is NDArray else b for b in cls.__bases__])


def attach(operators: set[str]) -> None:
    """Once `Array` has its methods. Operators are ufuncs, which ask for `__array_ufunc__`."""
    for name, method in vars(Array).items():
        private = name.startswith("_") and not name.startswith("__")
        if private or name in vars(Subclass) or name in _PLAIN | operators:
            continue
        if isinstance(method, FunctionType) and name != "__new__":
            setattr(Subclass, name, _kept(method))
        elif isinstance(method, property) and method.fget is not None and name in _OF_THE_CLASS:
            setattr(Subclass, name, property(_kept(method.fget), method.fset))
    NDArray.__init_subclass__ = classmethod(_derived)  # type: ignore[assignment]


_OF_THE_CLASS = ("T", "mT", "real", "imag")
