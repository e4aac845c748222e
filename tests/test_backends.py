"""Back ends: what is done at once, by whom, and what is recorded all the same."""

from __future__ import annotations

import contextvars
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _array, _fronts
from lazynp._backends import EAGER, FIRST, STRICT
from lazynp._node import OP, VALUE, leaf, op_of
from lazynp._policy import Mode
from lazynp._recorder import RECORD, Recorder, local
from lazynp.primitives import elementwise
from tests.helpers import POLICIES, be_eager, fresh_start, in_thread, pending

ADD = elementwise.add
ROOT = Path(np.__file__).parent
# templates, which only stand for recorded operations
ASKING = {"functions/_replayed.py", "transforms/_templates.py"}
LARGE = 1 << 20  # elements


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    fresh_start()
    with np.config(execution="adaptive"):
        yield


# -- who does what ---------------------------------------------------------------------------------

X, WHOLE = np.array(numpy.arange(1.0, 7.0).reshape(2, 3)), np.array(numpy.ones(LARGE))
OPERATIONS: dict[str, tuple[Callable[[], Any], bool, bool]] = {
    # (operation, whether eager does it, whether strict does)
    "sum": (lambda: X + X, True, True),
    "with a number": (lambda: X * 2.0, True, True),
    "a function": (lambda: np.sin(X), True, True),
    "reduction": (lambda: X.sum(axis=0), True, True),
    "product": (lambda: X @ X.T, True, True),
    "transform": (lambda: np.fft.fft(X), True, True),
    "element": (lambda: X[0, 1] + X[1, 2], True, True),
    "view": (lambda: X[1:], True, False),
    "sorted": (lambda: np.sort(X), True, False),
    "large": (lambda: WHOLE + 1.0, False, True),
    "part of what is pending": (lambda: (WHOLE + 1.0)[:3] * 2.0, True, True),  # makes a cut
}


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_who_does_what(name: str) -> None:
    operation, eager, strict = OPERATIONS[name]
    if name != "element":  # arithmetic between scalars that are there is NumPy's at once
        assert local.recorder.backend is RECORD
        assert operation()._node[VALUE] is None
    want = numpy.asarray(operation())
    fresh_start()
    be_eager()
    assert local.recorder.backend is EAGER
    found = operation()
    assert (found._node[VALUE] is not None) is eager
    numpy.testing.assert_allclose(found, want, rtol=1e-15)
    be_eager(False)
    with np.errstate(all="raise"):
        assert local.recorder.backend is STRICT
        found = operation()
        assert (found._node[VALUE] is not None) is strict
        numpy.testing.assert_allclose(found, want, rtol=1e-15)


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_eager_where_a_function_is_staged(policy: Any) -> None:
    found = []

    def f(x: Any) -> Any:
        found.append(local.recorder.backend)
        with np.errstate(all="raise"):
            found.append(local.recorder.backend)
            y = x + 1.0
        assert y._node[VALUE] is None
        return y * np.asarray(2.0)

    with np.config(execution=policy):
        be_eager()
        assert np.jit(f)(X).tolist() == ((X + 1.0) * 2.0).tolist()
    assert found and set(found) == {RECORD}


@pytest.mark.parametrize(
    ("transform", "backend"),
    # what gradients keep of small operations can run at once, if the fast path is there
    [(np.grad, EAGER if _fronts.BUILT else RECORD), (np.jacfwd, RECORD), (np.vmap, RECORD)],
)
def test_back_ends_below_transformations(transform: Any, backend: Any) -> None:
    found = []

    def f(x: Any) -> Any:
        found.append(local.recorder.backend)
        return (x * x).sum()

    be_eager()
    numpy.asarray(transform(f)(X))
    assert found[-1] is backend and local.recorder.backend is EAGER


def test_a_block_of_recording() -> None:
    be_eager()
    with local.recorder.recording():
        y = X + 1.0
        assert y._node[VALUE] is None and pending()
    z = X + 1.0
    assert z._node[VALUE] is not None
    numpy.testing.assert_array_equal(y, z)


# -- at the beginning of a program -----------------------------------------------------------------

