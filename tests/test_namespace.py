"""The namespace is NumPy's: names, signatures, the array's attributes, and `import *`."""

from __future__ import annotations

import copy
import inspect
import io
import math
import numbers
import pickle
from typing import Any

import numpy as np
import pytest

import lazynp

pytestmark = pytest.mark.skipif(
    not __import__("numpy").__version__.startswith("2.4."),
    reason="the namespace is that of NumPy 2.4; other releases add and drop names",
)


# NumPy's arguments are other, or it shows no signature at all.
OTHER_SIGNATURES = {"arange", "broadcast", "fromstring", "ndarray", "ufunc", "where"}
FOR_SUBCLASSES = {"__array_finalize__"}


def test_every_public_name_is_there() -> None:
    assert [n for n in dir(np) if not n.startswith("_") and not hasattr(lazynp, n)] == []


@pytest.mark.parametrize("room", ["", "linalg", "fft", "random", "testing"])
def test_all(room: str) -> None:
    numpys, ours = (getattr(m, room) if room else m for m in (np, lazynp))
    assert set(ours.__all__) == set(numpys.__all__)
    assert [n for n in numpys.__all__ if not hasattr(ours, n)] == []


def test_star_import_gives_numpys_names() -> None:
    numpys: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    exec("from numpy import *", numpys)
    exec("from lazynp import *", ours)
    assert set(ours) == set(numpys)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="lazynp"):
        _ = lazynp.no_such_name


def test_every_attribute_of_ndarray_is_there() -> None:
    missing = {n for n in dir(np.ndarray) if not hasattr(lazynp.ones((2, 2)), n)}
    assert missing == FOR_SUBCLASSES


# by name only: determines a shape where data are traced; `descending` is of NumPy 2.5
JAXS = {
    "assume_unique_indices", "descending", "fill_value", "length", "size", "strip_zeros",
    "total_repeat_length",
}  # fmt: skip


def _parameters(function: Any) -> Any:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        (p.name, p.kind, "" if p.default is inspect.Parameter.empty else repr(p.default))
        for p in parameters
        if p.kind is not inspect.Parameter.KEYWORD_ONLY or p.name not in JAXS
    ]


@pytest.mark.parametrize("room", ["", "linalg", "fft", "random"])
def test_signatures(room: str) -> None:
    numpys, ours = (getattr(m, room) if room else m for m in (np, lazynp))
    differ = []
    for name in numpys.__all__:
        theirs, mine = getattr(numpys, name), getattr(ours, name)
        if theirs is mine or not callable(theirs) or isinstance(theirs, np.ufunc):
            continue
        if name in OTHER_SIGNATURES or _parameters(theirs) is None:
            continue
        if isinstance(theirs, type):
            continue
        if _parameters(theirs) != _parameters(mine):
            differ.append(name)
    assert differ == []


def test_attributes_about_memory() -> None:
    x = lazynp.arange(4, dtype="i4")
    n = np.arange(4, dtype="i4")
    assert bytes(x.data) == bytes(n.data) and x.data.readonly
    assert x.ctypes.data
    assert pickle.loads(x.dumps()).tolist() == [0, 1, 2, 3]
    file = io.BytesIO()
    x.dump(file)
    assert pickle.loads(file.getvalue()).tolist() == [0, 1, 2, 3]
    assert x.getfield("i2", 0).tolist() == n.getfield("i2", 0).tolist()
    x.setfield(7, "i2", 0)
    n.setfield(7, "i2", 0)
    assert x.tolist() == n.tolist()
    x.dtype = "u1"
    assert x.shape == (16,) and x.dtype == np.uint8
    assert np.from_dlpack(x).shape == (16,)
    assert lazynp.ndarray[int, float].__origin__ is lazynp.ndarray
    with pytest.raises(ValueError, match="WRITEBACKIFCOPY"):
        x.setflags(uic=1)


def test_tofile(tmp_path: Any) -> None:
    lazynp.arange(3.0).tofile(tmp_path / "x")
    assert lazynp.fromfile(tmp_path / "x").tolist() == [0.0, 1.0, 2.0]


def test_methods_of_scalars() -> None:
    x, i = lazynp.array([2.5, 3.0]), lazynp.arange(4)
    assert round(x[0]) == 2 and round(x[0] / 3, 2) == 0.83
    assert (math.floor(x[0]), math.ceil(x[0]), math.trunc(x[0])) == (2, 3, 2)
    assert x[1].is_integer() and x[0].as_integer_ratio() == (5, 2)
    assert i[3].bit_count() == 2 and i[3].numerator == 3
    assert "ab" * i[2] == "abab" and [1] * i[3] == [1, 1, 1] and i[2] * (0,) == (0, 0)
    assert not hasattr(x[0], "bit_count") and not hasattr(x, "is_integer")


def test_scalars_of_views_print_as_scalars() -> None:
    x = lazynp.arange(6).reshape(2, 3)
    assert repr(x[1, 1]) == "np.int64(4)"
    assert repr(x.flat[4]) == "np.int64(4)"
    assert repr(lazynp.squeeze(x[:1, :1])[()]) == "np.int64(0)"


