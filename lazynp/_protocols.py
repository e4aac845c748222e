"""NumPy's dispatch protocols: `numpy.f(x)` on lazynp arrays runs lazynp's `f`.

If lazynp has no such function, NumPy runs its own on the values, and the results become Arrays.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from importlib import import_module
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import (
    Array,
    NDArray,
    Scalar,
    from_host as node_from_host,
    new_array,
    new_scalar,
    write_lock,
)
from lazynp._flush import host_value
from lazynp._fronts import in_front
from lazynp._later import is_of_numpys_class
from lazynp._node import CODE, OFFSET, OP, VALUE
from lazynp._overrides import Overridden
from lazynp._positions import user_frame
from lazynp._quiet import aloud
from lazynp._recorder import local
from lazynp._strides import in_order, laid_out, order_of_strides
from lazynp._values import knowable
from lazynp.functions import (
    creation,
    datatypes,
    differences,
    indexing,
    logic,
    manipulation,
    nan_reductions,
    polynomials,
    products,
    reductions,
    rounding,
    sets,
    sorting,
    special,
    statistics,
    ufuncs,
    windows,
)
from lazynp.functions._checks import refuse
from lazynp.functions._memory import asks_for_copy
from lazynp.functions._operands import as_array, broadcast, cast
from lazynp.functions._pandas import numpys
from lazynp.functions._part_functions import UFUNC_REDUCTIONS, empty_text
from lazynp.functions._part_order import least
from lazynp.functions._recording import owners_first
from lazynp.functions._refused import FAULTS, numpys_fault
from lazynp.functions._resized import window_of
from lazynp.functions._scalars import OF_SCALARS
from lazynp.functions._selected import Selection
from lazynp.functions._ufunc import ufunc
from lazynp.functions._vectorized import python_function
from lazynp.functions._with_size import function_again, ufunc_again, with_size
from lazynp.functions.functional import room_of
from lazynp.transforms import window_makers

_ROOMS = (
    ufuncs, creation, manipulation, indexing, products, reductions, rounding, sorting,
    statistics, sets,
    special, polynomials, windows, differences, logic, nan_reductions, datatypes,
)  # fmt: skip
# not `special`: its names are SciPy's
_OF_NUMPY = tuple(room for room in _ROOMS if room is not special)


@functools.cache
def find(name: str, rooms: tuple[Any, ...] = _ROOMS) -> Any:
    """Our function of this name, or None."""
    if name.startswith("_"):
        return None
    for room in rooms:
        found = getattr(room, name, None)
        if found is not None:
            return found
    return None


_FUNCTIONS: dict[Any, Any] = {}  # NumPy's functions that were asked for -> ours
_CALLS: dict[Any, Any] = {}  # NumPy's ufuncs, of which there are few -> what calls ours


def array_ufunc(self: Array, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`Array.__array_ufunc__`."""
    out = kwargs.pop("out", None)
    if out is not None:
        return _into(out, self, function, method, inputs, kwargs)
    ours = None if _mean_otherwise(inputs) else find(function.__name__) or _beyond(function)
    if ours is None or method != "__call__" and not hasattr(ours, method):
        result = getattr(function, method)(*map(to_host, inputs), **_map(to_host, kwargs))
        result = _map(from_host, result)
    elif method == "__call__":
        if type(ours) is ufunc:
            _CALLS[function] = ours._call
        elif function not in _CALLS and _is_scipys(function):
            _CALLS[function] = owners_first(functools.partial(_asked, ours), function)
        if kwargs:
            result = ours(*inputs, **kwargs)
        elif function is np.matmul:
            result = products.matmul_operator(*inputs)  # which NumPy runs at once
        else:
            result = _asked(ours, *inputs)
    else:
        result = getattr(ours, method)(*inputs, **kwargs)
    return result


def _asked(ours: Any, *inputs: Any) -> Any:
    # `_apply` looks for the user's line; the fast path assumes the caller's
    result = local.recorder.backend.attempt(ours, *inputs)
    return getattr(ours, "_apply", ours)(*inputs) if result is None else _of_user(result)


def _is_scipys(function: np.ufunc) -> bool:
    """Whether this is one of SciPy's, with at most two arguments and one result."""
    special = sys.modules.get("scipy.special")
    own = getattr(special, function.__name__, None) is function
    return own and function.nin <= 2 and function.nout == 1


