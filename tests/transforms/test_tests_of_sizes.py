"""Python's `if` and `while` on sizes: a trace for the sizes of which the same is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Function = Callable[[Any, Any], Any]


def chosen(np: Any, x: Any) -> Any:
    return x * 2 if x.shape[0] > 3 else x + 1


def emptied(np: Any, x: Any) -> Any:
    if not x.size:
        return np.zeros(2)
    return np.array([x.max(), x.min()])


def halved(np: Any, x: Any) -> Any:
    n, total = len(x), 0.0
    while n > 1:
        n //= 2
        total += x[:n].sum()
    return total


def folded(np: Any, x: Any) -> Any:
    while len(x) > 1:
        x = x[::2] + len(x)
    return x


def evened(np: Any, x: Any) -> Any:
    if len(x) % 2:
        x = x[:-1]
    return x[::-1]


def both(np: Any, x: Any) -> Any:
    n = x.shape[0]
    if n > 2 and not n % 3 or n == 1:
        return x.sum()
    return x.sum() * 10 if 1 < n < 5 else x.sum() * 100


def divided(np: Any, x: Any) -> Any:
    n = len(x)
    if n < 2:
        return x.sum()
    return divided(np, x[: n // 2]) * 2 + divided(np, x[n // 2 :])


def in_a_loop(np: Any, x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * (2 if len(x) > 4 else 3)
    return total


def written(np: Any, x: Any) -> Any:
    if len(x) > 2:
        x[2] = -1
    return x.sum()


def among(np: Any, x: Any) -> Any:
    n = len(x)
    found = [n in (2, 4), n not in [3, 17], n in {2, 4, n // 2}, n in {16: "a"}, n in range(2, 9)]
    found += [n in range(1, 900, 4), 2 in {n // 2, n}, 4 in (n, 2), x.shape in [(4,), (2,)]]
    return np.array([1 if f else 0 for f in found])


def equal(np: Any, x: Any, n: Any = None) -> Any:
    n = len(x) if n is None else n
    middle = 2 == n // 2 == n - 2
    return np.array([1 if middle else 0, given(len(x)), given(), given(len(x) // 2)])


def given(n: Any = None) -> Any:
    return 1 if n is not None and n == 4 else 2 if n is not None and n != 2 else 3


def looked_up(np: Any, x: Any) -> Any:
    n = len(x)
    weights = {2: 10.0, 4: 20.0, 17: 5.0}
    return np.array(
        [weights.get(n, 1.0), {0: 3, 1: 4}[n % 2], [5, 6, 7][n % 3], {len(x): 8, n + 1: 9}[n]]
    )


PROGRAMS = [
    chosen, emptied, halved, folded, evened, both, divided, in_a_loop, written, among, equal,
    looked_up,
]  # fmt: skip
SIZES = [5, 2, 0, 17, 1, 6, 3, 4, 16, 5, 2]


def named(program: Function) -> Any:
    return np.jit(lambda x: program(np, x), abstracted_axes={0: "n"})


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_size_takes_its_branch(program: Function) -> None:
    compiled = named(program)
    for n in SIZES:
        x, y = np.arange(float(n)), numpy.arange(float(n))
        got, want = compiled(x), program(numpy, y)
        numpy.testing.assert_array_equal(got, want)
        assert got.dtype == numpy.result_type(want)
        assert numpy.shape(got) == numpy.shape(want)
        numpy.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("program", [chosen, both, halved])
def test_gradients_and_batches_take_it_too(program: Function) -> None:
    compiled, plain = named(program), np.jit(lambda x: program(np, x))
    for n in SIZES:
        x = numpy.arange(float(n)) + 1
        want = np.grad(lambda x: plain(x).sum())(x)
        numpy.testing.assert_array_equal(np.grad(lambda x: compiled(x).sum())(x), want)
        rows = numpy.array([x, x * 2])
        numpy.testing.assert_array_equal(np.vmap(compiled)(rows), np.vmap(plain)(rows))


def test_sizes_of_one_branch_have_one_trace() -> None:
    compiled = named(chosen)
    for n in range(20):
        compiled(numpy.ones(n))
    assert compiled._cache_size() == 2
    compiled = named(halved)
    for n in range(1, 65):
        compiled(numpy.ones(n))
    assert compiled._cache_size() == 7
    assert "sizes that a test tells apart" in np.explain(compiled)


def test_sizes_with_two_names_can_be_compared() -> None:
    def last(x: Any, y: Any) -> Any:
        if len(x) != len(y):
            raise RuntimeError("lengths")
        return x[-1] * y[-1]

    compiled = np.jit(last, abstracted_axes=({0: "n"}, {0: "m"}))
    assert [float(compiled(numpy.arange(n), numpy.arange(n))) for n in (3, 5)] == [4, 16]
    with pytest.raises(RuntimeError, match="lengths"):
        compiled(numpy.arange(3), numpy.arange(4))


def third(np: Any, x: Any) -> Any:
    return x[3] if x.sum() > 0 else 0.0


def third_of_a_branch(np: Any, x: Any) -> Any:
    if x.sum() > 0:
        y = x * 1
        if x[0] > 1:
            y[4] = 7
        return y.sum()
    return 0.0


def greatest(np: Any, x: Any) -> Any:
    return x.max() if x.sum() > 0 else 0.0


@pytest.mark.parametrize("program", [third, third_of_a_branch, greatest])
def test_an_index_of_a_branch_that_is_not_taken_is_no_error(program: Function) -> None:
    compiled = named(program)
    for x in ([1.0, 2, 3, 4], [0.0, -2], [-1.0], [2.0, 3, 4, 5, 6], [0.0], [], [5.0] * 6):
        y = numpy.array(x)
        try:
            want = program(numpy, y)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(y)
        else:
            numpy.testing.assert_array_equal(compiled(y), want)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 2"):
        named(third_of_a_branch)(numpy.ones(2) * 2)


def test_what_cannot_be_decided_is_an_error_as_before() -> None:
    with pytest.raises(TypeError, match="traced once for all sizes"):
        np.make_jaxpr(lambda x: chosen(np, x), abstracted_axes={0: "n"})(numpy.ones(5))


# -- sizes that the data decide --------------------------------------------------------------------


def picked(x: Any) -> Any:
    return x[x > 1]


def some(n: Any) -> Any:
    return 3 if n > 1 and not n > 3 else 5


SELECTED: dict[str, Callable[[Any, Any], Any]] = {
    "len": lambda np, x: len(picked(x)),
    "times len": lambda np, x: picked(x) * len(picked(x)),
    "arange": lambda np, x: picked(x) + np.arange(len(picked(x))),
    "zeros": lambda np, x: np.zeros(len(picked(x))) + 1,
    "roll": lambda np, x: np.roll(x, len(picked(x))),
    "mean": lambda np, x: picked(x).sum() / (1 + len(picked(x))),
    "where": lambda np, x: np.where(picked(x) > len(picked(x)), picked(x), 0),
    "if": lambda np, x: x.sum() if len(picked(x)) > 2 else x.max(),
    "if size": lambda np, x: picked(x).sum() * 2 if picked(x).size else 5.0,
    "if sorted": lambda np, x: x.sum() if len(np.sort(picked(x))) > 2 else x.max(),
    "and": lambda np, x: some(len(picked(x))),
    "or": lambda np, x: 3 if len(picked(x)) < 2 or len(x) > 6 else 5,
}


@pytest.mark.parametrize("name", SELECTED)
@pytest.mark.parametrize("axes", [None, {0: "n"}])
def test_the_length_of_a_selection(name: str, axes: Any) -> None:
    program = SELECTED[name]
    compiled = np.jit(lambda x: program(np, x), abstracted_axes=axes)
    for x in (numpy.arange(6.0), numpy.zeros(3), numpy.array([5.0, 1.0, 4.0]), numpy.arange(8.0)):
        got, want = compiled(x), program(numpy, x)
        numpy.testing.assert_array_equal(got, want)
        assert numpy.shape(got) == numpy.shape(want)


def test_rounds_over_a_selection() -> None:
    def total(x: Any) -> Any:
        y, s = picked(x), 0.0
        for i in range(len(y)):
            s = s * 2 + y[i]
        return s

    for axes in (None, {0: "n"}):
        compiled = np.jit(total, abstracted_axes=axes)
        for x in (numpy.arange(6.0), numpy.zeros(3), numpy.arange(8.0)):
            assert compiled(x) == total(x)


def scaled(x: Any) -> Any:
    return x * len(x)


def second_half(x: Any) -> Any:
    y = x[len(x) // 2 :] + 1
    y[1:] += len(y)
    return y


@pytest.mark.parametrize("program", [scaled, second_half])
def test_len_in_a_function_without_branches(program: Any) -> None:
    compiled = np.jit(program, abstracted_axes={0: "n"})
    for n in SIZES:
        x = numpy.arange(float(n))
        numpy.testing.assert_array_equal(compiled(x), program(x))
    assert compiled._cache_size() == 1
