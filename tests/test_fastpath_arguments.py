"""The fast path for whole functions of NumPy's: what their arguments may be, and what they write.

Each form is called in NumPy and here, where no function in Python may be called for it.
"""

from __future__ import annotations

import operator
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._fronts import BUILT
from tests.test_fastpath import MODES, calls_of, clean, needs_c, set_eager

__all__ = ["clean"]  # a fixture


def made(module: Any) -> dict[str, Any]:
    x = module.asarray(numpy.linspace(0.5, 3.0, 6))
    z = module.asarray(numpy.array([1 + 2j, 3 - 1j]))
    m = module.asarray(numpy.arange(12.0).reshape(3, 4))
    names = module.asarray(numpy.array(["b", "a", "c"]))
    days = module.asarray(numpy.arange("2020-01-01", "2020-01-05", dtype="M8[D]"))
    return {
        "np": module, "x": x, "z": z, "m": m, "s": x[1], "k": module.asarray(numpy.arange(4))[2],
        "d": module.asarray(numpy.array(2.5)), "n": module.asarray(numpy.array(3)), "c": module.e,
        "f": module.float64(2.0), "names": names, "days": days, "numpy": numpy,
        "mask": module.asarray(numpy.array([True, False, True, False, True, False])),
        "rng": module.random.default_rng(0), "day": numpy.datetime64("2020-01-03"),
        "operator": operator, "objects": module.asarray(numpy.array([1, 2**70, None], object)),
        "ints": module.asarray(numpy.array([[1, 2**70], [3, 4]], object)),
        "longs": module.asarray(numpy.array([1.5, 2], numpy.longdouble)),
        "records": module.asarray(numpy.array([(1.5, 2), (3, 4), (5, 6)], "f8, i4")),
        "recent": deque([x[1], 2, 3.5, x[0]]), "rows_seen": deque([m[0], m[2]], maxlen=2),
        "rows": numpy.array([2, 0]), "cols": numpy.array([3, 1]),  # NumPy's own
    }  # fmt: skip


