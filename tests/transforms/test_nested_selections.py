"""What a mask selects, in nested functions, loops and branches of a traced function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.array([3.0, -1.0, 5.0, 2.0])
AXES = [None, {0: "n"}]
inner = np.jit(lambda v: v * 2, abstracted_axes={0: "n"})


def agree(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], axes: Any) -> None:
    compiled = np.jit(ours, abstracted_axes=axes)
    for x in (X, -X, X[:1], X[:0], X[:2]):
        numpy.testing.assert_allclose(numpy.asarray(compiled(x.copy())), theirs(x.copy()))


def captured(x: Any) -> Any:
    v = x[x > 0]
    return np.jit(lambda: v * 2)() + v


def sorted_by_another(x: Any) -> Any:
    v = x[x > 0]
    np.jit(lambda w: w.sort())(v)
    return v


NESTED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "argument": (lambda x: np.jit(lambda v: v * 2)(x[x > 0]), lambda x: x[x > 0] * 2),
    "with names": (lambda x: inner(x[x > 0]), lambda x: x[x > 0] * 2),
    "beside itself": (lambda x: inner(x[x > 0]) + x[x > 0], lambda x: x[x > 0] * 3),
    "in a dict": (lambda x: np.jit(lambda d: d["a"][1:])({"a": x[x > 0]}), lambda x: x[x > 0][1:]),
    "selected again": (lambda x: np.jit(lambda v: v[v > 2])(x[x > 0]), lambda x: x[x > 2]),
    "captured": (captured, lambda x: x[x > 0] * 3),
    "written": (sorted_by_another, lambda x: numpy.sort(x[x > 0])),
    "selected within": (lambda x: np.jit(lambda: x[x > 0])(), lambda x: x[x > 0]),
    "places": (
        lambda x: np.jit(lambda: np.flatnonzero(x > 0))(),
        lambda x: numpy.nonzero(x > 0)[0],
    ),
    "gradient": (
        lambda x: np.grad(lambda y: np.jit(lambda v: (v * v).sum())(y[y > 0]))(x),
        lambda x: 2 * x * (x > 0),
    ),
}


@pytest.mark.parametrize("axes", AXES, ids=["plain", "sized"])
@pytest.mark.parametrize(("ours", "theirs"), NESTED.values(), ids=list(NESTED))
def test_nested_functions(ours: Any, theirs: Any, axes: Any) -> None:
    agree(ours, theirs, axes)
