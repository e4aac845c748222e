"""Executables on disk, so that a program started again compiles nothing.

One file a program, in the directory `config.cache`. Its name is the digest of all that decided the
machine code: the text of the module, compile options, releases, what the CPU is. Code for another
CPU kills the process that runs it, so what a file was made for stands in it as well and is
compared before jaxlib sees any of it, with a digest of the contents.

Measured on two slow cores: to load takes 0.4 to 3 ms where to compile took 7 to 170, 15 to 50
times less, whatever the program; so all are kept. A file takes 2 to 12 kB (5 to 40 before
compression), to write it about 1 ms. It is written before the program first runs: jaxlib cannot
serialise a sort that has run.

Any number of processes may share a directory: files appear whole, by a rename. What cannot be
read is removed with one warning; where nothing can be written, nothing is. A directory that others
can write is not used (`_trust`), and each file is signed with the directory's secret.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import stat
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

from lazynp._config import config
from lazynp._version import __version__
from lazynp.lowering import _compat, _notes, _trust

_MOST = 256 << 20  # bytes in a directory
_LOOKED_AT = 1 << 8  # every so many files, written by any process, one looks through the directory
_LARGEST = _MOST // 4  # of a file
_MAGIC = b"lazynp executable 3\n"
_DIGEST = hashlib.sha256().digest_size
_SUFFIX, _UNFINISHED = ".xla", _trust.UNFINISHED

_problems: dict[str, str] = {}  # why a directory is not writable
_refused: dict[str, str] = {}  # why a directory is not used
_trusted: set[str] = set()
_warned = False


def state() -> str:
    """Where programs are stored, or why they are not."""
    if config.cache in _refused:
        return f"{config.cache}, not used: {_refused[config.cache]}"
    problem = _problems.get(config.cache)
    return config.cache if problem is None else f"{config.cache}, not written: {problem}"


# -- keys ------------------------------------------------------------------------------------------


def key_of(text: str, options: Any, target: str) -> bytes | None:
    """The key of a program; None if programs are not stored."""
    if config.cache == "off" or config.cache in _refused:
        return None
    digest = hashlib.sha256(_machine())
    for part in (target.encode(), options.SerializeAsString(), text.encode()):
        digest.update(b"%d\n" % len(part))
        digest.update(part)
    return digest.digest()


@functools.cache
def _machine() -> bytes:
    """Everything else that the machine code depends on: releases, settings, CPU, its user."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = [os.environ.get(name, "") for name in ("XLA_FLAGS", "NPROC", "PJRT_NPROC")]
    user = os.getuid() if hasattr(os, "getuid") else ""
    releases = (_MAGIC, __version__, _compat.RELEASE, sys.platform, platform.machine())
    parts = (releases, _cpu(), cores, settings, user)
    return hashlib.sha256(repr(parts).encode()).digest()


_TELLING = frozenset(
    "vendor_id,cpu family,model,model name,stepping,flags,Features,CPU implementer,"
    "CPU architecture,CPU variant,CPU part,isa,uarch,cpu,machine".split(",")
)


def _cpu() -> list[str]:
    """The features of the CPU: its model, and the features that the system enables."""
    found = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in _TELLING:
                    found.append(f"{name.strip()}:{value.strip()}")
                elif not line.strip() and found:
                    break  # the next core
    except OSError:
        pass
    return found or [platform.processor(), platform.node()]  # otherwise, identify this machine


# -- files -----------------------------------------------------------------------------------------


def load(key: bytes) -> bytes | None:
    """The serialised executable of this key, if there is a valid one."""
    directory, path = config.cache, _path(key)
    try:
        secret = _secret(directory)
        if secret is None:
            return None
        with open(_trust.opened(path, _LARGEST), "rb") as file:
            if file.read(len(_MAGIC) + 2 * _DIGEST) != _head(key):
                raise ValueError("it was made for something else")
            said, payload = file.read(_DIGEST), file.read(_LARGEST)
        if not _trust.is_signature(said, secret, _head(key), payload):
            raise ValueError("it is damaged, or was not written by lazynp")
        blob = zlib.decompress(payload)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except _trust.Refused as e:
        _refuse(directory, str(e))
        return None
    except (OSError, ValueError, zlib.error) as e:
        reject(key, str(e))
        return None
    try:
        os.utime(path)  # keeps files that are used
    except OSError:
        pass
    return blob


def _secret(directory: str, make: bool = False) -> bytes | None:
    """The secret of a directory that can be trusted; None if it has none. Raises `Refused`."""
    if directory not in _trusted:
        _trust.check(directory)
        _trusted.add(directory)
    return _trust.make_secret(directory) if make else _trust.read_secret(directory)


def _refuse(directory: str, why: str) -> None:
    """Use this directory no more, with a word about it."""
    if directory not in _refused:
        _refused[directory] = why
        warnings.warn(
            f"lazynp: compiled programs are not kept, {why}. See lazynp.config.cache",
            RuntimeWarning,
            stacklevel=2,
        )


def reject(key: bytes, why: str) -> None:
    """Remove an unusable file, and warn once a process."""
    global _warned
    path = _path(key)
    _remove(path)
    if not _warned:
        _warned = True
        warnings.warn(
            f"lazynp: a compiled program on disk is ignored, {why} ({path}). Others will be "
            "without a warning",
            RuntimeWarning,
            stacklevel=2,
        )


def store(key: bytes, blob: bytes) -> None:
    """Store a serialised executable if possible; failure is not an error."""
    directory = config.cache
    if directory in _problems or directory in _refused:
        return
    payload = zlib.compress(blob, 1)
    unfinished = ""
    try:
        _trust.make(directory)
        secret = _secret(directory, make=True)
        assert secret is not None
        handle, unfinished = _trust.begin_file(directory)
        with open(handle, "wb") as file:
            file.write(_head(key))
            file.write(_trust.signature(secret, _head(key), payload))
            file.write(payload)
        os.replace(unfinished, _path(key))
    except _trust.Refused as e:
        _refuse(directory, str(e))
        return
    except OSError as e:
        _problems[directory] = e.strerror or str(e)
        _remove(unfinished)
        return
    except BaseException:
        _remove(unfinished)
        raise
    if int.from_bytes(key[:4], "big") % _LOOKED_AT == 0:
        trim(directory)


def trim(directory: str) -> None:
    """If there is too much, remove what was used least recently, down to three quarters."""
    files = sorted(_files(directory))
    total = sum(size for _, size, _ in files)
    if total <= _MOST:
        return
    for _, size, path in files:
        if total <= _MOST - _MOST // 4:
            return
        _remove(path)
        total -= size


def _files(directory: str) -> Iterator[tuple[float, int, str]]:
    """For each file: its last use, its size, its path. Removes unfinished files."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:  # another process was faster
            continue
        if not stat.S_ISREG(about.st_mode):
            continue
        if entry.name.endswith((_SUFFIX, _notes.SUFFIX)):
            room = max(about.st_size, 512 * getattr(about, "st_blocks", 0))
            yield about.st_mtime, room, entry.path
        elif entry.name.endswith(_UNFINISHED) and about.st_mtime < time.time() - 3600:
            _remove(entry.path)


def _head(key: bytes) -> bytes:
    return _MAGIC + _machine() + key


def _path(key: bytes) -> str:
    return os.path.join(config.cache, key.hex() + _SUFFIX)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
