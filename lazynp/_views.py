"""Views: made along one more step, of what is there or of what is pending."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from lazynp._array import VIEWED, Array, NDArray as Ours, new_array, new_view
from lazynp._avals import Aval, Shape, on_device
from lazynp._either import noted, settled
from lazynp._extents import mapped
from lazynp._fronts import BUILT, in_front
from lazynp._memo import Memo
from lazynp._node import AVAL, OP, VALUE, Node, leaf
from lazynp._recorder import local, staged
from lazynp._steps import (
    Bitcast,
    Broadcast,
    Diagonal,
    Imag,
    NDArray,
    Real,
    Reshape,
    Step,
    Transpose,
)
from lazynp._strides import layout, writeable
from lazynp._tracebacks import show_users

F = TypeVar("F", bound=Callable[..., Any])
_READONLY = {"readonly": True}


def shown(
    array: Array,
    look: Callable[[NDArray], NDArray],
    kind: Callable[[Any], Step],
    *,
    plain: bool = False,
) -> Any:
    """The view that NumPy makes of an available value; None if the view has to be recorded.

    kind: makes the step from NumPy's view. plain: whether it is a view in any memory order; the
    memory may be in another order than the array reports.
    """
    if type(array) is not Ours or not plain and array._order is not None:
        return None
    return local.recorder.backend.attempt(_shown, array, look, kind)


def _shown(
    array: Array, look: Callable[[NDArray], NDArray], kind: Callable[[Any], Step]
) -> Array | None:
    node = array._node if array._base is None and not staged else array._read()
    value = node[VALUE]
    if type(value) is not np.ndarray or not on_device(value.dtype):
        return None
    base = array._base
    if base is not None:
        memory = base._node[VALUE]  # a value written through a view may be a separate array
        if type(memory) is not np.ndarray or value.base is None:
            return None
        if value.base is not memory and value.base is not memory.base:
            return None
    try:
        value = look(value)
    except (ValueError, TypeError):  # a copy, or an error that another function reports
        return None
    # a large view belongs to the program that reads it
    if type(value) is not np.ndarray or value.nbytes > local.recorder.policy.largest:
        return None
    path = (kind(value),)
    if base is None:
        base = array
    else:
        path = (*array._path, *path)
    order = True if path[-1].turns or array._order is not None else None
    made = new_view(base, path, leaf(value), order)
    if base._seen is VIEWED:
        made._node, made._seen = [None, None, None, None, made._node[AVAL]], None
    if not writeable(array):
        made._flags = {"readonly": array._flags["readonly"]}  # type: ignore[index]
    return made


def view(array: Array, step: Step, *, readonly: bool | str = False) -> Array:
    """A view of the array by one more step, with the same owner. readonly: as in `Array._flags`."""
    if array._base is not None:
        path = array._short_path()
        both = path[0].then(step) if path[0].joins and len(path) == 1 else None
        if both is not None:  # the rest of the array need not be looked at
            made = view(array._base, both, readonly=readonly)
            if not readonly and not writeable(array):
                made._flags = {"readonly": array._flags["readonly"]}  # type: ignore[index]
            return made
    made = shown(array, step.layout, lambda _: step, plain=step.plain)
    if made is not None:
        if readonly:
            made._flags = {"readonly": readonly}
        return made
    node = array._read()
    laid = step.plain or array._order is None
    node = (laid and _laid_out(node, step)) or step.get(node)
    order = True if step.turns or array._order is not None else None
    if array._base is None:
        made = new_view(array, (step,), node, order)
    else:
        made = new_view(array._base, (*array._path, step), node, order)
    if readonly or not writeable(array):
        made._flags = {"readonly": readonly or array._flags["readonly"]}  # type: ignore[index]
    return made


_REPEATS = 1 << 20  # more of one number are recorded: NumPy would need memory for them


def _laid_out(node: Node, step: Step) -> Node | None:
    """Take the step by NumPy, in the memory of an available value."""
    value = local.recorder.backend.value(node)
    if type(step) is Broadcast and isinstance(value, np.generic):
        if math.prod(step.shape) > _REPEATS:
            return None
        value = np.asarray(value)  # its memory may be another's: nobody writes the view
    if type(value) is not np.ndarray:
        return None
    try:
        return leaf(step.layout(value))
    except ValueError:  # a copy, in NumPy as here
        return None


# -- views that were made before -------------------------------------------------------------------


def showing(
    function: F, *, contiguous: bool = False, copies: bool = False, kin: bool = False,
    named: bool = False,
) -> F:  # fmt: skip
    """A function that shows an array in another form, which its other arguments determine: ints,
    tuples of ints, None, or dtypes. C repeats what the function did for arguments of the same kind.

    contiguous: it makes a view only of elements in C order. copies: it is a reshape, which copies
    where no view has the new shape. kin: it takes arrays of derived classes as plain ones. named:
    it takes names of dtypes.
    """
    entries: Memo[Any, Any] = Memo("views")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            out = function(*args, **kwargs)
        except Exception as error:
            show_users(error)
            raise
        if not BUILT or kwargs or not args:
            return out
        if type(args[0]) is Ours or kin and isinstance(args[0], Array):
            if not named and str in map(type, args):  # of a memory order, perhaps
                return out
            made = type(out) is Ours and out._base is None and out is not args[0]
            if made and not copies:  # `diag` of a row: C shows nothing of that kind
                return out
            learn = _learn_copy if made else _learn
            local.recorder.backend.attempt(learn, entries, args[0], args[1:], out)
        return out

    return in_front(
        "shown", call, entries=entries, contiguous=contiguous, kin=kin,
        named=named,
    )  # fmt: skip


def _learn_copy(entries: Memo[Any, Any], array: Array, rest: tuple[Any, ...], out: Any) -> None:
    """Note a copy as the step that a view would take: which of both it is, C finds out."""
    aval, made = _aval(array), _aval(out)
    if _is_known_by(aval, array, rest) and type(made) is Aval and made.shape:
        step = Reshape(made.shape)
        entries.put((aval, *rest), (step, made, _dims(step), False, False, None, (step,)))


def _aval(array: Array) -> Any:
    node = array._read()
    return node[AVAL] if node[OP] is None else node[OP].aval


_KNOWN = frozenset({tuple, int, type(None), type, str})


def _is_known_by(aval: Any, array: Array, rest: tuple[Any, ...]) -> bool:
    """Whether an array's aval and the other arguments tell how it is shown."""
    if staged or array._flags is not None or type(aval) is not Aval or not aval.device:
        return False
    for x in rest:
        if type(x) not in _KNOWN and not isinstance(x, np.dtype):
            return False
        if type(x) is tuple and any([type(n) is not int for n in x]):
            return False
    return True


