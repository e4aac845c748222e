"""Messages between the processes of a group and their service: a JSON header, and bytes."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_HEAD = struct.Struct("!IQ")  # the lengths of both
Message = tuple[dict[str, Any], bytes]


def packed(header: dict[str, Any], payload: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return _HEAD.pack(len(text), len(payload)) + text + payload


class Incoming:
    """Takes bytes as they come; gives the messages that are complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> list[Message]:
        self._bytes += data
        found: list[Message] = []
        while len(self._bytes) >= _HEAD.size:
            text, payload = _HEAD.unpack_from(self._bytes)
            middle, end = _HEAD.size + text, _HEAD.size + text + payload
            if len(self._bytes) < end:
                break
            header = json.loads(bytes(self._bytes[_HEAD.size : middle]))
            found.append((header, bytes(self._bytes[middle:end])))
            del self._bytes[:end]
        return found


def joined(parts: list[bytes]) -> tuple[list[int], bytes]:
    return [len(p) for p in parts], b"".join(parts)


def split(sizes: list[int], payload: bytes) -> list[bytes]:
    found, begin = [], 0
    for size in sizes:
        found.append(payload[begin : begin + size])
        begin += size
    return found


def address_of(text: str) -> tuple[str, int]:
    """The host and the port of an address. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"coordinator_address must be host:port, got {text!r}")
    return host.strip("[]"), int(port)


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def text_of(host: str, port: int) -> str:
    """The address as `address_of` reads it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def free_port(host: str) -> int:
    with socket.socket(family_of(host)) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


__all__ = [
    "Incoming",
    "Message",
    "address_of",
    "family_of",
    "free_port",
    "joined",
    "packed",
    "split",
    "text_of",
]
