"""Functions under `jit` that call themselves."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms.control import _choice, _recursion


def doubled(x, n):
    return x if n <= 0 else doubled(x * 2, n - 1)


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def part(x, low, high):
    if high - low <= 1:
        return x[low]
    middle = (low + high) // 2
    return part(x, low, middle) + part(x, middle, high)


def in_a_loop(x, n):
    if n == 0:
        return x
    for _ in range(20):
        x = x + in_a_loop(x, n - 1)
    return x


class Node:
    def factorial(self, n):
        return 1 if n == 0 else self.factorial(n - 1) * n


def tree(x, k):
    if k == 0:
        return x
    if x > 0:
        return tree(x * 2, k - 1) + 1
    return tree(x + 3, k - 1)


factorial = Node().factorial


CALLS: list[tuple[Any, tuple[Any, ...], tuple[str, ...]]] = [
    (doubled, (1.5, 3), ("doubled",)),
    (fib, (5,), ("fib",)),
    (even, (6,), ("even", "odd")),
    (part, (numpy.arange(4.0), 0, 4), ("part",)),
    (in_a_loop, (1.5, 2), ("in_a_loop",)),
    (factorial, (5,), ("Node.factorial",)),
]


@pytest.mark.parametrize(("function", "args", "names"), CALLS, ids=lambda x: str(x)[:12])
def test_a_recursion_that_nothing_ends_is_one_error(
    function: Any, args: Any, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found when each function has been traced some hundred times, not more."""
    staged, count = _choice._staged, 0

    def counting(*args: Any) -> Any:
        nonlocal count
        count += 1
        return staged(*args)

    monkeypatch.setattr(_choice, "_staged", counting)
    with pytest.raises(RecursionError) as found:
        np.jit(function)(*map(np.array, args))
    assert count < 1000
    message = str(found.value)
    assert any(f"`{n}` calls itself where a branch depends on a traced" in message for n in names)
    assert "\n" not in message and len(traceback.extract_tb(found.tb)) < 40
    file, line = message.split(": ")[0].rsplit(":", 1)
    lines = Path(__file__).read_text().splitlines()
    assert file == __file__ and lines[int(line) - 1].startswith("    ")


KNOWN: list[tuple[Any, tuple[Any, ...]]] = [
    (doubled, (1.5, 3)), (fib, (9,)), (even, (6,)), (odd, (6,)), (factorial, (5,)),
    (part, (numpy.arange(4.0), 0, 4)), (tree, (-2.5, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), KNOWN, ids=lambda x: str(x)[:12])
def test_known(function: Any, args: Any) -> None:
    """Ints of Python's that decide where it ends become static."""
    given = [np.array(a) if not isinstance(a, int) else a for a in args]
    got = np.jit(function)(*given)
    assert numpy.asarray(got).tolist() == function(*args)


def test_a_jitted_function_that_calls_itself_knows_what_it_knew() -> None:
    @np.jit
    def raised(x: Any, k: Any = 5) -> Any:
        return x if k == 0 else raised(x + 1, k - 1)

    assert raised(np.array(1.0)) == 6.0


def test_a_tree_of_branches_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is known to end, but there are 2**n."""
    monkeypatch.setattr(_recursion, "NESTED", 2)
    monkeypatch.setattr(_recursion, "_CALLS", 9)
    with pytest.raises(RecursionError, match="`tree` calls itself in branches .* 9 calls"):
        np.jit(tree, static_argnums=1)(np.array(1.0), 6)
    assert np.jit(tree, static_argnums=1, loops="unroll")(np.array(1.0), 4) == 20.0


def knapsack(weights, values, k, room):
    if k == len(weights):
        return 0
    best = knapsack(weights, values, k + 1, room)
    if weights[k] <= room:
        best = max(best, values[k] + knapsack(weights, values, k + 1, room - weights[k]))
    return best


def test_the_limit_counts_calls_that_are_not_nested_deeply(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2**n of them also where n is less than ten."""
    monkeypatch.setattr(_recursion, "_CALLS", 20)
    weights, values = numpy.array([3, 4, 2, 5, 1, 6, 2]), numpy.array([5, 4, 3, 8, 1, 7, 2])
    ours, given = np.jit(knapsack), (np.array(weights), np.array(values))
    with pytest.raises(RecursionError, match="`knapsack` calls itself in branches .* 20 calls"):
        ours(*given, 0, 9)
    fewer = [x[:4] for x in given]
    assert ours(*fewer, 0, 9) == knapsack(weights[:4], values[:4], 0, 9)


def halves(x):
    if len(x) == 1:
        return x[0]
    middle = len(x) // 2
    return halves(x[:middle]) * 0.5 + halves(x[middle:])


def known_within(x, n):
    total = 0.0
    for k in range(n):
        for _ in range(20):
            if x[0] > k:
                total += halves(x)
    return total


def test_a_recursion_that_is_known_has_no_limit_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recursion, "_CALLS", 20)
    x = numpy.arange(64.0) + 3
    assert np.jit(known_within)(np.array(x), 30) == known_within(x, 30)
