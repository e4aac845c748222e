"""Programs that are compiled in a thread of their own, while Python goes on.

Within `unfinished_allowed`, a program that nobody has compiled yet is not waited for: `Unfinished`
is raised, and the thread begins. Once it is done, the same text finds its program. XLA compiles
without holding the interpreter, so Python loses nothing where the process may use several cores.
"""

from __future__ import annotations

import functools
import os
import threading
from _thread import start_new_thread
from collections.abc import Callable, Hashable
from typing import Any

from lazynp._config import config
from lazynp._memo import drop_oldest
from lazynp.lowering import _closing, _misread

_KEPT = 16  # programs that nobody has taken


class Work:
    """A program that is being compiled.

    Whoever waits asks for a lock that is released at the end. A signal can interrupt
    `threading.Event` between two of its steps; it then raises a RuntimeError of its own.
    """

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._running = threading.Lock()
        self._running.acquire()

    @classmethod
    def over(cls) -> Work:
        made = cls()
        made.end_with(lambda: None)
        return made

    def run(self, compile: Callable[[], Any]) -> None:
        _local.compiles = True
        with _one:
            self.end_with(compile)

    def end_with(self, compile: Callable[..., Any], *args: Any) -> None:
        try:
            self.result = compile(*args)
        except BaseException as error:  # it is raised for whoever takes the result
            self.error = error
        finally:
            self.done = True
            self._running.release()

    def wait(self) -> Any:
        # Signals come to the main thread, and one may leave the lock taken. A thread that wakes up
        # while the process ends would be ended in the midst of C++.
        seconds = 1.0 if threading.get_ident() == threading.main_thread().ident else -1
        while not self.done:
            if self._running.acquire(timeout=seconds):
                self._running.release()
        if self.error is not None:
            raise self.error
        return self.result

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most; whether it has ended."""
        if not self.done and self._running.acquire(timeout=seconds):
            self._running.release()
        return self.done


class Unfinished(BaseException):
    """The program is being compiled: nothing has run."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.work = work


class _Local(threading.local):
    """allowed: whether this thread may meet `Unfinished`. begins: ... and meets it whenever it asks
    for a program. compiles: whether it is such a thread.
    """

    allowed = begins = compiles = False


_local = _Local()
_one = threading.Lock()  # several at once would leave no core to Python
_works: dict[Hashable, Work] = {}
_loaded: dict[Hashable, Any] = {}  # from disk, and has not run yet


def in_background() -> bool:
    """Whether programs are compiled while Python goes on."""
    return config.background and config.execution == "adaptive" and cores() > 1


@functools.cache
def cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def is_compiling() -> bool:
    """Whether a program is being compiled in the background."""
    return bool(_works) and any(not work.done for work in list(_works.values()))


def nobody_waits() -> bool:
    """Whether this thread compiles in the background."""
    return _local.compiles


class unfinished_allowed:
    """A block that may raise `Unfinished`, unless settings say otherwise. only_begin: it does so
    whenever a program is asked for, so none runs that was not compiled before.
    """

    __slots__ = ("_before", "_only_begin")

    def __init__(self, only_begin: bool = False) -> None:
        self._only_begin = only_begin

    def __enter__(self) -> None:
        self._before = _local.allowed, _local.begins
        _local.allowed = in_background()
        _local.begins = _local.allowed and self._only_begin

    def __exit__(self, *error: object) -> None:
        _local.allowed, _local.begins = self._before


def only_begin(key: Hashable, loaded: Any) -> None:
    """Call this where there is a program: raises `Unfinished` in a block that only begins.

    loaded: what a file on disk gave; it is kept for the block that runs it.
    """
    if not _local.begins:
        return
    if loaded is not None:
        while len(_loaded) >= _KEPT:
            drop_oldest(_loaded)
        _loaded[key] = loaded
    raise Unfinished(Work.over())


def loaded_before(key: Hashable) -> Any:
    """The program that a block which only begins has loaded from disk; None if none has."""
    return _loaded.get(key) if _local.begins else _loaded.pop(key, None)


class Waiting:
    """Whoever asks again and again for a program, without making its text each time."""

    __slots__ = ("work",)

    def __init__(self) -> None:
        self.work: Work | None = None

    def ask(self, make: Callable[..., Any], *args: Any) -> Any:
        """What `make` gives, or `Unfinished`."""
        if self.work is not None and not self.work.done:
            raise Unfinished(self.work)
        self.work = None
        before, _local.allowed = _local.allowed, in_background()
        try:
            return make(*args)
        except Unfinished as unfinished:
            self.work = unfinished.work
            raise
        finally:
            _local.allowed = before


def result_of(key: Hashable, compile: Callable[[], Any]) -> Any:
    """What `compile` gives: here and now, or from the thread that was begun for this key."""
    work = _works.get(key)
    if work is None:
        if not _local.allowed:
            return compile()
        while len(_works) >= _KEPT:
            drop_oldest(_works)
        work = Work()
        try:
            # a signal in `Thread.start` would end the thread before it begins, or leave it unknown
            start_new_thread(work.run, (compile,))
        except RuntimeError:  # no memory for it, too many of them, or the process ends
            return compile()
        _works[key] = work
        raise Unfinished(work)
    if _local.allowed and not (work.done and not _local.begins):
        raise Unfinished(work)
    try:
        return work.wait()
    finally:
        if work.done:  # otherwise a signal came
            _works.pop(key, None)


def compiled(client: Any, text: str, devices: Any, options: Any) -> Any:
    """XLA's program, compiled to the end whatever signals come.

    While jaxlib compiles in the main thread, it lets signals be handled. If a handler raises, as
    that of Ctrl-C does, jaxlib frees what XLA's own threads are reading: the process may crash, at
    once or at its end. So the main thread waits for another one, where no signal is handled.
    """
    if _closing.closing or threading.get_ident() != threading.main_thread().ident:
        return _compile(client, text, devices, options)
    work = Work()
    try:
        start_new_thread(work.end_with, (_compile, client, text, devices, options))
    except RuntimeError:  # no memory for it, too many of them, or the process ends
        return _compile(client, text, devices, options)
    return work.wait()


def _compile(client: Any, text: str, devices: Any, options: Any) -> Any:
    if _closing.closing:  # whoever began this thread was interrupted
        _closing.keep_out()
    loaded = client.compile_and_load(text, devices, options)
    again = _misread.recompiled(loaded, text, options)
    return loaded if again is None else client.compile_and_load(text, devices, again)


_closing.is_door(_compile)


def _after_fork_in_child() -> None:
    """Threads do not survive the fork."""
    global _one
    _one = threading.Lock()
    _works.clear()
    _loaded.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
