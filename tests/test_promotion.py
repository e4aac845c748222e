"""Hot functions as programs: a call gives what Python gives, and Python could notice nothing."""

from __future__ import annotations

import copy
import gc
import inspect
import math
import pathlib
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import given

import lazynp as np
from lazynp import _array, _recorder
from lazynp._array import Array, Scalar
from lazynp._fronts import BUILT
from lazynp._promotion import (
    Promoted,
    _case,
    _clock,
    _function,
    _program,
    _sampling,
    _trials,
    _watching,
)
from lazynp._promotion._expected import expected
from lazynp._promotion._gains import Slower
from lazynp.transforms.control import TooLong, _loops, front_of
from tests import promotion_generator as generator, promotion_programs as programs
from tests.promoting import front, promoting
from tests.transforms.test_python_loops_errors import blocks

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield
    for f in vars(programs).values():
        front = front_of(f)
        if front is not None:
            front.restore()  # type: ignore[attr-defined]


def arguments(kinds: tuple[Any, ...], seed: int, module: Any) -> list[Any]:
    rng = numpy.random.default_rng(seed)
    made = {
        "vector": rng.standard_normal(30), "four": rng.random(4) + 0.1, "empty": numpy.zeros(0),
        "floats": rng.random(16).astype(numpy.float32), "matrix": rng.random((8, 5)),
        "complex": rng.random(9) + 1j, "integers": rng.integers(-9, 9, 12),
    }  # fmt: skip
    return [module.array(made[k]) if isinstance(k, str) and k in made else k for k in kinds]


def told(x: Any) -> Any:
    """A value with all that a user may see of it. (A number that is Python's on one path and
    NumPy's on another is NumPy's.)
    """
    if type(x) in (Scalar, float):
        return float
    if isinstance(x, Array):
        f = x.flags
        return type(x), x.dtype, x.shape, f.c_contiguous, f.f_contiguous, f.writeable
    if isinstance(x, (tuple, list)):
        return type(x), [told(v) for v in x]
    if isinstance(x, dict):
        return {k: told(v) for k, v in x.items()}
    return type(x), x


