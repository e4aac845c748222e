"""Values: what can be seen of a node, with and without a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._node import VALUE, Node, leaf
from lazynp._recorder import local
from lazynp._trace import staging
from lazynp._values import description, extent, knowable, seen_value, there, watched
from tests.helpers import POLICIES, Counted, be_eager, fresh_start, in_thread


@pytest.fixture(autouse=True)
def _fresh() -> None:
    fresh_start()
    be_eager(False)


@pytest.fixture(params=POLICIES, autouse=True)
def _policy(request: pytest.FixtureRequest) -> Iterator[None]:
    with np.config(execution=request.param):
        yield


DATA = numpy.arange(12.0).reshape(3, 4)

# A node, whether its value is there without a program, and the value.
NODES: dict[str, tuple[Callable[[], Any], bool, Any]] = {
    "data": (lambda: np.array(DATA), True, DATA),
    "scalar": (lambda: np.asarray(3.0), True, numpy.float64(3.0)),
    "view": (lambda: np.array(DATA)[1:, ::2], True, DATA[1:, ::2]),
    "turned": (lambda: np.array(DATA).T, True, DATA.T),
    "view of a view": (lambda: np.array(DATA).T[1:][0], True, DATA.T[1]),
    "reshaped": (lambda: np.array(DATA).reshape(4, 3), True, DATA.reshape(4, 3)),
    "fill": (lambda: np.zeros((2, 3)), True, numpy.zeros((2, 3))),
    "view of a fill": (lambda: np.zeros((200, 3))[1:], True, numpy.zeros((199, 3))),
    "broadcast": (
        lambda: np.broadcast_to(np.array(DATA), (2, 3, 4)), True,
        numpy.broadcast_to(DATA, (2, 3, 4)),
    ),
    "pending": (lambda: np.array(DATA) + 1.0, False, DATA + 1.0),
    "view of what is pending": (lambda: (np.array(DATA) + 1.0)[1:], False, DATA[1:] + 1.0),
    "written": (lambda: _written(), False, None),
    "strings": (lambda: np.array(["a", "b"]), True, numpy.array(["a", "b"])),
}  # fmt: skip


def _written() -> Any:
    x = np.array(DATA) * 1.0
    x[0] = 5.0
    return x


@pytest.mark.parametrize("name", list(NODES))
def test_what_is_there(name: str) -> None:
    make, is_there, want = NODES[name]
    node = make()._read()
    with Counted() as counted:
        found = there(node)
    assert (found is not None) is is_there
    assert counted.cuts == 0  # whoever asks makes nothing run
    if is_there:
        assert isinstance(found, (numpy.ndarray, numpy.generic))
        assert found.dtype == numpy.asarray(want).dtype
        numpy.testing.assert_array_equal(found, want)
    assert knowable(node) and description(node) is None
    seen = seen_value(node)
    if want is not None:
        numpy.testing.assert_array_equal(seen, want)
        numpy.testing.assert_array_equal(extent(node), want)
        again = there(node)
        assert again is not None or not isinstance(node[VALUE], numpy.ndarray)


def test_views_are_looked_at_where_they_are() -> None:
    x = np.array(DATA)
    memory = x._node[VALUE]
    for view in (x[1], x[:, 1:3], x.T, x.reshape(-1), x[::-1]):
        found = there(view._read())
        assert numpy.shares_memory(found, memory)


# -- where nothing has a value ---------------------------------------------------------------------


def test_inputs_of_a_staged_function_are_not_known() -> None:
    constant = np.array(DATA)._node
    with staging("jit of f") as recorder:
        node = recorder.input(np.ones(3).aval)
        assert not knowable(node) and there(node) is None and extent(node) is None
        assert description(node) == "<f64[3] traced by jit of f>"
        assert knowable(constant) and description(constant) is None  # from outside
        made = np.array([1.0, 2.0]) * 3.0  # no operand decides it
        assert knowable(made._node) and seen_value(made._node).tolist() == [3.0, 6.0]


def test_what_depends_on_operands_is_not_known() -> None:
    found: dict[str, list[Any]] = {}

    def f(x: Any) -> Any:
        y, c = x * 2.0, np.ones(2) * 3.0
        found["y"] = [knowable(y._node), description(y._node), extent(y._node)]
        found["c"] = [knowable(c._node), description(c._node)]
        return y

    np.jit(f)(np.ones(2))
    assert found["y"] == [False, "<f64[2] traced by jit of f>", None]
    assert found["c"] == [True, None]


def test_staged_within_staged() -> None:
    found = []

    def outer(x: Any) -> Any:
        y, c = (x + 1.0)._node, (np.ones(2) + 1.0)._node

        def inner(z: Any) -> Any:
            found.append((knowable(y), knowable(c), knowable(z._read())))
            return z * 2.0

        return np.jit(inner)(x)

    np.jit(outer)(np.ones(2))
    assert found == [(False, True, False)]


def test_examples_differ() -> None:
    found: list[Any] = []

    def f(e: Any) -> Any:
        node = (e * 2.0)._read()
        found.extend([knowable(node), description(node), extent(node)])
        return e

    np.vmap(f)(np.array([1.0, 3.0]))
    assert found[0] is False and "traced by vmap of f" in found[1]
    numpy.testing.assert_array_equal(found[2], [2.0, 6.0])  # of all examples, for bounds


def test_primals_can_be_seen_but_not_taken_away() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        node = (x * 2.0)._read()
        found.extend([knowable(node), description(node), float(seen_value(node)), there(node)])
        return x * x

    assert float(np.grad(f)(3.0)) == 6.0
    assert found == [True, None, 6.0, None]


# -- watched ---------------------------------------------------------------------------------------


def test_errors_are_watched_for_here_and_now() -> None:
    assert not watched()
    with np.errstate(all="raise"):
        assert watched()
        assert not in_thread(watched)
        with staging("jit of f"):
            assert not watched()
        with np.errstate(all="ignore"):
            assert not watched()
        assert watched()
    assert not watched()
    with np.config(checks=True):
        assert watched() and in_thread(watched)


def test_a_node_of_no_operation_has_no_value_there() -> None:
    node: Node = [None, None, None, None, leaf(DATA)[4]]
    assert there(node) is None
    assert local.recorder.pending == []
