"""What is traced of a running loop: how often, and without checks that its range makes needless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _clock, _gains, _iterated, _program, _running, taken
from lazynp.transforms._checks import has_checks
from tests.running import MARKS, check, every_loop, run  # noqa: F401

pytestmark = MARKS


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The jaxprs of the programs that are traced."""
    found: list[Any] = []
    count = _program._count

    def counting(jaxpr: Any) -> int:
        monkeypatch.setattr(_program, "_count", count)  # it calls itself
        found.append(jaxpr)
        try:
            return count(jaxpr)
        finally:
            monkeypatch.setattr(_program, "_count", counting)

    monkeypatch.setattr(_program, "_count", counting)
    return found


HEAD = "x = np.linspace(0, 1, 60)\ny = np.arange(60)\n"
LOOPS = {
    "neighbours": "for i in range(1, 59):\n    LOOK\n    x[i] = x[i - 1] * 0.5 + x[i + 1]",
    "steps": "for i in range(4, 57, 3):\n    LOOK\n    x[i] = x[i - 2] * 0.5 + x[i + 3]",
    "an end": "for i in range(1, 59):\n    LOOK\n    x[i] = x[i - 1] + x[i + 1]\n"
              "    if x[i] > 1e9: break",
    "numbers and items": "for i, v in enumerate(y):\n    LOOK\n    x[i] = x[i] * 0.5 + v",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_indices_within_the_range_are_not_checked(
    name: str, tmp_path: Path, traced: list[Any]
) -> None:
    texts = [HEAD + LOOPS[name].replace("LOOK", f"if {at}: look()") for at in _PLACES]
    check(texts[0], tmp_path)
    first = str(traced[-1])
    assert not has_checks(traced[-1])
    # a later process may take it a few rounds later: the program is the same, and found on disk
    taken.clear()
    run(texts[1], np, tmp_path, "again")
    assert sum(t.chunks for t in taken)
    assert str(traced[-1]).replace("again.py", "program.py") == first


_PLACES = ("i == 10 or i == 13", "i == 22 or i == 25")


@pytest.mark.parametrize(("over", "at"), [("range(2, 70)", 5), ("range(61, -1, -1)", 44)])
def test_beyond_the_range_they_are(over: str, at: int, tmp_path: Path, traced: list[Any]) -> None:
    """Where a loop down begins is not known. The error is Python's."""
    source = f"""
        x, failed = np.linspace(0, 1, 60), None
        def run(x):
            for i in {over}:
                if i == {at} or i == {at + 1}: look()
                x[i - 2] = x[i] * 0.5 + x[i - 1]
        try: run(x)
        except IndexError as error: failed = str(error)
    """
    check(source.replace("61", "59"), tmp_path)
    assert has_checks(traced[-1])


def test_a_loop_that_ends_too_soon_is_traced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traced: list[Any]
) -> None:
    monkeypatch.setattr(_running, "COMPILING", 1e9)
    source = """
        x = np.linspace(0, 1, 40)
        for i in range(40):
            if i == 2 or i == 3: look()
            if x[i] < 0: x[i] = abs(x[i])
            x[i] *= 2
    """
    check(source, tmp_path, taking=False)
    assert any("it ends too soon" in t.explained() for t in taken) and len(traced) == 1


def test_rounds_may_take_longer_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traced: list[Any]
) -> None:
    """A loop that seems to end too soon is asked again, without another trace."""
    monkeypatch.setattr(_running, "COMPILING", 1.0)
    monkeypatch.setattr(_iterated.Iterated, "_expected", lambda self: 0.0 if self.at < 9 else 1e9)
    source = """
        x = np.linspace(0, 1, 60)
        for i in range(60):
            if i == 2 or i == 3: look()
            x[i] = abs(x[i]) * 2
    """
    check(source, tmp_path, times=1)
    assert all("too soon" not in t.explained() for t in taken) and len(traced) == 1