# of lists, ranges and numbers; at once in any mode
OF_HOST_DATA = """
np.array(range(4)) | np.array([]) | np.array([f, 1.0]) | np.asarray((1, 2.5))
np.asarray(range(2, 9, 3))
np.array([[1, 2], [3, 4]], dtype=float) | np.array(f) | np.array([[[1, 2]], [[3, 4]]])
np.arange(3, dtype=float) | np.arange(0.0, 1.0, 0.25) | np.arange(5.5) | np.arange(1, 0)
np.arange(f)
np.linspace(0.0, 1.0, 5) | np.linspace(0, 1, 4, endpoint=False) | np.logspace(0, 1, 3)
np.geomspace(1, 8, num=4) | np.atleast_1d(3.0) | np.atleast_1d([1, 2])
np.ascontiguousarray([1, 2])
"""
# of arrays that are there, in loops of small operations
OF_ARRAYS = """
np.asarray(x, dtype=float) | np.ascontiguousarray(x) | np.ascontiguousarray(m.T)
np.asfortranarray(m)
np.atleast_1d(x) | np.concatenate([[f], x]) | np.concatenate([x, [1.0, 2]])
np.stack([[s, 1], [2, f]])
np.where(mask, x, f) | np.clip(x, f, 3) | np.full(3, f) | np.array([s, f, 1])
np.array([[s, s], [f, 1]])
np.sin([1.0, 2]) | np.sqrt((1, s, f)) | np.add([1, 2], 3) | np.maximum([[1, 2]], [[3], [0]])
np.sum([1, 2]) | np.max((1.5, 2)) | np.any([0, 0]) | np.sum([[1, 2], [3, 4]], axis=0)
np.prod((2, s)) | x.sum(where=mask) | np.max(x, where=mask, initial=0) | np.min(x, initial=s)
m.sum(axis=0, where=m > 2, keepdims=True) | np.any(m > 2, axis=1, where=m > 3) | x.sum(initial=2)
np.prod(m, 0, where=mask[:4], initial=f) | np.sum(m, axis=0, out=np.zeros(4)) | z.sum(initial=2)
np.max(m, axis=1, out=m[:, 1]) | m.any(axis=0, out=np.zeros(4, bool)) | np.sum(m, 1, out=x[::2])
np.sum(x, dtype=float) | x.sum(dtype=np.float32) | np.mean([s, 1.0])
d[()] | float(d) | int(d) | bool(d) | operator.index(n) | d.item() | n.item() | np.abs(d) | d + 1
x[n] | s + f | s < f | k * numpy.int32(2) | s ** numpy.float64(0.5)
x.strides | m.strides | m[1:, 1:].strides | m.T.strides | x.nbytes | x.itemsize | s.nbytes
isinstance(s, float) | isinstance(k, np.integer) | isinstance(k, numpy.int64) | -s | abs(-s) | s**2
s**0.5 | 2.0**s | np.sqrt(s) | np.maximum(s, 0.0) | np.arctan2(s, s) | s.item() | k.item()
z.real | z.imag | x.real | z.conj() | x.conj() | z.view(float) | x.view(np.int64)
np.angle(z) | x.tobytes() | 1.0 in x | 99 in m | divmod(x, 2) | divmod(m, m + 1) | m.argmax(axis=1)
m.cumsum(axis=0) | np.shape([[1, 2]]) | np.ndim([s]) | np.size([[1, 2], [3, 4]])
np.result_type(x, k)
np.linalg.eigh(m[:, :3] + m[:, :3].T) | np.linalg.svd(m) | np.linalg.qr(m)
np.linalg.slogdet(m[:, :3])
np.polyder(x) | np.roots([1.0, -3.0, 2.0]) | np.polyint(x, 2) | np.polymul(x, [1, 1])
x[[k, 0]] | m[[0, k], 1:] | m[[k, 0], [0, k]]
rng.choice(x, 3) | rng.permutation(x) | rng.normal(x) | rng.choice(3, p=[0.5, 0.25, 0.25])
names == "a" | "a" < names | names[1] | names[[0, 2]] | names[mask[:3]] | np.sort(names)
days >= day | days - days[0] | days[days > day] | days + numpy.timedelta64(1, "D") | np.diff(days)
days.max() | np.min(days) | (days - days[0]).sum() | np.mean(days - days[0]) | list(days)
days.astype("M8[M]") | days.astype("M8[M]").astype(int) | [n + "x" for n in names]
np.median(days - day) | np.ptp(days) | (days - day).max() | list(names[::2])
np.unique(names) | np.concatenate([names, names]) | "c" in names | names != names
s + True | k - True | True * k | k < True | s * 1j | k / 2j | s == 1j | z[0] * 2j | z[1] + s
objects[1] | objects[-1] | ints[0, 1] | ints + 1 | ints * ints | ints * m[0, :2] | -ints
ints @ ints | ints == ints | ints > 2 | longs[1] | longs * 2.0 | longs + longs
np.sqrt(longs) | longs < 2
records[1]["f0"] | records[-1] | [r["f1"] for r in records]
records["f0"] | records["f0"][1] | records["f1"] + 1 | records[1:] | records[::-1]["f0"] | names[1:]
days[:2] | objects[1:] | m[rows, cols] | m[:, cols] | m[rows] | x[rows] | m[rows, 1] | m[1, cols]
m[:2][rows > 0] | m[:2, cols][rows - 1]
np.clip(x, 0, f, out=x) | x.clip(s, 2, out=x) | np.dot(m, m.T, out=np.zeros((3, 3)))
np.mean(m, axis=0, out=np.zeros(4)) | np.stack([x, x], out=np.zeros((2, 6)))
np.median(recent) | np.array(recent) | np.asarray(recent, dtype="f4") | np.std(recent)
np.stack(rows_seen) | np.mean(rows_seen, axis=0) | np.array(rows_seen)
np.clip(2.5, 0, 1) | np.clip(f, 3.0, None) | np.round(2.567, 2) | np.around(f, 1) | np.mean(3)
np.where(True, 1, 2) | np.angle(1j) | np.outer(2, 3.5) | np.unpackbits(numpy.uint8(0xF0))
np.dot(2, 3) | np.repeat(1.5, 3)
np.sum(2.5) | np.max(3) | np.min(f) | np.any(True) | np.all(0) | np.prod(f, None) | np.amax(s)
np.sum(True) | np.min(1j) | np.sum(2.5, keepdims=True) | np.sum(f, dtype=np.float32)
x.compress(mask) | m.compress([True, False, True], 0) | n.choose([x] * 4)
np.arange(3).choose([1.5, 2.5, 3.5]) | m.byteswap() | np.piecewise(x, [x < 1, x > 2], [s, f, 0])
np.isreal(x) | np.isreal(z) | np.iscomplex(m) | np.iscomplex(z) | np.astype(m, np.float32)
np.astype(m, int, copy=False) | np.cumulative_sum(x) | np.cumulative_prod(m, axis=1)
np.cumulative_sum(m, axis=0, include_initial=True) | np.min_scalar_type(x) | np.min_scalar_type(s)
np.can_cast(x, np.float32)
np.take(m, [2, 0], axis=1, out=m[:, 1:3]) | m.argmax(axis=0, out=np.zeros(4, int))
"""
AGAIN = 3


