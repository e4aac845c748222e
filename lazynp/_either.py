"""Copies where NumPy would make a view for some sizes and not for others.

View or copy is settled for large sizes: of an axis n, `y[::2].ravel()` is a copy. It is a view for
n = 1 and 2, so a write to it shows in `y` there, and a write to `y` in it. At such a write the
sizes of the call that is traced tell: where it is a copy, the trace is for calls where it is one;
else there is an error where the other array is used, and `jit` traces for these sizes alone. Where
the call does not tell, the error comes after any such write. Whatever only reads is right for all
sizes.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._dimensions import decide
from lazynp._errors import of_these_sizes
from lazynp._extents import Numbers, mapped, sizes_in, stand_in
from lazynp._positions import position
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._sizes import Atom, sized
from lazynp._steps import with_numbers
from lazynp._strides import owner_layout

NDArray = np.ndarray[Any, Any]
Values = Callable[[Any], int]
IsView = Callable[[NDArray, Values], Any]
_SMALL, _LARGE = (0, 1, 2, 3), 1009
_FEW = 8


def noted(source: Array, copy: Array, is_view: IsView) -> Array:
    """The copy. is_view: whether NumPy would make a view of an array with this layout, where
    sizes have these values; or it raises a ValueError.
    """
    recorder = local.recorder
    memory = _Memory(source, is_view)
    if isinstance(recorder, StagingRecorder) and memory.is_sized():
        owner, where = source._owner(), position(*user_position())

        def error() -> BaseException:
            found = TypeError(
                "an array of unknown size is used after a write to another that was made of it, or "
                f"of which it was made, at {where}: that is a copy, or for some sizes a view, as in"
                " NumPy. Write to a copy (y.ravel().copy(), np.array(y)), or to the array itself"
            )
            return of_these_sizes(found)

        for one, other in (copy, owner), (owner, copy):
            pairs = recorder.picked.setdefault(id(one), [])
            pairs.append((weakref.ref(one), weakref.ref(other), memory.may_be_shared, error))
    return copy


def settled(source: Array, found: bool, is_view: IsView) -> bool:
    """Whether to make a view. found: what was found with numbers for the sizes. These say little
    where a size is small with them (`n - m`); there, the sizes of the call that is traced tell.
    """
    memory = _Memory(source, is_view)
    if not (memory.is_sized() and memory.is_small()):
        return found
    told = memory.in_this_call()
    return found if told is None else told


class _Memory:
    """What decides whether NumPy would make a view of an array."""

    def __init__(self, source: Array, is_view: IsView) -> None:
        owner = source._owner()
        self._owner = owner.aval.shape, owner.aval.dtype, owner._order
        self._path = () if source._base is None else source._path
        self._shape, self._is_view = source.aval.shape, is_view

    def is_sized(self) -> bool:
        return sized(self._shape) or sized(self._owner[0])

    def is_small(self) -> bool:
        """Whether the numbers that stand for sizes make it small."""
        sizes = sizes_in((self._owner[0], self._shape))
        return any(stand_in(n) < _FEW for n in sizes)

    def in_this_call(self) -> bool | None:
        """Whether it is a view in the call that is traced, where that is known."""
        return decide(self, self._atoms())

    def may_be_shared(self) -> bool:
        """Whether it is a view in this call, or for some sizes, where the call does not tell."""
        told = self.in_this_call()
        if told is not None:
            return told
        return any(self._told(n.__getitem__) for n in _numbers(sorted(self._atoms(), key=_age)))

    def _atoms(self) -> set[Atom]:
        steps = [x for step in self._path for x in _of_step(step)]
        sizes = sizes_in((self._owner[0], self._shape, *steps))
        return {a for s in sizes for a in s.variables()}

    def at(self, values: Callable[[Atom], int]) -> bool:
        """Whether it is a view where the variables have these values, as far as is known."""
        return self._told(values) is not False

    def _told(self, values: Callable[[Atom], int]) -> bool | None:
        numbers = Numbers(values).__getitem__
        shape, dtype, order = self._owner
        try:
            dummy = owner_layout(mapped(shape, numbers), dtype, order)
            for step in self._path:
                dummy = with_numbers(step, numbers).layout(dummy)
            return bool(dummy.size and self._is_view(dummy, numbers))
        except ValueError:
            return False
        except (IndexError, KeyError, TypeError):  # no array has such sizes, or places are traced
            return None


def _age(a: Atom) -> int:
    return a.order


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
