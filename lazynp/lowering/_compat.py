"""Every difference between jaxlib releases that affects lazynp, and the import of jaxlib itself.

Verified on 0.10.2 (Python 3.11), 0.11 and 0.12 (Python 3.12 and later).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

# jaxlib reads this once, when it is loaded. XLA logs to stderr at every client creation, and
# sometimes when it gives up simplifying. Errors that concern the user arrive as exceptions anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jaxlib.version

# jaxlib imports it in the middle of its first transfer, under a lock of its own. A destructor that
# the garbage collector ran there, and that computed, would wait for that lock for ever.
import ml_dtypes  # noqa: F401
import numpy as np
from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]

RELEASE: str = jaxlib.version.__version__
VERSION: tuple[int, ...] = tuple(int(part) for part in RELEASE.split(".")[:3] if part.isdigit())

JaxRuntimeError = _jax.JaxRuntimeError
ArrayImpl = _jax.ArrayImpl
CompileOptions = xla_client.CompileOptions

_HANDLER_TAKES_SKIP = "_skip_checks" in (_jax.array_result_handler.__doc__ or "")


def result_handler(aval: Any, sharding: Any) -> Any:
    """The object that turns one output of an execution into an array; 0.11 dropped the fourth
    argument.
    """
    if _HANDLER_TAKES_SKIP:
        return _jax.array_result_handler(aval, sharding, True, True)
    return _jax.array_result_handler(aval, sharding, True)


class Sharding(xla_client.SingleDeviceSharding):
    """The one-device sharding that jaxlib requires; its C++ calls these Python members."""

    is_fully_replicated = True
    is_fully_addressable = True

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return xla_client.HloSharding.replicate()

    @property
    def memory_kind(self) -> None:
        return None

    def shard_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape


class SplitSharding(xla_client.GSPMDSharding):
    """The sharding over several devices that jaxlib requires."""

    @property
    def is_fully_addressable(self) -> bool:
        return self._internal_device_list.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        return self._hlo_sharding.is_replicated()

    @property
    def memory_kind(self) -> None:
        return None

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return self._hlo_sharding


Tiles = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


def split_sharding(devices: Any, tiles: Tiles) -> SplitSharding:
    """The sharding with these tiles: see `_shardings.Tiles`."""
    counts, owners = tiles
    if len(owners) == 1:
        return SplitSharding(devices, xla_client.HloSharding.replicate())
    copies = len(owners[0])
    dims = ",".join(map(str, counts if copies == 1 else (*counts, copies)))
    order = ",".join(str(d) for row in owners for d in row)
    last = " last_tile_dim_replicate" if copies > 1 else ""
    text = f"{{devices=[{dims}]{order}{last}}}"
    return SplitSharding(devices, xla_client.HloSharding.from_string(text))


def tiles_of_outputs(loaded: Any, ndims: Sequence[int], size: int) -> list[Tiles]:
    """How a compiled program for so many devices splits its results."""
    found = []
    for proto, ndim in zip(loaded.get_output_shardings(), ndims, strict=True):
        sharding = xla_client.HloSharding.from_proto(proto)
        if sharding.is_replicated():
            found.append(((1,) * ndim, (tuple(range(size)),)))
            continue
        dims = list(sharding.tile_assignment_dimensions())
        order = np.array(sharding.tile_assignment_devices())
        copies = math.prod(dims[ndim:])
        rows = np.sort(order.reshape(-1, copies), axis=1)
        found.append((tuple(dims[:ndim]), tuple(map(tuple, rows.tolist()))))
    return found


def put_split(aval: Any, sharding: Any, parts: Sequence[Any], devices: Sequence[Any]) -> Any:
    """A buffer of one part on each device of this process."""
    return xla_client.batched_device_put(
        aval, sharding, list(parts), list(devices), True, True, enable_x64=True
    )


def parts_of(buffer: Any) -> list[Any]:
    """The host values of a buffer's parts, one for each device of this process."""
    return [p._single_device_array_to_np_array_did_copy()[0] for p in buffer._arrays]


