"""NumPy's memory order: strides, contiguity, and the order of results.

Nothing here moves memory: on the device, values lie in C order. These functions answer programs
that ask for strides and flags, and implement `order="K"` and "A". An array's `_order` is None if
its elements lie in C order. Otherwise an owner's `_order` lists the axes from the slowest to the
fastest, and a view's is True, because its path and its owner determine it.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from lazynp._array import Array, NDArray as Ours, new_array
from lazynp._avals import Aval, Shape, aval_of
from lazynp._extents import mapped, stand_in
from lazynp._fronts import strided
from lazynp._memo import cached
from lazynp._node import VALUE, Node
from lazynp._sizes import sized

NDArray = np.ndarray[Any, Any]
WARNS = "warns"  # an array's "readonly" flag, if its first write gives a warning
_OVERLAPPING = (
    "Numpy has detected that you (may be) writing to an array with\n"
    "overlapping memory from np.broadcast_arrays. If this is intentional\n"
    "set the WRITEABLE flag True or make a copy immediately before writing."
)

Order = tuple[int, ...]  # axes from the slowest to the fastest


def writeable(array: Array) -> bool:
    return array._flags is None or not array._flags.get("readonly", False)


# what makes a view that repeats elements writeable; `functions/_strided` appends it
sharing: list[Callable[[Array], None]] = []


def may_write(array: Array) -> bool:
    """Whether a store may go on. What `broadcast_arrays` made becomes writeable, with NumPy's
    warning. An array that NumPy could write may have an error of its own.
    """
    if writeable(array):
        return True
    assert array._flags is not None
    why = array._flags["readonly"]
    if callable(why):
        raise cast(BaseException, why())
    if why != WARNS:
        return False
    warnings.warn(_OVERLAPPING, DeprecationWarning, stacklevel=3)
    for share in sharing:
        share(array)
    array._flags = {**array._flags, "readonly": False}
    return True


def layout(array: Array) -> NDArray:
    """A NumPy array with this array's shape, strides and flags, over one element of memory.

    Use only its attributes; never read its elements.
    """
    return layouts(array)[0]


def layouts(*arrays: Array) -> list[NDArray]:
    """Layouts in one imaginary memory: views of one owner overlap as they do in NumPy."""
    owners: dict[int, NDArray] = {}
    found = []
    for array in arrays:
        owner = array._owner()
        dummy = owners.get(id(owner))
        if dummy is None:
            aval = owner.aval
            dtype = aval.dtype if aval.dtype.names is None else owner.dtype
            alone = len(arrays) == 1 and dtype.isbuiltin == 1 and not sized(aval.shape)
            dummy = (_shared_layout if alone else owner_layout)(aval.shape, dtype, owner._order)
            owners[id(owner)] = dummy
        for step in () if array._base is None else array._path:
            dummy = step.layout(dummy)
        if not writeable(array):
            dummy = dummy.view()
            dummy.flags.writeable = False
        found.append(dummy)
    return found


def are_same(x: Array, y: Any) -> bool:
    """Whether both show the same elements of one memory: NumPy does not copy one to the other, and
    does not ask whether it could.
    """
    if not isinstance(y, Array) or x.aval is not y.aval or x._owner() is not y._owner():
        return False
    places = [(v.strides, v.__array_interface__["data"][0]) for v in layouts(x, y)]
    return places[0] == places[1]


_WORK = 10_000  # candidates that a search for common elements looks at


def are_apart(x: Array, y: Array) -> bool:
    """Whether two views of one owner are known to have no element in common."""
    steps = [s for a in (x, y) if a._base is not None for s in a._path]
    unknown: list[Any] = [n for s in steps for n in getattr(s, "starts", ()) if type(n) is list]
    shapes = [a.aval.shape for a in (x, y, x._owner())]
    mapped((*shapes, *[getattr(s, "index", ()) for s in steps]), unknown.append)
    if unknown:
        return False
    try:
        return not np.shares_memory(*layouts(x, y), max_work=_WORK)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return False


def owner_layout(shape: Shape, dtype: np.dtype[Any], order: Any) -> NDArray:
    """The layout of an owner of this shape. order: its `_order`."""
    aval = aval_of(stand_in(shape) if sized(shape) else shape, dtype)
    # empty: strides that depend on the version of NumPy; "T": `as_strided` cannot name the dtype
    if not aval.size or aval.dtype.char == "T":
        if order is None:
            return np.empty(aval.shape, aval.dtype)
        memory = np.empty([aval.shape[i] for i in order], aval.dtype)
        return memory.transpose(np.argsort(order))
    memory = np.zeros(1, aval.dtype)
    strides = _strides(aval.shape, aval.dtype.itemsize, order)
    return strided(memory, aval.shape, strides)


_shared_layout = cached()(owner_layout)  # of one array: nothing tells it from another's


@cached()
def _strides(shape: Shape, itemsize: int, order: Order | None) -> Shape:
    """NumPy's strides of a new array, in bytes."""
    step, strides = itemsize, [0] * len(shape)
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def strides_of(array: Array) -> Shape:
    """`layout(array).strides`, without asking NumPy if possible."""
    aval: Aval = array.aval
    if sized(aval.shape):
        return layout(array).strides
    if aval.size and aval.dtype.char != "T":
        if array._base is None:
            return _strides(aval.shape, aval.dtype.itemsize, array._order)
        turned = getattr(array._path[0], "permutation", None)
        if turned is not None and len(array._path) == 1:
            owner = array._owner()
            strides = _strides(owner.shape, aval.dtype.itemsize, owner._order)
            return tuple([strides[i] for i in turned])
    return layout(array).strides


