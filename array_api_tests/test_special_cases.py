"""Special cases: every sentence of the standard, for every floating-point dtype.

Subnormal numbers are included, except where XLA computes, which flushes them on the host:
"conforming implementations may vary in their support for subnormal numbers".
"""

from __future__ import annotations

import itertools
import math
import operator as operator_module
from typing import Any

import numpy as np
import pytest

from array_api_tests import special_complex, special_real
from array_api_tests.operators import BINARY, OPERATORS, REFLECTED, UNARY, UNARY_OPERATORS
from array_api_tests.support import COMPLEX, FLOATS, FLUSHES, host, make, tolerance, xp

SIGN_OF_RESULT = special_real.SIGNS
VALUES = special_real.POOL + (() if FLUSHES else special_real.SUBNORMAL)


def _wrong(got: Any, wanted: Any, rtol: float) -> bool:
    """Whether a real number differs from the expected result, including the sign of zeros and
    NaNs.
    """
    if wanted is None:
        return False
    if wanted in SIGN_OF_RESULT:
        return not math.isnan(got) and math.copysign(1, got) != SIGN_OF_RESULT[wanted]
    if isinstance(wanted, special_complex.AnySign):
        got, wanted = abs(got), wanted.magnitude
    if math.isnan(wanted) or math.isinf(wanted):
        return not (math.isnan(got) if math.isnan(wanted) else got == wanted)
    if wanted == 0:
        return not (got == 0 and math.copysign(1, got) == math.copysign(1, wanted))
    return not abs(got - wanted) <= rtol * abs(wanted)


def _report(wrong: list[str]) -> None:
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong[:12])


def _real_result(token: str, *operands: float) -> Any:
    if token in SIGN_OF_RESULT:
        return token
    if token == "0":
        return special_complex.AnySign(0.0)
    wanted = special_real.RESULTS[token](*operands)
    return special_complex.AnySign(0.0) if token == "even" and not wanted else wanted


def _wrong_real(token: str, got: Any, operands: tuple[float, ...], rtol: float) -> bool:
    wanted = _real_result(token, *operands)
    if isinstance(wanted, bool):
        return bool(got) is not wanted
    if token in ("+nan", "-nan"):
        return not math.isnan(got) or math.copysign(1, got) != math.copysign(1, wanted)
    return _wrong(float(got), wanted, rtol)


def _rounded(values: tuple[float, ...], name: str) -> list[float]:
    return np.asarray(values, name).astype("float64").tolist()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", special_real.UNARY)
def test_unary(function: str, name: str) -> None:
    values = _rounded(VALUES, name)
    got = host(getattr(xp, function)(make(np.asarray(values, name)))).tolist()
    wrong = []
    for x, y in zip(values, got):
        for condition, token in special_real.UNARY[function]:
            if special_real.CONDITIONS[condition](x):
                if _wrong_real(token, y, (x,), tolerance(name)):
                    wrong.append(f"{function}({x}) is {y}; if x is {condition}: {token}")
                break
    _report(wrong)


def _binary_cases(function: str, name: str) -> Any:
    values = _rounded(VALUES, name)
    first, second = zip(*itertools.product(values, values))
    got = getattr(xp, function)(make(np.asarray(first, name)), make(np.asarray(second, name)))
    return first, second, host(got).tolist()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", special_real.BINARY)
def test_binary(function: str, name: str) -> None:
    wrong = []
    for x1, x2, y in zip(*_binary_cases(function, name)):
        for if_1, if_2, token in special_real.BINARY[function]:
            if special_real.CONDITIONS[if_1](x1) and special_real.CONDITIONS[if_2](x2):
                if _wrong_real(token, y, (x1, x2), tolerance(name)):
                    wrong.append(f"{function}({x1}, {x2}) is {y}; {if_1}, {if_2}: {token}")
                break
    _report(wrong)


@pytest.mark.parametrize("name", FLOATS)
def test_opposites_cancel(name: str) -> None:
    """ "If x1_i is a nonzero finite number and x2_i is -x1_i, the result is +0." """
    values = [v for v in _rounded(VALUES, name) if math.isfinite(v) and v]
    x, opposite = (make(np.asarray([s * v for v in values], name)) for s in (1, -1))
    for zero in (host(xp.add(x, opposite)), host(xp.subtract(x, x))):
        assert not zero.any() and not np.signbit(zero).any()


