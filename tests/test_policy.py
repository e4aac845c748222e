"""The policy as a function of what it has observed: tables of cuts, and the modes they lead to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from lazynp import _cost, _policy
from lazynp._policy import Cut, LoopPolicy, Mode

HERE = (1, 2)  # a position in the code


def _small(visits: int = 5, place: object = HERE, operations: int = 10) -> Cut:
    return Cut(operations, 0.0, place, visits, first=False, compiled=False)


def _large(gain: float = 1e4) -> Cut:
    return Cut(10, gain, HERE, 5, first=False, compiled=False)


def _novel(operations: int = 10, gain: float = 100.0) -> Cut:
    return Cut(operations, gain, HERE, 5, first=True, compiled=False)


def _after(cuts: Sequence[Cut]) -> list[Mode]:
    policy = LoopPolicy()
    return [policy.observe(cut) for cut in cuts]


F, R, E = Mode.FIRST, Mode.RECORD, Mode.EAGER


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_policy, "INITIAL", R)


@pytest.mark.parametrize(
    "cuts, modes",
    [
        # 64 operations in loops of small ones
        ([_small()] * 8, [R] * 6 + [E] * 2),
        ([_small(operations=65)], [E]),
        # one cut at a place is no loop, unless it is at a position of the code
        ([_small(visits=1, place="asked for")] * 10, [R] * 10),
        ([_small(visits=1)] * 7, [R] * 6 + [E]),
        # large ones count against it
        ([_small()] * 6 + [_large()] * 3 + [_small()] * 4, [R] * 12 + [E]),
        # programs never met before, at a place met often
        ([_novel()] * 8, [R] * 6 + [E] * 2),
        # one flush of many operations is no loop
        ([_novel(operations=200, gain=600 * _cost.RECORDING)] * 3, [R] * 2 + [E]),
        # a compiled program gains
        ([Cut(100, 0.0, HERE, 9, False, True)] * 4, [R] * 4),
    ],
)
def test_modes(cuts: list[Cut], modes: list[Mode]) -> None:
    assert _after(cuts) == modes


def test_at_first_the_mode_is_kept_until_a_loop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_policy, "INITIAL", F)
    assert _after([_small()] * 8) == [F] * 6 + [E] * 2
    assert _after([_large()] * 100) == [F] * 100
    policy = LoopPolicy()
    assert policy.mode is F
    assert [policy.observe_choice() for _ in range(_policy._CHOICES + 1)][-2:] == [F, E]


@pytest.mark.parametrize("before", [F, E])
def test_rounds_in_vain_make_it_wait_longer(before: Mode) -> None:
    policy = LoopPolicy()
    policy.mode = before
    waits = [policy.patience]
    for _ in range(3):
        policy.begin_rounds()
        assert policy.mode is R
        policy.end_rounds(math.inf)
        assert policy.mode is before
        waits.append(policy.patience)
    assert waits == [waits[0] * 4.0**i for i in range(4)]
    policy.begin_rounds()
    policy.end_rounds(0)  # a program ran them
    assert policy.mode is R


def test_programs_of_few_rounds_between_breaks_are_given_up() -> None:
    policy = LoopPolicy()
    waits = []
    for _ in range(3):
        policy.begin_rounds()
        policy.end_rounds(0)  # a program has run rounds ...
        policy.gains(100 * _policy._IN_VAIN)
        assert policy.break_rounds(101)  # ... but fewer operations than were recorded in vain
        assert policy.mode is E
        waits.append(policy.patience)
    assert waits == [_policy._PATIENCE_AGAIN * 4.0**i for i in (1, 2, 3)]
    policy.begin_rounds()
    policy.end_rounds(0)
    policy.gains(100 * _policy._IN_VAIN)
    assert not policy.break_rounds(100) and policy.mode is R  # it pays now
    assert policy.patience == _policy._PATIENCE_AGAIN
    assert not policy.break_rounds(10**6)  # no program has run any
    policy.gains(_policy._IN_VAIN)
    assert policy.break_rounds(2) and policy.patience == waits[0]  # it counts from the beginning


def test_novel_large_programs_need_many_visits() -> None:
    cuts = [_novel(gain=1e5)] * 40
    modes = _after(cuts)
    assert modes[: _policy._CHOICES] == [R] * _policy._CHOICES and modes[-1] is E


def test_after_novel_programs_any_size_is_done_at_once() -> None:
    policy = LoopPolicy()
    for _ in range(8):
        policy.observe(_novel())
    assert policy.mode is E and policy.largest == math.inf
    policy.reset()
    assert policy.mode is R and policy.largest < math.inf


def test_choices_by_data() -> None:
    policy = LoopPolicy()
    modes = [policy.observe_choice() for _ in range(_policy._CHOICES + 1)]
    assert modes == [R] * _policy._CHOICES + [E]
    policy.reset()
    for _ in range(_policy._CHOICES):
        policy.observe_choice()
    policy.observe(_large())  # what is large makes them count from the beginning
    assert policy.observe_choice() is R


@pytest.mark.parametrize("operations", [1, 3, 50])
def test_what_is_small(operations: int) -> None:
    edge = _cost.CUT + _cost.RECORDING * operations
    assert Cut(operations, edge, HERE, 5, False, False).small
    assert not Cut(operations, edge + 1.0, HERE, 5, False, False).small
    assert not Cut(operations, 0.0, HERE, 5, False, True).small


def test_memory_of_places_is_bounded() -> None:
    policy = LoopPolicy()
    for place in range(20_000):
        policy.observe(Cut(1, 1e6, (place, 0), 1, first=True, compiled=False))
    assert len(policy._novel_at) <= 1 << 13
