"""clip and round: what bounds elements, or cuts off their digits."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import SCALAR_DTYPES
from lazynp._node import aval_of_node
from lazynp._strides import copied_order, in_order
from lazynp.functions import ufuncs
from lazynp.functions._eager import by_numpy
from lazynp.functions._foreign import by_numpy as by_numpys, overridden
from lazynp.functions._host import host_call, host_into, needs_host
from lazynp.functions._operands import as_array, cast, numpys, scalar_if_0d
from lazynp.functions._recording import apply
from lazynp.functions._reduce import NO_VALUE
from lazynp.functions._refused import refused_as
from lazynp.primitives import elementwise
from lazynp.primitives.elementwise_factory import ROWS, loop_dtypes


@by_numpy(np.clip)
@refused_as(np.clip)
def clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Any = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
    **kwargs: Any,
) -> Any:
    """See `numpy.clip`."""
    if a_min is NO_VALUE and a_max is NO_VALUE:
        a_min = None if min is NO_VALUE else min
        a_max = None if max is NO_VALUE else max
    elif a_min is NO_VALUE:
        raise TypeError("clip() missing 1 required positional argument: 'a_min'")
    elif a_max is NO_VALUE:
        raise TypeError("clip() missing 1 required positional argument: 'a_max'")
    elif min is not NO_VALUE or max is not NO_VALUE:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    return clipped(numpys(as_array(a)), a_min, a_max, out, **kwargs)


def clipped(x: Array, low: Any = None, high: Any = None, out: Any = None, **options: Any) -> Any:
    """Apply the bounds one by one, as the method of arrays does; None: no bound."""
    if x.dtype.kind in "iu":  # Python ints beyond the dtype's range have no effect
        if type(low) is int and low <= np.iinfo(x.dtype).min:
            low = None
        if type(high) is int and high >= np.iinfo(x.dtype).max:
            high = None
    if out is None and overridden(low, high):
        return by_numpys(np.clip, (x, low, high), options)
    if out is None and needs_host(x) and low is not None and high is not None:
        return host_call(np.clip, x, low, high, **options)
    if out is not None:
        options = {**options, "out": out}
    if low is None and high is None:
        return ufuncs.positive(x, **options)
    if low is None:
        return ufuncs.minimum(x, high, **options)
    if high is None:
        return ufuncs.maximum(x, low, **options)
    if not options:
        bounds = [b if type(b) in SCALAR_DTYPES else as_array(b) for b in (low, high)]
        arrays = [b for b in bounds if isinstance(b, Array)]
        if not needs_host(x, *arrays):
            if not any([b.ndim for b in arrays]):
                return scalar_if_0d(apply(elementwise.clip, x, *bounds))
            # of two zeros, NumPy takes the array's; a bound's dtype is one of all three
            given = [
                aval_of_node(b._read()) if isinstance(b, Array) else type(b) for b in (x, *bounds)
            ]
            x = cast(x, loop_dtypes(ROWS["clip"].ufunc, given)[0])
    elif x.dtype.kind in "fc" and not needs_host(x) and options.get("dtype") is None:
        # of two equal numbers, which may have other zeros, `clip` takes another one
        return ufuncs.positive(clipped(x, low, high), **options)
    loop = {k: options[k] for k in ("dtype", "casting") if options.get(k) is not None}
    return ufuncs.minimum(ufuncs.maximum(x, low, **loop), high, **options)


@by_numpy(np.round)
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """See `numpy.round`."""
    x, decimals = as_array(a), operator.index(decimals)
    if not -(1 << 31) <= decimals < 1 << 31:
        np.round(np.empty(0), decimals)  # raises
    if needs_host(x):
        return host_into(np.round, x, decimals, out=out)
    if out is not None and getattr(out, "size", x.size) != x.size:
        raise ValueError("invalid output shape")
    if x.dtype.kind == "c":
        parts = (_rounded(part(x), decimals) for part in (elementwise.real, elementwise.imag))
        result = elementwise.complex_(*parts)
    elif x.dtype.kind in "iu" and decimals >= 0:
        result = in_order(new_array(x._read()), copied_order(x))
    elif x.dtype.kind == "b" and decimals:
        np.round(np.empty(0, bool), decimals)  # raises
        raise AssertionError
    else:
        result = _rounded(x, decimals)
    return numpys(scalar_if_0d(result)) if out is None else ufuncs.positive(result, out=out)


def _rounded(x: Array, decimals: int) -> Array:
    """NumPy's algorithm: scale by a power of ten, round to even, scale back."""
    if decimals == 0:
        return apply(elementwise.rint, x)
    power = 10.0 ** builtins.abs(decimals) if builtins.abs(decimals) < 309 else math.inf
    scale, back = elementwise.multiply, elementwise.divide
    if decimals < 0:
        scale, back = back, scale
    wide = apply(scale, x, power)
    return cast(apply(back, apply(elementwise.rint, wide), power), x.dtype)


around = round
