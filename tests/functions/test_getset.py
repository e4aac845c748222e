"""`x[index]` and `x[index] = value` against NumPy: every index, every kind of value, aliasing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from lazynp._array import Array
from tests.functions.rows import check, run, same

DATA: dict[str, Any] = {
    "x": np.arange(12.0).reshape(3, 4),
    "t": np.arange(24).reshape(2, 3, 4),
    "v": np.arange(5),
    "m": np.arange(12).reshape(3, 4) % 3 == 0,
    "r": np.array([True, False, True]),
    "i": np.array([2, 0, 1]),
    "j": np.array([[0, -1], [1, 1]]),
    "c": np.arange(4) * (1 + 1j),
    "b": np.array([True, False, True, True]),
    "u": np.arange(5, dtype=np.uint8),
    "f": np.arange(5, dtype=np.float32),
    "e": np.array(5.0),
    "z": np.empty((0, 3)),
    "n": np.int64(1),
}

READ = """
x[1]
x[-1]
x[1, 2]
x[-1, -1]
x[n, n]
x[()]
x[...]
e[()]
e[...]
e[None]
e[..., None]
x[1, ...]
x[1, 2, ...]
x[..., 1]
x[None, 1, None, ::2]
x[::-1]
x[::-2, 1:3]
x[5:1:-1]
x[10:, :]
x[:, -100:100]
x[2:0:-1, ::-3]
x[slice(None)]
x[slice(n, None)]
x[:, :0]
z[:, 1]
z[::-1]
x[3]
x[0, 4]
x[-4]
x[1, 2, 3]
x[1.0]
x['a']
x[1:2.0]
x[..., ...]
x[::0]
e[0]
x[[0, 2]]
x[[0, 2], [1, 3]]
x[[0, 2], 1]
x[[[0], [2]], [1, 3]]
x[i]
x[j]
x[i, 0]
x[0, i]
x[:, i]
x[:, j]
x[i, :2]
x[..., i]
x[None, i]
x[i, None]
x[i, None, [0, 1, 2]]
x[[0, 1], :, None]
t[0, :, i]
t[:, 0, i]
t[i[:2], :, i[:2]]
t[1, i]
t[:, i, 1]
t[[[0]], :, [[1, 2]]]
t[..., i, 0]
t[i[:2] - 2, ..., 0]
t[0, ..., i]
t[:, None, i, 0]
t[:, i, None, 0]
x[[]]
x[:, []]
x[[], []]
x[np.array([], int)]
x[np.array([])]
x[[3]]
x[[-4]]
x[[0, 1], [0, 1, 2]]
x[[1.0]]
x[i, i, i]
x[np.array(1)]
x[np.array(1), np.array(2)]
x[np.array([1]), 2]
x[m]
x[r]
x[r, 1]
x[r, :2]
x[r, [0, 1]]
x[:, b]
x[r][:, b]
x[..., b]
t[:, m]
t[[0, 1], m[:2].any()]
t[m[:2]]
x[b]
x[m.T]
x[True]
x[False]
x[True, 0]
x[np.True_]
x[None, True]
x[0, True]
x[[True, False, True]]
x[[True, False]]
e[True]
e[np.array(False)]
v[v > 2]
v[v > 99]
v[u]
v[np.int8(2)]
v[(1,)]
v[[1, 2, 1]]
v[(1, 2)]
v[range(3)]
v[u.astype('u8')]
v[np.uint64(3)]
v[[np.int64(1), 2]]
x[v[1]]
x[v[1]:v[3]]
x[[v[1], v[2]]]
x[i][j[0]]
x.T[1]
x.T[i]
x.T[::-1][::2, 1]
x[1:][1:][0, 0]
x[::-1][::-1]
x[:, 1:].T.reshape(-1)
x.reshape(2, 6)[1]
x.reshape(4, 3).T[0]
x[0, 0].shape
x[0, 0][()]
v[2][...]
v[2][None]
c.real[1:]
c.imag[::-1]
list(x[1])
[float(y) for y in x.flat]
x.flat[3]
x.flat[2:7:2]
x.flat[[1, 5]]
x.T.flat[3]
x.flat[99]
x[2**63]
x[2**63, 0]
x[[9], []]
x[9, []]
z[[9], False]
x.flat[None]
"a" in x, 1.0 in x, None in x
1 in n
"""

WRITE = """
x[1] = 5
x[1, 2] = 7
x[-1, -1] = v[1]
x[...] = 3
x[()] = 3
e[()] = 3
e[...] = v[2]
x[:] = [1, 2, 3, 4]
x[:, 1] = i
x[::-1] = x
x[1:] = x[:-1]
x[:-1] = x[1:]
x[:, ::-1] = x
x[::2, ::-2] = [[1, 2], [3, 4]]
x[1] = [1, 2, 3]
x[1] = [[1, 2, 3, 4]]
x[1:2] = [[[9]]]
x[1] = np.zeros((2, 4))
x[0:0] = 5
x[0:0] = [1, 2]
x[5] = 1
x[1.5] = 1
x['a'] = 1
x[1, 2, 3] = 1
x[0] = v[:4]
x[0] = np.float32(0.1)
v[0] = 1.9
v[0] = -1.9
v[0] = np.nan
v[1:3] = 2.7
v[:2] = [1.5, 2.5]
v[0] = 1j
v[:2] = True
v[0] = '5'
v[0] = 'a'
v[0] = None
v[0] = [1, 2]
u[0] = 300
u[0] = -1
u[:] = v * 100
u[0] = np.int64(300)
f[0] = 1e300
f[1] = 3
c[0] = 2
c[0] = 2j
c[:] = [1, 2j, 3, 4]
c.real[1:] = 9
c.imag = [9, 8, 7, 6]
b[0] = 5
b[:] = [0, 1, 2, 0.0]
x[[0, 2]] = 9
x[[0, 2]] = [[1], [2]]
x[[0, 2], [1, 3]] = [5, 6]
x[[0, 0, 1], 0] = [1, 2, 3]
x[i] = x
x[i] = [1, 2, 3]
x[i, 0] = [1, 2, 3]
x[:, i] = [[7, 8, 9]]
x[:, i] = [7, 8]
x[0, i] = i
x[[0, 1], [0, 1, 2]] = 5
x[[7]] = 5
x[[]] = 5
x[[]] = np.zeros((0, 4))
x[j, 1:3] = [[[1, 2]], [[3, 4]]]
t[:, i, 0] = [[1, 2, 3], [4, 5, 6]]
t[0, :, i] = np.arange(9).reshape(3, 3)
t[[0, 1], :, [0, 1]] = [[1, 2, 3], [4, 5, 6]]
t[..., [0, 0]] = [5, 6]
x[m] = 5
x[m] = np.arange(4)
x[m] = [1]
x[m] = [1, 2]
x[m] = [[1, 2, 3, 4]]
x[m] = x[m] * 2
x[m.T] = 5
x[r] = 1
x[r] = [1, 2, 3, 4]
x[r] = [[1], [2]]
x[r] = [[1, 2, 3, 4], [5, 6, 7, 8]]
x[r, 1] = 7
x[r, 1] = [7, 8]
x[r, :2] = [7, 8]
x[:, b] = 0
x[:, b] = [1, 2, 3]
x[b] = 0
x[True] = 3
x[False] = 3
x[True, 0] = 3
x[~m] = np.nan
x[x > 5] = 0
x[x > 5] += 1
x[x > 99] = [1]
x[x > 99] = []
v[v > 2] = 2.9
v[v > 2] = np.nan
v[v > 2] = [1, 2]
v[v > 2] = [1.5, 2.5]
v[[True, False, True, False, False]] = [8, 9]
t[m[:2]] = 5
t[:, m] = 5
t[m[:2, :3]] = [1, 2, 3, 4]
x[0] += 1
x[0, 0] += 1
x[::2] *= 2
x[[0, 0, 1]] += 1
x[m] += 10
x[i, i] -= 1
x.T[1] += 1
x[1][2] = 9
x[1:][0][::2] = 9
x.T[...] = 5
x.T[0] = [7, 8, 9]
x.T[1:, ::-1][0] = [1, 2, 3]
x.reshape(-1)[5] = 99
x.reshape(2, 6)[:, 1] = [5, 6]
x[:, 1:].reshape(-1)[0] = 99
x.ravel()[3] = 9
x.T.ravel()[3] = 9
x[None, :, None][0, 1] = 7
x.swapaxes(0, 1)[i] = 3
x.view()[0] = 3
x.view('i8')[0, 0] = 1
x.flat[3] = 9
x.flat[2:5] = [7, 8]
x.flat[::2] = 1
x.flat = [1, 2, 3]
x.T.flat[3] = 9
x.flat[[1, 3]] = [5, 6]
x.flat[m.ravel()] = 9
x.T.flat = np.arange(12)
x[1].fill(6)
x.fill(6)
x[::2].sort()
x[::-1, 1][::-1][:2] = [8, 9]
np.add.at(v, [0, 0, 2], 1)
np.add.at(x, ([0, 0], [1, 1]), [1, 2])
np.add.at(x, i, [1, 2, 3, 4])
np.add.at(x.T, [0, 0], 1)
np.subtract.at(v, [0, 0], 2)
np.multiply.at(v, [1, 1, 2], 3)
np.maximum.at(v, [0, 0], [4, 2])
np.negative.at(v, [1, 1])
np.add.at(v, v > 2, 10)
np.add.at(x, m, 1)
np.add.at(x, (slice(None), [0, 0]), 1)
np.add.at(v, 9, 1)
np.add.at(u, [0], -1)
np.add.at(v, [0], 1.5)
np.divide.at(f, [1, 1], 2)
d = x.diagonal(); d[0] = 1
x.flags.writeable = False; x[0] = 1
x.setflags(write=False); x += 1
y = x[1]; x[1] = 0; y[2] = 5; (x, y)
y = x.T; z = y[1]; x[0, 1] = 50; z[1] = 60; (x, y, z)
y = x.reshape(-1); x[1] = y[:4] * 2; y[::5] = -1; (x, y)
y = x[:, 1:]; z = y.copy(); y[...] = 0; (x, y, z)
a, *w = x; a[0] = 99; (x, a, w)
y = x[::-1]; y += x; (x, y)
y = x[:2]; y -= x[1:]; (x, y)
y = x.real; y[0] = 5; (x, y)
s = x[0, 0]; s += 1; (x, s)
s = x[0, 0, ...]; s += 1; (x, s)
y = x; y += 1; (x, y)
y = x; y = y + 1; (x, y)
for row in x: row[0] = -1
for k in range(3): x[k, k] = x[k - 1, k] + k
x[0], x[1] = x[1], x[0]
x[0], x[1] = x[1].copy(), x[0].copy()
x[0, 0], x[1, 1] = x[1, 1], x[0, 0]
x[i] = x[i[::-1]]
x[np.ix_([0, 2], [1, 3])] = 0
x[1:3, 1:3] = x[0:2, 0:2]
v[:] = v[::-1]
v[1:] += v[:-1]
v[np.argsort(-v)] = np.arange(5)
v[v.argmax()] = -1
x[v[1], v[2]] = 5
x[v[1]:v[3], 0] = 5
del x[0]
x[2**63] = 1
x[[], [9]] = 1
x.flat = []
x.flat[0:0] = [1, 2]
z.flat = [1, 2]
e.flat[1:3] = 7
c.imag = 2.0; c.real = c.imag
y = c.astype(">c16"); y.real = 1; y.imag[:2] = 5; y.dtype.str, y
v[np.array([3, 1, 0, 2, 4])] = v[::-1]
x[i, 0] = x[:, 1]
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.filterwarnings("ignore:Casting complex values", "ignore:invalid value encountered",
                            "ignore:overflow encountered")  # fmt: skip