def forms_of(text: str) -> list[str]:
    return [
        form.strip() for line in text.strip().splitlines() for form in line.split(" | ") if line
    ]


def seen(x: Any) -> Any:
    """What a program sees of a result."""
    if isinstance(x, tuple):
        return [type(x).__name__, *map(seen, x)]
    if isinstance(x, numpy.dtype):
        return str(x)
    if hasattr(x, "dtype"):
        kind = "array" if isinstance(x, np.ndarray) else "scalar"
        return kind, str(x.dtype), x.shape, x.strides, x.tolist()
    return type(x).__name__, x


@needs_c
@pytest.mark.parametrize("form", forms_of(OF_HOST_DATA))
@MODES
def test_host_data_needs_no_function_of_python(form: str, eager: bool) -> None:
    check(form, eager)


@needs_c
@pytest.mark.parametrize("form", forms_of(OF_ARRAYS))
def test_arrays_need_no_function_of_python(form: str) -> None:
    check(form, True)


def check(form: str, eager: bool) -> None:
    code, names = compile(form, form, "eval"), made(np)
    set_eager(eager)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(AGAIN):
            eval(code, names)
        calls = calls_of(lambda: eval(code, names))
        # NumPy makes new objects of the dtypes of strings and dates, for which there is no aval yet
        assert [c for c in calls if not c.startswith(("_avals.py", "_sizes.py"))] == []
        ours, numpys = (eval(code, made(module)) for module in (np, numpy))
    assert seen(ours) == seen(numpys)


@needs_c
def test_equal_dtypes_of_dates_and_strings_have_one_aval() -> None:
    days, names, day = made(np)["days"], made(np)["names"], numpy.timedelta64(1, "D")
    set_eager(True)

    def some() -> list[Any]:
        return [days - days[0], days.astype("M8[M]"), names.astype("U7"), names[[0, 1]], days + day]

    some()
    assert calls_of(some) == []
    units = {str(x.dtype) for _ in range(3) for x in [*some(), days.astype("M8[s]")]}
    assert units == {"timedelta64[D]", "datetime64[M]", "<U7", "<U1", "datetime64[D]"} | {
        "datetime64[s]"
    }
    noted = np.array(numpy.array(["a", "b"], numpy.dtype("U1", metadata={"by": 1})))
    assert (noted[[0, 1]].dtype.metadata or {})["by"] == 1
    assert names[[0, 1]].dtype.metadata is None


