"""Arrays that devices do not divide evenly: XLA's splitter errs there, unless programs avoid it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.primitives import shaping
from tests.devices.worker import on_eight

P = np.PartitionSpec
SPECS = (("x",), ("y",), ("x", "y"), ("y", "x"), (None, ("y", "x")), (("x", "y"),))
X = numpy.random.default_rng(3).uniform(-1, 1, (8, 8))


def split(x: Any, spec: tuple[Any, ...], shape: tuple[int, int] = (4, 2)) -> Any:
    mesh = np.make_mesh(shape, ("x", "y"))
    return np.device_put(x, np.NamedSharding(mesh, P(*spec)))


@pytest.mark.parametrize("spec", SPECS)
@on_eight
def test_stores_into_every_other_element(spec: tuple[Any, ...]) -> None:
    regions = (
        numpy.s_[7:8, 3:7:3], numpy.s_[5:8, 3::2], numpy.s_[0:8:2, 5:4:-2], numpy.s_[3:7:2, 6:8:2],
        numpy.s_[2:5:2, 7:6:-1], numpy.s_[::3, 1:7:3],
    )  # fmt: skip
    for region in regions:

        def store(x: Any, region: Any = region) -> Any:
            x[region] = x[region] * 2 + 3
            return x

        want = store(X.copy())
        assert numpy.array_equal(numpy.asarray(np.jit(store)(split(X, spec))), want), region


def sorted_rows(x: Any) -> Any:
    return (np.sort(x[1:], 0) ** 2 * np.arange(8)).sum()


def sorted_columns(x: Any) -> Any:
    return (np.maximum.accumulate(np.sort(x.T[1:], 0), 0) ** 2).sum()


def largest_so_far(x: Any) -> Any:
    return (np.maximum.accumulate(x[1:, 1:].T, 0) ** 2).sum()


def every_third(x: Any) -> Any:
    return (x[1::3, ::-2] ** 3 * np.arange(4)).sum()


@pytest.mark.parametrize("function", [sorted_rows, sorted_columns, largest_so_far, every_third])
@pytest.mark.parametrize("spec", SPECS)
@on_eight
def test_gradients_through_parts(function: Any, spec: tuple[Any, ...]) -> None:
    want = numpy.asarray(np.grad(function)(np.array(X)))
    got = np.jit(np.grad(function))(split(X, spec))
    assert numpy.allclose(numpy.asarray(got), want, rtol=1e-12)


@pytest.mark.parametrize("size", [8, 3])
@pytest.mark.parametrize("spec", SPECS)
@on_eight
def test_shifts_of_what_each_device_has(size: int, spec: tuple[Any, ...]) -> None:
    values = X[:size, :size]
    for low, high in ((1, -1), (-1, 1), (2, -2), (-2, 3), (-1, -1), (0, -2), (-size - 1, size + 3)):

        def f(whole: Any, x: Any, edges: tuple[int, int] = (low, high)) -> Any:
            return shifted(whole, *edges) + x[1 : size + sum(edges) + 1, :size]

        around = numpy.pad(values, ((20, 20), (0, 0)))
        want = around[20 - low : 20 + size + high]
        x = numpy.arange(256.0).reshape(16, 16)
        want = want + x[1 : len(want) + 1, :size]
        got = np.jit(f)(split(values, ()), split(x, spec))
        assert numpy.array_equal(numpy.asarray(got), want), (low, high)


def shifted(x: Any, low: int, high: int) -> Any:
    return shaping.pad(x, 0.0, low=(low, 0), high=(high, 0), interior=(0, 0))
