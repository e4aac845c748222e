"""Floating-point errors: what NumPy runs at once warns; where the user asks, all that runs does."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import operator
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _errstate
from lazynp._fronts import BUILT
from lazynp._memo import state
from tests.helpers import POLICIES, NothingForced, be_eager, in_thread, is_eager

pytestmark = pytest.mark.parametrize("execution", POLICIES)


@pytest.fixture(autouse=True)
def _execution(execution: str) -> Any:
    with np.config(execution=execution):
        yield
    assert not state.watching


X, BIG = [1.0, 0.0, -1.0], [1e308, 1e308, 2.0]
ROWS: dict[str, Callable[[Any], Any]] = {
    "divide": lambda np: 1.0 / np.array(X),
    "invalid": lambda np: np.sqrt(np.array(X)),
    "over": lambda np: np.array(BIG) * 10.0,
    "under": lambda np: np.array([1e-308, 1.0]) * 1e-10,
    "log": lambda np: np.log(np.array(X)),
    "integers": lambda np: np.array([1, 2]) // np.array([0, 1]),
    "remainder": lambda np: np.remainder(np.array(X), 0.0),
    "power": lambda np: np.array([0.0, 2.0]) ** -1,
    "cube": lambda np: np.array([1e200]) ** 3,
    "scalar": lambda np: np.array(X)[0] / np.array(X)[1],
    "scalar and number": lambda np: np.array(X)[0] / 0,
    "scalar of integers": lambda np: np.array([127], "i1")[0] + np.array([1], "i1")[0],
    "negative": lambda np: -np.array([-128], "i1")[0],
    "sum": lambda np: np.array(BIG).sum(),
    "prod": lambda np: np.prod(np.array(BIG)),
    "cumsum": lambda np: np.cumsum(np.array(BIG)),
    "mean": lambda np: np.mean(np.array([1e308, 1e308])),
    "matmul": lambda np: np.array([BIG, BIG]) @ np.array(BIG),
    "cast": lambda np: np.array(BIG).astype("f4"),
    "nan to int": lambda np: np.array([numpy.nan]).astype("i8"),
    "in place": lambda np: np.array(X).__itruediv__(0.0),
    "outer": lambda np: np.divide.outer(np.array(X), np.array(X)),
    "accumulate": lambda np: np.multiply.accumulate(np.array(BIG)),
    "where": lambda np: np.divide(1.0, np.array(X), where=np.array(X) == 0, out=np.zeros(3)),
    "dtype": lambda np: np.add(np.array([6e4]), 6e4, dtype="f2", casting="same_kind"),
    "at": lambda np: np.add.at(np.array(BIG), [0, 0], 1e308),
    "det": lambda np: np.linalg.det(np.array([[1e200, 0.0], [0.0, 1e200]])),
    "det of nan": lambda np: np.linalg.det(np.array([[numpy.nan, 0.0], [0.0, 1.0]])),
    "slogdet": lambda np: np.linalg.slogdet(np.array([[numpy.nan, 0.0], [0.0, 1.0]]))[1],
    "fft": lambda np: np.fft.fft(np.array(BIG)),
    "two results": lambda np: np.divmod(np.array(X), 0.0),
}
QUIET: dict[str, Callable[[Any], Any]] = {
    "where": lambda np: np.divide(1.0, np.array(X), where=np.array(X) != 0, out=np.zeros(3)),
    "isclose": lambda np: np.isclose(np.array([numpy.inf]), np.array([numpy.inf])),
    "nanmean": lambda np: np.nanmean(np.array([1.0, numpy.nan])),
    "comparisons": lambda np: np.array([numpy.nan, 1.0]) < 2.0,
    "maximum": lambda np: np.maximum(np.array([numpy.nan, 1.0]), 2.0),
    "views": lambda np: np.array(X)[::-1].reshape(3, 1).T.copy(),
}


def _message(module: Any, program: Callable[[Any], Any]) -> str:
    with module.errstate(all="raise"):
        try:
            result = program(module)
        except FloatingPointError as e:
            return str(e)
    results = result if type(result) is tuple else (result,)
    return str([numpy.asarray(r).tolist() for r in results])


@pytest.mark.parametrize("row", ROWS)
def test_raise(row: str) -> None:
    expected = _message(numpy, ROWS[row])
    assert "encountered in" in expected
    assert _message(np, ROWS[row]) == expected


@pytest.mark.parametrize("row", ROWS)
def test_raise_in_a_loop_of_small_operations(row: str) -> None:
    """Where such operations are done at once anyway."""
    before = is_eager()
    be_eager()
    try:
        assert _message(np, ROWS[row]) == _message(numpy, ROWS[row])
    finally:
        be_eager(before)


@pytest.mark.parametrize("row", QUIET)
def test_no_error_where_numpy_sees_none(row: str) -> None:
    expected = _message(numpy, QUIET[row])
    assert "encountered in" not in expected
    assert _message(np, QUIET[row]) == expected


@pytest.mark.parametrize("row", [*ROWS, *QUIET])
def test_warn_and_values(row: str) -> None:
    program = {**QUIET, **ROWS}[row]
    seen = []
    for module in (numpy, np):
        with warnings.catch_warnings(record=True) as caught, module.errstate(all="warn"):
            warnings.simplefilter("always")
            result = program(module)
        results = result if type(result) is tuple else (result,)
        values = [(getattr(r, "dtype", None), numpy.asarray(r).tolist()) for r in results]
        seen.append((str(values), [(str(w.message), w.category) for w in caught]))
    assert {w.filename for w in caught} <= {__file__}
    assert seen[0] == seen[1]


def test_a_warning_names_the_users_line() -> None:
    x = np.array(X)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as caught:
        with np.errstate(divide="warn"):
            line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
            _ = 1 / x
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_nobody_warns_of_what_is_recorded_and_nothing_is_forced() -> None:
    x = np.array(X)
    with NothingForced():
        y = (1 / x).sum() + np.log(x)
        with np.errstate(all="ignore"):
            y = y + 1 / x
        previous = np.seterr(all="warn")
        y = y + 1 / x
        np.seterr(**previous)
    assert numpy.isnan(y).any() and not state.watching


@pytest.mark.skipif(not BUILT, reason="the shortcut is in C")
def test_numbers_without_errors_need_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """C computes them, and looks at the processor's flags."""
    calls, real = [], _errstate.checked
    monkeypatch.setattr(_errstate, "checked", lambda *a, **k: calls.append(a) or real(*a, **k))
    u = np.arange(9.0)
    with np.errstate(all="raise"):
        for i in range(1, 8):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) ** 2 / 3 - abs(-u[i])
            assert u[i] < 100
        assert not calls
        with pytest.raises(FloatingPointError):
            _ = u[0] / u[0]
        assert len(calls) == 1


