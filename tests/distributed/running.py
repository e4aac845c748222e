"""Run a script in several processes, as users do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = """
import os, signal, sys, time
import numpy
import lazynp as np
from lazynp.distributed import *
k, n = np.process_index(), np.process_count()
P = np.PartitionSpec
def rows(count=None):
    devices = np.devices()[:count]
    return np.NamedSharding(np.make_mesh((len(devices),), ("x",), devices), P("x"))
"""
# A process that shall come late waits for the others to have raised, for so many seconds at most.
LATE = "[time.sleep(0.1) for _ in range({} * 10) if not os.path.exists(__file__ + '.told')]"
TOLD = "open(__file__ + '.told', 'w').close()"
LIMIT = 240.0  # seconds that any of them may take, on a busy machine


@dataclass
class Done:
    """What the processes did."""

    code: int
    lines: list[tuple[int, str]]
    errors: str

    def of(self, process: int) -> list[str]:
        return [line for k, line in self.lines if k == process]

    def error_of(self, process: int) -> str:
        """The last line that it wrote to stderr."""
        head = f"[{process}] "
        own = [line for line in self.errors.splitlines() if line.startswith(head)]
        return own[-1].removeprefix(head) if own else ""


def command(count: int, devices: int = 1, *target: str) -> list[str]:
    return [
        sys.executable, "-m", "lazynp.distributed", "-n", str(count), "--devices", str(devices),
        *target,
    ]  # fmt: skip


def environment(**settings: Any) -> dict[str, str]:
    given = {f"LAZYNP_{name.upper()}": str(value) for name, value in settings.items()}
    # On a busy machine, a process may be silent for longer than the default of 10 s.
    return {**os.environ, "LAZYNP_HEARTBEAT_TIMEOUT": "30", **given}


def script(folder: Path, text: str, head: str = HEAD) -> str:
    file = folder / "script.py"
    file.write_text(head + textwrap.dedent(text))
    return str(file)


def launched(
    folder: Path, text: str, count: int = 2, devices: int = 1, *args: str, **settings: Any
) -> Done:
    """Run a script with the launcher. settings: LAZYNP_SETTING."""
    done = subprocess.run(
        command(count, devices, script(folder, text), *args),
        env=environment(**settings), capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    lines = []
    for line in done.stdout.splitlines():
        found = re.match(r"\[(\d+)\] (.*)", line)
        assert found is not None, f"a line without its process: {line!r}"
        lines.append((int(found[1]), found[2]))
    return Done(done.returncode, lines, done.stderr)


@contextmanager
def started(commands: list[list[str]], **settings: Any) -> Iterator[list[Any]]:
    """Processes that are killed at the end of the block, if they are still there."""
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(c, env=environment(**settings), stdout=pipe, stderr=pipe, text=True)
        for c in commands
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()
