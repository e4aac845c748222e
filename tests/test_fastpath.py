"""The hot path in C: what its fronts answer is what the Python functions behind them would.

Where it was not built, or LAZYNP_PURE_PYTHON is set, the same programs run by those functions.
"""

from __future__ import annotations

import contextlib
import gc
import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import assume, given, strategies as st

import lazynp as np
from lazynp._array import Array, NDArray, Scalar
from lazynp._avals import Aval, _new_aval, aval_of
from lazynp._recorder import local
from lazynp.functions import _accelerated, _getset
from tests.helpers import be_eager

needs_c = pytest.mark.skipif(
    not _accelerated.BUILT, reason="the C was not built, or LAZYNP_PURE_PYTHON is set"
)
Front = type(_getset.getitem)  # of functions, without the C
MODES = pytest.mark.parametrize("eager", [False, True], ids=["recorded", "eager"])


def set_eager(eager: bool) -> None:
    """As if this were in a loop of small operations; or in none, with room to record in. No rounds
    are recorded to find out, however many bytes the tests before have written: C counts those of
    all threads.
    """
    recorder = local.recorder
    recorder.reset_policy()
    recorder.policy.patience = math.inf
    be_eager(eager)
    recorder.due, recorder.limit = False, 1000


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    float(np.asarray([1.0]).sum())  # nothing of other tests' is pending
    recorder = local.recorder
    yield
    recorder.reset_policy()
    recorder.due, recorder.limit = False, 16


def behind(front: Any) -> Any:
    """The Python function that a front stands in front of."""
    return front.__get__(None, object) if type(front) is Front else front


def fronts_of_classes() -> list[tuple[type, str, Any]]:
    """(class, name, what is there) of all methods and properties that are fronts."""
    found = []
    for kind in (Array, NDArray, Scalar, np.ufunc):
        for name, there in vars(kind).items():
            function = there.fget if isinstance(there, property) else there
            # `__class__` of a class is another attribute, so nothing can be put there
            if type(function) is Front and _accelerated.BUILT and name != "__class__":
                found.append((kind, name, there))
    return found


@contextlib.contextmanager
def pure() -> Iterator[None]:
    """Python's functions in place of the fronts."""
    before = fronts_of_classes()
    for kind, name, there in before:
        if isinstance(there, property):
            setattr(kind, name, property(behind(there.fget), there.fset, doc=there.__doc__))
        else:
            setattr(kind, name, behind(there))
    try:
        yield
    finally:
        for kind, name, there in before:
            setattr(kind, name, there)


def calls_of(work: Callable[[], Any]) -> list[str]:
    """Which Python functions of lazynp are called meanwhile, but for `Recorder.ticked`, which comes
    once in some thousands of operations. The collector, which may come at any time, waits.
    """
    seen: list[str] = []

    def tell(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and f"{os.sep}lazynp{os.sep}" in code.co_filename:
            if code.co_filename != __file__:
                seen.append(f"{os.path.basename(code.co_filename)}: {code.co_name}")

    gc.disable()
    sys.setprofile(tell)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls_of(work) if "_recorder.py: ticked" in seen else seen


# -- the same as Python's functions, and as NumPy --------------------------------------------------

Program = list[tuple[Any, ...]]
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "lshift")
OPERATORS += ("lt", "le", "eq", "ne", "gt", "ge")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "iand", "ipow")
UFUNCS = ("add", "maximum", "less", "logical_or", "negative", "sqrt", "absolute", "isnan", "floor")
LOOKS: dict[str, Callable[[Any], Any]] = {
    "float": float, "int": int, "bool": bool, "index": operator.index, "len": len,
    "complex": complex, "shape": lambda x: x.shape, "size": lambda x: x.size,
    "ndim": lambda x: x.ndim, "dtype": lambda x: str(x.dtype), "hash": hash,
}  # fmt: skip

CALLS: dict[str, Callable[..., Any]] = {
    "sum": lambda np, x, y: np.sum(x), "max": lambda np, x, y: x.max(axis=0),
    "mean": lambda np, x, y: x.mean(-1, keepdims=True), "any": lambda np, x, y: np.any(x, axis=y),
    "concatenate": lambda np, x, y: np.concatenate([x, y]), "dot": lambda np, x, y: x @ y,
    "where": lambda np, x, y: np.where(x > 0, x, y), "roll": lambda np, x, y: np.roll(x, y),
    "zeros": lambda np, x, y: np.zeros(y), "list": lambda np, x, y: list(x)[-1],
    "stack": lambda np, x, y: np.stack((x, x)), "cumsum": lambda np, x, y: np.cumsum(x, y),
    "arange": lambda np, x, y: np.arange(0, y), "array": lambda np, x, y: np.array([x, y]),
    "linspace": lambda np, x, y: np.linspace(0, y, 3), "clip": lambda np, x, y: np.clip(x, 0, y),
    "turned": lambda np, x, y: np.reshape(x, (2, -1)).T, "kept": lambda np, x, y: x.ravel().copy(),
}  # fmt: skip

