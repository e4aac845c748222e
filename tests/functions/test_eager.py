"""Eager operations in loops that would gain nothing from programs, against NumPy."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _fronts, _node
from lazynp._array import Scalar
from lazynp._recorder import local
from tests.helpers import be_eager, fresh_start, is_eager


@pytest.fixture(autouse=True)
def at_first() -> Iterator[None]:
    """The policy that has such loops, from a recorder that knows nothing."""
    with np.config(execution="adaptive"):
        fresh_start()
        yield
    fresh_start()


@pytest.fixture
def eager() -> None:
    be_eager(True)


def pending() -> int:
    return len(local.recorder.pending)


# -- when ------------------------------------------------------------------------------------------


def test_a_loop_of_small_operations() -> None:
    fresh_start()
    x, step = np.array(numpy.arange(8.0)), np.array(numpy.ones(8))
    for _ in range(100):
        x = x * 0.5 + step
    assert is_eager()
    assert pending() == 0
    assert x.tolist() == pytest.approx([2.0] * 8)


def test_a_loop_of_large_ones_is_not() -> None:
    fresh_start()
    x = np.array(numpy.ones(500_000))
    for _ in range(100):  # that write more than 1 GB
        x = x * 0.5 + x * x * 0.25 - 0.25
    assert not is_eager()


def test_slices_of_large_arrays_are_parts_of_programs(eager: None) -> None:
    """As NumPy's views they would have to be copied for each program that reads them."""
    u = np.array(numpy.arange(1.5e6).reshape(1500, 1000))
    for part in (u[1:-1, 2:], u[1:-1].T, u[:, :-1].reshape(-1, 9)):
        assert part._read()[_node.VALUE] is None
    assert type(u[3, :40]._read()[_node.VALUE]) is numpy.ndarray


def test_a_loop_whose_programs_differ_each_time() -> None:
    """No program would be used again."""
    fresh_start()
    x = np.array(numpy.ones(20_000))
    for n in range(1, 40):
        y = x[n:] * 0.5 + x[:-n]
        y = y * y - 0.25
        assert float(y[0]) == 2.0
    assert is_eager()


def test_a_loop_that_chooses_by_masks() -> None:
    fresh_start()
    x = np.array(numpy.linspace(-1.0, 1.0, 100_000))
    for _ in range(40):
        few = x[x > 0.5]
        x = x * 0.999
    assert is_eager()
    assert few.shape == (few.size,)


def test_not_where_everything_is_to_be_compiled() -> None:
    fresh_start()
    with np.config(execution="compiled"):
        x = np.array(numpy.arange(8.0))
        for _ in range(100):
            x = x[x >= 0.0] * 0.5
        assert not is_eager()


def test_nothing_is_inferred(eager: None) -> None:
    """An op takes as long to make as twenty operations to do."""
    x, y = np.array(numpy.ones(91)), np.array(numpy.ones((91, 3)))
    known = set(_node._ops.table)
    for _ in range(3):
        z = np.sqrt(x[1:] + x[:-1]) * 2.0
        w = (x @ y)[1:].sum() + y[:, 1].max() + np.concatenate([z, z]).mean()
        y[3:5] = w
        y[:, 0] *= 2.0
        z = np.where(z > 1, z, 0).reshape(9, 10).T.astype(int)
    assert not _node._ops.table.keys() - known
    assert pending() == 0


def filled(np: Any, m: Any, value: Any, **options: Any) -> Any:
    """What `fill_diagonal` of a view makes of the whole."""
    np.fill_diagonal(m[:, 1:], value, **options)
    return m


AT_ONCE: dict[str, Callable[..., Any]] = {
    "a new axis": lambda np, m, v, k: m[None],
    "all of it": lambda np, m, v, k: m[...],
    "zeros of a length": lambda np, m, v, k: np.zeros(k[0]),
    "ones of a shape": lambda np, m, v, k: np.ones((k[0], 2), dtype=int),
    "full of a length": lambda np, m, v, k: np.full(k[2], 7),
    "eye of a size": lambda np, m, v, k: np.eye(k[0]),
    "a diagonal filled": lambda np, m, v, k: filled(np, m, 7),
    "a diagonal filled with elements": lambda np, m, v, k: filled(np, m, v[:2]),
    "reduceat": lambda np, m, v, k: np.add.reduceat(m, [0, 2], axis=1),
    "reduceat of few": lambda np, m, v, k: np.maximum.reduceat(k, k[[1, 2]]),
    "polyval": lambda np, m, v, k: np.polyval(k, m),
    "polyval of a number": lambda np, m, v, k: np.polyval(m[0], 2),
    "polyfit": lambda np, m, v, k: np.polyfit(m[0], m[0] ** 2 + 1.0, 1),
}  # each was recorded; to infer an op takes a hundred times as long as NumPy does


