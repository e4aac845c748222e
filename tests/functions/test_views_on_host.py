"""Views of what only NumPy holds, and of parts of elements: writes reach the array."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from tests.test_fastpath import MODES, clean, set_eager

__all__ = ["clean"]  # a fixture

ARRAYS: dict[str, Callable[[Any], Any]] = {
    "big-endian": lambda np: np.arange(9, dtype=">i4").reshape(3, 3),
    "longdouble": lambda np: np.arange(9).astype("g").reshape(3, 3),
    "objects": lambda np: np.arange(9).astype(object).reshape(3, 3),
    "text": lambda np: np.array(list("abcdefghi")).reshape(3, 3),
    "bytes": lambda np: np.array(list("abcdefghi"), "S2").reshape(3, 3),
    "times": lambda np: np.arange(9).astype("m8[s]").reshape(3, 3),
    "records": lambda np: np.zeros((3, 3), "i4, f8"),
    "a field": lambda np: np.zeros((3, 3), "i4, f8")["f1"],
    "a field of a part": lambda np: np.zeros((6, 4), "i4, f8")[::2, 1:]["f1"],
    "imag": lambda np: np.zeros((3, 3), complex).imag,
    "real": lambda np: np.zeros((3, 6), complex)[:, ::2].real,
    "unaligned": lambda np: np.zeros(73, "u1")[1:].view("f8").reshape(3, 3),
    "floats": lambda np: np.zeros((3, 3)),
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "ii->i": lambda np, a: np.einsum("ii->i", a),
    "ij->ji": lambda np, a: np.einsum("ij->ji", a),
    "transposed and optimized": lambda np, a: np.einsum("ij->ji", a, optimize=True),
    "lists of labels": lambda np, a: np.einsum(a, [0, 1], [1, 0]),
    "ij->ij, dtype": lambda np, a: np.einsum("ij->ij", a, dtype="i8"),
    "as_strided": lambda np, a: np.lib.stride_tricks.as_strided(a, (3,), a.strides[1:]),
    "its strides": lambda np, a: np.lib.stride_tricks.as_strided(a),
    "backwards": lambda np, a: np.lib.stride_tricks.as_strided(a[::-1]),
    "every other": lambda np, a: np.lib.stride_tricks.as_strided(
        a, (2, 2), (2 * a.strides[0], 2 * a.strides[1])
    ),
    "repeated": lambda np, a: np.lib.stride_tricks.as_strided(a, (2, 3), (0, a.strides[1])),
    "windows": lambda np, a: np.lib.stride_tricks.sliding_window_view(a, 2, 0, writeable=True),
    "read-only": lambda np, a: np.lib.stride_tricks.as_strided(a, writeable=False),
}


def value_for(a: Any) -> Any:
    return {"U": "Z", "S": b"Z", "m": numpy.timedelta64(9, "s"), "V": (5, 5)}.get(a.dtype.kind, 7)


def written(np: Any, make: Callable[[Any], Any], look: Callable[[Any, Any], Any]) -> Any:
    """What the view shows, and its array, after writes to both."""
    a = make(np)
    found: list[Any] = []
    v = look(np, a)
    found += [str(v.dtype), v.shape, v.strides, v.flags.writeable, v.tolist()]
    try:
        v[0] = value_for(a)
        part = v[1:]
        a[1] = value_for(a)
        found += [a.tolist(), v.tolist(), part.tolist()]
        part[...] = a[0, 0]
    except ValueError as error:
        found.append(str(error))
    return [*found, a.tolist(), v.tolist()]


@MODES
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("array", ARRAYS)
def test_views(array: str, view: str, eager: bool) -> None:
    set_eager(eager)
    make, look = ARRAYS[array], VIEWS[view]
    assert written(lazynp, make, look) == written(numpy, make, look)


RECORDS: list[Callable[[Any], Any]] = [
    lambda np: np.zeros(3, "f8, f8"),
    lambda np: np.zeros(3, "f8, i8, f8")[["f0", "f2"]],
    lambda np: np.zeros(3, [("a", "i4", (2,)), ("b", "i4")]),
    lambda np: np.zeros((2, 2), "f4, f4, u1")[["f1", "f0"]],
    lambda np: np.zeros((4, 2), "f4, f4, u1")[["f0", "f1"]][::2, 1:],
    lambda np: np.zeros(3, "f8, i4"),
    lambda np: np.zeros(3, [("a", "f8"), ("b", [("x", "f8"), ("y", "f8")])]),
]


@pytest.mark.parametrize("kwargs", [{}, {"copy": True}, {"dtype": "f4"}], ids=str)
@pytest.mark.parametrize("make", RECORDS)
def test_structured_to_unstructured(make: Callable[[Any], Any], kwargs: Any) -> None:
    found: list[Any] = []
    for np in (numpy, lazynp):
        room = importlib.import_module(np.__name__ + ".lib.recfunctions")
        a = make(np)
        u = room.structured_to_unstructured(a, **kwargs)
        u[0] = 7
        name = a.dtype.names[0]
        a[name][1] = 3
        found.append([str(u.dtype), u.shape, u.strides, str(u.tolist()), str(a.tolist())])
    assert found[0] == found[1]


def test_unstructured_of_what_cannot_be_written() -> None:
    a = lazynp.zeros(3, "f8, f8")
    a.flags.writeable = False
    room = importlib.import_module("lazynp.lib.recfunctions")
    assert not room.structured_to_unstructured(a).flags.writeable
    with pytest.raises(ValueError, match="structured"):
        room.structured_to_unstructured(lazynp.zeros(3))


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"names": "ab"}, {"dtype": "i8, f4"}, {"copy": True}, {"dtype": [("a", "i8", (2,))]}],
    ids=str,
)
@pytest.mark.parametrize("name", ["rows", "columns", "single"])
def test_unstructured_to_structured(name: str, kwargs: Any) -> None:
    found: list[Any] = []
    for np in (numpy, lazynp):
        room = importlib.import_module(np.__name__ + ".lib.recfunctions")
        a = np.arange(6).reshape(3, 2) * 2
        a = {"rows": a, "columns": a[:2].T, "single": a[1:2].ravel()}[name][..., :2]
        u = room.unstructured_to_structured(a, **kwargs)
        u[...] = 7
        a[..., 1] = 3
        assert isinstance(u, np.ndarray)
        found.append([str(u.dtype), u.shape, u.strides, str(u.tolist()), str(a.tolist())])
    assert found[0] == found[1]


PARTS: list[Callable[[Any, Any], Any]] = [
    lambda np, m: np.ma.getmask(m).__setitem__((0, 1), True),
    lambda np, m: np.ma.getmaskarray(m).__setitem__((0, 1), True),
    lambda np, m: np.ma.getdata(m).__setitem__((0, 1), 7),
    lambda np, m: np.ma.getdata(m, subok=False).__setitem__((0, 1), 7),
    lambda np, m: np.ma.getdata(a=m).__setitem__((0, 1), 7),
    lambda np, m: np.ma.diag(m).__setitem__(0, 7),
    lambda np, m: np.ma.diagonal(m).__setitem__(0, 7),
    lambda np, m: np.ma.diag(np.array([1, 2])).tolist(),
    lambda np, m: np.ma.getmaskarray(np.zeros(2)).tolist(),
    lambda np, m: np.ma.getdata(np.arange(2.0)).tolist(),
]


@pytest.mark.parametrize("write", PARTS)
def test_parts_of_masked_arrays(write: Callable[[Any, Any], Any]) -> None:
    found: list[Any] = []
    for np in (numpy, lazynp):
        m = np.ma.array(np.arange(9.0).reshape(3, 3), mask=np.eye(3) > 0)
        try:
            result = write(np, m)
        except ValueError as error:
            result = str(error)
        found.append([result, m.data.tolist(), m.mask.tolist()])
    assert found[0] == found[1]


def test_parts_of_lazy_arrays_are_lazy() -> None:
    for function in (lazynp.ma.getdata, lazynp.ma.getmaskarray):
        assert type(function(lazynp.arange(3.0))) is lazynp.ndarray
    assert isinstance(lazynp.ma.diag(lazynp.arange(2.0)), numpy.ma.MaskedArray)


IN_PLACE: dict[str, tuple[str, Any]] = {
    "big-endian": (">i4", 7),
    "long doubles": ("g", 1.5),
    "strings of any length": ("T", "a" * 40),
    "text": ("U8", "abc"),
    "objects": ("O", (1, 2)),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_one_element_is_stored_in_place(name: str) -> None:
    """To copy the array for each makes loops quadratic."""
    dtype, value = IN_PLACE[name]
    x = lazynp.zeros(100, dtype)
    for i in range(3):
        x[i] = value
    place = numpy.asarray(x).ctypes.data
    x[50] = value
    assert numpy.asarray(x).ctypes.data == place
    assert x[50] == value and x[2] == value and x[49] == numpy.zeros(1, dtype)[0]


@pytest.mark.parametrize("name", IN_PLACE)
def test_stores_leave_copies_and_reach_views(name: str) -> None:
    dtype, value = IN_PLACE[name]

    def outcome(np: Any) -> Any:
        x = np.zeros(4, dtype)
        copied, part, backwards = x.copy(), x[1:], x[::-1]
        x[1] = value
        part[1] = x[1]
        backwards[0] = value
        shown = x
        x[0] = x[3]
        taken = x[[0, 1]]
        x[0], x[2] = x[2], copied[0]
        return [[str(v) for v in a] for a in (x, copied, part, backwards, shown, taken)]

    assert outcome(lazynp) == outcome(numpy)


IN_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "turned": lambda np, a: np.array(a.T),
    "in Fortran's order": lambda np, a: np.asfortranarray(a),
    "a third order": lambda np, a: np.array(a[None].transpose(2, 0, 1)),
    "in C order": lambda np, a: a.copy(),
}


@MODES
@pytest.mark.parametrize("order", IN_ORDER)
@pytest.mark.parametrize("array", ["objects", "text", "times", "records", "longdouble"])
def test_stores_into_reshaped_views(array: str, order: str, eager: bool) -> None:
    """The memory of such an array may lie otherwise than the array's order says."""
    set_eager(eager)

    def outcome(np: Any) -> Any:
        a = IN_ORDER[order](np, ARRAYS[array](np)[:2])
        value = value_for(a)
        flat, seen = a.ravel("K"), a[:]
        shares = np.shares_memory(flat, a)
        flat[1] = value
        flat[[0, 4]] = flat[[4, 0]]
        np.copyto(flat[2:4], flat[:2])
        flat[::-1].reshape(3, 2)[0, 1] = value
        a[0] = a[1]
        return shares, flat.tolist(), a.tolist(), seen.tolist()

    assert outcome(lazynp) == outcome(numpy)


def test_stores_into_reshaped_views_are_in_place() -> None:
    set_eager(True)
    a = lazynp.zeros((30, 40), "U4", order="F")
    flat = a.ravel("K")
    for i in range(3):
        flat[i] = "a"
    place = numpy.asarray(a).ctypes.data
    flat[5] = "b"
    assert numpy.asarray(a).ctypes.data == place and a[5, 0] == "b"


@pytest.mark.parametrize("order", ["C", "F"])
def test_empty_objects_lie_as_asked(order: Any) -> None:
    def outcome(np: Any) -> Any:
        a = np.empty((2, 3), object, order=order)
        a[:] = 1
        a.T.reshape(-1)[2] = 5
        return a.tolist(), a.strides

    assert outcome(lazynp) == outcome(numpy)
