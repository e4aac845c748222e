"""Operators of single numbers at the ends of their ranges: values, types and errors are NumPy's."""

from __future__ import annotations

import itertools
import math
import operator
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from tests.test_fastpath import calls_of, needs_c, set_eager

INTS = [0, 1, -1, 2, -2, 3, 7, 62, 63, 64, 65, -63, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63),
        1 - 2**63]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 5.5, 1e300, -1e300, 1e-320, math.inf, -math.inf]
NUMBERS = [
    *(("int64", v) for v in INTS),
    *(("float64", v) for v in (*FLOATS, math.nan)),
    *(("bool", v) for v in (True, False)),
    *(("int32", v) for v in (0, 1, -1, -5, 32, 2**31 - 1, -(2**31))),
    *(("uint32", v) for v in (0, 7, 2**32 - 1)),
    *(("int16", v) for v in (0, 3, -(2**15))),
    *(("uint16", v) for v in (0, 2**16 - 1)),
    *(("int8", v) for v in (0, 1, -1, 127, -128)),
    *(("uint8", v) for v in (0, 1, 3, 255)),
    *(("uint64", v) for v in (0, 2**64 - 1)),
    *(("float32", v) for v in (0.0, -1.5, 3e38, math.nan)),
]
PYTHONS = [("", v) for v in (0, 1, -1, 2, -3, 63, 64, 255, 2**64, True, False, 0.0, -2.5, math.inf)]
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.eq, operator.ne, operator.lt, divmod,
]  # fmt: skip
SINGLE: list[Callable[[Any], Any]] = [
    operator.neg, operator.pos, abs, operator.invert, int, float, bool, operator.index, str, repr,
    math.floor, math.ceil, math.trunc,
    lambda x: list(range(10))[x] if x.dtype.kind in "iu" and x < 2**63 else None, lambda x: {x: 1},
    lambda x: hash(x) if x == x else None,
]  # fmt: skip


def made(module: Any, number: tuple[str, Any]) -> Any:
    dtype, value = number
    return module.asarray([value], dtype=dtype)[0] if dtype else value


def told(function: Callable[..., Any], *args: Any) -> Any:
    """The result: its type, dtype and bits; or the error."""
    try:
        out = function(*args)
    except Exception as error:
        return type(error), str(error)
    return [_bits(x) for x in (out if isinstance(out, tuple) else (out,))]


def _bits(x: Any) -> Any:
    if isinstance(x, (numpy.generic, lazynp.Scalar)):
        value = numpy.asarray(x)
        return value.dtype, "nan" if value != value else value.tobytes()
    return type(x), repr(x)


@pytest.mark.parametrize("function", BINARY)
def test_of_two_numbers(function: Callable[..., Any]) -> None:
    pairs = [*itertools.product(NUMBERS, NUMBERS + PYTHONS), *itertools.product(PYTHONS, NUMBERS)]
    with numpy.errstate(all="ignore"):
        for a, b in pairs:
            want = told(function, made(numpy, a), made(numpy, b))
            assert told(function, made(lazynp, a), made(lazynp, b)) == want, (a, b)


@pytest.mark.parametrize("place", range(len(SINGLE)))
def test_of_one_number(place: int) -> None:
    function = SINGLE[place]
    with numpy.errstate(all="ignore"):
        for a in NUMBERS:
            want = told(function, made(numpy, a))
            assert told(function, made(lazynp, a)) == want, a


@pytest.mark.parametrize("function", [operator.mod, operator.floordiv])
def test_remainders_of_any_floats(function: Callable[..., Any]) -> None:
    draw = random.Random(1)
    kinds: list[Callable[[], float]] = [
        lambda: draw.uniform(-1e3, 1e3),
        lambda: draw.gauss(0, 1) * 10.0 ** draw.randint(-300, 300),
        lambda: 0.1 * draw.randint(-100, 100),
    ]
    for _ in range(2000):
        a, b = (("float64", draw.choice(kinds)()) for _ in range(2))
        with numpy.errstate(all="ignore"):
            want = told(function, made(numpy, a), made(numpy, b))
            assert told(function, made(lazynp, a), made(lazynp, b)) == want, (a, b)


