"""Loops: Python's where they are short or cannot be staged, else staged once.

The variables that a round reads of the one before, or that are read after the loop, are the carry.
A name that is only written in place keeps its array: the loop captures it. A trace of a body
changes nothing in Python; where it fails, the variables are as before, and Python runs the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._ownership import COUNTED, counts
from lazynp._positions import position
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise
from lazynp.transforms._cond import cond
from lazynp.transforms._loops import fori_loop, while_loop
from lazynp.transforms._stack import argument_node, zeros
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._choice import branch, common_dtype, not_
from lazynp.transforms.control._known import python_number
from lazynp.transforms.control._sequences import Rounds, interval, rounds_of
from lazynp.transforms.control._state import (
    LIMIT,
    UNBOUND,
    CannotStage,
    Maybe,
    bind,
    bind_all,
    cells_of,
    equations,
    involved,
    kind,
    numeric,
    session,
    truth,
    undecided,
    value_of,
    values_of,
)

SHORT = 8  # rounds that are unrolled
# A loop with a jump, or with traced bounds, of at most so many rounds runs all of them, and does
# nothing in those that Python does not run: so it has reverse mode.
MASKED = 64
_PLAIN = 64  # rounds over anything but numbers and arrays, from which the limit counts
_ORDER = "biufc"
_FEW = 128  # in so many rounds, products of ints exceed 64 bits if they do at all


class _Again(Exception):
    """The body must be traced for other types."""


class _OtherType(Exception):
    """A variable does not keep its type."""


class _Carry:
    """The variables that a loop carries."""

    def __init__(self, names: tuple[str, ...], written: tuple[str, ...], line: int,
                 *functions: Any) -> None:  # fmt: skip
        self.cells = cells_of(*functions)
        self.private = {n for n in names if _private(self.cells[n])}
        self.names, self.written, self.line = names, written, line
        self.before = values_of(self.cells.values())
        self.values: dict[str, Any] = {n: value_of(self.cells[n]) for n in names}
        self.kept: set[str] = {n for n in names if n in written and _is_array(self.values[n])}
        self.fixed: set[str] = set()
        self.weak: dict[str, list[bool]] = {}  # which leaves stay Python's numbers
        self.bound: set[str] = set()  # first bound in the loop, by every round
        for n in names:
            v = self.values[n]
            if v is UNBOUND or n in self.kept:
                continue
            leaves = tree_flatten(v)[0]
            if v is None or not all(map(numeric, leaves)):
                self.fixed.add(n)

    def given(self) -> dict[str, Any]:
        """The initial values of what is carried."""
        return {n: v for n, v in self.values.items()
                if v is not UNBOUND and n not in self.fixed and n not in self.kept}  # fmt: skip

    def put(self, carried: dict[str, Any]) -> dict[str, Any]:
        """Bind the variables for a round. Arrays get handles that nothing else refers to."""
        bind_all(self.cells.values(), self.before)
        made = {}
        for n, v in carried.items():
            leaves, tree = tree_flatten(v)
            new = [new_array(x._read()) if type(x) is NDArray else x for x in leaves]
            made[n] = tree_unflatten(tree, new)
            self.cells[n].cell_contents = made[n]
        return made

    def taken(self, made: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
        """The values after a round. made: those that it began with; first: the nodes of these."""
        out = {}
        for n in self.names:
            v = value_of(self.cells[n])
            if n in self.kept:
                if v is not self.values[n]:
                    self.kept.discard(n)
                    raise _Again
            elif n in self.fixed:
                if v is not self.values[n]:
                    raise _OtherType(f"line {self.line}: `{n}` ({_shown(self.values[n])}) changes")
            elif n not in made:
                self._first(n, v)
            else:
                self._written(n, made[n], first[n])
                out[n] = self._same(n, v)
        return out

    def _first(self, n: str, v: Any) -> None:
        """A variable that was not bound before the loop."""
        if v is UNBOUND:
            return
        inner = v.value if type(v) is Maybe else v
        leaves, tree = tree_flatten(inner)
        if not leaves or not all(map(numeric, leaves)):
            raise _OtherType(
                f"line {self.line}: `{n}` ({_shown(inner)}) is first bound in the loop"
            )
        self.values[n] = Maybe(_Blank(tree, [weak_aval(x) for x in leaves]), False)
        if type(v) is not Maybe:
            self.bound.add(n)
        raise _Again

    def _written(self, n: str, made: Any, nodes: Any) -> None:
        if n in self.private:
            return
        for x, node in zip(tree_flatten(made)[0], nodes, strict=True):
            if type(x) is NDArray and x._node is not node:
                raise CannotStage(
                    f"line {self.line}: `{n}` is bound to other arrays and written in place, and "
                    "other variables may show the array; copy it before the loop"
                )

    def _same(self, n: str, v: Any) -> Any:
        """The value with the type of the carry."""
        start = self.values[n]
        if type(start) is Maybe and type(v) is not Maybe:
            v = Maybe(v, True)
        leaves, tree = tree_flatten(v)
        first, tree_first = tree_flatten(start)
        if v is UNBOUND or tree != tree_first or not all(map(numeric, leaves)):
            raise _OtherType(f"line {self.line}: `{n}` changes from {_shown(start)} to {_shown(v)}")
        wanted = []
        self.weak[n] = []
        for x, y in zip(first, leaves, strict=True):
            a, b = weak_aval(x), weak_aval(y)
            self.weak[n].append(a.weak and b.weak)
            if a.shape != b.shape:
                raise _OtherType(f"line {self.line}: `{n}` changes shape: {a.shape} and {b.shape}")
            wanted.append(
                _settles(a, b) or (b.dtype if self.masked and a.dtype != b.dtype else None)
            )
        if all(w is None for w in wanted):
            return v
        if not (self.joining or self.masked and all(map(_grows, first, leaves))):
            raise _OtherType(f"line {self.line}: `{n}` changes type")
        cast = [x if w is None else _cast(x, w) for x, w in zip(first, wanted, strict=True)]
        self.values[n] = tree_unflatten(tree, cast)
        raise _Again

    joining = False  # whether types that differ are joined
    exact = False  # whether the loop is short enough to be unrolled if ints may grow large
    masked = False  # whether the carry goes through a `cond`, where nothing settles by itself

    def finish(self, results: dict[str, Any], some: bool) -> None:
        """Bind the results. some: the loop has had rounds."""
        bind_all(self.cells.values(), self.before)
        for n, v in results.items():
            leaves, tree = tree_flatten(v)
            made = [_weak(x) if w else x for x, w in zip(leaves, self.weak[n], strict=True)]
            v = tree_unflatten(tree, made)
            if some and n in self.bound:
                v = v.value
            elif some and self.weak[n] == [True]:
                v = python_number(v, self.values[n])
            bind(self.cells[n], v)


class _Blank:
    """A variable without a value yet: its type."""

    def __init__(self, tree: Any, avals: list[Aval]) -> None:
        self.tree, self.avals = tree, avals


def _is_array(x: Any) -> bool:
    return type(x) is NDArray and x.ndim > 0


def _private(cell: Any) -> bool:
    """Whether only this variable refers to its array, which was made in this trace."""
    if not _is_array(value_of(cell)) or counts([cell.cell_contents])[0] != COUNTED + 1:
        return False
    x, recorder = cell.cell_contents, local.recorder
    inside = isinstance(recorder, StagingRecorder) and recorder.owns(x._node)
    return inside and x._base is None


def _shown(x: Any) -> str:
    return "nothing" if x is UNBOUND else kind(x)


def _settles(a: Aval, b: Aval) -> np.dtype[Any] | None:
    """The dtype that the carry must have instead; None: it stays, or becomes that of the body."""
    if a.dtype == b.dtype:
        return None
    if a.weak and not a.shape and _ORDER.index(b.dtype.kind) >= _ORDER.index(a.dtype.kind):
        return None
    if b.weak and common_dtype(a, b) == a.dtype:
        return a.dtype
    return common_dtype(a, b)


def _weak(x: Any) -> Any:
    """A number of Python's, as a loop leaves it."""
    made = elementwise.convert(x, dtype=x.dtype, weak=True)
    return new_scalar(made._read())


