"""Packages that look at types take lazynp's numbers and arrays: calls of a made-up package."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from scipy import stats

import lazynp as np
from lazynp.functions import _loaded, _packages
from lazynp.functions._packages import SOME, WHOLE

SOURCES = {
    "__init__": "from nlopt.inner import *\nfrom nlopt.inner import _private",
    "inner": '''
import contextlib, functools, numpy

def strict(x):
    """Takes NumPy's arrays only."""
    if type(x) is not numpy.ndarray:
        raise TypeError(f"no array: {type(x).__name__}")
    memoryview(x).cast("B")[0]
    return x.sum(), x.dtype, x.strides, x.flags.writeable

def doubled(x, out=None):
    numpy.multiply(x, 2, out=x if out is None else out)
    return x if out is None else out

def failing(x):
    x[0] = 7
    raise ValueError("half done")

def kinds(*args, **kwargs):
    return [type(a) for a in args], {k: type(v) for k, v in kwargs.items()}

def inner_types(xs):
    return [type(x) for x in (xs.values() if type(xs) is dict else xs)]

def applied(f, *args):
    out = f(*args)
    return type(out), out

def doubled_of(x):
    return x * 2

def filled(into, n):
    if type(into) is dict:
        into["n"] = n
    else:
        into.append(n)

def drawn(rng):
    return type(rng).__module__.partition(".")[0], rng.random(3)

def _private(x):
    return type(x)

def steps(x):
    yield type(x)

@functools.lru_cache
def cached(n):
    return n

class Model:
    weight = property(lambda self: self._weight, lambda self, w: setattr(self, "_weight", w))

    def __init__(self, x):
        self.x = x
    def __lt__(self, other):
        return type(other)
    def __rmul__(self, other):
        return type(other)
    __array_ufunc__ = None
    def __getitem__(self, index):
        return type(index)
    @classmethod
    def made(cls, x):
        return cls(x)
    @staticmethod
    def told(x):
        return type(x)
    def itself(self):
        return self
