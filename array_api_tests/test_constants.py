"""Constants."""

from __future__ import annotations

import math

import pytest

from array_api_tests.support import make, xp


@pytest.mark.parametrize("name", ["e", "pi", "inf", "nan"])
def test_value(name: str) -> None:
    value, wanted = getattr(xp, name), getattr(math, name)
    assert isinstance(value, float)
    assert math.isnan(value) if name == "nan" else value == wanted


def test_newaxis_is_none() -> None:
    """ "An alias for None which is useful for indexing arrays." """
    assert xp.newaxis is None
    x = make([1.0, 2.0])
    assert x[xp.newaxis, :].shape == (1, 2) and x[:, xp.newaxis].shape == (2, 1)
