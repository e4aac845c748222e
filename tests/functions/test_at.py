"""x.at[index]: its methods, and JAX's modes for indices out of bounds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, grad, jit, vmap

X = numpy.arange(12.0).reshape(3, 4)

INDICES = {
    "one": 7,
    "below": -5,
    "array": numpy.array([1, 3, -1, -3, -4, 1]),
    "two": (numpy.array([0, 5, 2]), numpy.array([3, 1, -9])),
    "array and slice": (slice(None, None, 2), numpy.array([[0, 4], [-4, -5]])),
    "slice and array": (numpy.array([5, 1]), slice(1, 3)),
    "new axis": (None, numpy.array([1, 9]), Ellipsis),
    "apart": (numpy.array([1, 9]), None, numpy.array([0, 0])),
    "list": ([0, 3], 1),
    "mask": (numpy.array([True, False, True]), numpy.array([1, 4])),
    "in bounds": (1, numpy.array([2, 2])),
}


def _moved(index: Any, mode: str, wrap: bool) -> tuple[Any, ...]:
    """The index with values out of bounds moved to the nearest place, or one past the end."""
    items, axis = [], 0
    for item in index if isinstance(index, tuple) else (index,):
        if item is None or item is Ellipsis:
            items.append(item)
            continue
        n, value = X.shape[axis], item
        axis += 1
        if isinstance(item, slice):
            value = slice(*item.indices(n))
        elif numpy.asarray(item).dtype.kind == "b":
            value = numpy.flatnonzero(item)
        else:
            value = numpy.asarray(item)
            value = numpy.where((value < 0) & wrap, value + n, value)
            out = numpy.clip(value, 0, n - 1) if mode == "clip" else n
            value = numpy.where((value < 0) | (value >= n), out, value)
        items.append(value)
    return tuple(items)


def _expected(how: str, index: Any, values: Any, mode: str, wrap: bool) -> numpy.ndarray:
    """By NumPy, in an array with one more place along the axes that are indexed."""
    place = _moved(index, mode, wrap)
    whole = numpy.full((4, 5), numpy.nan)
    whole[:3, :4] = X
    indexed = sum(i is not None and i is not Ellipsis for i in place)
    room = whole if indexed == 2 else whole[:, :4]
    if how == "get":
        return numpy.asarray(room[place])
    if how == "set":
        room[place] = values
    else:
        getattr(numpy, how).at(room, place, values)
    return whole[:3, :4]


@pytest.mark.parametrize("wrap", [True, False], ids=["wrap", "no wrap"])
@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("name", INDICES)
def test_modes(name: str, mode: str, wrap: bool) -> None:
    index = INDICES[name]
    options = {"mode": mode, "wrap_negative_indices": wrap}
    with np.config(execution="reference"):
        at = np.array(X).at[index]
        got = at.get(**options)
        numpy.testing.assert_array_equal(got, _expected("get", index, None, mode, wrap))
        values = numpy.arange(10.0, 10 + got.size).reshape(got.shape)
        for how, method in (
            ("set", at.set), ("add", at.add), ("subtract", at.subtract), ("minimum", at.min),
            ("multiply", at.multiply), ("maximum", at.max),
        ):  # fmt: skip
            want = _expected(how, index, values, mode, wrap)
            numpy.testing.assert_array_equal(method(values, **options), want, err_msg=how)
        for how, method in (("divide", at.divide), ("power", at.power)):
            want = _expected(how, index, 2.0, mode, wrap)
            numpy.testing.assert_allclose(method(2.0, **options), want, err_msg=how)


FILLS = [("f4", numpy.nan), ("i2", -(2**15)), ("u1", 255), ("?", True), ("c8", numpy.nan)]


@pytest.mark.parametrize(("dtype", "fill"), FILLS, ids=[d for d, _ in FILLS])
def test_fill_values(dtype: str, fill: Any) -> None:
    x = np.array([0, 1, 0], dtype)
    for mode in ("fill", "drop"):
        got = x.at[numpy.array([1, 3])].get(mode=mode)
        want = numpy.array([1, fill], dtype)
        assert got.dtype == dtype
        numpy.testing.assert_array_equal(got, want)
    assert x.at[5].get(mode="fill", fill_value=1) == 1
    assert x[:0].at[[0, 2]].get(mode="fill", fill_value=1).tolist() == [1, 1]
    assert x[:0].at[[0, 2]].set(1, mode="drop").tolist() == []


def test_modes_that_there_are() -> None:
    x = np.array([0.0, 1.0, 2.0])
    assert x.at[[2, -1]].set([5.0, 6.0], mode="promise_in_bounds").tolist() == [0, 1, 6]
    with pytest.raises(ValueError, match="mode must be None or one of"):
        x.at[0].get(mode="wrong")
    with pytest.raises(TypeError, match="sorted"):
        x.at[0].set(1.0, sorted=True)
    hints: Any = {"indices_are_sorted": True, "unique_indices": True}
    assert x.at[[0, 1]].set(7.0, **hints).tolist() == [7, 7, 2]
    assert x.at[[0, 1]].get(**hints).tolist() == [0, 1]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        x.at[[3]].add(1.0)
    with pytest.raises(IndexError, match="size 0"):
        x[:0].at[[3]].get(mode="clip")


def test_methods_without_a_mode() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert x.at[[0, 0, 1]].divide(2.0).tolist() == [0.25, 1, 3]
    assert x.at[[1, 1]].power(2.0).tolist() == [1, 16, 3]
    assert x.at[1:].apply(np.negative).tolist() == [1, -2, -3]
    assert x.at[[1, 5]].apply(np.negative, mode="drop").tolist() == [1, -2, 3]
    assert x.at[x > 1.5].set(0.0, mode="drop").tolist() == [1, 0, 0]
    n = np.array([4, 9])
    assert n.at[1].divide(2).tolist() == [4, 4] and n.at[1].divide(2).dtype == n.dtype
    assert n.at[[0, 7]].power(2, mode="drop").tolist() == [16, 9]
    assert n.tolist() == [4, 9] and x.tolist() == [1, 2, 3]


def test_traced() -> None:
    x = np.array([1.0, 2.0, 3.0])
    places = np.array([[0, 2, 4], [1, -1, -4]])
    drop: Any = {"mode": "drop"}
    added = jit(lambda x, i: x.at[i].add(10.0, **drop))
    assert added(x, places[0]).tolist() == [11, 2, 13]
    assert vmap(added, (None, 0))(x, places).tolist() == [[11, 2, 13], [1, 12, 13]]
    one = jit(lambda x, i: x.at[i].set(9.0, **drop).at[i].get(mode="clip"))
    assert [float(one(x, i)) for i in (1, 3, -4)] == [9, 3, 1]
    assert "check" not in str(np.make_jaxpr(lambda x, i: x.at[i].set(9.0, mode="clip"))(x, 1))
    taken = lambda x: (x.at[numpy.array([0, 2, 7])].get(mode="fill", fill_value=5.0) ** 2).sum()  # noqa: E731
    assert float(taken(x)) == 35 and grad(taken)(x).tolist() == [2, 0, 6]
    with np.config(execution="reference"):
        check_grads(lambda x, v: x.at[places].multiply(v, **drop), (x, 2 * x), order=2)
        check_grads(lambda x, v: x.at[places].set(v, **drop).at[1].divide(v[0]), (x, x), order=2)
