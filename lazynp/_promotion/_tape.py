"""The next words of a generator's stream, as a bit generator that can begin at any of them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from lazynp._fronts import fastpath


class Tape:
    """What stands for a generator's bit generator. words: a copy of its next ones; narrow: of 32
    bits, as those of `RandomState`.
    """

    def __init__(self, words: np.ndarray, narrow: bool) -> None:
        self._tape = fastpath.Tape(words, narrow)
        self.capsule, self.lock = self._tape.capsule(), threading.Lock()
        self.state: Any = {"bit_generator": "Tape", "state": {}}
        self.place, self.told, self.walk = self._tape.place, self._tape.told, self._tape.walk
