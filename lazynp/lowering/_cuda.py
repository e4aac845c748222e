"""NVIDIA GPUs: find the CUDA plugin, load it without jax, make its client.

The plugin is two wheels, `jax-cuda12-plugin` (Python modules: targets for custom calls) and
`jax-cuda12-pjrt` (the compiler and the runtime), or the same two for CUDA 13. The package that
comes with the second imports jax, so it is only located.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lazynp._dataclass import dataclass
from lazynp._errors import DeviceError
from lazynp._later import Later
from lazynp.lowering import _compat, _stacks

metadata: Any = Later("importlib.metadata")  # takes 20 ms to load


@dataclass(frozen=True)
class _Release:
    """A release of CUDA: the names of its wheels, and its libraries in the order of loading."""

    extra: str  # of lazynp
    libraries: tuple[tuple[str, str], ...]  # package of NVIDIA's, file

    @property
    def module(self) -> str:
        return f"jax_{self.extra}_plugin"

    @property
    def directory(self) -> str:
        return f"xla_{self.extra}"


_COMMON = (("nvshmem", "libnvshmem_host.so.3"), ("cudnn", "libcudnn.so.9"))
_CUDA12 = (
    ("cuda_runtime", "libcudart.so.12"), ("cuda_nvrtc", "libnvrtc.so.12"),
    ("cublas", "libcublas.so.12"), ("cublas", "libcublasLt.so.12"), ("nccl", "libnccl.so.2"),
    ("cuda_cupti", "libcupti.so.12"), ("cusparse", "libcusparse.so.12"),
    ("cusolver", "libcusolver.so.11"), ("cufft", "libcufft.so.11"), *_COMMON,
)  # fmt: skip
_CUDA13 = (
    ("cu13", "libcudart.so.13"), ("cu13", "libnvrtc.so.13"), ("cu13", "libcublas.so.13"),
    ("cu13", "libcublasLt.so.13"), ("nccl", "libnccl.so.2"), ("cu13", "libcupti.so.13"),
    ("cu13", "libcusparse.so.12"), ("cu13", "libcusolver.so.12"), ("cu13", "libcufft.so.12"),
    *_COMMON,
)  # fmt: skip
# jaxlib's own modules look for CUDA 13 first
_RELEASES = (_Release("cuda13", _CUDA13), _Release("cuda12", _CUDA12))

_INSTALL = "`pip install lazynp[cuda12]` or `lazynp[cuda13]` installs it"


@dataclass(frozen=True)
class Plugin:
    """The loaded plugin. toolkit: the directory with libdevice and ptxas of NVIDIA's wheels."""

    release: str
    library: str
    api: Any
    toolkit: str | None


_plugin: Plugin | None = None
_lock = threading.RLock()


def client(
    *, preallocate: bool = False, memory_fraction: float | None = None, **options: Any
) -> Any:
    """A client with this process's GPUs. The first call loads the plugin.

    preallocate: whether the client takes its share of the GPU's memory at once. memory_fraction:
    the share that it may take, 0 < f <= 1; else ValueError. options: further ones of the plugin's.
    DeviceError says which package is missing, or why the plugin makes no client.
    """
    if memory_fraction is not None and not 0 < memory_fraction <= 1:
        raise ValueError(f"memory_fraction: 0 < f <= 1 is required, got {memory_fraction!r}")
    load()
    options = {"preallocate": bool(preallocate), **options}
    if memory_fraction is not None:
        options["memory_fraction"] = float(memory_fraction)
    try:
        return _compat.cuda_client(options)
    except _compat.JaxRuntimeError as error:
        raise DeviceError(f"cuda: the plugin finds no GPU it can use: {_reason(error)}") from None


