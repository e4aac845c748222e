"""Calls of LAPACK for large stacks: none may wait for the threads of XLA's pool."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _chunks
from tests.devices.worker import on_eight

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "potrf": lambda np, a: np.linalg.cholesky(a @ a.conj().mT),
    "getrf": lambda np, a: np.linalg.det(a),
    "trsm": lambda np, a: np.linalg.solve(a, a),
    "geqrf": lambda np, a: np.abs(np.linalg.qr(a)[1]),
    "gqr": lambda np, a: np.abs(np.linalg.qr(a)[0]),
    "evd": lambda np, a: np.linalg.eigvalsh(a + a.conj().mT),
    "geev": lambda np, a: np.sort_complex(np.linalg.eigvals(a)),
    "gesdd": lambda np, a: np.linalg.svd(a, compute_uv=False),
}  # fmt: skip
_CALL = re.compile(r'call_target_name = "lapack_(\w)(\w+)_ffi".* -> \(?tensor<([0-9x]+)x')


def stack(shape: tuple[int, ...], dtype: str, seed: int = 0) -> numpy.ndarray:
    g = numpy.random.default_rng(seed)
    x = g.normal(size=shape) + 9 * numpy.eye(shape[-1])
    return (x + 1j * g.normal(size=shape) if dtype in "FD" else x).astype(dtype)


def operations(routine: str, complex_: bool, m: int, n: int) -> float:
    """What jaxlib's lapack_kernels.cc counts for one matrix."""
    k = min(m, n)
    counts: dict[str, float] = {
        "potrf": n**3 / 3, "getrf": m * n * k, "trsm": m * m * n, "geqrf": 2 * m * n * k,
        "orgqr": 4 * m * n * k, "ungqr": 4 * m * n * k, "syevd": 5 * n**3, "heevd": 4 * n**3,
        "geev": 10 * n**3, "gesdd": 10 * m * n * k,
    }  # fmt: skip
    return counts[routine] * (3 if complex_ else 1)


@pytest.mark.parametrize("dtype", ["d", "F"])
@pytest.mark.parametrize("name", list(CALLS))
def test_the_thread_that_calls_computes_each_call_itself(name: str, dtype: str) -> None:
    found = set[str]()
    for shape in [(5000, 3, 3), (40, 50, 9, 9), (3, 80, 80), (1, 90, 90), (2, 1, 1)]:
        x = np.ShapeDtype(shape, np.dtype(dtype))
        text = np.jit(lambda a: CALLS[name](np, a)).lower(x).as_text()
        for letter, routine, dims in _CALL.findall(text):
            found.add(routine)
            sizes = [*map(int, dims.split("x"))]
            # the first result of an SVD or of LU, and of the others, has the matrix's shape
            *batch, m, n = sizes if routine != "geev" else [*sizes, sizes[-1]]
            work = math.prod(batch) * operations(routine, letter in "cz", m, n)
            assert math.prod(batch) == 1 or work < 200_000, (routine, sizes)
            assert math.prod(batch) == 1 or routine != "gesdd" or m * n < 64
    assert any(name in routine for routine in found)


@pytest.mark.parametrize("dtype", ["d", "F"])
@pytest.mark.parametrize("name", list(CALLS))
def test_chunks_give_numpys_results(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that divide the stack, that do not, and one that takes it all."""
    monkeypatch.setattr(_chunks, "_WORK", 2500)
    for shape in [(7, 4, 4), (2, 3, 5, 5), (13, 3, 3), (0, 3, 3)]:
        a = stack(shape, dtype)
        want = CALLS[name](numpy, a)
        got = np.jit(lambda a: CALLS[name](np, a))(np.asarray(a))
        numpy.testing.assert_allclose(numpy.asarray(got), want, 2e-4 if dtype == "F" else 1e-9)


def test_a_singular_matrix_in_a_chunk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "_WORK", 200)
    a = stack((9, 3, 3), "d")
    a[7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"), np.config(execution="compiled"):
        numpy.asarray(np.linalg.inv(np.asarray(a)))


@on_eight
def test_each_device_computes_its_own_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls at once on two threads, or on as many as there are devices, waited for ever."""
    monkeypatch.setattr(_chunks, "_WORK", 200)
    mesh = np.make_mesh((4, 2), ("x", "y"))
    a = stack((16, 2, 4, 4), "d")
    for spec in [np.PartitionSpec("x"), np.PartitionSpec("y", None), np.PartitionSpec("x", "y")]:
        x = np.device_put(a, np.NamedSharding(mesh, spec))
        for f in CALLS.values():
            numpy.testing.assert_allclose(numpy.asarray(f(np, x)), f(numpy, a), 1e-9, 1e-12)
    compiled = np.jit(np.linalg.cholesky).lower(x @ x.mT).compile()
    kinds = {c.kind for c in compiled.collectives()}
    assert "while" in compiled.as_text() and kinds <= {"all-reduce"}, kinds  # of the status
