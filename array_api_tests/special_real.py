"""Special cases of real-valued elementwise functions, from the standard's text.

A row is one sentence: conditions on the operands, and the result. The first row that applies
counts. Conditions are the keys of `CONDITIONS`; results are those of `RESULTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

inf, nan, pi = math.inf, math.nan, math.pi


def _negative(x: float) -> bool:
    return math.copysign(1.0, x) < 0


def _odd(x: float) -> bool:
    return math.isfinite(x) and x % 2 == 1


# -0.0 equals 0.0, so signs of zeros have names of their own
CONDITIONS: dict[str, Callable[[float], bool]] = {
    "any": lambda x: True,
    "nan": math.isnan,
    "+nan": lambda x: math.isnan(x) and not _negative(x),
    "-nan": lambda x: math.isnan(x) and _negative(x),
    "not nan": lambda x: not math.isnan(x),
    "+inf": lambda x: x == inf,
    "-inf": lambda x: x == -inf,
    "±inf": math.isinf,
    "+0": lambda x: x == 0 and not _negative(x),
    "-0": lambda x: x == 0 and _negative(x),
    "±0": lambda x: x == 0,
    "≠0": lambda x: x != 0,
    ">0": lambda x: x > 0,
    "<0": lambda x: x < 0,
    ">1": lambda x: x > 1,
    "<1": lambda x: x < 1,
    "<-1": lambda x: x < -1,
    "1": lambda x: x == 1,
    "-1": lambda x: x == -1,
    "≠1": lambda x: x != 1,
    "|x|>1": lambda x: abs(x) > 1,
    "|x|=1": lambda x: abs(x) == 1,
    "|x|<1": lambda x: abs(x) < 1,
    "finite": math.isfinite,
    "finite or nan": lambda x: not math.isinf(x),
    "nonzero finite": lambda x: math.isfinite(x) and x != 0,
    "positive finite": lambda x: math.isfinite(x) and x > 0,
    "negative finite": lambda x: math.isfinite(x) and x < 0,
    "finite, no integer": lambda x: math.isfinite(x) and x != int(x),
    "integer-valued": lambda x: math.isfinite(x) and x == int(x),
    ">0 and odd": lambda x: x > 0 and _odd(x),
    ">0 and not odd": lambda x: x > 0 and not _odd(x),
    "<0 and odd": lambda x: x < 0 and _odd(x),
    "<0 and not odd": lambda x: x < 0 and not _odd(x),
}

RESULTS: dict[str, Callable[..., Any]] = {
    "nan": lambda *x: nan,
    "+nan": lambda *x: math.copysign(nan, 1.0),
    "-nan": lambda *x: math.copysign(nan, -1.0),
    "+inf": lambda *x: inf,
    "-inf": lambda *x: -inf,
    "+0": lambda *x: 0.0,
    "-0": lambda *x: -0.0,
    "1": lambda *x: 1.0,
    "-1": lambda *x: -1.0,
    "π": lambda *x: pi,
    "-π": lambda *x: -pi,
    "π/2": lambda *x: pi / 2,
    "-π/2": lambda *x: -pi / 2,
    "π/4": lambda *x: pi / 4,
    "-π/4": lambda *x: -pi / 4,
    "3π/4": lambda *x: 3 * pi / 4,
    "-3π/4": lambda *x: -3 * pi / 4,
    "x1": lambda x1, *x2: x1,
    "x2": lambda x1, x2: x2,
    "|x1|": lambda x1, *x2: abs(x1),
    "|x2|": lambda x1, x2: abs(x2),
    "-|x1|": lambda x1, *x2: -abs(x1),
    "True": lambda *x: True,
    "False": lambda *x: False,
    "even": lambda x1: float(round(x1)),  # Python rounds halves to even
    "x1 == x2": lambda x1, x2: x1 == x2,
    "x1 != x2": lambda x1, x2: x1 != x2,
    "x1 % x2": lambda x1, x2: x1 % x2,
}
# "0" has either sign; "positive" and "negative" require only the sign
SIGNS = {"positive": 1.0, "negative": -1.0}

_ROUNDING = [
    ("integer-valued", "x1"), ("+inf", "+inf"), ("-inf", "-inf"), ("+0", "+0"), ("-0", "-0"),
    ("nan", "nan"),
]  # fmt: skip
_ODD = [("nan", "nan"), ("+0", "+0"), ("-0", "-0")]
_LOG = [("nan", "nan"), ("<0", "nan"), ("±0", "-inf"), ("1", "+0"), ("+inf", "+inf")]

UNARY: dict[str, list[tuple[str, str]]] = {
    "abs": [("nan", "nan"), ("-0", "+0"), ("-inf", "+inf")],
    "acos": [("nan", "nan"), (">1", "nan"), ("<-1", "nan"), ("1", "+0")],
    "acosh": [("nan", "nan"), ("<1", "nan"), ("1", "+0"), ("+inf", "+inf")],
    "asin": [("nan", "nan"), (">1", "nan"), ("<-1", "nan"), ("+0", "+0"), ("-0", "-0")],
    "asinh": [*_ODD, ("+inf", "+inf"), ("-inf", "-inf")],
    "atan": [*_ODD, ("+inf", "π/2"), ("-inf", "-π/2")],
    "atanh": [
        ("nan", "nan"), ("<-1", "nan"), (">1", "nan"), ("-1", "-inf"), ("1", "+inf"),
        ("+0", "+0"), ("-0", "-0"),
    ],
    "ceil": _ROUNDING,
    "cos": [("nan", "nan"), ("+0", "1"), ("-0", "1"), ("+inf", "nan"), ("-inf", "nan")],
    "cosh": [("nan", "nan"), ("+0", "1"), ("-0", "1"), ("+inf", "+inf"), ("-inf", "+inf")],
    "exp": [("nan", "nan"), ("+0", "1"), ("-0", "1"), ("+inf", "+inf"), ("-inf", "+0")],
    "expm1": [*_ODD, ("+inf", "+inf"), ("-inf", "-1")],
    "floor": _ROUNDING,
    "isfinite": [("±inf", "False"), ("nan", "False"), ("finite", "True")],
    "isinf": [("±inf", "True"), ("any", "False")],
    "isnan": [("nan", "True"), ("any", "False")],
    "log": _LOG,
    "log1p": [
        ("nan", "nan"), ("<-1", "nan"), ("-1", "-inf"), ("-0", "-0"), ("+0", "+0"),
        ("+inf", "+inf"),
    ],
    "log2": _LOG,
    "log10": _LOG,
    "reciprocal": [  # like 1.0 / x
        ("nan", "nan"), ("+0", "+inf"), ("-0", "-inf"), ("+inf", "+0"), ("-inf", "-0"),
    ],
    "round": [*_ROUNDING, ("finite", "even")],
    "sign": [("<0", "-1"), ("±0", "0"), (">0", "1"), ("nan", "nan")],
    "signbit": [
        ("+0", "False"), ("-0", "True"), ("+inf", "False"), ("-inf", "True"),
        ("positive finite", "False"), ("negative finite", "True"), ("+nan", "False"),
        ("-nan", "True"),
    ],
    "sin": [*_ODD, ("±inf", "nan")],
    "sinh": [*_ODD, ("+inf", "+inf"), ("-inf", "-inf")],
    "sqrt": [("nan", "nan"), ("<0", "nan"), ("+0", "+0"), ("-0", "-0"), ("+inf", "+inf")],
    "square": [("nan", "nan"), ("±inf", "+inf"), ("±0", "+0")],  # like x * x
    "tan": [*_ODD, ("±inf", "nan")],
    "tanh": [*_ODD, ("+inf", "1"), ("-inf", "-1")],
    "trunc": _ROUNDING,
}  # fmt: skip

_NAN = [("nan", "any", "nan"), ("any", "nan", "nan")]
_QUOTIENT = [
    *_NAN, ("±inf", "±inf", "nan"), ("±0", "±0", "nan"),
    ("+0", ">0", "+0"), ("-0", ">0", "-0"), ("+0", "<0", "-0"), ("-0", "<0", "+0"),
    (">0", "+0", "+inf"), (">0", "-0", "-inf"), ("<0", "+0", "-inf"), ("<0", "-0", "+inf"),
    ("+inf", "positive finite", "+inf"), ("+inf", "negative finite", "-inf"),
    ("-inf", "positive finite", "-inf"), ("-inf", "negative finite", "+inf"),
    ("positive finite", "+inf", "+0"), ("positive finite", "-inf", "-0"),
    ("negative finite", "+inf", "-0"), ("negative finite", "-inf", "+0"),
    ("positive finite", "positive finite", "positive"),
    ("negative finite", "negative finite", "positive"),
    ("positive finite", "negative finite", "negative"),
    ("negative finite", "positive finite", "negative"),
]  # fmt: skip
_SUM = [
    *_NAN, ("+inf", "-inf", "nan"), ("-inf", "+inf", "nan"), ("+inf", "+inf", "+inf"),
    ("-inf", "-inf", "-inf"), ("+inf", "finite", "+inf"), ("-inf", "finite", "-inf"),
    ("finite", "+inf", "+inf"), ("finite", "-inf", "-inf"), ("-0", "-0", "-0"),
    ("-0", "+0", "+0"), ("+0", "-0", "+0"), ("+0", "+0", "+0"),
    ("±0", "nonzero finite", "x2"), ("nonzero finite", "±0", "x1"),
]  # fmt: skip
_MIRROR = {"+inf": "-inf", "-inf": "+inf", "+0": "-0", "-0": "+0", "x2": "-x2"}
RESULTS["-x2"] = lambda x1, x2: -x2

BINARY: dict[str, list[tuple[str, str, str]]] = {
    "add": _SUM,
    "subtract": [(a, _MIRROR.get(b, b), _MIRROR[r] if r == "x2" else r) for a, b, r in _SUM],
    "atan2": [
        *_NAN, ("positive finite", "+0", "π/2"), ("positive finite", "-0", "π/2"),
        ("+0", ">0", "+0"), ("+0", "+0", "+0"), ("+0", "-0", "π"), ("+0", "<0", "π"),
        ("-0", ">0", "-0"), ("-0", "+0", "-0"), ("-0", "-0", "-π"), ("-0", "<0", "-π"),
        ("negative finite", "+0", "-π/2"), ("negative finite", "-0", "-π/2"),
        ("positive finite", "+inf", "+0"), ("positive finite", "-inf", "π"),
        ("negative finite", "+inf", "-0"), ("negative finite", "-inf", "-π"),
        ("+inf", "finite", "π/2"), ("-inf", "finite", "-π/2"), ("+inf", "+inf", "π/4"),
        ("+inf", "-inf", "3π/4"), ("-inf", "+inf", "-π/4"), ("-inf", "-inf", "-3π/4"),
    ],
    "copysign": [
        ("not nan", "<0", "-|x1|"), ("not nan", "-0", "-|x1|"), ("not nan", "+0", "|x1|"),
        ("not nan", ">0", "|x1|"), ("not nan", "-nan", "-|x1|"), ("not nan", "+nan", "|x1|"),
        ("nan", "<0", "-nan"), ("nan", "-0", "-nan"), ("nan", "+0", "+nan"),
        ("nan", ">0", "+nan"), ("nan", "-nan", "-nan"), ("nan", "+nan", "+nan"),
    ],
    "divide": _QUOTIENT,
    "equal": [
        ("nan", "any", "False"), ("any", "nan", "False"), ("+inf", "+inf", "True"),
        ("-inf", "-inf", "True"), ("±0", "±0", "True"), ("±inf", "any", "False"),
        ("any", "±inf", "False"), ("finite", "finite", "x1 == x2"),
    ],
    "floor_divide": _QUOTIENT,
    "hypot": [
        ("±inf", "any", "+inf"), ("any", "±inf", "+inf"), ("±0", "any", "|x2|"),
        ("any", "±0", "|x1|"), ("finite or nan", "nan", "nan"), ("nan", "finite or nan", "nan"),
    ],
    "logaddexp": [*_NAN, ("+inf", "not nan", "+inf"), ("not nan", "+inf", "+inf")],
    "maximum": _NAN,
    "minimum": _NAN,
    "multiply": [
        *_NAN, ("±inf", "±0", "nan"), ("±0", "±inf", "nan"),
        ("+inf", ">0", "+inf"), ("+inf", "<0", "-inf"), ("-inf", ">0", "-inf"),
        ("-inf", "<0", "+inf"), (">0", "+inf", "+inf"), ("<0", "+inf", "-inf"),
        (">0", "-inf", "-inf"), ("<0", "-inf", "+inf"),
        ("+0", "+0", "+0"), ("+0", "-0", "-0"), ("-0", "+0", "-0"), ("-0", "-0", "+0"),
        ("+0", ">0", "+0"), ("+0", "<0", "-0"), ("-0", ">0", "-0"), ("-0", "<0", "+0"),
        (">0", "+0", "+0"), ("<0", "+0", "-0"), (">0", "-0", "-0"), ("<0", "-0", "+0"),
        (">0", ">0", "positive"), ("<0", "<0", "positive"), (">0", "<0", "negative"),
        ("<0", ">0", "negative"),
    ],
    "nextafter": [*_NAN, ("-0", "+0", "+0"), ("+0", "-0", "-0")],
    "not_equal": [
        ("nan", "any", "True"), ("any", "nan", "True"), ("+inf", "-inf", "True"),
        ("-inf", "+inf", "True"), ("+inf", "+inf", "False"), ("-inf", "-inf", "False"),
        ("±0", "±0", "False"), ("finite", "finite", "x1 != x2"),
    ],
    "pow": [
        ("any", "±0", "1"), ("1", "not nan", "1"), ("≠1", "nan", "nan"), ("nan", "≠0", "nan"),
        ("|x|>1", "+inf", "+inf"), ("|x|>1", "-inf", "+0"), ("|x|=1", "+inf", "1"),
        ("|x|=1", "-inf", "1"), ("|x|<1", "+inf", "+0"), ("|x|<1", "-inf", "+inf"),
        ("+inf", ">0", "+inf"), ("+inf", "<0", "+0"), ("-inf", ">0 and odd", "-inf"),
        ("-inf", ">0 and not odd", "+inf"), ("-inf", "<0 and odd", "-0"),
        ("-inf", "<0 and not odd", "+0"), ("+0", ">0", "+0"), ("+0", "<0", "+inf"),
        ("-0", ">0 and odd", "-0"), ("-0", ">0 and not odd", "+0"),
        ("-0", "<0 and odd", "-inf"), ("-0", "<0 and not odd", "+inf"),
        ("negative finite", "finite, no integer", "nan"),
    ],
    "remainder": [
        *_NAN, ("±inf", "±inf", "nan"), ("±0", "±0", "nan"), ("+0", ">0", "+0"),
        ("-0", ">0", "+0"), ("+0", "<0", "-0"), ("-0", "<0", "-0"), (">0", "+0", "nan"),
        (">0", "-0", "nan"), ("<0", "+0", "nan"), ("<0", "-0", "nan"),
        ("+inf", "positive finite", "nan"), ("+inf", "negative finite", "nan"),
        ("-inf", "positive finite", "nan"), ("-inf", "negative finite", "nan"),
        ("positive finite", "+inf", "x1"), ("positive finite", "-inf", "x2"),
        ("negative finite", "+inf", "x2"), ("negative finite", "-inf", "x1"),
        ("finite", "finite", "x1 % x2"),  # "must match that of the Python % operator"
    ],
}  # fmt: skip

POOL = (
    nan, -nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, 2.5,
    -2.5, 7.0, -7.0, 0.1, -0.1, 1e-30, -1e-30, 1e30, -1e30,
)  # fmt: skip
SUBNORMAL = (1e-40, -1e-40, 1e-310, -1e-310, 5e-324, -5e-324)  # for float32; for float64
