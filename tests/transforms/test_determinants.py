"""The derivative of det: the cofactors, also at singular matrices, to higher orders."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, hessian, jacfwd, jit, jvp, vmap

_det: Any = np.linalg.det


def _by_permutations(a: Any) -> Any:
    """Leibniz's formula, whose derivatives are right everywhere."""
    n = a.shape[0]
    total = 0.0
    for p in itertools.permutations(range(n)):
        term = -1.0 if sum(p[k] > p[i] for i in range(n) for k in range(i)) % 2 else 1.0
        for i in range(n):
            term = term * a[i, p[i]]
        total = total + term
    return total


_R = numpy.random.default_rng(3).normal(size=(3, 3))
_ROWS = numpy.array([[1.0, 2, 3], [2, 4, 6], [1, 1, 5]])
MATRICES = [
    _ROWS, numpy.zeros((3, 3)), numpy.ones((3, 3)), numpy.diag([0.0, 1.0, 2.0]),
    numpy.diag([0.0, 0.0, 2.0]), numpy.arange(9.0).reshape(3, 3), _R,
]  # fmt: skip
WANTED = [
    [numpy.asarray(f(_by_permutations)(np.array(a))) for a in MATRICES] for f in (grad, hessian)
]


def _close(got: Any, want: Any) -> None:
    numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", range(len(MATRICES)))
def test_cofactors(case: int) -> None:
    _close(grad(_det)(MATRICES[case]), WANTED[0][case])
    _close(hessian(_det)(MATRICES[case]), WANTED[1][case])


def test_of_stacks() -> None:
    a = numpy.stack(MATRICES)
    _close(jit(grad(lambda x: _det(x).sum()))(a), WANTED[0])
    _close(grad(lambda x: vmap(_det)(x).sum())(a), WANTED[0])
    _close(vmap(grad(_det))(a), WANTED[0])
    _close(jit(vmap(jacfwd(jacfwd(_det))))(a), WANTED[1])


def test_of_other_kinds() -> None:
    diagonal = numpy.diag([1.0, 0.0, 2.0, 3.0])  # the zero is not the last pivot
    want = numpy.zeros((4, 4))
    want[1, 1] = 6
    _close(grad(_det)(diagonal), want)
    assert grad(_det)(numpy.zeros((1, 1))).tolist() == [[1.0]]
    assert grad(_det)(numpy.ones((2, 2), "f4")).dtype == "f4"
    assert grad(lambda a: _det(a).sum())(numpy.ones((0, 2, 2))).shape == (0, 2, 2)
    z = _ROWS + 1j * numpy.array([[1, 2, 3], [2, 4, 6], [0, 0, 1]])
    want = grad(_by_permutations, holomorphic=True)(np.array(z))
    _close(grad(_det, holomorphic=True)(z), want)


def _third(f: Any, a: Any, *directions: Any) -> Any:
    """Backwards and forwards."""
    u, v, w = map(np.asarray, directions)
    along = lambda r, s, t: f(np.asarray(a) + r * u + s * v + t * w)  # noqa: E731
    inner = lambda s, r: grad(lambda t: along(r, s, t))(0.0)  # noqa: E731
    return jvp(lambda r: grad(inner)(0.0, r), (0.0,), (1.0,))[1]


NEARLY = [_ROWS + 1e-9 * _R, numpy.diag([1.0, 1e-7, 1e-12]), 1e-8 * _R, numpy.diag([1.0, 1e3, 0])]


@functools.cache
def _jitted(shape: Any) -> Any:
    """One program for all matrices of a shape, along these directions."""
    directions = numpy.random.default_rng(5).normal(size=(3, *shape))
    return directions, jit(lambda x: _third(_det, x, *directions))


@pytest.mark.parametrize("a", [*MATRICES, *NEARLY, numpy.diag([1.0, 0]), numpy.zeros((4, 4))])
def test_third_derivatives(a: Any) -> None:
    """Of singular matrices and of those that are nearly singular."""
    directions, jitted = _jitted(a.shape)
    with np.config(execution="reference"):  # what is right need not be compiled
        want = numpy.asarray(_third(_by_permutations, a, *directions))
    _close(_third(_det, a, *directions), want)
    _close(jitted(a), want)


def test_second_derivatives_of_nearly_singular_matrices() -> None:
    a = numpy.stack([*NEARLY, _R])
    with np.config(execution="reference"):
        want = numpy.stack([numpy.asarray(hessian(_by_permutations)(np.array(x))) for x in a])
    _close(vmap(hessian(_det))(a), want)
    _close(jit(vmap(jacfwd(jacfwd(_det))))(a), want)