DOUBLES = (
    (0.0, -1.5, 3.0, 1e30, 1e-30, 1e300, 1e-300, 5e-324, numpy.inf, numpy.nan),
    (0.0, 2.0, -3.0, 1e30, 1e300, 1e-300, -numpy.inf, numpy.nan),
)
SINGLES = (
    (0.0, -1.5, 3.0, 1e30, 1e-30, 1e-45, numpy.inf, numpy.nan),
    (0.0, 2.0, -3.0, 1e30, 1e-30, -numpy.inf, numpy.nan),
)
NUMBERS = [(kind(x), kind(y)) for kind, (xs, ys) in ((numpy.float64, DOUBLES),
           (numpy.float32, SINGLES)) for x in xs for y in ys]  # fmt: skip
NUMBERS += [(numpy.int64(x), numpy.int64(y)) for x in (-7, 0, 1 << 62) for y in (-1, 0, 4)]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv,
    operator.mod, operator.lt, operator.ge, operator.eq,
]  # fmt: skip


@pytest.mark.parametrize("mode", ["raise", "warn", "call"])
def test_errors_of_numbers(mode: Any) -> None:
    """Of two Scalars, and of one and a number of Python's on either side."""

    def outcome(module: Any, run: Callable[[], Any]) -> Any:
        heard: list[Any] = []
        with (
            module.errstate(all=mode, call=lambda *given: heard.append(given)),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            try:
                value = run()
            except (FloatingPointError, ValueError, OverflowError) as error:
                return type(error), str(error)
        told = [(str(w.message), w.filename, w.lineno) for w in warned]
        return numpy.asarray(value).tobytes(), numpy.asarray(value).dtype, heard, told

    for x, y in NUMBERS:
        ours = np.array([x, y])
        theirs = numpy.array([x, y])
        for f in OPERATORS:
            for run in (
                lambda v, f=f: f(v[0], v[1]),
                lambda v, f=f: f(v[0], v[1].item()),
                lambda v, f=f: f(v[0].item(), v[1]),
            ):
                got = outcome(np, lambda run=run, v=ours: run(v))
                assert got == outcome(numpy, lambda run=run, v=theirs: run(v)), (f, x, y)


def test_call_log_and_print(capfd: Any) -> None:
    def program(module: Any) -> list[Any]:
        calls: list[Any] = []

        class Log:
            def write(self, message: str) -> None:
                calls.append(message)

        def called(error: str, flag: int) -> None:
            calls.append((error, flag))

        with module.errstate(all="call", call=called):
            _ = 1 / module.array(X), module.sqrt(module.array(X))
        with module.errstate(all="log", call=Log()):
            _ = 1 / module.array(X), module.array(BIG) * 10
        with pytest.warns(RuntimeWarning, match="invalid"):  # the other errors are logged
            with module.errstate(all="log", invalid="warn", call=Log()):
                _ = 1 / module.array(X), module.sqrt(module.array(X))
        with module.errstate(divide="print"):
            _ = 1 / module.array(X)
        return [*calls, capfd.readouterr()]

    assert program(np) == program(numpy)


def test_states_nest_and_are_put_back() -> None:
    x = np.array(X)
    with np.errstate(all="raise"):
        with np.errstate(divide="ignore"):
            assert (1 / x).tolist() == [1.0, numpy.inf, -1.0]
            with pytest.raises(FloatingPointError, match="sqrt"):
                np.sqrt(x)
        with np.errstate(all="ignore"), NothingForced():
            _ = np.sqrt(x)
        with pytest.raises(FloatingPointError):
            _ = 1 / x
    assert np.geterr() == numpy.geterr() and not state.watching

    @np.errstate(invalid="raise")
    def f(x: Any) -> Any:
        return np.sqrt(x)

    with pytest.raises(FloatingPointError):
        f(x)
    np.sqrt(x)


def test_seterr() -> None:
    x, before = np.array(X), numpy.geterr()
    assert np.seterr(divide="raise") == before
    try:
        with pytest.raises(FloatingPointError):
            _ = 1 / x
        with pytest.raises(FloatingPointError):
            x[:] = 1 / x
    finally:
        np.seterr(**before)
    _ = 1 / x
    assert x.tolist() == X


def test_stores_that_cast() -> None:
    ints, halves, x = np.zeros(2, "i4"), np.zeros(2, "f2"), np.array([numpy.nan, 1e9])
    halves[:] = x * 0.0  # remembered as a store without an error
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="invalid value encountered in cast"):
            ints[:] = x
        with pytest.raises(FloatingPointError, match="overflow encountered in cast"):
            halves[:] = x
    assert ints.tolist() == [0, 0]


