"""Arrays of other libraries (torch, cupy, dask, ...), through dlpack or their own conversion, and
objects that override functions through NumPy's protocols.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, array_of, new_array
from lazynp._later import array_api_compat, is_of_numpys_class
from lazynp._memo import cached
from lazynp._overrides import check, overrides, takes_ufuncs
from lazynp._sizes import Size
from lazynp.functions._host import to_device, to_host, write_on_host
from lazynp.functions._object_arrays import beside_an_object_array
from lazynp.functions._subclass import Subclass

_KNOWN = {
    NDArray, Scalar, Size, np.ndarray, int, float, complex, bool, list, tuple, type(None)
}  # fmt: skip
_HOST = 1  # kDLCPU in the DLPack header


def from_foreign(x: Any, *, lazily: bool = True) -> Any:
    """NumPy's view or copy of another library's array; anything else unchanged. `lazily`: the
    `__array__` method may return a lazy array (NumPy itself refuses that), which stays lazy.

    Values on another device than the host are fetched.
    """
    if type(x) is np.ndarray or isinstance(x, type):
        return x
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(type(x), "__dlpack_device__"):
        check(x)
        return _converted(x) if lazily else x
    check(x)
    if int(x.__dlpack_device__()[0]) != _HOST and _must_be_fetched(x):
        x = array_api_compat.to_device(x, "cpu")
    return x if hasattr(x, "__array__") else np.from_dlpack(x)


def _converted(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, np.generic)) else array_of(x)


def _must_be_fetched(x: Any) -> bool:
    """Whether its `__array__` refuses: of the libraries with other devices, cupy and torch do
    that.
    """
    if hasattr(x, "__array__"):
        return array_api_compat.is_cupy_array(x) or array_api_compat.is_torch_array(x)
    return array_api_compat.is_array_api_obj(x)


def elements(x: Any) -> Any:
    """The elements of a matrix, or of another object that overrides functions; anything else
    unchanged.
    """
    kind = type(x)
    if kind in _KNOWN:
        return x
    if issubclass(kind, np.ndarray):
        return np.asarray(x)
    if isinstance(x, Array) or not overrides(x) or not hasattr(kind, "__array__"):
        return x
    return x.__array__()


_PLAIN = np.ndarray.__array_ufunc__


def overridden(*operands: Any) -> bool:
    """Whether one of these overrides ufuncs, like a Series or a matrix."""
    return any([type(x) not in _KNOWN and _takes_over(type(x)) for x in operands])


def _takes_over(kind: type) -> bool:
    if is_of_numpys_class(kind) or _wraps(kind):
        return True
    return getattr(kind, "__array_ufunc__", _PLAIN) is not _PLAIN


def decides(x: Any) -> bool:
    """Whether an operator in place binds what this operand's `__array_ufunc__` gives: that of a
    class of the user's, or of a library's.
    """
    kind = type(x)
    if kind in _KNOWN or _is_ours_to_take(kind):
        return False
    method = getattr(kind, "__array_ufunc__", None)
    return method not in (None, _PLAIN, NDArray.__array_ufunc__, Subclass.__array_ufunc__)


def _wraps(kind: type) -> bool:
    """Whether it is not an array but wraps the results of ufuncs. Tensors and other exchangeable
    objects count as their elements.
    """
    if not hasattr(kind, "__array_wrap__") or hasattr(kind, "__array_ufunc__"):
        return False
    if issubclass(kind, np.generic):
        return False
    return not hasattr(kind, "__dlpack__")


def _is_wrapper(kind: type) -> bool:
    """Whether it stands for an array that it holds. (NumPy takes others for one object, whose
    methods it calls: `np.cos(x)` is `x.cos()`.)
    """
    return hasattr(kind, "__array__") and _wraps(kind)


def wrapped(x: Any, result: Any, of_ufunc: bool) -> Any:
    """What an object makes of the result of a function that it was given to."""
    if not isinstance(result, Array) or not _wraps(type(x)):
        return result
    is_number = isinstance(result, Scalar)
    result = new_array(result._read()) if is_number else result  # NumPy hands over an array
    try:
        return x.__array_wrap__(result, None, of_ufunc and is_number)
    except TypeError:  # the signature before NumPy 2
        return x.__array_wrap__(result)


class _Wrapping:
    """Presents an object that knows only lazynp's arrays to NumPy: its `__array__` may return a
    lazy array, and its `__array_wrap__` gets one.
    """

    def __init__(self, x: Any, function: Any, inputs: Any) -> None:
        self.x, self.function, self.inputs = x, function, inputs
        self.__array_priority__ = getattr(x, "__array_priority__", 0.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(to_host(self.x.__array__()), dtype)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if context is not None:
            context = (self.function, self.inputs, context[2])
        try:
            return self.x.__array_wrap__(to_device(array), context, return_scalar)
        except TypeError:  # the signature before NumPy 2
            return self.x.__array_wrap__(to_device(array), context)


def elsewhere(function: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Call a ufunc's method where operands have their own `__array_ufunc__`.

    They get NumPy's ufunc and NumPy's arrays, which libraries know. Operands that were written
    for lazynp get lazynp's.
    """
    ours = [x for x in (*inputs, *options.get("out", ())) if _is_ours(x)]
    for x in _in_turn(ours):
        done = x.__array_ufunc__(function, method, *inputs, **options)
        if done is not NotImplemented:
            return done
    if any([isinstance(x, Array) or _compares_with_ours(x) for x in ours]):
        return _refused_by_ours(function, method, inputs, options)
    given = [_Wrapping(x, function, inputs) if _is_wrapper(type(x)) else x for x in inputs]
    try:
        return by_numpy(getattr(function._numpy, method), given, options)
    except TypeError as error:
        if "returned NotImplemented" not in str(error):
            raise
        refused = error
    for x in (*inputs, *options.get("out", ())):
        if type(x) in _KNOWN or isinstance(x, (Array, np.ndarray)) or not _takes_over(type(x)):
            continue
        done = x.__array_ufunc__(function, method, *inputs, **options)
        if done is not NotImplemented:
            return done
    raise refused


