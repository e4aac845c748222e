"""The programs of docs/scale.md print what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.running import LIMIT

pytestmark = pytest.mark.own_policy  # it starts processes; the arrays are in test_group

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
PROGRAMS = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.S))
RUNS = re.findall(
    r"```sh\npython (-m lazynp.distributed [^\n]*? (\w+\.py))\n```\n```text\n(.*?)```", PAGE, re.S
)


@pytest.mark.parametrize(("command", "name", "printed"), RUNS, ids=[name for _, name, _ in RUNS])
def test_a_program_of_the_page(tmp_path: Path, command: str, name: str, printed: str) -> None:
    (tmp_path / name).write_text(PROGRAMS[name])
    done = subprocess.run(
        [sys.executable, *shlex.split(command)],
        cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    got, want = done.stdout.splitlines(), printed.splitlines()
    assert sorted(got) == sorted(want), done.stderr[-2000:]


def test_each_program_is_run() -> None:
    assert {name for _, name, _ in RUNS} == set(PROGRAMS) and len(RUNS) == 3
