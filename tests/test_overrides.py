"""Operands that are not plain arrays: NumPy's other classes, and containers with the protocols.

Classes are written as in user programs: `np` is the imported module, NumPy or lazynp.
"""

from __future__ import annotations

import operator
import warnings
from numbers import Number
from types import ModuleType
from typing import Any

import numpy
import pytest

import lazynp as np

MODULES = [numpy, np]

pytestmark = [
    pytest.mark.filterwarnings("ignore:the matrix subclass"),
    pytest.mark.filterwarnings("ignore:Warning. 'partition' will ignore the 'mask'"),
]


def _matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return numpy.matrix([[1.0, 2.0], [3.0, 4.0]])


def _masked() -> Any:
    mask = numpy.eye(2, dtype=bool)
    return numpy.ma.masked_array(numpy.array([[1.0, 2.0], [3.0, 4.0]]), mask=mask)


def test_operators_and_ufuncs_are_those_of_matrices_and_masked_arrays() -> None:
    a = np.ones((2, 2))
    matrix, masked = _matrix(), _masked()
    for foreign in (matrix, masked):
        assert type(np.add(a, foreign)) is type(foreign)
        assert type(a + foreign) is type(foreign)
        assert type(foreign - a) is type(foreign)
        assert type(foreign * a) is type(foreign) and type(a * foreign) is type(foreign)
    assert (a @ matrix).tolist() == [[4.0, 6.0], [4.0, 6.0]]
    assert (matrix * a).tolist() == [[3.0, 3.0], [7.0, 7.0]]
    assert (a + masked).mask.tolist() == [[True, False], [False, True]]
    assert a.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("name", [
    "mean", "sum", "max", "median", "cumsum", "diff", "sort", "ravel", "transpose", "squeeze",
    "tile2", "concatenate", "vstack", "where", "clip", "zeros_like", "copy", "round", "array_equal",
    "linalg.inv", "linalg.norm", "fft.fft",
])  # fmt: skip
@pytest.mark.parametrize("make", [_matrix, _masked])
def test_functions_do_to_matrices_and_masked_arrays_what_numpys_do(make: Any, name: str) -> None:
    arguments: dict[str, Any] = {
        "tile2": lambda m, x: (m.tile(x, 2),), "concatenate": lambda m, x: ([x, m.ones((1, 2))],),
        "vstack": lambda m, x: ((m.ones(2), x),), "where": lambda m, x: (m.ones((2, 2)) > 0, x, 0),
        "clip": lambda m, x: (x, 2, m.full(2, 3.0)), "array_equal": lambda m, x: (x, x),
    }  # fmt: skip
    results = []
    for m in (numpy, np):
        function = m.asanyarray if name == "tile2" else operator.attrgetter(name)(m)
        results.append(function(*arguments.get(name, lambda m, x: (x,))(m, make())))
    expected, found = results
    assert repr(numpy.asanyarray(found)) == repr(numpy.asanyarray(expected))
    if type(expected) in (numpy.matrix, numpy.ma.MaskedArray):
        assert type(found) is type(expected)


def test_the_elements_of_matrices_and_masked_arrays_are_stored() -> None:
    """As NumPy stores them, including masked elements."""
    for make in (_matrix, _masked):
        for store in (lambda m, a, x: a.__setitem__(slice(None), x),
                      lambda m, a, x: a.__iadd__(x), lambda m, a, x: a.__imatmul__(x),
                      lambda m, a, x: m.copyto(a, x), lambda m, a, x: m.add(a, x, out=a),
                      lambda m, a, x: a.__setitem__(x > 2, 7.0),
                      lambda m, a, x: m.sum([a, a], axis=0, out=a)):  # fmt: skip
            states = []
            for m in (numpy, np):
                a = m.ones((2, 2))
                store(m, a, make())
                states.append(a.tolist())
            assert states[0] == states[1]


