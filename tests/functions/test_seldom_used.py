"""What scripts seldom use of NumPy's manual: short programs, each of which differed once."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager, outcome_of, run_program

PROGRAMS = r"""
a = np.arange(6); b = np.from_dlpack(a); a[0] = 9; b[1] = 8; r = a, b, np.shares_memory(a, b)
a = np.arange(6)[::-1]; b = np.from_dlpack(a); a[0] = 9; r = a, b, b.strides
a = np.arange(6); b, c = (np.from_dlpack(a, copy=k) for k in (False, True)); a[0] = 9; r = b, c
a = np.arange(3); a.flags.writeable = False; b = np.from_dlpack(a); r = b, b.flags.writeable
a = np.broadcast_to(np.arange(3), (2, 3)); b = np.from_dlpack(a); r = b, b.flags.writeable
r = np.from_dlpack(np.array(["a"]), copy=False)
r = np.arange(4).view(np.ndarray, "i4")
r = np.arange(4).view(np.ndarray, np.ndarray)
r = np.arange(4).view(np.recarray, type=np.ndarray)
r = np.arange(4).view(type=int)
r = np.arange(4).view("f8", int)
r = np.arange(4).view("i4", np.ndarray)
r = np.arange(4).view("i4", type=np.matrix)
r = np.lexsort(range(4)), np.lexsort(b"ab"), np.lexsort(np.eye(2))
r = np.lexsort({1: 2})
r = np.lexsort(iter([[1]]))
r = np.choose([0.5], [1, 2])
r = np.choose([True, False], [1, 2]), np.choose((0, 1), [[1, 2], [3, 4]])
r = np.take(np.arange(3), Index()), np.take(np.arange(3), [Index(), 0])
a = np.arange(3); np.put(a, [Index()], 7); r = a
r = np.take(np.arange(3), [None])
r = np.fromstring("1,2", int, 1, ","), np.fromstring("1 2", float, -1, " ")
r = np.fromstring(np.arange(6.0).reshape(2, 3).T)
r = np.fromstring(np.array(["2020"], "M8[Y]"))
r = np.arange(3) + 2**64
r = np.arange(3, dtype="u8") + 2**64
r = np.arange(3, dtype="u8") + -1
r = np.arange(3, dtype="u1") + 300
r = np.array([1], copy="x")
r = np.array([1], ndmin=65)
r = np.array([1], ndmin=5, ndmax=3)
a = np.arange(4.0)[:2]; a.strides = (16,); r = a
r = [x.strides for x in (np.imag(np.broadcast_to(1.0, (2, 3))), np.imag(np.ones((2, 3)).T))]
r = np.imag(np.zeros((2, 3, 4)).transpose(1, 0, 2)).strides
a = np.arange(3); b = np.frombuffer(a, "i4"); a[0] = 9; b[2] = 7; r = a, b, b.flags.writeable
a = np.arange(3); b = np.ndarray((3,), "i4", a, 4); a[0] = 9; b[0] = 7; r = a, b
a = np.arange(3); b = np.ndarray((2, 2), "i4", a, 4, (8, 4)); b[1, 1] = 7; r = a, b
a = np.arange(3); b = np.ndarray((2,), "i8", a, 4); b[1] = 7; r = a, b
a = np.arange(3); b = np.ndarray((2,), "i4, f4", a, 8); b[1] = (7, 8); r = a, b
a = np.arange(6, dtype="i2")[1:5]; b = np.frombuffer(a, ">i2", 3, 2); b[1] = -2; r = a, b
a = np.zeros(2, "c16"); b = np.ndarray((4,), "f8", a); b[1] = -1; r = a
a = np.arange(3); a.flags.writeable = False; b = np.frombuffer(a, "i4"); r = b.flags.writeable
a = np.zeros(2); r = np.ma.getdata(a) is a, np.ma.filled(a) is a, np.ma.filled(a, 3) is a
z = np.array([3 + 0j, -2, 1j]); z **= -1; y = np.array([0j, 2, 3]); y[1:] **= -1; r = z, y
z = np.array([complex(0, -0.0), 2, 2j]); z **= 2; y = z.copy(); y[:1] **= 2; r = z, y
x = np.array([-0.0, 4, 2], "f2"); y = x.copy(); x **= 0.5; y[:2] **= 0.5; r = x, y
r = pickle.loads(np.asfortranarray(np.ones((2, 3))).dumps()).strides
r = sys.getsizeof(np.zeros(1000)) > 8000, sys.getsizeof(np.zeros(1000)[1:]) < 1000
""".strip().split("\n")


class Index:
    def __index__(self) -> int:
        return 1


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    if hasattr(x, "strides"):
        return str(x.dtype), x.shape, repr(x), bytes(numpy.asarray(x))
    return repr(x)


def outcome(program: str, np: Any) -> Any:
    names: dict[str, Any] = {"np": np, "pickle": pickle, "sys": sys, "Index": Index}
    return outcome_of(lambda: run_program(program, names, described))


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    wanted = outcome(program, numpy)
    assert outcome(program, lazynp) == wanted
    be_eager()
    assert outcome(program, lazynp) == wanted
