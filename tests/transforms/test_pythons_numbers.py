"""Builtins and functions of `math`, of traced numbers: Python's values, types and errors."""

from __future__ import annotations

import math
import sys
from math import sqrt
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms.control._numbers import OF_TRACED
from tests.promoting import front, promoting

INF, NAN = float("inf"), float("nan")
VALUES = [
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 3.5, -2.5, 1e-300, 1e300, -1e300, 710.0, -750.0, 2.0**63,
    INF, -INF, NAN, 0, 3, -7, True,
]  # fmt: skip
ONE = [
    f for f in OF_TRACED
    if getattr(f, "__module__", "") == "math" and f not in (math.atan2, math.pow, math.fmod,
                                                            math.copysign)
]  # fmt: skip
TWO = [math.atan2, math.pow, math.fmod, math.copysign, math.hypot, math.log]


def outcome(f: Any, *args: Any) -> Any:
    """The result as a number of Python's, or the class of the exception."""
    try:
        out = f(*args)
    except Exception as error:
        return type(error)
    return out.item() if isinstance(out, np.Scalar) else out


def assert_same(got: Any, want: Any, what: Any) -> None:
    if isinstance(want, type) or isinstance(got, type):
        assert got is want, what
        return
    assert type(got) is type(want), what
    if want != want:
        assert got != got, what
        return
    small = 1e-307  # programs know no denormal numbers
    assert got == want or abs(got - want) <= 4e-16 * abs(want) + small, what
    assert math.copysign(1, got) == math.copysign(1, want), what


@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
def test_functions_of_one_number(function: Any) -> None:
    staged = np.jit(lambda x: function(x))
    for x in VALUES:
        want = outcome(function, x)
        large = type(want) is int and not -(2**63) <= want < 2**63
        assert_same(outcome(staged, x), OverflowError if large else want, x)


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_functions_of_two_numbers(function: Any) -> None:
    staged = np.jit(lambda x, y: function(x, y))
    for x in VALUES:
        for y in VALUES:
            assert_same(outcome(staged, x, y), outcome(function, x, y), (x, y))


@pytest.mark.parametrize("dtype", "?bBhHiIlLefd")
def test_numbers_of_numpys(dtype: str) -> None:
    """They give floats of Python's, of 64 bits."""
    x = numpy.array([1, 0, 1], dtype) if dtype == "?" else numpy.array([1, 2, 3], dtype)
    staged = np.jit(lambda a: [math.sqrt(a[2]), sqrt(a[1]), math.atan2(a[0], 2), math.floor(a[2])])
    got = staged(np.asarray(x))
    want = [math.sqrt(x[2]), sqrt(x[1]), math.atan2(x[0], 2), math.floor(x[2])]
    for g, w in zip(got, want, strict=True):
        assert_same(g.item(), w, dtype)


def test_what_math_refuses_is_refused() -> None:
    for x in (np.ones(3), np.ones(2) * 1j, np.ones(3, dtype=complex)[0]):
        with pytest.raises(TypeError):
            np.jit(lambda a: math.sqrt(a))(x)
    with pytest.raises(TypeError):
        np.jit(lambda a: math.sqrt(a, a))(2.0)


def test_they_have_derivatives() -> None:
    f = np.jit(lambda x: math.sin(x) * math.sqrt(x) + math.exp(-x) + math.hypot(x, 2.0))
    got = float(np.grad(f)(0.7))
    want = (
        math.cos(0.7) * math.sqrt(0.7) + math.sin(0.7) / (2 * math.sqrt(0.7)) - math.exp(-0.7)
        + 0.7 / math.hypot(0.7, 2.0)
    )  # fmt: skip
    assert abs(got - want) < 1e-14


def test_a_loop_calls_them() -> None:
    def f(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            r = math.sqrt(x[i] ** 2 + 1.0)
            total += math.exp(-r) + math.atan2(r, i + 1) + abs(r - 2.0)
            total += divmod(i, 3)[1] + x[math.ceil(r)]
            total += round(r)
            total += math.floor(r)
        return total

    x = numpy.linspace(-3, 3, 40)
    assert abs(float(np.jit(f)(np.asarray(x), 40)) - f(x, 40)) < 1e-12
    assert len(np.jit(f).trace(np.asarray(x), 40).eqns) < 20  # one loop


def test_an_error_in_a_loop_names_the_line() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(20):
            total += math.log(x[i])
        return total

    with pytest.raises(ValueError, match="math domain error"):
        np.jit(f)(np.arange(20.0))
    assert abs(float(np.jit(f)(np.arange(20.0) + 1)) - f(numpy.arange(20.0) + 1)) < 1e-12


# -- builtins --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [abs, round, int, float, bool, math.trunc, lambda x: sum([x, x, 1])]
)
def test_builtins_of_one_number(function: Any) -> None:
    def f(x: Any) -> Any:
        if True:
            return function(x)

    for x in (0.5, -1.5, 2.5, 3.7, -0.0, NAN, INF, 1e300, 4, -3, 0):
        want = outcome(function, x)
        if type(want) is int and not -(2**63) <= want < 2**63:
            want = OverflowError
        got = outcome(np.jit(f), x)
        if isinstance(want, type):
            assert got is want, x
        else:
            assert got == want or want != want and got != got, (x, got, want)