@pytest.mark.parametrize("program", rows(READ + WRITE))
def test_row(program: str) -> None:
    check(program, DATA, exact=True)


MESSAGES = """
x[3]
x[0, 4]
x[1, 2, 3]
x['a']
x[1.0]
x[..., ...]
x[[3]]
x[[0, 1], [0, 1, 2]]
x[b]
x[:, r]
x[1] = [1, 2, 3]
x[i] = [1, 2, 3]
x[m] = [1, 2]
v[0] = np.nan
u[0] = 300
x[0:0] = [1, 2]
x[["z"]]
x[[1.5]]
x[np.array([1.5])]
x[np.array(1.5)]
x[np.datetime64("2020")]
x[10**30]
x.sum(axis=1.0)
"""


@pytest.mark.parametrize("program", rows(MESSAGES))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


def test_objects_with_index_are_integers() -> None:
    class Two:
        def __index__(self) -> int:
            return 2

    x, y = lazynp.array(DATA["x"]), DATA["x"].copy()
    for key in (Two(), (Two(), Two()), (slice(None), Two()), (Two(), None)):
        same(x[key], y[key])
        x[key] = y[key] = 7
        same(x, y)


def test_a_failed_write_leaves_the_value() -> None:
    x = lazynp.array(DATA["x"])
    y = x[1]
    for index, value in ((1, [1, 2]), ([7], 0), (slice(None), np.zeros((5, 5)))):
        with pytest.raises((ValueError, IndexError)):
            x[index] = value
    same(x, DATA["x"], True)
    same(y, DATA["x"][1], True)


