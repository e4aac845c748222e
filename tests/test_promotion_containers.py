"""What hot functions are given: lists and dicts, arrays of NumPy's, lists of numbers."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Array
from lazynp._promotion import Promoted
from lazynp._promotion._given import Given, Numbers
from tests.promoting import front, promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


def array(*shape: int) -> Any:
    return np.array(numpy.random.default_rng(sum(shape)).normal(size=shape))


def alike(a: Any, b: Any, known: dict[int, Any]) -> None:
    """Equal trees, with the same objects in the same places."""
    if isinstance(a, (Array, numpy.ndarray, list, dict, Model)):
        if id(a) in known:
            assert known[id(a)] is b
            return
        known[id(a)] = b
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            alike(x, y, known)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            alike(a[k], b[k], known)
    elif isinstance(a, Model):
        alike(a.__dict__, b.__dict__, known)
    elif isinstance(a, str) or a is None:
        assert a == b
    else:
        assert numpy.shape(a) == numpy.shape(b)
        numpy.testing.assert_allclose(numpy.asarray(a), numpy.asarray(b), rtol=1e-11)


# -- functions -------------------------------------------------------------------------------------


def forward(params, x):
    for _ in range(12):
        x = np.maximum(x @ params["w"] + params["b"], 0.0) * 0.5
    return x


def updates_in_place(params, x):
    for k in range(12):
        for name in params:
            params[name] -= 0.01 * params[name] * k
    return params["b"] + x[0]


def binds_entries(params, x):
    for _ in range(12):
        for name, value in params.items():
            params[name] = value * 0.9 + x.mean()


def counts(state, x):
    for _ in range(12):
        state["t"] += state["dt"]
        state["u"] = state["u"] + state["dt"] * state["t"] * x
    state["steps"] += 1
    return state["t"]


def adds_and_deletes(state, x):
    state.pop("scratch", None)
    for _ in range(12):
        x = x * 0.5 + state["u"]
    state["sum"] = x.sum()
    return state


def layers_of(layers, x):
    for _ in range(4):
        for w, b in layers:
            x = np.maximum(x @ w + b, 0.0)
    return x


def replaces_items(items, x):
    for _ in range(12):
        for i in range(len(items)):
            items[i] = items[i] * 0.5 + x
    items[0], items[1] = items[1], items[0]
    return items


def writes_items(items, x):
    for _ in range(12):
        for u in items:
            u[1:] += 0.1 * u[:-1] + x[1:]


def shares(first, second):
    for _ in range(12):
        first["u"] += second["u"] * 0.1
        second["v"] = first["u"]
    return first is second, first


def nested(state, x):
    for k in range(12):
        state["grid"]["u"] = state["grid"]["u"] * 0.5 + state["rates"][1] * x
        state["history"][k % 2] = state["grid"]["u"].sum()
    return state["grid"]


def sums_weights(weights, x):
    for w in weights:
        x = x * 0.99 + w
    return x


def counts_coins(coins, n):
    ways = np.zeros(n + 1, dtype=np.int64)
    ways[0] = 1
    for c in coins:
        for i in range(c, n + 1):
            ways[i] += ways[i - c]
    return ways


def pairs(weights, values, x):
    for k, (w, v) in enumerate(zip(weights, values)):
        x = x + w * v - k
    return x


def reads_numpys(x, y):
    w = np.zeros(x.shape[1])
    for _ in range(12):
        w = w - 0.01 * np.dot(x.T, np.dot(x, w) - y) / len(y)
    return w


def asks_whether_it_may_write(x, y):
    for _ in range(12):
        y = y * 0.5
    return y + 1.0 if x.flags.writeable else y - 1.0


def read_only(x: Any) -> Any:
    x.flags.writeable = False
    return x


class Model:
    def __init__(self) -> None:
        self.params = {"w": array(6), "b": np.zeros(6)}
        self.layers = [(array(6), 0.5), (array(6) * 2, 0.25)]
        self.losses: list[float] = []
        self.settings = {"rate": 0.1, "name": "test"}
        self.epoch = 0

    def step(self, x):
        for _ in range(12):
            for w, s in self.layers:
                self.params["w"] = self.params["w"] * s + w * x * self.settings["rate"]
            self.params["b"] += self.params["w"]
        self.epoch += 1
        return self.params["b"].sum()

    def remembers(self, x):
        for _ in range(12):
            x = x * 0.5 + self.params["w"]
        self.losses.append(float(x.sum()))
        return x


def _params() -> Any:
    return {"w": array(5, 5) * 0.3, "b": array(5)}


def _state() -> Any:
    return {"t": 0.0, "dt": 0.125, "steps": 0, "u": array(5), "scratch": 1}


CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "forward": (forward, lambda: (_params(), array(3, 5))),
    "in place": (updates_in_place, lambda: (_params(), array(3, 5))),
    "entries": (binds_entries, lambda: (_params(), array(3, 5))),
    "numbers": (counts, lambda: (_state(), array(5))),
    "other keys": (adds_and_deletes, lambda: (_state(), array(5))),
    "tuples in a list": (layers_of, lambda: ([(array(4, 4), array(4))] * 2, array(3, 4))),
    "items": (replaces_items, lambda: ([array(5), array(5) + 1], array(5))),
    "written items": (writes_items, lambda: ([array(5), array(5) + 1], array(5))),
    "one array in two": (
        shares, lambda: (lambda u: ({"u": u, "v": 0.0}, {"u": u, "v": 1.0}))(array(5))),
    "one dict twice": (shares, lambda: (lambda d: (d, d))({"u": array(5), "v": 0.0})),
    "nested": (nested, lambda: (
        {"grid": {"u": array(4)}, "rates": [0.5, 0.25], "history": [0.0, 0.0]}, array(4))),
    "many numbers": (sums_weights, lambda: (array(200).tolist(), array(5))),
    "ints": (counts_coins, lambda: ([1, 2, 5, 10, 20, 50, 100, 3, 7], 120)),
    "pairs": (pairs, lambda: (array(40).tolist(), array(40), array(5))),
    "numpy": (reads_numpys, lambda: (numpy.asarray(array(8, 3)), numpy.asarray(array(8)))),
    "numpy, read-only": (
        asks_whether_it_may_write, lambda: (read_only(numpy.zeros(5)), array(5))),
    "numpy, writeable": (asks_whether_it_may_write, lambda: (numpy.zeros(5), array(5))),
    "attributes": (Model.step, lambda: (Model(), array(6))),
}  # fmt: skip


def called(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> Promoted:
    """Calls by the front, and in Python, with what each call leaves given to the next."""
    hot = front(f)
    ours, theirs = make(), make()
    for _ in range(8):
        got, want = f(*ours), hot.plain(*theirs)
        alike([got, ours], [want, theirs], {})
    return hot


@pytest.mark.parametrize("name", CASES)
def test_containers(name: str) -> None:
    hot = called(*CASES[name])
    assert hot.programs >= 1, hot.explained()


def test_what_cannot_be_taken_leaves_nothing() -> None:
    """The list is taken up to the dict."""
    x, numbers = types.SimpleNamespace(parts=[numpy.ones(3), {1.5: 0}], u=array(6)), Numbers()
    numbers.lists = True
    given = Given(forward, (x,), {}, numbers)
    assert given.unread == {"parts"} and given.leaves == [x.u]
    assert not given.foreign and not given.apart and given.objects == [x]


def test_copied_objects_are_plain() -> None:
    """`copy.deepcopy` leaves a name of its own in the class."""
    ours = copy.deepcopy(Model())
    theirs = copy.deepcopy(ours)
    hot = front(Model.step)
    for _ in range(5):
        alike(ours.step(array(6)), hot.plain(theirs, array(6)), {})
    alike(ours, theirs, {})
    assert hot.programs >= 1, hot.explained()


def test_other_values_of_a_list_are_another_kind() -> None:
    hot = front(sums_weights)
    x = array(5)
    for weights in ([0.5] * 20, [0.25] * 20, [0.5] * 19 + [-0.0], [0.5] * 19 + [0.0], [1] * 20):
        for _ in range(4):
            alike(sums_weights(weights, x), hot.plain(weights, x), {})
    assert hot.programs == 5
    weights = [0.5] * 20
    weights[3] = 0.75
    alike(sums_weights(weights, x), hot.plain(weights, x), {})


# -- what stays with Python ------------------------------------------------------------------------


def appends(log, x):
    for _ in range(12):
        x = x * 0.5
    log.append(x)


def sorts(weights, x):
    for k in range(12):
        x = x * 0.5 + weights[k]
    weights[0] = 1.0
    return x


def writes_numpys(x, y):
    for _ in range(12):
        y = y * 0.5
    x[0] = 3.0
    return y


def gives_numpys_back(x, y):
    for _ in range(12):
        y = y * 0.5
    return x, y


def turns_around(d, x):
    first = min(d, key=list(d).index)
    d[first] = d.pop(first)
    for _ in range(12):
        x = x * 0.5
    return x


REFUSED: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "appends": (appends, lambda: ([1.0], array(5))),
    "changes a list of numbers": (sorts, lambda: (array(20).tolist(), array(5))),
    "writes NumPy's": (writes_numpys, lambda: (numpy.zeros(5), array(5))),
    "gives NumPy's back": (gives_numpys_back, lambda: (numpy.zeros(5), array(5))),
    "another order": (turns_around, lambda: ({"a": 1.0, "b": 2.0}, array(5))),
    "strange keys": (forward, lambda: ({"w": array(5, 5), "b": array(5), 1.5: 0}, array(3, 5))),
    "appends to an attribute": (Model.remembers, lambda: (Model(), array(6))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_with_python(name: str) -> None:
    assert called(*REFUSED[name]).programs == 0
