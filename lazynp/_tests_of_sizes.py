"""Comparisons of sizes that are not the same for all values.

In the user's code they are bools of Python's where the call that is traced tells: then the trace is
for calls of which the same is true. Where it does not tell, they are Scalars of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lazynp._who_asks import hooks, told, truth, undecided, user_asks, users_own

_COMPARED: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "equal": ("==", operator.eq), "not_equal": ("!=", operator.ne), "less": ("<", operator.lt),
    "less_equal": ("<=", operator.le), "greater": (">", operator.gt),
    "greater_equal": (">=", operator.ge),
}  # fmt: skip


def _of_truth(operate: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """What an operator of Python's makes of a bool, on the left and on the right."""
    return (
        lambda self, other: operate(_bool(self, told(self)), other),
        lambda self, other: operate(other, _bool(self, told(self))),
    )


def _bool(test: Test, known: bool | None) -> Any:
    return test.scalar() if known is None else known


class Test:
    """A comparison of sizes that is not the same for all values."""

    __slots__ = ("name", "sides")

    def __init__(self, name: str, *sides: Any) -> None:
        self.name, self.sides = name, sides

    def __bool__(self) -> bool:
        return truth(self)

    def at(self, values: Callable[[Any], Any]) -> bool:
        """The comparison where the variables have these values."""
        sides = [x.at(values) if hasattr(x, "at") else x for x in self.sides]
        return _COMPARED[self.name][1](*sides)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise undecided(self)

    def __repr__(self) -> str:
        """Its form; in the user's code True or False, if the call that is traced tells."""
        if users_own() and (found := told(self)) is not None:
            return str(found)
        return f"{self.sides[0]} {_COMPARED[self.name][0]} {self.sides[1]}"

    def __format__(self, form: str) -> str:
        return format(truth(self), form) if form or users_own() else repr(self)

    def __hash__(self) -> int:
        return hash(truth(self)) if user_asks() else object.__hash__(self)

    def __eq__(self, other: Any) -> Any:
        return _bool(self, told(self)) == other if user_asks() else self is other

    def __ne__(self, other: Any) -> Any:
        return _bool(self, told(self)) != other if user_asks() else self is not other

    def __index__(self) -> int:
        return int(truth(self))

    __int__ = __index__

    def __float__(self) -> float:
        return float(truth(self))

    def scalar(self) -> Any:
        """The comparison as a Scalar of the program."""
        return hooks[0].compared(self.name, *self.sides)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.scalar(), name)

    def __and__(self, other: Any) -> Any:
        return self.scalar() & _plain(other)

    def __or__(self, other: Any) -> Any:
        return self.scalar() | _plain(other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return ~self.scalar()

    __add__, __radd__ = _of_truth(operator.add)
    __sub__, __rsub__ = _of_truth(operator.sub)
    __mul__, __rmul__ = _of_truth(operator.mul)
    __truediv__, __rtruediv__ = _of_truth(operator.truediv)
    __floordiv__, __rfloordiv__ = _of_truth(operator.floordiv)
    __mod__, __rmod__ = _of_truth(operator.mod)
    __pow__, __rpow__ = _of_truth(operator.pow)
    __xor__, __rxor__ = _of_truth(operator.xor)
    __lt__, __gt__ = _of_truth(operator.lt)
    __le__, __ge__ = _of_truth(operator.le)

    def __neg__(self) -> Any:
        return -_bool(self, told(self))


def _plain(x: Any) -> Any:
    return x.scalar() if type(x) is Test else x
