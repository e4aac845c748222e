"""Statements in loops that continue as programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import MARKS, check, every_loop  # noqa: F401
from tests.statement_programs import STAYING, TAKEN

pytestmark = MARKS


@pytest.mark.parametrize("name", TAKEN)
def test_the_loop_leaves_what_python_leaves(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", STAYING)
def test_loops_that_stay_with_python(name: str, tmp_path: Path) -> None:
    check(STAYING[name], tmp_path, taking=False)
