"""Under `jit`: builtins that use up generators, tables that are read by a traced index, rounding to
digits, messages of exceptions. Each is compared with Python. Nothing is compiled.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with np.config(execution="reference"):
        yield


def outcome(function: Any, *args: Any) -> Any:
    try:
        return repr(numpy.asarray(function(*args)))
    except (ArithmeticError, AssertionError, LookupError, ValueError) as error:
        return type(error), str(error)


def alike(function: Any, *cases: Any) -> None:
    """Under jit as in Python: values with their dtypes, or the exception."""
    jitted = np.jit(function)
    for case in cases:
        ours = np.array(case) if isinstance(case, list) else case
        plain = numpy.array(case) if isinstance(case, list) else case
        assert outcome(jitted, ours) == outcome(function, plain), case
    assert "unrolled" not in str(np.explain(jitted))


NUMBERS = [[1.5, -2.0, 3.25] * 4, [-1.0] * 12, [2.0] * 12, [0.0, 5.0, 1.0] * 4]


def squares(x: Any) -> Any:
    return sum(v * v for v in x if v > 0)


def differences(x: Any) -> Any:
    return sum([x[i] - x[j] for i in range(12) for j in range(i)])


def falling(x: Any) -> Any:
    return any(x[i] > x[i + 1] + 4 for i in range(11))


def positive(x: Any) -> Any:
    return all(v > 0 for v in x)


def largest(x: Any) -> Any:
    return max(abs(v) for v in x)


def least_positive(x: Any) -> Any:
    return min(v for v in x if v > 0)  # Python's exception without any


@pytest.mark.parametrize(
    "function", [squares, differences, falling, positive, largest, least_positive]
)
def test_generators(function: Any) -> None:
    cases = NUMBERS if function is not squares else NUMBERS[2:]  # 0 would be an int, or a float
    alike(function, *cases)


def test_what_a_generator_reads() -> None:
    def shadowed(x: Any) -> Any:
        v, total = 7.0, 0.0
        for k in range(10):
            total += sum(v * k for v in x) + v
        return total

    def own(x: Any) -> Any:
        sum = lambda values: [*values][0]  # noqa: E731
        return sum(v + 1 for v in x)

    alike(shadowed, *NUMBERS)
    assert np.jit(own)(np.array([1.0, 2.0])) == own([1.0, 2.0])
    assert np.jit(lambda: sum(0.1 for _ in range(10)))() == sum(0.1 for _ in range(10))


def test_the_extremes_of_an_array() -> None:
    nan, inf = float("nan"), float("inf")
    cases = [[3, 1, 2], [1.0, nan, 3.0], [nan, 1.0], [0.0, -0.0], [-0.0, 0.0], [-inf, nan], [inf]]
    alike(lambda x: max(x), *cases)
    alike(lambda x: min(x), *cases)
    slope = np.grad(lambda x: np.jit(lambda y: max(y))(x))(np.array([1.0, 4.0, 2.0]))
    assert slope.tolist() == [0.0, 1.0, 0.0]


def test_tables() -> None:
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def walked(k: Any) -> Any:
        y = x = 0
        for i in range(10):
            dy, dx = moves[(k[0] + i) % 4]
            y, x = y + dy, x + 2 * dx
        return y * 100 + x

    def looked_up(k: Any) -> Any:
        return [10, 20, 30][k[0]] if k[0] > -9 else 0

    def halves(k: Any) -> Any:
        return (0.5, 1.5)[k[0]] * 2 if k[0] > -9 else 0.0

    alike(looked_up, [0], [2], [-1], [-3], [3], [-4])
    alike(halves, [0], [1], [-2], [2])
    alike(walked, [0], [1], [7])

    def grown(x: Any, k: Any) -> Any:
        rows = [x[0], x[1] * 2]
        return rows[k] if k < 9 else 0.0

    x = np.array([3.0, 4.0])
    assert [float(np.jit(grown)(x, np.array(k))) for k in (0, 1, -1)] == [3.0, 8.0, 8.0]


WORD = "abracadabra"


def test_letters_at_a_traced_index() -> None:
    def compared(x: Any) -> Any:
        some = others = order = few = 0
        for i in range(len(x)):
            c = WORD[x[i]]
            some += 1 if c == "a" or "b" < c <= "c" else 0
            others += 1 if c != WORD[x[i] - 1] else 0
            order += ord(c) - ord("a")
            few += 1 if c == "ab" or c != "" and c >= "r" else 0
        return [some, others, order, few]

    alike(compared, [*range(11)], [-1] * 12, [10] * 12, [-11] * 12, [3, 11] * 6)

    def digits(x: Any) -> Any:
        return sum([WORD[i].isdigit() + x[0] for i in range(12 - 1)])

    assert np.jit(digits)(np.array([2])) == 22  # unrolled: each letter is known

    def texts(x: Any) -> Any:
        total = 0
        for i in range(len(WORD)):
            total += x[0] if isinstance(WORD[i], str) and f"{WORD[i]}" in "abc" else 0
        return total

    assert np.jit(texts)(np.array([2])) == 16


def test_rounding_to_digits() -> None:
    def rounded(x: Any) -> Any:
        y = float(x[0]) if x[0] == x[0] else 0.0
        return [round(y, 2), round(y, 0), round(y, 13)]

    rng = random.Random(4)
    ties = [0.125, 2.675, 1.005, -2.5, 0.5, -0.001, 1e300, 4503599627370497.5, 45035996273704.975]
    some = [rng.randrange(10**6) / 1000 + 0.005 for _ in range(20)]
    more = [rng.randrange(2**30) / 2 ** rng.randrange(20) for _ in range(20)]
    alike(rounded, *[[v] for v in [*ties, *some, *more, -0.0, float("inf")]])


def test_messages() -> None:
    def negative(x: Any) -> Any:
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError(f"element {i} of {len(x)} is negative")
            if x[i] == 0:
                raise IndexError("{} is zero".format(i))  # noqa: UP032
        return x.sum()

    def braces(x: Any) -> Any:
        if x[0] > 0:
            raise ValueError("use {} or {x}")
        return x

    alike(negative, *NUMBERS)
    alike(braces, [1.0], [0.0])


def test_a_bare_return() -> None:
    def sifted(x: Any) -> None:
        for start in range(5):
            _sift(x, start)

    for values in ([3.0, 9.0, 2.0, 7.0, 1.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]):
        ours, plain = np.array(values), numpy.array(values)
        assert np.jit(sifted)(ours) is None
        sifted(plain)
        assert ours.tolist() == plain.tolist()


def _sift(x: Any, i: Any) -> None:
    while 2 * i + 1 < len(x):
        k = 2 * i + 1
        if x[i] >= x[k]:
            return
        x[i], x[k] = x[k], x[i]
        i = k


def among(x: Any) -> Any:
    n = 0
    for i in range(12):
        k = int(x[i] * 4)
        n = n + 1 if k in (1, 3, 5) else n
        n = n - 10 if k not in {2, "a", None} else n
        n = n + (k in range(0, 90, 2)) * 100 + (k in range(500, -5, -3)) * 1000
        n = n + (0 < k in (1, 2)) * 10000
    return n


def among_elements(x: Any) -> Any:
    n = 0
    for i in range(12):
        n = n + (x[i] in x[:3]) + 100 * (2.0 in x) + 1000 * (x[i] in (x[1], 3))
    return n


@pytest.mark.parametrize("function", [among, among_elements], ids=lambda f: f.__name__)
def test_membership(function: Any) -> None:
    alike(function, *NUMBERS, [0.25, 0.5, 1.0] * 4, [30.5, 2.0, 7.25] * 4)


def test_membership_of_what_is_no_number() -> None:
    """Python's own: strings, dicts, and an array that is not a number."""

    def f(x: Any, key: str) -> Any:
        scale = 2.0 if key in {"double": 1} and "dou" in key else 1.0
        return x * scale if None not in (1, key) else x

    x = np.arange(3.0)
    assert np.jit(f, static_argnums=1)(x, "double").tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="truth value of an array .* is ambiguous"):
        np.jit(lambda y: y in (1, 2))(x)


