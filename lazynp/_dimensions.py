"""Sizes in a program that is traced: its integers as sizes, and sizes as its integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import numpy as np

from lazynp import _sizes
from lazynp._array import Array, Scalar, new_scalar
from lazynp._avals import aval_of
from lazynp._errors import of_these_sizes
from lazynp._extents import may_be_equal
from lazynp._facts import not_negative, note
from lazynp._integer_forms import FORMS, TAKING, integer_form as integer_form, taken_from_array
from lazynp._intervals import interval, sizes_around
from lazynp._node import ARGS, OP, VALUE, Node, aval_of_node, is_tracer
from lazynp._positions import position
from lazynp._recorder import StagingRecorder, local, user_position
from lazynp._sizes import Atom, Dim, Size, Test, variable
from lazynp._trace import around
from lazynp._values import alike
from lazynp._who_asks import Hooks, install
from lazynp.primitives import elementwise, reduction, shaping

LENGTH = aval_of((), np.dtype(np.int64), True)  # weak, as an int of NumPy's shapes


_FAR = 1 << 62  # no integer of a program is as great
LONGEST = 1 << 47  # of an axis: no machine can address more elements


class Table:
    """The sizes of one traced function.

    made: sizes that integers of the program define, in order. scalars: what stands for a size.
    weak: what stands for it in the user's arithmetic, where `scalars` has what is not weak.
    required: sizes that must not be negative, what the error tells, and the error. opens: whether
    a loop that changes sizes, or a branch that decides some, was recorded. given: the sizes of the
    call that is traced, where the trace may be for some sizes only. decided: what it took for true
    or false of them.
    """

    __slots__ = (
        "by_node", "made", "scalars", "weak", "kept", "required", "opens", "counts", "bins",
        "given", "decided",
    )  # fmt: skip

    def __init__(self) -> None:
        self.by_node: dict[int, Dim] = {}
        self.made: list[Atom] = []
        self.scalars: dict[Size, Scalar] = {}
        self.weak: dict[Size, Scalar] = {}
        self.required: list[tuple[Dim, Any, Callable[[Any], BaseException]]] = []
        self.opens = False
        self.counts: list[tuple[Node, Size]] = []  # masks, and how many elements of them are true
        self.bins: dict[int, Dim] = {}  # by node of places: one more than the largest of them
        self.kept: list[Node] = []  # or other nodes might get their identities
        self.given: dict[Atom, int] | None = None
        self.decided: list[tuple[Any, bool]] = []


def table() -> Table | None:
    """That of the function that is being traced; None where sizes must be ints."""
    recorder = local.recorder
    return recorder.sizes if isinstance(recorder, StagingRecorder) else None


def is_unsized(x: Any) -> bool:
    """Whether it stands for an array of unknown size, without a value for that."""
    return hasattr(type(x), "_unsized")


def require(size: Dim, error: Callable[[Any], BaseException], told: Any) -> None:
    """A size must not be negative, or the call raises `error(the value of told)`."""
    low, _ = _sizes.bounds(size)
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder) and (low is None or low < 0):
        if recorder.sizes is not None:
            recorder.sizes.required.append((size, told, error))
            return
        error = in_body(error)
        recorder = recorder.outer


def in_body(error: Callable[[Any], BaseException]) -> Callable[[Any], BaseException]:
    """The error of a size in a branch or loop, which a call may not come to."""
    return lambda told: of_these_sizes(error(told))


def note_length(size: Dim) -> None:
    """The size of an axis of a new array: a call where it is negative raises an error, also if
    nobody uses the array. Branches and loops are left out, because a call may not come to them, and
    sizes that the data decide.
    """
    recorder: Any = local.recorder
    if type(size) is not Size or not isinstance(recorder, StagingRecorder):
        return
    if recorder.sizes is None or isinstance(recorder.outer, StagingRecorder):
        return
    inputs = {*map(id, recorder.inputs)}
    if all(a.place is not None and id(a.place._node) in inputs for a in size.variables()):
        require(size, lambda _: ValueError("negative dimensions are not allowed"), size)
        not_negative(size)


def require_all(sizes: Iterable[Dim], error: Callable[[Any], BaseException], told: Any) -> None:
    """Like `require` for each; those that are numbers are known now."""
    for size in sizes:
        if type(size) is Size:
            require(size, error, told)
        elif size < 0:
            raise error(told)


def require_some(length: Dim, error: BaseException) -> None:
    """The size of an axis must not be 0, or the call raises this."""
    if type(length) is Size:
        require(length - 1, lambda _: error, length)


def require_not_one(size: Dim, error: BaseException) -> None:
    """A size must not be 1, or the call raises this."""
    if type(size) is Size and may_be_equal(size, 1):
        require((size - 1) * (size - 1) - 1, lambda _: error, size)


def new_axis(name: str | Size, recorder: StagingRecorder) -> tuple[Size, Node]:
    """A new size (or one that was made for such a program), and the input that holds it."""
    size = name if isinstance(name, Size) else variable(name)
    node = recorder.input(LENGTH)
    (atom,) = size.variables()
    atom.place = new_scalar(node)
    recorder.ranges[id(node)] = (0, LONGEST)
    assert recorder.sizes is not None
    recorder.sizes.by_node[id(node)] = size
    return size, node


# -- integers as sizes -----------------------------------------------------------------------------


def size_of(x: Any) -> Dim | None:
    """An integer that has no value yet, as a size; None where it may not be one. It may be
    negative, as bounds may.
    """
    if type(x) is Size:
        return x
    if table() is None or not isinstance(x, Array) or x.ndim or x.dtype.kind not in "iu":
        return None
    node = x._read()
    return None if _table_of(node) is None else _form(node)


def _table_of(node: Node) -> Table | None:
    """That of the innermost function that is being traced and has the node, if it has one."""
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        if recorder.owns(node):
            return recorder.sizes
        recorder = recorder.outer
    return None


def known_size(x: Any) -> Dim | None:
    """The size that a Scalar of the program is known to be; None for others."""
    sizes = table()
    return None if sizes is None else sizes.by_node.get(id(x._read()))


def bins_of(places: Any) -> Dim | None:
    """One more than the largest of these places, where that is known to be a size."""
    sizes = table()
    return None if sizes is None else sizes.bins.get(id(places._read()))


def note_bins(places: Any, count: Dim) -> Dim:
    """Note that one more than the largest of these places is `count`: 0, if there are none."""
    sizes = table()
    if sizes is not None:
        node = places._read()
        sizes.bins[id(node)] = count
        sizes.kept.append(node)
    return count


def length_of(x: Any) -> Dim | None:
    """The same for the size of an axis, which is not negative."""
    size = size_of(x)
    if type(size) is Size:
        for atom in size.atoms():
            if size.terms == {(atom,): 1} and not atom.op:
                atom.least = max(atom.least or 0, 0)
    return size


def _form(node: Any) -> Dim | None:
    if type(node) is not list:
        return int(node)
    if isinstance(node[VALUE], (np.integer, np.ndarray)):
        return int(node[VALUE])
    sizes = _table_of(node)
    if sizes is None:
        return None
    found = sizes.by_node.get(id(node))
    if found is None:
        found = sizes.by_node[id(node)] = _computed(node, sizes)
        sizes.kept.append(node)
    return found


def _computed(node: Node, sizes: Table) -> Dim:
    op = node[OP]
    if op is not None and type(node[ARGS]) is tuple:
        if op.primitive.name in FORMS:
            # sums of shorter integers wrap around
            numbers = all(a.dtype.kind in "iu" and not a.ndim for a in op.explicit)
            numbers = numbers and all(a.dtype.itemsize > 2 for a in op.explicit)
            if numbers and not any(map(_is_truth, node[ARGS])):  # 3 * (x > 0) has one
                sides = [_form(a) for a in node[ARGS]]
                if (found := integer_form(op.primitive.name, sides)) is not None:
                    return found
        if op.primitive is shaping.full and type(node[ARGS][0]) is int:
            return node[ARGS][0]
        mask = _counted(node)
        if mask is not None:
            return _count_of(mask, node, sizes)
        if op.primitive in TAKING:
            found = taken_from_array(node, _form)
            return _size_of_alike(node, sizes) if found is None else found
    return new_size(node, sizes)


def _size_of_alike(node: Node, sizes: Table) -> Dim:
    """That of another node which certainly has the same value, or a new one."""
    for other, size in sizes.counts:
        if alike(other, node):
            return size
    size = new_size(node, sizes)
    sizes.counts.append((node, size))
    return size


def _is_truth(x: Any) -> bool:
    return type(x) is list and aval_of_node(x).dtype.kind == "b"


def _counted(node: Node) -> Node | None:
    """The mask whose true elements this counts."""
    (x, *_) = node[ARGS]
    if node[OP].primitive is not reduction.reduce_sum or type(x) is not list:
        return None
    if x[OP] is not None and x[OP].primitive is elementwise.convert and type(x[ARGS]) is tuple:
        (x,) = x[ARGS]
    return x if type(x) is list and aval_of_node(x).dtype.kind == "b" else None


def _count_of(mask: Node, count: Node, sizes: Table) -> Size:
    for other, size in sizes.counts:
        if alike(other, mask):
            return size
    size = new_size(count, sizes, 0)
    sizes.counts.append((mask, size))
    return size


def count_of(mask: Array) -> Dim | None:
    """How many elements of an array of bools are true, as a size; None where it may not be one."""
    sizes, node = table(), mask._read()
    if sizes is None or not mask.ndim:
        return None
    if type(mask.aval.size) is int and not mask.aval.size:
        return 0
    for other, size in sizes.counts:
        if alike(other, node):
            return size
    ones = elementwise.convert(mask, dtype=LENGTH.dtype)
    total = reduction.reduce_sum(ones, axes=tuple(range(mask.ndim)))._read()
    if _table_of(total) is not sizes:
        return None
    return _form(total)


def count_where_made(mask: Array) -> Dim | None:
    """The same for an array that nobody writes. What a loop or branch has from outside is counted
    there: so it is one size in both.
    """
    recorder: Any = local.recorder
    held = recorder.handles.get(id(mask)) if isinstance(recorder, StagingRecorder) else None
    outer = recorder.outer if held is not None else None
    if held is None or not isinstance(outer, StagingRecorder) or outer.sizes is None:
        return count_of(mask)
    inside, mask._node = mask._node, held[1]
    try:
        with around(recorder):
            return count_where_made(mask)
    finally:
        mask._node = inside


def new_size(node: Node, sizes: Table, least: int | None = None, name: str = "") -> Size:
    """A size that the value of this node decides."""
    if is_tracer(node) and node[VALUE].differs:
        node[VALUE].seen()  # raises: it has no single value
    if least is None:
        low = interval(node)[0]
        least = low if low > -_FAR else None
    atom = Atom(name or f"size{len(sizes.made)}", least)
    around = sizes_around(node)
    atom.between = () if around is None else (around,)
    atom.place = new_scalar(node)
    if atom.place.dtype != LENGTH.dtype:  # sizes are i64
        atom.place = elementwise.convert(atom.place, dtype=LENGTH.dtype)
    sizes.made.append(atom)
    return Size({(atom,): 1})


# -- sizes as integers -----------------------------------------------------------------------------

OPERATORS: dict[str, Any] = {
    "floor_divide": elementwise.floor_divide, "remainder": elementwise.remainder,
    "maximum": elementwise.maximum, "minimum": elementwise.minimum,
}  # fmt: skip


def scalar_of(size: Size) -> Scalar:
    """The size as a Scalar of the program that is being traced."""
    sizes = table()
    found = None if sizes is None else sizes.scalars.get(size)
    if found is None:
        found = new_scalar(_sum(size)._read())
        if sizes is not None:
            sizes.scalars[size] = found
            sizes.by_node[id(found._node)] = size
            sizes.kept.append(found._node)
    return found


def number_of(size: Size) -> Scalar:
    """The size as an int of Python's: what NumPy's shapes contain, and weak in promotion, although
    the integer that decides it may be an array's element.
    """
    scalar = scalar_of(size)
    if scalar.aval.weak:
        return scalar
    sizes = table()
    found = None if sizes is None else sizes.weak.get(size)
    if found is None:
        found = new_scalar(elementwise.convert(scalar, dtype=LENGTH.dtype, weak=True)._read())
        if sizes is not None:
            sizes.weak[size] = found
            sizes.by_node[id(found._node)] = size
            sizes.kept.append(found._node)
    return found


def as_number(x: Any) -> Any:
    """x, or the number that it is, if it is a size."""
    return number_of(x) if type(x) is Size else x


def sized(x: Any) -> Any:
    """x, or the size that it stands for, if it is the number of one."""
    sizes = table() if isinstance(x, Scalar) else None
    return x if sizes is None else sizes.by_node.get(id(x._read()), x)


def as_operand(x: Dim) -> Any:
    """A place in an axis as an operand of a primitive."""
    return scalar_of(x) if type(x) is Size else x


def as_start(x: Dim) -> Any:
    """A place in an axis as an operand of a slice."""
    return scalar_of(x)._read() if type(x) is Size else x


def _sum(size: Size) -> Any:
    total: Any = None
    for monomial, count in sorted(size.terms.items(), key=lambda t: -len(t[0])):
        term: Any = None
        for atom in monomial:
            term = _atom(atom) if term is None else elementwise.multiply(term, _atom(atom))
        if term is None:
            term = count
        elif count != 1:
            term = elementwise.multiply(term, count)
        total = term if total is None else elementwise.add(total, term)
    return total


def _atom(atom: Atom) -> Any:
    if not atom.op:
        x = atom.place
        return x if x.dtype == LENGTH.dtype else elementwise.convert(x, dtype=LENGTH.dtype)
    return OPERATORS[atom.op](*[scalar_of(x) if type(x) is Size else x for x in atom.args])


def _compared(name: str, a: Dim, b: Any) -> Scalar:
    sides = [scalar_of(x) if type(x) is Size else x for x in (a, b)]
    return new_scalar(getattr(elementwise, name)(*sides)._read())


# -- errors ----------------------------------------------------------------------------------------


_DECISIONS = 1024  # of one trace


def _truth(what: Size | Test) -> bool | None:
    sides = what.sides if type(what) is Test else (what,)
    return decide(what, {a for s in sides if type(s) is Size for a in s.variables()})


def _number(size: Size) -> int | None:
    low, high = _sizes.bounds(size)
    if low is not None and low == high:
        return low
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        sizes = recorder.sizes
        if sizes is not None and sizes.given is not None:
            if all(atom in sizes.given for atom in size.variables()):
                number = int(size.at(sizes.given.__getitem__))
                return number if _truth(Test("equal", size, number)) else None
        recorder = recorder.outer
    return None


def _traces() -> bool:
    return isinstance(local.recorder, StagingRecorder)


def as_test(x: Any) -> Any:
    """What `if` is given, but for sizes and tests of them: their truth, where the call that is
    traced tells, else a Scalar.
    """
    if type(x) is not Size and type(x) is not Test:
        return x
    if type(x) is Size and (_sizes.bounds(x)[0] or 0) > 0:
        return True
    told = _truth(x)
    if told is None:
        return scalar_of(x) if type(x) is Size else x.scalar()
    return told


def decide(what: Any, atoms: set[Atom]) -> bool | None:
    """The truth of a test of the axes of arguments, in the call that is traced: then the trace is
    for calls of which the same is true. None: the call does not tell.
    """
    recorder: Any = local.recorder
    while isinstance(recorder, StagingRecorder):
        sizes = recorder.sizes
        if sizes is not None and sizes.given is not None and atoms <= sizes.given.keys():
            if len(sizes.decided) >= _DECISIONS:
                return None
            found = bool(what.at(sizes.given.__getitem__))
            sizes.decided.append((what, found))
            note(what, found)
            return found
        recorder = recorder.outer
    return None


def _unknown(what: Any) -> TypeError:
    recorder = local.recorder
    where = position(*user_position())
    test = isinstance(what, Test)
    hint = (
        "Use cond, where or maximum in place of Python's `if`" if test else
        "Use x.shape[0] in place of len(x), fori_loop or scan in place of range and iteration"
    )  # fmt: skip
    traced = getattr(recorder, "staging", None) or "the program"
    return TypeError(
        f"{traced} is traced once for all sizes: there, the value of {what} is not known, but "
        f"{where} asks for it ({hint})"
    )


def _unwritten(what: Any, frame: FrameType) -> TypeError:
    """The public function is the outermost of ours below the user's frame."""
    code, found = user_position()[0], frame
    while frame is not None and frame.f_code is not code:
        if not frame.f_code.co_name.startswith(("_", "<", "call")):
            found = frame
        if frame.f_back is None:
            break
        frame = frame.f_back
    where = position(*user_position())
    return TypeError(
        f"{found.f_code.co_name}: not written for arrays whose size is traced ({what}), at {where}"
    )


install(Hooks(number_of, _compared, _unknown, _unwritten, _truth, _number, _traces))
