"""Programs for other devices than the first of the CPU, or for several devices at once.

All CPU devices belong to one client beside those of `_runtime`, made at first use. A buffer carries
the description of its aval, of its devices and of its layout on them, which `Spread.run` compares
by identity: jaxlib would compare bytes at most.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from lazynp._avals import DEVICE_DTYPES, Aval, aval_of
from lazynp._config import config
from lazynp._errors import DeviceError, InternalError
from lazynp._jaxpr import Jaxpr
from lazynp.lowering import _cache, _closing, _compat, _lapack
from lazynp.lowering._emit import module_text
from lazynp.lowering._host import large, room_for_arrays, room_for_client, room_for_compiling
from lazynp.lowering._maps import room_for_maps
from lazynp.lowering._options import compile_options, forget_unknown
from lazynp.lowering._progress import Told
from lazynp.lowering._runtime import (
    describes_large,
    is_forked,
    note_client,
    refuse_fork,
    translated,
)

Ids = tuple[int, ...]
_clients: dict[str, Any] = {}
_lock = threading.RLock()


def client_of(platform: str) -> Any:
    """The client with all devices of a platform."""
    if is_forked():
        refuse_fork()
    with _lock:
        if platform not in _clients:
            if platform != "cpu":
                raise DeviceError(f"no client for {platform}")
            room_for_client(0)
            _clients[platform] = _compat.cpu_client(count=config.cpu_devices)
            note_client()
        return _clients[platform]


class _Description:
    """The form of an aval that jaxlib reads, for one place and one layout: one object for each."""

    __slots__ = ("shape", "dtype", "ndim", "weak_type", "aval", "place", "layout")

    def __init__(self, aval: Aval, place: Place, layout: Any) -> None:
        self.shape, self.dtype, self.ndim, self.aval = aval.shape, aval.dtype, aval.ndim, aval
        self.place, self.layout = place, layout
        self.weak_type = False

    def __repr__(self) -> str:
        return f"{self.aval} on {self.place.names}"


class Place:
    """Devices of one platform, in order of their ids: where a program runs."""

    def __init__(self, platform: str, ids: Ids) -> None:
        self.platform, self.ids = platform, ids
        self.client = client_of(platform)
        every = self.client.devices()
        self.devices = [every[i] for i in ids]
        self.list = _compat.devices_list(self.devices)
        self.names = ", ".join(f"{platform}:{i}" for i in ids)
        self._handlers: dict[Any, Any] = {}
        self._described: dict[Any, _Description] = {}

    def described(self, aval: Aval, layout: Any = None) -> _Description:
        """The unique description of an aval's shape and dtype, laid out so on these devices."""
        key = aval.shape, aval.dtype, layout
        found = self._described.get(key)
        if found is None:
            plain = aval_of(aval.shape, aval.dtype)
            found = self._described.setdefault(key, _Description(plain, self, layout))
        return found

    def sharding(self, layout: Any) -> Any:
        return _compat.Sharding(self.devices[0])

    def handler(self, description: _Description) -> Any:
        found = self._handlers.get(description)
        if found is None:
            made = _compat.result_handler(description, self.sharding(description.layout))
            found = self._handlers.setdefault(description, made)
        return found

    def put(self, array: np.ndarray[Any, Any], layout: Any = None, owned: bool = False) -> Any:
        """A buffer of a host array. owned: the array never changes."""
        if _closing.closing:
            _closing.keep_out()
        array, owned = _native(array, owned)
        description = self.described(aval_of(array.shape, array.dtype), layout)
        try:
            return _compat.put(
                description, self.sharding(layout), array, self.devices[0], not owned
            )
        except _compat.JaxRuntimeError as e:
            raise translated(e, "put", None) from None

    def options(self, text: str) -> Any:
        return _compat.on_devices(compile_options(self.platform, text), self.ids)


