"""convert: `astype` between any dtypes of the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._cost import MEMORY_BOUND
from lazynp._primitive import Primitive
from lazynp.primitives.elementwise_emit import (
    BOOL,
    F2,
    F4,
    is_,
    like,
    parts,
    to_float,
)
from lazynp.primitives.elementwise_factory import enter, linear

Dtype = np.dtype[Any]
I4, I8 = np.dtype("i4"), np.dtype("i8")


def real_dtype(dtype: Dtype) -> Dtype:
    """The dtype of the real part."""
    return np.dtype(f"{dtype.byteorder}f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


# -- convert ---------------------------------------------------------------------------------------


def _in_range(b: Any, x: Any, dtype: Dtype) -> Any:
    """Signed 32 or 64 bits as cvttsd2si returns: the smallest integer for everything that does not
    fit.
    """
    # saturates, so values that are too small are correct; nan does not compare less
    y = b.convert(x, dtype)
    fits = is_(b, x, "LT", 2.0 ** (8 * dtype.itemsize - 1))
    return b.select(fits, y, like(b, np.iinfo(dtype).min, y))


def _float_to_int(b: Any, x: Any, dtype: Dtype) -> Any:
    """Convert as C code on x86-64 does; NumPy documents this as undefined, but all users see it.

    Narrow integers are truncated from 32 bits, uint32 from 64 bits. (Beyond 64 bits, and for nan,
    NumPy's contiguous and scalar loops differ there; this is the scalar loop.)
    """
    if x.aval.dtype == F2:
        x = b.convert(x, F4)
    if dtype.itemsize < 4:
        return b.convert(_in_range(b, x, I4), dtype)
    if dtype == np.dtype("u8"):
        half = 2.0**63
        large = is_(b, x, "GE", half)
        shifted = b.binary("stablehlo.subtract", x, like(b, half, x))
        low = b.convert(_in_range(b, b.select(large, shifted, x), I8), dtype)
        flip = b.select(large, like(b, 1 << 63, low), like(b, 0, low))
        return b.binary("stablehlo.xor", low, flip)
    if dtype.kind == "u":
        return b.convert(_in_range(b, x, I8), dtype)
    return _in_range(b, x, dtype)


def cast(b: Any, x: Any, dtype: Dtype) -> Any:
    """Emit `x.astype(dtype)`."""
    source = x.aval.dtype
    if source == dtype:
        return x
    if source.kind == "c" and dtype.kind == "c":
        return b.convert(x, dtype)
    if source.kind == "c":
        re, im = parts(b, x)
        if dtype == BOOL:
            return b.or_(is_(b, re, "NE", 0.0), is_(b, im, "NE", 0.0))
        return cast(b, re, dtype)
    if dtype.kind == "c":
        re = cast(b, x, real_dtype(dtype))
        return b.complex(re, b.hidden(like(b, 0.0, re)))  # XLA drops additions of 0
    if dtype == BOOL:
        return is_(b, x, "NE", 0)
    if source.kind == "f":
        return to_float(b, x, dtype) if dtype.kind == "f" else _float_to_int(b, x, dtype)
    if source == BOOL and dtype.kind == "f":
        # XLA turns a product with a converted bool into a select, although inf * 0 is nan and -1 *
        # 0 is -0; it does not recognise this form
        return b.select(x, b.constant(1, dtype, x.aval.shape), b.constant(0, dtype, x.aval.shape))
    if dtype == F2 and source.itemsize > 2:
        return to_float(b, b.convert(x, F4), F2)  # NumPy rounds twice
    return b.convert(x, dtype)


def _convert_abstract(x: Aval, *, dtype: Dtype, weak: bool = False) -> Aval:
    return aval_of(x.shape, dtype, weak)


def _convert_reference(x: Any, *, dtype: Dtype, weak: bool = False) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind in "iuf":
        x = x.real  # without ComplexWarning, which was decided above
    return x.astype(dtype)


def _convert_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dtype: Dtype, **weak: bool
) -> Any:
    (x,), (g,) = primals, tangents
    out = convert(x, dtype=dtype, **weak)
    if g is None or dtype.kind not in "fc":
        return out, None
    return out, convert(g, dtype=dtype, **weak)


def _convert_batch(size: int, batched: Any, x: Any, *, dtype: Dtype, weak: bool = False) -> Any:
    return convert(x, dtype=dtype)


convert = enter(
    Primitive(
        name="convert",
        abstract=_convert_abstract,
        reference=_convert_reference,
        lower=lambda b, x, *, dtype, weak=False: cast(b, x, dtype),
        jvp=_convert_jvp,
        transpose=linear(lambda ct, x, dtype, weak=False: convert(ct, dtype=x.aval.dtype)),
        batch=_convert_batch,
        kind="elementwise",
        cost=MEMORY_BOUND,
    )
)
