"""checkpoint of functions with Python's branches and loops on values."""

import numpy
import pytest

import lazynp as np
from lazynp import checkpoint, grad, hessian, jacfwd, jit, vmap

X = numpy.array([0.1, 1.0, -2.0])


def branches(x, t):
    s = 0.0
    for v in x:
        if v > t:
            s += v**2
        elif v < -t:
            s -= v * t
        else:
            s += np.sin(v)
    return s


def kepler(x, t):
    anomaly = t
    while abs(anomaly - x[0] * np.sin(anomaly) - t) > 1e-13:
        slope = 1 - x[0] * np.cos(anomaly)
        anomaly = anomaly - (anomaly - x[0] * np.sin(anomaly) - t) / slope
    return np.cos(anomaly)


def largest_root(x, t):  # looks at the coefficients
    return np.abs(np.roots(x)).max() * t


def in_place(x, t):
    if x[0] > t:
        x[1:] *= 2
    else:
        x[0] = t
    return (x**3).sum()


@pytest.mark.parametrize("f", [branches, kepler, largest_root, in_place])
@pytest.mark.parametrize("policy", [None, "dots", "everything"])
def test_values_are_known_under_grad(f, policy) -> None:
    kept = checkpoint(f, policy=policy)
    for transformed in (grad, jacfwd, hessian):
        got = transformed(kept)(np.asarray(X).copy(), 0.5)
        numpy.testing.assert_allclose(got, transformed(f)(np.asarray(X).copy(), 0.5))
    numpy.testing.assert_allclose(
        grad(kept, 1)(np.asarray(X).copy(), 0.05), grad(f, 1)(np.asarray(X).copy(), 0.05)
    )


def test_under_jit_and_vmap_branches_are_part_of_the_program() -> None:
    kept = checkpoint(branches)
    x = np.asarray(numpy.stack([X, -X]))
    want = [numpy.asarray(grad(branches)(np.asarray(row), 0.5)) for row in (X, -X)]
    numpy.testing.assert_allclose(jit(grad(kept))(np.asarray(X), 0.5), want[0])
    numpy.testing.assert_allclose(vmap(grad(kept), (0, None))(x, 0.5), want)
    numpy.testing.assert_allclose(grad(lambda x: vmap(kept, (0, None))(x, 0.5).sum())(x), want)
    assert "checkpoint" in str(np.make_jaxpr(jit(kept))(np.asarray(X), 0.5))


def test_writes_of_a_function_that_branches() -> None:
    kept, ours, host = checkpoint(in_place), np.asarray(X).copy(), X.copy()
    numpy.testing.assert_allclose(grad(kept)(ours, 0.0), [0.03, 24.0, 96.0])
    in_place(host, 0.0)
    numpy.testing.assert_array_equal(ours, host)