# -- complex numbers -------------------------------------------------------------------------------

PARTS = [0.0, -0.0, 1.0, -2.5, 1e-310, 5e-324, 3e200, math.inf, -math.inf, math.nan]
COMPLEX = [("complex128", complex(a, b)) for a in PARTS for b in PARTS]
REAL = [
    *(("float64", v) for v in (*FLOATS, math.nan)), ("int64", -3), ("int64", 2), ("bool", True),
    ("float32", 1.5), ("complex64", 1 - 2j), *PYTHONS, ("", 2j), ("", complex(-0.0, math.inf)),
]  # fmt: skip
OF_COMPLEX: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow,
]  # fmt: skip


def parts(function: Callable[..., Any], module: Any, *numbers: tuple[str, Any]) -> Any:
    """The result: its dtype, and its parts, of which NaNs are all alike; or the error."""
    try:
        out = function(*[made(module, x) for x in numbers])
    except Exception as error:
        return type(error)
    found = numpy.atleast_1d(numpy.asarray(out))
    reals = found.view(found.real.dtype).tolist()
    return found.dtype, ["nan" if x != x else (x, math.copysign(1, x)) for x in reals]


@pytest.mark.parametrize("function", OF_COMPLEX)
def test_of_complex_numbers(function: Callable[..., Any]) -> None:
    others = COMPLEX[::7] + REAL
    pairs = [*itertools.product(COMPLEX, others), *itertools.product(REAL, COMPLEX)]
    with numpy.errstate(all="ignore"):
        for a, b in pairs:
            assert parts(function, lazynp, a, b) == parts(function, numpy, a, b), (a, b)


@pytest.mark.parametrize("function", [operator.eq, operator.ne])
def test_equal_complex_numbers(function: Callable[..., Any]) -> None:
    for a, b in [*itertools.product(COMPLEX, COMPLEX + REAL), *itertools.product(REAL, COMPLEX)]:
        got, want = (function(made(m, a), made(m, b)) for m in (lazynp, numpy))
        assert bool(got) == bool(want), (a, b)


@pytest.mark.parametrize(
    "name", ["negative", "absolute", "conj", "sqrt", "exp", "log", "sin", "tanh", "real", "imag"]
)
def test_functions_of_complex_numbers(name: str) -> None:
    of = {m: getattr(m, name) for m in (numpy, lazynp)}
    operators = {"negative": operator.neg, "absolute": abs, "conj": lambda x: x.conj()}
    with numpy.errstate(all="ignore"):
        for z in COMPLEX:
            assert parts(of[lazynp], lazynp, z) == parts(of[numpy], numpy, z), z
            if name in operators:
                assert parts(operators[name], lazynp, z) == parts(operators[name], numpy, z), z


def test_products_of_any_complex_numbers() -> None:
    draw = random.Random(2)

    def number() -> float:
        return draw.gauss(0, 1) * 10.0 ** draw.randint(-9, 9)

    kinds: list[Callable[[], tuple[str, Any]]] = [
        lambda: ("complex128", complex(number(), number())), lambda: ("float64", number()),
        lambda: ("", number()), lambda: ("complex128", complex(0.0, number())),
    ]  # fmt: skip
    for _ in range(2000):
        z, other = kinds[0](), draw.choice(kinds)()
        for a, b in ((z, other), (other, z)):
            for function in OF_COMPLEX[:4]:
                assert parts(function, lazynp, a, b) == parts(function, numpy, a, b), (a, b)


WIDE = [0, 1, 2, 3, 31, 32, 63, 64, 127, 255, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1]
STATES: list[dict[str, Any]] = [{}, {"over": "ignore"}, {"over": "raise"}, {"divide": "ignore"}]


