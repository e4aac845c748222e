"""Python's garbage collector: what the import leaves is passed over at first, and no longer."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazynp as np
from lazynp import _collector
from lazynp._fronts import BUILT

BEGIN = """
import gc, weakref
class Knot: pass
def knot():
    k = Knot(); k.itself = k
    return k
old = knot(); seen = weakref.ref(old)
"""
PROGRAMS = {
    # what the import makes is passed over...
    "young": "import lazynp; assert gc.get_freeze_count() > 10_000",
    # ...until the program asks for a collection, which finds garbage of that time
    "asked": """
import lazynp
del old
gc.collect(); assert seen() is None and not gc.get_freeze_count()
""",
    "generations": "import lazynp; gc.collect(1); assert gc.get_freeze_count()",
    # a full collection that comes by itself finds it too, but only after the first seconds
    "by itself": """
import lazynp
from lazynp import _collector
del old
def full():
    before = gc.get_stats()[2]["collections"]
    kept = []
    while gc.get_stats()[2]["collections"] == before:
        kept.append([])
full()
from lazynp._fronts import BUILT
assert (seen() is None) is BUILT  # with the C, older objects are not passed over
assert gc.get_freeze_count()
_collector._Aside.until = 0
full()
assert seen() is None and not gc.get_freeze_count()
""",
    # what the transformations are made of is passed over as well; what was there before, is not
    "loaded later": """
import lazynp
from lazynp import transforms
from lazynp._fronts import BUILT
imported = gc.get_freeze_count()
young = knot(); young_seen = weakref.ref(young)
transforms.load()
assert (gc.get_freeze_count() > imported + 5_000) is BUILT
del old, young
gc.collect(1)
assert (seen() is None) is BUILT and young_seen() is None
assert gc.get_freeze_count()
gc.collect()
assert not gc.get_freeze_count()
""",
    # what a program does with its collector stays
    "its own": """
gc.collect(); gc.freeze(); own = gc.get_freeze_count()
import lazynp
assert gc.get_freeze_count() <= own
gc.collect(); assert gc.get_freeze_count() > own - 100
""",
    "later its own": """
import lazynp
more = [[] for _ in range(5000)]
gc.freeze(); all = gc.get_freeze_count()
gc.collect(); assert gc.get_freeze_count() > all - 100
""",
    "its own, loaded later": """
import lazynp
from lazynp import transforms
gc.freeze(); own = gc.get_freeze_count()
transforms.load()
assert gc.get_freeze_count() <= own
""",
    "off, loaded later": """
import lazynp
from lazynp import transforms
gc.disable(); imported = gc.get_freeze_count()
transforms.load()
assert gc.get_freeze_count() <= imported and not gc.isenabled()
""",
    "off": "gc.disable(); import lazynp; assert not gc.get_freeze_count() and not gc.isenabled()",
    # the collector waits for the end of the import, or, if that fails, for its first run
    "thresholds": """
before = gc.get_threshold()
import lazynp
from lazynp import _collector
assert gc.get_threshold() == before
_collector.put_off()
assert gc.get_threshold()[0] > 100_000
gc.collect(0)
assert gc.get_threshold() == before
_collector.put_off()
gc.set_threshold(500)
gc.collect(0)
assert gc.get_threshold()[0] == 500
""",
    # only full collections run a function of Python's: before it, a signal's handler could run, and
    # the collector drops what that raises
    "signals": """
import lazynp
from lazynp._fronts import BUILT
called = []
import sys
sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name))
gc.collect(0); gc.collect(1)
sys.setprofile(None)
assert ("_before" not in called) is BUILT, called
from lazynp import _collector
assert _collector._Aside.there
""",
    # a callback that follows ours hears of every collection
    "callbacks": """
import lazynp
heard = []
gc.callbacks.append(lambda phase, info: heard.append((phase, info["generation"])))
gc.collect()
assert heard == [("start", 2), ("stop", 2)], heard
""",
    # ours fails nowhere, not even where Python allows no further call
    "recursion": """
import lazynp, sys
heard = []; sys.unraisablehook = heard.append
gc.collect()
gc.set_threshold(1)
def deep(kept): deep([])
try: deep([])
except RecursionError: pass
assert not heard, heard
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    program = BEGIN + PROGRAMS[name]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.fixture(params=[True, False])
def enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_uncollected(enabled: bool) -> None:
    with pytest.raises(ZeroDivisionError), _collector.uncollected():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled() == enabled


@pytest.mark.skipif(not BUILT, reason="the fast path in C makes them")
def test_numbers_are_not_looked_through() -> None:
    """A program may keep a million of them in a list. (NumPy's are none of the collector's.)"""
    with np.config(execution="adaptive", promotion=False):
        x = np.arange(3.0)
        for number in (x[1], x[1] * 0.5, x[1] + x[2]):
            assert type(number) is np.Scalar
            assert not gc.is_tracked(number) and not gc.is_tracked(number._node)
        assert gc.is_tracked(x)


def test_what_is_pending_is_not_sliced() -> None:
    """In CPython 3.11, the collector may run in a slice of a list, before it copies. A destructor
    that asks for a value empties the list then, and the process dies.
    """
    found = []
    for file in Path(np.__file__).parent.rglob("*.py"):
        for x in ast.walk(ast.parse(file.read_text())):
            if isinstance(x, ast.Subscript) and isinstance(x.slice, ast.Slice):
                name = getattr(x.value, "attr", getattr(x.value, "id", ""))
                if name == "pending" and isinstance(x.ctx, ast.Load):
                    found.append(f"{file.name}:{x.lineno}")
    assert not found


ENDS = """
import sys
class Ends:
    def __del__(self):
        print("ended", flush=True)
before = Ends()
before.cycle = before
import lazynp
after = Ends()
book = open(sys.argv[1], "w")
book.write("written")
{}
"""
WAYS = {
    "at its end": "",
    "by sys.exit": "sys.exit()",
    "after work": "print(lazynp.arange(3.0).sum())",
    "frozen by itself": "import gc; gc.freeze(); gc.unfreeze()",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pure", ["0", "1"])
def test_variables_of_a_script_end_with_it(way: str, pure: str, tmp_path: Path) -> None:
    """What is set aside does not keep them: a file that is open is written, as without lazynp."""
    script, book = tmp_path / "script.py", tmp_path / "book.txt"
    script.write_text(ENDS.format(WAYS[way]))
    environment = {**os.environ, "LAZYNP_PURE_PYTHON": pure}
    done = subprocess.run(
        [sys.executable, str(script), str(book)], env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.count("ended") == 2, done.stderr
    assert book.read_text() == "written"


@pytest.mark.parametrize("threshold", [0, 10**6])
def test_they_end_too_where_the_collector_seldom_runs(threshold: int, tmp_path: Path) -> None:
    script = f"import gc; gc.set_threshold({threshold})" + ENDS.format("")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "book.txt")], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.count("ended") == 2, done.stderr
    assert (tmp_path / "book.txt").read_text() == "written"


def test_a_module_that_imports_lazynp_ends_too(tmp_path: Path) -> None:
    module = tmp_path / "a_model.py"
    module.write_text(ENDS.format(""))
    done = subprocess.run(
        [sys.executable, "-c", "import a_model", str(tmp_path / "book.txt")], cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.count("ended") == 2, done.stderr