# how `out` is given, and `where`
MASKS = (
    [1, 0],
    [True, 0],
    None,
    "by place",
    True,
    [True, False],
    ("pool", 4),
    ("pool", 1),
    numpy.array([[True], [False]]),
)
places = st.integers(-6, 5) | st.sampled_from([2**62, -(2**63), 2**63, 2**70, -(2**65)])
slices = st.builds(slice, *[st.none() | st.integers(-6, 6)] * 2, st.sampled_from([None, 1, 2, -1]))
from_pool = st.builds(lambda k: ("pool", k), st.integers(0, 12))
odd = st.sampled_from(
    [None, ..., True, False, "x", 1.5, [0, 1], [], (), slice("a", None), slice(1.5), object, [True]]
)
numpys = st.sampled_from([numpy.int64(1), numpy.int32(-1), numpy.uint8(2), numpy.bool_(True)])
plain_items = st.integers(-3, 2) | slices
items = st.one_of(places, slices, from_pool, odd, numpys)
indices = plain_items | st.tuples(plain_items, plain_items) | items | st.tuples(items, items)
numbers = st.sampled_from(
    [0, 1, 2, -1, 0.5, 2.0, -0.0, True, 1j, 2**70, float("nan"), float("inf"), 300]
    + [t(1) for t in (numpy.float64, numpy.float32, numpy.int8, numpy.complex64, numpy.bool_)]
)
lists: Any = st.sampled_from(
    [[1, 2, 3, 4], (1.5, 2), [2, -1, 0], [2**70, 1], [2**63, 1], [], [True, 1], [[1], [2]], (0.5,)]
    + [[1, "a"], [None, 1], [numpy.float32(1), 2], [1j, 1], [-(2**63), 2.0]]
)
values = from_pool | numbers | lists | st.sampled_from([None, "x", numpy.ones(4)])
which = st.integers(0, 12)
steps = st.one_of(
    st.tuples(st.just("get"), which, indices),
    st.tuples(st.just("get"), which, indices),
    st.tuples(st.just("set"), which, indices, values),
    st.tuples(st.just("two"), which, values, st.sampled_from(OPERATORS), st.booleans()),
    st.tuples(st.just("in place"), which, values, st.sampled_from(IN_PLACE)),
    st.tuples(st.just("part in place"), which, indices, values, st.sampled_from(IN_PLACE)),
    st.tuples(st.just("one"), which, st.sampled_from(("neg", "pos", "abs", "invert"))),
    st.tuples(st.just("ufunc"), which, values, st.sampled_from(UFUNCS)),
    st.tuples(
        st.just("into"), which, values, which, st.sampled_from(UFUNCS), st.sampled_from(MASKS)
    ),
    st.tuples(st.just("call"), which, values, st.sampled_from(sorted(CALLS))),
    st.tuples(st.just("look"), which, st.sampled_from(sorted(LOOKS))),
    st.tuples(st.just("eager"), st.booleans()),
)


def resolve(x: Any, pool: list[Any]) -> Any:
    if type(x) is tuple:
        if len(x) == 2 and x[0] == "pool":
            return pool[x[1] % len(pool)]
        return tuple([resolve(i, pool) for i in x])
    return x