@pytest.mark.parametrize("name", AT_ONCE)
def test_it_is_done_at_once(name: str, eager: None) -> None:
    f, given = AT_ONCE[name], (numpy.arange(77.0).reshape(7, 11), V, numpy.array([17, 0, 2, 19]))
    ours = list(map(np.array, given))  # of sizes that nothing has seen
    known = set(_node._ops.table)
    got = f(np, *ours)
    assert not _node._ops.table.keys() - known
    assert pending() == 0
    assert got._read()[_node.VALUE] is not None
    assert described(got) == described(f(numpy, *given))


def test_a_warning_of_a_fit_names_the_users_line() -> None:
    for at_once in (False, True):
        be_eager(at_once)
        x, y = np.array(numpy.ones(5)), np.array(numpy.arange(5.0))
        with pytest.warns(numpy.exceptions.RankWarning) as caught:
            np.polyfit(x, y, 2)
        if _fronts.BUILT or not at_once:
            assert caught[0].filename == __file__


# -- what ------------------------------------------------------------------------------------------

M = numpy.arange(12.0).reshape(3, 4) - 3.0
V = numpy.array([1.5, -0.0, numpy.nan, numpy.inf])
K = numpy.array([3, 0, 2, 2])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "zeros": lambda np, m, v, k: np.zeros((2, 3), dtype="f4"),
    "ones": lambda np, m, v, k: np.ones(3, int),
    "full": lambda np, m, v, k: np.full((2, 2), 7),
    "eye": lambda np, m, v, k: np.eye(3, 4, k=1),
    "zeros_like": lambda np, m, v, k: np.zeros_like(m),
    "ones_like": lambda np, m, v, k: np.ones_like(k, dtype=float),
    "array": lambda np, m, v, k: np.array([v[0], v[1], 2]),
    "array of rows": lambda np, m, v, k: np.array([[v[0], 1], [k[0], k[1]]]),
    "astype": lambda np, m, v, k: m.astype(np.int32),
    "astype of nan": lambda np, m, v, k: v.astype(bool),
    "take": lambda np, m, v, k: np.take(m, k[:2], axis=1),
    "choose by indices": lambda np, m, v, k: m[:, k],
    "choose by a mask": lambda np, m, v, k: m[m > 2],
    "choose rows": lambda np, m, v, k: m[np.array([True, False, True])],
    "choose by a list": lambda np, m, v, k: m[[0, -1]],
    "mixed": lambda np, m, v, k: m[1:, k],
    "nonzero": lambda np, m, v, k: np.nonzero(m > 2),
    "where": lambda np, m, v, k: np.where(m > 2),
    "argwhere": lambda np, m, v, k: np.argwhere(m > 2),
    "argsort": lambda np, m, v, k: np.argsort(v),
    "unique": lambda np, m, v, k: np.unique(k, return_counts=True),
    "append": lambda np, m, v, k: np.append(v, 1),
    "delete": lambda np, m, v, k: np.delete(m, 1, axis=0),
    "insert": lambda np, m, v, k: np.insert(v, 1, 5.0),
    "isin": lambda np, m, v, k: np.isin(m, k),
    "isclose": lambda np, m, v, k: np.isclose(v, v),
    "allclose": lambda np, m, v, k: np.allclose(v, v, equal_nan=True),
    "array_equal": lambda np, m, v, k: np.array_equal(m, m),
    "pad": lambda np, m, v, k: np.pad(m, 1, mode="edge"),
    "meshgrid": lambda np, m, v, k: np.meshgrid(k, v[:2]),
    "histogram": lambda np, m, v, k: np.histogram(m, bins=4),
    "cov": lambda np, m, v, k: np.cov(m),
    "diag": lambda np, m, v, k: np.diag(k),
    "flatten": lambda np, m, v, k: m.T.flatten("F"),
    "reshape": lambda np, m, v, k: m.reshape(-1, 2),
    "transpose": lambda np, m, v, k: m.T,
    "flip": lambda np, m, v, k: np.flip(m, 1),
    "squeeze": lambda np, m, v, k: m[:, None].squeeze(1),
    "sum": lambda np, m, v, k: m.sum(),
    "sum of columns": lambda np, m, v, k: m.sum(axis=0, keepdims=True),
    "sum of bools": lambda np, m, v, k: (m > 1).sum(axis=-1),
    "max of nan": lambda np, m, v, k: v.max(),
    "any": lambda np, m, v, k: (m > 5).any(axis=(0, 1)),
    "argmax": lambda np, m, v, k: m.argmax(axis=0),
    "matmul": lambda np, m, v, k: m @ m.T,
    "powers": lambda np, m, v, k: [x**p for x in (m, k) for p in (2, 3, 0.5, 0, m[0] - m[0])],
    "powers of bools": lambda np, m, v, k: [(m > 0) ** p for p in (3, 0.5, 0)],
    "inner product": lambda np, m, v, k: k @ k,
    "reduceat": lambda np, m, v, k: np.add.reduceat(m, [0, 2], axis=1),
    "fill_diagonal": lambda np, m, v, k: (lambda x: filled(np, x, x[2]))(m.copy()),
}
ERRORS: dict[str, Callable[..., Any]] = {
    "index": lambda np, m, v, k: m[5],
    "two indices": lambda np, m, v, k: m[0, 9],
    "too many": lambda np, m, v, k: m[0, 0, 0],
    "array index": lambda np, m, v, k: m[k + 7],
    "mask": lambda np, m, v, k: m[np.array([True, False])],
    "float index": lambda np, m, v, k: m[v],
    "broadcast": lambda np, m, v, k: m + m.T,
    "axis": lambda np, m, v, k: m.sum(axis=2),
    "empty": lambda np, m, v, k: m[:0].max(),
    "reshape": lambda np, m, v, k: m.reshape(5, 2),
    "matmul": lambda np, m, v, k: m @ m,
    "negative powers": lambda np, m, v, k: k**-1,
    "store": lambda np, m, v, k: m.__setitem__(0, k[:3]),
    "concatenate": lambda np, m, v, k: np.concatenate([m, v]),
}


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [described(i) for i in x]
    return numpy.asarray(x).dtype, numpy.shape(x), numpy.asarray(x).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, eager: None) -> None:
    f = FUNCTIONS[name]
    with numpy.errstate(all="ignore"):
        got = f(np, np.array(M), np.array(V), np.array(K))
        want = f(numpy, M, V, K)
    assert described(got) == described(want)
    parts = got if isinstance(got, (tuple, list)) else (got,)
    assert all(isinstance(p, np.Array | bool) for p in parts)  # of `allclose`, Python's


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, eager: None) -> None:
    f = ERRORS[name]
    with pytest.raises(Exception) as want:
        f(numpy, M, V, K)
    with pytest.raises(want.type) as got:
        f(np, np.array(M), np.array(V), np.array(K))
    assert str(got.value).split(" with ")[0] == str(want.value).split(" with ")[0]


