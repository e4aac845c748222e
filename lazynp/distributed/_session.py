"""The group of this process: how it begins, what its processes tell each other, how it ends."""

from __future__ import annotations

import atexit
import io
import operator
import pickle
import socket
import subprocess
import sys
import time
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array
from lazynp._config import config
from lazynp._errors import DistributedError
from lazynp._placed import USED
from lazynp._processes import ALONE, group, install
from lazynp.distributed._environment import said_place, said_timeout
from lazynp.distributed._group import Several, leave_process
from lazynp.distributed._relay import relay
from lazynp.distributed._wire import address_of
from lazynp.functions._operands import as_array
from lazynp.functions.creation import array as new_array

_RETRY = 0.05  # seconds
_initialized: list[bool] = []  # one entry, once it was
_services: list[Any] = []  # the process of the service, if this one started it


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    initialization_timeout: float | None = None,
    heartbeat_timeout: float | None = None,
    collective_timeout: float | None = None,
) -> None:
    """Become one of `num_processes` processes that run this program together.

    coordinator_address: host:port, the same in all; process 0 starts the service there if nobody
    answers. What is not given is read from LAZYNP_COORDINATOR, LAZYNP_NUM_PROCESSES,
    LAZYNP_PROCESS_ID, else from Open MPI's or SLURM's variables. In seconds, else from
    LAZYNP_INITIALIZATION_TIMEOUT, ...: how long the others are awaited at the beginning (60); after
    which silence a process counts as lost (10); how long an operation of several processes waits
    for one that does not come (300).

    Raises RuntimeError if it was called before, or a device was used; ValueError for numbers that
    do not fit; DistributedError if somebody is missing.
    """
    if _initialized:
        raise RuntimeError("initialize: it was called before, by the launcher or by this program")
    place = said_place()
    count = place.count if num_processes is None else num_processes
    index = place.index if process_id is None else process_id
    address = coordinator_address or place.coordinator
    patience = said_timeout("initialization", initialization_timeout)
    heartbeat = said_timeout("heartbeat", heartbeat_timeout)
    timeout = said_timeout("collective", collective_timeout)
    if count is None or index is None:
        missing = "num_processes" if count is None else "process_id"
        raise ValueError(f"initialize: {missing} is required: no variable says it")
    count, index = _integer("num_processes", count), _integer("process_id", index)
    if count < 1:
        raise ValueError(f"initialize: num_processes must be at least 1, got {count}")
    if not 0 <= index < count:
        raise ValueError(f"initialize: process_id must be 0 to {count - 1}, got {index}")
    if count > 1 and address is None:
        raise ValueError("initialize: coordinator_address is required: no variable says it")
    host, port = address_of(address) if address is not None else ("", 0)
    if lowering.has_client() or USED:
        raise RuntimeError("initialize: a device was used already; call it first")
    if count > 1:
        until = time.monotonic() + patience
        connection = _connected(host, port, index, count, until, patience)
        made = Several(connection, index, count, heartbeat, timeout)
        _join(made, address or "", until, patience)
        install(made)
        atexit.register(shutdown)
        lowering.at_last(_at_last)
    _initialized.append(True)


def _integer(name: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"initialize: {name} must be an integer, got {number!r}") from None


def _connected(
    host: str, port: int, index: int, count: int, until: float, patience: float
) -> socket.socket:
    """A connection to the service. Process 0 starts it if there is none."""
    started: Any = None
    while True:
        try:
            made = socket.create_connection(
                (host, port), max(min(until - time.monotonic(), 5), 0.1)
            )
        except OSError as error:
            why = error
        else:
            made.settimeout(None)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        if index == 0 and started is None:
            started = _start_service(host, port, count, patience)
        if started is not None and started.poll() is not None:
            said = started.stderr.read().strip().rpartition("\n")[2]
            raise DistributedError(
                f"initialize: the coordination service cannot be started at {host}:{port}: {said}"
            )
        if time.monotonic() > until:
            raise DistributedError(
                f"initialize: nobody answers at {host}:{port} within {patience:g} s: {why}"
            )
        time.sleep(_RETRY)


def _start_service(host: str, port: int, count: int, patience: float) -> Any:
    """The service in a process of its own, which outlives this one while others need it."""
    command = [sys.executable, "-m", "lazynp.distributed._serve", host, str(port), str(patience)]
    made = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    _services.append(made)
    return made


