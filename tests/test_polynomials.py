"""Polynomials by their terms: arithmetic, division and bounds, against their values."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from lazynp._polynomials import Atom, added, divided, interval, multiplied, text

X, Y = Atom("x", 0), Atom("y", 2)
MONOMIALS = [(), (X,), (Y,), (X, X), (X, Y), (Y, Y)]
TERMS = st.dictionaries(
    st.sampled_from(MONOMIALS), st.integers(-3, 3).filter(bool), max_size=4
)  # fmt: skip
PLACES = [(x, y) for x in (0, 1, 2, 5) for y in (2, 3, 7)]


def at(terms: Any, x: int, y: int) -> int:
    total = 0
    for monomial, count in terms.items():
        for atom in monomial:
            count *= {X: x, Y: y}[atom]
        total += count
    return total


@given(TERMS, TERMS)
def test_arithmetic(a: Any, b: Any) -> None:
    for place in PLACES:
        assert at(added(a, b), *place) == at(a, *place) + at(b, *place)
        assert at(added(a, b, -1), *place) == at(a, *place) - at(b, *place)
        assert at(multiplied(a, b), *place) == at(a, *place) * at(b, *place)
    assert 0 not in [*added(a, b).values(), *multiplied(a, b).values()]
    assert added(a, a, -1) == {}


@given(TERMS, TERMS)
def test_division_undoes_multiplication(a: Any, b: Any) -> None:
    assert divided(multiplied(a, b), b) == (a if b else None)
    found = divided(a, b)
    assert found is None or multiplied(found, b) == a


@given(TERMS)
def test_bounds_hold(a: Any) -> None:
    low, high = interval(a)
    for place in PLACES:
        assert (low is None or low <= at(a, *place)) and (high is None or at(a, *place) <= high)


def test_text() -> None:
    assert text({(): -1, (X,): 1, (X, Y): -2}) == "-2*x*y + x - 1"
