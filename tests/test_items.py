"""Running loops over arrays, lists, `enumerate`, `zip` and `reversed`: as Python leaves them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

import lazynp as np
from lazynp._promotion import taken
from tests.running import MARKS, assert_alike, check, every_loop, run  # noqa: F401
from tests.running_programs import program

pytestmark = MARKS


TAKEN = {
    "an array": """
def main(u):
    for t in np.linspace(0, 1, 60):
        look()
        u = u * 0.9 + t
    return u, t
out = main(np.ones(3))
""",
    "an array with a name": """
ts, u = np.arange(60), np.zeros(3)
for t in ts:
    look()
    u = u + t * ts[3]
""",
    "an array that it writes": """
ts = np.arange(60.0)
for t in ts:
    look()
    ts[40] += t
    ts[-1] = t
""",
    "an array that it binds anew": """
ts = np.arange(60.0)
for t in ts:
    look()
    ts = ts * 0.5 + t
""",
    "a part of an array": """
ts, u = np.arange(60.0, dtype="f4"), np.zeros(3)
for t in ts[3::2]:
    look()
    u = u + t
""",
    "floats": """
u, dts, total = np.zeros(3), [0.1, 0.2, 0.5] * 20, 0.0
for dt in dts:
    look()
    u = u + dt
    total += dt
""",
    "ints": """
u, n = np.zeros(3), 0
for k in [3, 1, 2] * 20:
    look()
    u[k % 3] += k
    n = n + k
""",
    "enumerate": """
def main(u, ts):
    for k, t in enumerate(ts, 5):
        look()
        u[k % 3] = u[k % 3] * 0.5 + t
        if k % 20 == 0:
            print(end="")
    return u, k, t
out = main(np.zeros(3), np.linspace(0, 1, 70))
""",
    "zip": """
def main(u, ts, ws):
    for i, t, (k, w) in zip(range(7, 200, 2), ts, enumerate(ws)):
        look()
        u = u * 0.5 + t * w + i - k
    return u, i, t, k, w
out = main(np.zeros(3), np.linspace(0, 1, 70), [0.5, 1.0] * 34)
""",
    "zip, as one name": """
u, xs = np.zeros(3), []
for pair in zip(np.arange(50), [1.5] * 60):
    look()
    u = u + pair[0] * pair[1]
    xs.append(float(u[0]))
""",
    "reversed": """
u = np.arange(60.0)
for i in reversed(range(2, 59)):
    look()
    u[i] = 0.5 * (u[i - 1] + u[i + 1])
""",
    "exchanges": """
def main(u, v):
    for k, t in enumerate(np.linspace(0, 1, 61)):
        look()
        v[1:-1] = u[1:-1] + t * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u, v, k, t
out = main(np.arange(7.0) ** 2, np.zeros(7))
""",
    "break": """
u = np.zeros(3)
for k, t in enumerate(np.linspace(0, 1, 100)):
    look()
    u = u + t
    if u[0] > 20:
        break
""",
    "a history": """
def main(x):
    ts, xs = np.linspace(0, 3, 80), []
    for i, t in enumerate(ts):
        look()
        x = x + 0.1 * np.sin(x + t)
        xs.append((t, x.copy()))
    return xs, x, i
out = main(np.ones(2))
""",
    "in a loop": """
u = np.zeros(3)
for k in range(3):
    for t in np.linspace(0, 1, 40):
        look()
        u = u * 0.5 + t
""",
    "an error": """
def main(u, rows):
    try:
        for i in rows:
            look()
            u[0] += u[i]
    except IndexError as e:
        return u, i, str(e)
out = main(np.arange(8.0), [1, 2, 3] * 15 + [9])
""",
}
PYTHONS = {
    "a list that grows": """
u, ts = np.zeros(3), [0.5] * 40
for t in ts:
    look()
    u = u + t
    if len(ts) < 60:
        ts.append(t * 0.5)