# -- hot functions ---------------------------------------------------------------------------------


def hot_sum(x: Any, t: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = s + math.sqrt(t) * float(x[i]) + math.exp(-t) + math.floor(t) + abs(t) + round(t)
        s += divmod(s, 3.0)[1] + pow(t, 2) + sum([s, t]) * 1e-3 + max(t, s) + sqrt(n)
    return s


def hot_log(x: Any, t: Any) -> Any:
    s = 0.0
    for i in range(12):
        s += math.log(float(x[i])) + math.log(t, 10)
    return s


@pytest.mark.own_policy
def test_a_hot_function_calls_them() -> None:
    """The numbers that they are given vary: one program serves all."""
    with promoting():
        hot = front(hot_sum)
        for k in range(8):
            got, want = hot_sum(np.arange(9.0), 1.5 + k / 8, 9), hot.plain(
                numpy.arange(9.0), 1.5 + k / 8, 9)  # fmt: skip
            assert type(got) is float and abs(got - want) < 1e-12 * abs(want)
        # later versions of Python compensate for rounding in `sum`
        assert hot.programs == (sys.version_info < (3, 12)), hot.explained()


@pytest.mark.own_policy
@pytest.mark.parametrize("x, t", [(0.0, 2.0), (1.0, -1.0), (1.0, 0.0), (-INF, 2.0)])
def test_a_hot_function_raises_pythons_error(x: float, t: float) -> None:
    with promoting():
        hot = front(hot_log)
        for k in range(8):
            hot_log(np.arange(12.0) + 1, 1.5 + k)
        assert hot.programs == 1, hot.explained()
        bad = np.arange(12.0) + 1
        bad[11] = x
        with pytest.raises(ValueError) as got:
            hot_log(bad, t)
        with pytest.raises(ValueError) as want:
            hot.plain(bad, t)
        assert str(got.value) == str(want.value)
        assert got.traceback[-1].lineno == want.traceback[-1].lineno


def test_complex_of_real_numbers() -> None:
    def f(x: Any, y: Any) -> Any:
        total = 0.0
        for k in range(12):
            total = total + x[k]
        z = complex(x[0], y[0])
        w = complex(x[1])
        v = complex(3, y[2]) * complex(x[2], 2)
        return [z, w, v, z * w + v, abs(z), complex(total), complex(2, 1), w.imag]

    x, y = numpy.arange(-2.0, 4.0, 0.5), numpy.array([-0.0, 0.5, 7.0])
    for got, want in zip(np.jit(f)(np.array(x), np.array(y)), f(x, y), strict=True):
        assert complex(got) == complex(want)
        assert numpy.asarray(got).dtype == numpy.asarray(want).dtype


def test_escape_times_by_pythons_complex_numbers() -> None:
    def escapes(n: int, rounds: int) -> Any:
        out = np.zeros((n, n), dtype=np.int32)
        for i in range(n):
            for j in range(n):
                c = complex(-2 + 3 * j / n, -1.5 + 3 * i / n)
                z = 0j
                k = 0
                for k in range(rounds):  # noqa: B007
                    if abs(z) > 2:
                        break
                    z = z * z + c
                out[i, j] = k
        return out

    assert numpy.array_equal(np.jit(escapes)(12, 20), escapes(12, 20))


def counts_arrays(x):
    return any(x > 1) + any(x > 0) + all(x > -9) * 5


def counts_lists(x):
    return any([x[0] > 0, x[1] > 0]) + any([x[2] > -9]) + all((x[0] > -9, True))


def counts_bools(x):
    return bool(x[0] > -9) + bool(x[1] > -9) - -bool(x[2] > -9)


def counts_generators(x):
    return any(v > 0 for v in x) + any(v > -9 for v in x) + (all(v > -9 for v in x) - 1)


def _is_large(v):
    return v > -9


def picks_by_a_bool(x):
    return [10, 20, 30][any(x > -9)] + any(map(_is_large, x)) + True


def counts_in_a_loop(x):
    n = 0
    for i in range(1, len(x)):
        n += any(x[:i] > 1) + all(x[:i] > -2) + bool(x[i] > 0)
    return n


@pytest.mark.parametrize(
    "f",
    [
        counts_arrays, counts_lists, counts_bools, counts_generators, picks_by_a_bool,
        counts_in_a_loop,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_truths_are_bools_of_python_which_add_up(f: Any) -> None:
    for n in (5, 20):
        x = numpy.random.default_rng(n).normal(size=n)
        assert int(np.jit(f)(np.array(x))) == f(x)


def test_ints_that_the_data_decide_do_not_unroll_loops() -> None:
    """Products that may have more than 64 bits are checked: unrolled, no more would be known."""

    def cells(x):
        g, found = 5, np.zeros(25, int)
        for i in range(len(x)):
            found[int(x[i] * g) * g + int(x[-i] * g)] += 1
        return found

    x = numpy.random.default_rng(0).uniform(size=30)
    jitted = np.jit(cells)
    numpy.testing.assert_array_equal(jitted(np.array(x)), cells(x))
    assert "unrolled" not in str(np.explain(jitted))
    with pytest.raises(OverflowError, match="more than 64 bits"):
        jitted(np.array(x * 2.0**60))


# -- ints ------------------------------------------------------------------------------------------

INTS = [0, 1, -1, 12, -18, 35, 2**31, 3037000499**2, 3037000499**2 - 1, 2**62, 2**63 - 1, True]


def test_gcd_and_lcm() -> None:
    gcd, lcm = np.jit(lambda a, b: math.gcd(a, b)), np.jit(lambda a, b: math.lcm(a, b))
    for a in INTS:
        assert_same(outcome(np.jit(lambda x: math.gcd(x)), a), math.gcd(a), a)
        for b in INTS:
            assert_same(outcome(gcd, a, b), math.gcd(a, b), (a, b))
            want = math.lcm(a, b)
            large = float(want) >= 2.0**63
            assert_same(outcome(lcm, a, b), OverflowError if large else want, (a, b))
    of_three = np.jit(lambda x: (math.gcd(x[0], 12, x[1]), math.lcm(x[0], x[1], 10)))
    assert list(map(int, of_three(np.array([18, 30])))) == [6, 90]


def test_isqrt() -> None:
    root = np.jit(lambda x: math.isqrt(x))
    for x in [*INTS, -7, 2**52 + 1, 94906267**2, 94906267**2 - 1]:
        assert_same(outcome(root, x), outcome(math.isqrt, x), x)


def test_isclose() -> None:
    near = np.jit(lambda a, b: math.isclose(a, b))
    far = np.jit(lambda a, b, t: math.isclose(a, b, rel_tol=t, abs_tol=0.3))
    numbers = [x for x in VALUES if type(x) is not bool]
    for a in numbers:
        for b in (*numbers, a * (1 + 1e-10), a + 0.2):
            assert_same(outcome(near, a, b), math.isclose(a, b), (a, b))
            want = math.isclose(a, b, rel_tol=0.1, abs_tol=0.3)
            assert_same(outcome(far, a, b, 0.1), want, (a, b))
    assert outcome(far, 1.0, 2.0, -1.0) is ValueError


# -- division --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["divide", "floor", "remainder", "both", "in_place", "branches"])
def test_ints_divided_by_zero(name: str) -> None:
    """Python raises an error where NumPy's integers only warn."""

    def divide(x: Any) -> Any:
        return sum(1 / int(v) for v in x)

    def floor(x: Any) -> Any:
        return sum(100 // int(x[i]) for i in range(len(x)))

    def remainder(x: Any) -> Any:
        return 7 % int(x[5]) if x[0] > 0 else 1

    def both(x: Any) -> Any:
        q, r = divmod(100, int(x[5]))
        return q - r

    def in_place(x: Any) -> Any:
        t = 10**9
        for v in x:
            t //= int(v)
        return t

    def branches(x: Any) -> Any:
        t = 0
        for v in x:
            k = int(v)
            t += 100 // k if k else 5
            if k != 0 and 10 % k == 1:
                t += 1000
        return t

    function, x = locals()[name], numpy.array([3, -2, 5, 7, 1, 9, -4, 3, 12, -8])
    zero = x.copy()
    zero[5] = 0
    jitted = np.jit(function)
    assert_same(outcome(jitted, np.array(x)), outcome(function, x), name)
    for case in (x, zero):
        try:
            want = function(case)
        except ZeroDivisionError as error:
            with pytest.raises(ZeroDivisionError) as raised:
                jitted(np.array(case))
            assert str(raised.value) == str(error)
        else:
            assert_same(outcome(jitted, np.array(case)), want, name)


def test_division_by_what_is_not_zero_has_no_check() -> None:
    def f(x: Any) -> Any:
        t = 0
        for i in range(1, 100):
            t += int(x[i % 10]) // i
        return t

    x = np.arange(10)
    assert "ZeroDivisionError" not in str(np.make_jaxpr(np.jit(f))(x))
    assert int(np.jit(f)(x)) == f(numpy.arange(10))
