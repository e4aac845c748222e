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


def written_after(np: Any, x: Any, make: Make) -> tuple[Any, Any]:
    y = x * 1
    made = make(np, y)
    before = made.sum()
    y[...] = 7
    return made, before


@pytest.mark.parametrize("make", [*FLAT.values(), *SURE.values()], ids=[*FLAT, *map(str, SURE)])
@pytest.mark.parametrize("program", [written, written_after])
def test_a_write_shows_where_it_shows_in_numpy(program: Any, make: Make) -> None:
    compiled = np.jit(lambda x: program(np, x, make), abstracted_axes={0: "n", 1: "m"})
    for x in [*INPUTS, *INPUTS[::-1]]:
        for got, want in zip(compiled(x), program(numpy, x, make), strict=True):
            numpy.testing.assert_array_equal(got, want)


def test_a_copy_for_large_sizes_is_one_trace() -> None:
    compiled = np.jit(lambda x: written(np, x, FLAT["ravel"]), abstracted_axes={0: "n"})
    for n in range(3, 20):
        compiled(numpy.ones((n, 2)))
    assert compiled._cache_size() == 1


@pytest.mark.parametrize("make", [FLAT["ravel"], FLAT["ravel of a transpose"]])
@pytest.mark.parametrize("program", [written, written_after])
def test_where_the_call_does_not_tell_it_cannot_be_used_after_a_write(
    program: Any, make: Make
) -> None:
    compiled = np.jit(lambda n: program(np, np.ones((n, n)), make)[0])
    with pytest.raises(TypeError, match=r"for some sizes a view.* \(y.ravel\(\).copy\("):
        np.make_jaxpr(compiled)(3)


def test_a_size_of_nothing_may_be_small_elsewhere() -> None:
    def program(np: Any, x: Any) -> Any:
        return written_after(np, np.append(x, [1.0, 2.0]), lambda np, y: y[::2].ravel())[0]

    compiled = np.jit(lambda x: program(np, x), abstracted_axes={0: "n"})
    for n in (5, 0, 1):
        x = numpy.arange(float(n))
        numpy.testing.assert_array_equal(compiled(x), program(numpy, x))


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


def test_an_argument_has_numpys_value() -> None:
    def double(x: Any) -> Any:
        flat = x[::2].ravel()
        flat *= 2
        return flat

    compiled = np.jit(double, abstracted_axes={0: "n"})
    for n in (4, 2, 1, 0, 5):
        x, y = np.arange(float(n)), numpy.arange(float(n))
        assert compiled(x).tolist() == double(y).tolist()
        assert x.tolist() == y.tolist()


PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "the difference of two sizes": lambda x, m: x[1 : -m.shape[0]],
    "far from the beginning": lambda x, m: x[5:],
    "every second": lambda x, m: x[1:-2:2],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=list(PARTS))
@pytest.mark.parametrize("step", [2, -1])
@pytest.mark.parametrize("name", ["ravel", "reshape", "ascontiguousarray"])
def test_sizes_that_are_small_for_some_arguments(part: Any, step: int, name: str) -> None:
    def program(np: Any, x: Any, m: Any) -> Any:
        y = part(x, m) * 1
        made = np.reshape(y[::step], -1) if name == "reshape" else getattr(np, name)(y[::step])
        made[:1] += 5
        y[-1:] += 7
        return made * 1, y

    compiled = np.jit(lambda x, m: program(np, x, m), abstracted_axes=({0: "n"}, {0: "m"}))
    for n, m in [(8, 1), (5, 3), (7, 1), (6, 1), (3, 1), (4, 2), (0, 1), (9, 2), (8, 1)]:
        x, w = numpy.arange(float(n)), numpy.ones(m)
        for got, want in zip(compiled(x, w), program(numpy, x, w), strict=True):
            numpy.testing.assert_array_equal(got, want)
