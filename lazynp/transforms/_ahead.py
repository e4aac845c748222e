"""Programs of jitted functions compiled ahead of a call: what they hold, move and return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lazynp import lowering
from lazynp._array import Array
from lazynp._jaxpr import Jaxpr
from lazynp._node import hosted
from lazynp._placed import Place, Placed
from lazynp._shardings import NamedSharding, SingleDeviceSharding
from lazynp.primitives.placing import NOWHERE, placed_behind, target_of
from lazynp.transforms._arranged import place_inside
from lazynp.transforms._call import delivered, jit_call
from lazynp.transforms._checks import discharged
from lazynp.transforms._stage import ShapeDtype


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
    if hosted(jit_call, {"jaxpr": jaxpr}):
        jaxpr, _ = discharged(jaxpr, 0)
    targets = [_target(x) for x in operands]
    targets += [NOWHERE] * (len(jaxpr.inputs) - len(targets))
    inside = place_inside(jaxpr)
    places = [t.place for t in targets if not t.place.is_first]
    place = places[0] if places else NOWHERE.place if inside is None else inside.place
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


__all__ = ["Program", "program_for"]