def load() -> Plugin:
    """The plugin, loaded once; DeviceError if it is missing, does not fit, or cannot be loaded."""
    global _plugin
    with _lock:
        if _plugin is None:
            release, library = _found()
            try:
                _plugin = _loaded(release, library)
            except (ImportError, OSError, _compat.JaxRuntimeError) as error:
                text = f"cuda: the plugin {library} cannot be loaded: {_reason(error)}"
                raise DeviceError(text) from None
        return _plugin


def _found() -> tuple[_Release, str]:
    """The release whose wheels are here, and the path of the runtime."""
    for release in _RELEASES:
        if find_spec(release.module) is None:
            continue
        _check_version(release)
        for directory in _directories("jax_plugins"):
            library = os.path.join(directory, release.directory, "xla_cuda_plugin.so")
            if os.path.exists(library):
                return release, library
        raise DeviceError(
            f"cuda: jax-{release.extra}-plugin is here, but jax-{release.extra}-pjrt, the runtime, "
            f"is not: `pip install lazynp[{release.extra}]` installs both"
        )
    raise DeviceError(f"cuda: the CUDA plugin is not installed: {_INSTALL}")


def _check_version(release: _Release) -> None:
    """jaxlib ignores modules of another release than its own: its calls would be missing."""
    name = f"jax-{release.extra}-plugin"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return  # not from a wheel
    if version != _compat.RELEASE:
        raise DeviceError(
            f"cuda: {name} {version} does not fit jaxlib {_compat.RELEASE}: `pip install "
            f"lazynp[{release.extra}] {name}=={_compat.RELEASE}` installs the one that does"
        )


def _loaded(release: _Release, library: str) -> Plugin:
    toolkit = _load_libraries(release)
    extension = import_module(f"{release.module}.cuda_plugin_extension")
    if _compat.plugin_loaded("cuda"):  # by jax, in this process
        return Plugin(release.extra, library, None, toolkit)
    api = _compat.load_plugin("cuda", library)
    _compat.register_handlers(
        "CUDA",
        partial(extension.register_custom_type, api),
        partial(extension.register_custom_call_target, api),
    )
    for name, value in extension.ffi_types().items():
        _compat.register_type(name, value, "CUDA")
    for name, target, version in _targets(extension):
        _compat.register_device_call(name, target, "CUDA", version)
    solver, linalg = _jaxlibs("gpu_solver"), _jaxlibs("gpu_linalg")
    solver.initialize_hybrid_kernels()  # SciPy's LAPACK, for `eig`
    for name in (*solver.batch_partitionable_targets(), *linalg.batch_partitionable_targets()):
        _compat.register_batch_partitionable(name, api)
    _stacks.register(api)
    return Plugin(release.extra, library, api, toolkit)


def _targets(extension: Any) -> Iterator[tuple[str, Any, int]]:
    """The custom calls that programs may hold: names, functions, versions of the interface."""
    for name, target in extension.ffi_handlers().items():
        yield name, target, 1
    for name in ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse"):
        yield from _jaxlibs(name).registrations()["CUDA"]


def _jaxlibs(name: str) -> Any:
    """A module of jaxlib's that imports the plugin's modules, after NVIDIA's libraries."""
    return import_module(f"jaxlib.{name}")


def _load_libraries(release: _Release) -> str | None:
    """Load NVIDIA's wheels, as far as they are here, so that the plugin finds them; what is missing
    may be installed in the system. Returns the directory of the toolkit, if a wheel has it.
    """
    toolkit = None
    for package, name in release.libraries:
        for directory in _directories(f"nvidia.{package}"):
            try:
                ctypes.cdll.LoadLibrary(os.path.join(directory, "lib", name))
            except OSError:
                pass  # the plugin gives the reason, if it needs this one
    for package in ("cu13", "cuda_nvcc"):
        for directory in _directories(f"nvidia.{package}"):
            if toolkit is None and os.path.isdir(os.path.join(directory, "nvvm")):
                toolkit = directory
    return toolkit


def _directories(package: str) -> list[str]:
    """Where a package lies, without importing it."""
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # its parent is missing
        return []
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def _reason(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