def numbers(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [n for v in x for n in numbers(v)]
    if isinstance(x, dict):
        return numbers(list(x.values()))
    return [numpy.asarray(x)] if isinstance(x, (Array, float, complex)) else []


def assert_alike(got: Any, want: Any) -> None:
    assert told(got) == told(want)
    for g, w in zip(numbers(got), numbers(want), strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-10 if g.dtype.itemsize > 4 else 1e-5)


@pytest.mark.parametrize(
    ("f", "kinds"), programs.PROGRAMS, ids=lambda x: getattr(x, "__name__", "")
)
def test_a_program_gives_what_python_gives(f: Any, kinds: tuple[Any, ...]) -> None:
    hot = front(f)
    for seed in range(4):
        args, same = arguments(kinds, seed, np), arguments(kinds, seed, np)
        got, want = f(*args), hot.plain(*same)
        assert_alike(got, want)
        assert_alike(args, same)
    assert hot.programs == 1, hot.explained()


def test_lists_that_are_given_back_hold_arrays_of_their_own() -> None:
    hot = front(programs.lists)
    for seed in range(4):
        out = programs.lists(*arguments(("vector", 300), seed, np))
    assert hot.programs == 1, hot.explained()
    states = out[0]["states"]
    assert out[2] is states[3] and len(states) == 301
    before = states[4].tolist()
    states[3][0] = 77
    assert out[2][0] == 77 and states[4].tolist() == before and states[3].base is None


@pytest.mark.parametrize(
    "f",
    [
        programs.seeds_numpys_generator,
        programs.draws_before_it_seeds,
        programs.seeds_in_a_branch,
        programs.seeds_in_each_round,
    ],
)
def test_numpys_generator_goes_on_as_python_leaves_it(f: Any) -> None:
    """Whether a program or Python has run the call, or a trace has come to nothing."""
    hot, found = front(f), []
    for run in (f, hot.plain):
        np.random.seed(77)
        told = [np.random.rand()]
        for k in range(6):
            told += [*np.ravel(run(np.ones(5))[0]).tolist(), np.random.rand()]
            if k == 3:
                np.random.seed(k)
        found.append([*told, np.random.randn()])
    assert found[0] == found[1]


def test_a_function_whose_loop_has_lost_has_its_trial_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """After as many of Python's calls as twelve."""
    hot = front(programs.stencil)
    monkeypatch.setattr(_clock, "of_python", lambda *_: 1.0)
    monkeypatch.setattr(_trials, "has_slower", lambda code: code is hot.plain.__code__)
    won = []
    for seed in range(20):
        programs.stencil(*arguments(("vector", 20), seed, np))
        won.append(hot.programs)
    assert won[10] == 0 and won[-1] == 1


def test_calls_of_a_program_compile_and_trace_nothing() -> None:
    hot = front(programs.stencil)
    for seed in range(3):
        programs.stencil(*arguments(("vector", 20), seed, np))
    assert hot.programs == 1
    before = np.stats().compiles, np.stats().reference_runs
    for seed in range(5):
        programs.stencil(*arguments(("vector", 20), seed, np))
    assert (np.stats().compiles, np.stats().reference_runs) == before


@pytest.mark.parametrize("f", programs.REFUSED, ids=lambda f: f.__name__)
def test_what_python_could_notice_is_refused(f: Any) -> None:
    hot = front(f)
    for _ in range(3):
        f(np.array([1.0, 2.0, 3.0, 4.0]))
    assert hot.programs == 0
    assert front_of(f) is None or not hot.cases  # Python has the function back, or no case arose


def test_a_list_of_constants_is_compared_before_each_call() -> None:
    f, log = programs.reads_a_list, programs.LOG
    hot = front(f)
    try:
        for count in (1, 1, 1, 2, 2):
            log[:] = range(count)
            assert f(np.ones(2))[0] == count**20
        assert hot.programs
    finally:
        log.clear()


def test_attributes_of_functions_are_read_anew() -> None:
    f, of = programs.reads_an_attribute_of_a_function, programs.reads_an_array_of_numpys
    hot = front(f)
    for scale in (1.0, 1.0, 1.0, 2.0):
        of.scale = scale  # type: ignore[attr-defined]
        assert f(np.ones(2))[0] == scale**20
    assert hot.programs == 1


def test_a_trial_changes_nothing_outside() -> None:
    programs.LOG.clear()
    programs.COUNT = 0
    programs.TOTALS[:] = 0
    for f in (
        programs.appends_outside, programs.counts_globally, programs.writes_a_global_array,
    ):  # fmt: skip
        front(f)
        for _ in range(3):
            f(np.ones(3))
    assert programs.LOG == [*range(20)] * 3
    assert programs.COUNT == 60
    assert programs.TOTALS.tolist() == [60, 0]


# -- when a program may not run ------------------------------------------------------------------


def warm(f: Any, *kinds: Any) -> Promoted:
    hot = front(f)
    for seed in range(3):
        f(*arguments(kinds, seed, np))
    assert hot.programs == 1, hot.explained()
    return hot


def test_a_global_number_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = warm(programs.sweep, "vector", 3)
    monkeypatch.setattr(programs, "SCALE", 0.25)
    args, same = (arguments(("vector", 3), 7, np) for _ in range(2))
    assert_alike(programs.sweep(*args), hot.plain(*same))


def test_a_global_number_that_is_computed_again() -> None:
    hot = warm(programs.sweep, "vector", 3)
    programs.SCALE = float("0.5")
    programs.sweep(*arguments(("vector", 3), 7, np))
    assert hot.programs == 1
    assert next(iter(hot.cases.values())).program is not None


def test_global_arrays_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = warm(programs.calls_helper, "four", 10)
    programs.WEIGHTS[0] = -7.0
    args = arguments(("four", 10), 7, np)
    assert_alike(programs.calls_helper(*args), hot.plain(*args))
    assert next(iter(hot.cases.values())).program is not None
    programs.WEIGHTS[0] = 1.0
    monkeypatch.setattr(programs, "WEIGHTS", np.array([9.0, 8.0, 7.0, 6.0]))
    assert_alike(programs.calls_helper(*args), hot.plain(*args))


def test_a_helper_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    warm(programs.calls_helper, "four", 10)
    monkeypatch.setattr(programs, "helper", lambda x, k: x * 0)
    assert not programs.calls_helper(np.ones(4), 10).any()


@pytest.mark.parametrize("owner", [programs.Constants, programs.Physics])
def test_a_class_constant_that_changes(monkeypatch: pytest.MonkeyPatch, owner: Any) -> None:
    """Of the class, or of one that it inherits from."""
    hot = warm(programs.class_constants, "four")
    monkeypatch.setattr(owner, "gain", 0.5, raising=False)
    assert_alike(programs.class_constants(np.ones(4)), hot.plain(np.ones(4)))


def test_a_global_array_as_an_argument() -> None:
    """The function writes its argument, and reads the global array."""
    hot = warm(writes_and_reads, "four")
    try:
        SHARED[:] = 1.0
        got = writes_and_reads(SHARED)
        left = numpy.asarray(SHARED).copy()
        SHARED[:] = 1.0
        assert_alike(got, hot.plain(SHARED))
        assert (numpy.asarray(SHARED) == left).all()
    finally:
        hot.restore()


SHARED = np.ones(4)


def writes_and_reads(x):
    for i in range(12):
        x[i % 4] += 1
        x[0] += SHARED.sum()
    return x.copy()


@pytest.mark.parametrize("kind", ["view", "transposed", "read-only", "twice", "numpy", "list"])
def test_other_arguments(kind: str) -> None:
    hot = warm(adds, "matrix", "matrix")
    try:
        x = np.arange(40.0).reshape(8, 5).copy()
        y = np.ones((8, 5))
        if kind == "view":
            x = np.arange(80.0).reshape(16, 5)[::2]
        elif kind == "transposed":
            x = np.arange(40.0).reshape(5, 8).T
        elif kind == "read-only":
            x.flags.writeable = False
        elif kind == "twice":
            y = x
        elif kind == "numpy":
            y = numpy.ones((8, 5))  # type: ignore[assignment]
        else:
            y = [1.0] * 5  # type: ignore[assignment]
        same = (x.copy(), x.copy() if kind == "twice" else copy.deepcopy(y))
        if kind == "read-only":
            with pytest.raises(ValueError, match="read-only"):
                adds(x, y)
            return
        if kind == "twice":
            same = (same[0], same[0])
        got, want = adds(x, y), hot.plain(*same)
        numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(want), rtol=1e-12)
        numpy.testing.assert_allclose(numpy.asarray(x), numpy.asarray(same[0]), rtol=1e-12)
    finally:
        hot.restore()


