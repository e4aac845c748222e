"""Every elementwise row, compiled, against NumPy: dtype by dtype, on hard values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lazynp.primitives import elementwise
from tests.primitives.elementwise_values import DTYPES, pairs, ulp_errors, values
from tests.primitives.harness import run_lowered

ROWS = elementwise.ROWS

# the sign of a zero result depends on NumPy's loop (which of two equal operands), or C99 leaves it
# open
SIGN_OF_ZERO_OPEN = {"maximum", "minimum", "fmax", "fmin", "multiply_no_nan", "xdivy"}


def _loops(row: Any) -> list[tuple[np.dtype[Any], ...]]:
    """The operand dtypes of NumPy's loops for this row."""
    found = []
    for dtypes in itertools.product(DTYPES, repeat=row.ufunc.nin):
        try:
            loop = row.ufunc.resolve_dtypes((*dtypes, *[None] * row.ufunc.nout))
        except TypeError:
            continue
        if loop[: row.ufunc.nin] == dtypes:
            found.append(dtypes)
    return found


CASES = [(name, loop) for name, row in ROWS.items() if row.ufunc for loop in _loops(row)]


def _positive(x: Any, y: Any) -> Any:
    """Beyond the poles of gamma SciPy has rules of its own; above 1e300 some are NaN."""
    return ((x > 0) & (x < 1e300) | np.isnan(x)) & ((y > 0) & (y < 1e300) | np.isnan(y))


def _not_too_small(x: Any, q: Any) -> Any:
    """Terms that are subnormal are lost; of very large x SciPy's zeta is NaN, of tiny q it leaves
    the tail of the sum out."""
    known = ((q > 1e-6) | np.isnan(q)) & ((x < 1e6) | np.isnan(x))
    return known & ~(x * np.log(np.abs(q)) > 640)


def _no_extremes(a: Any, x: Any) -> Any:
    """SciPy is NaN above; below, products of subnormals are lost."""
    return (a < 1e300) & ((a > 1e-300) | (a <= 0)) | np.isnan(a) | (a == np.inf)


_DOMAINS: dict[str, Any] = {
    "beta": _positive,
    "betaln": _positive,
    "zeta": _not_too_small,
    "gammainc": _no_extremes,
    "gammaincc": _no_extremes,
    "gammainc_slope": _no_extremes,
}


def _domain(name: str, operands: list[Any]) -> list[Any]:
    """Operands without the values that NumPy refuses."""
    if name in ("power", "float_power") and operands[0].dtype.kind in "iu":
        x, y = operands
        return [x, np.where(y < 0, y.dtype.type(3), y)]
    if name == "polygamma":
        n, x = operands
        n, x = np.round(np.abs(n) % 4), np.abs(x) % 50 + n.dtype.type(0.125)
        finite = np.isfinite(n) & np.isfinite(x)
        return [n[finite], x[finite]]
    if name in _DOMAINS:
        kept = _DOMAINS[name](*operands)
        return [v[kept] for v in operands]
    if name in ("power", "float_power") and operands[0].dtype.kind == "c":
        finite = np.isfinite(operands[0]) & np.isfinite(operands[1])  # else it is the C library's
        return [v[finite] for v in operands]
    return operands


def _operands(name: str, loop: tuple[np.dtype[Any], ...]) -> list[Any]:
    grids = [values(d, seed=i) for i, d in enumerate(loop)]
    if len(grids) == 2:
        grids = list(pairs(*grids))
    with np.errstate(all="ignore"):
        grids = _domain(name, grids)
    return grids


def _report(errors: Any, tolerance: float, got: Any, want: Any, operands: list[Any]) -> str:
    worst = np.argsort(errors)[::-1][:4]
    lines = [
        f"{[o[i] for o in operands]} -> {got[i]!r}, NumPy {want[i]!r}: {errors[i]:.3g} ulp"
        for i in worst
    ]
    return f"{int((errors > tolerance).sum())} beyond {tolerance} ulp\n" + "\n".join(lines)


