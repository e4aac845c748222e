"""Rounds of a loop that run together: the same values, few programs, few runs.

Each body runs under `compiled`, where rounds run together from the third on, and is compared with
NumPy: values, dtypes, shapes, what is written through views, what stays in lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp
from lazynp import _cutsites, _node, _policy, _rounds, _unit
from lazynp._recorder import local
from tests.helpers import fresh_start

pytestmark = pytest.mark.own_policy

ROUNDS = 60


@contextmanager
def fresh(execution: str = "compiled") -> Iterator[None]:
    """Without what other tests have left."""
    with lazynp.config(execution=execution):
        fresh_start()
        yield
    fresh_start()


def heat(np: Any) -> Any:
    u = np.zeros((12, 12))
    u[3:6, 3:6] = 1.0
    for _ in range(ROUNDS):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def chain(np: Any) -> Any:
    x, c = np.linspace(0, 1, 30), np.linspace(0.1, 0.3, 30)
    for _ in range(ROUNDS):
        y = x * c + 0.5
        x = y * y - x * 0.25
    return x, y


def alternating(np: Any) -> Any:
    a, b = np.linspace(0, 1, 40), np.zeros(40)
    for _ in range(ROUNDS):
        b[1:-1] = 0.5 * a[1:-1] + 0.25 * (a[2:] + a[:-2])
        a, b = b, a
    return a, b


def growing_scalar(np: Any) -> Any:
    x = np.arange(20.0)
    for i in range(ROUNDS):
        x = x * 0.5 + i * 0.25 - (x + i)
    return x


def signs_of_zero(np: Any) -> Any:
    x = np.ones(20)
    for i in range(ROUNDS):
        x = np.copysign(x, (x * 0.0) * (-0.0 if i % 7 == 5 else 0.0)) + x * (0.0 if i % 2 else -0.0)
    return x


def moving_index(np: Any) -> Any:
    x = np.zeros((ROUNDS + 1, 8))
    x[0] = np.arange(8.0)
    for i in range(ROUNDS):
        x[i + 1] = x[i] * 0.5 + 1.0
    return x


def in_place_element(np: Any) -> Any:
    x, v = np.zeros(ROUNDS), np.arange(9.0)
    for i in range(ROUNDS):
        v = v * 0.9 + 0.5
        x[i] += v.sum()
    return x, v


def history(np: Any) -> Any:
    x, kept = np.arange(10.0), []
    for _ in range(ROUNDS):
        x = x * 0.9 + 0.5
        x = x - 0.1 * x * x
        kept.append(x)
    return kept


def some_kept(np: Any) -> Any:
    x, kept = np.arange(10.0), []
    for i in range(ROUNDS):
        x = x * 0.9 + 0.5
        x = x - 0.1 * x * x
        if i in (17, 31, 58):
            kept.append(x)
    return kept, x


def nested(np: Any) -> Any:
    f = np.ones((5, 9)) * np.arange(9.0)
    for _ in range(ROUNDS):
        g = f * 0.9
        for k in range(5):
            g[k] = g[k] + 0.01 * (g[k, ::-1] - f[4 - k])
        f = g + 0.5
    return f


def branch(np: Any) -> Any:
    x = np.arange(15.0)
    for i in range(ROUNDS):
        x = x * 0.9 + 0.1
        if i % 10 == 3:
            x = x - x[::-1] * 0.5
        x = x + 0.2
    return x


def early_break(np: Any) -> Any:
    x = np.arange(15.0)
    for i in range(ROUNDS):
        x = x * 0.9 + 0.1
        if i == 41:
            break
        x = x + 0.2
    return x


def read_each_tenth(np: Any) -> Any:
    x, seen = np.arange(15.0), []
    for i in range(ROUNDS):
        x = x * 0.9 + 0.1
        x = x - 0.01 * x[::-1]
        if i % 10 == 9:
            seen.append(float(x.max()))
    return x, seen


def read_each(np: Any) -> Any:
    x, seen = np.arange(15.0), []
    for _ in range(ROUNDS):
        x = x * 0.9 + 0.1
        seen.append(float(x[3]))
    return x, seen


def exception(np: Any) -> Any:
    x = np.arange(15.0)
    messages = []
    for i in range(ROUNDS):
        x = x * 0.9 + 0.1
        try:
            x = x + (np.ones(4) if i % 20 == 7 else 0.5)
        except ValueError as e:
            messages.append(str(e))
    return x, messages


def generator(np: Any) -> Any:
    def states() -> Any:
        x = np.arange(15.0)
        while True:
            x = x * 0.9 + 0.1
            x = x - 0.01 * x * x
            yield x

    last = None
    for _, x in zip(range(ROUNDS), states(), strict=False):
        last = x
    return last


def closure(np: Any) -> Any:
    rate = np.full(12, 0.3)

    def step(x: Any) -> Any:
        return x + rate * (1.0 - x * x)

    x = np.zeros(12)
    for _ in range(ROUNDS):
        x = step(step(x))
    return x


def methods_with_state(np: Any) -> Any:
    class Body:
        def __init__(self) -> None:
            self.x, self.v = np.arange(6.0), np.zeros(6)

        def step(self, dt: float) -> None:
            self.v -= self.x * dt
            self.x += self.v * dt

    body = Body()
    for _ in range(ROUNDS):
        body.step(0.01)
    return body.x, body.v


def view_kept(np: Any) -> Any:
    x = np.arange(30.0)
    middle, old = x[5:9], None
    for i in range(ROUNDS):
        x *= 0.9
        x[2:-2] += 0.5
        if i == 20:
            old = x[3:7]
    middle += 100.0
    return x, middle, old


def writes_through_a_view(np: Any) -> Any:
    x = np.arange(30.0)
    left, right = x[:15], x[15:]
    for _ in range(ROUNDS):
        left += 0.1 * right
        right -= 0.1 * left
    return x, left, right


def three_arrays(np: Any) -> Any:
    a, b, c = (np.arange(8.0) + k for k in range(3))
    for _ in range(ROUNDS):
        a, b, c = b + 0.1, c * 0.9, a
    return a, b, c


def fibonacci(np: Any) -> Any:
    a, b = np.ones(4, np.int64), np.ones(4, np.int64)
    for _ in range(ROUNDS):
        a, b = b, (a + b) % 1000003
    return a, b


def deleted(np: Any) -> Any:
    x = np.arange(12.0)
    for _ in range(ROUNDS):
        t = x * 2.0
        y = t + x
        del t
        x = y * 0.3
        del y
    return x


def masks(np: Any) -> Any:
    x = np.linspace(-1, 1, 25)
    for _ in range(ROUNDS):
        x = np.where(x > 0.5, x - 0.7, x * 1.5 + 0.1)
        x[x < -0.9] = 0.25
    return x


def integers(np: Any) -> Any:
    x = np.arange(16, dtype=np.uint8)
    for i in range(ROUNDS):
        x = x * np.uint8(3) + np.uint8(i)
        x ^= x >> 1
    return x


def mixed_dtypes(np: Any) -> Any:
    x, n = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.int16)
    for _ in range(ROUNDS):
        x = (x * 0.5 + n).astype(np.float32)
        n = n + np.int16(1)
    return x, n


def complex_rotation(np: Any) -> Any:
    z = np.arange(5) + 1j
    for _ in range(ROUNDS):
        z = z * (0.8 + 0.6j)
        z = z.conj() + 0.1
    return z


def empty(np: Any) -> Any:
    x = np.zeros((0, 3))
    for _ in range(ROUNDS):
        x = x * 2 + 1
        x = x - 0.5
    return x


def zero_dimensional(np: Any) -> Any:
    x, t = np.arange(7.0), np.array(0.5)
    for _ in range(ROUNDS):
        t = t * 0.9 + 0.05
        x = x * t
        x = x + t
    return x, t


def batches(np: Any) -> Any:
    data = [np.arange(6.0) + k for k in range(ROUNDS)]
    w = np.zeros(6)
    for batch in data:
        w = w - 0.1 * (w - batch)
        w = w * 0.99
    return w


def other_shape(np: Any) -> Any:
    x = np.arange(9.0)
    for i in range(ROUNDS):
        if i == 30:
            x = np.concatenate([x, x])
        x = x * 0.9 + 0.1
        x = x - 0.01 * x[::-1]
    return x


def products(np: Any) -> Any:
    a, x = np.linspace(0, 0.2, 25).reshape(5, 5), np.ones(5)
    for _ in range(ROUNDS):
        x = a @ x + 0.5
        x = x / (1.0 + x.max())
    return x


def swapped_each_third(np: Any) -> Any:
    a, b = np.arange(7.0), np.ones(7)
    for i in range(ROUNDS):
        a = a * 0.9 + b * 0.1
        b = b + 0.01 * a
        if i % 3 == 0:
            a, b = b, a
    return a, b


def aliases(np: Any) -> Any:
    a = np.arange(7.0)
    other = a
    for _ in range(ROUNDS):
        a *= 0.9
        a += 0.5
    fresh_name = a.copy()
    for _ in range(ROUNDS):
        a -= 0.25
        a *= 0.9
    return a, other, fresh_name


def loops_in_loops(np: Any) -> Any:
    def relax(x: Any) -> Any:
        for _ in range(4):
            x = x + 0.1 * (x[::-1] - x)
        return x

    x, y = np.arange(11.0), np.ones(11)
    for _ in range(ROUNDS):
        x = relax(x)
        y = relax(y) + 0.01 * x
    return x, y


BODIES = [
    heat, chain, alternating, growing_scalar, signs_of_zero, moving_index, in_place_element,
    history, some_kept, nested, branch, early_break, read_each_tenth, read_each, exception,
    generator, closure, methods_with_state, view_kept, writes_through_a_view, three_arrays,
    fibonacci, deleted, masks, integers, mixed_dtypes, complex_rotation, empty, zero_dimensional,
    batches, other_shape, products, swapped_each_third, aliases, loops_in_loops,
]  # fmt: skip


def _compared(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for x, y in zip(ours, theirs, strict=True):
            _compared(x, y)
    elif isinstance(theirs, (numpy.ndarray, numpy.generic)):
        ours = numpy.asarray(ours)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if ours.dtype.kind in "fc":
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-12 if ours.itemsize > 4 else 1e-5)
            assert (numpy.signbit(ours.real) == numpy.signbit(theirs.real)).all()
        else:
            assert (ours == theirs).all()
    elif isinstance(theirs, float):
        assert abs(ours - theirs) <= 1e-12 * abs(theirs)
    else:
        assert ours == theirs


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("execution", ["compiled", "adaptive", "reference"])
def test_bodies(body: Callable[[Any], Any], execution: str) -> None:
    expected = body(numpy)
    with fresh(execution):
        for _ in range(3):
            _compared(body(lazynp), expected)


@pytest.mark.parametrize("body", BODIES)
def test_bodies_when_rounds_pay_at_once(
    body: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `adaptive`, from eager loops and from recorded ones."""
    expected = body(numpy)
    pays_at_once(monkeypatch)
    with fresh("adaptive"):
        for _ in range(3):
            _compared(body(lazynp), expected)


