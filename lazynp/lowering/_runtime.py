"""PJRT: the client, transfers of arrays, executables.

At execution jaxlib checks only sizes in bytes: it reads an int64 passed for a float64 as garbage.
So a buffer carries the interned description of its aval, and `Executable.run` compares descriptions
by identity.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._avals import DEVICE_DTYPES, Aval, aval_of
from lazynp._errors import ForkError, InternalError
from lazynp._jaxpr import Jaxpr
from lazynp._memo import Interned, Memo
from lazynp.lowering import _background, _cache, _closing, _compat, _custom_calls
from lazynp.lowering._emit import module_text
from lazynp.lowering._host import (
    large,
    room_for_arrays,
    room_for_client,
    room_for_compiling,
)
from lazynp.lowering._maps import room_for_maps
from lazynp.lowering._options import compile_options, forget_unknown
from lazynp.lowering._progress import Told

Buffer = _compat.ArrayImpl


class _Described:
    """The form of an aval that jaxlib reads. One for each aval and backend: `buffer.aval`
    identifies both.
    """

    __slots__ = ("shape", "dtype", "ndim", "weak_type", "aval")

    def __init__(self, aval: Aval) -> None:
        self.shape, self.dtype, self.ndim, self.aval = aval.shape, aval.dtype, aval.ndim, aval
        self.weak_type = False

    def __repr__(self) -> str:
        return repr(self.aval)


class Backend:
    """A client, its first device, and what is needed to use it.

    alone: programs run in the calling thread and wake no others. Waking takes 10 to 30 us for each
    loop of a program, longer than short loops last. A stencil on 150 x 150 elements takes 53 to 61
    us with threads, 41 to 43 without.
    """

    def __init__(self, platform: str, alone: bool) -> None:
        if platform != "cpu":
            raise NotImplementedError(f"device: cpu is supported, got {platform!r}")
        self.platform = platform
        room_for_client(0 if alone else os.cpu_count() or 1)
        self.client = _compat.cpu_client(1 if alone else None)
        _closing.holds(self.client.live_arrays)
        self.device = self.client.devices()[0]
        self.devices = _compat.device_list(self.device)
        self.sharding = _compat.Sharding(self.device)
        self._handlers: Memo[Aval, Any] = Memo("result handlers")
        # those that a buffer or a program holds must stay
        self._described: Interned[Aval, _Described] = Interned("descriptions")

    def described(self, aval: Aval) -> _Described:
        """The unique description of an aval's shape and dtype."""
        try:
            return self._described.table[aval]
        except KeyError:
            if aval.weak:
                return self.described(aval_of(aval.shape, aval.dtype))
            return self._described.put(aval, _Described(aval))

    def handler(self, aval: Aval) -> Any:
        try:
            return self._handlers[aval]
        except KeyError:
            made = _compat.result_handler(self.described(aval), self.sharding)
            return self._handlers.put(aval, made)


_backends: dict[tuple[str, bool], Backend] = {}
_lock = threading.RLock()  # making a client runs Python code, which may compute
_forked = False


def backend(platform: str = "cpu", alone: bool = True) -> Backend:
    """The backend of a platform, created at first use."""
    if _forked:
        refuse_fork()
    key = platform, alone
    try:
        return _backends[key]
    except KeyError:
        pass
    with _lock:
        if key not in _backends:
            try:
                made = Backend(platform, alone)
            except MemoryError:  # the client of one thread, if there is one, can do all
                if (platform, not alone) not in _backends:
                    raise
                made = _backends[platform, not alone]
            _backends.setdefault(key, made)
        return _backends[key]


def has_room(platform: str = "cpu") -> bool:
    """Whether the system would give a compiler the memory it takes."""
    if _closing.closing:
        _closing.keep_out()
    try:
        backend(platform)
        room_for_compiling("")
        room_for_maps()
    except MemoryError:
        return False
    return True


def _after_fork_in_child() -> None:
    """The client's threads did not survive the fork: compiling would hang, and a new client
    aborts.
    """
    global _forked, _lock
    _lock = threading.RLock()  # another thread may have held it
    _forked = bool(_backends) or _others


def is_forked() -> bool:
    return _forked


def has_client() -> bool:
    return bool(_backends) or _others


def note_client() -> None:
    """A client was made elsewhere: its threads will not survive a fork either."""
    global _others
    _others = True


_others = False


def refuse_fork() -> None:
    raise ForkError(
        "lazynp: the process was forked after lazynp had computed something; the child cannot "
        "compute. Fork before the first computation, or start processes with 'spawn'"
    )


