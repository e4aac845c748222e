"""SciPy's sparse arrays with lazy arrays: the results are those with NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp

sparse = pytest.importorskip("scipy.sparse")

FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
OPERANDS = [
    [[1.0, 1.0, 2.0], [0.0, 3.0, 1.0]], [1.0, 0.0, 2.0], [[1.0], [2.0]], [[1.0, 2.0, 0.0]], 2.0,
    [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]],
]  # fmt: skip
PROGRAMS = (
    """
A == x | A != x | x == A | x != A | A >= x | A < x | x >= A | x < A | A.maximum(x) | A.minimum(x)
A + x | x + A | A - x | x - A | A * x | x * A | A / x | A @ x | x @ A | A.multiply(x) | A.dot(x)
A.multiply(x).sum() | A.multiply(x) @ A.T | np.equal(x, A)
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)


def outcome(m: Any, program: str, kind: Any, values: Any) -> Any:
    a = kind(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    try:
        done = eval(program, {"np": m, "A": a, "x": m.asarray(values)})
    except Exception as error:
        return type(error)
    if sparse.issparse(done):
        return type(done), done.dtype, done.toarray().tolist()
    scalar = not isinstance(done, (m.ndarray, np.ndarray))
    return scalar, isinstance(done, np.matrix), np.asarray(done).dtype, np.asarray(done).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_with_lazy_arrays(form: str, kind: str) -> None:
    made = getattr(sparse, f"{form}_{kind}")
    for program in PROGRAMS:
        for values in OPERANDS:
            wanted = outcome(np, program, made, values)
            assert outcome(lazynp, program, made, values) == wanted, (program, values)


def test_the_elements_of_a_sparse_array_stay_numpys() -> None:
    a = sparse.csr_array(np.eye(2))
    assert type(a.multiply(lazynp.ones((2, 2))).data) is np.ndarray