def adds(x, y):
    for _ in range(12):
        x += y
        x *= 0.5
    return x + 1


def test_an_error_is_pythons() -> None:
    """Of the same class, at the user's line, with what was written until then."""
    f = programs.__dict__["takes"] = takes
    hot = front(f)
    x = np.zeros(5)
    for _ in range(3):
        takes(x, np.array([0, 1, 2]))
    assert hot.programs == 1, hot.explained()
    x = np.zeros(5)
    with pytest.raises(
        IndexError, match="index 9 is out of bounds for axis 0 with size 5"
    ) as error:
        takes(x, np.array([0, 9, 2]))
    assert error.traceback[-1].name == "takes" or any(t.name == "takes" for t in error.traceback)
    assert x.tolist() == [1.0, 0, 0, 0, 0]
    del programs.__dict__["takes"]


def takes(x, at):
    for i in range(len(at)):
        x[at[i]] += 1


def test_new_numbers_and_shapes_have_programs_of_their_own() -> None:
    hot = front(programs.stencil)
    for steps, n in [(9, 10), (9, 10), (9, 10), (12, 10), (12, 10), (9, 20), (9, 20), (9, 10)]:
        args, same = (arguments(("vector", steps), n, np) for _ in range(2))
        args[0], same[0] = args[0][:n].copy(), same[0][:n].copy()
        assert_alike(programs.stencil(*args), hot.plain(*same))
    assert hot.programs == 3


def test_zeros_of_both_signs_are_different_numbers() -> None:
    hot = front(scaled)
    for _ in range(3):
        scaled(np.ones(3), 0.0)
    assert hot.programs == 1
    assert numpy.signbit(numpy.asarray(scaled(np.ones(3), -0.0))).all()
    hot.restore()


def scaled(x, by):
    for _ in range(20):
        x = x * abs(x)
    return x * by


def test_too_many_kinds_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = front(programs.stencil)
    monkeypatch.setattr(_case, "RENT", numpy.inf)  # no kind gets a program
    for n in range(3, 90):
        programs.stencil(np.ones(n), 9)
    assert front_of(programs.stencil) is None
    assert len(hot.cases) <= 8


def test_programs_outlive_kinds_that_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hot = front(programs.stencil)
    for n in (10, 11, 12) * 2:
        programs.stencil(np.ones(n), 9)
    assert hot.programs == 3
    with monkeypatch.context() as patch:
        patch.setattr(_case, "RENT", numpy.inf)
        for n in range(20, 110):
            programs.stencil(np.ones(n), 9)
    assert front_of(programs.stencil) is hot and len(hot.cases) == 8
    assert [case.program is not None for case in hot.cases.values()][:3] == [True] * 3
    for n in [*range(20, 40)] * 2:
        args, same = (arguments(("vector", 9), n, np) for _ in range(2))
        args[0], same[0] = args[0][:n].copy(), same[0][:n].copy()
        assert_alike(programs.stencil(*args), hot.plain(*same))
    assert hot.programs == 8 and len(hot.cases) == 8


def test_settings_and_transformations() -> None:
    hot = warm(programs.stencil, "vector", 20)
    x = np.array(numpy.random.default_rng(3).random(30))
    want = hot.plain(x.copy(), 20)
    with np.config(promotion=False):
        assert_alike(programs.stencil(x.copy(), 20), want)
    with np.errstate(all="raise"):
        assert_alike(programs.stencil(x.copy(), 20), want)
    for execution in ("reference", "compiled"):
        with np.config(execution=execution):
            assert_alike(programs.stencil(x.copy(), 20), want)
    assert_alike(np.jit(programs.stencil)(x.copy(), 20), want)
    grad = np.grad(lambda x: (programs.stencil(x.copy(), 20) ** 2).sum())
    plain = np.grad(lambda x: (hot.plain(x.copy(), 20) ** 2).sum())
    numpy.testing.assert_allclose(grad(x), plain(x), rtol=1e-12)
    many = np.vmap(lambda x: programs.stencil(x.copy(), 20))(np.stack([x, 2 * x]))
    numpy.testing.assert_allclose(many[1], 2 * want, rtol=1e-12)
    counted: list[int] = []
    sys.settrace(lambda *_: counted.append(1))  # a debugger sees every line
    try:
        programs.stencil(x.copy(), 20)
    finally:
        sys.settrace(None)
    assert len(counted) > 1


