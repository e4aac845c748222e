"""Special cases of complex elementwise functions, from the standard's text.

A row is one sentence: conditions on the real part `a` and the imaginary part `b` (keys of
`special_real.CONDITIONS`), and the two parts of the result. A result is a number, or `ANY_SIGN(v)`
where the standard leaves the sign open, or a function of (a, b). The first row that applies counts.
Rows apply to b >= +0. For negative b the standard says `f(conj(z)) = conj(f(z))`, and for negative
`a`, in odd functions, `f(-z) = -f(z)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from array_api_tests.special_real import CONDITIONS

inf, nan, pi = math.inf, math.nan, math.pi


class AnySign(NamedTuple):
    """Only the magnitude counts; the sign is open."""

    magnitude: float


_ZERO, _INF = AnySign(0.0), AnySign(inf)
Part = float | AnySign | Callable[[float, float], float] | None  # None: unspecified
Row = tuple[str, str, Part, Part]


def _times_cos(v: float) -> Callable[[float, float], float]:
    return lambda a, b: v * math.cos(b)


def _times_sin(v: float) -> Callable[[float, float], float]:
    return lambda a, b: v * math.sin(b)


_ACOS: list[Row] = [
    ("±0", "+0", pi / 2, -0.0), ("±0", "nan", pi / 2, nan), ("finite", "+inf", pi / 2, -inf),
    ("nonzero finite", "nan", nan, nan), ("-inf", "positive finite", pi, -inf),
    ("+inf", "positive finite", 0.0, -inf), ("-inf", "+inf", 3 * pi / 4, -inf),
    ("+inf", "+inf", pi / 4, -inf), ("±inf", "nan", nan, _INF), ("nan", "finite", nan, nan),
    ("nan", "+inf", nan, -inf), ("nan", "nan", nan, nan),
]  # fmt: skip
_ACOSH: list[Row] = [
    ("±0", "+0", 0.0, pi / 2), ("finite", "+inf", inf, pi / 2), ("nonzero finite", "nan", nan, nan),
    ("+0", "nan", nan, AnySign(pi / 2)), ("-inf", "positive finite", inf, pi),
    ("+inf", "positive finite", inf, 0.0), ("-inf", "+inf", inf, 3 * pi / 4),
    ("+inf", "+inf", inf, pi / 4), ("±inf", "nan", inf, nan), ("nan", "finite", nan, nan),
    ("nan", "+inf", inf, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_ASINH: list[Row] = [
    ("+0", "+0", 0.0, 0.0), ("positive finite", "+inf", inf, pi / 2), ("finite", "nan", nan, nan),
    ("+inf", "positive finite", inf, 0.0), ("+inf", "+inf", inf, pi / 4),
    ("nan", "+0", nan, 0.0), ("nan", "nonzero finite", nan, nan), ("nan", "+inf", _INF, nan),
    ("nan", "nan", nan, nan),
]  # fmt: skip
_ATANH: list[Row] = [
    ("+0", "+0", 0.0, 0.0), ("+0", "nan", 0.0, nan), ("1", "+0", inf, 0.0),
    ("positive finite", "+inf", 0.0, pi / 2), ("nonzero finite", "nan", nan, nan),
    ("+inf", "positive finite", 0.0, pi / 2), ("+inf", "+inf", 0.0, pi / 2),
    ("+inf", "nan", 0.0, nan), ("nan", "finite", nan, nan), ("nan", "+inf", _ZERO, pi / 2),
    ("nan", "nan", nan, nan),
]  # fmt: skip
_COSH: list[Row] = [
    ("+0", "+0", 1.0, 0.0), ("+0", "+inf", nan, _ZERO), ("+0", "nan", nan, _ZERO),
    ("nonzero finite", "+inf", nan, nan), ("nonzero finite", "nan", nan, nan),
    ("+inf", "+0", inf, 0.0),
    ("+inf", "nonzero finite", _times_cos(inf), _times_sin(inf)),
    ("+inf", "+inf", _INF, nan), ("+inf", "nan", inf, nan), ("nan", "±0", nan, _ZERO),
    ("nan", "nonzero finite", nan, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_EXP: list[Row] = [
    ("±0", "+0", 1.0, 0.0), ("finite", "+inf", nan, nan), ("finite", "nan", nan, nan),
    ("+inf", "+0", inf, 0.0), ("-inf", "finite", _times_cos(0.0), _times_sin(0.0)),
    ("+inf", "nonzero finite", _times_cos(inf), _times_sin(inf)), ("-inf", "+inf", _ZERO, _ZERO),
    ("+inf", "+inf", _INF, nan), ("-inf", "nan", _ZERO, _ZERO), ("+inf", "nan", _INF, nan),
    ("nan", "+0", nan, 0.0), ("nan", "≠0", nan, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_EXPM1: list[Row] = [
    ("±0", "+0", _ZERO, 0.0), ("finite", "+inf", nan, nan), ("finite", "nan", nan, nan),
    ("+inf", "+0", inf, 0.0), ("-inf", "finite", -1.0, _times_sin(0.0)),
    ("+inf", "nonzero finite", _times_cos(inf), _times_sin(inf)), ("-inf", "+inf", -1.0, _ZERO),
    ("+inf", "+inf", _INF, nan), ("-inf", "nan", -1.0, _ZERO), ("+inf", "nan", _INF, nan),
    ("nan", "+0", nan, 0.0), ("nan", "≠0", nan, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_LOG_AT_INFINITY: list[Row] = [
    ("finite", "+inf", inf, pi / 2), ("finite", "nan", nan, nan),
    ("-inf", "positive finite", inf, pi), ("+inf", "positive finite", inf, 0.0),
    ("-inf", "+inf", inf, 3 * pi / 4), ("+inf", "+inf", inf, pi / 4), ("±inf", "nan", inf, nan),
    ("nan", "finite", nan, nan), ("nan", "+inf", inf, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_LOG: list[Row] = [("-0", "+0", -inf, pi), ("+0", "+0", -inf, 0.0), *_LOG_AT_INFINITY]
_LOG1P: list[Row] = [("-1", "+0", -inf, 0.0), *_LOG_AT_INFINITY]
_SINH: list[Row] = [
    ("+0", "+0", 0.0, 0.0), ("+0", "+inf", _ZERO, nan), ("+0", "nan", _ZERO, nan),
    ("positive finite", "+inf", nan, nan), ("positive finite", "nan", nan, nan),
    ("+inf", "+0", inf, 0.0), ("+inf", "positive finite", _times_cos(inf), _times_sin(inf)),
    ("+inf", "+inf", _INF, nan), ("+inf", "nan", _INF, nan), ("nan", "+0", nan, 0.0),
    ("nan", "nonzero finite", nan, nan), ("nan", "nan", nan, nan),
]  # fmt: skip
_SQRT: list[Row] = [
    ("±0", "+0", 0.0, 0.0), ("any", "+inf", inf, inf), ("finite", "nan", nan, nan),
    ("-inf", "positive finite", 0.0, inf), ("+inf", "positive finite", inf, 0.0),
    ("-inf", "nan", nan, _INF), ("+inf", "nan", inf, nan), ("nan", "any", nan, nan),
]  # fmt: skip
_TANH: list[Row] = [
    ("+0", "+0", 0.0, 0.0), ("nonzero finite", "+inf", nan, nan), ("+0", "+inf", 0.0, nan),
    ("nonzero finite", "nan", nan, nan), ("+0", "nan", 0.0, nan),
    ("+inf", "positive finite", 1.0, 0.0),
    ("+inf", "+inf", 1.0, _ZERO), ("+inf", "nan", 1.0, _ZERO), ("nan", "+0", nan, 0.0),
    ("nan", "≠0", nan, nan), ("nan", "nan", nan, nan),
]  # fmt: skip

ROWS = {
    "acos": _ACOS, "acosh": _ACOSH, "asinh": _ASINH, "atanh": _ATANH, "cosh": _COSH, "exp": _EXP,
    "expm1": _EXPM1, "log": _LOG, "log1p": _LOG1P, "sinh": _SINH, "sqrt": _SQRT, "tanh": _TANH,
}  # fmt: skip
ODD = ("asinh", "atanh", "sinh", "tanh")
EVEN = ("cosh",)

Expected = tuple[Any, Any]


def _negated(part: Any) -> Any:
    return part if part is None or isinstance(part, AnySign) else -part


def _from_rows(rows: list[Row], a: float, b: float) -> Expected | None:
    for of_a, of_b, re, im in rows:
        if CONDITIONS[of_a](a) and CONDITIONS[of_b](b):
            return re(a, b) if callable(re) else re, im(a, b) if callable(im) else im
    return None


def _direct(name: str, a: float, b: float) -> Expected | None:
    """The result that the rows give for (a, b), for its conjugate, or in the other half of the
    plane.
    """
    rows = ROWS[name]
    below = math.copysign(1, b) < 0
    found = None if below else _from_rows(rows, a, b)
    if below and (mirrored := _from_rows(rows, a, -b)) is not None:
        found = mirrored[0], _negated(mirrored[1])
    if found is not None or name not in ODD + EVEN or not math.copysign(1, a) < 0:
        return found
    other = _direct(name, -a, -b)
    if other is None or name in EVEN:
        return other
    return _negated(other[0]), _negated(other[1])


def _rotated(name: str, a: float, b: float) -> Expected | None:
    """`-1j * f(z * 1j)`."""
    found = _direct(name, -b, a)
    return None if found is None else (found[1], _negated(found[0]))


def _scaled(base: float, a: float, b: float) -> Expected | None:
    found = _direct("log", a, b)
    return None if found is None else (found[0] / math.log(base), found[1] / math.log(base))


EXPECTED: dict[str, Callable[[float, float], Expected | None]] = {
    **{name: (lambda a, b, name=name: _direct(name, a, b)) for name in ROWS},
    "asin": lambda a, b: _rotated("asinh", a, b),
    "atan": lambda a, b: _rotated("atanh", a, b),
    "sin": lambda a, b: _rotated("sinh", a, b),
    "tan": lambda a, b: _rotated("tanh", a, b),
    "cos": lambda a, b: _direct("cosh", -b, a),  # `cosh(z * 1j)`
    "log2": lambda a, b: _scaled(2, a, b),
    "log10": lambda a, b: _scaled(10, a, b),
}

POOL = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0)
