"""What became of trials is noted for later processes; a note never changes a result."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

import lazynp as np
from lazynp import lowering
from lazynp._fronts import BUILT
from lazynp._promotion import _case, _earlier, _gains, _watching
from lazynp.lowering import _notes

pytestmark = pytest.mark.own_policy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Notes are kept in a directory of the test's own."""
    monkeypatch.setattr(_notes, "_trusted", set())
    monkeypatch.setattr(_notes, "_unusable", set())
    with np.config(cache=tmp_path / "kept"):
        yield tmp_path / "kept"


# -- notes -----------------------------------------------------------------------------------------


def test_a_note_is_found_again(folder: Path) -> None:
    assert lowering.noted("k") is None
    lowering.note("k", b"won")
    assert lowering.noted("k") == b"won" and lowering.noted("other") is None
    lowering.note("k", b"lost")
    assert lowering.noted("k") == b"lost"


def test_a_damaged_note_is_none(folder: Path) -> None:
    lowering.note("k", b"won")
    (file,) = folder.glob("*.note")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert lowering.noted("k") is None
    file.write_bytes(b"")
    assert lowering.noted("k") is None
    lowering.note("j", b"won")  # under another key
    other = next(f for f in folder.glob("*.note") if f != file)
    os.replace(other, file)
    assert lowering.noted("k") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are those of POSIX")
def test_nobody_elses_notes_are_read(folder: Path) -> None:
    lowering.note("k", b"won")
    folder.chmod(0o777)
    _notes._trusted.clear()
    assert lowering.noted("k") is None
    lowering.note("j", b"won")
    assert len(list(folder.glob("*.note"))) == 1


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").write_text("")
    with np.config(cache=tmp_path / "file"):
        lowering.note("k", b"won")
        assert lowering.noted("k") is None
    with np.config(cache="off"):
        lowering.note("k", b"won")
        assert _earlier.key_of("call") is None and _earlier.has_won(None) is None


# -- what identifies a function --------------------------------------------------------------------


def _code(source: str) -> CodeType:
    whole = compile(textwrap.dedent(source), "f.py", "exec")
    return next(c for c in whole.co_consts if isinstance(c, CodeType))


SOURCE = "def f(x, n):\n    def g(y): return y + 1.5\n    return g(x) in {n, 'a', 'b', 'c'}\n"


@pytest.mark.parametrize(
    "other, same",
    [
        ("\n\n# moved\n" + SOURCE, True),
        (SOURCE.replace("1.5", "1.25"), False),
        (SOURCE.replace("y + 1.5", "y - 1.5"), False),
        (SOURCE.replace("(x, n)", "(z, n)").replace("g(x)", "g(z)"), False),
        (SOURCE.replace("'b'", "b'b'"), False),
        (SOURCE.replace("def f", "def h"), False),
    ],
)
def test_code_is_known_wherever_it_stands(other: str, same: bool) -> None:
    assert (_earlier.of_code(_code(SOURCE)) == _earlier.of_code(_code(other))) is same


def test_code_is_known_in_another_process() -> None:
    """The order of a set depends on the process."""
    asked = f"_earlier.of_code(_code({SOURCE!r}))"
    text = f"from tests.test_earlier import _code, _earlier; print({asked})"
    made = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert made[0] == made[1]


def test_loops_and_kinds() -> None:
    one, moved, other = (
        ast.parse(s).body[-1]
        for s in ("for i in x: y += i", "a\nfor i in x:\n  y += i", "for i in x: z += i")
    )
    assert _earlier.of_loop(one) == _earlier.of_loop(moved) != _earlier.of_loop(other)
    x = np.ones((2, 3))
    assert _earlier.of_kind([x, 1, x.sum()]) == _earlier.of_kind([x + 1, 2, x.max()])
    assert _earlier.of_kind([x]) != _earlier.of_kind([x.astype("f4")]) != _earlier.of_kind([x[0]])


# -- what a note decides ---------------------------------------------------------------------------


def test_a_note_decides_when_there_is_a_trial(folder: Path) -> None:
    key = _earlier.key_of("call", "f")
    unknown = _case.Case(0.0, key)
    assert unknown.won is None and not unknown.due
    unknown.refuse(_gains.Slower("it takes 3.0 of Python's time"))
    lost = _case.Case(_case.RENT, key)
    assert lost.won is False and not lost.due
    lost.seconds = _earlier.WAITING * _case.RENT
    assert lost.due
    _earlier.keep(key, won=True)
    won = _case.Case(0.0, key)
    assert won.won and won.due
    won.refuse(_gains.Slower("it takes 1.1 of Python's time"))  # the machine may be busy
    assert _earlier.has_won(key)
    won.refuse(ValueError("its results differ"))
    assert _earlier.has_won(key) is False


HOT = """
    import sys
    import numpy, lazynp as np
    from lazynp._promotion import _case, _sampling, _trials
    from lazynp._plan import STATS
    _case.FASTER = _trials.FASTER = 1e9
    if sys.argv[1] == "again":
        _sampling.HOT = 10**9  # only a note makes it hot

    def sweep(u):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
        return u

    u = np.linspace(0, 1, 3000) ** 2
    for k in range(2000):
        u = sweep(u)
        if STATS.promotions:
            break
    v = numpy.linspace(0, 1, 3000) ** 2
    for _ in range(k + 1):
        sweep(v)
    print(STATS.promotions, numpy.allclose(np.asarray(u), v, rtol=1e-12))
"""
RUNNING = """
    import sys, time
    import lazynp as np
    from lazynp._promotion import _gains, _running, taken
    _gains.FASTER = _gains.HOPELESS = 1e9
    if sys.argv[1] == "again":
        _running.SECONDS = 10**9  # only a note has it looked at
    else:
        _running.SECONDS = _running.LEFT = _running.LOADING = _running.COMPILING = 0.0
    u, k, end = np.ones(2000), 0, time.perf_counter() + 60
    HEAD
        k += 1
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
    print(sum(t.chunks for t in taken) > 0, float(u.min()) == float(u.max()) == 1.0)
"""


def _ran(source: str, folder: Path, word: str, place: Path) -> list[str]:
    place.write_text(textwrap.dedent(source))
    path = os.pathsep.join([str(Path(np.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    made = subprocess.run(
        [sys.executable, str(place), word], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": path, "LAZYNP_CACHE": str(folder),
             "LAZYNP_EXECUTION": "adaptive"},
    )  # fmt: skip
    assert not made.returncode, made.stderr
    return made.stdout.split()


@pytest.mark.skipif(not BUILT, reason="without the C, loops over elements are not counted")
def test_a_second_process_knows_a_hot_function(tmp_path: Path) -> None:
    kept, place = tmp_path / "kept", tmp_path / "script.py"
    assert _ran(HOT, kept, "first", place) == ["1", "True"]
    assert list(kept.glob("*.note"))
    moved = "\n\n" + HOT.replace("import numpy,", "import math, numpy,")
    assert _ran(moved, kept, "again", place) == ["1", "True"]
    assert _ran(HOT, tmp_path / "empty", "again", place) == ["0", "True"]


@pytest.mark.skipif(not _watching.KNOWN, reason="needs the fast path in C")
@pytest.mark.parametrize("head", ["for step in range(200_000):", "while k < 200_000:"])
def test_a_second_process_knows_a_running_loop(head: str, tmp_path: Path) -> None:
    kept, place = tmp_path / "kept", tmp_path / "script.py"
    source = RUNNING.replace("HEAD", head)
    assert _ran(source, kept, "first", place) == ["True", "True"]
    assert _ran(source, kept, "again", place) == ["True", "True"]
