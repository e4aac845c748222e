"""What a call refuses: the class of the exception, and what its message names."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl

S, B = np.ShapeDtype, pl.BlockSpec
X = numpy.arange(12.0)


def copy(x: Any, o: Any) -> None:
    o[...] = x[...]


def returns(x: Any, o: Any) -> Any:
    return x[...]


def axis(x: Any, o: Any) -> None:
    o[...] = pl.program_id(1)


def loads_an_array(x: Any, o: Any) -> None:
    pl.load(x[...], 0)


def misfit(x: Any, o: Any) -> None:
    o[...] = pl.load(x, ..., mask=numpy.ones(5, bool))


def misfit_value(x: Any, o: Any) -> None:
    pl.store(o, ..., numpy.ones(5), mask=True)


def misfit_store(x: Any, o: Any) -> None:
    o[...] = numpy.ones(5)


def other_alone(x: Any, o: Any) -> None:
    o[...] = pl.load(x, ..., other=0)


def mask_of_numbers(x: Any, o: Any) -> None:
    o[...] = pl.load(x, ..., mask=numpy.ones(12))


O12 = S((12,), "f8")
REFUSED: dict[str, Any] = {  # kernel, out_shape, options, args, exception, message
    "no kernel": (3, O12, {}, (X,), TypeError, "kernel must be a function"),
    "no room": (lambda x: None, O12, {}, (X,), TypeError, "must take 2 Refs"),
    "no room for scratch": (copy, O12, {"scratch_shapes": [pl.VMEM((2,), "f4")]}, (X,), TypeError,
                            "must take 3 Refs"),
    "more arguments": (copy, O12, {}, (X, X), TypeError, "must take 3 Refs, of 2 arguments"),
    "a result": (returns, O12, {}, (X,), ValueError, "returns: a kernel must return None"),
    "no dtype": (copy, (12,), {}, (X,), TypeError, "out_shape must have a shape and a dtype"),
    "objects": (copy, S((1,), object), {}, (X,), TypeError, "numbers or bools"),
    "an object": (copy, O12, {}, ("a",), TypeError, "arrays and numbers are required"),
    "negative grid": (copy, O12, {"grid": (2, -1)}, (X,), ValueError, "no negative sizes"),
    "grid of floats": (copy, O12, {"grid": 2.0}, (X,), TypeError, "an int or a tuple of ints"),
    "two grids": (copy, O12, {"grid": 2, "grid_spec": pl.GridSpec((2,))}, (X,), ValueError,
                  "grid_spec stands for grid"),
    "a spec for a list": (copy, O12, {"in_specs": B((2,))}, (X,), TypeError, "tuple or list"),
    "specs": (copy, O12, {"in_specs": [B(), B()]}, (X,), ValueError, "2 entries for 1 arguments"),
    "specs of results": (copy, O12, {"out_specs": [B(), B()]}, (X,), ValueError, "out_specs"),
    "no spec": (copy, O12, {"in_specs": [3]}, (X,), TypeError, "a BlockSpec is required"),
    "rank": (copy, O12, {"in_specs": [B((2, 2), lambda: (0, 0))]}, (X,), ValueError,
             "copy: argument 0: a block of 2 dimensions"),
    "too few ids": (copy, O12, {"in_specs": [B((2,), lambda i: i)], "grid": (2, 2)}, (X,),
                    TypeError, "must take 2 program ids"),
    "too many ids": (copy, O12, {"out_specs": B((2,), lambda i, j: i), "grid": 2}, (X,), TypeError,
                     "output 0: the index map must take 1 program ids"),
    "too many numbers": (copy, O12, {"in_specs": [B((2,), lambda i: (i, 0))], "grid": 2}, (X,),
                         ValueError, "must return 1 block numbers.*got 2"),
    "numbers that are floats": (copy, O12, {"in_specs": [B((2,), lambda i: i / 2)], "grid": 2},
                                (X,), ValueError, "must return integers"),
    "no numbers": (copy, O12, {"in_specs": [B((2,), lambda i: None)], "grid": 2}, (X,),
                   ValueError, "must return integers"),
    "outside": (copy, O12, {"in_specs": [B((6,), lambda i: i)], "grid": 3}, (X,), IndexError,
                "argument 0: the block that begins at 12 is out of bounds for axis 0 with size 12"),
    "before": (copy, O12, {"out_specs": B((12,), lambda i: i - 1), "grid": 1}, (X,), IndexError,
               "output 0: the block that begins at -12"),
    "beyond its padding": (copy, O12, {"in_specs": [B((pl.Element(2, (0, 2)),), lambda i: 14 + i)],
                                       "grid": 1}, (X,), IndexError, "out of bounds"),
    "no such input": (copy, O12, {"input_output_aliases": {1: 0}}, (X,), ValueError, "has 1: 0"),
    "no such output": (copy, O12, {"input_output_aliases": {0: 1}}, (X,), ValueError, "outputs 0"),
    "another shape": (copy, S((11,), "f8"), {"input_output_aliases": {0: 0}}, (X,), ValueError,
                      "cannot be the beginning of output 0"),
    "another dtype": (copy, S((12,), "f4"), {"input_output_aliases": {0: 0}}, (X,), ValueError,
                      "cannot be the beginning"),
    "aliases of names": (copy, O12, {"input_output_aliases": {"x": 0}}, (X,), TypeError, "ints"),
    "interpret": (copy, O12, {"interpret": "fast"}, (X,), ValueError, "interpret must be"),
    "scratch": (copy, O12, {"scratch_shapes": [(2,)]}, (X,), TypeError, "scratch_shapes must be"),
    "an axis": (axis, O12, {"grid": 2}, (X,), ValueError, r"the grid \(2,\) of axis has no axis 1"),
    "load of an array": (loads_an_array, O12, {}, (X,), TypeError, "load: a Ref is required"),
    "mask": (misfit, O12, {}, (X,), ValueError, r"load: a mask of shape \(5,\)"),
    "mask of numbers": (mask_of_numbers, O12, {}, (X,), TypeError, "must be of bools"),
    "value": (misfit_value, O12, {}, (X,), ValueError, r"store: a value of shape \(5,\)"),
    "assigned": (misfit_store, O12, {}, (X,), ValueError, "broadcast"),
    "other": (other_alone, O12, {}, (X,), ValueError, "without a mask"),
}  # fmt: skip


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, interpret: bool) -> None:
    kernel, out, options, args, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        pl.pallas_call(kernel, out, **{"interpret": interpret, **options})(*args)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: B(lambda i: i, (2,)), TypeError, "block_shape comes first, then index_map"),
        (lambda: B((2,), 3), TypeError, "index_map must be a function"),
        (lambda: B((2.0,)), TypeError, "must be an int"),
        (lambda: B((True,)), TypeError, "must be an int"),
        (lambda: B((-1,)), ValueError, "must not be negative"),
        (lambda: B((pl.Element(2, (-1, 0)),)), ValueError, "padding must not be negative"),
        (lambda: pl.CompilerParams(dimension_semantics=("serial",)), ValueError, "'serial'"),
        (lambda: pl.ds(0, -1), ValueError, "size must not be negative"),
        (lambda: pl.ds(0, 2, 0), ValueError, "stride must be positive"),
        (lambda: pl.ds(0.5, 2), TypeError, "start must be an integer"),
        (lambda: pl.loop(0, 3, step=0), ValueError, "step must not be zero"),
        (lambda: pl.next_power_of_2(-1), ValueError, "must not be negative"),
        (lambda: pl.program_id(0), RuntimeError, "program_id is called outside of a kernel"),
        (lambda: pl.num_programs(0), RuntimeError, "num_programs is called outside"),
    ],
)
def test_refused_at_once(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_a_kernel_writes_no_array_from_outside() -> None:
    outside = np.zeros(3)

    def kernel(x: Any, o: Any) -> None:
        outside[0] = 1
        o[...] = x[...]

    with pytest.raises(TypeError, match="kernel: a kernel must not write arrays from outside"):
        pl.pallas_call(kernel, O12)(X)
    assert outside.tolist() == [0, 0, 0]


def test_after_an_error_ids_are_gone_and_the_call_may_be_repeated() -> None:
    broken = [True]

    def kernel(x: Any, o: Any) -> None:
        if broken:
            raise KeyError("broken")
        o[...] = x[...]

    call = pl.pallas_call(kernel, O12)
    with pytest.raises(KeyError):
        call(X)
    with pytest.raises(RuntimeError):
        pl.program_id(0)
    broken.clear()
    assert call(X).tolist() == X.tolist()
