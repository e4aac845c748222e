"""The index of tests is current, and every engine room has tests of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index import ELSEWHERE, LIBRARY, PAGE, TESTS, named_after, page

ROOMS = sorted(p for p in LIBRARY.glob("_*.py") if not p.name.startswith("__"))


def test_the_index_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.index`"


@pytest.mark.parametrize("room", ROOMS, ids=lambda p: p.stem)
def test_an_engine_room_has_tests_of_its_name(room: Path) -> None:
    assert named_after(room.relative_to(LIBRARY))


def test_no_exception_is_left_over() -> None:
    for room, (tests, reason) in ELSEWHERE.items():
        assert (LIBRARY / f"{room}.py").exists() and (TESTS / tests).exists() and reason
        assert not (TESTS / f"test_{room.lstrip('_')}.py").exists()
