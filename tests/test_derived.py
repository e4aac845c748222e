"""Classes derived from `ndarray`, and `isinstance` of arrays of either kind."""

from __future__ import annotations

import abc
import copy
import functools
import mmap
import multiprocessing
import pickle
from typing import Any

import numpy
import pytest
import scipy.linalg
import scipy.sparse
import scipy.stats

import lazynp


def _signal(np: Any) -> Any:
    class Signal(np.ndarray):
        """As NumPy's manual has it: `__new__` by a view, an attribute that views inherit."""

        def __new__(cls, values: Any, unit: str = "V") -> Any:
            self = np.asarray(values, dtype=float).view(cls)
            self.unit = unit
            return self

        def __array_finalize__(self, other: Any) -> None:
            self.unit = getattr(other, "unit", None)

        def __getitem__(self, index: Any) -> Any:
            return np.ndarray.__getitem__(self, index)

        def plain(self) -> Any:
            return self.view(np.ndarray)

    return Signal([1.0, 2.0, 3.0])


def _made(np: Any) -> Any:
    class Made(np.ndarray):
        def __new__(cls, shape: Any) -> Any:
            self = np.ndarray.__new__(cls, shape, float, buffer=np.arange(3.0))
            self[1:] = np.array([7.0, 8.0])
            return self

        def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
            return np.ndarray.__array_wrap__(self, array, context, scalar)

    return Made((3,))


def _counted(np: Any) -> Any:
    class Counted(np.ndarray):
        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            inputs = tuple(np.asarray(x) if isinstance(x, Counted) else x for x in inputs)
            return getattr(function, method)(*inputs, **kwargs) + 100

    return np.array([1.0, 2.0, 3.0]).view(Counted)


EXPRESSIONS = (
    "s * 2", "2 * s", "s * one", "one * s", "one - s", "-s", "abs(s)", "s ** 2", "s < one",
    "s @ np.eye(3)", "one @ s", "np.sqrt(s)", "np.add(one, s)", "np.maximum(s, 2)", "s[1:]",
    "s[0]", "s[np.array([0, 2])]", "s[one > 0]", "s[:0][one[:0] > 0]", "s.sum()", "s.mean(axis=0)",
    "s.view(np.ndarray)", "np.asarray(s)", "np.asanyarray(s)", "np.array(s, subok=True)",
    "np.sum(s)", "np.mean(s)", "np.concatenate([s, s])", "np.where(s > 1, s, 0)",
    "np.clip(s, 0, 2)",
    "np.cumsum(s)", "np.reshape(s, (3, 1))", "np.sort(s)", "np.atleast_2d(s)", "np.dot(s, one)",
    "np.linalg.norm(s)", "isinstance(s, np.ndarray)", "getattr(s * one, 'unit', 0)",
    "np.flip(s)", "np.tile(s, 2)", "np.zeros_like(s)", "np.roll(s, 1)",
    "np.max(s)", "np.clip(s, None, 2)", "np.compress(s > 1, s)", "np.reshape(s, shape=(3, 1))",
    "np.linalg.inv(np.eye(3) + s)", "np.split(s, 3)[0]", "np.median(np.asarray(s))",
    "np.ndarray.__getitem__(s, slice(2))",
    "one.copy().__iadd__(s)", "np.ndarray.mean(s)", "np.ndarray.mean(one)", "np.ndarray.shape",
    "hasattr(np.ndarray, '__array_wrap__')", "np.zeros(3)[np.array([0, 1]).view(type(s))]",
)  # fmt: skip


@pytest.mark.parametrize("make", [_signal, _made, _counted])
def test_derived_classes_run_as_on_numpy(make: Any) -> None:
    for expression in EXPRESSIONS:
        got, want = (
            eval(expression, {"np": np, "s": make(np), "one": np.ones(3)}) for np in (lazynp, numpy)
        )
        names = {"Scalar": "float64"}
        kinds = [names.get(type(x).__name__, type(x).__name__) for x in (got, want)]
        assert kinds[0] == kinds[1] or "descriptor" in kinds[1], expression
        if "descriptor" not in kinds[1]:
            assert str(got) == str(want), expression


