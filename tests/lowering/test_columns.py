"""LAPACK reads matrices by columns. XLA hands that order on to what computes them: holds and
Fourier transforms, which know one order only, keep theirs.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _hold_call, _holds
from lazynp.lowering._emit import module_text, reads_columns


def drawn(*shape: int, dtype: str = "f8") -> Any:
    rng = numpy.random.default_rng(0)
    x = rng.normal(size=shape)
    if dtype[0] == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def factor(np: Any, a: Any) -> Any:
    """Of a matrix near a multiple of the identity, so that nothing is ill-conditioned."""
    n = a.shape[-1]
    return np.linalg.cholesky(
        a @ np.conj(np.swapaxes(a, -1, -2)) / n + 3 * np.eye(n, dtype=a.dtype)
    )


def log_det(np: Any, a: Any) -> Any:
    """Its gradient reads the factor both by its diagonal and by LAPACK."""
    diagonal = np.diagonal(factor(np, a), axis1=-2, axis2=-1)
    return np.log(diagonal.real).sum()


def whitened(np: Any, a: Any) -> Any:
    l = factor(np, a)  # noqa: E741
    shifted = l[..., 1:, :] - l[..., :-1, :]
    return (abs(np.linalg.solve(l, a)) ** 2).sum() + (abs(shifted) ** 2).sum()


def transformed(np: Any, a: Any) -> Any:
    """A Fourier transform's result becomes a factor's input, and a factor a transform's."""
    n = a.shape[-1]
    smooth = np.fft.ifft2(np.fft.fft2(a) * 0.9)
    smooth = smooth if a.dtype.kind == "c" else smooth.real
    solved = np.linalg.solve(smooth / n + 3 * np.eye(n, dtype=a.dtype), a)
    return (abs(np.fft.fft(factor(np, solved), axis=-1)) ** 2).sum()


def rows_and_columns(np: Any, a: Any) -> Any:
    """Values of wide matrices by way of a real transform, along the other axis."""
    spectrum = abs(np.fft.rfft(a[..., :-3], axis=-2))
    return np.linalg.lstsq(spectrum, spectrum[..., 0], rcond=None)[0].sum()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("shape", [(40, 40), (3, 24, 24), (3, 40, 40)], ids=str)
@pytest.mark.parametrize("f", [log_det, whitened, transformed])
def test_values_and_gradients(f: Any, shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(*shape, dtype=dtype)
    value = np.value_and_grad(lambda a: f(np, a))
    with np.config(execution="reference"):
        want = value(np.array(a))
    with np.config(execution="compiled"):
        got = np.jit(value)(np.array(a))
    numpy.testing.assert_allclose(want[0], f(numpy, a), rtol=1e-4 if dtype == "f4" else 1e-10)
    for x, y in zip(got, want, strict=True):
        bound = (1e-3 if dtype == "f4" else 1e-10) * abs(numpy.asarray(y)).max()
        numpy.testing.assert_allclose(x, y, rtol=0, atol=bound)


# Without the part in C, the call of a function stands for a hold. From jaxlib 0.12 on, the order
# passes through it: there, `rows_and_columns` still raises XLA's error.
@pytest.mark.parametrize(
    "f, built", [(transformed, True), (transformed, False), (rows_and_columns, True)]
)
def test_transforms_beside_factorisations(
    f: Any, built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not built:
        monkeypatch.setattr(_hold_call, "BUILT", False)
    a = drawn(50, 50 if f is transformed else 20)
    g = np.jit(lambda a: f(np, a))
    with np.config(execution="compiled", cache="off"):
        text = g.lower(np.array(a)).as_text()
        assert (_holds.WRITTEN in text) is (built and _hold_call.BUILT)
        numpy.testing.assert_allclose(g(np.array(a)), f(numpy, a), rtol=1e-10)


@pytest.mark.parametrize("n", [30, 40, 129])
def test_the_gradient_of_a_gaussian_likelihood(n: int) -> None:
    """A formula instead of the reference: by the entries below the diagonal, d log det / dA is the
    inverse, and d (y A^-1 y) / dA is -A^-1 y y A^-1, counted twice off the diagonal.
    """
    a, y = 3 * numpy.eye(n) + 0.1, numpy.linspace(-1, 1, n)

    def likelihood(a: Any) -> Any:
        l = np.linalg.cholesky(a)  # noqa: E741
        return 2 * np.log(np.diag(l)).sum() + (np.linalg.solve(l, y) ** 2).sum()

    inverse = numpy.linalg.inv(a)
    solved = inverse @ y
    full = inverse - numpy.outer(solved, solved)
    want = 2 * numpy.tril(full) - numpy.diag(numpy.diag(full))
    with np.config(execution="compiled"):
        got = np.jit(np.grad(likelihood))(np.array(a))
    numpy.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_a_transform_alone_is_not_held() -> None:
    """A hold of an argument would copy it."""
    text = np.jit(np.fft.fft2).lower(np.array(drawn(40, 40))).as_text()
    assert _holds.WRITTEN not in text and "func.call" not in text


SOLVERS = {
    "cholesky": np.linalg.cholesky, "inv": np.linalg.inv, "det": np.linalg.det,
    "slogdet": np.linalg.slogdet, "qr": np.linalg.qr, "svd": np.linalg.svd,
    "svdvals": np.linalg.svdvals, "eig": np.linalg.eig, "eigvals": np.linalg.eigvals,
    "eigh": np.linalg.eigh, "eigvalsh": np.linalg.eigvalsh, "pinv": np.linalg.pinv,
    "solve": lambda a: np.linalg.solve(a, a), "lstsq": lambda a: np.linalg.lstsq(a, a[0])[0],
    "cond": np.linalg.cond, "matrix_rank": np.linalg.matrix_rank,
    "matrix_power": lambda a: np.linalg.matrix_power(a, -2),
    "in a loop": lambda a: np.fori_loop(0, 9, lambda i, x: np.linalg.solve(a, x), a),
    "in a branch": lambda a: np.cond(a[0, 0] > 0, np.linalg.inv, lambda a: a, a),
    "gradient": np.grad(lambda a: np.linalg.cholesky(a).sum()),
}  # fmt: skip


@pytest.mark.parametrize("f", SOLVERS.values(), ids=SOLVERS)
def test_all_that_calls_lapack_is_known(f: Any) -> None:
    jaxpr = np.make_jaxpr(f)(np.eye(6) * 2)
    assert "lapack_" in module_text(jaxpr)
    assert reads_columns(jaxpr)
