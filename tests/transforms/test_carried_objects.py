"""What loops under `jit` carry: objects of dataclasses, and arrays that have other names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.object_programs import MADE, MADE_KEPT
from tests.running import run

# the results of `jit` are arrays, and its arguments are arrays and numbers
_OTHERS = {"types", "slots, strings, None, init=False", "an argument", "module level",
           "a generator in it"}  # fmt: skip
PROGRAMS = {n: text for n, text in (MADE | MADE_KEPT).items() if n not in _OTHERS}


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    numpy.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_are_what_python_makes(name: str, tmp_path: Path) -> None:
    text = re.sub(r"\n *if [^\n]*look\(\)", "", PROGRAMS[name])
    want = run(text, numpy, tmp_path)["out"]
    same(run(text.replace("def main(", "@np.jit\ndef main("), np, tmp_path, "jitted")["out"], want)


@pytest.mark.parametrize("name", ["a dataclass made anew", "the first one", "while", "a method"])
def test_loops_over_objects_are_staged(name: str, tmp_path: Path) -> None:
    text = re.sub(r"\n *if [^\n]*look\(\)", "", PROGRAMS[name])
    text = text.replace("def main(", "@np.jit\ndef main(") + "said = str(np.explain(main))\n"
    assert "unrolled" not in run(text, np, tmp_path)["said"]


def test_derivatives(tmp_path: Path) -> None:
    text = PROGRAMS["a frozen dataclass replaced"].partition("def main")[0]
    text += """
def main(a, n=20):
    s = State(np.ones(3) * a)
    for i in range(n):
        s = replace(s, x=s.x * 0.9 + 0.1 * np.sin(s.t) * a, t=s.t + 0.1)
    return s.x.sum()
"""
    main = run(text, np, tmp_path)["main"]
    main.__globals__["np"] = np  # `run` has taken it away
    eps = 1e-6
    want = (main(1.5 + eps) - main(1.5 - eps)) / (2 * eps)
    assert abs(np.grad(np.jit(main))(1.5) - want) < 1e-8


# -- arrays with other names -----------------------------------------------------------------------


def never_bound(np: Any, u: Any, flag: bool = False) -> Any:
    x, t = u, np.zeros(3)
    for _ in range(60):
        t = t + u
        if flag:
            u = u * 2
    x[1] = 5
    return u, t


def stays(np: Any, u: Any) -> Any:
    s = u * 1, np.zeros(3)
    x = s[0]
    for _ in range(60):
        s = s[0], s[1] + s[0]
    x[1] = 5
    return s


def stays_in_a_list(np: Any, u: Any) -> Any:
    s = [u * 1, np.zeros(3)]
    x = s[0]
    for _ in range(60):
        s = [s[0], s[1] + s[0]]
    x[1] = 5
    return s


def twice(np: Any, u: Any) -> Any:
    s = u, u
    for _ in range(60):
        y = s[0] * 0.9
        s = y, y
    s[0][1] = 5
    return s


def never_bound_in_while(np: Any, u: Any) -> Any:
    s = u * 1, 0.0
    x = s[0]
    while s[1] < 0.9:
        s = s[0], s[1] * 0.5 + s[0].sum()
    x[1] = 5
    return s[0] * 2


@pytest.mark.parametrize("f", [never_bound, stays, stays_in_a_list, twice, never_bound_in_while])
def test_an_array_stays_the_same_object(f: Callable[..., Any]) -> None:
    x, y = np.array([1.0, 2, 3]), numpy.array([1.0, 2, 3])
    same(np.jit(lambda u: f(np, u))(x), f(numpy, y))
    assert numpy.array_equal(x, y)


def exchanged(np: Any, u: Any) -> Any:
    v, x = np.zeros(3), u
    for _ in range(60):
        u, v = v, u
    x[1] = 5
    return u


def moved(np: Any, u: Any) -> Any:
    s = u, np.zeros(3)
    for _ in range(61):
        s = s[1], s[0]
    u[1] = 5
    return s[1] + 1


def picked(np: Any, u: Any) -> Any:
    x, t = u, np.zeros(3)
    for _ in range(60):
        t = t + u
        if t[0] < 0:
            u = u * 2
    x[1] = 5
    return u + t


@pytest.mark.parametrize("f", [exchanged, moved, picked])
def test_a_name_that_a_loop_may_have_moved_is_not_used_after_a_write(f: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="a loop gives an array another name"):
        np.jit(lambda u: f(np, u))(np.array([1.0, 2, 3]))


def test_an_array_of_a_list_that_has_another_name_is_not_written() -> None:
    def f(x: Any) -> Any:
        prev, h = x, []
        for _ in range(30):
            prev = x
            x = x * 0.5 + prev[0]
            h.append(x)
        prev[0] = 7
        return h

    with pytest.raises(TypeError, match="a loop gives an array another name"):
        np.jit(f)(np.array([1.0, 2, 3]))