def test_jit_converts_the_control_flow_of_a_promoted_function() -> None:
    hot = warm(programs.first_above, "vector", 0.5)
    x = np.arange(30.0)
    assert int(np.jit(programs.first_above)(x, 12.5)) == hot.plain(x, 12.5) == 13


def test_recursion_gives_the_function_back() -> None:
    hot = front(halves)
    assert halves(np.ones(4), 700)[0] == hot.plain(np.ones(4), 700)[0]
    assert front_of(halves) is None


def test_long_programs_wait_until_python_has_spent_their_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_function, "_COMPILING", 100.0)
    hot = front(programs.stencil)
    for _ in range(3):
        programs.stencil(np.ones(8), 9)
    (case,) = hot.cases.values()
    assert hot.programs == 0 and case.candidate is not None
    assert 100.0 < case.price < 100.0 * 40
    case.compiling = 0.0
    programs.stencil(np.ones(8), 9)
    assert hot.programs == 1


def test_short_calls_give_the_function_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_function, "_SHORT", 10.0)
    hot = front(programs.helper)
    for _ in range(17):
        programs.helper(np.ones(4), 2)
    assert front_of(programs.helper) is None
    assert "shorter than" in hot.explained()


def halves(x, depth):
    return x if depth == 0 else halves(x, depth - 1) * 0.999


def test_threads() -> None:
    hot = front(programs.stencil)
    x = np.array(numpy.random.default_rng(3).random(30))
    want = hot.plain(x.copy(), 20)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(10):
            got = programs.stencil(x.copy(), 20)
            if not numpy.allclose(got, want, rtol=1e-10):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- what is seen of a promoted function -----------------------------------------------------------


def test_it_is_the_same_function_to_whoever_looks() -> None:
    f = programs.many_kinds
    before = inspect.signature(f), inspect.getsource(f), f.__name__, f.__qualname__, f.__doc__
    hot = front(f)
    assert (inspect.signature(f), inspect.getsource(f), f.__name__, f.__qualname__,
            f.__doc__) == before  # fmt: skip
    assert pickle.loads(pickle.dumps(f)) is f
    args = arguments(("four", True, 3, "name", (3, 4)), 0, np)
    assert_alike(f(args[0], True, shape=(3, 4), name="name", k=3), hot.plain(*args))
    with pytest.raises(TypeError, match=r"many_kinds\(\) missing 1 required positional argument"):
        f(args[0], True, 3, "name")
    hot.restore()
    assert f.__code__ is hot.code


