"""Arithmetic between scalars with available values, against NumPy's own scalars."""

import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Scalar
from lazynp._recorder import local

DTYPES = "?bhilqBHILQefdFD"
VALUES = {"?": (True, False), "F": (2 - 1j, -0.5j), "D": (2 - 1j, -0.5j)}
UNSIGNED, SIGNED, FLOATS = (3, 250), (-7, 100), (-2.5, 1e4)
OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
    "rshift", "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip


def values_of(char: str) -> tuple[Any, ...]:
    kind = numpy.dtype(char).kind
    found = VALUES.get(char) or (UNSIGNED if kind == "u" else SIGNED if kind == "i" else FLOATS)
    return tuple(numpy.dtype(char).type(v) for v in found)


def lazy(value: Any) -> Any:
    """A Scalar with an available value, such as an element of an array."""
    out = np.array(numpy.array([value]))[0]
    assert type(out) is Scalar
    return out


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """The value and its dtype, or the exception, with its message where it is about values."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = f(*args)
    except Exception as e:
        return type(e).__name__, "" if isinstance(e, TypeError) else str(e)
    value = numpy.asarray(result)
    return value.dtype.str, value.tobytes()


def named(name: str) -> Callable[..., Any]:
    return getattr(operator, f"__{name}__")


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("char", DTYPES)
def test_operators_with_every_dtype(char: str, name: str) -> None:
    f = named(name)
    for x in values_of(char):
        for y in (v for other in DTYPES for v in values_of(other)):
            want = outcome(f, x, y)
            assert outcome(f, lazy(x), lazy(y)) == want, (x, y)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("char", DTYPES)
def test_operators_with_pythons_numbers(char: str, name: str) -> None:
    f = named(name)
    for x in values_of(char):
        for y in (2, -3, 0, 300, 2**70, 0.5, -0.0, float("inf"), True, 1j):
            assert outcome(f, lazy(x), y) == outcome(f, x, y), (x, y)
            assert outcome(f, y, lazy(x)) == outcome(f, y, x), (y, x)


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
@pytest.mark.parametrize("char", DTYPES)
def test_unary_operators(char: str, name: str) -> None:
    for x in values_of(char):
        assert outcome(named(name), lazy(x)) == outcome(named(name), x)


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index, round])
def test_conversions(char: str, convert: Callable[..., Any]) -> None:
    for x in values_of(char):
        want, got = outcome(convert, x), outcome(convert, lazy(x))
        # NumPy's messages name its own classes
        assert got[0] == want[0] if isinstance(want[1], str) else got == want


def test_op_equals_rebinds() -> None:
    x = y = lazy(numpy.float64(2.0))
    y += 1
    y *= 3.0
    assert (float(x), float(y), type(y)) == (2.0, 9.0, Scalar)


def test_nothing_is_recorded_and_numpys_warnings_are_given() -> None:
    before, said = len(local.recorder.pending), []
    for x in (numpy.float64(1e308), lazy(numpy.float64(1e308))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = (x * 10.0 - x * 10.0) / (x - x)
        assert numpy.isnan(float(y))
        said.append([(str(w.message), w.filename, w.lineno) for w in caught])
    assert len(local.recorder.pending) == before
    assert said[0] == said[1] and len(said[0]) == 3


def test_what_errstate_asks_for() -> None:
    x = lazy(numpy.float64(1e308))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        x * 10.0
    with numpy.errstate(over="ignore"):
        assert float(x * 10.0) == numpy.inf
    with np.config(debug_nans=True), pytest.raises(FloatingPointError):
        np.materialize((x - x) / (x - x))


def test_scalars_of_a_transformation_go_the_other_way() -> None:
    x = lazy(numpy.float64(3.0))
    assert float(np.grad(lambda y: x * y * y + x)(2.0)) == 12.0
    assert float(np.jit(lambda y: -(x - y) * x)(np.array(1.0)[()])) == -6.0
    assert np.vmap(lambda y: x * y - x)(np.arange(3.0)).tolist() == [-3.0, 0.0, 3.0]


def test_several_threads_at_once() -> None:
    wrong: list[float] = []

    def work(k: int) -> None:
        x = lazy(numpy.float64(k))
        for i in range(2000):
            if float(x * i + k) != k * i + k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- as indices ------------------------------------------------------------------------------------


def test_scalars_are_indices() -> None:
    host = numpy.arange(24.0).reshape(4, 6)
    x, i, j = np.array(host), lazy(numpy.int64(-1)), lazy(numpy.uint8(2))
    for index in (
        lambda i, j: i, lambda i, j: (i, j), lambda i, j: (j, 0), lambda i, j: slice(i),
        lambda i, j: (slice(j, None), i), lambda i, j: (..., j), lambda i, j: (None, j, i),
        lambda i, j: (j, slice(0, None, j)),
    ):  # fmt: skip
        where, plain = index(i, j), index(-1, 2)
        assert x[where].tolist() == host[plain].tolist()
        y, z = x.copy(), host.copy()
        y[where], z[plain] = 5.0, 5.0
        assert y.tolist() == z.tolist()
    with pytest.raises(IndexError, match="out of bounds"):
        x[lazy(numpy.int64(9))]
    with pytest.raises(IndexError):
        x[lazy(numpy.float64(1.0))]
    assert x[lazy(numpy.True_)].shape == (1, 4, 6)
