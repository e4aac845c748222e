"""Functions that write into their first argument, by NumPy's function of the same arguments.

The function in Python, which C stands before, defines what is written: `_stores.write` in the
memory that nobody else can see, else a new value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lazynp._fronts import in_front

F = TypeVar("F", bound=Callable[..., Any])


def by_writing(reference: Callable[..., Any], operands: int) -> Callable[[F], F]:
    """Put a front before a function that writes what this function or method of NumPy's writes, and
    returns nothing. It takes at most so many arguments by position.
    """
    function = getattr(reference, "_implementation", reference)
    return lambda python: in_front("written", python, function=function, operands=operands)
