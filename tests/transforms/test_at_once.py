"""Under a derivative, operations run at once where they would without it: the results are those of
what is recorded, and nothing stays pending, is copied without need, or is left for the collector.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _policy, grad, jit, value_and_grad
from lazynp._fronts import BUILT
from lazynp._recorder import local
from lazynp.primitives import elementwise


def _rows(x: Any) -> Any:
    u = x.copy()
    for i in range(1, len(u)):
        u[i] += 0.5 * np.sin(u[i - 1])
        u[i, 1:] -= u[i, :-1] * u[i - 1, 1:]
    return (u * u).sum()


def _stencil(x: Any) -> Any:
    u, old = x.copy(), np.zeros_like(x)
    for _ in range(4):
        old[...] = u
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1]) * old[1:-1, 1:-1]
        u[0] = u[1]
        u[:, -1] = 2.0
        u[2:, 2:] *= u[2:, 2:]
    return (u * old).sum() + u.max()


def _read_before_written(x: Any) -> Any:
    """What the derivative reads is what was there when it was read."""
    u = x * 1.0
    part, total = u[1:], 0.0
    for i in range(3):
        square = u * u
        total = total + (square * part.sum()).sum()
        u[i] = u[i + 1] * 3
        part[0] = 0.5
        u += 1
        u[1:3] = u[2:4]
    return total + part.sum()


def _matrices(x: Any) -> Any:
    h = x
    for _ in range(3):
        h = np.tanh(h @ x.T @ x / 10)
    s = np.linalg.solve(x[:4, :4] + 5 * np.eye(4), h[:4]).sum() + np.linalg.slogdet(x.T @ x)[1]
    return s + np.concatenate([h, x[::2]]).sum() + np.median(x) + np.sort(h, axis=0)[1].sum()


def _numbers(x: Any) -> Any:
    a, b, *_ = x[0]
    for k in range(5):
        a, b = np.sin(a) * 0.9 + b / (k + 2.0), b * b - a
        if a > b:
            a = a - 1
    return np.array([a, b, 2.0, a * b]).sum() + a


def _shapes(x: Any) -> Any:
    y = np.roll(x, 1, 0).reshape(-1)[::2] + np.pad(x, 1)[1:-1, 1:-1].ravel()[::2]
    z = np.where(y > 0, np.sqrt(abs(y) + 1), y).astype(numpy.float32) * 2
    return (z[[0, 1, 1]] ** 2).sum() + z.mean() + x[x > 0].sum() + np.cumsum(y)[-1]


PROGRAMS = [_rows, _stencil, _read_before_written, _matrices, _numbers, _shapes]


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> Any:
    """At the beginning of a program, when nothing is known of its loops."""
    monkeypatch.setattr(_policy, "INITIAL", _policy.Mode.FIRST)
    with np.config(execution="adaptive", promotion=False):
        yield


def _given(f: Any) -> Any:
    return numpy.random.default_rng(len(f.__name__)).normal(size=(7, 6))


@pytest.mark.parametrize("f", PROGRAMS)
def test_the_results_are_those_of_what_is_recorded(f: Any, first: None) -> None:
    x = np.array(_given(f))
    slope = value_and_grad(f)
    with local.recorder.recording():
        want = [numpy.asarray(v) for v in slope(x)]
        for _ in range(3):
            numpy.testing.assert_array_equal(slope(x)[1], want[1])
    for _ in range(4):  # the backward pass is kept from the second call on
        value, found = slope(x)
        numpy.testing.assert_array_equal(value, want[0])
        numpy.testing.assert_array_equal(found, want[1])
    numpy.testing.assert_array_equal(x, _given(f))
    compiled = jit(grad(f))(x) if f is not _numbers and f is not _shapes else want[1]
    numpy.testing.assert_allclose(compiled, want[1], rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(not BUILT, reason="only C runs kept programs at once")
@pytest.mark.parametrize("f", PROGRAMS)
def test_nothing_stays_pending(f: Any, first: None) -> None:
    x = np.array(_given(f))
    slope = value_and_grad(f)
    with local.recorder.recording():  # what is recorded once has a template
        numpy.asarray(slope(x)[1])
    for _ in range(3):
        numpy.asarray(slope(x)[1])
    before = np.stats().cuts
    value, found = slope(x)
    assert not local.recorder.pending
    assert value._node[2] is not None and found._node[2] is not None
    assert np.stats().cuts == before


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_gradient_leaves_nothing_for_the_collector(f: Any, first: None) -> None:
    """The tape holds what the backward pass reads: a cycle through it would keep that."""
    x = np.array(_given(f))
    slope = value_and_grad(f)
    for _ in range(3):
        numpy.asarray(slope(x)[1])
    gc.collect()
    gc.disable()
    try:
        numpy.asarray(slope(x)[1])
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.skipif(not BUILT, reason="only C stores in place here")
def test_stores_are_made_in_place(first: None) -> None:
    """Where nothing else shows the array: the memory stays the same, from the second store on."""
    places: list[int] = []

    def f(x: Any) -> Any:
        u = x.copy()
        for i in range(1, 9):
            u[i] = u[i - 1] * 2
            u[i] += u[i - 1]
            u[2:5] *= 1.5
            places.append(u._node[2].primal[2].ctypes.data)
        return u.sum()

    for _ in range(3):  # what is met for the first time is Python's
        places.clear()
        grad(f)(np.ones((9, 500)))
    assert len(set(places[1:])) == 1


def test_an_error_in_the_middle_leaves_the_values(first: None) -> None:
    x = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        u = x * 2
        u[0] = u[1] * 3
        with pytest.raises(ValueError):
            u[:2] = x
        with pytest.raises(IndexError):
            u[5] = 1.0
        return (u * u).sum()

    for _ in range(3):
        numpy.testing.assert_array_equal(grad(f)(x), [0.0, 288 / 2 + 16 / 1, 24.0])


SPECIAL = [0.0, -0.0, 1.5, -2.0, numpy.inf, -numpy.inf, numpy.nan]


@pytest.mark.parametrize("name", ["multiply_no_nan", "xdivy"])
def test_guarded_products_of_numbers_and_arrays(name: str) -> None:
    """Those of two arrays, whatever the operands are, and in the memory of one of them."""
    primitive: Any = getattr(elementwise, name)
    rule: Callable[..., Any] = primitive.reference
    x, y = numpy.meshgrid(SPECIAL, SPECIAL)
    with numpy.errstate(all="ignore"):
        want = _in_python(name, x, y)
        numpy.testing.assert_array_equal(rule(x, y), want)
        numpy.testing.assert_array_equal(rule(x.T, y.T), want.T)
        for i, a in enumerate(numpy.array(SPECIAL)):
            numpy.testing.assert_array_equal(rule(x[0], a), want[i])
            for k, b in enumerate(numpy.array(SPECIAL)):
                got = rule(b, a)
                assert type(got) is numpy.float64 or not BUILT
                numpy.testing.assert_array_equal(got, want[i, k])
                assert numpy.signbit(got) == numpy.signbit(want[i, k]) or got != got
        if BUILT:
            out = x.copy()
            assert rule(out, y, out) is out
            numpy.testing.assert_array_equal(out, want)


def _in_python(name: str, x: Any, y: Any) -> Any:
    zero = (x == 0) | (y == 0) if name == "multiply_no_nan" else x == 0
    found = x * y if name == "multiply_no_nan" else x / y
    return numpy.where(numpy.isnan(found) & zero, 0.0, found)
