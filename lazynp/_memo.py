"""Memo tables: bounded, emptied by one call, counted.

Everything that is cached only to save time is in a `Memo`. A full table is emptied: its entries
come back at the price of one slow call each. `Interned` is for tables whose entries have an
identity that matters, such as abstract values. When one of these has grown, the memo tables are
emptied, and it drops the entries that nobody else refers to.

`lazynp.stats()` counts the entries of all tables, and `forget_all` empties them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from lazynp._ownership import drop_unshared

K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])

BOUND = 1 << 14  # entries of a table, by default

_memos: weakref.WeakSet[Memo[Any, Any]] = weakref.WeakSet()
_interned: list[Interned[Any, Any]] = []
_cached: list[Any] = []  # functions wrapped by `cached`
# for each: its size, and a function that empties it
_others: list[tuple[Callable[[], int], Callable[[], None]]] = []


class Memo(dict[K, V]):
    """A table that may be emptied at any moment. Fill it by `put`.

    name: the name for counting. hot: it belongs to the recording path. A hot table stays empty
    while floating-point errors must be noticed somewhere, so that every operation takes the slow
    path, which checks (see `_errstate`). costly: it holds programs, so a sweep leaves it alone.
    """

    __slots__ = ("name", "bound", "hot", "costly", "__weakref__")

    def __init__(
        self, name: str, bound: int = BOUND, *, hot: bool = False, costly: bool = False
    ) -> None:
        super().__init__()
        self.name, self.bound, self.hot, self.costly = name, bound, hot, costly
        _memos.add(self)

    def put(self, key: K, value: V) -> V:
        if len(self) >= self.bound:
            self.clear()
        if self.hot:
            put_hot(self, key, value)
        else:
            self[key] = value
        return value

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


def drop_oldest(table: dict[K, Any]) -> None:
    """Make room. If another thread changes the table at this moment, a later call does."""
    try:
        key = next(iter(table))
    except (StopIteration, RuntimeError):
        return
    table.pop(key, None)


def put_hot(table: dict[K, V], key: K, value: V) -> None:
    """Store something of the recording path, in a table that `begin_watching` empties."""
    table[key] = value
    if state.watching:  # checked after storing: another thread may just have begun
        table.pop(key, None)


class State:
    """Whether some context must notice floating-point errors; `_errstate` sets it."""

    __slots__ = ("watching",)

    def __init__(self) -> None:
        self.watching = False


state = State()


def begin_watching() -> None:
    """Empty the tables of the recording path, and keep them empty."""
    state.watching = True
    for memo in list(_memos):
        if memo.hot:
            memo.clear()


class Interned(Generic[K, V]):
    """One object for each key. `table` may be read directly; fill it by `put`.

    before: called before a sweep, to drop references among the objects themselves. alone: it is
    swept by itself, since memo tables refer to few of its objects.
    """

    def __init__(
        self,
        name: str,
        bound: int = BOUND,
        before: Callable[[V], None] | None = None,
        alone: bool = False,
    ) -> None:
        self.name, self.table, self.before, self.alone = name, {}, before, alone
        self.bound = self.least = bound
        _interned.append(self)

    table: dict[K, V]

    def put(self, key: K, value: V) -> V:
        found = self.table.setdefault(key, value)
        if len(self.table) > self.bound:
            if self.alone:
                self.sweep()
            else:
                sweep()
        return found

    def sweep(self) -> None:
        """Drop the entries that only this table refers to."""
        drop_unshared(self.table)
        self.bound = max(self.least, 2 * len(self.table))


def sweep() -> None:
    """Reduce the interned tables to the entries in use."""
    _forget_others()
    for interned in _interned:
        if interned.before is not None:
            for value in list(interned.table.values()):
                interned.before(value)
    for interned in reversed(_interned):  # later objects refer to earlier ones
        interned.sweep()


def cached(bound: int = 1 << 12) -> Callable[[F], F]:
    """`functools.lru_cache`, included in the tables that `forget_all` empties."""

    def decorate(function: F) -> F:
        made: Any = functools.lru_cache(bound)(function)
        _cached.append(made)
        return made

    return decorate


def adopt(size: Callable[[], int], clear: Callable[[], None]) -> None:
    """Let `forget_programs` empty, and `sizes` count, a table of programs kept elsewhere."""
    _others.append((size, clear))


def forget_all() -> None:
    """Empty every memo table. Only time is lost."""
    forget_programs()
    _forget_others()


def forget_programs() -> None:
    """Empty the tables that hold programs."""
    for memo in list(_memos):
        if memo.costly:
            memo.clear()
    for _, clear in _others:
        clear()


def _forget_others() -> None:
    """Empty the tables that hold no programs."""
    for memo in list(_memos):
        if not memo.costly:
            memo.clear()
    for function in _cached:
        function.cache_clear()


def sizes() -> Iterator[tuple[str, int]]:
    """The tables that have entries, and how many."""
    for memo in list(_memos):
        yield memo.name, len(memo)
    for interned in _interned:
        yield interned.name, len(interned.table)
    for function in _cached:
        yield function.__name__, function.cache_info().currsize
    for size, _ in _others:
        yield "other", size()