def in_branches(x):
    if x.sum() > 0:
        return (x + numpy.zeros(3) + numpy.asarray([1.0, 2, 3])).sum()
    return (x * numpy.arange(3) + numpy.empty(3) * 0).sum()


def in_a_loop(x):
    s = 0.0
    for _ in range(100):
        w = numpy.array([1.0, 2, 3])
        few = numpy.fromiter((k for k in (1.0, 2)), float)
        s = s + (x * w).sum() + few.sum() + numpy.frombuffer(b"12345678", "i4")[0] * 0
        if s > 40:
            break
    return s


def in_a_while(x):
    while x.sum() > 0:
        x = x - numpy.ones(3, numpy.promote_types(x.dtype, "f4"))
    return x.sum()


@pytest.mark.parametrize("f", [in_branches, in_a_loop, in_a_while])
def test_numpys_constructors(f):
    for p in ([1.0, -2, 4], [-3.0, 1, 0.5]):
        x = np.array(p)
        numpy.testing.assert_allclose(np.jit(f)(x), f(numpy.array(p)))
        slope = np.jvp(np.jit(f), (x,), (np.ones(3),))[1]
        numpy.testing.assert_allclose(slope, np.jvp(f, (x,), (np.ones(3),))[1])


def test_what_writes_is_refused_still():
    into = numpy.zeros(3)

    def f(x):
        if x.sum() > 0:
            numpy.copyto(into, 1.0)
        return x

    with pytest.raises(TypeError, match="calls `copyto`"):
        np.jit(f)(np.ones(3))


