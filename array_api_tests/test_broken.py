"""The suite can fail: each chapter finds the fault that `broken` puts into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from array_api_tests.support import MODULE

HERE = Path(__file__).parent
CHAPTERS = sorted(
    p.stem.removeprefix("test_") for p in HERE.glob("test_*.py")
    if p.stem not in ("test_broken", "test_table")
)  # fmt: skip


@pytest.mark.skipif(
    MODULE != "lazynp.array_api", reason="breaks a namespace of ours to be found out"
)
def test_every_chapter_fails_on_its_fault() -> None:
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-m", "array_api_tests.broken"],
        env={
            **os.environ,
            "PYTHONPATH": path,
            "LAZYNP_EXECUTION": "reference",
            "ARRAY_API_TESTS_JIT": "",
        },
        cwd=HERE.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    failures = json.loads(ran.stdout)
    assert sorted(failures) == CHAPTERS
    assert all(failures.values()), failures