def test_masked_arrays_of_lazy_arrays_have_memory_of_their_own() -> None:
    """A copy shares its value with the array: neither may change."""
    ma: Any = np.ma
    for make in (ma.array, ma.masked_array, ma.MaskedArray, ma.asarray):
        x = np.arange(4)
        y = x.copy()
        m = make(x, mask=x > 2) if make is not ma.asarray else make(x)
        m[0] = 9
        m[3] = np.ma.masked
        assert isinstance(m, np.ma.MaskedArray) and isinstance(m, numpy.ma.MaskedArray)
        assert x.tolist() == y.tolist() == [0, 1, 2, 3] and m.tolist() == [9, 1, 2, None]

    class Mine(np.ma.MaskedArray):  # type: ignore[misc]
        pass

    assert type(Mine(np.arange(3))) is Mine and issubclass(Mine, np.ma.MaskedArray)
    assert isinstance(Mine([1]), np.ma.MaskedArray) and not isinstance(np.ma.array([1]), Mine)


def container(np: ModuleType) -> Any:
    """A class that holds arrays and takes part in ufuncs and functions."""
    handled: dict[Any, Any] = {}

    class Boxed(np.lib.mixins.NDArrayOperatorsMixin):
        def __init__(self, value: Any) -> None:
            self.value = np.asarray(value)

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            out = kwargs.get("out", ())
            for x in inputs + out:
                if not isinstance(x, (np.ndarray, Number, list, Boxed)):
                    return NotImplemented
            if out:
                kwargs["out"] = tuple(bare(x) for x in out)
            result = getattr(ufunc, method)(*map(bare, inputs), **kwargs)
            if method == "at":
                return None
            return tuple(map(Boxed, result)) if type(result) is tuple else Boxed(result)

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if func not in handled or not all(issubclass(t, Boxed) for t in types):
                return NotImplemented
            return handled[func](*args, **kwargs)

        def __repr__(self) -> str:
            return f"Boxed({self.value})"

    def bare(x: Any) -> Any:
        return x.value if isinstance(x, Boxed) else x

    handled[np.mean] = lambda x, axis=None: ("mean", float(np.mean(x.value)), axis)
    handled[np.stack] = lambda xs, axis=0: ("stack", len(xs), axis)
    handled[np.linalg.norm] = lambda x: "norm"
    handled[np.fft.fft] = lambda x: "fft"
    handled[np.zeros] = lambda *given, **named: ("zeros", given, sorted(named))
    handled[np.where] = lambda *xs: ("where", len(xs))
    return Boxed


def at(np: Any, x: Any) -> Any:
    np.add.at(x, [0, 0], 10)
    return x


CALLS = {
    "operator": lambda np, x: (x - 1, 1 - x, -x, x > 1, divmod(x, 2)),
    "array left": lambda np, x: np.arange(3) - x,
    "scalar left": lambda np, x: np.float64(2) * x,
    "ufunc": lambda np, x: np.add(np.arange(3), x),
    "options": lambda np, x: np.add(x, 1, dtype="f4").value.dtype,
    "out": lambda np, x: (np.add(x, 1, out=x), x),
    "array out": lambda np, x: np.add(x, 1, out=np.zeros(3)),
    "reduce": lambda np, x: np.add.reduce(x),
    "accumulate": lambda np, x: np.multiply.accumulate(x),
    "reduceat": lambda np, x: np.add.reduceat(x, [0, 2]),
    "outer": lambda np, x: np.subtract.outer(x, x),
    "at": at,
    "mean": lambda np, x: (np.mean(x), np.mean(x, axis=0)),
    "stack": lambda np, x: np.stack([x, x], axis=1),
    "linalg": lambda np, x: np.linalg.norm(x),
    "fft": lambda np, x: np.fft.fft(x),
    "where": lambda np, x: np.where(True, x, 1),
    "matmul": lambda np, x: (np.matmul(x, np.arange(3)), np.arange(3) @ x, np.vecdot([1, 2, 3], x)),
    "like": lambda np, x: (np.zeros(2, dtype="f4", like=x), np.zeros(2, like=np.ones(1))),
    "nobody's like": lambda np, x: np.array([1], like=x),
    "no implementation": lambda np, x: np.median(x),
    "none in a list": lambda np, x: np.concatenate([np.arange(3), x]),
}


