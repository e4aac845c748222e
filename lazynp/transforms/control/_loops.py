"""Loops: Python's where they are short or cannot be staged, else staged once.

The variables that a round reads of the one before, or that are read after the loop, are the carry.
A name that is only written in place keeps its array: the loop captures it. A trace of a body
changes nothing in Python; where it fails, the variables are as before, and Python runs the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import count as counting_from, pairwise
from types import CodeType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp._dimensions import sized
from lazynp._positions import position
from lazynp._recorder import user_position
from lazynp._signals import let_through
from lazynp._tree import tree_flatten
from lazynp.primitives import elementwise
from lazynp.transforms._looping import counted, counted_loop, looped, stacked_loop
from lazynp.transforms.control._carry import Again, Carry, Exchanged, OtherType
from lazynp.transforms.control._choice import branch, not_
from lazynp.transforms.control._divided import (
    BYTES,
    EQUATIONS,
    ROUNDS,
    Counting,
    Divided,
    Measured,
    apart,
    gain,
    quarters,
    windows,
)
from lazynp.transforms.control._growing import Grows
from lazynp.transforms.control._messages import check_raised, is_deferred
from lazynp.transforms.control._places import new_places, noting
from lazynp.transforms.control._sequences import SHORT, Endless, Rounds, rounds_of
from lazynp.transforms.control._starts import started
from lazynp.transforms.control._state import (
    CannotStage,
    bind_all,
    cells_of,
    equations,
    involved,
    kind,
    numbers,
    pythons,
    session,
    truth,
    undecided,
    values_of,
    when_raised,
)

_PLAIN = 64  # rounds over anything but numbers and arrays, from which the limit counts
# elements that all rounds of a loop of a hot function may pass on: it takes some seconds at most;
# and as many as take the time that a round takes besides
_WORK, _ROUND = 1 << 29, 16
COUNT = ".count"  # the variable of a loop that ends after so many rounds
_FEW = 128  # in so many rounds, products of ints exceed 64 bits if they do at all


# -- tracing a body --------------------------------------------------------------------------------


def _nodes(made: dict[str, Any]) -> dict[str, list[Any]]:
    return {n: [x._node if type(x) is NDArray else None for x in tree_flatten(v)[0]]
            for n, v in made.items()}  # fmt: skip


def _settled(carry: Carry, loop: Callable[[dict[str, Any]], Any]) -> Any:
    """Run the loop primitive until the types of the carry are found."""
    growth = session.growth  # of a loop around this one
    attempts = 0
    while attempts < 2 * len(carry.names) + 4 + len(carry.cells):  # which places are added to
        attempts += 1
        carry.values = {n: started(v) for n, v in carry.values.items()}
        try:
            with session.staged(carry.exact, carry.counted):
                return loop(carry.given())
        except (Again, Grows):
            continue
        except CannotStage:
            if not carry.release():
                raise
        finally:
            session.growth = growth
            bind_all(carry.cells.values(), carry.before)
    raise CannotStage(f"line {carry.line}: the types of the variables do not settle")


def _round(carry: Carry, carried: dict[str, Any], body: Callable[[], Any]) -> dict[str, Any]:
    made = carry.put(carried)
    first = _nodes(made)
    with noting() as stores, session.within_body(carry.own_arrays(), carry):
        body()
        out = None if (places := new_places(stores, carry.cells)) else carry.taken(made, first)
    if out is None:
        carry.add(places)
        raise Again
    return out


def _staged_for(
    rounds: Rounds, skipped: int, body: Any, ends: Any, carry: Carry, measure: bool
) -> None:
    low, high = rounds.bounds(skipped)
    counting = None
    carry.counted = not undecided(rounds.length)
    if carry.counted:
        count = int(rounds.length)
        carry.exact = count <= _FEW and _is_straight(body)
        carry.least = 1 if callable(ends) else count - skipped
        carry.grows = not callable(ends)
        if not callable(ends):
            counting = carry.loop = Counting(rounds.first, rounds.step, count)

    def step(counter: Any, carried: dict[str, Any]) -> dict[str, Any]:
        if carry.probing:
            carry.probing = False
            _round(carry, carried, lambda: rounds.run(body, rounds.number(low)))
            raise CannotStage("no array changes its shape")
        number = rounds.number(counter)
        if carry.windows:
            carry.done = elementwise.subtract(counter, low)
        if counting is None:
            return _round(carry, carried, lambda: rounds.run(body, number))
        with counting.traced(number):
            made = _round(carry, carried, lambda: rounds.run(body, number))
        if measure:
            raise Measured(windows())
        large = windows() >= BYTES and equations() <= EQUATIONS
        if not rounds.divided and count >= ROUNDS and large:
            raise Divided(counting, (), windows())
        return made

    def going(carried: dict[str, Any]) -> Any:
        carry.put(carried)
        return not_(ends())

    def loop(given: dict[str, Any]) -> Any:
        if carry.grows and carry.growth.growing:
            after, carry.growth.rows = stacked_loop(
                low, high, lambda i, x: (step(i, x), carry.appended), given
            )
            return after
        if ends is None:
            ends_at = sized(high)
            own = None if ends_at is high else True
            return counted(sized(low), ends_at, step, given, preserve=own)
        return counted_loop(low, high, step, given, going=going)

    carry.finish(_settled(carry, loop), not undecided(rounds.length))


def _attempt(
    rounds: Rounds, skipped: int, body: Any, ends: Any, carry: Carry, joining: bool,
    measure: bool = False,
) -> str | None:  # fmt: skip
    """Stage a loop; returns why that cannot be."""
    carry.joining, since = joining, next(numbers)
    try:
        _staged_for(rounds, skipped, body, ends, carry, measure)
        return None
    except CannotStage as why:
        bind_all(carry.cells.values(), carry.before)
        return str(why)
    except (OtherType, Exchanged):
        bind_all(carry.cells.values(), carry.before)
        raise
    except NameError as error:  # in the first round, a flag that is known may say not to read it
        bind_all(carry.cells.values(), carry.before)
        if skipped or ends is not None:
            raise
        raise OtherType(f"line {carry.line}: {type(error).__name__}: {error}") from None
    except Exception as error:
        bind_all(carry.cells.values(), carry.before)
        let_through(error)
        if undecided(rounds.length) and is_deferred(error, since):
            check_raised(elementwise.greater(rounds.length, 0), error)
            return None
        if when_raised(error) or undecided(rounds.length):
            raise
        why = f"line {carry.line}: {type(error).__name__}: {error}"
        if isinstance(error, TypeError) and carry.peels and carry.holds_none:
            raise OtherType(why) from None  # of None, which the first round may replace
        return why


def _unknown_places(exchanged: Exchanged, line: int) -> str:
    names = " and ".join([f"`{n}`" for n in sorted(exchanged.names)])
    return (
        f"line {line}: {names} change places and are written in place, and the number of rounds is "
        "not known; copy them before the loop"
    )


def _exchanged(
    rounds: Rounds, skipped: int, body: Any, ends: Any, carry: Carry, exchanged: Exchanged
) -> str | None:
    """Stage several rounds as one, after which every array is in its variable again. Python runs
    those that are left over.
    """
    if undecided(rounds.length) or ends is not None:
        return _unknown_places(exchanged, carry.line)
    together, count = exchanged.rounds, int(rounds.length) - skipped
    first, step = rounds.first + skipped * rounds.step, rounds.step

    def several(place: Any) -> None:
        for k in range(together):
            body(rounds.item(first + (place * together + k) * step))

    groups = Rounds(0, 1, count // together, lambda place: place)
    groups.divided = True
    after = carry.after
    carry = Carry(
        carry.variables,
        carry.written,
        carry.line,
        body,
        kept=exchanged.names.intersection(carry.variables),
        growth=carry.growth,
    )
    carry.after = after
    try:
        why = _attempt(groups, 0, several, None, carry, True)
    except (OtherType, Exchanged) as error:
        why = str(error)
    for k in range(count - count % together if why is None else count, count):
        body(rounds.item(first + k * step))
    return why


def _in_pieces(
    divided: Divided, rounds: Rounds, skipped: int, body: Any, names: tuple[str, ...],
    written: tuple[str, ...], nested: bool, line: int,
) -> None:  # fmt: skip
    """Stage a loop as several, one after the other."""
    count, places = int(rounds.length), divided.places
    if not places:
        places = tuple([skipped + p for p in quarters(count - skipped)])
        ends = [(skipped, places[0]), (places[-1], count)]
        found = [_windows_of(rounds.part(*e), body, names, written, line) for e in ends]
        if not gain(divided.bytes, *found):
            places = ()
    whole = rounds.divided or not divided.places
    for begin, end in pairwise([skipped, *[p for p in places if p > skipped], count]):
        piece = rounds.part(begin, end, whole)
        for_(piece, body, None, names, written, nested, line, names)


def _windows_of(
    rounds: Rounds, body: Any, names: tuple[str, ...], written: tuple[str, ...], line: int
) -> float:
    carry = Carry(names, written, line, body)
    try:
        _attempt(rounds, 0, body, None, carry, True, measure=True)
    except Measured as found:
        return found.bytes
    except (OtherType, Exchanged, Divided):
        pass
    return math.inf


# -- the operators ---------------------------------------------------------------------------------


def for_(
    over: Any, body: Callable[[Any], None], ends: Callable[[], Any] | None,
    names: tuple[str, ...], written: tuple[str, ...], nested: bool, line: int,
    after: tuple[str, ...],
) -> None:  # fmt: skip
    """`for item in over: body(item)`. ends: whether a jump has ended the loop. nested: whether the
    body holds a loop. after: names that are read after the loop.
    """
    if type(over) is Endless and ends is not None:
        over = _first_rounds(over, body, ends)
    rounds = rounds_of(over)
    if rounds is None and session.depth and isinstance(over, Iterator):
        if type(over) not in (zip, enumerate, map, filter):  # these were made for this loop
            raise CannotStage(f"line {line}: an iterator ({kind(over)}) is consumed")
    if rounds is None:
        _in_python(over, body, ends, names, written, line, 0, None)
        return
    known = not undecided(rounds.length)
    count = int(rounds.length) if known else -1
    with apart() if known else nullcontext():
        _for(rounds, known, count, over, body, ends, names, written, nested, line, after)


def _first_rounds(over: Endless, body: Any, ends: Callable[[], Any]) -> Any:
    """The rounds that are left when a traced value may have ended it; before, it is Python's."""
    begin, most = equations(), session.limit
    for i in over:
        if undecided(end := ends()):
            left = elementwise.select(end, 0, _ENDLESS)
            return Rounds(i, over.step, pythons(left, np.dtype(np.int64)), lambda k: k)
        if end or equations() - begin > most:
            return () if end else counting_from(i, over.step)
        body(i)