@MODES
@pytest.mark.parametrize("form", forms_of(OF_HOST_DATA + OF_ARRAYS))
def test_with_and_without_the_fast_path(form: str, eager: bool) -> None:
    code = compile(form, form, "eval")
    ours, numpys = made(np), made(numpy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(AGAIN):
            set_eager(eager)
            assert seen(eval(code, ours)) == seen(eval(code, numpys))


WRONG = """
np.sum([]) | np.max([]) | np.sin(["a"]) | np.sum([1, [2]]) | np.arange(0, 1, 0)
np.arange(3, dtype=3)
np.linspace(0, 1, -1) | np.linspace(0, 1, 2.5) | operator.index(d) | divmod(x, "a") | x[[k, 9]]
np.ascontiguousarray([1, [2]]) | np.roots([[1.0]]) | np.shape([1, [2]]) | x.view("i4, i2")
z.view("i1, f8")
names + 1 | names < 3 | days * days | days == "x" | float(z) | int(x) | x.fill([1, 2])
x.sort(axis=3) | x.sort(kind="no") | np.copyto(x, [1, 2]) | np.copyto(x, z) | np.putmask(x, [1], 1)
np.put(x, 9, 1) | np.place(x, mask[:2], 1) | x.fill("a") | np.fill_diagonal(x, 1) | x.partition(9)
np.array(range(2), 3)
np.max(x, where=mask) | np.any(x, initial=1)
x.sum(initial="a") | x.min(where=mask, initial=[1, 2])
np.sum(m, axis=2, out=np.zeros(3)) | np.sum(m, axis=0, out=np.zeros((4, 1)))
np.sum(z, out=np.zeros(1), keepdims=True) | x.sum(initial=1j)
"""


@MODES
@pytest.mark.parametrize("form", forms_of(WRONG))
def test_errors_are_numpys(form: str, eager: bool) -> None:
    code, found = compile(form, form, "eval"), []
    for module in (np, numpy):
        names = made(module)
        for _ in range(AGAIN):
            set_eager(eager)
            try:
                found.append(seen(eval(code, names)))
            except Exception as e:
                found.append((type(e), str(e)))
    assert found[:AGAIN] == found[AGAIN:]


# -- functions that write --------------------------------------------------------------------------

WRITES: dict[str, Callable[..., Any]] = {
    "sort": lambda np, a: a.sort(),
    "sort an axis": lambda np, a: a.sort(axis=0),
    "partition": lambda np, a: a.partition(1),
    "fill": lambda np, a: a.fill(7),
    "fill with an element": lambda np, a: a.fill(a[(0,) * a.ndim]),
    "copyto": lambda np, a: np.copyto(a, 3.5),
    "copyto itself": lambda np, a: np.copyto(a, a[::-1]),
    "copyto where": lambda np, a: np.copyto(a, -1, where=a > 2),
    "putmask": lambda np, a: np.putmask(a, a > 2, [1.0, 2.0]),
    "put": lambda np, a: np.put(a, [0, -1], [8, 9]),
    "place": lambda np, a: np.place(a, a < 2, 5),
    "its own values": lambda np, a: np.put(a, [0, 1], a.ravel()[::-1]),
}
TARGETS: dict[str, Callable[[Any], Any]] = {
    "an array": lambda a: a,
    "a view": lambda a: a[1:],
    "a turned view": lambda a: a.T,
    "every second": lambda a: a[::2],
}


@MODES
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("shape", [(6,), (4, 3)])
def test_writes_show_where_numpys_show(
    name: str, target: str, shape: tuple[int, ...], eager: bool
) -> None:
    values = numpy.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])[: numpy.prod(shape)].reshape(shape)
    found: list[Any] = []
    for module in (np, numpy):
        a = module.array(values)
        for round_ in range(AGAIN):
            set_eager(eager)
            others = [a[:2], a.copy(), a + 0, module.asarray(a)]
            before = [x.tolist() for x in others[1:3]]
            assert WRITES[name](module, TARGETS[target](a)) is None
            found.append([a.tolist(), *[x.tolist() for x in others]])
            assert found[-1][2:4] == before
            a[0] = round_ + 2.5
    assert found[:AGAIN] == found[AGAIN:]