def _join(made: Several, address: str, until: float, patience: float) -> None:
    """Wait for the others; then make the client that knows everybody's devices."""
    made.send({
        "op": "hello", "process": made.index, "count": made.count,
        "devices": config.cpu_devices, "heartbeat": made.heartbeat,
    })  # fmt: skip
    made.wait(lambda: made.welcome is not None or bool(made.refused), until)
    if made.welcome is None:
        why = made.refused or made.failure
        if not why:
            missing = [i for i in range(made.count) if i not in made.present]
            names = ", ".join(map(str, missing))
            kind = "process" if len(missing) == 1 else "processes"
            why = f"{kind} {names} did not come within {patience:g} s"
        made.leave()
        raise DistributedError(f"initialize: {address}: {why}")
    host, port = address_of(made.welcome["address"])
    own = made.local_address
    client = made.run_aside(
        lambda: lowering.group_client(
            relay(host, port), made.index, made.count, config.cpu_devices, own, int(patience) + 1
        ),
        until + patience,
    )
    if client is None:
        why = made.failure or f"the devices of all could not be found within {patience:g} s"
        made.leave()
        raise DistributedError(f"initialize: {address}: {why}")
    made.has_client(*client)


def _at_last() -> None:
    here = group()
    if isinstance(here, Several) and here.is_stuck:
        leave_process(1)


def shutdown(how: str = "has ended") -> None:
    """Leave the group. Arrays of this process alone can be used on. Others that wait for this
    process, or do so later, raise DistributedError.
    """
    here = group()
    if isinstance(here, Several):
        here.leave(how)


def is_initialized() -> bool:
    """Whether `initialize` was called, and `shutdown` was not."""
    here = group()
    return bool(_initialized) and not (isinstance(here, Several) and here.closed)


# -- what the processes tell each other ------------------------------------------------------------


def _exchange(what: str, payload: bytes, timeout: float | None = None) -> list[bytes]:
    here = group()
    if isinstance(here, Several):
        return here.exchange(what, payload, timeout)
    return ALONE.exchange(what, payload)


def barrier(name: str | None = None, timeout: float | None = None) -> None:
    """Wait until all processes have come here.

    timeout: in seconds; by default that of all operations of several processes. Raises
    DistributedError if one does not come, or comes to a barrier of another name.
    """
    if timeout is not None and not timeout > 0:
        raise ValueError(f"barrier: timeout must be a positive number of seconds, got {timeout!r}")
    _exchange("barrier" if name is None else f"barrier {name!r}", b"", timeout)


def broadcast(tree: Any, source: int = 0) -> Any:
    """The tree that the process `source` gives; the others' are ignored. It must be picklable, and
    is unpickled: all processes trust each other.
    """
    here = group()
    if not 0 <= source < here.count:
        raise ValueError(f"broadcast: source must be 0 to {here.count - 1}, got {source}")
    payload, failed = b"", None
    if here.index == source:
        try:
            payload = b"\1" + pickle.dumps(tree, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # the others wait
            payload, failed = b"\0" + str(error).encode(), error
    found = _exchange(f"broadcast from {source}", payload)[source]
    if failed is not None:
        raise failed
    if not found.startswith(b"\1"):
        raise DistributedError(f"broadcast: process {source} failed: {found[1:].decode()}")
    return pickle.loads(found[1:])


def allgather(array: Any) -> Array:
    """The arrays of all processes, along a new first axis. Their shapes and dtypes must be the
    same: ValueError.
    """
    own = np.asarray(as_array(array))
    if own.dtype.hasobject:
        raise TypeError(f"allgather: an array without objects is required, got {own.dtype}")
    file = io.BytesIO()
    np.save(file, own, allow_pickle=False)
    every = [
        np.load(io.BytesIO(b), allow_pickle=False) for b in _exchange("allgather", file.getvalue())
    ]
    for i, other in enumerate(every):
        if other.shape != every[0].shape or other.dtype != every[0].dtype:
            raise ValueError(
                f"allgather: process {i} gave {other.dtype}{other.shape}, process 0 "
                f"{every[0].dtype}{every[0].shape}"
            )
    return new_array(np.stack(every))


__all__ = ["allgather", "barrier", "broadcast", "initialize", "is_initialized", "shutdown"]
