"""Slots as operands: scalars are cast as NumPy casts them, and packed without loss."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy
import pytest

from lazynp._plan_jaxpr import cast_scalar, packed_scalars

VALUES: list[Any] = [
    0, 1, -1, 3, True, 2.5, -0.0, float("nan"), float("inf"), numpy.int8(-7), numpy.uint8(200),
    numpy.float32(0.1), numpy.float64(1e300), numpy.uint64(2**64 - 1), numpy.complex64(1 - 2j),
]  # fmt: skip
DTYPES = [numpy.dtype(c) for c in "?bhilBHILefdFD"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_a_scalar_is_cast_as_numpy_casts_it(value: Any, dtype: Any) -> None:
    def outcome(cast: Any) -> Any:
        try:
            return cast()
        except (OverflowError, ValueError, TypeError) as error:
            return type(error)

    plain = type(value) in (bool, int, float, complex)
    want = outcome(lambda: dtype.type(value) if plain else value.astype(dtype))
    got = outcome(lambda: cast_scalar(value, dtype))
    assert type(got) is type(want)
    assert got is want or numpy.array(got).tobytes() == numpy.array(want).tobytes()


@pytest.mark.parametrize(
    ("kind", "dtypes", "values"),
    [
        ("f", "defd", [0.1, 65504.0, numpy.float32(0.1), -0.0]),
        ("i", "lbBL?", [-(2**63), -7, 255, 2**64 - 1, True]),
        ("c", "DF", [1e300 - 2j, numpy.complex64(1 - 2j)]),
    ],
)
def test_packing_loses_nothing(kind: str, dtypes: str, values: list[Any]) -> None:
    types = [numpy.dtype(c) for c in dtypes]
    vector = packed_scalars(kind, values, types)
    assert vector.dtype == {"f": "f8", "i": "i8", "c": "c16"}[kind]
    for packed, value, dtype in zip(vector, values, types, strict=True):
        assert packed.astype(dtype) == cast_scalar(value, dtype)


VARYING = """
import numpy
import lazynp as np
np.config(execution="compiled")
x = np.asarray(numpy.arange(4, dtype="f4"))
for k in range(6):
    if k == 2:
        before = np.stats().compiles
    want = numpy.arange(4, dtype="f4") * (k + 0.5) + numpy.arange(3)[:, None]
    numpy.testing.assert_array_equal(x * (k + 0.5) + numpy.arange(3)[:, None], want)
assert np.stats().compiles == before
"""  # in a process of its own: what other tests have recorded may be flushed within the expression


def test_a_slot_that_varies_is_an_operand() -> None:
    """Casts and broadcasts are equations, and the program is compiled once for all values."""
    done = subprocess.run([sys.executable, "-c", VARYING], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
