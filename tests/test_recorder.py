"""The recorder: which back end its state asks for, what it learns, and staging."""

from __future__ import annotations

import contextvars
import gc
import inspect
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _policy, _recorder
from lazynp._avals import aval_of
from lazynp._backends import EAGER, STRICT
from lazynp._errstate import strict
from lazynp._node import OP, VALUE, Trace, Tracer, is_tracer, leaf, op_of, tracer_node
from lazynp._policy import Cut, Mode
from lazynp._recorder import (
    RECORD,
    Recorder,
    StagingRecorder,
    inside_operation,
    known,
    local,
    recorders,
    user_position,
)
from lazynp._trace import staging
from lazynp.primitives import elementwise
from tests.helpers import POLICIES, be_eager, fresh_start, in_thread

F8 = aval_of((3,), numpy.dtype("f8"))


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    fresh_start()
    with np.config(execution="adaptive"):
        yield


# -- which back end --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "eager, blocks, watching, backend",
    [
        (False, 0, False, RECORD),
        (True, 0, False, EAGER),
        (True, 1, False, RECORD),
        (True, 2, False, RECORD),
        (False, 1, False, RECORD),
        (False, 0, True, STRICT),
        (True, 0, True, STRICT),
        (True, 1, True, STRICT),
    ],
)
def test_the_state_asks_for_a_back_end(
    eager: bool, blocks: int, watching: bool, backend: Any
) -> None:
    be_eager(eager)
    recorder = local.recorder
    with numpy.errstate(), np.errstate(**({"all": "raise"} if watching else {})):
        opened = [recorder.recording() for _ in range(blocks)]
        for block in opened:
            block.__enter__()
        assert recorder.backend is backend
        for block in reversed(opened):
            block.__exit__(None, None, None)
    assert recorder.backend is (EAGER if eager else RECORD)


def test_a_block_of_recording_ends_with_an_error() -> None:
    be_eager()
    with pytest.raises(KeyError), local.recorder.recording():
        assert local.recorder.backend is RECORD
        raise KeyError
    assert local.recorder.backend is EAGER


def test_errstate_anywhere_is_seen_by_every_thread() -> None:
    entered, leave = threading.Event(), threading.Event()
    seen = []

    def other() -> None:
        be_eager()
        entered.set()
        leave.wait(60)
        seen.append(local.recorder.backend)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(60)
    with np.errstate(divide="raise"):
        leave.set()
        thread.join(60)
        assert local.recorder.backend is STRICT
    assert seen == [STRICT] and local.recorder.backend is RECORD


def test_a_context_that_is_kept_keeps_its_state() -> None:
    """The watch ends when the last context that asked for it is gone."""

    def asks() -> None:
        np.seterr(divide="raise")

    context = contextvars.copy_context()
    context.run(asks)
    assert local.recorder.backend is STRICT
    del context
    gc.collect()
    assert not strict() and local.recorder.backend is RECORD  # as soon as somebody asks


def test_settings_make_every_recorder_forget() -> None:
    def eager_after(settings: dict[str, Any]) -> bool:
        be_eager()
        with np.config(**settings):
            return local.recorder.backend is EAGER

    for settings in ({"execution": "reference"}, {"max_pending": 100}, {"debug": False}):
        assert not eager_after(settings)
    other: list[Recorder] = []
    ready, done = threading.Event(), threading.Event()

    def keep() -> None:
        be_eager()
        other.append(local.recorder)
        ready.set()
        done.wait(60)

    thread = threading.Thread(target=keep)
    thread.start()
    assert ready.wait(60) and other[0].backend is EAGER
    np.config(max_pending=np.config.max_pending)
    assert other[0].backend is RECORD and other[0].policy.mode is Mode.RECORD
    done.set()
    thread.join(60)


def test_each_thread_has_a_recorder_that_goes_with_it() -> None:
    here = local.recorder
    count = len(recorders)

    def there() -> tuple[bool, int]:
        return local.recorder is here, len(recorders)

    assert in_thread(there) == (False, count + 1)
    gc.collect()
    assert len(recorders) <= count and here in recorders


# -- what it learns --------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", POLICIES)
@pytest.mark.parametrize("nans", [False, True])
def test_who_learns(execution: Any, nans: bool) -> None:
    with np.config(execution=execution, debug_nans=nans):
        recorder = local.recorder
        assert recorder.learns is (execution != "compiled" and not nans)
        for _ in range(2 * _policy._CHOICES):
            recorder.chose()
        eager = execution != "compiled" and not nans
        assert (recorder.backend is EAGER) is eager
        assert not (eager and recorder.learns)  # there is no more to be found out


def test_what_is_left_of_a_round_is_cut_at_once() -> None:
    recorder = local.recorder
    cut = Cut(70, 0.0, ("place", 0), 5, first=False, compiled=False)
    recorder.policy.observe(Cut(10, 0.0, ("place", 0), 5, first=False, compiled=False))
    recorder.learnt()
    assert (recorder.due, recorder.backend) == (False, RECORD)
    recorder.policy.observe(cut)
    recorder.learnt()
    assert (recorder.due, recorder.limit, recorder.backend) == (True, 1, EAGER)