def test_writing_by_mask_computes_nothing() -> None:
    x = lazynp.array(DATA["x"])
    before = lazynp.stats().cuts
    x[x > 3] = 0
    x[x < 1] *= 2 if False else 1
    assert isinstance(x, Array)
    cuts = lazynp.stats().cuts
    assert cuts - before <= 1  # only `x[mask] *= 1` reads by a mask


# -- any index -------------------------------------------------------------------------------------

SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 3), (0, 3), ()]


def one_index(n: int) -> st.SearchStrategy[Any]:
    """An index for an axis of n: an integer or a slice, in or out of range."""
    bound = st.none() | st.integers(-n - 1, n + 1)
    steps = st.sampled_from([None, 1, 2, -1, -2])
    integer = st.integers(-n, n - 1) if n else st.just(0)
    return st.one_of(integer, st.builds(slice, bound, bound, steps))


@st.composite
def basic_indices(draw: Any, shape: tuple[int, ...]) -> Any:
    count = draw(st.integers(0, len(shape)))
    items = [draw(one_index(n)) for n in shape[:count]]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
        items = [i if type(i) is not int else 0 for i in items] if 0 not in shape else items
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def advanced_indices(draw: Any, shape: tuple[int, ...]) -> Any:
    """Integers, slices, newaxis, integer arrays of one shape, and masks, in any order."""
    common = draw(st.sampled_from([(), (2,), (1, 2), (2, 1)]))
    items: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 5)):
        n = shape[axis]
        kind = draw(st.sampled_from(["basic", "array", "array", "mask", "new", "bool", "list"]))
        if kind == "mask":
            rank = draw(st.integers(1, min(2, len(shape) - axis)))
            mask = np.zeros(shape[axis : axis + rank], bool)
            if mask.size:  # two of it, so that it goes with the arrays
                mask.flat[0] = mask.flat[-1] = True
            items.append(mask)
            axis += rank
            continue
        if kind in ("array", "list"):
            size = int(np.prod(common))
            places = draw(st.lists(st.integers(-n - (n == 0), max(n - 1, 0)), min_size=size,
                                   max_size=size))  # fmt: skip
            array = np.array(places, np.int64).reshape(common)
            items.append(array.tolist() if kind == "list" and common else array)
        elif kind == "new":
            items.append(None)
            continue
        elif kind == "bool":
            items.append(draw(st.booleans()))
            continue
        else:
            items.append(draw(one_index(n)))
        axis += 1
    if draw(st.integers(0, 3)) == 0:
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items) if len(items) != 1 or draw(st.booleans()) else items[0]


