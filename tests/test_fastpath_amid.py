"""The fronts in C amid what else goes on: the user's position, settings, threads, destructors.

And that they keep nothing, and that nothing depends on them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import operator
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._node import CODE, OFFSET
from lazynp._positions import instruction
from lazynp._recorder import local
from lazynp.functions import _accelerated
from tests.helpers import be_eager
from tests.test_fastpath import MODES, calls_of, clean, hot, set_eager
from tests.test_threads import together

__all__ = ["clean"]  # a fixture of every test

# -- where the user is -----------------------------------------------------------------------------

NONE: dict[str, Any] = {}
POSITIONS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda a: a + a,
    "reflected": lambda a: 1.5 - a,
    "unary": lambda a: -a,
    "ufunc": lambda a: np.maximum(a, 2.0),
    "of one": lambda a: np.sqrt(a),
    "unpacked": lambda a: np.add(*(a, a), **NONE),
    "by name": lambda a: np.add(a, a, out=None),
    "casting": lambda a: np.add(a, a, casting="no"),
    "slice": lambda a: a[1:],
    "of a view": lambda a: a[1:][::2],
    "method": lambda a: a.__add__(a),
    "of the class": lambda a: np.ndarray.__mul__(a, a),
    "of the ufunc": lambda a: np.ufunc.__call__(np.add, a, a),
    "map": lambda a: next(map(np.negative, [a])),
    "library": lambda a: operator.add(a, a),
    "in place": lambda a: operator.iadd(a, 1.0),
    "of a part": lambda a: operator.iadd(a[1:], 1.0),
    "scalar first": lambda a: a.max() + a,
    "scalar": lambda a: a.max() * 2.0,
    "negated scalar": lambda a: -a.max(),
    "comprehension": lambda a: [x + x for x in [a]][0],
    "generator": lambda a: next(x + x for x in [a]),
    "matmul": lambda a: a @ a,
}


@pytest.mark.parametrize("name", POSITIONS)
def test_recorded_operations_know_where_the_user_was(name: str) -> None:
    """Of a lambda each, so the code object tells; what comes first has been met, or not."""
    set_eager(False)
    with np.config(execution="reference"):
        for _ in range(3):
            function = POSITIONS[name]
            node = function(np.asarray(numpy.arange(5.0)))._node
            codes = [
                function.__code__,
                *[c for c in function.__code__.co_consts if hasattr(c, "co_code")],
            ]
            assert node[CODE] in codes
            lines = {
                line
                for c in codes
                for start, end, line in c.co_lines()
                if start <= node[OFFSET] < end
            }
            assert function.__code__.co_firstlineno in lines
            assert 0 <= instruction(node[CODE], node[OFFSET]) <= node[OFFSET]


# -- what happens in the middle --------------------------------------------------------------------


@MODES
def test_settings_change_in_the_middle_of_a_loop(eager: bool) -> None:
    set_eager(eager)
    x, one = np.asarray(numpy.ones(4)), np.asarray(numpy.ones(3))[1]
    zero, made = one - 1, []
    for k in range(6):
        with numpy.errstate(all="ignore"):
            made.append(float((x / (x - 1.0))[0]))
            assert float(one / zero) == float("inf")
        if k == 2:
            with np.errstate(divide="raise"):
                with pytest.raises(FloatingPointError):
                    numpy.asarray(x / (x - 1.0))
                with pytest.raises(FloatingPointError):
                    float(one / zero)
        if k == 3:
            with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="divide"):
                numpy.asarray(x / (x - 1.0))
        if k == 4:
            with np.config(debug_nans=True), pytest.raises(FloatingPointError):
                numpy.asarray((x - 1.0) / (x - 1.0))
        if k == 5:
            for execution in ("compiled", "reference", "adaptive"):
                with np.config(execution=execution):
                    assert (x + 1.0).tolist() == [2.0] * 4
        be_eager(eager)
    assert made == [float("inf")] * 6


@MODES
def test_transformations_in_the_middle_of_a_loop(eager: bool) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:] += x[:-1]
        y[0] = y[1] * 2
        return np.sqrt(y * y) + x.shape[0]

    x = np.asarray(numpy.arange(1.0, 4.0))
    wanted = [9.0, 6.0, 8.0]
    jitted = np.jit(f)
    for _ in range(4):
        set_eager(eager)
        assert f(x).tolist() == wanted
        assert jitted(x).tolist() == wanted
        assert np.vmap(f)(np.stack([x, x])).tolist() == [wanted] * 2
        assert np.grad(lambda x: f(x).sum())(x).tolist() == [3.0, 4.0, 1.0]
        assert np.jvp(f, (x,), (np.ones(3),))[1].tolist() == [4.0, 2.0, 2.0]


@MODES
def test_arrays_from_outside_of_a_staged_function(eager: bool) -> None:
    count, scale = np.asarray(numpy.zeros(3)), np.asarray(numpy.arange(1.0, 3.0))

    @np.jit
    def f(x: Any) -> Any:
        count[0] = count[0] + 1.0
        count[1:] += scale
        return x * scale[1] + count[:2].sum()

    for k in range(1, 4):
        set_eager(eager)
        scale[1] = float(k)  # which is no constant of the program
        assert f(np.ones(2)).tolist() == [k + 2.0 * k] * 2
    assert count.tolist() == [3.0, 3.0, 6.0]


def test_one_thread_stages_while_another_goes_on() -> None:
    inside, done = threading.Event(), threading.Event()

    def f(x: Any) -> Any:
        inside.set()
        assert done.wait(30)
        return x[1:] * 2.0

    def work(k: int) -> None:
        set_eager(k == 1)
        if k == 0:
            assert np.jit(f)(np.asarray(numpy.arange(3.0))).tolist() == [2.0, 4.0]
            return
        assert inside.wait(30)
        x = np.asarray(numpy.arange(3.0))
        for _ in range(20):
            x[1:] = x[1:] + 1.0
            x[0] = x[1] * 1.0
        assert x.tolist() == [21.0, 21.0, 22.0]
        done.set()

    together(work, 2)


@MODES
def test_bounds_and_destructors_that_write_the_array(eager: bool) -> None:
    set_eager(eager)
    x = np.asarray(numpy.arange(1000.0))

    class Bound:
        def __index__(self) -> int:
            be_eager(False)
            x[...] = 7.0
            float((x + 1.0).sum())  # what was there before is gone, and others have its memory
            others.extend(numpy.full(7, 3) for _ in range(64))
            be_eager(eager)
            return 2

    class Garbage:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            rows[0] = rows[0] * 2.0
            rows[1][:] = 1.0
            rows[1][0] = 5.0

    set_eager(eager)
    others: list[Any] = []
    assert x[2:6].tolist() == x[2:6].tolist() == [2.0, 3.0, 4.0, 5.0]
    part = x[Bound() : 6]
    assert part.dtype == x.dtype and part.shape == (4,) and x[Bound()] == 7.0
    x[:5] = 1.0
    assert x[:6].tolist() == [1.0] * 5 + [7.0]
    rows = [np.asarray(numpy.ones(4)), np.asarray(numpy.ones(4))]
    before = gc.get_threshold()
    gc.set_threshold(2, 1, 1)
    try:
        with np.config(execution="reference"):
            for _ in range(300):
                Garbage()
                set_eager(eager)
                assert (rows[1] + 1.0).shape == (-rows[1]).shape == np.add(rows[1], rows[1]).shape
                assert rows[1][1:][1:].shape == (2,) and rows[0][0] >= 1.0
                rows[1][1:] += 1.0
                rows[1][2:] = 3.0
    finally:
        gc.set_threshold(*before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of POSIX here")
def test_interruptions_leave_nothing_half_done() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    x, s = np.asarray(numpy.ones(600)), np.asarray(numpy.ones(3))[1]
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # an interruption of somebody's callback for the collector is reported, not raised
    try:
        for _ in range(10):
            set_eager(True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                for _ in range(3000):
                    x[1:] = x[1:] * 1.0 + (s - s)
                    x[:3] += 0.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    set_eager(True)
    assert x.tolist() == [1.0] * 600
    if _accelerated.BUILT:
        x + x, s * s
        assert calls_of(lambda: (x + x, s * s)) == []  # no context is in use still


# -- threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [20, 2000, 50_000])
def test_threads_write_rows_of_one_array(columns: int) -> None:
    """NumPy lets others run while it writes much; what they write at the same time is not lost."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(k: int, x: Any, of_parts: bool) -> None:
        set_eager(True)
        row = np.asarray(numpy.ones(columns))
        for i in range(1, 61):
            if of_parts:
                x[k] += 1.0
            else:
                x[k] = row * float(i)
                assert (numpy.asarray(x[k]) == i).all()
            x[k, 0] = float(i)

    try:
        for of_parts in (False, False, True, True):
            x = np.asarray(numpy.zeros((4, columns)))
            together(functools.partial(work, x=x, of_parts=of_parts), 4)
            assert (numpy.asarray(x) == 60.0).all()
    finally:
        sys.setswitchinterval(before)