@pytest.mark.parametrize("name", CALLS)
def test_containers_decide_what_is_done_to_them(name: str) -> None:
    results = []
    for m in MODULES:
        try:
            results.append(repr(CALLS[name](m, container(m)([1, 2, 3]))))
        except TypeError as error:
            results.append(f"TypeError: {str(error)[:40]}")
    assert results[0] == results[1]


def test_what_refuses_ufuncs() -> None:
    class Refusing:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "radd"

    assert np.arange(3) + Refusing() == "radd"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.add(np.arange(3), Refusing())


def test_conversions_may_be_lazy() -> None:
    class Converts:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.eye(2) * 3

    x = Converts()
    for converted in (np.asarray(x), np.array(x), np.multiply(x, 1), np.sort(x)[:, ::-1]):
        assert sorted(converted.ravel().tolist()) == [0, 0, 3, 3]
    a = np.zeros((2, 2))
    a[:] = x
    assert a.tolist() == [[3, 0], [0, 3]]
    for stacked in (np.array([x, a]), np.stack([x, x]), np.asarray([[x], [a]])[:, 0]):
        assert stacked.shape == (2, 2, 2) and stacked[0].tolist() == [[3, 0], [0, 3]]


def wrapper(np: ModuleType) -> Any:
    """An object that wraps the results of ufuncs."""

    class Wraps:
        __array_priority__ = 9.0

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 4.0], dtype=dtype)

        def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
            assert isinstance(array, np.ndarray)
            told = None if context is None else (context[0].__name__, len(context[1]), context[2])
            return "wrapped", array.tolist(), told, scalar

    return Wraps()


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.sqrt(x),
        lambda np, x: np.add(np.arange(2), x),
        lambda np, x: np.divmod(x, 3),
        lambda np, x: np.multiply(x, 2, dtype="f4"),
        lambda np, x: np.subtract.outer(x, [1]),
        lambda np, x: np.add(x, 1, out=np.zeros(2)),
    ],
)
def test_what_wraps_results_of_ufuncs(call: Any) -> None:
    assert repr(call(np, wrapper(np))) == repr(call(numpy, wrapper(numpy)))


def test_masks_are_kept_where_errors_are_watched() -> None:
    x = np.arange(3.0)
    masked = numpy.ma.array([1.0, 4.0, 9.0], mask=[False, True, False])
    with np.errstate(all="raise"):
        for made in (np.sqrt(masked), x + masked, np.maximum(x, masked)):
            assert made.mask.tolist() == [False, True, False]


def test_objects_as_values() -> None:
    class Overriding:
        def __array_function__(self, *args: Any) -> Any:
            return "overridden"

    class Lazily:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0], dtype=dtype)

    one = Overriding()
    assert all(x is one for x in np.full(2, one).tolist())  # type: ignore[arg-type]
    assert np.full((2, 2), Lazily()).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert np.flip(np.array(None)) is None
    assert np.array(np.ndarray).item() is np.ndarray


def test_memory_that_was_handed_out_is_shared() -> None:
    x = np.arange(6.0) * 2
    lent, own = numpy.asarray(x), numpy.arange(5)
    assert np.shares_memory(x, lent) and numpy.may_share_memory(lent, x)
    assert np.shares_memory(own, own[1:]) and not np.shares_memory(own, x)
    assert not np.shares_memory(lent[:2], x[3:]) and not np.may_share_memory([1], x)
    x[0] = 5
    assert not np.shares_memory(x, lent)


IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "imatmul"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_operator_in_place_binds_what_the_operand_gives(name: str) -> None:
    class Deciding:
        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return function.__name__, method, len(inputs), inputs[1] is self, "out" in options

    for np_ in (numpy, np):
        x: Any = np_.arange(4).reshape(2, 2)
        got = getattr(operator, name)(x, Deciding())
        kind = got[0]
        assert got == (kind, "__call__", 2, True, True) and not isinstance(got, np_.ndarray)
        assert x.tolist() == [[0, 1], [2, 3]]


def added_in_place(np_: Any) -> Any:
    class Length(np_.ndarray):
        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kw: Any) -> Any:
            bare = [x.view(np_.ndarray) if isinstance(x, Length) else x for x in inputs]
            return getattr(function, method)(*bare, **kw).view(Length)

    before: Any = np_.arange(3.0)
    x = before
    x += np_.ones(3).view(Length)
    return type(x) is Length, np_.shares_memory(x, before), before.tolist()