def test_written_in_place() -> None:
    s = _signal(lazynp)
    s += lazynp.ones(3)
    s[lazynp.array([True, False, True])] = lazynp.zeros(2)
    x = lazynp.zeros(3)
    x[:] = s
    lazynp.add(s, 1.0, out=x)
    assert s.tolist() == [0, 3, 0] and x.tolist() == [1, 4, 1] and type(x) is lazynp.ndarray
    assert s.plain().base is not None and isinstance(s.plain(), lazynp.ndarray)
    with pytest.raises(AttributeError):
        _ = lazynp.ndarray.no_such_name


def test_derived_along_with_other_classes() -> None:
    class Mixed(lazynp.ndarray, abc.ABC):
        @property
        @abc.abstractmethod
        def name(self) -> str: ...

    class Named(Mixed):
        @property
        def name(self) -> str:
            return "named"

    assert lazynp.arange(3).view(Named).name == "named" and issubclass(Named, lazynp.ndarray)


def test_what_is_an_array() -> None:
    solved = scipy.linalg.solve(numpy.eye(2), numpy.ones(2))  # NumPy's, as libraries return them
    for x in (lazynp.ones(3), numpy.ones(3), solved, numpy.ma.ones(2), lazynp.ones(3)[1:]):
        assert isinstance(x, lazynp.ndarray) and issubclass(type(x), lazynp.ndarray)
    for x in (lazynp.ones(3).sum(), numpy.float64(1), 1.0, [1.0], None):
        assert not isinstance(x, lazynp.ndarray) and not issubclass(type(x), lazynp.ndarray)
    assert type(lazynp.ones(3)) is lazynp.ndarray and lazynp.ndarray.__name__ == "ndarray"

    @functools.singledispatch
    def kind(x: Any) -> str:
        return "other"

    kind.register(lazynp.ndarray, lambda x: "array")
    assert [kind(x) for x in (lazynp.ones(1), numpy.ones(1), lazynp.ones(1).sum())] == [
        "array", "array", "other",
    ]  # fmt: skip


def _asking(np: Any) -> Any:
    class Asking(np.ndarray):
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if function is np.concatenate:
                return [kind.__name__ for kind in types]
            return super().__array_function__(function, types, args, kwargs)

    x = np.arange(3.0).view(Asking)
    found = np.concatenate([np.ones(1), x]), np.reshape(x, (3, 1)), np.sum(x), np.where(x > 1, x, 0)
    return [str(y) for y in found], type(found[1]) is Asking, type(found[3]) is np.ndarray


def test_derived_classes_may_decide_what_functions_do() -> None:
    assert _asking(lazynp) == _asking(numpy)


class Pickled(lazynp.ndarray):
    """As programs write it, for NumPy's state has no place for attributes."""

    unit = ""

    def __reduce__(self) -> Any:
        rebuild, arguments, state = super().__reduce__()
        return rebuild, arguments, (*state, "of Pickled", self.unit)

    def __setstate__(self, state: Any) -> None:
        self.unit = state[-1]
        lazynp.ndarray.__setstate__(self, state[:-2])  # type: ignore[attr-defined]


@pytest.mark.parametrize("values", [[[1.0, 2.0]], 3.0, ["a", "bc"]])
def test_derived_classes_with_a_state_of_their_own(values: Any) -> None:
    x: Any = lazynp.array(values).view(Pickled)
    x.unit = "V"
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert type(y) is Pickled and y.tolist() == values and y.dtype == x.dtype
    assert pickle.loads(pickle.dumps(x)).unit == "V"


