"""Arrays of NumPy's own classes (matrices, records, masked arrays, mapped files) in programs whose
`ndarray` is ours.
"""

from __future__ import annotations

import functools
from typing import Any
from weakref import WeakSet

import numpy as np

from lazynp._array import NDArray


def for_numpy(x: Any) -> Any:
    """NumPy's class in place of ours; anything else unchanged."""
    return np.ndarray if x is NDArray else x


def hook(*classes: Any) -> None:
    """Let `x.view(ndarray)` take our class for NumPy's, which shows the memory of x: NumPy takes
    a class that it does not know for the dtype of objects.
    """
    for kind in classes:
        if kind not in _hooked:
            _hooked.add(kind)
            kind.view = _understanding(kind.view)


_hooked: WeakSet[Any] = WeakSet()


def hook_derived(_: Any = None) -> None:
    """The same for every class that is derived from NumPy's array by now. Their own subclasses
    inherit it.
    """
    for kind in np.ndarray.__subclasses__():
        if kind.__flags__ & _HEAP_TYPE:  # others, in C, take no attributes
            hook(kind)


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def _understanding(view: Any) -> Any:
    @functools.wraps(view)
    def understanding(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {name: for_numpy(x) for name, x in kwargs.items()}
        return view(self, *map(for_numpy, args), **given)

    return understanding
