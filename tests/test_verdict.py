"""The clock decides about long runs: `lazynp._verdict`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cost, _graph
from lazynp._plan import Plan
from lazynp._verdict import Verdict, verdict


def runs(found: Verdict, *seconds: float) -> None:
    for s in seconds:
        found.by_program(s)


@pytest.mark.parametrize("estimate", [0.0, 199.0, 1e9])
def test_short_runs_and_calls_are_left_to_the_estimate(estimate: float) -> None:
    assert verdict(estimate) is None


@pytest.mark.parametrize(
    "numpys, compiled, lost",
    [
        ([0.010, 0.008], [9.0, 0.030, 0.020, 0.011], True),
        ([0.010], [9.0, 0.030, 0.030, 0.012], False),  # within the margin
        ([0.010], [0.001, 0.030, 0.030, 0.030], True),  # the first run does not count
        ([0.010], [9.0, 0.030, 0.030], False),  # too early to tell
        ([0.010, 0.001], [9.0, 0.005, 0.005, 0.005], True),  # the best of each
    ],
)
def test_the_best_times_decide(numpys: list[float], compiled: list[float], lost: bool) -> None:
    found = Verdict(5000.0)
    for s in numpys:
        found.by_numpy(s)
    runs(found, *compiled)
    assert found.lost is lost and found.for_numpy is lost


def test_fewer_runs_decide_where_each_takes_long() -> None:
    for estimate, lost in ((9999.0, False), (10000.0, True)):
        found = Verdict(estimate)
        found.by_numpy(0.010)
        runs(found, 9.0, 0.020)
        assert found.lost is lost


def test_numpy_is_asked_where_its_time_is_not_known() -> None:
    found = Verdict(5000.0)
    runs(found, 9.0, 0.006, 0.006)
    assert not found.for_numpy
    runs(found, 0.006)  # slower than NumPy is estimated to be
    assert found.asks and not found.lost
    found.by_numpy(0.001)
    assert not found.asks
    runs(found, 0.006)
    assert found.lost


def test_numpy_is_not_asked_if_the_program_is_as_quick_as_estimated() -> None:
    found = Verdict(5000.0)
    runs(found, 9.0, *[0.004] * 10)
    assert not found.for_numpy and found.numpys == math.inf


@pytest.fixture
def adaptive() -> Iterator[None]:
    before = np.config.execution
    np.config(execution="adaptive")
    _graph.forget()
    yield
    np.config(execution=before)


@pytest.mark.own_policy
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("numpys, by_numpy", [(0.0, True), (1e9, False)])
def test_a_program_that_loses_is_dropped(
    monkeypatch: pytest.MonkeyPatch, numpys: float, by_numpy: bool
) -> None:
    """The clock is replaced: NumPy's runs take `numpys` seconds."""
    monkeypatch.setattr(Verdict, "by_numpy", lambda self, _: setattr(self, "numpys", numpys))
    monkeypatch.setattr(Verdict, "__init__", _known_to(numpys))
    monkeypatch.setattr(_cost, "_EXPANDED", {})  # of compiling: soon
    host = numpy.linspace(0.1, 1.0, 300_011)

    def call() -> Any:
        x = np.array(host)
        return numpy.asarray(np.sqrt(x * x + 1.0) * np.cos(x) - np.sin(x) / (x + 2.0))

    want = numpy.sqrt(host * host + 1.0) * numpy.cos(host) - numpy.sin(host) / (host + 2.0)
    before = np.stats().compiled_runs
    for _ in range(30):
        numpy.testing.assert_allclose(call(), want, rtol=1e-12)
    plans = [p for p in _graph._plans.values() if isinstance(p, Plan) and p.verdict is not None]
    mine = [p for p in plans if any(300_011 in a.shape for a in p.leaf_avals)]
    assert mine and np.stats().compiled_runs - before >= 4
    assert {p.tier for p in mine} == {"reference" if by_numpy else "compiled"}
    assert all(bool(p.programs) is not by_numpy for p in mine)


def _known_to(numpys: float) -> Any:
    made = Verdict.__init__

    def init(self: Verdict, estimate: float) -> None:
        made(self, estimate)
        self.numpys = numpys

    return init
