"""`profile`: where a program's time goes, and which lines need values."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from sys import _getframe
from time import perf_counter
from types import CodeType, FrameType, FunctionType
from typing import Any

from lazynp._array import Array, NDArray, Scalar
from lazynp._dataclass import dataclass
from lazynp._observers import observers
from lazynp._positions import position, user_frame

_MOST_EVENTS = 200_000  # in a timeline
_ROWS = 12  # in each printed table

# Describe the user's line by the lazynp function that it called.
_ASKED = {
    "__bool__": "a truth value: if, while, and, or",
    "__float__": "float()",
    "__int__": "int()",
    "__index__": "an index or a size",
    "__complex__": "complex()",
    "__repr__": "printed",
    "__str__": "printed",
    "__format__": "printed",
    "__array__": "NumPy or C code reads it",
    "__array_struct__": "NumPy or C code reads it",
    "__array_interface__": "NumPy or C code reads it",
    "__buffer__": "NumPy or C code reads it",
    "__iter__": "iterated over",
    "__contains__": "in",
}


@dataclass
class Tally:
    """A count, and the seconds, without those of inner spans that have their own row."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds


@dataclass(frozen=True)
class Event:
    """A span of the timeline. `inside`: the seconds of the spans within it."""

    kind: str  # compiled, reference, host, compile, load
    name: str
    thread: int
    begin: float
    seconds: float
    inside: float
    details: dict[str, Any]


class Profile:
    """What ran inside `with np.profile() as p:`, in all threads. `print(p)` shows it as tables.

    tiers: runs and seconds of "compiled" and "reference" programs, and of "host", which is NumPy: a
    step of a compiled program, or a whole function that lazynp leaves to NumPy. compiling, loading:
    programs compiled, and programs found on disk instead. programs: by number of operations, line
    of the first recorded operation, and tier. cuts: flushes, by the user's line and by reason: what
    the line needed a value for, or that the loop returned there. seconds: of the block. The time
    that is neither in the tiers nor in compiling is Python's own, recording, and operations on
    small arrays that a loop runs eagerly.
    """

    def __init__(self) -> None:
        self.tiers = {tier: Tally() for tier in ("compiled", "reference", "host")}
        self.compiling, self.loading = Tally(), Tally()
        self.programs: defaultdict[tuple[int, str, str], Tally] = defaultdict(Tally)
        self.cuts: defaultdict[tuple[str, str], Tally] = defaultdict(Tally)
        self.calls: defaultdict[str, Tally] = defaultdict(Tally)
        self.events: list[Event] = []
        self._dropped = 0
        self._begin = self._end = 0.0
        self._done: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        self._lock = threading.RLock()  # destructors and signal handlers may compute

    def __enter__(self) -> Profile:
        self._begin, self._end = perf_counter(), 0.0
        observers.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        observers.remove(self)
        self._end = perf_counter()

    @property
    def seconds(self) -> float:
        """The duration of the block, up to now if it has not ended."""
        return (self._end or perf_counter()) - self._begin if self._begin else 0.0

    @property
    def compiles(self) -> int:
        """The number of programs compiled."""
        return self.compiling.count

    @property
    def cache_hits(self) -> int:
        """The number of programs loaded from disk."""
        return self.loading.count

    # -- the hooks ---------------------------------------------------------------------------------

    def ran(
        self, begin: float, tier: str, operations: int, first: tuple[CodeType, int], reason: Any
    ) -> None:
        where = position(*first)
        line, why = _cause(reason)
        with self._lock:
            name = f"{operations} operations from {where}"
            own = self._event(tier, name, begin, {"cut at": line, "because": why})
            self.tiers[tier].add(own)
            self.programs[operations, where, tier].add(own)
            self.cuts[line, why].add(own)

    def compiled(self, begin: float, operations: int, from_disk: bool | None) -> None:
        with self._lock:
            kind = "load" if from_disk else "compile"
            own = self._event(kind, f"{kind} {operations} operations", begin, {})
            if from_disk is not None:  # None: it contains nothing to compile
                (self.loading if from_disk else self.compiling).add(own)

    def called(self, begin: float, name: str) -> None:
        with self._lock:
            own = self._event("host", name, begin, {})
            self.tiers["host"].add(own)
            self.calls[name].add(own)

    def _event(self, kind: str, name: str, begin: float, details: dict[str, Any]) -> float:
        """Add a span that ends now; returns its seconds without those of the spans within."""
        seconds, inside = perf_counter() - begin, 0.0
        thread = threading.get_ident()
        done = self._done[thread]  # spans outside all others so far; this span may contain them
        while done and done[-1][0] >= begin:
            inside += done.pop()[1]
        done.append((begin, seconds))
        if len(done) > _MOST_EVENTS:
            del done[: _MOST_EVENTS // 2]
        if len(self.events) < _MOST_EVENTS:
            self.events.append(Event(kind, name, thread, begin, seconds, inside, details))
        else:
            self._dropped += 1
        return seconds - inside

    # -- reports -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline as JSON for chrome://tracing and ui.perfetto.dev."""
        process = os.getpid()
        threads = {t: i for i, t in enumerate(dict.fromkeys(e.thread for e in self.events))}
        records: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": process, "tid": i,
             "args": {"name": f"thread {i}"}}
            for i in threads.values()
        ]  # fmt: skip
        records += [
            {"ph": "X", "name": e.name, "cat": e.kind, "pid": process, "tid": threads[e.thread],
             "ts": 1e6 * (e.begin - self._begin), "dur": 1e6 * e.seconds, "args": e.details}
            for e in self.events
        ]  # fmt: skip
        about = {"seconds": self.seconds, "events left out": self._dropped}
        with open(path, "w", encoding="utf-8") as file:
            timeline = {"traceEvents": records, "displayTimeUnit": "ms", "otherData": about}
            json.dump(timeline, file)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"{self.seconds:.3f} s, of which"
        yield f"{'':10}{'runs':>8}{'seconds':>10}"
        rows = [*self.tiers.items(), ("compiling", self.compiling), ("loading", self.loading)]
        for name, tally in rows:
            yield f"{name:10}{tally.count:8}{tally.seconds:10.3f}"
        rest = self.seconds - sum(tally.seconds for _, tally in rows)
        yield f"{'elsewhere':10}{'':8}{max(rest, 0.0):10.3f}"
        yield from _table(
            "programs",
            {
                f"{tier:10} {n:4} operations from {w}": t
                for (n, w, tier), t in self.programs.items()
            },
        )
        yield from _table("cuts", {f"{line}: {why}": t for (line, why), t in self.cuts.items()})
        yield from _table("by NumPy", self.calls)
        if self._dropped:
            yield f"the timeline lacks the last {self._dropped} events"


