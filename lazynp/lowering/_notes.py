"""Short notes on disk, beside the executables: what one process has found out, for later ones.

They need no jaxlib to be read. A note that is missing, damaged or not trusted is as good as none,
so nothing here is ever an error. Keys that share a file overwrite each other's notes. The signature
covers the key, so none is taken for another's.
"""

from __future__ import annotations

import os

from lazynp._config import config
from lazynp.lowering import _trust
from lazynp.lowering._loading import note_path

SUFFIX = ".note"
_LARGEST = 4096  # bytes
_SIGNATURE = 32

_trusted: set[str] = set()
_unusable: set[str] = set()  # directories


def noted(key: str) -> bytes | None:
    """The note of this key."""
    directory = config.cache
    if directory == "off" or directory in _unusable:
        return None
    try:
        secret = _secret(directory)
        if secret is None:
            return None
        with open(_trust.opened(note_path(key), _LARGEST), "rb") as file:
            said, text = file.read(_SIGNATURE), file.read()
    except (OSError, ValueError):
        return None
    except _trust.Refused:
        _unusable.add(directory)
        return None
    return text if _trust.is_signature(said, secret, key.encode(), text) else None


def note(key: str, text: bytes) -> None:
    """Keep a note for later processes, if that is possible."""
    directory, unfinished = config.cache, ""
    if directory == "off" or directory in _unusable:
        return
    try:
        _trust.make(directory)
        secret = _secret(directory) or _trust.make_secret(directory)
        handle, unfinished = _trust.begin_file(directory)
        with open(handle, "wb") as file:
            file.write(_trust.signature(secret, key.encode(), text) + text)
        os.replace(unfinished, note_path(key))
    except (OSError, _trust.Refused):
        _unusable.add(directory)
        if unfinished:
            _remove(unfinished)
    except BaseException:
        if unfinished:
            _remove(unfinished)
        raise


def _secret(directory: str) -> bytes | None:
    if directory not in _trusted:
        _trust.check(directory)
        _trusted.add(directory)
    return _trust.read_secret(directory)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
