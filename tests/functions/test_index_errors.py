"""Wrong indices: class and message of each exception are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

INDICES: list[Callable[[Any], Any]] = [
    lambda np: 5,
    lambda np: (7, 0),
    lambda np: (0, 9),
    lambda np: "a",
    lambda np: 1.5,
    lambda np: (None, None, 9),
    lambda np: [0, 9],
    lambda np: [1.5],
    lambda np: ([0, 1], [0, 1, 2]),
    lambda np: (0, 1, 2),
    lambda np: (..., ...),
    lambda np: slice(0, "a"),
    lambda np: slice(0, 1.5),
    lambda np: slice(1, 2, 0),
    lambda np: np.array([True, False]),
    lambda np: np.array([[True, False]]),
    lambda np: np.array([0.5]),
    lambda np: {},
    lambda np: 1j,
    lambda np: np.float64(1),
    lambda np: np.array([0, -99]),
    lambda np: (0, np.array([0, 99])),
    lambda np: np.zeros((3, 5), bool),
    lambda np: (np.ones(3, bool), np.ones(4, bool)),
    lambda np: (np.arange(3), np.arange(4), np.arange(3)),
    lambda np: (True, 5),
    lambda np: (False, 0, 9),
    lambda np: np.timedelta64(1),
    lambda np: [[0, 1], [2]],
    lambda np: 10**30,
    lambda np: np.uint64(2**64 - 1),
    lambda np: np.array([2**63], "u8"),
    lambda np: (None,) * 70,
    lambda np: (0, [0, 1], 9),
    lambda np: np.array([1.5, 2.5])[0],
    lambda np: (..., np.array([1.5, 2.5]).sum()),
    lambda np: np.array(["a", "b"])[1],
    lambda np: np.arange(99)[77],
]
SHAPES: list[tuple[int, ...]] = [(3, 4), (5,), (), (0, 3)]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return numpy.asarray(call())
    except Exception as error:
        return type(error), str(error)


def stored(x: Any, index: Any) -> Any:
    x[index] = 1
    return x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", range(len(INDICES)))
def test_messages_are_numpys(shape: tuple[int, ...], make: int) -> None:
    for act in (lambda x, i: x[i], stored):
        ours = outcome(lambda act=act: act(np.zeros(shape), INDICES[make](np)))
        theirs = outcome(lambda act=act: act(numpy.zeros(shape), INDICES[make](numpy)))
        if isinstance(theirs, tuple):
            assert ours == theirs
        else:
            numpy.testing.assert_array_equal(ours, theirs, strict=True)


def test_an_index_of_a_scalar_is_refused_in_numpys_words() -> None:
    for index in (slice(0, "a"), [[0, 1], [2]], (None,) * 70):
        with pytest.raises(IndexError, match=r"invalid index to scalar variable\."):
            (np.ones(3).sum() * 2)[index]


FAILING: dict[str, Callable[[Any], Any]] = {
    "read": lambda x: x[99],
    "store": lambda x: x.__setitem__(99, 1.0),
    "out of numpy's": lambda x: numpy.add(x, numpy.ones(5), out=(np.ones(3),)),
}


@pytest.mark.parametrize("name", FAILING)
def test_the_exception_that_is_being_handled_stays_its_context(name: str) -> None:
    for x in (np.ones(3), np.ones(3) * 2.0):
        with pytest.raises((IndexError, ValueError)) as raised:
            try:
                raise KeyError("first")
            except KeyError:
                FAILING[name](x)
        assert isinstance(raised.value.__context__, KeyError)
        assert not raised.value.__suppress_context__
        assert raised.value.__cause__ is None


LISTS: list[Callable[[Any, Any], Any]] = [
    lambda x, k: x[[1, k]],
    lambda x, k: x[[0, k], [1, 1]],
    lambda x, k: x[[[k], [0]]],
    lambda x, k: stored(x, [1, k]),
    lambda x, k: stored(x, ([k, k], 0)),
]


@pytest.mark.parametrize("act", LISTS)
@pytest.mark.parametrize("kind", [float, complex, int, bool])
def test_lists_of_traced_numbers_are_indices_if_they_are_integers(act: Any, kind: Any) -> None:
    """The digits of floats were dropped without a word."""
    x, k = np.arange(12.0).reshape(3, 4), np.array(1, kind)
    ours = outcome(lambda: np.jit(act)(x, k))
    theirs = outcome(lambda: act(numpy.arange(12.0).reshape(3, 4), numpy.array([1], kind)[0]))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        numpy.testing.assert_array_equal(ours, theirs)
