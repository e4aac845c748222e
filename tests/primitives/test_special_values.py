"""Every ufunc on special values, under the policy of the run, against NumPy: nan, infinities, and
zeros, subnormal, least, largest and huge numbers, and what overflows or cancels in between.

Compiled programs flush subnormal numbers to zero, so a result is right if NumPy has it, or has it
for operands that are flushed. The sign of a zero counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.primitives import elementwise
from tests.primitives.elementwise_values import DTYPES

Array = numpy.ndarray[Any, Any]
UFUNCS = {
    name: ufunc
    for name, ufunc in sorted(vars(numpy).items())
    if isinstance(ufunc, numpy.ufunc) and ufunc.__name__ == name and ufunc.signature is None
    if name != "isnat"
}
TINY = {"f": 1e-30, "d": 1e-290}  # below it, intermediate results may be subnormal


def _real(dtype: numpy.dtype[Any], few: bool) -> Array:
    info = numpy.finfo(dtype)
    big, tiny, bits = float(info.max), float(info.tiny), 2.0 ** numpy.array([31, 32, 63, 64])
    values = [numpy.nan, numpy.inf, 0.0, float(info.smallest_subnormal), big, 1.0, tiny, 0.5, 2.0]
    values += [big**0.5 * 1.5, big / 2**30, tiny * 2**30]
    if not few:
        values += [tiny * (1 - 2.0**-info.nmant), tiny * 2, tiny**0.5, big / 2, big**0.5]
        values += [1 + float(info.eps), 1 - float(info.epsneg), 1.5, 2.5, 3.0, 10.0, 100.0, 0.1]
        values += [numpy.pi, numpy.pi / 2, numpy.pi / 4, 11.1, 88.8, 104.0, 709.8, 745.2, 22.0]
        values += [127.0, 128.0, 255.0, 256.0, 1023.0, 1024.0, 1e-5, 1e-10, 1e10, 2.0**53 + 2]
        values += [*bits, *(bits - 1), *(bits + 1), *2.0 ** numpy.array([15, 16, 23, 24, 52, 53])]
    with numpy.errstate(over="ignore"):
        signed = numpy.array([*values, *[-v for v in values]]).astype(dtype)
    return numpy.unique(signed.view(f"u{dtype.itemsize}")).view(dtype)


def special(dtype: numpy.dtype[Any], few: bool = False) -> Array:
    """All special values of a dtype; of a complex dtype, all pairs of parts."""
    if dtype.kind == "b":
        return numpy.array([False, True])
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        edges = [info.min, info.min + 1, info.max // 2, info.max // 2 + 1, info.max - 1, info.max]
        small = [-info.bits, -3, -2, -1, 0, 1, 2, 3, 7, info.bits - 1, info.bits, info.bits + 1]
        wide = [100, 2**31, 2**32, 2**53 + 1, 2**63]
        kept = [v for v in {*edges, *small, *wide} if info.min <= v <= info.max]
        return numpy.array(sorted(kept), dtype)
    if dtype.kind == "f":
        return _real(dtype, few)
    re, im = numpy.meshgrid(*[_real(numpy.dtype(f"f{dtype.itemsize // 2}"), few)] * 2)
    z = numpy.empty(re.size, dtype)
    z.real, z.imag = re.ravel(), im.ravel()
    return z


def _flushed(x: Array) -> Array:
    if x.dtype.kind == "c":
        out = x.copy()
        out.real, out.imag = _flushed(x.real), _flushed(x.imag)
        return out
    if x.dtype.char not in "fd":  # float16 is computed in float32
        return x
    return numpy.where(abs(x) < numpy.finfo(x.dtype).tiny, numpy.copysign(x.dtype.type(0), x), x)


def _near(got: Array, want: Array, ulp: float, scale: float) -> Array:
    """Whether each number is the other, within `ulp` units of its last place or that of `scale`."""
    if want.dtype.kind == "c":
        parts = [_near(g, w, ulp, scale) for g, w in _parts(got, want)]
        size = numpy.maximum(abs(want.real), abs(want.imag))
        errors = [abs(g - w) for g, w in _parts(got, want)]
        known = numpy.isfinite(want.real) & numpy.isfinite(want.imag)
        unit = numpy.spacing(numpy.maximum(size, max(scale, numpy.finfo(size.dtype).tiny)))
        return parts[0] & parts[1] | known & (numpy.maximum(*errors) <= max(ulp, 1) * 2 * unit)
    if want.dtype.kind != "f":
        return got == want
    tiny = numpy.finfo(want.dtype).tiny
    same = (got == want) & (numpy.signbit(got) == numpy.signbit(want))
    same |= numpy.isnan(got) & numpy.isnan(want)
    lost = (abs(got) <= tiny) & (abs(want) <= tiny) & ((got != 0) | (want != 0))
    unit = numpy.spacing(numpy.maximum(abs(want), max(scale, tiny)).astype(want.dtype))
    error = abs(got.astype(numpy.longdouble) - want.astype(numpy.longdouble))
    close = numpy.isfinite(want) & ((want != 0) | (scale > 0)) & (error <= ulp * unit)
    return same | lost | close


def _parts(got: Array, want: Array) -> list[tuple[Array, Array]]:
    return [(got.real, want.real), (got.imag, want.imag)]


# -- what is not compared, and why -----------------------------------------------------------------


def _not_tiny(*operands: Array) -> Array:
    """Compiled programs flush subnormal intermediate results too."""
    kept = numpy.ones(operands[0].shape, bool)
    for x in operands:
        least = TINY[x.real.dtype.char]
        for part in (x.real, x.imag):
            kept &= (part == 0) | ~(abs(part) < least)
    return kept


def _quotient(z: Array, w: Array) -> Array:
    """The ratio of the divisor's parts may be subnormal: then infinity times it is nan, not inf."""
    au, av = abs(w.real), abs(w.imag)
    ratio = numpy.minimum(au, av) / numpy.maximum(au, av)
    return _not_tiny(z, w) & ((ratio == 0) | ~(ratio < TINY[au.dtype.char]))