def test_what_was_traced_waits_until_it_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traced: list[Any]
) -> None:
    """Loops that are entered again and again count together, and are traced once."""
    monkeypatch.setattr(_running, "COMPILING", 1e9)
    source = """
        def forward(x):
            for i in range(1, 40):
                look()
                x[i] = x[i - 1] * 0.5 + 1
            return x
        def until(x):
            n = 0
            while n < 40:
                look()
                n += 1
                x = x * 0.5 + n
            return x
        a = [forward(np.ones(40)) for k in range(4)], [until(np.ones(3)) for k in range(4)]
    """
    check(source, tmp_path, taking=False, times=1)
    assert len(traced) == 2
    assert sum(t.loop.spent > 0 for t in taken) >= 2


ANEW = {
    "a dict": ("", "s = {'x': np.ones(3), 'n': 0}", "s['x'] = s['x'] * 0.5 + i; s['n'] += i", 1),
    "an object": ("", "s = S()", "s.x = s.x * 0.5 + i; s.n += i", 1),
    "a lambda": ("f = lambda y: y * 0.5", "x = np.ones(3)", "x = f(x) + i", 1),
    "a function": ("c = 0.5\ndef f(y, a=1.0): return y * c + a", "x = np.ones(3)",
                   "x = f(x) + i", 1),
    "another number": ("c = k\ndef f(y): return y * c", "x = np.ones(3)", "x = f(x) * 0.5 + i", 3),
    "another array": ("c = np.ones(3) * k\ndef f(y): return y * c", "x = np.ones(3)",
                      "x = f(x) * 0.5 + i", 3),
    "numbers of numpy's": ("", "x = np.float64(2.0); y = 1.0",
                           "y = y * 0.5 + x; x = np.log(y + 1)", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ANEW)
def test_what_is_made_anew_is_served(name: str, tmp_path: Path, traced: list[Any]) -> None:
    """The same functions and objects of the same form need no other program."""
    functions, state, step, traces = ANEW[name]
    lines = ["class S:", "    def __init__(self): self.x, self.n = np.ones(3), 0", "def run(k):"]
    lines += [f"    {s}" for t in (functions, state) for s in t.splitlines()]
    lines += [
        "    for i in range(40):",
        "        look()",
        *(f"        {s}" for s in step.split("; ")),
    ]
    lines += ["    return s['x'], s['n']" if "s[" in step else "    return s.x, s.n" if "s." in step
              else "    return x", "a = [run(k) for k in range(3)]", "del S"]  # fmt: skip
    check("\n".join(lines), tmp_path, times=1)
    probes = 2 if name == "an object" or name == "a dict" else 1
    assert len(traced) <= traces * probes
    assert all(t.chunks for t in taken if t.loop.line == 3 + len(functions.splitlines()) + 2)


def test_a_loop_without_end_waits_for_the_compiler() -> None:
    """By reference, whose rounds cost a hundred times as much, it may take minutes."""

    @np.jit
    def triangle(x: Any, n: Any) -> Any:
        for i in range(n):
            for j in range(i):
                x[i] += x[j]
        return x

    before = np.stats().compiled_runs
    with np.config(background=True):
        got = numpy.asarray(triangle(np.ones(12), np.array(12)))
    assert np.stats().compiled_runs == before + 1
    assert got.tolist() == [2.0**k for k in range(12)]


# -- entered again ---------------------------------------------------------------------------------

AGAIN = """
    def run(x, n, k):
        for i in range(k, n):
            look()
            x[i] = x[i - 1] * 0.5 + x[i + 1]
        return x
    x = np.linspace(0, 1, 200)
    run(x, 150, 1)
    CALL
"""
CALLS = {
    "the same range": ("run(x, 150, 1)", 1),
    "a shorter range": ("run(x, 120, 1)", 1),
    "a later beginning": ("run(x, 150, 20)", 1),
    "a longer range": ("run(x, 190, 1)", 2),
    "up to its last element": ("try: run(x, 201, 1)\n    except IndexError: pass", 2),
    "an earlier beginning": ("run(x, 150, -30)", 2),
    "another dtype": ("x = x.astype('f4'); run(x, 150, 1)", 2),
    "another array": ("x = np.linspace(2, 3, 200); run(x, 150, 1)", 1),
    "a view": ("run(x[:], 150, 1)", 1),  # stays with Python
}


@pytest.mark.parametrize("name", CALLS)
def test_a_loop_that_is_entered_again_needs_no_other_trace(
    name: str, tmp_path: Path, traced: list[Any]
) -> None:
    call, traces = CALLS[name]
    check(AGAIN.replace("CALL", call), tmp_path, times=1)
    assert len(traced) == traces
    loops = [t for t in taken if t.loop.line == 3]
    assert len(loops) == 2
    assert [t.chunks > 0 for t in loops] == [True, name != "a view"]


def test_other_globals_are_other_programs(tmp_path: Path, traced: list[Any]) -> None:
    """The same code runs with them."""
    source = """
        def run(x):
            for i in range(150):
                look()
                x[i] = x[i] * factor
            return x
        out = []
        for k in (2.0, 3.0):
            space = {"np": np, "look": look, "factor": k}
            out.append(type(run)(run.__code__, space)(np.ones(200)))
        del space
    """
    check(source, tmp_path, times=1)
    assert len(traced) == 2


# what each entry does; whether the second is by the program of the first
STATEFUL = {
    "a list": ("""
        def run(x, n):
            rows = []
            for i in range(1, n):
                look()
                x[i] = x[i - 1] * 0.5 + 1
                rows.append(x[i])
            return rows
        a = run(np.linspace(0, 1, 200), 150)
        b = run(np.linspace(2, 3, 200), 120)
        """, True),
    "arrays": ("""
        def run(x, n):
            rows = []
            for i in range(n):
                look()
                x = x * 0.5 + 1
                rows.append(x)
            return rows
        a = run(np.linspace(0, 1, 3), 150)
        b = run(np.linspace(2, 3, 3), 120)
        """, True),
    "a list that has elements": ("""
        def run(rows, x, n):
            for i in range(n):
                look()
                x = x * 0.5 + 1
                if i % 3 == 1: rows.append((i, x))
            return rows
        a = run([], 0.5, 150)
        b = run(["first"], 2.5, 120)
        """, True),
    "a list of others": ("""
        def run(rows, x, n):
            for i in range(n):
                look()
                x = x * 0.5 + 1
                rows.append(x)
            return rows
        a = run([], 0.5, 150)
        b = run([], np.ones(1, "f4")[0], 120)
        c = run([], 1.5, 150)
        """, False),
    "two names of a list": ("""
        def run(rows, more, x, n):
            for i in range(n):
                look()
                x = x * 0.5 + 1
                rows.append(x)
                more.append(i)
        a, b, c = [], [], []
        run(a, b, 0.5, 150)
        run(c, c, 0.5, 120)
        """, False),
    "draws": ("""
        def run(rng, n):
            total = 0.0
            for i in range(n):
                look()
                total = total + rng.normal(0.0, 2.0)
            return total
        first, second = np.random.default_rng(1), np.random.default_rng(2)
        a, b = run(first, 150), run(second, 120)
        c = run(first, 140)
        """, True),
    "draws in branches": ("""
        def run(rng, n):
            total = 0.0
            for i in range(n):
                look()
                if rng.random() < 0.5:
                    total = total + rng.standard_normal()
            return total
        first, second = np.random.default_rng(1), np.random.default_rng(2)
        a, b = run(first, 150), run(second, 120)
        c = run(first, 140)
        """, True),
    "draws of another stream": ("""
        def run(rng, n):
            total = 0.0
            for i in range(n):
                look()
                total = total + rng.random()
            return total
        second = np.random.Generator(np.random.Philox(3))
        a, b = run(np.random.default_rng(1), 150), run(second, 120)
        """, False),
    "two generators that are one": ("""
        def run(one, two, n):
            total = 0.0
            for i in range(n):
                look()
                total = total + one.random() * two.random()
            return total
        first, second = np.random.default_rng(1), np.random.default_rng(2)
        a = run(first, second, 150)
        b = run(second, second, 120)
        """, False),
    "a generator that functions read": ("""
        rng = np.random.default_rng(1)
        def noise(): return rng.random()
        def run(rng, n):
            total = 0.0
            for i in range(n):
                look()
                total = total + noise() * rng.random()
            return total
        second = np.random.default_rng(2)
        a, b = run(rng, 150), run(second, 120)
        """, False),
    "a list of draws": ("""
        def run(seed, n):
            rng, rows, x = np.random.default_rng(seed), [], 0.0
            for i in range(n):
                look()
                x = x + rng.uniform(-1, 1)
                rows.append(x)
            return rows, rng
        a, b = run(1, 150), run(2, 120)
        """, True),
    "legacy draws": ("""
        def run(n):
            rows = []
            for i in range(n):
                look()
                rows.append(np.random.randint(10) + np.random.randn())
            return rows
        np.random.seed(3)
        a, b = run(150), run(120)
        """, True),
}  # fmt: skip


MIXED = {"two generators that are one", "a generator that functions read", "legacy draws"}


@pytest.mark.parametrize("name", STATEFUL)
def test_loops_with_lists_and_draws_keep_their_programs(
    name: str, tmp_path: Path, traced: list[Any]
) -> None:
    """A program of these is traced twice: see `Histories` and `Draws`."""
    source, again = STATEFUL[name]
    check(source, tmp_path, times=1)
    loops = [t.chunks > 0 for t in taken if t.name == "run"]
    assert len(loops) > 1 and all(loops) == (name != "two names of a list")
    mixed = name in MIXED  # it is tried whether the words of the generators can be read ahead
    assert len(traced) == (4 if all(loops) and not again else 2) + mixed


def test_a_loop_that_is_short_but_entered_often_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how long Python has run it so far: here, 1000 seconds an entry, of which no more than 38
    times as much can seem to be left, whichever rounds are looked at.
    """
    source = """
        def run(x, n):
            for i in range(n):
                if i == 2 or i == 20: look()
                x[i] = x[i] * 0.5 + 1
            return x
        out = [run(np.linspace(0, k, 40), 40) for k in range(104)]
    """
    monkeypatch.setattr(_running, "LEFT", 100_000.0)
    monkeypatch.setattr(_clock, "of_python", lambda since, now=None: 1000.0)
    check(source, tmp_path, times=1)
    assert [t.chunks > 0 for t in taken if t.name == "run"] == [True] * 4


def test_a_loop_that_took_longer_by_programs_goes_back_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two entries after another, as a whole: its rounds may become shorter on the way."""
    went_on = _iterated.Iterated._goes_on

    def goes_on(self: Any, frame: Any) -> bool:
        self.loop.whole = 1e-12  # Python's seconds for a round
        return went_on(self, frame)

    monkeypatch.setattr(_iterated.Iterated, "_goes_on", goes_on)
    source = """
        def run(x, n):
            for i in range(n):
                if i == 2 or i == 3: look()
                x = x * 0.5 + i
            return x
        out = [run(np.linspace(0, k, 4), 60) for k in range(6)]
    """
    check(source, tmp_path, times=1)
    runs = [t for t in taken if t.name == "run"]
    assert [t.chunks > 0 for t in runs] == [True] * 3
    assert "of Python's time" in runs[-1].explained()


@pytest.mark.parametrize(("copying", "each", "wins"), [(2.0, 0.01, True), (2.0, 0.9, False)])
def test_what_a_program_copies_does_not_hide_what_it_gains(
    copying: float, each: float, wins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a hundred rounds it would, and all the more where memory is new in the first run."""
    runs, noise = list[int](), iter([5.0] + [1.0] * 50)

    def run(count: int) -> tuple[float, int]:
        runs.append(count)
        return (copying + each * 0.01 * count) * next(noise), count

    monkeypatch.setattr(_gains, "FASTER", 0.8)
    gains = _gains.Gains(0.01)
    try:
        count, _ = gains.paying(run, 100, 2, 60_000, 1e3)
    except _gains.Slower:
        assert not wins
    else:
        assert wins and count > 100
    assert len(runs) < 20 and sum(runs) < 60_000


def test_a_while_loop_that_does_not_pay_is_traced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traced: list[Any]
) -> None:
    """It was traced after 2, 4, 8, 16 rounds, and so on, and again at each entry."""
    monkeypatch.setattr(_running, "COMPILING", 1e9)
    source = """
        def run(x):
            i = 0
            while i < 200:
                look()
                x[i % 50] = x[i % 50] * 0.5 + 1
                i += 1
        x = np.linspace(0, 1, 50)
        for _ in range(3): run(x)
    """
    check(source, tmp_path, taking=False, times=1)
    assert len(traced) == 1
