"""Sizes that a traced program does not know: polynomials over its integers, in normal form.

A `Size` stands in shapes where an int would. Its atoms are variables of the program (the length of
an axis, an integer that was used as a size) and integer operations on sizes. Sizes with the same
normal form are equal. What a comparison cannot decide for all values raises an error in `bool`, so
that code which is not written for such sizes fails instead of taking one of its branches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lazynp._fronts import BUILT, fastpath
from lazynp._polynomials import (
    Atom,
    Monomial,
    added,
    divided,
    ends,
    multiplied,
    parted,
    replaced,
    text,
)  # fmt: skip
from lazynp._tests_of_sizes import Test
from lazynp._who_asks import (
    hooks,
    number,
    number_for_user,
    truth,
    undecided,
    user_asks,
    user_compares,
)

Dim = Any  # an int or a Size


def variable(name: str, least: int | None = 0) -> Size:
    """A new size that may have any value, from `least` on."""
    return Size({(Atom(name, least),): 1})


def newest(dims: Iterable[Dim]) -> Atom:
    """The atom that was made last, of those in these sizes."""
    return max((a for d in dims if type(d) is Size for a in d.atoms()), key=lambda a: a.order)


def _operation(op: str, a: Dim, b: Dim, least: int | None) -> Size:
    """The size of an operation; the same operation on the same sizes is one atom."""
    table = newest((a, b)).derived
    atom = table.get((op, a, b))
    if atom is None:
        atom = table[op, a, b] = Atom("", least, op, (a, b))
    return Size({(atom,): 1})


# -- sizes -----------------------------------------------------------------------------------------


def _comparing(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: compared(name, self, other)


def _of_scalars(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: operate(_plain(self), _plain(other))


def _turned(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: operate(_plain(other), _plain(self))


class Size:
    """A polynomial with integer coefficients over atoms, never a constant. Immutable."""

    __slots__ = ("terms", "_hash")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash = hash(frozenset((tuple([a.order for a in m]), c) for m, c in terms.items()))

    def atoms(self) -> set[Atom]:
        return {a for m in self.terms for a in m}

    def variables(self) -> list[Atom]:
        """The variables, also those of its operations, oldest first."""
        found: set[Atom] = set()
        for a in self.atoms():
            if not a.op:
                found.add(a)
            for x in a.args:
                found.update(x.variables() if type(x) is Size else ())
        return sorted(found, key=lambda a: a.order)

    def at(self, values: Callable[[Atom], Any]) -> Any:
        """The size where the variables have these values: ints, or sizes."""
        total: Any = 0
        for monomial, count in self.terms.items():
            for a in monomial:
                count = count * (_OPERATIONS[a.op](*[value_at(x, values) for x in a.args])
                                 if a.op else values(a))  # fmt: skip
            total = total + count
        return total

    def __repr__(self) -> str:
        """Its form; in the user's code its number, if the call that is traced tells."""
        found = number_for_user(self)
        return text(self.terms) if found is None else str(found)

    def __hash__(self) -> int:
        """Of its form. In the user's sets and dicts it is found as its number would be."""
        return hash(number(self)) if user_asks() else self._hash

    def __copy__(self, memo: Any = None) -> Size:
        return self

    __deepcopy__ = __copy__

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, 1) if _is_dim(other) else self._scalar() + other

    def __radd__(self, other: Any) -> Any:
        return _combined(self, other, 1) if _is_dim(other) else other + self._scalar()

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, -1) if _is_dim(other) else self._scalar() - other

    def __rsub__(self, other: Any) -> Any:
        if not _is_dim(other):
            return other - self._scalar()
        return _combined(_product(self, -1), other, 1)

    def __neg__(self) -> Any:
        return _product(self, -1)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return largest(self, -self)

    def __mul__(self, other: Any) -> Any:
        return _product(self, other) if _is_dim(other) else self._scalar() * other

    def __rmul__(self, other: Any) -> Any:
        return _product(self, other) if _is_dim(other) else other * self._scalar()

    def __floordiv__(self, other: Any) -> Any:
        return quotient(self, other) if _is_dim(other) else self._scalar() // other

    def __rfloordiv__(self, other: Any) -> Any:
        return quotient(other, self) if _is_dim(other) else other // self._scalar()

    def __mod__(self, other: Any) -> Any:
        return rest(self, other) if _is_dim(other) else self._scalar() % other

    def __rmod__(self, other: Any) -> Any:
        return rest(other, self) if _is_dim(other) else other % self._scalar()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lshift__(self, other: Any) -> Any:
        known = isinstance(other, int) and 0 <= other < 63
        return _product(self, 1 << other) if known else self._scalar() << _plain(other)

    def __rshift__(self, other: Any) -> Any:
        known = isinstance(other, int) and 0 <= other < 63
        return quotient(self, 1 << other) if known else self._scalar() >> _plain(other)

    __rlshift__, __rrshift__ = _turned(operator.lshift), _turned(operator.rshift)

    def __and__(self, other: Any) -> Any:
        bits = isinstance(other, int) and other >= 0 and not other & (other + 1)
        return rest(self, other + 1) if bits else self._scalar() & _plain(other)

    __rand__ = __and__

    __or__, __xor__ = _of_scalars(operator.or_), _of_scalars(operator.xor)
    __ror__, __rxor__ = __or__, __xor__

    def __invert__(self) -> Any:
        return -self - 1

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __round__(self, ndigits: int | None = None) -> Any:
        return self

    __truediv__, __rtruediv__ = _of_scalars(operator.truediv), _turned(operator.truediv)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other < 8:
            total: Any = 1
            for _ in range(other):
                total = self * total
            return total
        return self._scalar() ** _plain(other)

    __rpow__ = _turned(operator.pow)

    def __eq__(self, other: Any) -> Any:
        if type(other) is Size and (other is self or self.terms == other.terms):
            return True
        return compared("equal", self, other)

    __ne__ = _comparing("not_equal")
    __lt__ = _comparing("less")
    __le__ = _comparing("less_equal")
    __gt__ = _comparing("greater")
    __ge__ = _comparing("greater_equal")

    def __bool__(self) -> bool:
        return (bounds(self)[0] or 0) > 0 or truth(self)

    def _refused(self) -> int:
        raise undecided(self)

    __int__ = __float__ = __complex__ = _refused  # type: ignore[assignment]
    if not BUILT:
        __index__ = _refused

    def __format__(self, form: str) -> str:
        return format(number(self), form) if form else repr(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise undecided(self)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return self._scalar().__array_ufunc__(function, method, *map(_plain, inputs), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._scalar(), name)

    def _scalar(self) -> Any:
        return hooks[0].scalar(self)


if BUILT:  # programs ask for an `__index__`; `range`, slices and the like do not
    fastpath.refuse_index(Size, Size._refused)


def _plain(x: Any) -> Any:
    return x._scalar() if type(x) is Size else x.scalar() if type(x) is Test else x


def _is_dim(x: Any) -> bool:
    return type(x) is Size or issubclass(type(x), (int, np.integer))  # `isinstance` takes Scalars


def _terms(x: Dim) -> dict[Monomial, int]:
    return x.terms if type(x) is Size else {(): int(x)} if x else {}


def _made(terms: dict[Monomial, int]) -> Dim:
    if terms.keys() <= {()}:
        return terms.get((), 0)
    return Size(terms)


def _combined(a: Dim, b: Dim, sign: int) -> Dim:
    return _made(added(_terms(a), _terms(b), sign))


def _product(a: Dim, b: Dim) -> Dim:
    return _made(multiplied(_terms(a), _terms(b)))


def is_size(x: Any) -> bool:
    return type(x) is Size


def sized(dims: Iterable[Any]) -> bool:
    """Whether one of these is a size without a value."""
    return Size in map(type, dims)


def value_at(x: Dim, values: Callable[[Atom], Any]) -> Any:
    """A size, or an int, where the variables have these values."""
    return x.at(values) if type(x) is Size else x


# -- operations ------------------------------------------------------------------------------------


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """`a / b` where that is a polynomial; else None."""
    found = divided(_terms(a), _terms(b))
    return None if found is None else _made(found)


def quotient(a: Dim, b: Dim) -> Dim:
    """`a // b`"""
    if type(a) is not Size and type(b) is not Size:
        return a // b
    if type(b) is not Size:
        if b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        whole, left = map(_made, parted(_terms(a), b))
        if type(left) is not Size:
            return whole + left // b
        a = left
        low = bounds(a)[0]
        return whole + _operation("floor_divide", a, b, None if low is None or b < 0 else low // b)
    return _operation("floor_divide", a, b, None)


def rest(a: Dim, b: Dim) -> Dim:
    """`a % b`"""
    if type(a) is not Size and type(b) is not Size:
        return a % b
    if type(b) is Size and exact_quotient(a, b) is not None:
        return 0  # also of 0 by 0: see `_unless_zero`
    if type(b) is not Size:
        if b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        left = _made({m: c % b for m, c in _terms(a).items() if c % b})
        if type(left) is not Size:
            return left % b
        return _operation("remainder", left, b, 0 if b > 0 else None)
    return _operation("remainder", a, b, None)


def largest(a: Dim, b: Dim) -> Dim:
    """The maximum."""
    return _extreme("maximum", a, b, True)


def smallest(a: Dim, b: Dim) -> Dim:
    """The minimum."""
    return _extreme("minimum", a, b, False)


def _extreme(op: str, a: Dim, b: Dim, most: bool) -> Dim:
    low, high = bounds(a - b)
    if low is not None and low >= 0:
        return a if most else b
    if high is not None and high <= 0:
        return b if most else a
    for one, other in ((a, b), (b, a)):
        part = _undominated(op, one, other, most)
        if part is not None:
            return _extreme(op, part, other, most)
    if type(a) is not Size or (type(b) is Size and str(b) < str(a)):
        a, b = b, a
    ends = [bounds(x)[0] for x in (a, b)]
    known = [e for e in ends if e is not None]
    least = max(known, default=None) if most else min(known) if len(known) == 2 else None
    return _operation(op, a, b, least)


def _undominated(op: str, a: Dim, b: Dim, most: bool) -> Dim | None:
    """Of maximum(p, q) + r beside b: p + r, if q + r is never greater than b."""
    for atom in a.atoms() if type(a) is Size else ():
        if atom.op == op and a.terms.get((atom,)) == 1:
            for kept, left in (atom.args, atom.args[::-1]):
                low, high = bounds(_replaced(a, atom, left) - b)
                if high is not None and high <= 0 if most else low is not None and low >= 0:
                    return _replaced(a, atom, kept)
    return None


def _unless_zero(divide: Callable[[Dim, Dim], Dim]) -> Callable[[Dim, Dim], Dim]:
    """The division of a program: by 0 it gives 0, as NumPy's of integers does."""
    return lambda a, b: 0 if type(b) is not Size and b == 0 else divide(a, b)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floor_divide": _unless_zero(quotient), "remainder": _unless_zero(rest), "maximum": largest,
    "minimum": smallest,
}  # fmt: skip


# -- what is known for all values ------------------------------------------------------------------


def bounds(x: Dim) -> tuple[int | None, int | None]:
    """The least and the greatest that it may be; None: not known."""
    return ends(x.terms) if type(x) is Size else (int(x), int(x))


def _replaced(x: Size, atom: Atom, by: Dim) -> Dim:
    return _made(replaced(x.terms, atom, _terms(by)))


def compared(name: str, a: Dim, b: Any) -> Any:
    """A comparison: True or False where that holds for all values, else a `Test`.

    Within this package, sizes that are not known to be equal differ, and none is 1; only whether
    there are no elements at all must be decided by code that is written for it.
    """
    if not _is_dim(b):
        if b is None or isinstance(b, (str, tuple, list)) or b is NotImplemented:
            return NotImplemented
        return hooks[0].compared(name, a, b)
    low, high = bounds(a - b)
    if low is not None and low == high == 0:
        return name in ("equal", "less_equal", "greater_equal")
    if low is not None:
        if low > 0:
            return name in ("greater", "greater_equal", "not_equal")
        if low == 0 and name in ("greater_equal", "less"):
            return name == "greater_equal"
    if high is not None:
        if high < 0:
            return name in ("less", "less_equal", "not_equal")
        if high == 0 and name in ("less_equal", "greater"):
            return name == "less_equal"
    inside = name in ("equal", "not_equal") and (type(b) is Size or b != 0)
    if inside and not user_compares():
        return name == "not_equal"
    return Test(name, a, b)
