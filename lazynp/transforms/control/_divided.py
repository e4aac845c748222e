"""Loops in pieces: one loop of Python's that is staged as several, one after the other.

Some rounds differ by their number: `if k == 0:` or `if k < n // 2:`. Staged as one loop, every
round would hold both branches. Cut there, each piece holds one. Some rounds need less memory the
earlier, or the later, they come: `a[k + 1 :, k + 1 :]` is held as a window as large as any round
needs. Cut in quarters, each has windows of its own.

A body finds out while it is traced. It raises `Divided`, which ends that trace, and the loop begins
again in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lazynp._array import Array
from lazynp._intervals import distance, interval
from lazynp._node import ARGS, OP, Node, aval_of_node, is_tracer
from lazynp._recorder import StagingRecorder, local
from lazynp.transforms.control._state import session

PIECES = 6  # that one trace may add: each is a copy of the body
ROUNDS = 32  # of fewer, windows stay as they are
BYTES = 1 << 20  # of all windows of a round: of less, one loop does
EQUATIONS = 150  # of a body: of more, four copies would take long to compile
_SMALLER = 0.8  # of the windows of the loop: a piece must need less than that

Ends = tuple[int, int]

_COMPARED = {
    "less": lambda x, y: _ordered(x, y, True), "greater": lambda x, y: _ordered(y, x, True),
    "less_equal": lambda x, y: _ordered(x, y, False),
    "greater_equal": lambda x, y: _ordered(y, x, False),
    "equal": lambda x, y: _same(x, y),
    "not_equal": lambda x, y: None if (same := _same(x, y)) is None else not same,
}  # fmt: skip
# the first round of the piece behind a test, less the place where both sides are equal
_BEHIND = {"less": (0,), "greater_equal": (0,), "less_equal": (1,), "greater": (1,),
           "equal": (0, 1), "not_equal": (0, 1)}  # fmt: skip
_TURNED = {"less": "greater", "greater": "less", "less_equal": "greater_equal",
           "greater_equal": "less_equal"}  # fmt: skip


class Divided(BaseException):
    """A loop is to be staged in pieces, which begin at these rounds. (No `except Exception` of the
    user's may stop it.)
    """

    def __init__(self, loop: Counting, places: tuple[int, ...], found: int = 0) -> None:
        """Without places: into quarters, for `found` bytes of windows."""
        self.loop, self.places, self.bytes = loop, places, found


class Measured(BaseException):
    """How many bytes the windows of a round take."""

    def __init__(self, found: int) -> None:
        self.bytes = found


class Counting:
    """A loop over numbers, `item = first + k * step` for `k` in `range(count)`, being traced."""

    def __init__(self, first: int, step: int, count: int) -> None:
        self.first, self.step, self.count = first, step, count
        self.node: Node | None = None  # of the item

    @contextmanager
    def traced(self, item: Any) -> Iterator[None]:
        """The body is being traced for this item."""
        node = item._read() if isinstance(item, Array) and not item.ndim else None
        self.node = None if node is None or is_tracer(node) else node
        session.counting.append(self)
        try:
            yield
        finally:
            session.counting.pop()


def decided(test: Any) -> bool | None:
    """What a test gives in every round, if that is known of its operands. May divide a loop."""
    return None if test.ndim else _of_node(test._read())


def _of_node(node: Node) -> bool | None:
    op, args = node[OP], node[ARGS]
    if op is None or is_tracer(node) or type(args) is not tuple:
        return None
    name = op.primitive.name
    if name == "logical_not" and type(args[0]) is list:
        opposite = _of_node(args[0])
        return None if opposite is None else not opposite
    if name not in _COMPARED:
        return None
    x, y = map(_ends, args)
    if x is None or y is None:
        return None
    known = _COMPARED[name](x, y)
    if known is None:
        _divide(name, *args)
    return known


def _ends(x: Any) -> Ends | None:
    """The interval of a number; None if it is no integer."""
    if type(x) is int:
        return x, x
    if type(x) is not list or is_tracer(x):
        return None
    aval = aval_of_node(x)
    if isinstance(aval, tuple) or aval.dtype.kind not in "iu" or aval.shape:  # a call has several
        return None
    return interval(x)


def _ordered(x: Ends, y: Ends, strict: bool) -> bool | None:
    """Whether x < y, or, if not strict, x <= y."""
    if x[1] < y[0] or not strict and x[1] <= y[0]:
        return True
    if x[0] > y[1] or strict and x[0] >= y[1]:
        return False
    return None


def _same(x: Ends, y: Ends) -> bool | None:
    if x[1] < y[0] or y[1] < x[0]:
        return False
    return True if x == y and x[0] == x[1] else None


def _divide(name: str, x: Any, y: Any) -> None:
    """Divide the loop whose number is compared with one that is known."""
    if type(y) is list and _ends(y)[0] != _ends(y)[1]:  # type: ignore[index]
        x, y, name = y, x, _TURNED.get(name, name)
    ends = _ends(y)
    if type(x) is not list or ends is None or ends[0] != ends[1]:
        return
    x = _outside(x)
    for loop in reversed(session.counting):
        more = None if loop.node is None else distance(loop.node, x)
        if more is None:
            continue
        place, back = divmod(ends[0] - more - loop.first, loop.step)
        if back:
            return
        behind = _BEHIND[name] if loop.step > 0 else [1 - k for k in _BEHIND[name]]
        places = sorted({place + k for k in behind} & set(range(1, loop.count)))
        if places and session.pieces + len(places) <= PIECES:
            session.pieces += len(places)
            raise Divided(loop, tuple(places))
        return


def _outside(node: Node) -> Node:
    """The number of a loop, for an input that stands for it in a body inside."""
    recorder = local.recorder
    while isinstance(recorder, StagingRecorder):
        node, recorder = recorder.behind(node) or node, recorder.outer
    return node


# -- windows ---------------------------------------------------------------------------------------


def windows() -> int:
    """Bytes of the windows of slices that the body being traced has taken."""
    recorder = local.recorder
    return recorder.windows if isinstance(recorder, StagingRecorder) else 0


@contextmanager
def apart() -> Iterator[None]:
    """The windows of a loop that may be divided itself do not count for those around it."""
    recorders: list[StagingRecorder] = []
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        recorders.append(recorder)
        recorder = recorder.outer
    before = [r.windows for r in recorders]
    try:
        yield
    finally:
        for r, found in zip(recorders, before, strict=True):
            r.windows = found


def quarters(count: int) -> tuple[int, ...]:
    return tuple([count * k // 4 for k in (1, 2, 3)])


def gain(full: int, first: float, last: float) -> bool:
    """Whether quarters of the loop need smaller windows."""
    return min(first, last) < _SMALLER * full