def _learn(entries: Memo[Any, Any], array: Array, rest: tuple[Any, ...], out: Any) -> None:
    aval = _aval(array)
    if not _is_known_by(aval, array, rest):
        return
    if out is array:
        entries.put((aval, *rest), None)
    elif type(out) is Ours and out._flags in (None, _READONLY) and out._base is array._owner():
        before = () if array._base is None else array._path
        made = out._node[AVAL] if out._node[OP] is None else out._node[OP].aval
        if out._path[:-1] == before and type(made) is Aval:
            step = out._path[-1]
            how = bool(step.plain), bool(step.turns), out._flags, (step,)
            entries.put((aval, *rest), (step, made, _dims(step), *how))


_OTHERS: dict[type, Callable[[Any], Any]] = {
    Real: lambda step: "real",
    Imag: lambda step: "imag",
    Bitcast: lambda step: step.dtype,
    Diagonal: lambda step: step.offset,
}


def _dims(step: Any) -> Any:
    """What a step that C takes is made of, an attribute of NumPy's array, or a function in C."""
    make = _OTHERS.get(type(step))
    if make is not None:
        return make(step)
    if type(step) is Transpose:
        return step.permutation
    if type(step) is Reshape:
        return step.shape if len(step.shape) != 1 else (-1,)  # see `Reshape.layout`
    return None


def same(array: Array) -> Array:
    """A plain view of all of the array."""
    return view(array, Reshape(array.shape))


same = showing(same, kin=True)


def transpose(array: Array, permutation: Sequence[int]) -> Array:
    return view(array, Transpose(tuple(permutation)))


def turned(array: Array) -> Array:
    """`array.T`."""
    made = shown(array, _turned, _turning, plain=True)
    return transpose(array, range(array.ndim)[::-1]) if made is None else made


turned = showing(turned)


def _turned(value: NDArray) -> NDArray:
    return value.T


def _turning(view: NDArray) -> Transpose:
    return Transpose(tuple(range(view.ndim))[::-1])


def _is_reshaped(dummy: NDArray, shape: Shape) -> bool:
    """Whether it has a view of that shape; or a ValueError."""
    return dummy.reshape(shape, copy=False).size > 0


def reshape(array: Array, shape: Shape) -> Array:
    """Reshape in C order: a view if NumPy's is one, else a copy. The sizes must agree."""
    step = Reshape(shape)
    if array._base is None and array._order is None:
        return view(array, step)

    def is_view(dummy: NDArray, numbers: Any) -> bool:
        return _is_reshaped(dummy, mapped(shape, numbers))

    try:
        step.layout(layout(array))
        found = True
    except ValueError:
        found = False
    if settled(array, found, is_view):
        return view(array, step)
    return noted(array, new_array(step.get(array._read())), is_view)
