"""device_put: the same value, elsewhere. To the linear rules it is the identity.

`put` does it for values; a function that is staged records it as an equation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, Scalar, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._dataclass import dataclass
from lazynp._devices import default, find_own, first
from lazynp._jaxpr import Jaxpr, Rules, jaxprs_in
from lazynp._memo import cached
from lazynp._node import VALUE, Node, aval_of_node, is_interpreted, tracer_node
from lazynp._placed import (
    HOME,
    TRACE,
    Place,
    Placed,
    install,
    moved,
    place_of,
    place_on,
    placed_in,
)
from lazynp._primitive import Primitive
from lazynp._processes import process_count, process_index
from lazynp._recorder import calls, elsewhere, local
from lazynp._shardings import NamedSharding, PartitionSpec, SingleDeviceSharding, sharding_on

_PUT = "device_put"


@dataclass(frozen=True)
class Target:
    """Where a value shall be: on these devices, laid out so, and whether it must stay there."""

    place: Place
    committed: bool = True
    sharding: NamedSharding | None = None

    def batched(self, name: Any) -> Target:
        """The same for an array with one more axis in front, which this axis of the mesh splits."""
        if self.sharding is None:
            return self
        spec = PartitionSpec(name, *self.sharding.spec)
        return Target(self.place, self.committed, NamedSharding(self.sharding.mesh, spec))


NOWHERE = Target(HOME, committed=False)  # where plain arrays are


def target_of(device: Any, committed: bool = True, what: str = _PUT) -> Target:
    """What a device, its name or a sharding asks for. Raises DeviceError. what: for other errors,
    what the user has called.
    """
    if isinstance(device, PartitionSpec):
        device = sharding_on(None, device, what)
    if isinstance(device, NamedSharding):
        check_taking_part(device, what)
        return Target(place_on(device.mesh), committed, device)
    if isinstance(device, SingleDeviceSharding):
        device = next(iter(device.device_set))
    device = find_own(device)
    alone = config.cpu_devices == 1 and config.device == "cpu" and process_count() == 1
    if alone and device == first():
        return NOWHERE  # nothing can lie elsewhere: it makes no difference
    return Target(place_of(device), committed)


def check_taking_part(sharding: NamedSharding, what: str = _PUT) -> None:
    """Raise ValueError if this process has no device of the mesh."""
    mine = process_index()
    if not any(d.process_index == mine for d in sharding.device_set):
        raise ValueError(f"{what}: process {mine} has no device of {sharding.mesh}")


def put(x: Array, target: Target, source: Target | None = None, what: str = _PUT) -> Array:
    """A new array with this value, there. source: where its cotangents go, if not where it is.
    what: for errors, what the user has called.
    """
    node = x._read()
    if target.sharding is not None:
        target.sharding.check(aval_of_node(node).shape, what)
    if is_interpreted(node) or local.recorder.staging:
        calls[:] = [_called]
        out = device_put(x, target=target, source=source or Target(*where(x)))
        return new_scalar(out._read()) if isinstance(x, Scalar) else out
    made = put_node(node, target)
    return new_scalar(made) if isinstance(x, Scalar) else new_array(made)


def put_node(node: Node, target: Target) -> Node:
    placed = placed_in(node)
    if target == NOWHERE:
        return node if placed is None else placed.home()
    sharding = target.sharding
    if placed is not None and placed.place is target.place:
        inner = placed.node
    elif target.place.is_first:
        inner = node if placed is None else placed.home()
    else:
        inner = moved(node, target.place, sharding)
        if sharding is not None and inner[VALUE] is not None:  # it will be put so
            return tracer_node(Placed(inner, target.place, target.committed, sharding))
    made = Placed(inner, target.place, target.committed)
    return tracer_node(made) if sharding is None else _constrain(made, sharding)


def of_parts(
    shape: tuple[int, ...], dtype: Any, sharding: NamedSharding, part: Callable[[Any], Any]
) -> Array:
    """The array of these parts: `part` gives the elements at an index. It is asked only for what
    this process' devices have.
    """
    place = place_on(sharding.mesh)
    there, indices = place.there(), sharding.indices(shape)
    aval = aval_of(shape, dtype)
    buffer = there.joined([part(indices[i]) for i in there.mine], aval, sharding)
    return new_array(tracer_node(Placed([None, None, buffer, None, aval], place, True, sharding)))


# -- calls of functions that put values somewhere --------------------------------------------------


@cached()
def places_inside(jaxpr: Jaxpr) -> tuple[tuple[Place, bool], ...]:
    """Where a program puts some of its values, and whether these must stay there."""
    found: dict[tuple[Place, bool], None] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive is device_put:
            target = eqn.params["target"]
            if target.committed or not target.place.is_first:
                found[target.place, target.committed] = None
        for inner in jaxprs_in(eqn.params):
            found.update(dict.fromkeys(places_inside(inner)))
    return tuple(found)


def _called(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The nodes of a call's results, if something else than its operands says where it runs: what
    it puts somewhere, or the default device, if no array is among them. Else None.

    Raises ValueError if its values and its operands must be in different places.
    """
    if local.recorder.staging or any(map(is_interpreted, operands)):
        return None
    inside = dict.fromkeys([p for j in jaxprs_in(params) for p in places_inside(j)])
    given = [p for o in operands if (p := placed_in(o)) is not None]
    there = [p.place for p in given if p.committed]
    stay = there + [place for place, committed in inside if committed]
    for place in stay if inside else ():
        if place.devices != stay[0].devices:
            raise ValueError(
                f"{_said(primitive, params)}: its operands, and what it puts somewhere, are "
                f"committed to different devices: {stay[0]} and {place}"
            )
    if there or given and not stay:
        return None
    if stay:
        return TRACE.process_at(stay[0], True, primitive, operands, params)
    arrays = any(type(o) is list and aval_of_node(o).ndim for o in operands)
    if not inside and (arrays or not elsewhere):
        return None
    place = next(iter(inside))[0] if inside else place_of(default())
    return TRACE.process_at(place, False, primitive, operands, params)


