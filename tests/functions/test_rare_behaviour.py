"""Rarely used behaviour of NumPy's, each of which differed once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import be_eager, outcome_of


def described(x: Any) -> Any:
    """What the comparison looks at."""
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    if hasattr(x, "strides"):
        return str(x.dtype), x.shape, x.strides, repr(numpy.asarray(x))
    return repr(x)


def outcome(program: Callable[[Any], Any], module: Any) -> Any:
    return outcome_of(lambda: described(program(module)))


def times_in_integers(np: Any) -> Any:
    x, y, z = np.arange(5) - 2, np.arange(5) - 2, np.arange(5) - 2
    x[x > 0] = np.timedelta64(5)
    y[[0, 1]] = np.timedelta64(5, "D")
    z[z > 0] = np.datetime64(5, "D")
    return x, y, z


def a_mask_put(np: Any) -> Any:
    x, y = np.arange(5.0) * 2, np.arange(5.0) * 2
    np.ma.putmask(x, x > 2, 9.0)
    np.ma.put(y, [0, 1], [7.0, 8.0])
    return x, y


def sorted_as_complex(np: Any) -> Any:
    return np.sort_complex(np.asfortranarray(np.arange(6).reshape(2, 3)))


def written_after_broadcasting(np: Any) -> Any:
    a, b = np.broadcast_arrays(np.arange(3), np.ones((2, 1)))
    part = b[1:]
    a[0, 0] = 5
    part[0, 0] = 7.0
    return a, b, part


def flags_after_broadcasting(np: Any) -> Any:
    a, _ = np.broadcast_arrays(np.arange(3), np.ones((2, 1)))
    return a.flags.writeable


def read_only_after_broadcasting(np: Any) -> Any:
    x = np.arange(3)
    x.flags.writeable = False
    a, _ = np.broadcast_arrays(x, np.ones((2, 1)))
    a[0] = 1


def written_grid(np: Any) -> Any:
    a, b = np.meshgrid(np.arange(3.0), np.arange(2.0), copy=False)
    a[0, 0] = 5
    return a, b


def wrapped_results(np: Any) -> Any:
    x = np.ones(3)
    others = [np.arange(3), np.array(4), x[1:]]
    return [w.__array_wrap__(a, None, *scalar) for w in (x, x[0]) for a in others
            for scalar in ((), (True,), (False,))]  # fmt: skip


def wrapped_list(np: Any) -> Any:
    return np.ones(3).__array_wrap__([1])


def numbers_for_nan(np: Any) -> Any:
    x = np.array([1.0, np.nan])
    y = np.nan_to_num(x, copy=None)
    y[0] = 3
    return x, y, np.nan_to_num([1.0, np.nan], copy=None)


def records_and_none(np: Any) -> Any:
    return np.zeros(2, "i4,f8") == None  # noqa: E711


def power_of_three(np: Any) -> Any:
    return np.arange(3.0).__pow__(2, 3)


def quantiles_by_lane(np: Any) -> Any:
    x = np.random.RandomState(0).rand(5, 6, 7) * 2
    return np.nanpercentile(x, [20, 30], axis=1), np.nanquantile(x, [0.2, 0.3], axis=(0, 2))


def divided_objects(np: Any) -> Any:
    return np.divmod(np.array([10**30, 5], object), 3)


def divided_complex(np: Any) -> Any:
    return np.divmod(np.array([1j]), 2)


def padded_string(np: Any) -> Any:
    return np.pad(np.array("abc"), 1)


def searched_text(np: Any) -> Any:
    x = np.array(["a", "b", "d"], np.dtypes.StringDType())
    return int(np.searchsorted(x, "c")), int(x.searchsorted("b", "right"))


def exchanged_in_fortran_order(np: Any) -> Any:
    return np.from_dlpack(np.asfortranarray(np.ones((2, 3))))


def seeded_by_an_array(np: Any) -> Any:
    return np.random.RandomState(np.arange(3) + 1).rand(2)


def kept_records(np: Any) -> Any:
    x = np.rec.fromarrays([[3, 1, 2], [1.0, 2.0, 3.0]], names="a,b")
    made = [np.roll(x, 1), np.flip(x), np.take(x, [0, 0]), np.repeat(x, 2), np.delete(x, 0)]
    made += [np.tile(x, 2), np.zeros_like(x), np.ravel(x), np.insert(x, 0, x[0]), np.split(x, 1)[0]]
    return [type(v).__name__ for v in made], [v.a for v in made], np.atleast_2d(x).b


def kept_text(np: Any) -> Any:
    x = np.char.array(["ab ", "c"])
    made = [np.roll(x, 1), np.repeat(x, 2), np.take(x, [0])]
    return [type(v).__name__ for v in made], [v.tolist() for v in made]


def orders(np: Any) -> Any:
    a = np.arange(12).reshape(3, 4) * 1
    f, t = np.asfortranarray(a * 1.5), np.arange(24.0).reshape(2, 3, 4) * 1
    made = [np.isreal(f), np.isposinf(f), np.isneginf(a.T), np.i0(f)]
    made += [np.piecewise(f, [a > 4], [1, lambda q: q * 2])]
    made += [np.apply_along_axis(lambda q: q[:2], i, t) for i in range(3)]
    return made, np.apply_along_axis(np.diag, 1, t)


def masked_into_numpys_memory(np: Any) -> Any:
    """NumPy's ufuncs, of arrays of both kinds: what a mask excludes keeps its value."""
    x, n, y = np.arange(3.0) * 2, numpy.array([1.0, 2.0, 3.0]), np.arange(3.0) + 1
    numpy.add(x, 10, out=n, where=numpy.array([True, False, True]))
    numpy.add(n, x, out=y, where=x > 1)
    numpy.add.reduce(np.ones((2, 3)) * 1, axis=0, out=n, where=[[True], [False]], initial=5)
    whole = numpy.zeros(3, int)
    numpy.add.reduce(np.ones((2, 3)) * 1, axis=0, out=whole)
    return n, y, whole


