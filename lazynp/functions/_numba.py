"""numba compiles functions of the user's that name lazynp, and takes lazy arrays.

A function under `@njit` names `np.zeros` or `math.sin`, which are lazynp's in the user's modules.
numba knows NumPy's and Python's only, so its interpreter gets those. A compiled function knows the
types of NumPy's arrays, so a call that it has no version for asks here first: if there is something
of lazynp's among the arguments, the function gets NumPy's arrays, and what it writes into them is
written into ours.
"""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp.functions._loaded import when_loaded
from lazynp.functions._packages import called, taking_numpys
from lazynp.functions._pandas import PLAIN, numpys, root_of


def hook() -> None:
    """Called once, when lazynp is imported."""
    when_loaded("numba.core.interpreter", _change_interpreter)
    when_loaded("numba.core.typing.typeof", _tell_types)
    when_loaded("numba.core.dispatcher", _change_dispatcher)
    when_loaded("numba.misc.special", _change_typeof)
    when_loaded("numba.stencils.stencil", _change_stencils)


# -- what a compiled function names ----------------------------------------------------------------


def _change_interpreter(module: Any) -> None:
    kind = module.Interpreter
    for name in ("get_global_value", "get_closure_value"):
        setattr(kind, name, _numpys_result(getattr(kind, name)))


def _numpys_result(method: Any) -> Any:
    @functools.wraps(method)
    def call(self: Any, name: Any) -> Any:
        return of_numpy(method(self, name))

    return call


def of_numpy(x: Any) -> Any:
    """What NumPy or Python has in the place of this module, function or array of lazynp's; anything
    else unchanged.
    """
    if isinstance(x, ModuleType):
        return _module_of(x)
    if isinstance(x, (Array, tuple, list)):
        return numpys(x, _constant)
    name = getattr(x, "__name__", None)
    if root_of(x) != "lazynp" or not isinstance(name, str):
        return x
    for ours in _ROOMS:
        room = sys.modules.get(ours)
        if room is not None and vars(room).get(name) is x:
            return getattr(_module_of(room), name, x)
    return x


_PYTHONS = {"lazynp.interop.math": "math", "lazynp.interop.cmath": "cmath"}
_ROOMS = ("lazynp", "lazynp.linalg", "lazynp.fft", "lazynp.random", *_PYTHONS)


def _module_of(module: ModuleType) -> ModuleType:
    name = module.__name__
    if name.partition(".")[0] != "lazynp":
        return module
    try:
        return importlib.import_module(_PYTHONS.get(name) or "numpy" + name.removeprefix("lazynp"))
    except ImportError:  # of lazynp's alone
        return module


def _constant(array: Array) -> Any:
    return np.array(numpys(array))  # numba keeps it


# -- calls -----------------------------------------------------------------------------------------


def _tell_types(module: Any) -> None:
    """A lazy array has no type of numba's, which would look for one in its buffer."""
    module.typeof_impl.register(Array)(lambda x, context: None)


def _change_dispatcher(module: Any) -> None:
    kind, omitted = module._DispatcherBase, module.OmittedArg
    for made in (module.Dispatcher, kind):
        compiling = vars(made).get("_compile_for_args")
        if compiling is not None:
            made._compile_for_args = _asking_first(compiling, omitted)
    kind.disable_compile = _refusing_others(kind.disable_compile)


def _asking_first(compiling: Any, omitted: type) -> Any:
    """numba's method for a call that no version fits, which gives the function to call. numba has
    already put defaults (`omitted`) in their places.
    """

    @functools.wraps(compiling)
    def for_args(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not any([_holds_array(x) for x in args]):
            return compiling(self, *args, **kwargs)
        self._types_active_call.clear()
        return functools.partial(_call, self, omitted)

    return for_args


def _refusing_others(disabling: Any) -> Any:
    """The method that ends compilation, because the user has declared the signatures. numba asks
    nobody about other calls, so such a function asks at each call.
    """

    @functools.wraps(disabling)
    def disable_compile(self: Any, *args: Any, **kwargs: Any) -> None:
        disabling(self, *args, **kwargs)
        self.__class__ = _asking(type(self), not self._can_compile)

    return disable_compile


@functools.cache
def _asking(kind: Any, wanted: bool) -> Any:
    plain = vars(kind).get("_asks_for", kind)
    if not wanted or plain is not kind:
        return kind if wanted else plain

    at_once = plain.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        for x in args if not kwargs else (*args, *kwargs.values()):
            if type(x) not in PLAIN and _holds_array(x):
                return called(functools.partial(at_once, self), args, kwargs, False)
        return at_once(self, *args, **kwargs)

    own = {
        "__slots__": (),
        "__call__": call,
        "_reduce_class": lambda self: plain,
        "_asks_for": plain,
    }
    return type(kind.__name__, (kind,), {**own, "__module__": kind.__module__})


def _holds_array(x: Any) -> bool:
    if type(x) in (tuple, list):
        return any([_holds_array(y) for y in x])
    return isinstance(x, Array)


def _call(function: Any, omitted: type, *args: Any) -> Any:
    given = [x.value if isinstance(x, omitted) else x for x in args]
    if function.py_func.__code__.co_flags & _TAKES_MORE:  # which numba has put into a tuple
        given += given.pop()
    return called(function, tuple(given), {}, False)


_TAKES_MORE = 0x04  # `*args`: the flag of `inspect`


def _change_typeof(module: Any) -> None:
    module.typeof = taking_numpys(module.typeof)


def _change_stencils(module: Any) -> None:
    module.StencilFunc.__call__ = taking_numpys(module.StencilFunc.__call__)


__all__ = ["hook", "of_numpy"]
