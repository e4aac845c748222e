"""`x[i] = v`: which shapes of v fit, and what is said of the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp

EMPTY = numpy.zeros(0, int)
INDICES: list[Any] = [
    [], EMPTY, EMPTY.reshape(0, 2), EMPTY.reshape(2, 0), ([], Ellipsis), (Ellipsis, []),
    (None, []), [[]], slice(0, 0), Ellipsis, [0, 1, 2], [0],
]  # fmt: skip
OF_MATRICES: list[Any] = [([], []), ([], 1), (slice(None), []), (1, []), (slice(0, 2), [0, 1])]
VALUES = [
    (0,), (1, 0), (3, 0), (0, 3), (1, 5, 0), (0, 5, 1), (2, 0), (0, 2), (0, 1), (2, 0, 2),
    (5, 0, 3), (3, 1), (1, 3), (2,), (1,), (3, 3, 0), (1, 1), (2, 5, 0), (4,), (1, 7), (),
]  # fmt: skip


def _outcome(np: Any, shape: Any, index: Any, value: Any) -> Any:
    x, v = np.zeros(shape), np.ones(value)
    try:
        x[index] = v
    except Exception as error:
        return type(error), str(error)
    return numpy.asarray(x).tolist()


@pytest.mark.parametrize("execution", ["compiled", "reference"])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (0,), (5, 0), (3, 3)])
def test_shapes_that_fit(shape: Any, execution: str) -> None:
    masks = [numpy.zeros(shape[0], bool), numpy.arange(shape[0]) % 2 == 0]
    with lazynp.config(execution=execution):
        for index in [*INDICES, *masks, *(OF_MATRICES if len(shape) > 1 else [])]:
            if _outcome(numpy, shape, index, ())[:1] == (IndexError,):
                continue  # which of two faults is found first is another matter
            for value in VALUES:
                want = _outcome(numpy, shape, index, value)
                assert _outcome(lazynp, shape, index, value) == want, (index, value)


def _rows(p: Any) -> Any:
    y = lazynp.zeros((3, 2))
    y[0] = p[0], 0.5
    y[1:] = [p, 2 * p]
    return y


def _chosen_rows(p: Any) -> Any:
    y = lazynp.zeros((3, 2))
    y[[0, 2]] = [[p[0], 1], [2, p[1]]]
    y[:, 1][numpy.array([False, True, False])] = [p[0] * p[1]]
    return y


def _put(p: Any) -> Any:
    y = lazynp.zeros(3)
    lazynp.put(y, [0, 1], [p[0], p[1]])
    lazynp.copyto(y[1:], [p[1], p[0]])
    return y


@pytest.mark.parametrize("function", [_rows, _chosen_rows, _put])
def test_lists_of_traced_numbers(function: Any) -> None:
    p = lazynp.array([1.5, 2.0])
    want = function(p)
    lazynp.testing.assert_array_equal(lazynp.jit(function)(p), want)
    lazynp.testing.assert_array_equal(
        lazynp.vmap(function)(lazynp.stack([p, 2 * p])),
        lazynp.stack([want, function(2 * p)]),
    )
    step = 1e-6
    for i, slope in enumerate(lazynp.jacfwd(function)(p).T):
        moved = p + step * (lazynp.arange(2) == i)
        numpy.testing.assert_allclose(slope.T, (function(moved) - want) / step, atol=1e-5)


def test_lists_that_are_too_deep() -> None:
    def f(p: Any) -> Any:
        y = lazynp.zeros(2)
        y[:] = [[[p, p]]]
        return y

    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        lazynp.jit(f)(1.0)


SEQUENCES: list[Any] = [
    [1, 2, 3], [], [0], (1,), (), [[1]], [[]], [None], [1, [2]], ["a"], [numpy.zeros(2)], [0.5],
]  # fmt: skip
ELEMENTS: dict[str, Any] = {
    "without axes": (lambda np, x: x.reshape(-1)[0:1].reshape(()), ()),
    "one axis": (lambda np, x: x[0], 1),
    "negative": (lambda np, x: x[0], (-1,)),
    "two axes": (lambda np, x: x, (1, 1)),
    "of a view": (lambda np, x: x.T[::-1], (1, 0)),
    "of a view of no axes": (lambda np, x: x[0, 0, ...][None].T, 0),
    "of the whole": (lambda np, x: np.zeros((), x.dtype), ()),
    "a slice": (lambda np, x: x[0], slice(0, 1)),
    "all": (lambda np, x: x[0], ...),
    "an ellipsis": (lambda np, x: x[0], (..., 0)),
    "chosen": (lambda np, x: x[0], [0, 1]),
}  # fmt: skip


def _stored(np: Any, dtype: str, how: str, value: Any) -> Any:
    x = np.zeros((2, 2), dtype)
    of, index = ELEMENTS[how]
    y = of(np, x)
    try:
        y[index] = value
    except Exception as error:
        return type(error), str(error)
    return str((numpy.asarray(x).tolist(), numpy.asarray(y).tolist()))  # nan is not nan


@pytest.mark.parametrize("dtype", ["?", "f8"])
@pytest.mark.parametrize("how", list(ELEMENTS))
def test_a_sequence_in_the_place_of_an_element(how: str, dtype: str) -> None:
    """NumPy stores the truth of the sequence in an element that is a truth."""
    for value in SEQUENCES:
        assert _stored(lazynp, dtype, how, value) == _stored(numpy, dtype, how, value), value


@pytest.mark.parametrize("dtype", ["?", "f8"])
def test_filling_with_a_sequence(dtype: str) -> None:
    for value in SEQUENCES:
        found: list[Any] = []
        for np in (lazynp, numpy):
            x = np.zeros(3, dtype)
            try:
                x.fill(value)
            except Exception as error:
                found.append((type(error), str(error)))
            else:
                found.append(str(numpy.asarray(x).tolist()))
        assert found[0] == found[1], value


LOSING = [
    "x[:] = c", "x[0] = c[0]", "x[[1, 0]] = c", "x[x == 0] = c", "x.fill(c[0])", "x.flat = c",
    "np.copyto(x, c, casting='unsafe')", "np.put(x, [0], c[:1])", "c.astype(float)",
    "np.array(c, dtype=float)", "np.asarray(c, dtype='i4')", "np.full(2, c[0], dtype='f4')",
    "np.add(c, c, dtype=float, casting='unsafe')", "x.reshape(2, 1)[:, 0] = c",
]  # fmt: skip


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("program", LOSING)
def test_lost_imaginary_parts_are_told_at_the_users_line(program: str, execution: Any) -> None:
    """As often as NumPy tells, in each round. (Where NumPy's own function runs at once, it may name
    its own line, as in NumPy.)
    """
    code = compile(program, "users.py", "exec")
    files: dict[Any, set[str]] = {numpy: set(), lazynp: set()}

    def told(np: Any) -> list[Any]:
        found = []
        for _ in range(4):
            c, x = np.array([1 + 2j, 3]), np.zeros(2)
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                exec(code, {"np": np, "c": c, "x": x})
                found.append((len(given), {w.category for w in given}, x.tolist()))
            files[np] |= {w.filename for w in given}
        return found

    with lazynp.config(execution=execution):
        assert told(lazynp) == told(numpy)
    assert files[lazynp] and files[lazynp] <= {"users.py"} | files[numpy]


_STORES = ["x[0] = v", "x[-1] = v", "x[:1] = v", "x[[0]] = v", "x.fill(v)"]
_NUMBERS = [
    "numpy.ma.masked", "numpy.ma.array(5.5, mask=True)", "numpy.ma.array([5.5], mask=[True])",
    "numpy.ma.array([5.5])", "numpy.ma.array(7)", "numpy.matrix([[4.0]])", "numpy.ma.ones(3)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("made", _NUMBERS)
def test_an_element_takes_the_number_that_a_class_says(made: str) -> None:
    def outcome(np: Any, kind: str, store: str) -> Any:
        names = {"x": np.arange(2).astype(kind), "v": eval(made)}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                exec(store, names)
            except Exception as error:
                return type(error), "" if "broadcast" in str(error) else str(error)
        return repr(numpy.asarray(names["x"])), [str(w.message) for w in told]

    for kind in ("f8", "f4", "i8", "u1", "c16", "?", "O"):
        for store in _STORES:
            wanted = outcome(numpy, kind, store)
            assert outcome(lazynp, kind, store) == wanted, (kind, store)


class _Place:
    """Which array it is, and perhaps which integer."""

    def __init__(self, places: Any, number: int | None) -> None:
        self.places, self.number = numpy.array(places), number

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.places

    def __index__(self) -> int:
        if self.number is None:
            raise RuntimeError("several")
        return self.number


@pytest.mark.parametrize("place", [_Place([1, 0], None), _Place([1], 2), _Place(1, 2)])
def test_an_index_that_is_an_integer_or_an_array(place: Any) -> None:
    for np in (numpy, lazynp):
        x = np.arange(3.0)
        got = x[place]
        assert got.tolist() == numpy.arange(3.0)[place].tolist() and got.shape == (
            numpy.arange(3.0)[place].shape
        )
        x[place] = 7
        wanted = numpy.arange(3.0)
        wanted[place] = 7
        assert x.tolist() == wanted.tolist()
