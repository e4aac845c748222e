"""Branches: Python's where the test is known, else both are staged, once each, and become a `cond`.

A branch that raises an exception becomes a check of the test: the program raises it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar
from lazynp._avals import Aval, aval_of
from lazynp._dataclass import dataclass
from lazynp._dimensions import as_test
from lazynp._recorder import local
from lazynp._sizes import Test
from lazynp._strides import in_order
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise
from lazynp.transforms._branches import Merged
from lazynp.transforms._cond import cond_call
from lazynp.transforms._elements import by_elements
from lazynp.transforms._stack import node_of, result_handle, zeros
from lazynp.transforms._stage import Program, run_jaxpr, stage, stage_closed, weak_aval
from lazynp.transforms.control._absent import (
    Asked,
    Zero,
    both_facts,
    filler,
    is_none_kind,
    narrowed,
    optional_of,
    parts_of,
    same_facts,
)
from lazynp.transforms.control._aliases import (
    let_go,
    own_arrays,
    private_arrays,
    protect,
    refuse_aliases,
)
from lazynp.transforms.control._asked import equal, not_equal
from lazynp.transforms.control._divided import decided
from lazynp.transforms.control._joining import (
    are_mixed_bools,
    check_narrowed,
    common_dtype,
    loses,
    mixed,
    wraps_on_one_path,
)
from lazynp.transforms.control._laid import order_of_both
from lazynp.transforms.control._membership import within
from lazynp.transforms.control._messages import (
    asserted,
    check_raised,
    computed_inside,
    is_deferred,
    left,
    raised,
)
from lazynp.transforms.control._places import new_places, noting
from lazynp.transforms.control._records import name_twice, put_together, taken_apart
from lazynp.transforms.control._sharing import (
    Group,
    apart_from,
    common,
    held_alone,
    made_here,
    make_fresh,
    note_merged,
    same,
)
from lazynp.transforms.control._state import (
    UNBOUND,
    VALUE,
    CannotStage,
    Cells,
    Maybe,
    bind,
    bind_all,
    cells_of,
    load,
    numbers,
    numeric,
    pythons,
    quoted,
    session,
    shown,
    truth,
    undecided,
    value_of,
    values_of,
)
from lazynp.transforms.control._wide import as_traced

_INT = np.dtype(np.int64)
_VALUE = ".value of an expression"


@dataclass
class _Side:
    """One branch, staged. values: what it leaves in each variable. old: the arrays among them that
    existed before.
    """

    program: Program
    values: list[Any]
    described: list[Any]  # for each value: itself, its leaves, and what they are in the program
    count: int  # numeric leaves
    old: list[Any]
    made: set[int]  # ids of lists and dicts that it has made
    raised: BaseException | None = None

    def count_of(self, old: int) -> int:
        """How many places hold the array with this id."""
        return sum(p is not None and id(p[2]) == old for d in self.described for p in d[2])

    def forget(self, old: int) -> None:
        """Take this array for a new one."""
        self.old = [None if id(x) == old else x for x in self.old]
        for _, _, places in self.described:
            places[:] = [p and (*p[:2], None if id(p[2]) == old else p[2], p[3]) for p in places]


def branch(
    test: Any, then: Callable[[], Any], other: Callable[[], Any], names: tuple[str, ...],
    written: tuple[str, ...], line: int, dead: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """`if test: ... else: ...`. names: what is read afterwards of what a branch binds. dead: what a
    branch reads, and nothing reads afterwards.
    """
    test = _known(test)
    if undecided(test):
        cells = cells_of(then, other)
        _decided(test, then, other, cells, names, written, line, dead=dead)
    else:
        (then if test else other)()


def choose(
    test: Any, then: Callable[[], Any], other: Callable[[], Any], line: int, optional: bool = False
) -> Any:
    """`then() if test else other()`, which is None at times if `optional`."""
    test = _known(test)
    if not undecided(test):
        return then() if test else other()
    return _decided(test, then, other, {}, (), (), line, optional)


def _known(test: Any) -> Any:
    """The test, or what it gives in every round."""
    test = as_test(test)
    found = decided(test) if undecided(test) else None
    return test if found is None else found


def and_(first: Any, second: Callable[[], Any], line: int) -> Any:
    return _either(first, second, line, True)


def or_(first: Any, second: Callable[[], Any], line: int) -> Any:
    return _either(first, second, line, False)


def _either(first: Any, second: Any, line: int, ends: bool) -> Any:
    """`first and second`, if `ends`; else `first or second`."""
    first = as_test(first) if type(first) is Test else first
    if not undecided(first):
        return second() if bool(first) is ends else first
    asked: Any = Asked(second, ends)
    then, other = (asked, lambda: first) if ends else (lambda: first, asked)
    out = choose(first, then, other, line)
    if asked.settles and first.dtype == np.bool_:  # `first and False`
        return not ends
    return both_facts(out, first, asked.known, ends)


def tested(x: Any) -> Any:
    """The truth of an operand of `and` or `or` in a test: a bool, or an array of one."""
    x = as_test(x)
    if undecided(x):
        return same_facts(result_handle(truth(x)._read()), x)
    return x if isinstance(x, Array) else bool(x)


def not_(x: Any) -> Any:
    x = as_test(x)
    if not undecided(x):
        return not x
    made = elementwise.logical_not(truth(x))
    out = result_handle(made._read()) if made.aval.weak else pythons(made, np.dtype(bool))
    return same_facts(out, x, opposite=True)


_COMPARED = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": equal, "NotEq": not_equal,
    "Is": lambda a, b: same(a, b, True), "IsNot": lambda a, b: same(a, b, False),
    "In": within, "NotIn": lambda a, b: not_(within(a, b)),
}  # fmt: skip


def chain(left: Any, line: int, *steps: tuple[str, Callable[[], Any]]) -> Any:
    """`left < a < b`"""
    (name, thunk), *rest = steps
    right = thunk()
    first = _COMPARED[name](left, right)
    return and_(first, lambda: chain(right, line, *rest), line) if rest else first


def assert_(test: Any, message: Callable[[], Any] | None) -> None:
    if undecided(test):
        asserted(elementwise.logical_not(truth(test)), message)
    elif not test:
        raise raised(AssertionError(*([] if message is None else [message()])))


def result(returned: Any, value: Callable[[], Any], ends: bool, line: int) -> Any:
    """The result of a function. ends: every path returns; else `returned` says whether one did."""
    unsure = not ends and undecided(returned)
    if not (ends or unsure or returned):
        return None
    out = value()
    out = out.value if type(out) is Maybe and not out.none else out
    if session.takes_none and session.takes_none[-1] is sys._getframe(1).f_code:
        return Maybe(out, returned, True) if unsure and numeric(out) else out
    out = load(out, VALUE)
    if unsure and out is not None:
        raise CannotStage(f"the function at line {line} returns a value or None, as traced "
                          "values decide")  # fmt: skip
    return out


# -- both branches ---------------------------------------------------------------------------------


def _decided(
    test: Any, then: Any, other: Any, cells: Cells, names: Sequence[str], written: Sequence[str],
    line: int, maybe: bool = False, dead: Sequence[str] = (),
) -> Any:  # fmt: skip
    predicate = truth(test)
    alone, private = held_alone(cells), private_arrays(cells)
    with session.within_body(dict.fromkeys(private.values(), 0)):
        sides, places = _both(test, then, other, cells, names, line)
    cells = {**cells, **{p.name: p for p in places}}
    names = [*names, *(p.name for p in places)]
    tests = elementwise.logical_not(predicate), predicate
    for side, bad, rest in zip(sides, tests, (then, other), strict=True):
        if side.raised is not None:
            if side.program is not None:
                left(side.old, side.program, bad)
            check_raised(bad, side.raised)
            return rest()
    let_go(private, {*names, *dead}, sides)
    refuse_aliases(sides, cells, names, written, line)
    made, optional = sides[0].made | sides[1].made, optional_of(then, other)
    plan = []
    for n, v, w, *both in zip([_VALUE, *names], *(s.values for s in sides),
                              *(s.described for s in sides), strict=True):  # fmt: skip
        pair = [(v, [], [])] * 2 if v is w else both
        if v is not w:
            name_twice((v, w))
        theirs, of = made | alone.get(n, set()), getattr(cells.get(n), "of", None)
        plan.append(_joined(n, pair[0], pair[1], line, theirs, n in optional or maybe, of))
    wanted = [slot for part in plan for slot in part[1]]
    programs = [_aligned(s.program, [(slot[k], slot[2]) for slot in wanted], s.count, line)
                for k, s in enumerate(sides)]  # fmt: skip
    merged = Merged(programs, 0)
    index = elementwise.convert(predicate, dtype=_INT)
    outs = by_elements(cond_call, index, merged.captured, merged.jaxprs)
    merged.write_back(outs[len(wanted) :])
    rest = iter([_handle(o, slot, line, predicate) for o, slot in zip(outs, wanted)])
    out = [rebuild(rest) for rebuild, _ in plan]
    for n, value in zip(names, out[1:], strict=True):
        if value is not value_of(cells[n]):
            bind(cells[n], value)
    return out[0]


def _both(
    test: Any, then: Any, other: Any, cells: Cells, names: Sequence[str], line: int
) -> tuple[list[_Side], list[Any]]:
    """The sides, staged, and the places that they set. Where one sets places that the other has
    not given, that one is traced again.
    """
    site = getattr(then, "__code__", then), line
    places = list(session.places.get(site, ()))
    sides: list[Any] = [None, None]
    given = [-1, -1]
    while given[0] < len(places) or given[1] < len(places):
        for k, function in enumerate((other, then)):
            if given[k] < len(places):
                known = list(places)
                with narrowed(test, bool(k), function):
                    sides[k], found = _staged(function, cells, names, line, known)
                given[k] = len(known) + (len(found) if places == known else 0)
                places += [p for p in found if all(p.identity != q.identity for q in places)]
    # an object that a body makes is another one when the body is traced again
    session.places[site] = [p for p in places if not session.fresh.get(id(p.of), (None, 0))[1]]
    return sides, list(places)


def _staged(
    function: Any, cells: Cells, names: Sequence[str], line: int, known: list[Any]
) -> tuple[_Side, list[Any]]:
    """A side, and the places that it sets besides these. It gives them after the others."""
    before = values_of(cells.values())
    found: list[Any] = []
    values: list[Any] = []
    made: set[int] = set()
    described: list[Any] = []
    leaves: list[Any] = []
    old: list[Any] = []
    failed: list[Any] = []

    def run(_: list[Array]) -> list[Any]:
        session.own = own_arrays(cells, own)
        try:
            values.append(function())
        except Exception as error:
            if not is_deferred(error, since) or not (entries := computed_inside(error)):
                raise
            failed.extend((error, entries))
            return [e.as_bits() for e in entries]
        values.extend(value_of(cells[n]) for n in names)
        found.extend(new_places(stores, {p.name: p for p in known}))
        values.extend(map(value_of, [*known, *found]))
        handles = local.recorder.handles  # type: ignore[attr-defined]
        made.update(made_here(values))
        for v in map(taken_apart, values):
            parts = [] if v is UNBOUND else tree_flatten(v)[0]
            places: list[Any] = []
            for x in map(as_traced, parts):
                owner = x._owner() if type(x) is NDArray and x.ndim else x
                before = owner if id(owner) in handles else None
                nested = session.pick_of(x) is not None
                places.append((len(leaves), weak_aval(x), before, nested) if numeric(x) else None)
                if numeric(x):
                    leaves.append(x)
                    old.append(before)
            described.append((v, parts, places))
        return leaves

    since, own = next(numbers), session.own
    try:
        with session.staged(), noting() as stores:
            program = stage(run, [], f"a branch at line {line}", [])
    except BaseException as error:
        if not is_deferred(error, since):
            raise
        return _Side(None, [], [], 0, [], set(), error), []  # type: ignore[arg-type]
    finally:
        session.own = own
        bind_all(cells.values(), before)
    if failed:
        return _Side(program, [], [], 0, failed[1], set(), failed[0]), []
    return _Side(program, values, described, len(leaves), old, made), found


_Rebuilt = tuple[Callable[[Any], Any], list[Any]]


def _joined(
    name: str, first: Any, second: Any, line: int, made: set[int], optional: bool = False,
    of: Any = None,
) -> _Rebuilt:  # fmt: skip
    """How to rebuild one value, and its slots: place in each branch, aval, class of the handle.
    made: the lists and dicts that the branches have made. optional: it may be None. of: what it is
    an element of.
    """
    a, b = first[0], second[0]
    if name == VALUE and all(x is None or x is UNBOUND for x in (a, b)):
        return (lambda handles: None), []
    if a is b:
        return (lambda handles: a), []
    if a is UNBOUND or b is UNBOUND or Maybe in (type(a), type(b)) or (
        optional and (a is None or b is None)
    ):  # fmt: skip
        return _maybe(name, first, second, line, made)
    both = common(a, b)
    (leaves_a, places_a, tree), (leaves_b, places_b, tree_b) = (
        apart_from(both, *described) for described in (first, second)
    )
    if tree != tree_b:
        raise CannotStage(
            f"line {line}: {quoted(name)} is {shown(b, tree_b)} in one branch and "
            f"{shown(a, tree)} in the other, and which branch runs is not known while tracing"
        )
    slots, parts = [], []
    for x, y, p, q in zip(leaves_a, leaves_b, places_a, places_b, strict=True):
        if x is y or not isinstance(x, Array) and type(x) is type(y) and repr(x) == repr(y):
            parts.append((True, x))
            continue
        aval = _aval_of_both(name, a if of is None else of, (x, p), (y, q), line)
        old, order = (p[2], q[2]), order_of_both(x, y, (p[0], q[0]), line)
        nested = p[3] or q[3] or wraps_on_one_path(p[1], q[1], aval.dtype) or (
            session.carry is None and are_mixed_bools(p[1], q[1]))  # fmt: skip
        slots.append((p[0], q[0], aval, _class(x, y, *old), old, nested, order))
        parts.append((False, None))

    group = Group()
    merged = [note_merged(v, line, group, False, made | both) for v in (a, b)]

    def rebuild(handles: Any) -> Any:
        out = put_together(tree_unflatten(tree, [x if f else next(handles) for f, x in parts]))
        if any(merged):
            note_merged(out, line, group, True, both)
        else:
            make_fresh(out, both)
        return out

    return rebuild, slots


def _aval_of_both(name: str, of: Any, first: Any, second: Any, line: int) -> Aval:
    """The type of a part that differs; each with its place."""
    (x, p), (y, q) = first, second
    if p is None or q is None:
        raise CannotStage(
            f"line {line}: {quoted(name)} is {y!r} in one branch and {x!r} in the other, and "
            "which branch runs is not known while tracing: only arrays and numbers can depend on it"
        )
    aval = _common(p[1], q[1], name, line)
    why = mixed(of, p[1], q[1]) or loses((x, p[1]), (y, q[1]), aval.dtype)
    if why:
        raise CannotStage(f"line {line}: {quoted(name)} {why}, and which branch runs is not known")
    return aval


def _maybe(name: str, first: Any, second: Any, line: int, made: set[int]) -> _Rebuilt:
    """A variable that one branch leaves unbound, or None."""
    none = is_none_kind(name, first[0], second[0], line)
    values, flags = zip(*map(parts_of, (first, second)), strict=True)
    if values[0] is None or values[1] is None:  # one has no value at all: zeros take its place
        some = next(v for v in values if v is not None)
        values = tuple(filler(some) if v is None else v for v in values)
    rebuild, slots = _joined(name, values[0], values[1], line, made)
    (flag_a, place_a), (flag_b, place_b) = flags
    if place_a is None and place_b is None and flag_a == flag_b:
        return (lambda handles: Maybe(rebuild(handles), flag_a, none)), slots
    bool_aval = aval_of((), np.dtype(bool))
    ends = [flag_a if place_a is None else place_a, flag_b if place_b is None else place_b]
    return (
        (lambda handles: Maybe(rebuild(handles), next(handles), none)),
        [*slots, (ends[0], ends[1], bool_aval, Scalar, (), False, None)],
    )


def _common(a: Aval, b: Aval, name: str, line: int) -> Aval:
    if a.shape != b.shape:
        raise CannotStage(
            f"line {line}: {quoted(name)} has shape {b.shape} in one branch and {a.shape} in the "
            "other, and which branch runs is not known while tracing"
        )
    return aval_of(a.shape, common_dtype(a, b), a.weak and b.weak)


def _class(x: Any, y: Any, old_x: Any, old_y: Any) -> Any:
    """The class of the handle; "fixed" for one that must not be written."""
    if old_x is not None or old_y is not None:
        return "fixed"
    return NDArray if NDArray in (type(x), type(y)) else Scalar


def _handle(node: Array, slot: Any, line: int, predicate: Any) -> Array:
    if slot[2].weak:  # a number of Python's on both sides
        node = elementwise.convert(node, dtype=slot[2].dtype, weak=True)
    made = result_handle(node._read(), NDArray if slot[3] is not Scalar else None)
    in_order(made, slot[6])
    if slot[3] == "fixed":
        protect(made, f"line {line}: a branch", [x for x in slot[4] if x is not None])
    session.note_pick(made, predicate, slot[4], slot[5])
    return made


def _aligned(program: Program, slots: Sequence[tuple[Any, Aval]], count: int, line: int) -> Program:
    """The program with these results: places among its own, truth values, or nothing."""
    jaxpr = program.jaxpr

    def one(outs: Sequence[Array], place: Any, aval: Aval) -> Array:
        if isinstance(place, Zero):
            return zeros(aval)
        if isinstance(place, bool):
            return elementwise.convert(result_handle(node_of(np.bool_(place))), dtype=aval.dtype)
        check_narrowed(x := outs[place], aval.dtype, line)
        weak = aval.weak
        return x if x.dtype == aval.dtype else elementwise.convert(x, dtype=aval.dtype, weak=weak)

    def run(xs: list[Array]) -> list[Array]:
        outs = run_jaxpr(jaxpr, xs)
        return [*(one(outs, place, aval) for place, aval in slots), *outs[count:]]

    aligned = stage_closed(run, jaxpr.in_avals)
    return Program(aligned, program.owners, program.nodes, program.written, program.like)
