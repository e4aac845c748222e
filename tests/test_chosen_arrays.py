"""Where a branch decides which array something is, Python has that array itself, and a program
would have a copy: such functions and loops stay with Python. So do loops over iterators that the
user's code refers to.
"""

from __future__ import annotations

import textwrap
import types
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.promoting import front, promoting
from tests.running import MARKS, every_loop as every_loop, run

pytestmark = MARKS


class State:
    def __init__(self, np: Any) -> None:
        self.x, self.y, self.best = np.zeros(3), np.ones(3), np.zeros(3)
        self.d = {"a": np.zeros(3), "b": np.ones(3)}
        self.l = [np.zeros(3), np.ones(3)]

    def sets_an_attribute(self, e):
        s = 0.0
        for i in range(20):
            s = s * 0.5 + e * i
        if s > 18:
            self.best = self.x
        return s

    def sets_one_of_two(self, e):
        if e > 0.5:
            self.best = self.x
        else:
            self.best = self.y
        return self.best.sum()

    def sets_an_entry(self, e):
        if e > 0.5:
            self.d["a"] = self.d["b"]
        return e

    def sets_an_element(self, e):
        if e > 0.5:
            self.l[0] = self.l[1]
        return self.l[0]

    def keeps_what_it_had(self, e):
        self.best = self.x
        if e > 0.5:
            self.x = self.x + 1
        return e

    def in_a_loop(self, e):
        o = self.x
        for i in range(12):
            if e * i > 5:
                o = self.y
        self.best = o
        return o

    def gives_one(self, e):
        return (self.x if e > 0.5 else self.y), self.best

    def gives_a_part(self, e):
        return self.x[1:] if e > 0.5 else self.y[1:]

    def exchanges(self, e):
        a, b = self.x, self.y
        if e > 0.5:
            a, b = b, a
        self.x, self.y = a, b
        return e

    def in_a_while(self, e):
        k = 0
        while e > 0.5:
            e = e * 0.7
            k += 1
            self.x = self.y
        return k

    def gives_it_back(self, e):
        v = self.x
        if e > 0.5:
            v = v * 0.5
        return v

    def gives_a_new_one(self, e):
        v = self.x * 2
        if e > 0.5:
            v = v * 0.5
        return v


METHODS = [name for name, f in vars(State).items() if isinstance(f, types.FunctionType)][1:]


def _numbers(state: State, result: Any) -> list[Any]:
    results = result if isinstance(result, tuple) else (result,)
    held = [state.x, state.y, state.best, *state.d.values(), *state.l]
    return [numpy.asarray(x).tolist() for x in [*held, *results]]


@pytest.mark.parametrize("name", METHODS)
def test_arrays_that_a_branch_chooses_are_the_same_objects(name: str) -> None:
    function = vars(State)[name]
    plain = types.FunctionType(function.__code__, globals(), name)
    with promoting():
        hot = front(function)
        ours, theirs = State(np), State(numpy)
        random = numpy.random.default_rng(3)
        for _ in range(30):
            e = float(random.uniform())
            got, want = function(ours, np.array([e])[0]), plain(theirs, numpy.array([e])[0])
            for state, result in ((ours, got), (theirs, want)):
                for x in result if isinstance(result, tuple) else (result,):
                    if numpy.ndim(x):
                        x += 0.25
                state.x += 0.5
                state.y *= 1.01
                state.d["b"] += 1
                state.l[1] += 2
            for a, b in zip(_numbers(ours, got), _numbers(theirs, want), strict=True):
                numpy.testing.assert_allclose(a, b)
        assert (hot.programs > 0) is (name == "gives_a_new_one")


LOOPS = {
    "for": "for k in range(60):", "while": "k = -1\nwhile k < 59:\n    k += 1",
}  # fmt: skip
_ROUND = """
for k in steps:
    v = v * 0.9 + k
    n += 1
    if k == 2 or k == 3: look()
"""
NAMED = {
    "the rest later": f"{_ROUND}    if k == 40: break\nfor k in steps: m += 1",
    "steps left out": f"{_ROUND}    if k == 30: next(steps); next(steps)",
}  # fmt: skip


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_may_never_choose(kind: str, tmp_path: Path) -> None:
    script = f"""
def solve(u, x):
    out, e = x, 0.0
{textwrap.indent(LOOPS[kind], "    ")}
        if k == 2 or k == 3: look()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        e = e * 0.9 + u[1]
        if e > 99: out = out * 0.5 + u
    return out
x, u = np.zeros(9), np.arange(9.0) ** 2
r = solve(u, x)
r[0] = 5.0
same = r is x
"""
    got, want = run(script, np, tmp_path, "a"), run(script, numpy, tmp_path, "b")
    assert got["same"] is want["same"] is True
    for name in ("x", "u", "r"):
        numpy.testing.assert_allclose(got[name], want[name])


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("steps", ["range(80)", "list(range(80))", "zip(range(80), range(80))"])
def test_an_iterator_with_a_name_goes_on(name: str, steps: str, tmp_path: Path) -> None:
    loop = NAMED[name].replace("for k in", "for k, _ in") if "zip" in steps else NAMED[name]
    script = f"n = m = 0\nv = np.zeros(3)\nsteps = iter({steps})\n{loop}\nleft = len(list(steps))"
    got, want = run(script, np, tmp_path, "a"), run(script, numpy, tmp_path, "b")
    assert [got[k] for k in ("n", "m", "left")] == [want[k] for k in ("n", "m", "left")]
    numpy.testing.assert_allclose(got["v"], want["v"])