def test_iteration_sees_what_is_written_meanwhile(eager: None) -> None:
    found = []
    for np_ in (numpy, np):
        x, seen = np_.array([1.0, 2.0, 3.0]), []
        for v in x:
            seen.append(float(v))
            x[2] = 9.0
        found.append(seen)
    assert found[0] == found[1] == [1.0, 2.0, 9.0]


def test_views_write_into_what_had_no_memory_yet(eager: None) -> None:
    x = np.zeros((200, 200))  # too large to be eager
    copy, row = x.copy(), x[1]
    row[2] = 5.0
    assert (float(x[1, 2]), float(x.sum()), float(copy.sum())) == (5.0, 5.0, 0.0)
    assert pending() == 0


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0)])
def test_broadcast_numbers(shape: tuple[int, ...], eager: None) -> None:
    """Of an array without axes and of a Scalar: at once, and what is written since is seen."""

    def program(np: Any) -> Any:
        whole, numbers = np.array(2.5), np.arange(3.0)
        views = [np.broadcast_to(whole, shape), np.broadcast_to(numbers[1], shape)]
        if np is not numpy:
            assert all(v._node[_node.VALUE] is not None for v in views)
        found = [(v + 1).tolist() for v in views]
        whole[...], numbers[1] = 7.0, 5.0
        return found, [(v.tolist(), v.strides, v.flags.writeable, v.sum().item()) for v in views]

    assert program(np) == program(numpy)


