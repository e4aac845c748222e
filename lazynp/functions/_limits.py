"""How many dimensions the result of an index may have, and how many arrays an index."""

from __future__ import annotations

from typing import Any

from lazynp._steps import TOO_MANY

_MOST = 64


def check_dimensions(shape: tuple[Any, ...], arrays: int, subspace: bool) -> None:
    """Raise NumPy's IndexError where an index with arrays has too many.

    arrays: how many index arrays there are.  subspace: whether they leave axes of the array.
    """
    if arrays >= _MOST and not subspace:
        raise IndexError(
            "when no subspace is given, the number of index arrays cannot be above "
            f"{_MOST - 1}, but {arrays} index arrays found"
        )
    if len(shape) > _MOST:
        raise IndexError(TOO_MANY.format(len(shape)))
