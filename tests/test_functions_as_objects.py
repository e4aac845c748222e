"""Functions as objects: which are the same, what may be set on them, and which a class binds."""

from __future__ import annotations

import importlib
import pickle
from types import MethodType
from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp._fronts import BUILT

FUNCTIONS = [
    name
    for name in np.__all__
    if callable(getattr(np, name)) and not isinstance(getattr(np, name), (type, np.ufunc))
]


def test_functions_are_the_same_where_numpys_are() -> None:
    def classes(m: Any) -> list[list[str]]:
        by_identity: dict[int, list[str]] = {}
        for name in FUNCTIONS:
            by_identity.setdefault(id(getattr(m, name)), []).append(name)
        return [names for names in by_identity.values() if len(names) > 1]

    assert classes(lazynp) == classes(np)


@pytest.mark.parametrize("name", ["max", "amax", "min", "amin", "round", "around"])
def test_aliases_with_names_of_their_own(name: str) -> None:
    function = getattr(lazynp, name)
    assert function.__name__ == name
    assert pickle.loads(pickle.dumps(function)) is function
    values = [[1.26, 3.5], [2.0, -1.0]]
    wanted = getattr(np, name)(np.array(values))
    np.testing.assert_array_equal(np.asarray(function(lazynp.array(values))), wanted)
    np.testing.assert_array_equal(getattr(np, name)(lazynp.array(values)), wanted)


ROOMS = ["", "char", "fft", "linalg", "ma", "random", "rec", "strings", "testing"]


def is_pickled(x: Any) -> bool:
    try:
        return pickle.loads(pickle.dumps(x)) is x
    except (pickle.PicklingError, TypeError, AttributeError):
        return False


@pytest.mark.parametrize("room", ROOMS)
def test_names_that_numpy_pickles(room: str) -> None:
    """So that processes can be sent `np.char.upper`: by their names, as one function."""
    numpys = getattr(np, room) if room else np
    ours = importlib.import_module(f"lazynp.{room}") if room else lazynp
    names = [n for n in numpys.__all__ if n in vars(ours) and is_pickled(vars(numpys).get(n))]
    # since NumPy 2.5, the functions of `char` are found when they are asked for, with a warning
    few = room == "rec" or room == "char" and np.lib.NumpyVersion(np.__version__) >= "2.5.0"
    assert few or len(names) > 10
    assert [n for n in names if not is_pickled(getattr(ours, n))] == []


def test_methods_of_ufuncs_are_pickled() -> None:
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        method = getattr(lazynp.add, name)
        assert pickle.loads(pickle.dumps(method)) == method
    total = pickle.loads(pickle.dumps(lazynp.multiply.reduce))
    assert total(lazynp.array([2.0, 5.0])) == 10


@pytest.mark.skipif(not BUILT, reason="Python pickles its functions by name")
@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
def test_methods_of_generators_are_pickled(kind: str) -> None:
    """With their generator, which goes on from where it was."""
    ours, numpys = getattr(lazynp.random, kind)(3), getattr(np.random, kind)(3)
    assert ours.normal() == numpys.normal()
    method, again = pickle.loads(pickle.dumps([ours.normal, ours.uniform]))
    for _ in range(2):
        assert method() == numpys.normal()
        assert again() == numpys.uniform()  # of the same generator


def test_attributes_may_be_set() -> None:
    function: Any = lazynp.max
    function.__name__ = "largest"
    assert function.__name__ == "largest"
    function.__name__ = "max"
    function.note = 3
    assert function.note == 3
    del function.note
    assert not hasattr(function, "note")


@pytest.mark.skipif(not BUILT, reason="plain functions of Python are bound")
def test_classes_bind_what_they_bind_of_numpys() -> None:
    for name in FUNCTIONS:
        bound = []
        for m in (np, lazynp):
            kind: Any = type("Kind", (), {"function": getattr(m, name)})
            bound.append(isinstance(kind().function, MethodType))
        assert bound[1] == bound[0], name


@pytest.mark.skipif(not BUILT, reason="plain functions of Python are bound")
def test_builtins_as_methods() -> None:
    class Maker:
        __getitem__ = lazynp.array
        made = lazynp.array
        ranged = lazynp.arange
        iterated = lazynp.fromiter

    maker: Any = Maker()
    assert maker[1.0, 2.0].tolist() == [1.0, 2.0]
    assert [maker.made([i]).tolist() for i in range(3)] == [[0], [1], [2]]
    assert maker.ranged(3).tolist() == [0, 1, 2]
    assert maker.iterated([1, 2], int).tolist() == [1, 2]
