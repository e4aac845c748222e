"""Loads jaxlib, and the modules that need it, when a program is first compiled.

A script that compiles nothing never pays for them. Until they are loaded there are no buffers, so
the answers to questions about buffers are known. The functions that give them stand here, under
the names of the functions that replace them.
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
import threading
from importlib import import_module
from typing import Any
from zlib import crc32

from lazynp._config import config
from lazynp._errors import ForkError
from lazynp.lowering import _closing

_MODULE = "lazynp.lowering._compiler"


class Buffer:
    """The type of buffers: no value has it."""


def is_buffer(x: Any) -> bool:
    return False


def behind(array: Any) -> Any:
    return None


def collect_garbage() -> None:
    """Free nothing: nothing was executed."""


def note_path(key: str) -> str:
    """The file of a note: see `_notes`."""
    return os.path.join(config.cache, f"{crc32(key.encode()):08x}.note")


class _Loader:
    """One attempt to load, in a thread of its own.

    No signal handler runs in that thread. So none can find jaxlib half loaded, or leave it so by an
    exception. Several threads may wait for the loader, and stop waiting.
    """

    def __init__(self) -> None:
        self.loaded: Any = None
        # made beforehand: where memory is short, `run` may end without making one
        self.error: BaseException | None = MemoryError("no memory to load jaxlib")
        self.over = False
        self.working = threading.Lock()
        self.working.acquire()

    def start(self) -> None:
        try:  # a thread that has no memory to begin would never say that it is over
            mmap.mmap(-1, _LEAST).close()
        except OSError:
            raise MemoryError("no memory to load jaxlib") from None
        if sys.is_finalizing():  # a thread would never begin
            self.run()
            return
        try:
            threading.Thread(target=self.run, name="lazynp: loads jaxlib").start()
        except RuntimeError:  # the process ends, or may have no more threads
            self.run()

    def run(self) -> None:
        global _at_work
        _at_work = threading.get_ident()
        # A destructor that the garbage collector ran here, and that computed, would need jaxlib.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self.loaded = import_module(_MODULE)
            self.error = None
        except BaseException as error:
            self.error = _translated(error)
        finally:
            if collecting:
                gc.enable()
            _at_work, self.over = 0, True
            self.working.release()

    def wait(self) -> None:
        if not self.over:
            with self.working:
                pass


_LEAST = 256 << 20  # bytes of addresses; jaxlib alone takes more
_lock = threading.RLock()  # a signal handler may compute
_loader: _Loader | None = None
_at_work = 0  # the thread that loads
_forked = False  # while another thread was loading


def is_loaded() -> bool:
    loader = _loader
    return loader is not None and loader.over


def load() -> Any:
    """The module with all that needs jaxlib."""
    global _loader
    if _closing.closing:
        _closing.keep_out()
    if _forked:
        raise ForkError(
            "lazynp: the process was forked while another thread loaded jaxlib; the child cannot "
            "compute. Fork before the first computation, or start processes with 'spawn'"
        )
    if _at_work == threading.get_ident():
        raise MemoryError("jaxlib is not there for code that runs while it is loaded")
    with _lock:
        loader = _loader
        if loader is None:
            loader = _Loader()
            loader.start()
            _loader = loader
    loader.wait()
    if loader.error is not None:
        if _loader is loader:
            _loader = None  # the next call tries again
        raise loader.error
    return loader.loaded


_closing.is_door(_Loader.run, load)

_NO_MEMORY = ("annot allocate memory", "failed to map segment")


def _translated(error: BaseException) -> BaseException:
    """For lack of memory, the dynamic linker raises ImportError, and C may raise nothing."""
    text = str(error)
    if isinstance(error, SystemError) and "without exception set" in text:
        return MemoryError(f"jaxlib cannot be loaded: {text}")
    if isinstance(error, ImportError) and any([words in text for words in _NO_MEMORY]):
        return MemoryError(f"jaxlib cannot be loaded: {text}")
    return error


def _after_fork_in_child() -> None:
    """A thread that was loading did not survive."""
    global _lock, _forked
    _lock = threading.RLock()  # another thread may have held it
    _forked = _loader is not None and not _loader.over


os.register_at_fork(after_in_child=_after_fork_in_child)