def _power(z: Array, w: Array) -> Array:
    """The phase is that of w log(z), of which less than all digits remain if it is large. NumPy
    computes complex64 in single precision, where it overflows earlier.
    """
    if z.dtype.kind != "c":
        return ~((abs(z) < TINY["f"]) & (abs(w) < TINY["f"]) & (w != 0))
    logarithm = numpy.log(z.astype("D"))
    exponent = abs(w.astype("D") * logarithm)
    kept = _not_tiny(z, w)
    for part in (logarithm.real, logarithm.imag):
        kept &= (part == 0) | ~(abs(part) < TINY[z.real.dtype.char])
    if z.dtype.char == "D":
        return kept & ~(exponent > 600)
    overflow = [numpy.isfinite(part) & (abs(part) > 1e36) for part in (w.real, w.imag)]
    return kept & ~(exponent > 80) & ~numpy.logical_or(*overflow)


def _no_overflow(z: Array) -> Array:
    """The logarithm of |1 + z|, which overflows in NumPy's single precision."""
    return _not_tiny(z) & ~((abs(z.real) > 1e38) & (abs(z.imag) > 1e38))


LEFT_OUT = {
    "multiply": _not_tiny, "square": _not_tiny, "divide": _quotient, "reciprocal": _not_tiny,
    "power": _power, "float_power": _power, "exp2": _not_tiny, "log1p": _no_overflow,
    "arccos": _not_tiny, "arccosh": _not_tiny,
}  # fmt: skip
OF_REAL = {"power", "float_power"}  # the others: of complex operands only
REMAINDERS = {"floor_divide", "remainder", "divmod", "fmod"}
# which of two equal operands, NumPy's kernels decide one way or the other
ZEROS_OPEN = {"maximum", "minimum", "fmax", "fmin"}


