"""What hot functions are given: views, numbers that vary, closures, any kind of parameter."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._promotion import _given
from tests.promoting import front, promoting
from tests.test_promotion_objects import assert_alike

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


# -- views -----------------------------------------------------------------------------------------


def mixes(a, b):
    for i in range(min(len(a), len(b))):
        a[i] += 0.5 * b[i]
        b[i] -= 0.25 * a[i]
    return a.sum() + b.sum()


def reads(a, b):
    out = np.zeros_like(a)
    for i in range(1, len(a)):
        out[i] = a[i - 1] * b[i]
    return out


def flattens(a, b):
    """`ravel` is a view only where the memory is in order."""
    flat = a.ravel()
    for i in range(len(flat)):
        flat[i] += 1
    b[0] += flat[0]
    return flat


def _inner(m: Any, k: int) -> tuple[Any, Any]:
    return m[1:-1, 2], m[0]


def _overlapping(m: Any, k: int) -> tuple[Any, Any]:
    return m[0, 1:], m[0, :-1]


def _same_twice(m: Any, k: int) -> tuple[Any, Any]:
    return m[1], m[1]


def _owner_and_view(m: Any, k: int) -> tuple[Any, Any]:
    row = m[1].copy()
    return row, row[::-1]


def _rows(m: Any, k: int) -> tuple[Any, Any]:
    return m[k % 4], m[(k + 1) % 4]


def _rows_that_meet(m: Any, k: int) -> tuple[Any, Any]:
    return m[k % 4], m[(k * k) % 4]


def _transposed(m: Any, k: int) -> tuple[Any, Any]:
    return m.T[2], m.T[:, 0]


def _reversed(m: Any, k: int) -> tuple[Any, Any]:
    return m[2, ::-1], m[2, ::2]


def _masked(m: Any, k: int) -> tuple[Any, Any]:
    return m[[0, 1]][0], m.reshape(-1)[3:9]


def _diagonal(m: Any, k: int) -> tuple[Any, Any]:
    return m[:, 0], np.ones(4)


def _empty(m: Any, k: int) -> tuple[Any, Any]:
    return m[0, 2:2], m[1]


VIEWS = [
    _inner, _overlapping, _same_twice, _owner_and_view, _rows, _rows_that_meet, _transposed,
    _reversed, _masked, _diagonal, _empty,
]  # fmt: skip


def memory(k: int) -> Any:
    return np.array(numpy.random.default_rng(k).random((4, 6)))


@pytest.mark.parametrize("views", VIEWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("f", [mixes, reads, flattens], ids=lambda f: f.__name__)
@pytest.mark.parametrize("small", [2**16, 0])
def test_views(f: Any, views: Any, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_given, "_SMALL", small)
    hot = front(f)
    for k in range(9):
        mine, its = memory(k), memory(k)
        got, want = (), ()
        try:
            want = hot.plain(*views(its, k))
        except Exception as error:
            with pytest.raises(type(error)):
                f(*views(mine, k))
        else:
            got = f(*views(mine, k))
        assert_alike((got, mine), (want, its), {})
    tried = views is not _empty or f is reads
    assert hot.programs >= 1 or not tried or hot.given_back or any(
        c.refused for c in hot.cases.values()
    ), hot.explained()  # fmt: skip


@pytest.mark.parametrize("views", [_inner, _overlapping, _same_twice, _rows, _transposed])
def test_views_have_a_program(views: Any) -> None:
    hot = front(mixes)
    for k in range(9):
        mixes(*views(memory(0), k))
    assert hot.programs == 1, hot.explained()
    assert hot.calls == 1
    compiles = np.stats().compiles
    for k in range(9):
        mixes(*views(memory(0), k))
    assert np.stats().compiles == compiles


def in_its_order(x):
    out = np.zeros_like(x)
    for i in range(1, len(x)):
        out[i] = out[i - 1] + x[i]
    return out, x * 2


def _every_second(m: Any) -> Any:
    made = np.zeros((8, 12))[::2, ::2]
    made[...] = m
    return made


ORDERS: list[Callable[[Any], Any]] = [
    _every_second, lambda m: m.reshape(6, 4).T, lambda m: _every_second(m).reshape(6, 4).T,
    lambda m: np.array(m, order="F")[:, ::-1], lambda m: np.concatenate([m, m])[:4],
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(range(len(ORDERS)), 2)])
def test_results_lie_as_those_of_each_view(one: int, other: int) -> None:
    """A program for views in one order would give results in that order to others."""
    hot = front(in_its_order)
    for k in range(8):
        view = ORDERS[one if k < 4 else other]
        got, want = in_its_order(view(memory(k))), hot.plain(view(memory(k)))
        assert_alike(got, want, {})
        assert [x.strides for x in got] == [x.strides for x in want]


def test_views_of_large_shared_memory_are_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_given, "_SMALL", 0)
    reading, writing = front(reads), front(mixes)
    for k in range(5):
        mine, its = memory(k), memory(k)
        got = reads(mine[0, 1:], mine[0, :-1]), mixes(mine[0, 1:], mine[0, :-1])
        want = reading.plain(its[0, 1:], its[0, :-1]), writing.plain(its[0, 1:], its[0, :-1])
        assert_alike((got, mine), (want, its), {})
    assert (reading.programs, writing.programs) == (1, 0)


def test_a_view_of_a_view_is_not_given_back() -> None:
    hot = front(inner_part)
    mine, its = memory(0), memory(0)
    for _ in range(5):
        got, want = inner_part(mine[1:-1, 2]), hot.plain(its[1:-1, 2])
        got += 1
        want += 1
        assert_alike((got, mine), (want, its), {})
    assert hot.programs == 0


def inner_part(x):
    for i in range(len(x)):
        x[i] += 1
    return x[1:]


def test_views_that_are_read_only() -> None:
    hot = front(reads)
    for k in range(5):
        m = memory(k)
        a = m[0]
        a.flags.writeable = False
        assert_alike(reads(a, m[1]), hot.plain(a, m[1]), {})
    assert hot.programs == 1
    other = front(mixes)
    for k in range(5):
        m = memory(k)
        a = m[0]
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            mixes(a, m[1])
        assert_alike(m, memory(k), {})
    assert other.programs == 0


def test_views_of_other_memory_have_programs_of_their_own() -> None:
    """From strided to contiguous memory, from apart to overlapping, and back."""
    hot = front(flattens)
    made: list[Callable[[], tuple[Any, Any]]] = [
        lambda: (memory(0), np.ones(3)), lambda: (memory(0).T, np.ones(3)),
        lambda: (memory(0)[:, ::2], np.ones(3)),
    ]  # fmt: skip
    for k in range(24):
        make = made[(k // 3) % 3]
        mine, its = make(), make()
        assert_alike((flattens(*mine), mine), (hot.plain(*its), its), {})


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=3, max_size=7))
def test_generated_views(places: list[tuple[int, ...]]) -> None:
    hot = front(mixes)
    try:
        for a, b, i, j in places:
            mine, its = (np.arange(24.0) for _ in range(2))
            got = mixes(mine[a : a + 6 + i], mine[b : b + 12 : 1 + j])
            assert_alike(
                (got, mine), (hot.plain(its[a : a + 6 + i], its[b : b + 12 : 1 + j]), its), {}
            )
    finally:
        hot.restore()


# -- numbers that vary -----------------------------------------------------------------------------


def advances(y, t, dt=0.5):
    for i in range(len(y)):
        y[i] += dt * (t - y[i])
    return y, t + dt


def test_a_number_that_varies_is_an_input() -> None:
    hot = front(advances)
    y, z = np.arange(5.0), np.arange(5.0)
    t = s = 0.0
    for _ in range(30):
        y, t = advances(y, t)
        z, s = hot.plain(z, s)
        assert_alike((y, t), (z, s), {})
    assert hot.programs == 1, hot.explained()
    assert type(t) is float


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 2, 3, True, 1 + 2j, 4.0, -0.0, numpy.inf, numpy.nan, 2**70, 5.0],
        [1, 2, 3, 4, 5, 6, 7, 2**62, -(2**62), 2**63, -(2**64), 8],
        [0.5, None, "a", 0.25, (1, 2), 3.0, 4.0],
        [numpy.float32(0.5), numpy.float64(0.25), 0.5, 0.25, numpy.float32(0.25), 1.0],
    ],
)  # fmt: skip
def test_numbers_of_every_kind(values: list[Any]) -> None:
    def scales(x, k):
        for i in range(3):
            x = x * k + i
        return x, k

    hot = front(scales)
    for k in [v for v in values for _ in range(3)]:
        try:
            want = hot.plain(np.ones(3), k)
        except Exception as error:
            with pytest.raises(type(error)):
                scales(np.ones(3), k)
        else:
            assert_alike(scales(np.ones(3), k), want, {})


def divides(x, t):
    return x * (1.0 / t)


def floor_divides(x, t):
    return x + 7 // t


def raises_to_a_power(x, t):
    return x + t**0.5


def squares(x, t):
    return x + (t * 1e300) * t


def overflows(x, t):
    return x + t**400


def narrows(x, t):
    return x.astype(np.int8) + t


def as_a_size(x, t):
    return np.zeros(abs(int(t)) % 7) + x[0]


def decides(x, t):
    return x + 1 if t > 2 else x - 1


def is_known(x, t):
    return x + (1 if isinstance(t, int) else 2)


def remainder(x, t):
    return x + t % 3, t // 2, t / 4


def grows(x, t):
    for _ in range(3):
        t *= 2147483647
    return x, t


def as_an_index(x, t):
    x[t] += 1
    return x[-t]


NUMBERS = [
    divides, floor_divides, raises_to_a_power, squares, overflows, narrows, as_a_size, decides,
    is_known, remainder, grows, as_an_index,
]  # fmt: skip
VALUES = [
    [1.0, 2.0, 4.0, 0.0, -4.0, 1e200, 0.5, 3.0, -1e308],
    [1, 2, 3, 4, 5, 6, 0, -1, 300, -200, 7, 2**40, -(2**61), 8],
]


@pytest.mark.parametrize("f", NUMBERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("values", VALUES, ids=["float", "int"])
def test_arithmetic_of_numbers_is_pythons(f: Any, values: list[Any]) -> None:
    """Python raises where NumPy gives inf or nan, and its ints have any size."""
    hot = front(f)
    for t in values:
        try:
            want = np.materialize(hot.plain(np.arange(4.0), t))
        except Exception as error:
            with pytest.raises(type(error)):
                np.materialize(f(np.arange(4.0), t))
        else:
            assert_alike(f(np.arange(4.0), t), want, {})


# -- parameters ------------------------------------------------------------------------------------


def keyword_only(x, *, by=2.0, n=3):
    for i in range(n):
        x[i] *= by
    return x + n


def many(*xs, scale=1.0):
    out = np.zeros(4)
    for x in xs:
        for i in range(4):
            out[i] += x[i] * scale
    return out


def named(x, **options):
    for i in range(4):
        x[i] += options["by"] * options.get("more", 1.0)
    return sorted(options), x


def everything(a, b=1.0, /, c=2.0, *rest, d, e=4.0, **more):
    for i in range(4):
        a[i] += b * c + d * e
    return a, len(rest), tuple(more)


def with_tuples(state, pair):
    u, v = state
    for i in range(4):
        u[i] += pair.low * v[i]
    return (u, v), pair


Pair = namedtuple("Pair", "low high")

PARAMETERS: list[tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]] = [
    (keyword_only, lambda x: ((x,), {})), (keyword_only, lambda x: ((), {"n": 2, "x": x})),
    (many, lambda x: ((x, x * 2, x), {"scale": 0.5})), (many, lambda x: ((), {})),
    (named, lambda x: ((x,), {"more": 2.0, "by": 1})),
    (everything, lambda x: ((x, 3.0, 1.0, 7, x), {"d": 1.0, "z": 2})),
    (everything, lambda x: ((x,), {"d": 2.0})),
    (with_tuples, lambda x: (((x, x[1:]), Pair(0.5, x)), {}) if len(x) > 4 else (
        ((x, x * 2), Pair(0.5, x)), {})),
]  # fmt: skip


@pytest.mark.parametrize(("f", "made"), PARAMETERS, ids=lambda f: f.__name__)
def test_parameters(f: Any, made: Any) -> None:
    hot = front(f)
    for k in range(5):
        mine, its = (np.array(numpy.random.default_rng(k).random(4)) for _ in range(2))
        args, kwargs = made(mine)
        same, keywords = made(its)
        assert_alike((f(*args, **kwargs), mine), (hot.plain(*same, **keywords), its), {})
    assert hot.programs == 1, hot.explained()
    with pytest.raises(TypeError):
        f(1, 2, 3, 4, 5, unknown=1) if f is not named else f()


# -- closures --------------------------------------------------------------------------------------


def test_closures() -> None:
    """Variables of the function around it: arrays that it writes, numbers that vary, functions."""

    def world() -> tuple[Callable[[], Any], Callable[..., Any]]:
        u, t, gain, scale = np.arange(6.0), 0.0, 0.5, 2.0

        def slope(i: Any) -> Any:
            return u[i] * gain

        def step() -> Any:
            for i in range(6):
                u[i] += slope(i) * scale + t
            return u.sum()

        def change(**new: Any) -> None:
            nonlocal u, t, gain, scale, slope
            u, t = new.get("u", u), new.get("t", t)
            gain, scale = new.get("gain", gain), new.get("scale", scale)
            slope = new.get("slope", slope)

        return step, change

    (step, change), (same, change_same) = world(), world()
    hot = front(step)
    for k in range(40):
        assert_alike(step(), same(), {})
        changes: dict[str, Any] = {"t": k * 0.125}
        if k == 12:
            changes["gain"] = 0.25
        if k == 20:
            changes["scale"] = 3
        if k == 28:
            changes["slope"] = lambda i: 1.0
        for c in (change, change_same):
            new = {24: np.zeros, 34: numpy.zeros}.get(k)
            c(**changes, **({"u": new(6)} if new else {}))
        assert k != 11 or hot.programs == 2, hot.explained()  # `t` began to vary


def test_closures_of_one_code_are_different_functions() -> None:
    def make(k: float, x: Any) -> Callable[[], Any]:
        def step() -> Any:
            for i in range(4):
                x[i] += k
            return x.sum()

        return step

    arrays = [np.zeros(4) for _ in range(3)]
    steps = [make(k, x) for k, x in zip((1.0, 2.0, 3.0), arrays)]
    fronts = list(map(front, steps))
    for n in range(1, 7):
        assert [float(s()) for s in steps] == [4.0 * n, 8.0 * n, 12.0 * n]
    assert [f.programs for f in fronts] == [1, 1, 1], fronts[0].explained()


def test_variables_that_are_unbound_or_rebound() -> None:
    def make() -> Any:
        def step(x: Any) -> Any:
            for i in range(4):
                x[i] += later  # noqa: F821
            return x

        with pytest.raises(NameError):
            step(np.zeros(4))
        hot = front(step)
        for _ in range(2):
            with pytest.raises(NameError):
                step(np.zeros(4))
        later: Any = 1.0
        for value in itertools.chain([1.0] * 4, [2, 2.5, 3.0, "x"]):
            later = value
            if value == "x":
                with pytest.raises((TypeError, ValueError)):
                    step(np.zeros(4))
            else:
                assert step(np.zeros(4)).tolist() == [value] * 4
        del later
        with pytest.raises(NameError):
            step(np.zeros(4))
        return hot

    make()


def test_nonlocal_stays_with_python() -> None:
    count = 0

    def step(x: Any) -> Any:
        nonlocal count
        for i in range(4):
            x[i] += count
            count += 1
        return x

    hot = front(step)
    for _ in range(5):
        step(np.zeros(4))
    assert count == 20
    assert hot.programs == 0


def test_lambdas_and_functions_as_arguments() -> None:
    def applies(f: Any, x: Any) -> Any:
        for i in range(4):
            x[i] = f(x[i])
        return x

    def double(v: Any) -> Any:
        return v * 2

    hot = front(applies)
    for f in (double, double, double, np.sin, np.sin, np.sin, lambda v: v + 1, double):
        assert_alike(applies(f, np.ones(4)), hot.plain(f, np.ones(4)), {})
    assert hot.programs == 3, hot.explained()
    scale = 3.0
    made = lambda x: [v * scale for v in x]  # noqa: E731
    other = front(made)
    for scale in (3.0, 3.0, 3.0, 0.5):  # noqa: B007
        assert_alike(made(np.arange(4.0)), other.plain(np.arange(4.0)), {})


def mean_of(x):
    m = x[0]
    for v in x:
        m = m + v * v
    return m


def several(x):
    total = x[0] * 0
    for v in x:
        total = total + v
    return {"total": total, "pair": (total * 2, [x[1]]), "number": np.sqrt(2.0)}


@pytest.mark.parametrize("f", [mean_of, several])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "?"])
def test_numbers_of_numpys_stay_numpys(f: Any, dtype: str) -> None:
    """A function that imports only NumPy may run within a hot one, or get NumPy's arrays."""

    def types(x: Any) -> Any:
        if isinstance(x, dict):
            return {k: types(v) for k, v in x.items()}
        return [types(v) for v in x] if isinstance(x, (tuple, list)) else type(x)

    hot = front(f)
    for make in (numpy.asarray, np.asarray, numpy.asarray):
        for k in range(4):
            x = make(numpy.arange(1 + k, 6 + k).astype(dtype))
            got, want = f(x), hot.plain(x)
            assert types(got) == types(want)
            assert_alike(got, want, {})
    assert hot.programs == 2, hot.explained()
