"""Settings of devices, each in a new process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


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
