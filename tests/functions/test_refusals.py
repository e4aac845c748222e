"""What NumPy refuses is refused by its exception, and nothing else is, under each policy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES, fresh_start


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    with np.config(execution=request.param):
        yield request.param


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or which exception."""
    try:
        with numpy.errstate(all="ignore"):
            result = call()
    except Exception as e:
        return type(e).__name__, str(e)
    return getattr(result, "dtype", None), numpy.asarray(result).tolist()


BASES = ["u1", "u4", "u8", "i1", "i8", "?", "f4"]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("exponent", ["u8", "i8", "i1", -1, 3, 300, numpy.int64(-1), 0])
def test_powers_of_integers(base: str, exponent: Any) -> None:
    x = numpy.array([1, 0, 1] if base == "?" else [1, 2, 3]).astype(base)
    y = numpy.array([2, 1, 0], exponent) if isinstance(exponent, str) else exponent
    signs = (1, -1) if isinstance(exponent, str) and exponent != "u8" else (1,)
    for n in [y * sign for sign in signs]:
        m = np.array(n) if isinstance(n, numpy.ndarray) else n
        want = outcome(lambda n=n: x**n), outcome(lambda n=n: numpy.power(x, n))
        got = outcome(lambda m=m: np.array(x) ** m), outcome(lambda m=m: np.power(np.array(x), m))
        assert got == want, n


NAN = float("nan")


@pytest.mark.parametrize("right", [False, True])
def test_bins_with_nan(policy: str, right: bool) -> None:
    x = [0.5, 2.0, NAN, -1.0, 9.0, 0.0, 1.0, 3.0]
    several = list(itertools.product([0.0, 1.0, NAN], repeat=3))
    for bins in [*several, (NAN,), (1.0,), (), (0.0, 1.0, 2.0, NAN), (3.0, 1.0, 1.0, 0.0)]:
        want = outcome(lambda b=bins: numpy.digitize(numpy.array(x), numpy.array(b), right))
        got = outcome(lambda b=bins: np.digitize(np.array(x), np.array(b), right))
        assert got == want, bins


def test_bins_with_nan_in_a_function_that_is_staged() -> None:
    x, bins = numpy.array([0.5, 2.0, -1.0, 9.0]), numpy.array([0.0, 1.0, NAN])
    want = numpy.digitize(x, bins).tolist()
    assert np.jit(np.digitize)(np.array(x), np.array(bins)).tolist() == want
    assert np.jit(lambda x: np.digitize(x, bins))(np.array(x)).tolist() == want
    with pytest.raises(ValueError, match="monotonically"):
        np.jit(np.digitize)(np.array(x), np.array([0.0, 2.0, 1.0])).tolist()
