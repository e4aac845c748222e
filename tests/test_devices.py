"""Devices: those there are, their names, settings and errors."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.devices.worker import on_eight


def said(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", "import lazynp as np\n" + code],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_there_is_one_device_unless_said() -> None:
    assert said("print(np.devices(), np.device_count())") == "[Device('cpu')] 1"
    assert said("print(np.device_count())", LAZYNP_CPU_DEVICES="3") == "3"
    assert said("np.config(cpu_devices=4); print(np.device_count())") == "4"


def test_an_array_on_a_device_that_is_gone() -> None:
    """No program was compiled yet, so the number of devices could change."""
    code = """
x = np.ones(3, device="cpu:6") + 1
np.config(cpu_devices=4)
try:
    print(x)
except np.DeviceError as error:
    print("cpu:6" in str(error), '"cpu:3"' in str(error))
np.config(cpu_devices=8)
print(x)
"""
    assert said(code, LAZYNP_CPU_DEVICES="8") == "True True\n[2. 2. 2.]"


def test_listing_devices_loads_no_compiler() -> None:
    code = "import sys; np.devices(); np.zeros(3).device; print('jaxlib' in sys.modules)"
    assert said(code, LAZYNP_CPU_DEVICES="3") == "False"


def test_the_variable_names_the_default_device() -> None:
    code = "print(np.default_device(), np.ones(2).device, (np.arange(4.) + 1).device)"
    assert said(code, LAZYNP_CPU_DEVICES="3", LAZYNP_DEVICE="cpu:2") == "cpu:2 cpu:2 cpu:2"
    code = "np.default_device('cpu:1'); np.default_device(None); print(np.default_device())"
    assert said(code, LAZYNP_CPU_DEVICES="3", LAZYNP_DEVICE="cpu:2") == "cpu:2"


@pytest.mark.parametrize(
    "setting", ["cpu_devices=0", "cpu_devices=1.5", "memory_fraction=0", "memory_fraction=1.5"]
)
def test_bad_settings_are_refused(setting: str) -> None:
    code = f"try: np.config({setting})\nexcept ValueError as e: print('refused', e)"
    assert said(code).startswith("refused config: " + setting.partition("=")[0])


def test_on_one_device_committing_makes_no_difference() -> None:
    code = (
        "x = np.zeros(3, device='cpu') + np.device_put(np.ones(3), np.devices()[0])\n"
        "print(x, x.device, np.stats().compiles)"
    )
    assert said(code, LAZYNP_EXECUTION="adaptive") == "[1. 1. 1.] cpu 0"


@on_eight
def test_devices_are_listed_named_and_compared() -> None:
    assert np.devices() == [f"cpu:{i}" if i else "cpu" for i in range(8)]
    assert np.devices("cpu") == np.local_devices() == np.local_devices("cpu")
    assert np.device_count() == np.local_device_count("cpu") == 8
    third = np.devices()[3]
    assert (third.id, third.platform, third.device_kind, third.process_index) == (
        3,
        "cpu",
        "cpu",
        0,
    )
    assert third.memory_stats() is None
    assert (
        third == "cpu:3" == str(third) and type(str(third)) is str and hash(third) == hash("cpu:3")
    )
    assert pickle.loads(pickle.dumps(third)) == third and copy.deepcopy(third).id == 3
    info = np.__array_namespace_info__()
    assert info.devices() == np.devices() and info.default_device() == "cpu"
    x = np.arange(3.0)
    assert x.device == "cpu" and x.devices() == {"cpu"}
    assert x.sharding == np.SingleDeviceSharding("cpu")


MISSING: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda d: np.zeros(3, device=d),
    "asarray": lambda d: np.asarray([1.0], device=d),
    "device_put": lambda d: np.device_put([1.0], d),
    "default_device": lambda d: np.default_device(d),
    "to_device": lambda d: np.ones(3).to_device(d),
    "config": lambda d: np.config(device=d),
    "sharding": lambda d: np.SingleDeviceSharding(d),
}


@pytest.mark.parametrize("device", ["cpu:9", "tpu", "cpu:x", "cuda"])
@pytest.mark.parametrize("name", list(MISSING))
@on_eight
def test_a_device_that_is_not_there_is_an_error(name: str, device: str) -> None:
    with pytest.raises(np.DeviceError) as caught:
        MISSING[name](device)
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert ("lazynp[cuda12]" in text) if device == "cuda" else (device in text and "cpu:7" in text)


@on_eight
def test_the_number_of_devices_is_fixed_by_the_first_program() -> None:
    (np.device_put(numpy.ones(2), "cpu:1") + 1).tolist()
    with pytest.raises(RuntimeError, match="cpu_devices is 8"):
        np.config(cpu_devices=4)
    np.config(cpu_devices=8)
