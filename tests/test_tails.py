"""Rounds that read the length and the last elements of lists to which they append."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import lazynp as np
from lazynp._promotion import taken
from tests.running import MARKS, assert_alike, check, every_loop, run  # noqa: F401
from tests.tail_programs import KEPT, TAKEN

pytestmark = MARKS


@pytest.mark.parametrize("name", TAKEN)
def test_the_loop_leaves_what_python_leaves(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", KEPT)
def test_other_reads_are_right(name: str, tmp_path: Path) -> None:
    """Whether the loop is taken or not."""
    taken.clear()
    assert_alike(run(KEPT[name], np, tmp_path), run(KEPT[name], numpy, tmp_path))
