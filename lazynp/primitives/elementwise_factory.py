"""The factory of elementwise rows: from a NumPy ufunc and a few formulas, a primitive.

The ufunc is the reference and the oracle of promotion: dtypes, and the errors about them, come
from `_ufunc_loops.resolve_dtypes`, which takes Python scalar types as weak (NEP 50).

A formula is the derivative by one operand, `lambda g, ans, x, y: ...`, written with other rows.
Complex functions have the holomorphic derivative; those that are not holomorphic (absolute,
real, imag, conjugate) and all transposes follow JAX: the inner product is `sum(real(a * b))`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import SCALAR_DTYPES, Aval, In, Shape, aval_of
from lazynp._cost import Cost
from lazynp._dataclass import dataclass
from lazynp._extents import broadcast_shapes, same_shape as equal_shapes, shown
from lazynp._primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Missing, Primitive, Rule, Undefined
from lazynp._ufunc_loops import resolve_dtypes

Dtype = np.dtype[Any]
Formula = Callable[..., Any] | None  # None: the derivative with respect to this operand is zero

FLAT = NOT_DIFFERENTIABLE


@dataclass(frozen=True)
class Row:
    """A primitive, and the accuracy that the tests require of it against NumPy.

    `ulp`: 0 means bit for bit. Errors count in units of the last place of the result, or of `scale`
    where the result is smaller (for functions with zeros inside their domain). For complex
    operands, `complex_ulp` and `complex_scale` apply to the modulus of the result.
    """

    primitive: Primitive
    ufunc: Any  # decides promotion
    ulp: float
    complex_ulp: float
    scale: float
    complex_scale: float


ROWS: dict[str, Row] = {}


# -- promotion and shapes --------------------------------------------------------------------------


def _known(i: In) -> Any:
    """An operand in the form for `resolve_dtypes`: a dtype, or a weak Python type."""
    if isinstance(i, Aval):
        return (
            {"i": int, "f": float, "c": complex}.get(i.dtype.kind, i.dtype) if i.weak else i.dtype
        )
    return SCALAR_DTYPES[bool] if i is bool else i


# of bools of Python's, these give ints
_COUNTING = {
    np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.invert, np.power,
    np.floor_divide, np.remainder, np.left_shift, np.right_shift,
}  # fmt: skip


def are_pythons_bools(ins: Sequence[In]) -> bool:
    """Whether all operands are bools of Python's, and some of them are traced."""
    traced = [i.weak and i.dtype.kind == "b" if isinstance(i, Aval) else i is bool for i in ins]
    return all(traced) and any(isinstance(i, Aval) for i in ins)


def loop_dtypes(ufunc: np.ufunc, ins: Sequence[In]) -> tuple[Dtype, ...]:
    """The dtypes of NumPy's loop: operands, then results. Raises as NumPy does."""
    if ufunc in _COUNTING and are_pythons_bools(ins):
        ins = [int for _ in ins]
    known = [_known(i) for i in ins]
    if all(isinstance(k, type) for k in known):  # all weak: treat them as NumPy scalars
        known = [i.dtype if isinstance(i, Aval) else k for i, k in zip(ins, known, strict=True)]
    return resolve_dtypes(ufunc, (*known, *[None] * ufunc.nout))


def common_shape(ins: Sequence[In]) -> Shape:
    """The shape that the operands broadcast to. Raises NumPy's error."""
    shapes = [i.shape if isinstance(i, Aval) else () for i in ins]
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        message = f"operands could not be broadcast together with shapes {shown(shapes)} "
        raise ValueError(message) from None


def made_explicit(ins: Sequence[In], dtypes: Sequence[Dtype]) -> tuple[Aval, ...]:
    """The avals of the operands, cast to these dtypes and broadcast together."""
    shape = common_shape(ins)
    avals = [i for i in ins if isinstance(i, Aval)]
    # Python numbers that jit traces; a ufunc of actual Python numbers gives a NumPy scalar
    weak = not shape and bool(avals) and all([a.weak for a in avals])
    return tuple(
        i
        if isinstance(i, Aval) and equal_shapes(i.shape, shape) and i.dtype == dtype
        else aval_of(shape, dtype, weak)
        for i, dtype in zip(ins, dtypes)
    )


def same_shape(name: str, avals: Sequence[Aval]) -> Shape:
    """The common shape of the operands in a jaxpr."""
    shape = avals[0].shape
    if any(a.shape != shape for a in avals):
        raise TypeError(f"{name}: operands of one shape are required, got {avals}")
    return shape


# -- derived rules ---------------------------------------------------------------------------------


