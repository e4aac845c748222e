"""Python's garbage collector: what the import leaves is passed over at first, and no longer."""

from __future__ import annotations

import ast
import gc
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
    # what lives when lazynp is imported is passed over...
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
assert seen() is not None and gc.get_freeze_count()
_collector._Aside.until = 0
full()
assert seen() is None and not gc.get_freeze_count()
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