os.register_at_fork(after_in_child=_after_fork_in_child)


# -- arrays ------------------------------------------------------------------------------------


def put(
    array: np.ndarray[Any, Any], owned: bool = False, platform: str = "cpu", alone: bool = True
) -> Any:
    """Make a buffer of a host array. `owned`: the array never changes, so the buffer may use its
    memory.

    `platform`, `alone`: those of the program that will use it. Another program can use it too, a
    little later.
    """
    if _closing.closing:
        _closing.keep_out()
    array, owned = native_array(array, owned)
    here = backend(platform, alone)
    aval = here.described(aval_of(array.shape, array.dtype))
    try:
        return _compat.put(aval, here.sharding, array, here.device, not owned)
    except _compat.JaxRuntimeError as e:
        raise translated(e, "put", None) from None


def native_array(array: np.ndarray[Any, Any], owned: bool) -> tuple[np.ndarray[Any, Any], bool]:
    """The array in C order and this machine's byte order; whether it is owned, or a copy."""
    dtype = array.dtype
    if not dtype.isnative:
        array, owned = array.astype(dtype.newbyteorder("=")), True
        dtype = array.dtype
    if dtype not in DEVICE_DTYPES:
        raise TypeError(f"put: an array of numbers or booleans is required, got dtype {dtype}")
    if not array.flags.c_contiguous:
        array, owned = np.array(array, order="C"), True
    return array if type(array) is np.ndarray else array.view(np.ndarray), owned


def host(buffer: Any) -> np.ndarray[Any, Any]:
    """The buffer's elements as a read-only array; on the CPU without a copy. Works also after a
    fork.
    """
    if _closing.closing:
        _closing.keep_out()
    _compat.collect_garbage()
    try:
        return np.asarray(buffer)  # the buffer protocol: jaxlib's method searches for jax each time
    except _compat.JaxRuntimeError as e:
        raise translated(e, "host", None) from None


def behind(array: np.ndarray[Any, Any]) -> Any:
    """The buffer behind an array from `host`; None for other memory, or for a part of it."""
    base = array.base
    if type(base) is not memoryview or type(base.obj) is not Buffer:
        return None
    return base.obj if base.shape == array.shape else None


def is_buffer(x: Any) -> bool:
    return isinstance(x, Buffer)


def buffer_aval(buffer: Any) -> Aval:
    return buffer.aval.aval


# -- programs ----------------------------------------------------------------------------------


class Executable:
    """A compiled program with known inputs and outputs."""

    __slots__ = (
        "in_avals", "out_avals", "text", "platform", "alone", "from_disk",
        "wanted", "large", "_loaded", "_consume", "_run",
    )  # fmt: skip

    def __init__(
        self, loaded: Any, in_avals: Sequence[Aval], out_avals: Sequence[Aval], text: str,
        platform: str, alone: bool, from_disk: bool,
    ) -> None:  # fmt: skip
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        self.text, self._loaded, self.from_disk = text, loaded, from_disk
        self.platform, self.alone = platform, alone
        here = backend(platform, alone)
        # the descriptions that the operands must carry
        self.wanted = [here.described(a) for a in in_avals]
        handlers = [here.handler(a) for a in out_avals]
        self._consume = methodcaller("consume_with_handlers", handlers)
        self._run = loaded.execute_sharded
        self.large = describes_large(loaded, self.out_avals)

    def run(
        self, buffers: Sequence[Any], into: list[Any] | None = None, checked: bool = False
    ) -> list[Any]:
        """Run on buffers with exactly the avals that the program was compiled for.

        checked: the caller has compared each buffer with `wanted`. jaxlib would accept any buffer,
        and crash.

        `into` becomes a list that contains the returned list. It is filled as soon as the program
        has run, before any signal is handled, so Ctrl-C never loses donated operands.
        """
        into = [] if into is None else into
        if _forked:
            refuse_fork()
        if _closing.closing:
            _closing.keep_out()
        if not checked and [b.aval for b in buffers] != self.wanted:
            got = [b.aval.aval for b in buffers]
            if got != [w.aval for w in self.wanted]:
                text = f"run: buffers of {self.wanted} are required, got {got}"
                raise InternalError(text, self.text)
            buffers = [self.brought(b) for b in buffers]
        if self.large:
            room_for_arrays(self.large)
        _compat.collect_garbage()
        try:
            into[:] = map(self._consume, map(self._run, (buffers,)))
            return into[0]
        except _compat.JaxRuntimeError as e:
            raise translated(e, "run", self.text) from None

    def put(self, array: np.ndarray[Any, Any], owned: bool) -> Any:
        """`put`, for this program."""
        return put(array, owned, self.platform, self.alone)

    def optimised(self) -> str:
        """The optimised program."""
        if _closing.closing:
            _closing.keep_out()
        return _compat.optimised(self._loaded)

    def memory(self) -> Any:
        """What XLA tells of the memory that a run takes."""
        if _closing.closing:
            _closing.keep_out()
        return self._loaded.get_compiled_memory_stats()

    def brought(self, buffer: Any) -> Any:
        """The buffer in this program's backend: the same memory, wrapped for the other client."""
        if buffer.aval is backend(self.platform, self.alone).described(buffer.aval.aval):
            return buffer
        return self.put(host(buffer), owned=True)