def _operands(name: str, dtypes: tuple[numpy.dtype[Any], ...]) -> list[Array]:
    few = len(dtypes) == 2 and dtypes[0].kind == "c"
    xs = [special(d, few) for d in dtypes]
    if len(xs) == 2:
        xs = [v.ravel() for v in numpy.meshgrid(*xs)]
    if name == "power" and dtypes[0].kind in "iu":
        return [x[xs[1] >= 0] for x in xs]  # an error
    with numpy.errstate(all="ignore"):
        if name in LEFT_OUT and (
            dtypes[0].kind == "c" or dtypes[0].kind == "f" and name in OF_REAL
        ):
            kept = LEFT_OUT[name](*xs) if dtypes[0].char not in "e" else xs[0] == xs[0]
            xs = [x[kept] for x in xs]
        if name in REMAINDERS and dtypes[0].char in "fd":
            kept = _not_tiny(*xs)
            xs = [x[kept] for x in xs]
    return xs


def _loops() -> Iterator[Any]:
    for name, ufunc in UFUNCS.items():
        for dtypes in itertools.product(DTYPES, repeat=ufunc.nin):
            try:
                loop = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
            except TypeError:
                continue
            if loop[: ufunc.nin] == dtypes:
                yield pytest.param(name, dtypes, id=f"{name}-{''.join(d.char for d in dtypes)}")


def _wanted(ufunc: Any, xs: list[Array]) -> list[tuple[Array, ...]]:
    """NumPy's results: of contiguous operands, of others (its kernels differ), of flushed ones."""
    apart = [numpy.repeat(x, 2)[::2] for x in xs]
    flushed = [_flushed(x) for x in xs]
    results = [ufunc(*operands) for operands in (xs, apart, flushed)]
    results = [r if isinstance(r, tuple) else (r,) for r in results]
    return [*results, tuple([_flushed(r) for r in results[2]])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, dtypes", list(_loops()))
def test_special_values(name: str, dtypes: tuple[numpy.dtype[Any], ...]) -> None:
    xs = _operands(name, dtypes)
    row = elementwise.ROWS.get(name)
    of_complex = dtypes[0].kind == "c"
    ulp = 0 if row is None else row.complex_ulp if of_complex else row.ulp
    if name == "divide" and of_complex:
        ulp = 4  # NumPy multiplies by a reciprocal that may be subnormal, less exact than ours
    scale = 0 if row is None else row.complex_scale if of_complex else row.scale
    results = getattr(np, name)(*[np.array(x) for x in xs])
    results = results if isinstance(results, tuple) else (results,)
    with numpy.errstate(all="ignore"):
        wanted = _wanted(UFUNCS[name], xs)
        for k, result in enumerate(results):
            got = numpy.asarray(result)
            assert got.dtype == wanted[0][k].dtype
            ok = numpy.logical_or.reduce([_near(got, w[k], ulp, scale) for w in wanted])
            if name in ZEROS_OPEN and got.dtype.kind == "f":
                ok |= (got == 0) & (wanted[0][k] == 0)
            wrong = numpy.flatnonzero(~ok)
            listed = [(*[x[i] for x in xs], got[i], wanted[0][k][i]) for i in wrong[:5]]
            assert not wrong.size, (
                f"{wrong.size} of {ok.size}, (operands, result, NumPy's): {listed}"
            )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_sums_and_differences_of_constants(dtype: str) -> None:
    """XLA takes 0 + -0.0 for -0.0, where both are constants."""
    values = [0.0, -0.0, 1.5, -1.5, numpy.inf, -numpy.inf, numpy.nan]
    pairs = list(itertools.product(values, values))

    def sums(np: Any) -> Any:
        made = [[np.full((), v, dtype) for v in pair] for pair in pairs]
        return [x + y for x, y in made] + [x - y for x, y in made]

    with np.config(execution="compiled"):
        got = numpy.array([numpy.asarray(x) for x in np.jit(lambda: sums(np))()])
    with numpy.errstate(all="ignore"):
        want = numpy.array(sums(numpy))
    numpy.testing.assert_array_equal(got, want)
    known = ~numpy.isnan(want)
    numpy.testing.assert_array_equal(numpy.signbit(got)[known], numpy.signbit(want)[known])