def heard(function: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        return told(function, *args), [str(it.message) for it in given]


@pytest.mark.parametrize("function", [f for f in BINARY if f is not divmod])
@pytest.mark.parametrize("state", STATES, ids=str)
def test_overflow_of_integers(function: Callable[..., Any], state: dict[str, Any]) -> None:
    for dtype in ("int8", "uint8", "uint32", "int64", "uint64"):
        ends = numpy.iinfo(dtype)
        values = [v for v in (ends.min, *WIDE) if v <= ends.max]
        for a, b in itertools.product(values, repeat=2):
            if function is operator.pow and min(a, b) > 64:
                continue
            with numpy.errstate(**state):
                want = heard(function, *(made(numpy, (dtype, v)) for v in (a, b)))
                got = heard(function, *(made(lazynp, (dtype, v)) for v in (a, b)))
                assert got == want, (dtype, a, b)
                got = heard(function, made(lazynp, (dtype, a)), b)
                assert got == heard(function, made(numpy, (dtype, a)), b), (dtype, a, b)


@needs_c
def test_errors_that_are_ignored_cost_no_call() -> None:
    """Hashes and generators of random numbers let integers overflow all the time."""

    def work() -> None:
        for x in numbers:
            assert x * x + x << 3 ^ ~x >> 1 != x - -x
        assert (large * large).all()

    large = lazynp.full(3, 1e300)
    numbers = [lazynp.array([numpy.iinfo(t).max], dtype=t)[0] for t in ("i1", "u4", "i8", "u8")]
    set_eager(True)
    with numpy.errstate(over="ignore"):
        work()
        assert set(calls_of(work)) <= {"_quiet.py: write"}


UFUNCS = {
    1: ("exp", "log", "sqrt", "sin", "tanh", "cbrt", "log1p", "floor", "absolute", "spacing"),
    2: ("power", "float_power", "copysign", "heaviside", "fmod", "arctan2", "ldexp", "maximum"),
}
OF_UFUNCS = [0.0, -0.0, 1.0, -2.5, 0.5, 3, -1, 2**70, 1e300, math.inf, math.nan]


@needs_c  # without it, powers of a float64 do not warn
@pytest.mark.parametrize("operands", UFUNCS)
@pytest.mark.parametrize("state", ["warn", "raise"])
def test_ufuncs_of_floats_and_float64s(operands: int, state: Any) -> None:
    """Python's floats, and float64s of arrays: results, types, errors and warnings."""
    set_eager(True)

    def of(module: Any, name: str, values: Any, lazy: Any) -> Any:
        args = [made(module, ("float64", v)) if it else v for v, it in zip(values, lazy)]
        with (
            warnings.catch_warnings(record=True) as heard,
            numpy.errstate(all=state, under="ignore"),
        ):
            warnings.simplefilter("always")
            try:
                out: Any = numpy.asarray(getattr(module, name)(*args))
                out = out.dtype, "nan" if numpy.isnan(out) else out.tobytes()
            except Exception as error:
                out = type(error), str(error)
        return out, [str(w.message) for w in heard]

    for name in UFUNCS[operands]:
        for values in itertools.product(OF_UFUNCS, repeat=operands):
            for lazy in itertools.product((False, True), repeat=operands):
                wanted = of(numpy, name, values, lazy)
                assert of(lazynp, name, values, lazy) == wanted, (name, values, lazy)


@needs_c
def test_numbers_and_roots_call_no_function_of_python() -> None:
    set_eager(True)
    x = lazynp.array([1.0, 4.0, 9.0])
    y, table, a = x[1], lazynp.ones((3, 4))[:, ::2], numpy.float64(2)

    def work() -> Any:
        powers = lazynp.power(y, 3), lazynp.power(2.0, y), lazynp.power(y, 2.5), x**0.5
        return powers, lazynp.exp(1.5), table.T**0.5, a < x, a == x, numpy.int64(2) >= x

    work()
    work()
    assert calls_of(work) == []


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "c16"])
def test_roots_have_the_bits_of_numpys(dtype: str) -> None:
    set_eager(True)
    numbers = numpy.random.default_rng(0).normal(size=(40, 50)) * 1e3
    numbers[0, :4] = 0.0, -0.0, math.inf, math.nan
    for part in (lambda v: v, lambda v: v[:, ::3], lambda v: v.T, lambda v: v[::-2, 1:].T):
        with numpy.errstate(all="ignore"):
            wanted = part(numbers.astype(dtype)) ** 0.5
            ours = part(lazynp.array(numbers.astype(dtype))) ** 0.5
        assert ours.dtype == wanted.dtype and ours.strides == wanted.strides
        assert numpy.asarray(ours).tobytes() == wanted.tobytes()
