"""Run NumPy on values, for functions and dtypes that XLA does not handle."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import BuiltinFunctionType, FunctionType
from typing import Any, ParamSpec

import numpy as np

from lazynp._array import Array, Scalar, fresh, from_host, new_array, new_scalar, write_lock
from lazynp._avals import on_device
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._observers import observers
from lazynp._overrides import has_methods, overrides
from lazynp._recorder import StagingRecorder, local
from lazynp._strides import in_order, laid_out, layout, order_of_strides, writeable
from lazynp.functions._object_arrays import beside_an_object_array
from lazynp.functions._placing import beside
from lazynp.functions._records import Record

on_host_call: list[Callable[[str], None]] = []  # hooks for reports
P = ParamSpec("P")  # results are Arrays where NumPy's are its own

HOSTED: set[str] = set()  # names of functions that run in NumPy, for the documentation


def to_host(tree: Any) -> Any:
    """Convert Arrays in nested tuples, lists and dicts to NumPy arrays (read-only views)."""
    if isinstance(tree, Array):
        value = host_value(tree._read())
        if isinstance(value, np.generic) and type(tree) is not Scalar:
            return np.asarray(value)  # in NumPy, a 0-d array is not a scalar
        if tree._order is not None or not value.flags.c_contiguous:
            value = laid_out(np.asarray(value), tree)  # results lie as the arguments do
        return _sealed(value)
    if type(tree) in (list, tuple):
        return type(tree)(to_host(t) for t in tree)
    if type(tree) is dict:
        return {k: to_host(v) for k, v in tree.items()}
    if isinstance(tree, Record):
        return tree._fresh()
    return _with_numpys_elements(tree) if hasattr(type(tree), "__array__") else tree


def _with_numpys_elements(x: Any) -> Any:
    """The elements of an object whose `__array__` gives a lazy array, which NumPy refuses. Any
    other object is NumPy's to convert.
    """
    if isinstance(x, (np.ndarray, np.generic, type)) or overrides(x) or has_methods(x):
        return x
    made = None if hasattr(type(x), "__dlpack__") else x.__array__()
    return to_host(made) if isinstance(made, Array) else x


def _sealed(value: Any) -> Any:
    """Mark a value read-only: copies of an array share it until one is written. Nobody can change
    an array without elements, and `permutation` copies only what shares memory.
    """
    if not value.size:
        return np.empty_like(value)
    if type(value) is np.ndarray and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def to_device(tree: Any) -> Any:
    """Convert NumPy's results to Arrays and Scalars."""
    if isinstance(tree, Array):  # a Scalar is an instance of a NumPy scalar type
        return tree
    if isinstance(tree, np.generic):
        return tree if tree.dtype.kind in "OSUVMm" else new_scalar(from_host(tree))
    if type(tree) is np.ndarray:
        made = new_array(from_host(tree, copy=tree.base is not None))
        return in_order(made, order_of_strides(tree))
    if isinstance(tree, np.ndarray):
        return own(tree)
    if type(tree) in (list, tuple):
        return type(tree)(to_device(t) for t in tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(to_device(t) for t in tree))
    return tree