def test_views_by_scalars(eager: None) -> None:
    """An index with scalars of the program's in it gives a view like any other."""
    x, i = np.array(M), np.array(K)
    for index in (
        lambda i: (i, slice(1, None)), lambda i: (slice(0, i), 0), lambda i: i, lambda i: (i, ...),
        lambda i: (None, i), lambda i: slice(i - 2, i),
    ):  # fmt: skip
        view = x[index(i[2])]
        want = numpy.array(x)
        want[index(2)] += 1.0
        view += 1.0
        assert x.tolist() == want.tolist()
        x[0], want[0] = 5.0, 5.0
        assert view.tolist() == want[index(2)].tolist()


def test_an_old_value_is_kept(eager: None) -> None:
    x = np.array(M)
    before, view = x + 0.0, x[1]
    old = np.array(x)
    x[1] = 0.0
    x[0, 1:3] = x[2, :2]
    assert view.tolist() == [0.0] * 4
    assert old.tolist() == before.tolist() == M.tolist()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_numpys_scalars_as_operands(dtype: str, at_once: bool) -> None:
    be_eager(at_once)
    s = numpy.dtype(dtype).type(3)
    for of_x in ("f4", "i8", "c16"):
        n = numpy.arange(1, 7).astype(of_x)
        for function in (numpy.add, numpy.multiply, numpy.maximum, numpy.equal, numpy.power):
            ours = getattr(np, function.__name__)
            for got, wanted in (
                (ours(np.array(n), s), function(n, s)),
                (ours(s, np.array(n)), function(s, n)),
                (function(s, np.array(n)), function(s, n)),
                (ours(s, s), function(s, s)),
            ):
                assert got.dtype == wanted.dtype and got.shape == wanted.shape
                assert numpy.asarray(got).tolist() == pytest.approx(wanted.tolist())
    if dtype not in "?c8c16":
        assert float(np.sqrt(s)) == pytest.approx(float(numpy.sqrt(s)), rel=1e-3)
        assert np.sqrt(s).dtype == numpy.sqrt(s).dtype


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("kind", [numpy.int64, numpy.int8, numpy.uint16, numpy.uint64])
def test_numpys_integers_as_indices(kind: Any, at_once: bool) -> None:
    be_eager(at_once)
    n, i = numpy.arange(20.0).reshape(4, 5), kind(2)
    x = np.array(n)
    for index in (i, (i, 1), (i, kind(3)), (slice(None), i), (i, None, slice(1, 3)), (..., i)):
        assert numpy.asarray(x[index]).tolist() == n[index].tolist()
        assert isinstance(x[index], Scalar) == isinstance(n[index], numpy.generic)
        x[index] = n[index] = -1.0
        x[index] += kind(3)
        n[index] += kind(3)
        assert numpy.asarray(x).tolist() == n.tolist()
    for index in (kind(7), (kind(0), kind(7)), (slice(None), kind(9))):
        with pytest.raises(IndexError, match="out of bounds"):
            x[index]
        with pytest.raises(IndexError, match="out of bounds"):
            x[index] = 1.0
    with pytest.raises(IndexError, match="only integers"):
        x[numpy.float64(1)]


def test_numpys_functions_record_the_users_line(eager: None) -> None:
    x = np.array(numpy.ones(1_100_000))
    y = numpy.multiply(numpy.float64(2), x)
    assert pending() == 1
    assert y._node[_node.CODE] is test_numpys_functions_record_the_users_line.__code__


