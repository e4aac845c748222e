"""Abstract values: what is known of an array before it is computed.

An `Aval` is a shape and a dtype, and whether the dtype is weak (that of a Python scalar traced by
`jit` is). Avals are interned: equal avals are the same object. So they compare by identity, and
serve as keys of every memo table on the recording path.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynp._memo import Interned
from lazynp._sizes import newest, sized

Shape = tuple[int, ...]  # or a `Size` in place of an int: see `SizedAval`


class Aval:
    """The shape and dtype of an array. Make one with `aval_of`, never directly."""

    __slots__ = (
        "shape", "dtype", "ndim", "size", "nbytes", "weak", "get_memo", "set_memo", "device",
        "parts", "traced",
    )  # fmt: skip

    shape: Shape
    dtype: np.dtype[Any]
    ndim: int
    size: int
    nbytes: int
    weak: bool
    get_memo: dict[Any, Any]  # index -> recorded op, see _views
    set_memo: dict[Any, Any]
    parts: dict[Shape, Aval]  # of this dtype: the slices seen so far
    device: bool  # whether a compiled program can contain such arrays; False for a tracer's aval
    traced: TracedAval | None  # the aval that tracers of this type carry

    @property
    def plain(self) -> Aval:
        """The aval itself; for a tracer's aval, the interned one."""
        return self  # no attribute, which would keep it alive

    def __repr__(self) -> str:
        return short_name(self.dtype) + "[" + ",".join(map(str, self.shape)) + "]"

    def __reduce__(self) -> tuple[Any, ...]:
        return aval_of, (self.shape, self.dtype, self.weak)


def _forget_of(aval: Aval) -> None:
    """Drop what an aval remembers: it refers to other avals, and back."""
    for memo in (aval.get_memo, aval.set_memo, aval.parts):
        memo.clear()
    aval.traced = None


interned: Interned[tuple[Shape, np.dtype[Any], bool], Aval] = Interned(
    "avals", 1 << 15, before=_forget_of
)


def forget_stores() -> None:
    """Drop what is remembered of stores: those that cast may raise floating-point errors."""
    for aval in list(interned.table.values()):
        aval.set_memo.clear()


def aval_of(shape: Shape, dtype: Any, weak: bool = False) -> Aval:
    """The unique `Aval` of this shape (a tuple of ints) and dtype."""
    try:
        aval = interned.table[shape, dtype, weak]
        if aval.device or aval.dtype is dtype or _has_no_parts(dtype):
            return aval
    except KeyError:
        pass
    if type(shape) is tuple and isinstance(dtype, np.dtype) and {*map(type, shape)} <= _PLAIN:
        same = _CANONICAL.get(dtype)
        if same is not None:  # most avals: loops over parts of an array make thousands
            return interned.put((shape, same, weak), _new_aval(shape, same, weak))
    if sized(shape):
        return _sized_aval(shape, np.dtype(dtype), weak)
    shape, dtype = tuple(int(d) for d in shape), np.dtype(dtype)
    key: Any = shape, dtype, weak
    if on_device(dtype):
        dtype = _CANONICAL[dtype]
    elif notes := metadata_of(dtype):  # NumPy does not compare what libraries note in a dtype
        key = shape, dtype, (weak, notes)
    aval = interned.table.get(key)
    return interned.put(key, _new_aval(shape, dtype, weak)) if aval is None else aval


_PLAIN = frozenset({int})


def _has_no_parts(dtype: Any) -> bool:
    """Whether dtypes equal to this one are alike. (NumPy makes one for each array of text.)"""
    return isinstance(dtype, np.dtype) and dtype.char in "SUOMm" and dtype.metadata is None


def _new_aval(shape: Shape, dtype: np.dtype[Any], weak: bool) -> Aval:
    aval = Aval()
    aval.shape, aval.dtype, aval.weak = shape, dtype, weak
    aval.ndim, aval.size = len(shape), math.prod(shape)
    aval.nbytes = aval.size * dtype.itemsize
    aval.get_memo, aval.set_memo, aval.parts = {}, {}, {}
    aval.device = on_device(dtype)
    aval.traced = None
    return aval


