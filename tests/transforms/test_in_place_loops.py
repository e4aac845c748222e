"""Arrays that a compiled loop reads and writes: read before they are written, written in place."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, vmap

N, STEPS = 700, 6  # large enough for the order to matter


def _read_first(x: Any, y: Any, c: Any, i: Any) -> Any:
    before = y[i - 1]
    y[i] = x[i] * c
    return c * 0.5 + before


def _swapped(x: Any, y: Any, c: Any, i: Any) -> Any:
    y[i], y[i + 1] = y[i + 1] + c, y[i] * x[i]
    return c * 0.5


def _twice(x: Any, y: Any, c: Any, i: Any) -> Any:
    y[i] = x[i] * c
    y[i + 1] = y[i] * 2
    return c + y[i - 1]


def _added(x: Any, y: Any, c: Any, i: Any) -> Any:
    y[i] += x[i] * c
    y[i + 1] += y[i]
    return c * y[i + 2]


def _by_index_arrays(x: Any, y: Any, c: Any, i: Any) -> Any:
    places = i + numpy.array([0, 2, 5])
    old = y[places]
    y[places] = old * 0.5 + x[i] * c
    return c + old.sum()


def _rows(x: Any, y: Any, c: Any, i: Any) -> Any:
    square = y.reshape(70, 10)
    last = square[i - 1, 2:].sum()
    square[i] = square[i + 1] + x[i]
    square[3, i] = c
    return c * 0.5 + last


BODIES = [_read_first, _swapped, _twice, _added, _by_index_arrays, _rows]


def _by_python(body: Any, x: Any) -> Any:
    y, c = np.sin(np.arange(float(N))), 1.0
    for i in range(STEPS):
        c = body(x, y, c, i)
    return (y * y).sum() + c


def _by_scan(body: Any, x: Any) -> Any:
    y = np.sin(np.arange(float(N)))
    c, _ = np.scan(lambda c, i: (body(x, y, c, i), None), 1.0, np.arange(STEPS))
    return (y * y).sum() + c


@pytest.mark.parametrize("body", BODIES)
def test_they_are_what_python_makes_of_them(body: Any) -> None:
    x = np.cos(np.arange(float(N)))
    numpy.testing.assert_allclose(jit(_by_scan, static_argnums=0)(body, x), _by_python(body, x))
    want = grad(_by_python, 1)(body, x)
    numpy.testing.assert_allclose(jit(grad(_by_scan, 1), static_argnums=0)(body, x), want)
    many = vmap(lambda x: _by_scan(body, x))(np.stack([x, 2 * x]))
    numpy.testing.assert_allclose(many, [_by_python(body, x), _by_python(body, 2 * x)])


def _programs(f: Any, x: Any) -> str:
    return jit(f).lower(x).as_text()


def test_reads_are_put_apart_only_where_the_array_is_written() -> None:
    x = np.ones(N)
    assert "stablehlo.case" in _programs(grad(lambda x: _by_scan(_read_first, x)), x)
    only_read = lambda x: np.scan(lambda c, i: (c + x[i], None), 0.0, np.arange(STEPS))[0]  # noqa: E731
    assert "stablehlo.case" not in _programs(only_read, x)