def test_a_front_lies_on_the_first_line() -> None:
    """So tracers and coverage see each other line once, as often as Python runs it."""

    def f(x):
        # nothing runs here
        y = x * 2
        return y + 1

    first = f.__code__.co_firstlineno
    warm(f, "four")
    lines = []

    def trace(frame: types.FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            lines.append((event, frame.f_lineno - first))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        f(np.array([1.0, 2.0]))
    finally:
        sys.settrace(before)
    assert {line for _, _, line in f.__code__.co_lines()} == {first}
    assert [x for x in lines if x[1]] == [("line", 2), ("line", 3), ("return", 3)]


def test_defaults_and_positional_only_parameters() -> None:
    hot = front(with_defaults)
    for _ in range(4):
        assert with_defaults(np.ones(3), times=9)[0] == hot.plain(np.ones(3), 1.5, 9)[0]
    assert hot.programs == 1
    with pytest.raises(TypeError, match="positional-only"):
        with_defaults(x=np.ones(3))
    hot.restore()


def with_defaults(x, /, by=1.5, times=10):
    for _ in range(times):
        x = x * by
    return x


def test_explain() -> None:
    warm(programs.stencil, "vector", 20)
    assert "stencil: 1 program" in np.explain(programs.stencil)


# -- what is hot -------------------------------------------------------------------------------


class Hot:
    """Its methods are found without the collector."""

    @property
    def got(self) -> Any:
        return _sampling._functions_of(sys._getframe(), sys._getframe().f_code)

    @classmethod
    def of_class(cls) -> Any:
        return _sampling._functions_of(sys._getframe(), sys._getframe().f_code)

    def method(self) -> Any:
        return _sampling._functions_of(sys._getframe(), sys._getframe().f_code)


class Inherits(Hot):
    def method(self) -> Any:
        return super().method()


def test_functions_are_found_without_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look at all objects, which may take long."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("the collector was asked")

    if not _watching.KNOWN:
        pytest.skip("the function of a frame is read by C")
    monkeypatch.setattr(_sampling.gc, "get_referrers", refuse)
    methods = vars(Hot)
    for x in (Hot(), Inherits()):
        assert x.method() == [methods["method"]]
        assert x.got == [methods["got"].fget]
        assert x.of_class() == [methods["of_class"].__func__]
    here = lambda: _sampling._functions_of(sys._getframe(), sys._getframe().f_code)  # noqa: E731

    def closure(k: int) -> Any:
        def inner() -> Any:
            return k, _sampling._functions_of(sys._getframe(), sys._getframe().f_code)

        return inner

    assert here() == [here]
    first, second = closure(1), closure(2)
    assert first() == (1, [first])
    assert second() == (2, [second])  # and no other of its code


def test_what_stands_behind_a_front_is_not_found() -> None:
    if not _watching.KNOWN:
        pytest.skip("the function of a frame is read by C")

    def found() -> Any:
        return _sampling._functions_of(sys._getframe(), sys._getframe().f_code)

    front(found)
    assert found() == []


def test_a_function_that_was_given_back_is_not_promoted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    k = 1

    def closure() -> int:  # others of its code may be hot as well
        _sampling._count(sys._getframe(), closure.__code__, _sampling._clock.now())
        return k

    monkeypatch.setattr(_sampling, "HOT", 2)
    for _ in range(2):
        closure()
    if not _watching.KNOWN:
        pytest.skip("the function of a frame is read by C")
    hot = front_of(closure)
    assert hot is not None
    hot.restore()  # type: ignore[attr-defined]
    for _ in range(8):
        closure()
    assert front_of(closure) is None


def test_loops_of_a_method_that_can_have_no_front_are_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Inner(Hot):
        def hot(self) -> None:
            _sampling._count(sys._getframe(), sys._getframe().f_code, _sampling._clock.now())
            super()

    code = vars(Inner)["hot"].__code__
    monkeypatch.setattr(_sampling, "HOT", 3)
    for k in range(3):
        assert expected(code) is None, k
        Inner().hot()
    assert expected(code) is not None
    assert front_of(vars(Inner)["hot"]) is None


def test_code_that_stays_with_python_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def straight() -> None:
        _sampling.ticked(sys._getframe())

    def looping() -> None:
        for _ in range(1):
            _sampling.ticked(sys._getframe())

    looked: list[Any] = []
    look = _sampling._look
    told = lambda frame, code, *now: looked.append(code) or look(frame, code, *now)  # noqa: E731
    monkeypatch.setattr(_sampling, "_look", told)
    monkeypatch.setattr(_sampling.looking, "between", 0.0)
    for f in (straight, looping):
        _sampling._settled.clear()
        _sampling._tallies.put(id(f.__code__), _sampling._Tally(f.__code__, None))
        looked.clear()
        f()
        f()
        again = f is looping and _watching.KNOWN  # how long it takes is followed
        assert looked.count(f.__code__) == 1 + again


@pytest.mark.skipif(not BUILT, reason="without the C, a store of one element counts for nothing")
def test_counts_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sampling, "HOT", 3)
    ticks: list[Any] = []
    monkeypatch.setattr(_recorder, "tick_observers", [ticks.append])
    x, counted = np.ones(8), []
    for _ in range(3):
        ticks.clear()
        while not ticks:  # from here on, the next tick is `TICK` operations away
            x[0] = 1.0
        _recorder.tick_observers[:] = [_sampling.ticked]
        _sampling._tallies.clear()
        _sampling._settled.clear()
        counted.append(0)
        while front_of(busy) is None:
            busy(x)
            counted[-1] += 1
        front_of(busy).restore()  # type: ignore[union-attr]
        del vars(busy)[_function._PLACE]  # as if it had never been hot
        _recorder.tick_observers[:] = [ticks.append]
    assert counted[0] > 1
    assert len(set(counted)) == 1


def busy(x):
    for i in range(200):
        x[i % 8] = x[(i + 1) % 8] * 0.5


def test_hot_closures_and_methods_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sampling, "HOT", 1)
    factor = 0.5

    def inner(x: Any) -> None:
        for i in range(8000):
            x[i % 8] = x[(i + 1) % 8] * factor

    class Sim:
        def step(self, x: Any) -> None:
            for i in range(8000):
                x[i % 8] = x[(i + 1) % 8] * 0.5

        @staticmethod
        def other(x: Any) -> None:
            for i in range(8000):
                x[i % 8] = x[(i + 1) % 8] * 0.5

    def generates(x: Any) -> Iterator[int]:
        for i in range(8000):
            x[i % 8] = x[(i + 1) % 8] * 0.5
            yield i

    inner(np.ones(8))
    Sim().step(np.ones(8))
    Sim.other(np.ones(8))
    list(generates(np.ones(8)))
    assert front_of(inner) is not None
    assert front_of(Sim.step) is not None
    assert front_of(Sim.other) is not None
    assert front_of(generates) is None
    front_of(test_hot_closures_and_methods_are_found).restore()  # type: ignore


