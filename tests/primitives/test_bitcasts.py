"""Bit casts that follow each other in one program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp

KINDS = ["u2 u4 u1", "u2 u8 u4", "u2 u8 u4 u1", "u2 c8 u1 u2", "u2 f4 u4 u1", "u2 f8 c8 u1"]


@pytest.mark.parametrize("kinds", KINDS)
def test_bitcasts_that_join_and_part(kinds: str) -> None:
    """XLA made one of them, with a shape that it then refused."""

    def f(x: Any) -> Any:
        for kind in kinds.split()[1:]:
            x = x.view(kind).copy()
        return x

    x = np.arange(16, dtype=kinds[:2])
    got = lazynp.jit(f).lower(x).compile()(x)
    assert np.asarray(got).tobytes() == x.tobytes() and got.dtype == kinds[-2:]