def step_of(xnp: Any, step: tuple[Any, ...], pool: list[Any]) -> Any:
    """Do one step; returns what is to be compared at once."""
    what, rest = step[0], step[1:]
    if what == "eager":
        if xnp is np:
            be_eager(rest[0])
        return None
    at = rest[0] % len(pool)
    x, rest = pool[at], [resolve(r, pool) for r in rest[1:]]
    new = None
    if what in ("get", "part in place") and not isinstance(x, xnp.ndarray):
        return None  # of scalars there are no parts
    if what == "get":
        new = x[rest[0]]
    elif what == "set":
        x[rest[0]] = rest[1]
    elif what == "two":
        function = getattr(operator, rest[1])
        new = function(rest[0], x) if rest[2] else function(x, rest[0])
    elif what == "in place":
        pool[at] = getattr(operator, rest[1])(x, rest[0])
    elif what == "part in place":
        x[rest[0]] = getattr(operator, rest[2])(x[rest[0]], rest[1])
    elif what == "one":
        new = getattr(operator, rest[0])(x)
    elif what == "ufunc":
        function = getattr(xnp, rest[1])
        new = function(x) if function.nin == 1 else function(x, rest[0])
    elif what == "into":
        function, out = getattr(xnp, rest[2]), pool[rest[1] % len(pool)]
        given = [x] if function.nin == 1 else [x, rest[0]]
        mask = rest[3]
        if isinstance(mask, str):
            back = function(*given, out)
        elif mask is None:
            back = function(*given, out=out)
        else:
            back = function(*given, where=mask, out=out)
        assert back is out
    elif what == "call":
        new = CALLS[rest[1]](xnp, x, rest[0])
    else:
        return LOOKS[rest[0]](x)
    if new is not None and new is not NotImplemented:
        pool.append(new)
    return None


