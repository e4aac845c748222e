"""A comparison of sizes is a bool of Python's, where the call that is traced tells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import lazynp as np

BOOLS: list[Callable[[Any], Any]] = [
    lambda n: 1.0 if (n > 3) == True else 2.0,  # noqa: E712
    lambda n: 1.0 if (n > 3) is True else 2.0,
    lambda n: 1.0 if (n > 3) is not False else 2.0,
    lambda n: (n > 3) * 2 + (n == 4) - (n != 5) / 2,
    lambda n: sum([n > 3, n == 4]),
    lambda n: [10.0, 20.0][n > 3] + int(n > 3) + float(n > 4),
    lambda n: ((n == 4) ^ True) + ((n > 3) < 1),
    lambda n: 1.0 if isinstance(n, int) and type(n) is int else 2.0,
    lambda n: math.sqrt(n) + math.hypot(n, 3),
]


@pytest.mark.parametrize("f", BOOLS)
def test_a_comparison_is_a_bool(f: Callable[[Any], Any]) -> None:
    lazy = np.jit(lambda x: x.sum() * 0 + f(len(x)), abstracted_axes=("n",))
    for n in (4, 3, 5, 4):
        assert float(lazy(np.ones(n))) == pytest.approx(f(n), rel=1e-14), n


def test_a_traced_bool_of_pythons_may_be_true_itself() -> None:
    def f(x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            if (i > 3) is True:
                total += 1
            if (x[i] > 3) is True:  # NumPy's bool is never True itself
                total += 100
            even = i % 2 == 0
            if even is False or even is not True:
                total += 10
        return total

    assert np.jit(f)(np.arange(12.0)) == 8 + 60
