"""The linalg extension: each result against its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.support import (
    ALL,
    COMPLEX,
    FLOATING,
    FLOATS,
    NUMERIC,
    SIGNED,
    UNSIGNED,
    arrays,
    axes_of,
    check,
    complex_name,
    dtype,
    host,
    make,
    real_name,
    tolerance,
    xp,
)  # fmt: skip
from array_api_tests.test_linear_algebra import PRODUCTS, counted

names = st.sampled_from(FLOATING)
STACKS = st.sampled_from([(), (2,), (0,)])
linalg = xp.linalg


@st.composite
def matrices(draw: Any, shapes: Any = None, kinds: Any = FLOATING) -> Any:
    """Well-conditioned matrices, with a strong diagonal."""
    name, stack = draw(st.sampled_from(kinds)), draw(STACKS)
    m, n = draw(st.sampled_from(shapes or [(1, 1), (2, 2), (3, 3)]))
    values = [0.0, 0.25, -0.5, 1.0] if name in FLOATS else [0.0, 0.25j, -0.5, 1 + 0.5j]
    x = draw(arrays(name, ((*stack, m, n),), values=values))
    return x + (4 * np.eye(m, n)).astype(name)


RECTANGLES = [(2, 3), (3, 2), (1, 3), (2, 2)]


def _hermitian(x: Any) -> Any:
    return np.swapaxes(x.conj(), -1, -2)


def _close(got: Any, wanted: Any, name: str) -> None:
    check(got, np.asarray(wanted).astype(name), rtol=30 * tolerance(name))


def _near(got: Any, wanted: Any, name: str) -> None:
    np.testing.assert_allclose(got, wanted, atol=60 * tolerance(name), rtol=60 * tolerance(name))


@given(matrices(), st.booleans())
def test_cholesky(x: Any, upper: bool) -> None:
    name = x.dtype.name
    x = x @ _hermitian(x)
    out = linalg.cholesky(make(x), upper=upper)
    assert out.dtype == dtype(name) and out.shape == x.shape
    factor = host(out)
    np.testing.assert_array_equal(factor, np.triu(factor) if upper else np.tril(factor))
    product = _hermitian(factor) @ factor if upper else factor @ _hermitian(factor)
    np.testing.assert_allclose(product, x, rtol=100 * tolerance(name), atol=100 * tolerance(name))


@given(st.sampled_from([((3,), (3,), -1), ((2, 3), (2, 3), -1), ((3, 2), (3, 2), -2),
                        ((2, 1, 3), (4, 3), -1), ((3, 1), (3, 4), -2)]),
       st.sampled_from(NUMERIC))  # fmt: skip
def test_cross(case: Any, name: str) -> None:
    first, second, axis = case
    x, y = counted(first, name), counted(second, name, 2)
    a, b = np.broadcast_arrays(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))
    wanted = np.stack([
        a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))
    ], axis)  # fmt: skip
    check(linalg.cross(make(x), make(y), axis=axis), wanted, rtol=tolerance(name))


def test_cross_raises() -> None:
    for x, y in ((np.ones(2), np.ones(2)), (np.ones(3), np.ones(4))):
        with pytest.raises(Exception):  # noqa: B017
            linalg.cross(make(x), make(y))


def _by_permutations(x: Any) -> Any:
    """The determinant of matrices up to 3 by 3, by permutations."""
    n = x.shape[-1]
    if n == 1:
        return x[..., 0, 0]
    signs = [(-1) ** j for j in range(n)]
    minor = [np.delete(x[..., 1:, :], j, -1) for j in range(n)]
    return sum(s * x[..., 0, j] * _by_permutations(m) for j, (s, m) in enumerate(zip(signs, minor)))


@given(matrices())
def test_determinants(x: Any) -> None:
    name = x.dtype.name
    wanted = np.asarray(_by_permutations(x))
    _close(linalg.det(make(x)), wanted, name)
    out = linalg.slogdet(make(x))
    assert out._fields == ("sign", "logabsdet")
    _close(out.sign, wanted / np.abs(wanted), name)
    _close(out.logabsdet, np.log(np.abs(wanted)), real_name(name))


@given(names)
def test_slogdet_of_singular(name: str) -> None:
    """ "If the determinant is zero, sign should be 0 and logabsdet -infinity." """
    sign, logabsdet = linalg.slogdet(make(np.zeros((2, 2), name)))
    check(sign, np.asarray(0, name))
    check(logabsdet, np.asarray(-math.inf, real_name(name)))


@given(arrays(ALL, ((2, 3), (3, 1), (2, 1, 3))), st.integers(-1, 1))
def test_diagonal(x: Any, offset: int) -> None:
    check(linalg.diagonal(make(x), offset=offset), np.diagonal(x, offset, -2, -1))
    check(linalg.diagonal(make(x)), np.diagonal(x, 0, -2, -1))


@given(matrices())
def test_eigh(x: Any) -> None:
    name = x.dtype.name
    x = x + _hermitian(x)
    out = linalg.eigh(make(x))
    assert out._fields == ("eigenvalues", "eigenvectors")
    values, vectors = out
    assert values.dtype == dtype(real_name(name)) and values.shape == x.shape[:-1]
    assert vectors.dtype == dtype(name) and vectors.shape == x.shape
    v = host(vectors)
    _near(x @ v, v * host(values)[..., None, :], name)
    _near(_hermitian(v) @ v, np.broadcast_to(np.eye(x.shape[-1]), x.shape), name)
    alone = linalg.eigvalsh(make(x))
    assert alone.dtype == dtype(real_name(name)) and alone.shape == x.shape[:-1]
    _near(np.sort(host(alone)), np.sort(host(values)), name)


@given(matrices())
def test_eig(x: Any) -> None:
    """2025.12. "eigenvalues must have a complex floating-point data type" """
    name = complex_name(x.dtype.name)
    out = linalg.eig(make(x))
    assert out._fields == ("eigenvalues", "eigenvectors")
    values, vectors = out
    assert values.dtype == dtype(name) and values.shape == x.shape[:-1]
    assert vectors.dtype == dtype(name) and vectors.shape == x.shape
    v = host(vectors)
    _near(x @ v, v * host(values)[..., None, :], name)


@given(matrices())
def test_eigvals(x: Any) -> None:
    """2025.12. Their sum is the trace, their product the determinant."""
    name = complex_name(x.dtype.name)
    values = linalg.eigvals(make(x))
    assert values.dtype == dtype(name) and values.shape == x.shape[:-1]
    _near(host(values).sum(-1), np.trace(x, axis1=-2, axis2=-1), name)
    determinant = _by_permutations(x)
    np.testing.assert_allclose(host(values).prod(-1), determinant, rtol=100 * tolerance(name))


@given(matrices())
def test_inv(x: Any) -> None:
    out = linalg.inv(make(x))
    assert out.dtype == dtype(x.dtype.name) and out.shape == x.shape
    _near(host(out) @ x, np.broadcast_to(np.eye(x.shape[-1]), x.shape), x.dtype.name)


@given(st.sampled_from(PRODUCTS), st.sampled_from(NUMERIC))
def test_aliases(shapes: Any, name: str) -> None:
    """matmul, matrix_transpose, tensordot and vecdot are the functions of the main namespace."""
    x, y = (counted(s, name) for s in shapes)
    check(linalg.matmul(make(x), make(y)), np.asarray(x @ y), rtol=tolerance(name))
    if x.ndim > 1:
        check(linalg.matrix_transpose(make(x)), np.swapaxes(x, -1, -2))
        check(linalg.tensordot(make(x), make(x), axes=x.ndim), np.asarray(np.sum(x * x), name),
              rtol=tolerance(name))  # fmt: skip
    wanted = np.asarray(np.sum(np.conj(x) * x, axis=-1, dtype=name))
    check(linalg.vecdot(make(x), make(x), axis=-1), wanted, rtol=tolerance(name))


_NORMS: dict[Any, Any] = {
    "fro": lambda x, s: np.sqrt((np.abs(x) ** 2).sum((-2, -1))), "nuc": lambda x, s: s.sum(-1),
    1: lambda x, s: np.abs(x).sum(-2).max(-1), -1: lambda x, s: np.abs(x).sum(-2).min(-1),
    2: lambda x, s: s.max(-1), -2: lambda x, s: s.min(-1),
    math.inf: lambda x, s: np.abs(x).sum(-1).max(-1),
    -math.inf: lambda x, s: np.abs(x).sum(-1).min(-1),
}  # fmt: skip


@pytest.mark.parametrize("ord", _NORMS)
@given(matrices(RECTANGLES), st.booleans())
def test_matrix_norm(ord: Any, x: Any, keepdims: bool) -> None:
    wanted = np.asarray(_NORMS[ord](x, np.linalg.svd(x, compute_uv=False)))
    if keepdims:
        wanted = wanted[..., None, None]
    name = real_name(x.dtype.name)
    _close(linalg.matrix_norm(make(x), keepdims=keepdims, ord=ord), wanted, name)
    if ord == "fro" and not keepdims:
        _close(linalg.matrix_norm(make(x)), wanted, name)


@given(matrices(), st.integers(-2, 3))
def test_matrix_power(x: Any, n: int) -> None:
    base = np.linalg.inv(x.astype("c16")) if n < 0 else x.astype("c16")
    wanted = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for _ in range(abs(n)):
        wanted = wanted @ base
    out = linalg.matrix_power(make(x), n)
    assert out.dtype == dtype(x.dtype.name)
    np.testing.assert_allclose(host(out), wanted, rtol=1e-3 if "6" not in x.dtype.name else 1e-4,
                               atol=1e-4)  # fmt: skip


@given(matrices(RECTANGLES))
def test_matrix_rank(x: Any) -> None:
    check(linalg.matrix_rank(make(x)), np.full(x.shape[:-2], min(x.shape[-2:]), "int64"))


@pytest.mark.parametrize("name", FLOATING)
def test_relative_tolerances(name: str) -> None:
    """rtol of matrix_rank and pinv: a number, or an array that broadcasts with the stack."""
    x = make(np.asarray([np.diag([4.0, 1.0]), np.diag([4.0, 0.25])], name))
    check(linalg.matrix_rank(x, rtol=0.1), np.asarray([2, 1], "int64"))
    each = make(np.asarray([0.5, 0.01], real_name(name)))
    check(linalg.matrix_rank(x, rtol=each), np.asarray([1, 2], "int64"))
    cut = np.asarray([np.diag([0.25, 0.0]), np.diag([0.25, 4.0])], name)
    check(linalg.pinv(x, rtol=each), cut, rtol=tolerance(name))
    cut = np.asarray([np.diag([0.25, 1.0]), np.diag([0.25, 0.0])], name)
    check(linalg.pinv(x, rtol=0.1), cut, rtol=tolerance(name))


@pytest.mark.parametrize("name", FLOATING)
def test_default_tolerance_of_pinv(name: str) -> None:
    """ "If None, the default value is max(M, N) * eps": smaller values count as zero."""
    small = float(np.finfo(name).eps)
    x = np.diag([1.0, small]).astype(name)
    check(linalg.pinv(make(x)), np.diag([1.0, 0.0]).astype(name), rtol=tolerance(name))


@given(st.sampled_from(NUMERIC), st.integers(0, 3), st.integers(0, 3))
def test_outer(name: str, m: int, n: int) -> None:
    x, y = counted((m,), name), counted((n,), name, 2)
    check(linalg.outer(make(x), make(y)), x[:, None] * y, rtol=tolerance(name))


@given(matrices(RECTANGLES))
def test_pinv(x: Any) -> None:
    """Moore and Penrose: x p x = x, p x p = p."""
    name = x.dtype.name
    out = linalg.pinv(make(x))
    assert out.dtype == dtype(name) and out.shape == (*x.shape[:-2], x.shape[-1], x.shape[-2])
    p = host(out)
    _near(x @ p @ x, x, name)
    _near(p @ x @ p, p, name)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@given(matrices(RECTANGLES))
def test_qr(mode: str, x: Any) -> None:
    out = linalg.qr(make(x), mode=mode)
    assert out._fields == ("Q", "R")
    m, n = x.shape[-2:]
    k = min(m, n) if mode == "reduced" else m
    assert out.Q.shape == (*x.shape[:-2], m, k) and out.R.shape == (*x.shape[:-2], k, n)
    assert out.Q.dtype == out.R.dtype == dtype(x.dtype.name)
    q, r = host(out.Q), host(out.R)
    _near(q @ r, x, x.dtype.name)
    _near(_hermitian(q) @ q, np.broadcast_to(np.eye(k), (*x.shape[:-2], k, k)), x.dtype.name)
    np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_array_equal(np.diagonal(r, 0, -2, -1).imag, 0)  # "with real diagonal"
    if mode == "reduced":
        assert linalg.qr(make(x)).Q.shape == out.Q.shape


@given(matrices(), st.sampled_from(["vector", "matrix", "stack"]))
def test_solve(x: Any, kind: str) -> None:
    """ "If x2 has shape (M,), x2 is equivalent to an array having shape (..., M, 1)." """
    m, name = x.shape[-1], x.dtype.name
    shape = {"vector": (m,), "matrix": (m, 2), "stack": (*x.shape[:-1], 3)}[kind]
    b = counted(shape, name)
    out = linalg.solve(make(x), make(b))
    wanted = (*x.shape[:-2], m) if kind == "vector" else (*x.shape[:-1], shape[-1])
    assert out.shape == wanted and out.dtype == dtype(name)
    got = host(out)[..., None] if kind == "vector" else host(out)
    right = b[:, None] if kind == "vector" else b
    _near(x @ got, np.broadcast_to(right, (x @ got).shape), name)


@pytest.mark.parametrize(
    "first, second", [((2, 1), (3,)), ((), (3,)), ((3,), ()), ((2, 1), (1, 3))]
)
@pytest.mark.parametrize("one, other", [("float32", "float64"), ("complex64", "complex64"),
                                        ("float64", "complex64")])  # fmt: skip
def test_solve_broadcasts(first: Any, second: Any, one: str, other: str) -> None:
    """ "shape(x2)[:-2] must be compatible with shape(x1)[:-2]"; the dtypes promote."""
    a, b = counted((*first, 2, 2), one), counted((*second, 2, 3), other)
    a = a + (10 * np.eye(2)).astype(one)
    out = linalg.solve(make(a), make(b))
    assert out.shape == (*np.broadcast_shapes(first, second), 2, 3)
    name = np.result_type(a, b).name
    assert out.dtype == dtype(name)
    _near(a @ host(out), np.broadcast_to(b, out.shape), "complex64")


@given(matrices(RECTANGLES), st.booleans())
def test_svd(x: Any, full: bool) -> None:
    name, (m, n) = x.dtype.name, x.shape[-2:]
    k = min(m, n)
    out = linalg.svd(make(x), full_matrices=full)
    assert out._fields == ("U", "S", "Vh")
    stack = x.shape[:-2]
    assert out.U.shape == (*stack, m, m if full else k) and out.S.shape == (*stack, k)
    assert out.Vh.shape == (*stack, n if full else k, n)
    assert out.U.dtype == out.Vh.dtype == dtype(name) and out.S.dtype == dtype(real_name(name))
    u, s, vh = host(out.U)[..., :k], host(out.S), host(out.Vh)[..., :k, :]
    _near(u * s[..., None, :] @ vh, x, name)
    assert (np.diff(s, axis=-1) <= 0).all() and (s >= 0).all()
    _close(linalg.svdvals(make(x)), s, real_name(name))
    if full:
        assert linalg.svd(make(x)).U.shape == out.U.shape


@given(st.sampled_from(NUMERIC), st.sampled_from([(2, 3), (3, 3), (2, 3, 2), (2, 0)]),
       st.integers(-1, 1))  # fmt: skip
def test_trace(name: str, shape: Any, offset: int) -> None:
    x = counted(shape, name)
    wide = "int64" if name in SIGNED else "uint64" if name in UNSIGNED else name
    wanted = np.asarray(np.diagonal(x, offset, -2, -1).sum(-1, dtype=wide))
    check(linalg.trace(make(x), offset=offset), wanted, rtol=tolerance(name))
    check(linalg.trace(make(x), offset=offset, dtype=dtype(name)), wanted.astype(name),
          rtol=tolerance(name))  # fmt: skip


def _vector_norm(x: Any, axis: Any, keepdims: bool, ord: float) -> Any:
    size = np.abs(x.astype("c16"))
    options = {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return size.max(**options)
    if ord == -math.inf:
        return size.min(**options)
    if ord == 0:
        return (size != 0).sum(**options)
    return (size**ord).sum(**options) ** (1 / ord)


@pytest.mark.parametrize("ord", [math.inf, -math.inf, 0, 1, 2, 3, 0.5, -1, -2, 2.5, None])
@given(st.data(), st.booleans())
def test_vector_norm(ord: float | None, data: Any, keepdims: bool) -> None:
    shapes = ((3,), (2, 3), (2, 1, 3))
    x = data.draw(arrays(FLOATS, shapes) | arrays(COMPLEX, shapes))
    axis = data.draw(axes_of(x.ndim))
    if axis == ():
        axis = None
    with np.errstate(all="ignore"):
        wanted = np.asarray(_vector_norm(x, axis, keepdims, 2 if ord is None else ord))
    options = {} if ord is None else {"ord": ord}
    out = linalg.vector_norm(make(x), axis=axis, keepdims=keepdims, **options)
    _close(out, wanted, real_name(x.dtype.name))
