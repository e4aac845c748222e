"""Programs of jitted functions compiled ahead of a call: what they hold, move and return."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from lazynp import lowering
from lazynp._array import Array
from lazynp._dataclass import dataclass
from lazynp._jaxpr import Jaxpr
from lazynp._node import hosted
from lazynp._placed import Place, Placed
from lazynp._shardings import NamedSharding, SingleDeviceSharding
from lazynp._signature import ShapeDtype
from lazynp._tree import tree_unflatten
from lazynp.primitives.placing import NOWHERE, placed_behind, places_inside, target_of
from lazynp.transforms._call import delivered, jit_call
from lazynp.transforms._checks import apart as checked_apart, discharged


@dataclass
class Program:
    """A compiled program, where its operands are, and where its results."""

    executable: Any
    ins: list[Any]
    outs: list[Any]

    @property
    def collectives(self) -> Any:
        return getattr(self.executable, "collectives", [])

    def optimised(self) -> str:
        return self.executable.optimised()

    def memory(self) -> Any:
        return self.executable.memory()


def program_for(jaxpr: Jaxpr, operands: Sequence[Any]) -> Program:
    """The program of a jaxpr for operands where these are: Arrays, ShapeDtypes, other values."""
    jaxpr = delivered(jaxpr)
    checks = hosted(jit_call, {"jaxpr": jaxpr})
    targets = [_target(x) for x in operands]
    targets += [NOWHERE] * (len(jaxpr.inputs) - len(targets))
    places = [t.place for t in targets if not t.place.is_first]
    places += [place for place, committed in places_inside(jaxpr) if committed]
    place = places[0] if places else NOWHERE.place
    if checks:
        apart = place.mesh is not None and not place.shared
        jaxpr = checked_apart(jaxpr) if apart else discharged(jaxpr, 0)[0]
    if place.is_first:
        here = SingleDeviceSharding(place.devices[0])
        made = lowering.compile_program(jaxpr)
        return Program(made, [here] * len(targets), [here] * len(jaxpr.outputs))
    layouts = [t.sharding if t.place is place else None for t in targets]
    spread = lowering.compile_spread(jaxpr, (), place.there(), layouts)
    ins = [_said(place, layout) for layout in layouts]
    return Program(spread, ins, [_said(place, layout) for layout in spread.layouts])


def _said(place: Place, layout: Any) -> Any:
    return layout or place.whole or SingleDeviceSharding(place.devices[0])


def _target(x: Any) -> Any:
    if isinstance(x, ShapeDtype):
        if x.sharding is None:
            return NOWHERE
        if isinstance(x.sharding, NamedSharding):
            x.sharding.check(x.shape, "lower")
        return target_of(x.sharding)
    placed: Placed | None = placed_behind(x) if isinstance(x, Array) else None
    if placed is None:
        return NOWHERE
    sharding = placed.sharding()
    return target_of(placed.place.devices[0] if sharding is None else sharding)


def _of_known_sizes(traced: Any) -> Jaxpr:
    """The jaxpr, if one program runs it."""
    if traced.sized is not None:
        raise TypeError(
            "lower: the function has sizes that its trace does not know, so no one program runs "
            "it: lower it without abstracted_axes, and give size= where the data decide a size"
        )
    return traced.jaxpr


class Lowered:
    """The result of `jit(f).lower(...)`."""

    def __init__(self, jitted: Any, traced: Any, given: Any) -> None:
        self._jitted, self._traced, self._given = jitted, traced, given

    @property
    def jaxpr(self) -> Jaxpr:
        """The jaxpr of the function."""
        return self._traced.jaxpr

    def as_text(self, platform: str = "cpu") -> str:
        """The StableHLO text of the program for "cpu", "cuda" or "tpu"; no such device is needed.

        ValueError for other platforms. LoweringError, a NotImplementedError, names an operation
        that only NumPy, SciPy or Python can do.
        """
        return lowering.lower(_of_known_sizes(self._traced), platform=platform)

    def compile(self) -> Compiled:
        """A function that accepts only arguments like these."""
        return Compiled(self)


class Compiled:
    """A lowered function. It accepts only arguments like those it was lowered for."""

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered

    @functools.cached_property
    def _program(self) -> Any:
        given, traced = self._lowered._given, self._lowered._traced
        operands = [*given.owners, *given.values, *given.starts, *traced.captured]
        return program_for(_of_known_sizes(traced), operands)

    def as_text(self) -> str:
        """The optimised program, for one device."""
        return self._program.optimised()

    def collectives(self) -> list[Any]:
        """What the program moves between devices: `kind dtype shape bytes count` of each."""
        return list(self._program.collectives)

    def memory_analysis(self) -> Any:
        """The bytes that the program takes on one device, as XLA tells."""
        return self._program.memory()

    @property
    def input_shardings(self) -> Any:
        """Where the arguments are: the tree `(args, kwargs)`."""
        given = self._lowered._given
        found = iter(self._program.ins)
        owners = {id(o): next(found) for o in given.owners}
        leaves = [
            owners[id(x._owner())] if owned else next(found)
            for x, owned in zip(given.leaves, given.owned, strict=True)
        ]
        return tree_unflatten(given.structure, leaves)

    @property
    def output_shardings(self) -> Any:
        """Where the results are, as their tree."""
        traced, program = self._lowered._traced, self._program
        fresh = iter(program.outs)
        made = [next(fresh) if k[0] == "new" else program.ins[0] for k in traced.outs]
        return tree_unflatten(traced.tree, made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jitted = self._lowered._jitted
        given, call, static = jitted._split(args, kwargs)
        wanted = self._lowered._given
        same = given.key == wanted.key if wanted.names else given.avals == wanted.avals
        if given.structure != wanted.structure or not same:
            raise TypeError(
                f"{jitted._what}: compiled for {wanted.avals}, got arguments of other types, "
                f"{given.avals}"
            )
        traced = self._lowered._traced
        if given.key != wanted.key:  # not the kinds of arrays, or other ones share memory
            traced = jitted._traced(given, call, static, bool(given.starts))
        return jitted.run(traced, given)


__all__ = ["Compiled", "Lowered", "Program", "program_for"]
