"""NumPy's own Python code, run over arrays whose class has its own `__array_ufunc__`.

What such a class sees of `np.var` is each ufunc that NumPy's code calls, so only that code gives it
the same calls. Its globals are lazynp's here: see `_rebound`.
"""

from __future__ import annotations

import builtins
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar
from lazynp.functions._rebound import LAZYNP, Scope, rebound

_METHODS: Any = sys.modules["numpy._core._methods"]
_OF_METHODS = {"max": "_amax", "min": "_amin"}
_DISPATCHER = type(np.sum)
_CONVERTER = getattr(sys.modules["numpy._core._multiarray_umath"], "_array_converter", None)
_scopes: dict[str, Scope] = {}
_PUBLIC = {  # where lazynp has what stands for it
    id(value): (room, name)
    for room, module in (("linalg", np.linalg), ("fft", np.fft), ("", np))
    for name, value in vars(module).items()
    if value is np.ndarray or callable(value) and not isinstance(value, type)
}


def method_of(name: str, *, of_traced: bool = False) -> Any:
    """NumPy's Python code of the method of arrays of this name. `of_traced`: the value of a sum is
    not asked for, as that code does to give it a dtype.
    """
    function = _function(getattr(_METHODS, _OF_METHODS.get(name, "_" + name)))
    if not of_traced:
        return function
    scope = dict(function.__globals__)
    for key, value in scope.items():
        if key.startswith("umr_"):
            scope[key] = _never_scalar(value)
        elif type(value) is FunctionType and value.__globals__ is function.__globals__:
            scope[key] = rebound(value, scope)
    return scope[function.__name__]


def _never_scalar(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        done = function(*args, **kwargs)
        return LAZYNP.asarray(done) if type(done) is Scalar else done

    return call


def function_of(reference: Any) -> Any:
    """The Python code of NumPy's function; None if it is written in C."""
    code = getattr(reference, "_implementation", reference)
    return _function(code) if type(code) is FunctionType else None


def _function(function: Any) -> Any:
    scope = _scope_of(function.__globals__)
    found = scope.get(function.__name__)
    if type(found) is FunctionType and found.__code__ is function.__code__:
        return found
    return rebound(function, scope)


def _scope_of(names: Scope) -> Scope:
    module = names["__name__"]
    if module not in _scopes:
        scope = _scopes[module] = {"__builtins__": {**vars(builtins), "__import__": _imported}}
        for name, value in names.items():
            if name == "__builtins__":
                continue
            made = type(value) is _DISPATCHER or type(value) is FunctionType
            if (
                made
                and not _is_public(value)
                and getattr(value, "_implementation", value).__module__ == module
            ):
                value = getattr(value, "_implementation", value)
            own = type(value) is FunctionType and value.__globals__ is names
            scope[name] = rebound(value, scope) if own and not _is_public(value) else _ours(value)
    return _scopes[module]


def _imported(name: str, *args: Any, **kwargs: Any) -> Any:
    """What an `import numpy as np` inside a function gives."""
    return _Room(np) if name == "numpy" else builtins.__import__(name, *args, **kwargs)


def _is_public(value: Any) -> bool:
    return id(value) in _PUBLIC


def _ours(value: Any) -> Any:
    """What stands for a global of NumPy's modules."""
    if value is np:
        return _Room(np)
    if _is_public(value):
        room, name = _PUBLIC[id(value)]
        return getattr(getattr(LAZYNP, room) if room else LAZYNP, name, value)
    if value is not None and value is _CONVERTER:
        return _Converter
    if isinstance(value, ModuleType) and value.__name__.startswith("numpy."):
        return _Room(value)
    if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, np.ufunc):
        return getattr(_ours(value.__self__), value.__name__)
    code = getattr(value, "_implementation", value)
    if type(code) is FunctionType and str(code.__globals__["__name__"]).startswith("numpy."):
        return _function(code)
    return value


class _Room:
    """A module of NumPy's, as its code sees it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = _ours(getattr(self._module, name))
        setattr(self, name, found)
        return found


class _Converter:
    """NumPy's `_array_converter`: the operands as arrays, and who wraps the result."""

    def __init__(self, *operands: Any) -> None:
        self._operands = operands
        self._arrays = [LAZYNP.asanyarray(x) for x in operands]
        self.scalar_input = tuple([not isinstance(x, Array) and not np.ndim(x) for x in operands])

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, item: int) -> Any:
        return self._arrays[item]

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert") -> tuple[Any, ...]:
        kept = pyscalars != "convert" and any([type(x) not in _NUMBERS for x in self._operands])
        given = zip(self._operands, self._arrays, strict=True)
        arrays = [x if kept and type(x) in _NUMBERS else a for x, a in given]
        return tuple(arrays if subok else [LAZYNP.asarray(a) for a in arrays])

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        given = zip(self._operands, self._arrays, strict=True)
        dtypes = [x if type(x) in _NUMBERS else a.dtype for x, a in given]
        dtypes += [] if extra_dtype is None else [extra_dtype]
        return LAZYNP.result_type(*dtypes, *[0.0] * ensure_inexact)

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        wrapping = [a for a in self._arrays if type(a) is not LAZYNP.ndarray]
        if not wrapping:
            return array[()] if scalar and not np.ndim(array) else array
        first = max(wrapping, key=lambda a: getattr(a, "__array_priority__", 0.0))
        if type(array) is type(first):
            return array
        return first.__array_wrap__(LAZYNP.asarray(array), None, scalar)


_NUMBERS = (int, float, complex)
