"""At the limit of recursion there is a RecursionError, wherever it comes. All works after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import lazynp as np

ROOM = 70  # frames below the test: more than any of these calls needs


def square(x: Any) -> Any:
    return np.sum(x * np.sin(x))


CALLS: dict[str, Callable[[], Any]] = {
    "grad": lambda: np.grad(square)(np.ones(3)).tolist(),
    "grad of grad": lambda: np.grad(np.grad(square))(1.0).item(),
    "vmap": lambda: np.vmap(square)(np.ones((2, 3))).tolist(),
    "jit": lambda: np.jit(square)(np.ones(3)).item(),
    "a view written": lambda: written().tolist(),
    "where": lambda: np.where(np.ones(3) > 0, 1.0, np.arange(3.0)).tolist(),
}


def written() -> Any:
    x = np.zeros(4)
    x[1:][::2] += 3
    return x


def down(n: int, call: Callable[[], Any]) -> Any:
    return down(n - 1, call) if n else call()


@pytest.mark.parametrize("name", list(CALLS))
def test_the_limit_is_an_error_that_harms_nothing(name: str) -> None:
    """CPython's comparison of two codes had a result and an exception there: a SystemError."""
    call, before = CALLS[name], sys.getrecursionlimit()
    want, errors, depth, frame = call(), 0, 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    for n in range(ROOM):
        sys.setrecursionlimit(depth + ROOM)
        try:
            assert down(n, call) == want
        except RecursionError:
            errors += 1
        finally:
            sys.setrecursionlimit(before)
    assert 0 < errors < ROOM
    assert call() == want
