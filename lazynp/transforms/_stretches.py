"""Reductions and stores over a stretch of an axis whose bounds the data decide, as loops.

`values[begin:end].sum()` in a staged loop is held as a window of the whole axis with a mask, if
`begin` and `end` are read from arrays (`functions._parts`): so it has derivatives, and examples may
differ. But a compiled round would compute the whole axis, for a few numbers of it. So a host's
program runs the places of the stretch one by one. Of each, it computes what the window holds there.

This happens where the bodies of loops and branches are lowered, and to those alone: jaxprs stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import Aval, In, aval_of
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from lazynp._memo import cached
from lazynp._primitive import Missing, Primitive
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._stage import literal, run_jaxpr, stage, stage_closed
from lazynp.transforms._stretch_plans import INT, RUNNING, Plan, Range, Sink

# sums are added up one by one, so those of many small numbers in a dtype that holds them
_NARROW, _WIDE = (np.dtype("f2"), np.dtype("f4")), np.dtype("f8")
_WHOLE = {"slice": 0, "update_slice": 1}  # without axes, they are this operand

_ONLY_LOWERED = Missing("it is made where a body is lowered")


# -- the primitive ---------------------------------------------------------------------------------
# (first place, place behind the last, states, constants) -> states, by a jaxpr of (place, states,
# constants)


def _abstract(*avals: Aval, jaxpr: Jaxpr) -> tuple[Aval, ...]:
    return avals[2 : 2 + len(jaxpr.outputs)]


def _explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    place, *others = params["jaxpr"].in_avals
    return (place, place, *others)


def _reference(first: Any, stop: Any, *values: Any, jaxpr: Jaxpr) -> tuple[Any, ...]:
    count = len(jaxpr.outputs)
    states, fixed = list(values[:count]), values[count:]
    for k in range(int(first), int(stop)):
        states = eval_reference(jaxpr, [np.int64(k), *states, *fixed])
    return tuple(states)


def _lower(b: Any, first: Any, stop: Any, *values: Any, jaxpr: Jaxpr) -> tuple[Any, ...]:
    count = len(jaxpr.outputs)
    states, fixed = values[:count], values[count:]

    def test(inner: Any, state: Any) -> Any:
        return inner.compare(state[0], stop, "LT")

    def body(inner: Any, state: Any) -> Any:
        k = state[0]
        after = inner.op("stablehlo.add", k, inner.constant(1, INT), out=k.aval)
        return [after, *inner.subjaxpr(jaxpr, [*state, *fixed])]

    return tuple(b.while_loop(test, body, [first, *states])[1:])


over_stretch = Primitive(
    "over_stretch",
    abstract=_abstract,
    explicit=_explicit,
    reference=_reference,
    lower=_lower,
    jvp=_ONLY_LOWERED,
    transpose=_ONLY_LOWERED,
    batch=_ONLY_LOWERED,
    multiple_results=True,
    kind="call",
)


# -- what a window holds at one place --------------------------------------------------------------


class _Element:
    """What arrays hold at one place. values: of the variables so far. state: of the array that a
    store writes, `onto`.
    """

    def __init__(
        self, plan: Plan, sink: Sink, values: dict[Any, Array], place: Array, state: Array
    ) -> None:
        self._plan, self._values, self._place, self._state = plan, values, place, state
        self._own = sink.eqn if sink.onto is not None else None
        own = sink.onto if sink.into is None else None  # else, it is read before it is written
        self._onto = None if own is None else plan.same(own)
        self._found: dict[Any, Array] = {}
        self.running: dict[Any, Array] = {}  # sums and products before this place

    def at(self, x: Atom) -> Array:
        if isinstance(x, Literal):
            return literal(x)
        if x not in self._found:
            self._found[x] = self._at(x)
        return self._found[x]

    def _at(self, x: Var) -> Array:
        if not x.aval.shape:
            return self._values[x]
        if self._onto is not None and self._plan.same(x) is self._onto:
            return _picked(self._state, self._place)
        eqn = self._plan.maker.get(x)
        if eqn is not None and x in self.running:
            return RUNNING[eqn.primitive.name](self.running[x], self.at(eqn.inputs[0]))
        if eqn is None or eqn is not self._own and id(eqn) in self._plan.sinks:
            return _picked(self._values[x], self._place)
        made = self._made(eqn, x)
        return _picked(self._values[x], self._place) if made is None else made

    def _made(self, eqn: Eqn, x: Var) -> Array | None:
        """From the elements of the operands; None if it is read where it lies."""
        name, params = eqn.primitive.name, eqn.params
        if eqn.primitive.kind == "elementwise" and not eqn.primitive.multiple_results:
            return eqn.primitive(*map(self.at, eqn.inputs), **params)  # type: ignore[operator]
        if name in ("broadcast_in_dim", "full") and not eqn.inputs[0].aval.shape:
            return elementwise.convert(self.at(eqn.inputs[0]), dtype=x.aval.dtype)
        if name == "iota":
            return elementwise.convert(self._place, dtype=x.aval.dtype)
        same = self._plan.same(x)
        if same is not x:
            return self.at(same)
        if name == "slice":
            return self._of_slice(eqn)
        if name == "take" and params["axes"] == (0,):
            source, places = eqn.inputs
            if source.aval.ndim == 1 and places.aval.shape == x.aval.shape:
                return _picked(_value(self._values, source), self.at(places))
        return None

    def _of_slice(self, eqn: Eqn) -> Array | None:
        """The element of a slice along one axis, from the array that it is a slice of."""
        source, *starts = eqn.inputs
        axes, sizes, strides = (eqn.params[k] for k in ("axes", "sizes", "strides"))
        shape, places = source.aval.shape, list[Any]()
        given = dict(zip(axes, zip(starts, sizes, strides, strict=True), strict=True))
        for axis, n in enumerate(shape):
            start, size, stride = given.get(axis, (None, n, 1))
            first = 0 if start is None else _value(self._values, start)
            if size == 1:
                places.append(first)
                continue
            if start is not None:  # as the slice of so many, which lies within
                last = n - (size - 1) * abs(stride) - 1
                low, high = (0, last) if stride > 0 else (n - 1 - last, n - 1)
                first = elementwise.minimum(elementwise.maximum(first, low), high)
            along = self._place if stride == 1 else elementwise.multiply(self._place, stride)
            places.append(along if start is None else elementwise.add(first, along))
        every = tuple(range(len(shape)))
        return shaping.slice(
            _value(self._values, source), *places, axes=every, sizes=(1,) * len(every),
            strides=(1,) * len(every), shape=(),
        )  # fmt: skip


def _value(values: dict[Any, Array], x: Atom) -> Array:
    return literal(x) if isinstance(x, Literal) else values[x]


def _picked(x: Array, place: Array) -> Array:
    return shaping.slice(x, place, axes=(0,), sizes=(1,), strides=(1,), shape=())


# -- the jaxpr with loops --------------------------------------------------------------------------


@cached()
def with_stretches(jaxpr: Jaxpr, given: bool = False) -> Jaxpr:
    """The jaxpr of a round with loops over the stretches that its data decide. given: whether the
    numbers that it takes may be such bounds.
    """
    if any(eqn.sizes or eqn.plain is not None for eqn in jaxpr.eqns):
        return jaxpr
    plan = Plan(jaxpr, given)
    if not (plan.sinks or plan.has_choices):
        return jaxpr
    return stage_closed(lambda xs: _run(jaxpr, plan, xs), jaxpr.in_avals)


def as_lowered(b: Any, body: Jaxpr) -> Jaxpr:
    """The body of a loop, or a branch, as the builder `b` is to hold it."""
    return with_stretches(body) if b.platform.host and b.mesh is None else body


def _run(jaxpr: Jaxpr, plan: Plan, xs: Sequence[Array]) -> list[Array]:
    values: dict[Any, Array] = dict(zip(jaxpr.inputs, xs, strict=True))

    def special(eqn: Eqn, operands: list[Array]) -> Sequence[Array] | None:
        values.update((a, x) for a, x in zip(eqn.inputs, operands, strict=True)
                      if isinstance(a, Var))  # fmt: skip
        sink = plan.sinks.get(id(eqn))
        if sink is not None:
            return [_looped(plan, sink, values)]
        if eqn.primitive.name in _WHOLE and not eqn.params["axes"]:
            return [operands[_WHOLE[eqn.primitive.name]]]
        if eqn.primitive.name == "check":  # its other operands only tell where it is at fault
            eqn.primitive(operands[0], **eqn.params)  # type: ignore[operator]
            return ()
        return _branches(plan, eqn, operands, values) if eqn.primitive.name == "cond" else None

    return run_jaxpr(jaxpr, xs, special)


def _branches(
    plan: Plan, eqn: Eqn, operands: list[Array], values: dict[Any, Array]
) -> Sequence[Array] | None:
    """A choice whose branches make the masks themselves that are made before it: so they know where
    their stretches are.
    """
    ranges = {k: plan.mask(a) for k, a in enumerate(eqn.inputs[1:])}
    ranges = {k: r for k, r in ranges.items() if r is not None}
    if not ranges:
        if not any(map(plan.is_bound, eqn.inputs[1:])):
            return None
        branches = tuple([with_stretches(j, True) for j in eqn.params["branches"]])
        return eqn.primitive(*operands, **eqn.params | {"branches": branches})  # type: ignore[operator,no-any-return]
    bounds = [a for r in ranges.values() for a in r if a is not None]
    kept = [x for k, x in enumerate(operands[1:]) if k not in ranges]
    kept += [_value(values, a) for a in bounds]
    first = len(kept) - len(bounds)

    def inside(branch: Jaxpr) -> Jaxpr:
        def run(ys: list[Array]) -> list[Array]:
            rest, ends = iter(ys[:first]), iter(ys[first:])
            return run_jaxpr(branch, [
                _mask(ranges[k], v.aval, ends) if k in ranges else next(rest)
                for k, v in enumerate(branch.inputs)
            ])  # fmt: skip

        return with_stretches(stage_closed(run, [x.aval for x in kept]), True)

    params = eqn.params | {"branches": tuple([inside(j) for j in eqn.params["branches"]])}
    return eqn.primitive(operands[0], *kept, **params)  # type: ignore[operator,no-any-return]


def _mask(range_: Range, aval: Aval, ends: Iterator[Array]) -> Array:
    places = shaping.iota(shape=aval.shape, axis=0, dtype=INT)
    low = None if range_.low is None else elementwise.greater_equal(places, next(ends))
    high = None if range_.high is None else elementwise.less(places, next(ends))
    masks = [m for m in (low, high) if m is not None]
    return elementwise.logical_and(*masks) if len(masks) == 2 else masks[0]


def _looped(plan: Plan, sink: Sink, values: dict[Any, Array]) -> Array:
    window = sink.windows[0]
    (length,) = window.aval.shape
    if sink.place is not None:
        place = elementwise.maximum(_value(values, sink.place), 0)
        place = elementwise.minimum(place, length - 1)
        found = _Element(plan, sink, values, place, place).at(window)
        return shaping.reshape(found, shape=sink.eqn.outputs[0].aval.shape)

    def bound(atom: Atom | None, default: int) -> Any:
        if atom is None:
            return default
        return elementwise.minimum(elementwise.maximum(_value(values, atom), 0), length)

    first, stop = bound(sink.range.low, 0), bound(sink.range.high, length)
    if sink.into is not None and plan.reads(sink):
        return _by_lists(plan, sink, values, first, stop)
    if sink.onto is not None:
        start = _value(values, sink.onto)
    else:
        neutral, outside = (shaping.full(v, shape=(), dtype=window.aval.dtype)
                            for v in sink.start)  # fmt: skip
        whole = elementwise.greater_equal(elementwise.subtract(stop, first), length)
        start = elementwise.select(whole, neutral, outside)
        if sink.combine is elementwise.add and start.dtype in _NARROW:
            start = _in_dtype(start, _WIDE)

    running = plan.running(sink)
    begun = [int(plan.maker[v].primitive.name == "cumprod") for v in running]
    totals = [shaping.full(n, shape=(), dtype=v.aval.dtype) for n, v in zip(begun, running)]
    states = [start, shaping.full(0, shape=(), dtype=INT)] if sink.is_place else [start]

    def step(ys: list[Array]) -> list[Array]:
        elements = _Element(plan, sink, values, *ys[:2])
        elements.running = dict(zip(running, ys[len(ys) - len(running) :], strict=True))
        return [*changed(ys[: len(ys) - len(running)], elements), *map(elements.at, running)]

    def changed(ys: list[Array], elements: _Element) -> list[Array]:
        place, state, *found = ys
        element, *other = map(elements.at, sink.windows)
        if other:
            element = elementwise.multiply(element, *other)
        if found:
            better = sink.combine(element, state)
            if element.dtype.kind == "f":  # the first nan is where NumPy finds it
                new = elementwise.greater(elementwise.isnan(element), elementwise.isnan(state))
                better = elementwise.logical_or(better, new)
            chosen = zip((element, place), (state, *found), strict=True)
            return [elementwise.select(better, x, y) for x, y in chosen]
        if sink.onto is None:
            return [sink.combine(state, _in_dtype(element, state.dtype))]
        if sink.into is not None:
            place = elements.at(sink.into)
        return [_put(state, element, place)]

    made = _over(first, stop, [*states, *totals], step)[len(states) - 1]
    return _in_dtype(made, sink.eqn.outputs[0].aval.dtype)


_SHORT = 128  # places of a list that is made in each round


def _by_lists(plan: Plan, sink: Sink, values: dict[Any, Array], first: Array, stop: Array) -> Array:
    """A store at places, of values that are read from the same array: all of them are listed before
    the first one is written. A loop of one round or none stands for the choice between a short list
    and a long one: so the array stays in its place.
    """
    (window,), onto = sink.windows, plan.same(sink.onto)
    names = [v for v in values if plan.same(v) is onto]
    (length,), count = window.aval.shape, elementwise.subtract(stop, first)
    out, short = _value(values, sink.onto), elementwise.less_equal(count, _SHORT)  # type: ignore[arg-type]
    for size, wanted in ((min(_SHORT, length), short), (length, elementwise.logical_not(short))):

        def once(ys: list[Array], size: int = size) -> list[Array]:
            given = values | dict.fromkeys(names, ys[1])
            lists = [shaping.full(0, shape=(size,), dtype=d) for d in (window.aval.dtype, INT)]

            def listed(zs: list[Array]) -> list[Array]:
                elements = _Element(plan, sink, given, zs[0], ys[1])
                found = (elements.at(window), _in_dtype(elements.at(sink.into), INT))  # type: ignore[arg-type]
                at = elementwise.subtract(zs[0], first)
                return [_put(x, y, at) for x, y in zip(zs[1:], found, strict=True)]

            def written(zs: list[Array]) -> list[Array]:
                element, place = [_picked(x, elementwise.subtract(zs[0], first)) for x in made]
                return [_put(zs[1], element, place)]

            made = _over(first, stop, lists, listed)
            return _over(first, stop, ys[1:], written)

        (out,) = _over(0, elementwise.convert(wanted, dtype=INT), [out], once)
    return out


def _put(x: Array, element: Array, place: Array) -> Array:
    return shaping.update_slice(x, element, place, axes=(0,), sizes=(1,), strides=(1,), shape=())


def _over(first: Any, stop: Any, states: list[Array], step: Any) -> list[Array]:
    avals = [aval_of((), INT), *[x.aval for x in states]]
    program = stage(step, avals, "a stretch of an axis")
    return list(over_stretch(first, stop, *states, *program.captured, jaxpr=program.jaxpr))


def _in_dtype(x: Array, dtype: np.dtype[Any]) -> Array:
    return x if x.dtype == dtype else elementwise.convert(x, dtype=dtype)


def on_host(jaxpr: Jaxpr) -> Jaxpr:
    """A program with the rounds that a host runs: what it costs is seen there."""
    eqns = [_on_host(eqn) for eqn in jaxpr.eqns]
    same = all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True))
    return jaxpr if same else Jaxpr(jaxpr.inputs, eqns, jaxpr.outputs)


def _on_host(eqn: Eqn) -> Eqn:
    if eqn.primitive.kind != "call" or eqn.sizes or eqn.plain is not None:
        return eqn
    found = {k: _rounds(p) for k, p in eqn.params.items()}
    if all(p is eqn.params[k] for k, p in found.items()):
        return eqn
    return Eqn(eqn.primitive, eqn.inputs, found, eqn.outputs)


def _rounds(p: Any) -> Any:
    if isinstance(p, Jaxpr):
        return on_host(with_stretches(p))
    if type(p) is tuple and any(isinstance(j, Jaxpr) for j in p):
        made = tuple(map(_rounds, p))
        return p if all(a is b for a, b in zip(p, made, strict=True)) else made
    return p
