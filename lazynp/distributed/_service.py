"""The service of a group of processes: who is there, who has come where, who was lost.

It lives in the launcher, or in a process of its own, so that no process of the group is needed to
tell of the loss of another. An operation of several processes begins when all of them have come to
it, and are about to do the same. So a process that does not come, or does something else, is found
before any data moves.

All runs in one thread. Nothing here waits for one process.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from lazynp.distributed._wire import Incoming, family_of, free_port, joined, packed, text_of

_LOOK = 0.1  # seconds between two looks at the clock


class _Member:
    """A process, and the connection to it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.incoming = Incoming()
        self.outgoing = bytearray()
        self.index = -1  # until it has said who it is
        self.devices = 0
        self.heard = time.monotonic()
        self.last = ""  # the operation that it came to last, and its line
        self.done = 0  # how many operations it came to


class _Meeting:
    """An operation to which some have come."""

    def __init__(self, members: tuple[int, ...], timeout: float) -> None:
        self.members, self.began, self.timeout = members, time.monotonic(), timeout
        self.came: dict[int, tuple[str, str, bytes]] = {}  # what, where, payload

    def missing(self) -> list[int]:
        return [m for m in self.members if m not in self.came]

    def waiting(self) -> str:
        """Who waits, where."""
        return ", ".join(f"process {i} at {where}" for i, (_, where, _) in self.came.items())

    def what(self) -> str:
        return next(iter(self.came.values()))[0].partition(" ")[0]


Start = Callable[[str, int], Any]  # starts jaxlib's service at an address, for so many