def test_an_operator_in_place_with_a_class_that_gives_its_own() -> None:
    kinds = [added_in_place(np_) for np_ in (numpy, np)]
    assert kinds[0] == kinds[1] == (True, True, [1.0, 2.0, 3.0])


def holding(np: Any) -> Any:
    """A class that holds an array of this module's, with methods of arrays, as ASE's `Cell`."""

    class Holding:
        def __init__(self, values: Any) -> None:
            self.array = np.asarray(values)

        def __array__(self, dtype: Any = None, copy: Any = False) -> Any:
            return np.array(self.array, dtype=dtype, copy=copy)

        def sum(self, **_: Any) -> Any:
            return "its own sum"

        def dot(self, other: Any) -> Any:
            return "its own dot"

    return Holding


@pytest.mark.parametrize(
    "form",
    [
        "np.array(h, copy=False)", "np.array(h)", "np.asarray(h, int)",
        "np.asarray(h, copy=False)", "np.dot(h, h)", "np.dot(h, [1, 2])", "np.dot([1, 2], h)",
        "np.vdot(h, h)", "np.inner(h, h)", "np.sum(h)", "np.where(h, 1, 0)",
        "np.concatenate([h, h])", "np.linalg.det(h)",
        "np.testing.assert_allclose(h, [[1, 2], [3, 4]])",
        "np.testing.assert_array_equal([[1, 2], [3, 4]], h)",
    ],
)  # fmt: skip
def test_objects_whose_array_is_of_the_namespace(form: str) -> None:
    found = []
    for xp in (np, numpy):
        out = eval(form, {"np": xp, "h": holding(xp)([[1, 2], [3, 4]])})
        found.append(out if out is None or isinstance(out, str) else numpy.asarray(out).tolist())
    assert found[0] == found[1]


class Asked:
    """Answers what NumPy asks of it, for NumPy's functions and for lazynp's."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ == "putmask":
            return NotImplemented
        if func.__name__ == "place":  # which stores by NumPy, as a class that knows NumPy alone
            return func(*[2.0 if x is self else x for x in (*args, *kwargs.values())])
        return func.__name__, len(types), len(args), sorted(kwargs)


@pytest.mark.parametrize(
    "form",
    [
        "np.copyto(x, a)", "np.copyto(x, 1, where=a)", "np.copyto(dst=x, src=a)",
        "np.put(x, [0], a)", "np.put(x, a, 1)", "np.place(x, x > 1, a)",
        "np.place(arr=x, mask=[1, 0, 1], vals=a)", "np.putmask(x, [1, 0, 1], a)",
        "np.put_along_axis(x, np.array([0]), a, 0)", "np.fill_diagonal(np.eye(2), a)",
        "np.putmask(x, a, 1)",
    ],
)  # fmt: skip
def test_functions_that_write_ask_their_values(form: str) -> None:
    found: list[Any] = []
    for xp in (np, numpy):
        x = xp.arange(3.0)
        try:
            out = eval(form, {"np": xp, "x": x, "a": Asked()})
        except TypeError as error:
            out = str(error).split(":")[0]
        found.append((out, x.tolist()))
    assert found[0][1] == found[1][1]
    assert found[0] == found[1]


def test_classes_of_code_without_a_module_are_asked() -> None:
    names: dict[str, Any] = {}
    exec("class A:\n def __array_function__(self, f, t, a, k): return f.__name__", names)
    names["A"].__array_function__.__module__ = None
    assert np.sum(names["A"]()) == "sum"


@pytest.mark.parametrize("name", ["sum", "linalg.norm", "fft.fft"])
def test_the_error_of_who_implements_nothing_names_the_chapter(name: str) -> None:
    told = []
    for module in (numpy, np):

        class Refusing(module.ndarray):  # type: ignore[name-defined]
            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                return NotImplemented

        with pytest.raises(TypeError) as error:
            operator.attrgetter(name)(module)(module.eye(2).view(Refusing))
        told.append(str(error.value).partition(" on types")[0])
    assert told[0] == told[1] and name in told[0]
