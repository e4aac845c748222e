"""Placed arrays: values that belong on other devices than the first.

The node of such an array is a leaf whose value is a `Placed`, like a tracer of a transformation
that never ends. So no memo table, no front in C, and nothing that NumPy executes takes it for
plain, and programs without placement pay nothing. The trace records an operation on placed arrays
for their devices: on nodes of its own, in the recorder of that place.

Its level is below that of every transformation and staged function, so these see placed arrays as
data from outside.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

import numpy as np

from lazynp import _processes, lowering
from lazynp._avals import aval_of, on_device
from lazynp._devices import FIRST, Device, find, first
from lazynp._flush import at_entry, flush, host_value
from lazynp._jaxpr import Rules
from lazynp._node import (
    ARGS,
    CODE,
    OFFSET,
    OP,
    VALUE,
    Node,
    Op,
    Trace,
    Tracer,
    aval_of_node,
    is_tracer,
    leaf,
    op_of,
    projection,
    tracer_node,
)
from lazynp._on_devices import Later, at_once, bring
from lazynp._plan import STATS
from lazynp._positions import instruction, progress
from lazynp._recorder import UNKNOWN, PlacedRecorder, local, user_position
from lazynp._shardings import Mesh, NamedSharding, PartitionSpec
from lazynp._trace import check_bounds, node_of, on_host, record_multiple


class Place:
    """A device, or the devices of a mesh. Make one with `place_of` or `place_on`."""

    __slots__ = ("devices", "mesh", "whole", "is_first", "members", "asked", "_there")

    def __init__(self, devices: tuple[Device, ...], mesh: Mesh | None = None) -> None:
        self.devices, self.mesh = devices, mesh
        # the layout of what each device has in full
        self.whole = None if mesh is None else NamedSharding(mesh, PartitionSpec())
        self.is_first = mesh is None and devices == (first(),)
        self.members = tuple(sorted({d.process_index for d in devices}))  # the processes
        self.asked = True  # a value has been asked for since the last call that did not wait
        self._there: Any = None

    def __repr__(self) -> str:
        return ", ".join(self.devices)

    def there(self) -> Any:
        """The place as `lowering` knows it."""
        if self._there is None:
            ids = tuple([find(d).id for d in self.devices])  # there may be fewer than there were
            self._there = lowering.place_of(self.devices[0].platform, ids, self.whole)
        return self._there

    @property
    def shared(self) -> bool:
        """Whether devices of other processes are among these."""
        return len(self.members) > 1


USED: list[bool] = []  # not empty once this process has placed an array
_places: dict[Any, Place] = {}


def place_of(device: Device) -> Place:
    return _places.setdefault(device, _places.get(device) or Place((device,)))


HOME = place_of(FIRST)  # where plain arrays are: this process' first CPU device


def _other_group() -> None:
    """This process has another first device."""
    HOME.devices = (first(),)
    HOME.members = (_processes.process_index(),)
    _places.clear()
    _places[first()] = HOME


_processes.changed.append(_other_group)


def place_on(mesh: Mesh) -> Place:
    found = _places.get(mesh)
    if found is None:
        devices = sorted(mesh.devices.ravel(), key=lambda d: (d.platform, d.id))
        found = _places.setdefault(mesh, Place(tuple(devices), mesh))
    return found


class Placed(Tracer):
    """The value of an array's node: a node of the place, and whether it must stay there."""

    __slots__ = ("node", "place", "committed", "declared", "_host")

    def __init__(
        self, node: Node, place: Place, committed: bool, declared: NamedSharding | None = None
    ) -> None:
        if not USED:
            USED.append(True)
        self.trace, self.aval = TRACE, aval_of_node(node)
        self.node, self.place, self.committed = node, place, committed
        self._host: Any = None  # the whole value, once it was collected from several devices
        self.declared = declared  # the sharding that was asked for: writes in place keep it
        self.code, self.offset = local.where or (None, 0)

    def force(self) -> Any:
        """Compute the value where it belongs: a buffer, or host data."""
        if self.place.is_first:
            return host_value(self.node)
        self.place.asked = True
        if self.node[VALUE] is None:
            flush(local.recorder_of(self.place), self.node)
        if type(self.node[VALUE]) is Later:
            bring(self.node, self.place.there())
        return self.node[VALUE]

    def sharding(self) -> NamedSharding | None:
        """How the value is split over the mesh; None if there is none. Computes it."""
        if self.place.mesh is None:
            return None
        value = self.force()
        return lowering.layout_of(value) if lowering.is_buffer(value) else self.place.whole

    def exact(self) -> Any:
        if self.place.is_first:
            return host_value(self.node)
        value = self.node[VALUE]
        if type(value) is Later:
            return value.fetch(value.node)
        if self._host is not None:
            return self._host
        whole, sharding = self.place.whole, self.sharding()
        if whole and sharding and self.place.shared and not sharding.is_fully_replicated:
            self._host = constrained(self, whole)[VALUE].exact()
            return self._host
        value = self.force()
        if lowering.is_buffer(value):
            split = self.place.mesh is not None
            STATS.gathers += split and not lowering.layout_of(value).is_fully_replicated
            value = lowering.gathered(value)
            if split:
                self._host = value[()] if not value.ndim else value
        return value[()] if type(value) is np.ndarray and not value.ndim else value

    seen = exact

    def home(self) -> Node:
        """The value as a plain array's: data on the host."""
        if self.place.is_first:
            return self.node
        value = self.exact()
        return [None, None, value, None, aval_of(value.shape, value.dtype)]

    def keep(self, new: Node) -> Node:
        """A new value of an array that holds this: the array stays where it is, and split so."""
        kept = self._kept(new)
        value = self.node[VALUE]
        sharding = self.declared
        if sharding is None and self.place.mesh is not None and lowering.is_buffer(value):
            sharding = lowering.layout_of(value)
        placed = placed_in(kept)
        if sharding is None or placed is None or placed.place is not self.place:
            return kept
        return constrained(placed, sharding)

    def kept_home(self, new: Node) -> Node:
        """The same for an array at home that gets this value, unless it must stay here."""
        return new if self.committed else self.home()

    def _kept(self, new: Node) -> Node:
        placed = placed_in(new)
        if placed is None:
            inner = new if self.place.is_first else moved(new, self.place)
            return tracer_node(Placed(inner, self.place, self.committed))
        if placed.place is self.place:
            if placed.committed or not self.committed:
                return new
            return tracer_node(Placed(placed.node, self.place, True))
        if not self.committed and placed.committed:
            return new
        if self.committed and placed.committed and self.place.devices != placed.place.devices:
            raise ValueError(
                f"an array on {self.place} is written with one committed to {placed.place}; "
                "lazynp.device_put(x, device) moves one"
            )
        return tracer_node(Placed(moved(new, self.place), self.place, self.committed))

    def behind(self) -> Node:
        return leaf(np.asarray(self.exact()) if self.aval.ndim else self.exact())

    def known(self) -> bool:
        return True