_ENDLESS = 2**60  # rounds


def _for(
    rounds: Rounds, known: bool, count: int, over: Any, body: Any, ends: Any,
    names: tuple[str, ...], written: tuple[str, ...], nested: bool, line: int,
    after: tuple[str, ...],
) -> None:  # fmt: skip
    mode = session.mode
    short = count <= 1 or mode == "auto" and count <= SHORT and not nested
    if known and (short and mode != "stage" or mode == "unroll" or not count):
        _in_python(rounds, body, ends, names, written, line, 0, None)
        return
    plain = session.strict is None or count <= _PLAIN or not _has_arrays(body)
    if known and plain and mode == "auto" and not _involves(body, over):
        _in_python(rounds, body, ends, names, written, line, 0, None)
        return
    skipped, why, said, taken = 0, None, len(session.notes), windows()
    while True:
        carry = Carry(names, written, line, body, ends)
        carry.after = after
        carry.peels = known and skipped <= 1 and count - skipped >= 2 and ends is None
        try:
            why = _attempt(rounds, skipped, body, ends, carry, not known or skipped > 1)
            if why is None or not carry.loop or carry.windows or windows() == taken:
                break
            # a slice of unknown size met an array whose shape the rounds may change
            carry = Carry(names, written, line, body, ends)
            carry.after, carry.probing = after, True
            if _attempt(rounds, skipped, body, ends, carry, skipped > 1) is None:
                why = None
            break
        except Divided as divided:
            if divided.loop is not carry.loop:
                raise
            del session.notes[said:]
            _in_pieces(divided, rounds, skipped, body, names, written, nested, line)
            return
        except OtherType as error:
            why = str(error)
        except Exchanged as exchanged:
            why = _exchanged(rounds, skipped, body, ends, carry, exchanged)
            break
        if not carry.peels:
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
        and not over.listed
        or involved(over)
        or any(involved(v) for v in values_of(cells_of(body).values()))
    ):
        return True
    scope = body.__globals__
    return any(involved(scope[n]) for n in body.__code__.co_names if n in scope)