def _grows(x: Any, y: Any) -> bool:
    a, b = weak_aval(x), weak_aval(y)
    return a.dtype == b.dtype or _settles(a, b) is None


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    array = new_array(argument_node(x))
    made = elementwise.convert(array, dtype=dtype)
    return made if type(x) is NDArray else made[()]


def _started(v: Any) -> Any:
    """The initial value of a variable that is first bound in the loop."""
    if type(v) is Maybe and type(v.value) is _Blank:
        blank = [_zero(a) for a in v.value.avals]
        return Maybe(tree_unflatten(v.value.tree, blank), False)
    return v


def _zero(a: Aval) -> Any:
    if a.weak and not a.shape:
        return a.dtype.type(0).item()
    made = zeros(aval_of(a.shape, a.dtype))
    return made if a.shape else made[()]


# -- tracing a body --------------------------------------------------------------------------------


def _nodes(made: dict[str, Any]) -> dict[str, list[Any]]:
    return {n: [x._node if type(x) is NDArray else None for x in tree_flatten(v)[0]]
            for n, v in made.items()}  # fmt: skip


def _settled(carry: _Carry, loop: Callable[[dict[str, Any]], Any]) -> Any:
    """Run the loop primitive until the types of the carry are found."""
    for _ in range(2 * len(carry.names) + 4):
        carry.values = {n: _started(v) for n, v in carry.values.items()}
        try:
            with session.staged(carry.exact):
                return loop(carry.given())
        except _Again:
            continue
        finally:
            bind_all(carry.cells.values(), carry.before)
    raise CannotStage(f"line {carry.line}: the types of the variables do not settle")


