"""Reverse mode of loops whose number of rounds the data decide."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from lazynp.transforms import _unbounded

np: Any = lazynp
STARTS, COLUMNS = numpy.array([0, 3, 3, 7, 8]), numpy.array([0, 2, 3, 1, 1, 0, 2, 3])


def rows(np: Any, v: Any) -> Any:
    t = 0.0
    for i in range(len(STARTS) - 1):
        s = 1.0
        for j in range(np.array(STARTS)[i], np.array(STARTS)[i + 1]):
            s = s * v[j] + v[np.array(COLUMNS)[j]]
        t += s * s
    return t


def scattered(np: Any, v: Any) -> Any:
    at, columns, y = np.array(STARTS), np.array(COLUMNS), np.zeros(4)
    for i in range(4):
        for j in range(at[i], at[i + 1]):
            y[columns[j]] += v[j] * (i + 1) * v[i]
    return (y**3).sum()


def newton(np: Any, v: Any) -> Any:
    z, error = v[0], 1.0
    while error > 1e-13:
        new = z - 0.3 * (z * z - v[1]) / (2 * z)
        error = abs(new - z)
        z = new
    return z


def broken(np: Any, v: Any) -> Any:
    k, t = 0, 1.0
    while k < 100:
        t = t * v[k % 8] + 1
        if t > 3.2:
            break
        k += 1
    return t


def chosen(np: Any, v: Any) -> Any:
    s, k = 0.0, 0
    while s < 6:
        if v[k] > 0.7:
            s += v[k] ** 2
        else:
            s += 2 * v[k]
        k = (3 * k + 1) % 7
    return s


def in_place(np: Any, v: Any) -> Any:
    a, t = v.copy(), 0
    while abs(a[0]) < 2 and t < 20:
        a[t % 8] = np.sin(a[t % 8]) + 0.3 + 0.5 * a[(t + 1) % 8] * v[t % 8]
        t += 1
    return (a**2).sum()


def nested(np: Any, v: Any) -> Any:
    s, i = 0.0, 0
    while s < 3:
        t = 1.0
        while t < v[i % 8] * 2 + 2:
            t = t * 1.3 + v[(i + 1) % 8]
        s += t * 0.1
        i += 1
    return s


def no_round(np: Any, v: Any) -> Any:
    s = v[0] * v[1]
    while s > 100:
        s = s * v[2]
    return s


FUNCTIONS = [rows, scattered, newton, broken, chosen, in_place, nested, no_round]
V = numpy.array([0.9, 0.6, 1.1, 0.8, 0.5, 1.2, 0.65, 1.05])


def slopes(f: Any, v: Any) -> Any:
    h = 1e-6
    steps = numpy.eye(len(v)) * h
    return numpy.array([(f(numpy, v + d) - f(numpy, v - d)) / (2 * h) for d in steps])


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients(f: Any) -> None:
    jitted = np.jit(lambda v: f(np, v))
    want = slopes(f, V)
    numpy.testing.assert_allclose(np.grad(jitted)(V), want, rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose(np.jacfwd(jitted)(V), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [rows, broken, in_place])
def test_few_checkpoints(f: Any, monkeypatch: Any) -> None:
    """Rounds between checkpoints are reached from the one before."""
    monkeypatch.setattr(_unbounded, "_MOST", 2)
    got = np.grad(np.jit(lambda v: f(np, v * 1.0)))(V)  # another program than elsewhere
    numpy.testing.assert_allclose(got, slopes(f, V), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [rows, chosen, in_place, no_round])
def test_batches(f: Any) -> None:
    jitted = np.jit(lambda v: f(np, v))
    many = numpy.stack([V, V[::-1] * 1.1, V * 0.8])
    want = numpy.stack([np.grad(jitted)(v) for v in many])
    numpy.testing.assert_allclose(np.vmap(np.grad(jitted))(many), want, rtol=1e-12)
    got = np.grad(lambda m: np.vmap(jitted)(m).sum())(np.array(many))
    numpy.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("f", [newton, scattered, chosen])
def test_second_derivatives(f: Any) -> None:
    jitted = np.jit(lambda v: f(np, v))
    want = np.jacfwd(np.jacfwd(jitted))(V)
    numpy.testing.assert_allclose(np.hessian(jitted)(V), want, rtol=1e-9, atol=1e-9)
    twice = np.grad(lambda v: (np.grad(jitted)(v) * np.arange(8.0)).sum())(V)
    numpy.testing.assert_allclose(twice, want @ numpy.arange(8.0), rtol=1e-9, atol=1e-9)


def test_linearize_runs_forwards() -> None:
    out, tangent = np.linearize(np.jit(lambda v: newton(np, v)), V)
    assert float(out) == pytest.approx(0.6**0.5)
    assert float(tangent(np.ones(8))) == pytest.approx(0.5 / 0.6**0.5)


def test_only_what_derivatives_depend_on_is_run_again() -> None:
    """y is not: it only adds up."""
    f = np.jit(lambda v, n: _added_up(v, n))
    assert np.grad(f)(np.ones(3), np.array(4)).tolist() == [4, 2, 3]
    text = str(np.make_jaxpr(np.grad(f))(np.ones(3), np.array(4)))
    assert "linear_call" in text
    assert "f64[256,1000]" not in text
    assert "i64[256]" in text  # k


def _added_up(v: Any, n: Any) -> Any:
    y, k = np.zeros(1000), 0
    while k < n:
        y[k] += v[k % 3] * (k + 1)
        k += 1
    return y[1:4].sum()


def test_loops_within_loops_add_their_cotangents_in_place() -> None:
    """Else each row would add an array of the size of the matrix."""

    @np.jit
    def total(m: Any) -> Any:
        t = 0.0
        for i in range(m.shape[0]):
            for j in range(m.shape[1]):
                t += np.sin(m[i, j])
        return t

    m = numpy.arange(600.0).reshape(20, 30)
    numpy.testing.assert_allclose(np.grad(total)(m), numpy.cos(m), rtol=1e-12)
    adds = [
        eqn
        for inner in _jaxprs(np.make_jaxpr(np.grad(total))(m))
        for eqn in inner.eqns
        if eqn.primitive.name == "add" and eqn.outputs[0].aval.shape == m.shape
    ]
    assert not adds


def _jaxprs(jaxpr: Any) -> Any:
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    yield jaxpr
    for eqn in jaxpr.eqns:
        for p in eqn.params.values():
            if hasattr(p, "eqns"):
                yield from _jaxprs(p)
