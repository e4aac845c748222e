"""Runs tests in a process with eight CPU devices: the first program fixes their number.

`@on_eight` on a test sends its name and arguments to one worker, which lives as long as the
session.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

_HERE = "LAZYNP_TEST_WORKER"


class Worker:
    def __init__(self) -> None:
        environment = {**os.environ, _HERE: "1", "LAZYNP_CPU_DEVICES": "8"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.devices.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        atexit.register(self.process.kill)

    def call(self, module: str, name: str, args: Any, kwargs: Any) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump((module, name, args, kwargs), self.process.stdin)
        self.process.stdin.flush()
        try:
            failed = pickle.load(self.process.stdout)
        except EOFError:
            _workers.clear()
            raise AssertionError(f"the process ended: {self.process.wait()}") from None
        if failed:
            raise AssertionError(failed)


_workers: list[Worker] = []


def on_eight(test: Callable[..., None]) -> Callable[..., None]:
    """A test that runs in a process with eight devices. Its arguments are pickled."""

    @functools.wraps(test)
    def call(*args: Any, **kwargs: Any) -> None:
        if os.environ.get(_HERE):
            return test(*args, **kwargs)
        if not _workers:
            _workers.append(Worker())
        return _workers[0].call(test.__module__, test.__name__, args, kwargs)

    return call


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what tests print is not an answer
    while True:
        try:
            module, name, args, kwargs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        failed = ""
        try:
            getattr(importlib.import_module(module), name)(*args, **kwargs)
        except BaseException:
            failed = traceback.format_exc()
        pickle.dump(failed, answers)
        answers.flush()


if __name__ == "__main__":
    _serve()
