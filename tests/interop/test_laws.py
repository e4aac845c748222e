"""Distributions of scipy.stats in `_laws_more` and `_laws_rare`: values as SciPy has them, also at
the ends of their support and outside; derivatives by x, location, scale and shapes as differences
of SciPy's.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest
import scipy.special
import scipy.stats as st

import lazynp as np

# name -> shapes, one list for each set of parameters
LAWS: dict[str, list[list[float]]] = {
    "genpareto": [[0.3], [-0.4], [0.0], [1e-6]],
    "genextreme": [[0.3], [-0.4], [0.0], [-1e-6]],
    "weibull_max": [[1.7], [0.8]],
    "exponweib": [[1.3, 0.8], [0.7, 1.9]],
    "burr": [[2.1, 0.7], [1.2, 1.5]],
    "burr12": [[2.1, 0.7], [1.2, 1.5]],
    "mielke": [[2.1, 1.7]],
    "kappa3": [[1.4]],
    "betaprime": [[1.5, 2.2]],
    "invgauss": [[0.6], [2.0]],
    "fatiguelife": [[0.7]],
    "nakagami": [[0.9]],
    "rice": [[0.6], [2.5]],
    "exponnorm": [[1.2]],
    "johnsonsu": [[0.4, 1.3]],
    "johnsonsb": [[-0.3, 0.9]],
    "foldnorm": [[0.8]],
    "triang": [[0.3], [0.0], [1.0]],
    "loguniform": [[0.2, 2.5]],
    "reciprocal": [[0.2, 2.5]],
    "truncexpon": [[1.8]],
    "bradford": [[1.1]],
    "halflogistic": [[]],
    "genlogistic": [[0.7]],
    "hypsecant": [[]],
    "moyal": [[]],
    "laplace_asymmetric": [[1.4]],
    "dgamma": [[1.6]],
    "dweibull": [[1.4]],
    "skewcauchy": [[0.3]],
    "wrapcauchy": [[0.4]],
    "semicircular": [[]],
    "arcsine": [[]],
    "alpha": [[1.2]],
    "loglaplace": [[1.7]],
    "wald": [[]],
    "gengamma": [[1.4, 1.7], [1.4, -1.7]],
    "halfgennorm": [[0.8]],
    "pearson3": [[0.7], [-1.3]],
    "rdist": [[1.8], [2.6]],
    "jf_skew_t": [[3.0, 4.0]],
    "argus": [[1.1]],
    "gibrat": [[]],
    "powernorm": [[2.2]],
    "powerlognorm": [[1.5, 0.7]],
    "exponpow": [[1.4]],
    "foldcauchy": [[0.7]],
    "genhalflogistic": [[0.4]],
    "anglit": [[]],
    "cosine": [[]],
    "genexpon": [[1.0, 2.0, 0.5]],
    "truncpareto": [[1.2, 4.0], [-1.8, 5.3]],
    "truncweibull_min": [[1.3, 0.2, 2.3]],
    "recipinvgauss": [[0.7]],
    "crystalball": [[1.2, 2.4]],
    "trapezoid": [[0.3, 0.6]],
    "norminvgauss": [[1.5, 0.4]],
    "ncx2": [[2.7, 1.3], [0.6, 30.0]],
    "ncf": [[2.7, 5.2, 1.3], [0.6, 3.0, 20.0]],
    "nct": [[3.2, 0.7], [0.8, -1.5], [12.0, 3.0]],
    "landau": [[]],
    "tukeylambda": [[0.4], [-0.3], [0.002], [2.4]],
    "kappa4": [[0.3, 0.2], [-0.4, 0.2], [0.3, -0.2], [-0.4, -0.2], [0.0, 0.2], [0.3, 0.0]],
}
WITHOUT_CDF = {"rice", "norminvgauss"}
POLES = ("ncx2", "ncf")  # SciPy has 0 where the density of few degrees of freedom is infinite
METHODS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]
PLACES = numpy.array([-2.3, -0.9, -0.3, 0.15, 0.45, 0.85, 1.33, 2.7])
CASES = [(name, i) for name, several in LAWS.items() for i in range(len(several))]


pytestmark = pytest.mark.usefixtures("hooked")


def _value(method: Any, x: Any, p: Any) -> Any:
    """p: the shapes, location and scale."""
    return method(x, *[p[i] for i in range(len(p) - 2)], loc=p[-2], scale=p[-1])


def _difference(method: Any, x: Any, p: Any, d: Any) -> Any:
    h = 1e-4
    v = [_value(method, x, p + k * h * d) for k in (-2, -1, 1, 2)]
    with numpy.errstate(invalid="ignore"):
        return (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "which"), CASES)
def test_values_and_derivatives(name: str, which: int) -> None:
    law, shapes = getattr(st, name), LAWS[name][which]
    p = numpy.array([*shapes, 0.1, 1.3])
    # a shape at the end of its range stays there
    d = numpy.cos(numpy.arange(len(p)))[::-1] * numpy.array(
        [0.0 if name == "triang" and s in (0.0, 1.0) else 1.0 for s in [*shapes, 0.5, 0.5]]
    )
    ends = numpy.array([v for v in law.support(*shapes, 0.1, 1.3) if numpy.isfinite(v)])
    for method in METHODS[: 2 if name in WITHOUT_CDF else None]:
        plain = getattr(law, method)
        want = _value(plain, PLACES, p)
        got, moved = np.jvp(lambda q: _value(plain, PLACES, q), (np.asarray(p),), (np.asarray(d),))  # noqa: B023
        numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12, err_msg=method)
        slopes = _difference(plain, PLACES, p, d)
        known = numpy.isfinite(want) & numpy.isfinite(slopes)
        size = numpy.abs(slopes[known]).max(initial=1e-3)
        numpy.testing.assert_allclose(
            numpy.asarray(moved)[known], slopes[known], rtol=1e-5, atol=1e-6 * size, err_msg=method
        )
        if ends.size and name != "kappa4" and not (name in ("arcsine", *POLES) and "pdf" in method):
            got, _ = np.jvp(lambda q: _value(plain, ends, q), (np.asarray(p),), (np.asarray(d),))  # noqa: B023
            want = _value(plain, ends, p)
            numpy.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-12, err_msg=method)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(LAWS))
def test_by_the_place_and_in_reverse(name: str) -> None:
    law, p = getattr(st, name), numpy.array([*LAWS[name][0], 0.1, 1.3])
    inside = [x for x in PLACES if numpy.isfinite(_value(law.logpdf, x, p))]
    slope = np.grad(lambda x: _value(law.logpdf, x, p).sum())(np.asarray(inside))
    h = 1e-5
    want = [(_value(law.logpdf, x + h, p) - _value(law.logpdf, x - h, p)) / (2 * h) for x in inside]
    numpy.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-6)
    reverse = np.grad(lambda q: _value(law.logpdf, numpy.array(inside), q).sum())(np.asarray(p))
    _, forward = np.jvp(
        lambda q: _value(law.logpdf, numpy.array(inside), q).sum(),
        (np.asarray(p),), (np.asarray(numpy.sin(p)),),
    )  # fmt: skip
    numpy.testing.assert_allclose(reverse @ numpy.sin(p), float(forward), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(LAWS))
def test_invalid_parameters_give_nan(name: str) -> None:
    law, shapes = getattr(st, name), LAWS[name][0]
    got = np.jvp(lambda s: law.logpdf(0.4, *shapes, scale=s), (-1.0,), (1.0,))[0]
    assert numpy.isnan(float(got))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(LAWS.keys() - WITHOUT_CDF))
def test_quantiles(name: str) -> None:
    law, q = getattr(st, name), numpy.array([0.0, 0.2, 0.65, 1.0])
    for shapes in LAWS[name]:
        p = numpy.array([*shapes, 0.1, 1.3])
        d = numpy.cos(numpy.arange(len(p)))
        if name == "triang" and shapes[0] != 0.3:
            continue  # a shape at the end of its range
        for plain in (law.ppf, law.isf):
            got, moved = np.jvp(lambda v: _value(plain, q, v), (np.asarray(p),), (np.asarray(d),))  # noqa: B023
            numpy.testing.assert_allclose(got, _value(plain, q, p), rtol=1e-9)
            want = _difference(plain, q[1:3], p, d)
            numpy.testing.assert_allclose(moved[1:3], want, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_second_derivatives_of_quantiles_and_under_vmap_and_jit() -> None:
    def at(p: Any) -> Any:
        return st.invgauss.ppf(0.3, p[0], scale=p[1]) + st.skewnorm.isf(0.2, p[0]) * p[1]

    p, h = numpy.array([0.8, 1.3]), 1e-4
    rows = [(np.grad(at)(np.asarray(p + h * e)) - np.grad(at)(np.asarray(p - h * e))) / (2 * h)
            for e in numpy.eye(2)]  # fmt: skip
    numpy.testing.assert_allclose(np.hessian(at)(np.asarray(p)), rows, rtol=1e-5, atol=1e-7)
    both = np.asarray(numpy.stack([p, p + 0.2]))
    want = [numpy.asarray(np.grad(at)(row)) for row in both]
    numpy.testing.assert_allclose(np.vmap(np.grad(at))(both), want, rtol=1e-12)
    numpy.testing.assert_allclose(np.jit(np.grad(at))(both[1]), want[1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["genpareto", "triang", "truncpareto", "norm"])
def test_frozen_with_traced_shapes(name: str) -> None:
    law, p = getattr(st, name), numpy.array([*LAWS.get(name, [[]])[0], 0.1, 1.3])

    def method(x: Any, *shapes: Any, loc: Any, scale: Any) -> Any:
        return law(*shapes, loc=loc, scale=scale).logpdf(x)

    d = numpy.cos(numpy.arange(len(p)))
    inside = law.ppf([0.2, 0.6], *p)
    moved = np.jvp(lambda v: _value(method, inside, v), (np.asarray(p),), (np.asarray(d),))[1]
    numpy.testing.assert_allclose(moved, _difference(law.logpdf, inside, p, d), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [1.0, 2.0, 3.5])
def test_places_where_a_power_has_no_slope(shape: float) -> None:
    """The middle of `gennorm`, and ends where the density is neither 0 nor infinite."""
    for at in (0.0, -0.0):
        slope, lower = np.grad(lambda x: st.gennorm.cdf(x, shape))(at), st.gennorm.pdf(0.0, shape)
        numpy.testing.assert_allclose(float(slope), lower, rtol=1e-12)
        by_shape = np.grad(lambda b, at=at: st.gennorm.sf(at, b))(shape)
        assert float(by_shape) == 0.0
    for law, x, p in ((st.loglaplace, 0.0, 1.0), (st.rdist, 1.0, 2.0), (st.rdist, -1.0, 2.0)):
        value, _ = np.jvp(lambda p, law=law, x=x: law.logpdf(x, p), (p,), (1.0,))
        numpy.testing.assert_allclose(float(value), law.logpdf(x, p), rtol=1e-12)


def test_shapes_where_scipy_changes_its_formula() -> None:
    """`tklmbda` takes small shapes for 0; its slope does not."""
    at, near = (np.grad(lambda v: st.tukeylambda.cdf(0.8, v))(v) for v in (0.0, 1e-3))
    numpy.testing.assert_allclose(float(at), float(near), rtol=2e-3)
    assert abs(float(at)) > 0.01


@pytest.mark.parametrize(
    ("name", "shapes"), [("ncx2", [2.7, 1.3]), ("ncf", [2.7, 5.2, 1.3]), ("nct", [3.2, 0.7])]
)
def test_second_derivatives_of_noncentral_laws(name: str, shapes: list[float]) -> None:
    law, h = getattr(st, name), 1e-4
    p = numpy.array([0.8, *shapes])
    steps = h * numpy.eye(p.size)
    for method in (law.cdf, law.sf, law.logpdf):
        gradient = np.grad(lambda p, method=method: method(*p))
        hessian = np.hessian(lambda p, method=method: method(*p))(np.array(p))
        points = np.array(numpy.concatenate([p + steps, p - steps]))  # at once: a call takes long
        after, before = numpy.asarray(np.vmap(gradient)(points)).reshape(2, p.size, -1)
        numpy.testing.assert_allclose(hessian, (after - before) / (2 * h), rtol=1e-5, atol=1e-7)
    with pytest.raises(TypeError, match="no derivative by argument"):
        np.grad(np.grad(np.grad(lambda df: law.cdf(0.8, df, *shapes[1:]))))(shapes[0])


def test_ufuncs_of_noncentral_laws() -> None:
    special = scipy.special
    for f, args in (
        (special.chndtr, (1.2, 2.7, 1.3)),
        (special.nctdtr, (3.2, 0.7, 0.9)),
        (special.ncfdtr, (2.7, 5.2, 1.3, 0.8)),
        (special.tklmbda, (0.8, 0.4)),
    ):
        p, d = numpy.array(args), numpy.cos(numpy.arange(len(args)))
        value, moved = np.jvp(lambda v, f=f: f(*v), (np.asarray(p),), (np.asarray(d),))
        numpy.testing.assert_allclose(value, f(*p), rtol=1e-11)
        want = (f(*(p + 1e-5 * d)) - f(*(p - 1e-5 * d))) / 2e-5
        numpy.testing.assert_allclose(moved, want, rtol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_areas_under_the_normal_distribution_of_vectors() -> None:
    """SciPy integrates, to 1e-5. Under `compiled`, each operation would be a program."""
    with np.config(execution="reference"):
        _check_areas()


def _check_areas() -> None:
    mean, cov = numpy.array([0.2, -0.1]), numpy.array([[1.3, 0.5], [0.5, 0.8]])
    points = numpy.array([[0.3, 0.9], [-2.0, 1.0], [0.2, -0.1], [9.0, -0.4], [60.0, 60.0]])
    normal = st.multivariate_normal

    def f(t: Any, lower: Any = None) -> Any:
        change = numpy.array([[0.3, -0.2], [-0.2, 0.1]])
        given = mean + t * numpy.array([0.5, -0.3]), cov + t * change
        rows = [
            normal.cdf(points + t * 0.7, *given, lower_limit=lower),
            normal.cdf(points * (1 + t), mean, cov * [[1, -1], [-1, 1]], lower_limit=lower),
            normal(*given).cdf(points, lower_limit=lower), normal.logcdf(points[:3], *given),
            normal(mean, cov).cdf(points + t, lower_limit=lower),
            normal.cdf(points[:, 0] + t, 0.3, 1.2 + t), normal(0.3, 1.2).logcdf(points[:, 1] + t),
        ]  # fmt: skip
        return np.concatenate([np.asarray(row) for row in rows])

    for lower in (None, [-1.0, 0.1]):
        g = functools.partial(f, lower=lower)
        value, moved = np.jvp(g, (0.0,), (1.0,))
        numpy.testing.assert_allclose(value, g(0.0), atol=1e-5)
        ours = [np.jvp(g, (h,), (1.0,)) for h in (-1e-5, 1e-5)]
        numpy.testing.assert_allclose(moved, (ours[1][0] - ours[0][0]) / 2e-5, atol=1e-8)
        second = np.jvp(lambda t: np.jvp(g, (t,), (1.0,))[1], (0.0,), (1.0,))[1]  # noqa: B023
        numpy.testing.assert_allclose(second, (ours[1][1] - ours[0][1]) / 2e-5, atol=1e-7)
    with pytest.raises(TypeError, match="3 dimensions"):
        np.grad(lambda x: normal.cdf(x, numpy.zeros(3)))(np.ones(3))
