"""`debug_nans`: find where the first NaN comes from."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from lazynp._config import config
from lazynp._flush import flush
from lazynp._recorder import local


class debug_nans(ContextDecorator):
    """`with debug_nans():`, or a decorator: FloatingPointError where a NaN first appears.

    The error names the operation and the line that recorded it; in a derivative, it names the
    operation that was differentiated. A NaN that an operand already contains raises nothing. NumPy
    computes everything, operation by operation, and `jit` has no effect. The end of the block
    computes what is still pending. `debug_nans(False)` is the opposite, and
    `config(debug_nans=True)` is permanent.
    """

    def __init__(self, enable: bool = True) -> None:
        self._enable = enable
        self._before: list[Any] = []

    def __enter__(self) -> None:
        flush(local.recorder)
        self._before.append(config.debug_nans)
        config(debug_nans=self._enable)

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                flush(local.recorder)
        finally:
            config(debug_nans=self._before.pop())
