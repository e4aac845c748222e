"""Derivatives of products and accumulations: against complex steps or differences, with zeros in
every place, and at a cost that does not grow with the length by Python calls.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp
from lazynp._fronts import BUILT

CALLS: dict[str, Callable[[Any], Any]] = {
    "prod": lambda x: np.prod(x),
    "prod_0": lambda x: np.prod(x, axis=0),
    "prod_axes": lambda x: np.prod(x, axis=(0, 1), keepdims=True),
    "prod_where": lambda x: np.prod(x, axis=1, where=numpy.array([[True], [False]]), initial=3.0),
    "prod_initial": lambda x: np.prod(x, axis=0, initial=x[0, 0]),
    "reduce": lambda x: np.multiply.reduce(x, axis=1, keepdims=True),
    "nanprod": lambda x: np.nanprod(x, axis=1),
    "cumprod": lambda x: np.cumprod(x),
    "cumprod_0": lambda x: np.cumprod(x, axis=0),
    "accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "cumulative_prod": lambda x: np.cumulative_prod(x[0], include_initial=True),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2,
}
WEIGHTS = numpy.linspace(0.5, 2.0, 6)


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        y = np.ravel(f(np.reshape(x, (2, 3))))
        return np.sum(y * WEIGHTS[: len(y)])

    return total


@pytest.mark.parametrize("name", CALLS)
def test_products_with_zeros_in_every_place(name: str) -> None:
    """They are polynomials, so a step through the complex plane finds the derivative exactly."""
    f = weighted(CALLS[name])
    data = numpy.array([0.7, -1.3, 2.1, 0.4, -0.9, 1.7])
    derivative, compiled = grad(f), jit(grad(f))
    for count in (0, 1, 2, 6):
        for zeros in itertools.combinations(range(6), count):
            x = data.copy()
            x[list(zeros)] = 0
            expected = [
                f(np.array(x + 1e-30j * numpy.eye(6)[i])).imag.item() * 1e30 for i in range(6)
            ]
            found = derivative(np.array(x))
            numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
            numpy.testing.assert_allclose(compiled(np.array(x)), expected, rtol=1e-12, atol=1e-14)
            _, tangent = jvp(f, (np.array(x),), (np.array(data),))
            numpy.testing.assert_allclose(
                tangent, numpy.dot(expected, data), rtol=1e-12, atol=1e-14
            )


OTHERS: dict[str, Callable[[Any], Any]] = {
    "logaddexp.accumulate": lambda x: np.logaddexp.accumulate(x, axis=1),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=0),
    "logaddexp.reduce_where": lambda x: np.logaddexp.reduce(x, axis=1, where=x > 0, initial=-1.0),
    "logaddexp2.accumulate": lambda x: np.logaddexp2.accumulate(x, axis=0),
    "logaddexp2.reduce": lambda x: np.logaddexp2.reduce(x, axis=None),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1) ** 2,
    "minimum.accumulate": lambda x: np.minimum.accumulate(x, axis=0) ** 2,
    "hypot.reduce": lambda x: np.hypot.reduce(x, axis=1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_by_differences(name: str) -> None:
    f = weighted(OTHERS[name])
    x, step = numpy.array([0.7, -1.3, 2.1, 0.4, -0.9, 1.7]), 1e-6
    expected = [
        (f(np.array(x + step * e)).item() - f(np.array(x - step * e)).item()) / (2 * step)
        for e in numpy.eye(6)
    ]
    for derivative in (grad(f), jit(grad(f))):
        numpy.testing.assert_allclose(derivative(np.array(x)), expected, rtol=1e-7, atol=1e-8)


def test_log_sums_of_nothing_but_minus_infinity() -> None:
    """What has no share in a sum gets nothing, and no nan; shares add up to one."""
    x = np.array([-np.inf, -np.inf, 0.5, -np.inf, 1.5])
    for derivative in (grad(np.logaddexp.reduce), jit(grad(np.logaddexp.reduce))):
        found = numpy.asarray(derivative(x))
        numpy.testing.assert_allclose(found.sum(), 1, rtol=1e-14)
        assert found[[0, 1, 3]].tolist() == [0, 0, 0]
    last = lambda x: np.logaddexp.accumulate(x)[-1]  # noqa: E731
    for derivative in (grad(last), jit(grad(last))):
        found = numpy.asarray(derivative(x))
        numpy.testing.assert_allclose(found.sum(), 1, rtol=1e-14)
        assert found[[0, 1, 3]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["prod", "cumprod", "logaddexp.accumulate", "maximum.accumulate"])
def test_second_derivatives(name: str) -> None:
    f = weighted({**CALLS, **OTHERS}[name])
    x, v = numpy.array([0.7, 0.0, 2.1, 0.4, -0.9, 1.7]), WEIGHTS
    found = jvp(grad(f), (np.array(x),), (np.array(v),))[1]
    step, derivative = 1e-6, grad(f)
    ahead, behind = (numpy.asarray(derivative(np.array(x + s * v))) for s in (step, -step))
    numpy.testing.assert_allclose(found, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-7)


def calls_of(f: Callable[[], Any]) -> int:
    for _ in range(3):
        f()
    count = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        f()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["prod_0", "cumprod_0", "logaddexp", "maximum"])
def test_calls_do_not_grow_with_the_length(name: str, axis: int) -> None:
    """The reference rules of derivatives run no loop of Python over the places."""
    if not BUILT:
        pytest.skip("without C, recurrences are loops of Python")
    f = {
        "prod_0": lambda x: np.prod(x, axis=axis).sum(),
        "cumprod_0": lambda x: np.cumprod(x, axis=axis).sum(),
        "logaddexp": lambda x: np.logaddexp.accumulate(x, axis=axis).sum(),
        "maximum": lambda x: np.maximum.accumulate(x, axis=axis).sum(),
    }[name]
    rng = numpy.random.default_rng(0)
    with np.config(execution="reference", promotion=False):
        counts = []
        for n in (50, 1600):
            x = np.array(rng.uniform(0.9, 1.1, (n, 16) if axis == 0 else (16, n)))
            counts.append(calls_of(lambda x=x: numpy.asarray(grad(f)(x))))
    assert counts[1] < 1.5 * counts[0]


@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_derivatives_of_logarithms_of_sums_keep_the_dtype(name: str, char: str) -> None:
    ufunc = getattr(np, name)
    x, wide = np.array([1.0, -numpy.inf, 0.5, 2.0], char), numpy.array([1.0, -numpy.inf, 0.5, 2.0])
    ones = np.ones_like(x)
    for f in (ufunc.accumulate, ufunc.reduce, lambda x: ufunc(x, x[::-1])):
        out, dot = np.jvp(f, (x,), (ones,))
        back = np.vjp(f, x)[1](np.ones_like(out))[0]
        assert (out.dtype, dot.dtype, back.dtype) == (x.dtype,) * 3
        want = np.jvp(f, (np.array(wide),), (np.ones(4),))[1]
        numpy.testing.assert_allclose(dot, want, rtol=numpy.finfo(char).eps * 8)
