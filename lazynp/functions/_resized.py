"""Arrays whose sizes change by the same numbers in each round: `v = v[1:] + v[:-1]`,
`x = np.append(x, y)`.

The loop carries a window, as long as the array ever is. In the body, the variable is a slice of it
(`functions._parts`), whose end counts with the rounds. After the loop it is an array again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp.functions._parts import Part, moved, resized, windowed
from lazynp.functions._regions import Region, fitted
from lazynp.primitives import elementwise


class Window:
    """A variable of such a loop: its shape before and after, and what each round adds to it."""

    def __init__(self, shape: Sequence[int], steps: Sequence[int], rounds: int) -> None:
        self.first, self.steps = tuple(shape), tuple(steps)
        self.last = tuple([n + s * rounds for n, s in zip(shape, steps, strict=True)])
        self.shape = tuple(map(max, self.first, self.last))

    def started(self, value: Array) -> Array:
        """The window before the loop."""
        return _in_shape(new_array(value._read()), self.shape)

    def part(self, whole: Array, done: Any) -> Part:
        """The array in a window. done: how many rounds there were."""
        return windowed(whole, self._regions(done))

    def taken(self, value: Any, done: Any) -> Array | None:
        """The window after another round; None if the array may not have this size."""
        if type(value) is not Part or value.ndim != len(self.shape):
            return None
        return resized(value, self._regions(elementwise.add(done, 1)), self.shape)

    def finished(self, whole: Array) -> Array:
        """The array, after the loop."""
        return _in_shape(whole, self.last)

    def _regions(self, done: Any) -> tuple[Region | None, ...]:
        found: list[Region | None] = []
        for n, step, length in zip(self.first, self.steps, self.shape, strict=True):
            if not step:
                found.append(None)
                continue
            more = elementwise.multiply(done, step) if step != 1 else done
            found.append(Region(0, elementwise.add(more, n), length))
        return tuple(found)


class Held:
    """A slice of unknown size, which keeps its places in the rounds of a loop inside."""

    def __init__(self, value: Part) -> None:
        self.regions, self.shape = value.regions, value.whole.shape
        self.shows = value.whole._base is not None  # memory of another array

    def started(self, value: Part) -> Array:
        return new_array(value.whole._read())

    def part(self, whole: Array, done: Any) -> Part:
        return Part(whole, self.regions)

    def taken(self, value: Any, done: Any) -> Array | None:
        if type(value) is not Part or value.ndim != len(self.shape):
            return None
        value = moved(value, self.regions)
        pairs = zip(value.regions, self.regions, strict=True)
        kept = all([a is b or a is not None and a.same(b) for a, b in pairs])
        if not kept or value.whole.shape != self.shape:
            return None
        return new_array(value.whole._read())

    def finished(self, whole: Array) -> Part:
        return Part(whole, self.regions)


def window_of(before: Any, after: Array | None = None, rounds: int = 0) -> Window | Held | None:
    """What holds an array that a round leaves with another shape, or a slice of unknown size; None
    if an array would get negative sizes.
    """
    if type(before) is Part:
        return Held(before)
    if after is None or before.ndim != after.ndim:
        return None
    steps = [b - a for a, b in zip(before.shape, after.shape, strict=True)]
    made = Window(before.shape, steps, rounds)
    return made if min(made.last) >= 0 else None


def _in_shape(x: Array, shape: tuple[int, ...]) -> Array:
    """The front of the array, or the array at the front of a longer one."""
    for axis, length in enumerate(shape):
        x = fitted(x, axis, length)
    return x
