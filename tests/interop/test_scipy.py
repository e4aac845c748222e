"""SciPy's functions of traced arrays: values against SciPy's own, derivatives against differences
of SciPy's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.interop import scipy as hooks
from tests.interop.further_rows import FURTHER
from tests.interop.rows import ROWS, X

# what NumPy's functions make of traced arrays in these rows must stay traced
DIRECTION = numpy.array([0.7, -0.4, 0.9, 0.35])


@pytest.fixture(autouse=True, scope="module")
def _hooked() -> Iterator[None]:
    hooks.hook()
    yield
    hooks.unhook()


def _parts(result: Any) -> list[Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return [numpy.asarray(p) for p in parts]


def _flat(result: Any) -> Any:
    """The result as one array, for transformations."""
    parts = result if isinstance(result, tuple) else (result,)
    flat = [np.asarray(p) for p in parts]
    both = [np.concatenate([p.real.ravel(), p.imag.ravel()]) if p.dtype.kind == "c" else p.ravel()
            for p in flat]  # fmt: skip
    return np.concatenate([p * 1.0 for p in both])


def _flat_plain(result: Any) -> Any:
    return numpy.asarray(_flat(tuple(_parts(result))))


def _slope(f: Callable[[Any], Any], x: Any, d: Any) -> Any:
    """Richardson's difference, of fourth order."""
    h = 1e-3
    g = [_flat_plain(f(x + k * h * d)) for k in (-2, -1, 1, 2)]
    with numpy.errstate(invalid="ignore"):
        return (g[0] - 8 * g[1] + 8 * g[2] - g[3]) / (12 * h)


def _close(found: Any, expected: Any, tol: float, what: str) -> None:
    expected = numpy.asarray(expected)
    finite = expected[numpy.isfinite(expected)]
    size = float(abs(finite).max()) if finite.size else 1.0
    numpy.testing.assert_allclose(
        numpy.asarray(found), expected, rtol=tol, atol=tol * max(size, 1e-3), err_msg=what
    )


@pytest.mark.parametrize("name", ROWS)
def test_value_and_derivative(name: str) -> None:
    f = ROWS[name]
    expected = f(X)
    shapes = [(p.shape, p.dtype) for p in _parts(expected)]
    seen: list[Any] = []

    def g(x: Any) -> Any:
        out = f(x)
        seen[:] = [(p.shape, p.dtype) for p in (out if isinstance(out, tuple) else (out,))]
        return _flat(out)

    x = np.asarray(X)
    value, moved = np.jvp(g, (x,), (np.asarray(DIRECTION),))
    assert seen == shapes
    flat = _flat_plain(expected)
    _close(value, flat, 1e-11, "value")
    slopes = _slope(f, X, DIRECTION)
    known = numpy.isfinite(flat)  # a difference of infinities is no number
    _close(numpy.asarray(moved)[known], slopes[known], 2e-7, "jvp")
    assert not numpy.isnan(numpy.asarray(moved)).any()
    weights = np.asarray(numpy.cos(numpy.arange(flat.size)) * known)
    reverse = np.grad(lambda x: np.where(known, g(x), 0.0) @ weights)(x)
    _close(reverse @ DIRECTION, numpy.asarray(moved * known) @ numpy.asarray(weights), 1e-8, "grad")


# Under `compiled`, each operation of a row outside of `jit` is a program: a third of them suffices.
_EVERY = 3 if os.environ.get("LAZYNP_EXECUTION") == "compiled" else 1


@pytest.mark.parametrize("name", list(ROWS)[::_EVERY])
def test_under_vmap_and_jit(name: str) -> None:
    f = ROWS[name]
    if name.startswith("ndimage: gaussian_filter sigma"):
        pytest.skip("the size of the kernel is the value's")
    # those that call many functions at once are large programs
    many = any(name == f"{m}: {n} (more)" for m, rows in FURTHER.items() for n in rows)
    with np.config(execution="reference" if many else np.config.execution):
        _under_vmap_and_jit(f)


def _under_vmap_and_jit(f: Callable[[Any], Any]) -> None:
    flat = _flat_plain(f(X))
    known = numpy.isfinite(flat)
    weights = np.asarray(numpy.cos(numpy.arange(flat.size)) * known)

    def loss(x: Any) -> Any:
        return np.where(known, _flat(f(x)), 0.0) @ weights

    x, other = np.asarray(X), np.asarray(X * 1.01)
    slope = numpy.asarray(np.grad(loss)(x))
    _close(np.jit(lambda x: _flat(f(x)))(x), flat, 1e-11, "jit")
    _close(np.jit(np.grad(loss))(x), slope, 1e-9, "jit of grad")
    both = np.vmap(lambda x: _flat(f(x)))(np.stack([x, other]))
    _close(both[0], flat, 1e-11, "vmap")
    _close(both[1], _flat_plain(f(X * 1.01)), 1e-11, "vmap")
    _close(np.vmap(np.grad(loss))(np.stack([other, x]))[1], slope, 1e-9, "vmap of grad")