def pays_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_unit.Unit, "worth_compiling", lambda self, rounds, more=0.0: True)
    monkeypatch.setattr(_policy, "_PATIENCE", 100.0)
    monkeypatch.setattr(_policy, "_PATIENCE_AGAIN", 100.0)
    monkeypatch.setattr(_cutsites, "PROMISING", -1e9)


# -- random programs -------------------------------------------------------------------------------


STATEMENTS = [
    "a = a * 0.5 + b",
    "b = b - 0.25 * a",
    "c = a + c * 0.125",
    "a, b = b, a",
    "a[1:] = a[:-1] * 0.5",
    "b[::2] += 0.25",
    "c[i % 8] = a[3] * 0.5",
    "c[i % 5] += i * 0.5",
    "v = a[2:6]; v += 0.125",
    "w = c[::-1]",
    "w = w * 0.5",
    "a = w + a * 0.25",
    "t = a * 0.5 + i; b = t - b",
    "kept.append(b)",
    "kept.append(c[1:4])",
    "del t",
    "s = float(a[1])",
    "b = b * 0.5 + s * 0.125",
    "a = a.copy()",
    "c = np.where(a > b, a, c * 0.5)",
    "m = c > 0.5; c[m] -= 0.5",
    "b = np.maximum(b, -1.0)",
    "a = np.roll(a, 1)",
]
places = st.integers(0, len(STATEMENTS) - 1)


