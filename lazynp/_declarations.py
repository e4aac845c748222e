"""The members of `Array`, declared for type checkers. `_methods` attaches the functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Results are Any: the shape decides between Array and Scalar, and no annotation can express that.


class Declarations(np.ndarray[Any, np.dtype[Any]]):
    """The operators, methods and attributes of `numpy.ndarray`."""

    __hash__: Any

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __iadd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __isub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __imul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __itruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __ifloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __imod__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __rpow__(self, other: Any, /) -> Any: ...
    def __ipow__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __iand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __ior__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __ixor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __ilshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __irshift__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __imatmul__(self, other: Any, /) -> Any: ...
    def __divmod__(self, other: Any, /) -> Any: ...
    def __rdivmod__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...  # pyright: ignore[reportIncompatibleMethodOverride]
    def __ne__(self, other: Any, /) -> Any: ...  # pyright: ignore[reportIncompatibleMethodOverride]
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, item: Any, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def all(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """See `numpy.ndarray.all`."""

    def any(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """See `numpy.ndarray.any`."""

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.ndarray.argmax`."""

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.ndarray.argmin`."""

    def argpartition(
        self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """See `numpy.ndarray.argpartition`."""

    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
        descending: Any = ...,
    ) -> Any:  # fmt: skip
        """See `numpy.ndarray.argsort`."""

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """See `numpy.ndarray.astype`."""

    def byteswap(self, inplace: bool = False) -> Any:
        """See `numpy.ndarray.byteswap`."""

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """See `numpy.ndarray.choose`."""

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """See `numpy.ndarray.clip`."""

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """See `numpy.ndarray.compress`."""

    def conj(self) -> Any:
        """See `numpy.ndarray.conj`."""

    def conjugate(self) -> Any:
        """See `numpy.ndarray.conjugate`."""

    def copy(self, order: str = "C") -> Any:
        """See `numpy.ndarray.copy`."""

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """See `numpy.ndarray.cumprod`."""

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """See `numpy.ndarray.cumsum`."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """See `numpy.ndarray.diagonal`."""

    def dot(self, b: Any, out: Any = None) -> Any:
        """See `numpy.ndarray.dot`."""

    def fill(self, value: Any) -> None:
        """See `numpy.ndarray.fill`."""

    def flatten(self, order: str = "C") -> Any:
        """See `numpy.ndarray.flatten`."""

    def item(self, *args: Any) -> Any:
        """See `numpy.ndarray.item`."""

    def max(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> Any:
        """See `numpy.ndarray.max`."""

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Any:
        """See `numpy.ndarray.mean`."""

    def min(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> Any:
        """See `numpy.ndarray.min`."""

    def nonzero(self) -> tuple[Any, ...]:
        """See `numpy.ndarray.nonzero`."""
        raise NotImplementedError

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """See `numpy.ndarray.partition`."""

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> Any:
        """See `numpy.ndarray.prod`."""

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """See `numpy.ndarray.put`."""

    def ravel(self, order: str = "C") -> Any:
        """See `numpy.ndarray.ravel`."""

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """See `numpy.ndarray.repeat`."""

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """See `numpy.ndarray.reshape`."""

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """See `numpy.ndarray.resize`."""

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """See `numpy.ndarray.round`."""

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """See `numpy.ndarray.searchsorted`."""

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """See `numpy.ndarray.setflags`."""

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
        descending: Any = ...,
    ) -> None:  # fmt: skip
        """See `numpy.ndarray.sort`."""

    def squeeze(self, axis: Any = None) -> Any:
        """See `numpy.ndarray.squeeze`."""

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = ...,
    ) -> Any:
        """See `numpy.ndarray.std`."""

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
    ) -> Any:
        """See `numpy.ndarray.sum`."""

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """See `numpy.ndarray.swapaxes`."""

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """See `numpy.ndarray.take`."""

    def tobytes(self, order: Any = "C") -> bytes:
        """See `numpy.ndarray.tobytes`."""
        raise NotImplementedError

    def tolist(self) -> Any:
        """See `numpy.ndarray.tolist`."""

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """See `numpy.ndarray.trace`."""

    def transpose(self, *axes: Any) -> Any:
        """See `numpy.ndarray.transpose`."""

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = ...,
    ) -> Any:
        """See `numpy.ndarray.var`."""

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """See `array_api.array.to_device`."""

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """See `numpy.ndarray.view`."""

    @property
    def T(self) -> Any:
        """See `numpy.ndarray.T`."""

    @property
    def at(self) -> Any:
        """`x.at[i].set(v)`, `add`, `multiply`, ...: a new array, as JAX has it."""

    @property
    def mT(self) -> Any:
        """See `numpy.ndarray.mT`."""

    @property
    def base(self) -> Any:
        """See `numpy.ndarray.base`."""

    def devices(self) -> Any:
        """The set of devices on which the array lies."""

    @property
    def device(self) -> Any:
        """The device; the sharding, if there are several. Equal to its name, as NumPy's."""

    @property
    def addressable_shards(self) -> Any:
        """The parts on this process' devices."""

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all its devices belong to this process."""
        raise NotImplementedError

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices has the whole array."""
        raise NotImplementedError

    @property
    def sharding(self) -> Any:
        """How the array lies on its devices."""

    @property
    def flags(self) -> Any:
        """See `numpy.ndarray.flags`."""

    @property
    def flat(self) -> Any:
        """See `numpy.ndarray.flat`."""

    @property
    def imag(self) -> Any:
        """See `numpy.ndarray.imag`."""

    @property
    def itemsize(self) -> int:
        """See `numpy.ndarray.itemsize`."""
        raise NotImplementedError

    @property
    def jaxpr(self) -> Any:
        """The program that computes the array, or what is pending of it."""

    @property
    def nbytes(self) -> int:
        """See `numpy.ndarray.nbytes`."""
        raise NotImplementedError

    @property
    def real(self) -> Any:
        """See `numpy.ndarray.real`."""

    @property
    def strides(self) -> tuple[int, ...]:
        """See `numpy.ndarray.strides`."""
        raise NotImplementedError