def test_a_state_is_that_of_its_thread_and_task() -> None:
    inside, left = threading.Event(), threading.Event()

    def other() -> list[float]:
        inside.wait(30)
        try:
            return (1 / np.array(X)).tolist()
        finally:
            left.set()

    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(other()))
    thread.start()
    with np.errstate(all="raise"):
        inside.set()
        assert left.wait(30)
    thread.join(30)
    assert results == [[1.0, numpy.inf, -1.0]]

    async def raising() -> str:
        with np.errstate(divide="raise"):
            await asyncio.sleep(0)
            return _message_here()

    async def default() -> str:
        await asyncio.sleep(0)
        return _message_here()

    def _message_here() -> str:
        try:
            return str((1 / np.array(X)).tolist())
        except FloatingPointError as e:
            return str(e)

    async def both() -> Any:
        return await asyncio.gather(raising(), default())

    raised, value = asyncio.run(both())
    assert "divide by zero" in raised and value == "[1.0, inf, -1.0]"


def test_a_context_that_dies_ends_its_watch() -> None:
    context = contextvars.copy_context()
    context.run(np.seterr, all="raise")
    assert state.watching
    assert (1 / np.array(X)).tolist() == [1.0, numpy.inf, -1.0]  # not in this context
    del context
    gc.collect()
    assert not _errstate.strict() and not state.watching  # as soon as somebody asks
    in_thread(lambda: np.seterr(all="raise"))
    gc.collect()
    assert not _errstate.strict() and not state.watching