# -- positions -------------------------------------------------------------------------------------


def test_positions_of_the_user() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    code, _ = user_position()
    assert code is frame.f_code
    with inside_operation():
        where = local.where
        assert where is not None and where[0] is frame.f_code
        with inside_operation():  # found once
            assert local.where is where
        assert local.where is where and user_position() == where
    assert local.where is None


def test_what_operands_are_known_by() -> None:
    node = leaf(numpy.ones(3))
    op = op_of(elementwise.less, {}, (F8, float))
    assert known(node) is F8
    assert known([op, (node, 1.0), None, None, 0]) is aval_of((3,), numpy.dtype("?"))
    assert [known(x) for x in (1, 1.0, True, 1j)] == [int, float, bool, complex]


# -- staging ---------------------------------------------------------------------------------------


def test_a_staged_function_is_recorded_whatever_the_state() -> None:
    be_eager()
    with staging("jit of f") as recorder:
        assert isinstance(recorder, StagingRecorder) and local.recorder is recorder
        assert recorder.backend is RECORD and recorder.staging == "jit of f"
        with np.errstate(all="raise"):
            assert recorder.backend is RECORD
        recorder.policy.mode = Mode.EAGER
        recorder.choose()
        assert recorder.backend is RECORD
    assert local.recorder.backend is EAGER and local.level == 0


def test_what_a_staged_function_owns() -> None:
    outside = np.ones(3) * 2.0
    with staging("jit of f") as recorder:
        own = recorder.input(F8)
        assert recorder.owns(own) and not recorder.owns(outside._node)
        inside = np.ones(3) * 3.0
        assert recorder.owns(inside._node) and recorder.recorded(inside._node)
        made = leaf(numpy.zeros(3))
        assert not recorder.owns(made)
        recorder.fresh(made)
        assert recorder.owns(made) and not recorder.recorded(made)


def test_an_array_from_outside_holds_an_input_meanwhile() -> None:
    x = np.array(numpy.ones(3))
    before = x._node
    with staging("jit of f") as recorder:
        y = x + 1.0
        held = x._node
        assert held is not before and any(held is n for n in recorder.inputs)
        recorder.capture(x)
        assert x._node is held and len(recorder.inputs) == 1  # once
        assert y._node[OP] is not None and y._node[VALUE] is None
    assert x._node is before and x.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError, match="traced by jit of f"):
        y.tolist()
    with pytest.raises(TypeError, match="traced by jit of f"):
        float((y * 2.0)[0])


def test_tracers_of_outer_levels_are_operands() -> None:
    tracer = Tracer()
    tracer.trace, tracer.aval = Trace("grad of g"), F8
    node = tracer_node(tracer)
    with staging("jit of f") as recorder:
        stands = recorder.alias(node)
        assert recorder.alias(node) is stands and any(stands is n for n in recorder.inputs)
        assert not is_tracer(stands) and known(stands) is F8


def test_dead_tracers_are_refused() -> None:
    tracer = Tracer()
    tracer.trace, tracer.aval = Trace("grad of g"), F8
    tracer.trace.alive = False
    x = np.array(numpy.ones(3))
    x._node = tracer_node(tracer)
    with staging("jit of f") as recorder, pytest.raises(TypeError, match="traced by grad of g"):
        recorder.capture(x)


def test_no_operation_fails_because_it_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    def fails(frame: Any) -> None:
        raise ValueError("of the observer")

    monkeypatch.setattr(_recorder, "tick_observers", [fails])
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    local.recorder.ticked()
    assert [type(t.exc_value) for t in told] == [ValueError]


@pytest.mark.parametrize("elements", [1 << 20, 1000])
def test_recorded_operations_count_by_their_size(
    monkeypatch: pytest.MonkeyPatch, elements: int
) -> None:
    """A function of a few large ones is hot, too. Views and fills compute nothing."""
    sizes: list[int] = []
    monkeypatch.setattr(Recorder, "worked", lambda self, size: sizes.append(size))
    x = np.array(numpy.ones(elements))

    def work() -> None:
        with local.recorder.recording():
            y = np.sqrt(x[::-1] * 2.0 + np.ones(elements))
        np.materialize(y)

    in_thread(work)
    assert sizes == [3 * 8 * elements]


@pytest.mark.parametrize(
    ("size", "ticks", "left"),
    [
        (0, 0, 2048), (4095, 0, 2048), (4096, 0, 2047), (1 << 23, 1, 2048), (3 << 23, 3, 2048),
        ((3 << 23) + 4096, 3, 2047),
        # an array that no memory holds, and nobody computes
        (1 << 60, _recorder._TICKS, 2048),
    ],
)  # fmt: skip
def test_4_kb_count_as_an_operation(
    monkeypatch: pytest.MonkeyPatch, size: int, ticks: int, left: int
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(_recorder, "tick_observers", [told.append])

    def work() -> None:
        local.recorder.worked(size)
        assert local.recorder.countdown == left

    assert _recorder.TICK == 2048
    in_thread(work)
    assert len(told) == ticks
    assert all(frame.f_code is work.__code__ for frame in told)
