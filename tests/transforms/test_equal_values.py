"""Derivatives by eigenvectors and singular vectors where values are equal, exactly or up to
rounding: right where the result does not depend on the choice of the vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

_rng = numpy.random.default_rng(3)
N = 5
Q, P = (numpy.linalg.qr(_rng.normal(size=(N, N)))[0] for _ in range(2))
W = _rng.normal(size=(N, N))
U = numpy.linalg.qr(_rng.normal(size=(N, N)) + 1j * _rng.normal(size=(N, N)))[0]


def occupied(np: Any, a: Any) -> Any:
    """The projection onto three of the vectors, as of a density matrix."""
    v = np.linalg.eigh((a + a.conj().T) / 2)[1][:, :3]
    return ((v @ v.conj().T).real * W).sum()


def rotation(np: Any, a: Any) -> Any:
    """Kabsch's: the orthogonal matrix that is nearest."""
    u, _, vh = np.linalg.svd(a)
    return ((u @ vh).real * W).sum()


def largest(np: Any, a: Any) -> Any:
    """By the vectors of the two largest singular values."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return ((u[:, :2] @ vh[:2]).real * W).sum() + s[:2].sum()


def product(np: Any, a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    return (((u * s) @ vh).real * W).sum()


CASES: list[tuple[Callable[..., Any], Any]] = [
    (occupied, (Q * [2, 2, 2, 5, 7.0]) @ Q.T),
    (occupied, numpy.diag([2, 2, 2, 5, 7.0])),
    (occupied, (Q * [0, 0, 0, 5, 7.0]) @ Q.T),
    (occupied, (U * [2, 2, 2, 5, 7.0]) @ U.conj().T),
    (rotation, numpy.eye(N)),
    (rotation, (Q * [3, 3, 3, 1, 1.0]) @ P),
    (rotation, (U * [3, 3, 3, 1, 1.0]) @ P),
    (largest, (Q * [5, 5, 2, 1, 0.5]) @ P),
    (largest, (Q * [5, 5, 2, 0, 0.0]) @ P),
    (product, (Q * [7, 5, 2, 0, 0.0]) @ P),
]


def _along(f: Callable[..., Any], a: Any, d: Any) -> Any:
    h = 1e-3
    v = [float(f(numpy, a + k * h * d)) for k in (-2, -1, 1, 2)]
    return (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_does_not_depend_on_the_vectors_chosen(case: int) -> None:
    f, a = CASES[case]
    d = numpy.random.default_rng(case).normal(size=(N, N))
    d = d + 1j * d[::-1] if a.dtype.kind == "c" else d
    want = _along(f, a, d)

    def ours(x: Any) -> Any:
        return f(np, x)

    x = np.asarray(a)
    forward = np.jvp(ours, (x,), (np.asarray(d),))[1]
    numpy.testing.assert_allclose(forward, want, rtol=1e-7, atol=1e-9)
    for slope in (np.grad(ours), np.jit(np.grad(ours))):
        found = (slope(x) * d).sum().real
        numpy.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)
    other = np.asarray((Q * range(1, 6)) @ P.T).astype(a.dtype)
    both = np.vmap(np.grad(ours))(np.stack([x, other]))
    numpy.testing.assert_allclose((both[0] * d).sum().real, want, rtol=1e-7, atol=1e-9)


def test_values_that_are_near_but_not_equal_keep_their_rotation() -> None:
    """Vectors of eigenvalues that differ by a millionth, and of a graded matrix."""

    def first(np: Any, a: Any) -> Any:
        return (np.linalg.eigh(a)[1][:, 0] ** 2)[0]

    for a in (numpy.diag([1.0, 1.0 + 1e-6, 3.0]), numpy.diag([1.0, 2.0, 1e12])):
        a[1, 0] = a[0, 1] = 0.1 * (a[1, 1] - a[0, 0])
        d = numpy.zeros((3, 3))
        d[0, 1] = d[1, 0] = a[1, 1] - a[0, 0]
        h = 1e-4
        want = (float(first(numpy, a + h * d)) - float(first(numpy, a - h * d))) / (2 * h)
        found = np.jvp(lambda x: first(np, x), (np.asarray(a),), (np.asarray(d),))[1]
        assert abs(want) > 0.1 and float(found) == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize("n", [0, 1])
def test_small_matrices(n: int) -> None:
    a = np.ones((n, n))
    assert np.grad(lambda x: np.linalg.eigh(x)[1].sum())(a).shape == (n, n)
    assert np.grad(lambda x: np.linalg.svd(x)[0].sum() * 1.0)(a).shape == (n, n)
