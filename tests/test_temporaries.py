"""Temporaries of operators: their memory takes the result, and nothing else ever changes."""

from __future__ import annotations

import ctypes
import functools
import itertools
import operator
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _fronts
from tests.helpers import POLICIES, be_eager, fresh_start

N = 40_000  # elements: more than the fast path runs by itself
X = numpy.linspace(1.0, 2.0, N)


@pytest.fixture(params=[*POLICIES, "eager"], autouse=True)
def _execution(request: pytest.FixtureRequest) -> Iterator[None]:
    fresh_start()
    with np.config(execution="adaptive" if request.param == "eager" else request.param):
        be_eager(request.param == "eager")
        yield
    fresh_start()


def add_in_c(x: Any, y: Any) -> Any:
    add = ctypes.pythonapi.PyNumber_Add
    add.argtypes, add.restype = [ctypes.py_object, ctypes.py_object], ctypes.py_object
    return add(x, y)


class Keeper:
    """Its attribute may be the only reference."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return self.x + other


def twice(function: Callable[[], Any]) -> list[Any]:
    return [function(), function()]


def in_a_generator(x: Any) -> Iterator[Any]:
    kept = x * 2
    yield kept + 1
    yield kept - 1


def through_a_name(x: Any) -> Any:
    t = x * 2
    u = t + 1
    return t, u


def through_a_walrus(x: Any) -> Any:
    u = (t := x * 2) + 1
    return t, u


def seen_weakly(x: Any) -> Any:
    t: Any = weakref.proxy(owner := x * 2)
    return t + 1, owner


def seen_by_a_view(x: Any) -> Any:
    return [(v := (x * 2)[1:]) + 1, v]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda x: ((x * 2 + 1) - x * 3) / (x + 4),
    "right operand": lambda x: 1.0 - (x * 2),
    "right operands": lambda x: 3.0 / (2.0 - 0.5 * (1.0 + x)) + x * (2.0 * (x + 1.0)),
    "numbers of NumPy's": lambda x: numpy.float64(2.0) * (numpy.int8(3) + x * 2),
    "powers": lambda x: [(x + 1) ** 2, (x + 1) ** 2.0, (x + 1) ** 3, (x * 2) ** x, 2 ** (x + 1)],
    "kept power": lambda x: (lambda t: [t**2, operator.pow(t, 2), t**2, pow(t, 2), t])(x * 2),
    "partial power": lambda x: twice(functools.partial(pow, x * 2, 2)),
    "maximum": lambda x: np.maximum(x, x * 2) - np.minimum(x * 3, 1.5 * x),
    "both": lambda x: (x + 1) * (x - 1),
    "unary": lambda x: -(1 - -(x * 2)),
    "whole numbers": lambda x: (x * 1000).astype(int) % 7 // 2 & 3 | 1,
    "dtype changes": lambda x: ((x * 1000).astype("i4") + 1) / 3 + (x * 2).astype("f4") * x,
    "broadcast": lambda x: (x * 2)[:200] + (x[:4] * 2)[:, None],
    "fortran": lambda x: (x.reshape(200, 200).T * 2) + (x.reshape(200, 200) * 3),
    "overlap": lambda x: (x * 2)[1:] - (x * 2)[:-1],
    "itself": lambda x: (lambda t: t + t)(x * 2),
    "comparison": lambda x: ((x * 2) > (x + 1)) & ((x * 3) < 5),
    "product": lambda x: (x * 2) @ (x + 1),
    "named": through_a_name,
    "walrus": through_a_walrus,
    "weak": seen_weakly,
    "view": seen_by_a_view,
    "generator": lambda x: list(in_a_generator(x)),
    "attribute": lambda x: twice(functools.partial(Keeper.__add__, Keeper(x * 2), 1)),
    "instruction on another class": lambda x: (lambda k: [k + 1, k + 1])(Keeper(x * 2)),
    "partial": lambda x: twice(functools.partial(operator.add, x * 2, 1)),
    "partial, unary": lambda x: twice(functools.partial(operator.neg, x * 2)),
    "partial, right": lambda x: (lambda t: [2 * t, operator.mul(2, t), 2 * t])(x * 2),
    "method, right": lambda x: twice(functools.partial((x * 2).__rmul__, 3)),
    "map, right": lambda x: (lambda t: [*map(operator.mul, [2, 3], [t, t]), *t[:2]])(x * 2),
    "method": lambda x: twice(functools.partial((x * 2).__add__, 1)),
    "map": lambda x: list(map(operator.add, [x * 2, x * 3], [x, x])),
    "starmap": lambda x: list(itertools.starmap(operator.sub, [(x * 2, 1), (x * 3, x)])),
    "accumulate": lambda x: list(itertools.accumulate([x * 2, x * 3, x * 4])),
    "accumulate by": lambda x: list(itertools.accumulate([x * 2, x * 3], operator.mul)),
    "reduce": lambda x: functools.reduce(operator.add, [x * 2, x * 3, x * 4]),
    "sum": lambda x: [sum([x * 2, x * 3]), sum(x * k for k in range(3))],
    "c": lambda x: (lambda kept: [add_in_c(kept[0], 1), *kept])([x * 2]),
    "container": lambda x: (lambda kept: [kept[0] + 1, kept[0] - 1])([x * 2]),
    "written": lambda x: (lambda t: [t.__iadd__(1), t + 1, t])(x * 2),
    "numpy's": lambda x: X * (x * 2) - (x * 2) * X,
    "lent": lambda x: (lambda m: [m, (x * 2) + 1])(numpy.asarray(x * 2)),
    "conditional": lambda x: ((x * 2) if x[0] > 0 else x) + 1,
    "exception": lambda x: [_refused(x), x + 1],
    "loop": lambda x: functools.reduce(lambda a, k: (a + k) * 0.5 - a, range(5), x),
}


# NumPy's own second results are wrong here: it takes what a partial keeps for a temporary.
RIGHT: dict[str, Callable[[Any], Any]] = {
    "partial": lambda x: [x * 2 + 1, x * 2 + 1],
    "partial, unary": lambda x: [-2 * x, -2 * x],
    "partial power": lambda x: [(x * 2) ** 2, (x * 2) ** 2],
    "method": lambda x: [x * 2 + 1, x * 2 + 1],
    "method, right": lambda x: [x * 2 * 3, x * 2 * 3],
}


def _refused(x: Any) -> Any:
    try:
        return (x * 2) + (x[:3] * 2)
    except ValueError:
        return x * 1


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_numpys(name: str) -> None:
    x = np.array(X)
    for _ in range(3):  # the second and third by memo tables
        got = leaves(PROGRAMS[name](x))
        expected = leaves(RIGHT.get(name, PROGRAMS[name])(X.copy()))
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            assert g.dtype == e.dtype and g.shape == e.shape
            numpy.testing.assert_allclose(numpy.asarray(g), e, rtol=1e-12)
            # where orders differ, NumPy's depends on whether it had a temporary
            if name != "fortran" and g.ndim and isinstance(g, np.ndarray):
                assert g.strides == e.strides
    numpy.testing.assert_array_equal(numpy.asarray(x), X)


CHAIN = """
import tracemalloc
import numpy
import lazynp as np
from tests.helpers import be_eager

