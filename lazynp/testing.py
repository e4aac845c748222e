"""`numpy.testing` for lazy arrays: computes their values and compares these with NumPy's
functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy.testing as _numpy

from lazynp.functions._host import to_host as _to_host

if TYPE_CHECKING:
    from numpy.testing import *  # noqa: F403

__all__ = list(_numpy.__all__)


def _on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return function(*_to_host(args), **_to_host(kwargs))

    return call


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