def test_functions_made_again_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sampling, "HOT", 1)
    monkeypatch.setattr(_watching, "KNOWN", False)  # no program takes the loop, and so the ticks

    def make(factor: float) -> Callable[[Any], None]:
        def inner(x: Any) -> None:
            for i in range(8000):
                x[i % 8] = x[(i + 1) % 8] * factor

        return inner

    for factor in (0.5, 0.25, 1.0):
        inner = make(factor)
        x = np.ones(8)
        for _ in range(4):
            inner(x)
        assert front_of(inner) is not None
        same = np.ones(8)
        for _ in range(4):
            front_of(inner).plain(same)  # type: ignore[union-attr]
        assert_alike(x, same)
    front_of(test_functions_made_again_are_found_again).restore()  # type: ignore


def test_a_program_without_hope_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any) -> None:
        for k in range(20):
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])

    monkeypatch.setattr(_case, "HOPELESS", 0)
    hot = front(f)
    compiled = np.stats().compiles
    for _ in range(5):
        f(np.ones((100, 100)))
    assert hot.programs == 0 and np.stats().compiles == compiled
    assert "it would take" in hot.explained()


def _iterates(x: Any, n: int) -> Any:
    for _ in range(n):
        if x.sum() > 100.0:
            break
        x = x * 1.5 + 1.0
    return x


def _of_many(x: Any) -> Any:
    return np.array([_iterates(x + 0.5 * k, 20).sum() for k in list(range(400))])


def _stays_with_python(function: Any, argument: Any, why: str) -> None:
    """Its trace is given up, and its calls give what the first one did."""
    f = front(function)
    want = [numpy.asarray(x) for x in function(argument)]
    for _ in range(3):
        got = [numpy.asarray(x) for x in function(argument)]
        assert len(got) == len(want) and all(map(numpy.array_equal, got, want))
    assert f.whys == [why]
    assert f.programs == 0


def test_a_trace_that_takes_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # each of the 400 calls would be traced as a loop of its own, some 5 ms each
    monkeypatch.setattr(_program, "TRACING", 0.05)
    _stays_with_python(_of_many, np.ones(3), "tracing it takes too long")


def _drawn(n: int) -> Any:
    heights = np.zeros(n)
    for k in range(n):
        while heights[k] < k % 7:
            heights[k] += 1.0
    return [max(0, 3 - heights[k]) for k in range(n)]  # `max` asks for a truth


def test_a_trace_that_asks_for_what_a_loop_computes_is_given_up() -> None:
    """The interpreter would take seconds for it."""
    assert [int(x) for x in _drawn(40)] == [max(0, 3 - k % 7) for k in range(40)]
    _stays_with_python(_drawn, 40, "asks for what a loop computes, while it is traced")


def _grown(y: Any) -> Any:
    for a in (1.0, 2.0, 3.0):
        y = y * a + a
    return y.sum()


def _many(x: Any) -> Any:
    return np.array([_grown(x + 0.5 * k) for k in list(range(60))])


def test_a_trace_that_records_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_program, "_RECORDED", 0.05)
    _stays_with_python(_many, np.ones(3), "it records too many operations")


def _windows(x: Any) -> Any:
    return [x[v : v + 3] for v in range(3_000)]


def _too_long() -> None:
    raise TooLong("too long")


def test_a_long_comprehension_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no loop of the user's is staged, operations look at the clock."""
    looks: list[int] = []
    monkeypatch.setattr(_array, "tracing_observers", [lambda: looks.append(1)])
    f, x = front(_windows), np.arange(3_003)
    for _ in range(3):
        assert _windows(x)[7].tolist() == [7, 8, 9]
    assert len(looks) >= 3_000 // _array._OBSERVED
    monkeypatch.setattr(_array, "tracing_observers", [_too_long])
    f.restore()
    again = front(_windows)
    for _ in range(3):
        assert _windows(x)[7].tolist() == [7, 8, 9]
    assert again.whys == ["too long"]
    assert "too long" in str(np.explain(_windows))  # without a front, too


def test_explain_of_a_function_that_is_not_hot() -> None:
    assert str(np.explain(arguments)) == "arguments: runs in Python: it has not become hot"
    with pytest.raises(TypeError, match="a lazy array or a function is required, got int"):
        np.explain(3)  # type: ignore[call-overload]


def _doubled(x: Any) -> Any:
    return x * 2.0 + 1.0


def test_a_run_that_tells_nothing_is_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run of Python's counts as slow, compared with the one before, but only so many do."""
    monkeypatch.setattr(_case, "_SLOW", 0.0)
    f, x, programs = front(_doubled), np.ones(3), []
    for _ in range(_case._UNFIT + 3):
        assert _doubled(x).tolist() == [3.0] * 3
        programs.append(f.programs)
    assert programs == [0] * (_case._UNFIT + 1) + [1, 1], f.explained()


