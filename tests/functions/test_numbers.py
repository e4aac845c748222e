"""Ufuncs of numbers that are not lazy give NumPy's own numbers, at once: floats, where one is
needed.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import struct
import time
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from tests.helpers import pending

UFUNCS = sorted(
    name
    for name, f in vars(numpy).items()
    if isinstance(f, numpy.ufunc) and f.nin <= 2 and f.signature is None and f.__name__ == name
)
NUMBERS: list[Any] = [
    True, False, 0, 3, -2, 2**40, 0.5, -2.5, 0.0, -0.0, math.inf, -math.inf, math.nan, 1 + 2j,
    numpy.float64(0.25), numpy.float32(1.5), numpy.float16(-2), numpy.int8(-3), numpy.uint8(200),
    numpy.int64(5), numpy.uint64(2**63), numpy.bool_(True), numpy.complex64(1 - 1j),
    numpy.longdouble(0.5), numpy.int32(7),
]  # fmt: skip


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives: the values as text (a nan is one), their classes; or the exception's."""
    try:
        with numpy.errstate(all="ignore"):
            result = function(*args)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    results = result if isinstance(result, tuple) else (result,)
    return [(repr(r), type(r)) for r in results]


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc(name: str) -> None:
    theirs, ours, before = getattr(numpy, name), getattr(np, name), list(pending())
    pairs = [(x,) for x in NUMBERS]
    if theirs.nin == 2:
        pairs = [(x, y) for x in NUMBERS for y in (2, 0.5, numpy.float32(3), numpy.int8(2))]
    for args in pairs:
        want = outcome(theirs, *args)
        if want == [] or any(isinstance(x, numpy.longdouble) for x in args):
            continue
        with np.errstate(all="ignore"):
            assert outcome(ours, *args) == want, args
        assert outcome(ours, *args) == want, args
    assert pending() == before


@given(st.floats(), st.floats(), st.sampled_from([n for n in UFUNCS if getattr(numpy, n).nin == 2]))
def test_floats(x: float, y: float, name: str) -> None:
    assert outcome(getattr(np, name), x, y) == outcome(getattr(numpy, name), x, y)


def test_a_number_is_a_float_where_one_is_needed() -> None:
    s = np.sqrt(9.0)
    assert json.dumps({"a": [s]}) == '{"a": [3.0]}'
    assert datetime.timedelta(seconds=s) == datetime.timedelta(seconds=3)
    assert decimal.Decimal(s) == 3 and struct.pack("d", s) == struct.pack("d", 3.0)
    assert f"{s:.3f}" == "3.000" and math.isclose(s, 3.0)
    time.sleep(s / 1e6)


def test_numbers_in_a_series() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.Series([1.0, 4.0]).map(np.sqrt).dtype == float
    assert pandas.Series([1.0, 4.0]).apply(lambda v: np.sqrt(v) + 1).tolist() == [2, 3]
    assert pandas.DataFrame([{"a": np.exp(0.0)}]).dtypes.tolist() == [float]


def test_warnings_are_those_of_the_state() -> None:
    for module in (numpy, np):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
            assert math.isnan(module.log(-1.0))
        with numpy.errstate(all="ignore"):
            assert math.isnan(module.log(-1.0))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="log"):
        np.log(-1.0)
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="invalid value"):
        np.log(-1.0)


def test_a_staged_function_records_them() -> None:
    assert "sin 0.5" in str(np.make_jaxpr(lambda x: x * np.sin(0.5))(1.0))
    assert float(np.grad(lambda x: x * np.sin(0.5))(2.0)) == numpy.sin(0.5)


def test_results_go_into_lazy_operations() -> None:
    x, s = np.arange(3.0), np.sqrt(4.0)
    want = numpy.arange(3.0)
    for got, wanted in (
        (s * x, 2 * want), (x * s, want * 2), (s - x, 2 - want), (s**x, 2**want),
        (s < x, 2 < want), (s == x, 2 == want), (s // (x + 1), 2 // (want + 1)),
    ):  # fmt: skip
        assert isinstance(got, np.ndarray) and got.dtype == wanted.dtype
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", UFUNCS)
def test_what_numpy_asks_for(name: str) -> None:
    """`numpy.f(x)`, the second time by the fast path: recorded and at once, and with numbers."""
    theirs: Any = getattr(numpy, name)
    x, y = numpy.array([0.5, 2.0, 3.0]), numpy.array([1, 2, 3])
    rows: list[tuple[Any, ...]] = [(x,), (y,), (x[0],)]
    if theirs.nin == 2:
        rows = [(x, x), (y, numpy.float64(2)), (2, x), (numpy.int32(2), y), (x[0], x), (x, y[0])]
    for args in rows:
        lazy = [np.array(a) if isinstance(a, numpy.ndarray) else a for a in args]
        if not any(isinstance(a, np.ndarray) for a in lazy):
            lazy = [np.array([a])[0] for a in args]
        want: Any = outcome(lambda *a: listed(theirs(*a)), *args)
        for _ in range(3):
            assert outcome(lambda *a: listed(theirs(*a)), *lazy) == want


def listed(result: Any) -> Any:
    results = result if isinstance(result, tuple) else (result,)
    return [(r.dtype, r.shape, numpy.round(numpy.asarray(r), 12).tolist()) for r in results]


def test_the_users_line_is_recorded() -> None:
    """Also if NumPy comes in between."""
    np.materialize(x := np.arange(200_000.0))
    y = numpy.float64(2) * x
    z = numpy.float64(2) * x
    for node in pending()[-2:]:
        assert node[3] is test_the_users_line_is_recorded.__code__
    assert float(y[3] + z[3]) == 12


def test_what_is_no_ufunc_is_refused() -> None:
    x = np.ones(2)
    for function, method in (([], "__call__"), (numpy.add, "nothing"), (None, "__call__")):
        with pytest.raises((AttributeError, TypeError)):
            x.__array_ufunc__(function, method, x)


def test_an_evaluated_scalar_reads_as_numpys() -> None:
    for dtype in "?bhilqBHILQefdFD":
        x = numpy.arange(3).astype(dtype)
        for want, got in ((x[1], np.array(x)[1]), (x.sum(), np.array(x).sum())):
            for _ in range(2):  # the first may compute it
                assert (hash(got), repr(got), str(got)) == (hash(want), repr(want), str(want))
                assert f"{got}" == f"{want}"
            assert {got: 1} == {want: 1} and got == want and repr(got + got) == repr(want + want)


def test_what_is_traced_is_described() -> None:
    seen = []
    np.make_jaxpr(lambda x: (seen.append((repr(x.sum()), f"{x.sum()}")), x)[1])(np.ones(2))
    assert "traced" in seen[0][0] and seen[0][0] == seen[0][1]
    np.grad(lambda x: (seen.append((repr(x), f"{x:.1f}")), x * x)[1])(2.0)
    assert seen[1] == ("np.float64(2.0)", "2.0")
