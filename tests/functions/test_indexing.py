"""Indexing functions against NumPy. test_getset.py tests `x[...]` itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from tests.functions.rows import check, run, same

DATA: dict[str, Any] = {
    "v": np.arange(5) * 1.5,
    "a": np.arange(12.0).reshape(3, 4),
    "b": (np.arange(12) * 5 % 7).reshape(3, 4),
    "s": np.arange(9).reshape(3, 3).astype(np.int8),
    "t": np.arange(24).reshape(2, 3, 4),
    "c": np.arange(6).reshape(2, 3) * (1 + 2j),
    "f": np.arange(6, dtype=np.float32).reshape(2, 3),
    "m": np.arange(12).reshape(3, 4) % 3 == 0,
    "i": np.array([2, 0, 1]),
    "j": np.array([[-1, 1], [0, 2]]),
    "z": np.empty((0, 3)),
    "e": np.array(7),
}

TAKE = """
np.take(v, i)
np.take(v, j)
np.take(v, 2)
np.take(v, np.array(2))
np.take(v, -1)
np.take(a, i)
np.take(a, i, axis=0)
np.take(a, j, axis=1)
np.take(t, j, axis=1)
np.take(t, i, axis=-1)
np.take(t, 1, axis=1)
np.take(v, [7])
np.take(v, [-6])
np.take(v, [7, -9, 3], mode='clip')
np.take(v, [7, -9, 3], mode='wrap')
np.take(v, [0], mode='foo')
np.take(v, [0.0])
np.take(v, np.array([0.0]))
np.take(v, [True, False])
np.take(v, np.array([1], 'u1'))
np.take(v, [])
np.take(z, [])
np.take(z, [0])
np.take(z, [0, 2], axis=1)
np.take(a, 0, axis=2)
np.take(e, 0)
np.take([5, 6, 7], [[2], [0]])
np.take(v, i, out=np.zeros(3))
np.take(v, i, out=np.zeros(4))
o = np.zeros(3); r = np.take(v, i, out=o); (r is o, o)
a.take(i, 1)
a.T.take([0, 5])
np.take_along_axis(a, np.argsort(a, axis=1), 1)
np.take_along_axis(b, np.argsort(b, axis=0), 0)
np.take_along_axis(a, j[:, :1] * 0 + 1, 1)
np.take_along_axis(a, np.array([[0], [-1], [2]]), 1)
np.take_along_axis(a, np.array([[0, 1]]), 1)
np.take_along_axis(a, np.array([3, 11]), None)
np.take_along_axis(a, np.array([[9]]), 1)
np.take_along_axis(a, np.array([[0.0]]), 1)
np.take_along_axis(a, np.array([0]), 1)
np.take_along_axis(a, np.zeros((2, 1), int), 1)
np.take_along_axis(a, np.zeros((3, 1), int), 2)
np.take_along_axis(t, np.array([[[1]]]), 2)
np.take_along_axis(t[:1], np.zeros((2, 3, 1), int), 2)
np.take(a, [0], axis=True)
np.compress([1, 0, 1], v[:3], out=np.zeros((2, 2)))
np.compress([True, False], e, 0)
"""

PUT = """
np.put(v, [0, 2], [-1, -2]); v
np.put(v, [0, 2, 0], [-1, -2, -3]); v
np.put(v, [0, 1, 2], [8, 9]); v
np.put(v, 1, 5); v
np.put(a, [0, -1], 9)
np.put(a.T, [0, 1], [50, 60]); a
np.put(a[1:, ::2], [0, 3], [50, 60]); a
np.put(b, [0], 1.9)
np.put(v, [7], 1)
np.put(v, [7, -7], [1, 2], mode='clip'); v
np.put(v, [7, -7], [1, 2], mode='wrap'); v
np.put(v, [0, 1], [])
np.put(v, [], [1])
np.put([1, 2], 0, 1)
np.put(b, [0], 1j)
v.put([1, 3], 0.5); v
np.put_along_axis(a, np.array([[0], [1], [2]]), 9, 1)
np.put_along_axis(a, np.array([[0, 1]]), [[1], [2], [3]], 1)
np.put_along_axis(a, np.array([0, 5]), [7, 8], None)
np.put_along_axis(a.T, np.array([[0, 1, 2]]), -1, 0); a
np.put_along_axis(a, np.array([[0]]), np.zeros((3, 5)), 1)
np.put_along_axis(a, np.array([[7]]), 1, 1)
np.place(v, v > 2, [10, 20])
np.place(a, m, [1, 2, 3])
np.place(a.T, m.T, [1, 2, 3]); a
np.place(v, [1, 0, 1, 0, 1], 9)
np.place(v, [1, 0], 9)
np.place(v, v > 2, [])
np.place(v, v > 99, [])
np.place(b, b > 2, [1.7])
np.putmask(v, v > 2, [10, 20, 30])
np.putmask(v, v > 2, v * 10)
np.putmask(a, a > 2, 5)
np.putmask(a, m[0], 5)
np.putmask(a, m, [])
np.putmask(a.T, m.T, [1, 2, 3, 4]); a
np.fill_diagonal(a, 9)
np.fill_diagonal(s, [1, 2])
np.fill_diagonal(s, 2.7)
x = np.zeros((7, 3)); np.fill_diagonal(x, 4); x
x = np.zeros((7, 3)); np.fill_diagonal(x, [1, 2, 3, 4], wrap=True); x
x = np.zeros((3, 3, 3)); np.fill_diagonal(x, [1, 2, 3]); x
np.fill_diagonal(t, 1)
np.fill_diagonal(v, 1)
np.fill_diagonal(a.T, 5); a
np.fill_diagonal(a[:, ::-1], 5); a
np.put(z, 0, 1)
np.put(v, [], 1)
np.place(s, s > 1, np.array([1.5]))
np.place(s, s > 1, [1.5, 2])
np.putmask(s, s > 1, np.array(1.5))
np.putmask(m, m, np.array([1.5]))
np.putmask(s, s > 1, [1.5])
"""

SELECT = """
np.where(m, a, b)
np.where(m, a, 0)
np.where(m, f[0, 0], 1.0)
np.where(m[0], 1, 2)
np.where(True, 1, 2)
np.where([1, 0, 2], i, -i)
np.where(a, 1, 2)
np.where(m, b, 1.5)
np.where(m[:, :1], a, a[0])
np.where(m, np.uint8(3), 300)
np.where(m, c, 1)
np.where([0.0, np.nan], 1, 0)
np.where(m)
np.where(v > 2)
np.where(m, a)
np.where(e)
np.where(m, v, a)
np.nonzero(b)
np.nonzero(v)
np.nonzero(c)
np.nonzero(e)
b.nonzero()
np.flatnonzero(b)
np.flatnonzero(m)
np.argwhere(m)
np.argwhere(e)
np.argwhere(v > 99)
np.choose([0, 1, 0, 1], [a[0], -a[1]])
np.choose(i, [i, i * 10, i * 100])
np.choose(i % 2, (1, i))
np.choose(i, [1, 2])
np.choose([-1], [1, 2])
np.choose([0, 5, -1], [1, 2], mode='clip')
np.choose([0, 5, -1], [1, 2], mode='wrap')
np.choose([0, 1], [1, 2.5])
np.choose(1, [1, 2])
np.choose([[0], [1]], [[1, 2], [3, 4]])
np.choose([0, 1], [1, 2], out=np.zeros(2))
np.choose(np.array([0.0]), [1, 2])
i.choose([i, -i, i])
np.select([v < 2, v < 4], [v, v * 10])
np.select([v < 2, v < 4], [v, v * 10], default=-1)
np.select([v < 2], [1])
np.select([m, m[0]], [a, b], 1.5)
np.select([v < 2], [v, v])
np.select([], [])
np.select([[1, 0]], [[1, 2]])
np.select([True], [1])
np.select([v < 2], [np.float32(1)], 2)
np.compress([True, False, True], a, axis=0)
np.compress([True, False, True], a, axis=1)
np.compress([0, 1, 1], a)
np.compress([[True]], a)
np.compress([0] * 20, a)
np.compress([1] * 20, a)
np.compress([0, 1], t, axis=-1)
np.compress([0, 1], t, axis=5)
np.compress([0, 1, 1], v, out=np.zeros(2))
a.compress([0, 1, 1], axis=1)
np.extract(m, a)
np.extract(v > 2, v)
np.extract([1, 0], a)
np.piecewise(v, [v < 2, v >= 4], [-1, 1])
np.piecewise(v, [v < 2, v >= 4], [-1, 1, 50])
np.piecewise(v, [v < 2, v >= 2], [lambda x: -x, lambda x: x * 10])
np.piecewise(v, v < 2, [1, 2])
np.piecewise(v, [v < 2], [lambda x, k: x * k, 0], 3)
np.piecewise(v, [v < 2], [1, 2, 3])
np.piecewise(b, [b > 2], [2.9, 1])
np.piecewise(3, [True], [1])
"""

DIAGONALS = """
np.diagonal(a)
np.diagonal(a, 1)
np.diagonal(a, -2)
np.diagonal(a, 9)
np.diagonal(t)
np.diagonal(t, 1, 2, 0)
np.diagonal(t, axis1=-1, axis2=-2)
np.diagonal(v)
np.diagonal(a, 0, 1, 1)
np.diagonal(a, 0, 0, 5)
a.T.diagonal()
a.diagonal()[0:2]
d = a.diagonal(); a[1, 1] = 99; d
a.diagonal()[0] = 5
np.trace(a)
np.trace(s)
np.trace(s.astype('u1'))
np.trace(m)
np.trace(t)
np.trace(t, 1, 1, 2)
np.trace(c)
np.trace(a, dtype='f4')
np.trace(a, offset=7)
np.trace(v)
np.trace(t, out=np.zeros(4, int))
np.trace(z)
a.trace(1)
np.trace(c, dtype=float)
"""

COORDINATES = """
np.unravel_index(5, (2, 3))
np.unravel_index([1, 5], (2, 3))
np.unravel_index([[1, 5]], (2, 3), 'F')
np.unravel_index(i, 3)
np.unravel_index(22, (2, 3))
np.unravel_index(-1, (2, 3))
np.unravel_index([1.0], (2, 3))
np.unravel_index([], (2, 3))
np.unravel_index(i, (2, 3), order='K')
np.unravel_index(0, ())
np.unravel_index([0], ())
np.unravel_index(np.argmax(b), b.shape)
np.ravel_multi_index((1, 2), (2, 3))
np.ravel_multi_index(([1, 1], [2, 0]), (2, 3))
np.ravel_multi_index(([1, 1], [2, 0]), (2, 3), order='F')
np.ravel_multi_index(([[1], [0]], [2, 0]), (2, 3))
np.ravel_multi_index(j, (2, 3))
np.ravel_multi_index((1, 5), (2, 3))
np.ravel_multi_index((1, 5), (2, 3), mode='wrap')
np.ravel_multi_index((1, -9), (2, 3), mode=('raise', 'clip'))
np.ravel_multi_index((1.0, 2), (2, 3))
np.ravel_multi_index((1,), (2, 3))
np.ravel_multi_index(j[:, ::-1] + 1, (9, 9))
"""

ITERATION = """
list(np.ndenumerate(s))
list(np.ndenumerate(e))
list(np.ndenumerate(np.ma.array([1, 2], mask=[0, 1])))
list(np.ndenumerate(np.asmatrix([[1, 2]])))
list(np.ndindex(2, 3))
np.apply_along_axis(np.sort, 1, b)
np.apply_along_axis(lambda r: r[::-1] * 2, 0, b)
np.apply_along_axis(lambda r: r[0] + r[-1], 0, b)
np.apply_along_axis(lambda r: np.outer(r, r), 0, b)
np.apply_along_axis(lambda r: r[:2], 1, t)
np.apply_along_axis(lambda r, k: r + k, -1, b, 10)
np.apply_along_axis(np.sort, 3, b)
np.apply_along_axis(np.sort, 1, z)
np.apply_over_axes(np.sum, t, [0, 2])
np.apply_over_axes(np.sum, t, 1)
np.apply_over_axes(lambda x, axis: np.array(1), t, 1)
[float(x) for x in np.nditer(a)]
[int(x) + int(y) for x, y in np.nditer([b, s[:, :1]])]
for x in np.nditer(a, op_flags=['readwrite']): x[...] = 2 * x
with np.nditer(a.T, op_flags=['readwrite']) as it: [x.__setitem__(..., x + 1) for x in it]
[x.item() for x in np.nditer(b.T)], [x.item() for x in np.nditer(b[::-1])]
[x.item() for x in np.nditer(t.transpose(1, 0, 2))], [x.item() for x in np.nditer(e)]
[x.item() for x in np.nditer(b.T, order="C")]
np.broadcast(b, np.broadcast(b, 1)).shape
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("program", rows(TAKE + PUT + SELECT + DIAGONALS + COORDINATES + ITERATION))
def test_row(program: str) -> None:
    check(program, DATA, exact=True)