OUT: dict[str, Callable[..., Any]] = {
    "add": lambda np, x, y, o: np.add(x, y, out=o),
    "in place": lambda np, x, y, o: np.multiply(o, y, out=o),
    "maximum": lambda np, x, y, o: np.maximum(x, o, out=o),
    "tuple": lambda np, x, y, o: np.subtract(x, 1.5, out=(o,)),
    "unary": lambda np, x, y, o: np.sqrt(y, out=o),
    "broadcast": lambda np, x, y, o: np.add(x[0], 2, out=o),
    "of itself": lambda np, x, y, o: np.add(o[::-1], o.T, out=o),
    "part": lambda np, x, y, o: np.add(x[1:], o[:-1], out=o[1:]),
    "dot": lambda np, x, y, o: np.dot(x, y, out=o),
    "dot of itself": lambda np, x, y, o: np.dot(o, o, out=o),
    "matmul": lambda np, x, y, o: np.matmul(x, o, out=o),
    "sum": lambda np, x, y, o: x.sum(axis=0, out=o[0]),
    "max": lambda np, x, y, o: np.max(x, 1, keepdims=True, out=o[:, :1]),
    "mean": lambda np, x, y, o: np.mean(x, axis=1, out=o[:, 2]),
    "cumsum": lambda np, x, y, o: np.cumsum(o, axis=1, out=o),
    "clip": lambda np, x, y, o: np.clip(o, 0.2, x, out=o),
    "round": lambda np, x, y, o: np.round(y, 1, out=o),
    "take": lambda np, x, y, o: np.take(x, [2, 0, 1], axis=1, out=o),
    "by name": lambda np, x, y, o: np.clip(a=x, a_min=0.2, a_max=y, out=o),
    "cumsum by name": lambda np, x, y, o: np.cumsum(a=x, axis=1, out=o),
    "clip into a part": lambda np, x, y, o: np.clip(o[1:], x[0], o[:-1], out=o[:2]),
    "clip wrongly": lambda np, x, y, o: np.clip(x, 0, 1, out=o.astype(int)),
    "where": lambda np, x, y, o: np.add(x, y, out=o, where=x > 0),
    "dtype": lambda np, x, y, o: np.add(x, y, out=o, dtype="f4"),
    "numpy's": lambda np, x, y, o: np.add(x, numpy.ones(3), out=o),
    "casting": lambda np, x, y, o: np.add(x, y, out=o.astype("f4")),
    "wrong cast": lambda np, x, y, o: np.add(x, y, out=o.astype("i8")),
    "wrong shape": lambda np, x, y, o: np.add(x, y, out=o[:2]),
    "wrong dot": lambda np, x, y, o: np.dot(x, y, out=o[:, ::-1]),
    "wrong sum": lambda np, x, y, o: x.sum(axis=0, out=o),
    "read-only": lambda np, x, y, o: np.add(x, y, out=np.broadcast_to(o[0], (3, 3))),
}


@pytest.mark.parametrize("name", OUT)
def test_out(name: str, eager: None) -> None:
    def outcome(np: Any) -> Any:
        x = np.array(numpy.linspace(-1, 1, 9).reshape(3, 3))
        y, o = x * x + 0.3, x + 2.0
        try:
            got = OUT[name](np, x, y, o)
        except (ValueError, TypeError) as e:
            return type(e).__name__, numpy.asarray(o).tolist()
        return (
            got is o,
            got.shape,
            str(got.dtype),
            *(numpy.asarray(v).tolist() for v in (got, o, x)),
        )

    assert outcome(np) == outcome(numpy)


def test_out_takes_no_new_memory(eager: None) -> None:
    x, o = np.array(numpy.ones(9)), np.array(numpy.zeros(9))
    np.add(x, x, out=o)
    memory = id(o._node[_node.VALUE])
    for _ in range(3):
        np.sqrt(np.multiply(o, x, out=o), out=o)
        np.cumsum(o, out=o)
        assert id(o._node[_node.VALUE]) == memory


WRITTEN = """
np.put(o, [1, -2], 5.0)
np.put(o, np.array([1, 20, 3]), x, mode="wrap")
np.put(o, 3, [7.0])
np.put(o, [1, 99], 5.0)
np.put(o[1:, ::2], [0, 1], o[0, :2])
np.put(o, [0], 1j)
np.put_along_axis(o, np.array([[0], [2], [1]]), 7.0, 1)
np.put_along_axis(o, np.array([[0, 1, 9]]), x, 0)
np.place(o, x > 0, [1.0, 2.0])
np.place(o, o > 2, o)
np.place(o, x > 0, [])
np.putmask(o, x > 0, x)
np.putmask(o, [True, False], 1)
np.copyto(o, x, where=x > 0)
np.copyto(o, o.T, where=[True, False, True])
np.copyto(o, 1j, where=x > 0)
np.copyto(n, x, where=x > 0)
np.copyto(n, 300.0, "unsafe", True)
np.copyto(n, 10**30, "unsafe", x > 0)
np.fill_diagonal(o, 3)
np.fill_diagonal(o[:2], x[0])
np.fill_diagonal(o[0], 3)
o.flat = x
o.flat = [1, 2]
o.T.flat = np.arange(9)
o.flat[3] = 2.5
o.flat[9] = 2.5
o.flat[1::2] = o[0]
o.flat[np.array([0, 8])] = [1j, 2]
o.flat[0] = [1, 2]
n.flat[2] = 7.9
o.sort()
o.sort(axis=0, kind="stable")
o[:, ::-1].sort(0)
o.sort(2)
o.partition(1)
o.partition(5)
o.T.partition(1, axis=0)
"""


