"""Functions under numba's decorators that name lazynp, and that get its arrays."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import linalg, radians
from lazynp.functions._numba import of_numpy
from lazynp.interop import math as _math

our_math: Any = _math  # its functions are made when it is imported
sin = our_math.sin
numba = pytest.importorskip("numba", reason="numba is not installed")

TABLE = np.array([1.0, 2.0, 3.0])
NUMBERS = [numpy.array([0.5, 1.5, -2.0]), numpy.arange(6.0).reshape(2, 3), numpy.arange(4)]


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (np, numpy),
        (np.linalg, numpy.linalg),
        (np.random, numpy.random),
        (our_math, math),
        (np.zeros, numpy.zeros),
        (radians, numpy.radians),
        (np.abs, numpy.abs),
        (linalg.norm, numpy.linalg.norm),
        (sin, math.sin),
        (np.float64, numpy.float64),
        (np.special, np.special),  # NumPy has none
        (np.grad, np.grad),
        (len, len),
        (3, 3),
    ],
)
def test_numba_gets_what_numpy_has_in_its_place(ours: Any, numpys: Any) -> None:
    assert of_numpy(ours) is numpys


def test_arrays_that_a_function_names_are_constants() -> None:
    got = of_numpy((TABLE, TABLE.sum()))
    assert type(got[0]) is numpy.ndarray and got[0].tolist() == [1, 2, 3]
    assert type(got[1]) is numpy.float64 and got[1] == 6


def _named(x: Any, k: float = 2.0) -> Any:
    out = np.zeros(x.shape) + TABLE[1]
    flat, of_x = out.ravel(), x.ravel()
    for i in range(flat.size):
        flat[i] += our_math.cos(of_x[i]) * k + radians(of_x[i]) + sin(of_x[i])
    return flat.sum(), np.mean(out), linalg.norm(flat)


@pytest.mark.parametrize("x", NUMBERS)
def test_a_function_that_names_lazynp(x: Any) -> None:
    made = numba.njit(_named)
    expected = _named(x)
    for got in (made(x), made(np.array(x)), made(np.array(x), 2.0), made(x=np.array(x))):
        numpy.testing.assert_allclose(got, expected, rtol=1e-12)
    shifted = made(np.array(x) + 1, k=np.array([3.0]).sum())
    numpy.testing.assert_allclose(shifted, _named(x + 1, 3.0), rtol=1e-12)


def test_a_number_and_a_tuple_of_arrays() -> None:
    made = numba.njit(lambda xs, n: xs[0].sum() + xs[1][0] * n)
    x = np.arange(4.0)
    assert made((x, x + 5), x.sum()) == 6 + 5 * 6
    assert made((x, numpy.ones(2)), 3) == 9


def test_a_closure() -> None:
    def scaled_by(c: Any) -> Any:
        return numba.njit(lambda x: (x * c).sum())

    assert scaled_by(np.array([1.0, 2.0]))(np.array([3.0, 4.0])) == 11


@pytest.mark.parametrize("declared", [False, True])
def test_what_it_writes(declared: bool) -> None:
    def fill(m: Any, v: float) -> None:
        m[0] = v

    made = numba.njit("void(float64[:], float64)")(fill) if declared else numba.njit(fill)
    x = np.arange(3.0)
    kept = x.copy()
    view = x[:2]
    made(x, 7.0)
    assert x.tolist() == [7, 1, 2] and view.tolist() == [7, 1] and kept.tolist() == [0, 1, 2]
    made(x[1:], 8.0)
    assert x.tolist() == [7, 8, 2]


def test_declared_signatures() -> None:
    made = numba.njit("float64(float64[:])")(lambda x: x.sum())
    assert made(np.ones(3)) == made(numpy.ones(3)) == 3
    assert numba.njit(lambda x: made(x) + 1)(np.ones(3)) == 4
    with pytest.raises(TypeError, match="No matching definition"):
        made("a")
    assert isinstance(made, numba.core.dispatcher.Dispatcher)
    again = pickle.loads(pickle.dumps(made))
    assert again(numpy.ones(2)) == 2
    made.disable_compile(False)
    made.disable_compile()
    assert made(np.ones(4)) == 4


def test_arguments_that_a_function_collects() -> None:
    made = numba.njit(lambda x, *rest: x.sum() + rest[0].sum() + len(rest))
    x = np.arange(3.0)
    assert made(x, x) == made(numpy.arange(3.0), x) == 7
    assert made(x, x, 5) == 8


def test_stencils() -> None:
    made = numba.stencil(lambda a: a[-1] + a[1])
    assert made(np.arange(4.0)).tolist() == [0, 2, 4, 0]
    made(np.arange(4.0), out=(out := np.ones(4)))
    assert out.tolist() == [1, 2, 4, 1]  # the border is left alone


def test_errors_are_numbas() -> None:
    with pytest.raises(numba.core.errors.TypingError):
        numba.njit(lambda x: x.foo)(np.ones(3))
    with pytest.raises(TypeError):
        numba.njit(lambda x: x.sum())(np.ones(3), np.ones(3))


def test_ufuncs_and_typeof() -> None:
    made = numba.vectorize(lambda a, b: np.cos(a) + b)
    x = np.arange(3.0)
    numpy.testing.assert_allclose(made(x, x), numpy.cos(numpy.arange(3.0)) + numpy.arange(3.0))
    assert numba.typeof(x) == numba.typeof(numpy.arange(3.0))


SCRIPT = """
import math
import numpy as np
from math import sqrt
from numba import njit, prange
from numba.experimental import jitclass
from numba import float64

assert np.__name__ == "lazynp" and math.__name__ == "lazynp.interop.math"

@jitclass([("a", float64[:])])
class Weights:
    def __init__(self, a):
        self.a = a
    def dot(self, b):
        return (self.a * b).sum()

@njit
def seeded():
    np.random.seed(3)
    return np.random.rand()

@njit
def norm(x):
    return sqrt(np.sum(x**2)) + math.pi

x = np.arange(4.0)
print(Weights(x).dot(x), seeded(), norm(x))
"""


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "lazynp", str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    got = [float(word) for word in done.stdout.split()]
    numpy.random.seed(3)
    expected = [14.0, numpy.random.RandomState(3).rand(), math.sqrt(14) + math.pi]
    numpy.testing.assert_allclose(got, expected)
