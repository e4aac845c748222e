"""A hot function, whose outside changes in random ways between its calls, gives what NumPy gives.

The changes: names bound anew to arrays of another dtype, order or owner, arrays that become each
other's views, attributes, classes, functions, defaults, and the types of numbers.
"""

from __future__ import annotations

import random
import types
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import given, settings

import lazynp as np
from tests.promoting import front, promoting

pytestmark = pytest.mark.own_policy

BEGIN = """
class Base:
    rate = 0.5
    def of(self, x): return x * self.rate

class Model(Base):
    def __init__(self): self.u, self.v, self.t = np.linspace(-1, 1, 6), np.zeros(6), 0.0

def helper(x, k=0.5): return x * k + GAIN

GAIN, TABLE = 0.25, np.arange(6.0)
X, Y, M, N = np.array([1.0, 2.0, 0.5, 3.0, -1.0, 0.0]), np.ones(6), Model(), 2
"""
LINES = [
    "x[i] = x[i] * 0.5 + y[i - 1]", "x[1:] = x[:-1]", "y[:-1] += x[1:] * 0.25", "m.t += 0.5",
    "m.u, m.v = m.v, m.u", "m.u[i] += TABLE[i]", "m.v = helper(x)", "y[x > n] = n",
    "s = s + m.of(x[i]) * n", "x[[0, 0, i]] += n", "v = y[::2]\n        v += 1",
    "s = helper(s) if s < 3 else s - n", "m.u = m.of(m.u) + TABLE", "np.multiply(x, 0.5, out=y)",
    "x.sort()", "if s > 40: raise ValueError('large')",
]  # fmt: skip
RESULTS = ["s", "x, s", "m.u", "y[::-1], n", "x.sum(), m.t"]
CHANGES = [
    "Y = X", "Y = X[::-1]", "X = TABLE", "TABLE = X", "TABLE = TABLE.astype(np.float32)", "N = 3",
    "N = 2.0", "N = True", "N = np.float32(2)", "N = -0.0", "X = np.arange(12.0)[::2]",
    "M = Model()",
    "X = np.arange(6)", "X = np.zeros(0)", "M.u = X", "M.v = M.u", "M.v = M.u[::-1]", "M.t = 1",
    "M.u = M.u.astype(np.float32)", "Base.rate = 2.0", "Model.rate = 3", "M.rate = 0.25",
    "M.of = lambda x: x - 1", "Base.of = lambda self, x: x + self.rate",
    "helper.__defaults__ = (2.0,)", "helper = lambda x, k=1: x - k", "GAIN = 1",
    "GAIN = np.ones(6)", "TABLE[1] = 9.0",
    "X.flags.writeable = False", "X = numpy.arange(6.0)", "X = np.array([3.0, 2, 1, 0, -1, -2])",
    "f.__defaults__ = (3,)", "Y = np.ones(6, complex)", "X = np.arange(7.0)", "del M.t",
]  # fmt: skip


def source(lines: list[str], result: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    head = "def f(x, y, m, n=2):\n    s = 0.0\n    for i in range(4):\n"
    return f"{BEGIN}\n{head}{body}    return {result}\n"


def seen(x: Any) -> Any:
    """A value, with its type, so that `assert_alike` can compare it."""
    if isinstance(x, tuple):
        return [seen(v) for v in x]
    if isinstance(x, (np.ndarray, numpy.ndarray, numpy.generic)):
        return numpy.array(x), bool(getattr(x, "shape", None) and x.flags.writeable)
    return x


def assert_alike(got: Any, want: Any, changes: Any) -> None:
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), changes
        for g, w in zip(got, want, strict=True):
            assert_alike(g, w, changes)
    elif isinstance(want, (numpy.ndarray, float, complex)):
        a, b = numpy.asarray(got), numpy.asarray(want)
        assert a.dtype == b.dtype and a.shape == b.shape, changes
        exact = numpy.finfo(a.dtype).eps * 1e4 if a.dtype.kind in "fc" else 0
        numpy.testing.assert_allclose(a, b, rtol=exact, atol=exact, err_msg=str(changes))
    else:
        assert type(got) is type(want) and got == want, changes


def run(text: str, module: Any, changes: list[str], file: Path) -> list[Any]:
    """What calls give and leave: three before the changes, and two after each of them."""
    file.write_text(text)
    space: dict[str, Any] = {"np": module, "numpy": numpy, "__name__": "changed"}
    exec(compile(text, str(file), "exec", dont_inherit=True), space)
    if module is np:
        front(space["f"])
    found: list[Any] = []
    for change in ["pass", *changes]:
        try:
            exec(change, space)
        except (ValueError, AttributeError) as error:
            found.append(type(error).__name__)
        for _ in range(3 if change == "pass" else 2):
            try:
                found.append(seen(eval("f(X, Y, M, N)", space)))
            except (ValueError, IndexError, TypeError, AttributeError) as error:
                found.append(type(error).__name__)
            m: types.SimpleNamespace = space["M"]
            state = (space["X"], space["Y"], m.u, m.v, getattr(m, "t", None), space["TABLE"])
            found.append([*map(seen, state), m.u is m.v, m.u is space["X"]])
    return found


@settings(max_examples=16)
@given(seed=st.integers(0, 1 << 32))
def test_random_changes(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    draw = random.Random(seed)
    lines, changes = draw.sample(LINES, 3), draw.sample(CHANGES, 8)
    text, path = source(lines, draw.choice(RESULTS)), tmp_path_factory.mktemp("changes")
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        want = run(text, numpy, changes, path / "of_numpy.py")
        with promoting(), np.config(background=False):
            got = run(text, np, changes, path / "of_ours.py")
    assert_alike(got, want, (text[len(BEGIN) :], changes))
