"""This process as one of several: what it does together with the others.

A thread listens to the service, another gives signs of life. Programs of several processes run in a
third, because gloo cannot be interrupted: whoever waits for a process that was lost waits there,
while the user's thread raises an error. After the first failure, nothing of several processes runs:
a second try could meet another's first one, and return a wrong number.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any
from zlib import crc32

from lazynp._errors import DistributedError
from lazynp._positions import position
from lazynp._processes import Group
from lazynp._recorder import user_position
from lazynp.distributed._wire import Incoming, packed, split

_VERDICT = 1.0  # seconds that the service gets to say who was lost, after an error of gloo


class _Job:
    """Something that the thread for programs does."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work: Any = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.over = False


class Several(Group):
    """The group of which this process is one. All waiting can be interrupted."""

    def __init__(
        self, connection: socket.socket, index: int, count: int, heartbeat: float, timeout: float
    ) -> None:
        self.index, self.count = index, count
        self.heartbeat, self.timeout = heartbeat, timeout
        self.present: list[int] = []  # while the others are awaited
        self.welcome: dict[str, Any] | None = None
        self.refused = ""
        self.failure: str | None = None
        self.closed = False
        self._connection = connection
        self._news = threading.Condition()
        self._sending = threading.Lock()
        self._turn = threading.RLock()  # one operation of several processes at a time
        self._numbers: Counter[tuple[int, ...]] = Counter()
        self._answers: dict[Any, list[bytes]] = {}
        self._agreed = 0
        self._echo = time.monotonic()  # when the service was last heard
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._running = False
        self._client: Any = None
        self.kept: Any = None  # what jaxlib's client needs to stay alive
        for work in (self._listen, self._beat, self._execute):
            threading.Thread(target=work, name="lazynp: group", daemon=True).start()
        _groups.add(self)

    # -- threads -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        incoming = Incoming()
        while True:
            try:
                data = self._connection.recv(1 << 20)
            except OSError:
                data = b""
            if not data:
                self._fail("the coordination service was lost: its connection was closed")
                return
            for header, payload in incoming.add(data):
                self._hear(header, payload)

    def _hear(self, header: dict[str, Any], payload: bytes) -> None:
        with self._news:
            self._echo = time.monotonic()
            op = header["op"]
            if op == "go":
                key = tuple(header["members"]), header["n"]
                self._answers[key] = split(header["sizes"], payload)
            elif op == "failed" and self.failure is None:
                self.failure = header["why"]
            elif op == "present":
                self.present = header["processes"]
            elif op == "welcome":
                self.welcome = header
                self.devices = tuple(header["devices"])
            elif op == "refused":
                self.refused = header["why"]
            self._news.notify_all()

    def _beat(self) -> None:
        while self.failure is None and not self.closed:
            with contextlib.suppress(OSError):
                self.send({"op": "beat"})
            if self.welcome is not None and time.monotonic() - self._echo > self.heartbeat:
                self._fail(f"the coordination service gave no answer for {self.heartbeat:g} s")
            time.sleep(min(self.heartbeat / 4, 1.0))

    def _execute(self) -> None:
        while True:
            job = self._jobs.get()
            self._running = True
            try:
                job.result = job.work()
            except BaseException as error:
                job.error = error
            job.work = None
            with self._news:
                self._running, job.over = False, True
                self._news.notify_all()
            del job

    @property
    def is_stuck(self) -> bool:
        """Whether the thread for programs waits for a process that does not come."""
        return self._running

    def _fail(self, why: str) -> None:
        with self._news:
            if self.failure is None and not self.closed:
                self.failure = why
            self._news.notify_all()

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        with self._sending:
            self._connection.sendall(packed(header, payload))

    # -- what several do together ------------------------------------------------------------------

    def wait(self, ready: Callable[[], bool], until: float | None = None) -> bool:
        """Wait for something, or for a failure. Returns whether it is so."""
        with self._news:
            while not ready() and self.failure is None:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._news.wait(left)
            return ready()

    def _check(self) -> None:
        if self.closed:
            raise DistributedError("the processes no longer work together: shutdown() was called")
        if self.failure is not None:
            raise self._error()

    def _error(self) -> DistributedError:
        where = position(*user_position())
        return DistributedError(f"{self.failure} (process {self.index} is at {where})")

    def _come(
        self, members: tuple[int, ...], what: str, payload: bytes, timeout: float | None
    ) -> list[bytes]:
        self._check()
        self._numbers[members] += 1
        key = members, self._numbers[members]
        header = {
            "op": "come", "members": members, "n": key[1], "what": what,
            "where": position(*user_position()),
            "timeout": self.timeout if timeout is None else timeout,
        }  # fmt: skip
        try:
            self.send(header, payload)
        except OSError as error:
            self._fail(f"the coordination service was lost: {error}")
        if not self.wait(lambda: key in self._answers):
            raise self._error()
        return self._answers.pop(key)

    def exchange(self, what: str, payload: bytes, timeout: float | None = None) -> list[bytes]:
        with self._turn, self._interruptible():
            return self._come(tuple(range(self.count)), what, payload, timeout)

    def together(self, members: tuple[int, ...], what: str, job: Callable[[], Any]) -> Any:
        with self._turn, self._interruptible():
            what, self._agreed = f"{what} {self._agreed:08x}", 0
            self._come(members, what, b"", None)
            given = _Job(job)
            self._jobs.put(given)
            if not self.wait(lambda: given.over):
                raise self._error()
            if given.error is not None:
                self._give_up(given.error)
            return given.result

    def _give_up(self, error: BaseException) -> None:
        """A program failed here. If another process was lost, the service says so."""
        self.wait(lambda: False, time.monotonic() + _VERDICT)
        self._report(str(error).partition("\n")[0])
        raise self._error() from error

    def _report(self, why: str) -> None:
        if self.failure is None:
            self._fail(f"process {self.index} failed: {why}")
            with contextlib.suppress(OSError):
                self.send({"op": "failed", "why": why})

    @contextlib.contextmanager
    def _interruptible(self) -> Any:
        """Whoever leaves an operation half done cannot take part in another."""
        try:
            yield
        except DistributedError:
            raise
        except BaseException as error:
            self._report(f"interrupted by {type(error).__name__}")
            raise

    def agree(self, data: Any) -> None:
        self._agreed = crc32(data.reshape(-1).view("u1") if data.size else b"", self._agreed)

    @property
    def local_address(self) -> str:
        """By which the other processes reach this one."""
        return self._connection.getsockname()[0]

    def client(self) -> Any:
        return self._client

    def has_client(self, client: Any, kept: Any) -> None:
        self._client, self.kept = client, kept

    def run_aside(self, work: Callable[[], Any], until: float) -> Any:
        """Do something that may take forever. Returns None if there was no time, or a failure."""
        given = _Job(work)
        self._jobs.put(given)
        self.wait(lambda: given.over, until)
        if given.error is not None:
            raise given.error
        return given.result

    def leave(self, how: str = "has ended", forked: bool = False) -> None:
        """Take no part any more. The others learn of it when they wait for this process."""
        if self.closed:
            return
        self.closed = True
        if not forked:
            with contextlib.suppress(OSError):
                self.send({"op": "bye", "how": how})
                self._connection.shutdown(socket.SHUT_WR)
        else:
            self._connection.close()


_groups: weakref.WeakSet[Several] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """The child must not keep the connection open, or nobody would notice that its parent died."""
    for group in list(_groups):
        group.leave(forked=True)


os.register_at_fork(after_in_child=_after_fork_in_child)


def leave_process(code: int) -> None:
    """End the process at once. A thread in gloo would end it by abort."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


__all__ = ["Several", "leave_process"]