@given(
    body=st.lists(places, min_size=2, max_size=7),
    sometimes=st.lists(st.tuples(places, st.integers(2, 19)), max_size=3),
    rounds=st.integers(20, 70),
    execution=st.sampled_from(["compiled", "adaptive"]),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.hypothesis
def test_random_programs(
    body: list[int], sometimes: list[tuple[int, int]], rounds: int, execution: str
) -> None:
    lines = [STATEMENTS[k] for k in body]
    lines += [f"if i % {n} == 0: {STATEMENTS[k]}" for k, n in sometimes]
    source = "\n    ".join([f"for i in range({rounds}):", *lines])
    code = compile(source, "<program>", "exec")

    def run(np: Any) -> Any:
        names: dict[str, Any] = {"np": np, "kept": [], "s": 0.5}
        names.update({n: np.arange(8.0) * 0.25 + k for k, n in enumerate("abcwt")})
        try:
            exec(code, names)
        except NameError as e:
            names["error"] = str(e)
        return [names.get(n) for n in ("a", "b", "c", "w", "t", "s", "kept", "error")]

    expected = run(numpy)
    with pytest.MonkeyPatch.context() as patch:
        if execution == "adaptive":
            pays_at_once(patch)
        with fresh(execution):
            for _ in range(2):
                _compared(run(lazynp), expected)


def test_rounds_of_operations_with_several_results() -> None:
    """Under `adaptive` too, where the size of the results decides whether they run eagerly."""

    def step(x: Any, numbers: Any) -> Any:
        return x * 0.5 + 1.0, numbers.sin(x)

    def loop(call: Any, x: Any) -> Any:
        for _ in range(10 * ROUNDS):
            x, s = call(x)
            x = x + 0.125 * s
        return x

    start = numpy.linspace(0, 1, 50)
    want = loop(lambda x: step(x, numpy), start)
    for execution in ("adaptive", "compiled", "reference"):
        with fresh(execution):
            got = loop(lazynp.jit(lambda x: step(x, lazynp)), lazynp.asarray(start))
            numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-12)


