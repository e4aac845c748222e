"""`array` and `asarray` of short lists of numbers and rows, which C fills without NumPy: each bit
and each dtype is NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._recorder import local
from tests.helpers import be_eager

pytestmark = pytest.mark.own_policy

FLOATS = st.floats() | st.floats().map(numpy.float64)
INTS = st.integers(-(2**64), 2**65) | st.integers(-9, 9) | st.integers(-9, 9).map(numpy.int64)
OTHERS = st.sampled_from([True, 1j, numpy.float32(1.5), numpy.int32(3), numpy.True_, "a"])
NUMBERS = st.sampled_from([FLOATS, INTS, FLOATS | INTS, FLOATS | INTS | OTHERS])
EDGES = [
    [], (), [[]], [(), ()], [[1.0], 2.0], [2.0, [1.0]], [[1.0], [2.0, 3.0]], [[[1.0]]],
    [[1.0, 2]] * 32, [[1.0, 2]] * 33, [1.0] * 64, [1] * 65, [0.5] * 65, [2**53 + 1, 0.5],
    [numpy.int64(2**62 + 1), 0.5], [2**63, 1], [2**63, 1.0], [2**70, 1.0], [None, 1.0], [-0.0],
]  # fmt: skip


@pytest.fixture(autouse=True)
def eagerly() -> Iterator[None]:
    """C does it where operations run at once."""
    with np.config(execution="adaptive"):
        local.recorder.reset_policy()
        be_eager()
        yield
    local.recorder.reset_policy()


def scalar(number: Any) -> Any:
    """A Scalar of this number, where it has one."""
    return np.array([number])[0] if type(number) in (numpy.float64, numpy.int64) else number


def with_scalars(x: Any) -> Any:
    return type(x)(map(with_scalars, x)) if isinstance(x, (list, tuple)) else scalar(x)


def outcome(module: Any, name: str, x: Any) -> Any:
    try:
        made = getattr(module, name)(x)
    except Exception as e:
        return type(e)
    memory = numpy.asarray(made)
    kept = memory.tolist() if memory.dtype == object else memory.tobytes()
    return made.dtype, made.shape, made.strides, made.flags.writeable, kept


def check(x: Any, ours: Any) -> None:
    for name in ("array", "asarray"):
        assert outcome(np, name, ours) == outcome(numpy, name, x)


@pytest.mark.parametrize("x", EDGES, ids=repr)
def test_edges(x: Any) -> None:
    check(x, with_scalars(x))


@given(data=st.data())
def test_numbers(data: st.DataObject) -> None:
    numbers = data.draw(NUMBERS)
    x = data.draw(st.lists(numbers, max_size=5))
    if data.draw(st.booleans()):
        x = [
            data.draw(st.sampled_from([list, tuple]))(x)
            for _ in range(data.draw(st.integers(1, 3)))
        ]
    check(x, with_scalars(x))


@pytest.mark.parametrize("dtype", "?bhiqBQefdFDU")
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 1, 2), (2, 1, 2, 1)])
def test_rows(dtype: str, shape: tuple[int, ...]) -> None:
    rows = [(numpy.arange(12)[:4] * k).astype(dtype)[: max(shape, default=1)] for k in (1, 2, 3)]
    rows = [numpy.resize(r, shape) for r in rows]
    for turn in (lambda x: x, lambda x: x.T, lambda x: x[..., ::-1] if x.ndim else x):
        for count in (1, 3):
            given_ = [turn(r) for r in rows[:count]]
            ours = [turn(np.array(r)) for r in rows[:count]]
            check(given_, ours)
            other = turn(rows[0].astype("D" if dtype != "U" else "U9"))
            check([*given_, other], [*ours, np.array(other)])
            made = np.array(ours)
            if made.size:
                made[...] = 0  # it is a copy
            check(given_, ours)
