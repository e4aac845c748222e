"""Compile programs for an H100 that is not there: needs the CUDA plugin and a CUDA toolkit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from lazynp._errors import DeviceError
from lazynp.lowering import _cuda

try:
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo
except ImportError:  # the release moved them
    pytest.skip("this jaxlib has no MLIR bindings where expected", allow_module_level=True)

_H100 = """gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84942979072
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 }
runtime_version { major: 12 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
_TRIVIAL = """module @m { func.func public @main(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = stablehlo.sine %a : tensor<8xf64>
  return %0 : tensor<8xf64>
} }"""


@functools.cache
def context() -> Any:
    """An MLIR context that knows the dialects of programs."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    stablehlo.register_dialect(made)
    chlo.register_dialect(made)
    return made


def verified(text: str) -> Any:
    """The module of a text; MLIR raises an error if it is not valid."""
    module = ir.Module.parse(text, context())
    assert module.operation.verify()
    return module


@functools.cache
def _compiler() -> Callable[[str], Any] | str:
    """The function that compiles a text for the GPU, or the reason why there is none."""
    try:
        plugin = _cuda.load()
    except DeviceError as error:
        return str(error)
    topology = xla_client.make_c_api_device_topology(
        plugin.api, "h100", topology="1x1x1", target_config=_H100
    )
    device = topology._make_compile_only_devices()[0]

    def compiled(text: str) -> Any:
        options = xla_client.CompileOptions()
        options.env_option_overrides = [("xla_gpu_autotune_level", "0")]
        if plugin.toolkit:
            options.executable_build_options.debug_options.xla_gpu_cuda_data_dir = plugin.toolkit
        devices = xla_client.DeviceList((device,))
        return device.client.compile(verified(text), devices, options)

    try:
        compiled(_TRIVIAL)
    except RuntimeError as error:
        return f"no CUDA toolkit: {str(error).splitlines()[0]}"
    return compiled


def compiler() -> Callable[[str], Any]:
    """`compiled(text)`; the test that asks is skipped if plugin or toolkit are missing."""
    found = _compiler()
    if isinstance(found, str):
        pytest.skip(found)
    return found