""",
    "a list that is changed": """
def f():
    ts[30] = 7.0
u, ts = np.zeros(3), [0.5] * 60
for k, t in enumerate(ts):
    look()
    u = u + t
    if k == 20:
        f()
""",
    "an iterator with a name": """
u, it = np.zeros(3), iter([0.5, 0.25] * 40)
for t in it:
    look()
    u = u + t
    if u[0] > 5:
        break
left = list(it)
del it
""",
    "an iterator in zip": """
u, it = np.zeros(3), iter([0.5, 0.25] * 40)
for k, t in zip(range(20), it):
    look()
    u = u + t
left = list(it)
del it
""",
    "enumerate with a name": """
u, e = np.zeros(3), enumerate([0.5, 0.25] * 40)
for k, t in e:
    look()
    u = u + t
    if k > 30:
        break
left = list(e)
del e
""",
    "mixed numbers": """
u, kinds = np.zeros(3), []
for t in [1, 2.0, True] * 20:
    look()
    u = u + t
""",
    "rows": """
a = np.arange(120.0).reshape(60, 2).copy()
for row in a:
    look()
    row[0] += row[1]
""",
    "strings": """
u = np.zeros(3)
for s in ["a", "b"] * 30:
    look()
    u = u + len(s)
""",
    "a dict": """
u = np.zeros(3)
for k in dict.fromkeys(range(50)):
    look()
    u = u + k
""",
    "its own variable": """
u = np.zeros(3)
for k, t in enumerate(np.arange(50.0)):
    look()
    t = t * 2
    u = u + t
""",
    "a view of what it writes": """
ts = np.arange(60.0)
for t in ts[2:]:
    look()
    ts[30:] += t * 0.01
""",
    "an element is bound": """
u, v = np.zeros(60), [0]
for v[0] in np.arange(50.0):
    look()
    u = u + v[0]
""",
}


@pytest.mark.parametrize("name", TAKEN)
def test_loops_that_are_taken(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", PYTHONS)
def test_loops_that_stay_or_end_with_python(name: str, tmp_path: Path) -> None:
    check(PYTHONS[name], tmp_path, taking=name == "a list that is changed")


HEADS = [
    "for i in list(range({0})):", "for i in np.arange({0}):", "for i in reversed(range({0})):",
    "for i, z in zip(range({0}), np.linspace(0, 1, 99)):", "for z, i in enumerate(range({0})):",
    "for z, i in enumerate(np.arange({0}), 3):", "for i, z in zip(np.arange({0}), [0.5] * 99):",
]  # fmt: skip


@pytest.mark.parametrize("block", range(6))
def test_random_loops(block: int, tmp_path: Path) -> None:
    ran = 0
    for seed in range(1000 + 14 * block, 1014 + 14 * block):
        source = re.sub(r"for i in range\((.*)\):", HEADS[seed % 7].replace("{0}", r"\1"),
                        program(seed), count=1)  # fmt: skip
        source = re.sub("if i == .*: look", "look", source)
        taken.clear()
        got = run(source, np, tmp_path, f"p{seed}")["out"]
        want = run(source, numpy, tmp_path, f"p{seed}")["out"]
        try:
            assert_alike(dict(enumerate(got)), dict(enumerate(want)))
        except AssertionError as error:
            raise AssertionError(source) from error
        ran += sum(t.chunks for t in taken)
    assert ran, "no program ran"


def test_the_loop_gives_what_is_left(tmp_path: Path) -> None:
    """An array that a round of Python's changes is seen by the rounds that follow."""
    source = """
        def change():
            ts[45:] = 7.0
        ts, u = np.arange(80.0), np.zeros(2)
        for k, t in enumerate(ts):
            look()
            u = u * 0.5 + t
            if k == 40:
                change()
        """
    check(source, tmp_path)
    assert sum(t.rounds for t in taken) > 30
    assert_alike(run(source, np, tmp_path), run(source, np, tmp_path))
