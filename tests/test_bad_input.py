"""Bad input raises NumPy's exception, with its message where possible."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import check, run

DATA = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.ones((4, 5)),
    "v": np.arange(3),
    "s": np.array(["a", "b"]),
    "i": np.arange(3, dtype="i1"),
}

MESSAGES = [
    "np.cos(np.zeros((3, 3)), np.zeros((2, 2)))",
    "np.add(v, np.zeros((2, 3)), out=np.zeros(3))",
    "np.add(v, v, out=np.zeros(3), where=np.ones(2, bool))",
    "np.add(v, np.zeros(2), out=np.zeros(3))",
    "v += np.zeros((2, 3))",
    "v += 0.5",
    # integers that no element can hold
    "i[:] = [300, 1, 2]",
    "i[[0, 1]] = [300, 1]",
    "i[i > 0] = [300, 1]",
    "i[0] = 300",
    "i.flat = [300]",
    "i.put([0], [300])",
    "np.place(i, i > 0, [300])",
    "np.putmask(i, i > 0, 300)",
    "np.fill_diagonal(np.zeros((2, 2), 'u1'), -1)",
    "v /= 2",
    "np.add(1)",
    "np.add(1, 2, 3, 4)",
    "np.add(1, 2, foo=3)",
    "np.add(v, 1, order='Q')",
    "a[[0, 5, 1]]",
    "a[a.astype(int)]",
    "a['x']",
    "a.fill([1, 2])",
    "a.reshape()",
    "np.argmax(a, out=1)",
    "np.concatenate([v, v], out=1)",
    "np.mean(a, out=1)",
    "np.copy(a, order=7)",
    "np.reshape(a, (3, 2), order=7)",
    "np.array(a, a)",
    "np.where(v, v)",
    "np.einsum(a)",
    "s.conj()",
    "v * 'ab'",
    "2.5 * [1] * v[0]",
    "np.array([1.5]).astype(int, casting='same_value')",
    "x = np.ones(3); y = x; x.resize(5)",
    "x = np.ones(3); y = [x]; x.resize((2, 2))",
    "v[0] = 'x'",
    "v[:] = np.datetime64('2020-01-01')",
    "v.fill((1,))",
    "v.argmin(out=np.zeros(2))",
    "v.astype(int, 'Q')",
    "v.__array__('f4', copy=False)",
    "x = np.ones(3); x @= x",
    "np.round(v, 1, np.zeros((2, 3)))",
    "np.cumsum(v * 1.0, out=np.zeros((2, 3)))",
    "np.einsum('i->i', v, out=np.zeros((2, 3)))",
    "hash(np.zeros(1, 'i4,i4')[0])",
    "np.zeros(1, 'i4,i4')[0][5]",
    "np.repeat(a, np.array([2.0]))",
    "a.sum(1); a.sum(1.0)",
    "a.flat[0] = [1, 2]",
    "a.flat[0] = 'x'",
    "v.flat[1] = np.nan",
    "a.flat[0] = a[0]",
    "np.zeros(v.mean())",
    "np.zeros(np.float32(2))",
]

CLASSES = [
    "np.abs(a, out=v)",
    "np.abs(s, v)",
    "np.sum(a, keepdims='x')",
    "np.max(a, keepdims='x')",
    "np.trace(a, out=v)",
    "np.median(a, out=1)",
    "np.histogram_bin_edges(None)",
    "np.sum(a, axis=7)",
    "np.sort(a, axis=(0, 0))",
    "np.stack([a, b])",
    "np.zeros(a)",
    "np.linalg.inv(a)",
    "np.fft.fft(s)",
]

VALUES = [
    "np.trapezoid(v, [[1, 2]])",
    "np.where(v > 1, v, None)",
    "np.where(v > 1, None, v)",
    "np.array([1.0, 2.0]).astype(int, casting='same_value')",
    "x = np.array([[0, 1], [2, 3]], order='F'); x.resize((2, 1)); x",
    "a.conj(np.zeros((2, 3)))",
    "v == 'a', v != None",
    "i[:] = np.array([300, 1, 2]); i",
    "i[:] = [np.int64(5), 1, True]; i[1:] = [1.7, -2.7]; i",
    "np.put(i, [0], np.array([300])); i",
    "x = np.ones(3); x.resize(5); np.ndarray.resize(x, (2, 4)); x",
    "x = np.ones(4); y = [x]; x.resize((2, 2)); x",  # the same memory
    "x = np.ones(4); y = [x]; x.resize((2, 3), refcheck=False); x",
    "x = np.ones(3); x @= np.ones((3, 3)); x",
    "np.modf(v, out=(np.zeros((2, 3)), None))",
    "np.divmod(v, 2, out=(None, np.zeros((2, 3), int)))",
    "v.view(None), v.view(), v.view(dtype=None)",
    "v[:] = '7'; v",
    "v[1].astype('m8[D]') + np.datetime64('2020-01-01'), v[1].astype(object)",
    "v[1] @ v[1]",
    "np.array(v[1], object), np.asarray(a[0, 0], 'O')",
    "a.flat[0] = '7'; a.flat[1] = True; a",
    "np.flip(np.array('ab')), np.full(2, np.array('ab'))",
    "v @ v, v[1:] @ v[1:].reshape(2, 1)",
    "type(np.zeros(1, 'i4,i4')[0]).__name__",
    "__import__('inspect').signature(np.add)",
    "__import__('inspect').signature(np.polynomial.polynomial.polyfit)",
]


@pytest.mark.parametrize("program", MESSAGES)
def test_messages(program: str) -> None:
    check(program, DATA, message=True)


ALSO = [
    "np.array('a') + 1",
    "s < 1.5",
    "np.sqrt('a')",
    "v & 1.5",
    "np.zeros('a')",
    "np.split(np.ones(5), 2)",
    "a @ a",
]


def context(program: str, module: Any) -> str:
    """The class of the error that a traceback would show first, if any."""
    error = run(program, module, DATA)[0]
    assert isinstance(error, Exception)
    before = error.__cause__ if error.__suppress_context__ else error.__context__
    return type(before).__name__


@pytest.mark.parametrize("program", MESSAGES + ALSO)
def test_tracebacks_begin_with_the_error_itself(program: str) -> None:
    assert context(program, lazynp) in (context(program, np), "NoneType")


@pytest.mark.parametrize("program", CLASSES + VALUES)
def test_outcomes(program: str) -> None:
    check(program, DATA)


@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index])
@pytest.mark.parametrize("shape", [(3,), (2, 2), (0,), (1, 0)])
def test_an_array_is_no_number_in_a_trace_either(
    convert: Callable[[Any], Any], shape: tuple[int, ...]
) -> None:
    """Its shape tells, so the value need not be known."""

    def error(module: Any, call: Callable[[Any], Any]) -> tuple[type, str]:
        with pytest.raises((TypeError, ValueError)) as raised:
            call(module.ones(shape, int))
        return raised.type, str(raised.value)

    expected = error(np, convert)
    assert error(lazynp, convert) == expected
    assert error(lazynp, lazynp.jit(lambda x: [convert(x + 1)])) == expected


@pytest.mark.parametrize("version", ["x", 3, (1,), [1, 0], (1, 0, 0)], ids=str)
def test_a_version_of_dlpack_is_two_numbers(version: Any) -> None:
    def said(module: Any) -> str:
        with pytest.raises(TypeError) as raised:
            module.ones(3).__dlpack__(max_version=version)
        return str(raised.value)

    assert said(lazynp) == said(np)
