"""Copies that NumPy would make views for some sizes: writes to them are no others' business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Make = Callable[[Any, Any], Any]
FLAT: dict[str, Make] = {
    "ravel": lambda np, y: y[:, 0][::2].ravel(),
    "ravel of a transpose": lambda np, y: y.T.ravel(),
    "reshape of a transpose": lambda np, y: y.T.reshape(-1),
    "reshape of columns": lambda np, y: y[:, :2].reshape(-1),
    "reshape in another order": lambda np, y: y.reshape(-1, order="F"),
    "asfortranarray": lambda np, y: np.asfortranarray(y),
    "ascontiguousarray": lambda np, y: np.ascontiguousarray(y.T),
}
SURE: dict[str, Make] = {
    "ravel": lambda np, y: y.ravel(),
    "rows": lambda np, y: y[1:].reshape(-1),
    "another axis": lambda np, y: y.reshape(-1, 1),
    "every second": lambda np, y: y[:, 0][::2].reshape(-1),
    "copy": lambda np, y: y.T.ravel().copy(),
    "flatten": lambda np, y: y.T.flatten(),
    "array": lambda np, y: np.array(y.T, order="C"),
}
INPUTS = [numpy.arange(12.0).reshape(4, 3)[:i, :j] for i in (4, 1, 2, 0) for j in (3, 1, 2)]


def written(np: Any, x: Any, make: Make) -> tuple[Any, Any]:
    y = x * 1
    made = make(np, y)
    made[...] = 7
    return y, made


@pytest.mark.parametrize("make", FLAT.values(), ids=list(FLAT))
def test_the_array_cannot_be_used_after_a_write(make: Make) -> None:
    compiled = np.jit(lambda x: written(np, x, make)[0], abstracted_axes={0: "n", 1: "m"})
    with pytest.raises(TypeError, match=r"for some sizes a view .* \(y.ravel\(\).copy\("):
        compiled(INPUTS[0])


@pytest.mark.parametrize("make", FLAT.values(), ids=list(FLAT))
def test_what_was_made_can_be_written(make: Make) -> None:
    compiled = np.jit(lambda x: written(np, x, make)[1], abstracted_axes={0: "n", 1: "m"})
    for x in INPUTS:
        numpy.testing.assert_array_equal(compiled(x), written(numpy, x, make)[1])


@pytest.mark.parametrize("make", [*FLAT.values(), *SURE.values()], ids=[*FLAT, *map(str, SURE)])
def test_both_can_be_read(make: Make) -> None:
    compiled = np.jit(lambda x: (make(np, x) * 2, x * 1), abstracted_axes={0: "n", 1: "m"})
    for x in INPUTS:
        for got, want in zip(compiled(x), (make(numpy, x) * 2, x), strict=True):
            numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("make", SURE.values(), ids=list(SURE))
def test_what_is_sure_is_as_in_numpy(make: Make) -> None:
    compiled = np.jit(lambda x: written(np, x, make), abstracted_axes={0: "n", 1: "m"})
    for x in INPUTS:
        for got, want in zip(compiled(x), written(numpy, x, make), strict=True):
            numpy.testing.assert_array_equal(got, want)


def test_an_argument_keeps_its_value() -> None:
    def double(x: Any) -> Any:
        flat = x[::2].ravel()
        flat *= 2
        return flat

    x = np.arange(4.0)
    with pytest.raises(TypeError, match="for some sizes a view"):
        np.jit(double, abstracted_axes={0: "n"})(x)
    assert x.tolist() == [0, 1, 2, 3]
    assert np.jit(double)(x).tolist() == [0, 4]