X = numpy.linspace(1.0, 2.0, 40_000)
x = np.array(X)

def chain():
    return -(((x + 1.0) * 2.0 - 3.0) / 4.0)

def from_the_right(x):
    return 4.0 / (3.0 - 2.0 * (1.0 + x))

def in_a_loop(peaks):
    for _ in range(8):  # now and then, the recorder looks at the frame, or records some rounds
        be_eager()
        tracemalloc.start()
        out = chain() if len(peaks) % 2 else from_the_right(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        expected = -(((X + 1.0) * 2.0 - 3.0) / 4.0), from_the_right(X)
        numpy.testing.assert_array_equal(out, expected[len(peaks) % 2])

for run in (in_a_loop, lambda peaks: list(map(in_a_loop, [peaks]))):  # by the interpreter, by C
    peaks = []
    run(peaks)
    assert X.nbytes <= min(peaks[::2]) < 1.5 * X.nbytes, peaks
    assert X.nbytes <= min(peaks[1::2]) < 1.5 * X.nbytes, peaks

with np.config(execution="reference"):
    be_eager(False)
    tracemalloc.start()
    out = np.maximum(x, x * (1.0 + x))
    recorded = numpy.asarray(out)
    peak = tracemalloc.get_traced_memory()[1]
assert X.nbytes <= peak < 1.5 * X.nbytes, peak
numpy.testing.assert_array_equal(recorded, numpy.maximum(X, X * (1.0 + X)))
"""


@pytest.mark.skipif(not _fronts.BUILT, reason="the fast path in C reuses memory")
def test_a_chain_has_one_temporary() -> None:
    """In its own process: what other tests leave behind may hold on to values."""
    settings = {**os.environ, "LAZYNP_EXECUTION": "adaptive"}
    done = subprocess.run(
        [sys.executable, "-c", CHAIN], env=settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
