"""What scripts seldom use of NumPy's manual: short programs, each of which differed once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager

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
""".strip().split("\n")


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    if hasattr(x, "strides"):
        return str(x.dtype), x.shape, repr(x), bytes(numpy.asarray(x))
    return repr(x)


def outcome(program: str, np: Any) -> Any:
    names: dict[str, Any] = {"np": np}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            exec(program, names)
            result = described(names["r"])
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [(w.category, str(w.message)) for w in given]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    wanted = outcome(program, numpy)
    assert outcome(program, lazynp) == wanted
    be_eager()
    assert outcome(program, lazynp) == wanted
