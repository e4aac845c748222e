"""Reading one element by index, where its value is there: now, which costs less than recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp import _reference, lowering
from lazynp._array import Array, new_scalar
from lazynp._avals import Aval, aval_of, on_device
from lazynp._node import VALUE, Node, Tracer
from lazynp.functions._getset_host import record_of
from lazynp.functions._scalars import AVALS, scalar

_SCALAR = ("scalar",)  # in a memo, beside indices and names of fields: the aval of one element


def element_there(self: Array, index: Any, axes: int) -> Any:
    """One element of host memory: NumPy's own, in a Scalar."""
    value = self._read()[VALUE]
    if type(value) is not np.ndarray or value.ndim != axes:
        return None
    element = value[index]
    aval = AVALS.get(type(element))
    if aval is None and type(element) is np.void and element.dtype.names is not None:
        return record_of(self, index, element)
    return None if aval is None else scalar(element, aval)


def element_of(node: Node, aval: Aval, index: Any) -> Any:
    """One element of available data: read now, which costs less than recording."""
    value = node[VALUE]
    if type(value) is not np.ndarray:
        if not lowering.on_host() or isinstance(value, Tracer):
            return None
        value = _reference.host(node)
    element = value[index]
    if not isinstance(element, np.generic) or isinstance(element, np.void):
        return None
    try:
        element_aval = aval.get_memo[_SCALAR]
    except KeyError:
        element_aval = aval_of((), aval.dtype) if on_device(aval.dtype) else None
        aval.get_memo[_SCALAR] = element_aval
    if element_aval is None:
        return element  # a string or date: NumPy's own
    return new_scalar([None, None, element, None, element_aval])
