"""The platforms other than the CPU: which devices they have, or why there are none.

Nothing here needs a client of the CPU. `device_count` is the only door: whoever loads a plugin does
it there.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from lazynp._errors import DeviceError

_EXTRAS = {"jax_cuda12_plugin": "cuda12", "jax_cuda13_plugin": "cuda13"}


def device_count(platform: str) -> int:
    """How many devices a platform has. Raises DeviceError, with the reason, if it has none."""
    found = [name for name in _EXTRAS if find_spec(name) is not None]
    if not found:
        raise DeviceError(
            f"no {platform} device: jaxlib's plugin is not installed; pip install lazynp[cuda12]"
        )
    raise DeviceError(f"no {platform} device: {found[0]} is installed, but no device was found")


def memory_stats(platform: str, id: int) -> dict[str, Any] | None:
    """What a device says about its memory."""
    return None
