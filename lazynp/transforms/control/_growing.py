"""Lists to which the rounds of a staged loop append. The loop stacks the values of its rounds, and
afterwards each list gets them one by one.

While a body is traced, an `Appender` stands for such a list: nothing else may be done with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lazynp._array import NDArray, Scalar, new_array
from lazynp._recorder import StagingRecorder, local
from lazynp._tree import LEAF, tree_flatten, tree_unflatten
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control._aliases import protect
from lazynp.transforms.control._state import (
    CannotStage,
    Cells,
    is_alone,
    is_new,
    kind,
    pythons,
    session,
    value_of,
)

_NUMBERS = (bool, int, float, complex, Scalar)


class Grows(BaseException):
    """The body appends to one more list, and must be traced again. (No `except Exception` of the
    user's may stop it.)
    """


class Growth:
    """The lists of a loop that were made where the loop stands, and what a round appends to them.
    rows: the values of all rounds.
    """

    def __init__(self, cells: Cells, bound: Collection[str]) -> None:
        """bound: variables that the loop binds."""
        self.depth = session.depth + 1
        self.rows: list[Any] = []
        self.growing: dict[str, list[Any]] = {}
        self._cells = cells
        self._begun: Collection[int] = ()
        self._alone = {n for n, c in cells.items() if n not in bound and _alone(c)}
        self._values: list[tuple[str, Any]] = []
        self._seen: list[tuple[str, NDArray, Any]] = []
        self._forms: list[tuple[str, Any, list[Any]]] = []

    def meets(self, of: list[Any]) -> None:
        """The body asks for `of.append`."""
        for n in self._alone - set(self.growing):
            if value_of(self._cells[n]) is of and session.depth == self.depth:
                self.growing[n] = of
                raise Grows

    def begin(self, begun: Iterable[Any]) -> None:
        """A round begins. begun: arrays of the round before that others may refer to."""
        self._values, self._seen, session.growth = [], [], self
        self._begun = set(map(id, begun))
        for n in self.growing:
            self._cells[n].cell_contents = Appender(self, n)

    def append(self, name: str, value: Any) -> None:
        if session.depth != self.depth or session.growth is not self:
            raise CannotStage(f"appends to `{name}` in a branch, or in a loop within the loop")
        leaves, _ = _flatten(value)
        for x in leaves:
            if type(x) is NDArray and x.ndim:
                self._check(name, x)
            elif type(x) not in _NUMBERS and type(x) is not NDArray:
                raise CannotStage(f"`{name}` gets {kind(x)}")
        self._values.append((name, value))

    def _check(self, name: str, x: NDArray) -> None:
        """The array must be one that the round has made."""
        recorder = local.recorder
        made = isinstance(recorder, StagingRecorder) and recorder.owns(x._node)
        plain = x._base is None and x._flags is None and x._order is None
        if not made or not plain or id(x) in self._begun or id(x) in recorder.handles:  # type: ignore
            raise CannotStage(
                f"`{name}` gets an array that the round has not made, or a view; append a copy"
            )
        self._seen.append((name, x, x._node))

    def taken(
        self, shown: dict[int, set[str]], written: Collection[str], after: Collection[str]
    ) -> tuple[Any, set[str]]:
        """What a round has appended; and the variables that show one of these arrays after the
        loop. shown: names by id of an owner. after: names that are read after the loop.
        """
        session.growth = None
        unclear, once = set[str](), set[int]()
        for name, x, node in self._seen:
            names = shown.get(id(x), set())
            if x._node is not node or not names.isdisjoint(written) or id(x) in once:
                raise CannotStage(
                    f"`{name}` gets an array that has other names, and is written; append a copy"
                )
            once.add(id(x))
            unclear |= names.intersection(after)
        self._forms = []
        for name, value in self._values:
            leaves, tree = _flatten(value)
            fixed = [not unclear.isdisjoint(shown.get(id(x), ())) for x in leaves]
            forms = [(type(x), weak_aval(x), f) for x, f in zip(leaves, fixed, strict=True)]
            self._forms.append((name, tree, forms))
        return [_flatten(v)[0] for _, v in self._values], unclear

    def extend(self, count: int) -> None:
        """Give the lists what so many rounds have appended."""
        for k in range(count):
            for (name, tree, forms), stacks in zip(self._forms, self.rows, strict=True):
                leaves = [_row(s, k, *form) for s, form in zip(stacks, forms, strict=True)]
                self.growing[name].append(tree_unflatten(tree, leaves))


def _row(stack: Any, k: int, form: Any, aval: Any, shared: bool) -> Any:
    row = stack[k]
    if aval.weak and not aval.shape:
        return pythons(row, aval.dtype)
    if form is not NDArray:
        return row
    row = new_array(row._read())
    if shared and row.ndim:  # a write would not reach the variable that shows the array
        protect(row, "a loop", ())
    return row


def _flatten(value: Any) -> Any:
    """Tuples are taken apart, nothing else."""
    if type(value) is tuple:
        return tree_flatten(value, lambda x: type(x) is not tuple)
    return [value], LEAF


def _alone(cell: Any) -> bool:
    """Whether only this variable refers to its list, which was made where the loop stands."""
    here = type(value_of(cell)) is list and is_new(cell.cell_contents)
    return here and is_alone(cell)


class Appender:
    """Stands for a list in the body that appends to it."""

    __slots__ = ("_growth", "_name")

    def __init__(self, growth: Growth, name: str) -> None:
        self._growth, self._name = growth, name

    def append(self, value: Any) -> None:
        self._growth.append(self._name, value)

    def _refuse(self, *_: Any) -> Any:
        raise CannotStage(f"`{self._name}` is read in the loop that appends to it")

    __getattr__ = __getitem__ = __setitem__ = __delitem__ = __iter__ = __len__ = _refuse
    __contains__ = __bool__ = __add__ = __radd__ = __iadd__ = __mul__ = __imul__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = _refuse  # type: ignore
    __hash__ = None  # type: ignore[assignment]
