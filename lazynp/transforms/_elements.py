"""Single elements that branches read and write: they are read before, and written after.

A branch that takes or returns an array costs the size of the array. XLA copies what a branch
writes, and the cotangent of one element that a branch reads is as large as the array. A loop over
elements would take quadratic time. So branches are rewritten to take and return numbers:

- An element that a branch reads is read before, if its index is known there. It is in bounds even
  if the branch is not taken (`functions/_advanced.py` clamps indices).
- An element that a branch writes is written after. If another branch is taken, that write stores
  the value that is there.

An array that a branch uses in any other way remains its operand. If it is used so after a write,
or returned beside one, it remains a result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazynp._array import Array
from lazynp._extents import surely
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._alike import first_alike
from lazynp.transforms._stage import literal, run_jaxpr, stage_closed

_MOST_WRITES = 8  # of one array in a branch
_INT = np.dtype(np.int64)


class _Start(NamedTuple):
    """Where an element is on one axis: the operand of its equation, and the value."""

    atom: Atom | None  # None: the only place there is
    value: Any


class _Write(NamedTuple):
    starts: list[_Start]
    value: Array  # 0-d


class _Version(NamedTuple):
    """An array from outside, in a branch that has written some elements."""

    place: int  # among the operands
    writes: list[_Write]


def by_elements(
    call: Callable[..., Any], index: Array, operands: Sequence[Array], branches: Sequence[Jaxpr]
) -> list[Array]:
    """`call(index, *operands, branches=branches)`, with elements read before and written after."""
    uses = list(map(Uses, branches))
    whole = _used_whole(uses)
    before = _Before(operands, uses, whole)
    results = [uses[0].version(i, whole) for i in range(len(branches[0].outputs))]
    written = {p: max(u.writes.get(p, 0) for u in uses) for p in results if p is not None}
    after = [_After(p, k, index, uses, before) for p, n in written.items() for k in range(n)]
    kept = [i for i, place in enumerate(results) if place is None]
    avals = [x.aval for x in (*operands, *before.reads)]
    jaxprs = [
        stage_closed(functools.partial(_rewritten, j, b, whole, before, kept, after), avals)
        for b, j in enumerate(branches)
    ]
    outs = iter(_called(call, index, [*operands, *before.reads], jaxprs))
    values: dict[int | None, Array] = {p: operands[p] for p in written}
    first = {i: next(outs) for i in kept}
    for write in after:
        values[write.place] = write.onto(values[write.place], outs)
    return [first[i] if place is None else values[place] for i, place in enumerate(results)]


def _called(
    call: Callable[..., Any], index: Array, operands: Sequence[Array], jaxprs: Sequence[Jaxpr]
) -> Sequence[Array]:
    """Call branches with the operands that they use."""
    if not any(j.outputs or j.eqns for j in jaxprs):
        return ()
    used = {a for j in jaxprs for e in j.eqns for a in e.inputs}
    used.update(*[j.outputs for j in jaxprs])
    needed = [i for i in range(len(operands)) if any(j.inputs[i] in used for j in jaxprs)]
    return call(
        index,
        *[operands[i] for i in needed],
        branches=tuple(
            [first_alike(Jaxpr([j.inputs[i] for i in needed], j.eqns, j.outputs)) for j in jaxprs]
        ),
    )


# -- what a branch does with arrays ----------------------------------------------------------------


def _is_element(eqn: Eqn, name: str) -> bool:
    """Whether this reads (slice) or writes (update_slice) a single element."""
    if eqn.primitive.name != name:
        return False
    part = eqn.outputs[0] if name == "slice" else eqn.inputs[1]
    if part.aval.size != 1 or any(a.aval.shape for a in _given(eqn)):
        return False
    shape, axes = eqn.inputs[0].aval.shape, eqn.params["axes"]
    return all(n == 1 for axis, n in enumerate(shape) if axis not in axes)


def _given(eqn: Eqn) -> tuple[Any, ...]:
    """The starts among the operands of an equation."""
    return eqn.inputs[1 if eqn.primitive.name == "slice" else 2 :]


def _starts(eqn: Eqn, values: Sequence[Any]) -> list[_Start]:
    """For each axis. values: those of the starts among the operands."""
    at = dict(zip(eqn.params["axes"], map(_Start, _given(eqn), values), strict=True))
    return [at.get(axis, _Start(None, 0)) for axis in range(eqn.inputs[0].aval.ndim)]


def _element(x: Array, starts: Sequence[Any]) -> Array:
    axes, ones = tuple(range(x.ndim)), (1,) * x.ndim
    return shaping.slice(x, *starts, axes=axes, sizes=ones, strides=ones, shape=())


class Uses:
    """Which arrays from outside a branch writes other than by elements, or reads so after a write;
    how often it writes the others.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        # for each array from outside, and what writes made of it: the place of its operand
        self.place: dict[Any, int] = {
            v: i for i, v in enumerate(jaxpr.inputs) if v.aval.ndim and surely(v.aval.size > 1)
        }
        self.whole: set[int] = set()
        self.writes: dict[int, int] = {}
        begun, last = set(jaxpr.inputs), set[Any](self.place)  # versions not written again
        for eqn in jaxpr.eqns:
            rest = eqn.inputs
            if _is_element(eqn, "slice"):
                rest = rest[1:]
            elif _is_element(eqn, "update_slice") and rest[0] in last:
                place = self.place[rest[0]]
                self.place[eqn.outputs[0]] = place
                self.writes[place] = self.writes.get(place, 0) + 1
                last.remove(rest[0])
                last.add(eqn.outputs[0])
                rest = rest[1:]
            copied = _is_element(eqn, "update_slice") and rest is eqn.inputs
            self._used([a for a in rest if copied or a not in begun])
        self._used([a for a in jaxpr.outputs if a not in last])
        self.whole.update(p for p, n in self.writes.items() if n > _MOST_WRITES)

    def _used(self, atoms: Sequence[Any]) -> None:
        self.whole.update(self.place[a] for a in atoms if a in self.place)

    def version(self, i: int, whole: set[int]) -> int | None:
        """The place of the array that result i is a version of."""
        place = self.place.get(self.jaxpr.outputs[i])
        return None if place in whole else place


