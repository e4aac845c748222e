"""Reductions that ignore nan, of objects: they skip the nan among these, as NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp

LISTS: Any = [
    [2, np.nan, 3], [[1, np.nan], [2, 3]], [2, 3], [1j, complex("nan")], [np.nan, np.nan],
    [1, 10**30, np.nan], [],
]  # fmt: skip
FUNCTIONS = [
    "nansum", "nanprod", "nancumsum", "nancumprod", "nanmax", "nanmin", "nanargmax", "nanargmin",
    "nanmean", "nanvar", "nanstd", "nanmedian",
]  # fmt: skip


def outcome(module: Any, name: str, items: Any, axis: Any) -> str:
    try:
        done = getattr(module, name)(module.array(items, dtype=object), axis=axis)
    except Exception as e:
        return type(e).__name__
    return f"{np.shape(done)} {getattr(done, 'dtype', type(done))} {np.asarray(done).tolist()}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_among_objects_is_skipped(name: str) -> None:
    for items in LISTS:
        for axis in (None, 0, -1):
            wanted = outcome(np, name, items, axis)
            assert outcome(lazynp, name, items, axis) == wanted, (items, axis)


def test_options_and_out() -> None:
    items = [[1, np.nan], [2, 3]]
    for name in ("nansum", "nanprod", "nanmax"):
        results = []
        for m in (np, lazynp):
            a, out = m.array(items, dtype=object), m.zeros(2, dtype=object)
            f = getattr(m, name)
            given = f(a, 0, out=out)
            assert given is out
            kept = f(a, axis=1, keepdims=True)
            where = f(a, initial=1, where=m.array([True, False]))
            results.append((out.tolist(), kept.tolist(), where))
        assert results[0] == results[1]
