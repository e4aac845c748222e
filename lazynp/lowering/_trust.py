"""Trust: check that the cache directory and its files belong to the user, for lazynp runs them.

The rules are those of ssh: nobody else may be able to write the directory or to replace it. Also,
each file is signed with a secret that nobody else can read.
"""

from __future__ import annotations

import hmac
import os
import stat
from typing import Any

grp: Any
pwd: Any
try:
    import grp
    import pwd
except ImportError:  # on Windows
    grp = pwd = None

UNFINISHED = ".part"  # the suffix of files that are being written
_SECRET = "secret"
_SIZE = 32
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # a FIFO must not block
    _OPEN |= getattr(os, _flag, 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _NEW |= getattr(os, _flag, 0)
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Refused(Exception):
    """Why a directory is not trusted."""


def make(directory: str) -> None:
    """Create the directory and its parents, all with mode 0700 (`makedirs` ignores the mode for
    parents).
    """
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(os.path.abspath(directory))
        if os.path.isdir(above):  # as in /proc
            raise
        make(above)
        make(directory)


def check(directory: str) -> None:
    """Raise `Refused` if others could write or replace the directory."""
    if not hasattr(os, "getuid"):
        return
    for path in {os.path.abspath(directory), os.path.realpath(directory)}:
        _check_owner(path, os.stat(path), {os.getuid()})
        _check_mode(path, os.stat(path))
        while (parent := os.path.dirname(path)) != path:
            path, about = parent, os.stat(parent)
            _check_owner(path, about, {os.getuid(), 0, os.stat(os.sep).st_uid})
            if not about.st_mode & stat.S_ISVTX:  # in a sticky directory only owners rename
                _check_mode(path, about)


def _check_owner(path: str, about: os.stat_result, trusted: set[int]) -> None:
    if about.st_uid not in trusted:
        raise Refused(f"{path} belongs to somebody else")


def _check_mode(path: str, about: os.stat_result) -> None:
    writers = about.st_mode & _OTHERS
    if writers == stat.S_IWGRP and _is_private(about.st_gid):
        return
    if writers:
        raise Refused(f"others can write {path} (chmod go-w)")


def _is_private(gid: int) -> bool:
    """Whether the group contains only the user; many systems create such a group for each user."""
    if pwd is None or grp is None:
        return False
    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and not group.gr_mem


def opened(path: str, most: int, secret: bool = False) -> int:
    """Open a regular file that belongs to the user. Raises OSError, or ValueError with a reason."""
    handle = os.open(path, _OPEN)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no regular file")
        if hasattr(os, "getuid"):
            if about.st_uid != os.getuid():
                raise ValueError("it belongs to somebody else")
            if about.st_mode & (stat.S_IRWXG | stat.S_IRWXO if secret else _OTHERS):
                raise ValueError(f"others can {'read' if secret else 'write'} it")
        if about.st_size > most:
            raise ValueError("it is too large")
    except BaseException:
        os.close(handle)
        raise
    return handle


def begin_file(directory: str) -> tuple[int, str]:
    """Open a new file for writing, which only the user may read, and its path.

    `tempfile` does the same, but takes 2 ms to import, as the first note is read.
    """
    path = os.path.join(directory, os.urandom(8).hex() + UNFINISHED)
    return os.open(path, _NEW, 0o600), path


def read_secret(directory: str) -> bytes | None:
    """The secret of a directory, if there is one. Raises `Refused` if the file is not valid."""
    path = os.path.join(directory, _SECRET)
    try:
        with open(opened(path, _SIZE, secret=True), "rb") as file:
            found = file.read(_SIZE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as e:
        raise Refused(f"{path} is not used, {e}") from None
    if len(found) != _SIZE:
        raise Refused(f"{path} is not used, it is damaged")
    return found


def make_secret(directory: str) -> bytes:
    """The secret of a directory. Creates it if there is none: atomically, and only once."""
    found = read_secret(directory)
    if found is not None:
        return found
    handle, unfinished = begin_file(directory)
    path = os.path.join(directory, _SECRET)
    try:
        with open(handle, "wb") as file:
            file.write(os.urandom(_SIZE))
        try:
            os.link(unfinished, path)
        except FileExistsError:  # another process created it first
            pass
        except OSError:  # a file system without links
            os.rename(unfinished, path)
    finally:
        try:
            os.unlink(unfinished)
        except OSError:
            pass
    found = read_secret(directory)
    if found is None:
        raise Refused(f"{path} went away")
    return found


def signature(secret: bytes, *parts: bytes) -> bytes:
    """The HMAC of these parts: only someone who knows the secret can compute it."""
    return hmac.digest(secret, b"".join(b"%d\n%b" % (len(part), part) for part in parts), "sha256")


def is_signature(said: bytes, secret: bytes, *parts: bytes) -> bool:
    return hmac.compare_digest(said, signature(secret, *parts))
