"""Object arrays that hold traced numbers: derivatives, `jit` and `vmap` pass through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

X = numpy.array([0.5, -1.5, 2.0, 3.0])


class Pair:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Any) -> Any:
        return Pair(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Any:
        return Pair(self.x * k, self.y * k)


def stored(np, x):
    o = np.empty(4, object)
    for i in range(4):
        o[i] = x[i] * i
    return (o * o).sum() + np.dot(o, o)


def pairs(np, x):
    o = np.array([Pair(q, q * q) for q in x], dtype=object)
    s = (o * 2.0)[1:].sum()
    return s.x + s.y


def ragged(np, x):
    o = np.array([x[:2], x], dtype=object)
    return (o[0] ** 2).sum() + (o[1] ** 3).sum()


def ragged_store(np, x):
    o = np.empty(2, object)
    o[:] = [x[:2], x[1:]]
    return (o[0] ** 2).sum() + (o[1] ** 3).sum()


def list_of_numbers(np, x):
    o = np.array([[x[0], 0], [1, x[1] * 2]], dtype=object)
    return (o @ o)[1, 1] + o.T[0, 0] ** 3


def parts_stored(np, x):
    o = np.zeros((3, 4), object)
    o[0] = x
    o[1:, 0] = x[1]
    o[2, 1:3] = [x[2] ** 2, 7]
    o[1, [1, 3]] = x[:2]
    return (o**2).sum()


def filled(np, x):
    o = np.full(3, x[0], dtype=object)
    o[1] = x[1:2].reshape(())
    return (o * o).sum()


def view_stored(np, x):
    o = np.zeros(4, object)
    o[1:][:2] = x[:2] * 3
    return (o**3).sum()


def there_and_back(np, x):
    o = x.astype(object)
    o[1] *= o[0]
    return np.sin(o.astype(float)).sum() + np.array(o, float)[1] + np.array(x[2], object) ** 2


def beside_objects(np, x):
    k = np.array([1, 2, 3, 4], object)
    return (x * k).sum() + ((k - x) ** 2)[1] + (x[0] * k)[3] + x[0].astype(object) ** 2


def in_place(np, x):
    o = np.zeros(4, object)
    o += x
    np.multiply(o, x, out=o)
    return o.sum()


def joined(np, x):
    k = np.array([1, 2, 3, 4], object)
    chosen = np.where([True, False, True, False], k, x)
    return np.concatenate([k, x * 2]).sum() + np.stack([k, x])[1, 2] + (chosen**2).sum()


PROGRAMS: list[Callable[..., Any]] = [
    stored, pairs, ragged, ragged_store, list_of_numbers, parts_stored, filled, view_stored,
    there_and_back, beside_objects, in_place, joined,
]  # fmt: skip


def slopes(f: Callable[..., Any]) -> Any:
    steps = 1e-4 * numpy.eye(len(X))
    return numpy.array([(f(numpy, X + s) - f(numpy, X - s)) / 2e-4 for s in steps], float)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_through_object_arrays(f: Callable[..., Any]) -> None:
    def ours(x: Any) -> Any:
        return f(np, x)

    expected = slopes(f)
    assert abs(float(ours(np.array(X))) - float(f(numpy, X))) < 1e-12
    numpy.testing.assert_allclose(np.grad(ours)(X), expected, rtol=1e-6, atol=1e-6)
    numpy.testing.assert_allclose(np.jacfwd(ours)(X), expected, rtol=1e-6, atol=1e-6)
    numpy.testing.assert_allclose(np.jit(np.grad(ours))(X), expected, rtol=1e-6, atol=1e-6)
    numpy.testing.assert_allclose(np.grad(np.jit(ours))(X), expected, rtol=1e-6, atol=1e-6)
    both = np.vmap(np.grad(ours))(numpy.stack([X, X]))
    numpy.testing.assert_allclose(both, numpy.stack([expected, expected]), rtol=1e-6, atol=1e-6)


def test_values_that_are_known_stay_numbers() -> None:
    x = np.array(X)
    for made in (x.astype(object), np.array([x[0], 2], dtype=object), np.full(2, x[0], object)):
        assert made.dtype == object
        assert not [e for e in made.tolist() if not isinstance(e, (int, float))]


def test_values_of_elements_that_carry_a_derivative_are_refused() -> None:
    def asked(x: Any) -> Any:
        return float(x.astype(object)[0])

    with pytest.raises(TypeError, match="carries a tangent"):
        np.grad(asked)(X)


def test_object_arrays_from_outside_get_nothing_that_is_only_traced() -> None:
    kept = np.empty(1, object)

    def keeping(x: Any) -> Any:
        kept[0] = x[0] * 2
        return x.sum()

    with pytest.raises(TypeError, match="only traced"):
        np.jit(keeping)(X)
    assert kept.tolist() == [None]


def test_object_arrays_made_in_a_jitted_function_are_written_again() -> None:
    def written(x: Any) -> Any:
        o = np.empty(3, object)
        o[0], o[1], o[2] = [1, 2], x, "three"
        o[2] += "!"
        return o[1] * len(o[0]) * len(o[2])

    assert np.jit(written)(X).tolist() == (X * 12).tolist()
