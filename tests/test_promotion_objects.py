"""Hot methods: programs read, replace and write the attributes of plain objects as Python does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Array
from lazynp._promotion import Promoted
from lazynp._promotion._objects import attributes, is_plain
from tests import promotion_objects as objects
from tests.promoting import front, promoting
from tests.promotion_objects import Grid

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


def assert_alike(a: Any, b: Any, known: dict[int, Any]) -> None:
    """Equal trees of objects, and the same objects in the same places."""
    if id(a) in known:
        assert known[id(a)] is b
        return
    assert type(a) is type(b)
    if isinstance(a, numpy.ndarray):
        known[id(a)] = b
        numpy.testing.assert_allclose(a, b, rtol=1e-12)
    elif isinstance(a, Array):
        known[id(a)] = b
        assert (a.dtype, a.shape, a.flags.writeable) == (b.dtype, b.shape, b.flags.writeable)
        numpy.testing.assert_allclose(numpy.asarray(a), numpy.asarray(b), rtol=1e-12)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_alike(x, y, known)
    elif is_plain(type(a)):
        known[id(a)] = b
        mine, theirs = attributes(a), attributes(b)
        assert mine is not None and theirs is not None
        assert list(mine) == list(theirs)
        for name in mine:
            assert_alike(mine[name], theirs[name], known)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-12, nan_ok=True)
    else:
        assert a == b


def warm(name: str, x: Any, calls: int = 5) -> Promoted:
    hot = front(getattr(type(x), name))
    for _ in range(calls):
        getattr(x, name)()
    assert hot.programs >= 1, hot.explained()
    assert any(case.program for case in hot.cases.values()), hot.explained()
    return hot


# -- what a program gives ------------------------------------------------------------------------


@pytest.mark.parametrize("name", objects.METHODS)
def test_a_method_does_what_python_does(name: str) -> None:
    hot = front(vars(Grid)[name])
    x, y = Grid(), Grid()
    for _ in range(9):
        got, want = getattr(x, name)(), hot.plain(y)
        assert_alike((x, got), (y, want), {})
    # one that finds new attributes is another kind of call once more
    assert hot.programs == 1 + (name == "new_attributes"), hot.explained()
    assert hot.calls <= 4


@pytest.mark.parametrize("kind", objects.CLASSES, ids=lambda c: c.__name__)
def test_kinds_of_classes(kind: Any) -> None:
    hot = front(kind.step)
    x, y = kind(), kind()
    for _ in range(7):
        assert_alike((x.step(), x), (hot.plain(y), y), {})
    assert hot.programs == 1, hot.explained()


@pytest.mark.parametrize("name", objects.REFUSED)
def test_a_method_that_stays_with_python(name: str) -> None:
    hot = front(vars(Grid)[name])
    x, y = Grid(), Grid()
    for _ in range(6):
        got, want = getattr(x, name)(), hot.plain(y)
        assert_alike((x, got), (y, want), {})
    assert hot.programs == 0


@pytest.mark.parametrize("kind", objects.STRANGE, ids=lambda c: c.__name__)
def test_classes_that_run_code_of_their_own(kind: Any) -> None:
    counted = []
    for promoted in (False, True):
        hot = front(kind.step) if promoted else None
        x = kind()
        objects.CALLS.clear()
        results = [float(x.step()) for _ in range(5)]
        counted.append((results, list(objects.CALLS)))
        assert hot is None or hot.programs == 0
    assert counted[0] == counted[1]


def test_class_methods_and_static_methods() -> None:
    hot, other = front(Grid.of_class), front(vars(Grid)["static"])
    for seed in range(5):
        x, y = (np.array(numpy.random.default_rng(seed).random(6)) for _ in range(2))
        assert_alike((Grid.of_class(x), x), (hot.plain(Grid, y), y), {})
        assert_alike((Grid().static(x, by=3.0), x), (other.plain(y, 3.0), y), {})
    assert hot.programs == other.programs == 1


def test_a_number_that_varies_compiles_nothing_again() -> None:
    x = Grid()
    first = np.stats().compiles
    hot = warm("replaces", x)
    before = np.stats().compiles, hot.numbers.varying.copy()
    assert before[0] == first + 1
    for _ in range(20):
        x.replaces()
    assert (np.stats().compiles, hot.numbers.varying) == before
    assert (x.n, x.t) == (25, 25 * 0.125)


def test_an_attribute_that_only_one_kind_of_call_reads() -> None:
    hot = front(Grid.asks_for_more)
    x, y = Grid(), Grid()
    x.extra = y.extra = 3.0  # type: ignore[attr-defined]
    for k in range(16):
        x.on = y.on = k % 8 >= 4
        assert_alike((x.asks_for_more(), x), (hot.plain(y), y), {})
    assert hot.programs >= 2, hot.explained()


def test_a_large_int_is_pythons() -> None:
    hot = front(Grid.random_numbers)
    x, y = Grid(), Grid()
    for _ in range(8):
        x.random_numbers()
        hot.plain(y)
        assert x.n == y.n
        assert type(x.n) is int


# -- what changes between calls --------------------------------------------------------------------


def _dtype(x: Any) -> None:
    x.u = x.u.astype(np.float32)


def _shape(x: Any) -> None:
    x.u, x.v = np.ones(7), np.ones(7)


def _kind_of_number(x: Any) -> None:
    x.dt = 2


def _parameter(x: Any) -> None:
    x.params.dx = 0.75


def _other_parameters(x: Any) -> None:
    x.params = SimpleNamespace(dx=0.1, table=np.ones(4))


def _none(x: Any) -> None:
    x.params = None


def _method_of_the_object(x: Any) -> None:
    x.sweep = lambda: None


def _other_function(x: Any) -> None:
    x.rhs = lambda u, i: u[i] * 3


def _separate(x: Any) -> None:
    x.same = x.u.copy()


def _shared(x: Any) -> None:
    x.v = x.u


def _view(x: Any) -> None:
    x.u = np.arange(24.0)[::2]


def _overlapping(x: Any) -> None:
    memory = np.arange(13.0)
    x.u, x.v = memory[1:], memory[:-1]


def _read_only(x: Any) -> None:
    x.u.flags.writeable = False


def _a_list(x: Any) -> None:
    x.u = [1.0] * 12


def _a_number(x: Any) -> None:
    x.u = 1.0


def _gone(x: Any) -> None:
    del x.u


def _of_numpy(x: Any) -> None:
    x.u = numpy.ones(12)


def _flag(x: Any) -> None:
    x.on = False


def _not_finite(x: Any) -> None:
    x.t = numpy.nan


CHANGES = [
    _dtype, _shape, _kind_of_number, _parameter, _other_parameters, _none, _method_of_the_object,
    _other_function, _separate, _shared, _view, _overlapping, _read_only, _a_list, _a_number, _gone,
    _of_numpy, _flag, _not_finite,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "name", ["replaces", "swaps", "calls_another", "aliased", "with_a_function", "with_a_property"]
)
def test_an_attribute_that_changes_between_calls(name: str, change: Any) -> None:
    x, y = Grid(), Grid()
    hot = warm(name, x)
    for _ in range(5):
        hot.plain(y)
    change(x)
    change(y)
    x.rhs = y.rhs
    sweep = vars(x).get("sweep")
    if sweep:
        y.sweep = sweep
    for _ in range(4):
        try:
            want: Any = hot.plain(y)
        except Exception as error:
            want = error
        if isinstance(want, Exception):
            with pytest.raises(type(want), match="^" + str(want)[:12]):
                getattr(x, name)()
        else:
            assert_alike(getattr(x, name)(), want, {id(x): y})
        assert_alike(x, y, {})


def test_a_method_that_calls_one_with_a_front() -> None:
    x, y = Grid(), Grid()
    inner = warm("sweep", x)
    hot = warm("calls_another", x)
    for _ in range(5):
        inner.plain(y)
        hot.plain(y)
    for _ in range(5):
        inner.plain(y)
        x.sweep()
    assert_alike(x.calls_another(), hot.plain(y), {id(x): y})


@pytest.mark.parametrize("name", ["sweep", "scale", "_factor", "ratio"])
def test_a_class_that_changes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = Grid(), Grid()
    hot = warm("with_a_property" if name == "ratio" else "calls_another", x)
    for _ in range(5):
        hot.plain(y)
    new: Any = {
        "sweep": lambda self: None, "scale": 0.25, "_factor": lambda self, k: 3.0,
        "ratio": property(lambda self: 5.0),
    }[name]  # fmt: skip
    monkeypatch.setattr(Grid, name, new)
    for _ in range(3):
        assert_alike(getattr(x, hot.plain.__name__)(), hot.plain(y), {id(x): y})
        assert_alike(x, y, {})


def test_an_object_of_a_derived_class() -> None:
    class Finer(Grid):
        scale = 0.25

        def _factor(self, k):
            return k * 7

    x, y = Grid(), Finer()
    hot = warm("calls_another", x)
    z = Finer()
    for _ in range(3):
        assert_alike(y.calls_another(), hot.plain(z), {})
        assert_alike(y, z, {})


def test_objects_that_share_an_array() -> None:
    """An array of the object is also the argument, or the array of another object."""
    hot = front(adds_to)
    for _ in range(5):
        adds_to(Grid(), Grid())
    assert hot.programs == 1, hot.explained()
    for made in (False, True):
        pairs = []
        for _ in range(2):
            x, y = Grid(), Grid()
            y.u = x.v if made else x.u
            pairs.append((x, y))
        for _ in range(4):
            assert_alike(adds_to(*pairs[0]), hot.plain(*pairs[1]), {})
            assert_alike(pairs[0], pairs[1], {})
    x, y = Grid(), Grid()
    for _ in range(4):  # one object twice
        assert_alike(adds_to(x, x), hot.plain(y, y), {})
        assert_alike(x, y, {})
    hot.restore()


def adds_to(a, b):
    for i in range(len(a.u)):
        a.u[i] += b.u[i] + 1
        b.v[i] += a.u[i]
    a.t += 1.0
    b.t += 2.0
    return a.t + b.t


SETTINGS = SimpleNamespace(gain=2.0, t=0.0, weights=np.ones(12))


def reads_settings(x):
    for i in range(len(x.u)):
        x.u[i] += SETTINGS.gain * SETTINGS.weights[i]
    x.t += SETTINGS.gain
    return x.t


def test_a_global_object_that_changes() -> None:
    hot = front(reads_settings)
    x, y = Grid(), Grid()
    gain = SETTINGS.gain
    try:
        for k in range(8):
            if k == 5:
                SETTINGS.weights[0] = 9.0
            if k == 6:
                SETTINGS.gain = 3.0
            if k == 7:
                SETTINGS.weights = np.zeros(12)
            assert_alike(reads_settings(x), hot.plain(y), {})
            assert_alike(x, y, {})
            assert k != 5 or any(c.program for c in hot.cases.values()), hot.explained()
    finally:
        SETTINGS.gain, SETTINGS.weights = gain, np.ones(12)
        hot.restore()


class Config:
    def __init__(self) -> None:
        self.gain, self.u, self.t = 2.0, np.zeros(12), 0.0

    def scaled(self, x):
        return x * self.gain


CONFIG = Config()


def asks_config(x):
    for i in range(len(x.u)):
        x.u[i] = CONFIG.scaled(x.u[i])
    x.t = CONFIG.t + 1
    return x.t


def test_what_a_method_of_a_global_object_reads() -> None:
    hot = front(asks_config)
    x, y = Grid(), Grid()
    try:
        for k in range(8):
            CONFIG.gain = 2.0 if k < 6 else 0.5
            assert_alike(asks_config(x), hot.plain(y), {})
            assert_alike(x, y, {})
    finally:
        CONFIG.gain = 2.0
    for _ in range(3):  # the global object is the argument
        CONFIG.t, CONFIG.u[:] = 0.0, 1.0
        results = [asks_config(CONFIG) for _ in range(3)]
        left = (list(CONFIG.u), CONFIG.t)
        CONFIG.t, CONFIG.u[:] = 0.0, 1.0
        assert results == [hot.plain(CONFIG) for _ in range(3)] == [1.0, 2.0, 3.0]
        assert left == (list(CONFIG.u), CONFIG.t)
    hot.restore()


# -- exceptions, recursion, threads ----------------------------------------------------------------


class Failing:
    def __init__(self) -> None:
        self.u, self.at, self.t = np.zeros(5), np.array([0, 1, 2]), 0.0

    def step(self):
        self.t += 1.0
        for i in range(len(self.at)):
            self.u[self.at[i]] += 1
        self.done = self.t


def test_an_exception_leaves_what_python_leaves() -> None:
    x, y = Failing(), Failing()
    hot = warm("step", x)
    for _ in range(5):
        hot.plain(y)
    x.at[1] = y.at[1] = 9
    for run in (x.step, lambda: hot.plain(y)):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            run()
    assert_alike(x, y, {})
    assert (x.t, x.done) == (6.0, 5.0)


class Tree:
    def __init__(self, depth: int) -> None:
        self.u = np.ones(4)
        self.child = Tree(depth - 1) if depth else None

    def total(self):
        found = 0.0
        for i in range(4):
            found += self.u[i]
        return found + (0.0 if self.child is None else self.child.total())


def test_recursion_through_objects() -> None:
    hot = front(Tree.total)
    for depth in (3, 3, 3, 1, 0, 6):
        x = Tree(depth)
        assert float(x.total()) == 4.0 * (depth + 1) == float(hot.plain(x))


def test_threads_with_objects_of_their_own() -> None:
    hot = front(Grid.replaces)
    want = Grid()
    for _ in range(12):
        hot.plain(want)
    made = [Grid() for _ in range(4)]

    def work(x: Grid) -> None:
        for _ in range(12):
            x.replaces()

    threads = [threading.Thread(target=work, args=(x,)) for x in made]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x in made:
        assert_alike(x, want, {})


def test_objects_are_not_kept_alive() -> None:
    x = Grid()
    warm("replaces", x)
    counts = [sum(type(o) is Grid for o in np_objects())]
    del x
    counts.append(sum(type(o) is Grid for o in np_objects()))
    assert counts[1] == counts[0] - 1


def np_objects() -> list[Any]:
    import gc  # noqa: PLC0415

    gc.collect()
    return gc.get_objects()
