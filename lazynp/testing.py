"""`numpy.testing` for lazy arrays: computes their values and compares these with NumPy's
functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as _np
import numpy.testing as _numpy

from lazynp._array import Array as _Array
from lazynp._tree import tree_flatten as _tree_flatten
from lazynp.functions._by_class import asks as _asks
from lazynp.functions._host import to_host as _to_host
from lazynp.functions._numpys_own import function_of as _function_of
from lazynp.functions._subclass import takes_over as _takes_over

if TYPE_CHECKING:
    from numpy.testing import *  # noqa: F403

__all__ = list(_numpy.__all__)


def _on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    by_elements = function.__name__ not in _BY_EQUALITY

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        operands = _tree_flatten((args, kwargs))[0]
        if any([_takes_over(type(x)) or _asks(type(x)) for x in operands]):
            return _function_of(function)(*args, **kwargs)  # its ufuncs are those of the class
        if by_elements:
            args = tuple([_elements(x) for x in args])
            kwargs = {name: _elements(x) for name, x in kwargs.items()}
        return function(*_to_host(args), **_to_host(kwargs))

    call.__module__ = __name__  # where pickle finds it
    return call


_BY_EQUALITY = {"assert_", "assert_almost_equal", "assert_equal", "print_assert_equal"}


def _elements(x: Any) -> Any:
    """The lazy array that an object's `__array__` gives, which NumPy refuses to take."""
    if isinstance(x, (_np.ndarray, _np.generic, type)) or not hasattr(type(x), "__array__"):
        return x
    made = x.__array__()
    return made if isinstance(made, _Array) else x


_COMPARE = {
    "assert_", "assert_allclose", "assert_almost_equal", "assert_approx_equal",
    "assert_array_almost_equal", "assert_array_almost_equal_nulp", "assert_array_compare",
    "assert_array_equal", "assert_array_less", "assert_array_max_ulp", "assert_equal",
    "print_assert_equal",
}  # fmt: skip
for _name in __all__:
    _found = getattr(_numpy, _name)
    globals()[_name] = _on_values(_found) if _name in _COMPARE else _found


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