def _round(carry: _Carry, carried: dict[str, Any], body: Callable[[], Any]) -> dict[str, Any]:
    made = carry.put(carried)
    first = _nodes(made)
    body()
    return carry.taken(made, first)


def _staged_for(rounds: Rounds, skipped: int, body: Any, ends: Any, carry: _Carry) -> None:
    low, high = rounds.bounds(skipped)
    carry.exact = not undecided(rounds.length) and int(rounds.length) <= _FEW
    carry.masked = rounds.most is not None and rounds.most <= MASKED
    carry.masked = carry.masked and (ends is not None or undecided(rounds.length))

    bounds = interval(low), interval(high)

    def step(counter: Any, carried: dict[str, Any]) -> dict[str, Any]:
        if bounds[0] is not None and bounds[1] is not None:
            node = counter._read()
            session.counters[id(node)] = node, (bounds[0][0], bounds[1][1] - 1)
        return _round(carry, carried, lambda: body(rounds.at(counter)))

    def test(state: Any) -> Any:
        carry.put(state[1])
        going = elementwise.less(state[0], high)
        end = ends is not None and ends()
        if not undecided(end):
            return elementwise.logical_and(going, not end)
        return elementwise.logical_and(going, elementwise.logical_not(truth(end)))

    def following(state: Any) -> Any:
        return elementwise.add(state[0], 1), step(state[0], state[1])

    def masked(_: Any, state: Any) -> Any:
        return cond(test(state), following, lambda state: state, state)

    def loop(given: dict[str, Any]) -> Any:
        if ends is None and not undecided(rounds.length):
            return fori_loop(low, high, step, given)
        if carry.masked and rounds.most is not None:
            return fori_loop(0, rounds.most - skipped, masked, (low, given))[1]
        if ends is None:
            return fori_loop(low, high, step, given)
        return while_loop(test, following, (low, given))[1]

    carry.finish(_settled(carry, loop), not undecided(rounds.length))


def _attempt(
    rounds: Rounds, skipped: int, body: Any, ends: Any, carry: _Carry, joining: bool
) -> str | None:
    """Stage a loop; returns why that cannot be."""
    carry.joining = joining
    try:
        _staged_for(rounds, skipped, body, ends, carry)
        return None
    except CannotStage as why:
        bind_all(carry.cells.values(), carry.before)
        return str(why)
    except _OtherType:
        bind_all(carry.cells.values(), carry.before)
        raise
    except Exception as error:
        bind_all(carry.cells.values(), carry.before)
        if any(error is e for e in session.raised) or undecided(rounds.length):
            raise
        return f"line {carry.line}: {type(error).__name__}: {error}"


# -- the operators ---------------------------------------------------------------------------------


