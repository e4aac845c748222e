"""Random numbers from keys: the same bits everywhere, the distributions, the transformations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from scipy import stats

import lazynp as np
from lazynp.primitives.random import philox
from lazynp.random import Key, fold_in, key, split
from tests.helpers import POLICIES, NothingForced
from tests.primitives.harness import run_lowered

ONES = 0xFFFFFFFF
VECTORS = [  # of the algorithm's authors: key, counter, result
    ((0, 0), (0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
]


@pytest.mark.parametrize("vector", VECTORS)
def test_known_answers(vector: Any) -> None:
    keys, (c0, c1, stream), words = vector
    args = [numpy.array([w], "u4") for w in (*keys, c0, c1)]
    assert philox.reference(*args, stream=stream).tolist() == [list(words)]


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (64,), (65,)])
def test_lowering_gives_the_bits_of_the_reference(shape: Any) -> None:
    rng = numpy.random.default_rng(1)
    args = [rng.integers(0, 2**32, shape, "u4") for _ in range(4)]
    (lowered,) = run_lowered(philox, *args, stream=2)
    assert lowered.tolist() == philox.reference(*args, stream=2).tolist()


def test_rounds_of_few_elements_are_a_loop() -> None:
    """It compiles sooner."""
    small, large = (
        np.jit(lambda k, n=n: np.random.key(k).uniform((n,))).lower(3).as_text() for n in (64, 1000)
    )
    assert small.count("stablehlo.xor") < 10 < large.count("stablehlo.xor")


def test_wrong_operands() -> None:
    with pytest.raises(TypeError, match="uint32 of one shape"):
        philox(*[np.arange(3)] * 4, stream=0)


SAMPLES: dict[str, Callable[[Key], Any]] = {
    "bits": lambda k: k.bits((5,)),
    "bits of 64": lambda k: k.bits((3,), "u8"),
    "uniform": lambda k: k.uniform((4,), 2.0, 3.0),
    "float32": lambda k: k.uniform((4,), dtype="f4"),
    "integers": lambda k: k.integers(-3, 5, (6,)),
    "bernoulli": lambda k: k.bernoulli(0.5, (9,)),
    "permutation": lambda k: k.permutation(6),
    "choice": lambda k: k.choice(np.array([1.0, 2.0, 5.0]), (4,)),
    "keys": lambda k: k.split(3).data,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_under_every_policy(name: str) -> None:
    found = []
    for execution in POLICIES:
        with np.config(execution=execution):
            found.append(SAMPLES[name](key(7)).tolist())
    assert found[0] == found[1] == found[2]


def test_nothing_is_computed_and_keys_repeat() -> None:
    with NothingForced():
        k = key(3)
        x, y = k.normal((3,)), k.split()[1].laplace((2,))
    assert x.tolist() == key(3).normal((3,)).tolist() and y.shape == (2,)
    assert isinstance(k.uniform(), np.Scalar) and k.uniform(dtype="f4").dtype == "f4"


def test_keys() -> None:
    k = key(5)
    children = {tuple(numpy.asarray(c.data)) for c in split(k, 50)}
    assert len(children) == 50
    folded = {tuple(numpy.asarray(fold_in(k, i).data)) for i in [*range(50), -1, 2**40]}
    assert len(folded | children) == 102
    first, second = k.split()
    assert (len(k.split(4)), k.shape, k.split((2, 3)).shape) == (4, (), (2, 3))
    assert first.uniform() != second.uniform()
    assert repr(key(0)).startswith("Key(array([")
    assert float(key(np.array(5)).uniform()) == float(k.uniform())


MOMENTS: dict[str, tuple[Callable[[Key, Any], Any], float, float]] = {
    "uniform": (lambda k, n: k.uniform(n, -1.0, 3.0), 1.0, 16 / 12),
    "normal": (lambda k, n: k.normal(n, 2.0, 3.0), 2.0, 9.0),
    "normal32": (lambda k, n: k.normal(n, dtype="f4"), 0.0, 1.0),
    "exponential": (lambda k, n: k.exponential(n, 2.0), 2.0, 4.0),
    "laplace": (lambda k, n: k.laplace(n), 0.0, 2.0),
    "logistic": (lambda k, n: k.logistic(n), 0.0, numpy.pi**2 / 3),
    "gumbel": (lambda k, n: k.gumbel(n), numpy.euler_gamma, numpy.pi**2 / 6),
    "gamma": (lambda k, n: k.gamma(3.0, n, scale=2.0), 6.0, 12.0),
    "gamma below 1": (lambda k, n: k.gamma(0.5, n), 0.5, 0.5),
    "beta": (lambda k, n: k.beta(2.0, 3.0, n), 0.4, 0.04),
    "integers": (lambda k, n: k.integers(0, 9, n, endpoint=True), 4.5, 8.25),
    "bernoulli": (lambda k, n: k.bernoulli(0.3, n), 0.3, 0.21),
    "choice": (lambda k, n: k.choice(3, n, p=[0.2, 0.3, 0.5]), 1.3, 0.61),
    "categorical": (
        lambda k, n: k.categorical(np.log(np.array([0.2, 0.3, 0.5])), shape=n), 1.3, 0.61,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    sample, mean, variance = MOMENTS[name]
    n = 20000
    with np.config(execution="reference"):
        x = numpy.asarray(sample(key(11), (n,)), dtype=float)
    assert abs(x.mean() - mean) < 5 * (variance / n) ** 0.5
    assert abs(x.var() - variance) < 0.1 * variance + 0.01


FREE: dict[str, tuple[Callable[[Key, Any], Any], Any]] = {
    "lognormal": (lambda k, n: k.lognormal(n, 0.5, 0.7), stats.lognorm(0.7, scale=numpy.exp(0.5))),
    "rayleigh": (lambda k, n: k.rayleigh(n, 2.0), stats.rayleigh(scale=2.0)),
    "weibull": (lambda k, n: k.weibull(1.7, n), stats.weibull_min(1.7)),
    "pareto": (lambda k, n: k.pareto(3.0, n), stats.lomax(3.0)),
    "power": (lambda k, n: k.power(2.5, n), stats.powerlaw(2.5)),
    "triangular": (lambda k, n: k.triangular(-1.0, 0.0, 3.0, n), stats.triang(0.25, -1, 4)),
    "chisquare": (lambda k, n: k.chisquare(3.0, n), stats.chi2(3)),
    "noncentral_chisquare": (lambda k, n: k.noncentral_chisquare(0.7, 4.0, n), stats.ncx2(0.7, 4)),
    "f": (lambda k, n: k.f(3.0, 8.0, n), stats.f(3, 8)),
    "noncentral_f": (lambda k, n: k.noncentral_f(3.0, 8.0, 2.0, n), stats.ncf(3, 8, 2)),
    "standard_t": (lambda k, n: k.standard_t(4.0, n), stats.t(4)),
    "wald": (lambda k, n: k.wald(2.0, 3.0, n), stats.invgauss(2 / 3, scale=3)),
    "vonmises": (lambda k, n: k.vonmises(0.0, 2.0, n), stats.vonmises(2.0)),
    "vonmises of little": (lambda k, n: k.vonmises(0.0, 0.0, n), stats.uniform(-3.14159, 6.28318)),
    "dirichlet": (lambda k, n: k.dirichlet([0.4, 2.0, 1.0], n)[:, 0], stats.beta(0.4, 3.0)),
    "multivariate_normal": (
        lambda k, n: k.multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], n).sum(-1),
        stats.norm(3, 2),
    ),
}  # fmt: skip
WHOLE: dict[str, tuple[Callable[[Key, Any], Any], Any]] = {
    "poisson of few": (lambda k, n: k.poisson(3.5, n), stats.poisson(3.5)),
    "poisson": (lambda k, n: k.poisson(40.0, n), stats.poisson(40)),
    "binomial of few": (lambda k, n: k.binomial(9, 0.8, n), stats.binom(9, 0.8)),
    "binomial": (lambda k, n: k.binomial(90, 0.3, n), stats.binom(90, 0.3)),
    "geometric": (lambda k, n: k.geometric(0.2, n), stats.geom(0.2)),
    "negative_binomial": (lambda k, n: k.negative_binomial(5, 0.4, n), stats.nbinom(5, 0.4)),
    "hypergeometric": (lambda k, n: k.hypergeometric(15, 10, 8, n), stats.hypergeom(25, 15, 8)),
    "logseries": (lambda k, n: k.logseries(0.7, n), stats.logser(0.7)),
    "zipf": (lambda k, n: k.zipf(2.5, n), stats.zipf(2.5)),
    "multinomial": (lambda k, n: k.multinomial(12, [0.2, 0.3, 0.5], n)[:, 1], stats.binom(12, 0.3)),
    "multivariate_hypergeometric": (
        lambda k, n: k.multivariate_hypergeometric([5, 7, 9], 8, n)[:, 2],
        stats.hypergeom(21, 9, 8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_distributions(name: str) -> None:
    sample, law = FREE[name]
    with np.config(execution="reference"):
        x = numpy.asarray(sample(key(5), (5000,)))
    assert x.dtype == numpy.float64
    assert stats.kstest(x, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", WHOLE)
def test_distributions_of_whole_numbers(name: str) -> None:
    sample, law = WHOLE[name]
    n = 5000
    with np.config(execution="reference"):
        x = numpy.asarray(sample(key(5), (n,)))
    assert x.dtype == numpy.int64
    values = numpy.arange(0, min(x.max(), 200) + 1)
    found = (x[:, None] <= values).mean(0)
    assert numpy.abs(found - law.cdf(values)).max() < 1.95 / n**0.5  # Kolmogorov, 0.1 %


def test_edges_of_distributions() -> None:
    k = key(8)
    with np.config(execution="reference"):
        assert k.poisson([0.0, 1e-9]).tolist() == [0, 0]
        assert abs(float(k.poisson(1e9)) / 1e9 - 1) < 1e-3
        assert k.binomial([0, 7, 7, 10**6], [0.5, 0.0, 1.0, 1.0]).tolist() == [0, 0, 7, 10**6]
        assert k.geometric(1.0, 4).tolist() == [1, 1, 1, 1]
        assert k.hypergeometric([5, 0, 3], [0, 5, 4], [3, 3, 7]).tolist() == [3, 0, 3]
        counts = k.multinomial(100, [0.2, 0.0, 0.8], 6)
        assert counts.sum(-1).tolist() == [100] * 6 and not counts[:, 1].any()
        assert k.multivariate_hypergeometric([3, 4, 5], 12).tolist() == [3, 4, 5]
        numpy.testing.assert_allclose(k.dirichlet([1e-3] * 4, 9).sum(-1), 1)
        grid = numpy.arange(12).reshape(3, 4)
        assert numpy.sort(k.permuted(grid, 1)).tolist() == grid.tolist()
        assert sorted(k.permuted(grid).ravel().tolist()) == list(range(12))
        singular = k.multivariate_normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], 3, method="svd")
        numpy.testing.assert_allclose(singular[:, 0], singular[:, 1], atol=1e-7)
    assert k.poisson().shape == () and k.lognormal((2, 3), dtype="f4").dtype == "f4"
    assert k.multinomial(5, np.ones((3, 2)) / 2).shape == (3, 2)


def test_distributions_under_transformations() -> None:
    k = key(4)
    for sample in (
        lambda k: k.poisson(3.0, 2), lambda k: k.multinomial(9, [0.3, 0.7]),
        lambda k: k.dirichlet([0.5, 0.5]),
    ):  # fmt: skip
        with np.config(execution="reference"):
            each = [sample(x).tolist() for x in k.split(3)]
        numpy.testing.assert_allclose(np.jit(np.vmap(sample))(k.split(3)), each, rtol=1e-12)
    slope = np.jit(np.grad(lambda s: k.lognormal((), 0.0, s)))(0.5)
    z = float(k.normal())
    numpy.testing.assert_allclose(slope, z * numpy.exp(z / 2))
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])

    def first(c: Any) -> Any:
        return k.multivariate_normal([0.0, 0.0], c)[0]

    numpy.testing.assert_allclose(np.grad(first)(cov)[0, 0], first(cov) / 4, rtol=1e-12)
    with pytest.raises(numpy.linalg.LinAlgError, match="positive definite"):
        np.jit(first)(-cov)


def test_without_replacement_and_permutations() -> None:
    k = key(2)
    assert sorted(k.permutation(10).tolist()) == list(range(10))
    assert k.permutation(np.eye(3)).sum(0).tolist() == [1, 1, 1]
    drawn = k.choice(5, (4,), replace=False, p=np.array([0.5, 0.2, 0.1, 0.1, 0.1])).tolist()
    assert len(set(drawn)) == 4
    assert np.abs(k.cauchy((9,))).shape == (9,)


def test_under_transformations() -> None:
    k = key(4)
    each = [x.normal((2,)).tolist() for x in k.split(3)]
    assert np.vmap(lambda k: k.normal((2,)))(k.split(3)).tolist() == each
    assert np.jit(lambda k: k.normal((2,)))(k.split(3)[1]).tolist() == each[1]
    x = k.normal((3,), dtype="f4")
    assert np.grad(lambda m: k.normal((3,), m, 2.0).sum())(1.0) == 3.0
    slope = np.grad(lambda s: k.normal((3,), 0.0, s, dtype="f4").sum())(np.float32(2.0))
    numpy.testing.assert_allclose(slope, x.sum(), rtol=1e-6)
    looped = np.fori_loop(0, 3, lambda i, s: s + k.fold_in(i).uniform(), 0.0)
    assert float(looped) == sum(float(k.fold_in(i).uniform()) for i in range(3))
    per_example = np.vmap(np.grad(lambda s, k: k.normal(scale=s)), in_axes=(None, 0))
    expected = [x.normal() for x in k.split(3)]
    numpy.testing.assert_allclose(per_example(2.0, k.split(3)), expected, rtol=1e-13)


def test_rejection_under_transformations() -> None:
    k = key(4)
    with np.config(execution="reference"):
        gammas = np.vmap(lambda k: k.gamma(2.0))(k.split(3))
        numpy.testing.assert_allclose(gammas, [x.gamma(2.0) for x in k.split(3)], rtol=1e-13)
        slope = np.grad(lambda s: k.gamma(2.0, (), s))(3.0)
        assert slope == k.gamma(2.0)


# A function of one parameter, a place, and the derivative there of the mean over all samples.
MEANS: dict[str, tuple[Any, float, float]] = {
    "gamma": (lambda k, a, n: k.gamma(a, n), 1.3, 1.0),
    "gamma below 1": (lambda k, a, n: k.gamma(a, n, 2.0), 0.2, 2.0),
    "gamma of float32": (lambda k, a, n: k.gamma(a, n, dtype="f4"), 3.0, 1.0),
    "beta": (lambda k, a, n: k.beta(a, 2.0, n), 1.3, 2.0 / 3.3**2),
    "chisquare": (lambda k, a, n: k.chisquare(a, n), 3.0, 1.0),
    "noncentral chisquare": (lambda k, a, n: k.noncentral_chisquare(a, 1.0, n), 3.0, 1.0),
    "f": (lambda k, a, n: k.f(3.0, a, n), 9.0, -2.0 / 7.0**2),
    "t": (lambda k, a, n: k.standard_t(a, n) ** 2, 9.0, -2.0 / 7.0**2),
    "dirichlet": (lambda k, a, n: k.dirichlet(np.stack([a, 2.0, 3.0]), n)[:, 0], 1.0, 5 / 36),
    "noncentral": (lambda k, c, n: k.noncentral_chisquare(3.0, c, n), 2.0, 1.0),
    "noncentral f": (lambda k, c, n: k.noncentral_f(3.0, 8.0, c, n), 2.0, 8 / 6 / 3),
    "von mises": (lambda k, a, n: np.cos(k.vonmises(0.0, a, n)), 2.0, 0.164222),
    "wald, mean": (lambda k, a, n: k.wald(a, 2.0, n), 1.3, 1.0),
    "wald, scale": (lambda k, a, n: k.wald(1.5, a, n) ** 2, 2.0, -(1.5**3) / 2.0**2),
}


@pytest.mark.parametrize("name", MEANS)
def test_derivatives_of_samples_by_what_shapes_them(name: str) -> None:
    draw, at, want = MEANS[name]
    k, n = key(5), (20_000,)

    def mean(a: Any) -> Any:
        return draw(k, a, n).mean()

    slope = float(np.jvp(mean, (at,), (1.0,))[1])
    assert abs(slope - want) < 0.1 * abs(want)
    if name == "gamma":
        assert abs(float(np.jit(np.grad(mean))(at)) - slope) < 1e-9
        each = np.vmap(np.grad(lambda a, k: k.gamma(a)), in_axes=(None, 0))(at, k.split(3))
        alone = [float(np.grad(lambda a, k=k: k.gamma(a))(at)) for k in k.split(3)]
        numpy.testing.assert_allclose(each, alone, rtol=1e-9)


def test_a_sample_keeps_its_place_in_the_distribution() -> None:
    """So its derivatives are those of the quantile function."""
    for distribution, draw, at in [
        (lambda a: stats.gamma(a), lambda k, a: k.gamma(a, (9,)), 2.5),
        (lambda a: stats.gamma(a), lambda k, a: k.gamma(a, (9,)), 0.3),
        (lambda m: stats.invgauss(m / 2.0, scale=2.0), lambda k, m: k.wald(m, 2.0, (9,)), 1.3),
        (lambda c: stats.ncx2(3.0, c), lambda k, c: k.noncentral_chisquare(3.0, c, (9,)), 2.0),
        (lambda c: stats.ncx2(0.5, c), lambda k, c: k.noncentral_chisquare(0.5, c, (9,)), 90.0),
        (lambda a: stats.vonmises(a), lambda k, a: k.vonmises(0.0, a, (9,)), 0.5),
        (lambda a: stats.vonmises(a), lambda k, a: k.vonmises(0.0, a, (9,)), 40.0),
    ]:
        f = functools.partial(draw, key(6))
        places = distribution(at).cdf(numpy.asarray(f(at)))

        def quantile(a: float, of: Any = distribution, places: Any = places) -> Any:
            return of(a).ppf(places)

        h = 1e-4 * at
        once = (quantile(at + h) - quantile(at - h)) / (2 * h)
        twice = (quantile(at + h) - 2 * quantile(at) + quantile(at - h)) / h**2
        with np.config(execution="reference"):  # XLA takes long to compile second derivatives
            numpy.testing.assert_allclose(np.jacfwd(f)(at), once, rtol=1e-5, atol=1e-9)
            numpy.testing.assert_allclose(np.jacfwd(np.jacfwd(f))(at), twice, rtol=1e-3, atol=1e-4)


def test_errors() -> None:
    k = key(1)
    for wrong, error, text in [
        (lambda: key(1.5), TypeError, "an integer is required"),
        (lambda: k.fold_in(0.5), TypeError, "an integer is required"),
        (lambda: k.split(3).uniform(), ValueError, "a single key is required"),
        (lambda: k.split(3).split(), ValueError, "a single key is required"),
        (lambda: k[0], IndexError, "split it"),
        (lambda: len(k), TypeError, "single key"),
        (lambda: k.bits(3, "i4"), TypeError, "unsigned"),
        (lambda: k.uniform(dtype=int), TypeError, "floating"),
        (lambda: k.normal(dtype="f2"), TypeError, "float32 or float64"),
        (lambda: k.integers(3, 3), ValueError, "low >= high"),
        (lambda: k.choice(2, 3, replace=False), ValueError, "larger sample"),
        (lambda: k.normal((-1,)), ValueError, "negative dimensions"),
        (lambda: k.bits(-2), ValueError, "negative dimensions"),
        (lambda: k.split(-1), ValueError, "negative dimensions"),
        (lambda: k.poisson(-1.0), ValueError, "lam < 0"),
        (lambda: k.binomial(-1, 0.5), ValueError, "n < 0"),
        (lambda: k.binomial(1, [0.5, 1.5]), ValueError, "p > 1"),
        (lambda: k.geometric(0.0), ValueError, "p <= 0"),
        (lambda: k.hypergeometric(1, 1, 3), ValueError, "nsample"),
        (lambda: k.multivariate_normal([0.0], np.eye(2)), ValueError, "same length"),
        (lambda: k.multivariate_normal([0.0], np.eye(1), method="qr"), ValueError, "one of"),
    ]:
        with pytest.raises(error, match=text):
            wrong()
