"""Starts the processes of a group on this machine, passes on their output, and ends them all.

The service of the group lives here, so any of the processes may die.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any, BinaryIO

from lazynp import lowering
from lazynp.distributed._environment import said_timeout
from lazynp.distributed._service import Service

_POLL = 0.02  # seconds
_GRACE = 10.0  # seconds that the others have, beside the heartbeat's, after one has failed
_TERMINATED = 5.0  # seconds between SIGTERM and SIGKILL
# What gloo prints to stdout: to whom it is connected. Several threads do, in pieces.
_NOISE = re.compile(
    rb"\[Gloo\] Rank|is connected to|peer ranks\.|Expected number of connected peer ranks is :"
)


Exit = tuple[int, int]  # of a process: its index, and its return code


class _Child:
    """A process, and the threads that pass on what it prints."""

    def __init__(
        self, index: int, command: list[str], environment: dict[str, str], exits: list[Exit]
    ) -> None:
        # a session of its own: signals of the terminal come from here, once
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.threads = [
            threading.Thread(target=_pass_on, args=(source, sink, b"[%d] " % index), daemon=True)
            for source, sink in (
                (self.process.stdout, sys.stdout.buffer),
                (self.process.stderr, sys.stderr.buffer),
            )
        ]
        for thread in self.threads:
            thread.start()
        threading.Thread(target=self._wait, args=(index, exits), daemon=True).start()

    def _wait(self, index: int, exits: list[Exit]) -> None:
        exits.append((index, self.process.wait()))

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)


_printing = threading.Lock()


def _pass_on(source: BinaryIO, sink: BinaryIO, head: bytes) -> None:
    amid = False  # whether a number that belongs to such a line may follow
    for line in source:
        rest, found = _NOISE.subn(b"", line)
        if (found or amid) and not rest.strip(b" \n0123456789"):
            amid = bool(found)
            continue
        amid = False
        with _printing, contextlib.suppress(OSError, ValueError):  # nobody may read it any more
            sink.write(head + line + (b"" if line.endswith(b"\n") else b"\n"))
            sink.flush()


def _environment(index: int, count: int, devices: int, port: int) -> dict[str, str]:
    return {
        **os.environ,
        "LAZYNP_COORDINATOR": f"127.0.0.1:{port}",
        "LAZYNP_NUM_PROCESSES": str(count),
        "LAZYNP_PROCESS_ID": str(index),
        "LAZYNP_CPU_DEVICES": str(devices),
        "PYTHONUNBUFFERED": "1",
    }


class _Signals:
    """Passes on the signals that ask to end; the second one kills."""

    def __init__(self, children: list[_Child]) -> None:
        self.children, self.came = children, 0
        self.before = {n: signal.signal(n, self.passed) for n in (signal.SIGINT, signal.SIGTERM)}

    def passed(self, number: int, frame: Any) -> None:
        self.came += 1
        for child in self.children:
            child.send(number if self.came == 1 else signal.SIGKILL)

    def restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def launch(count: int, devices: int, target: list[str]) -> int:
    """Run a script, or `-m module`, with its arguments, in so many processes. The exit code."""
    patience = said_timeout("heartbeat", None) + _GRACE
    service = Service("127.0.0.1", 0, lowering.coordination_service).in_background()
    command = [sys.executable, *_flags(), "-m", "lazynp.distributed._worker", *target]
    children: list[_Child] = []
    exits: list[Exit] = []  # in the order in which the processes were gone
    signals = _Signals(children)
    try:
        for index in range(count):
            if signals.came:
                break
            environment = _environment(index, count, devices, service.port)
            children.append(_Child(index, command, environment, exits))
        _watch(children, exits, signals, patience)
        return _first_failure(exits, service.left())
    finally:
        for child in children:
            child.send(signal.SIGKILL)
        for thread in [t for c in children for t in c.threads]:
            thread.join(2)  # longer only if it has children of its own that hold the pipe
        signals.restore()
        service.close()


def _flags() -> list[str]:
    """The options of this interpreter that count for the script too."""
    return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]


def _watch(children: list[_Child], exits: list[Exit], signals: _Signals, patience: float) -> None:
    """Wait for all of them; end those that stay long after one has failed."""
    end, terminated = 0.0, False
    while len(exits) < len(children):
        if (any(code for _, code in exits) or signals.came) and not end:
            end = time.monotonic() + patience
        if end and time.monotonic() > end:
            for child in children:
                child.send(signal.SIGKILL if terminated else signal.SIGTERM)
            end, terminated = time.monotonic() + _TERMINATED, True
        time.sleep(_POLL)


def _first_failure(exits: list[Exit], left: list[int]) -> int:
    """The exit code of the process that failed first. left: those that have told the service, in
    this order: one that fails because of another may be gone before it.
    """
    failed = {index: code for index, code in exits if code}
    first = next((i for i in [*left, *failed] if i in failed), None)
    return 0 if first is None else _exit_code(failed[first])


def _exit_code(code: int) -> int:
    return 128 - code if code < 0 else code


__all__ = ["launch"]