# -- max and min over ranges -----------------------------------------------------------------------


def largest_of_traced(x):
    n = int(abs(x[0]))
    return max(x[i] * i for i in range(n)), min([x[i] for i in range(2, n)])


def with_default(x):
    n = int(abs(x[0]))
    return max((x[i] for i in range(1, n)), default=-5.0)


def picked_of_traced(x):
    n = int(abs(x[0]))
    return max(range(n), key=lambda i: x[i]), min(range(1, n), key=x.__getitem__)


def picked_of_known(x):
    def far(i):
        return sum(abs(x[i] - v) for v in x)

    names = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 9]
    known = max(range(len(names)), key=lambda i: names[i])
    return (
        min(range(len(x)), key=far),
        x[: len(names[:known])].sum(),
        max(range(9), key=lambda i: int(x[i] > 0)),
    )


def pivots(x):
    rows = []
    a = np.outer(x, x) + np.diag(np.cos(np.arange(len(x))))
    for k in range(len(x) - 1):
        p = max(range(k, len(x)), key=lambda i: abs(a[i, k]))
        if p != k:
            for j in range(len(x)):
                a[k, j], a[p, j] = a[p, j], a[k, j]
        rows.append(p)
    return np.array(rows)


def own_range(x):
    def range(n):
        return [n, n + 1]

    return max(range(3), key=lambda i: x[i]), min(x[i] for i in range(2))


@pytest.mark.parametrize(
    "f", [largest_of_traced, with_default, picked_of_traced, picked_of_known, pivots, own_range]
)
def test_extremes_over_ranges(f):
    """Also of traced bounds: by a loop, without a round for each number while tracing."""
    ties = [5.0, 2.0, 7.0, 7.0, -2.0, 2.0] + [7.0] * 6
    alike(
        f, [9.5, -2.0, 3.25] * 4, ties, [0.0, 1.0, numpy.nan] + [0.5] * 9, [-12.0] * 12, [1.0] * 12
    )


# -- tolist ----------------------------------------------------------------------------------------


def digits(x):
    number, count = 0, 0
    for c in (x * 20).astype(numpy.uint8).tolist():
        if 48 <= c <= 57:
            number = (number * 10 + c - 48) % 100003
        else:
            count += 1
    return number, count


def both_ways(x):
    total = 0.0
    for i, (v, w) in enumerate(zip(x.tolist(), reversed(x.tolist()))):
        total += v * i - w / 3
    return total


def of_a_copy(x):
    total = 0.0
    for v in x.tolist():
        x[0] += 1
        x[-1] = 0
        total += v
    return total