def _table(title: str, rows: dict[str, Tally]) -> Iterator[str]:
    if not rows:
        return
    yield f"{title:10}{'runs':>8}{'seconds':>10}"
    ordered = sorted(rows.items(), key=lambda row: -row[1].seconds)
    for name, tally in ordered[:_ROWS]:
        yield f"{'':10}{tally.count:8}{tally.seconds:10.3f}  {name}"
    if len(ordered) > _ROWS:
        yield f"{'':10}{len(ordered) - _ROWS} more"


def profile() -> Profile:
    """`with np.profile() as p: ...`, then `print(p)` or `p.save("timeline.json")`; see `Profile`.

    A profile does not change what is recorded, flushed or compiled.
    """
    return Profile()


def _cause(reason: Any) -> tuple[str, str]:
    """The user's line that caused a flush, and the reason."""
    frame = _getframe(2)
    theirs = user_frame(frame)
    line = position(theirs.f_code, theirs.f_lasti)
    if type(reason) is tuple:
        return position(*reason), "the loop comes round"
    if reason != "asked for":
        return line, reason
    return line, _asked(frame, theirs)


def _asked(frame: FrameType, theirs: FrameType) -> str:
    """The function called by the user's line that needed the value."""
    names = _methods()
    called = None
    inner: FrameType | None = frame
    while inner is not None and inner is not theirs:
        if names.get(inner.f_code, inner) is not None and inner.f_code.co_name != "call":
            called = inner
        inner = inner.f_back
    if called is None or inner is None:
        return "a value is needed"
    name = names.get(called.f_code) or called.f_code.co_name
    return _ASKED.get(name, f"{name.strip('_')}()")


@functools.cache
def _methods() -> dict[CodeType, str | None]:
    """The names of methods, by code; functions and lambdas with other names are attached as
    methods. None for wrappers of several methods, which call these in turn.
    """
    found: dict[CodeType, str | None] = {}
    for kind in (Scalar, NDArray, Array):
        for name, method in vars(kind).items():
            function = method.fget if isinstance(method, property) else method
            if isinstance(function, FunctionType):
                code = function.__code__
                found[code] = name if found.get(code, name) == name else None
    return found
