"""Refs: every kind of index, read and written, against NumPy; what a Ref is not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl

S = np.ShapeDtype
X = numpy.arange(60.0).reshape(3, 4, 5)
I = numpy.array([2, 0, 2])  # noqa: E741
J = numpy.array([[1], [3]])

INDICES: dict[str, Any] = {
    "all": ...,
    "whole slice": slice(None),
    "int": 1,
    "negative int": -1,
    "numpy int": numpy.int32(2),
    "ints": (1, -2, 3),
    "slice": slice(1, 3),
    "slice with step": (slice(None), slice(0, 4, 3)),
    "backwards": (slice(None), slice(None, None, -1)),
    "empty slice": slice(2, 2),
    "ellipsis": (..., 2),
    "ellipsis inside": (1, ..., slice(1, 4)),
    "new axis": (None, 1, slice(None), None),
    "array": I,
    "list": [2, 0],
    "two arrays": (I[:2], numpy.array([3, 1])),
    "arrays that broadcast": (I, slice(None), J),
    "array between slices": (slice(None), J, slice(1, 3)),
    "array after int": (1, slice(None), I),
    "negative array": (slice(None), numpy.array([-1, -4])),
}


def run(kernel: Any, out: Any, *args: Any, **options: Any) -> Any:
    return pl.pallas_call(kernel, out, **options)(*args)


@pytest.mark.parametrize("name", INDICES)
def test_reading(name: str) -> None:
    index, want = INDICES[name], X[INDICES[name]]

    def kernel(x: Any, o: Any) -> None:
        got = x[index]
        assert numpy.shape(got) == want.shape and got.dtype == want.dtype
        assert isinstance(got, numpy.generic) == isinstance(want, numpy.generic)
        o[...] = got

    numpy.testing.assert_array_equal(run(kernel, S(want.shape, "f8"), np.asarray(X)), want)


@pytest.mark.parametrize("value", [7, "whole", "row"])
@pytest.mark.parametrize("name", INDICES)
def test_writing(name: str, value: Any) -> None:
    index, want = INDICES[name], X.copy()
    shape = X[index].shape
    if value == "whole":
        value = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) + 100
    if isinstance(value, str):
        value = numpy.arange(shape[-1] if shape else 1)[() if shape else 0] + 100
    want[index] = value
    more = want.copy()
    more[index] += 3

    def kernel(x: Any, o: Any, p: Any) -> None:
        o[...] = x[...]
        o[index] = value
        p[...] = o[...]
        p[index] += 3

    got = run(kernel, [S(X.shape, "f8")] * 2, np.asarray(X))
    numpy.testing.assert_array_equal(got[0], want)
    numpy.testing.assert_array_equal(got[1], more)


DYNAMIC: dict[str, Any] = {
    "int": lambda i: (i, (i,)),
    "int of an axis": lambda i: ((slice(None), i + 1), (slice(None), i + 1)),
    "negative": lambda i: (-i - 1, (-i - 1,)),
    "start": lambda i: (pl.ds(i, 2), slice(i, i + 2)),
    "start after int": lambda i: ((i, pl.ds(i + 1, 2)), (i, slice(i + 1, i + 3))),
    "stride": lambda i: (
        (..., pl.ds(i, 2, 3)),
        (..., slice(i, i + 4, 3)),
    ),
    "start and slice": lambda i: (
        (pl.ds(i, 2), slice(None, None, 2), 1),
        (slice(i, i + 2), slice(None, None, 2), 1),
    ),
    "start and new axis": lambda i: (
        (None, pl.ds(i, 2), ..., None, 0),
        (None, slice(i, i + 2), ..., None, 0),
    ),
    "start and array": lambda i: ((pl.ds(i, 2), I), (slice(i, i + 2), I)),
    "array around start": lambda i: ((I, pl.ds(i, 2), I), (I, slice(i, i + 2), I)),
    "two starts": lambda i: (
        (pl.ds(0, 2), pl.dslice(i, 3), pl.dynamic_slice(2 * i, 2)),
        (slice(0, 2), slice(i, i + 3), slice(2 * i, 2 * i + 2)),
    ),
    "nothing": lambda i: (pl.ds(i, 0), slice(i, i)),
    "moving array": lambda i: ((slice(None), i + np.arange(2)), (slice(None), [i, i + 1])),
}


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("name", DYNAMIC)
def test_places_that_the_program_computes(name: str, interpret: bool) -> None:
    parts = [X[DYNAMIC[name](i)[1]] for i in range(2)]
    written = X.copy()
    for i in range(2):
        written[DYNAMIC[name](i)[1]] *= -2 + i

    def kernel(x: Any, o: Any, p: Any) -> None:
        i = pl.program_id(0)
        index = DYNAMIC[name](i)[0]
        p[...] = x[index]
        o[index] *= -2 + i

    block = pl.BlockSpec((None, *parts[0].shape), lambda i: (i, *[0] * parts[0].ndim))
    got = run(
        kernel, [S(X.shape, "f8"), S((2, *parts[0].shape), "f8")], np.asarray(X),
        grid=2, out_specs=[None, block], input_output_aliases={0: 0}, interpret=interpret,
    )  # fmt: skip
    numpy.testing.assert_array_equal(got[0], written)
    numpy.testing.assert_array_equal(got[1], numpy.stack(parts))


def test_what_is_read_is_a_copy() -> None:
    def kernel(x: Any, o: Any) -> None:
        a, b = x[...], o[1:]
        a[0] = 100
        b[0] = 100
        o[...] = 1
        b += o[0]
        o[0] = b[0]

    assert run(kernel, S((3,), "f8"), np.arange(3.0)).tolist()[1:] == [1, 1]


def test_attributes() -> None:
    def kernel(x: Any, o: Any) -> None:
        assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((3, 4, 5), "f8", 3, 60, 3)
        assert x.at[1, pl.ds(0, 2)].shape == (2, 5)
        assert "input 0" in repr(x) and "output 0" in repr(o)
        with pytest.raises(TypeError, match="no axes"):
            len(o)
        o[...] = np.zeros_like(x).size + np.full_like(x, 2)[0, 0, 0] + np.ones_like(x).ndim

    assert run(kernel, S((), "f8"), X).tolist() == 65


def test_parts() -> None:
    def kernel(x: Any, o: Any) -> None:
        i = pl.program_id(0)
        part = o.at[i]
        part[...] = pl.load(x.at[i, 1:].at[pl.ds(i, 2)])
        part.at[1][2:] += 10
        part[0, 0] = part[1, 4]

    want = numpy.stack([X[i, 1 + i : 3 + i] for i in range(2)])
    want[:, 1, 2:] += 10
    want[:, 0, 0] = want[:, 1, 4]
    numpy.testing.assert_array_equal(run(kernel, S((2, 2, 5), "f8"), X, grid=2), want)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: np.sin(x), lambda x: numpy.sin(x), lambda x: x + 1, lambda x: 1 + x,
        lambda x: np.ones(3) + x, lambda x: numpy.ones(3) @ x, lambda x: np.add(1, x),
        lambda x: float(x), lambda x: bool(x), lambda x: -x, lambda x: x < 2, lambda x: x == 2,
        lambda x: np.sum(x), lambda x: np.where(True, x, 1), lambda x: np.asarray(x),
        lambda x: np.stack([x, x]), lambda x: list(x), lambda x: pl.when(x),
        lambda x: np.ones(3).__setitem__(0, x),
    ],
)  # fmt: skip
def test_a_ref_is_no_array(misuse: Any) -> None:
    def kernel(x: Any, o: Any) -> None:
        with pytest.raises(TypeError, match=r"read it first, ref\[...\]"):
            misuse(x)(lambda: None)
        with pytest.raises(TypeError, match=r"read it first, ref\[...\]"):
            o[...] = x
        o[...] = 0

    run(kernel, S((3,), "f8"), np.ones(3)).tolist()


@pytest.mark.parametrize(
    "index",
    [5, (0, -6), (0, 0, 0), 1.5, numpy.array([1.0]), "a", ([0, 9],), pl.ds(1, 5), (0, pl.ds(3, 2)),
     pl.ds(-1, 2)],
)  # fmt: skip
def test_indices_that_no_program_may_use(index: Any) -> None:
    def reading(x: Any, o: Any) -> None:
        o[...] = np.sum(x[index])

    def writing(x: Any, o: Any) -> None:
        o[index] = 1

    for kernel in (reading, writing):
        with pytest.raises(IndexError):
            run(kernel, S((5, 4), "f8"), np.ones((5, 4)))


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("index", [lambda i: i, lambda i: pl.ds(i, 1), lambda i: i + np.arange(1)])
def test_places_out_of_bounds_are_errors_of_the_call(index: Any, interpret: bool) -> None:
    def kernel(at: Any, x: Any, o: Any) -> None:
        o[...] = x[index(at[0])].sum()

    call = pl.pallas_call(
        kernel, S((3,), "f8"), grid=3, interpret=interpret,
        in_specs=[pl.BlockSpec((1,), lambda i: i), None], out_specs=pl.BlockSpec((1,), lambda i: i),
    )  # fmt: skip
    x = np.arange(4.0)
    assert call(np.asarray([3, 0, 1]), x).tolist() == [3, 0, 1]
    with pytest.raises(IndexError, match="4.*out of bounds for axis 0 with size 4"):
        call(np.asarray([3, 4, 1]), x).tolist()


def test_places_that_the_grid_bounds_are_not_checked() -> None:
    def kernel(x: Any, o: Any) -> None:
        i = pl.program_id(0)
        o[...] = x[pl.ds(2 * i, 3)].sum() + x[i + 5] + x[i + np.arange(2)].sum()

    spec = pl.BlockSpec((1,), lambda i: i)
    call = pl.pallas_call(kernel, S((4,), "f8"), grid=4, out_specs=spec)
    assert "check" not in str(np.make_jaxpr(call)(np.arange(9.0)))
    with pytest.raises(IndexError, match="out of bounds"):
        call(np.arange(8.0)).tolist()


def test_masks_as_indices() -> None:
    def kernel(x: Any, o: Any) -> None:
        with pytest.raises(TypeError, match=r"load\(.*mask="):
            x[x[...] > 1]
        o[...] = x[...]
        o[x[...] > 1] = 0

    assert run(kernel, S((4,), "f8"), np.arange(4.0)).tolist() == [0, 1, 0, 0]


def test_inputs_are_read_only_and_refs_end_with_their_kernel() -> None:
    kept: list[Any] = []

    def writes(x: Any, o: Any) -> None:
        x[0] = 1

    def part(x: Any, o: Any) -> None:
        x.at[0][...] = 1

    for kernel in (writes, part):
        with pytest.raises(ValueError, match="read-only.*input 0"):
            run(kernel, S((3,), "f8"), np.ones(3))

    def keeps(x: Any, o: Any) -> None:
        kept.extend([x, o.at[0]])
        o[...] = 0

    run(keeps, S((3,), "f8"), np.ones(3))
    for ref in kept:
        with pytest.raises(TypeError, match="after its kernel"):
            ref[...]