def _is_straight(body: Any) -> bool:
    """Whether the body holds no loops, branches or functions. Unrolling others takes long."""
    return not any(isinstance(c, CodeType) for c in body.__code__.co_consts)


def _has_arrays(body: Any) -> bool:
    """Whether the body reads arrays. If they are known, Python is right, but may be slow."""
    return any(isinstance(v, Array) for v in values_of(cells_of(body).values()))


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
        too_many = equations() - begin > session.limit and session.mode == "auto"
        if too_many and (why is not None or count > _PLAIN):
            raise TypeError(
                f"{position(*user_position())}: the loop at line {line} was unrolled for {count} "
                f"rounds and has more than {session.limit} operations, because "
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

    branch(going, Applied(body, lambda: item), nothing, names, written, line)


class Applied:
    """A body without its argument, which `item` gives; its variables are those of the body."""

    def __init__(self, body: Any, item: Callable[[], Any]) -> None:
        self._body, self._item = body, item
        self.__code__, self.__closure__ = body.__code__, body.__closure__
        self.__kwdefaults__ = body.__kwdefaults__

    def __call__(self, _: Any = None) -> None:
        self._body(self._item())


def _ended(goes_on: Any, step: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A loop of a hot function, which may never end. Nothing interrupts a program. So this one
    fails after a second or more, and Python runs the call again, where Ctrl-C ends it.
    """
    elements = sum([getattr(x, "size", 1) for x in tree_flatten(given)[0]])
    most = max(_WORK // (_ROUND + elements), _FEW)

    def test(carried: tuple[dict[str, Any], Any]) -> Any:
        going = goes_on(carried[0])
        if going is False:
            return False
        return elementwise.logical_and(elementwise.less(carried[1], most), going)

    def once_more(carried: tuple[dict[str, Any], Any]) -> tuple[dict[str, Any], Any]:
        return step(carried[0]), elementwise.add(carried[1], 1)

    results, rounds = looped(test, once_more, (given, np.int64(0)))
    check_raised(elementwise.greater_equal(rounds, most), RuntimeError("a loop takes too long"))
    return results


def while_(
    test: Callable[[], Any], body: Callable[[], None], names: tuple[str, ...],
    written: tuple[str, ...], nested: bool, line: int, after: tuple[str, ...],
) -> None:  # fmt: skip
    """`while test(): body()`"""
    begin, count = equations(), 0
    while not undecided(going := test()):
        if not going:
            return
        body()
        count += 1
        if equations() - begin > session.limit and session.mode == "auto":
            session.notes.append(f"line {line}: unrolled {count} times before it was staged")
            break
    carry = Carry(names, written, line, body, test)
    carry.joining, carry.counted = True, False

    def step(carried: dict[str, Any]) -> dict[str, Any]:
        return _round(carry, carried, body)

    def goes_on(carried: dict[str, Any]) -> Any:
        carry.put(carried)
        going = test()
        return truth(going) if undecided(going) else bool(going)

    since = next(numbers)
    try:
        run = looped if session.strict is None or COUNT in names else _ended
        results = _settled(carry, lambda given: run(goes_on, step, given))
    except OtherType as why:
        raise CannotStage(f"{why}, in a loop on a traced condition") from None
    except Exchanged as exchanged:
        raise CannotStage(_unknown_places(exchanged, line)) from None
    except Exception as error:
        if not is_deferred(error, since):
            raise
        check_raised(truth(going), error)  # each round raises it, and so the first, if there is one
        return
    carry.finish(results, False)
