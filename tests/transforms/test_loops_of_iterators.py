"""Under `jit`: `next` of a generator, and loops over what `itertools` combines. Each is compared
with Python, and is one loop of the program.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.random.default_rng(3).random(24)
POINTS = numpy.random.default_rng(4).random((11, 2))


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


def outcome(function: Any, *args: Any) -> Any:
    try:
        found = function(*args)
    except (ArithmeticError, LookupError, StopIteration, ValueError) as error:
        return type(error), str(error)
    parts = found if isinstance(found, tuple) else (found,)
    return [repr(numpy.asarray(v)) for v in parts]


def alike(function: Callable[..., Any], *cases: Any) -> None:
    """Under jit as in Python: values with their dtypes, or the exception; and not unrolled."""
    jitted = np.jit(function)
    for case in cases:
        assert outcome(jitted, np.array(case)) == outcome(function, case.copy()), case
    assert "unrolled" not in str(np.explain(jitted))


# -- next ------------------------------------------------------------------------------------------


def first_place(x: Any) -> Any:
    return next((i for i in range(len(x)) if x[i] > 0.9), -1)


def first_value(x: Any) -> Any:
    return 2 * next(v for v in x if v > 0.9)  # Python's exception without any


def first_pair(x: Any) -> Any:
    i, v = next(((i, v) for i, v in enumerate(x) if v > 0.9), (-1, 0.0))
    return i, v


def first_of_two_loops(x: Any) -> Any:
    found = ((i, j) for i in range(3) for j in range(i))  # no generator expression in the call
    places = next((24 * i + j for i in range(24) for j in range(i) if x[i] + x[j] > 1.8), -1)
    return places, next(found)[0]


def first_or_none(x: Any) -> Any:
    k = next((i for i, v in enumerate(x) if v > 0.9), None)
    if k is None:
        return -1.0
    return x[k]


def insertions(x: Any) -> Any:
    total, n = 0, len(x)
    for k in range(10):
        total += next((i for i in range(n) if x[i] >= 0.13 * k), n)
    return total


@pytest.mark.parametrize(
    "function",
    [first_place, first_value, first_pair, first_of_two_loops, first_or_none, insertions],
)
def test_next_of_a_generator(function: Any) -> None:
    alike(function, X, X[::-1], 0.1 * X)


def test_next_of_what_is_known() -> None:
    @np.jit
    def f(x: Any) -> Any:
        names = iter(["a", "b"])
        assert next(names) == "a"
        assert next((n for n in ("c", "d") if n > "c"), None) == "d"
        return x + (1 if next(names) == "b" else 2)

    assert float(f(np.array(1.0))) == 2.0


def test_derivative_of_next() -> None:
    def f(x: Any) -> Any:
        return next((v * v for v in x if v > 0.9), 0.0)

    wanted = numpy.zeros(24)
    place = int(numpy.argmax(X > 0.9))
    wanted[place] = 2 * X[place]
    numpy.testing.assert_allclose(np.grad(np.jit(f))(np.array(X)), wanted)
    both = np.vmap(f)(np.array([X, 0.1 * X]))
    numpy.testing.assert_allclose(both, [X[place] ** 2, 0.0])


# -- itertools -------------------------------------------------------------------------------------


def rises(x: Any) -> Any:
    count = 0
    for a, b in itertools.pairwise(x):
        if a < b:
            count += 1
    return count


def numbered_rises(x: Any) -> Any:
    total = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(x)):
        if a < b:
            total += i * b
    return total


def parts(x: Any) -> Any:
    total = 0.0
    for v in itertools.islice(x, 3, None, 2):
        total += v if v > 0.5 else -1.0
    for v in itertools.islice(x, 20):
        total = total * 0.9 + v
    for i in itertools.islice(range(100), 5, 80, 4):
        total += x[i % len(x)] * i
    for v in itertools.islice(x, 0):
        total += v
    return total


def nearest(x: Any) -> Any:
    best, pair = numpy.inf, (-1, -1)
    for i, j in itertools.combinations(range(len(x)), 2):
        if (d := abs(x[i] - x[j])) < best:
            best, pair = d, (i, j)
    return best, *pair


def triangles(x: Any) -> Any:
    count = 0
    for a, b, c in itertools.combinations(x[:12], 3):
        if a < b + c:
            count += 1
    return count


def ordered_pairs(x: Any) -> Any:
    total = 0.0
    for i, j in itertools.permutations(range(len(x)), 2):
        if x[i] < x[j]:
            total += x[i] * i - j
    for a, b in itertools.combinations_with_replacement(x, 2):
        total += a * b
    return total


def of_lists(x: Any) -> Any:
    total = 0.0
    for i, j in itertools.combinations([0, 3, 5, 7], 2):
        total += x[i] if x[i] < x[j] else 1.0
    for i, j in itertools.pairwise([2, 3, 1]):
        total += x[i] * x[j]
    return total


@pytest.mark.parametrize(
    "function", [rises, numbered_rises, parts, nearest, triangles, ordered_pairs]
)
def test_itertools(function: Any) -> None:
    alike(function, X, X[::-1])


def test_itertools_of_short_and_known() -> None:
    for function in (of_lists, rises, nearest):
        for case in (X, X[:1].repeat(9)):
            assert outcome(np.jit(function), np.array(case)) == outcome(function, case)
    for function in (rises, nearest):
        for n in (0, 1, 2):
            assert outcome(np.jit(function), np.array(X[:n])) == outcome(function, X[:n])

    def wrong(x: Any) -> Any:
        for v in itertools.islice(x, -1):
            x = x + v
        return x

    assert outcome(np.jit(wrong), np.array(X)) == outcome(wrong, X)


def test_what_has_begun_goes_on() -> None:
    @np.jit
    def f(x: Any) -> Any:
        places, total = iter(range(24)), 0.0
        for i in itertools.islice(places, 2):
            total += x[i]
        for i, j in itertools.pairwise(itertools.islice(places, 3)):
            total += x[i] * x[j]
        return total, next(places)

    total, place = f(np.array(X))
    numpy.testing.assert_allclose(total, X[0] + X[1] + X[2] * X[3] + X[3] * X[4])
    assert int(place) == 5


def test_functions_for_itertools() -> None:
    def f(x: Any) -> Any:
        out = x.copy()
        for i, v in enumerate(itertools.accumulate(x, max)):
            out[i] = v
        return out, functools.reduce(min, x)

    assert outcome(np.jit(f), np.array(X)) == outcome(f, X.copy())


def test_forces_between_pairs() -> None:
    def energy(p: Any) -> Any:
        total = 0.0
        for i, j in itertools.combinations(range(len(p)), 2):
            d = p[i] - p[j]
            total += 1 / (d @ d + 0.1)
        return total

    numpy.testing.assert_allclose(np.jit(energy)(np.array(POINTS)), energy(POINTS))
    step = numpy.random.default_rng(5).normal(size=POINTS.shape)
    slope = (energy(POINTS + 1e-6 * step) - energy(POINTS - 1e-6 * step)) / 2e-6
    found = np.grad(np.jit(energy))(np.array(POINTS))
    numpy.testing.assert_allclose((numpy.asarray(found) * step).sum(), slope, rtol=1e-6)


def test_itertools_and_writes() -> None:
    """Python reads all operands of `combinations` first, and one of `pairwise` a round before."""

    def chosen(x: Any) -> Any:
        total = 0.0
        for k, (a, b) in enumerate(itertools.combinations(x, 2)):
            total += a * b * k
            x[k % 24] = -1.0
        return total

    assert outcome(np.jit(chosen), np.array(X)) == outcome(chosen, X.copy())

    def spread(x: Any) -> Any:
        for i, (a, b) in enumerate(itertools.pairwise(x)):
            x[i + 1] = a + b
        return x

    with pytest.raises(TypeError, match="changes the array whose neighbours"):
        np.jit(spread)(np.array(X))

    def rows(x: Any) -> Any:  # which are views
        p = x.reshape(8, 3)
        for a, b in itertools.pairwise(p):
            b += a
        for a, b in itertools.combinations(p, 2):
            a -= 0.01 * b
        return p

    assert outcome(np.jit(rows), np.array(X)) == outcome(rows, X.copy())


# -- count -----------------------------------------------------------------------------------------


def first_above(x: Any) -> Any:
    for i in itertools.count():
        if x[i] > 0.9:
            break
    return i


def odd_places(x: Any) -> Any:
    total = 0.0
    for i in itertools.count(1, 2):
        if total > 3:
            break
        if x[i] < 0.2:
            continue
        total += x[i]
    return total, i


def returned(x: Any) -> Any:
    v = x[0] + 1
    for k in itertools.count(1):
        new = v - (v * v - 2) / (2 * v)
        if abs(new - v) < 1e-12:
            return v, k
        v = new


def inside_a_loop(x: Any) -> Any:
    total = 0
    for k in range(20):
        for i in itertools.count():
            if x[(i + k) % 24] > 0.7:
                break
            total += i
    return total


def beside_others(x: Any) -> Any:
    total = 0.0
    for i, v, j in zip(itertools.count(5), x, itertools.count(0, -2)):
        if v > 0.5:
            total += i * v + j
    return total


@pytest.mark.parametrize(
    "function", [first_above, odd_places, returned, inside_a_loop, beside_others]
)
def test_count(function: Any) -> None:
    alike(function, X, X[::-1])


def test_count_that_ends_for_a_known_reason() -> None:
    @np.jit
    def f(x: Any) -> Any:
        for i in itertools.count():
            if i > 4:
                break
        assert type(i) is int
        return x[i] + ([1, 2, 1].count(1) + "abca".count("a"))

    assert float(f(np.array(X))) == X[5] + 4


def test_count_beyond_an_array() -> None:
    assert outcome(first_above, 0.1 * X) == outcome(np.jit(first_above), np.array(0.1 * X))


def test_derivatives_and_batches_of_count() -> None:
    def root(x: Any) -> Any:
        v = x
        for _ in itertools.count():
            new = v - (v * v - x) / (2 * v)
            if abs(new - v) < 1e-12:
                break
            v = new
        return v

    assert abs(float(np.grad(np.jit(root))(np.array(2.0))) - 0.5 / 2**0.5) < 1e-12
    many = np.vmap(np.jit(root))(np.array([1.0, 2.0, 50.0]))
    numpy.testing.assert_allclose(many, numpy.sqrt([1.0, 2.0, 50.0]))


# -- tests -----------------------------------------------------------------------------------------


def test_arrays_of_one_element_in_a_test() -> None:
    """An operand of `and` in a test counts by its truth, whatever its shape."""

    def f(x: Any) -> Any:
        y, k = x[:1] * 0, 0
        while y < 3 and k < 50:
            y = y + x[k % len(x)]
            k += 1
        if k > 4 or y > 2:
            k += 100
        return y, k

    alike(f, X, 0.01 * X)
