"""ranked, argranked: a few elements of each sorted row, and where they are.

By NumPy, they take time in proportion to the row's length, where a sort takes more; so do the
derivatives of medians. Elements that are equal have the order of a stable sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._cost import per_comparison
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive
from lazynp.primitives import shaping
from lazynp.primitives._order import has_negative_zero
from lazynp.primitives.indexing import take
from lazynp.primitives.sorting import argsort, sort

_INT64 = np.dtype("i8")
Ranks = tuple[int, ...]
_LONG = 256  # elements of a row from which on selecting pays beside sorting


def _shape(name: str, x: Aval, ranks: Ranks) -> tuple[int, ...]:
    if not x.ndim or not all([0 <= k < x.shape[-1] for k in ranks]):
        raise ValueError(f"{name}: ranks below the length of the rows are required, got {ranks}")
    return (*x.shape[:-1], len(ranks))


def _lower_part(b: Any, rows: Any, ranks: Ranks) -> Any:
    """The columns of sorted rows."""
    lead = rows.aval.shape[:-1]
    columns = [
        b.slice(rows, (*[0] * len(lead), k), (*lead, k + 1), (1,) * (len(lead) + 1)) for k in ranks
    ]
    return columns[0] if len(columns) == 1 else b.concatenate(columns, len(lead))


# -- ranked ----------------------------------------------------------------------------------------


def _ranked_abstract(x: Aval, *, ranks: Ranks) -> Aval:
    return aval_of(_shape("ranked", x, ranks), x.dtype)


def _ranked_reference(x: Any, *, ranks: Ranks) -> Any:
    columns = list(ranks)
    zeros = x.dtype.kind == "f" and has_negative_zero(x)  # sorted by place, not by sign
    if x.shape[-1] < _LONG or x.dtype.kind not in "iuf" or zeros:
        return sort.reference(x, axis=x.ndim - 1)[..., columns]
    return np.partition(x, columns, axis=-1)[..., columns]


def _ranked_lower(b: Any, x: Any, *, ranks: Ranks) -> Any:
    return _lower_part(b, sort.lower(b, x, axis=x.aval.ndim - 1), ranks)


def _ranked_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, ranks: Ranks) -> Any:
    (x,), (x_dot,) = primals, tangents
    if x_dot is None:
        return ranked(x, ranks=ranks), None
    where = argranked(x, ranks=ranks)
    places = [
        shaping.iota(shape=where.aval.shape, axis=i, dtype=_INT64) for i in range(x.aval.ndim - 1)
    ]
    axes = tuple(range(x.aval.ndim))
    return take(x, *places, where, axes=axes), take(x_dot, *places, where, axes=axes)


def _ranked_batch(size: int, batched: Sequence[bool], x: Any, *, ranks: Ranks) -> Any:
    return ranked(x, ranks=ranks)


ranked = Primitive(
    "ranked",
    abstract=_ranked_abstract,
    reference=_ranked_reference,
    lower=_ranked_lower,
    jvp=_ranked_jvp,
    transpose=NOT_LINEAR,
    batch=_ranked_batch,
    cost=per_comparison(0.2, 3.0),
    kind="sort",
)


# -- argranked -------------------------------------------------------------------------------------


def _argranked_abstract(x: Aval, *, ranks: Ranks) -> Aval:
    return aval_of(_shape("argranked", x, ranks), _INT64)


def _argranked_reference(x: Any, *, ranks: Ranks) -> Any:
    rows = x.reshape(-1, x.shape[-1]) if x.size else x
    few = x.shape[-1] >= _LONG and x.dtype.kind in "iuf"
    if not few or x.dtype.kind == "f" and np.isnan(x).any():
        return argsort.reference(x, axis=x.ndim - 1)[..., list(ranks)]
    found = np.empty((len(rows), len(ranks)), np.int64)
    for row, places in zip(rows, found, strict=True):
        values = np.partition(row, ranks)
        for i, k in enumerate(ranks):
            before = np.count_nonzero(row < values[k])
            places[i] = np.flatnonzero(row == values[k])[k - before]
    return found.reshape(*x.shape[:-1], len(ranks))


def _argranked_lower(b: Any, x: Any, *, ranks: Ranks) -> Any:
    return _lower_part(b, argsort.lower(b, x, axis=x.aval.ndim - 1), ranks)


def _argranked_batch(size: int, batched: Sequence[bool], x: Any, *, ranks: Ranks) -> Any:
    return argranked(x, ranks=ranks)


argranked = Primitive(
    "argranked",
    abstract=_argranked_abstract,
    reference=_argranked_reference,
    lower=_argranked_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_argranked_batch,
    cost=per_comparison(0.3, 13.0),
    kind="sort",
)
