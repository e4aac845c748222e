"""Launches of kernels, by the dialect that a platform has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazynp._errors import LoweringError
from lazynp.lowering import _mosaic_launch, _triton_launch
from lazynp.lowering._core import Value, Values
from lazynp.lowering._kernel import Kernel

_LAUNCH: dict[str, Callable[[Any, Kernel, Values], list[Value]]] = {
    "triton": _triton_launch.launch,
    "mosaic": _mosaic_launch.launch,
}


def launch(b: Any, kernel: Kernel, values: Values) -> list[Value]:
    """The outputs of a kernel for these inputs and captured arrays. LoweringError names it."""
    try:
        if kernel.reason:
            raise LoweringError(kernel.reason)
        return _LAUNCH[b.platform.kernels](b, kernel, values)
    except LoweringError as error:
        error.args = (f"{kernel.name}: {error}",)
        error.named = False  # the call's name is to stand before it
        raise
