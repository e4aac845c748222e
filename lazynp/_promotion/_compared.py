"""What the rounds of a trial must have in common: Python's, and those of the program."""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from lazynp._array import NDArray
from lazynp._promotion._agreement import agree, close
from lazynp._promotion._boxes import of_numpy
from lazynp._promotion._given import ARRAY
from lazynp._promotion._loops import Loop
from lazynp._promotion._tuples import of_ours
from lazynp._promotion._variables import Variables, value_of
from lazynp.transforms.control import CannotStage


def check_same(
    loop: Loop, carried: list[str], now: Variables, got: list[Any], same: bool, ours: list[Any],
    frame: FrameType,
) -> set[str]:  # fmt: skip
    """What the program has left must be what Python has. carried: variables, and slots of objects.
    same: whether the lists agree. ours: what the program was given. Returns the names of arrays that
    stay the same objects.
    """
    stays = set[str]()
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
    same = same and agree(got, want)
    if not same or not all(close(np.asarray(x), np.asarray(y)) for x, y in kept):
        raise CannotStage("its results differ")
    return stays
