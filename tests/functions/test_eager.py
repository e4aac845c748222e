"""What is done at once in loops for which no program would be compiled, against NumPy."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _node
from lazynp._array import Scalar
from lazynp._trace import local
from tests.helpers import fresh_start


@pytest.fixture(autouse=True)
def at_first() -> Iterator[None]:
    """The policy that has such loops, from a recorder that knows nothing."""
    with np.config(execution="adaptive"):
        fresh_start()
        yield
    fresh_start()


@pytest.fixture
def eager() -> None:
    local.recorder.eager = True


def pending() -> int:
    return len(local.recorder.pending)


# -- when ------------------------------------------------------------------------------------------


def test_a_loop_of_small_operations() -> None:
    fresh_start()
    x, step = np.array(numpy.arange(8.0)), np.array(numpy.ones(8))
    for _ in range(100):
        x = x * 0.5 + step
    assert local.recorder.eager
    assert pending() == 0
    assert x.tolist() == pytest.approx([2.0] * 8)


def test_a_loop_of_large_ones_is_not() -> None:
    fresh_start()
    x = np.array(numpy.ones(500_000))
    for _ in range(60):
        x = x * 0.5 + x * x - 0.25
    assert not local.recorder.eager


def test_a_loop_whose_programs_differ_each_time() -> None:
    """No program would be used again."""
    fresh_start()
    x = np.array(numpy.ones(20_000))
    for n in range(1, 40):
        y = x[n:] * 0.5 + x[:-n]
        y = y * y - 0.25
        assert float(y[0]) == 2.0
    assert local.recorder.eager


def test_a_loop_that_chooses_by_masks() -> None:
    fresh_start()
    x = np.array(numpy.linspace(-1.0, 1.0, 100_000))
    for _ in range(40):
        few = x[x > 0.5]
        x = x * 0.999
    assert local.recorder.eager
    assert few.shape == (few.size,)


def test_not_where_everything_is_to_be_compiled() -> None:
    fresh_start()
    with np.config(execution="compiled"):
        x = np.array(numpy.arange(8.0))
        for _ in range(100):
            x = x[x >= 0.0] * 0.5
        assert not local.recorder.eager


def test_nothing_is_inferred(eager: None) -> None:
    """An op takes as long to make as twenty operations to do."""
    x, y = np.array(numpy.ones(91)), np.array(numpy.ones((91, 3)))
    known = set(_node._ops)
    for _ in range(3):
        z = np.sqrt(x[1:] + x[:-1]) * 2.0
        w = (x @ y)[1:].sum() + y[:, 1].max() + np.concatenate([z, z]).mean()
        y[3:5] = w
        y[:, 0] *= 2.0
        z = np.where(z > 1, z, 0).reshape(9, 10).T.astype(int)
    assert not _node._ops.keys() - known
    assert pending() == 0


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
    got = f(np, np.array(M), np.array(V), np.array(K))
    with numpy.errstate(all="ignore"):
        want = f(numpy, M, V, K)
    assert described(got) == described(want)
    parts = got if isinstance(got, (tuple, list)) else (got,)
    assert all(isinstance(p, np.Array) for p in parts)


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
    x = np.zeros((200, 200))  # larger than what is made at once
    copy, row = x.copy(), x[1]
    row[2] = 5.0
    assert (float(x[1, 2]), float(x.sum()), float(copy.sum())) == (5.0, 5.0, 0.0)
    assert pending() == 0


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


def test_elements_are_scalars(eager: None) -> None:
    x = np.array(M)
    for s in (x[0, 1], x.sum(), x[0].max(), x.argmax(), x[0] @ x[1], np.sqrt(x[2, 2])):
        assert type(s) is Scalar


def test_what_is_stored_by_an_index_array_may_be_a_view_of_the_same(eager: None) -> None:
    x, i = np.arange(4.0), np.array([3, 1, 0, 2])
    x[i] = x[::-1]
    assert x.tolist() == [1, 2, 0, 3]
