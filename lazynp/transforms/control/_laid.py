"""How arrays lie in memory that a loop carries, or a branch gives: as NumPy's would.

The program has every value in C order. So the handles after a loop or a branch get the order that
the array has at the end of a round, or of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazynp._array import NDArray
from lazynp._strides import Order, in_order, own_order
from lazynp.transforms.control._absent import Zero
from lazynp.transforms.control._state import CannotStage, session

_UNCLEAR = "lies in another order in memory, as traced values decide"


class Orders:
    """The orders of the arrays in a loop's variables: those that a round begins and ends with."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Order] = {}
        self._changed: set[tuple[str, int]] = set()

    def begin(self, name: str, leaves: Iterable[Any]) -> None:
        for k, x in enumerate(leaves):
            order = _order(x)
            if order is not None:
                self._found[name, k] = order

    def put(self, name: str, k: int, array: Any) -> Any:
        """The array in its order, for a round, or after the loop."""
        return in_order(array, self._found.get((name, k)))

    def change(self, name: str, leaves: Iterable[Any], least: int, line: int) -> bool:
        """Whether a round leaves arrays in another order than it found them in. Then the next trace
        begins with that. Where the number of rounds decides, the last order found counts, and
        `refuse_unlaid` knows. least: rounds that there are at least.
        """
        changed = False
        for k, x in enumerate(leaves):
            key, order = (name, k), _order(x)
            if order == self._found.get(key):
                continue
            if not least or key in self._changed:
                session.unlaid = f"line {line}: `{name}` {_UNCLEAR}"
            if key in self._changed:
                continue
            self._changed.add(key)
            changed = True
            self._found.pop(key, None)
            if order is not None:
                self._found[key] = order
        return changed


def order_of_both(x: Any, y: Any, places: tuple[Any, Any], line: int) -> Order | None:
    """The order of what a branch gives: x or y. places: of these; one that has no value is `Zero`.
    Where they differ, C order, and `refuse_unlaid` knows.
    """
    a, b = _order(x), _order(y)
    if a == b or isinstance(places[1], Zero):
        return a
    if isinstance(places[0], Zero):
        return b
    session.unlaid = f"line {line}: an array {_UNCLEAR}"
    return None


def refuse_unlaid(arrays: Iterable[Any]) -> None:
    """Raise where a hot function or a loop gives back arrays, and the order of one is not known."""
    if session.unlaid and any(type(x) is NDArray and x.ndim > 1 for x in arrays):
        raise CannotStage(session.unlaid)


def _order(x: Any) -> Order | None:
    return own_order(x) if type(x) is NDArray else None