def for_(
    over: Any, body: Callable[[Any], None], ends: Callable[[], Any] | None,
    names: tuple[str, ...], written: tuple[str, ...], nested: bool, line: int,
) -> None:  # fmt: skip
    """`for item in over: body(item)`. ends: whether a jump has ended the loop. nested: whether the
    body holds a loop.
    """
    rounds = rounds_of(over)
    if rounds is None:
        _in_python(over, body, ends, names, written, line, 0, None)
        return
    known = not undecided(rounds.length)
    count = int(rounds.length) if known else -1
    mode = session.mode
    short = count <= 1 or mode == "auto" and count <= SHORT and not nested
    if known and (short and mode != "stage" or mode == "unroll" or not count):
        _in_python(rounds, body, ends, names, written, line, 0, None)
        return
    if known and mode == "auto" and not _involves(body, over):
        _in_python(rounds, body, ends, names, written, line, 0, None)
        return
    skipped, why = 0, None
    while True:
        carry = _Carry(names, written, line, body, ends)
        try:
            why = _attempt(rounds, skipped, body, ends, carry, not known or skipped > 1)
            break
        except _OtherType as error:
            why = str(error)
        if not known or skipped > 1 or count - skipped < 2 or ends is not None:
            break
        body(rounds.at(rounds.bounds(skipped)[0]))  # the first round settles the types
        skipped += 1
    if why is None:
        return
    if not known or mode == "stage":
        raise CannotStage(f"{why} (in a loop that must be staged)")
    _in_python(rounds, body, ends, names, written, line, skipped, why)


def _involves(body: Any, over: Any) -> bool:
    """Whether the body reads anything that may be traced."""
    if (
        isinstance(over, Rounds)
        or involved(over)
        or any(involved(v) for v in values_of(cells_of(body).values()))
    ):
        return True
    scope = body.__globals__
    return any(involved(scope[n]) for n in body.__code__.co_names if n in scope)


def _in_python(
    items: Iterable[Any], body: Any, ends: Any, names: tuple[str, ...], written: tuple[str, ...],
    line: int, skipped: int, why: str | None,
) -> None:  # fmt: skip
    begin, count = equations(), 0
    for count, item in enumerate(items, 1):
        if count <= skipped:
            continue
        end = ends() if ends is not None else False
        if undecided(end):
            _guarded(not_(end), body, item, names, written, line)
        elif end:
            break
        else:
            body(item)
        too_many = equations() - begin > LIMIT and session.mode == "auto"
        if too_many and (why is not None or count > _PLAIN):
            raise TypeError(
                f"{position(*user_position())}: the loop at line {line} was unrolled for {count} "
                f"rounds and has more than {LIMIT} operations, because "
                f"{why or 'it is over neither numbers nor an array'}; change this, or unroll it "
                'all the same with jit(..., loops="unroll")'
            )
    if why is not None or count > SHORT:
        because = why or "nothing in it is traced, or it is over neither numbers nor an array"
        session.notes.append(f"line {line}: unrolled {count} times: {because}")


def _guarded(
    going: Any, body: Any, item: Any, names: tuple[str, ...], written: tuple[str, ...], line: int
) -> None:
    """A round after one in which a traced value may have ended the loop."""

    def nothing() -> None:
        pass

    branch(going, _Applied(body, item), nothing, names, written, line)


class _Applied:
    """A body without its argument; its variables are those of the body."""

    def __init__(self, body: Any, item: Any) -> None:
        self._body, self._item = body, item
        self.__code__, self.__closure__ = body.__code__, body.__closure__

    def __call__(self) -> None:
        self._body(self._item)


def while_(
    test: Callable[[], Any], body: Callable[[], None], names: tuple[str, ...],
    written: tuple[str, ...], nested: bool, line: int,
) -> None:  # fmt: skip
    """`while test(): body()`"""
    begin, count = equations(), 0
    while not undecided(going := test()):
        if not going:
            return
        body()
        count += 1
        if equations() - begin > LIMIT and session.mode == "auto":
            session.notes.append(f"line {line}: unrolled {count} times before it was staged")
            break
    carry = _Carry(names, written, line, body, test)
    carry.joining = True

    def step(carried: dict[str, Any]) -> dict[str, Any]:
        return _round(carry, carried, body)

    def goes_on(carried: dict[str, Any]) -> Any:
        carry.put(carried)
        going = test()
        return truth(going) if undecided(going) else bool(going)

    try:
        results = _settled(carry, lambda given: while_loop(goes_on, step, given))
    except _OtherType as why:
        raise CannotStage(f"{why}, in a loop on a traced condition") from None
    carry.finish(results, False)
