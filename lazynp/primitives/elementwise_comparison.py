"""Comparisons, logic, predicates of floats; select. Results are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import SCALAR_DTYPES, Aval, In, aval_of
from lazynp._cost import MEMORY_BOUND
from lazynp._primitive import Primitive
from lazynp.primitives.elementwise_casts import cast
from lazynp.primitives.elementwise_emit import (
    BOOL,
    as_bits,
    is_,
    is_inf,
    is_nan,
    kind,
    magnitude,
    parts,
)
from lazynp.primitives.elementwise_factory import (
    batch_of,
    enter,
    linear,
    made_explicit,
    row,
    same_shape,
)

_MIRRORED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


# -- comparisons -----------------------------------------------------------------------------------


def complex_compare(b: Any, z: Any, w: Any, direction: str) -> Any:
    """Compare real parts first, then imaginary parts; unordered where an imaginary part is nan."""
    if direction in ("GT", "GE"):
        return complex_compare(b, w, z, _MIRRORED[direction])
    (x, y), (u, v) = parts(b, z), parts(b, w)
    if direction == "EQ":
        return b.and_(b.compare(x, u, "EQ"), b.compare(y, v, "EQ"))
    if direction == "NE":
        return b.or_(b.compare(x, u, "NE"), b.compare(y, v, "NE"))
    ordered = b.not_(b.or_(is_nan(b, y), is_nan(b, v)))
    first = b.and_(b.compare(x, u, "LT"), ordered)
    tie = b.and_(b.compare(x, u, "EQ"), b.compare(y, v, direction))
    return b.or_(first, tie)


def _mixed_compare(b: Any, x: Any, y: Any, direction: str) -> Any:
    """Compare int64 with uint64 by value."""
    if kind(x) == "u":
        return _mixed_compare(b, y, x, _MIRRORED[direction])
    result = b.compare(b.convert(x, y.aval.dtype), y, direction)
    negative = b.constant(direction in ("LT", "LE", "NE"), BOOL, x.aval.shape)
    return b.select(is_(b, x, "LT", 0), negative, result)


def _comparison(name: str, direction: str) -> Primitive:
    def lower(b: Any, x: Any, y: Any) -> Any:
        if kind(x) == "c":
            return complex_compare(b, x, y, direction)
        if x.aval.dtype != y.aval.dtype:
            return _mixed_compare(b, x, y, direction)
        return b.compare(x, y, direction)

    return row(name, lower, cost=MEMORY_BOUND)


equal = _comparison("equal", "EQ")
not_equal = _comparison("not_equal", "NE")
less = _comparison("less", "LT")
less_equal = _comparison("less_equal", "LE")
greater = _comparison("greater", "GT")
greater_equal = _comparison("greater_equal", "GE")


# -- logic -----------------------------------------------------------------------------------------


def _logical(name: str, op: str) -> Primitive:
    def lower(b: Any, *xs: Any) -> Any:
        truths = [cast(b, x, BOOL) for x in xs]
        return b.op("stablehlo." + op, *truths, out=truths[0].aval)

    return row(name, lower, cost=MEMORY_BOUND)


logical_and = _logical("logical_and", "and")
logical_or = _logical("logical_or", "or")
logical_xor = _logical("logical_xor", "xor")
logical_not = _logical("logical_not", "not")


# -- predicates of floats --------------------------------------------------------------------------


def _question(name: str, ask: Callable[..., Any], of_integers: bool, join: str) -> Primitive:
    """A predicate of floats. For complex numbers it joins both parts; integers have one fixed
    answer.
    """

    def lower(b: Any, x: Any) -> Any:
        if kind(x) == "f":
            return ask(b, x)
        if kind(x) == "c":
            re, im = parts(b, x)
            return b.binary("stablehlo." + join, ask(b, re), ask(b, im))
        return b.constant(of_integers, BOOL, x.aval.shape)

    return row(name, lower, cost=MEMORY_BOUND)


def _is_finite(b: Any, x: Any) -> Any:
    return is_(b, magnitude(b, x), "LT", np.inf)


def _signbit(b: Any, x: Any) -> Any:
    return is_(b, as_bits(b, x, signed=True), "LT", 0)


isnan = _question("isnan", is_nan, False, "or")
isinf = _question("isinf", is_inf, False, "or")
isfinite = _question("isfinite", _is_finite, True, "and")
signbit = row("signbit", _signbit, cost=MEMORY_BOUND)


# -- select ----------------------------------------------------------------------------------------


def _select_abstract(c: Aval, x: Aval, y: Aval) -> Aval:
    shape = same_shape("select", (c, x, y))
    if c.dtype != BOOL or x.dtype != y.dtype:
        raise TypeError(
            f"select: a bool and two operands of one dtype are required, got {c} {x} {y}"
        )
    return aval_of(shape, x.dtype, x.weak and y.weak)


def _result_type(ins: Sequence[In]) -> np.dtype[Any]:
    """`np.result_type`; Python scalars are weak."""
    zeros = {"i": 0, "f": 0.0, "c": 0j}
    known: list[Any] = []
    for i in ins:
        if isinstance(i, Aval):
            known.append(zeros.get(i.dtype.kind, i.dtype) if i.weak else i.dtype)
        else:
            known.append(SCALAR_DTYPES[bool] if i is bool else i())
    return np.result_type(*known)


def _select_explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
    dtype = _result_type(ins[1:])
    c, x, y = made_explicit(ins, (BOOL, dtype, dtype))
    avals = [i for i in ins[1:] if isinstance(i, Aval)]
    if not c.shape and avals and all([a.weak for a in avals]):  # numbers that jit traces
        x = y = aval_of((), dtype, True)
    return c, x, y


def _select_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    c, x, y = primals
    _, gx, gy = tangents
    ans = select(c, x, y)
    if (gx is None and gy is None) or ans.dtype.kind not in "fc":
        return ans, None
    return ans, select(c, 0.0 if gx is None else gx, 0.0 if gy is None else gy)


def _select_reference(c: Any, x: Any, y: Any) -> Any:
    return np.where(c, x, y)


def _select_inplace(c: Any, x: Any, y: Any) -> Any:
    np.copyto(y, x, where=c)
    return y


def _lower_select(b: Any, c: Any, x: Any, y: Any) -> Any:
    return b.select(c, x, y)


select = enter(
    Primitive(
        name="select",
        abstract=_select_abstract,
        explicit=_select_explicit,
        reference=_select_reference,
        inplace=_select_inplace,
        overwrites=2,
        lower=_lower_select,
        jvp=_select_jvp,
        transpose=linear(
            None,
            lambda ct, c, x, y: select(c, ct, like_zero(ct)),
            lambda ct, c, x, y: select(c, like_zero(ct), ct),
        ),
        batch=batch_of(lambda: select),
        kind="elementwise",
        cost=(1.0, 0.2),
    )
)


def like_zero(ct: Any) -> Any:
    """A weak zero, which preserves the dtype of ct."""
    return {"c": 0j, "f": 0.0}.get(ct.dtype.kind, 0)
