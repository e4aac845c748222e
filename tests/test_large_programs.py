"""Random programs on arrays of some kilobytes: compiled, and differentiated, as NumPy has them."""

from __future__ import annotations

import pytest

from tests.large_programs import mismatch, program

SEEDS = range(12)  # of eight of these, results or gradients were wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_and_their_gradients(seed: int) -> None:
    assert mismatch(seed) == "", program(seed)[1]
