"""Programs for other devices than the first of the CPU, or for several devices at once.

All CPU devices belong to one client beside those of `_runtime`, made at first use. A buffer carries
the description of its aval, of its devices and of its layout on them, which `Spread.run` compares
by identity: jaxlib would compare bytes at most.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from operator import methodcaller
from typing import Any
from zlib import crc32

import numpy as np

from lazynp import _processes
from lazynp._avals import Aval, aval_of
from lazynp._config import config
from lazynp._cost import COMPUTING, computing
from lazynp._errors import InternalError
from lazynp._fronts import in_front
from lazynp._jaxpr import Jaxpr
from lazynp._memo import Interned, Memo
from lazynp.lowering import _background, _cache, _closing, _compat, _custom_calls
from lazynp.lowering._collectives import Collective, collectives_in
from lazynp.lowering._cuda import client as cuda_client
from lazynp.lowering._emit import module_text
from lazynp.lowering._host import large, room_for_arrays, room_for_client, room_for_compiling
from lazynp.lowering._maps import room_for_maps
from lazynp.lowering._options import compile_options, forget_unknown
from lazynp.lowering._progress import Told
from lazynp.lowering._runtime import (
    describes_large,
    host,
    is_forked,
    native_array,
    note_client,
    refuse_fork,
    translated,
)

Ids = tuple[int, ...]
_UNDER_WAY = 8  # runs on CPU devices that nobody has waited for
_clients: dict[str, Any] = {}
_lock = threading.RLock()


def client_of(platform: str) -> Any:
    """The client with all devices of a platform."""
    if is_forked():
        refuse_fork()
    if _closing.closing and platform not in _clients:
        _closing.keep_out()
    with _lock:
        if platform not in _clients:
            if platform == "cpu":
                room_for_client(0)
                made = _compat.cpu_client(count=config.cpu_devices)
            else:
                made = cuda_client(
                    preallocate=config.preallocate, memory_fraction=config.memory_fraction
                )
            _clients[platform] = made
            _closing.holds(made.live_arrays)
            note_client()
        return _clients[platform]


def group_client(*given: Any) -> tuple[Any, Any]:
    """See `_compat.group_client`."""
    if _closing.closing:
        _closing.keep_out()
    made = _compat.group_client(*given)
    _closing.holds(made[0].live_arrays)
    note_client()
    return made


def device_count(platform: str) -> int:
    """How many devices a platform has. Raises DeviceError, with the reason, if it has none."""
    return len(client_of(platform).devices())


def memory_stats(platform: str, id: int) -> dict[str, Any] | None:
    """What a device says about its memory; None if it says nothing, as a CPU."""
    return None if platform == "cpu" else client_of(platform).devices()[id].memory_stats()


class _Description:
    """The form of an aval that jaxlib reads, for one place and one layout: one object for each."""

    __slots__ = ("shape", "dtype", "ndim", "weak_type", "aval", "place", "layout")

    def __init__(self, aval: Aval, place: Place, layout: Any) -> None:
        self.shape, self.dtype, self.ndim, self.aval = aval.shape, aval.dtype, aval.ndim, aval
        self.place, self.layout = place, layout
        self.weak_type = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Description) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.aval, self.layout, id(self.place)

    def __repr__(self) -> str:
        return f"{self.aval} on {self.place.names}"


class Place:
    """Devices of one platform, in order of their ids: where a program runs."""

    def __init__(self, platform: str, ids: Ids, whole: Any) -> None:
        self.platform, self.ids = platform, ids
        self.whole = whole  # the layout of what each device has in full; None without a mesh
        self.client, self.devices, members = _devices_of(platform, ids)
        here = _processes.process_index()
        # the positions of this process' devices; the processes, if there are others among them
        self.mine = [i for i, m in enumerate(members) if m == here]
        self.members = tuple(sorted(set(members))) if len(self.mine) < len(ids) else ()
        self.here = [self.devices[i] for i in self.mine]
        self.list = _compat.devices_list(self.devices)
        self.names = ", ".join(f"{platform}:{i}" for i in ids)
        self._handlers: Memo[Any, Any] = Memo("result handlers")
        # those that a buffer or a program holds must stay
        self._described: Interned[Any, _Description] = Interned("descriptions")

    def described(self, aval: Aval, layout: Any = None) -> _Description:
        """The unique description of an aval's shape and dtype, laid out so on these devices."""
        layout = layout or self.whole
        key = aval.shape, aval.dtype, layout
        found = self._described.table.get(key)
        if found is None:
            plain = aval_of(aval.shape, aval.dtype)
            found = self._described.put(key, _Description(plain, self, layout))
        return found

    def sharding(self, layout: Any, ndim: int) -> Any:
        if layout is None:
            return _compat.Sharding(self.devices[0])
        return _compat.split_sharding(self.list, layout.tiles(ndim))

    def handler(self, description: _Description) -> Any:
        found = self._handlers.get(description)
        if found is None:
            sharding = self.sharding(description.layout, description.ndim)
            made = _compat.result_handler(description, sharding)
            found = self._handlers.put(description, made)
        return found

    def put(self, array: np.ndarray[Any, Any], layout: Any = None, owned: bool = False) -> Any:
        """A buffer of a host array. owned: the array never changes."""
        if _closing.closing:
            _closing.keep_out()
        array, owned = native_array(array, owned)
        description = self.described(aval_of(array.shape, array.dtype), layout)
        sharding = self.sharding(description.layout, array.ndim)
        try:
            if description.layout is not None:
                if self.members and description.layout.is_fully_replicated:
                    _processes.group().agree(array)
                indices = description.layout.indices(array.shape)
                parts = [array[indices[i]].copy() for i in self.mine]
                return _compat.put_split(description, sharding, parts, self.here)
            return _compat.put(description, sharding, array, self.devices[0], not owned)
        except _compat.JaxRuntimeError as e:
            raise translated(e, "put", None) from None

    def joined(self, parts: Sequence[np.ndarray[Any, Any]], aval: Aval, layout: Any) -> Any:
        """A buffer of the parts on this process' devices, in order of their ids."""
        description = self.described(aval, layout)
        sharding = self.sharding(description.layout, aval.ndim)
        own = [np.array(part, aval.dtype, order="C") for part in parts]
        try:
            return _compat.put_split(description, sharding, own, self.here)
        except _compat.JaxRuntimeError as e:
            raise translated(e, "put", None) from None

    def options(self, text: str, outs: int, heavy: bool) -> Any:
        ids = [d.id for d in self.devices]
        options = _compat.on_devices(compile_options(self.platform, text, heavy), ids)
        return options if len(self.ids) == 1 else _compat.propagating(options, outs)