@pytest.mark.parametrize("varies", [True, False])
def test_rounds_whose_shapes_vary_are_recorded_only_until_that_shows(
    varies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operation of a new shape costs ten times as much to record as a known one."""
    gathered: list[Any] = []
    roll = _rounds.roll
    monkeypatch.setattr(_rounds, "roll", lambda *a: gathered.append(len(a[0])) or roll(*a))
    with fresh("adaptive"), lazynp.config(promotion=False):
        local.recorder.gather(_cutsites.Gathered())
        x = lazynp.arange(3001.0)
        begun = len(_node._ops.table)
        for k in range(300):
            y = x[k if varies else 5 :]
            x[: y.shape[0]] = y * 0.5 + y - 0.25
        assert numpy.asarray(x).shape == (3001,)
    made = len(_node._ops.table) - begun
    assert (not gathered and 100 < made < 400) if varies else (gathered and made < 50)


@pytest.mark.parametrize("rounds", [25, 10_000])
def test_a_loop_whose_rounds_break_off_is_left_to_numpy(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded when rounds break off, NumPy runs at many times its cost."""
    monkeypatch.setattr(_unit.Unit, "worth_compiling", lambda self, rounds, more=0.0: True)
    monkeypatch.setattr(_policy, "_PATIENCE", 1e6)
    monkeypatch.setattr(_policy, "_PATIENCE_AGAIN", 1e5)
    recorded = 0
    with fresh("adaptive"), lazynp.config(promotion=False):
        kept, u = [], lazynp.zeros((40, 40))
        for k in range(8000):
            if local.recorder.policy.mode is not _policy.Mode.EAGER:
                recorded += 1
            u[1:-1] += 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1]) + 0.25
            if k % rounds == 0:
                kept.append(u.copy())
        assert u.shape == (40, 40) and len(kept) == -(-8000 // rounds)
    assert 100 < recorded < 3000 if rounds == 25 else recorded > 7000


def test_the_period_of_short_rounds_is_searched_for_once(monkeypatch: Any) -> None:
    """A run takes `MOST` rounds; of two operations, twice as many may be pending."""
    searches = []
    real = _rounds.find_period

    def counted(nodes: Any) -> Any:
        searches.append(len(nodes))
        return real(nodes)

    monkeypatch.setattr(_rounds, "find_period", counted)
    with fresh():
        step = lazynp.jit(lambda x: x * 0.5 + 1.0)
        x, expected = lazynp.arange(9.0), numpy.arange(9.0)
        for _ in range(4000):
            x = step(x)
            expected = expected * 0.5 + 1.0
        numpy.testing.assert_allclose(x, expected, rtol=1e-15)
    assert len(searches) <= 4