class Wrapped:
    """What an `__array_function__` is called for is its own matter."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__, len(args), sorted(kwargs)


def test_objects_with_an_array_function_are_asked() -> None:
    for np in (numpy, lazynp):
        assert np.mean(Wrapped(), axis=0) == ("mean", 1, ["axis"])
        assert np.concatenate([Wrapped(), np.ones(2)]) == ("concatenate", 1, [])
        assert np.linalg.solve(np.eye(2), Wrapped()) == ("solve", 2, [])


@pytest.mark.parametrize("call", [
    "np.copyto(t, x)", "np.put(t, [0], x[2])", "np.putmask(t, x > 1, x)", "np.place(t, x > 1, [7])",
    "np.fill_diagonal(m, 3)", "np.add.at(t, np.array([0, 0]), 1.0)", "np.add(x, 1, out=t)",
    "np.sum(m, axis=0, out=t)", "np.dot(m, x, out=t)", "x.dot(m, out=t)", "np.clip(t, 0, 1, out=t)",
    "np.take(x, [0, 1, 2], out=t)", "np.nan_to_num(t, copy=False)", "t.__iadd__(x)",
    "np.concatenate([x[:1], x[1:]], out=t)", "np.put_along_axis(t, np.array([1]), 9.0, 0)",
    "np.divide(x, x, out=t, where=x != 0)", "np.dot(m, x[:2])", "np.copyto(t, np.ones(4))",
])  # fmt: skip
def test_arrays_of_numpys_are_written(call: str) -> None:
    outcomes = []
    for np in (numpy, lazynp):
        t, m = numpy.arange(3.0), numpy.ones((3, 3))
        try:
            said = str(eval(call, {"np": np, "x": np.arange(3.0) + 1, "t": t, "m": m}))
        except ValueError as e:
            said = type(e).__name__
        outcomes.append((said, t.tolist(), m.tolist()))
    assert outcomes[0] == outcomes[1]


def _tabled(np: Any) -> Any:
    """A container that looks NumPy's functions up in tables, with what its source calls them."""
    functions: dict[Any, Any] = {np.sum: lambda x: ("sum", x.n), np.linalg.norm: lambda x: "norm"}
    ufuncs = {np.multiply: lambda x, y: "product"}

    class Tabled(np.lib.mixins.NDArrayOperatorsMixin):
        n = 3

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return functions[function](*args) if function in functions else NotImplemented

        def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
            if function in ufuncs and method == "__call__":
                return ufuncs[function](*args)
            return "negative" if function == np.negative else NotImplemented

    return Tabled()


@pytest.mark.parametrize("np", [numpy, lazynp], ids=["numpy", "lazynp"])
def test_containers_look_up_functions_by_what_they_call_them(np: Any) -> None:
    x = _tabled(np)
    assert np.sum(x) == ("sum", 3) and np.linalg.norm(x) == "norm" and -x == "negative"
    assert np.multiply(x, 2) == x * 2 == np.ones(3) * x == "product"
    for refused in (np.mean, np.sqrt):
        with pytest.raises(TypeError):
            refused(x)


def test_the_version_is_that_of_the_names() -> None:
    """Programs choose by it what to call."""
    assert lazynp.__version__ == numpy.__version__ == lazynp.version.version


def test_an_array_within_a_buffer() -> None:
    for np in (numpy, lazynp):
        x = np.arange(6.0)
        inner = np.ndarray((2, 2), float, buffer=x, offset=8)
        column = np.ndarray((3,), float, buffer=x, strides=(16,))
        inner[0] = 7
        column += 10
        assert x.tolist() == [10, 7, 17, 3, 14, 5] and inner.tolist() == [[7, 17], [3, 14]]
        assert inner.base is x and np.ndarray((2,), "i4", buffer=x, offset=8).tolist() == [
            0,
            1075576832,
        ]
        with pytest.raises(TypeError):
            np.ndarray((9,), float, buffer=x)
        np.ndarray((2,), float, buffer=x.data)[0] = 5  # as code does that shares memory
        shared, fixed = bytearray(8), np.ndarray((1,), "u1", buffer=b"a")
        np.ndarray((1,), float, buffer=shared)[0] = 1.5
        assert x[0] == 5 and numpy.frombuffer(shared)[0] == 1.5 and not fixed.flags.writeable


def test_frombuffer_shows_memory_that_can_be_written() -> None:
    """Other processes share it, files are mapped to it, sockets write it."""
    for np in (numpy, lazynp):
        for memory in (bytearray(24), multiprocessing.RawArray("d", 3), mmap.mmap(-1, 24)):
            x = np.frombuffer(memory)
            x += np.arange(3.0)
            x[np.arange(3) == 1] = 5.0
            np.add(x, np.ones(3), out=x)
            assert bytes(memory) == numpy.array([1.0, 6.0, 3.0]).tobytes()
            memoryview(memory).cast("B")[:8] = numpy.float64(9.0).tobytes()
            assert x.tolist() == [9.0, 6.0, 3.0] and np.sin(x).sum() == np.sin([9.0, 6, 3]).sum()
            del x  # else the map cannot be closed
        y = np.arange(4.0)
        part = np.frombuffer(y, float, 2, 8)
        part[0] = 7.0
        assert y.tolist() == [0.0, 7.0, 2.0, 3.0]
        y[2] = 8.0
        assert part.tolist() == [7.0, 8.0] and not np.frombuffer(bytes(8)).flags.writeable


