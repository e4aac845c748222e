"""NumPy's modules can be imported from lazynp as from numpy, and accept lazy arrays."""

from __future__ import annotations

import importlib

import numpy
import pytest

import lazynp as np
from lazynp.lib.stride_tricks import sliding_window_view as sliding_window_view
from lazynp.polynomial import Chebyshev, Polynomial
from lazynp.testing import assert_allclose
from lazynp.typing import ArrayLike as ArrayLike, NDArray as NDArray

MODULES = [
    "char", "ctypeslib", "dtypes", "exceptions", "fft", "lib", "lib._npyio_impl",
    "lib.array_utils", "lib.format", "lib.introspect", "lib.mixins", "lib.npyio",
    "lib.recfunctions", "lib.scimath", "lib.stride_tricks", "lib.user_array", "linalg", "ma",
    "matlib", "polynomial", "polynomial.chebyshev", "polynomial.hermite", "polynomial.hermite_e",
    "polynomial.laguerre", "polynomial.legendre", "polynomial.polynomial", "polynomial.polyutils",
    "random", "rec", "strings", "testing", "typing",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Importing from numpy.matlib:PendingDeprecationWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of names that NumPy gives up
@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name: str) -> None:
    theirs = importlib.import_module(f"numpy.{name}")
    ours = importlib.import_module(f"lazynp.{name}")
    names = getattr(theirs, "__all__", [n for n in dir(theirs) if not n.startswith("_")])
    assert [n for n in names if not hasattr(ours, n)] == []
    assert set(getattr(ours, "__all__", [])) >= set(getattr(theirs, "__all__", []))


def test_emath_is_a_module() -> None:
    assert set(importlib.import_module("lazynp.emath").__all__) == set(numpy.emath.__all__)
    assert np.lib.scimath.sqrt is np.emath.sqrt


def test_functions_are_those_of_the_namespace() -> None:
    room = importlib.import_module("lazynp.lib._npyio_impl")
    assert all(getattr(room, name) is getattr(np, name) for name in room.__all__)


@pytest.mark.filterwarnings("ignore:Importing from numpy.matlib:PendingDeprecationWarning")
def test_modules_are_attributes() -> None:
    for name in MODULES:
        found, module = importlib.import_module(f"lazynp.{name}"), np
        for part in name.split("."):
            module = getattr(module, part)
        if name != "ctypeslib":  # NumPy loads it when asked, and so it is NumPy's
            assert module is found


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matlib() -> None:
    ours, theirs = importlib.import_module("lazynp.matlib"), importlib.import_module("numpy.matlib")
    for name, args in {
        "zeros": ((2, 2),), "ones": (2,), "eye": (2, 3), "identity": (2,), "empty": ((1, 2),),
        "rand": (2, 3), "randn": (2,), "repmat": ([1, 2], 2, 3),
    }.items():  # fmt: skip
        made = []
        for room, random in ((theirs, numpy.random), (ours, np.random)):
            random.seed(3)
            made.append(getattr(room, name)(*args))
        if name == "repmat":
            assert type(made[1]) is np.ndarray
        else:
            assert type(made[1]) is numpy.matrix and made[1].shape == made[0].shape
        assert name == "empty" or (made[0] == numpy.asarray(made[1])).all()
    assert (ours.asmatrix(np.eye(2)) * 2).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert ours.sin is np.sin and set(ours.__all__) == set(theirs.__all__)


def test_text() -> None:
    words = np.array(["ab", "c d"])
    for upper in (np.char.upper(words), np.strings.upper(words)):
        assert isinstance(upper, np.ndarray) and upper.tolist() == ["AB", "C D"]
    assert np.strings.str_len(words).tolist() == [2, 3]
    assert np.char.split(words).tolist() == [["ab"], ["c", "d"]]


def test_masked_arrays_are_numpys() -> None:
    x = np.array([1.0, -2.0, 3.0])
    m = np.ma.masked_where(x < 0, x)
    assert isinstance(m, numpy.ma.MaskedArray) and m.sum() == 4.0
    assert np.ma.masked_less(x, 0).tolist() == [1.0, None, 3.0]
    assert np.ma.filled(m, 0.0).tolist() == [1.0, 0.0, 3.0]
    assert np.ma.array(x, mask=[0, 1, 0]).mean() == 2.0
    assert (np.ma.sqrt(x) + x).tolist() == [2.0, None, 3.0**0.5 + 3.0]


def test_records() -> None:
    r = np.rec.fromarrays([np.arange(2), np.array([1.5, 2.5])], names="i,x")
    assert isinstance(r, numpy.recarray) and r.x.tolist() == [1.5, 2.5]
    assert np.rec.array(np.arange(2)).tolist() == [0, 1]


def test_classes_of_polynomials() -> None:
    p = Polynomial([1, 2, 3])
    assert p(np.arange(3.0)).tolist() == [1.0, 6.0, 17.0] and p(2) == 17.0
    assert isinstance(p(np.arange(3.0)), np.ndarray) and isinstance(p * p, Polynomial)
    assert isinstance(p, numpy.polynomial.Polynomial)
    fitted = Chebyshev.fit(np.arange(5.0), np.arange(5.0) ** 2, 2)
    assert_allclose(fitted(np.array([1.5])), [2.25])
    assert_allclose(Polynomial(np.array([1.0, 2.0])).roots(), np.array([-0.5]))
    assert_allclose(p.convert(kind=Chebyshev)(np.array([0.5])), p(0.5))