def of_parts(x):
    total = 0.0
    for row in x.reshape(3, -1):
        for v in row.tolist():
            total = total * 0.5 + v
    for v in (x > 1).tolist():
        total += v
    return total + sum(v * v for v in x[2:11].astype("f4").tolist()) + max(v for v in x.tolist())


def largest(x):
    best = None
    for v in x.tolist():
        if best is None or v > best:
            best = v
    return best


@pytest.mark.parametrize("f", [digits, both_ways, of_a_copy, of_parts, largest])
def test_loops_over_lists_of_arrays(f):
    """The numbers are Python's, and those that the array had before the loop."""
    alike(f, *NUMBERS, [2.5, 2.85, 2.4, 0.0] * 3)


def medians(x: Any) -> Any:
    y = x.copy()
    for i in range(2, 10):
        low, middle, high = sorted((x[i - 1], x[i], x[i + 1]))
        y[i] = middle * sorted([x[i - 2], x[i - 1], x[i], x[i + 1], x[i + 2]])[2] - low + high
    return y


def ends_in_order(x: Any) -> Any:
    total = 0
    for i in range(len(x)):
        low, high = sorted([i, 11 - i])
        total += low * 100 + high if x[i] > 0 else 0
    return total


def test_few_numbers_are_sorted_by_exchanges() -> None:
    alike(medians, *NUMBERS, [0.0, -0.0, 1.0] * 4, list(range(12)))
    alike(ends_in_order, *NUMBERS)
    assert "sort" not in str(np.jit(medians).lower(np.ones(12)).jaxpr)
    numpy.testing.assert_allclose(
        np.grad(lambda x: medians(x).sum())(np.arange(12.0) ** 2 % 7 + np.arange(12.0) / 99),
        np.grad(lambda x: np.jit(medians)(x).sum())(
            np.arange(12.0) ** 2 % 7 + np.arange(12.0) / 99
        ),
    )


def vowels(x: Any) -> Any:
    text, count = "some words to be read", 0
    for v in x:
        if text[int(v)] in "aeiou":
            count += 1
    return count


def in_bytes(x: Any) -> Any:
    count = 0
    for v in x:
        if int(v) in b"\x00\x02a":
            count += 1
        if int(v) not in b"\x05":
            count += 10
    return count


def from_bytes(x: Any) -> Any:
    total, table = 0, b"abcdef"
    for v in x:
        total = total + table[int(v)] * 3 % 7
    return total


def test_bytes_and_letters() -> None:
    alike(vowels, *NUMBERS)
    alike(in_bytes, [0, 2, 5, 97] * 3, [255] * 12, [-1] * 12, [0] * 11 + [256])
    alike(from_bytes, [0, 5, -6] * 4, [0] * 11 + [6], [-7] * 12)
    letters = numpy.frombuffer(b"([]a)" * 3, "u1")

    def brackets(x: Any) -> Any:
        depth = 0
        for c in x:
            if c in b"([":
                depth += 1
            elif c in b")]":
                depth -= 1
        return depth

    assert np.jit(brackets)(np.array(letters)) == brackets(letters)


OWN, PLACES = numpy.linspace(0, 1, 60).reshape(20, 3), numpy.arange(20)[::-1].copy()


def _read_own(x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        t += OWN[i][i % 3] * x[PLACES[i]] + OWN[PLACES[i]].sum()
        if x[i] > 0.5:
            t += OWN[int(x[i])][-1]
    return t


def test_traced_indices_of_numpys_own_arrays() -> None:
    x = numpy.linspace(0, 2, 20)
    jitted = np.jit(_read_own)
    numpy.testing.assert_allclose(jitted(x), _read_own(x), rtol=1e-12)
    assert "unrolled" not in str(np.explain(jitted))
    numpy.testing.assert_allclose(np.grad(jitted)(x), OWN[PLACES, PLACES % 3], rtol=1e-12)
    with pytest.raises(IndexError):
        np.jit(lambda x: OWN[int(x[0])] if x[0] > 0.5 else OWN[0])(numpy.array([25.0]))
