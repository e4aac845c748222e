"""What NumPy's release notes and issues tell of: short programs, each of which differed once.

They run at once, by NumPy, and recorded.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager, outcome_of, run_program

PROGRAMS = r"""
a = np.arange(3.0); b = a.T; b @= a; r = a
a = np.arange(6.0).reshape(2, 3); b = a[:1].reshape(3); b @= np.ones((3, 3)); r = a, b
a = np.array([1, 2.7, -3]); r = np.clip(a, 0.5, 2, dtype="i4", casting="unsafe")
a = np.array([1, 2.7, -3]); b = np.zeros(3, "u1"); np.clip(a, 0, 2, b, casting="unsafe"); r = b
a = np.array([1j, 2.7, -3]); r = np.clip(a, np.float32(1), 2, dtype="i8", casting="unsafe")
a = np.arange(4.0); r = np.full_like(a, a), np.full_like(a, a[:1], "i4"), np.full((2, 4), a)
a = np.array([1, None]); r = np.full_like(a, a), np.full((2, 2), a)
r = np.concatenate([np.zeros(2, "m8[s]"), np.zeros(2, "M8[D]")])
r = np.concatenate([np.zeros(2, "m8[s]"), np.zeros((2, 2), "M8[D]")], axis=None)
r = np.concatenate([np.zeros(2, "m8[s]"), np.zeros(2, "i2"), np.zeros(2, "m8[ms]")])
r = np.concatenate([np.zeros(2, "M8[s]"), np.zeros(2, "M8[D]")])
r = np.zeros(2, "u8").choose([1, 2])
r = np.choose(np.zeros(2, "u8"), [1, 2])
a = np.arange(3); np.put(a, np.ones(2, "u8"), 7)
a = np.arange(3); np.put(a, np.ones(2, "u4"), 7); r = a, np.take(a, np.ones(2, "u8"))
a = np.array([True, False]); r = np.unravel_index(a, (3, 3))[1].tolist()
a = np.array([True, False]); r = np.ravel_multi_index((a, a), (3, 3))
r = np.unravel_index(True, (3, 3)), np.ravel_multi_index((True, 1), (3, 3))
r = np.square(2, dtype="u1")
r = np.square(2, dtype="i8"), np.invert(2, dtype="i8"), np.add(1, 2, dtype="f4")
r = np.floor_divide(-2.0, 2, casting="no"), np.power(1j, 2, casting="no"), np.less(1, 2, dtype=bool)
r = np.divmod(7, 2, dtype="i4"), np.modf(1.5, casting="safe"), np.conjugate(3, dtype="f8")
r = np.equal(True, 2**63, casting="safe")
r = np.multiply(np.int8(3), 300, dtype="i4"), np.add(2, np.uint64(5), signature="dd->d")
a = np.arange(12).reshape(3, 4).astype("m8[s]"); r = a[:, [0, 1]], a[:, a[0] > 1], a.T[:, [0, 1]]
a = np.arange(12).reshape(3, 4).astype("U2"); r = a[[0, 1]], a[[0, 1], :2], a.T[[0, 1]]
a = np.arange(24).reshape(2, 3, 4).astype("M8[D]").T; r = a[:, [0, 1]], a[[0, 1], :, 0]
a = np.zeros((3, 4), "i4, f4"); r = a[:, [0, 1]].strides, a["f1"][:, [0, 1]].strides
r = [np.fft.fftfreq(n).tolist() for n in (1, 2, 5, np.int8(4))], np.fft.fftfreq(3, 1j)
r = np.fft.fftfreq(-1)
r = np.fft.fftfreq(True)
a = np.float64(3); r = np.median(a, keepdims=True), np.quantile(a, 0.5, keepdims=True), np.median(a)
a = np.array(3.0) + 1; r = np.nanmedian(a, (), keepdims=True), np.percentile(a, 5, keepdims=True)
r = np.add.reduceat(np.arange(4), np.ones(2, "u8"))
r = np.searchsorted(np.arange(2), 1, sorter=np.arange(2).astype("u8"))
""".strip().split("\n")


def described(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    if hasattr(x, "strides"):
        kept = str(x.dtype), x.shape, isinstance(x, numpy.generic)
        return *kept, None if x.dtype.hasobject else x.strides, repr(numpy.asarray(x))
    return repr(x)


def outcome(program: str, np: Any) -> Any:
    names: dict[str, Any] = {"np": np}
    return outcome_of(lambda: run_program(program, names, described))


def test_info_of_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for np in numpy, lazynp:
        np.info(np.arange(6.0).reshape(2, 3).T)
        np.info(np.arange(3).sum(), maxwidth=60)
        lines = capsys.readouterr().out.splitlines()
        said[np] = [line for line in lines if not line.startswith("data pointer")]
    assert said[lazynp] == said[numpy]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    wanted = outcome(program, numpy)
    assert outcome(program, lazynp) == wanted
    for eager in (True, False):
        be_eager(eager)
        assert outcome(program, lazynp) == wanted
