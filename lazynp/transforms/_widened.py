"""Values in the shapes of a bucket, and back."""

from __future__ import annotations

from typing import Any

import numpy as np


def widened(x: Any, shape: tuple[int, ...]) -> Any:
    """A value, padded to a shape."""
    if np.shape(x) == shape:
        return x
    out = np.zeros(shape, x.dtype)
    out[tuple([slice(n) for n in x.shape])] = x
    return out


def cut(x: Any, shape: tuple[int, ...]) -> Any:
    """The front of a value, in this shape."""
    if np.shape(x) == shape:
        return x
    return np.ascontiguousarray(x[tuple([slice(n) for n in shape])])
