"""Factors of SciPy's sparse matrices solve for lazy arrays, whoever is imported first."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest

import lazynp as np

scipy_sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
linalg = pytest.importorskip("scipy.sparse.linalg", reason="SciPy is not installed")


@pytest.mark.parametrize("name", ["splu", "spilu"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 0)])
@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_factors_solve_for_lazy_arrays(name: str, shape: tuple[int, ...], trans: str) -> None:
    matrix = scipy_sparse.csc_matrix(numpy.array([[2.0, 1, 0], [0, 3, 1], [1, 0, 4]]))
    b = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    factors = getattr(linalg, name)(matrix)
    want = factors.solve(b, trans)
    got = factors.solve(np.array(b), trans=trans)
    assert type(got) is type(want)
    numpy.testing.assert_array_equal(got, want)
    assert factors.shape == (3, 3) and factors.L.shape == (3, 3)


def test_factorized_takes_lazy_arrays() -> None:
    solve = linalg.factorized(scipy_sparse.csc_matrix(numpy.eye(3) * 2))
    assert solve(np.arange(3.0)).tolist() == [0, 0.5, 1]
    with pytest.raises(TypeError):
        solve("text")


@pytest.mark.parametrize(
    "first",
    [
        "import lazynp as np, scipy.sparse.linalg as s",
        "import scipy.sparse.linalg as s, lazynp as np",
    ],
)
def test_either_may_be_imported_first(first: str) -> None:
    script = (
        f"{first}\nfrom scipy.sparse import eye\nprint(s.splu(eye(2).tocsc()).solve(np.ones(2)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[1.", "1.]"]