# -- the order of results --------------------------------------------------------------------------


def fortran_order(ndim: int) -> Order | None:
    return tuple(reversed(range(ndim))) if ndim > 1 else None


def copied_order(array: Array) -> Order | None:
    """The order of `array.copy(order="K")`."""
    if array._order is None:
        return None
    aval = array.aval
    if sized(aval.shape) or not aval.size or aval.dtype.char == "T":
        return order_of_strides(layout(array))
    return _order_in(aval.shape, strides_of(array), aval.dtype.itemsize)


@cached()
def _order_in(shape: Shape, strides: Shape, itemsize: int) -> Order | None:
    memory = np.zeros(1, f"V{itemsize}")
    return order_of_strides(strided(memory, shape, strides))


def order_of_strides(value: NDArray) -> Order | None:
    """The order of a new NumPy array: the axes by decreasing stride."""
    if value.flags.c_contiguous:
        return None
    if value.flags.f_contiguous:
        return fortran_order(value.ndim)
    if value.ndim == 1:
        return None
    return named(sorted(range(value.ndim), key=lambda i: -abs(value.strides[i])))


def dense_order(value: NDArray) -> Order | None:
    """The same for an array without gaps; None for others, of which no order says how they lie."""
    order = order_of_strides(value)
    return order if order and value.transpose(order).flags.c_contiguous else None


def named(order: Sequence[int]) -> Order | None:
    """The order, with None for C order."""
    return None if list(order) == list(range(len(order))) else tuple(order)


def common_order(operands: Sequence[Any], shape: Shape) -> Order | None:
    """The order that NumPy gives to the result of an elementwise function of these operands."""
    known = []
    for x in operands:
        if isinstance(x, Array):
            if x.ndim > 1 or x._base is not None:
                known.append((x.shape, strides_of(x)))
        elif type(x) is np.ndarray:
            known.append((x.shape, x.strides))
    return _common_order(stand_in(tuple(known)), stand_in(shape))


def order_of(shape: Shape, strides: Shape) -> Order | None:
    """The order that NumPy gives to a copy of an array with these strides, if its iterator
    copies.
    """
    return _common_order(((shape, strides),), shape)


@cached()
def _common_order(operands: tuple[tuple[Shape, Shape], ...], shape: Shape) -> Order | None:
    """As NumPy's iterator decides: `npyiter_find_best_axis_ordering`."""
    fastest_first = _sorted_in(_spread(operands, len(shape)), range(len(shape))[::-1], operator.le)
    return named(fastest_first[::-1])


