"""What a trace knows of its sizes besides their forms: the tests that it has decided.

A trace that takes a branch of `if len(x) > 3` serves the sizes of which that is true. So from there
on, its sizes are such: `x[:4]` has four elements. What is known is noted in the atoms; comparisons
of sizes read it there (`_polynomials.ends`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazynp._sizes import Atom, Dim, Size, Test, bounds

Ends = tuple[Dim | None, Dim | None]  # of a size that lies between; None: not known

_MOST = 4  # pairs of sizes that one atom lies between
_OPPOSITES = {
    "equal": "not_equal", "not_equal": "equal", "less": "greater_equal",
    "greater_equal": "less", "greater": "less_equal", "less_equal": "greater",
}  # fmt: skip
_ENDS: dict[str, Ends] = {
    "equal": (0, 0), "less": (None, -1), "less_equal": (None, 0), "greater": (1, None),
    "greater_equal": (0, None),
}  # fmt: skip


def note(what: object, found: bool) -> None:
    """Note that this is true, or false, of the sizes that the trace is for: a size or a test."""
    if type(what) is Size:
        what = Test("not_equal", what, 0)
    if type(what) is not Test:
        return
    name, (a, b) = what.name, what.sides
    difference = a - b
    if type(difference) is not Size:
        return
    for atom in difference.variables():
        atom.facts += ((what, found),)
    name = name if found else _OPPOSITES[name]
    low, high = _beside_zero(difference) if name == "not_equal" else _ENDS[name]
    _narrow(difference, low, high)


def not_negative(size: Size) -> None:
    """Note that every call in which this is negative raises an error."""
    _narrow(size, 0, None)


def _narrow(size: Size, low: Dim | None, high: Dim | None) -> None:
    for atom in sorted(size.atoms(), key=lambda a: -a.order):
        count = size.terms.get((atom,), 0)
        if count and not any(atom in m and len(m) > 1 for m in size.terms):
            if _bind(atom, count, size - Size({(atom,): count}), low, high):
                break


def _beside_zero(difference: Size) -> Ends:
    """Where it lies if it is not 0."""
    low, high = bounds(difference)
    return (1, None) if low == 0 else (None, -1) if high == 0 else (None, None)


def _bind(atom: Atom, count: int, others: Dim, low: Dim | None, high: Dim | None) -> bool:
    """Note that `low <= count * atom + others <= high`, if that says something simple."""
    if count < 0:
        low, high = None if high is None else -high, None if low is None else -low
        count, others = -count, -others
    low, high = None if low is None else low - others, None if high is None else high - others
    if count > 1:
        if type(others) is Size:
            return False
        low, high = (
            None if low is None else -(-low // count),
            None if high is None else high // count,
        )
    if type(low) is int:
        atom.least = low if atom.least is None else max(atom.least, low)
        low = None
    if type(high) is int:
        numbers = [h for _, h in atom.between if type(h) is int]
        atom.between = tuple([p for p in atom.between if type(p[1]) is not int])
        high = min([high, *numbers])
    if (low is not None or high is not None) and len(atom.between) < _MOST:
        atom.between += ((low, high),)
    if atom.op == "remainder":
        _note_rest(atom)
    return True


def _note_rest(atom: Atom) -> None:
    """If the rest is known: of what it is the rest of."""
    x, k = atom.args
    low, high = bounds(Size({(atom,): 1}))
    if low is not None and low == high and type(k) is int and type(x) is Size:
        (first, *more) = x.atoms()
        if not more and x.terms.get((first,)) == 1 and len(x.terms.keys() - {()}) == 1:
            first.rests = {**first.rests, k: (low - x.terms.get((), 0)) % k}


def hold(axes: Iterable[Atom], values: Sequence[int]) -> bool:
    """Whether what is known of these sizes is true of these values, too."""
    numbers = dict(zip(axes, values, strict=False))
    return all(
        bool(what.at(numbers.__getitem__)) is found
        for atom in numbers
        for what, found in atom.facts
        if _variables(what) <= numbers.keys()
    )


def _variables(what: Size | Test) -> set[Atom]:
    sides = what.sides if type(what) is Test else (what,)
    return {a for s in sides if type(s) is Size for a in s.variables()}