class PlacedTrace(Trace):
    """Records operations on placed arrays for their devices."""

    __slots__ = ()

    places = True

    def process(self, primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        place, committed = self.decide(primitive.name, operands)
        return self.process_at(place, committed, primitive, operands, params)

    def process_at(
        self, place: Place, committed: bool, primitive: Rules, operands: tuple[Any, ...],
        params: dict[str, Any],
    ) -> Any:  # fmt: skip
        op = op_of(primitive, params, tuple([_plain_key(o) for o in operands]))
        if op.bounds is not None:
            check_bounds(op, operands)
        if op.host:
            return _by_host(op, operands, place, committed)
        if place.is_first:
            return _on_first(op, operands, place, committed)
        recorder = local.recorder_of(place)
        inner = tuple([self.operand(o, place, recorder) for o in operands])
        found = at_once(recorder, op, inner) if primitive.kind == "call" else None
        if found is not None:
            return delivered(op, found, place, committed)
        if recorder.is_full():
            enter(recorder)
        where = user_position()
        node: Node = [op, inner, None, *where]
        recorder.pending.append(node)
        if not primitive.multiple_results:
            return tracer_node(Placed(node, place, committed))
        outs = [[projection(op.aval, i), (node,), None, *where] for i in range(len(op.aval))]
        recorder.pending.extend(outs)
        return tuple([tracer_node(Placed(out, place, committed)) for out in outs])

    @staticmethod
    def decide(name: str, operands: tuple[Any, ...]) -> tuple[Place, bool]:
        """Where an operation runs, and whether its result must stay there."""
        found = where = None
        for o in operands:
            placed = placed_in(o)
            if placed is None:
                continue
            where = where or placed.place
            if placed.committed:
                if found is not None and placed.place.devices != found.devices:
                    raise ValueError(
                        f"{name}: operands are committed to different devices: {found} and "
                        f"{placed.place}. lazynp.device_put(x, device) moves one"
                    )
                found = found or placed.place
        assert where is not None
        return found or where, found is not None

    @staticmethod
    def operand(o: Any, place: Place, recorder: PlacedRecorder) -> Any:
        """What stands for an operand among the nodes of this place."""
        if type(o) is not list:
            return o
        placed = placed_in(o)
        if placed is not None and placed.place is place:
            return placed.node
        if placed is None and isinstance(o[VALUE], np.generic):
            return o
        known = recorder.sources.get(id(o))
        if known is None:
            known = recorder.sources[id(o)] = o, moved(o, place)
        return known[1]


def delivered(op: Op, found: Any, place: Place, committed: bool) -> tuple[Node, ...]:
    """The nodes of the results of a call that has run already."""
    plan, values = found
    where = user_position()
    nodes = []
    for i, value in enumerate(values):
        node = [projection(op.aval, i), plan, value, *where]
        nodes.append(tracer_node(Placed(node, place, committed)))
        nodes[-1][VALUE].code, nodes[-1][VALUE].offset = where
    return tuple(nodes)


TRACE = PlacedTrace("device_put")
TRACE.level = 0.5  # type: ignore[assignment]


_constrain: list[Any] = []


def install(constrain: Any) -> None:
    """Called once, by the module that declares the primitive: what splits a placed value so."""
    _constrain[:] = [constrain]


def constrained(placed: Placed, sharding: NamedSharding) -> Node:
    """The value, split over its mesh so, and kept so by writes."""
    return _constrain[0](placed, sharding)


class _Nothing(dict[Any, Any]):
    """Remembers nothing: arrays stay placed."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


TRACE.written = _Nothing()


def placed_in(node: Any) -> Placed | None:
    """The placed value that a node holds."""
    if type(node) is list and node[OP] is None and type(node[VALUE]) is Placed:
        return node[VALUE]
    return None


def behind(node: Node) -> Node:
    """The node that stands for a placed value among those of its devices; else the node itself."""
    placed = placed_in(node)
    return node if placed is None else placed.node


def _plain_key(o: Any) -> Any:
    return aval_of_node(o) if type(o) is list else type(o)


def moved(node: Node, place: Place, layout: Any = None) -> Node:
    """A new node with this value, for another place. What is cheap to make is made there."""
    placed = placed_in(node)
    if placed is not None:
        node = placed.node
    aval = aval_of_node(node)
    made = _made_there(node, [_CLONED]) if placed is None else None
    if made is not None:
        return made
    if placed is not None and placed.place.shared and not place.shared:
        placed.exact()  # now: all processes are here
    fetch = host_value if placed is None else _fetched
    source = node if placed is None else tracer_node(placed)
    return [None, None, Later(source, fetch, layout), None, aval]


_CLONED = 24  # nodes


def _made_there(node: Node, left: list[int]) -> Node | None:
    """A copy of a pending node that no data affects (a range, a fill): it is made where it goes.
    None for any other.
    """
    op, args = node[OP], node[ARGS]
    left[0] -= 1
    if type(args) is not tuple or op is None or op.host or op.primitive.multiple_results:
        return None
    operands = []
    for a in args:
        if type(a) is list and not isinstance(a[VALUE], np.generic):
            a = _made_there(a, left) if left[0] > 0 else None
            if a is None:
                return None
        operands.append(a)
    return [op, tuple(operands), None, node[CODE], node[OFFSET]]


def _fetched(node: Node) -> Any:
    return node[VALUE].exact()


def _by_host(op: Op, operands: tuple[Any, ...], place: Place, committed: bool) -> Any:
    """An operation that no program can hold, by NumPy. Its results return to the place."""
    node = on_host(op, operands)
    if op.primitive.multiple_results:
        values = zip(node[VALUE], op.aval, strict=True)
        return tuple([put_back(_leaf(v, a), place, committed) for v, a in values])
    return put_back(node, place, committed)


def _leaf(value: Any, aval: Any) -> Node:
    """The node of one result; that of a call with checks is placed already."""
    return tracer_node(value) if type(value) is Placed else [None, None, value, None, aval]


def put_back(node: Node, place: Place, committed: bool) -> Node:
    """A value computed elsewhere, as one of this place, if the place can hold it."""
    if placed_in(node) is not None or not on_device(aval_of_node(node).dtype):
        return node
    if is_tracer(node):
        return node
    inner = node if place.is_first else moved(node, place)
    return tracer_node(Placed(inner, place, committed))


def _on_first(op: Op, operands: tuple[Any, ...], place: Place, committed: bool) -> Any:
    """An operation on arrays committed to the first device, which NumPy may run."""
    inner = []
    for o in operands:
        placed = placed_in(o)
        if placed is not None:
            o = placed.node if placed.place is place else leaf(np.asarray(placed.exact()))
        inner.append(o)
    if op.primitive.multiple_results:
        outs = record_multiple(op.primitive, tuple(inner), op.params)
        return tuple([tracer_node(Placed(out, place, committed)) for out in outs])
    return tracer_node(Placed(node_of(op, tuple(inner)), place, committed))


def enter(recorder: PlacedRecorder) -> None:
    """Flush here if the user's code has come round, and no operation of the user's is under way:
    see `_array.begin`.
    """
    user, offsets = progress(_getframe(1))
    inside = recorder.inside
    recorder.inside = now = id(user.f_code), instruction(user.f_code, user.f_lasti), offsets
    if inside is UNKNOWN or inside and inside[:2] == now[:2] and inside < now:
        if len(recorder.pending) < 512:
            return
    at_entry(recorder, user)


__all__ = [
    "TRACE",
    "USED",
    "Place",
    "Placed",
    "behind",
    "moved",
    "place_of",
    "place_on",
    "placed_in",
    "put_back",
]
