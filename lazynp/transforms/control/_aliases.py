"""Arrays that get another name: after `y = a if c else b`, a write to y is one to a or to b.

The program cannot tell which, so the value after the branch is a third array. That is what Python
has, as long as nobody writes one of the three while another is in use; or where only one variable
held the array before, which nobody has then.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from lazynp._array import Array, NDArray
from lazynp._ownership import COUNTED, counts
from lazynp._recorder import StagingRecorder, local
from lazynp.transforms.control._state import CannotStage, session, value_of


def is_array(x: Any) -> bool:
    return type(x) is NDArray and x.ndim > 0


def is_made_here(x: NDArray) -> bool:
    """Whether an array was made in this trace."""
    recorder = local.recorder
    return isinstance(recorder, StagingRecorder) and recorder.owns(x._node)


def private_arrays(cells: Mapping[str, Any]) -> dict[str, int]:
    """By variable, the id of an array that only this variable refers to, apart from the loops and
    branches that are being traced. It was made in the innermost of them, or was private there.
    """
    return {n: id(c.cell_contents) for n, c in cells.items() if is_private(c)}


def is_private(cell: Any) -> bool:
    if not is_array(value_of(cell)):
        return False
    x = id(cell.cell_contents)
    known = session.own.get(x)
    others = 0 if known is None else known + _captured(x)
    if counts([cell.cell_contents])[0] != COUNTED + 1 + others:
        return False
    array = cell.cell_contents
    return array._base is None and (known is not None or is_made_here(array))


def _captured(x: int) -> int:
    """How many of the bodies that are being traced have an array from outside as an operand."""
    recorder, found = local.recorder, 0
    while isinstance(recorder, StagingRecorder):
        found += x in recorder.handles
        recorder = recorder.outer
    return found


def own_arrays(cells: Mapping[str, Any], among: Container[int]) -> dict[int, int]:
    """As a body begins: those of its arrays that are private, by id, and how many references the
    loops and branches around it have to each.
    """
    return {
        x: counts([cell.cell_contents])[0] - COUNTED - 1 - _captured(x)
        for cell in cells.values() if (x := id(value_of(cell))) in among
    }  # fmt: skip


def let_go(private: Mapping[str, int], names: Container[str], sides: Sequence[Any]) -> None:
    """An array that one variable alone held counts as new, if the branches bind that variable anew,
    or nothing reads it after them, and each leaves the array in one variable at most: after them,
    nobody has the old one.
    """
    for name, x in private.items():
        if name in names and all(side.count_of(x) <= 1 for side in sides):
            for side in sides:
                side.forget(x)


def refuse_aliases(
    sides: Sequence[Any], cells: Mapping[str, Any], names: Sequence[str], written: Sequence[str],
    line: int,
) -> None:  # fmt: skip
    """After `y = a if c else b`, which array a write to y, or to a, changes is not known."""
    owners = {
        id(x._owner()) for n in written
        if n in cells and type(x := getattr(v := value_of(cells[n]), "value", v)) is NDArray
    }  # fmt: skip
    for side in sides:
        for x in side.old:
            if x is not None and id(x) in owners and not _stays(x, sides):
                if session.carry:
                    session.carry.moves(x)
                raise CannotStage(
                    f"line {line}: a branch gives an array another name, and it is written in "
                    "place in this function; use a copy"
                )


def _stays(x: Any, sides: Sequence[Any]) -> bool:
    """Whether the branches leave this array in the same variable."""
    pairs = zip(*(s.values for s in sides), strict=True)
    return any(a is b and type(a) is NDArray and a._owner() is x for a, b in pairs)


def protect(made: Array, what: str, others: Iterable[Array]) -> None:
    """`what` may have made this array another name of those: no write to it reaches them, and
    after a write to one of them it must not be used.
    """

    def error(before: str = "") -> BaseException:
        return CannotStage(
            f"{what} gives an array another name, and it is written in place{before}; use a copy"
        )

    made._flags = {"readonly": error}
    recorder = local.recorder
    if isinstance(recorder, StagingRecorder):
        later = partial(error, " before that name is used")
        for owner in others:
            noted = recorder.picked.setdefault(id(owner), [])
            noted.append((weakref.ref(owner), weakref.ref(made), lambda: True, later))