def test_an_interrupt_while_a_state_ends_is_neither_lost_nor_in_the_way() -> None:
    """At any line of lazynp's, as a signal's handler raises it. A weak reference would lose it."""
    place = met = 0

    def interrupt(frame: Any, event: str, arg: Any) -> Any:
        nonlocal met
        if event == "line" and frame.f_code.co_filename == _errstate.__file__:
            met += 1
            if met == place:
                raise KeyboardInterrupt
        return interrupt

    while True:
        met = 0
        before = sys.gettrace()
        caught = False
        try:
            with np.errstate(all="raise"):
                sys.settrace(interrupt)
        except KeyboardInterrupt:
            caught = True
        finally:
            sys.settrace(before)
        numpy.seterr(all="warn", under="ignore")  # NumPy's own `__exit__` may not have run
        assert caught == (0 < place <= met)
        if _errstate._state.get() is not None:
            np.seterr(all="warn", under="ignore")
        assert not _errstate.strict() and not state.watching
        if place > met:
            return
        place += 1


def test_checks() -> None:
    with np.config(checks=True):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            _ = 1 / np.array(X)
        with np.errstate(all="ignore"):
            _ = 1 / np.array(X)
    _ = 1 / np.array(X)


def test_transformations() -> None:
    def f(x: Any) -> Any:
        return np.log(x).sum()

    with np.errstate(divide="raise"):
        assert np.grad(f)(np.array([1.0, 2.0])).tolist() == [1.0, 0.5]
        with pytest.raises(FloatingPointError):
            np.grad(f)(np.array(X))
        assert np.jit(f)(np.array([1.0, 0.0])) == -numpy.inf  # staged: the state is not seen


def test_what_is_pending_is_computed_in_its_own_state() -> None:
    y = 1 / np.array(X)
    with np.errstate(all="raise"):
        assert (y * 1.0).tolist() == [1.0, numpy.inf, -1.0]


@pytest.mark.parametrize(
    "program",
    [
        "np.zeros(0).mean()", "np.mean(np.zeros((0, 3)), 0)", "np.ones(1).var(ddof=1)",
        "np.std(np.ones((2, 1)), axis=1, ddof=1)", "np.average(np.zeros((0, 2)), 0)",
    ],
)  # fmt: skip
def test_warnings_that_shapes_decide(program: str) -> None:
    found = []
    for module in (numpy, np):
        for _ in range(4 if module is np else 1):  # also when it is recorded again
            with pytest.warns(RuntimeWarning) as warned:
                eval(program, {"np": module})
            found.append({str(w.message) for w in warned if " in " not in str(w.message)})
    assert found[0] and all(f == found[0] for f in found)
