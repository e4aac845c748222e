"""How many programs a function of sizes may have."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from lazynp._allowance import NONE, Allowance, most


def test_there_are_so_many_and_no_more() -> None:
    room = 2
    allowance = Allowance(lambda: room)
    assert [allowance.take() for _ in range(4)] == [True, True, False, False]
    room = 3  # larger sizes were met
    assert [allowance.take() for _ in range(2)] == [True, False]
    assert not NONE.take()


def test_each_function_that_a_transformation_makes_has_its_own() -> None:
    allowance = Allowance(lambda: 1)
    assert allowance.take() and not allowance.take()
    assert allowance.of("jvp") is allowance.of("jvp") is not allowance.of("transpose")
    assert allowance.of("jvp").take() and not allowance.of("jvp").take()
    assert allowance.of("transpose").take()


def test_threads_take_no_more() -> None:
    allowance = Allowance(lambda: 100)
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: allowance.take(), range(400)))
    assert sum(taken) == 100


@pytest.mark.parametrize("largest", [2, 3, 4, 5, 1000, 1024, 1025])
def test_as_many_as_documented(largest: int) -> None:
    assert most(largest) == 2 * math.ceil(math.log2(largest)) + 4
