"""The derivative of det: the cofactors, also at singular matrices, to higher orders."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, hessian, jacfwd, jit, vmap

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
