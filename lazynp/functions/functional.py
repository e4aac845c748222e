"""Helpers for code from JAX, and for code that keeps importing numpy: associative_scan, adopt."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._tree import register_alike, show, tree_flatten, tree_unflatten
from lazynp.functions._operands import as_array
from lazynp.functions.creation import zeros
from lazynp.functions.manipulation import flip, moveaxis
from lazynp.transforms import wrappers

# -- associative_scan ------------------------------------------------------------------------------


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All prefixes of `elems`, combined by the associative fn in a logarithmic number of steps.

    fn takes two trees like elems and works on whole arrays. With `reverse`, the elements count in
    the opposite order: the first argument of fn comes later.
    """
    if not callable(fn):
        raise TypeError(f"associative_scan: fn must be callable, got {fn!r}")
    leaves, structure = tree_flatten(elems)
    arrays = [moveaxis(as_array(x), axis, 0) for x in leaves]
    if not arrays:
        return elems
    if len({x.shape[0] for x in arrays}) > 1:
        raise ValueError(
            f"associative_scan: elems must have one size along axis {axis}, got "
            f"{[x.shape[0] for x in arrays]}"
        )
    if reverse:
        arrays = [flip(x, 0) for x in arrays]

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        turned = [tree_unflatten(structure, [moveaxis(x, 0, axis) for x in xs]) for xs in (a, b)]
        found, kind = tree_flatten(fn(*turned))
        if kind != structure:
            raise TypeError(
                f"associative_scan: fn must return a tree like {show(structure)}, got {show(kind)}"
            )
        made = [as_array(x) for x in found]
        shapes = [[x.shape for x in xs] for xs in (tree_flatten(turned[0])[0], made)]
        if shapes[0] != shapes[1]:
            raise TypeError(
                "associative_scan: fn must return the shapes of its arguments, "
                f"{shapes[0]}, got {shapes[1]}"
            )
        return [moveaxis(x, axis, 0) for x in made]

    out = _prefixes(combine, arrays)
    if reverse:
        out = [flip(x, 0) for x in out]
    return tree_unflatten(structure, [moveaxis(x, 0, axis) for x in out])


def _prefixes(combine: Callable[..., list[Any]], elems: list[Any]) -> list[Any]:
    n = elems[0].shape[0]
    if n < 2:
        return elems
    last = n - n % 2
    pairs = combine([x[:last:2] for x in elems], [x[1:last:2] for x in elems])
    odd = _prefixes(combine, pairs)
    even = [x[2::2] for x in elems]
    before = [x[: even[0].shape[0]] for x in odd]
    combined = combine(before, even) if even[0].shape[0] else even
    out = []
    for x, o, e in zip(elems, odd, combined, strict=True):
        whole = zeros((n, *o.shape[1:]), np.result_type(x.dtype, o.dtype))
        whole[:1] = x[:1]
        whole[1::2] = o
        whole[2::2] = e
        out.append(whole)
    return out


# -- adopt -----------------------------------------------------------------------------------------

adopting = threading.RLock()  # held while adopted code runs
elsewhere: list[Callable[[Any], Any]] = []  # find the counterparts of other libraries' functions


def _scipy() -> Any:
    """Loaded when asked for, because it uses the whole namespace."""
    return import_module("lazynp.interop.scipy")


def adopt(target: Any) -> Any:
    """Run code that imports numpy on lazynp. During each call, numpy and everything imported from
    it are lazynp's in the globals of the function's module (or of a given module).

    For a class, returns a derived class whose methods are adopted. Only code that allocates with
    numpy and stores into the result needs this, and code that calls SciPy on what is traced: from
    the first call of `adopt` on, SciPy's functions of traced arrays are lazynp's.
    """
    _scipy().hook()
    ours = next((f for find in elsewhere if (f := find(target)) is not None), None)
    if ours is not None:
        return ours
    if isinstance(target, ModuleType):
        return target if target.__name__.partition(".")[0] == "scipy" else _AdoptedModule(target)
    if isinstance(target, type):
        return _adopted_class(target)
    if not callable(target):
        raise TypeError(f"adopt: a function, a class or a module is required, got {target!r}")
    if isinstance(target, functools.partial):
        return functools.partial(adopt(target.func), *target.args, **target.keywords)
    inner = inspect.unwrap(target)
    if not hasattr(inner, "__globals__"):  # a callable object
        inner = inspect.getattr_static(type(inner), "__call__", None)
    scope = getattr(inner, "__globals__", None)
    if scope is None:
        raise TypeError(f"adopt: a Python function is required, got {target!r}")

    cells = getattr(inner, "__closure__", None) or ()

    def adopted(*args: Any, **kwargs: Any) -> Any:
        with _rebound(scope, cells):
            return target(*args, **kwargs)

    wrappers.add(adopted.__code__)
    return functools.wraps(target)(adopted)


