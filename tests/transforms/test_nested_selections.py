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


def in_a_loop(x: Any) -> Any:
    v = x[x > 0]
    return np.fori_loop(0, 2, lambda i, c: c + v, v)


def computed_before_a_loop(x: Any) -> Any:
    v = x[x > 0]
    w = v * 2
    return np.fori_loop(0, 2, lambda i, c: c + w * v, v) + w


def while_small(x: Any) -> Any:
    v = x[x > 0]
    return np.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + v), (0, v))[1]


def in_a_scan(x: Any) -> Any:
    v = x[x > 0]
    return np.scan(lambda c, w: (c + v, w), v, np.arange(2.0))[0]


def in_a_branch(x: Any) -> Any:
    v = x[x > 0]
    return np.cond(x.sum() > 0, lambda: v * 2, lambda: v) + v


def given_to_a_branch(x: Any) -> Any:
    v = x[x > 0]
    return np.cond(x.sum() > 0, lambda w: w * 2 + v, lambda w: w, v) + v


def in_a_branch_of_a_loop(x: Any) -> Any:
    v = x[x > 0]
    return np.fori_loop(0, 2, lambda i, c: np.cond(i > 0, lambda: c + v, lambda: c * v), v) + v


def selected_in_each_round(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        c[0] += 1
        return c + c[c > 0].sum() * (np.sort(c[c > 0]) * c[c > 0]).sum()

    return np.fori_loop(0, x.shape[0], body, x * 1)


def each_round(x: Any) -> Any:
    c = x * 1
    for _ in range(x.shape[0]):
        c[0] += 1
        c = c + c[c > 0].sum() * (numpy.sort(c[c > 0]) * c[c > 0]).sum()
    return c


REPEATED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "loop": (in_a_loop, lambda x: x[x > 0] * 3),
    "computed": (computed_before_a_loop, lambda x: x[x > 0] * 3 + 4 * x[x > 0] ** 2),
    "while": (while_small, lambda x: x[x > 0] * 3),
    "scan": (in_a_scan, lambda x: x[x > 0] * 3),
    "branch": (in_a_branch, lambda x: x[x > 0] * (3 if x.sum() > 0 else 2)),
    "argument": (given_to_a_branch, lambda x: x[x > 0] * (4 if x.sum() > 0 else 2)),
    "both": (in_a_branch_of_a_loop, lambda x: x[x > 0] * (x[x > 0] + 2)),
    "changing": (selected_in_each_round, each_round),
}


@pytest.mark.parametrize("axes", AXES, ids=["plain", "sized"])
@pytest.mark.parametrize(("ours", "theirs"), REPEATED.values(), ids=list(REPEATED))
def test_loops_and_branches(ours: Any, theirs: Any, axes: Any) -> None:
    agree(ours, theirs, axes)


@pytest.mark.parametrize("ours", [in_a_loop, computed_before_a_loop, in_a_branch, in_a_scan])
def test_derivatives_of_loops_and_branches(ours: Any) -> None:
    theirs = next(t for o, t in REPEATED.values() if o is ours)
    got = np.jit(np.grad(lambda x: ours(x).sum()), abstracted_axes={0: "n"})(X)
    steps = 1e-6 * numpy.eye(len(X))
    want = [(theirs(X + s).sum() - theirs(X - s).sum()) / 2e-6 for s in steps]
    numpy.testing.assert_allclose(got, want, rtol=1e-6)