def metadata_of(dtype: np.dtype[Any]) -> str:
    """The metadata of a dtype and of its fields, as text."""
    noted = repr(dict(dtype.metadata)) if dtype.metadata else ""
    if dtype.subdtype is not None:
        noted += metadata_of(dtype.subdtype[0])
    for field in dtype.fields.values() if dtype.fields is not None else ():
        noted += ";" + metadata_of(field[0])
    return noted if noted.strip(";") else ""


class _Forgetful(dict[Any, Any]):
    """A memo table that stores nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


_FORGETFUL = _Forgetful()


class TracedAval(Aval):
    """The aval of a tracer's node. It is in no memo table.

    So every lookup misses, and the code for a miss discovers that a transformation interprets this
    operation.
    """

    __slots__ = ("_interned",)

    def __init__(self, plain: Aval) -> None:
        self.shape, self.dtype, self.weak = plain.shape, plain.dtype, plain.weak
        self.ndim, self.size, self.nbytes = plain.ndim, plain.size, plain.nbytes
        self.get_memo = self.set_memo = _FORGETFUL
        self.parts = {}
        self.device = False
        self._interned = plain

    @property
    def plain(self) -> Aval:
        return self._interned


class SizedAval(Aval):
    """An aval with sizes in its shape. It lives as long as they, and is in no memo table: no fast
    path meets it.
    """

    __slots__ = ()


def _sized_aval(shape: Shape, dtype: np.dtype[Any], weak: bool) -> SizedAval:
    table = newest(shape).avals
    aval = table.get((shape, dtype, weak))
    if aval is None:
        aval = table[shape, dtype, weak] = SizedAval()
        aval.shape, aval.dtype, aval.weak = tuple(shape), dtype, weak
        aval.ndim, aval.size = len(shape), math.prod(shape)
        aval.nbytes = aval.size * dtype.itemsize
        aval.get_memo = aval.set_memo = _FORGETFUL
        aval.parts = _FORGETFUL
        aval.device = on_device(dtype)
        aval.traced = None
    return aval


def traced_aval(plain: Aval) -> TracedAval:
    if plain.traced is None:
        plain.traced = TracedAval(plain)
    return plain.traced


def short_name(dtype: np.dtype[Any]) -> str:
    """The spelling of a dtype in jaxprs: `f64`, `i32`, `u8`, `c128`, `bool`."""
    if dtype.kind == "b":
        return "bool"
    # 2: defined by another library
    if dtype.kind in "fiuc" and dtype.isbuiltin != 2 and dtype.isnative:
        return f"{dtype.kind}{8 * dtype.itemsize}"
    return dtype.name


# Python scalars are recorded by type. On their own they have NumPy's default dtype.
SCALAR_DTYPES: dict[type, np.dtype[Any]] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}

In = Aval | type  # the key of an operand when recorded: an aval, or the type of a Python scalar


def aval_of_operand(operand: In) -> Aval:
    """The aval of an operand if nothing else determines its dtype."""
    if isinstance(operand, Aval):
        return operand
    return aval_of((), SCALAR_DTYPES[operand])


# dtypes that XLA can hold. All others (object, str, datetime64, structured, longdouble) stay on the
# host.
DEVICE_DTYPES = frozenset(
    np.dtype(t)
    for t in (
        "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    )
)  # fmt: skip

# NumPy's classes of such numbers, `long` and `longlong` apart
NUMBERS = tuple(np.dtype(code).type for code in "?bhilqBHILQefdFD")

# `long` and `longlong` are equal: one for all, not the one that came first
_CANONICAL = {dtype: dtype for dtype in DEVICE_DTYPES}


def on_device(dtype: np.dtype[Any]) -> bool:
    """Whether a compiled program can contain arrays of this dtype."""
    return dtype in DEVICE_DTYPES


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in this machine's byte order. Numbers in the other order stay on the host."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")