MESSAGES = """
np.take(v, [7])
np.take(a, [7], axis=1)
np.take(z, [0])
np.put(v, [7], 1)
np.choose(i, [1, 2])
np.where(m, a)
np.where(e)
np.select([v < 2], [v, v])
np.compress([1] * 20, a)
np.diagonal(v)
np.unravel_index(22, (2, 3))
np.ravel_multi_index((1, 5), (2, 3))
np.take_along_axis(a, np.zeros((2, 1), int), 1)
np.place(v, [1, 0], 9)
"""


@pytest.mark.parametrize("program", rows(MESSAGES))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


def test_writing_through_masks_does_not_compute() -> None:
    x = lazynp.array(DATA["a"])
    before = lazynp.stats().cuts
    mask = x > 3
    lazynp.putmask(x, mask, x * 2)
    lazynp.place(x, mask, [1, 2])
    y = lazynp.where(mask, x, 0)
    assert lazynp.stats().cuts == before
    expected = DATA["a"].copy()
    np.place(expected, expected > 3, [1, 2])
    np.testing.assert_array_equal(np.asarray(y), np.where(DATA["a"] > 3, expected, 0))


index = st.lists(st.integers(-4, 4), min_size=1, max_size=4)


@given(index, st.sampled_from([None, 0, 1, -1, 2]), st.sampled_from(["raise", "wrap", "clip"]))
def test_any_take(places: list[int], axis: int | None, mode: str) -> None:
    data = {"t": DATA["t"], "i": np.array(places)}
    check(f"np.take(t, i, {axis}, mode='{mode}')", data, exact=True)


