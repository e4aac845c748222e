"""`np.profile()`: counts are exact, times are parts of the whole, and nothing runs differently."""

from __future__ import annotations

import json
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cost
from lazynp._observers import observers
from tests.helpers import POLICIES, fresh_start, in_thread, leave_to_host

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    fresh_start()
    with np.config(execution="compiled"):
        yield
    assert observers == []


def whys(p: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for (_, why), tally in p.cuts.items():
        found[why] = found.get(why, 0) + tally.count
    return found


def counts(p: Any) -> dict[str, int]:
    return {tier: tally.count for tier, tally in p.tiers.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_and_compilations_are_counted(policy: Any) -> None:
    with np.config(execution=policy):
        x = np.array(numpy.linspace(0.0, 1.0, 9))
        before = replace(np.stats())
        with np.profile() as p:
            for i in range(5):
                float((np.sin(x) * float(i)).sum())
        after = np.stats()
    assert p.compiles == after.compiles - before.compiles == (2 if policy == "compiled" else 0)
    assert counts(p) == {
        "compiled": 5 if policy == "compiled" else 0,
        "reference": 0 if policy == "compiled" else 5,
        "host": 0,
    }
    tier = "compiled" if policy == "compiled" else "reference"
    ((operations, line, kind),) = p.programs
    assert (operations, kind) == (3, tier) and HERE in line


def test_programs_found_on_disk_are_told_apart(tmp_path: Path) -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    found = []
    with np.config(cache=tmp_path):
        for _ in range(2):
            fresh_start()
            with np.profile() as p:
                (x * 2.0 + 1.0).tolist()
            found.append((p.compiles, p.cache_hits))
    assert found == [(1, 0), (0, 1)]


ASKS: dict[str, Any] = {
    "a truth value: if, while, and, or": lambda x: bool(x.sum() > 0),
    "float()": lambda x: float(x.sum()),
    "int()": lambda x: int(x.sum()),
    "an index or a size": lambda x: range((x > 0).sum()),
    "complex()": lambda x: complex(x.sum()),
    "printed": lambda x: str(x + 1),
    "NumPy or C code reads it": lambda x: numpy.asarray(x + 1),
    "tolist()": lambda x: (x + 1).tolist(),
    "item()": lambda x: (x.sum() + 1).item(),
    "materialize()": lambda x: np.materialize(x + 1),
    "nonzero()": lambda x: np.nonzero(x + 1),
    "in": lambda x: 7.0 in x + 1,
}


@pytest.mark.parametrize("why", ASKS)
def test_lines_that_need_values_are_named(why: str) -> None:
    x = np.array(numpy.linspace(0.5, 1.0, 9))
    with np.profile() as p:
        ASKS[why](x)
    ((line, found),) = p.cuts
    assert found == why
    assert line == f"{__file__}:{ASKS[why].__code__.co_firstlineno}"


def test_loops_that_come_round_are_named() -> None:
    x = np.array(numpy.zeros(200_000))
    with np.profile() as p:
        for _ in range(30):
            x = x * 0.5
            x = x + 1.0
    x.tolist()
    assert whys(p).keys() == {"the loop comes round"}
    assert all(HERE in line for line, _ in p.cuts)


def test_what_numpy_does_is_its_own_tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cost, "PROGRAM", -1e9)  # immediately
    leave_to_host(monkeypatch, "contract")
    m = np.array(numpy.full((7, 7), 0.01))
    with np.config(execution="adaptive"), np.profile() as p:
        for _ in range(3):
            float(np.tanh(m @ (m * 0.5) - 0.25).sum())
        np.savetxt(tmp_path / "m", numpy.ones(3))
    assert counts(p) == {"compiled": 3, "reference": 0, "host": 4}
    assert {name: tally.count for name, tally in p.calls.items()} == {
        "dot_general": 3,
        "savetxt": 1,
    }
    fresh_start()


def test_times_are_parts_of_the_whole(tmp_path: Path) -> None:
    """Time inside another span is not counted twice."""
    m = np.array(numpy.full((50, 50), 0.01))
    with np.profile() as p:
        for _ in range(5):
            m = m @ m + 0.1
            float(m.sum())
        np.savetxt(tmp_path / "m", m * 2.0)  # a flush inside a call
    tallies = [*p.tiers.values(), p.compiling, p.loading]
    assert all(t.seconds >= 0 for t in tallies)
    assert 0 < sum(t.seconds for t in tallies) <= p.seconds
    assert p.seconds == p.seconds  # the block has ended
    for e in p.events:
        assert 0 <= e.inside <= e.seconds <= p.seconds
    total = sum(e.seconds - e.inside for e in p.events)
    assert total == pytest.approx(sum(t.seconds for t in tallies))
    assert total == pytest.approx(sum(t.seconds for t in (*p.programs.values(), *p.calls.values(),
                                                          p.compiling)))  # fmt: skip


def test_a_table_and_a_timeline(tmp_path: Path) -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    with np.profile() as p:
        (x + 1.0).tolist()
        in_thread(lambda: (x * 2.0 + 1.0).tolist())
    text = str(p)
    for part in (
        "s, of which", "compiled         2", "compiling        2", "elsewhere", "1 operations from",
        "2 operations from", f"{HERE}:", ": tolist()",
    ):  # fmt: skip
        assert part in text, text
    assert repr(p) == text
    p.save(tmp_path / "timeline.json")
    timeline = json.loads((tmp_path / "timeline.json").read_text())
    events = timeline["traceEvents"]
    names = [e["args"]["name"] for e in events if e["ph"] == "M"]
    spans = [e for e in events if e["ph"] == "X"]
    assert names == ["thread 0", "thread 1"]
    assert sorted(e["cat"] for e in spans) == ["compile"] * 2 + ["compiled"] * 2
    for e in spans:
        assert e.keys() == {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"}
        assert 0 <= e["ts"] <= e["ts"] + e["dur"] <= 1e6 * p.seconds + 1
    assert {e["tid"] for e in spans} == {0, 1}
    because = [e["args"]["because"] for e in spans if e["cat"] == "compiled"]
    assert because == ["tolist()", "tolist()"]


def test_a_long_table_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazynp._policy._LOOP", 1 << 30)  # otherwise later operations are eager
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    with np.config(execution="reference"), np.profile() as p:
        for n in range(1, 20):
            y = x
            for _ in range(n):
                y = y + 1.0
            y.tolist()
    assert len(p.programs) > 12 and f"{len(p.programs) - 12} more" in str(p)


def test_the_timeline_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lazynp.functions.profiling._MOST_EVENTS", 10)
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    with np.config(execution="reference"), np.profile() as p:
        for _ in range(25):
            (x + 1.0).tolist()
    assert counts(p)["reference"] == 25 and len(p.events) == 10
    assert "lacks the last 15 events" in str(p)
    p.save(tmp_path / "t")
    assert json.loads((tmp_path / "t").read_text())["otherData"]["events left out"] == 15


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_runs_otherwise(policy: Any) -> None:
    """Also whatever counts references to results, and whatever earns its compilation."""

    def program() -> list[float]:
        u = np.array(numpy.linspace(0.0, 1.0, 50_000))
        out = []
        for _ in range(60):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            v = np.sin(u) + u
            if v.max() > 0:
                out.append(float(v.sum()))
        return out

    outcomes = []
    for profiled in (False, True):
        fresh_start()
        before = replace(np.stats())
        with np.config(execution=policy):
            if profiled:
                with np.profile():
                    results = program()
            else:
                results = program()
        after = vars(np.stats())
        outcomes.append((
            results,
            {
                k: v - getattr(before, k)
                for k, v in after.items()
                if k not in ("compile_seconds", "collectives")
            },
        ))  # fmt: skip
    assert outcomes[0] == outcomes[1]


def test_blocks_may_nest_and_end_by_an_exception() -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 9))
    with np.profile() as outer:
        with pytest.raises(ZeroDivisionError), np.profile() as inner:
            (x + 1.0).tolist()
            _ = 1 // 0
        (x + 2.0).tolist()
    assert (counts(inner)["compiled"], counts(outer)["compiled"]) == (1, 2)


def test_a_cut_that_fails_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no")

    x = np.array(numpy.linspace(0.0, 1.0, 9)) + 1.0
    with np.profile() as p:
        with monkeypatch.context() as m, pytest.raises(RuntimeError, match="no"):
            m.setattr("lazynp.lowering.compile_program", fails)
            x.tolist()
        assert counts(p)["compiled"] == 0
        x.tolist()
    assert (counts(p)["compiled"], p.compiles) == (1, 1)


def test_threads_at_once() -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 9))

    def work() -> None:
        for _ in range(20):
            (x + 1.0).tolist()

    with warnings.catch_warnings(action="error"), np.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert counts(p)["compiled"] == 80
    assert len({e.thread for e in p.events}) >= 1 and sum(whys(p).values()) == 80