@pytest.mark.parametrize("keeps", [True, False])
def test_a_program_that_wins_by_little_has_a_second_trial(
    monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    """Its first win may be due to a slow moment of the machine."""
    monkeypatch.setattr(_trials, "_SURE", 0.0)
    monkeypatch.setattr(_trials, "_SURE_LONG", 0.0)
    f, x = front(_doubled), np.ones(3)
    _doubled(x)
    python = numpy.zeros(2, int)  # trials, and other calls that Python runs
    for k, name in enumerate(("_trial", "_timed")):

        def counted(*args: Any, k: int = k, name: str = name) -> Any:
            python[k] += 1
            return getattr(Promoted, name)(f, *args)

        monkeypatch.setattr(f, name, counted)
    for call in range(_case._UNSURE + 6):
        if call == _case._UNSURE and not keeps:
            monkeypatch.setattr(_trials, "FASTER", 0.0)
        assert _doubled(x).tolist() == [3.0] * 3
        assert python[0] == 1 + (call > _case._UNSURE)
    assert python[1] == (not keeps), f.explained()  # then the front is gone
    assert f.programs == 1 and bool(f.whys) is not keeps


@pytest.mark.parametrize("gains", [True, False])
def test_a_program_that_loses_has_another_trial(
    monkeypatch: pytest.MonkeyPatch, gains: bool
) -> None:
    """Its memory may have been new, the machine busy: one more, once Python has paid for it."""
    monkeypatch.setattr(_trials, "FASTER", 0.0)
    monkeypatch.setattr(_case, "_CLOSE", math.inf)
    monkeypatch.setattr(_case, "_PAID", 1e9)
    f, x, trials = front(_doubled), np.ones(3), []

    def counted(*args: Any) -> Any:
        trials.append(args[0])
        return Promoted._trial(f, *args)

    monkeypatch.setattr(f, "_trial", counted)
    for _ in range(4):
        assert _doubled(x).tolist() == [3.0] * 3
    (case,) = trials
    assert case.lost and not case.refused and "is tried again after" in f.explained()
    case.seconds, f._debt = math.inf, 0.0
    if gains:
        monkeypatch.setattr(_trials, "FASTER", math.inf)
    for _ in range(3):
        assert _doubled(x).tolist() == [3.0] * 3
    assert trials == [case] * 2
    assert f.programs == gains and bool(f.whys) is not gains


def test_what_loses_for_good() -> None:
    program: Any = object()
    again, slow, known = _case.Case(0.5), _case.Case(0.5), _case.Case(0.5)
    again.loses(program, 0.25, 0.125)
    assert again.candidate is program and again.price == 0.5 + 8 * 0.25
    with pytest.raises(Slower, match="takes 1.5 of"):
        again.loses(program, 0.1875, 0.125)
    with pytest.raises(Slower, match="takes 6.0 of"):
        slow.loses(program, 0.75, 0.125)
    known.wins(program, sure=False)
    with pytest.raises(Slower):
        known.loses(program, 0.25, 0.125)


def test_what_programs_of_loops_take_is_not_pythons() -> None:
    """A function whose loops have programs needs none of its own before Python has spent its price
    on the rest.
    """
    case = _case.Case(0.5)
    case.took(0.25, 0.0)
    assert case.seconds == 0.75
    for k in range(1, 4):
        case.took(0.25, 0.1875)
        assert (case.seconds, case.last) == (k * 0.0625, 0.25)
    case.took(0.25, 0.0625)
    assert case.seconds == 0.375


def _calls_jit(x: Any) -> Any:
    return np.jit(lambda y: y * 2.0 + 1.0)(x)  # a new trace each time


def test_a_run_that_makes_programs_is_no_trial() -> None:
    f, x = front(_calls_jit), np.ones(3)
    for k in range(_case._UNFIT):
        assert _calls_jit(x).tolist() == [3.0] * 3
        assert not f.programs and not any(c.refused for c in f.cases.values()), k


def test_the_second_call_of_a_long_function_is_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks tell that its first call is long while that runs."""
    monkeypatch.setattr(_sampling, "HOT", 1)
    long(np.ones(8))
    hot = front_of(long)
    assert isinstance(hot, Promoted)
    assert hot.running > 0
    assert hot.calls == 0
    x = np.ones(8)
    long(x)
    assert (hot.calls, hot.programs) == (0, 1)
    same = np.ones(8)
    hot.plain(same)
    assert_alike(x, same)
    hot.restore()


def long(x):
    for i in range(12000):
        x[i % 8] = x[(i + 1) % 8] * 0.5 + i


def test_a_front_ends_with_its_function() -> None:
    """Nothing keeps the module of a promoted function alive."""
    path = pathlib.Path(programs.__file__)
    made = types.ModuleType("tests.made_again")
    exec(compile(path.read_text(), str(path), "exec"), vars(made))
    hot = front(made.stencil)
    for seed in range(4):
        made.stencil(*arguments(("vector", 9), seed, np))
    assert hot.programs == 1
    code, gone = made.stencil.__code__, weakref.ref(made.stencil)
    alive = weakref.ref(hot)
    copied = types.FunctionType(code, {"np": np})
    del made, hot
    gc.collect()
    assert gone() is None
    assert alive() is None
    assert copied(np.ones(4), 3).tolist() == [1.0] * 4  # code without its front runs in Python


# -- generated programs -------------------------------------------------------------------------


@given(blocks(3, False), st.lists(st.integers(-4, 4), min_size=8, max_size=8))
def test_generated_programs(tmp_path_factory: Any, body: list[str], values: list[int]) -> None:
    """Whether a program runs them or not: each call gives what Python gives."""
    source = "def f(x):\n    a, b, n, i = x[2], 0.5, 0, 1\n"
    source += "".join(f"    {s}\n" for s in body) + "    return a, b, n\n"
    path = tmp_path_factory.mktemp("generated") / "program.py"
    path.write_text(source)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, str(path), "exec"), namespace)
    f = namespace["f"]
    hot = front(f)
    for part in (values[:4], values[:4], values[4:], values[:4]):
        given_, same = (np.array(part) * 0.7 + 0.1 for _ in range(2))
        assert_alike(f(given_), hot.plain(same))
        assert_alike(given_, same)


def run(f: Any, args: list[Any]) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return error


def is_like(got: Any, want: Any) -> bool:
    """Whether a call gave the same classes, dtypes and shapes. (A number of Python's may be one of
    another class where other paths give one.)
    """
    if isinstance(want, Exception):
        builtin = next(c for c in type(want).__mro__ if c.__module__ == "builtins")
        return isinstance(got, builtin)
    if isinstance(got, Exception):
        return False
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(is_like, got, want))
    if isinstance(want, dict):
        return list(got) == list(want) and all(is_like(got[k], want[k]) for k in want)
    if want is None or type(want) in (bool, int, float, complex):
        return (got is None) is (want is None) and numpy.ndim(got) == 0
    return (numpy.asarray(got).dtype, numpy.shape(got)) == (want.dtype, want.shape)


def values(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [n for v in x for n in values(v)]
    if isinstance(x, dict):
        return values(list(x.values()))
    return [] if x is None or isinstance(x, Exception) else [numpy.asarray(x)]


@given(st.integers(0, 10**6))
@pytest.mark.filterwarnings("ignore")
def test_generated_functions_give_what_numpy_gives(tmp_path_factory: Any, seed: int) -> None:
    """In each of many calls: results and arguments, or the exception and what was written."""
    source = generator.Generator(seed).source()
    path = tmp_path_factory.mktemp("generated") / "program.py"
    path.write_text(source)
    calls = generator.calls(seed, 20)
    ours, theirs = ({"__name__": "program", "np": m, "G": m.arange(calls[0]["size"]) * 0.5}
                    for m in (np, numpy))  # fmt: skip
    for namespace in (ours, theirs):
        exec(compile(source, str(path), "exec"), namespace)
    hot = front(ours["f"])
    for c, call in enumerate(calls):
        for namespace in (ours, theirs):
            if c == 8:
                namespace["K"] = 0.5
            if c in (4, 12):
                namespace["G"][1] += 1
        if "(k" in source and call["change"] == "large":
            continue  # a loop of 2**63 rounds
        given_, same = generator.arguments(call, np), generator.arguments(call, numpy)
        with numpy.errstate(all="ignore"):
            got, want = run(ours["f"], given_), run(theirs["f"], same)
        told_ = f"{source}call {c}: {call}\n{got!r}\n{want!r}\n{hot.explained()}"
        assert is_like(got, want), told_
        for a, b in zip(values([got, *given_]), values([want, *same]), strict=True):
            if b.dtype == object:  # ints of more than 64 bits
                assert a == b, told_
            else:
                numpy.testing.assert_allclose(a, b, rtol=1e-6, err_msg=told_)
    hot.restore()


def _halves(x: Any, least: float) -> Any:
    rounds = 0
    while x > least:
        x = x * 0.5
        rounds += 1
    return x, rounds


def test_a_loop_that_may_never_end_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing interrupts a program; Ctrl-C ends Python's loop."""
    monkeypatch.setattr(_loops, "_WORK", 1)  # as many rounds as `_FEW`
    hot = front(_halves)

    def rounds(count: int) -> Any:
        return _halves(np.array([2.0**count])[0], 1.0)

    for _ in range(4):
        assert rounds(30) == (1.0, 30)
    assert rounds(_loops._FEW - 1) == (1.0, 127)
    assert hot.programs == 1 and not hot.whys
    assert rounds(300) == (1.0, 300)
    assert hot.whys == ["RuntimeError: a loop takes too long"]
    assert rounds(300) == (1.0, 300)
