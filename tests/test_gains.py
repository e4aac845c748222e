"""Whether programs of a running loop pay: decisions from given times, without a clock."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from lazynp._promotion import _gains
from lazynp._promotion._gains import FASTER, Gains, Slower

pytestmark = pytest.mark.own_policy


class Clock:
    """Runs that take `copying` and `each` round, and more than that when the machine is busy."""

    def __init__(self, copying: float, each: float, noise: Callable[[], float]) -> None:
        self.copying, self.each, self.noise = copying, each, noise
        self.spent, self.counts = 0.0, list[int]()

    def run(self, count: int) -> tuple[float, int]:
        seconds = (self.copying + self.each * count) * (1 + self.noise())
        self.spent += seconds
        self.counts.append(count)
        return seconds, count


def quiet() -> float:
    return 0.0


def test_a_round_that_copies_what_a_program_has_made_tells_nothing() -> None:
    """Of 10 MB, in a round of 4 ms: the next round does not copy, and tells. Of 10 kB: it tells."""
    gains = Gains(4e-3)
    for written, copies in ((10_000_000, True), (10_000, False)):
        gains.written = written
        assert gains.was_copying(4e-3) == copies
        assert not gains.was_copying(4e-3)


def test_many_rounds_pay_where_few_cost_the_copying() -> None:
    """Rounds of a microsecond, and 2 ms of copying: 100 of them tell nothing."""
    slips = iter([0.25, 0.25, 0.25] + [0.0] * 99)  # the first runs are slow
    clock = Clock(2e-3, 1e-8, lambda: next(slips))
    count, seconds = Gains(1e-6).paying(clock.run, 100, 2, 10**6, 0.1)
    assert seconds <= FASTER * 1e-6 * count
    assert clock.spent < 0.1


def test_a_program_that_no_number_of_rounds_makes_faster() -> None:
    clock = Clock(2e-3, 3e-6, quiet)
    with pytest.raises(Slower, match="of Python's time"):
        Gains(1e-6).paying(clock.run, 100, 2, 10**6, 0.1)
    assert clock.spent < 0.1


@given(
    st.floats(1e-6, 1e-2), st.floats(1e-9, 1e-3), st.floats(1e-7, 1e-2), st.integers(1, 3),
    st.integers(1, 4000), st.integers(0, 2**20),
)  # fmt: skip
def test_what_pays_is_found_within_the_time(
    copying: float, each: float, rate: float, period: int, periods: int, seed: int
) -> None:
    slip = random.Random(seed)
    clock = Clock(copying, each, lambda: 0.3 * slip.random())
    fewest, most = max(2, period), max(2, period) * periods
    first = min(most, fewest * 10)
    allowed = 0.05
    try:
        count, seconds = Gains(rate).paying(clock.run, first, fewest, most, allowed)
    except Slower:
        pass
    else:
        assert first <= count <= most and count % fewest == 0
        assert seconds <= FASTER * rate * count
    largest = max(clock.counts)
    assert largest <= most
    if largest > first:  # each number of rounds is tried three times at most
        assert copying + each * largest < 1.4 * allowed + copying


def test_what_takes_longer_by_estimate_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gains, "HOPELESS", 1.1)
    Gains(1e-3).expects(1e-3)
    with pytest.raises(Slower, match=r"would take 1\.2 of Python's time"):
        Gains(1e-3).expects(1.2e-3)


def test_programs_that_lose_are_given_up() -> None:
    gains = Gains(1e-3)
    for _ in range(3):
        gains.weigh(2e-3, 1)
    with pytest.raises(Slower):
        gains.weigh(2e-3, 1)


def test_the_rate_follows_rounds_that_become_shorter_and_longer() -> None:
    gains = Gains(1e-3)
    for seconds in (2e-3, 3e-3, 2.5e-3):
        gains.of_round(seconds, False)
    assert gains.rate == 2e-3
    gains.of_round(1e-4, False)
    assert gains.rate == 1e-4
    for _ in range(3):
        gains.of_round(5e-3, True)  # with effects
    assert gains.rate == 1e-4