def propagating(options: Any, count: int) -> Any:
    """Compile options of a program that decides how its results are split."""
    options.executable_build_options.allow_spmd_sharding_propagation_to_output = [True] * count
    return options


def optimised(loaded: Any) -> str:
    """The optimised program, for one device."""
    return "\n".join(m.to_string() for m in loaded.hlo_modules())


def memory_of(loaded: Any) -> tuple[int, int]:
    """The bytes of a program's temporaries, and those of the operands that its results reuse."""
    stats = loaded.get_compiled_memory_stats()
    return stats.temp_size_in_bytes, stats.alias_size_in_bytes


def device_list(device: Any) -> Any:
    return xla_client.DeviceList((device,))


def devices_list(devices: Sequence[Any]) -> Any:
    return xla_client.DeviceList(tuple(devices))


def on_devices(options: Any, ids: Sequence[int]) -> Any:
    """Compile options of a program for these devices, one partition on each."""
    count = len(ids)
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = count
    build.use_spmd_partitioning = build.use_shardy_partitioner = count > 1
    assignment = np.array(ids, np.int64).reshape(1, count)
    options.device_assignment = xla_client.DeviceAssignment.create(assignment)
    return options


def put(aval: Any, sharding: Any, array: Any, device: Any, copy: bool) -> Any:
    """Without `enable_x64`, the dtype follows a global state that belongs to jax."""
    return xla_client.batched_device_put(
        aval, sharding, [array], [device], True, copy, enable_x64=True
    )


# Free the host memory behind deleted buffers, and the Python stack that each execution records.
# jaxlib itself only marks both as free; this takes 0.1 us.
collect_garbage = _jax.collect_garbage


def cpu_client(threads: int | None = None, count: int = 1) -> Any:
    """A synchronous client: a dispatch takes 4 us instead of 21, with the same throughput.

    threads: the number of compute threads; by default, one for each core. Only an environment
    variable can set it, and jaxlib reads that when it creates the client. count: of devices.
    """
    before = {name: os.environ.get(name) for name in _THREADS if threads is not None}
    os.environ.update(dict.fromkeys(before, str(threads)))
    try:
        return _jax.get_tfrt_cpu_client(asynchronous=False, num_devices=count)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_THREADS = ("PJRT_NPROC", "NPROC")


def coordination_service(address: str, count: int) -> Any:
    """The service through which the processes of a group find each other. It watches nobody:
    jaxlib's way to tell of a failure is to abort.
    """
    return _jax.get_distributed_runtime_service(
        address=address, num_nodes=count, heartbeat_timeout=_NEVER, shutdown_timeout=1,
        recoverable=True,
    )  # fmt: skip


def group_client(
    address: str, index: int, count: int, devices: int, host: str, timeout: int
) -> tuple[Any, Any]:
    """The client with the CPU devices of all processes, and what it needs to stay alive. The
    service must be there: `connect` aborts the process otherwise.
    """
    service = _jax.get_distributed_runtime_client(
        address=address, node_id=index, init_timeout=timeout, heartbeat_timeout=_NEVER,
        shutdown_timeout=1, shutdown_on_destruction=False, use_compression=False,
    )  # fmt: skip
    service.connect()
    gloo = _jax.make_gloo_tcp_collectives(distributed_client=service, hostname=host, interface=None)
    client = _jax.get_tfrt_cpu_client(
        asynchronous=False, distributed_client=service, node_id=index, num_nodes=count,
        collectives=gloo, num_devices=devices,
    )  # fmt: skip
    return client, (service, gloo)


_NEVER = 10_000_000  # seconds


