"""Structured arrays: fields, records and slices are views; what is stored shows in all of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.test_fastpath import MODES, calls_of, clean, needs_c, set_eager

__all__ = ["clean"]  # a fixture

DTYPES: dict[str, Any] = {
    "packed": [("x", "f8"), ("y", "i4")],
    "aligned": numpy.dtype([("x", "f8"), ("y", "i4")], align=True),
    "other byte order": [("x", ">f8"), ("y", "f4", (2,))],
    "nested": [("x", [("u", "i2"), ("v", "f8")]), ("y", "U3")],
    "of the host": [("x", "O"), ("y", "M8[s]")],
    "a field called scalar": [("x", "f8"), ("scalar", "i4"), ("y", "i1")],
}
AGAIN = 3


def seen(x: Any) -> Any:
    """What a program sees of a result."""
    if hasattr(x, "dtype") and hasattr(x, "tolist"):
        return str(x.dtype), x.shape, x.strides if x.ndim else (), str(x.tolist())
    return [seen(v) for v in x] if isinstance(x, (list, tuple)) else (type(x).__name__, str(x))


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return seen(f(*args))
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        return type(error), str(error)


READS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, v, r: a, lambda a, v, r: v, lambda a, v, r: r, lambda a, v, r: r["x"],
    lambda a, v, r: r[0], lambda a, v, r: a[1], lambda a, v, r: a[-1]["y"], lambda a, v, r: a[1:],
    lambda a, v, r: a[::2]["x"], lambda a, v, r: a[5], lambda a, v, r: a["q"],
    lambda a, v, r: a.reshape(2, 2)["x"], lambda a, v, r: a.reshape(2, 2)[1]["x"],
    lambda a, v, r: a.reshape(2, 2)[1, 0], lambda a, v, r: a.reshape(2, 2).T["x"],
    lambda a, v, r: [x["x"] for x in a], lambda a, v, r: a[a["y"] == a["y"][1]],
    lambda a, v, r: v.flags.c_contiguous, lambda a, v, r: a[..., None]["x"],
    lambda a, v, r: a[["x", "y"]], lambda a, v, r: r == a[1], lambda a, v, r: len(r),
    lambda a, v, r: list(r), lambda a, v, r: r.item(), lambda a, v, r: a[1:3][0],
    lambda a, v, r: a["x"].T[::-1], lambda a, v, r: a["y"].copy(), lambda a, v, r: a["y"] == a["y"],
    lambda a, v, r: [x["y"] for x in a.reshape(2, 2)[1]],
    lambda a, v, r: a.reshape(2, 2)[numpy.int64(1), -1]["x"], lambda a, v, r: a[numpy.int8(-2)],
    lambda a, v, r: a[2]["q"], lambda a, v, r: a[::2][True],
    lambda a, v, r: a["x"].flags.writeable, lambda a, v, r: a["scalar"] + 1,
]  # fmt: skip
WRITES: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, v, r: a["x"].__setitem__(1, 3), lambda a, v, r: v.__setitem__(2, 5),
    lambda a, v, r: a.__setitem__(0, a[2]), lambda a, v, r: r.__setitem__("x", 7),
    lambda a, v, r: r.__setitem__(1, 2), lambda a, v, r: a.__setitem__("x", 4),
    lambda a, v, r: a[1:3]["x"].__setitem__(0, 11), lambda a, v, r: a[1:3].__setitem__(1, a[0]),
    lambda a, v, r: a[::2]["x"].__setitem__(slice(None), 9),
    lambda a, v, r: a.__setitem__(0, a[1].tolist()), lambda a, v, r: a.__setitem__(3, 0),
]  # fmt: skip


@MODES
@pytest.mark.parametrize("dtype", DTYPES)
def test_views_and_what_is_stored_in_them(dtype: str, eager: bool) -> None:
    found: list[Any] = []
    for module in (np, numpy):
        set_eager(eager)
        results: list[Any] = []
        a = module.zeros(4, dtype=DTYPES[dtype])
        v, r = a["x"], a[1]
        for write in WRITES:
            results += [outcome(write, a, v, r), seen(a)]
            for _ in range(AGAIN):
                results += [outcome(read, a, v, r) for read in READS]
        found.append(results)
    assert found[0] == found[1]


VALUES: list[Callable[[Any], Any]] = [
    lambda np: (1, 2), lambda np: (np.ones(2)[1], np.ones(2)[0]), lambda np: (1.5, "a"),
    lambda np: (1,), lambda np: (1, 2, 3), lambda np: ("q", 4), lambda np: (None, 3),
    lambda np: (300, 300), lambda np: ((1, 2), 3), lambda np: 5, lambda np: (np.ones(2), 2.0),
    lambda np: (2**70, 1), lambda np: (numpy.float64(3), numpy.int8(4)), lambda np: [1, 2],
    lambda np: (1j, 2),
]  # fmt: skip
PAIRS = ["f8, i4", "O, i1", "(2,)i1, f8", [("x", ">f8"), ("y", "U2")]]


@MODES
@pytest.mark.parametrize("dtype", PAIRS, ids=str)
@pytest.mark.parametrize("value", range(len(VALUES)))
def test_tuples_become_records(dtype: Any, value: int, eager: bool) -> None:
    found: list[Any] = []
    for module in (np, numpy):
        set_eager(eager)
        results: list[Any] = []
        a = module.zeros(4, dtype=dtype)
        for index in (0, -1, (1,), 7, 0, 0):
            results += [outcome(a.__setitem__, index, VALUES[value](module)), seen(a)]
        found.append(results)
    assert found[0] == found[1]


def test_what_others_see_stays() -> None:
    a = np.zeros(3, dtype="f8, i4")
    before, field = a.copy(), a["f0"]
    alias = numpy.asarray(a)
    a[1] = (2.5, 3)
    assert before.tolist() == alias.tolist() == [(0.0, 0)] * 3
    assert field.tolist() == [0.0, 2.5, 0.0] and a.tolist()[1] == (2.5, 3)


TAKEN: list[Callable[[Any, Any], Any]] = [
    lambda np, r: np.array([r]), lambda np, r: np.array([[r, r]]), lambda np, r: np.array((r, r)),
    lambda np, r: np.array([r], dtype=[("x", "f8"), ("y", "i4")]), lambda np, r: np.array(r),
    lambda np, r: np.stack([r, r]),
]  # fmt: skip


@pytest.mark.parametrize("take", range(len(TAKEN)))
def test_arrays_of_records_that_were_written(take: int) -> None:
    found: list[Any] = []
    for module in (np, numpy):
        a = module.zeros(2, dtype=DTYPES["packed"])
        r = a[0]
        r["x"] = 5
        written = seen(TAKEN[take](module, r))
        a["y"][0] = 7
        found.append((written, seen(TAKEN[take](module, r))))
    assert found[0] == found[1]


def test_numpys_own_functions_see_what_a_record_got() -> None:
    a = np.zeros(2, dtype=DTYPES["packed"])
    r = a[0]
    r["x"], r[1] = 5, 6
    for made in (
        numpy.asarray(r),
        numpy.array([r])[0],
        numpy.frombuffer(memoryview(r), a.dtype)[0],
    ):
        assert made.tolist() == (5, 6)


def test_records_of_numpys_arrays_of_records_write_these() -> None:
    a = np.zeros(2, dtype=DTYPES["packed"])
    copied = numpy.array([a[0], a[1]])
    copied[1]["x"] = 5
    assert copied.tolist() == [(0, 0), (5, 0)] and a["x"].tolist() == [0, 0]


def test_renamed_fields_beside_an_array_of_the_old_names() -> None:
    def seen_of(m: Any) -> Any:
        other = m.array([(1, 2), (3, 4)], [("x", "i4"), ("y", "f8")])
        a = m.ones(2, [("x", "i4"), ("y", "f8")])
        a.dtype.names = ("p", "q")
        found = [repr(a[name].flags) for name in "pq"]
        a["p"][0] = 9
        a["q"] += 1
        a[1] = (5, 6)
        parts = [a, a["p"], a["q"], a[::-1]["q"], a[["q"]], a[0]["p"], a.copy()["p"]]
        return seen([*parts, m.sort(a, order="p"), other, other["x"], other["y"]]), found

    assert seen_of(np) == seen_of(numpy)


RECORDS = """
r.price[:] = 1.5; r.price[1] += 1 | r.price = [3, 4, 5] | r["price"] *= 2 | x["price"] = 7
r[1].price = 9; r[1]["count"] = 3; r[0].name = "ab" | r.place.lat[1:] = 8 | r[2].place.lon = 5
s = r[1:][::-1]; s.price = [1, 2]; s[0].name = "q" | r.sort(order="price") | r.corner[:, 0] = 4
r[r.price > 2] = (1, 2.0, "z", (3, 4), (5, 6)) | r.field("price", 6) | v = r.price; v -= 1
r.reshape(3, 1).price[2] = 4 | r.fill((1, 2.0, "z", (3, 4), (5, 6))) | x[0] = x[2]
c = r.copy(); c.price = 0
np.copyto(r, r[::-1].copy()) | r.view(np.ndarray)["price"] = 2 | x.sort(order="name"); x[1] = x[0]
"""
RECORD = [("count", "i4"), ("price", "f8"), ("name", "U3"), ("corner", "f4", 2)]
RECORD += [("place", [("lat", "f8"), ("lon", "f8")])]
ROWS = [(3, 2.5, "c", (1, 2), (48.0, 2.5)), (1, 4.5, "a", (3, 4), (1.0, 0.5)), (2, 0.5, "b", 0, 0)]


@pytest.mark.parametrize("statements", RECORDS.strip().replace("\n", " | ").split(" | "))
def test_a_record_array_shows_what_it_is_a_view_of(statements: str) -> None:
    found = []
    for module in (np, numpy):
        x = module.array(ROWS, RECORD)
        names: dict[str, Any] = {"np": module, "x": x, "r": x.view(module.recarray)}
        exec(statements, names)
        r = names["r"]
        assert isinstance(r, module.recarray) and isinstance(r[0], numpy.record)
        shown = (repr(r), str(r), repr(r[1]), r.dtype, r.price.tolist(), repr(r.place), r[1].name)
        found.append((str(x), *shown, [v.price for v in r], type(r).__name__))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "view",
    [
        "r.view(np.ndarray)", "r.view(type=np.ndarray)", "r.view(r.dtype, np.ndarray)",
        "r.view(r.dtype.fields or r.dtype, np.ndarray)", "r.view(dtype=x.dtype, type=np.ndarray)",
        "r.view(('V', x.dtype.itemsize), np.ndarray)", "r.view(x.dtype)",
        "r.view(x.dtype, np.recarray)",
    ],
)  # fmt: skip
def test_views_of_record_arrays_have_the_class_that_is_asked_for(view: str) -> None:
    kinds = []
    for module in (numpy, np):
        x = module.array(ROWS, RECORD)
        names = {"np": module, "x": x, "r": x.view(module.recarray)}
        made = eval(view, names)
        kinds.append((type(made).__name__, made.dtype == x.dtype, numpy.asarray(made).tobytes()))
    assert kinds[0] == kinds[1]


def test_record_arrays_are_copied_pickled_and_given_away() -> None:
    x = np.array(ROWS, RECORD)
    r = x.view(np.recarray)
    assert r.base is x and np.shares_memory(r, x)
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r), r.copy(), np.rec.array(r)):
        other.price = -1
        assert isinstance(other, np.recarray) and r.price.tolist() == [2.5, 4.5, 0.5]
    assert numpy.asarray(r).dtype == RECORD and type(np.asarray(r)) is np.ndarray
    with pytest.raises(AttributeError, match="recarray has no attribute nothing"):
        print(r.nothing)
    for wrong, error in (("nothing", KeyError), (7, IndexError)):
        with pytest.raises(error):
            r.field(wrong)
        with pytest.raises(error):
            numpy.array(ROWS, RECORD).view(numpy.recarray).field(wrong)
    with pytest.raises(AttributeError, match="'record' object has no attribute 'nothing'"):
        print(r[0].nothing)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        r.copy().view(np.ndarray).view(np.recarray)[0].price = 1
        x.view(np.recarray).price = 1


@pytest.mark.parametrize(
    "made",
    [
        "x.view(np.recarray)", "np.rec.array(x, copy=False)", "np.rec.array(x)",
        "np.rec.array(x, None, None, 0, None, None, None, None, False, None, True)",
        "x.view(np.recarray).view(np.recarray)", "np.rec.array(x.view(np.recarray), copy=False)",
        "np.rec.array(x, x.dtype, copy=False)", "x[1:].view(np.recarray)",
        "x[:0].view(np.recarray)", "np.rec.array(x[1:])",
        "np.rec.array(x, None, None, 0, None, None, None, None, False, None, False)",
    ],
)  # fmt: skip
def test_record_arrays_that_are_views_and_copies(made: str) -> None:
    found = []
    for module in (np, numpy):
        x = module.array(ROWS, RECORD)
        r: Any = eval(made, {"np": module, "x": x})
        r.price = 8
        x["count"] = 5
        found.append((str(x), str(r), r["price"].tolist(), r["count"].tolist(), type(r).__name__))
    assert found[0] == found[1]


SELECTED: list[Any] = [
    [("a", "i8"), ("b", "f8")], [("a", ">i8"), ("s", "U3"), ("v", "f4", (2, 2))],
    numpy.dtype([("a", "i1"), ("b", "f8")], align=True), [("n", [("p", "i4"), ("q", "M8[D]")])],
    [("o", object), ("b", "f8")],
]  # fmt: skip
PARTS: list[Any] = [lambda v: v, lambda v: v[::2], lambda v: v.T, lambda v: v[:, 1]]


@pytest.mark.parametrize("dtype", SELECTED, ids=str)
@pytest.mark.parametrize("eager", [True, False])
def test_records_that_index_arrays_select(dtype: Any, eager: bool) -> None:
    set_eager(eager)
    rng = numpy.random.default_rng(0)
    theirs = numpy.zeros((6, 4), dtype)
    theirs[theirs.dtype.names[-1]][2:, 1:] = 3  # type: ignore[index]
    for part in PARTS:
        a, b = part(theirs), part(np.array(theirs))
        n = a.shape[0]
        for index in (
            rng.random(n) > 0.5, rng.integers(0, n, 5), rng.random(a.shape) > 0.5,
            rng.integers(0, n, (2, 3)), numpy.array([], int), numpy.array(1), numpy.array([n]),
        ):  # fmt: skip
            found = []
            for array, where in ((a, index), (b, index), (b, np.array(index))):
                try:
                    got = array[where]
                    found.append((got.dtype, got.shape, got.strides, str(got.tolist())))
                    if got.ndim and got.size:  # a copy
                        got[got.dtype.names[0]] = got[got.dtype.names[0]][::-1].copy()
                        found[-1] += str(got.tolist()), str(array.tolist())
                except IndexError as error:
                    found.append((str(error),))
            assert found[1] == found[0] and found[2] == found[0], (index, found)


@needs_c
def test_records_that_a_mask_selects_need_no_index_of_python() -> None:
    set_eager(True)
    x = np.array(numpy.zeros(9, [("a", "i8"), ("b", "f8")]))
    mask = np.arange(9) > 4
    assert len(x[mask]) == len(x[mask]) == 4
    called = calls_of(lambda: [x[mask] for _ in range(5)])
    assert not [name for name in called if not name.startswith(("_avals.py", "_sizes.py"))]
