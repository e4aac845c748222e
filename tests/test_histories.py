"""Running loops that append to lists: the lists hold what Python would have put there."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _histories, _running, taken
from tests.history_programs import FAILING, REFUSED, TAKEN, program
from tests.listing_programs import EXTENDED, NOT_EXTENDED
from tests.naming_programs import PICKED, PICKED_KEPT
from tests.running import MARKS, assert_alike, check, chunks, every_loop, run  # noqa: F401
from tests.view_programs import VIEWS, VIEWS_LEFT

pytestmark = MARKS


@pytest.mark.parametrize("name", TAKEN)
def test_lists_hold_what_python_appends(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("name", EXTENDED)
def test_other_ways_to_append(name: str, tmp_path: Path) -> None:
    check(EXTENDED[name], tmp_path)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("name", VIEWS)
def test_views_show_their_arrays(name: str, tmp_path: Path) -> None:
    check(VIEWS[name], tmp_path)


def test_arrays_lie_as_the_view_of_this_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that is entered again may read a view in another memory order."""
    monkeypatch.setattr(_running, "_CHUNK", 1.0)
    source = """
    def main(v, s):
        rows = []
        for k in range(60):
            if k == 2 or k == 3: look()
            s = s + v[k % 5, 1]
            rows.append(v * s)
        return rows

    found = []
    for j in range(6):
        b = np.zeros((16, 16)) + np.arange(16.0)
        v = b[::2, ::2] if j < 3 else b[:8, :8].T
        rows = main(v, 0.0)
        found.append((rows, [r.flags.c_contiguous for r in rows]))
    """
    check(source, tmp_path)


LEFT = REFUSED | {f"added, {n}": p for n, p in NOT_EXTENDED.items()} | {
    f"view, {n}": p for n, p in VIEWS_LEFT.items()
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_python_could_notice_is_refused(name: str, tmp_path: Path) -> None:
    check(LEFT[name], tmp_path, taking=False)


@pytest.mark.parametrize("name", PICKED)
def test_the_same_array_is_appended_again(name: str, tmp_path: Path) -> None:
    """Where a branch leaves the variable alone, the list gets the same object."""
    check(PICKED[name], tmp_path)


@pytest.mark.parametrize("name", PICKED_KEPT)
def test_what_is_appended_is_not_known(name: str, tmp_path: Path) -> None:
    got = run(PICKED_KEPT[name], np, tmp_path)
    assert_alike(got, run(PICKED_KEPT[name], numpy, tmp_path))


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_pythons(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running, "_CHUNK", 1e-3)
    check(FAILING[name], tmp_path)


@pytest.mark.parametrize("block", range(10))
def test_random_loops(block: int, tmp_path: Path) -> None:
    ran = 0
    for seed in range(12 * block, 12 * block + 12):
        source = program(seed)
        taken.clear()
        got = run(source, np, tmp_path, f"p{seed}")
        want = run(source, numpy, tmp_path, f"p{seed}")
        try:
            assert_alike(dict(enumerate(got["out"])), dict(enumerate(want["out"])))
        except AssertionError as error:
            raise AssertionError(source) from error
        ran += sum(t.chunks for t in taken)
    assert ran, "no program ran"


def test_every_array_has_memory_of_its_own(tmp_path: Path) -> None:
    got = check(TAKEN["arrays that are bound anew"], tmp_path)
    _, xs, _, ys, last, first = got["out"]
    assert last and not first
    for x in (*xs, *ys):
        assert x.base is None and x.flags.writeable and x.flags.owndata
    for a in xs:
        before = [x.copy() for x in xs if x is not a]
        a += 1
        assert all((x == y).all() for x, y in zip(before, [x for x in xs if x is not a]))


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program keeps more rows than so many bytes hold."""
    monkeypatch.setattr(_histories, "_BYTES", 6 * 8 * 10)
    monkeypatch.setattr(_running, "_CHUNK", 1.0)
    check(TAKEN["copies"], tmp_path, times=1)
    (told,) = [t for t in taken if t.chunks]  # loops of the tests themselves may have been seen
    assert told.chunks >= 5 and told.rounds <= 10 * told.chunks


def test_a_list_of_another_type_by_now(tmp_path: Path) -> None:
    """The loop runs twice: with a list, then with what only looks like one."""
    source = """
        class Log:
            def __init__(self):
                self.all = ()
            def append(self, x):
                self.all += (x,)
        def main(xs):
            x = np.ones(2)
            for k in range(40):
                if k == 2 or k == 3: look()
                x = x + k
                xs.append(float(x[0]))
            return xs
        first, second, third = main([]), main(Log()).all, main([1])
        del Log
        """
    check(source, tmp_path)
    assert [t.chunks > 0 for t in taken][:1] == [True]


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_an_interrupt_leaves_whole_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running, "_CHUNK", 0.02)
    for k in range(3):
        source = f"""
            import os, signal, threading, time
            from lazynp._promotion import taken
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
            def stop():
                while not any(t.chunks >= 2 for t in list(taken)):
                    time.sleep(0.001)
                time.sleep({k * 7e-3})
                os.kill(os.getpid(), signal.SIGINT)
            x, n, xs, ns = np.zeros(3), 0, [], []
            thread = threading.Thread(target=stop, daemon=True)
            thread.start()
            try:
                for step in range(100_000_000):
                    if step == 2 or step == 3: look()
                    x = x + 1
                    n += 1
                    xs.append(float(x[0]))
                    ns.append(n)
            except KeyboardInterrupt:
                pass
            """
        taken.clear()
        space = run(textwrap.dedent(source), np, tmp_path, f"s{k}")
        xs, ns, n = space["xs"], space["ns"], space["n"]
        assert ns == list(range(1, len(ns) + 1)) and abs(len(ns) - n) <= 1
        assert xs == [float(v) for v in range(1, len(xs) + 1)] and abs(len(xs) - len(ns)) <= 1
        assert abs(float(space["x"][0]) - n) <= 1


def test_reports_say_why_a_loop_stays_with_python(tmp_path: Path) -> None:
    source = """
        def main():
            x, xs, t = np.ones(3), [0.0], 0.0
            while (t <
                   9):
                look()
                x = x * 0.9
                t += 1.0
            for y in {1: 2}:
                look()
                x = x * 0.9
            for k in range(40):
                if k == 2 or k == 3: look()
                x = x + xs[0]
                xs.append(float(x[0]))
            for k in range(40):
                if k == 2 or k == 3: look()
                x = x * 0.9
        main()
        """
    taken.clear()
    space = run(source, np, tmp_path)
    told = str(np.explain(space["main"])).splitlines()
    assert told == [t.explained() for t in taken if t.name == "main"]
    assert [line.split(" of main")[0] for line in told] == [
        f"the loop at line {k}" for k in (4, 9, 12, 16)
    ]
    reasons = [line.partition("runs in Python: ")[2] for line in told]
    assert "several lines" in reasons[0] and reasons[1] == "it is over a dict_keyiterator"
    assert reasons[2] == "reads `xs`, a list, which may change" and not reasons[3]
    assert "rounds ran in" in told[3]
    with pytest.raises(TypeError):
        np.explain(len)