@pytest.mark.parametrize("statement", WRITTEN.strip().splitlines())
def test_writes(statement: str, eager: None) -> None:
    def outcome(np: Any) -> Any:
        x = np.array(numpy.linspace(1, -1, 9).reshape(3, 3))
        o = x + 2.0
        names = {"np": np, "x": x, "o": o, "n": o.astype("i1")}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                exec(statement, names)
                error = ""
            except Exception as e:
                error = next(k for k in type(e).__mro__ if k.__module__ == "builtins").__name__
        left = [numpy.asarray(names[k]).tolist() for k in "xon"]
        return left, error, [w.category for w in told]

    mine, numpys = outcome(np), outcome(numpy)
    if statement == "o.flat[1::2] = o[0]":  # NumPy reads what it has written
        numpys[0][1] = mine[0][1]
    assert mine == numpys


def test_writes_record_nothing(eager: None) -> None:
    x = np.array(numpy.linspace(-1, 1, 9).reshape(3, 3))
    o = x + 2.0
    memory = id(o._node[_node.VALUE])
    for statement in WRITTEN.strip().splitlines():
        if statement.startswith(("np.put(o, [1, -2]", "np.place(o, x > 0, [1", "np.putmask(o, x")):
            exec(statement, {"np": np, "x": x, "o": o})
    np.copyto(o, x, where=x > 0)
    np.fill_diagonal(o, 3)
    o.flat = x
    o.flat[3] = 2.5
    o.sort()
    o.partition(1)
    assert (id(o._node[_node.VALUE]), pending()) == (memory, 0)


def stencil_of_views(np: Any) -> Any:
    u = np.zeros((5, 6))
    u[0] = 1
    middle, up, down, left = u[1:-1, 1:-1], u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2]
    for _ in range(4):
        middle[...] = 0.25 * (up + down + left)
        middle += left
        left[0] = up[1] * 2
        up[:, 1], u[2:3] = down[:, 2], u[1:2]
    return u, middle, up, down, left


def views_of_views(np: Any) -> Any:
    u = np.zeros((4, 6)) + 1.0
    rows, turned = u[1:], u.T
    part, corner = rows[:, ::2], turned[2:4, 1:]
    for k in range(4):
        part *= 2.0
        corner += part[0, 0]
        rows[0, k] = corner[0, 0]
        turned[k] = turned[k + 1]
        u[:, 1:3] -= u[:, 2:4]
    return u, rows, turned, part, corner


def swapped_borders(np: Any) -> Any:
    p = np.zeros((6, 6)) + np.zeros((6, 1))
    p[2:4, 2:4] = 3.0
    for _ in range(4):
        p[:, -1], p[:, 0] = p[:, -2], p[:, 1]
        before = p[1:3]
        p[0, :], p[-1, :] = p[1, :], 0
        kept = before * 1.0
        p[1:-1, 1:-1] += 1.0
        before -= kept
    return p, before, kept


@pytest.mark.parametrize("program", [stencil_of_views, views_of_views, swapped_borders])
@pytest.mark.parametrize("times", [1, 3])
def test_views_that_live_on(program: Callable[[Any], Any], times: int, eager: None) -> None:
    """Stores go into the memory that other views show too; nothing is recorded for it."""
    wanted = program(numpy)
    for _ in range(times):
        got = program(np)
    assert [x.tolist() for x in got] == [x.tolist() for x in wanted]


def test_views_that_live_on_are_not_in_the_way(eager: None) -> None:
    u = np.array(numpy.arange(8.0))
    left, right = u[:-1], u[1:]
    left[0] = right[0] + 1.0  # from now on they hold no memory
    memory, cuts = id(u._node[_node.VALUE]), np.stats().cuts
    for k in range(5):
        left[...] = left + right
        right[k] = 1.0
        assert id(u._node[_node.VALUE]) == memory
    assert np.stats().cuts == cuts and pending() == 0