@needs_c
@pytest.mark.parametrize("name", ["sort", "fill", "copyto", "put", "partition"])
def test_writes_need_no_function_of_python(name: str) -> None:
    a = np.asarray(numpy.array([3.0, 1, 2]))
    write = WRITES[name]
    set_eager(True)
    for _ in range(AGAIN):
        write(np, a)
    memory = numpy.asarray(a).__array_interface__["data"]
    assert calls_of(lambda: write(np, a)) == []
    assert numpy.asarray(a).__array_interface__["data"] == memory


STORED: list[tuple[Any, str, Any]] = [
    ([1, "a", None], "object", {}), ([1, "a", None], "object", "text"),
    (["ab", "c"], "U2", "longer"), ([b"ab", b"c"], "S2", b"longer"),
    (["ab", "c"], "U2", numpy.str_("xy")),
    (["2020-01-01"], "M8[D]", numpy.datetime64("2021-02-03")),
    ([(1, 2), (3, 4)], "f8, i4", (5.5, 6)),
    ([5, 6], "m8[h]", numpy.timedelta64(7, "h")), ([1.5, 2], "longdouble", numpy.longdouble(3)),
]  # fmt: skip


@needs_c
@pytest.mark.parametrize(("values", "dtype", "stored"), STORED)
@MODES
def test_elements_of_host_data_are_stored_without_python(
    values: Any, dtype: str, stored: Any, eager: bool
) -> None:
    ours, numpys = (module.array(values, dtype=dtype) for module in (np, numpy))
    part, copy = ours[:1], ours.copy()
    ours[0] = numpys[0] = ours[0]  # while others see the memory
    del part
    set_eager(eager)
    ours[-1] = numpys[-1] = ours[0]  # in Python, where a copy is made
    assert calls_of(lambda: operator.setitem(ours, 0, stored)) == []
    numpys[0] = stored
    assert ours.tolist() == numpys.tolist() and copy.tolist() == np.array(values, dtype).tolist()
    if dtype == "object":
        assert ours[0] is stored


@MODES
def test_what_others_hold_stays(eager: bool) -> None:
    """Memory that NumPy was given, or a read-only array, is not written."""
    for write in WRITES.values():
        set_eager(eager)
        a = np.asarray(numpy.array([3.0, 1, 2]))
        lent = numpy.asarray(a)
        write(np, a)
        assert lent.tolist() == [3.0, 1, 2]
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only|not writeable"):
            write(np, a)


def test_ufuncs_are_called_without_a_search() -> None:
    """Until somebody assigns `__call__` anew."""
    if not BUILT:
        return
    kind = type(np.sin)
    before = kind.__call__
    try:
        kind.__call__ = lambda self, *args: ("ours", *args)  # type: ignore[assignment]
        assert np.sin(1) == ("ours", 1)
    finally:
        kind.__call__ = before  # type: ignore[method-assign]
    assert np.sin(0.0) == 0.0 and np.add(1, 2) == 3


def test_lists_are_counted_as_they_are() -> None:
    """A list that is too long for the fast path, or contains itself, or nests deep."""
    set_eager(True)
    long, deep = list(range(5000)), [[[[[[1.0, 2.0]]]]]]
    assert np.sum(long) == sum(long) and np.array(deep).shape == (1, 1, 1, 1, 1, 2)
    endless: list[Any] = []
    endless.append(endless)
    for module in (np, numpy):
        with pytest.raises((ValueError, RecursionError, TypeError)):
            module.sum(endless)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential", "permuted"])
def test_random_numbers_go_into_out(name: str) -> None:
    ours, theirs = np.random.default_rng(0), numpy.random.default_rng(0)
    x, y = np.arange(4.0), numpy.arange(4.0)
    for _ in range(3):  # the second and third by the fast path, if at all
        given = (x, y) if name == "permuted" else (4, 4)
        assert getattr(ours, name)(given[0], out=x) is x
        getattr(theirs, name)(given[1], out=y)
        numpy.testing.assert_array_equal(x, y)
