"""Running loops over what passes on the items of something else, and over records of numbers."""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazynp._promotion import taken
from tests.running import MARKS, check, every_loop  # noqa: F401

pytestmark = MARKS

BAR = """
def bar(over, log):
    for x in over:
        log.append(x)
        yield x
    log.append("end")
def failing(over, log):
    for x in over:
        if x == 40:
            raise ValueError("forty")
        log.append(x)
        yield x
def calling(over, see):
    for x in over:
        see(x)
        yield x
"""

TAKEN = {
    "a progress bar": """
from progress_bar import bar
x, t = np.ones(3), 0.0
log = []
for n in bar(range(60), log):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
    t += 0.1
del bar
""",
    "a break under a progress bar": """
from progress_bar import bar
x, t = np.ones(3), 0.0
log = []
for n in bar(range(200), log):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
    if x[0] > 1000: break
    t += 0.1
del bar
""",
    "enumerate of a progress bar": """
from progress_bar import bar
def main(x):
    log = []
    for k, (a, b) in enumerate(bar([(1.0, 2), (0.5, 3)] * 30, log)):
        if k == 2 or k == 3: look()
        x = x * a + b + k
    return x, k, a, b, log
out = main(np.ones(3))
del bar, main
""",
    "a generator of the user's": """
def every(n):
    for i in range(n):
        yield i
x = np.ones(3)
for n in every(60):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
del every
""",
    "a generator that raises": """
from progress_bar import failing
x, error = np.ones(3), ""
log = []
try:
    for n in failing(range(60), log):
        if n == 2 or n == 3: look()
        x = x * 0.9 + n
except ValueError as e:
    error = str(e)
del failing
""",
    "dicts": """
ps = [{"a": 0.5, "k": i} for i in range(60)]
x, n = np.ones(3), 0
for p in ps:
    n += 1
    if n == 2 or n == 3: look()
    x = x * p["a"] + p["k"]
same = p is ps[-1]
""",
    "a tuple": """
x, n = np.ones(3), 0
for v in (0.5, 0.25, 1.0) * 20:
    n += 1
    if n == 2 or n == 3: look()
    x = x * v + 1
""",
    "tuples that are taken apart": """
edges = [(i % 7, (i * 3) % 7, 0.1 * i) for i in range(80)]
dist, n = np.arange(7.0), 0
for u, v, w in edges:
    n += 1
    if n == 2 or n == 3: look()
    if dist[u] + w < dist[v]:
        dist[v] = dist[u] + w
""",
    "tuples as they are": """
edges = [(i % 7, (i * 3) % 7, 0.1 * i) for i in range(80)]
dist, n = np.arange(7.0), 0
for e in edges:
    n += 1
    if n == 2 or n == 3: look()
    dist[e[0]] += e[2]
same = e is edges[-1]
""",
    "a progress bar in another": """
from progress_bar import bar
x, outer, inner = np.ones(3), [], []
def nested(over, log):
    return bar(bar(over, log), inner)
for n in nested(range(60), outer):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
del bar, nested
""",
}
STAYING = {
    "a generator that computes": """
def every(n):
    for i in range(n):
        yield 2 * i
x = np.ones(3)
for n in every(60):
    if n == 4 or n == 6: look()
    x = x * 0.9 + n
del every
""",
    "a generator with effects": """
log = []
def every(n):
    for i in range(n):
        log.append(float(x[0]))
        yield i
x = np.ones(3)
for n in every(60):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
del every
""",
    "a dict that is changed": """
ps = [{"a": 0.5, "k": i} for i in range(60)]
x, n = np.ones(3), 0
for p in ps:
    n += 1
    if n == 2 or n == 3: look()
    x = x * p["a"] + p["k"]
    p["k"] = 7
""",
    "a generator with a name": """
from progress_bar import bar
x, log, later = np.ones(3), [], 0
steps = bar(range(80), log)
for n in steps:
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
    if n == 40: break
later = next(steps)
del bar, steps
""",
    "a library's generator that calls a function of the user's": """
from progress_bar import calling
x, seen = np.ones(3), []
def see(k):
    seen.append(float(x[0]) + k)
for n in calling(range(60), see):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
del calling, see
""",
    "a generator that calls what it is given": """
def each(f, n):
    for k in range(n):
        f(k)
        yield k
x, seen = np.ones(3), []
for n in each(seen.append, 60):
    if n == 2 or n == 3: look()
    x = x * 0.9 + n
del each
""",
    "dicts that are not alike": """
ps = [{"a": 0.5, "k": i} for i in range(60)]
ps[50] = {"k": 1, "a": 0.25}
x, n = np.ones(3), 0
for p in ps:
    n += 1
    if n == 2 or n == 3: look()
    x = x * p["a"] + p["k"]
""",
    "the best of some dicts": """
ps = [{"a": 0.5, "k": i % 17} for i in range(60)]
x, n, best = np.ones(3), 0, None
for p in ps:
    n += 1
    if n == 2 or n == 3: look()
    x = x * p["a"] + p["k"]
    if best is None or p["k"] > best["k"]:
        best = p
same = best is ps[16]
""",
}


@pytest.fixture(autouse=True)
def progress_bar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A library of progress bars."""
    made = types.ModuleType("progress_bar")
    place = Path(sysconfig.get_paths()["purelib"], "progress_bar.py")
    exec(compile(BAR, str(place), "exec"), made.__dict__)
    monkeypatch.setitem(sys.modules, "progress_bar", made)
    yield


@pytest.mark.parametrize("name", TAKEN)
def test_loops_are_taken(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", STAYING)
def test_loops_that_stay_with_python(name: str, tmp_path: Path) -> None:
    check(STAYING[name], tmp_path, taking=False)


def test_a_report_says_what_the_generator_does(tmp_path: Path) -> None:
    check(STAYING["a generator with effects"], tmp_path, taking=False)
    assert any("it is over a generator" in t.explained() for t in taken)