def _used_whole(uses: Sequence[Uses]) -> set[int]:
    """The arrays that remain results of branches, or that are results only of some."""
    whole = set().union(*[u.whole for u in uses])
    while True:
        count = len(whole)
        for i in range(len(uses[0].jaxpr.outputs)):
            found = {u.version(i, whole) for u in uses}
            if len(found) > 1:
                whole.update(p for p in found if p is not None)
        if len(whole) == count:
            return whole


# -- before ----------------------------------------------------------------------------------------


class _Before:
    """What is computed before the branches: indices and elements."""

    def __init__(self, operands: Sequence[Array], uses: Sequence[Uses], whole: set[int]) -> None:
        self.operands = operands
        self.reads: list[Array] = []
        self.number: dict[int, int] = {}  # by identity of equations: that of the element they read
        self.starts: dict[tuple[int, int, int], list[Any] | None] = {}  # by branch, place, write
        self._made: dict[Any, Any] = {}  # by what computes it
        for b, use in enumerate(uses):
            known: dict[Any, Any] = dict(zip(use.jaxpr.inputs, operands, strict=True))
            makers = {v: e for e in use.jaxpr.eqns for v in e.outputs}
            count: dict[int, int] = {}
            for eqn in use.jaxpr.eqns:
                place = use.place.get(eqn.inputs[0]) if eqn.inputs else None
                if place is None:
                    continue
                if _is_element(eqn, "slice") and (place not in whole or eqn.inputs[0] in known):
                    self._read(eqn, place, known, makers)
                elif _is_element(eqn, "update_slice") and place not in whole:
                    k = count[place] = count.get(place, -1) + 1
                    self.starts[b, place, k] = self._of(_given(eqn), known, makers, eqn)

    def _of(
        self, atoms: Sequence[Any], known: dict[Any, Any], makers: dict[Any, Eqn], eqn: Eqn
    ) -> list[Any] | None:
        values = [self._value(a, known, makers) for a in atoms]
        return None if any(v is None for v in values) else [s.value for s in _starts(eqn, values)]

    def _value(self, atom: Any, known: dict[Any, Any], makers: dict[Any, Eqn]) -> Any:
        """The value of an index of a branch, or None."""
        if isinstance(atom, Literal):
            return atom.value.item()
        if atom not in known:
            known[atom] = self._computed(makers[atom], known, makers)
        return known[atom]

    def _computed(self, eqn: Eqn, known: dict[Any, Any], makers: dict[Any, Eqn]) -> Any:
        """An integer that was read before, or that costs little to compute; None if it is another
        one by now.
        """
        if id(eqn) in self.number:
            if eqn.inputs[0] not in known:
                return None  # the branch may have written it
            return _shaped(self.reads[self.number[id(eqn)]], eqn.outputs[0].aval.shape)
        if eqn.primitive.kind != "elementwise" or len(eqn.outputs) > 1:
            return None
        if any(a.aval.shape or a.aval.dtype.kind not in "biu" for a in (*eqn.inputs, *eqn.outputs)):
            return None
        if any(self._value(a, known, makers) is None for a in eqn.inputs):
            return None
        operands = [literal(a) if isinstance(a, Literal) else known[a] for a in eqn.inputs]
        keys = [
            repr(a) if isinstance(a, Literal) else id(x)
            for a, x in zip(eqn.inputs, operands, strict=True)
        ]
        key = eqn.primitive, *eqn.params.items(), *keys
        if key not in self._made:
            rule: Any = eqn.primitive
            self._made[key] = rule(*operands, **eqn.params)
        return self._made[key]

    def _read(self, eqn: Eqn, place: int, known: dict[Any, Any], makers: dict[Any, Eqn]) -> None:
        starts = self._of(_given(eqn), known, makers, eqn)
        if starts is None:
            return
        key = place, *[s if type(s) is int else ("value", id(s)) for s in starts]
        if key not in self._made:
            self._made[key] = len(self.reads)
            self.reads.append(_element(self.operands[place], starts))
        self.number[id(eqn)] = self._made[key]


