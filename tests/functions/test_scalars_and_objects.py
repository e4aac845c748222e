"""Operators of scalars and objects of the user's: the object's method decides, as with NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

import lazynp as np


class Symbol:
    """Its comparisons give no bools, as those of a computer algebra system."""

    def __bool__(self) -> bool:
        raise TypeError("no truth value")


def _says(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: (name, type(other).__name__, other)


for _name in ("lt", "le", "gt", "ge", "eq", "ne", "divmod", "rdivmod", "rmod", "rfloordiv", "radd"):
    setattr(Symbol, f"__{_name}__", _says(_name))
SCALARS: dict[str, Callable[[Any], Any]] = {
    "int": lambda xp: xp.arange(4)[2],
    "float": lambda xp: xp.linspace(0, 1, 3)[1],
    "float32": lambda xp: xp.ones(3, "f4").sum(),
    "bool": lambda xp: (xp.arange(3) > 1)[2],
    "pending": lambda xp: (xp.arange(9.0) * 2.0).max(),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "symbol": Symbol,
    "object": object,
    "None": lambda: None,
    "fraction": lambda: Fraction(1, 2),
    "decimal": lambda: Decimal(2),
    "date": lambda: date(2020, 1, 1),
    "text": lambda: "a",
    "set": lambda: {2},
}
OPERATORS = (
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, divmod,
    operator.mod, operator.floordiv, operator.add,
)  # fmt: skip


def _shown(result: Callable[[], Any]) -> Any:
    try:
        out = result()
    except TypeError:
        return TypeError
    if isinstance(out, tuple):
        return out[0] if isinstance(out[0], str) else str(tuple(map(str, out)))
    return str(out), isinstance(out, bool)


@pytest.mark.parametrize("other", list(OTHERS))
@pytest.mark.parametrize("scalar", list(SCALARS))
def test_operators_of_a_scalar_and_an_object(scalar: str, other: str) -> None:
    wrong = []
    for use in OPERATORS:
        for swap in (False, True):
            made = []
            for xp in (np, numpy):
                x, y = SCALARS[scalar](xp), OTHERS[other]()
                made.append(_shown(lambda: use(y, x) if swap else use(x, y)))  # noqa: B023
            if made[0] != made[1]:
                wrong.append((use.__name__, swap, *made))
    assert not wrong


def test_what_the_object_is_given() -> None:
    for xp in (np, numpy):
        n = xp.arange(4)[2]
        assert (n < Symbol()) == ("gt", "int", 2)
        assert divmod(n, Symbol()) == ("rdivmod", "int", 2)
        assert (xp.ones(1, complex)[0] % Symbol())[:2] == ("rmod", "complex128")


def test_arrays_make_bools_of_the_results() -> None:
    for xp in (np, numpy):
        assert (xp.arange(3) < Symbol()).tolist() == [True, True, True]
