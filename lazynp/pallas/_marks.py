"""Values without a derivative, as those of atomics are: where a tangent reaches one, it raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._array import Array, new_array
from lazynp._primitive import NOT_LINEAR, Primitive


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, what: str) -> Any:
    raise TypeError(f"{what} has no derivative; only atomic_add has one")


_mark: Any = Primitive(
    "no_derivative",
    abstract=lambda x, *, what: x,
    reference=lambda x, *, what: x,
    lower=lambda b, x, *, what: x,
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=lambda size, batched, x, *, what: _mark(x, what=what),
    free=True,
    kind="view",
)


def without_derivative(x: Array, what: str) -> Array:
    """The same value; its derivative is a TypeError that names what made it."""
    return _mark(new_array(x._read()), what=what) if x.dtype.kind in "fc" else x
