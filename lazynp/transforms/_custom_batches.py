"""Calls with custom derivative rules, for all examples of a vmap at once.

What all examples have in common because they met in a collective, such as a sum over them, stays
one value: a result, what a forward rule keeps, a cotangent. The cotangent of a shared result is the
sum over the examples; so a rule that gets it, or that sums by itself, returns a sum for an argument
that is the same for all. Any other cotangent of such an argument is summed here. Without a
collective each example has results of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from lazynp._array import Array, new_array
from lazynp._avals import Aval
from lazynp._jaxpr import Jaxpr, meets
from lazynp._node import Node
from lazynp._trace import interpreting
from lazynp.primitives import reduction
from lazynp.primitives.placing import current_spmd
from lazynp.transforms._call import present
from lazynp.transforms._stack import zeros
from lazynp.transforms._stage import batch_under, repeated, run_jaxpr, stage_closed
from lazynp.transforms._vmap import (
    BatchTrace,
    batch_nodes,
    current_axis,
    names_here,
    naming,
    numbers_of,
    of_equals,
)

Arrays = Sequence[Array]
Maybe = Sequence[Array | None]
Flags = tuple[bool, ...]


class Call:
    """A function of flat arguments, with its rules; all take and return lists of Arrays.

    jvp: `(primals, tangents) -> (outs, tangents)`, None for a zero tangent. For a custom_vjp it is
    None, and fwd: `primals -> (outs, residuals)`, bwd: `(residuals, cts) -> cts of primals`. sees:
    the objects from which the user's rules may read arrays.
    """

    __slots__ = ("name", "function", "jvp", "fwd", "bwd", "sees")

    def __init__(
        self,
        name: str,
        function: Callable[[Arrays], list[Array]],
        jvp: Callable[[Arrays, Maybe], tuple[list[Array], list[Array | None]]] | None = None,
        fwd: Callable[[Arrays], tuple[list[Array], list[Array]]] | None = None,
        bwd: Callable[[Arrays, Arrays], list[Array | None]] | None = None,
        sees: Sequence[Any] = (),
    ) -> None:
        self.name, self.function, self.jvp, self.fwd, self.bwd = name, function, jvp, fwd, bwd
        self.sees = sees


class Names:
    """The axes that have names now, for what is traced later. numbers: of the examples of each."""

    def __init__(self) -> None:
        self._traces = names_here()
        self.numbers = [numbers_of(t) for t in self._traces]

    @contextmanager
    def again(self) -> Iterator[list[Node]]:
        """A block in which they have names, also when they are gone, and their numbers there."""
        with ExitStack() as blocks:
            numbers = []
            for old, number in zip(self._traces, self.numbers, strict=True):
                if not old.alive:
                    new = BatchTrace(old.wording, old.size, old.axis_name, old.spmd)
                    blocks.enter_context(interpreting(new))
                    blocks.enter_context(naming(new))
                    number = numbers_of(new)
                numbers.append(number)
            yield numbers


def _differs(name: str, what: str) -> TypeError:
    return TypeError(
        f"the rule of {name}: {what} differs from example to example (under shard_map: from device "
        "to device), but the function's result is the same for all; use psum or the like in the "
        "rule too"
    )


def _total(ct: Array, differs: bool, summed: bool, size: int) -> Array:
    """The cotangent of an argument that is the same for all examples."""
    if differs:
        return reduction.reduce_sum(ct, axes=(0,))
    return ct if summed else of_equals(ct, "sum", size)


# -- at once ---------------------------------------------------------------------------------------


class Mapped:
    """A call for all examples, and which of its results differ between them.

    The function or a rule, whichever runs first, decides that.
    """

    def __init__(self, call: Call, flags: Sequence[bool], trace: BatchTrace) -> None:
        self.plain, self.flags, self.trace = call, tuple(flags), trace
        self.outs: Flags = ()
        self._known = False
        self._kept: Flags = ()  # which residuals differ
        rules = {"jvp": self._jvp} if call.jvp is not None else {"fwd": self._fwd, "bwd": self._bwd}
        self.call = Call(call.name, self._function, **rules, sees=call.sees)  # type: ignore[arg-type]

    def _run(
        self, function: Callable[[Arrays], list[Any]], xs: Arrays, flags: Sequence[bool]
    ) -> tuple[list[Any], bool]:
        """The results as (array, whether it differs) or None, and whether the examples met."""
        trace = self.trace
        inner = BatchTrace(trace.wording, trace.size, trace.axis_name, trace.spmd)
        axes = [0 if f else None for f in flags]
        some: list[bool] = []

        def flat(args: Arrays) -> list[Array]:
            found = function(args)
            some[:] = [x is not None for x in found]
            return present(found)

        outs, _ = batch_nodes(flat, xs, [x._read() for x in xs], axes, inner, function)
        trace.met = trace.met or inner.met
        rest = iter([(new_array(n), b) for n, b in outs])
        return [next(rest) if s else None for s in some], inner.met

    def _own(self, x: Array, differs: bool) -> Array:
        return x if differs else repeated(x, self.trace.size)

    def _results(self, found: Sequence[tuple[Array, bool]], met: bool) -> list[Array]:
        if not self._known:
            self.outs, self._known = tuple([b or not met for _, b in found]), True
        return [
            self._like(x, b, own, "a result") for (x, b), own in zip(found, self.outs, strict=True)
        ]

    def _like(self, x: Array, differs: bool, own: bool, what: str) -> Array:
        if differs and not own:
            raise _differs(self.plain.name, what)
        return self._own(x, differs) if own else x

    def _function(self, xs: Arrays) -> list[Array]:
        return self._results(*self._run(self.plain.function, xs, self.flags))

    def _jvp(self, primals: Arrays, tangents: Maybe) -> tuple[list[Array], list[Array | None]]:
        n, rule = len(self.flags), self.plain.jvp
        assert rule is not None
        moving = [t is not None for t in tangents]

        def both(xs: Arrays) -> list[Array | None]:
            rest = iter(xs[n:])
            outs, dots = rule(list(xs[:n]), [next(rest) if m else None for m in moving])
            return [*outs, *dots]

        flags = [*self.flags, *(f for f, m in zip(self.flags, moving, strict=True) if m)]
        found, met = self._run(both, [*primals, *present(tangents)], flags)
        half = len(found) // 2
        outs = self._results(found[:half], met)
        return outs, [
            None if t is None else self._like(t[0], t[1], own, "a tangent")
            for t, own in zip(found[half:], self.outs, strict=True)
        ]

    def _fwd(self, xs: Arrays) -> tuple[list[Array], list[Array]]:
        rule, count = self.plain.fwd, [0]
        assert rule is not None

        def both(xs: Arrays) -> list[Array]:
            outs, residuals = rule(xs)
            count[:] = [len(outs)]
            return [*outs, *residuals]

        found, met = self._run(both, xs, self.flags)
        kept = found[count[0] :]
        self._kept = tuple([b for _, b in kept])
        return self._results(found[: count[0]], met), [x for x, _ in kept]

    def _bwd(self, residuals: Arrays, cts: Arrays) -> list[Array | None]:
        rule, n = self.plain.bwd, len(residuals)
        assert rule is not None
        found, met = self._run(
            lambda xs: rule(xs[:n], xs[n:]), [*residuals, *cts], [*self._kept, *self.outs]
        )
        summed = met or not all(self.outs)
        made: list[Array | None] = []
        for pair, own in zip(found, self.flags, strict=True):
            if pair is None:
                made.append(None)
                continue
            ct, differs = pair
            size = self.trace.size
            made.append(self._own(ct, differs) if own else _total(ct, differs, summed, size))
        return made


# -- staged ----------------------------------------------------------------------------------------


class Staged:
    """The jaxpr of a call for all examples, and those of its rule."""

    def __init__(
        self, jaxpr: Jaxpr, size: int, batched: Sequence[bool], count: int, kind: str, name: str
    ) -> None:
        self.plain, self.size, self.kind, self.name = jaxpr, size, kind, name
        self.args, self.captured = tuple(batched[:count]), tuple(batched[count:])
        self.axis, self.spmd = current_axis(), current_spmd()  # rules are mapped later
        natural = self._meets(jaxpr) or not any(self.args)
        forced = None if natural else (True,) * len(jaxpr.outputs)
        self.jaxpr, self.outs = self._batch(jaxpr, (*self.args, *self.captured), forced)
        self._kept: Flags = ()

    def _meets(self, jaxpr: Jaxpr) -> bool:
        return self.axis is not None and meets(jaxpr, self.axis)

    def _batch(self, jaxpr: Jaxpr, flags: Flags, forced: Flags | None) -> tuple[Jaxpr, Flags]:
        return batch_under(jaxpr, self.size, flags, forced, self.axis, self.spmd)

    def part(self, part: Jaxpr, which: int) -> Jaxpr:
        """A jaxpr of the rule; the first part of a custom_vjp's comes before the second."""
        n = len(self.outs)
        if self.kind == "vjp" and which == 1:
            return self._backward(part, (*self._kept, *self.outs, *self.captured))
        if self.kind == "vjp":
            flags: Flags = (*self.args, *self.captured)
            wanted: Flags = (*self.outs, *[False] * (len(part.outputs) - n))
        else:
            avals = self.plain.in_avals
            moving = [f for f, a in zip(self.args, avals, strict=False) if a.dtype.kind in "fc"]
            flags, wanted = (*self.args, *moving, *self.captured), (*self.outs, *self.outs)
        made, found = self._batch(part, flags, wanted)
        if self.kind == "vjp":
            self._kept, found = found[n:], found[:n]
        for i, (differs, own) in enumerate(zip(found, wanted, strict=False)):
            if differs and not own:
                raise _differs(self.name, "a result" if i < n else "a tangent")
        return made

    def _backward(self, part: Jaxpr, flags: Flags) -> Jaxpr:
        made, found = self._batch(part, flags, None)
        summed = self._meets(part) or not all(self.outs)
        avals: Sequence[Aval] = self.plain.in_avals

        def run(xs: list[Array]) -> list[Array]:
            cts = []
            for ct, differs, own, aval in zip(
                run_jaxpr(made, xs), found, self.args, avals, strict=False
            ):
                if own:
                    cts.append(ct if differs else repeated(ct, self.size))
                elif aval.dtype.kind in "fc":
                    cts.append(_total(ct, differs, summed, self.size))
                else:
                    cts.append(zeros(aval))
            return cts

        return stage_closed(run, made.in_avals)