@given(index, st.lists(st.integers(0, 9), min_size=1, max_size=5), st.sampled_from(["t", "t.T"]))
def test_any_put(places: list[int], values: list[int], where: str) -> None:
    check(f"np.put({where}, {places}, {values}, mode='wrap'); t", DATA, exact=True)


@pytest.mark.parametrize("dtype", ["f2", "u2", "i4", "?", "c8", "O", "U3", "M8[D]", "f4,i4"])
def test_dtypes(dtype: str) -> None:
    """Also of dtypes that stay on the host."""
    x = np.arange(6).astype(np.int64).astype(dtype) if dtype != "f4,i4" else np.zeros(6, dtype)
    programs = """
np.take(x, [1, 3])
np.put(x, [1], x[3:4]); x
np.compress([0, 1], x)
np.where(i, x[:3], x[3:])
np.choose([0, 1, 0], [x[:3], x[3:]])
np.diagonal(x.reshape(2, 3))
np.putmask(x, np.arange(6) > 2, x[::-1]); x
"""
    for program in rows(programs):
        numpys, _ = run(program, np, {"x": x, "i": DATA["i"]})
        ours, _ = run(program, lazynp, {"x": x, "i": DATA["i"]})
        assert isinstance(ours, Exception) == isinstance(numpys, Exception), (program, ours, numpys)
        if not isinstance(numpys, Exception):
            same(ours, numpys, exact=True, where=program)


