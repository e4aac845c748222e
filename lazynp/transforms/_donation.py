"""Donated arguments of `jit`: the program may reuse their memory, so nobody may read them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, NDArray
from lazynp._node import Trace, Tracer, is_tracer, tracer_node
from lazynp._recorder import local

_ABOVE_ALL = 1 << 30  # levels of transformations


class _Donated(Trace):
    """An interpreter that raises an error for any operation on a donated array."""

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

    def behind(self) -> Any:
        raise self.trace.error()

    def known(self) -> bool:
        return True


def give_up(arrays: Sequence[Array], name: str) -> None:
    """From now on, raise an error for anyone who reads these arrays."""
    trace = _Donated(f"jit of {name}")
    trace.level = _ABOVE_ALL
    for array in arrays:
        tracer = _DonatedTracer()
        tracer.trace, tracer.aval = trace, array.aval
        array._node = tracer_node(tracer)  # not `_write`, which would note a value to restore


def donated_places(
    donated: Sequence[Any], leaves: Sequence[Any], owners: Sequence[Array], what: str
) -> tuple[int, ...]:
    """The places of donated arrays among the owners. Views are excluded; while anything is traced,
    all are.
    """
    chosen = {id(x) for x in donated if type(x) is NDArray and x._base is None}
    others = [x for x in leaves if type(x) is NDArray and (id(x) not in chosen)]
    places = [i for i, owner in enumerate(owners) if id(owner) in chosen]
    twice = len([x for x in leaves if id(x) in chosen]) > len(places)
    if twice or any(id(x._owner()) in chosen for x in others):
        raise ValueError(f"{what}: a donated array is passed twice, or also as a view")
    if local.recorder.staging or any(is_tracer(owner._node) for owner in owners):
        return ()
    return tuple(places)
