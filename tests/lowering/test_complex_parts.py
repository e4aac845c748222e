"""Complex sums and powers in compiled programs, by bits: XLA's emitters know rules that do not hold
for floating point. Programs with a loop are written by other emitters than programs without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

pytestmark = pytest.mark.own_policy

SUMS: dict[str, Callable[[Any], Any]] = {
    "of nothing": lambda x: x + 0,
    "less nothing": lambda x: x - 0,
    "absorbed": lambda x: (x + 1e20) - 1e20,
    "there and back": lambda x: (x + x[::-1]) - x[::-1],
    "back and there": lambda x: x[::-1] + (x - x[::-1]),
    "a part": lambda x: (x + 0).real,
}
VALUES = [complex(-0.0, -0.0), 1 + 1j, 1e-3j, complex(1e-30, 2)]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str, dtype: str, loop: bool) -> None:
    x, function = numpy.array(VALUES, dtype), SUMS[name]

    @np.jit
    def program(x: Any) -> Any:
        beside = np.fori_loop(0, 2, lambda i, a: a + 1.0, np.zeros(3)) if loop else x
        return function(x), beside

    with np.config(execution="compiled"):
        got = numpy.asarray(program(np.array(x))[0])
    assert got.tobytes() == function(x).tobytes()


PARTS = [0.0, -0.0, 1.0, -1.0, 2.0, -3.5]


@pytest.mark.parametrize("policy", ["compiled", "reference", "adaptive"])
@pytest.mark.parametrize("exponent", [1, -1, -1.0, 3, 4])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_powers_have_numpys_zeros(dtype: str, exponent: float, policy: str) -> None:
    z = numpy.array([complex(a, b) for a in PARTS for b in PARTS], dtype)
    with numpy.errstate(all="ignore"):
        want = z**exponent
    with np.config(execution=policy):
        got = numpy.asarray(np.array(z) ** exponent)
    numpy.testing.assert_allclose(got, want, rtol=1e-6)
    for part in ("real", "imag"):
        a, b = getattr(want, part), getattr(got, part)
        known = ~numpy.isnan(a)
        assert (numpy.signbit(a) == numpy.signbit(b))[known].all()