def own(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A matrix or masked array with its own memory; its present memory may belong to a value."""
    mask = getattr(x, "_mask", np.ma.nomask)
    shared = not x.flags.writeable or mask is not np.ma.nomask and not mask.flags.writeable
    return x.copy() if shared and not isinstance(x, np.memmap) else x


def host_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's `function` on the values; its results become Arrays."""
    if type(function) is np.ufunc and len(args) == function.nin + 1 and function.nout == 1:
        args, kwargs = args[:-1], {**kwargs, "out": args[-1]}
    if kwargs and isinstance(kwargs.get("out"), Array):
        with write_on_host(kwargs["out"]) as memory:
            given = _lying_as_numpys(memory, kwargs["out"])
            given.flags.writeable = writeable(kwargs["out"])  # or else NumPy refuses
            host_call(function, *args, **{**kwargs, "out": given})
            if given is not memory:
                memory[...] = given
        return kwargs["out"]
    watched = on_host_call or observers
    name = getattr(function, "__name__", str(function)) if watched else ""
    for tell in on_host_call:
        tell(name)
    begin = perf_counter() if observers else 0.0
    given = to_host(kwargs) if kwargs else kwargs
    numpys = [to_host(a) for a in beside_an_object_array(args)]
    result = function(*numpys, **given)
    if type(result) is np.ndarray:
        for a, value in zip(args, numpys, strict=True):
            if value is result and isinstance(a, Array):
                return a  # as `numpy.ma.getdata` does
    result = beside(to_device(result), *args)
    if begin:
        for o in observers:
            o.called(begin, name)
    return result


def _lying_as_numpys(memory: np.ndarray[Any, Any], out: Array) -> np.ndarray[Any, Any]:
    """The memory, or a copy with gaps or in the order that NumPy's `out` would have: generators
    fill memory in its order, and refuse gaps.
    """
    flags = layout(out).flags
    if flags.c_contiguous:
        return np.asarray(memory, order="C")
    if flags.f_contiguous:
        return np.asarray(memory, order="F")
    gaps = np.empty((*memory.shape, 2), memory.dtype)[..., 0]
    gaps[...] = memory
    return gaps


def hosted(
    function: Callable[P, Any], of_traced: Callable[..., Any] | None = None
) -> Callable[P, Any]:
    """Wrap a NumPy function so that it computes the arguments and returns Arrays.

    of_traced: gives the result for arguments that cannot be computed, or None.
    """
    name = getattr(function, "__name__", str(function))
    HOSTED.add(name)

    @functools.wraps(function, updated=())
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        out = None if of_traced is None else of_traced(function, args, kwargs)
        return host_call(function, *args, **kwargs) if out is None else out

    call.__doc__ = f"`numpy.{name}`, run by NumPy on the values of its arguments."
    call.__module__, call.__qualname__ = _room(call.__module__), name  # so that pickle finds it
    implementation = getattr(function, "_implementation", None)
    if implementation is not None:  # the name that NumPy's functions have for what asks no argument
        call._implementation = functools.partial(host_call, implementation)  # type: ignore[attr-defined]
    hooks = on_host_call, observers
    return in_front("hosted", call, function=function, hooks=hooks, handle=to_device)


def _room(module: str | None) -> str:
    """The lazynp module that corresponds to this NumPy module."""
    for room in ("ma", "random"):
        if module and module.startswith(f"numpy.{room}"):
            return f"lazynp.{room}"
    return "lazynp" + module.removeprefix("numpy") if module else "lazynp"


def is_hosts(x: Any) -> bool:
    """Whether no compiled program can hold this operand."""
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype):
        return not on_device(dtype)
    return isinstance(x, (str, bytes))


def needs_host(*arrays: Array) -> bool:
    """Whether one of these has a dtype that no compiled program can hold."""
    return not all(on_device(a.dtype) for a in arrays)


def host_into(function: Callable[..., Any], *args: Any, out: Any, **kwargs: Any) -> Any:
    """`host_call` of a function with `out`: stores the result there, or returns it if there is no
    `out`.
    """
    if out is None:
        return host_call(function, *args, **kwargs)
    if not isinstance(out, Array) or isinstance(out, Scalar):  # NumPy's, or an error
        return function(*to_host(args), out=to_host(out), **to_host(kwargs))
    with write_on_host(out) as memory:
        function(*to_host(args), out=memory, **to_host(kwargs))
    return out


@contextmanager
def write_on_host(array: Array) -> Iterator[np.ndarray[Any, Any]]:
    """Yield a private copy of the value; it becomes the array's value at the end. Of an array that
    must not be written, NumPy refuses it in its own words.
    """
    memory = np.array(host_value(array._read()))
    memory.flags.writeable = may = writeable(array)
    yield memory
    if may:
        with write_lock:
            made = from_host(memory, copy=False)
            if array._base is None and is_made_here(array):
                fresh(made)
            array._write(made)


def is_made_here(owner: Array) -> bool:
    """Whether an array may hold what is only traced here. Of one from outside, later calls would
    not store it again.
    """
    recorder = local.recorder
    return not isinstance(recorder, StagingRecorder) or recorder.owns(owner._node)


def mirrored(module: Any, names: Iterable[str]) -> dict[str, Any]:
    """Mirror a NumPy module for lazy arrays: its functions run on values, other names stay the
    same.

    Names that the module only provides on demand (deprecated ones) are left out.
    """
    found: dict[str, Any] = {}
    made: dict[int, Any] = {}  # by the function of NumPy's, which may have several names
    for name in names:
        if name not in vars(module):
            continue
        it = getattr(module, name)
        if isinstance(it, (FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum))):
            if id(it) not in made:
                made[id(it)] = hosted(it)
                # where pickle finds it: `numpy.char` has functions of `numpy.strings`
                made[id(it)].__module__ = _room(module.__name__)
                made[id(it)].__qualname__ = name
            it = made[id(it)]
        elif type(it) is np.ndarray:
            it = new_array(from_host(it))
        found[name] = it
    return found
