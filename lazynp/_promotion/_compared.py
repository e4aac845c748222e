"""What the rounds of a trial must have in common: Python's, and those of the program."""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from lazynp._array import NDArray
from lazynp._promotion._agreement import agree, close
from lazynp._promotion._boxes import of_numpy
from lazynp._promotion._draws import Draws
from lazynp._promotion._loops import Loop
from lazynp._promotion._template import ARRAY
from lazynp._promotion._tuples import Tuples, of_ours
from lazynp._promotion._variables import Variables, value_of
from lazynp.transforms.control import CannotStage


def check_same(
    loop: Loop, carried: list[str], now: Variables, got: list[Any], same: bool, ours: list[Any],
    frame: FrameType, stays: set[str],
) -> set[str]:  # fmt: skip
    """What the program has left must be what Python has. carried: variables, and slots of objects.
    same: whether the lists agree. ours: what the program was given. stays: slots whose arrays
    nothing writes. Returns these, and the names of arrays that stay the same objects.
    """
    stays = stays.copy()
    varying = [n for n, t in zip(now.names, now.template) if t is ARRAY]
    for name, value in zip(carried, got):
        if type(value) is NDArray and any(value is x for x in ours):
            if value is not ours[varying.index(name)]:
                raise CannotStage(f"`{name}` becomes another array")
            stays.add(name)  # `u += v` writes it
    now.check_shared(stays)
    want = [of_ours(value_of(n, frame)) for n in loop.carried]
    want += map(of_numpy, now.boxes.now())
    given = {*carried, *now.tuples.parts}
    kept = [(x, y) for n, x, y in zip(varying, ours, now.varying) if n not in given]
    same = same and agree(list(map(of_ours, got)), want)
    if not same or not all(close(np.asarray(x), np.asarray(y)) for x, y in kept):
        raise CannotStage("its results differ")
    return stays


def have_drawn(draws: Draws | None, states: list[Any], out: Any, count: int) -> bool:
    """Whether the program has drawn what Python has; False if it has run out of numbers. states: of
    the generators, after Python's rounds.
    """
    after = None if draws is None else draws.after(out, count)
    if draws is not None and after is not None and not draws.is_at(after, states):
        raise CannotStage("its rounds draw other numbers each time")
    return draws is None or after is not None


def parted(
    loop: Loop, carried: list[str], tuples: Tuples | None, flags: set[str], out: Any,
    frame: FrameType,
) -> list[Any]:  # fmt: skip
    """The values of what is carried. flags: variables that are Python's True or False."""
    given = zip(carried, out[: len(carried)])
    values = [bool(v) if n in flags else v for n, v in given]
    for k, name in enumerate(loop.carried if tuples is not None else ()):
        assert tuples is not None
        values[k] = tuples.kept(name, values[k], lambda n: value_of(n, frame))
    return values
