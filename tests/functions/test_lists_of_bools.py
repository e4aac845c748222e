"""Lists of bools as an index: masks, which the fast path takes as such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import same
from tests.test_fastpath import calls_of, needs_c, set_eager

ROWS, COLUMNS = [True, False, True], [False, True, True, False]
INDICES: list[Any] = [
    ROWS, (ROWS, slice(None)), (slice(None), COLUMNS), (ROWS, 1), (ROWS, slice(1, 3)),
    (..., COLUMNS), (ROWS, [1, 2]), ([True, True, True], COLUMNS[:3] + [True]),
    [[True, False, False, True]] * 3, [False] * 3, (0, COLUMNS), (None, ROWS),
    [True, False], (ROWS, COLUMNS), [True, 2, 0], [True, 0, False], [2, True],
    [np.True_, False, True],
    ROWS * 2, [], [True], [True, None, False], [True, "a", False], [True, 0.0, False],
]  # fmt: skip
MODES = pytest.mark.parametrize("eager", [False, True], ids=["recorded", "eager"])


def outcome(m: Any, index: Any, stored: Any) -> Any:
    a = m.arange(12.0).reshape(3, 4)
    try:
        if stored is None:
            return a[index]
        a[index] = stored
    except Exception as error:
        return error
    return a


@MODES
def test_lists_of_bools_select_and_store(eager: bool) -> None:
    set_eager(eager)
    for index in INDICES:
        for stored in (None, 0, -1.5):
            wanted = outcome(np, index, stored)
            found = outcome(lazynp, index, stored)
            if isinstance(wanted, Exception):
                assert isinstance(found, type(wanted)), (index, found)
            else:
                same(found, wanted, where=str(index))


@needs_c
@pytest.mark.parametrize("index", INDICES[:6], ids=str)
def test_python_is_not_called(index: Any) -> None:
    set_eager(True)
    a = lazynp.asarray(np.arange(12.0).reshape(3, 4))

    def work() -> None:
        a[index]
        a[index] = 0

    work()
    assert calls_of(work) == []