def with_backend_options(options: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Compile options with entries of `xla_backend_extra_options`, which only XLA_FLAGS sets, for
    the whole process: merged in as protobuf bytes. Set `env_option_overrides` afterwards.

    The fields: CompileOptionsProto.executable_build_options = 3,
    ExecutableBuildOptionsProto.debug_options = 3, DebugOptions.xla_backend_extra_options = 500.
    """
    options.executable_build_options.debug_options  # noqa: B018 - makes the message exist
    entries = b"".join(
        _field(500, _field(1, name.encode()) + _field(2, value.encode())) for name, value in pairs
    )
    merged = options.SerializeAsString() + _field(3, _field(3, entries))
    return CompileOptions.ParseFromString(merged)


def _field(number: int, payload: bytes) -> bytes:
    """A protobuf field of bytes."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def register_custom_call(name: str, target: object, platform: str, api_version: int) -> None:
    """Register a custom call. Registering a name again is harmless, also beside jax."""
    _jax.register_custom_call_target(name, target, platform, api_version)


def register_device_call(name: str, target: object, platform: str, api_version: int) -> None:
    """Register a custom call of a plugin's platform, after `register_handlers`."""
    xla_client.register_custom_call_target(name, target, platform, api_version)


def register_type(name: str, value: Any, platform: str) -> None:
    """Register a type that the state of custom calls has."""
    xla_client.register_custom_type(name, value, platform=platform)


def register_batch_partitionable(name: str, api: Any = None) -> None:
    """Declare a custom call that may be split along leading dimensions. api: the plugin's, if it
    is the call of one.
    """
    _jax.register_custom_call_as_batch_partitionable(name, api)


def register_partitioner(name: str, partition: Any, api: Any = None) -> None:
    """`partition(operands' shapes, their shardings, result's shape, its sharding, config)` gives
    the module that replaces a custom call on each device, with the shardings that it wants.
    """

    def unasked(*_: Any) -> Any:  # Shardy has spread all shardings before
        raise NotImplementedError(name)

    _jax.register_custom_call_partitioner(name, unasked, partition, unasked, c_api=api)


def tiled(counts: Sequence[int], whole: int, order: Sequence[int]) -> Any:
    """The sharding that splits the first dimensions so often, and `whole` further ones not. The
    devices come in order of their parts.
    """
    parts = math.prod(counts)
    if parts == 1:
        return xla_client.HloSharding.replicate()
    copies = len(order) // parts
    dims = [*counts, *[1] * whole, *([copies] if copies > 1 else [])]
    last = " last_tile_dim_replicate" if copies > 1 else ""
    text = f"{{devices=[{','.join(map(str, dims))}]{','.join(map(str, order))}{last}}}"
    return xla_client.HloSharding.from_string(text)


def together(shape: Any, shardings: Sequence[Any]) -> Any:
    """The sharding of a tuple of results, from that of each."""
    return xla_client.HloSharding.tuple_sharding(shape, list(shardings))


def register_handlers(platform: str, types: Any, calls: Any) -> None:
    """The functions that take the registrations of a plugin's platform."""
    xla_client.register_custom_type_handler(platform, types)
    xla_client.register_custom_call_handler(platform, calls)


def plugin_loaded(platform: str) -> bool:
    return xla_client.pjrt_plugin_loaded(platform)


def load_plugin(platform: str, library: str) -> Any:
    """Load and initialise a plugin; registrations need the result."""
    api = xla_client.load_pjrt_plugin_dynamically(platform, library)
    xla_client.initialize_pjrt_plugin(platform)
    return api


def cuda_client(options: dict[str, Any]) -> Any:
    """The client of the loaded CUDA plugin. The environment's options come first."""
    options = {**xla_client.generate_pjrt_gpu_plugin_options(), **options}
    return xla_client.make_c_api_client("cuda", options, None)


def serialized(client: Any, loaded: Any) -> bytes | None:
    """A compiled program as bytes; None if jaxlib cannot serialise it."""
    try:
        return client.serialize_executable(loaded)
    except JaxRuntimeError:
        return None


def deserialized(client: Any, blob: bytes, devices: Any) -> Any:
    """A compiled program from bytes. Its custom calls must be registered before."""
    return client.deserialize_executable(blob, devices)
