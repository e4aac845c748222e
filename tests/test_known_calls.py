"""Calls of small derivatives that are known: what they are given is compared, not taken apart, and
their programs are steps. Whatever differs from call to call must be seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Array
from lazynp._promotion import _at_once, _derived, derivatives
from lazynp._tree import tree_flatten
from tests.promoting import promoting

pytestmark = [
    pytest.mark.own_policy,
    pytest.mark.skipif(not _at_once.BUILT, reason="steps run in C"),
]


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


DATA = numpy.linspace(-1.0, 1.0, 12).reshape(4, 3)
scale = numpy.arange(3.0)
factor: Any = 2.0


def by_global_array(x: Any) -> Any:
    return np.sum(x * scale)


def by_global_number(x: Any) -> Any:
    return np.sum(x**2) * factor


def of_loops(p: Any) -> Any:
    """A filter: numbers that a loop carries, and what it stacks for its derivative."""
    mean, spread, total = 0.0, 1.0, 0.0
    for z in DATA[:, 0]:
        spread = spread + np.exp(p[0])
        gain = spread / (spread + np.exp(p[1]))
        total = total + np.log(spread) + (z - mean) ** 2
        mean, spread = mean + gain * (z - mean), (1 - gain) * spread
    return total


def of_rows(x: Any) -> Any:
    total = np.zeros(3)
    for row in DATA:
        total = np.tanh(total + row * x)
    return np.sum(total * x)


def of_trees(layers: Any, x: Any, names: Any) -> Any:
    for weight, bias in layers:
        x = np.tanh(x @ weight + bias)
    return np.sum(x**2) * names["rate"]


def of_likelihoods(t: Any) -> Any:
    x = DATA[:, 0]
    cov = np.exp(t[0] - (x[:, None] - x) ** 2) + np.exp(t[1]) * np.eye(4)
    factors = np.linalg.cholesky(cov)
    return np.sum(np.log(np.diag(factors))) + np.sum(np.linalg.solve(factors, DATA[:, 1]) ** 2)


def of_jitted(x: Any) -> Any:
    return np.sum(jitted(x)[::-1] * x)


@np.jit
def jitted(x: Any) -> Any:
    return np.cumsum(np.where(x > 0, x, x**2))


def numbers(x: Any, y: float, *, power: float = 2.0) -> Any:
    return np.sin(x) * y + x**power


def told(x: Any) -> Any:
    leaves, structure = tree_flatten(x)
    return structure, [(type(v), v.dtype, v.shape) if isinstance(v, Array) else v for v in leaves]


def agree(got: Any, want: Any) -> None:
    assert told(got) == told(want)
    for g, w in zip(tree_flatten(got)[0], tree_flatten(want)[0], strict=True):
        numpy.testing.assert_allclose(numpy.asarray(g), numpy.asarray(w), rtol=1e-9, atol=1e-12)


def python(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with np.config(promotion=False):
        return f(*args, **kwargs)


def known(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call it until such calls are known; what the last call gives, which none takes apart."""
    for _ in range(8):
        f(*args, **kwargs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_derived.Derived, "_run", refused)
        patch.setattr(_derived.Derived, "_early", refused)
        return f(*args, **kwargs)


def refused(*args: Any) -> Any:
    raise AssertionError("; ".join(d.explained() for d in derivatives.values()))


