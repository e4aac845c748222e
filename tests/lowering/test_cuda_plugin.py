"""Loading of the CUDA plugin, and what is said where it is missing.

A plugin of the test's stands for the missing wheels: the loader finds it as it finds theirs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import lowering
from lazynp._errors import DeviceError
from lazynp.lowering import _compat, _cuda
from lazynp.lowering._platform import CUDA


def _install(root: Path, *, version: str, runtime: bytes | None = None) -> None:
    """Packages of the names that the wheels have."""
    package = root / "jax_cuda12_plugin"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cuda_plugin_extension.py").write_text("")
    info = root / f"jax_cuda12_plugin-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: jax-cuda12-plugin\nVersion: {version}\n"
    )
    if runtime is not None:
        place = root / "jax_plugins" / "xla_cuda12"
        place.mkdir(parents=True)
        (place / "__init__.py").write_text("raise AssertionError('imports jax')")
        (place / "xla_cuda_plugin.so").write_bytes(runtime)


ASK = """
import sys
from lazynp._errors import DeviceError
from lazynp import lowering
for _ in range(2):
    try:
        lowering.cuda_client()
    except DeviceError as error:
        print(type(error).__mro__[1:3], error)
import lazynp as np, numpy
assert np.jit(lambda x: x + 1)(numpy.ones(3)).sum() == 6
assert not any(m == "jax" or m.startswith("jax.") for m in sys.modules)
"""


def _asked(*paths: Path) -> str:
    """What a process says that asks for a GPU, with these directories on its path."""
    path = os.pathsep.join([*map(str, paths), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "LAZYNP_CACHE": "off", "LAZYNP_EXECUTION": "compiled"}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first, second = [line for line in done.stdout.splitlines() if "RuntimeError" in line]
    assert first == second
    assert "ValueError" in first
    return first


needs_none = pytest.mark.skipif(
    any(_cuda.find_spec(r.module) for r in _cuda._RELEASES), reason="a CUDA plugin is installed"
)


@needs_none
def test_without_the_plugin() -> None:
    assert "pip install lazynp[cuda12]" in _asked()
    with pytest.raises(DeviceError, match=r"not installed: `pip install lazynp\[cuda12\]`"):
        lowering.cuda_client()
    with pytest.raises(RuntimeError):
        lowering.cuda_client()
    with pytest.raises(ValueError, match="cuda"):
        lowering.cuda_client()


@needs_none
def test_a_plugin_of_another_release(tmp_path: Path) -> None:
    _install(tmp_path, version="0.1.0")
    said = _asked(tmp_path)
    assert "jax-cuda12-plugin 0.1.0 does not fit jaxlib" in said
    assert f"jax-cuda12-plugin=={_compat.RELEASE}" in said


@needs_none
def test_without_the_runtime(tmp_path: Path) -> None:
    _install(tmp_path, version=_compat.RELEASE)
    assert "jax-cuda12-pjrt, the runtime, is not" in _asked(tmp_path)


@needs_none
def test_a_broken_runtime(tmp_path: Path) -> None:
    _install(tmp_path, version=_compat.RELEASE, runtime=b"no library")
    said = _asked(tmp_path)
    assert "xla_cuda_plugin.so cannot be loaded:" in said


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan")])
def test_memory_fraction(fraction: float) -> None:
    with pytest.raises(ValueError, match="memory_fraction"):
        lowering.cuda_client(memory_fraction=fraction)


# -- where the plugin is ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plugin() -> Any:
    try:
        return _cuda.load()
    except DeviceError as error:
        pytest.skip(str(error))


def test_the_plugin_is_loaded_once(plugin: Any) -> None:
    assert _cuda.load() is plugin
    assert _compat.plugin_loaded("cuda")
    assert "jax" not in sys.modules


def test_without_a_gpu(plugin: Any) -> None:
    try:
        lowering.cuda_client()
    except DeviceError as error:
        assert str(error).startswith("cuda: the plugin finds no GPU it can use: ")
    else:
        pytest.skip("there is a GPU")


@pytest.fixture(scope="module")
def gpu(plugin: Any) -> Any:
    try:
        return lowering.cuda_client()
    except DeviceError as error:
        pytest.skip(str(error))


PROGRAMS = {
    "elementwise": lambda x: np.sin(x) * 2 + x**2,
    "matmul": lambda x: x @ x.T,
    "reductions": lambda x: (x.max(0), x.sum(), np.cumsum(x, 1), np.sort(x, 1)),
    "cholesky": lambda x: np.linalg.cholesky(x @ x.T + 9 * np.eye(6)),
    "solve": lambda x: np.linalg.solve(x + 9 * np.eye(6), x),
    "eigvalsh": lambda x: np.linalg.eigvalsh(x @ x.T),
    "svdvals": lambda x: np.linalg.svdvals(x),
    "svd": lambda x: (lambda u, s, vh: (u * s) @ vh)(*np.linalg.svd(x)),
    "qr": lambda x: (lambda q, r: q @ r)(*np.linalg.qr(x)),
    "eigvals": lambda x: np.sort(np.linalg.eigvals(x).real),
    "writes": lambda x: np.where(x > 0, x, 0)[::-1],
}


@pytest.mark.cuda
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_on_a_gpu(gpu: Any, name: str, dtype: str) -> None:
    f = PROGRAMS[name]
    x = numpy.random.default_rng(0).normal(size=(6, 6)).astype(dtype)
    jaxpr = np.make_jaxpr(f)(x)
    text = lowering.lower(jaxpr, platform=CUDA.name)
    device = gpu.local_devices()[0]
    sharding = _compat.Sharding(device)
    loaded = gpu.compile_and_load(text, _compat.device_list(device), _compat.CompileOptions())

    class Described:
        weak_type = False

        def __init__(self, aval: Any) -> None:
            self.shape, self.dtype, self.ndim = aval.shape, aval.dtype, aval.ndim

    put = _compat.put(Described(jaxpr.in_avals[0]), sharding, x, device, True)
    handlers = [_compat.result_handler(Described(a), sharding) for a in jaxpr.out_avals]
    results = loaded.execute_sharded([put]).consume_with_handlers(handlers)
    wanted = f(np.array(x))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(results[: len(wanted)], wanted, strict=True):
        got = got._single_device_array_to_np_array_did_copy()[0]
        numpy.testing.assert_allclose(got, numpy.asarray(want), rtol=1e-4, atol=1e-4)
