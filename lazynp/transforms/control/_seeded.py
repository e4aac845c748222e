"""Generators of random numbers that a strictly traced function makes from a constant.

The function keeps such a generator to itself, and it begins anew in each call. So it draws the same
each time, and what it draws is a constant of the program. A body that is staged may run many times:
there, only a generator that is made within draws. NumPy's own generator, which `np.random.seed`
sets, is everybody's: it gets its state back after a trace, and a program leaves it as Python would.
So each call must seed it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp.transforms.control._state import CannotStage, session

MOST = 1 << 25  # bytes of what was drawn, which a program keeps
_DRAW = 1 << 19  # bytes that each draw counts more: many are those of a loop that is unrolled
_MAKERS = {"default_rng", "Generator", "RandomState"}
_SEEDS = (int, np.integer, Array, list, tuple)  # without a seed, each generator is another


def seeded(function: Any) -> Callable[..., Any] | None:
    """What a call calls in place of what makes a generator, or of a method of one."""
    if _makes(function):
        return functools.partial(_make, function)
    if getattr(function, "__wrapped__", None) is np.random.seed:
        return functools.partial(_seed, function)
    own = getattr(getattr(function, "__wrapped__", None), "__self__", None)
    return functools.partial(_draw, function) if own is not None and _is_ours(own) else None


def _makes(function: Any) -> bool:
    """Whether it makes a generator of lazynp's, or the stream of one."""
    if isinstance(function, type) and issubclass(function, np.random.BitGenerator):
        return True
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", "")
    return name in _MAKERS and module == "lazynp.random"


def _is_ours(generator: Any) -> bool:
    found, depth = session.seeded.get(id(generator), (None, 0))
    return found is generator and depth == session.depth


def _make(function: Any, *args: Any, **kwargs: Any) -> Any:
    given = [*args, *kwargs.values()]
    own = [getattr(x, "_generator", x) for x in given]
    if len(own) != 1 or not (isinstance(own[0], _SEEDS) or _is_ours(own[0])):
        raise CannotStage(f"calls `{function.__name__}`, which may change objects")
    made = function(*args, **kwargs)
    own = getattr(made, "_generator", made)
    session.seeded[id(own)] = own, session.depth
    return made


def _seed(function: Any, *args: Any, **kwargs: Any) -> None:
    given = [*args, *kwargs.values()]
    if len(given) != 1 or not isinstance(given[0], _SEEDS):
        raise CannotStage("calls `seed`, which may change objects")
    if session.depth > 1:  # then it is not known whether a call seeds
        raise CannotStage("calls `seed` in a branch or a loop")
    if session.reseeded is None:
        session.reseeded = _shared().get_state(legacy=False)
    function(*args, **kwargs)
    session.seeded[id(_shared())] = _shared(), session.depth


def _shared() -> np.random.RandomState:
    """NumPy's own generator."""
    return np.random.mtrand._rand  # type: ignore[attr-defined]


def left_behind() -> Any:
    """The state that the traced function leaves to NumPy's generator, if it seeds it."""
    return None if session.reseeded is None else _shared().get_state(legacy=False)


def _draw(function: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        raise CannotStage(f"`{function.__name__}` draws into an array")
    made = function(*args, **kwargs)
    session.drawn += getattr(made, "nbytes", 0) + _DRAW
    if session.drawn > MOST:
        raise CannotStage("draws so many random numbers that no program keeps them")
    return made