@pytest.mark.parametrize("name", FLOATS)
def test_hypot_knows_no_signs(name: str) -> None:
    """ "hypot(x1, x2) must equal hypot(x2, x1), hypot(x1, -x2), hypot(-x1, x2), ..." """
    first, second, _ = _binary_cases("hypot", name)
    x1, x2 = np.asarray(first, name), np.asarray(second, name)
    wanted = host(xp.hypot(make(x1), make(x2)))
    for a, b in ((x2, x1), (x1, -x2), (-x1, x2), (-x1, -x2)):
        np.testing.assert_array_equal(host(xp.hypot(make(a), make(b))), wanted)


def _plane(name: str) -> list[complex]:
    values = special_complex.POOL
    return [complex(a, b) for a, b in itertools.product(values, values)]


def _at(function: str, points: list[complex], name: str) -> list[Any]:
    return host(getattr(xp, function)(make(np.asarray(points, name)))).tolist()


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", special_complex.EXPECTED)
def test_complex_unary(function: str, name: str) -> None:
    points = _plane(name)
    wrong = []
    for z, w in zip(points, _at(function, points, name)):
        wanted = special_complex.EXPECTED[function](z.real, z.imag)
        if wanted is None:
            continue
        rtol = tolerance(name)
        if _wrong(w.real, wanted[0], rtol) or _wrong(w.imag, wanted[1], rtol):
            wrong.append(f"{function}({z}) is {w}, not {wanted}")
    _report(wrong)


_CONJUGATE = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "exp", "expm1", "log",
              "log1p", "log2", "log10", "sinh", "sqrt", "tanh")  # fmt: skip


def _same(v: float, w: float, rtol: float) -> bool:
    if math.isnan(v) or math.isnan(w):
        return math.isnan(v) and math.isnan(w)
    return v == w or abs(v - w) <= rtol * max(abs(v), abs(w), 1e-10)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", _CONJUGATE)
def test_conjugate_symmetry(function: str, name: str) -> None:
    """ "For complex floating-point operands, f(conj(x)) must equal conj(f(x))." """
    points = [z for z in _plane(name) if z == z]
    mirrored = [z.conjugate() for z in points]
    rtol = tolerance(name)
    wrong = []
    for z, w, m in zip(points, _at(function, points, name), _at(function, mirrored, name)):
        if not (_same(w.real, m.real, rtol) and _same(w.imag, -m.imag, rtol)):
            wrong.append(f"{function}({z}) is {w}, {function} of the conjugate is {m}")
    _report(wrong)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", special_complex.ODD + special_complex.EVEN)
def test_reflection(function: str, name: str) -> None:
    """ "f(-x) must equal -f(x)" for the odd functions; for cosh, f(x)."""
    sign = 1.0 if function in special_complex.EVEN else -1.0
    points = [z for z in _plane(name) if z == z and not math.isinf(z.imag)]
    rtol = tolerance(name)
    wrong = []
    for z, w, m in zip(
        points, _at(function, points, name), _at(function, [-z for z in points], name)
    ):
        if not (_same(w.real, sign * m.real, rtol) and _same(w.imag, sign * m.imag, rtol)):
            wrong.append(f"{function}({z}) is {w}, {function}(-z) is {m}")
    _report(wrong)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_abs(name: str) -> None:
    points = _plane(name)
    for z, got in zip(points, _at("abs", points, name)):
        wanted = math.hypot(z.real, z.imag)  # the standard gives the cases of hypot
        assert not _wrong(got, wanted, tolerance(name)), (z, got, wanted)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", ["isfinite", "isinf", "isnan"])
def test_complex_predicates(function: str, name: str) -> None:
    one = getattr(math, function)
    join = all if function == "isfinite" else any
    points = _plane(name)
    for z, got in zip(points, _at(function, points, name)):
        assert got is join((one(z.real), one(z.imag))), z


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_sign(name: str) -> None:
    points = _plane(name)
    for z, got in zip(points, _at("sign", points, name)):
        if z == 0:
            assert got == 0
        elif z != z:
            assert math.isnan(got.real) and math.isnan(got.imag), (z, got)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_round(name: str) -> None:
    """ "real and imaginary components must be independently rounded" """
    parts = [*special_complex.POOL, 1.5, 2.5, -1.5]
    points = [complex(a, b) for a in parts for b in parts]
    for z, got in zip(points, _at("round", points, name)):
        for part, wanted in ((got.real, z.real), (got.imag, z.imag)):
            even = float(round(wanted)) if math.isfinite(wanted) else wanted
            assert not _wrong(part, math.copysign(even, wanted), 0), (z, got)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", ["add", "subtract"])