NESTED: dict[str, Any] = {
    "rows": (lambda np: np.arange(6.0).reshape(2, 3), [[0], [1]]),
    "columns": (lambda np: np.arange(6.0).reshape(2, 3), [[1], [0]]),
    "two within": (lambda np: np.arange(24.0).reshape(2, 3, 4), [[1], [0, 2]]),
    "Fortran's order": (
        lambda np: np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
        [[1], [2, 0]],
    ),
    "transposed": (lambda np: np.arange(6.0).reshape(2, 3).T, [[0], [1]]),
    "three": (lambda np: np.arange(8.0).reshape(2, 2, 2), [[0], [1], [2]]),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_iterators_read_and_write(name: str) -> None:
    make, axes = NESTED[name]

    def outcome(np: Any) -> Any:
        x, found = make(np), []
        iterators = np.nested_iters(x, axes, flags=["multi_index"], op_flags=["readwrite"])
        with iterators[0], iterators[-1]:
            for _ in iterators[0]:
                for _ in iterators[1] if len(axes) > 2 else [0]:
                    for y in iterators[-1]:
                        found.append((iterators[0].multi_index, float(y)))
                        y[...] = 2 * y + 1
        return found, x.tolist(), x.strides

    assert outcome(lazynp) == outcome(np)


@pytest.mark.parametrize("order", ["C", "F", "K", "A"])
def test_chunks_of_repeated_elements(order: Any) -> None:
    def outcome(np: Any) -> Any:
        made = [
            np.broadcast_to(np.arange(3), (2, 3)),
            np.broadcast_to(np.arange(3)[:, None], (3, 2)),
        ]
        made += [np.arange(3)[None, :, None], np.broadcast_to(np.array(3), (2, 2))]
        return [
            [v.tolist() for v in np.nditer(x, flags=["external_loop"], order=order)] for x in made
        ]

    assert outcome(lazynp) == outcome(np)
