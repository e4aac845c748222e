"""Places in axes of unknown size: inserted at, put at, counted, and shapes with nothing in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def _stored(store: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What an array holds after it was written to."""

    def run(np: Any, x: Any) -> Any:
        y = x * 1
        store(np, y, x)
        return y

    return run


def _complex(np: Any, x: Any, part: str) -> Any:
    c = x + 1j
    setattr(c, part, x * 2)
    return c


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "insert": lambda np, x: np.insert(x, [0, 1], 5),
    "insert many": lambda np, x: np.insert(x, [0, 1, 0], [5, 6, 7.0]),
    "insert in columns": lambda np, x: np.insert(x[None], [0, 1], 5, axis=1),
    "put": _stored(lambda np, y, x: np.put(y, np.arange(x.shape[0])[::2], x)),
    "put backwards": _stored(lambda np, y, x: np.put(y, np.arange(x.shape[0])[::-1], x)),
    "put half": _stored(lambda np, y, x: y.put(np.arange(x.shape[0] // 2), x[::-1])),
    "put clipped": _stored(
        lambda np, y, x: np.put(y, np.arange(x.shape[0] + 1), x, mode="clip")
    ),
    "place": _stored(lambda np, y, x: np.place(y, y > 2, x[:2])),
    "place all": _stored(lambda np, y, x: np.place(y, y > -9, x[::2])),
    "flat": _stored(lambda np, y, x: y.flat.__setitem__(slice(None, None, 2), 1)),
    "flat of an array": _stored(lambda np, y, x: y.flat.__setitem__(slice(1, None), x[:-1])),
    "real": lambda np, x: _complex(np, x, "real"),
    "imag": lambda np, x: _complex(np, x, "imag"),
    "add where": _stored(lambda np, y, x: np.add.at(y, x > 0, 1)),
    "add selected": _stored(lambda np, y, x: np.add.at(y, x > 0, x[x > 0])),
    "bincount": lambda np, x: np.bincount((x * x).astype(int) % 3, minlength=x.shape[0]),
    "bincount known": lambda np, x: np.bincount([0, 2, 1, 2], minlength=x.shape[0]),
    "unravel_index": lambda np, x: np.stack(
        np.unravel_index(np.arange(x.shape[0] * 2), (x.shape[0], 2))
    ),
    "unravel_index in Fortran": lambda np, x: np.stack(
        np.unravel_index(np.arange(x.shape[0] * 2), (x.shape[0], 2), order="F")
    ),
    "ravel_multi_index": lambda np, x: np.ravel_multi_index(
        (np.arange(x.shape[0]), np.arange(x.shape[0]) % 3), (x.shape[0], 3)
    ),
    "ravel_multi_index clipped": lambda np, x: np.ravel_multi_index(
        (np.arange(x.shape[0]), np.arange(x.shape[0])), (3, x.shape[0]), mode="clip"
    ),
    "ravel_multi_index outside": lambda np, x: np.ravel_multi_index(
        (np.arange(x.shape[0]), np.arange(x.shape[0]) + 2), (x.shape[0], 3)
    ),
    "broadcast": lambda np, x: np.broadcast_to(x[:0:-1], (3, x[:0:-1].shape[0]))[:-1] * 1,
    "beside nothing": lambda np, x: x[:, None] * np.zeros(0),
    "below nothing": lambda np, x: np.zeros(0)[:, None] * x,
    "outer of nothing": lambda np, x: np.add.outer(x, x[:0]),
}  # fmt: skip


@pytest.mark.parametrize("execution", ["adaptive", "compiled"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_numpys_results(function: Callable[[Any, Any], Any], execution: Any) -> None:
    compiled = np.jit(lambda x: function(np, x), abstracted_axes={0: "n"})
    with np.config(execution=execution):
        for n in (4, 1, 2, 0, 3):
            x = numpy.array([3.0, -1, 5, 2])[:n]
            try:
                want = function(numpy, x)
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    compiled(x)
                continue
            got = compiled(x)
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            numpy.testing.assert_allclose(got, want)


def test_remainders_of_multiples() -> None:
    @np.jit(abstracted_axes=({0: "n"}, {0: "m"}))
    def lengths(x: Any, y: Any) -> Any:
        n, m = x.shape[0], y.shape[0]
        assert n % n == 0
        assert n * m % m == 0
        assert (2 * n * m + n * n) % n == 0
        return np.zeros((2, n % n)), np.zeros(n % m)

    assert [a.shape for a in lengths(numpy.zeros(5), numpy.zeros(3))] == [(2, 0), (2,)]


def test_place_of_nothing() -> None:
    def run(np: Any, x: Any, values: Any) -> Any:
        y = x * 1
        np.place(y, y > 2, values)
        return y

    compiled = np.jit(lambda x, v: run(np, x, v), abstracted_axes=({0: "n"}, {0: "k"}))
    for values in (numpy.ones(2), numpy.ones(0)):
        x = numpy.array([1.0, 2.0])
        numpy.testing.assert_allclose(compiled(x, values), run(numpy, x, values))
    with pytest.raises(ValueError, match="Cannot insert from an empty array!"):
        compiled(numpy.array([1.0, 3.0]), numpy.ones(0))
