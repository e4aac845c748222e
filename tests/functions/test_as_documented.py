"""What NumPy's documentation promises, and once differed: names in errors, objects that override
functions, iterators, stores of lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._fronts import BUILT
from tests.functions.test_rare_behaviour import outcome


class Duck:
    """An array of a user's, with methods that NumPy's functions call."""

    def __init__(self) -> None:
        self.x = numpy.arange(3.0)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> str:
        return f"sum over {axis}"

    def reshape(self, shape: Any, order: str = "C") -> str:
        return f"reshaped to {shape}"


class Wrapping:
    """An object that makes something else of results."""

    def __init__(self, x: Any) -> None:
        self.x = numpy.asarray(x)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return numpy.asarray(array).tolist(), return_scalar


class Overriding:
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__


def a_class_with_methods(np: Any) -> Any:
    x = Duck()
    return np.sum(x), np.sum(x, axis=0), np.reshape(x, 3), np.max(x), np.sort(x), x.x + np.ones(3)


def results_that_an_object_wraps(np: Any) -> Any:
    x = Wrapping([[1.0, 2.0], [3.0, 5.0]])
    return (
        np.sum(x), np.cumsum(x), np.reshape(x, 4), np.take(x, [0]), np.transpose(x), np.max(x),
        np.linalg.inv(x), np.clip(x, 0, 2), np.mean(x), np.sort(x), np.sinc(x),
    )  # fmt: skip


def functions_that_an_object_overrides(np: Any) -> Any:
    x = Overriding()
    return [
        np.max(x), np.linspace(x, 1), np.fix(x), np.sinc(x), np.split(x, 2), np.resize(x, 3),
        np.copyto(x, 1), np.put(x, 0, 1), np.shares_memory(x, x), np.geomspace(1, x), np.round(x),
        np.fill_diagonal(x, 0), np.unravel_index(x, (2, 3)), np.astype(x, int), np.unstack(x),
    ]  # fmt: skip


def a_matrix_as_an_exponent(np: Any) -> Any:
    return np.arange(3) ** np.asmatrix([1, 2, 3]), np.arange(3.0) ** numpy.matrix([[2, 2, 2]])


def not_a_time(np: Any) -> Any:
    x = np.array(["NaT", "2020", "2021"], "M8[Y]")
    out = np.zeros(3, bool)
    np.isnat(x, out=out, where=[True, True, False])
    f = np.isnat
    return f(x), out, f.nin, f.types, isinstance(f, np.ufunc), f(np.timedelta64("NaT"))


def put_into_repeated_elements(np: Any) -> Any:
    a, _ = np.broadcast_arrays(np.arange(3), np.ones((2, 1)))
    a.put([0, 4], 9)
    b = np.ones((2, 3))
    c = np.lib.stride_tricks.as_strided(b, (2, 3), (0, 8))
    c.put([0, 1, 3], [5, 6, 7])
    return a, b, c


def arrays_that_need_no_broadcasting(np: Any) -> Any:
    x = np.ones((2, 3))
    a, b = np.broadcast_arrays(x, np.ones(3))
    a[0, 0] = 5
    return a is x, x, b


def powers_of_nothing(np: Any) -> Any:
    return np.array([], bool) ** -1, np.power(np.zeros((0, 3), int), [-1, 1, 2])


def an_array_as_an_axis(np: Any) -> Any:
    axis = np.array(1)
    return np.sum(np.ones((2, 3)), axis), np.prod(np.ones((2, 3), object), axis), axis


def a_list_with_a_wrong_end(value: list[Any], dtype: str, index: Any) -> Callable[[Any], Any]:
    def store(np: Any) -> Any:
        x = np.zeros(3, dtype)
        try:
            x[index] = value
        except (TypeError, ValueError) as error:
            return x, type(error), str(error)
        return x

    return store


def a_read_only_number(np: Any) -> Any:
    x = np.array(1.5)
    x.flags.writeable = False
    x.real = x


def weights_of_long_doubles(np: Any) -> Any:
    x = np.array([[0.5, 1.5], [1.6, 9.0]], np.longdouble)
    return np.histogram(x, [0, 1, 2], weights=np.array([[1.0, 2.0], [3.0, 4.0]]))


def parts_of_long_doubles(np: Any) -> Any:
    return np.modf(np.array([1.5, -2.0], np.longdouble))


def records_of_iterators(np: Any) -> Any:
    x = np.arange(6.0).reshape(2, 3)
    flat = x.flat
    next(flat)
    first = flat[4]
    return first, flat.index, next(flat), x.flat[...], x.flat[()], len(flat), x.flat == 3


def strings_written_into_an_array(np: Any) -> Any:
    out = np.zeros(2, bool)
    return np.strings.isdigit(np.array(["1", "a"]), out), out


def arrays_as_objects(np: Any) -> Any:
    x = np.ones(2)
    a, b = np.empty(2, object), np.array([x, np.arange(3)], dtype=object)
    a[:] = [x, np.zeros(3)]
    a[0][0] = 5
    a[1] += 1
    c = np.empty((2, 2), object)
    c[0] = [np.ones(2), None]
    c[0, 0][1] = 3
    return a, b, c, a[0] is x, b[0] is x, [v.shape for v in b]


def arrays_of_arrays_joined(np: Any) -> Any:
    a, b = np.array([np.ones(2), np.arange(3)], dtype=object), np.empty(2, object)
    b[:] = [np.arange(2), None]
    b[1] = np.arange(2) * 2
    return (
        np.concatenate(a), np.concatenate(a[::-1]), np.hstack(a), np.stack(b), np.vstack(b),
        np.column_stack(b), np.concatenate(np.array([[1, 2], [3, 4]], object)),
    )  # fmt: skip


def strides_over_much_more_than_memory(np: Any) -> Any:
    x = np.arange(2000.0)
    many = np.lib.stride_tricks.as_strided(x, (1000, 1000, 1000), (8, 8, 0))
    few = many[2, 3:5, :2]
    x[5] = 7
    return many.shape, many.strides, many[-1, -1, -1], few, np.shares_memory(many, x)


def iterated(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda np: [v + 0 for v in np.nditer(make(np))]


PROGRAMS: list[Callable[[Any], Any]] = [
    a_class_with_methods,
    results_that_an_object_wraps,
    functions_that_an_object_overrides,
    a_matrix_as_an_exponent,
    not_a_time,
    put_into_repeated_elements,
    arrays_that_need_no_broadcasting,
    powers_of_nothing,
    an_array_as_an_axis,
    *[
        a_list_with_a_wrong_end(value, dtype, index)
        for value in ([1, 2, "x"], [1, 2, None], [1, 2, object()], ["1", "2", "3"], [1, 2, [3]])
        for dtype in ("f8", "i4", "O")
        for index in (slice(None), slice(None, None, -1), [0, 1, 2])
    ],
    a_read_only_number,
    weights_of_long_doubles,
    parts_of_long_doubles,
    records_of_iterators,
    iterated(lambda np: np.broadcast_to(np.arange(3), (2, 3))),
    iterated(lambda np: np.broadcast_to(np.arange(2)[:, None], (2, 3))),
    iterated(lambda np: np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)[::-1]),
    lambda np: np.nditer(np.broadcast_to(np.arange(3), (2, 3)), op_flags=["readwrite"]),
    lambda np: np.isposinf(["a"]),
    lambda np: np.isneginf(np.ones(2, object)),
    lambda np: np.modf(np.ones(2, complex)),
    lambda np: np.array(1, "i4").astype("f4", casting="no"),
    lambda np: np.resize(np.arange(3, dtype=">f8"), 5),
    lambda np: np.arange(None),
    lambda np: np.array(["a"]).clip(1, 2),
    lambda np: np.clip(np.array(5, object), 1, 2),
    lambda np: np.arange(12.0).reshape(3, 4)[::-1].resize((3, 5)),
    lambda np: np.broadcast_to(1.0, (2, 2)).put(0, 1),
    lambda np: np.broadcast_to(1.0, (2, 2)).byteswap(inplace=True),
    strings_written_into_an_array,
    strides_over_much_more_than_memory,
    arrays_as_objects,
    arrays_of_arrays_joined,
    lambda np: np.concatenate(np.array([1, 2], object)),
    lambda np: np.stack(np.array([np.ones(2), np.ones(3)], dtype=object)),
    lambda np: np.array([1, None], object) ** 2,
    lambda np: np.divmod(np.arange(3, dtype=">i4") * 7, 2),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy(program: Callable[[Any], Any]) -> None:
    assert outcome(program, np) == outcome(program, numpy)


def subclasses(np: Any) -> Any:
    class Length(np.ndarray):
        pass

    x = np.array([[2.0, 1.0], [1.0, 3.0]]).view(Length)
    results = [
        np.average(x), np.average(x, axis=0), np.linspace(x, 1, 3), np.logspace(x, 2, 3),
        np.geomspace(x, 8, 3), np.linalg.norm(x, axis=0), *np.linalg.eigh(x), *np.linalg.qr(x),
        *np.linalg.svd(x), *np.linalg.eig(x), np.inner(x, x), np.linalg.matrix_power(x, 2),
    ]  # fmt: skip
    return [(type(r).__name__, r.shape) for r in results if getattr(r, "ndim", 0)]


def test_classes_of_results() -> None:
    assert subclasses(np) == subclasses(numpy)


FLAT_INDICES: list[Any] = [
    2, -1, 9, -9, slice(1, 4), slice(None, None, -2), [0, 3], [9], [], [1.5], [[0, 1], [2, 3]], 1.5,
    True, None, (), (0, 1), ..., numpy.int64(2), numpy.array([0, 3]),
    numpy.array([True, False] * 3), numpy.array(1), [True, False], "a", object(),
]  # fmt: skip
FLAT_VALUES: list[Any] = [7, 2.5, [7, 8], [7, 8, 9, 10, 11, 12, 13], [], "x", None, 1j]


def flat_item(index: Any, dtype: str, order: Any) -> Callable[[Any], Any]:
    return lambda np: np.array([[3, 1, 2], [5, 4, 0]], dtype, order=order).flat[index]


def flat_store(index: Any, value: Any, dtype: str) -> Callable[[Any], Any]:
    def store(np: Any) -> Any:
        x = np.array([[3, 1, 2], [5, 4, 0]], dtype, order="F")
        try:
            x.flat[index] = value
        except Exception as error:
            return x, type(error), str(error)
        return x

    return store


@pytest.mark.filterwarnings("ignore:Invalid non-array indices", "ignore:Indexing flat iterators")
@pytest.mark.parametrize("index", FLAT_INDICES, ids=range(len(FLAT_INDICES)))
def test_flat_iterators(index: Any) -> None:
    for dtype in ("f8", "i4", "O", "U3"):
        for order in "CF":
            item = flat_item(index, dtype, order)
            assert outcome(item, np) == outcome(item, numpy), (dtype, order)
        for value in FLAT_VALUES:
            store = flat_store(index, value, dtype)
            assert outcome(store, np) == outcome(store, numpy), (dtype, value)


ERRORS: list[Callable[[Any], Any]] = [
    lambda np: np.ones(3).nonsense,
    lambda np: np.ones(3)(),
    lambda np: hash(np.ones(3)),
    lambda np: np.ndarray.nonsense,
    lambda np: np.add.nonsense,
    lambda np: np.ones(3).flat.nonsense,
    lambda np: np.ones(3).flat + 1,
    lambda np: len(np.ones(3)[0]),
    lambda np: 1 in np.arange(3)[1],
    lambda np: [len(v) for v in np.arange(3)],
]


@pytest.mark.skipif(not BUILT, reason="the names of classes in Python's own errors are set in C")
@pytest.mark.parametrize("program", ERRORS)
def test_names_in_errors(program: Callable[[Any], Any]) -> None:
    assert outcome(program, np) == outcome(program, numpy)


def test_names_in_errors_are_no_attributes() -> None:
    s: Any = np.ones(3)[0]
    assert np.ndarray.__name__ == np.ndarray.__qualname__ == "ndarray"
    assert not hasattr(s, "__len__") and not hasattr(s, "__contains__")