''',
}  # fmt: skip


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    assert "nlopt" in WHOLE
    folder: Path = tmp_path_factory.mktemp("packages") / "site-packages"
    folder.mkdir()
    (folder / "nlopt").mkdir()
    for name, source in SOURCES.items():
        (folder / "nlopt" / f"{name}.py").write_text(source)
    sys.path.insert(0, str(folder))
    before = {k: sys.modules.pop(k) for k in list(sys.modules) if k.partition(".")[0] == "nlopt"}
    try:
        yield importlib.import_module("nlopt")
    finally:
        sys.path.remove(str(folder))
        for name in ("nlopt", "nlopt.inner"):
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _in_place(p: Any, m: Any) -> Any:
    x, y = m.arange(4.0), m.zeros(4)
    p.doubled(x)
    p.doubled(x[1:])
    p.doubled(x, out=y)
    return x.tolist(), y.tolist()


def _same(p: Any, m: Any) -> Any:
    x = m.arange(4.0)
    return p.doubled(x) is x, p.doubled(x, out=x) is x, x.tolist()


def _failing(p: Any, m: Any) -> Any:
    x = m.arange(4.0)
    with pytest.raises(ValueError, match="half done"):
        p.failing(x)
    return x.tolist()


def _read_only(p: Any, m: Any) -> Any:
    x = m.arange(4.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        p.doubled(x)
    return x.tolist(), p.strict(x)[3]


def _filled(p: Any, m: Any) -> Any:
    into, names = [m.arange(3)[1]], {"a": m.arange(3)[2]}
    p.filled(into, 5)
    p.filled(names, 5)
    return [int(v) for v in into], {k: int(v) for k, v in names.items()}


def _objects(p: Any, m: Any) -> Any:
    x = m.array([None, "a"], dtype=object)
    p.applied(lambda v: v.__setitem__(0, 3), x)
    return x.tolist()


def _property(p: Any, m: Any) -> Any:
    model = p.Model(m.arange(3))
    model.weight = m.ones(3)
    return type(model.weight), type(model.x), model.itself() is model


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda p, m: p.strict(m.arange(6.0)),
    "part": lambda p, m: p.strict(m.arange(6.0)[2:4]),
    "in Fortran's order": lambda p, m: p.strict(m.array(numpy.ones((2, 3)), order="F").T)[:3],
    "scalars": lambda p, m: p.kinds(m.arange(3)[1], k=m.linspace(0, 1, 3)[1]),
    "0-d": lambda p, m: p.kinds(m.array(2.5)),
    "lists": lambda p, m: p.inner_types([m.arange(3), m.arange(3)[1]]),
    "dicts": lambda p, m: p.inner_types({"a": m.arange(3), "b": m.arange(3)[1]}),
    "tuples": lambda p, m: p.inner_types((m.arange(3), 1)),
    "the user's function": lambda p, m: p.applied(lambda x: m.sum(x) * 2, m.arange(3))[0],
    "the namespace's function": lambda p, m: p.applied(m.mean, m.arange(3.0))[0],
    "the namespace's ufunc": lambda p, m: p.applied(m.sin, m.arange(3.0))[0],
    "generator": lambda p, m: p.drawn(m.random.default_rng(3))[1].tolist(),
    "random state": lambda p, m: p.drawn(m.random.RandomState(3))[0],
    "written": _in_place,
    "returned": _same,
    "written before an error": _failing,
    "read-only": _read_only,
    "list and dict": _filled,
    "objects": _objects,
    "init and setter": _property,
    "comparison": lambda p, m: p.Model(1) < m.arange(3)[1],
    "reflected": lambda p, m: m.arange(3) * p.Model(1),
    "reflected scalar": lambda p, m: m.linspace(0, 1, 3)[1] * p.Model(1),
    "index": lambda p, m: p.Model(1)[m.arange(3)],
    "class method": lambda p, m: type(p.Model.made(m.arange(3)).x),
    "static method": lambda p, m: p.Model.told(m.arange(3)),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_calls(package: Any, name: str) -> None:
    ours, theirs = CALLS[name](package, np), CALLS[name](package, numpy)
    assert repr(ours) == repr(theirs)


def test_gradients_and_programs_stay_ours(package: Any) -> None:
    assert np.grad(lambda x: np.sum(package.doubled_of(x)))(np.arange(3.0)).tolist() == [2, 2, 2]


def test_functions_stay_what_they_were(package: Any) -> None:
    assert package.strict is sys.modules["nlopt.inner"].strict
    assert package.strict.__doc__ == "Takes NumPy's arrays only."
    assert pickle.loads(pickle.dumps(package.strict)) is package.strict
    assert pickle.loads(pickle.dumps(package.Model(2))).x == 2
    assert package._private.__name__ == "_private"
    assert not hasattr(package._private, "__wrapped__")
    assert package.cached(3) == 3
    assert package.Model.itself.__qualname__ == "Model.itself"


def test_a_package_loaded_before_is_changed_too(package: Any) -> None:
    def plain(x: Any) -> type:
        return type(x)

    plain.__module__ = "nlopt.inner"
    vars(package)["plain"] = vars(sys.modules["nlopt.inner"])["plain"] = plain
    _loaded.when_any_is_loaded("nlopt", _packages._change)
    assert package.plain is sys.modules["nlopt.inner"].plain
    assert package.plain(np.arange(3)) is numpy.ndarray


@pytest.mark.parametrize(
    ("name", "file", "changes"),
    [
        ("nlopt.own", "/somewhere/site-packages/nlopt/own.py", True),
        ("nlopt", "/somewhere/dist-packages/nlopt.py", True),
        ("nlopt.own", "/home/somebody/nlopt/own.py", False),
        ("nlopt.own", None, False),
        ("nloptics", "/somewhere/site-packages/nloptics.py", False),
        ("astropy.table.table", "/somewhere/site-packages/astropy/table/table.py", True),
        ("astropy.units", "/somewhere/site-packages/astropy/units.py", False),
    ],
)
def test_which_modules_are_changed(name: str, file: str | None, changes: bool) -> None:
    module = type(sys)(name)
    exec("def f(x):\n    return type(x)", vars(module))
    module.__file__ = file
    _packages._change(module)
    assert vars(module)["f"](np.arange(3)) is (numpy.ndarray if changes else np.ndarray)


def test_some_functions_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_packages.SOME, "somewhere", ("f", "missing"))
    module = type(sys)("somewhere")
    module.__file__ = "/somewhere/site-packages/somewhere.py"
    exec("def f(x):\n    return x\nother = f\ndef g(x):\n    return x", vars(module))
    names, x = vars(module), np.arange(3)
    _packages._change_some(module)
    assert names["f"] is names["other"]
    assert type(names["f"](x)) is numpy.ndarray  # not ours again: the package goes on with it
    assert names["g"](x) is x


@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
def test_numpys_default_rng_takes_our_generators(kind: str) -> None:
    """SciPy's functions begin with it (`rng=`). It was a TypeError."""
    ours, theirs = getattr(np.random, kind)(3), getattr(numpy.random, kind)(3)
    taken, expected = numpy.random.default_rng(ours), numpy.random.default_rng(theirs)
    assert type(taken) is numpy.random.Generator
    assert taken.random(3).tolist() == expected.random(3).tolist()
    assert ours.uniform() == theirs.uniform()  # one stream
    assert taken.normal() == expected.normal()
    same = numpy.random.default_rng(taken)
    assert same is taken
    assert numpy.random.default_rng(5).random() == np.random.default_rng(5).random()
    results = [
        stats.permutation_test(
            (m.arange(9.0), m.arange(3.0, 9.0)), lambda x, y: x.mean() - y.mean(),
            n_resamples=50, rng=m.random.default_rng(2),
        ).pvalue
        for m in (numpy, np)
    ]  # fmt: skip
    assert results[0] == results[1]


def test_graphs_of_networkx_are_made_of_adjacency_matrices() -> None:
    """Of a matrix that it does not take for NumPy's, networkx makes edges row by row."""
    module: Any = type(sys)("networkx.convert")
    module.__file__ = "/somewhere/site-packages/networkx/convert.py"
    source = "def to_networkx_graph(data, create_using=None):\n    return type(data)"
    exec(source, vars(module))
    _packages._change_some(module)
    assert module.to_networkx_graph(np.array([[0, 1], [1, 0]])) is numpy.ndarray


def test_the_tables_name_no_package_twice() -> None:
    assert len(set(WHOLE)) == len(WHOLE)
    assert not any(f"{name}.".startswith(f"{whole}.") for name in SOME for whole in WHOLE)