@pytest.mark.parametrize(
    "name, loop", CASES, ids=[f"{n}-{'-'.join(d.str[1:] for d in loop)}" for n, loop in CASES]
)
def test_lowered_is_the_reference(name: str, loop: tuple[np.dtype[Any], ...]) -> None:
    row = ROWS[name]
    operands = _operands(name, loop)
    with np.errstate(all="ignore"):
        want = np.asarray(row.primitive.reference(*operands))
        (got,) = run_lowered(row.primitive, *operands)
        assert got.dtype == want.dtype and got.shape == want.shape
        of_complex = loop[0].kind == "c"
        tolerance = row.complex_ulp if of_complex else row.ulp
        errors = ulp_errors(got, want, row.complex_scale if of_complex else row.scale)
    passed = bool((errors <= tolerance).all())
    assert passed, _report(errors, tolerance, got, want, operands)
    if want.dtype.kind == "f" and tolerance == 0 and name not in SIGN_OF_ZERO_OPEN:
        zero = (want == 0) & (got == 0)
        wrong = zero & (np.signbit(got) != np.signbit(want))
        assert not wrong.any(), [v[wrong][:5] for v in (*operands, got, want)]


def _castable(x: Any, dtype: np.dtype[Any]) -> Any:
    """uint32 of values out of range: NumPy's own loops disagree."""
    if x.dtype.kind in "fc" and dtype == np.dtype("u4"):
        with np.errstate(all="ignore"):
            re = x.real
            return x[(re > -(2.0**31)) & (re < 2.0**32)]
    return x


@pytest.mark.parametrize("source", DTYPES, ids=lambda d: d.str[1:])
def test_casts_are_numpys(source: np.dtype[Any]) -> None:
    for dtype in DTYPES:
        x = _castable(values(source), dtype)
        if source.kind == "f" and source.itemsize > 2:
            far = np.array([2.0**k * s for k in (7, 8, 15, 16, 31, 32, 33) for s in (1, -1)])
            far = np.concatenate([far, far - 1, far + 1, far / 3, 2.0**30 * far, -far])
            x = _castable(np.concatenate([x, far.astype(source)]), dtype)
        with np.errstate(all="ignore"):
            want = elementwise.convert.reference(x, dtype=dtype)
            (got,) = run_lowered(elementwise.convert, x, dtype=dtype)
            errors = ulp_errors(got, want)
        assert got.dtype == dtype
        assert (errors == 0).all(), f"{source} to {dtype}: " + _report(errors, 0, got, want, [x])


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.str[1:])
def test_select_real_imag(dtype: np.dtype[Any]) -> None:
    x, y = values(dtype), values(dtype, 1)[::-1]
    c = np.arange(x.size) % 3 == 0
    for prim, args in [
        (elementwise.select, (c, x, y)),
        (elementwise.real, (x,)),
        (elementwise.imag, (x,)),
    ]:
        want = prim.reference(*args)
        (got,) = run_lowered(prim, *args)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f8")], ids=str)
def test_complex_of_parts(dtype: np.dtype[Any]) -> None:
    x, y = values(dtype), values(dtype, 1)
    (got,) = run_lowered(elementwise.complex_, x, y)
    want = elementwise.complex_.reference(x, y)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.view(dtype), want.view(dtype))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 8, -1, -3])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind != "b"], ids=lambda d: d.str[1:])
def test_integer_power(dtype: np.dtype[Any], exponent: int) -> None:
    if exponent < 0 and dtype.kind in "iu":
        with pytest.raises(ValueError, match="negative integer powers"):
            run_lowered(elementwise.integer_power, values(dtype), exponent=exponent)
        return
    x = values(dtype)
    if dtype.kind == "c":
        x = x[(abs(x) < 1e3) & (abs(x) > 1e-3)]  # no overflow in a part
    with np.errstate(all="ignore"):
        (got,) = run_lowered(elementwise.integer_power, x, exponent=exponent)
        reference = elementwise.integer_power.reference(x, exponent=exponent)
        want = x ** dtype.type(exponent)
        tolerance = 0 if dtype.kind in "iu" else 4 if dtype.kind == "f" else 32
        for other in (reference, want):
            assert got.dtype == other.dtype
            errors = ulp_errors(got, other)
            assert (errors <= tolerance).all(), _report(errors, tolerance, got, other, [x])
        if dtype.kind == "f":
            np.testing.assert_array_equal(
                *[np.where(abs(v) < 1e-4, 0, v) for v in (got, reference)]
            )


def test_every_ufunc_is_a_row_or_a_composition() -> None:
    compositions = {"divmod", "modf", "frexp"}  # of floor_divide, remainder, trunc, frexp_*
    hosts = {"isnat"}  # datetimes stay on the host
    ufuncs = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}
    elementwise_ufuncs = {getattr(np, n) for n in ufuncs if getattr(np, n).signature is None}
    rows = {row.primitive.reference for row in ROWS.values()}
    missing = {u.__name__ for u in elementwise_ufuncs if u not in rows} - compositions - hosts
    assert not missing
    assert all(getattr(elementwise, name) is row.primitive for name, row in ROWS.items())
