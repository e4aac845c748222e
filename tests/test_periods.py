"""Finding the period of what a loop records."""

from __future__ import annotations

import dis
from typing import Any

import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._node import CODE, OFFSET
from lazynp._periods import best_start, find_period
from lazynp._recorder import local
from tests.helpers import fresh_start

pytestmark = pytest.mark.own_policy


class _Op:
    """An op that nothing but its identity matters of."""


OPS = [_Op() for _ in range(12)]


def _nodes(letters: str) -> list[Any]:
    return [[OPS["abcdefghijkl".index(c)], (), None, None, 0] for c in letters]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", None),
        ("abc", None),
        ("abcabc", None),  # two rounds do not show a period
        ("abcabcabc", (0, 9, 3)),
        ("aaaa", (0, 4, 1)),
        ("xabab".replace("x", "l") + "ab", (1, 7, 2)),
        ("abcabcabcab", (0, 11, 3)),  # the last round is not complete
        ("kabcabcabcl", (1, 10, 3)),
        ("abbbbcabbbbcabbbbc", (0, 18, 6)),  # the outer loop covers more
        ("abbbbbbbbbbbbbbbbc", (1, 17, 1)),
        ("abcdefghij", None),
        ("abcabdabcabd", None),
        ("abcabdabcabdabcabd", (0, 18, 6)),
    ],
)
def test_find_period(letters: str, expected: Any) -> None:
    assert find_period(_nodes(letters)) == expected


def test_equal_operations_at_other_positions_are_others() -> None:
    nodes = _nodes("aaaaaa")
    code = test_find_period.__code__
    offsets = [i.offset for i in dis.get_instructions(code)]
    for i, node in enumerate(nodes):
        node[CODE], node[OFFSET] = code, offsets[i % 2]
    assert find_period(nodes) == (0, 6, 2)


@given(
    before=st.text("abcdefghijkl", max_size=5),
    unit=st.text("abcdefghijkl", min_size=1, max_size=8),
    rounds=st.integers(6, 9),
    after=st.text("abcdefghijkl", max_size=5),
)
@pytest.mark.hypothesis
def test_what_is_found_repeats_and_covers_the_rounds(
    before: str, unit: str, rounds: int, after: str
) -> None:
    letters = before + rounds * unit + after
    found = find_period(_nodes(letters))
    assert found is not None
    begin, end, period = found
    assert all(letters[i] == letters[i + period] for i in range(begin, end - period))
    assert end - begin >= rounds * len(unit)


def test_a_round_begins_where_the_least_is_alive() -> None:
    fresh_start()
    with np.config(execution="compiled", max_pending=1 << 20), local.recorder.recording():
        x = np.arange(500.0)
        for _ in range(4):
            y = x * 0.5
            z = y + x
            x = y * z
        nodes = list(local.recorder.pending)
        found = find_period(nodes)
        assert found is not None and found[2] == 3
        start = best_start(nodes, *found)
        names = [n[0].primitive.name for n in nodes[start : start + 3]]
        assert names == ["multiply", "add", "multiply"] and nodes[start][1][1] == 0.5
    fresh_start()
