"""Under `jit`: functions with branches that are given to other functions, and arrays in lists and
loops under an inner `vmap`. Each is compared with Python. Nothing is compiled.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


def bent(v: Any) -> Any:
    return v * v if v > 0.5 else -v


def added(a: Any, b: Any) -> Any:
    if b > 0.5:
        return a + b
    return a


def first_or_sum(v: Any) -> Any:
    return v.sum() if v[0] > 0.5 else v[0] * 1.0


of_elements = np.vectorize(bent)
of_rows = np.vectorize(first_or_sum, signature="(n)->()")


@np.vectorize(otypes=[float], excluded=["k"])
def scaled(v: Any, k: Any = 2) -> Any:
    if v > 1:
        return v * k
    return v


def by_vectorize(x: Any) -> Any:
    return of_elements(x)


def by_keyword(x: Any) -> Any:
    return scaled(x, k=3)


def by_rows(x: Any) -> Any:
    return of_rows(np.stack([x, x * 9]))


def by_map(x: Any) -> Any:
    return np.stack(list(map(bent, x)))


def by_reduce(x: Any) -> Any:
    return functools.reduce(added, x)


def by_accumulate(x: Any) -> Any:
    return np.stack(list(itertools.accumulate(x, added)))


def by_axis(x: Any) -> Any:
    return np.apply_along_axis(first_or_sum, 1, np.stack([x, x * 9]))


@pytest.mark.parametrize(
    "function",
    [by_vectorize, by_keyword, by_rows, by_map, by_reduce, by_accumulate, by_axis],
    ids=lambda f: f.__name__,
)
def test_given_functions(function: Any) -> None:
    x = numpy.array([0.1, 0.75, 3.0])
    jitted = np.jit(function)
    for case in (x, x[::-1].copy(), x + 1):
        want, got = function(np.array(case)), jitted(np.array(case))
        assert got.dtype == want.dtype
        numpy.testing.assert_array_equal(got, want)


def halved(a: Any) -> Any:
    """Python's loop; the index is not known, so that reads and writes are checked."""
    j = 1
    while a[j] > 0.5:
        a[j] = a[j] * 0.5
        j -= 1
    return a.sum()


def pushed(x: Any, t: Any) -> Any:
    return np.jvp(halved, (x,), (t,))


def test_a_function_that_only_hands_another_to_a_transformation() -> None:
    x = [0.1, 0.75, 3.0]
    out, tangent = np.jit(pushed)(np.array(x), np.ones(3))
    assert (float(out), float(tangent)) == (3.475, 2.5)


def test_checks_in_a_loop_make_no_value_differ_by_example() -> None:
    """`jacfwd` maps the tangents, not the array that the loop writes."""
    x = np.array([0.1, 0.75, 3.0])
    assert np.jit(np.jacfwd(halved))(x).tolist() == [1.0, 0.5, 1.0]
    assert x.tolist() == [0.1, 0.375, 3.0]


def of_a_list(x: Any) -> Any:
    y = np.zeros(3)
    y[1:] = x[:2] * 2
    total = 0.0
    for part in [y, x]:
        total = total + (part * part).sum()
    return total


def of_a_dict(x: Any) -> Any:
    state = {"x": x.copy(), "k": 0}
    state["x"][0] *= 3
    state["k"] += 1
    return (state["x"] * state["k"]).sum()


@pytest.mark.parametrize("function", [of_a_list, of_a_dict], ids=lambda f: f.__name__)
def test_written_arrays_in_lists_under_an_inner_vmap(function: Any) -> None:
    x = numpy.arange(6.0).reshape(2, 3)
    rows = [np.array(r) for r in x]
    for mapped, plain in ((np.vmap(function), function),
                          (np.vmap(np.grad(function)), np.grad(function))):  # fmt: skip
        got = np.jit(mapped)(np.array(x))
        numpy.testing.assert_array_equal(got, numpy.stack([plain(r) for r in rows]))


def recursive(x: Any) -> Any:
    y = np.zeros(3)

    def fill(k: int) -> None:  # its variables refer to itself
        y[k] = x[k] * k
        if k:
            fill(k - 1)

    fill(2)
    return y.sum()


def kept_exception(x: Any) -> Any:
    y = np.zeros(3)
    y[:2] = x[1:] * 3
    try:
        raise ValueError
    except ValueError as error:
        kept = error  # its traceback refers to these variables
    return y.sum() * len(str(kept) + ".")


def object_of_itself(x: Any) -> Any:
    class Node:
        def __init__(self) -> None:
            self.root, self.v = self, np.zeros(3)

    node = Node()
    node.v[1:] = x[1:] ** 2
    return node.v.sum()


@pytest.mark.parametrize(
    "function", [recursive, kept_exception, object_of_itself], ids=lambda f: f.__name__
)
def test_written_arrays_in_garbage_that_was_not_collected(function: Any) -> None:
    x = numpy.arange(6.0).reshape(2, 3)
    rows = [np.array(r) for r in x]
    for mapped, plain in ((np.vmap(function), function), (np.jit(np.vmap(function)), function),
                          (np.vmap(np.grad(function)), np.grad(function))):  # fmt: skip
        got = mapped(np.array(x))
        numpy.testing.assert_array_equal(got, numpy.stack([plain(r) for r in rows]))


def test_arrays_from_outside_are_refused() -> None:
    out, kept = np.zeros(3), []

    def writes(x: Any) -> Any:
        out[:] = x
        return x.sum()

    def keeps(x: Any) -> Any:
        y = x * 2
        y[0] = 1.0
        kept.append(y)
        return y.sum()

    for function in (writes, keeps):
        with pytest.raises(ValueError, match="gave another value for each example"):
            np.vmap(function)(np.ones((2, 3)))
    assert out.tolist() == [0.0] * 3
