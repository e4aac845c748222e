"""Errors that the data decide: now, or where a function that is traced is called."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._trace import extent
from lazynp.functions._recording import as_array, plain
from lazynp.primitives.checks import check_later


def refuse(bad: Any, kind: type[Exception], message: str, value: Array | None = None) -> None:
    """Raise this error if an element of `bad` is true. In the message, {} stands for the element
    of `value`, integers of the same shape, at the first such place."""
    bad = plain(as_array(bad))
    known = extent(bad._read())
    if known is None:
        check_later(bad, kind, message, None if value is None else plain(value))
    elif np.any(known):
        if value is not None:
            places = np.asarray(extent(value._read()))
            message = message.replace("{}", str(places[np.asarray(known)].flat[0]))
        raise kind(message)
