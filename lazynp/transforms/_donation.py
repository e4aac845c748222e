"""Arguments that are given up to `jit`: their memory may be taken, and they must not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, NDArray
from lazynp._node import Trace, Tracer, is_tracer, tracer_node
from lazynp._recorder import local

_ABOVE_ALL = 1 << 30  # levels of transformations


class _Donated(Trace):
    """Interprets whatever is done with an array that was given up: as an error."""

    __slots__ = ()

    def error(self) -> RuntimeError:
        return RuntimeError(f"this array was donated to {self.what}: its memory is used again")

    def process(self, primitive: Any, operands: Any, params: Any) -> Any:
        raise self.error()


class _DonatedTracer(Tracer):
    __slots__ = ()

    trace: _Donated

    def seen(self) -> Any:
        raise self.trace.error()

    def exact(self) -> Any:
        raise self.trace.error()

    def extent(self) -> Any:
        raise self.trace.error()

    def known(self) -> bool:
        return True


def give_up(arrays: Sequence[Array], name: str) -> None:
    """Whoever reads these arrays from now on is told."""
    trace = _Donated(f"jit of {name}")
    trace.level = _ABOVE_ALL
    for array in arrays:
        tracer = _DonatedTracer()
        tracer.trace, tracer.aval = trace, array.aval
        array._node = tracer_node(tracer)  # no `_write`, which notes what to put back


def donated_places(
    donated: Sequence[Any], leaves: Sequence[Any], owners: Sequence[Array], what: str
) -> tuple[int, ...]:
    """Places among the owners of the arrays to give up: no views; none while anything is traced."""
    chosen = {id(x) for x in donated if type(x) is NDArray and x._base is None}
    others = [x for x in leaves if type(x) is NDArray and (id(x) not in chosen)]
    places = [i for i, owner in enumerate(owners) if id(owner) in chosen]
    twice = len([x for x in leaves if id(x) in chosen]) > len(places)
    if twice or any(id(x._owner()) in chosen for x in others):
        raise ValueError(f"{what}: a donated array is an argument twice, or viewed by another one")
    if local.recorder.staging or any(is_tracer(owner._node) for owner in owners):
        return ()
    return tuple(places)
