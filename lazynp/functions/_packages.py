"""Other packages take lazynp's numbers and arrays as they take NumPy's.

Many ask whether an argument is a `numpy.ndarray`, or hand it to C code that takes no other array,
or only one that may be written. So their functions and methods get NumPy's arrays in place of ours:
a copy, and what they write into it is written into ours after the call. Numbers become NumPy's, and
the user's functions among the arguments give such. Results are what the package gives.

A call that has nothing of ours among its arguments is as it was. Packages that are not listed take
what `numpy.asarray(x)` gives them.
"""

from __future__ import annotations

import contextlib
import functools
import os
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._flush import host_value
from lazynp._strides import laid_out, writeable
from lazynp.functions._getset import setitem
from lazynp.functions._loaded import when_any_is_loaded, when_loaded
from lazynp.functions._numpys_classes import hook_derived
from lazynp.functions._pandas import KNOWN, PLAIN, SPECIAL, is_ours, numpys, root_of, takes_more

# packages, and parts of them, all of whose functions and methods are like that
WHOLE = (
    "MDAnalysis", "SimpleITK", "antropy", "astropy.table", "bottleneck", "casadi", "control",
    "csaps", "cv2", "cvxpy", "galois", "gymnasium",
    "h5py", "hdbscan", "lightgbm", "librosa", "nlopt", "ortools", "osqp", "ot", "polars", "pyamg",
    "pyproj", "pyswarms", "pyvista", "pywt", "ruptures", "shapely",
    "simplification", "skimage", "sparse", "xgboost",
)  # fmt: skip
# modules with classes derived from NumPy's array, of which users ask `x.view(np.ndarray)`
_OF_ARRAYS = ("astropy.units", "numpy.ma", "quantities", "unyt")
# also functions in C; others hand such functions to C again
IN_C = {"bottleneck", "cv2", "simplification"}
# Modules with some such functions. Others of these packages look at the frame of their caller, or
# are called too often.
SOME = {
    "networkx.convert": ("to_networkx_graph",),
    "networkx.drawing.layout": ("spring_layout", "random_layout", "kamada_kawai_layout"),
    "pyarrow": ("array", "chunked_array", "record_batch", "scalar", "table"),
    "statsmodels.base.data": ("handle_data",),
    "tables.flavor": ("array_as_internal", "array_of_flavor", "flavor_of"),
    "torch": ("from_numpy",),  # others are known to its compilers
    "torch.utils.data._utils.collate": ("collate", "default_collate", "default_convert"),
}

_WHOLE = tuple([f"{name}." for name in WHOLE])


def hook() -> None:
    """Called once, when lazynp is imported."""
    hook_derived()
    for name in _OF_ARRAYS:
        when_loaded(name, hook_derived)
    for name in WHOLE:
        KNOWN.add(name.partition(".")[0])
        when_any_is_loaded(name.partition(".")[0], _change)
    for name in SOME:
        when_loaded(name, _change_some)


# -- calls -----------------------------------------------------------------------------------------


@functools.cache  # two names of one function stay that
def taking_numpys(function: Any, inner: bool = False) -> Any:
    """The function, for arguments that are lazynp's. `inner`: only its own package calls it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) not in PLAIN and is_ours(x):
                return called(function, args, kwargs, inner)
        for x in kwargs.values():
            if type(x) not in PLAIN and is_ours(x):
                return called(function, args, kwargs, inner)
        return function(*args, **kwargs)

    _made.add(call)
    return call


_made: set[Any] = set()


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inner: bool) -> Any:
    lent: dict[int, tuple[Array, Any, Any]] = {}

    def copy(array: Array) -> Any:
        if id(array) not in lent:
            before = laid_out(np.asarray(host_value(array._read())), array)
            memory = before.copy("K")
            memory.flags.writeable = writeable(array)
            lent[id(array)] = array, before, memory
        return lent[id(array)][2]

    given = [numpys(x, copy) if is_ours(x) else x for x in (*args, *kwargs.values())]
    filled = [
        (x, made, _items(made))
        for x, made in zip((*args, *kwargs.values()), given)
        if x is not made and type(x) in (list, dict)
    ]
    count = len(args)
    try:
        result = function(*given[:count], **dict(zip(kwargs, given[count:])))
    finally:
        for array, before, memory in lent.values():
            if memory.flags.writeable and _is_changed(before, memory):
                setitem(array, ..., memory)
        for x, made, before in filled:
            if _differ(before, _items(made)):
                x.clear()
                x.update(made) if type(x) is dict else x.extend(made)
    for array, _, memory in lent.values():
        if result is memory and not inner:
            return array
    return result


def _items(x: Any) -> list[Any]:
    return list(x) if type(x) is list else [*x, *x.values()]


def _differ(before: list[Any], after: list[Any]) -> bool:
    return len(before) != len(after) or any(x is not y for x, y in zip(before, after, strict=True))


def _is_changed(before: Any, after: Any) -> bool:
    if before.dtype.hasobject:
        return any(x is not y for x, y in zip(before.flat, after.flat, strict=True))
    return before.tobytes() != after.tobytes()


# -- packages --------------------------------------------------------------------------------------


def _change(module: Any) -> None:
    """The functions of a module of a package, and the methods of its classes."""
    if not _is_installed(module) or not f"{module.__name__}.".startswith(_WHOLE):
        return
    root = module.__name__.partition(".")[0]
    for name, member in list(vars(module).items()):
        if isinstance(member, type):
            if member.__module__ == module.__name__:
                _change_class(member)
        elif not name.startswith("_") and _is_to_change(member, root):
            setattr(module, name, taking_numpys(member))


def _change_some(module: Any) -> None:
    if not _is_installed(module):
        return
    made = {id(vars(module).get(name)) for name in SOME[module.__name__]} - {id(None)}
    for name, function in list(vars(module).items()):  # by all of its names
        if id(function) in made and function not in _made:
            setattr(module, name, taking_numpys(function, True))


def _is_installed(module: Any) -> bool:
    """Whether it is no module of the user's of the same name. (Theirs may run on lazynp.)"""
    places = os.path.abspath(getattr(module, "__file__", None) or "").split(os.sep)
    return "site-packages" in places or "dist-packages" in places


def _is_to_change(member: Any, root: str) -> bool:
    if type(member) is BuiltinFunctionType:
        return root in IN_C and root_of(member) in (root, "None")
    plain = type(member) is FunctionType and member not in _made and root_of(member) == root
    return plain and not member.__code__.co_flags & _RUN_LATER


_RUN_LATER = 0x20 | 0x80 | 0x200  # generators, coroutines: the flags of `inspect`


def _change_class(kind: type) -> None:
    for name, member in list(vars(kind).items()):
        if not name.startswith("_") or name in SPECIAL:
            made = _changed_member(member, root_of(kind))
            if made is not None:
                with contextlib.suppress(AttributeError, TypeError):  # of a class that refuses
                    setattr(kind, name, made)


def _changed_member(member: Any, root: str) -> Any:
    if isinstance(member, property):
        return (
            member.setter(taking_numpys(member.fset)) if _is_to_change(member.fset, root) else None
        )
    function = getattr(member, "__func__", member)
    if type(function) is not FunctionType or not _is_to_change(function, root):
        return None
    if function is member:
        return taking_numpys(function) if takes_more(function) else None
    return type(member)(taking_numpys(function))


__all__ = ["SOME", "WHOLE", "called", "hook", "taking_numpys"]