def test_functions_leave_other_libraries_objects_to_their_methods() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    series = pandas.Series([3.0, 1.0, 2.0], index=list("abc"))
    for function in (lambda np, x: np.cumsum(x), lambda np, x: np.round(x),
                     lambda np, x: np.clip(x, 1, 2), lambda np, x: np.mean(x),
                     lambda np, x: np.concatenate([x, np.ones(2)]),
                     lambda np, x: np.where(x > 1, x, 0), lambda np, x: np.diff(x)):  # fmt: skip
        got, want = function(lazynp, series), function(numpy, series)
        assert str(got) == str(want) and isinstance(got, pandas.Series) == isinstance(
            want, pandas.Series
        )
    matrix: Any = scipy.sparse.csr_array(numpy.eye(3))
    assert lazynp.sum(matrix) == 3.0 and lazynp.mean(matrix) == 1 / 3
    traced = lazynp.jit(lambda x: lazynp.where(x > 1, x, series))(lazynp.arange(3.0))
    assert traced.tolist() == [3, 1, 2]


class Holder:
    """Whose own conversion gives a lazy array, which NumPy would refuse."""

    def __init__(self) -> None:
        self.data = lazynp.arange(3.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.data


def test_objects_that_hold_lazy_arrays() -> None:
    holder = Holder()
    assert lazynp.asarray(holder) is holder.data and lazynp.array(holder) is not holder.data
    assert lazynp.asarray(holder, dtype=int).tolist() == [0, 1, 2]
    assert lazynp.sum(holder) == 3 and (holder.data + holder).tolist() == [0, 2, 4]  # type: ignore[operator]
    assert lazynp.concatenate([holder, holder]).shape == (6,)


SCALAR_METHODS = (
    "s.copy()", "s.T", "s.byteswap()", "s.view()", "s.getfield('f8')", "s.fill(0)", "s.put(0, 1.0)",
    "s.reshape(1)", "s.reshape(())", "s.squeeze()", "s.round(1)", "s.clip(0, 1)", "s.astype('f4')",
    "s.flatten()", "s.ravel()", "s.repeat(2)", "s.conj()", "s.item()", "s.tolist()", "s[()]",
    "s[...]", "s.real", "s.imag", "s.cumsum()", "s.max()", "s.take(0)", "s.transpose()",
)  # fmt: skip


@pytest.mark.parametrize("expression", SCALAR_METHODS)
def test_scalars_stay_scalars(expression: str) -> None:
    """And stay what they are."""
    outcomes = []
    for np in (numpy, lazynp):
        s = np.array([2.5])[0]
        made = eval(expression, {"s": s})
        scalar = isinstance(made, numpy.generic)
        kind = "number" if scalar else "array" if isinstance(made, np.ndarray) else type(made)
        outcomes.append((str(made), kind, str(s)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("make", ["default_rng", "RandomState"])
def test_generators_are_copied_pickled_and_recognised(make: str) -> None:
    given, wanted = getattr(lazynp.random, make)(3), getattr(numpy.random, make)(3)
    copies = [copy.deepcopy(given), pickle.loads(pickle.dumps(given))]
    samples = [g.normal(size=2) for g in (given, *copies, wanted)]
    assert all(x.tolist() == samples[-1].tolist() for x in samples)
    assert all(type(x) is lazynp.ndarray for x in samples[:-1])
    assert isinstance(given, type(wanted)) and isinstance(copies[0], type(given))
    drawn: Any = [scipy.stats.norm.rvs(size=2, random_state=g) for g in (given, wanted)]
    assert drawn[0].tolist() == drawn[1].tolist()
    with pytest.raises(AttributeError):
        _ = given.no_such_method


def test_other_ways_to_generators() -> None:
    assert lazynp.random.mtrand.RandomState(3).rand() == numpy.random.RandomState(3).rand()
    (child,), (wanted,) = (np.random.default_rng(1).spawn(1) for np in (lazynp, numpy))
    assert isinstance(child, lazynp.random.Generator) and child.random() == wanted.random()
    state = numpy.random.get_state()
    first = lazynp.random.mtrand._rand.rand()
    numpy.random.set_state(state)
    assert first == numpy.random.rand()


class Literal:
    """ufuncs are no methods where they are attributes of a class."""

    squash = lazynp.tanh


def test_functions_as_attributes_of_classes() -> None:
    assert Literal().squash(0.0) == 0.0


@pytest.mark.parametrize(
    "name", ["array", "zeros", "mean", "concatenate", "add", "ndarray", "linalg.inv", "fft.fft"]
)
def test_functions_are_pickled_by_name(name: str) -> None:
    function: Any = functools.reduce(getattr, name.split("."), lazynp)
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
    assert function.__name__ == name.split(".")[-1]


def _printed(np: Any) -> Any:
    class Printed(np.ndarray):
        def __str__(self) -> str:
            return "of its class"

    return Printed


def test_arrays_of_derived_classes_are_formatted_by_their_class() -> None:
    for np in (numpy, lazynp):
        x = np.asarray([1.0, 2.0]).view(_printed(np))
        assert f"{x}" == "of its class"
        assert f"{x[0]:.2f} {x[:1].reshape(())!s}" == "1.00 of its class"
        with pytest.raises(
            TypeError, match=r"unsupported format string passed to Printed.__format"
        ):
            format(x, ".2f")


@pytest.mark.parametrize("kind", ["longdouble", "clongdouble", "float64"])
def test_results_without_axes_are_of_the_derived_class(kind: str) -> None:
    for np in (numpy, lazynp):
        derived, number = _printed(np), getattr(numpy, kind)(2.0)
        x = np.asarray(3.0).view(derived)
        for result in (x * number, number * x, np.multiply(x, number), np.exp2(number * x)):
            assert type(result) is derived
            assert (result.dtype, result.shape) == (numpy.dtype(kind), ())
        assert complex((x * number)[()]) == 6.0


def test_numpys_classes_are_made_as_they_are_named() -> None:
    """As `numpy.ndarray` in an old pickle, where the program's own module calls `__new__`."""
    for kind in (numpy.ndarray, numpy.recarray):
        for np in (numpy, lazynp):
            made = np.ndarray.__new__(kind, (2, 0), "i4")
            assert type(made) is kind
            assert (made.shape, made.dtype) == ((2, 0), numpy.dtype("i4"))


def _wrapping(np: Any) -> Any:
    class Wrapping:
        """Lends every attribute of the array inside, and converts itself to it."""

        def __init__(self, values: Any) -> None:
            self.values = np.asarray(values)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.values, name)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

    return Wrapping


@pytest.mark.parametrize("dtype", [None, "f4"])
def test_what_lends_an_arrays_attributes_is_converted(dtype: Any) -> None:
    for np in (numpy, lazynp):
        x, y = _wrapping(np)([3.0, 4.0]), np.zeros(3)
        assert np.asarray(x, dtype=dtype).tolist() == [3.0, 4.0]
        assert np.asarray(x, dtype=dtype).dtype == (dtype or float)
        np.put(y, [0, 2], x)
        assert y.tolist() == [3.0, 0.0, 4.0]


def test_plain_views_of_derived_arrays_share_their_memory() -> None:
    for np in (numpy, lazynp):
        base = np.arange(4.0)
        s = base.view(type(_signal(np)))
        assert s.astype(float, copy=False) is s
        owner = s.copy()
        for x in (s, s[1:], owner, owner[1:]):
            plain = np.asarray(x)
            plain[0] = 7.0
            x[1] = 8.0
            assert type(plain) is np.ndarray
            assert (float(x[0]), float(plain[1])) == (7.0, 8.0)
            x[:] = x[::-1].copy()
            x += x
            assert plain.tolist() == x.tolist() and x.tolist()[-1] == 14.0
        assert base.tolist() == s.tolist()
        made = np.array(s)
        made[0] = -1.0
        assert s.tolist()[0] != -1.0


def test_a_plain_array_is_stored_into_by_the_class_method() -> None:
    for module in (numpy, lazynp):
        x = module.arange(4)
        module.ndarray.__setitem__(x, 1, 9)
        module.ndarray.__setitem__(x[2:], slice(None), [7, 8])
        assert x.tolist() == [0, 9, 7, 8] and module.ndarray.__getitem__(x, 1) == 9
    numpys = numpy.arange(3)
    lazynp.ndarray.__setitem__(numpys, 0, 5)  # type: ignore[attr-defined]
    assert numpys.tolist() == [5, 1, 2]
