"""Polynomials with integer coefficients over atoms: what a size is, by its terms.

Terms map a monomial to its coefficient. A monomial is the tuple of its atoms, oldest first. No
coefficient is 0, so equal polynomials have equal terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Monomial = tuple["Atom", ...]
Terms = Mapping[Monomial, int]


class Atom:
    """A variable, or an operation on sizes that is no polynomial.

    least: no value is less; None if nothing is known. between: pairs of sizes that it lies between,
    both included; None: not known. rests: what is left of it by some divisors. facts: tests, and
    whether they are true (`_facts`). place: whatever the tracer knows it by.
    """

    __slots__ = (
        "name", "order", "least", "between", "rests", "facts", "place", "op", "args", "derived",
        "avals",
    )  # fmt: skip

    def __init__(self, name: str, least: int | None, op: str = "", args: tuple[Any, ...] = ()):
        self.name, self.least, self.op, self.args = name, least, op, args
        self.order = next(_orders)
        self.between: tuple[tuple[Any, Any], ...] = ()
        self.rests: dict[int, int] = {}
        self.facts: tuple[tuple[Any, bool], ...] = ()
        self.place: Any = None
        self.derived: dict[Any, Atom] = {}  # operations whose newest atom is this one
        self.avals: dict[Any, Any] = {}  # types whose newest atom is this one

    def __repr__(self) -> str:
        if self.op in _INFIX:
            a, b = map(_operand, self.args)
            return f"({a} {_INFIX[self.op]} {b})"
        return f"{self.op}({self.args[0]}, {self.args[1]})" if self.op else self.name


def _operand(x: Any) -> str:
    """An operand beside an operator that binds more than `+`."""
    shown = str(x)
    return f"({shown})" if "*" in shown or len(getattr(x, "terms", ())) > 1 else shown


_INFIX = {"floor_divide": "//", "remainder": "%"}
_orders: Iterator[int] = itertools.count()


def _age(a: Atom) -> int:
    return a.order


def added(a: Terms, b: Terms, sign: int = 1) -> dict[Monomial, int]:
    """`a + b`, or `a - b`."""
    total = dict(a)
    for m, c in b.items():
        total[m] = total.get(m, 0) + sign * c
    return _without_zeros(total)


def multiplied(a: Terms, b: Terms) -> dict[Monomial, int]:
    """`a * b`"""
    total: dict[Monomial, int] = {}
    for m, c in a.items():
        for n, d in b.items():
            both = tuple(sorted((*m, *n), key=_age))
            total[both] = total.get(both, 0) + c * d
    return _without_zeros(total)


def _without_zeros(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    return {m: c for m, c in terms.items() if c}


def divided(a: Terms, b: Terms) -> dict[Monomial, int] | None:
    """`a / b` where that is a polynomial; else None."""
    if not b:
        return None
    left, out = dict(a), {}
    lead, count = _leading(b)
    while left:
        monomial, c = _leading(left)
        over = _over(monomial, lead)
        if over is None or c % count:
            return None
        out[over] = c // count
        left = added(left, multiplied({over: out[over]}, b), -1)
    return out


def _leading(terms: Terms) -> tuple[Monomial, int]:
    return max(terms.items(), key=lambda t: (len(t[0]), [-a.order for a in t[0]]))


def _over(monomial: Monomial, part: Monomial) -> Monomial | None:
    left = list(monomial)
    for a in part:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)


def interval(terms: Terms) -> tuple[int | None, int | None]:
    """The least and the greatest value, term by term: monomials of atoms that are known to be >= 0
    grow. None: not known.
    """
    low: int | None = 0
    high: int | None = 0
    for monomial, count in terms.items():
        if not monomial:
            low, high = None if low is None else low + count, None if high is None else high + count
            continue
        least: int | None = 1
        for a in monomial:
            least = None if least is None or a.least is None or a.least < 0 else least * a.least
        if len(monomial) == 1:
            least = monomial[0].least
        if count > 0:
            low, high = None if low is None or least is None else low + count * least, None
        else:
            low, high = None, None if high is None or least is None else high + count * least
    return low, high


def _most(ends: Iterable[int | None]) -> int | None:
    """The greatest of the ends that are known."""
    return max((e for e in ends if e is not None), default=None)


def _fewest(ends: Iterable[int | None]) -> int | None:
    """The least of the ends that are known."""
    return min((e for e in ends if e is not None), default=None)


def _least_of(ends: Iterable[int | None]) -> int | None:
    """The least end, if all are known."""
    found = list(ends)
    return None if None in found else min(found)  # type: ignore[type-var]


def _greatest_of(ends: Iterable[int | None]) -> int | None:
    """The greatest end, if all are known."""
    found = list(ends)
    return None if None in found else max(found)  # type: ignore[type-var]


def ends(terms: Terms, depth: int = 3) -> tuple[int | None, int | None]:
    """The least and the greatest value, also by what the operations in it say of their arguments;
    None: not known. depth: of operations looked at.
    """
    low, high = interval(terms)
    for a in {a for m in terms for a in m} if depth else ():
        count = terms.get((a,), 0)
        if a.op in ("maximum", "minimum") and count:
            # of maximum(y, k) - z, both y - z and k - z are at most that, and one is at least
            found = [ends(replaced(terms, a, terms_of(arg)), depth - 1) for arg in a.args]
            lows, highs = zip(*found, strict=True)
            up = (a.op == "maximum") == (count > 0)  # the greater of the two
            low = _most([low, *(lows if up else [_least_of(lows)])])
            high = _fewest([high, *(highs if not up else [_greatest_of(highs)])])
        elif a.op in ("floor_divide", "remainder") and count and _is_positive(a.args[1]):
            least, greatest = _by_division(terms, a, count, depth)
            low, high = _most([low, least]), _fewest([high, greatest])
        for pair in a.between if count else ():
            least, greatest = pair if count > 0 else pair[::-1]
            if least is not None:
                low = _most([low, ends(replaced(terms, a, terms_of(least)), depth - 1)[0]])
            if greatest is not None:
                high = _fewest([high, ends(replaced(terms, a, terms_of(greatest)), depth - 1)[1]])
    return low, high


def _is_positive(x: Any) -> bool:
    return type(x) is int and x > 0


def _by_division(terms: Terms, a: Atom, count: int, depth: int) -> tuple[int | None, int | None]:
    """The ends, from x == x // k * k + x % k, and 0 <= x % k < k."""
    x, k = a.args
    known = _rest(terms_of(x), k)
    rests = [0, (k - 1) * count] if known is None else [known * count]
    if a.op == "remainder":
        low, high = ends(replaced(terms, a, {}), depth - 1)
    else:  # k times all
        scaled = multiplied(replaced(terms, a, {}), {(): k})
        low, high = ends(added(scaled, multiplied(terms_of(x), {(): count})), depth - 1)
        rests = [-r for r in rests]
    low = None if low is None else low + min(rests)
    high = None if high is None else high + max(rests)
    if a.op == "floor_divide":
        low, high = None if low is None else -(-low // k), None if high is None else high // k
    return low, high


def _rest(x: Terms, k: int) -> int | None:
    """`x % k`, if a fact tells it."""
    left = {m: c % k for m, c in x.items() if c % k}
    constant = left.pop((), 0)
    if len(left) != 1:
        return None
    ((monomial, count),) = left.items()
    if len(monomial) == count == 1:
        for by, rest in monomial[0].rests.items():
            if by % k == 0:
                return (rest + constant) % k
    return None


def parted(x: Terms, k: Any) -> tuple[dict[Monomial, int], dict[Monomial, int]]:
    """`x // k`, as far as that is a polynomial, and what is left to divide. A rest that facts tell
    is taken away: (n + 1) // 2 of an even n is n // 2.
    """
    rest = _rest(x, k) if k > 0 else None
    x = added(x, {(): rest or 0}, -1)
    whole = {m: c // k for m, c in x.items() if c % k == 0}
    left = {m: c for m, c in x.items() if c % k}
    if rest is not None and () in left:
        whole[()] = left[()] // k
        left[()] %= k
    return _without_zeros(whole), left


def replaced(terms: Terms, atom: Atom, by: Terms) -> dict[Monomial, int]:
    """With other terms for an atom, where that stands alone."""
    count = terms[(atom,)]
    return added(added(terms, {(atom,): -count}), multiplied(by, {(): count}))


def terms_of(x: Any) -> Terms:
    """Those of a size, or of an int."""
    return ({(): x} if x else {}) if type(x) is int else x.terms


def text(terms: Terms) -> str:
    """The polynomial as it is written."""
    parts = []
    for m, c in sorted(terms.items(), key=lambda t: (-len(t[0]), [a.order for a in t[0]])):
        term = "*".join(map(repr, m))
        if not m or abs(c) != 1:
            term = f"{abs(c)}*{term}" if m else str(abs(c))
        parts.append(("-" if c < 0 else "+", term))
    first = parts[0][1] if parts[0][0] == "+" else "-" + parts[0][1]
    return " ".join([first, *(f"{sign} {term}" for sign, term in parts[1:])])
