"""A part of sliding windows is made of a part of the array: values, layouts, derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazynp as np

windows: Any = np.lib.stride_tricks.sliding_window_view
theirs: Any = numpy.lib.stride_tricks.sliding_window_view
ONE = [slice(None), 0, 3, -1, slice(None, None, 2), slice(1, None, 3), slice(2, 5),
       slice(None, None, -1), slice(4, 4), slice(-4, None, 2), slice(6, 1, -2)]  # fmt: skip
INDICES: list[Any] = [
    *itertools.product(ONE, [slice(None), 1, slice(None, None, 2)]),
    (None, slice(None, None, 2)), (slice(1, 6), None, 1), (..., 0), (..., slice(None, None, 2), 1),
]  # fmt: skip


def _data(*shape: int) -> Any:
    return numpy.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
def test_parts_of_windows(execution: Any) -> None:
    x = _data(11)
    with np.config(execution=execution):
        for index in INDICES:
            ours, wanted = windows(np.array(x) + 0, 4)[index], theirs(x, 4)[index]
            assert ours.shape == wanted.shape and ours.strides == wanted.strides, index
            numpy.testing.assert_array_equal(numpy.asarray(ours), wanted)
            assert not ours.flags.writeable


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_derivatives_of_parts(index: Any) -> None:
    x, cotangent = _data(11), _data(*theirs(_data(11), 4)[index].shape)
    wanted = numpy.zeros(11)
    places = theirs(numpy.arange(11), 4)[index]
    numpy.add.at(wanted, places, cotangent)

    def f(x: Any) -> Any:
        return (windows(x, 4)[index] * cotangent).sum()

    twice = np.vmap(np.grad(f), in_axes=None, axis_size=2)
    for gradient in (np.grad(f), np.jit(np.grad(f)), twice):
        numpy.testing.assert_allclose(
            *numpy.broadcast_arrays(numpy.asarray(gradient(np.array(x))), wanted), atol=1e-14
        )


@pytest.mark.parametrize(
    "lengths, axes, index",
    [
        ((2, 2), (1, 2), (slice(None), slice(None, None, 2), slice(None, None, 2))),
        ((3, 2), (2, 0), (slice(1, None), 2, slice(1, None, 3))),
        ((2, 3), (1, 1), (0, slice(None, None, 2))),
        ((5,), (1,), (slice(None, None, 2), slice(None, None, 2))),
    ],
)
def test_several_axes(lengths: Any, axes: Any, index: Any) -> None:
    x = _data(4, 8, 9)
    wanted = theirs(x, lengths, axes)[index]
    numbers = theirs(numpy.arange(x.size).reshape(x.shape), lengths, axes)[index]
    times = numpy.bincount(numbers.ravel(), minlength=x.size).reshape(x.shape)

    def f(x: Any) -> Any:
        part = windows(x.T.copy().T, lengths, axes)[index]
        return (part**2).sum() / 2

    for get in (lambda v: v, np.jit):
        part = get(lambda x: windows(x, lengths, axes)[index] + 0.0)(np.array(x))
        numpy.testing.assert_array_equal(numpy.asarray(part), wanted)
        numpy.testing.assert_allclose(numpy.asarray(get(np.grad(f))(np.array(x))), times * x)


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
def test_writes_show_in_parts(execution: Any) -> None:
    with np.config(execution=execution):
        x = np.arange(12.0) * 2
        part = windows(x[1:], 3)[1::4]
        further = part[1:, ::2]
        x[5:8] = -1
        wanted = theirs(numpy.asarray(x)[1:], 3)[1::4]
        numpy.testing.assert_array_equal(numpy.asarray(part), wanted)
        numpy.testing.assert_array_equal(numpy.asarray(further), wanted[1:, ::2])


def test_the_gradient_costs_as_much_as_the_part() -> None:
    """No operation of the gradient takes all windows: 10,000 of 500 numbers."""

    def f(x: Any) -> Any:
        return (windows(x, 500)[::250] ** 2).sum()

    jaxpr = np.make_jaxpr(np.grad(f))(np.zeros(10_499))
    assert max(v.aval.size for e in jaxpr.eqns for v in e.outputs) <= 2 * 39 * 500


@pytest.mark.parametrize(
    "made",
    [
        lambda m: m.array(2.0),
        lambda m: m.array(1.0) * 2,
        lambda m: m.ones(3)[1] * 2,
        lambda m: m.full(3, 2.0)[:1],
        lambda m: m.array(2),
    ],
)
def test_one_number_is_shown_many_times_without_memory_for_each(made: Any) -> None:
    """The places of so many elements would take 8 TB."""
    x = np.lib.stride_tricks.as_strided(made(np), (2**20, 2**20), (0, 0))
    want = numpy.lib.stride_tricks.as_strided(made(numpy), (2**20, 2**20), (0, 0))
    assert (x.shape, x.strides, x.dtype) == (want.shape, want.strides, want.dtype)
    assert x[5, :3].tolist() == [2, 2, 2]