def test_threads_in_hot_loops_of_their_own() -> None:
    def work(k: int) -> None:
        x = np.asarray(numpy.zeros(8))  # a thread's first recorder is made by a front, or is not
        for i in range(200):
            if i == 50:
                set_eager(k % 2 == 0)
            y = x[1:] + x[:-1]
            x[1:] = (y - x[1:]) * 0.5 + k
            x[0] = x[1] * 0.5
        assert numpy.allclose(numpy.asarray(x[1:]), 2 * k, atol=4 * k + 1)

    together(work, 6)


def test_the_first_call_of_a_thread() -> None:
    x = np.asarray(numpy.arange(4.0))
    calls = [
        lambda: x + 1.0,
        lambda: x[1:],
        lambda: np.sqrt(x),
        lambda: operator.setitem(x, 0, 0.0),
    ]
    calls += [lambda: operator.setitem(x, slice(0, 1), 0.0), lambda: operator.iadd(x[:1], 0.0)]
    for call in calls:
        together(lambda k, call=call: call(), 1)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


# -- nothing is kept -------------------------------------------------------------------------------

MOST_BLOCKS = 300  # of Python's memory: what 10,000 calls may leave behind


@MODES
def test_hits_misses_and_errors_leave_nothing_behind(eager: bool) -> None:
    set_eager(eager)
    a, m = np.asarray(numpy.arange(4.0)), np.asarray(numpy.ones((3, 4)))
    s, i, f = a[2], np.asarray(numpy.arange(3))[1], np.asarray(numpy.ones(4, "f4"))
    failing = [lambda: a[9], lambda: a["x"], lambda: operator.index(s)]
    failing += [
        lambda: operator.setitem(a, slice(0, 2), a[1:]),
        lambda: operator.setitem(a, 7, 1.0),
    ]
    failing += [lambda: operator.iadd(m[0], m), lambda: np.add(a), lambda: i**-1, lambda: i + 2**70]
    others = [lambda: f + s, lambda: a[i], lambda: operator.setitem(a, 0, i), lambda: s == "x"]
    others += [lambda: a[::2], lambda: m[1], lambda: f[0] < 1, lambda: operator.setitem(m, 0, f)]
    arrays = [a, m]
    operations = hot(arrays)
    del operations["e_made"]  # numpy.zeros itself keeps a reference to the dtype, each time
    calls = [*operations.values(), *failing, *others]
    held = [a, m, s, i, f, a._node, s._node, calls[0].__code__, a.dtype, local.recorder, ()]

    def work(times: int) -> None:
        for k in range(times):
            for call in calls:
                with contextlib.suppress(TypeError, ValueError, IndexError, OverflowError):
                    call()
            if k % 5 == 0:
                computed()

    def computed() -> None:
        for x in arrays:
            numpy.asarray(x)
        local.recorder.pending.clear()
        set_eager(eager)

    with np.config(execution="reference"):
        set_eager(eager)
        work(31)
        gc.collect()
        gc.collect()  # what the first one has finalised
        before = [sys.getrefcount(x) for x in held], sys.getallocatedblocks(), len(gc.get_objects())
        work(251)
        gc.collect()
        after = [sys.getrefcount(x) for x in held], sys.getallocatedblocks(), len(gc.get_objects())
    assert max(abs(y - x) for x, y in zip(before[0], after[0], strict=True)) < 20
    assert after[1] - before[1] < MOST_BLOCKS and after[2] - before[2] < MOST_BLOCKS


