"""Functions that are computed in operations on vectors: errors against long double, and edges.

`test_elementwise` has all rows on few adversarial values. Here are many values of each range, and
the lowerings that only large arrays take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp.primitives.elementwise_circular import LARGE

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= np.finfo(float).nmant, reason="no wider type to compare with"
)
rng = np.random.default_rng(5)
EDGES = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, 4, 10, 100, 1e22, 0.5, 1e-300, 5e-324, 1e-310, 709]
)
COUNT = LARGE


def evaluate(f: Callable[..., Any], *arrays: Array) -> Array:
    """The result of the compiled function."""
    with lazynp.config(execution="compiled"):
        return np.asarray(lazynp.jit(f)(*map(lazynp.asarray, arrays)))


def _between(low: float, high: float) -> Array:
    return rng.uniform(low, high, COUNT)


def _of_all_sizes(span: float = 700.0) -> Array:
    return np.exp(_between(-span, span))


RANGES: dict[str, list[Array]] = {
    "positive": [
        _of_all_sizes(), 1 + _between(-1e-3, 1e-3), _between(0, 3), 2.0 ** np.arange(-99, 99),
    ],
    "above -1": [_between(-1, 1), _of_all_sizes(40), -np.exp(_between(-40, -1e-4))],
    "inside": [_between(-1, 1), 1 - np.exp(_between(-36, 0)), np.exp(_between(-40, 0))],
    "any": [_between(-3, 3), _of_all_sizes(), -_of_all_sizes()],
    "above 1": [1 + np.exp(_between(-36, 0)), 1 + _of_all_sizes(), _between(1, 3)],
    "turns": [
        _between(-1, 1), _between(-100, 100), _between(-1.6e6, 1.6e6),
        np.arange(1, COUNT) * (np.pi / 2), np.nextafter(np.arange(1, COUNT) * (np.pi / 2), 0),
    ],
    "many turns": [_between(-1e15, 1e15)],
}  # fmt: skip

CASES = [
    ("log", "positive", 1), ("log2", "positive", 1), ("log10", "positive", 1),
    ("log1p", "above -1", 2.1), ("cbrt", "any", 1), ("arcsinh", "any", 3),
    ("arccosh", "above 1", 3), ("arctanh", "inside", 3), ("arcsin", "inside", 4),
    ("arccos", "inside", 4), ("arctan", "any", 4),
    ("sin", "turns", 1), ("cos", "turns", 1), ("sin", "many turns", 1), ("cos", "many turns", 1),
]  # fmt: skip


def errors(got: Array, exact: Array) -> Array:
    """In units of the last place; 0 where the exact value is no normal number."""
    near = exact.astype(float)
    units = np.abs(got - exact) / np.spacing(np.abs(near))
    normal = np.isfinite(near) & (np.abs(near) >= np.finfo(float).tiny)
    return np.where(normal, units, 0).astype(float)


@pytest.mark.parametrize("name, values, ulp", CASES)
@np.errstate(all="ignore")
def test_errors(name: str, values: str, ulp: float) -> None:
    x = np.concatenate(RANGES[values])
    function: Callable[..., Any] = getattr(np, name)
    got = evaluate(getattr(lazynp, name), x)
    found = errors(got, function(x.astype(np.longdouble)))
    worst = int(np.argmax(found))
    assert found[worst] <= ulp, f"{name}({x[worst]!r}) = {got[worst]!r}: {found[worst]} ulp"


@pytest.mark.parametrize("name", sorted({name for name, *_ in CASES}))
@pytest.mark.parametrize("count", [0, LARGE])
@np.errstate(all="ignore")
def test_edges(name: str, count: int) -> None:
    """Alone, and in an array that is large enough for every lowering."""
    x = np.concatenate([EDGES, np.zeros(count)])
    got = evaluate(getattr(lazynp, name), x)
    want = getattr(np, name)(x)
    special = ~np.isfinite(want) | (want == 0)
    np.testing.assert_array_equal(got[special], want[special])
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


POWERS = {
    "moderate": (np.exp(_between(-5, 5)), _between(-5, 5)),
    "wide": (_of_all_sizes(), _between(-2, 2)),
    "near one": (1 + _between(-1e-3, 1e-3), _between(-5e5, 5e5)),
    "negative": (-np.exp(_between(-5, 5)), rng.integers(-30, 30, COUNT).astype(float)),
}


@pytest.mark.parametrize("values", POWERS)
@np.errstate(all="ignore")
def test_powers(values: str) -> None:
    x, y = POWERS[values]
    got = evaluate(lazynp.power, x, y)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    found = errors(got, exact)
    worst = int(np.argmax(found))
    assert found[worst] <= 1, f"{x[worst]!r} ** {y[worst]!r} = {got[worst]!r}"


@np.errstate(all="ignore")
def test_powers_at_edges() -> None:
    more = np.array(
        [3, -3, 1.5, -1.5, 1e300, -1e300, 2.0**53 - 1, 2.0**54, 1e18, -1075, 1 - 2.0**-53]
    )
    values = np.concatenate([EDGES, -EDGES[5:], more])
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    got = evaluate(lazynp.power, x, y)
    want = np.power(x, y)
    special = ~np.isfinite(want) | (want == 0) | (np.abs(want) == 1)
    np.testing.assert_array_equal(got[special], want[special])
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@np.errstate(all="ignore")
def test_exponentials_of_large_complex_arrays() -> None:
    z = _between(-750, 750) + 1j * _between(-1e5, 1e5)
    got = evaluate(lazynp.exp, z)
    want = np.exp(z)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
    normal = np.isfinite(want) & (np.abs(want) > 1e-290)
    assert np.max(np.abs(got - want)[normal] / np.abs(want)[normal]) < 1e-15


def test_large_sines_under_transformations() -> None:
    x = _between(-50, 50)
    got = evaluate(lazynp.grad(lambda x: lazynp.sin(x).sum()), x)
    np.testing.assert_allclose(got, np.cos(x), rtol=1e-14, atol=1e-14)
    got = evaluate(lazynp.vmap(lazynp.cos), x.reshape(8, -1))
    np.testing.assert_allclose(got, np.cos(x).reshape(8, -1), rtol=1e-14, atol=1e-14)
    got = evaluate(lambda x: lazynp.fori_loop(0, 3, lambda _, x: lazynp.sin(x), x), x)
    np.testing.assert_allclose(got, np.sin(np.sin(np.sin(x))), rtol=1e-14, atol=1e-14)
