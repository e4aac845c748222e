"""`json` writes float64 scalars, as it does NumPy's, which are floats.

The encoder in C looks at the type, and hands whatever it does not know to `default`. The encoder in
Python asks `isinstance`, to which a scalar says yes, and then wants a real float.
"""

from __future__ import annotations

import functools
import json.encoder
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Scalar

_module: Any = json.encoder


def _real(x: Any) -> Any:
    """NumPy's float64 for one of ours; anything else as it is."""
    return np.float64(float(x)) if isinstance(x, Scalar) and x.dtype == np.float64 else x


def _in_c(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def call(markers: Any, default: Any, *rest: Any) -> Any:
        def known(x: Any) -> Any:
            real = _real(x)
            return default(x) if real is x else real

        return make(markers, known, *rest)

    return call


def _in_python(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def call(markers: Any, default: Any, encoder: Any, indent: Any, text: Any, *rest: Any) -> Any:
        return make(markers, default, encoder, indent, lambda x: text(_real(x)), *rest)

    return call


def hook() -> None:
    """Called once, when lazynp is imported."""
    if _module.c_make_encoder is not None:
        _module.c_make_encoder = _in_c(_module.c_make_encoder)
    _module._make_iterencode = _in_python(_module._make_iterencode)


__all__ = ["hook"]
