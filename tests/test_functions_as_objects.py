"""Functions as objects: which are the same, what may be set on them, and which a class binds."""

from __future__ import annotations

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
