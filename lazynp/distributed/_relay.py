"""Stands between jaxlib's client and jaxlib's service, in the client's process.

If the service goes away, jaxlib's client ends its process by abort. Here it only finds that nobody
answers any more; `_group` notices the loss and raises an error.
"""

from __future__ import annotations

import contextlib
import socket
import threading

_held: list[socket.socket] = []  # connections whose other end is gone, never closed


def relay(host: str, port: int) -> str:
    """The address of a relay to this one."""
    listener = socket.create_server(("127.0.0.1", 0))
    _started(_serve, listener, host, port)
    return f"127.0.0.1:{listener.getsockname()[1]}"


def _started(function: object, *args: object) -> None:
    threading.Thread(target=function, args=args, name="lazynp: relay", daemon=True).start()  # type: ignore[arg-type]


def _serve(listener: socket.socket, host: str, port: int) -> None:
    while True:
        near, _ = listener.accept()
        _held.append(near)
        try:
            far = socket.create_connection((host, port), 10)
        except OSError:
            continue
        far.settimeout(None)
        _started(_pump, near, far)
        _started(_pump, far, near)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)


__all__ = ["relay"]
