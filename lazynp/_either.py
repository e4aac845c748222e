"""Copies where NumPy would make a view for some sizes and not for others.

View or copy is settled for large sizes: of an axis n, `y[::2].ravel()` is a copy. It is a view for
n = 1 and 2, so a write to it shows in `y` there. For such a copy, `noted` makes the program raise
an error where the array is used after a write to its copy. Whatever only reads is right for all
sizes.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._extents import Numbers, mapped, sizes_in
from lazynp._positions import position
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._sizes import Atom, sized
from lazynp._steps import with_numbers
from lazynp._strides import owner_layout

NDArray = np.ndarray[Any, Any]
Values = Callable[[Any], int]
IsView = Callable[[NDArray, Values], Any]
_SMALL, _LARGE = (1, 2, 3), 1009


def noted(source: Array, copy: Array, is_view: IsView) -> Array:
    """The copy. is_view: whether NumPy would make a view of an array with this layout, where
    sizes have these values; or it raises a ValueError.
    """
    recorder = local.recorder
    if isinstance(recorder, StagingRecorder) and _may_be_view(source, is_view):
        owner, where = source._owner(), position(*user_position())

        def error() -> BaseException:
            return TypeError(
                f"an array of unknown size is used after a write to what was made of it at {where}:"
                " that is a copy, or for some sizes a view of it, as in NumPy. Write to a copy "
                "(y.ravel().copy(), np.array(y)), or to the array itself"
            )

        pairs = recorder.picked.setdefault(id(copy), [])
        pairs.append((weakref.ref(copy), weakref.ref(owner), error))
    return copy


def _may_be_view(source: Array, is_view: IsView) -> bool:
    if not (sized(source.aval.shape) or sized(source._owner().aval.shape)):
        return False
    atoms = {a for s in sizes_in(_shapes(source)) for a in s.variables()}
    for values in _numbers(sorted(atoms, key=lambda a: a.order)):
        try:
            numbers = Numbers(values.__getitem__).__getitem__
            dummy = _layout(source, numbers)
            if dummy.size and is_view(dummy, numbers):
                return True
        except (IndexError, KeyError, TypeError, ValueError):  # no array has such sizes
            continue
    return False


def _shapes(source: Array) -> tuple[Any, ...]:
    steps = () if source._base is None else source._path
    found = [x for step in steps for x in _of_step(step)]
    return (source._owner().aval.shape, source.aval.shape, *found)


def _of_step(step: Any) -> Iterator[Any]:
    index = getattr(getattr(step, "meaning", step), "index", ())
    for item in index:
        yield (item.start, item.stop) if type(item) is slice else item
    yield getattr(step, "shape", ())


def _numbers(atoms: list[Atom]) -> Iterator[dict[Atom, int]]:
    """Small numbers for the sizes: all combinations for two, else few of them."""
    if len(atoms) <= 2:
        for values in itertools.product((*_SMALL, _LARGE), repeat=len(atoms)):
            yield dict(zip(atoms, values, strict=True))
        return
    for small in _SMALL:
        yield dict.fromkeys(atoms, small)
        for atom in atoms:
            yield dict.fromkeys(atoms, _LARGE) | {atom: small}
            yield dict.fromkeys(atoms, small) | {atom: _LARGE}


def _layout(source: Array, values: Values) -> NDArray:
    """The layout of an array whose sizes have these values."""
    owner = source._owner()
    dummy = owner_layout(mapped(owner.aval.shape, values), owner.aval.dtype, owner._order)
    for step in () if source._base is None else source._path:
        dummy = with_numbers(step, values).layout(dummy)
    return dummy
