"""Arrays that rounds make longer: `xs = np.append(xs, x)`, `rows = np.vstack([rows, row])`.

What the rounds join to such an array is kept like what they append to a list (`_histories`), and
joined once, after the program: Python copies the whole array in each round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import NDArray, new_array
from lazynp._flush import host_value
from lazynp._node import leaf
from lazynp._promotion._paths import joined
from lazynp.functions._construct import array
from lazynp.transforms.control import CannotStage


def own(x: Any) -> Any:
    """What a round joins to an array, as a value that nothing else refers to."""
    if type(x) in (list, tuple):
        return array(x)
    return x.copy() if type(x) is NDArray and x.ndim else x


def check_joins(name: str, of: Any, sites: Sequence[Any]) -> None:
    """Whether what the rounds join to this array can be joined after them."""
    functions = {joined(s.at)[1].partition(".")[2] for s in sites}  # type: ignore[index]
    if len(functions) > 1 or of.dtype.kind not in "biufc":
        raise CannotStage(f"`{name}` grows in several ways")
    (function,) = functions
    for s in sites:
        if s.spec is None:  # before the probe
            continue
        if s.spec[0] not in ("array", "number", "scalar"):
            raise CannotStage(f"line {s.line}: `{name}` gets something else than an array")
        if not _joins(function, of, s.spec[1] if s.spec[0] == "array" else ()):
            raise CannotStage(f"line {s.line}: `{name}` changes shape")


def _joins(function: str, of: Any, shape: tuple[int, ...]) -> bool:
    """Whether rows of this shape make the array longer, along its first axis."""
    if function in ("concatenate", "concatenate:0", "append:0"):
        return len(shape) == of.ndim > 0 and shape[1:] == of.shape[1:]
    if function == "vstack":
        return of.ndim == 2 and 0 < len(shape) < 3 and shape[-1:] == of.shape[1:]
    return of.ndim == 1 and (function == "append" or len(shape) < 2)


def block_of(of: Any, rows: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """What the rounds have joined to an array, in their order. rows: of each statement, one for
    each round.
    """
    parts, one = [], math.prod(of.shape[1:])
    for row in rows:
        more = math.prod(row.shape[1:]) // one if one else row.shape[1] if row.ndim > 2 else 1
        parts.append(row.reshape(len(row), more, *of.shape[1:]))
    block = np.concatenate(parts, axis=1)
    return block.reshape(block.shape[0] * block.shape[1], *of.shape[1:])


def longer(of: Any, block: np.ndarray[Any, Any]) -> Any:
    return new_array(leaf(np.concatenate([host_value(of._read()), block])))


def same(block: np.ndarray[Any, Any], of: Any, before: int) -> tuple[Any, Any]:
    """The block, and what Python's rounds have joined to the array, for comparison."""
    return new_array(leaf(block.astype(of.dtype))), of[before:].copy()