SMALL = numpy.array([0.3, -0.2, 0.5])
CALLS = {
    "loops": (np.grad(of_loops), [numpy.array([0.1, 0.2])], [numpy.array([-0.3, 0.4])]),
    "rows": (np.grad(of_rows), [SMALL], [SMALL + 1]),
    "trees": (
        np.grad(of_trees, (0, 2)),
        [[(numpy.eye(3), numpy.zeros(3)), (DATA[:3] + 0.0, SMALL)], DATA + 0.0, {"rate": 2.0}],
        [[(DATA[1:] + 0.0, SMALL), (numpy.eye(3), SMALL * 2)], DATA * 2, {"rate": 0.5}],
    ),
    "likelihoods": (np.value_and_grad(of_likelihoods), [SMALL[:2] + 0], [SMALL[1:] + 1]),
    "jitted": (np.grad(of_jitted), [SMALL], [SMALL + 1]),
    "numbers": (np.grad(numbers, (0, 1)), [0.3, 2.0], [0.3, 2.5]),
    "hessians": (np.hessian(by_global_number), [SMALL], [SMALL + 1]),
    "jacobians": (np.jacrev(jitted), [SMALL], [SMALL - 1]),
    "auxiliary": (
        np.value_and_grad(lambda x: (np.sum(x**3), {"twice": 2 * x, "n": 3}), has_aux=True),
        [SMALL], [SMALL + 1],
    ),
    "partial": (np.grad(functools.partial(numbers, power=3.0)), [0.3, 2.0], [0.4, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("starting", [-numpy.inf, 1e9], ids=["compiled", "steps"])
@pytest.mark.parametrize("name", CALLS)
def test_known_calls_give_what_python_gives(name: str, starting: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(_at_once, "_STARTING", starting)
    f, first, second = CALLS[name]
    if name == "numbers":
        f(0.1, 1.0)  # what varies becomes an input
    for args in first, second, first:
        want = python(f, *args)
        agree(known(f, *args), want)


def test_what_is_read_from_outside_may_change(monkeypatch: Any) -> None:
    slope, module = np.grad(by_global_array), __import__(__name__, fromlist=["scale"])
    monkeypatch.setattr(module, "scale", numpy.arange(3.0))
    x = numpy.ones(3)
    first = known(slope, x)
    scale[0] = 7.0
    agree(known(slope, x), python(slope, x))
    assert first[0] == 0.0  # results are their own
    for other in (scale * 2, np.arange(3.0), 5.0, scale.astype("f4"), scale[::-1]):
        monkeypatch.setattr(module, "scale", other)
        for _ in range(6):
            agree(slope(x), python(slope, x))
    slope = np.grad(by_global_number)
    known(slope, x)
    for number in (3.0, 3, numpy.float64(4), 2.0, np.arange(3.0)[1]):
        monkeypatch.setattr(module, "factor", number)
        agree(slope(x), python(slope, x))


def test_variables_of_functions_may_change() -> None:
    def made(w: Any, k: Any, parts: Any) -> Any:
        return np.grad(lambda x: np.sum((x @ w - k) ** 2) + parts[0] * parts[-1])

    weights, parts = np.array([1.0, 2.0, 3.0]), [1.0, 2.0]
    x = numpy.ones(3)
    agree(known(made(weights, 0.5, parts), x), python(made(weights, 0.5, parts), x))
    slope = made(weights, 0.5, parts)
    got = known(slope, x)
    got[0] = 100.0
    weights[1] = 50.0
    parts[0] = 7.0
    agree(slope(x), python(slope, x))
    for w, k in (weights + 1, 0.5), (numpy.ones(3), 0.25), (weights[::-1], 1.0), (weights, 2):
        for _ in range(4):
            agree(made(w, k, parts)(x), python(made(w, k, parts), x))
    parts.append(3.0)
    agree(slope(x), python(slope, x))


@pytest.mark.parametrize(
    "x",
    [
        numpy.ones(4), numpy.ones(3, "f4"), numpy.ones((3, 1)), np.ones(6)[::2], numpy.ones(6)[::2],
        numpy.asfortranarray(numpy.ones((2, 3))), np.ones(3), numpy.broadcast_to(1.0, 3),
        numpy.float64(2.0), np.float64(2.0), 2.0, numpy.array(2.0), numpy.ones(3) * 1j,
    ],
)  # fmt: skip
def test_other_arguments_are_told_apart(x: Any) -> None:
    slope = np.grad(lambda x: np.sum(np.abs(x) ** 2))
    known(slope, numpy.ones(3))
    for _ in range(5):
        agree(slope(x), python(slope, x))


def test_arrays_given_twice() -> None:
    slope = np.grad(lambda a, b: np.sum(a * b * a), (0, 1))
    a, b = numpy.arange(3.0), numpy.ones(3)
    known(slope, a, b)
    for args in (b, a), (a, a), (b, b), (a, b):
        for _ in range(4):
            agree(slope(*args), python(slope, *args))


def test_results_are_neither_arguments_nor_constants() -> None:
    weights = numpy.arange(3.0)
    slope = np.grad(lambda x: x @ weights)
    got = known(slope, numpy.ones(3))
    got[:] = 5.0
    agree(known(slope, numpy.ones(3)), python(slope, numpy.ones(3)))
    slope = np.grad(lambda x: np.sum(x))
    got = known(slope, numpy.ones(3))
    got[1] = 5.0  # it can be written
    agree(known(slope, numpy.ones(3)), python(slope, numpy.ones(3)))


def test_errors_are_pythons() -> None:
    slope = np.grad(of_matrix)
    good = numpy.eye(2) * 2.0
    known(slope, good)
    for _ in range(3):
        with pytest.raises(numpy.linalg.LinAlgError):
            slope(-good)
        agree(known(slope, good), python(slope, good))


def of_matrix(x: Any) -> Any:
    return np.sum(np.diag(np.linalg.cholesky(x)))


def test_floating_point_errors_are_noticed_where_they_are_watched_for() -> None:
    slope = np.grad(lambda x: np.sum(np.log(x)))
    known(slope, numpy.ones(3))
    agree(slope(numpy.zeros(3)), numpy_inf())
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        slope(numpy.zeros(3))


def numpy_inf() -> Any:
    return np.array([numpy.inf] * 3)
