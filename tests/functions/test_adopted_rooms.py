"""Code that imports functions from NumPy's rooms, with and without `adopt`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import numpy.lib.stride_tricks as tricks
import pytest
from numpy.lib import scimath, stride_tricks
from numpy.lib.scimath import sqrt
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.linalg import norm

import lazynp as np

X = numpy.array([0.3, 1.7, -0.4, 2.2])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sliding_window_view": lambda x: sliding_window_view(x, 2).prod(),
    "stride_tricks": lambda x: stride_tricks.sliding_window_view(x, 2).prod(),
    "numpy.lib.stride_tricks": lambda x: tricks.sliding_window_view(x, 2).prod(),
    "sqrt": lambda x: sqrt(x * x + 1).sum(),
    "scimath": lambda x: scimath.sqrt(x * x + 1).sum(),
    "norm": lambda x: norm(x),
    "as_strided": lambda x: (as_strided(x, (3, 2), (8, 8)) ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("adopted", [False, True])
def test_gradients(name: str, adopted: bool) -> None:
    f = FUNCTIONS[name]
    if name == "as_strided" and not adopted:  # NumPy's asks no class before it reads the memory
        with pytest.raises(TypeError, match="adopt"):
            np.grad(f)(X)
        return
    steps = 1e-6 * numpy.eye(4)
    wanted = [float(f(X + h) - f(X - h)) / 2e-6 for h in steps]
    gradient = np.grad(np.adopt(f) if adopted else f)
    numpy.testing.assert_allclose(gradient(X), wanted, rtol=1e-6, atol=1e-9)


def test_other_modules_of_these_names_stay() -> None:
    """`random` is Python's, too."""

    def f(x: Any) -> Any:
        return x.sum() * random.Random(0).random() + (0.0 if random.__name__ == "random" else 1.0)

    assert float(np.adopt(f)(X)) == X.sum() * random.Random(0).random()


def test_windows_of_numpys_function_are_views() -> None:
    x = np.arange(4.0)
    windows = sliding_window_view(x, 2)
    x[1] = 7.0
    assert type(windows) is np.ndarray and not windows.flags.writeable
    assert windows.tolist() == [[0, 7], [7, 2], [2, 3]]