def _native(array: np.ndarray[Any, Any], owned: bool) -> tuple[np.ndarray[Any, Any], bool]:
    """The array in C order and this machine's byte order; whether it is a copy."""
    if not array.dtype.isnative:
        array, owned = array.astype(array.dtype.newbyteorder("=")), True
    if array.dtype not in DEVICE_DTYPES:
        raise TypeError(
            f"put: an array of numbers or booleans is required, got dtype {array.dtype}"
        )
    if not array.flags.c_contiguous:
        array, owned = np.array(array, order="C"), True
    return array if type(array) is np.ndarray else array.view(np.ndarray), owned


_places: dict[tuple[str, Ids], Place] = {}


def place_of(platform: str, ids: Ids) -> Place:
    key = platform, ids
    found = _places.get(key)
    if found is None:
        with _lock:
            found = _places.setdefault(key, _places.get(key) or Place(platform, ids))
    return found


def is_at(buffer: Any, place: Place) -> bool:
    """Whether a buffer lies on these devices."""
    return getattr(buffer.aval, "place", None) is place


def layout_of(buffer: Any) -> Any:
    return buffer.aval.layout


class Spread:
    """A compiled program for some devices. It has the interface of `_runtime.Executable`."""

    __slots__ = (
        "in_avals", "out_avals", "text", "place", "from_disk", "wanted", "large", "_loaded",
        "_consume", "_run",
    )  # fmt: skip

    def __init__(
        self, loaded: Any, wanted: Sequence[_Description], outs: Sequence[_Description], text: str,
        place: Place, from_disk: bool,
    ) -> None:  # fmt: skip
        self.wanted, self.text, self.place, self.from_disk = list(wanted), text, place, from_disk
        self.in_avals = tuple([w.aval for w in wanted])
        self.out_avals = tuple([o.aval for o in outs])
        handlers = [place.handler(o) for o in outs]
        self._loaded = loaded
        self._consume = methodcaller("consume_with_handlers", handlers)
        self._run = loaded.execute_sharded
        self.large = describes_large(loaded, self.out_avals)

    def run(
        self, buffers: Sequence[Any], into: list[Any] | None = None, checked: bool = False
    ) -> list[Any]:
        """Run on buffers with exactly the descriptions in `wanted`; see `Executable.run`."""
        into = [] if into is None else into
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
            into[:] = map(self._consume, map(self._run, (buffers,)))
            return into[0]
        except _compat.JaxRuntimeError as e:
            raise translated(e, "run", self.text) from None

    def put(self, array: np.ndarray[Any, Any], owned: bool) -> Any:
        return self.place.put(array, None, owned)


def compile_spread(
    jaxpr: Jaxpr, donate: Sequence[int], place: Place, layouts: Sequence[Any]
) -> Spread:
    """Lower and compile for these devices, or load from disk. layouts: those of the inputs."""
    if _closing.closing:
        _closing.keep_out()
    if not donate:
        room_for_arrays(large(jaxpr.out_avals))
    text = module_text(jaxpr, donate, place.platform)
    if "@lapack_" in text or '"lapack_' in text:
        _lapack.register()
    room_for_compiling(text)
    room_for_maps()
    loaded, from_disk = _loaded(text, place, jaxpr)
    ins = [place.described(a, lay) for a, lay in zip(jaxpr.in_avals, layouts, strict=True)]
    outs = [place.described(a) for a in jaxpr.out_avals]
    return Spread(loaded, ins, outs, text, place, from_disk)


def _loaded(text: str, place: Place, jaxpr: Jaxpr) -> tuple[Any, bool]:
    """The executable, and whether it was on disk."""
    options = place.options(text)
    key = _cache.key_of(text, options, f"{place.platform} {place.ids}")
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
                loaded = place.client.compile_and_load(text, place.list, options)
        except _compat.JaxRuntimeError as e:
            if not forget_unknown(str(e)):
                raise translated(e, "compile", text) from None
            options = place.options(text)
    if key is not None:
        blob = _compat.serialized(place.client, loaded)
        if blob is not None:
            _cache.store(key, blob)
    return loaded, False


_closing.is_door(Place.put, Spread.run, compile_spread)
