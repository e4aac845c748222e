"""numpy.linalg: every function, on NumPy and on lazynp.

Where signs or phases are free, a program ends in an expression that does not depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import check

L = lazynp.linalg


def data(dtype: str, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return (4 * x).astype(dtype) if np.dtype(dtype).kind == "i" else x.astype(dtype)


def named(dtype: str, batch: tuple[int, ...] = ()) -> dict[str, Any]:
    """a: square; h: positive definite; t, w: tall and wide; b, v: right-hand sides."""
    a = data(dtype, *batch, 4, 4)
    h = a @ a.conj().swapaxes(-1, -2) + np.eye(4, dtype=dtype)
    t, w = data(dtype, *batch, 5, 3, seed=1), data(dtype, *batch, 3, 5, seed=2)
    b, v = data(dtype, *batch, 4, 2, seed=3), data(dtype, 4, seed=4)
    return {"a": a, "h": h.astype(dtype), "t": t, "w": w, "b": b, "v": v}


DIRECT = [
    "np.linalg.inv(a)",
    "np.linalg.solve(a, b)",
    "np.linalg.solve(a, v)",
    "np.linalg.det(a)",
    "tuple(np.linalg.slogdet(a))",
    "np.linalg.cholesky(h)",
    "np.linalg.cholesky(h, upper=True)",
    "np.linalg.eigvalsh(h)",
    "np.linalg.eigvalsh(a, 'U')",
    "np.linalg.svdvals(t)",
    "np.linalg.svd(w, compute_uv=False)",
    "np.linalg.svd(h, compute_uv=False, hermitian=True)",
    "np.linalg.pinv(t)",
    "np.linalg.pinv(w, rtol=None)",
    "np.linalg.matrix_rank(w)",
    "np.linalg.matrix_power(a, -3)",
    "np.linalg.cond(h)",
    "np.linalg.cond(a, 1)",
]
INVARIANT = [
    "q, r = np.linalg.qr(t); abs(q), abs(r), q @ r",
    "q, r = np.linalg.qr(w); abs(q), abs(r), q @ r",
    "q, r = np.linalg.qr(t, 'complete'); abs(q)[..., :3], abs(r), q @ r, q.shape",
    "abs(np.linalg.qr(t, mode='r'))",
    "u, s, vh = np.linalg.svd(t, full_matrices=False); s, (u * s[..., None, :]) @ vh",
    "u, s, vh = np.linalg.svd(w); s, (u * s[..., None, :]) @ vh[..., :3, :], u.shape, vh.shape",
    "u, s, vh = np.linalg.svd(h, hermitian=True); s, (u * s[..., None, :]) @ vh",
    "e, z = np.linalg.eigh(h); e, abs(z), (z * e[..., None, :]) @ z.conj().swapaxes(-1, -2)",
    "e, z = np.linalg.eigh(a, UPLO='U'); e, abs(z)",
    "e = np.linalg.eigvals(a); e.sum(-1), (e**2).sum(-1), e.prod(-1)",
    "e, z = np.linalg.eig(a); abs((a @ z) - (z * e[..., None, :])) < 1e-4, e.sum(-1)",
]


@pytest.mark.parametrize("program", DIRECT + INVARIANT)
def test_double(program: str) -> None:
    check(program, named("f8"))


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8"])
@pytest.mark.parametrize("program", [*DIRECT[:7], *DIRECT[9:11], DIRECT[14]])
def test_dtypes(program: str, dtype: str) -> None:
    check(program, named(dtype))


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16"])
@pytest.mark.parametrize("program", [INVARIANT[0], INVARIANT[4], INVARIANT[7], INVARIANT[9]])
def test_factors_dtypes(program: str, dtype: str) -> None:
    check(program, named(dtype))


@pytest.mark.parametrize("program", DIRECT + INVARIANT)
def test_stacks(program: str) -> None:
    check(program, named("f8", (2,)))


def test_stacks_are_broadcast() -> None:
    a, b = data("f8", 2, 1, 3, 3), data("f8", 4, 3, 2)
    check("np.linalg.solve(a, b)", {"a": a, "b": b})
    check("np.linalg.solve(a[0, 0], b)", {"a": a, "b": b})
    check("np.linalg.solve(a, b[0, :, 0])", {"a": a, "b": b})
    check("np.linalg.solve(a, a)", {"a": a.astype("f4"), "b": b})


EMPTY = [
    "np.linalg.inv(n), np.linalg.det(n), np.linalg.cholesky(n)",
    "np.linalg.inv(z), np.linalg.det(z), np.linalg.cholesky(z)",
    "tuple(np.linalg.slogdet(n)), tuple(np.linalg.slogdet(z))",
    "np.linalg.solve(n, n[:, :0]), np.linalg.solve(z, z)",
    "np.linalg.solve(np.eye(2), np.zeros((2, 0)))",
    "np.linalg.eigvals(n), np.linalg.eigvalsh(n), tuple(np.linalg.eigh(z))",
    "tuple(np.linalg.eig(n)), tuple(np.linalg.eig(z))",
    "tuple(np.linalg.svd(r)), tuple(np.linalg.svd(r, False)), tuple(np.linalg.svd(r.T))",
    "np.linalg.svd(n, compute_uv=False), np.linalg.pinv(r), np.linalg.matrix_rank(r)",
    "tuple(np.linalg.qr(r)), tuple(np.linalg.qr(r, 'complete')), np.linalg.qr(r, 'r')",
    "tuple(np.linalg.qr(r.T)), np.linalg.qr(r, 'raw')",
    "np.linalg.lstsq(r, np.ones(3)), np.linalg.lstsq(r.T, np.ones(0))",
    "np.linalg.lstsq(np.eye(3), np.ones((3, 0)))",
    "np.linalg.norm(n), np.linalg.norm(n, 1), np.linalg.norm(n, 2)",
    "np.linalg.matrix_power(n, 0), np.linalg.matrix_power(z, 3)",
]


@pytest.mark.parametrize("program", EMPTY)
def test_empty(program: str) -> None:
    """Nothing of size 0 may reach LAPACK: it kills the process."""
    check(program, {"n": np.zeros((0, 0)), "z": np.zeros((0, 3, 3)), "r": np.zeros((3, 0))})
    stack = {"n": np.zeros((2, 0, 0))[0], "z": np.zeros((0, 2, 2)), "r": np.zeros((2, 0))}
    if "lstsq" not in program and "pinv" not in program:
        check(program, {k: v.astype("c8") for k, v in stack.items()})


ERRORS = [
    "np.linalg.inv(np.ones((2, 2)))",
    "np.linalg.inv(np.array([np.eye(2), np.zeros((2, 2))]))",
    "np.linalg.solve(np.zeros((2, 2)), np.ones(2))",
    "np.linalg.cholesky(-np.eye(3))",
    "np.linalg.cholesky(np.array([np.eye(2), -np.eye(2)]))",
    "np.linalg.matrix_power(np.zeros((2, 2)), -1)",
    "np.linalg.matrix_power(np.eye(2), 1.5)",
    "np.linalg.inv(np.ones((2, 3)))",
    "np.linalg.inv(np.ones(3))",
    "np.linalg.det(np.ones((2, 3)))",
    "np.linalg.qr(np.ones(3))",
    "np.linalg.qr(np.eye(3), 'other')",
    "np.linalg.svd(np.ones(3))",
    "np.linalg.eig(np.array([[1, np.nan], [0, 1]]))",
    "np.linalg.eigvals(np.array([[1, np.inf], [0, 1]]))",
    "np.linalg.eigh(np.eye(2), 'X')",
    "np.linalg.svd(np.array([[1, np.nan], [0, 1]]))",
    "np.linalg.solve(np.eye(2), np.ones(3))",
    "np.linalg.solve(np.eye(2), np.float64(3))",
    "np.linalg.solve(np.ones((2, 2, 2)), np.ones((3, 2, 1)))",
    "np.linalg.inv(np.eye(2, dtype='f2'))",
    "np.linalg.cond(np.zeros((0, 0)))",
    "np.linalg.lstsq(np.eye(2), np.ones(3))",
    "np.linalg.lstsq(np.ones((2, 2, 2)), np.ones(3))",
    "np.linalg.norm(np.eye(2), 'wrong')",
    "np.linalg.norm(np.ones(2), 'fro')",
    "np.linalg.norm(np.eye(2), 3)",
    "np.linalg.norm(np.eye(2), axis=(0, 0))",
    "np.linalg.norm(np.ones((2, 2, 2)), 2)",
    "np.linalg.norm(np.eye(2), axis='x')",
    "np.linalg.norm(np.eye(2), axis=5)",
    "np.linalg.multi_dot([np.eye(2)])",
    "np.linalg.multi_dot([np.ones(2), np.ones((2, 2, 2)), np.eye(2)])",
    "np.linalg.tensorinv(np.eye(2), 0)",
    "np.linalg.tensorsolve(np.ones((2, 3)), np.ones(2))",
    "np.linalg.matrix_rank(np.eye(2), tol=1, rtol=1)",
    "np.linalg.pinv(np.eye(2), 1, rtol=1)",
    "np.linalg.outer(np.eye(2), np.ones(2))",
    "np.linalg.cross(np.ones(2), np.ones(2))",
]


@pytest.mark.parametrize("program", ERRORS)
def test_errors(program: str) -> None:
    check(program, {}, message=True)


@pytest.mark.parametrize("dtype", ["O", "U1", "g", "M8[s]"])
def test_unsupported_dtypes(dtype: str) -> None:
    x = np.zeros((2, 2), dtype)
    check("np.linalg.inv(x)", {"x": x})
    check("np.linalg.svd(x)", {"x": x})


def test_raised_before_the_statement_returns() -> None:
    """Recorded, not computed; the matrix is the result of other operations."""
    x = lazynp.ones((3, 3))
    outcome = "positive"
    try:
        L.cholesky(x - 2 * lazynp.eye(3))
    except L.LinAlgError:
        outcome = "not positive"
    assert outcome == "not positive" and L.LinAlgError is np.linalg.LinAlgError


NORMS = [
    *(f"np.linalg.norm(x, {o})" for o in ("None", "'fro'", "'nuc'", "2", "-2", "1", "-1")),
    *(f"np.linalg.norm(x, {o})" for o in ("np.inf", "-np.inf")),
    *(f"np.linalg.norm(v, {o})" for o in ("None", "2", "1", "0", "3", "-1.5", "np.inf", "-np.inf")),
    "np.linalg.norm(x, axis=1)",
    "np.linalg.norm(x, 1, axis=0, keepdims=True)",
    "np.linalg.norm(x, keepdims=True)",
    "np.linalg.norm(s, 'nuc', axis=(0, 2), keepdims=True)",
    "np.linalg.norm(s, 1, axis=(2, 0))",
    "np.linalg.norm(s, np.inf, axis=(2, 0))",
    "np.linalg.norm(s)",
    "np.linalg.matrix_norm(s)",
    "np.linalg.matrix_norm(s, ord=-1, keepdims=True)",
    "np.linalg.vector_norm(s)",
    "np.linalg.vector_norm(s, axis=(0, 2), ord=3)",
    "np.linalg.vector_norm(s, axis=1, keepdims=True)",
    "np.linalg.vector_norm(s, keepdims=True)",
    *(f"np.linalg.cond(x[:, :3], {p})" for p in ("2", "-2", "'fro'", "np.inf", "-1")),
    "np.linalg.cond(np.ones((2, 2)), 1), np.linalg.cond(np.zeros((2, 2)))",
    "np.linalg.cond(np.array([np.eye(2), np.full((2, 2), np.nan), np.zeros((2, 2))]), 1)",
]


@pytest.mark.parametrize("program", NORMS)
def test_norms(program: str) -> None:
    arrays = {"x": data("f8", 3, 4), "v": data("f8", 5), "s": data("f8", 2, 3, 4)}
    check(program, arrays)


@pytest.mark.parametrize("program", NORMS[::4])
@pytest.mark.parametrize("dtype", ["i8", "f4", "c16"])
def test_norms_dtypes(program: str, dtype: str) -> None:
    arrays = {"x": data(dtype, 3, 4), "v": data(dtype, 5), "s": data(dtype, 2, 3, 4)}
    if dtype == "f4":
        arrays["s"] = arrays["s"].astype("f2")
    if "cond" in program or "svd" in program or "nuc" in program:
        arrays["s"] = data("f8", 2, 3, 4)
    check(program, arrays)


OTHERS = [
    "np.linalg.lstsq(t, u)",
    "np.linalg.lstsq(t, np.ones((5, 2)), rcond=-1)",
    "np.linalg.lstsq(w, np.ones(3))",
    "np.linalg.lstsq(np.ones((4, 2)), np.arange(4.0))",
    "np.linalg.lstsq(t.astype('f4'), u.astype('f4'), rcond=1e-5)[2:]",
    "np.linalg.lstsq(t + 1j, u)",
    "np.linalg.tensorsolve(np.eye(24).reshape(6, 4, 2, 3, 4), np.ones((6, 4)))",
    "np.linalg.tensorsolve(np.eye(6).reshape(2, 3, 6), np.ones(6), axes=(0,))",
    "np.linalg.tensorinv(np.eye(24).reshape(4, 6, 8, 3))",
    "np.linalg.tensorinv(np.eye(24).reshape(24, 8, 3), ind=1)",
    *(f"np.linalg.matrix_power(a, {n})" for n in (0, 1, 2, 3, 5, 8, -1)),
    "np.linalg.matrix_power(np.arange(4).reshape(2, 2), 7)",
    "np.linalg.matrix_power(np.array([[2, 1], [1, 1]], object), 3)",
    "np.linalg.matrix_rank(np.ones((3, 3))), np.linalg.matrix_rank(np.zeros(3))",
    "np.linalg.matrix_rank(np.ones(3)), np.linalg.matrix_rank(a, tol=1.0)",
    "np.linalg.matrix_rank(a + a.T, hermitian=True, rtol=0.1)",
    "np.linalg.multi_dot([a, t.T[:, :4].T, w])",
    "np.linalg.multi_dot([u, t, w, t, np.ones(3)])",
    "np.linalg.multi_dot([u[:3], w, t]), np.linalg.multi_dot([w, t])",
    "np.linalg.multi_dot([t, w, u])",
    "np.linalg.qr(a, 'raw')[1].shape, abs(np.linalg.qr(a, 'raw')[0].diagonal())",
    "np.linalg.pinv(np.ones((3, 3)), 1e-10), np.linalg.pinv(a + a.T, hermitian=True)",
    "np.linalg.pinv(np.stack([w, w]), np.array([0.1, 0.5]))",
    "np.linalg.det(np.zeros((2, 2))), tuple(np.linalg.slogdet(np.zeros((2, 2))))",
    "np.linalg.inv([[2, 0], [0, 4]]), np.linalg.solve([[2]], [4])",
    "np.linalg.inv(np.array([[np.nan, 1], [1, 2]]))",
    "np.linalg.eig(np.array([[2.0, 1], [0, 3]])).eigenvalues",
    "np.linalg.eigvals(np.array([[0.0, 1], [-1, 0]]))",
    "np.linalg.outer(u, u), np.linalg.cross(u[:3], u[2:]), np.linalg.matmul(t, w)",
    "np.linalg.tensordot(t, w, axes=1), np.linalg.vecdot(w, w, axis=0)",
    "np.linalg.diagonal(a, offset=1), np.linalg.trace(a, offset=-1), np.linalg.trace(a)",
    "np.linalg.matrix_transpose(w)",
]


@pytest.mark.parametrize("program", OTHERS)
def test_others(program: str) -> None:
    a, t, w, u = data("f8", 4, 4), data("f8", 5, 3), data("f8", 3, 5), data("f8", 5)
    check(program, {"a": a, "t": t, "w": w, "u": u})


def test_names() -> None:
    assert set(L.__all__) == set(np.linalg.__all__)
    fields = {L.eig: "eigenvalues", L.eigh: "eigenvectors", L.qr: "R", L.svd: "Vh"}
    for function, field in {**fields, L.slogdet: "logabsdet"}.items():
        assert hasattr(function(lazynp.eye(2)), field)


@pytest.mark.parametrize(("mode", "old"), [("reduced", "full"), ("economic", "economic")])
def test_old_modes_of_qr(mode: str, old: str) -> None:
    with pytest.warns(DeprecationWarning, match="deprecated"):
        L.qr(lazynp.eye(2), mode=old)


def test_norms_of_real_numbers_record_what_they_need() -> None:
    """No reshape of one axis, and no conjugate: a square, a sum or a product, and a root."""

    def names(f: Any, x: Any) -> list[str]:
        return [eqn.primitive.name for eqn in lazynp.make_jaxpr(f)(x).eqns]

    row, table = lazynp.array([3.0, 4.0]), lazynp.array([[3.0, 4.0], [0.0, 0.0]])
    assert names(lazynp.linalg.norm, row) == ["dot_general", "sqrt"]
    by_rows = lambda x: lazynp.linalg.norm(x, axis=1)  # noqa: E731
    assert names(by_rows, table) == ["square", "reduce_sum", "sqrt"]
    slope = lazynp.grad(lambda x: by_rows(x).sum())(table)
    np.testing.assert_allclose(slope, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)
