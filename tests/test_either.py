"""Copies that NumPy would make views for some sizes: a write to one, and what comes after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._either import noted

COPIES: list[Callable[[Any], Any]] = [
    lambda y: y[::2].ravel(), lambda y: y[::-1].ravel(), lambda y: y[1::2].ravel(),
    lambda y: np.ascontiguousarray(y[::2]),
]  # fmt: skip


def jitted(f: Any) -> Any:
    return np.jit(f, abstracted_axes={0: "n"})


@pytest.mark.parametrize("made", COPIES)
def test_the_array_cannot_be_used_after_a_write_to_such_a_copy(made: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        r = made(y)
        r[:] = 7
        return y

    with pytest.raises(TypeError, match="used after a write to what was made of it"):
        jitted(f)(np.arange(2.0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("made", COPIES)
def test_reading_it_and_writing_what_is_no_view_are_right(
    made: Callable[[Any], Any], n: int
) -> None:
    def read(x: Any) -> Any:
        y = x * 1
        return made(y) + 1, y

    def written(x: Any) -> Any:
        r = made(x * 1).copy()
        r[:] = 7
        return r, x

    x = numpy.arange(float(n))
    for f in (read, written):
        for got, want in zip(jitted(f)(np.array(x)), f(np.array(x)), strict=True):
            assert got.tolist() == want.tolist()


def test_nothing_is_noted_of_known_sizes() -> None:
    x, copy = np.zeros((2, 3)), np.zeros(3)
    asked: list[Any] = []
    assert noted(x[:, 0], copy, lambda dummy, _: asked.append(dummy)) is copy
    assert not asked
