"""Primitives of linear algebra: lowered against reference, and their rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._primitive import Undefined
from lazynp.primitives.linear_algebra import (
    cholesky,
    eig,
    eigh,
    qr,
    qr_raw,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from tests.primitives.harness import run_lowered
from tests.primitives.rules import array, check_batch, check_jvp, check_transpose, value

TOLERANCE = {"f": 2e-5, "d": 1e-12, "F": 2e-5, "D": 1e-12}
Params = dict[str, Any]


def random(char: str, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if char in "FD":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(char)


def positive(char: str, *batch: int) -> Any:
    x = random(char, *batch, 4, 4)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(4, dtype=char)


def _diagonal(w: Any) -> Any:
    return w[..., None, :]


def _of_qr(q: Any, r: Any) -> Sequence[Any]:
    """The part that no sign or phase changes; the columns of q beyond those of r are free."""
    return q @ r, abs(r), np.swapaxes(q, -1, -2).conj() @ q


def _of_svd(u: Any, s: Any, vh: Any, status: Any) -> Sequence[Any]:
    k = s.shape[-1]
    return (u[..., :k] * _diagonal(s)) @ vh[..., :k, :], s, status, u.conj().swapaxes(-1, -2) @ u


def _of_eigh(w: Any, v: Any, status: Any) -> Sequence[Any]:
    return (v * _diagonal(w)) @ v.conj().swapaxes(-1, -2), w, status


def _of_eigenvalues(w: Any, status: Any) -> Sequence[Any]:
    return w.sum(-1), (w**2).sum(-1), (w**3).sum(-1), status


Case = tuple[Any, Callable[[str, tuple[int, ...]], Sequence[Any]], Params, Any]


def _square(c: str, b: tuple[int, ...]) -> Sequence[Any]:
    return (random(c, *b, 4, 4),)


def _positive(c: str, b: tuple[int, ...]) -> Sequence[Any]:
    return (positive(c, *b),)


def _system(c: str, b: tuple[int, ...]) -> Sequence[Any]:
    return positive(c, *b), random(c, *b, 4, 2, seed=1)


def _tall(c: str, b: tuple[int, ...]) -> Sequence[Any]:
    return (random(c, *b, 5, 3),)


def _wide(c: str, b: tuple[int, ...]) -> Sequence[Any]:
    return (random(c, *b, 3, 5),)


CASES: list[Case] = [
    (cholesky, _positive, {}, None),
    (solve, _system, {}, None),
    (slogdet, _square, {}, None),
    *(
        (triangular_solve, _system, {"lower": low, "transpose": t, "unit_diagonal": u}, None)
        for low, t, u in [(True, "N", False), (False, "T", True), (True, "C", False)]
    ),
    *((qr, _tall, {"mode": m}, _of_qr) for m in ("reduced", "complete")),
    *((qr, _wide, {"mode": m}, _of_qr) for m in ("reduced", "complete")),
    (qr, _tall, {"mode": "r"}, lambda r: (abs(r),)),
    (qr_raw, _tall, {}, None),
    *(
        (svd, shape, {"full_matrices": f, "compute_uv": True}, _of_svd)
        for shape, f in [(_tall, True), (_wide, False), (_tall, False)]
    ),
    (svd, _wide, {"full_matrices": False, "compute_uv": False}, None),
    (eigh, _square, {"lower": True, "compute_v": True}, _of_eigh),
    (eigh, _square, {"lower": False, "compute_v": False}, None),
    (eig, _square, {"compute_v": False}, _of_eigenvalues),
]


@pytest.mark.parametrize("char", ["f", "d", "F", "D"])
@pytest.mark.parametrize(("prim", "operands", "params", "invariants"), CASES)
def test_lowered(prim: Any, operands: Any, params: Params, invariants: Any, char: str) -> None:
    for batch in ((), (2,)) if char in "dF" else ((),):
        given = operands(char, batch)
        got = run_lowered(prim, *given, **params)
        wanted = prim.reference(*given, **params)
        wanted = wanted if prim.multiple_results else (wanted,)
        avals = [(x.dtype, x.shape) for x in map(np.asarray, wanted)]
        assert [(x.dtype, x.shape) for x in got] == avals
        if invariants is not None:
            got, wanted = invariants(*got), invariants(*wanted)
        for g, w in zip(got, wanted, strict=True):
            scale = np.abs(w).max()
            np.testing.assert_allclose(g, w, rtol=0, atol=TOLERANCE[char] * max(1, scale))


@pytest.mark.parametrize("char", ["d", "D"])
def test_eig_vectors(char: str) -> None:
    a = random(char, 2, 4, 4)
    w, v, status = run_lowered(eig, a, compute_v=True)
    assert not status.any()
    np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, atol=1e-12)


FAILING: list[tuple[Any, Sequence[Any], Params]] = [
    (cholesky, (np.array([np.eye(2), -np.eye(2)]),), {}),
    (solve, (np.array([np.eye(2), np.ones((2, 2))]), np.ones((2, 2, 1))), {}),
    (eig, (np.array([np.eye(2), np.full((2, 2), np.nan)]),), {"compute_v": True}),
    (
        svd,
        (np.array([np.eye(2), np.full((2, 2), np.nan)]),),
        {"full_matrices": True, "compute_uv": True},
    ),
]


@pytest.mark.parametrize(("prim", "operands", "params"), FAILING)
def test_status(prim: Any, operands: Sequence[Any], params: Params) -> None:
    """Of a stack, only the matrix that failed is lost."""
    for outs in (run_lowered(prim, *operands, **params), prim.reference(*operands, **params)):
        np.testing.assert_array_equal(outs[-1] != 0, [False, True])
        for out in outs[:-1]:
            assert np.isfinite(out[0]).all() and np.isnan(out[1]).any()


def test_singular_determinant() -> None:
    a = np.array([np.ones((2, 2)), np.eye(2)])
    sign, log = run_lowered(slogdet, a)
    np.testing.assert_array_equal(sign, [0, 1])
    np.testing.assert_array_equal(log, [-np.inf, 0])


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_empty(shape: tuple[int, ...]) -> None:
    a = np.zeros(shape)
    for prim, params in [
        (cholesky, {}),
        (slogdet, {}),
        (qr, {"mode": "complete"}),
        (qr_raw, {}),
        (svd, {"full_matrices": True, "compute_uv": True}),
        (eigh, {"lower": True, "compute_v": True}),
        (eig, {"compute_v": True}),
    ]:
        wanted = prim.reference(a, **params)
        for g, w in zip(run_lowered(prim, a, **params), wanted, strict=True):
            assert g.dtype == np.asarray(w).dtype
            np.testing.assert_array_equal(g, w)
    for x, status in (run_lowered(solve, a, a), solve.reference(a, a)):
        assert x.shape == shape and not status.any()


# -- rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", ["d", "D"])
def test_jvp_of_systems(char: str) -> None:
    a, b = random(char, 2, 3, 3), random(char, 2, 3, 2, seed=1)
    h = a @ a.conj().swapaxes(-1, -2) + 3 * np.eye(3)
    check_jvp(cholesky, (h,), (0,))
    for moving in ((0,), (1,), (0, 1)):
        check_jvp(solve, (h, b), moving)
        for transpose in "NTC":
            params = {"lower": True, "transpose": transpose, "unit_diagonal": False}
            check_jvp(triangular_solve, (h, b), moving, **params)
    check_jvp(triangular_solve, (h, b), (0, 1), lower=False, transpose="N", unit_diagonal=True)
    check_jvp(slogdet, (a,), (0,))


def test_jvp_of_real_factors() -> None:
    """Signs stay as they are for small changes of a real matrix."""
    a, t, w = random("d", 2, 3, 3), random("d", 4, 3), random("d", 3, 4)
    for x in (a, t, w):
        for mode in ("reduced", "r"):
            check_jvp(qr, (x,), (0,), mode=mode, tolerance=1e-6)
        for compute_uv in (True, False):
            params = {"full_matrices": False, "compute_uv": compute_uv}
            check_jvp(svd, (x,), (0,), tolerance=1e-6, **params)
    check_jvp(qr, (w,), (0,), mode="complete", tolerance=1e-6)
    for lower in (True, False):
        for compute_v in (True, False):
            params = {"lower": lower, "compute_v": compute_v}
            check_jvp(eigh, (a,), (0,), tolerance=1e-6, **params)
    for compute_v in (True, False):
        check_jvp(eig, (a,), (0,), tolerance=1e-5, compute_v=compute_v)


def test_jvp_of_qr_where_the_last_column_depends_on_the_others() -> None:
    a, w = random("d", 2, 3, 3), random("d", 3, 4)
    for x in (a, w):
        x[..., 2] = x[..., 0] - 2 * x[..., 1]
        for mode in ("reduced", "r", "complete"):
            check_jvp(qr, (x,), (0,), mode=mode, tolerance=1e-6)


def test_jvp_of_complex_factors() -> None:
    a, t, w = random("D", 2, 3, 3), random("D", 4, 3), random("D", 3, 4)
    for x in (a, t, w):
        check_jvp(qr, (x,), (0,), mode="reduced", tolerance=1e-6)
        check_jvp(svd, (x,), (0,), full_matrices=False, compute_uv=False, tolerance=1e-6)
    check_jvp(eigh, (a,), (0,), lower=True, compute_v=False, tolerance=1e-6)
    check_jvp(eig, (a,), (0,), compute_v=True, tolerance=1e-5)


def tangents_of(prim: Any, x: Any, x_dot: Any, **params: Any) -> tuple[Any, Any]:
    with config(execution="reference"):
        outs, dots = prim.jvp((array(x),), (array(x_dot),), **params)
        return [value(o) for o in outs], [None if d is None else value(d) for d in dots]


def adjoint(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_jvp_of_complex_vectors(shape: tuple[int, int]) -> None:
    """Their phases are free: the factors stay unitary, and their product moves as it should."""
    x, x_dot = random("D", *shape), random("D", *shape, seed=1)
    (u, s, vh, _), (du, ds, dvh, _) = tangents_of(
        svd, x, x_dot, full_matrices=False, compute_uv=True
    )
    moved = (du * s) @ vh + (u * ds) @ vh + (u * s) @ dvh
    np.testing.assert_allclose(moved, x_dot, atol=1e-12)
    for v, dv in ((u, du), (adjoint(vh), adjoint(dvh))):
        np.testing.assert_allclose(adjoint(v) @ dv + adjoint(dv) @ v, 0, atol=1e-12)
    if shape == (3, 3):
        h, h_dot = x + adjoint(x), x_dot + adjoint(x_dot)
        (w, v, _), (dw, dv, _) = tangents_of(eigh, h, h_dot, lower=True, compute_v=True)
        moved = (dv * w) @ adjoint(v) + (v * dw) @ adjoint(v) + (v * w) @ adjoint(dv)
        np.testing.assert_allclose(moved, h_dot, atol=1e-12)


@pytest.mark.parametrize("char", ["d", "D"])
@pytest.mark.parametrize("shape", [(4, 2), (5, 3), (4, 1), (6, 5), (2, 4, 2), (3, 0)])
def test_the_columns_that_mode_complete_adds(char: str, shape: tuple[int, ...]) -> None:
    """Their derivative is that of LAPACK's reflections."""
    a, a_dot, h = random(char, *shape), random(char, *shape), 1e-6
    above, below = (np.linalg.qr(a + s * h * a_dot, mode="complete") for s in (1, -1))
    for dot, x, y in zip(tangents_of(qr, a, a_dot, mode="complete")[1], above, below, strict=True):
        np.testing.assert_allclose(dot, (x - y) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("char", ["d", "D"])
@pytest.mark.parametrize("shape", [(2, 3), (4, 3), (2, 5), (5, 2), (3, 3)])
def test_all_singular_vectors(char: str, shape: tuple[int, ...]) -> None:
    """What does not depend on the choice of the added vectors has its derivative."""
    a, a_dot = random(char, 2, *shape), random(char, 2, *shape, seed=1)
    k = min(shape)

    def projections(a: Any) -> Any:
        u, _, vh = np.linalg.svd(a)
        return u[..., k:] @ adjoint(u[..., k:]), adjoint(vh[..., k:, :]) @ vh[..., k:, :]

    with config(execution="reference"):
        (u, s, vh, _), (du, ds, dvh, _) = tangents_of(
            svd, a, a_dot, full_matrices=True, compute_uv=True
        )
        thin = tangents_of(svd, a, a_dot, full_matrices=False, compute_uv=True)[1]
    np.testing.assert_allclose(ds, thin[1], atol=1e-12)
    np.testing.assert_allclose(du[..., :k], thin[0], atol=1e-12)
    np.testing.assert_allclose(dvh[..., :k, :], thin[2], atol=1e-12)
    for x, dx in ((u, du), (adjoint(vh), adjoint(dvh))):  # they stay orthogonal
        np.testing.assert_allclose(
            adjoint(dx) @ x + adjoint(x) @ dx, 0 * (adjoint(x) @ x), atol=1e-12
        )
    h = 1e-6
    u2, v2 = [x[..., k:] for x in (u, adjoint(vh))]
    du2, dv2 = [x[..., k:] for x in (du, adjoint(dvh))]
    got = [d @ adjoint(x) + x @ adjoint(d) for x, d in ((u2, du2), (v2, dv2))]
    for g, high, low in zip(
        got, projections(a + h * a_dot), projections(a - h * a_dot), strict=True
    ):
        np.testing.assert_allclose(g, (high - low) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("char", ["d", "D"])
def test_transpose(char: str) -> None:
    a, b = positive(char, 2), random(char, 2, 4, 3)
    for lower in (True, False):
        for transpose in "NTC":
            params = {"lower": lower, "transpose": transpose, "unit_diagonal": False}
            check_transpose(triangular_solve, (a, b), (1,), **params)
    ct = random(char, 2, 4, 3, seed=2)
    with config(execution="reference"):
        undefined = Undefined(aval_of(b.shape, b.dtype))
        none, back = solve.transpose((array(ct), None), array(a), undefined)
        assert none is None
        np.testing.assert_allclose((value(back) * b).sum(), (ct * np.linalg.solve(a, b)).sum())


def test_batch() -> None:
    h, b = positive("d", 3, 2), random("d", 3, 2, 4, 2)
    for prim, params in [
        (cholesky, {}),
        (slogdet, {}),
        (qr, {"mode": "reduced"}),
        (svd, {"full_matrices": False, "compute_uv": True}),
        (eigh, {"lower": True, "compute_v": True}),
        (eig, {"compute_v": False}),
    ]:
        check_batch(prim, (h,), (True,), **params)
    for batched in ((True, True), (True, False), (False, True)):
        rows = [x if yes else x[0] for x, yes in zip((h, b), batched, strict=True)]
        check_batch(solve, rows, batched)
        params = {"lower": True, "transpose": "N", "unit_diagonal": False}
        check_batch(triangular_solve, rows, batched, **params)


def test_abstract_rejects() -> None:
    square, wide = aval_of((2, 2), np.dtype("f8")), aval_of((2, 3), np.dtype("f8"))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        cholesky.abstract(wide)
    with pytest.raises(np.linalg.LinAlgError, match="1-dimensional"):
        qr.abstract(aval_of((2,), np.dtype("f8")), mode="r")
    with pytest.raises(TypeError, match="unsupported"):
        slogdet.abstract(aval_of((2, 2), np.dtype("i8")))
    with pytest.raises(TypeError, match="one dtype"):
        solve.abstract(square, aval_of((2, 2), np.dtype("f4")))
    with pytest.raises(ValueError, match="as many rows"):
        solve.abstract(square, aval_of((3, 2), np.dtype("f8")))


@pytest.mark.parametrize("n", [63, 64, 65, 97, 150])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_substitution_by_blocks(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a = (rng.normal(size=(2, n, n)) / n + 2 * np.eye(n)).astype(dtype)
    b = rng.normal(size=(2, n, 3)).astype(dtype)
    eps = float(np.finfo(dtype).eps)
    for lower, transpose, unit in itertools.product((True, False), "NTC", (True, False)):
        params: Any = {"lower": lower, "transpose": transpose, "unit_diagonal": unit}
        x = triangular_solve.reference(a, b, **params)
        whole = np.tril(a) if lower else np.triu(a)
        if unit:
            whole[:, np.arange(n), np.arange(n)] = 1
        if transpose != "N":
            whole = np.swapaxes(whole, 1, 2)
        whole = whole.conj() if transpose == "C" else whole
        assert x.dtype == b.dtype
        np.testing.assert_allclose(whole @ x, b, atol=400 * eps)
    a[1, 40, 40] = 0  # no result for this one
    x = triangular_solve.reference(a, b, lower=True, transpose="N", unit_diagonal=False)
    assert np.isfinite(x[0]).all() and not np.isfinite(x[1]).all()