LONG, ROW = np.array(numpy.ones((1100, 1))), np.array(numpy.ones((1, 1100)))  # together 9.7 MB
SMALL_AND_LARGE: dict[str, tuple[Callable[[], Any], bool]] = {
    # (operation, whether NumPy does it at once)
    "sum": (lambda: X + X, True),
    "function": (lambda: np.sort(X), True),
    "reduction": (lambda: X.sum(axis=0), True),
    "view": (lambda: X[1:], True),
    "product": (lambda: X @ X.T, True),
    "outer product": (lambda: LONG @ ROW, False),
    "outer sum": (lambda: LONG + ROW, False),
    "outer": (lambda: np.outer(X, X), True),
    "large outer": (lambda: np.outer(LONG, ROW), False),
    "large kron": (lambda: np.kron(LONG, ROW), False),
    "large": (lambda: WHOLE + 1.0, False),
    "large product": (lambda: WHOLE.reshape(-1, 4) @ np.ones((4, 4)), False),
    "large reduction": (lambda: WHOLE.sum(), False),
    "part of what is pending": (lambda: (WHOLE + 1.0)[:3] * 2.0, False),
}


@pytest.mark.parametrize("name", list(SMALL_AND_LARGE))
def test_at_first_small_operations_are_done_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, at_once = SMALL_AND_LARGE[name]
    want = numpy.asarray(operation())
    monkeypatch.setattr("lazynp._policy.INITIAL", Mode.FIRST)
    fresh_start()
    assert local.recorder.backend is FIRST
    for _ in range(3):  # the first is inferred
        cuts = np.stats().cuts
        found = operation()
        assert (found._node[VALUE] is not None) is at_once and np.stats().cuts == cuts
        numpy.testing.assert_allclose(found, want, rtol=1e-15)
    with np.config(execution="compiled"):
        assert local.recorder.backend is RECORD
    with np.config(debug_nans=True):
        assert local.recorder.backend is RECORD


# -- eager -----------------------------------------------------------------------------------------


def test_values_that_eager_works_on() -> None:
    be_eager()
    array, scalar = numpy.ones(3), numpy.float64(2.0)
    large = numpy.ones(LARGE)
    assert EAGER.value(leaf(array)) is array and EAGER.value(leaf(scalar)) is scalar
    assert EAGER.value(leaf(large)) is None and EAGER.value(leaf(large), True) is large
    assert EAGER.value(leaf(array.astype("O"))) is None  # NumPy's in any case
    with local.recorder.recording():
        y = X + 1.0
        v = X[1:]
    assert EAGER.value(y._node) is None  # pending
    shown = EAGER.value(v._node)  # but a view of what is there costs nothing
    assert type(shown) is numpy.ndarray and numpy.shares_memory(shown, X._node[VALUE])


def test_eager_is_quiet() -> None:
    """As a compiled program, but for what the user calls."""
    be_eager()
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        assert (X / 0.0).tolist() == [[numpy.inf] * 3] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op = op_of(elementwise.divide, {}, (X.aval, float))
        node = EAGER.operation(op, (X._node, 0.0))
        assert node is not None and numpy.isinf(node[VALUE]).all()


def test_eager_makes_scalars_of_what_has_no_dimension() -> None:
    be_eager()
    total = X.sum()
    assert type(total) is np.Scalar and isinstance(total._node[VALUE], numpy.generic)
    assert float(total) == 21.0


def test_record_declines() -> None:
    op = op_of(ADD, {}, (X.aval, float))
    assert RECORD.operation(op, (X._node, 1.0)) is None and RECORD.value(X._node) is None
    made = [backend.attempt(lambda x: x + 1, 1) for backend in (RECORD, STRICT, EAGER)]
    assert made == [None, None, 2] and RECORD.largest() == 0 < EAGER.largest()


@pytest.mark.parametrize(
    ("backend", "goes_on"),
    [(RECORD, [True, True, False, False]), (EAGER, [True, True, True, False])],
)
def test_what_is_executed_waits_only_for_a_flush_that_is_due(backend: Any, goes_on: Any) -> None:
    recorder = Recorder()
    found = []
    for full in (False, True):
        for recorder.due in (False, True):
            recorder.limit = 0 if full else 1
            found.append(backend.goes_on(recorder))
    assert found == goes_on