class Service:
    """Serves one group at an address. `close` ends it."""

    def __init__(self, host: str, port: int, start: Start) -> None:
        self._listener = socket.socket(family_of(host))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((host, port))
        self._listener.listen(1024)
        self._listener.setblocking(False)
        self.host, self.port = host, self._listener.getsockname()[1]
        self._start = start
        self._jaxlibs: Any = None  # jaxlib's service
        self._ready = False  # whether all have come
        self._count = 0
        self._heartbeat = 10.0
        self._members: dict[int, _Member] = {}
        self._ended: dict[int, str] = {}  # how each process left
        self._meetings: dict[tuple[tuple[int, ...], int], _Meeting] = {}
        self.failure: dict[str, Any] | None = None
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self.began = time.monotonic()

    @property
    def deserted(self) -> bool:
        """Whether nobody is connected."""
        return len(self._selector.get_map()) == 1

    def left(self) -> list[int]:
        """The processes that have left or were lost, in this order."""
        return list(self._ended)

    def in_background(self) -> Service:
        threading.Thread(target=self.run, name="lazynp: service", daemon=True).start()
        return self

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        while not self._closing and not until():
            for key, events in self._selector.select(_LOOK):
                if key.data is None:
                    self._accept()
                    continue
                if events & selectors.EVENT_WRITE:
                    self._write(key.data)
                if events & selectors.EVENT_READ:
                    self._read(key.data)
            self._look_at_the_clock()
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]

    def close(self) -> None:
        self._closing = True

    # -- connections -------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(connection, selectors.EVENT_READ, _Member(connection))

    def _read(self, member: _Member) -> None:
        if member.connection.fileno() < 0:
            return
        try:
            data = member.connection.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._gone(member)
            return
        member.heard = time.monotonic()
        try:
            messages = member.incoming.add(data)
            for header, payload in messages:
                getattr(self, "_on_" + header["op"])(member, header, payload)
        except (ValueError, KeyError, AttributeError, TypeError):  # it speaks another language
            self._gone(member)

    def _send(self, member: _Member, header: dict[str, Any], payload: bytes = b"") -> None:
        member.outgoing += packed(header, payload)
        self._write(member)

    def _write(self, member: _Member) -> None:
        if member.connection.fileno() < 0:
            return
        try:
            sent = member.connection.send(member.outgoing)
            del member.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            member.outgoing.clear()  # reading will tell
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if member.outgoing else 0)
        self._selector.modify(member.connection, events, member)

    def _gone(self, member: _Member) -> None:
        self._selector.unregister(member.connection)
        member.connection.close()
        index = member.index
        if self._members.get(index) is not member:
            return
        if not self._ready:
            del self._members[index]  # it may come again
        elif index not in self._ended:
            self._lose(index, "its connection was closed without a word")

    # -- messages ----------------------------------------------------------------------------------

    def _on_hello(self, member: _Member, header: dict[str, Any], _: bytes) -> None:
        index, count = header["process"], header["count"]
        why = ""
        if self._ready or index in self._members:
            why = f"there is a process {index} already"
        elif self._members and count != self._count:
            why = f"num_processes is {count} in process {index} and {self._count} in another"
        if why:
            self._send(member, {"op": "refused", "why": why})
            return
        self._count, self._heartbeat = count, header["heartbeat"]
        member.index, member.devices = index, header["devices"]
        self._members[index] = member
        present = sorted(self._members)
        for m in self._members.values():
            self._send(m, {"op": "present", "processes": present})
        if len(present) == count:
            self._begin()

    def _begin(self) -> None:
        address = text_of(self.host, free_port(self.host))
        self._jaxlibs = self._start(address, self._count)
        self._ready = True
        devices = [self._members[i].devices for i in range(self._count)]
        now = time.monotonic()
        for member in self._members.values():
            member.heard = now
            self._send(member, {"op": "welcome", "address": address, "devices": devices})

    def _on_beat(self, member: _Member, header: dict[str, Any], _: bytes) -> None:
        self._send(member, {"op": "beat"})

    def _on_come(self, member: _Member, header: dict[str, Any], payload: bytes) -> None:
        members, what, where = tuple(header["members"]), header["what"], header["where"]
        member.done += 1
        member.last = f"operation {member.done} ({what.partition(' ')[0]}) at {where}"
        if self.failure is not None:
            return
        key = members, header["n"]
        meeting = self._meetings.setdefault(key, _Meeting(members, header["timeout"]))
        meeting.came[member.index] = what, where, payload
        missing = meeting.missing()
        if missing:
            self._find_ended(meeting)
            return
        del self._meetings[key]
        kinds = {w for w, _, _ in meeting.came.values()}
        if len(kinds) > 1:
            self._differ(meeting)
            return
        sizes, together = joined([meeting.came[m][2] for m in members])
        for m in members:
            self._send(
                self._members[m],
                {"op": "go", "members": members, "n": header["n"], "sizes": sizes},
                together,
            )

    def _differ(self, meeting: _Meeting) -> None:
        """They have come to different operations: the fewer are those that went astray."""
        kinds = [w for w, _, _ in meeting.came.values()]
        usual = max(kinds, key=kinds.count)
        astray = max(i for i, (w, _, _) in meeting.came.items() if w != usual)
        if all(w.startswith("program ") for w in kinds):
            why = "another program, or other values of arrays that are not split,"
        elif all(w.startswith("save ") for w in kinds):
            why = "save another path, tree, or shape, dtype or sharding of an array"
        else:
            names = sorted({"a program" if w.startswith("program ") else w for w in kinds})
            why = f"another operation ({', '.join(names)})"
        self._fail(astray, f"process {astray} came to {why} than others: {meeting.waiting()}")

    def _on_failed(self, member: _Member, header: dict[str, Any], _: bytes) -> None:
        self._fail(member.index, f"process {member.index} failed: {header['why']}")

    def _on_bye(self, member: _Member, header: dict[str, Any], _: bytes) -> None:
        self._ended[member.index] = header["how"]
        for meeting in list(self._meetings.values()):
            self._find_ended(meeting)

    # -- failures ----------------------------------------------------------------------------------

    def _find_ended(self, meeting: _Meeting) -> None:
        for index in meeting.missing():
            if index in self._ended:
                self._fail(
                    index,
                    f"process {index} {self._ended[index]} and does not come to the "
                    f"{meeting.what()} for which {meeting.waiting()} waits"
                    f"{self._last_of(index)}",
                )

    def _last_of(self, index: int) -> str:
        member = self._members.get(index)
        return f"; it was last at {member.last}" if member is not None and member.last else ""

    def _lose(self, index: int, why: str) -> None:
        self._ended[index] = "was lost"
        self._fail(index, f"process {index} was lost: {why}{self._last_of(index)}")

    def _fail(self, index: int, why: str) -> None:
        """The first failure ends all operations of several processes."""
        if self.failure is not None:
            return
        self.failure = {"op": "failed", "lost": index, "why": why}
        for member in self._members.values():
            self._send(member, self.failure)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if not self._ready or self.failure is not None:
            return
        for index, member in self._members.items():
            if index not in self._ended and now - member.heard > self._heartbeat:
                self._lose(index, f"it gave no sign of life for {self._heartbeat:g} s")
                return
        for meeting in self._meetings.values():
            if now - meeting.began > meeting.timeout:
                late = meeting.missing()[0]
                self._fail(
                    late,
                    f"process {late} did not come within {meeting.timeout:g} s to the "
                    f"{meeting.what()} for which {meeting.waiting()} waits{self._last_of(late)}",
                )
                return


__all__ = ["Service"]