def ran(xnp: Any, program: Program) -> tuple[list[Any], list[Any]]:
    """What each step returned or raised; all arrays as they are at the end."""
    m = xnp.asarray(numpy.arange(12.0).reshape(3, 4) - 4)
    pool = [xnp.asarray(numpy.arange(6.0)), m, m[1:], xnp.asarray(numpy.arange(-2, 3))]
    pool += [xnp.asarray(numpy.array([True, False])), m[1, 2], xnp.asarray(numpy.ones(4, "f4"))]
    pool += [xnp.asarray(numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))), pool[0][::-1]]
    pool += [xnp.asarray(numpy.ones(3, "c8")), xnp.asarray(numpy.array(["a", "b"]))]
    outcomes = []
    for step in program:
        try:
            outcomes.append(step_of(xnp, step, pool))
        except (TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as e:
            outcomes.append(type(e)(*e.args) if type(e).__module__ == "builtins" else e)
            outcomes[-1].__traceback__ = None  # whose frames hold on to arrays
    return outcomes, [described(x) for x in pool]


def described(x: Any) -> Any:
    try:
        if hasattr(x, "__next__"):
            return [described(item) for item in x]
        host = numpy.asarray(x)
    except (TypeError, ValueError, ArithmeticError) as e:  # what is found out when it is computed
        return repr(e)
    return type(x).__name__, host.dtype, host.shape, repr(host.tolist())


@needs_c
@MODES
def test_fronts_called_otherwise_than_they_are_meant(eager: bool) -> None:
    """Whatever is handed on raises what the Python function raises, and nothing else."""

    class Unhashable(type):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(cls, other: object) -> bool:
            return cls is other

    class Odd(metaclass=Unhashable):
        def __repr__(self) -> str:  # without an address: results are compared by what they show
            return "Odd()"

    def made(which: tuple[int, ...]) -> list[Any]:
        a = np.arange(3.0)
        half, half_scalar = object.__new__(NDArray), object.__new__(Scalar)
        values = [a, a[1], a[1:], 1, 1.5, None, "x", numpy.float64(1), numpy.ones(3), Odd(), Odd]
        values += [half, half_scalar, np.add, object.__new__(np.ufunc), 2**70]
        return [values[k % len(values)] for k in which]

    count = 16
    several = [(), *[(k,) for k in range(count)], (1, 2, 3, 4), (0, 3, 4), (0, 15, 4)]
    several += [(j, k) for j in range(count) for k in (0, 1, 3, 9, 11)]
    for kind, name, there in fronts_of_classes():
        front = there.fget if isinstance(there, property) else there
        for which in several:
            set_eager(eager)  # what was called before could change it between the two
            local.recorder.limit = 1 << 30  # and so could a flush
            mine, theirs = (outcome(f, *made(which)) for f in (front, behind(front)))
            assert mine == theirs, (kind, name, which)
        with pytest.raises((TypeError, AttributeError)):  # `nin`, of what is no ufunc
            front(*made((0, 3)), nonsense=1)


@needs_c
@given(st.lists(steps, min_size=1, max_size=12), st.booleans())
def test_fronts_do_as_the_functions_behind_them(program: Program, eager: bool) -> None:
    found = []
    for how in (contextlib.nullcontext, pure):
        with np.config(execution="reference"), how(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            set_eager(eager)
            outcomes, pool = ran(np, program)
        for k, step in enumerate(program):  # NumPy looks at shapes last, Python's functions first
            if "in place" in step[0] and isinstance(outcomes[k], Exception):
                outcomes[k] = "an error"
        found.append(([repr(o) for o in outcomes], pool))
    assert found[0] == found[1]


@given(st.lists(steps, min_size=1, max_size=12), st.booleans())
def test_programs_do_as_in_numpy(program: Program, eager: bool) -> None:
    assume(str(2**70) not in repr(program))  # with bools, floats: found out when it is computed
    with np.config(execution="reference"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        set_eager(eager)
        outcomes, pool = ran(np, program)
        with numpy.errstate(all="ignore"):
            wanted, theirs = ran(numpy, program)
    for mine, other, step in zip(outcomes, wanted, program, strict=True):
        if not (isinstance(mine, Exception) and isinstance(other, Exception)):
            assert repr(mine) == repr(other), step
    assert [x[1:] for x in pool] == [x[1:] for x in theirs]


DTYPES = "?bhilqBHILQefdgFDOUSMm"
ELEMENTS: list[Any] = [
    True, 1, -1, 200, 2**40, 2**53 + 1, 2**63, 2**70, 1.5, -0.5, -1.5, 255.9, -0.0, 2.0**60,
    float("nan"), float("-inf"), 1e300, 1j, complex(1e300, -0.0), None, "1", b"1", [1], (),
    *[numpy.dtype(t).type(1) for t in "?bhilqBHILQefdgFD"], numpy.float64(-0.5),
    numpy.float64(1e20), numpy.float64("nan"), numpy.complex128(-2j), numpy.ones(()), numpy.ones(1),
    numpy.datetime64(1, "D"), object,
]  # fmt: skip


def memory_of(kind: str) -> Any:
    return numpy.array([1, 0, 3], "i8").astype(kind + "8[D]" if kind in "Mm" else kind)


def outcome(work: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(work(*args))
        except Exception as e:
            return type(e), re.sub("0x[0-9a-f]+", "(an address)", str(e))


@MODES
@pytest.mark.parametrize("kind", DTYPES)
def test_elements_of_every_dtype(kind: str, eager: bool) -> None:
    """Stored, read, and added, one by one: as the functions, and the arrays as NumPy's."""
    for value in ELEMENTS:
        found = []
        for how in (contextlib.nullcontext, pure):
            with how(), np.config(execution="reference"):
                set_eager(eager)
                x = np.asarray(memory_of(kind))
                x[2] = x[0]
                results = [outcome(operator.setitem, x, 1, value)]
                results += [outcome(operator.setitem, x, slice(1, None), value)]
                lazy = [outcome(operator.getitem, x, i) for i in (0, 1, -1, 3, slice(1, None))]
                some = [outcome(operator.add, x, value), outcome(operator.add, x[0], value)]
                some += [outcome(operator.lt, value, x[1]), outcome(operator.mul, x[:2], value)]
                found.append((results, lazy, some, described(x)))
        assert found[0] == found[1], value
        theirs = memory_of(kind)
        theirs[2] = theirs[0]
        stored = outcome(operator.setitem, theirs, 1, value)
        if type(stored[0]) is not type and type(found[0][0][0][0]) is not type:
            outcome(operator.setitem, theirs, slice(1, None), value)
            assert found[0][3][1:] == described(theirs)[1:], (value, stored, found[0][0])


ARRAYS: dict[str, Callable[[], Any]] = {
    "read-only": lambda: read_only(numpy.arange(6.0)),
    "other byte order": lambda: numpy.arange(6.0).astype(">f8"),
    "unaligned": lambda: numpy.frombuffer(bytes(49), "u1", 48, 1).view("f8"),
    "fields": lambda: numpy.zeros(3, "f8, i4"),
    "records": lambda: numpy.rec.array([(1, 2.0), (3, 4.0)], dtype="i8, f8"),
    "empty": lambda: numpy.ones((0, 3)),
    "no dimension": lambda: numpy.array(5.0),
    "F order": lambda: numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4)),
    "overlapping": lambda: numpy.lib.stride_tricks.as_strided(numpy.arange(6.0), (4, 3), (8, 8)),
    "reversed": lambda: numpy.arange(6.0)[::-1],
    "of one": lambda: numpy.broadcast_to(numpy.ones(1), (4,)),
    "dates": lambda: numpy.arange(6).astype("M8[D]"),
    "objects": lambda: numpy.array([numpy.float64(1), None, "x"], object),
    "strings": lambda: numpy.array(["a", "b"], numpy.dtypes.StringDType()),
}


def read_only(memory: Any) -> Any:
    memory.flags.writeable = False
    return memory


@MODES
@pytest.mark.parametrize("name", ARRAYS)
def test_unusual_arrays(name: str, eager: bool) -> None:
    def work(x: Any) -> list[Any]:
        if not x.ndim:
            return [outcome(operator.getitem, x, i) for i in (0, ..., ())]
        places = (0, -1, 9, slice(1, None), (0, 0), ..., ())
        results = [outcome(operator.getitem, x, i) for i in places]
        results += [outcome(operator.setitem, x, 0, v) for v in (2, 2.5, x[-1:], x)]
        results += [outcome(operator.setitem, x, slice(0, 2), v) for v in (2, x[:2], x)]
        results += [outcome(operator.iadd, x, 1), outcome(operator.iadd, x[:2], 1)]
        results += [outcome(operator.isub, x[1:], x[:-1]), outcome(operator.neg, x)]
        results += [outcome(operator.setitem, x, slice(None, None, -1), x)]
        return [*results, outcome(operator.add, x, x[:1]), outcome(np.sqrt, x), described(x)]

    found = []
    for how in (contextlib.nullcontext, pure):
        with how(), np.config(execution="reference"):
            set_eager(eager)
            found.append(work(np.array(ARRAYS[name]()) if eager else np.asarray(ARRAYS[name]())))
    assert found[0] == found[1]


def test_what_others_hold_is_not_written_in_place() -> None:
    """Pending operations, copies, views, NumPy's arrays: each as it would be in NumPy."""
    for eager in (False, True):
        x = np.asarray(numpy.arange(6.0))
        set_eager(False)
        pending, copy, theirs = x * 2.0, x.copy(), numpy.array(x)
        set_eager(eager)
        x[0] = 9.0
        x[1:3] = 8.0
        x[3:] += 1.0
        assert pending.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        assert copy.tolist() == theirs.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert x.tolist() == [9.0, 8.0, 8.0, 4.0, 5.0, 6.0]
        part = x[2:5]
        set_eager(False)
        pending, copy = x + 0.0, x.copy()
        of_part = x[2:5] * 1.0
        set_eager(eager)
        part += 1.0
        part[0] = 7.0
        assert of_part.tolist() == [8.0, 4.0, 5.0]
        assert pending.tolist() == copy.tolist() == [9.0, 8.0, 8.0, 4.0, 5.0, 6.0]
        assert x.tolist() == [9.0, 8.0, 7.0, 5.0, 6.0, 6.0]


# -- that they answer ------------------------------------------------------------------------------


def hot(arrays: list[Any] | None = None) -> dict[str, Callable[[], Any]]:
    """What the fronts answer by themselves, once it was answered before. `arrays` gets those that
    are written."""
    of_ours = [numpy.arange(1.0, 9.0), numpy.ones(8), numpy.ones((5, 6)), numpy.arange(8)]
    a, b, m, k = map(np.asarray, of_ours)
    v, row, at, w = m[1:-1], np.asarray(numpy.ones(6)), k[3], np.asarray(numpy.ones((3, 6)))
    s, t, i, put = a[2], a[3], a[1:5], operator.setitem
    z = np.asarray(numpy.ones(8))

    def own(x: Any) -> None:
        nonlocal z
        z *= x

    if arrays is not None:
        arrays += [row, w, z]
    return {
        "add": lambda: a + b, "radd": lambda: 1.5 + a, "less": lambda: a < b, "neg": lambda: -a,
        "views": lambda: m[1:, 2:], "view of view": lambda: v[1:], "of view": lambda: v * 2.0,
        "sqrt": lambda: np.sqrt(a), "ufunc": lambda: np.maximum(a, b), "element": lambda: m[1, -2],
        "at": lambda: a[at], "numpy at": lambda: a[numpy.int64(2)], "put": lambda: put(row, 2, 0.5),
        "put s": lambda: put(row, 1, s), "scalars": lambda: s * 2.0 + t, "compare": lambda: s < t,
        "power": lambda: s**2, "rsub": lambda: 2 - s, "minus": lambda: -s,
        "float": lambda: float(s), "bool": lambda: bool(s), "int": lambda: int(s),
        "index": lambda: operator.index(at), "shape": lambda: m.shape, "dtype": lambda: s.dtype,
        "size": lambda: v.size, "ndim": lambda: a.ndim, "e_part": lambda: i[1:],
        "e_put": lambda: put(row, slice(1, 3), 2.0), "e_row": lambda: put(w, 1, row),
        "e_chosen": lambda: a[k], "e_put chosen": lambda: put(z, k, 1.0), "e_own": lambda: own(1.0),
        "sum": lambda: m.sum(axis=1), "e_sum": lambda: m.sum(), "e_iter": lambda: next(iter(w)),
        "e_join": lambda: np.concatenate([a, b]), "e_made": lambda: np.zeros(3),
        "e_of_part": lambda: v[0][1:], "e_abs": lambda: abs(a),
    }  # fmt: skip


@needs_c
@MODES
def test_hot_operations_call_no_function_of_python(eager: bool) -> None:
    set_eager(eager)
    operations = hot()
    assert calls_of(lambda: np.vectorize(abs)(np.ones(3)))  # they are seen
    set_eager(eager)
    for name, operation in operations.items():
        if name.startswith("e_") and not eager:
            continue
        operation()
        operation()  # the second is met as the others will be
        assert calls_of(lambda f=operation: [f() for _ in range(5)]) == [], name


@needs_c
def test_parts_written_in_place_call_no_function_of_python() -> None:
    set_eager(True)
    m = np.ones((5, 6)) * 1.0
    row = np.ones(6) * 2.0

    def work() -> None:
        for i in range(1, 4):
            m[i] += row
            m[i, 1:] *= 0.5
            m[1:, i] -= 1
            m[i] += m[i, 2]

    work()
    assert calls_of(work) == []


@needs_c
def test_functions_are_as_they_were_to_whoever_looks_at_them() -> None:
    get = np.ndarray.__getitem__
    assert get.__name__ == "getitem" and "view for a basic index" in get.__doc__
    assert callable(get) and repr(get).startswith("<function")
    assert get.__get__(None, object) is behind(get)
    bound = np.arange(3.0).__add__
    assert bound(1).tolist() == [1, 2, 3]
    assert np.jit(np.ndarray.__add__)(np.ones(2), 1).tolist() == [2, 2]
    assert np.vmap(np.ndarray.__getitem__, (0, None))(np.ones((3, 2)), 1).tolist() == [1, 1, 1]
    assert Array.shape.__doc__ == Array.__dict__["shape"].__doc__
    with pytest.raises(AttributeError, match="nothing"):
        _ = get.nothing


def test_stores_met_before_are_recorded_without_python() -> None:
    """Under a recorder that records, as in eager loops: no call of Python's for `x[i] = v`."""
    with np.config(execution="compiled"):
        x, v = np.zeros((6, 5)), np.ones((4, 3))

        def store() -> None:
            x[1:-1, 1:-1] = v
            x[0] = 2.0
            x[2, 1:] = x[0, 0]

        for _ in range(3):
            local.recorder.limit = 1000
            store()
        local.recorder.limit = 1000
        before = len(local.recorder.pending)
        made = calls_of(store)
        recorded = local.recorder.pending[before:]
        assert [n[0].primitive.name for n in recorded].count("update_slice") == 3
        if _accelerated.BUILT:
            assert not [name for name in made if "setitem" in name or "_store" in name]
        want = numpy.zeros((6, 5))
        want[1:-1, 1:-1] = 1.0
        want[0] = 2.0
        want[2, 1:] = 2.0
        numpy.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "q", "f4", "f8", "c8", "c16", ">f8"])
def test_types_that_c_makes_are_those_that_python_makes(dtype: str) -> None:
    """In triangular loops every slice has a shape that no array had before."""
    be_eager()
    whole = np.zeros((3, 10_729), dtype=dtype)
    for n in range(10_400, 10_440):
        found = (whole[:, :n] + whole[:, :n]).aval if dtype != "?" else whole[:, :n].copy().aval
        assert found is aval_of((3, n), found.dtype)
        made = _new_aval((3, n), found.dtype, False)
        apart = {"plain", "traced", "get_memo", "set_memo", "parts"}
        for name in set(Aval.__slots__) - apart:
            assert getattr(found, name) == getattr(made, name), name
            assert type(getattr(found, name)) is type(getattr(made, name)), name
        assert found.plain is found
        assert all(type(getattr(found, name)) is dict for name in ("get_memo", "set_memo", "parts"))