def describes_large(loaded: Any, out_avals: Sequence[Aval]) -> tuple[Aval, ...]:
    """The large memory that a run takes: results that reuse no operand's, and temporaries."""
    temporaries, reused = _compat.memory_of(loaded)
    outs = () if reused else out_avals
    return large([*outs, aval_of((temporaries,), np.dtype(np.uint8))])


def compile_text(
    text: str, in_avals: Sequence[Aval], out_avals: Sequence[Aval], platform: str = "cpu",
    alone: bool = True, heavy: bool = False, jaxpr: Jaxpr | None = None,
) -> Executable:  # fmt: skip
    """Compile a program, or load it from disk: the only place that does. `jaxpr`: for reports."""
    if _closing.closing:
        _closing.keep_out()
    here = backend(platform, alone)
    _custom_calls.register(text)
    room_for_compiling(text)
    room_for_maps()
    options = compile_options(platform, text, heavy)
    key = _cache.key_of(text, options, f"{platform} alone" if alone else platform)
    about = text, platform, alone, heavy
    stored = None if key is None else _background.loaded_before(about) or _from_disk(here, key)
    loaded = stored
    if loaded is None:

        def compile() -> Any:
            return _compiled(here, text, options, heavy, key, jaxpr)

        loaded = _background.result_of(about, compile)
    _background.only_begin(about, stored)
    from_disk = stored is not None
    return Executable(loaded, in_avals, out_avals, text, platform, alone, from_disk)


def _compiled(
    here: Backend, text: str, options: Any, heavy: bool, key: bytes | None, jaxpr: Jaxpr | None
) -> Any:
    """Compile, and store for later processes."""
    if _closing.closing:
        _closing.keep_out()
    while True:
        try:
            with Told(text, jaxpr):
                loaded = _background.compiled(here.client, text, here.devices, options)
        except _compat.JaxRuntimeError as e:
            if not forget_unknown(str(e)):
                raise translated(e, "compile", text) from None
            options = compile_options(here.platform, text, heavy)
        else:
            break
    if key is not None:
        blob = _compat.serialized(here.client, loaded)
        if blob is not None:
            _cache.store(key, blob)
    return loaded


_closing.is_door(
    has_room, put, host, Executable.run, Executable.optimised, Executable.memory, compile_text,
    _compiled,
)  # fmt: skip


def _from_disk(here: Backend, key: bytes) -> Any:
    blob = _cache.load(key)
    if blob is None:
        return None
    try:
        return _compat.deserialized(here.client, blob, here.devices)
    except _compat.JaxRuntimeError as e:
        _cache.reject(key, str(e).partition("\n")[0])
        return None


def compile_program(jaxpr: Jaxpr, donate: Sequence[int] = (), platform: str = "cpu") -> Executable:
    """Lower and compile. `donate`: inputs that the run consumes, if nothing else holds them.

    Results beyond all memory raise NumPy's MemoryError before XLA sees them.
    """
    if not donate:
        room_for_arrays(large(jaxpr.out_avals))
    text = module_text(jaxpr, donate, platform)
    alone = _cost.work(jaxpr) <= _cost.ALONE
    heavy = _cost.computing(jaxpr) > _cost.COMPUTING
    return compile_text(text, jaxpr.in_avals, jaxpr.out_avals, platform, alone, heavy, jaxpr)


def translated(error: Exception, op: str, text: str | None) -> Exception:
    message = str(error)
    if message.startswith("RESOURCE_EXHAUSTED") or "Out of memory" in message:
        return MemoryError(message.partition("\n")[0])
    return InternalError(f"{op}: {message}", text)