@st.composite
def cases(draw: Any, indices: Any) -> tuple[tuple[int, ...], Any]:
    shape = draw(st.sampled_from(SHAPES))
    return shape, draw(indices(shape))


def lazy(index: Any, how: int) -> Any:
    """The index with its arrays lazy (how=1), or lazy and pending (how=2)."""
    if isinstance(index, tuple):
        return tuple(lazy(i, how) for i in index)
    if isinstance(index, np.ndarray) and how:
        array = lazynp.array(index)
        if how == 2:
            array = lazynp.logical_not(~array) if index.dtype == bool else array + 1 - 1
        return array
    return index


@given(cases(basic_indices))
def test_any_basic_read(case: tuple[tuple[int, ...], Any]) -> None:
    shape, index = case
    data = {"x": np.arange(int(np.prod(shape))).reshape(shape), "k": index}
    check("x[k]", data, exact=True)


@given(cases(advanced_indices), st.integers(0, 2))
def test_any_read(case: tuple[tuple[int, ...], Any], how: int) -> None:
    shape, index = case
    x = np.arange(int(np.prod(shape))).reshape(shape)
    expected, _ = run("x[k]", np, {"x": x, "k": index})
    ours, _ = run("x[k]", lazynp, {"x": x, "k": lazy(index, how)})
    compare(ours, expected)