def _said(primitive: Rules, params: dict[str, Any]) -> str:
    return f"{primitive.name} of {params['name']}" if "name" in params else primitive.name


def _constrain(placed: Placed, sharding: NamedSharding) -> Node:
    params = {"target": Target(placed.place, placed.committed, sharding), "source": NOWHERE}
    made = TRACE.process(device_put, (tracer_node(placed),), params)
    made[VALUE].declared = sharding
    return made


install(_constrain)


class _Spmd(threading.local):
    """The `spmd_axis_name` of each vmap whose rules are running."""

    def __init__(self) -> None:
        self.names: list[Any] = []


SPMD = _Spmd()


def current_spmd() -> Any:
    """The axis of the mesh that splits the examples of the innermost vmap."""
    return SPMD.names[-1] if SPMD.names else None


def note_default() -> None:
    """The default device has changed: calls of functions look for it."""
    calls[:] = [_called]


def _abstract(x: Aval, *, target: Target, source: Target) -> Aval:
    if target.sharding is not None:
        target.sharding.check(x.shape, "with_sharding_constraint")
    return aval_of(x.shape, x.dtype, x.weak)


def _reference(x: Any, *, target: Target, source: Target) -> Any:
    return x


def _lower(b: Any, x: Any, *, target: Target, source: Target) -> Any:
    if target.sharding is None or b.mesh != target.sharding.mesh:
        return x
    return b.constrained(x, target.sharding.text(x.aval.ndim))


def _jvp(primals: Sequence[Array], tangents: Sequence[Array | None], **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    moving = None if t is None else put(t, params["target"], Target(*where(x)))
    return put(x, params["target"]), moving


def _transpose(ct: Array, x: Any, *, target: Target, source: Target) -> list[Any]:
    return [put(ct, source)]


def _batch(size: int, batched: Sequence[bool], x: Array, **params: Any) -> Array:
    return put(x, params["target"].batched(current_spmd()))


device_put = Primitive(
    "device_put",
    abstract=_abstract,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)


def where(x: Array) -> tuple[Place, bool]:
    """The devices of an array, and whether it must stay there; of a traced one, those of its
    value.
    """
    placed = placed_behind(x)
    return (NOWHERE.place, False) if placed is None else (placed.place, placed.committed)


def placed_behind(x: Array) -> Placed | None:
    """The placed value of an array; of a traced one, that of its value."""
    node: Any = x._read()
    while is_interpreted(node):
        behind = getattr(node[2], "primal", None) or getattr(node[2], "value", None)
        if behind is None:
            break
        node = behind
    return placed_in(node)


__all__ = [
    "NOWHERE", "SPMD", "Target", "current_spmd", "device_put", "of_parts", "placed_behind", "put",
    "target_of", "where",
]  # fmt: skip
