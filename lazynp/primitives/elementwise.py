"""The elementwise room: every row, from the modules that hold them.

Each is a primitive whose rules come from a table row: a NumPy ufunc, a lowering, derivative
formulas, a cost (`elementwise_factory`). `ROWS` is the table, and the only list: a row that is
added to one of the modules below needs no second line here. Named as NumPy's ufuncs; beside them

    convert(x; dtype)              select(c, x, y)           complex_(re, im), real, imag
    integer_power(x; exponent)     frexp_mantissa, frexp_exponent
    multiply_no_nan, xdivy         of tangents and factors: 0 * inf is 0
    erf, erfc, erf_inv, ndtr, log_ndtr, ndtri, logistic, logit, xlogy, xlog1py, entr, rel_entr,
    gamma, lgamma, digamma, trigamma, polygamma, zeta, beta, gammainc, gammaincc, bessel_i0, ...

Compositions, for `functions`: divmod (floor_divide, remainder), modf, frexp (the two above).
A negative integer power is for the caller to refuse: it depends on the data.
"""

from __future__ import annotations

# ruff: noqa: F403 - every row, and nothing is used here
from lazynp.primitives.elementwise_arithmetic import *
from lazynp.primitives.elementwise_bessel import *
from lazynp.primitives.elementwise_casts import *
from lazynp.primitives.elementwise_comparison import *
from lazynp.primitives.elementwise_extremes import *
from lazynp.primitives.elementwise_factory import ROWS, Row
from lazynp.primitives.elementwise_gamma import *
from lazynp.primitives.elementwise_incomplete import *
from lazynp.primitives.elementwise_integer import *
from lazynp.primitives.elementwise_rounding import *
from lazynp.primitives.elementwise_special import *
from lazynp.primitives.elementwise_transcendental import *

__all__ = ["ROWS", "Row", *ROWS]
