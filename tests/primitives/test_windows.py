"""windows: lowered against reference, and its rules, for sliced and gathered windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazynp._avals import aval_of
from lazynp.primitives.windows import windows
from tests.primitives.harness import run_lowered
from tests.primitives.rules import check_batch, check_jvp, check_transpose

F8 = np.dtype("f8")
CASES = [((7,), 0, 3), ((4, 5), 1, 2), ((3, 41), 1, 35), ((41, 2, 2), 0, 35), ((4, 3), 0, 4),
         ((3,), 0, 1), ((3, 2), 0, 0), ((2, 0), 0, 2), ((0, 2), 1, 1)]  # fmt: skip
CASES = [(*case, 1) for case in CASES] + [
    ((8,), 0, 3, 2), ((9,), 0, 3, 3), ((4, 6), 1, 2, 3), ((3, 2), 0, 1, 7), ((2, 90), 1, 35, 10),
    ((90, 2), 0, 40, 20), ((2, 47, 3), 1, 36, 2), ((2, 9), 1, 4, 2), ((0, 5), 1, 2, 2),
    ((3, 2), 0, 0, 2), ((4,), 0, 4, 3)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "c16", "i4", "?"])
@pytest.mark.parametrize("shape, axis, length, step", CASES)
def test_windows(shape: tuple[int, ...], axis: int, length: int, step: int, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    params = {"axis": axis, "length": length, "step": step}
    wanted = np.lib.stride_tricks.sliding_window_view(x, length, axis)
    wanted = np.moveaxis(np.moveaxis(wanted, axis, 0)[::step], 0, axis)
    (got,) = run_lowered(windows, x, **params)
    view = windows.reference(x, **params)
    assert windows.abstract(aval_of(shape, dtype), **params).shape == wanted.shape
    assert got.dtype == view.dtype == wanted.dtype and got.shape == view.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(view, wanted)
    assert not view.flags.writeable and (not x.size or np.shares_memory(view, x) == (length > 0))


@pytest.mark.parametrize("shape, axis, length, step", CASES)
def test_windows_rules(shape: tuple[int, ...], axis: int, length: int, step: int) -> None:
    params: dict[str, Any] = {"axis": axis, "length": length, "step": step}
    x = np.random.default_rng(1).normal(size=shape)
    check_jvp(windows, (x,), (0,), **params)
    check_transpose(windows, (x,), (0,), **params)
    check_batch(windows, (np.stack([x, 2 * x]),), (True,), **params)


def test_windows_abstract_rejects() -> None:
    for length in (-1, 4):
        with pytest.raises(ValueError, match="window shape"):
            windows.abstract(aval_of((3,), F8), axis=0, length=length)
