"""Which loop of a ufunc NumPy runs: `ufunc.resolve_dtypes`, without its crashes.

For Python's scalar types (weak operands), NumPy's method reads memory that is not its own where it
should raise: if `casting="equiv"` refuses one, and in every reduction. The call of the ufunc itself
is sound, and so are all other questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Dtype = np.dtype[Any]


def resolve_dtypes(
    ufunc: np.ufunc,
    dtypes: Sequence[Any],
    *,
    signature: Any = None,
    casting: Any = None,
    reduction: bool = False,
) -> tuple[Dtype, ...]:
    """The dtypes of the loop for these: a dtype, int, float, complex, or None for each operand and
    result. Raises what NumPy raises."""
    options = {} if signature is None else {"signature": signature}
    options |= {"reduction": True} if reduction else {}
    if any(map(_is_weak, dtypes)):
        if reduction:
            dtypes = [np.dtype(d) if _is_weak(d) else d for d in dtypes]
        elif casting == "equiv":
            dtypes = _not_weak(ufunc, dtypes, options)
    if casting is not None:
        options["casting"] = casting
    return ufunc.resolve_dtypes(tuple(dtypes), **options)  # type: ignore[call-overload]


def _is_weak(dtype: Any) -> bool:
    return dtype is int or dtype is float or dtype is complex  # a dtype equals its Python type


def _not_weak(ufunc: np.ufunc, dtypes: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """The dtypes, weak ones as what they become, unless NumPy refuses them."""
    found: Any = ufunc.resolve_dtypes(tuple(dtypes), casting="unsafe", **options)
    pairs = list(zip(dtypes, found, strict=True))
    if any([_is_weak(d) and not f.hasobject for d, f in pairs]):  # objects take everything
        ins = [d(1) if _is_weak(d) else np.empty(0, d) for d in dtypes[: ufunc.nin]]
        outs = tuple([None if d is None else np.empty(0, d) for d in dtypes[ufunc.nin :]])
        ufunc(*ins, out=outs, casting="equiv", **options)
    return [f if _is_weak(d) else d for d, f in pairs]