def all_parts(np: Any, rounds: int) -> tuple[Any, float]:
    """All of a large array, by views of its parts that are made once."""
    whole = np.linspace(0.0, 1.0, 100_000)
    parts, total = np.split(whole, 10), 0.0
    for _ in range(rounds):
        for part in parts:
            part *= 0.99
            part[::2] += part.mean()
            total += float(part[1])
    return whole, total


def test_views_of_the_parts_of_a_large_array(eager: None) -> None:
    """Once it is computed, the parts are written in its memory: more rounds make no more cuts."""
    cuts = []
    for rounds in (2, 6):
        before = np.stats().cuts
        whole, total = all_parts(np, rounds)
        cuts.append(np.stats().cuts - before)
        expected = all_parts(numpy, rounds)
        numpy.testing.assert_allclose(whole, expected[0], rtol=1e-12)
        assert total == pytest.approx(expected[1])
    assert cuts[0] == cuts[1] < 4


def test_a_view_of_such_a_loop_is_an_argument_of_jit(eager: None) -> None:
    x = np.array(M)
    rows = np.jit(lambda r: r * 2.0)
    assert rows(x[1]).tolist() == (M[1] * 2).tolist()
    assert rows(x[2]).tolist() == (M[2] * 2).tolist()

    @np.jit
    def write(r: Any) -> None:
        r[1:] = 0.0

    write(x[1])
    assert x[1].tolist() == [M[1, 0], 0.0, 0.0, 0.0]


def test_argsort_is_stable(eager: None) -> None:
    """Unlike NumPy's by default: the same under every policy, and as the array API has it."""
    x = numpy.arange(300) * 7 % 5
    assert np.argsort(np.array(x)).tolist() == numpy.argsort(x, kind="stable").tolist()
    assert np.array(x).argsort().tolist() == numpy.argsort(x, stable=True).tolist()


@pytest.mark.parametrize("axis", [-1, 0, None, 2])
def test_argsort_of_many(eager: None, axis: Any) -> None:
    """By NumPy's fastest sort, with equal elements put in order; nan and errors are NumPy's."""
    x = numpy.random.default_rng(0).permutation(6000).astype(float).reshape(60, 100)
    x[::7, ::9] = 3.0
    with_nan = numpy.where(x > 5000, numpy.nan, x)
    for values in (x, x.T, x.astype(int), with_nan):
        ours = np.asfortranarray(values) if values is x.T else np.array(values)
        want = outcome(lambda v=values: v.argsort(axis, kind="stable"))
        got = outcome(lambda v=ours: v.argsort(axis))
        if not isinstance(want, numpy.ndarray):
            assert got == want
            continue
        assert got.strides == want.strides
        numpy.testing.assert_array_equal(got, want)


def outcome(function: Any) -> Any:
    try:
        return function()
    except ValueError as error:  # AxisError is one
        return type(error).__name__, str(error)


def test_elements_are_scalars(eager: None) -> None:
    x = np.array(M)
    for s in (x[0, 1], x.sum(), x[0].max(), x.argmax(), x[0] @ x[1], np.sqrt(x[2, 2])):
        assert type(s) is Scalar


def test_what_is_stored_by_an_index_array_may_be_a_view_of_the_same(eager: None) -> None:
    x, i = np.arange(4.0), np.array([3, 1, 0, 2])
    x[i] = x[::-1]
    assert x.tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [None, "f8"])
def test_out_without_axes(function: Any, dtype: Any) -> None:
    """NumPy ends the process if `out` has another dtype."""
    for x in (2.5, np.float64(2.5), np.array([1.0]), [2.0]):
        with pytest.raises(ValueError):
            function(x, dtype=dtype, out=np.array(3))


SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "scalars": lambda v: (v[0], v[1], v[2]),
    "scalars and numbers": lambda v: [v[0], 2, 3.5],
    "ints": lambda v: (1, -2, 300),
    "large ints": lambda v: [1, 2, 2**63],
    "bools": lambda v: [True, v[0] > 1, False],
    "complex": lambda v: (1j, v[0], 2.0),
    "not finite": lambda v: [v[0], float("nan"), float("inf")],
    "too few": lambda v: (v[0], 1.0),
    "one": lambda v: [v[1]],
    "none": lambda v: (),
    "nested": lambda v: [(v[0], 1.0, 2.0)],
    "uneven": lambda v: [v[0], (1.0, 2.0), 3.0],
    "strings": lambda v: ("1", "2", "x"),
    "NumPy's": lambda v: [numpy.float32(0.1), numpy.int8(3), numpy.uint64(2**63)],
    "an array": lambda v: [v[:1], v[1], 2.0],
    "nothing": lambda v: [None, 1, 2],
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u8", "?", "c16", ">f8"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_stored(name: str, dtype: str, eager: None) -> None:
    """In a row, a column and a view of one that shows what is written."""
    given = numpy.array([2.5, -1.0, 7.25])
    for index in (1, (slice(None), 0), ..., [0, 2], (0, slice(None, None, -1))):
        found = []
        for np_ in (numpy, np):
            x, v = np_.array(numpy.ones((3, 3), dtype)), np_.array(given)
            row = x[1]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    x[index] = SEQUENCES[name](v)
                    told: Any = None
                except Exception as error:
                    told = type(error)
            kinds = [w.category for w in caught if w.category is not RuntimeWarning]
            written = None if told else (described(x), described(row))  # NumPy may write a part
            found.append((told, kinds, written))
        assert found[1] == found[0], index


def test_sequences_of_numbers_are_stored_at_once(eager: None) -> None:
    """To make them an array that is recorded takes a hundred times as long as NumPy does."""
    x, y, v = np.zeros((23, 2)), np.zeros((2, 29), int), np.array(V)
    known = set(_node._ops.table)
    for _ in range(3):
        x[3] = v[0], v[1]
        x[4] = [1, v[0]]
        y[:, 4] = 7, 8
        x[5] = np.array(K)[1], 2.0  # ints, which Python stores
    assert not _node._ops.table.keys() - known
    assert pending() == 0
    assert x[3:6].tolist() == [[1.5, -0.0], [1.0, 1.5], [0.0, 2.0]]
    assert y[:, 4].tolist() == [7, 8]


@pytest.mark.parametrize(
    "form",
    [
        "np.interp(np.array(1j), [0, 1], [0, 1])", "np.repeat([1.0, 2.0], np.array(2.5))",
        "np.take([1.0, 2.0], np.array(1 + 2j))", "np.asarray([1.0], np.array(3))",
        "np.resize(np.arange(3.0), np.array(2.0))", "np.polyder([1.0, 2.0], np.array(1 + 2j))",
    ],
)  # fmt: skip
def test_an_array_without_axes_is_not_a_number(form: str, eager: None) -> None:
    """NumPy casts a number where it refuses an array: these were truncated without a word."""
    with pytest.raises(TypeError):
        eval(form, {"np": numpy})
    for _ in range(2):  # the second time, C may answer
        with pytest.raises(TypeError):
            eval(form, {"np": np})


# -- arrays that are filled ------------------------------------------------------------------------

LARGE_FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda np, _: np.zeros(200_000),
    "ones": lambda np, _: np.ones((400, 500), dtype="i4"),
    "full": lambda np, _: np.full((400, 500), 2.5),
    "arange": lambda np, _: np.arange(3, 200_000),
    "arange of floats": lambda np, _: np.arange(0, 1, 1e-5),
    "linspace": lambda np, _: np.linspace(0, 1, 200_000),
    "indices": lambda np, _: np.indices((300, 400)),
    "small indices": lambda np, _: np.indices((30, 40)),
    "mgrid": lambda np, _: np.mgrid[0:300, -5:400],
    "zeros_like": lambda np, x: np.zeros_like(x),
    "zeros_like, dtype": lambda np, x: np.zeros_like(x, dtype=int),
    "zeros_like, order": lambda np, x: np.zeros_like(x, order="F"),
    "zeros_like, transposed": lambda np, x: np.zeros_like(x.T),
    "zeros_like, shape": lambda np, x: np.zeros_like(x, shape=(7, 9)),
    "ones_like": lambda np, x: np.ones_like(x),
    "full_like": lambda np, x: np.full_like(x, 7),
}


@pytest.mark.parametrize("name", LARGE_FILLS)
def test_large_fills_are_there_at_once(name: str, eager: None) -> None:
    model = numpy.arange(120_000.0).reshape(300, 400)
    ours, numpys = LARGE_FILLS[name](np, np.array(model)), LARGE_FILLS[name](numpy, model)
    assert ours._read()[_node.VALUE] is not None and not pending()
    assert ours.dtype == numpys.dtype and ours.strides == numpys.strides
    numpy.testing.assert_array_equal(numpy.asarray(ours), numpys)