STORES: dict[str, Callable[[Any], None]] = {
    "slice": lambda x: x.__setitem__(slice(1, 3), 2.0),
    "slice, array": lambda x: x.__setitem__(slice(0, 2), np.ones(2)),
    "indices": lambda x: x.__setitem__([0, 2], 7.0),
    "element": lambda x: x.__setitem__(1, 2.0),
    "in place": lambda x: x.__iadd__(1.0),
    "operator": lambda x: x + x,
}


@pytest.mark.parametrize("name", STORES)
def test_what_waits_does_not_delay_what_is_executed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looks for a flush before an eager operation, however much is pending."""
    be_eager()
    x = np.array(numpy.arange(4.0))
    with local.recorder.recording():
        waits = np.array(numpy.ones(3)) + 1.0
    monkeypatch.setattr(local.recorder, "limit", 1)
    looked: list[Any] = []
    monkeypatch.setattr(_array, "_enter", lambda *args: looked.append(args))
    STORES[name](x)
    assert not looked and waits._node[VALUE] is None
    monkeypatch.undo()
    expected = numpy.arange(4.0)
    STORES[name](expected)
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_nobody_asks_which_back_end_is_active() -> None:
    """An operation offers itself to it."""
    asks = re.compile(r"backend\.at_once|backend is (?!None)|is_eager")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted(ROOT.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if asks.search(line)
    ]
    assert {line.split(":")[0] for line in found} <= ASKING, found
    full = [p.name for p in ROOT.rglob("*.py") if "pending) >= recorder.limit" in p.read_text()]
    assert full == []  # see `Recorder.is_full`


# -- strict ----------------------------------------------------------------------------------------


def test_strict_is_of_the_context_that_asked() -> None:
    """The back end is exchanged everywhere; it notices errors only where that was asked for."""
    context = contextvars.copy_context()

    def quiet() -> Any:
        assert local.recorder.backend is STRICT
        op = op_of(elementwise.divide, {}, (X.aval, float))
        assert STRICT.operation(op, (X._node, 0.0)) is None
        y = X / 0.0
        return y._node[VALUE] is None, y.tolist()

    with np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            X / 0.0
        inf = [[numpy.inf] * 3] * 2
        assert in_thread(quiet) == (True, inf)  # another thread
        assert context.run(quiet) == (True, inf)  # and another context of this one
        with pytest.raises(FloatingPointError):
            contextvars.copy_context().run(quiet)  # a copy has the same state
    assert local.recorder.backend is RECORD
    assert (X / 0.0).tolist() == inf


def test_an_eager_thread_is_eager_again() -> None:
    be_eager()
    with np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            X / 0.0
    assert local.recorder.backend is EAGER
    with numpy.errstate(all="ignore"):
        assert (X / 0.0)._node[VALUE] is not None


def test_only_what_is_asked_for_is_raised() -> None:
    with np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            X / 0.0
    assert all(n[OP].primitive.name != "divide" for n in pending())
    with np.errstate(over="raise"), pytest.warns(RuntimeWarning, match="divide by zero"):
        assert numpy.isinf(X / 0.0).all()  # a strict state is NumPy's: by default, it warns
    with np.errstate(all="ignore"):
        assert local.recorder.backend is RECORD and (X / 0.0)._node[VALUE] is None


def test_settings_ask_for_checks() -> None:
    with np.config(checks=True):
        assert local.recorder.backend is STRICT
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            X / 0.0
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            X / 0.0
    assert local.recorder.backend is RECORD


WARNED = """
np.log(x, where=True)
np.log(x, None)
np.log(x, None, where=True, order="C")
np.divide(x, 0, None)
np.divmod(x, 0, None, None)
np.emath.log(x)
np.emath.log2(x)
np.emath.log10(0)
np.emath.logn(2, x)
np.emath.power(x, -1)
np.testing.assert_warns(RuntimeWarning, np.log, x)
np.testing.assert_warns(RuntimeWarning, lambda: x / 0)
"""


@pytest.mark.parametrize("row", WARNED.strip().splitlines())
@pytest.mark.filterwarnings("ignore:NumPy warning suppression")
def test_what_is_called_is_told_of(row: str) -> None:
    def outcome(module: Any) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", RuntimeWarning)
            found = eval(row, {"np": module, "x": module.array([0.0, 1.0])})
        return numpy.asarray(found).tolist(), sorted({str(w.message) for w in told})

    be_eager()
    assert repr(outcome(np)) == repr(outcome(numpy))