# -- in a branch -----------------------------------------------------------------------------------


def _rewritten(
    jaxpr: Jaxpr, branch: int, whole: set[int], before: _Before, kept: Sequence[int],
    after: Sequence[_After], xs: list[Array],
) -> list[Array]:  # fmt: skip
    """A branch on numbers. Its results are those kept, and what is written after."""
    arrays, reads = xs[: len(before.operands)], xs[len(before.operands) :]
    versioned = [
        _Version(i, []) if v.aval.ndim and surely(v.aval.size > 1) and i not in whole else x
        for i, (v, x) in enumerate(zip(jaxpr.inputs, arrays, strict=True))
    ]

    def special(eqn: Eqn, operands: list[Any]) -> list[Any] | None:
        read = None if id(eqn) not in before.number else reads[before.number[id(eqn)]]
        version = operands[0] if operands else None
        if not (_is_element(eqn, "slice") or _is_element(eqn, "update_slice")):
            # it reads the arrays as they were
            operands[:] = [arrays[x.place] if isinstance(x, _Version) else x for x in operands]
            return None
        if not isinstance(version, _Version):
            return None if read is None else [_shaped(read, eqn.outputs[0].aval.shape)]
        starts = _starts(eqn, operands[-len(_given(eqn)) :] if _given(eqn) else ())
        if eqn.primitive.name == "update_slice":
            u = _shaped(operands[1], ())
            return [_Version(version.place, [*version.writes, _Write(starts, u)])]
        if read is None:
            read = _element(arrays[version.place], [s.value for s in starts])
        for write in version.writes:
            read = _overwritten(read, starts, write)
        return [_shaped(read, eqn.outputs[0].aval.shape)]

    outs: list[Any] = run_jaxpr(jaxpr, versioned, special)  # type: ignore[arg-type]
    last = {v.place: v.writes for v in outs if isinstance(v, _Version)}
    return [outs[i] for i in kept] + [
        x for write in after for x in write.results(last[write.place])
    ]


def _shaped(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else shaping.reshape(x, shape=shape)


def _overwritten(x: Array, starts: Sequence[_Start], write: _Write) -> Array:
    """An element, unless it is the one that was written."""
    same: list[Array] = []
    for a, b in zip(starts, write.starts, strict=True):
        if a.atom is b.atom:
            continue
        if isinstance(a.atom, Literal) and isinstance(b.atom, Literal):
            if a.atom.value != b.atom.value:
                return x
            continue
        same.append(elementwise.equal(a.value, b.value))
    if not same:
        return write.value
    return elementwise.select(functools.reduce(elementwise.logical_and, same), write.value, x)


# -- after -----------------------------------------------------------------------------------------


class _After:
    """One write, of the branches that write an array at least so often."""

    def __init__(
        self, place: int, k: int, index: Array, uses: Sequence[Uses], before: _Before
    ) -> None:
        self.place, self.k, self.index = place, k, index
        self.aval = before.operands[place].aval
        self.writers = [b for b, u in enumerate(uses) if u.writes.get(place, 0) > k]
        self.everywhere = len(self.writers) == len(uses)
        starts = [before.starts[b, place, k] for b in self.writers]
        self.starts = None if any(s is None for s in starts) else starts  # known before

    def results(self, writes: Sequence[_Write]) -> list[Array]:
        """The value in one branch, and the starts if they are not known before."""
        count = 0 if self.starts is not None else self.aval.ndim
        if self.k >= len(writes):
            zero = shaping.full(0, shape=(), dtype=self.aval.dtype)
            return [zero, *[shaping.full(0, shape=(), dtype=_INT)] * count]
        starts, value = writes[self.k]
        return [value, *[_integer(s.value) for s in starts[:count]]]

    def onto(self, x: Array, outs: Any) -> Array:
        """Write, after the branches."""
        value = next(outs)
        if self.starts is None:
            starts: list[Any] = [next(outs) for _ in range(x.ndim)]
        else:
            starts = self.starts[0]  # type: ignore[assignment]
            for b, other in zip(self.writers[1:], self.starts[1:], strict=True):
                starts = self._chosen(b, other, starts)  # type: ignore[arg-type]
        if not self.everywhere:
            here = [elementwise.equal(self.index, b) for b in self.writers]
            wrote = functools.reduce(elementwise.logical_or, here)
            value = elementwise.select(wrote, value, _element(x, starts))
        axes, ones = tuple(range(x.ndim)), (1,) * x.ndim
        return shaping.update_slice(
            x, value, *starts, axes=axes, sizes=ones, strides=ones, shape=()
        )

    def _chosen(self, b: int, starts: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        here = None
        out = []
        for mine, other in zip(starts, others, strict=True):
            if mine is not other and not (type(mine) is type(other) is int and mine == other):
                here = elementwise.equal(self.index, b) if here is None else here
                mine = elementwise.select(here, _integer(mine), _integer(other))
            out.append(mine)
        return out


def _integer(x: Any) -> Array:
    if type(x) is int:
        return shaping.full(x, shape=(), dtype=_INT)
    return x if x.dtype == _INT else elementwise.convert(x, dtype=_INT)