def compare(ours: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        wanted: Any = type(expected)
        if wanted is ValueError:  # with two things wrong, either may be found first
            wanted = (ValueError, IndexError)
        assert isinstance(ours, wanted), f"{ours!r}, not {expected!r}"
    elif isinstance(ours, Exception):
        raise ours
    else:
        same(ours, expected, exact=True)


@given(cases(advanced_indices), st.integers(0, 2), st.sampled_from(["scalar", "full", "row",
       "wrong", "one", "own"]), st.sampled_from(["=", "+="]))  # fmt: skip
def test_any_write(case: tuple[tuple[int, ...], Any], how: int, value: str, op: str) -> None:
    shape, index = case
    x = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        target = x[index].shape
    except IndexError:
        target = ()
    u = {
        "scalar": 7,
        "full": np.arange(int(np.prod(target))).reshape(target) + 100,
        "row": np.arange(target[-1] if target else 1) + 50,
        "wrong": np.zeros((*target, 2), int),
        "one": np.full((1, *(1 for _ in target)), 9),
        "own": x[:1] if x.ndim else x,
    }[value]
    program = f"x[k] {op} u; x"
    expected, _ = run(program, np, {"x": x, "k": index, "u": u})
    ours, _ = run(program, lazynp, {"x": x, "k": lazy(index, how), "u": u})
    compare(ours, expected)


# -- any program of views and writes ---------------------------------------------------------------


@st.composite
def steps(draw: Any) -> tuple[str, Any]:
    kind = draw(st.sampled_from(["slice", "slice", "T", "reshape", "flip", "swap", "ravel", "write",
                                 "write", "inplace", "mask", "fancy", "at", "copy", "flat",
                                 "between", "drop", "diagonal", "bytes", "compute"]))  # fmt: skip
    return kind, draw(st.integers(0, 10**6))


def take_step(np_: Any, arrays: list[Any], kind: str, seed: int) -> None:
    """One step, the same on both modules: it depends on shapes and the seed only."""
    rng = np.random.default_rng(seed)
    where = int(rng.integers(len(arrays)))
    x = arrays[where]
    if kind == "drop":
        if len(arrays) > 1:
            del arrays[where]
    elif kind == "compute":
        str(x)
    elif kind in ("slice", "T", "reshape", "flip", "swap", "ravel", "copy", "diagonal", "bytes"):
        arrays.append(viewed(np_, x, kind, rng))
    elif kind == "between":
        y = arrays[rng.integers(len(arrays))]
        if x.ndim and y.ndim and x.dtype == y.dtype:  # otherwise NumPy may read its own writes
            n = min(x.shape[0], y.shape[0])
            if x[:n].shape == y[:n].shape:
                x[:n] = y[:n]
    elif kind == "write":
        x[random_index(x.shape, rng)] = int(rng.integers(100))
    elif kind == "inplace":
        x += int(rng.integers(9))
    elif kind == "mask":
        x[x % 3 == int(rng.integers(3))] = int(rng.integers(100))
    elif kind == "flat":
        x.flat[int(rng.integers(max(x.size, 1))) :: 2] = int(rng.integers(100))
    elif x.ndim and x.shape[0]:
        places = rng.integers(-x.shape[0], x.shape[0], 3)
        if kind == "at":
            np_.add.at(x, places, 1)
        else:
            x[places] = np.arange(int(np.prod(x[places].shape))).reshape(x[places].shape)


def viewed(np_: Any, x: Any, kind: str, rng: np.random.Generator) -> Any:
    if kind == "slice":
        return x[(*random_index(x.shape, rng), ...)]
    if kind == "T":
        return x.T
    if kind == "flip":
        return x[tuple(slice(None, None, -1) for _ in x.shape)]
    if kind == "swap":
        return x.swapaxes(0, -1) if x.ndim else x
    if kind == "ravel":
        return x.ravel()
    if kind == "copy":
        return x.copy()
    if kind == "diagonal":
        square = x.ndim == 2 and x.shape[0] == x.shape[1]
        return np_.einsum("ii->i", x) if square else x
    if kind == "bytes":
        aligned = x.ndim and x.strides[-1] == x.itemsize and x.itemsize > 1
        return x.view({8: "i4", 4: "i2", 2: "i1"}[x.itemsize]) if aligned else x
    n = x.shape[0] if x.ndim and x.shape[0] else 1
    return x.reshape(n, -1) if x.size else x


def random_index(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    items: list[Any] = []
    for n in shape:
        if n and rng.random() < 0.3:
            items.append(int(rng.integers(-n, n)))
        else:
            start, stop = (None if rng.random() < 0.4 else int(rng.integers(-n, n + 1))
                           for _ in range(2))  # fmt: skip
            items.append(slice(start, stop, [None, 1, 2, -1, -2][rng.integers(5)]))
    return tuple(items)


def longer(x: Any) -> list[int]:
    """The axes of more than one element."""
    return [k for k, n in enumerate(x.shape) if n > 1]


@given(
    st.lists(steps(), min_size=1, max_size=8),
    st.sampled_from([(4,), (3, 4), (3, 3), (2, 3, 2)]),
)
def test_any_program(program: list[tuple[str, int]], shape: tuple[int, ...]) -> None:
    """Views of views, written in any order: all arrays agree after every write."""
    start = np.arange(int(np.prod(shape))).reshape(shape)
    numpys, ours = [start.copy()], [lazynp.array(start)]
    for n, (kind, seed) in enumerate(program):
        take_step(np, numpys, kind, seed)
        take_step(lazynp, ours, kind, seed)
        if n % 2:
            for k, (mine, theirs) in enumerate(zip(ours, numpys, strict=True)):
                same(mine, theirs, True, f"array {k} after step {n} ({kind})")
    for k, (mine, theirs) in enumerate(zip(ours, numpys, strict=True)):
        same(mine, theirs, True, f"array {k} at the end")
        if theirs.size:  # the strides that mean something
            for axis in longer(theirs):
                assert mine.strides[axis] == theirs.strides[axis]


@pytest.mark.parametrize("index", ["i", "(i,)", "i.tolist()", "lazynp.asarray(i)"])
@pytest.mark.parametrize("values", ["ones(3)", "[1.0, 1.0, 1.0]", "ones((1, 3))", "ones((2, 3))"])
@pytest.mark.parametrize("written", ["of ours", "of NumPy's", "a view", "traced"])
def test_at_broadcasts_values_to_an_index_of_several_axes(
    index: str, values: str, written: str
) -> None:
    """NumPy's own `add.at` reads past the end of `ones(3)` here."""
    i = np.array([[-2, -1, -3], [-3, -1, -2]])
    names = {"i": i, "lazynp": lazynp, "ones": np.ones}
    where, these = eval(index, names), eval(values, names)

    def add(x: Any) -> Any:
        lazynp.add.at(x, where, these)
        return x

    for _ in range(2 if written == "traced" else 20):  # what lies behind varies
        if written == "traced":
            done = lazynp.jit(add)(lazynp.array([1.0, 1.0, 2.0]))
        elif written == "a view":
            done = add(lazynp.array([1.0, 0.0, 1.0, 0.0, 2.0, 0.0])[::2])
        else:
            x = np.array([1.0, 1.0, 2.0])
            done = add(x if written == "of NumPy's" else lazynp.array(x))
        assert done.tolist() == [3.0, 3.0, 4.0]
