"""The fast path for arrays of derived classes, in Fortran order, and of NumPy's own.

Each form is called in NumPy and here, where no function of lazynp in Python may be called for it.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.test_fastpath import calls_of, clean, needs_c, set_eager
from tests.test_fastpath_arguments import AGAIN, forms_of

__all__ = ["clean"]  # a fixture


def of_class(module: Any) -> Any:
    class Noted(module.ndarray):
        note: Any

        def __array_finalize__(self, source: Any) -> None:
            self.note = getattr(source, "note", None)

    return Noted


def made(module: Any) -> dict[str, Any]:
    x = module.asarray(numpy.linspace(0.5, 3.0, 6))
    m = module.asarray(numpy.arange(12.0).reshape(3, 4))
    cube = module.asarray(numpy.arange(24.0).reshape(2, 3, 4))
    kind = of_class(module)
    q, v = x.copy().view(kind), m[1:].view(kind)
    q.note, v.note = "q", "v"
    numpys = numpy.linspace(-1.0, 1.0, 6)
    return {
        "np": module, "Noted": kind, "x": x, "m": m, "q": q, "v": v,
        "f": module.asfortranarray(m[:, :3]), "g": module.asfortranarray(cube),
        "t": module.array(m.T, order="K"), "row": module.asfortranarray(m[:1]),
        "n": numpys, "nf": numpy.asfortranarray(numpys.reshape(2, 3)), "ns": numpys[::2],
        "i": module.asarray(numpy.array([2, 0])),
    }  # fmt: skip


DERIVED = """
q[1] | q[1:4] | q[i] | q[q > 1] | v[0] | v[1, 2] | v[:, 0] | q + q | q * 2 | q + x | x - q | -q
q > 1 | v @ v.T | abs(q) | q.sum() | q.max() | v.mean(axis=0) | q.dot(x)
q.copy() | q.astype(int) | v.T | q.reshape(2, 3) | v.ravel() | q.flatten() | q.cumsum()
q.argmax() | q.tolist() | q.any()
q.view() | q.view(np.ndarray) | x.view(Noted) | v.view(np.ndarray) | q.shape | q.dtype | q.ndim
len(q) | v.size | np.array(q) | np.array(v, dtype=np.float32) | np.asarray(q) | np.asarray(v)
np.array([q, q]) | np.linalg.norm(q) | np.concatenate([q, x]) | np.where(q > 1, q, x)
np.outer(q, x) | np.cross(q[:3], x[3:]) | np.linalg.det(v[:, :2])
isinstance(q, np.ndarray) | isinstance(1.0, np.ndarray) | isinstance(x, list) | np.copy(q)
"""
ORDERED = """
f + f | f + m[:, :3] | f.T + f | f * 2.0 | np.sqrt(f) | np.abs(t) | g * g | g + 1 | g[0] | g.T + 1
row + row | row * f[:1, :1] | np.dot(f, f) | np.dot(f.T, x[:3])
f.reshape(9) | np.reshape(t, (3, 4)) | f.T.reshape(9) | f.ravel() | g.reshape(4, 6)
f.sum(axis=0) | g.sum(axis=1) | f.copy() | np.copy(f)
f[[0, 2]] | g[:, [0, 1]] | np.tensordot(g, g, 3)
np.concatenate([f, f]) | np.kron(f, row) | np.sum(f * f) | np.linalg.svd(f) | np.linalg.norm(t)
np.array(f) | np.transpose(g, (2, 0, 1)) * 2 | np.moveaxis(g, 0, 1) + g.T.T[0, 0, 0] | t.strides
f.cumsum(axis=1) | np.where(f > 1, f, t[:3, :3]) | np.diff(f) | f.argmax(axis=0)
"""
NUMPYS = """
x + n | x * ns[0] | x[:3] - ns | m[:2, :3] + nf | np.add(n, n) | np.sin(n) | np.abs(nf) | x < n
np.maximum(x[1], n) | np.array(n) | np.asarray(n) | np.asarray(nf, dtype=float) | np.sum(n)
np.max(nf, axis=0) | np.linalg.norm(n) | np.dot(x, n) | np.concatenate([x, n]) | np.copy(ns)
np.where(n > 0, n, x) | np.stack([ns, x[:3]]) | np.cross(ns, x[:3])
np.array([n, x]) | np.ascontiguousarray(nf) | n + x | ns * x[:3] | n < x | nf - m[:2, :3]
"""


def described(x: Any) -> Any:
    """What a program sees of a result: its class, what the class keeps, and how it lies."""
    if isinstance(x, tuple | list):
        return [type(x).__name__, *map(described, x)]
    if not isinstance(x, (np.ndarray, numpy.ndarray)):
        return repr(x)
    plain, kind = numpy.asarray(x), type(x).__name__
    return kind, getattr(x, "note", None), str(x.dtype), x.shape, x.strides, plain.tolist()


@needs_c
@pytest.mark.parametrize("text", [DERIVED, ORDERED, NUMPYS], ids=["derived", "ordered", "numpys"])
def test_these_arrays_need_no_function_of_python(text: str) -> None:
    set_eager(True)
    ours, numpys = made(np), made(numpy)
    here = os.path.basename(__file__)
    for form in forms_of(text):
        code = compile(form, form, "eval")
        set_eager(True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(AGAIN):
                eval(code, ours)
            calls = calls_of(lambda code=code: eval(code, ours))
        assert [c for c in calls if not c.startswith((here, "_avals.py", "_strides.py"))] == [], (
            form
        )
        assert described(eval(code, ours)) == described(eval(code, numpys)), form


@needs_c
def test_owners_of_a_derived_class_are_written_in_place() -> None:
    set_eager(True)
    x = np.zeros(8).view(of_class(np)).copy()
    memory = id(x._node[2])
    for i in range(8):
        x[i] = i
    x[2:4] = 5.0
    x += 1.0
    assert type(x._node[2]) is numpy.ndarray and id(x._node[2]) == memory
    assert x.tolist() == [1.0, 2.0, 6.0, 6.0, 5.0, 6.0, 7.0, 8.0]
