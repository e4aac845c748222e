"""Series of orthogonal polynomials: like NumPy's on values; and jitted, mapped, differentiated."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, checkpoint, grad, jit, vmap

FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag",
    "hermite": "herm", "hermite_e": "herme",
}  # fmt: skip
C = numpy.array([0.5, -1.0, 2.0, 0.75])
D = numpy.array([1.5, 0.25])
X = numpy.linspace(-0.8, 0.9, 6)

# functions of c, d (coefficients) and x (points); those differentiable in all arguments first
SMOOTH = {
    "add": lambda f, c, d, x: f.add(c, d),
    "sub": lambda f, c, d, x: f.sub(d, c),
    "mul": lambda f, c, d, x: f.mul(c, d),
    "mulx": lambda f, c, d, x: (f.mulx(c), f.mulx(d[:1])),
    "div": lambda f, c, d, x: f.div(c, d) + f.div(d, c) + f.div(c, d[:1]),
    "pow": lambda f, c, d, x: f.pow(d, 3),
    "der": lambda f, c, d, x: (f.der(c), f.der(c, 2, 0.5), f.der(d, 4)),
    "int": lambda f, c, d, x: (f.int(c), f.int(c, 2, [d[0], 2.0], d[1], 0.5), f.int(d[:1])),
    "companion": lambda f, c, d, x: f.companion(c),
    "fromroots": lambda f, c, d, x: f.fromroots(c),
    "line": lambda f, c, d, x: (f.line(c[0], c[1]), f.line(2, c[2]), f.line(c[3], 2)),
    "val": lambda f, c, d, x: (f.val(x, c), f.val(d[0], c)),
    "vander": lambda f, c, d, x: (f.vander(x, 3), f.vander2d(x, x, [1, 2])),
    "fit": lambda f, c, d, x: (f.fit(x, x * c[0] + x**3, 2), f.fit(x, x**2, [0, 2], w=x + 2)),
}
OTHERS = {
    "roots": lambda f, c, d, x: (f.roots(c), f.roots(d)),
    "2d": lambda f, c, d, x: (f.der([c, c + 1], axis=1), f.int([d, d + 1], axis=1)),
    "full": lambda f, c, d, x: tuple(f.fit(x, x**2, 2, full=True)[1][:3]),
    "whole numbers": lambda f, c, d, x: (f.add([1, 2], [3]), f.der([1, 2, 3]), f.mulx([0])),
}


class Family:
    """The functions of one kind of series, without their prefix."""

    def __init__(self, module: Any, name: str) -> None:
        self.module, self.prefix = getattr(module.polynomial, name), FAMILIES[name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, self.prefix + name)


def _results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


@pytest.fixture(params=FAMILIES)
def name(request: Any) -> str:
    return request.param


def test_as_numpy_on_values(name: str) -> None:
    """Exactly: coefficients that are zero at the end are left out."""
    ours, theirs = Family(np, name), Family(numpy, name)
    for row, function in (SMOOTH | OTHERS).items():
        for c, d in ((C, D), (numpy.append(C, [0.0, 0.0]), D), (C, numpy.append(D, 0.0))):
            if row in ("companion", "fit", "line") and c.size + d.size > 6:
                continue
            given = (np.array(c), np.array(d), np.array(X))
            found = _results(function(ours, *given)), _results(function(theirs, c, d, X))
            for got, want in zip(*found, strict=True):
                assert numpy.shape(got) == numpy.shape(want), row
                if row in ("val", "vander"):  # recorded
                    numpy.testing.assert_allclose(got, want, rtol=1e-14, err_msg=row)
                else:
                    numpy.testing.assert_array_equal(got, want, err_msg=row)


def _everything(name: str, rows: Any) -> Any:
    family = Family(np, name)

    def f(c: Any, d: Any, x: Any) -> list[Any]:
        return [r for function in rows.values() for r in _results(function(family, c, d, x))]

    return f


def test_jitted_and_mapped(name: str) -> None:
    rows = {k: v for k, v in (SMOOTH | OTHERS).items() if k != "roots"}
    f = _everything(name, rows)
    expected = f(C, D, X)
    with np.config(execution="reference"):  # two of these large programs are enough to compile
        staged = [numpy.asarray(r) for r in checkpoint(f)(C, D, X)]
    for found in (staged, jit(f)(C, D, X)) if name in ("polynomial", "legendre") else (staged,):
        for got, want in zip(found, expected, strict=True):
            assert got.shape == want.shape
            numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    del rows["full"]
    f = _everything(name, rows)
    with np.config(execution="reference"):
        both = vmap(f, (0, None, 0))(numpy.stack([C, C[::-1]]), D, numpy.stack([X, 2 * X]))
        for i, (c, x) in enumerate([(C, X), (C[::-1], 2 * X)]):
            for got, want in zip(both, f(c, D, x), strict=True):
                numpy.testing.assert_allclose(got[i], want, rtol=1e-9, atol=1e-11)


def test_differentiated(name: str) -> None:
    with np.config(execution="reference"):
        check_grads(_everything(name, SMOOTH), (np.array(C), np.array(D), np.array(X)))


def test_roots(name: str) -> None:
    """Traced they are complex, as eigenvalues are."""
    ours, theirs = Family(np, name), Family(numpy, name)
    numpy.testing.assert_allclose(jit(ours.roots)(C), numpy.sort_complex(theirs.roots(C)))
    numpy.testing.assert_allclose(jit(ours.roots)(D), theirs.roots(D))
    check_grads(lambda c: np.abs(ours.roots(c)) ** 2, (np.array(C),), modes=("fwd",))


def test_zeros_at_the_end_stay_where_they_are_not_known(name: str) -> None:
    ours = Family(np, name)
    assert jit(ours.add)(C, -C).shape == (4,)
    assert ours.add(C, -C).shape == (1,)
    got = grad(lambda c: ours.add(c, D).sum())(np.array([1.0, 2.0, 0.0]))
    numpy.testing.assert_array_equal(got, [1.0, 1.0, 1.0])
    quotient, rest = jit(ours.div)(C, D)
    assert quotient.shape == (3,) and rest.shape == (1,)
    with pytest.raises(ZeroDivisionError):
        jit(ours.div)(C, numpy.array([1.0, 0.0]))
    with pytest.raises(ZeroDivisionError):
        ours.div(C, numpy.array([0.0, 0.0]))
    with pytest.raises(ValueError, match="not 1-d"):
        jit(ours.roots)(numpy.ones((2, 2)))


def test_conversions() -> None:
    for name, prefix in FAMILIES.items():
        if name == "polynomial":
            continue
        module, reference = getattr(np.polynomial, name), getattr(numpy.polynomial, name)
        for function in (f"{prefix}2poly", f"poly2{prefix}"):
            f, theirs = (
                getattr(module, function),
                getattr(getattr(numpy.polynomial, name), function),
            )
            numpy.testing.assert_array_equal(f(np.array(C)), theirs(C))
            numpy.testing.assert_allclose(np.jacfwd(f)(np.array(C)) @ C, theirs(C))
            if name == "chebyshev":
                numpy.testing.assert_allclose(jit(f)(C), theirs(C))
        weight, theirs = getattr(module, f"{prefix}weight"), getattr(reference, f"{prefix}weight")
        numpy.testing.assert_allclose(jit(weight)(X), numpy.broadcast_to(theirs(X), X.shape))


def test_interpolation_of_a_function_of_what_is_traced() -> None:
    cheb: Any = np.polynomial.chebyshev
    theirs: Any = numpy.polynomial.chebyshev
    f = lambda a: cheb.chebinterpolate(lambda x: np.sin(a * x), 5)  # noqa: E731
    want = theirs.chebinterpolate(lambda x: numpy.sin(1.5 * x), 5)
    numpy.testing.assert_allclose(f(1.5), want, atol=1e-15)
    numpy.testing.assert_allclose(jit(f)(1.5), want, atol=1e-15)
    check_grads(f, (1.5,))


def test_objects() -> None:
    """Series created and used inside a traced function."""

    def f(c: Any, x: Any) -> Any:
        for name in ("Polynomial", "Chebyshev", "HermiteE"):
            kind = getattr(np.polynomial, name)
            p = kind(c)
            q = (p * p - 2 * p + 1).deriv() + p.integ(lbnd=0.5)
            yield q(x)
            yield (p // kind([1.0, 2.0]))(0.5)
            yield kind(c, domain=[0, 2])(x)
        yield np.polynomial.Polynomial(c)(1.0)

    def g(c: Any, x: Any) -> Any:
        return list(f(c, x))

    c, x = np.array(C), np.array(X)
    want = [numpy.asarray(r) for r in g(C, X)]
    for got, w in zip(jit(g)(c, x), want, strict=True):
        numpy.testing.assert_allclose(got, w)
    with np.config(execution="reference"):
        check_grads(g, (c, x))
    p = np.polynomial.Polynomial(np.array(C))
    assert type(p.coef) is numpy.ndarray and type((p * p).coef) is numpy.ndarray
    fitted = grad(lambda y: np.polynomial.Polynomial.fit(X, y, 2)(0.1))(np.array(X**2))
    line = numpy.array([numpy.polynomial.Polynomial.fit(X, e, 2)(0.1) for e in numpy.eye(6)])
    numpy.testing.assert_allclose(fitted, line, atol=1e-12)


def test_adopted_code() -> None:
    """Code that imports numpy.polynomial itself."""
    scope: dict[str, Any] = {}
    exec(
        "from numpy.polynomial import Polynomial, chebyshev as C\n"
        "from numpy.polynomial.polynomial import polymul\n"
        "def f(c): return Polynomial(polymul(c, [1, 2]))(0.5) + C.chebint(c)[-1]",
        scope,
    )
    adopted = np.adopt(scope["f"])
    want = scope["f"](C)
    for f in (adopted, jit(adopted)):
        numpy.testing.assert_allclose(f(np.array(C)), want)
    check_grads(adopted, (np.array(C),))


def test_polydiv_traced() -> None:
    """The remainder has its general length; it is shorter only if values are known."""
    for u, v in (
        ([3.0, 5, 2], [2.0, 1]), ([1.0, 2], [1.0, 2, 3]), ([1.0, 2, 3], [2.0]), ([4.0], [2.0]),
        ([1.0, 2, 3, 4, 7], [1.0, 0.5, 2]), ([1.0, 2], [1.0, 3]),
    ):  # fmt: skip
        want = numpy.polydiv(u, v)
        for got, w in zip(jit(np.polydiv)(numpy.array(u), numpy.array(v)), want, strict=True):
            assert got.shape == w.shape
            numpy.testing.assert_allclose(got, w, atol=1e-15)
        check_grads(np.polydiv, (np.array(u), np.array(v)))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("made", ["np.ma.array([1.0, 2, 3], mask=[0, 1, 0])", "np.matrix([[2.0]])"])
@pytest.mark.parametrize("call", [
    "P.polyval(2, m)", "P.polyval(m, [1, 2])", "P.polyval(m, m)", "P.polyval(np.arange(3), m)",
    "C.chebval(m, [1, 2, 3])", "C.chebval(np.arange(3), m)", "P.polyvalfromroots(m, [1, 2])",
    "P.polyvalfromroots(np.arange(3), m)", "P.polyval2d(m, m, np.ones((2, 2)))",
    "P.polyval3d(m, m, m, np.ones((2, 2, 2)))", "P.polygrid2d([1, 2], m, np.ones((2, 2)))",
    "P.polyval(m, [[1, 2], [3, 4]], tensor=False)", "P.polyval2d(m, [1, 2], np.eye(2))",
])  # fmt: skip
def test_series_of_numpys_classes(call: str, made: str) -> None:
    def outcome(module: Any) -> Any:
        room, given = module.polynomial, {"np": module}
        names = {**given, "P": room.polynomial, "C": room.chebyshev, "m": eval(made, given)}
        try:
            found: Any = eval(call, names)
        except Exception as error:
            return type(error), str(error)
        kinds = [isinstance(found, k) for k in (numpy.ma.MaskedArray, numpy.matrix)]
        shown: Any = numpy.ma.filled(found, -9) if kinds[0] else numpy.asarray(found)
        return kinds, shown.tolist(), str(shown.dtype)

    assert outcome(np) == outcome(numpy)
