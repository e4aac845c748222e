"""Templates of `jvp` rules: what they replay is what the rules record."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms import _forward

FUNCTIONS: dict[str, Any] = {
    "operators": lambda x: 3 * x - x / 2.5 + x**3 - (1 - x) * numpy.float64(0.7),
    "functions": lambda x: np.sin(x) * np.exp(-x) + np.sqrt(x) + np.hypot(x, 2.0),
    "choices": lambda x: np.where(x > 0.5, x * x, np.maximum(x, 0.3)) + np.floor(x),
    "shapes": lambda x: np.concatenate([x[::2], x[None, 1:3].ravel()]) @ x.reshape(-1, 1),
    "matrices": lambda x: np.linalg.svd(np.outer(x, x) + np.diag(x))[1] + np.linalg.inv(
        np.outer(x, x) + np.eye(4)
    ).sum(0),
    "of one number": lambda x: x[0] * 2 + x[1] ** 2 - 1,
    "the operand itself": lambda x: +x,
    "integers between": lambda x: x * np.arange(4) + np.argsort(x) * x[0],
    "complex": lambda x: abs(np.fft.fft(x * (1 + 2j))),
}  # fmt: skip


def _store(x: Any) -> Any:
    y = np.zeros(6)
    y[1:5] = x
    y[0] += y[2] * x[3]
    return y * y


FUNCTIONS["stores"] = _store
X = numpy.array([0.9, 0.2, 0.7, 0.4])
D = numpy.array([0.3, -0.5, 0.2, 0.8])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_the_same_again(name: str, dtype: str) -> None:
    """The first call makes the templates, the second one replays them."""
    f = FUNCTIONS[name]
    x, d = np.asarray(X.astype(dtype)), np.asarray(D.astype(dtype))
    with np.config(execution="reference"):
        _forward.templates.clear()
        first = np.jvp(f, (x,), (d,))
        made = len(_forward.templates)
        assert name == "complex" or made
        second = np.jvp(f, (x,), (d,))
        assert len(_forward.templates) == made
        for a, b in zip(first, second, strict=True):
            assert a.dtype == b.dtype
            numpy.testing.assert_array_equal(a, b)
        values = [numpy.asarray(f(np.asarray(X + k * D))) for k in (-1e-5, 1e-5)]
        tol = 1e-4 if dtype == "f" else 1e-7
        numpy.testing.assert_allclose(second[1], (values[1] - values[0]) / 2e-5, tol, tol)
        outer = np.jvp(lambda x: np.jvp(f, (x,), (d,))[1], (x,), (d,))[1]
        inner = np.jvp(np.grad(lambda x: (f(x) ** 2).sum()), (x,), (d,))[1]
        assert outer.dtype == second[1].dtype
        assert inner.shape == x.shape


def test_weak_and_wide_numbers() -> None:
    """A template is of one kind of operands: a Python number is none of NumPy's."""

    def f(x: Any, k: Any) -> Any:
        return x * k

    x = np.ones(2, "f")
    for k, dtype in ((2.0, "f"), (numpy.float64(2.0), "d"), (2.0, "f"), (2, "f")):
        value, moved = np.jvp(lambda x, k=k: f(x, k), (x,), (x,))
        assert value.dtype == moved.dtype == dtype
        numpy.testing.assert_array_equal(moved, [2.0, 2.0])


def test_numbers_that_do_not_fit() -> None:
    n = np.arange(3, dtype=np.uint8)
    for _ in range(2):
        with pytest.raises(OverflowError):
            np.jvp(lambda x: x * (n + 300), (np.ones(3),), (np.ones(3),))