def _in_turn(objects: list[Any]) -> list[Any]:
    """One object of each class, as NumPy asks them: a class before those it derives from."""
    turn: list[Any] = []
    for x in objects:
        kinds = [type(y) for y in turn]
        if type(x) not in kinds:
            bases = (i for i, kind in enumerate(kinds) if issubclass(type(x), kind))
            turn.insert(next(bases, len(turn)), x)
    return turn


def _refused_by_ours(function: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Ask the operands that are no arrays of ours, after those have refused. They get NumPy's."""
    operands = (*inputs, *options.get("out", ()))
    for x in operands:
        if isinstance(x, (Array, np.ndarray)) or not takes_ufuncs(x) or _is_ours(x):
            continue
        done = x.__array_ufunc__(function._numpy, method, *to_host(inputs), **to_host(options))
        if done is not NotImplemented:
            return done
    said = _NUMPYS_MESSAGE(None, function, method, *map(_shown, inputs), **options)
    raise TypeError(said)


def _shown(x: Any) -> Any:
    return to_host(x) if type(x) is Scalar else x


_NUMPYS_MESSAGE: Any = sys.modules["numpy._core._internal"].array_ufunc_errmsg_formatter


def _is_ours(x: Any) -> bool:
    """Whether its class knows lazynp's ufuncs and arrays: derived from these, or one that says so
    (a Ref of a kernel, a slice of unknown size).
    """
    if isinstance(x, Array):
        return type(x) is not NDArray and type(x) is not Scalar
    return _is_ours_to_take(type(x)) or _compares_with_ours(x)


def _compares_with_ours(x: Any) -> bool:
    return type(x) not in _KNOWN and knows_lazynp(getattr(type(x), "__array_ufunc__", None))


@cached(1 << 8)
def knows_lazynp(method: Any) -> bool:
    """Whether the module of this method knows lazynp, and not NumPy too: it compares functions
    (`func is np.sum`) with lazynp's.
    """
    if not isinstance(method, FunctionType):
        return False
    if (method.__module__ or "").startswith("lazynp."):  # code without a module has none
        return False
    known = method.__globals__.values()
    rooms = {v.__name__.partition(".")[0] for v in known if isinstance(v, ModuleType)}
    if "numpy" in rooms:
        return False
    return "lazynp" in rooms or any([_is_function_of_ours(v) for v in known])


def _is_function_of_ours(x: Any) -> bool:
    """Whether `from lazynp import` gave it."""
    return callable(x) and getattr(x, "__module__", None) == "lazynp"


def _is_ours_to_take(kind: type) -> bool:
    return hasattr(kind, "_takes_lazy") or hasattr(kind, "_stands_for_traced")


def by_numpy(function: Any, inputs: Any, options: dict[str, Any], *, single: bool = False) -> Any:
    """Run NumPy's function on values, and store what it writes into `out`. `single`: its `out` is
    one array, not a tuple.

    A scalar stays NumPy's: for the object's own library it must be a number, or pandas makes a
    column of objects of it.
    """
    outs = options.get("out")
    inputs = beside_an_object_array(inputs)
    if outs is None:
        result = function(*to_host(inputs), **to_host(options))
        return result if isinstance(result, np.generic) else to_device(result)
    with ExitStack() as stack:
        memory = tuple(
            [stack.enter_context(write_on_host(o)) if isinstance(o, Array) else o for o in outs]
        )
        given = options | {"out": memory[0] if single else memory}
        done = function(*to_host(inputs), **{k: to_host(v) for k, v in given.items()})
        same = {id(m): o for m, o in zip(memory, outs, strict=True) if m is not None}
        results = [same.get(id(d), d) for d in (done if isinstance(done, tuple) else (done,))]
    return to_device(tuple(results) if isinstance(done, tuple) else results[0])
