"""The structure of a round, and the programs of many: counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _unit
from tests.helpers import Counted, fresh_start
from tests.test_rounds import BODIES, fresh, pays_at_once

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with fresh("compiled"):
        yield


def _units() -> list[Any]:
    return list(_unit.units.values())


def run(rounds: int, body: Callable[..., Any], *state: Any) -> Any:
    for i in range(rounds):
        state = body(i, *state)
    return [numpy.asarray(s) for s in state]


def chain(i: int, x: Any) -> Any:
    y = x * 0.5 + 1.0
    return (y - x * 0.25,)


def test_a_long_loop_is_few_runs() -> None:
    run(100, chain, np.arange(8.0))
    with Counted() as counted:
        run(1000, chain, np.arange(8.0))
    assert counted.compiles == 0
    assert counted.cuts <= 16
    (unit,) = _units()
    assert len(unit.ops) == 4 and len(unit.programs) == 1


def test_the_number_of_rounds_is_an_operand() -> None:
    for rounds in (40, 57, 100, 333):
        run(rounds, chain, np.arange(8.0))
    (unit,) = _units()
    assert len(unit.programs) == 1


def test_what_changes_is_carried_and_what_stays_is_not() -> None:
    c, d = np.arange(8.0), np.ones(8)
    run(60, lambda i, x: (x * c + d * x,), np.arange(8.0) * 0.1)
    (unit,) = _units()
    (program,) = unit.programs.values()
    assert len(program.moving) == 1 and len(program.fixed) == 2


def test_swapped_arrays_are_carried_both() -> None:
    run(60, lambda i, a, b: (b, a * 0.5 + b), np.arange(8.0), np.ones(8))
    (unit,) = _units()
    (program,) = unit.programs.values()
    assert len(program.moving) == 2 and unit.depth == 2


def test_a_scalar_that_changes_is_an_operand_and_others_are_constants() -> None:
    run(60, lambda i, x: (x * 0.5 + i * 0.1 + 3.0,), np.arange(8.0))
    (unit,) = _units()
    assert len(unit.varying) == 1 and len(unit.programs) == 1


def test_zeros_of_both_signs_are_two_constants() -> None:
    got = run(60, lambda i, x: (x * 1.0 + (-0.0 if i < 50 else 0.0),), -np.zeros(4))
    assert not numpy.signbit(got[0]).any()
    got = run(60, lambda i, x: (x * 1.0 + -0.0,), -np.zeros(4))
    assert numpy.signbit(got[0]).all()


def test_a_moving_index_is_one_program() -> None:
    def body(i: int, x: Any) -> Any:
        x[i] = x[i - 1] * 0.5 + 1.0
        return (x,)

    run(60, body, np.zeros((64, 5)))
    (unit,) = _units()
    assert len(unit.programs) == 1


def test_rounds_that_something_else_refers_to_are_not_taken() -> None:
    kept: list[Any] = []

    def body(i: int, x: Any) -> Any:
        x = x * 0.5 + 1.0
        kept.append(x)
        return (x,)

    (got,) = run(60, body, np.arange(4.0))
    expected = numpy.arange(4.0)
    for k in kept:
        expected = expected * 0.5 + 1.0
        assert (numpy.asarray(k) == expected).all()
    assert (got == expected).all()


def test_operations_of_the_host_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `adaptive`, rounds that NumPy runs faster are not compiled."""
    pays_at_once(monkeypatch)
    monkeypatch.setattr(_unit, "_by_host", lambda op: op.primitive.name == "multiply")
    with np.config(execution="adaptive"):
        fresh_start()
        with Counted() as counted:
            run(200, chain, np.arange(8.0))
    assert not [u for u in _units() if u.programs]
    assert counted.compiles == 0


def test_a_run_that_fails_leaves_the_rounds_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    x = np.arange(8.0)
    (expected,) = run(90, chain, numpy.arange(8.0))
    before = _unit.Unit.run
    calls = 0

    def failing(self: Any, *args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Stop
        before(self, *args)

    monkeypatch.setattr(_unit.Unit, "run", failing)
    done = 0
    with np.config(max_pending=64):
        while done < 90:
            try:
                new = chain(done, x)
            except Stop:
                continue
            (x,) = new
            done += 1
    assert calls >= 2
    assert (numpy.asarray(x) == expected).all()


@pytest.mark.parametrize("body", BODIES)
def test_the_path_in_c_finds_what_python_finds(
    body: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    in_c = _unit.matched_round

    def both(*args: Any) -> Any:
        one, other = in_c(*args), _unit.matched_round_in_python(*args)
        assert (one is None) == (other is None)
        if one is not None:
            for x, y in zip(one, other, strict=True):
                assert len(x) == len(y) and all(a is b for a, b in zip(x, y, strict=True))
            found.append(one)
        return one

    monkeypatch.setattr(_unit, "matched_round", both)
    body(np)