def test_matrices_and_masked_arrays_take_over() -> None:
    m = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    for y in (lazynp.arange(3) + m, m + lazynp.arange(3), lazynp.add(lazynp.arange(3), m)):
        assert isinstance(y, np.ma.MaskedArray) and y.tolist() == [1, None, 5]
    with pytest.warns(PendingDeprecationWarning):
        m = lazynp.matrix([[1, 2], [3, 4]])
        assert isinstance(lazynp.eye(2) @ m, np.matrix)


def test_numpys_memory_as_out() -> None:
    out = np.zeros(3)
    assert lazynp.add(lazynp.arange(3), 1.0, out=out) is out
    assert out.tolist() == [1.0, 2.0, 3.0]
    assert lazynp.arange(3.0).sum(keepdims=True, out=np.zeros(1)).tolist() == [3.0]
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lazynp.add(1, 2, out=out)


def test_broadcast() -> None:
    x, y = lazynp.array([[1], [2]]), lazynp.array([3, 4])
    b = lazynp.broadcast(x, y)
    assert (b.shape, b.size, b.nd, b.numiter, b.index) == ((2, 2), 4, 2, 2, 0)
    assert [(int(i), int(j)) for i, j in b] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    b.reset()
    assert len(list(b)) == 4
    with pytest.raises(ValueError, match="shape mismatch"):
        lazynp.broadcast(lazynp.zeros(3), lazynp.zeros(2))


def test_testing_looks_at_values() -> None:
    x = lazynp.arange(3)
    lazynp.testing.assert_equal({"a": [x]}, {"a": [np.arange(3)]})
    lazynp.testing.assert_allclose(x + 1e-12, [0, 1, 2], atol=1e-9)
    with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
        lazynp.testing.assert_array_equal(x, x + 1)


def test_deepcopy_copies_objects() -> None:
    x = lazynp.array([1, [2, 3]], dtype=object)
    y = copy.deepcopy(x)
    y[1][0] = 9
    assert x[1] == [2, 3] and y[1] == [9, 3]


def test_scalars_pass_for_numpys() -> None:
    """`isinstance` of a Scalar agrees with that of the NumPy scalar in its place."""
    kinds = (
        np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
        np.floating, np.complexfloating, np.float64, np.float32, np.int64, np.uint8, np.bool,
        np.complex128, float, int, complex, bool, numbers.Number, numbers.Real, numbers.Integral,
    )  # fmt: skip
    for dtype in ("f8", "f4", "f2", "i8", "u1", "?", "c16", "c8"):
        scalar, element = lazynp.ones(2, dtype).max(), np.ones(2, dtype).max()
        said = [isinstance(scalar, k) for k in kinds]
        assert said == [isinstance(element, k) for k in kinds], dtype
        assert isinstance(scalar, lazynp.Scalar) and not isinstance(scalar, lazynp.ndarray)
        assert not isinstance(lazynp.array(1, dtype), np.generic)
    x = lazynp.arange(4.0)
    assert x[lazynp.arange(4)[2]] == 2.0
    with pytest.raises(IndexError):
        _ = x[x[1]]
    assert lazynp.jit(lambda x, i: x[i])(x, lazynp.arange(4).max()) == 3.0
    assert lazynp.array([x[1], 2.0]).tolist() == [1.0, 2.0]
    assert copy.deepcopy(x[3]) == 3.0 and pickle.loads(pickle.dumps(x[3])) == 3.0


def test_functions_have_an_implementation_that_asks_nobody() -> None:
    """Packages call it in their `__array_function__`."""

    class Refusing:
        def __array_function__(self, *args: Any) -> Any:
            return NotImplemented

    x = [3.0, 1.0]
    for np_ in (np, lazynp):
        assert np_.average._implementation(x) == 2.0
        assert np_.sort._implementation(x).tolist() == [1.0, 3.0]
        assert np_.array2string._implementation(np_.asarray(x)) == "[3. 1.]"
        with pytest.raises(TypeError):
            np_.average(Refusing())
        with pytest.raises(TypeError):
            np_.lib.stride_tricks.sliding_window_view(Refusing(), 2)
        kind = type("Refused", (np_.ndarray,), {"__array_function__": Refusing.__array_function__})
        derived = np_.asarray([x, x]).view(kind)
        for function in (np_.flip, np_.sort, np_.reshape):
            assert type(function._implementation(derived, -1)) is kind
            with pytest.raises(TypeError):
                function(derived, -1)
    rooms = (np, lazynp), (np.linalg, lazynp.linalg), (np.fft, lazynp.fft)
    without = {
        "save",
        "savez",
        "savez_compressed",
    }  # lazynp's own, which NumPy's classes do not ask
    for numpys, ours in rooms:
        having = [n for n in numpys.__all__ if hasattr(getattr(numpys, n), "_implementation")]
        assert {n for n in having if not hasattr(getattr(ours, n), "_implementation")} <= without


def test_results_of_linalg_have_their_half_public_names() -> None:
    for np_ in (np, lazynp):
        assert type(np_.linalg.eig(np_.eye(2))) is np_.linalg._linalg.EigResult
        assert type(np_.linalg.qr(np_.eye(2))) is np_.linalg._linalg.QRResult


def test_methods_have_their_names() -> None:
    x, y = np.ones((2, 2)), lazynp.ones((2, 2))
    names = [n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(x, n))]
    odd = {n: getattr(y, n).__name__ for n in names if getattr(y, n).__name__ != n}
    assert odd in ({}, {"conj": "conjugate"}, {"conjugate": "conj"})
