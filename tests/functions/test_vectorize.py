"""`vectorize`: NumPy's loop on values; traced arrays are mapped."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, grad, jacrev, jit, vmap

X, Y = numpy.array([0.5, -1.5, 2.0]), numpy.array([[1.0], [2.0]])


def smooth(x: Any, y: Any = 2.0) -> Any:
    return x * y + np.sin(x)


CALLS = {
    "broadcast": lambda f: lambda x, y: f(smooth)(x, y),
    "default": lambda f: lambda x, y: f(smooth)(x),
    "keyword": lambda f: lambda x, y: f(smooth)(x, y=y),
    "excluded": lambda f: lambda x, y: f(smooth, excluded=["y"])(x, y=3.0),
    "scalar": lambda f: lambda x, y: f(smooth)(x[0], 1.5),
    "several": lambda f: lambda x, y: f(lambda a, b: (a * b, a - b))(x, y),
    "otypes": lambda f: lambda x, y: f(lambda a: 1 if a is None else a * 2, otypes="f")(x),
    "empty": lambda f: lambda x, y: f(smooth, otypes=[float])(x[:0]),
    "vectors": lambda f: lambda x, y: f(np.dot, signature="(n),(n)->()")(x * y, x),
    "sums": lambda f: lambda x, y: f(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)")(x * y),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    want = CALLS[name](numpy.vectorize)(X, Y)
    ours = CALLS[name](np.vectorize)
    for got in (ours(np.array(X), np.array(Y)), jit(ours)(X, Y)):
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for g, w in pairs:
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            numpy.testing.assert_allclose(g, w, rtol=1e-15)
    if name not in ("otypes", "empty"):
        with np.config(execution="reference"):
            check_grads(ours, (np.array(X), np.array(Y)))
            rows = vmap(ours, (0, None))(numpy.stack([X, 2 * X]), Y)
        again = ours(np.array(2 * X), np.array(Y))
        first, second = (r[0] if isinstance(r, tuple) else r for r in (rows, again))
        numpy.testing.assert_allclose(first[1], second)


def test_pythons_control_flow_on_elements() -> None:
    """Under derivatives the function sees values, as without `vectorize`; under `jit` it sees none,
    and its branches are staged.
    """
    f = np.vectorize(lambda x: x * 3 if x > 0 else x**2)
    numpy.testing.assert_array_equal(grad(lambda x: f(x).sum())(np.array(X)), [3.0, -3.0, 3.0])
    numpy.testing.assert_array_equal(jacrev(f)(np.array(X)), numpy.diag([3.0, -3.0, 3.0]))
    numpy.testing.assert_array_equal(jit(f)(X), [3 * x if x > 0 else x**2 for x in X])
    with pytest.raises(TypeError, match="Use cond"):
        np.make_jaxpr(f)(X)


def test_what_the_function_captures_may_be_traced() -> None:
    f = lambda a: np.vectorize(lambda i: a * i)(numpy.arange(4)).sum()  # noqa: E731
    assert grad(f)(2.0) == 6.0 and jit(f)(2.0) == 12.0


def test_errors_of_what_is_traced() -> None:
    with pytest.raises(ValueError, match="size 0 inputs"):
        jit(np.vectorize(smooth))(X[:0])
    with pytest.raises(ValueError, match="with a sequence"):
        jit(np.vectorize(lambda x: np.ones(2) * x))(X)
    two = np.vectorize(lambda a: (a, a), signature="()->()")
    with pytest.raises(ValueError, match="expected 1, got 2"):
        jit(two)(X)
    with pytest.raises(TypeError, match="expected 1, got 2"):
        jit(two)(X, X)
    dot = np.vectorize(np.dot, signature="(n),(n)->()")
    with pytest.raises(ValueError, match="inconsistent size for core dimension 'n': 2 vs 3"):
        jit(dot)(X, X[:2])
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        jit(dot)(X, 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        jit(np.vectorize(smooth))(X, X[:2])