_places: dict[Any, Place] = {}


def _devices_of(platform: str, ids: Ids) -> tuple[Any, list[Any], list[int]]:
    """The client that has the devices with these ids, the devices, and the process of each.

    Devices of this process alone belong to a client of its own, which needs no other process.
    """
    group = _processes.group()
    if platform != "cpu" or group.count == 1:
        client = client_of(platform)
        every = client.devices()
        return client, [every[i] for i in ids], [group.index] * len(ids)
    owners = [group.owner(i) for i in ids]
    if set(owners) == {group.index}:
        client = client_of(platform)
        every = client.devices()
        return client, [every[i - group.first] for i in ids], owners
    client = group.client()
    every = sorted(client.devices(), key=lambda d: (d.process_index, d.id))
    return client, [every[i] for i in ids], owners


def place_of(platform: str, ids: Ids, whole: Any = None) -> Place:
    """The place of these devices. whole: the layout, on their mesh, of what all have in full."""
    key = platform, ids, whole
    found = _places.get(key)
    if found is None:
        with _lock:
            found = _places.setdefault(key, _places.get(key) or Place(platform, ids, whole))
    return found


def is_at(buffer: Any, place: Place) -> bool:
    """Whether a buffer lies on these devices."""
    return getattr(buffer.aval, "place", None) is place


def layout_of(buffer: Any) -> Any:
    return buffer.aval.layout


def gathered(buffer: Any) -> np.ndarray[Any, Any]:
    """The whole array on the host; without a copy if one device has it. This process must have
    all of it.
    """
    description = buffer.aval
    if getattr(description, "layout", None) is None:
        return host(buffer)
    if _closing.closing:
        _closing.keep_out()
    _compat.collect_garbage()
    try:
        parts = _compat.parts_of(buffer)
    except _compat.JaxRuntimeError as e:
        raise translated(e, "host", None) from None
    if description.layout.is_fully_replicated:
        return parts[0]
    whole = np.empty(description.shape, description.dtype)
    for index, part in zip(description.layout.indices(description.shape), parts, strict=True):
        whole[index] = part
    whole.flags.writeable = False
    return whole


def parts_of(buffer: Any) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """The parts of a buffer on this process' devices, with the positions of these."""
    if getattr(buffer.aval, "layout", None) is None:
        return [(0, host(buffer))]
    if _closing.closing:
        _closing.keep_out()
    return list(zip(buffer.aval.place.mine, _compat.parts_of(buffer), strict=True))


