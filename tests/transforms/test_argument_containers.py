"""Lists and dicts among the arguments that a jitted function changes itself: as in Python."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from typing import Any

import numpy
import pytest

import lazynp as np


def appended(items):
    items.append(items[0] * 2)
    return sum(items)


def inserted_and_removed(items):
    items.insert(0, items.pop() + 1)
    return items[-1]


def assigned(items):
    items[1] = items[0] + items[1]


def turned(items):
    items.reverse()
    return items[0]


def emptied(items):
    total = items[0] + items[1]
    items.clear()
    return total


def extended_by_constants(items):
    items += [1, 2.5, True, "name", None]


def entry_set(d):
    d["a"] = d["a"] * 2
    d["new"] = d["b"] + 1
    return d["a"]


def entry_deleted(d):
    del d["a"]


def counted(d):
    for k in d:
        d[k] += 1
    return d["b"]


def entries_exchanged(d):
    d["a"], d["b"] = d["b"], d["a"]


def written_and_bound(d):
    d["x"][0] = 7
    d["y"] = d["x"] * 2
    d["x"] = d["x"][1:]
    return d["y"].sum()


def nested(p):
    p["rows"].append(p["x"])
    p["rows"][0] = p["rows"][0] + 1
    p["more"] = [p["rows"], (p["x"].sum(), {"k": p["x"]})]


def moved_between(p):
    p["rows"].append(p.pop("x"))
    return p["rows"][-1] + 1


def in_tuple(pair):
    items, d = pair
    items.append(d["a"])
    d["a"] = items[0]


X = numpy.arange(3.0)
CASES: list[tuple[Any, Any]] = [
    *[(f, x) for f in (appended, inserted_and_removed, assigned, turned, emptied,
                       extended_by_constants) for x in ([1.0, 2.5], [3, 4], [X, X + 1])],
    *[(f, x) for f in (entry_set, counted, entries_exchanged, entry_deleted)
      for x in ({"b": 1.5, "a": 2.0}, {"a": X, "b": X * 2}, OrderedDict(b=1.0, a=2.0))],
    (written_and_bound, {"x": X, "y": 0.0}),
    (nested, {"rows": [X, X * 3], "x": X}),
    (moved_between, {"rows": [X], "x": X}),
    (in_tuple, ([1.0, X], {"a": 2.0, "z": 1})),
]  # fmt: skip


def plain(tree: Any) -> Any:
    """With NumPy's arrays and numbers of Python's, to be compared."""
    if isinstance(tree, dict):
        return type(tree)((k, plain(v)) for k, v in tree.items())
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(plain, tree))
    return tree if isinstance(tree, (str, type(None))) else numpy.asarray(tree).tolist()


def arrays(tree: Any) -> Any:
    return np.tree.map(lambda x: np.array(x) if isinstance(x, numpy.ndarray) else x, tree)


@pytest.mark.parametrize("lazy", [True, False], ids=["arrays", "numpys"])
@pytest.mark.parametrize(("f", "x"), CASES)
def test_as_in_python(f: Any, x: Any, lazy: bool) -> None:
    jitted = np.jit(f)
    for _ in range(3):  # traced, then called again
        want, got = copy.deepcopy(x), copy.deepcopy(x)
        if lazy:
            got = arrays(got)
        out, found = f(want), jitted(got)
        assert plain(found) == plain(out)
        assert plain(got) == plain(want)
        assert type(got) is type(want)
    assert jitted._cache_size() == 1


def test_what_is_not_changed_stays_the_callers() -> None:
    @np.jit
    def f(d):
        d["new"] = d["kept"]
        d["list"] = d["items"]
        return d["kept"] + 1

    x, items = np.ones(2), [np.zeros(1)]
    for _ in range(2):
        d = {"kept": x, "items": items, "number": 3.0}
        f(d)
        assert d["kept"] is x and d["new"] is x
        assert d["items"] is items and d["list"] is items
        assert type(d["number"]) is float


def test_defaults_that_are_made() -> None:
    @np.jit
    def f(d, x):
        d["seen"] += x.sum()

    d = defaultdict(int, a=1)
    f(d, np.ones(3))
    f(d, np.ones(3))
    assert plain(d["seen"]) == 6.0 and d["a"] == 1


def test_in_functions_that_call_and_are_differentiated() -> None:
    @np.jit
    def inner(state, x):
        state["total"] = state["total"] + x.sum()
        state["seen"].append(x * 2)
        return state["total"]

    def outer(x):
        state = {"total": 0.0, "seen": []}
        for _ in range(3):
            inner(state, x)
        return state["total"] * state["seen"][-1][0]

    x = np.arange(1.0, 4.0)
    assert float(np.jit(outer)(x)) == float(outer(x)) == 36.0
    for f in (outer, np.jit(outer)):
        numpy.testing.assert_allclose(np.grad(f)(x), [2 * (18 + 3), 6, 6])
    rows = np.vmap(np.jit(outer))(np.stack([x, x * 2]))
    numpy.testing.assert_allclose(rows, [36.0, 144.0])


def test_a_failed_call_changes_nothing() -> None:
    @np.jit
    def f(items, x, i):
        items.append(x[i])

    items, x = [1.0], np.arange(3.0)
    with pytest.raises(IndexError):
        f(items, x, np.array(7))
    assert items == [1.0]
    f(items, x, np.array(2))
    assert plain(items) == [1.0, 2.0]


def test_a_list_given_twice() -> None:
    @np.jit
    def f(a, b):
        a.append(1.0)
        return len(b)

    items = [np.zeros(2)]
    with pytest.raises(TypeError, match=r"jit of .*f: it changes a list that its arguments hold t"):
        f(items, items)
    assert len(items) == 1
    f(items, [])
    assert len(items) == 2


def test_a_loop_that_was_traced_once() -> None:
    @np.jit
    def f(state, x):
        for i in range(100):
            state["t"] = state["t"] + x[i]
        state["steps"].append(state["t"])

    state, x = {"t": 0.0, "steps": []}, np.ones(100)
    f(state, x)
    f(state, x)
    assert plain(state) == {"t": 200.0, "steps": [100.0, 200.0]}