def _into(out: Any, self: Array, function: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """The results in memory of NumPy's, as `x += y` and `out` ask for. What is known, NumPy
    computes: its casts, its masks, its exceptions.
    """
    given = {**kwargs, "out": out if method == "__call__" else out[0]}
    lazy = [x for x in (*inputs, *kwargs.values(), *out) if isinstance(x, Array)]
    if not any(isinstance(o, Array) for o in out) and all(knowable(x._read()) for x in lazy):
        run = getattr(function, method)
        return aloud(run, [to_host(x) for x in inputs], **_map(to_host, kwargs), out=given["out"])
    wrong: Any = None
    try:
        ours = None if _mean_otherwise(inputs) else find(function.__name__)
        if isinstance(ours, ufunc) and all(o is None or isinstance(o, Array) for o in out):
            return getattr(ours, method)(*inputs, **given)
        result = array_ufunc(self, function, method, *inputs, **kwargs)
        results = result if isinstance(result, tuple) else (result,)
        filled = tuple(_fill(r, o) for r, o in zip(results, out, strict=True))
        return filled if isinstance(result, tuple) else filled[0]
    except FAULTS as error:
        wrong = numpys_fault(error, getattr(function, method), inputs, given)
    try:
        raise wrong
    finally:
        del wrong


def _beyond(function: np.ufunc) -> Any:
    """Inside transformations: what differentiates one of SciPy's ufuncs that lazynp lacks, or one
    made of a Python function.
    """
    name = function.__name__
    if not local.level:
        return None
    made = python_function(function)
    if made is not None:
        return made
    if getattr(sys.modules.get("scipy.special"), name, None) is not function:
        return None
    return import_module("lazynp.interop._special_more").UFUNCS.get(name)


def _of_user(result: Any) -> Any:
    """If the operation was recorded after all, attribute it to the user's line."""
    if type(result) is NDArray or type(result) is Scalar:
        node = result._node
        if node[OP] is not None and node[VALUE] is None:
            frame = user_frame(sys._getframe(1))
            node[CODE], node[OFFSET] = frame.f_code, frame.f_lasti
    return result


def _mean_otherwise(args: Any) -> bool:
    """Whether operations with these operands mean something other than with arrays."""
    for x in args:
        if is_of_numpys_class(type(x)):
            return True
    return False


def _fill(result: Any, out: Any) -> Any:
    if out is None:
        return result
    if isinstance(out, np.ndarray):
        np.copyto(out, to_host(result), casting="same_kind")
        return out
    if isinstance(out, Scalar) or not isinstance(out, Array):
        raise TypeError("return arrays must be of ArrayType")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        np.copyto(np.empty(0, out.dtype), np.empty(0, result.dtype))  # raises NumPy's exception
    if result.shape != out.shape:
        result = broadcast(as_array(result), out.shape)
    with write_lock:
        out._write(cast(result, out.dtype)._read())
    return out


# -- x[m] with a traced mask m ---------------------------------------------------------------------


def selection_ufunc(
    self: Selection, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any
) -> Any:
    ours: Any = find(function.__name__)
    reduction = UFUNC_REDUCTIONS.get(function.__name__)
    if method == "reduce" and reduction is not None:
        return getattr(self, reduction)(**kwargs)
    if ours is None or method != "__call__" or kwargs:
        return self.unknown()
    if function.__name__ in _PRODUCTS:
        return _product_of_selections(self, *inputs)
    return self.unknown() if getattr(function, "signature", None) else ours(*inputs)


def _product_of_selections(self: Selection, a: Any, b: Any) -> Any:
    """Of two vectors that one mask selects."""
    if not all(type(x) is Selection and x.ndim == 1 for x in (a, b)):
        return self.unknown()
    product = ufuncs.multiply(a, b)
    return product.sum(dtype=product.dtype)


def selection_function(self: Selection, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = str(_AMAX.get(function.__name__, function.__name__))
    if name in _PRODUCTS and len(args) == 2 and not kwargs:
        return _product_of_selections(self, *args)
    if name not in _SELECTED or not args or args[0] is not self:
        return self.unknown()
    return getattr(self, name)(*args[1:], **kwargs)


_PRODUCTS = {"matmul", "dot", "inner"}
_AMAX = {"amax": "max", "amin": "min"}
_SELECTED = {"sum", "prod", "mean", "var", "std", "any", "all", "max", "min"}


def _attach_to_selections() -> None:
    for name in _SELECTED - {"max", "min"}:
        setattr(Selection, name, _selected(getattr(reductions, name)))
    for name in ("max", "min"):
        setattr(Selection, name, _extremum(name))


def _selected(function: Any) -> Any:
    def reduce(self: Selection, axis: Any = None, **options: Any) -> Any:
        return self.reduced(function, axis, options)

    reduce.__name__ = function.__name__
    return with_size(reduce)


def _extremum(name: str) -> Any:
    function, message = getattr(reductions, name), empty_text(name)

    def reduce(self: Selection, axis: Any = None, **options: Any) -> Any:
        if self.dtype.kind == "c":
            self.unknown()
        if "initial" not in options and self.covers(axis):
            refuse(ufuncs.logical_not(reductions.any(self.mask)), ValueError, message)
        options.setdefault("initial", least(self.dtype, name))
        return self.reduced(function, axis, options)

    reduce.__name__ = name
    return with_size(reduce)


# -- NumPy's functions -----------------------------------------------------------------------------


_WRITERS = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


def array_function(self: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`Array.__array_function__`."""
    writes = function.__name__ in _WRITERS or kwargs.get("out") is not None
    if not writes and asks_for_copy(sys._getframe(1), self):
        # applied to results of a user's function, on their way to C code
        with contextlib.suppress(TypeError):  # a traced array has no value
            return function(*_map(_copied, args), **_map(_copied, kwargs))
    ours = None if _mean_otherwise(args) else _counterpart(function)
    if ours is not None and not isinstance(ours, ufunc):
        _FUNCTIONS[function] = ours
        try:
            return ours(*args, **kwargs)
        except Overridden:  # in a list, where NumPy's function has asked it already
            pass
    result = _map(from_host, function(*_map(to_host, args), **_map(to_host, kwargs)))
    if function.__name__ == "sliding_window_view":
        result._flags = {"readonly": True}  # a write would not reach the argument
    return result


def _counterpart(function: Any) -> Any:
    """Our function for a function of numpy or of a room of it; or None."""
    if function.__module__ == "numpy":
        return find(function.__name__, _OF_NUMPY)
    room = room_of(function.__module__)
    return None if room is None else getattr(room, function.__name__, None)


def to_host(x: Any) -> Any:
    """Convert an Array to a NumPy array or scalar."""
    if not isinstance(x, Array):
        return x
    value = host_value(x._read())
    out_of_order = x._order is not None or not value.flags.c_contiguous
    return laid_out(value, x) if out_of_order else value


def _copied(x: Any) -> Any:
    value = to_host(x)
    return value.copy() if x is not value else x


def from_host(x: Any) -> Any:
    """Convert a NumPy result to an Array or Scalar."""
    if isinstance(x, Array):
        return x
    if isinstance(x, np.generic):
        return new_scalar(node_from_host(x))
    if type(x) is np.ndarray:
        return in_order(new_array(node_from_host(x, copy=False)), order_of_strides(x))
    return x


def _map(function: Any, tree: Any) -> Any:
    if isinstance(tree, dict):
        return {k: _map(function, v) for k, v in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_map(function, v) for v in tree)
    return function(tree)


def array_namespace(self: Array, /, *, api_version: str | None = None) -> ModuleType:
    """The standard's namespace of a version, by default the newest."""
    return import_module("lazynp.array_api").namespace_of_version(api_version)


def _of_torch(
    cls: type, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
) -> Any:
    given = {name: numpys(x) for name, x in (kwargs or {}).items()}
    return function(*[numpys(x) for x in args], **given)


def _torch_function(self: Scalar) -> Any:
    """For torch, which asks it of what is no tensor and no number that C knows. An integer has
    none: it may be a size, and torch then takes it for one by `__index__`.
    """
    if self.dtype.kind in "iu":
        raise AttributeError("__torch_function__")
    return MethodType(_of_torch, Scalar)


def _arrow_array(self: Array, type: Any = None) -> Any:
    """For pyarrow, which asks it of what is no array of NumPy's."""
    return sys.modules["pyarrow"].array(np.array(host_value(self._read())), type=type)


def attach() -> None:
    Scalar.__torch_function__ = property(_torch_function)  # type: ignore[attr-defined]
    NDArray.__arrow_array__ = _arrow_array  # type: ignore[attr-defined]
    Array.__array_namespace__ = array_namespace  # type: ignore[attr-defined]
    asked = in_front("asked", array_ufunc, entries=_CALLS, operators=OF_SCALARS)
    Array.__array_ufunc__ = asked  # type: ignore[attr-defined]
    asked = in_front("asked_function", array_function, entries=_FUNCTIONS)
    Array.__array_function__ = asked  # type: ignore[attr-defined]
    Selection.__array_ufunc__ = with_size(selection_ufunc, ufunc_again)  # type: ignore[attr-defined]
    Selection.__array_function__ = with_size(  # type: ignore[attr-defined]
        selection_function, function_again
    )
    _attach_to_selections()
    window_makers.append(window_of)


attach()
