"""Powers, `divmod`, and casts of one number: arrays and numbers of every kind, as NumPy has them.

Each is asked for three times, as what was met before takes another way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

NUMBERS = [
    0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.0, 1e300, numpy.nan, numpy.inf, 2j, True, 10**20, 2**63,
    numpy.float64(2), numpy.float64(-1), numpy.int8(3), numpy.uint8(200), numpy.float32(1.5),
    numpy.bool_(True), numpy.complex64(1j), numpy.int64(-1),
]  # fmt: skip
DTYPES = "?bBhHiIlLefdFD"
SHAPES: dict[str, Callable[[Any], Any]] = {
    "five": lambda a: a,
    "none": lambda a: a[:0],
    "a scalar": lambda a: a[2],
    "no axes": lambda a: a[2:3].reshape(()),
    "by columns": lambda a: (a[:, None] * a[None, :]).astype(a.dtype).T,
    "a part": lambda a: a[::-2],
}


def arrays(module: Any, char: str, shape: str) -> list[Any]:
    values = numpy.array([0, 1, 2, 3, 5]).astype(char)
    signed = [values] if char in "?BHIL" else [values, -values]
    return [SHAPES[shape](module.asarray(v.copy())) for v in signed]


def seen(result: Any) -> Any:
    value = numpy.asarray(result)
    return value.dtype, value.shape, isinstance(result, numpy.ndarray | np.ndarray), value


def outcome(function: Any, x: Any, y: Any) -> Any:
    try:
        found = function(x, y)
    except Exception as error:
        return type(error)
    return [seen(r) for r in (found if isinstance(found, tuple) else (found,))]


def check(found: Any, want: Any, what: Any) -> None:
    if isinstance(want, type) or isinstance(found, type):
        assert found is want, what
        return
    for (*kind, value), (*wanted, other) in zip(found, want, strict=True):
        assert kind == wanted, what
        if value.dtype.kind == "c":  # the square root of a number is another function than that
            numpy.testing.assert_allclose(value, other, rtol=1e-6 if value.itemsize == 8 else 1e-14)
        else:
            numpy.testing.assert_array_equal(value, other, str(what))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_powers(char: str, shape: str) -> None:
    if np.config.execution == "compiled":
        pytest.skip("tests/primitives compare compiled powers, within ulps; this is about ways")
    pairs = list(zip(arrays(np, char, shape), arrays(numpy, char, shape), strict=True))
    for name in ("pow", "power"):
        for ours, theirs in pairs:
            for number in NUMBERS * 3:
                for swap in (False, True):
                    found = [
                        outcome(
                            operator.pow if name == "pow" else module.power,
                            *((number, x) if swap else (x, number)),
                        )
                        for module, x in ((np, ours), (numpy, theirs))
                    ]
                    check(*found, (name, char, shape, number, swap))


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_powers_of_two_arrays(other: str) -> None:
    if np.config.execution == "compiled":
        pytest.skip("see above")
    for char in DTYPES:
        for shapes in (("five", "five"), ("a scalar", "five"), ("five", "a scalar"),
                       ("no axes", "five"), ("by columns", "five")):  # fmt: skip
            ours = [arrays(np, c, s)[-1] for c, s in zip((char, other), shapes, strict=True)]
            theirs = [arrays(numpy, c, s)[-1] for c, s in zip((char, other), shapes, strict=True)]
            for _ in range(3):
                found = outcome(operator.pow, *ours), outcome(operator.pow, *theirs)
                check(*found, (char, other, shapes))


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_divmod_of_scalars(char: str) -> None:
    others: list[Callable[[Any], Any]] = [lambda _, n=n: n for n in NUMBERS]
    others += [lambda m, c=c: m.array([0, 1, 5]).astype(c)[2] for c in DTYPES]
    others += [lambda m: m.arange(3), lambda _: "a", lambda _: [1, 2]]
    for ours, theirs in zip(arrays(np, char, "a scalar"), arrays(numpy, char, "a scalar"),
                            strict=True):  # fmt: skip
        for other in others:
            for call in (divmod, lambda x, y: divmod(y, x)):
                found = outcome(call, ours, other(np)), outcome(call, theirs, other(numpy))
                check(*found, (char, other(numpy), call))


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_numpys_types_of_a_scalar(char: str) -> None:
    for shape in ("a scalar", "no axes"):
        for ours, theirs in zip(arrays(np, char, shape), arrays(numpy, char, shape), strict=True):
            for to in DTYPES:
                cast: Any = numpy.dtype(to).type
                want = cast(theirs)
                assert type(cast(ours)) is type(want) and cast(ours) == want
            assert memoryview(ours).format == memoryview(theirs).format
            assert memoryview(ours).readonly and bytes(memoryview(ours)) == theirs.tobytes()
