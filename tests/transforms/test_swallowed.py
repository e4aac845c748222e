"""No handler of the user's hides that a function has asked for a value that is not known."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

SOURCE = """
def total(x):
    try:
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                s = s + x[i]
        return s
    except {kinds}:
        return -1.0


def with_a_number(x):
    try:
        return float(x[0]) * 2
    except {kinds}:
        return x[1] * 1.0


def without(x):
    try:
        return np.linalg.norm(x, 7, axis=(0, 1))
    except (ValueError, TypeError):
        return x.sum()
"""
X = numpy.array([[1.0, 2.0, -3.0], [-1.0, 2.0, 5.0]])


def functions(kinds: str, module: Any = np) -> dict[str, Any]:
    """Functions without source: `jit` traces them as they are."""
    space = {"np": module}
    exec(SOURCE.format(kinds=kinds), space)
    return space


@pytest.mark.parametrize("kinds", ["TypeError", "Exception", "(TypeError, ValueError)"])
@pytest.mark.parametrize("name", ["total", "with_a_number"])
def test_what_traces_the_function_as_it_is_raises(name: str, kinds: str) -> None:
    f = functions(kinds)[name]
    x = np.array(X[0])
    for call in (
        lambda: np.jit(f)(x),
        lambda: np.jit(lambda x: f(x) * 2)(x),
        lambda: np.cond(x.sum() < 9, f, np.sum, x),
        lambda: np.scan(lambda c, r: (c, f(r)), 0.0, np.array(X)),
        lambda: np.vmap(f)(np.array(X)),
    ):
        with pytest.raises(TypeError, match="asks for"):
            call()


def test_derivatives_know_the_value() -> None:
    f = functions("TypeError")["total"]
    x = np.array(X[1])
    for grad in (np.grad(f), np.grad(np.checkpoint(f))):
        numpy.testing.assert_array_equal(numpy.asarray(grad(x)), [0.0, 1.0, 1.0])


def caught(x):
    try:
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                s = s + x[i]
        return s
    except TypeError:
        return -1.0


def test_vmap_begins_again_with_both_branches() -> None:
    found = np.vmap(caught)(np.array(X))
    numpy.testing.assert_array_equal(numpy.asarray(found), [3.0, 7.0])


def test_other_errors_are_caught_as_in_python() -> None:
    f = functions("TypeError")["without"]
    for g in (np.jit(f), lambda x: np.vmap(f)(np.array(X))[0]):
        assert float(g(np.array(X[0]))) == 0.0