def too_small_for_numpys_function(np: Any) -> Any:
    y = np.zeros(3)
    with pytest.raises(ValueError, match="."):
        numpy.multiply(np.ones((3, 3)) * 2, 3, out=y)
    return y


def cast_into_numpys_memory(np: Any) -> Any:
    n = numpy.arange(3)
    n += np.arange(3) * 1.5


def stretched_into_numpys_memory(np: Any) -> Any:
    n = numpy.ones(2)
    n += np.arange(3) * 1


def quantiles_into_larger_memory(np: Any) -> Any:
    x, y, z = np.arange(6.0).reshape(2, 3) * 2, np.zeros((2, 3)), np.zeros(3, int)
    np.percentile(x, 50, axis=0, out=y)
    np.nanpercentile(x, 50, axis=0, out=z)
    return y, z


def copied_iterators(np: Any) -> Any:
    x = np.arange(6).reshape(2, 3)
    it = np.nditer(x, flags=["multi_index"])
    next(it)
    other, third = it.copy(), copy.copy(it)
    return [int(v) for v in other], third.multi_index, [int(v) for v in it]


def columns_of_a_matrix(np: Any) -> Any:
    made = np.c_["c", 1, 2], np.c_["r", 1, 2], np.r_["c", 1, 2]
    return [(numpy.shape(m), numpy.asarray(m).tolist()) for m in made]


PROGRAMS = [
    times_in_integers,
    a_mask_put,
    sorted_as_complex,
    written_after_broadcasting,
    flags_after_broadcasting,
    read_only_after_broadcasting,
    written_grid,
    wrapped_results,
    wrapped_list,
    numbers_for_nan,
    records_and_none,
    power_of_three,
    quantiles_by_lane,
    divided_objects,
    divided_complex,
    padded_string,
    searched_text,
    exchanged_in_fortran_order,
    seeded_by_an_array,
    kept_records,
    kept_text,
    orders,
    masked_into_numpys_memory,
    too_small_for_numpys_function,
    cast_into_numpys_memory,
    stretched_into_numpys_memory,
    quantiles_into_larger_memory,
    copied_iterators,
    columns_of_a_matrix,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_behaviour_is_numpys(program: Callable[[Any], Any]) -> None:
    assert outcome(program, np) == outcome(program, numpy)


def test_power_with_a_modulus_is_a_type_error() -> None:
    x: Any = np.arange(3.0)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*\* or pow\(\)"):
        pow(x, 2, 3)


def test_comparisons_of_whole_arrays_are_pythons_truths_where_their_values_are_there() -> None:
    be_eager(True)
    x = np.arange(3.0)
    assert np.array_equal(x, x) is True
    assert np.allclose(x, [0, 1, 2]) is True
    assert np.array_equiv(x, 5) is False