def _abstract(name: str, ufunc: np.ufunc, output: int) -> Rule:
    def abstract(*avals: Aval) -> Aval:
        shape = same_shape(name, avals)
        dtypes = resolve_dtypes(ufunc, (*[a.dtype for a in avals], *[None] * ufunc.nout))
        if any(a.dtype != d for a, d in zip(avals, dtypes)):
            raise TypeError(
                f"{name}: operands of dtypes {dtypes[: len(avals)]} are required, got {avals}"
            )
        weak = all([a.weak for a in avals])  # Python numbers that jit traces
        return aval_of(shape, dtypes[ufunc.nin + output], weak)

    return abstract


_COMPARING = {
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
}  # fmt: skip
_INT = np.dtype(np.int64)


def _exceeds(known: In, dtype: Dtype) -> bool:
    """Whether a traced int of Python's may exceed a dtype that int64 contains: NumPy compares the
    numbers themselves.
    """
    weak = isinstance(known, Aval) and known.weak and known.dtype == _INT
    return weak and dtype.kind in "iu" and dtype.itemsize < 8


def _explicit(ufunc: np.ufunc) -> Rule:
    def explicit(ins: Sequence[In], params: dict[str, Any]) -> tuple[Aval, ...]:
        dtypes = loop_dtypes(ufunc, ins)
        if ufunc in _COMPARING and any(map(_exceeds, ins, dtypes)):
            dtypes = (_INT, _INT)
        return made_explicit(ins, dtypes)

    return explicit


def _inplace(ufunc: np.ufunc) -> Rule:
    def inplace(x: Any, *rest: Any) -> Any:
        return ufunc(x, *rest, out=x)

    return inplace


def jvp_of(primitive: Callable[[], Primitive], formulas: Sequence[Formula]) -> Rule:
    """A jvp rule: the sum of the formulas of the moving operands."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        ans, total = primitive()(*primals, **params), None
        if ans.dtype.kind not in "fc":
            return ans, None
        for formula, g in zip(formulas, tangents):
            if formula is None or g is None:
                continue
            term = formula(g, ans, *primals, **params)
            if term is not None:
                total = term if total is None else ROWS["add"].primitive(total, term)
        return ans, total

    return jvp


def batch_of(primitive: Callable[[], Primitive]) -> Rule:
    """A batch rule: recording broadcasts the unbatched operands against the batched ones."""

    def batch(size: int, batched: Sequence[bool], *operands: Any, **params: Any) -> Any:
        return primitive()(*operands, **params)

    return batch


def linear(*rules: Callable[..., Any] | None) -> Rule:
    """A transpose rule from one function for each operand, `lambda ct, x, y: ...`; the other
    operands are known.
    """

    def transpose(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        return [
            rule(ct, *operands, **params) if isinstance(x, Undefined) and rule is not None else None
            for rule, x in zip(rules, operands)
        ]

    return transpose


# -- rows ------------------------------------------------------------------------------------------


def enter(
    primitive: Primitive,
    ufunc: Any = None,
    ulp: float = 0,
    complex_ulp: float | None = None,
    scale: float = 0.0,
    complex_scale: float = 0.0,
) -> Primitive:
    """Add a primitive to the table."""
    if primitive.cost is None:  # a cost that is forgotten would be none
        raise TypeError(
            f"{primitive.name}: cost=(nanoseconds an element by NumPy, by XLA) is required, or "
            "cost=MEMORY_BOUND"
        )
    ROWS[primitive.name] = Row(
        primitive, ufunc, ulp, ulp if complex_ulp is None else complex_ulp, scale, complex_scale
    )
    return primitive


def row(
    name: str,
    lower: Rule,
    jvp: Missing | Sequence[Formula] | Rule = FLAT,
    *,
    cost: Cost | Callable[[Sequence[Aval]], Cost] | None = None,
    ufunc: np.ufunc | None = None,
    reference: Rule | None = None,
    output: int = 0,
    transpose: Rule | Missing = NOT_LINEAR,
    ulp: float = 0,
    complex_ulp: float | None = None,
    scale: float = 0.0,
    complex_scale: float = 0.0,
) -> Primitive:
    """The elementwise primitive `name`, of NumPy's ufunc of that name unless another is given.

    `cost`: nanoseconds an element beyond moving it, by NumPy and by XLA; `benchmarks/calibrate.py
    --rows` measures them. It must be given: of most functions it is `MEMORY_BOUND`.
    With a `reference` the ufunc only decides dtypes; `output` is which of its results is meant.
    """
    oracle: np.ufunc = getattr(np, name) if ufunc is None else ufunc
    primitive = Primitive(
        name=name,
        abstract=_abstract(name, oracle, output),
        explicit=_explicit(oracle),
        reference=oracle if reference is None else reference,
        inplace=_inplace(oracle) if reference is None else None,
        lower=lower,
        jvp=jvp_of(lambda: primitive, jvp) if isinstance(jvp, Sequence) else jvp,
        transpose=transpose,
        batch=batch_of(lambda: primitive),
        cost=cost,
        kind="elementwise",
    )
    return enter(primitive, oracle, ulp, complex_ulp, scale, complex_scale)