class _Queue:
    """Runs that are under way on the CPU devices: a few, and all devices begin them in one order.

    XLA lets 32 runs be under way on a device. The next one waits, in a thread of the pool that
    those 32 need to end. If the other threads wait for that device in a collective, all wait
    forever, and after 40 s XLA ends the process.
    """

    def __init__(self) -> None:
        self._tokens: list[Any] = []
        self._lock = threading.Lock()

    def runner(self, start: Any) -> Any:
        """`run` of one program."""
        known = self._lock, self._tokens, _UNDER_WAY, _compat.JaxRuntimeError
        return in_front("queued", partial(self.run, start), function=start, queue=known)

    def run(self, start: Any, buffers: Sequence[Any]) -> Any:
        with self._lock:
            results = start(buffers, with_tokens=True)
            self._tokens.append(results.consume_token())
            oldest = []
            if len(self._tokens) > _UNDER_WAY:  # to wait for each would wake this thread as often
                oldest = self._tokens[: _UNDER_WAY // 2]
                del self._tokens[: _UNDER_WAY // 2]
        for token in oldest:
            try:
                token.block_until_ready()
            except _compat.JaxRuntimeError:
                pass  # its results tell
        return results


_queue = _Queue()


def _together(members: Ids, digest: str, start: Any, buffers: Sequence[Any]) -> Any:
    """Run with other processes, when all have come to the same program."""

    def job() -> Any:
        results = start(buffers, with_tokens=True)
        results.consume_token().block_until_ready()
        return results

    return _processes.group().together(members, f"program {digest}", job)


class Spread:
    """A compiled program for some devices. It has the interface of `_runtime.Executable`."""

    __slots__ = (
        "in_avals", "out_avals", "text", "place", "from_disk", "wanted", "large", "_loaded",
        "_consume", "_run", "moved", "collectives", "layouts",
    )  # fmt: skip

    def __init__(
        self, loaded: Any, wanted: Sequence[_Description], outs: Sequence[_Description], text: str,
        place: Place, from_disk: bool,
    ) -> None:  # fmt: skip
        self.wanted, self.text, self.place, self.from_disk = list(wanted), text, place, from_disk
        self.in_avals = tuple([w.aval for w in wanted])
        self.out_avals = tuple([o.aval for o in outs])
        self.layouts = [o.layout for o in outs]
        handlers = [place.handler(o) for o in outs]
        self._loaded = loaded
        self._consume = methodcaller("consume_with_handlers", handlers)
        empty = [i for i, o in enumerate(outs) if not o.aval.size and o.layout != place.whole]
        if empty:
            self._consume = partial(_with_empty, self._consume, outs, empty)
        start = loaded.execute_sharded
        if place.members:
            digest = f"{crc32(text.encode()):08x}"
            self._run = partial(_together, place.members, digest, start)
        else:
            self._run = _queue.runner(start) if place.platform == "cpu" else start
        self.large = describes_large(loaded, self.out_avals)
        split = len(place.ids) > 1
        self.collectives = collectives_in(_compat.optimised(loaded)) if split else []
        self.moved = _summed(self.collectives)

    def run(
        self, buffers: Sequence[Any], into: list[Any] | None = None, checked: bool = False
    ) -> list[Any]:
        """Run on buffers with exactly the descriptions in `wanted`; see `Executable.run`."""
        if is_forked():
            refuse_fork()
        if _closing.closing:
            _closing.keep_out()
        if not checked and [b.aval for b in buffers] != self.wanted:
            text = f"run: buffers of {self.wanted} are required, got {[b.aval for b in buffers]}"
            raise InternalError(text, self.text)
        if self.large:
            room_for_arrays(self.large)
        _compat.collect_garbage()
        try:
            if into is None:
                return self._consume(self._run(buffers))
            into[:] = map(self._consume, map(self._run, (buffers,)))
            return into[0]
        except _compat.JaxRuntimeError as e:
            raise translated(e, "run", self.text) from None

    def put(self, array: np.ndarray[Any, Any], owned: bool) -> Any:
        return self.place.put(array, None, owned)

    def optimised(self) -> str:
        """The optimised program, for one device."""
        return _compat.optimised(self._loaded)

    def memory(self) -> Any:
        """What XLA tells of the memory that a run takes."""
        return self._loaded.get_compiled_memory_stats()


def _with_empty(
    consume: Any, outs: Sequence[_Description], empty: Sequence[int], results: Any
) -> list[Any]:
    """The results of a run. XLA splits no array without elements, so these are made as declared."""
    found = consume(results)
    for i in empty:
        out = outs[i]
        found[i] = out.place.put(np.empty(out.shape, out.dtype), out.layout)
    return found


def _summed(collectives: Sequence[Collective]) -> tuple[dict[str, int], int]:
    """How many collectives of each kind a run makes, and the bytes of their results."""
    counts: dict[str, int] = {}
    for c in collectives:
        counts[c.kind] = counts.get(c.kind, 0) + c.count
    return counts, sum(c.bytes * c.count for c in collectives)


def compile_spread(
    jaxpr: Jaxpr, donate: Sequence[int], place: Place, layouts: Sequence[Any]
) -> Spread:
    """Lower and compile for these devices, or load from disk. layouts: those of the inputs."""
    if _closing.closing:
        _closing.keep_out()
    if not donate:
        room_for_arrays(large(jaxpr.out_avals))
    given = [place.described(a, lay) for a, lay in zip(jaxpr.in_avals, layouts, strict=True)]
    asked = _declared(jaxpr, place)
    loaded, text, from_disk = _loaded(jaxpr, donate, place, given, asked)
    outs = _layouts(loaded, place, jaxpr, asked)
    unclear = [i for i, lay in enumerate(outs) if lay is None and place.whole is not None]
    if unclear:  # no sharding on the mesh says it: each device shall have the whole
        asked |= dict.fromkeys(unclear, place.whole)
        loaded, text, from_disk = _loaded(jaxpr, donate, place, given, asked)
        outs = _layouts(loaded, place, jaxpr, asked)
    wanted = [place.described(a, lay) for a, lay in zip(jaxpr.out_avals, outs, strict=True)]
    return Spread(loaded, given, wanted, text, place, from_disk)


def _declared(jaxpr: Jaxpr, place: Place) -> dict[int, Any]:
    """The layouts of results that the program itself constrains, by their places."""
    if place.whole is None or len(place.ids) == 1:
        return {}
    mesh, layouts = place.whole.mesh, _constraints(jaxpr)
    return {i: lay for i, lay in enumerate(layouts) if lay is not None and lay.mesh == mesh}


def _constraints(jaxpr: Jaxpr) -> list[Any]:
    """For each result the constraint that made it, or None. XLA lets results lie as other uses of a
    constrained value ask for, unless the function's type says it again.
    """
    found: dict[int, Any] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "device_put":
            found[id(eqn.outputs[0])] = eqn.params["target"].sharding
        elif eqn.primitive.name == "jit":
            found.update(zip(map(id, eqn.outputs), _constraints(eqn.params["jaxpr"]), strict=True))
    return [found.get(id(v)) for v in jaxpr.outputs]


def _layouts(loaded: Any, place: Place, jaxpr: Jaxpr, asked: dict[int, Any]) -> list[Any]:
    """How the results are split; None where no sharding on the mesh says it."""
    avals = jaxpr.out_avals
    if place.whole is None or len(place.ids) == 1:
        return [place.whole] * len(avals)
    found = []
    every = _compat.tiles_of_outputs(loaded, [a.ndim for a in avals], len(place.ids))
    for i, (aval, tiles) in enumerate(zip(avals, every, strict=True)):
        even = not any(n % c for n, c in zip(aval.shape, tiles[0], strict=True))
        found.append(asked.get(i) or (place.whole.like(tiles) if even else None))
    return found


def _loaded(
    jaxpr: Jaxpr, donate: Sequence[int], place: Place, given: Sequence[_Description],
    asked: dict[int, Any],
) -> tuple[Any, str, bool]:  # fmt: skip
    """The executable, its text, and whether it was on disk."""
    mesh = place.whole.mesh if place.whole is not None and len(place.ids) > 1 else None
    layouts = [] if mesh is None else [d.layout for d in given]
    text = module_text(jaxpr, donate, place.platform, mesh, layouts, asked)
    _custom_calls.register(text)
    room_for_compiling(text)
    room_for_maps()
    loaded, from_disk = _compiled(text, place, jaxpr)
    return loaded, text, from_disk


def _compiled(text: str, place: Place, jaxpr: Jaxpr) -> tuple[Any, bool]:
    """The executable, and whether it was on disk."""
    heavy = computing(jaxpr) > COMPUTING
    options = place.options(text, len(jaxpr.out_avals), heavy)
    here = f" process {_processes.process_index()}" if place.members else ""
    key = _cache.key_of(text, options, f"{place.platform} {place.ids}{here}")
    blob = None if key is None else _cache.load(key)
    if key is not None and blob is not None:
        try:
            return _compat.deserialized(place.client, blob, place.list), True
        except _compat.JaxRuntimeError as e:
            _cache.reject(key, str(e).partition("\n")[0])
    loaded = None
    while loaded is None:
        try:
            with Told(text, jaxpr):
                loaded = _background.compiled(place.client, text, place.list, options)
        except _compat.JaxRuntimeError as e:
            if not forget_unknown(str(e)):
                raise translated(e, "compile", text) from None
            options = place.options(text, len(jaxpr.out_avals), heavy)
    if key is not None:
        blob = _compat.serialized(place.client, loaded)
        if blob is not None:
            _cache.store(key, blob)
    return loaded, False


_closing.is_door(client_of, group_client, gathered, parts_of, Place.put, Spread.run, compile_spread)