def test_complex_sums(function: str, name: str) -> None:
    """ "special cases must independently apply to the real and imaginary component" """
    values = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -2.0)
    points = [complex(a, b) for a in values for b in values]
    first, second = zip(*itertools.product(points, points))
    got = getattr(xp, function)(make(np.asarray(first, name)), make(np.asarray(second, name)))
    sign = 1 if function == "add" else -1
    for z, w, y in zip(first, second, host(got).tolist()):
        assert not _wrong(y.real, z.real + sign * w.real, 0), (z, w, y)
        assert not _wrong(y.imag, z.imag + sign * w.imag, 0), (z, w, y)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", ["equal", "not_equal"])
def test_complex_comparisons(function: str, name: str) -> None:
    points = _plane(name)
    first, second = zip(*itertools.product(points, points))
    got = getattr(xp, function)(make(np.asarray(first, name)), make(np.asarray(second, name)))
    wanted = [(z == w) is (function == "equal") for z, w in zip(first, second)]
    assert host(got).tolist() == wanted


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("function", ["multiply", "divide"])
def test_complex_products_of_nan(function: str, name: str) -> None:
    """ "If a, b, c, and d are all NaN, the result is NaN + NaN j." """
    z = make(np.asarray([complex(math.nan, math.nan)], name))
    (got,) = host(getattr(xp, function)(z, z)).tolist()
    assert math.isnan(got.real) and math.isnan(got.imag)


@pytest.mark.parametrize("name", FLOATS)
def test_nan_propagates_in_clip(name: str) -> None:
    x = make(np.asarray([math.nan, 1.0, 1.0, 2.0], name))
    low = make(np.asarray([0.0, math.nan, 0.0, 0.0], name))
    high = make(np.asarray([3.0, 3.0, math.nan, 3.0], name))
    got = host(xp.clip(x, low, high)).tolist()
    assert [math.isnan(v) for v in got] == [True, True, True, False]


def _of_floats(operators: dict[str, str], functions: Any) -> list[str]:
    return [o for o, name in operators.items() if "float64" in functions[name].dtypes]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("operator", _of_floats(OPERATORS, BINARY))
def test_operators(operator: str, name: str) -> None:
    """ "Element-wise results, including special cases, must equal" those of the function.

    Except `//` with infinities: for floor_divide the standard says that "libraries may return"
    Python's results there, and array classes that are NumPy's too do so.
    """
    function = OPERATORS[operator]
    values = _rounded(VALUES, name)
    pairs = list(itertools.product(values, values))
    if function == "floor_divide":
        pairs = [p for p in pairs if not any(map(math.isinf, p))]
    x1, x2 = (np.asarray(v, name) for v in zip(*pairs))
    wanted = host(getattr(xp, function)(make(x1), make(x2)))
    by_operator = getattr(make(x1), operator)(make(x2))
    results = [by_operator]
    if operator in REFLECTED:
        results.append(getattr(make(x2), f"__r{operator.strip('_')}__")(make(x1)))
    for got in map(host, results):
        np.testing.assert_array_equal(got, wanted)
        if got.dtype.kind == "f":
            zero = wanted == 0
            np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(wanted[zero]))


_IN_PLACE = [o for o in _of_floats(OPERATORS, BINARY) if o in REFLECTED]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("operator", _IN_PLACE)
def test_in_place_operators(operator: str, name: str) -> None:
    """The in-place operator gives the values of the operator."""
    values = _rounded(VALUES, name)
    x1, x2 = (np.asarray(v, name) for v in zip(*itertools.product(values, values)))
    wanted = host(getattr(make(x1), operator)(make(x2)))
    x = make(x1)
    x = getattr(operator_module, f"i{operator.strip('_')}")(x, make(x2))
    np.testing.assert_array_equal(host(x), wanted)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("operator", _of_floats(UNARY_OPERATORS, UNARY))
def test_unary_operators(operator: str, name: str) -> None:
    function = UNARY_OPERATORS[operator]
    x = make(np.asarray(VALUES, name))
    got, wanted = host(getattr(x, operator)()), host(getattr(xp, function)(x))
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
