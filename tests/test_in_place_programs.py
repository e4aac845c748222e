"""Random programs that change arrays in place, under every policy: values, dtypes, shapes, order in
memory and classes of exceptions are NumPy's. `make soak` runs many more.
"""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES, be_eager, is_eager
from tests.in_place_programs import InPlaceWriter
from tests.test_fuzz import mismatch, shortened

# More programs, other ones: LAZYNP_TEST_PROGRAMS=1000 LAZYNP_TEST_SEED=5000
_COUNT = int(os.environ.get("LAZYNP_TEST_PROGRAMS", "40"))
_SEED = int(os.environ.get("LAZYNP_TEST_SEED", "0"))
_SHARES = {"compiled": 1, "adaptive": 4, "reference": 4, "eager": 4}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", _SHARES)
def test_random_changes_in_place(policy: str) -> None:
    for seed in range(_SEED, _SEED + _COUNT * _SHARES[policy] // 2):
        statements = InPlaceWriter(seed).program(12)
        if mismatch(statements, policy):
            short = shortened(statements, policy)
            pytest.fail(
                f"seed {seed}, {policy}:\n" + "\n".join(short) + f"\n{mismatch(short, policy)}"
            )


# -- what the search found -------------------------------------------------------------------------

_WRONG = [  # setup, statement
    ("x = np.zeros(4, 'i8')", "np.put(x, [0, 1], np.nan)"),
    ("x = np.zeros(4, 'u1')", "np.put(x, [0, 1], [300, 1])"),
    ("x = np.zeros((3, 3), 'i8')", "np.fill_diagonal(x, np.inf)"),
    ("x = np.zeros((3, 3), 'i8')", "np.putmask(x, x == 0, 1j)"),
    ("x = np.zeros((3, 3), 'i8')", "np.place(x, x == 0, [1, np.nan])"),
    ("x = np.zeros(4)", "x.flat[1:] = 1j"),
    ("x = np.zeros(4, 'i8')", "x.flat[1:] = np.nan"),
    ("x = np.zeros((0, 3), 'i8')", "x.flat[1::2] = 1j"),
    ("x = np.zeros((2, 3), 'i8')", "x[:] = [1j, 2, 3]"),
    ("x = np.zeros((2, 3), 'i8')", "x[:] = [np.nan, 2, 3]"),
    ("x = np.zeros((2, 3))", "np.choose([0, 1, 0], [np.ones(3), 2.0], out=x)"),
    ("x = np.zeros(3, 'u8')", "np.subtract(np.ones(3, '?'), -1, out=x, dtype='u8')"),
    ("x = np.zeros(())", "x[x == x] = np.ones((2, 2))"),
    ("x = np.zeros(3)", "x.sort(axis=None)"),
    ("x = np.zeros((2, 2))", "x[[0, 5]] = [[1, 2, 3]]"),
    ("x = np.zeros((2, 2), 'i8')", "x[[0, 5]] = None"),
    ("x = np.zeros((2, 2))", "np.take(x, [9], out=np.zeros(7))"),
    ("x = np.zeros((2, 2))", "np.compress([0, 0, 0, 1], x, axis=0, out=np.zeros(7))"),
    ("x = np.zeros((2, 2), 'i8')", "np.stack([x, x + 0.5], out=x)"),
    ("x = np.zeros((3, 3), order='F')", "np.put_along_axis(x, np.array([0]), 7, None)"),
    ("x = np.ones((4, 1), 'i1')", "x[0] = np.complex64(300)"),
    ("x = np.ones((4, 1), 'i1')", "x[...] = np.array([np.nan, 1j])[0]"),
    ("x = np.ones((4, 1), 'i1')", "x.fill(np.complex64(complex(np.inf, 1)))"),
    ("x = np.full(2, 2, 'i2')", "np.ones(3, 'u8').compress([1, 0, 1], out=x)"),
    ("x = np.ones((3, 3))", "np.ones((4, 3), 'i1').T.argmax(axis=1, out=x.diagonal())"),
    ("x = np.zeros((2, 0))", "np.compress([True, False, True], x, axis=0)"),
    ("x = np.zeros(3, 'u1'); x.flags.writeable = False", "np.matmul([1], [2], out=x)"),
    ("x = np.zeros(3, 'u1'); x.flags.writeable = False", "np.vecdot([1.5], [2], out=x)"),
    ("x = np.zeros((1, 3))", "np.add.at(x, [0, -1, -1], np.ones((1, 1, 3)))"),
    ("x = np.zeros((4, 3))", "np.add.at(x, ([0, 1], [1, 2]), np.ones((1, 2)))"),
    ("x = np.zeros((4, 3))", "np.maximum.at(x, slice(0, 2), np.ones((1, 2, 3)))"),
    ("x = np.zeros((4, 3))", "np.arctan2.at(x, [0, 1], np.ones((1, 2, 3)))"),
    ("x = np.lib.stride_tricks.sliding_window_view(np.ones(4), 2)[1:]", "x.flags.writeable = True"),
    ("x = np.lib.stride_tricks.as_strided(np.ones(4), writeable=False)[1:]",
     "x.flags.writeable = True"),
]  # fmt: skip
_RIGHT = [
    ("x = np.zeros(3, 'u8')", "x[::-1] = [2**64 - 1, 0, 1]"),
    ("x = np.zeros(3, 'u8')", "x[[0, 2]] = [2**64 - 1, 5]"),
    ("x = np.zeros((2, 2), 'u8')", "x[x == 0] = [2**64 - 1, 5, 2**63, 0]"),
    ("x = np.zeros(3, 'i4')", "x[:] = [1.7, True, 2]"),
    ("x = np.arange(6).reshape(2, 3)", "x.resize((3, 2))"),
    ("x = np.arange(6).reshape(2, 3).T", "x.resize((2, 3))"),
    ("x = np.arange(3)", "x.real = 2.5 + 1j"),
    ("x = np.arange(3)", "x.real = np.inf"),
    ("x = np.zeros(3, 'i1')", "x.real = 300"),
    ("x = np.zeros(3, 'i1')", "np.copyto(x, np.uint8(200))"),
    ("x = np.arange(3)", "np.copyto(x, np.nan, casting='unsafe')"),
    ("x = np.arange(3, dtype='u1')", "np.copyto(x, 2.5, casting='unsafe')"),
    ("x = np.zeros((4, 3), 'i8')", "np.add.accumulate(np.ones((4, 1), 'i8'), out=x)"),
    ("x = np.zeros(3)", "np.floor_divide(1.25, 2, out=x, casting='no')"),
    ("x = np.ones((3, 3), 'u2')", "np.copyto(x, [[-2], [1], [2]], casting='unsafe')"),
    ("x = np.ones(3, 'u1')", "np.copyto(x, [1j, 300, 2], 'unsafe', [True, True, False])"),
    ("x = np.array([1 - 0j, 2 + 1j, 0.5 - 0j]).conj()", "np.clip(x, 1, 3, out=x)"),
    ("x = np.zeros(0, 'i2')", "x.real = None"),
    ("x = np.arange(3, dtype='i4')", "writeable(np, x.view('u1'))[0, 0] = 7"),
    ("x = np.arange(4.0).astype('c16')", "writeable(np, x.real)[0, 0] = 7"),
    ("x = np.arange(8.0)", "x[:2] = writeable(np, x.view('c16')[::2])[1, :1].real"),
    ("x = np.ones((4, 1), 'i1')", "x[1:] = np.array(253, 'u1')"),
    ("x = np.ones((4, 1), 'i1')", "x[1, 0] = np.array(np.nan)"),
    ("x = np.zeros((), '?')", "x.argmax(axis=0, out=x)"),
    ("x = np.zeros((0, 2, 2))", "x = np.compress([True, False, True], x, axis=-1)"),
    ("x = np.zeros((0, 2, 2))", "x = np.take(x, [5], axis=-1)"),
    ("x = np.arange(8.0)", "m = x % 3 > 0; x[m] = x[::-1][m]; x[1:][m[1:]] = x[:-1][m[1:]]"),
    ("x = np.arange(8).reshape(2, 4)", "m = x[0] > 1; x[:, m] = x[::-1, ::-1][:, m]"),
]


def writeable(module: Any, array: Any) -> Any:
    """A broadcast of it that can be written."""
    shown = module.broadcast_to(array, (2, *array.shape))
    shown.flags.writeable = True
    return shown


def _outcome(module: object, setup: str, statement: str) -> tuple[str, object]:
    space = {"np": module, "writeable": writeable}
    exec(setup, space)
    told = "done"
    with numpy.errstate(all="ignore"):
        try:
            exec(statement, space)
        except Exception as e:
            told = f"{type(e).__name__}: {e}"
    x = numpy.asarray(space["x"])
    return told, (repr(x.tolist()), x.shape, x.dtype)


# what NumPy refuses from 2.5 on
_BY_RELEASE = [
    ("x = np.arange(3)", "x.real = 2.5 + 1j"),
    ("x = np.arange(3)", "x.real = np.inf"),
    ("x = np.zeros(3, 'i1')", "x.real = 300"),
    ("x = np.zeros((4, 3), 'i8')", "np.add.accumulate(np.ones((4, 1), 'i8'), out=x)"),
    ("x = np.full(2, 2, 'i2')", "np.ones(3, 'u8').compress([1, 0, 1], out=x)"),
    ("x = np.zeros(0, 'i2')", "x.real = None"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", [*POLICIES, "eager"])
@pytest.mark.parametrize(("setup", "statement"), _WRONG + _RIGHT)
def test_found(setup: str, statement: str, policy: str) -> None:
    told, left = _outcome(numpy, setup, statement)
    if (setup, statement) not in _BY_RELEASE:
        assert (told == "done") is ((setup, statement) in _RIGHT)
    before = is_eager()
    with np.config(execution=policy if policy != "eager" else "adaptive"):
        be_eager(policy == "eager" or before)
        try:
            got, found = _outcome(np, setup, statement)
        finally:
            be_eager(before)
    assert found == left
    assert got.split(":")[0].removeprefix("_") == told.split(":")[0].removeprefix("_")


@pytest.mark.parametrize("policy", ["adaptive", "reference", "eager"])
def test_stored_values_are_those_from_before(policy: str) -> None:
    """NumPy reads some that it has just stored."""
    before = is_eager()
    with np.config(execution=policy if policy != "eager" else "adaptive"):
        be_eager(policy == "eager" or before)
        try:
            x = np.arange(5.0)
            x[x >= 0] = x[::-1]
            assert x.tolist() == [4, 3, 2, 1, 0]
            x.flat[1:] = x[:-1]
            assert x.tolist() == [4, 4, 3, 2, 1]
        finally:
            be_eager(before)


def test_an_exception_of_numpys_holds_no_argument() -> None:
    """Else an array could not be resized after a call that failed."""
    x = np.zeros((0, 3))
    with pytest.raises(ValueError, match="wrong dimensionality"):
        np.stack([x, x], out=np.zeros(5))
    x.resize((3,))
    assert x.tolist() == [0, 0, 0]