def test_results_die_with_their_last_reference() -> None:
    for eager in (False, True):
        set_eager(eager)
        a = np.asarray(numpy.arange(4.0))
        made = [a + a, a[1:], a[1:][1:], a[2], a[2] * 2.0, np.sqrt(a)]
        refs = [weakref.ref(x) for x in made]
        local.recorder.pending.clear()
        made.clear()
        assert [r() for r in refs] == [None] * 6


# -- without it ------------------------------------------------------------------------------------

PROGRAM = """
import json, sys, types
{before}
import lazynp as np
from lazynp.functions import _accelerated
from lazynp._policy import Mode
from lazynp._recorder import local
import numpy
out = []
for eager in (False, True):
    local.recorder.policy.mode = Mode.EAGER if eager else Mode.RECORD
    local.recorder.choose()
    m = np.asarray(numpy.arange(12.0).reshape(3, 4))
    for i in range(40):
        m[1:, 1:] += 0.5 * m[:-1, :-1]
        m[0, i % 4] = m[1, 2] - m[2, i % 4]
        m[2] = np.sqrt(np.abs(m[0])) + m[:, 1].sum()
        if m[1, 1] > 50:
            m *= 0.5
    out.append(m.tolist())
print(json.dumps([_accelerated.BUILT, out]))
"""
WITHOUT = {
    "as it is": ("", {}),
    "switched off": ("", {"LAZYNP_PURE_PYTHON": "1"}),
    "not built": ("sys.modules['lazynp._fastpath'] = None", {}),
    "another interface": (
        "sys.modules['lazynp._fastpath'] = old = types.ModuleType('old'); old.INTERFACE = 0", {},
    ),
}  # fmt: skip


def test_without_the_c_everything_is_the_same() -> None:
    found = {}
    for name, (before, variables) in WITHOUT.items():
        environment = os.environ | {"LAZYNP_EXECUTION": "reference"} | variables
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-c", PROGRAM.format(before=before)],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        assert done.returncode == 0 and not done.stderr, done.stderr
        built, found[name] = json.loads(done.stdout)
        assert built == (name == "as it is" and _accelerated.BUILT)
    assert len({json.dumps(f) for f in found.values()}) == 1
