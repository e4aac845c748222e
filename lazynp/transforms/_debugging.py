"""`debug_nans`: where the first NaN comes from."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from lazynp._config import config
from lazynp._recorder import local
from lazynp._trace import flush


class debug_nans(ContextDecorator):
    """`with debug_nans():`, or a decorator: FloatingPointError where a NaN first appears.

    The error names the operation and the line of the program that recorded it; in a derivative,
    that of the operation whose derivative it is. NaN that comes from an operand is none. All is
    computed by NumPy, operation by operation, `jit` is without effect, and what is pending at
    the end of the block is computed there. `debug_nans(False)` is the opposite, and
    `config(debug_nans=True)` for good.
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