@functools.cache
def _adopted_class(kind: type) -> type:
    """A class derived from this one whose methods, also inherited ones, are adopted. The class
    itself if it has no methods, or if its identity matters (enumerations, exceptions).
    """
    methods: dict[str, Any] = {}
    for base in kind.__mro__[:-1]:
        for name, value in vars(base).items():
            methods.setdefault(name, value)
    methods = {k: _adopted_method(v) for k, v in methods.items() if k not in _OF_THE_CLASS}
    methods = {k: v for k, v in methods.items() if v is not None}
    if not methods or issubclass(kind, (Enum, BaseException)):
        return kind
    methods |= {k: getattr(kind, k) for k in ("__module__", "__qualname__", "__doc__")}
    methods["__slots__"] = ()  # keep the layout of the instances
    derived = types.new_class(kind.__name__, (kind,), exec_body=lambda scope: scope.update(methods))
    register_alike(derived, kind)
    return derived


_OF_THE_CLASS = {"__init_subclass__", "__class_getitem__", "__del__"}


def _adopted_method(value: Any) -> Any:
    """The adopted method; None if there is nothing to adopt."""
    if isinstance(value, (staticmethod, classmethod)):
        inner = _adopted_method(value.__func__)
        return inner and type(value)(inner)
    if isinstance(value, property):
        parts: Any = (value.fget, value.fset, value.fdel)
        return property(*[_adopted_method(f) or f for f in parts])
    return adopt(value) if isinstance(value, FunctionType) and _knows_numpy(value) else None


def _knows_numpy(function: FunctionType) -> bool:
    inner = inspect.unwrap(function)
    seen = [*inner.__globals__.values(), *map(_content, inner.__closure__ or ())]
    return any(counterpart(v) is not None for v in seen)


class _AdoptedModule:
    """A module whose functions and classes are adopted."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, type):
            return adopt(value) if value.__module__ == self._module.__name__ else value
        return adopt(value) if hasattr(value, "__globals__") else value


@contextmanager
def _rebound(scope: dict[str, Any], cells: tuple[Any, ...]) -> Iterator[None]:
    """Replace numpy by lazynp in a namespace and in the cells of a closure."""
    with adopting:
        names = {k: f for k, v in scope.items() if (f := counterpart(v)) is not None}
        before = {k: scope[k] for k in names}
        held = [(c, v, f) for c in cells if (f := counterpart(v := _content(c))) is not None]
        scope.update(names)
        for cell, _, found in held:
            cell.cell_contents = found
        try:
            yield
        finally:
            scope.update(before)
            for cell, value, _ in held:
                cell.cell_contents = value


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


_ROOMS = {"linalg", "fft", "random", "lib", "lib.stride_tricks", "lib.scimath"}
_SERIES = "numpy.polynomial"


def room_of(name: str) -> ModuleType | None:
    """lazynp's module for NumPy's module of this name, if it is one of these."""
    first, _, room = name.partition(".")
    return import_module(f"lazynp.{room}") if first == "numpy" and room in _ROOMS else None


def _series(name: str) -> ModuleType | None:
    """lazynp's module for one of NumPy's modules of series."""
    import_module("lazynp.polynomial")
    return sys.modules.get(name.replace("numpy", "lazynp", 1))


# Most of what a module's globals hold is of these types, and none of it is replaced.
_DATA = {np.ndarray, int, float, bool, complex, str, bytes, tuple, list, dict, set, type(None)}


def counterpart(value: Any) -> Any:
    """lazynp's counterpart of numpy, of a submodule or of a function; else None."""
    kind = type(value)
    if kind in _DATA:
        return None
    if value is np:
        return sys.modules["lazynp"]
    if kind is FunctionType and not str(value.__module__).startswith("numpy"):
        return _elsewhere(value)  # the user's own, or SciPy's
    if isinstance(value, ModuleType):
        if value.__name__.startswith(_SERIES):
            return _series(value.__name__)
        return room_of(value.__name__)
    where = getattr(value, "__module__", None) or ""
    if where.startswith(_SERIES):
        return getattr(_series(where), getattr(value, "__name__", ""), None)
    if isinstance(value, type) or not callable(value):
        return None
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and getattr(np, name, None) is value:
        return getattr(sys.modules["lazynp"], name, None)
    if isinstance(name, str) and (room := room_of(where)) is not None:
        return getattr(room, name, None)
    return _elsewhere(value)


def _elsewhere(value: Any) -> Any:
    return next((f for find in elsewhere if (f := find(value)) is not None), None)
