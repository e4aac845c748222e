"""What programs ask of a value to find out what it is: a Scalar answers as NumPy's scalars do."""

from __future__ import annotations

import collections.abc
import json
import math
import sqlite3
import statistics
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._fronts import BUILT

SCALARS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda xp: xp.ones(3).sum(),
    "element": lambda xp: xp.arange(4)[2],
    "bool": lambda xp: xp.arange(4).sum() > 3,
    "complex": lambda xp: xp.ones(2).sum() * 1j,
    "pending": lambda xp: (xp.arange(9.0) * 2.0).max(),
}
NAMES = ["__len__", "__iter__", "__contains__", "__setitem__", "__getitem__", "__hash__", "shape"]
CLASSES = [
    collections.abc.Iterable, collections.abc.Sized, collections.abc.Container,
    collections.abc.Collection, collections.abc.Sequence, collections.abc.Hashable,
    collections.abc.Callable,
]  # fmt: skip


@pytest.mark.parametrize("name", list(SCALARS))
def test_hasattr(name: str) -> None:
    ours, theirs = SCALARS[name](np), SCALARS[name](numpy)
    # Python alone has to define these two to refuse them
    asked = [n for n in NAMES if BUILT or n not in ("__iter__", "__setitem__")]
    assert {n: hasattr(ours, n) for n in asked} == {n: hasattr(theirs, n) for n in asked}


def test_a_class_of_numpys_is_among_the_classes() -> None:
    """SymPy looks for one; otherwise it takes a scalar for an array of arrays, without an end."""
    for x in (np.arange(3), np.arange(3)[1], np.array(2.5), np.linspace(0, 1, 3).sum()):
        assert any(kind.__module__ == "numpy" for kind in type(x).__mro__)


@pytest.mark.parametrize("name", list(SCALARS))
def test_abstract_classes(name: str) -> None:
    ours, theirs = SCALARS[name](np), SCALARS[name](numpy)
    for kind in CLASSES:
        assert isinstance(ours, kind) == isinstance(theirs, kind), kind


@pytest.mark.parametrize("name", list(SCALARS))
@pytest.mark.parametrize(
    "use",
    [
        len,
        iter,
        list,
        lambda s: 1 in s,
        lambda s: [*s],
        *([lambda s: s.__setitem__] if BUILT else ()),
        lambda s: s[0],
        lambda s: numpy.iterable(s),
        lambda s: sum(s),
    ],
)
def test_containers_are_refused(name: str, use: Callable[[Any], Any]) -> None:
    outcomes = []
    for xp in (numpy, np):
        try:
            outcomes.append(use(SCALARS[name](xp)))
        except Exception as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def test_an_element_cannot_be_stored() -> None:
    s = np.ones(3).sum()
    with pytest.raises(TypeError, match="does not support item assignment"):
        s[0] = 1.0


def test_arrays_are_containers_still() -> None:
    for x in (np.arange(3), np.zeros((2, 0)), np.asarray(1.0)):
        for kind in (collections.abc.Iterable, collections.abc.Sized, collections.abc.Container):
            assert isinstance(x, kind)
    assert 2 in np.arange(3) and list(np.arange(3)) == [0, 1, 2] and len(np.zeros((2, 0))) == 2


def test_libraries() -> None:
    x = np.arange(5.0)
    assert x.mean() == pytest.approx(2.0)
    assert 2.0 == pytest.approx(x.mean())
    assert math.isclose(x.sum(), 10.0)
    assert statistics.fmean(x) == 2.0
    assert json.loads(json.dumps({"a": float(x[1])})) == {"a": 1.0}


def test_sqlite_stores_what_it_stores_of_numpys() -> None:
    """Wrong without a word, once: the bytes of a float64."""
    stored: list[Any] = []
    for xp in (numpy, np):
        x = xp.linspace(0.0, 1.0, 5)
        of = [x[1], x.sum(), x.mean(), x[1] * 2]
        if BUILT:  # bytes, by the buffer
            of += [xp.float32(2.5), xp.arange(3)[1], x > 2, x[1] > 2]
        table = sqlite3.connect(":memory:")
        table.execute("create table t (a)")
        table.executemany("insert into t values (?)", [(v,) for v in of])
        stored.append(table.execute("select a from t").fetchall())
        table.close()
    assert stored[0] == stored[1] and stored[0][:4] == [(0.25,), (2.5,), (0.5,), (0.5,)]