def joined_order(arrays: Sequence[Array]) -> Order | None:
    """The order that NumPy gives to joined arrays: `PyArray_CreateMultiSortedStridePerm`."""
    ndim = arrays[0].ndim
    known = [(stand_in(x.shape), strides_of(x)) for x in arrays]
    # a stride of 0, by broadcasting, counts as one here; only axes of one element have none
    spread = [[abs(s) + 1 if n != 1 else 0 for n, s in zip(*both, strict=True)] for both in known]
    return named(_sorted_in(spread, range(ndim), operator.ge))


def _spread(operands: Iterable[tuple[Shape, Shape]], ndim: int) -> list[list[int]]:
    """The stride of each operand along each axis of the result; 0 where it has none."""
    spread = []
    for shape, strides in operands:
        moving = [abs(s) if n != 1 else 0 for n, s in zip(shape, strides)]
        spread.append([0] * (ndim - len(shape)) + moving)
    return spread


def _sorted_in(spread: list[list[int]], axes: Iterable[int], keeps: Any) -> list[int]:
    """Put an axis before those that all operands want it before. Where operands disagree, keep C
    order; an axis with no strides stays.
    """
    found: list[int] = []
    for axis in axes:
        place = len(found)
        for before in reversed(range(len(found))):
            moves = [(s[found[before]], s[axis]) for s in spread if s[axis] and s[found[before]]]
            if moves:
                if any(keeps(*pair) for pair in moves):
                    break
                place = before
        found.insert(place, axis)
    return found


def in_order(result: Any, order: Order | None) -> Any:
    """Mark a new owner as lying in this order."""
    if order is not None and type(result) is Ours and result._base is None:
        result._order = order
    return result


def own_order(array: Array) -> Order | None:
    """The order of a new array that holds this one's elements as it does, without gaps."""
    return array._order if array._base is None else copied_order(array)


def kept_flags(flags: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a new array with an array's properties has of its flags."""
    found = None if flags is None else flags.get("readonly")
    return {"readonly": found} if found in (True, "always") else None


def laid_like(node: Node, order: Order | None, flags: dict[str, Any] | None) -> Array:
    """A new array in this order, with these flags."""
    made = new_array(node)
    made._order, made._flags = order, flags
    return made


def in_common_order(result: Any, *operands: Any) -> Any:
    """Mark the new result of an elementwise function with the order NumPy gives it.

    Call it only if `out_of_order` of the operands.
    """
    if isinstance(result, tuple):
        return tuple([in_common_order(r, *operands) for r in result])
    if type(result) is Ours and result._base is None and len(result.shape) > 1:
        if not any(result is x for x in operands):
            result._order = common_order(operands, result.shape)
    return result


def out_of_order(*operands: Any) -> bool:
    """Whether one of these operands may lie in an order other than C."""
    for x in operands:
        if isinstance(x, Array):
            if x._order is not None:
                return True
        elif type(x) is np.ndarray and x.ndim > 1 and not x.flags.c_contiguous:
            return True
    return False


def reduced_order(array: Array, axes: Sequence[int], keepdims: bool) -> Order | None:
    """The order of a reduction's result: that of the remaining axes."""
    if array._order is None:
        return None
    order = common_order((array,), array.shape) or tuple(range(array.ndim))
    if keepdims:
        return named(order)
    left = [i for i in order if i not in axes]
    places = {axis: k for k, axis in enumerate(sorted(left))}
    return named([places[i] for i in left])


def laid_out(value: NDArray, array: Array) -> NDArray:
    """The value of an array, laid out as NumPy would hold it; a copy if it lies differently."""
    if array._order is None and array._base is not None:
        memory = array._owner()._node[VALUE]
        if type(memory) is not np.ndarray or memory.flags.c_contiguous:
            return value  # a view of memory in C order
    order = copied_order(array)
    if math.prod(value.shape) and order_of_strides(value) != order:
        axes = tuple(range(value.ndim)) if order is None else order
        fresh = np.empty([value.shape[i] for i in axes], value.dtype).transpose(np.argsort(axes))
        fresh[...] = value
        return fresh
    return value
