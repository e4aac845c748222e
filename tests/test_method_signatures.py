"""Methods show the signatures of NumPy's."""

from __future__ import annotations

import inspect
import pickle

import numpy
import pytest

import lazynp as np

pytestmark = pytest.mark.own_policy


def test_methods_have_the_signatures_of_numpys() -> None:
    others = {"nonzero", "repeat"}  # which take more
    checked = 0
    for name in dir(numpy.ndarray):
        method = getattr(numpy.ndarray, name)
        if name.startswith("_") or not getattr(method, "__text_signature__", None):
            continue
        if name not in others:
            checked += 1
            ours = getattr(np.ndarray, name)
            assert str(inspect.signature(ours)) == str(inspect.signature(method)), name
            of_one = inspect.signature(getattr(np.zeros(3), name))
            assert str(of_one) == str(inspect.signature(getattr(numpy.zeros(3), name))), name
    assert checked > 40 or not hasattr(numpy.ndarray.sum, "__text_signature__")
    bound = inspect.signature(np.ndarray.sum).bind(np.zeros(3), axis=0)
    assert bound.arguments["axis"] == 0
    assert pickle.loads(pickle.dumps(inspect.signature(np.ndarray.sum))) == inspect.signature(
        numpy.ndarray.sum
    )


def test_functions_keep_their_own() -> None:
    assert list(inspect.signature(np.sum).parameters)[:2] == ["a", "axis"]
    assert "size" in inspect.signature(np.ndarray.nonzero).parameters


def test_names_of_methods_in_errors_and_pickles() -> None:
    x, checked = np.arange(3.0), 0
    for name in dir(numpy.ndarray):
        if name.startswith("_") or not callable(method := getattr(np.ndarray, name)):
            continue  # NumPy 2.5 has private methods, such as _set_dtype
        checked += 1
        assert pickle.loads(pickle.dumps(method)) is method, name
        assert method.__name__ == name
        if name != "clip":  # which tells the ufunc that it calls, as NumPy's does
            with pytest.raises(TypeError, match=rf"^(ndarray\.)?{name}\(\) "):
                getattr(x, name)(surely_none=1)
    assert checked > 50
    for function in (np.repeat, np.nonzero, np.conjugate, np.sum, np.copy):
        assert "ndarray" not in function.__qualname__
