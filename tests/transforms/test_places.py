"""Entries of lists and dicts, and attributes, that branches and loops of a jitted function set."""

from __future__ import annotations

import linecache
import math
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms.control import _choice


class Bag:
    kind = 0.0

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def add(self, v):
        self.total += v
        self.count += 1

    def larger(self, v):
        if v > self.most:
            self.most = v


class Slots:
    __slots__ = ("n", "x")


@dataclass
class Point:
    x: Any = 0.0
    y: Any = 0.0


def counter_in_list(x):
    c = [0, 0]
    for i in range(len(x)):
        if x[i] > 0.5:
            c[0] += 1
        else:
            c[-1] += 1
    return c


def counters_in_dict(x):
    c = {"low": 0, "mid": 0, "high": 0}
    for v in x:
        if v < 0.3:
            c["low"] += 1
        elif v < 0.6:
            c["mid"] += 1
        else:
            c["high"] += 1
    return c


def sums_by_kind(x):
    c = Counter(a=0, b=0)
    d = defaultdict(float, a=0.0, b=0.0)
    o = OrderedDict(a=x[0])
    for v in x:
        if v > 0.5:
            c["a"] += 1
            d["a"] += v
        else:
            o["a"] = v
    return c["a"], c["b"], d["a"], o["a"]


def counter_in_object(x):
    bag = Bag(total=0.0, count=0, most=-1.0)
    for v in x:
        if v > 0.5:
            bag.add(v)
        bag.larger(v)
    return bag.total, bag.count, bag.most


def class_attribute(x):
    bag = Bag()
    for v in x:
        if v > 0.5:
            bag.kind += v
    return bag.kind


def slots(x):
    s = Slots()
    s.n, s.x = 0, x
    for v in x:
        if v > 0.5:
            s.n += 1
            s.x = s.x * v
    return s.n, s.x


def dataclass_fields(x):
    p = Point()
    for v in x:
        if v > 0.5:
            p.x += v
        else:
            p.y -= v
    return p.x, p.y


def without_a_loop(x):
    state = {"a": x, "n": 1}
    if x[0] > 0.5:
        state["a"] = x * 2
        state["n"] = 2
    return state["a"], state["n"]


def both_set_a_new_key(x):
    d = {}
    if x[0] > 0.5:
        d["k"] = x[0]
    else:
        d["k"] = 0.25
    return d["k"]


def while_in_list(x):
    p = [0.0, 0]
    while p[0] < 10:
        p[0] += x[0] + 1
        p[1] += 1
    return p


def while_in_object(x):
    s = Bag(x=x, t=0.0)
    while s.x.sum() > 1.0:
        s.x = s.x * 0.5
        s.t += 0.1
    return s.x, s.t


def nested_loops(x):
    d = {"n": 0, "row": x * 0}
    for i in range(12):
        for j in range(len(x)):
            if x[j] * i > 2:
                d["n"] += 1
        if d["n"] > 20:
            d["row"] = d["row"] + x
    return d["n"], d["row"]


def reads_before_it_writes(x):
    s = {"a": 1.0, "b": 2.0}
    for i in range(len(x)):
        old = s["a"]
        s["a"] = s["b"] * x[i]
        s["b"] = old + 1
    return s["a"], s["b"]


def array_in_dict_written_in_place(x):
    s = {"u": x.copy(), "n": 0}
    for i in range(1, len(x)):
        s["u"][i] += s["u"][i - 1]
        if s["u"][i] > 1.0:
            s["n"] += 1
    return s["u"], s["n"]


def array_bound_and_read(x):
    s = {"u": x, "v": x * 2}
    for i in range(10):
        if s["u"].sum() > i:
            s["u"], s["v"] = s["v"] * 0.5, s["u"]
    return s["u"] - s["v"]


def histogram_in_list(x):
    h = [0] * 4
    for v in x:
        h[int(v * 3.9)] += 1
    return h


def list_at_a_traced_index(x):
    h = [1.5, 0.0, 2.5]
    k = int(x.argmax()) % 3
    h[k] = h[k - 1] * 2
    return h


def table_of_ints_and_floats(x):
    return [1, 2.5, 4][int(x.argmax()) % 3] * 1.0


def dict_by_a_traced_key(x):
    rates = {3: 0.5, 0: 1.5, 7: 2.5}
    return rates[int((x > 0.5).sum()) * 0 + 7] + rates[int(x[0] * 0)]


def a_long_chain(x):
    c = {}
    for k in "abcdefgh":
        c[k] = 0
    for v in x:
        if v < 0.1:
            c["a"] += 1
        elif v < 0.2:
            c["b"] += 1
        elif v < 0.3:
            c["c"] += 1
        elif v < 0.4:
            c["d"] += 1
        elif v < 0.5:
            c["e"] += 1
        elif v < 0.6:
            c["f"] += 1
        elif v < 0.7:
            c["g"] += 1
        else:
            c["h"] += 1
    return c


def in_a_function(x):
    state = {"seen": 0, "last": 0.0}

    def visit(v):
        if v > state["last"]:
            state["last"] = v
            state["seen"] += 1

    for v in x:
        visit(v)
    return state["seen"], state["last"]


def breaks(x):
    s = Bag(n=0, at=-1)
    for i in range(len(x)):
        s.n += 1
        if x[i] > 0.6:
            s.at = i
            break
    return s.n, s.at


def numbers_that_become_floats(x):
    c = [0, 1]
    for v in x:
        if v > 0.5:
            c[0] += v
    return c[0]


class Heat:
    def __init__(self, u: Any) -> None:
        self.u, self.new, self.t = u.copy(), u.copy(), 0.0

    def step(self):
        self.new[1:-1] = self.u[1:-1] + 0.1 * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])
        self.u, self.new = self.new, self.u
        self.t += 0.1


def buffers_in_attributes(x):
    h = Heat(x)
    for _ in range(1001):
        h.step()
    return h.u, h.new, h.t


def buffers_in_a_dict(x):
    d = {"a": x.copy(), "b": x * 0}
    for k in range(1000):
        d["b"][1:-1] = 0.5 * (d["a"][2:] + d["a"][:-2]) + k * 0.001
        d["a"], d["b"] = d["b"], d["a"]
    return d


def three_in_a_list(x):
    items = [x.copy(), x * 0, x * 2]
    for k in range(100):
        items[0][k % 5] += 1
        items[0], items[1], items[2] = items[1], items[2], items[0]
    return items


X = numpy.linspace(0, 1, 21)[::-1] ** 2
FUNCTIONS = [
    counter_in_list, counters_in_dict, sums_by_kind, counter_in_object, class_attribute, slots,
    dataclass_fields, without_a_loop, both_set_a_new_key, while_in_list, while_in_object,
    nested_loops, reads_before_it_writes, array_in_dict_written_in_place, array_bound_and_read,
    histogram_in_list, list_at_a_traced_index, table_of_ints_and_floats, dict_by_a_traced_key,
    a_long_chain, in_a_function, breaks, numbers_that_become_floats, buffers_in_attributes,
    buffers_in_a_dict, three_in_a_list,
]  # fmt: skip


def values(tree: Any) -> Any:
    return [numpy.asarray(v) for v in np.tree.leaves(tree)]


def check(got: Any, want: Any) -> None:
    for a, b in zip(values(got), values(want), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [X, X[::-1].copy(), X[:9] + 0.01], ids=["falling", "rising", "few"])
def test_as_python_does(f: Any, x: Any) -> None:
    want = f(x.copy())
    jitted = np.jit(f)
    check(jitted(np.array(x)), want)
    check(jitted(np.array(x)), want)
    assert jitted._cache_size() == 1


@pytest.mark.parametrize("f", FUNCTIONS)
def test_rows(f: Any) -> None:
    rows = numpy.stack([X, X[::-1], X * 0.9])
    got = np.vmap(np.jit(f))(np.array(rows))
    for k, row in enumerate(rows):
        check(np.tree.map(lambda v, k=k: v[k], got), f(row.copy()))


SMOOTH = [sums_by_kind, counter_in_object, class_attribute, dataclass_fields, without_a_loop,
          reads_before_it_writes, array_in_dict_written_in_place, numbers_that_become_floats,
          array_bound_and_read, buffers_in_attributes, buffers_in_a_dict]  # fmt: skip


@pytest.mark.parametrize("f", SMOOTH)
def test_derivatives(f: Any) -> None:
    def total(x):
        return sum(np.sum(v) * (k + 1.0) for k, v in enumerate(np.tree.leaves(f(x))))

    x = X * 0.97 + 0.013
    got = np.grad(np.jit(total))(np.array(x))
    step = 1e-6
    for k in range(0, len(x), 4):
        a, b = x.copy(), x.copy()
        a[k], b[k] = a[k] - step, b[k] + step
        numpy.testing.assert_allclose(got[k], (total(b) - total(a)) / (2 * step), atol=1e-6)


def test_objects_of_the_caller() -> None:
    state, bag, seen = {"t": 0.0, "n": 0}, Bag(total=0.0, count=0), [0, 0]

    @np.jit
    def step(state, x):
        for v in x:
            if v > 0.5:
                state["t"] += v
                state["n"] += 1

    for _ in range(2):
        step(state, np.array(X))
    assert state["n"] == 2 * (X > 0.5).sum() and math.isclose(state["t"], 2 * X[X > 0.5].sum())
    assert bag.count == 0 and seen == [0, 0]


def test_what_stays_in_python_is_as_before() -> None:
    """A loop that cannot be staged leaves nothing of the attempt behind."""
    log = []

    @np.jit
    def f(x):
        d = {"n": 0.0}
        for i in range(10):
            d["n"] += x[i]
            log.append(i)
        return d["n"]

    assert math.isclose(f(np.array(X)), X[:10].sum())
    assert log == list(range(10))


def test_a_failed_trace_restores_the_objects() -> None:
    d = {"n": 1.0, "k": "text"}

    @np.jit
    def f(x):
        if x[0] > 0.5:
            d["n"] = x[0]
            d["k"] = "other"
        return x

    with pytest.raises(TypeError, match=r"`dict\['k'\]` is 'other' in one branch and 'text' in"):
        f(np.array(X))
    assert d == {"n": 1.0, "k": "text"}


def test_errors() -> None:
    x = np.array(X)

    def one_branch(x):
        d = {}
        if x[0] > 0.5:
            d["k"] = x[0]
        return x

    def a_slice(x):
        items = [0.0, 1.0]
        if x[0] > 0.5:
            items[:] = [x[0], x[1]]
        return items[0]

    def deleted(x):
        d = {"a": 1.0}
        if x[0] > 0.5:
            del d["a"]
        return x

    def appended(x):
        out = []
        for v in x:
            if v > 0.5:
                out.append(v)
        return len(out)

    def beyond(x):
        items = [0.0]
        for v in x:
            if v > 2.0:
                items[1] = v
        return items[0]

    def property_set(x):
        class Celsius:
            warm = property(lambda self: 1.0, lambda self, v: None)

        c = Celsius()
        if x[0] > 0.5:
            c.warm = x[0]
        return x

    def traced_key(x):
        d = {0: 0.0, 1: 1.0}
        if x[0] > 0.5:
            d[int(x[1])] = x[0]
        return x

    for f, message in [
        (one_branch, r"`dict\['k'\]` is set in one branch"),
        (a_slice, "line .*: a slice of a list is set"),
        (deleted, "line .*: an entry of a dict is deleted"),
        (appended, r"line .*: calls `list.append`, .* its length would depend on a traced value"),
        (property_set, r"line .*: an object that is no lazynp array \(Celsius\) is changed"),
        (traced_key, "line .*: an entry of a dict is set at a key that is not known"),
    ]:
        with pytest.raises(TypeError, match=message):
            np.jit(f)(x)
    assert float(np.jit(beyond)(x)) == beyond(x) == 0.0
    with pytest.raises(IndexError, match="list assignment index out of range|list index out of"):
        np.jit(beyond)(x + 5)


def test_indices_out_of_bounds_are_found_by_the_call() -> None:
    @np.jit
    def f(x, k):
        items = [0.0, 1.0, 2.0]
        items[int(k)] = x[0]
        return items[0], {5: 1.0, 6: 2.0}[int(k) + 5]

    check(f(np.array(X), np.array(0)), (1.0, 1.0))
    check(f(np.array(X), np.array(1)), (0.0, 2.0))
    for k, error in [(3, IndexError), (2, KeyError), (-4, IndexError)]:
        with pytest.raises(error):
            f(np.array(X), np.array(k))


def test_many_entries_are_not_carried() -> None:
    @np.jit
    def f(x):
        items = [0.0] * 200
        for i in range(200):
            items[i] = items[i - 1] + x[i % 20]
        return items[199]

    items = [0.0] * 200
    for i in range(200):
        items[i] = items[i - 1] + X[i % 20]
    check(f(np.array(X)), items[199])


def test_a_chain_is_traced_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch is traced again where the other one sets a place. Without `session.places`, each
    level of a chain would do so for all that are inside.
    """
    counts = []
    for length in (8, 16):
        steps = [f"{'el' * (k > 0)}if v < {k / 10}:\n  s[{k}] = v" for k in range(length)]
        text = "def f(x):\n v = x[0]\n s = dict.fromkeys(range(99), 0.0)\n "
        text += "\n".join(steps).replace("\n", "\n ") + "\n else:\n  s[98] = v\n return s"
        made: dict[str, Any] = {}
        path = f"<chain of {length}>"
        linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
        exec(compile(text, path, "exec"), made)
        calls = [0]
        staged = _choice._staged

        def counted(*args: Any, staged: Any = staged, calls: list[int] = calls) -> Any:
            calls[0] += 1
            return staged(*args)

        monkeypatch.setattr(_choice, "_staged", counted)
        check(np.jit(made["f"])(np.array([0.35])), made["f"](numpy.array([0.35])))
        monkeypatch.undo()
        counts.append(calls[0])
    assert counts[1] < 5 * counts[0]  # all levels at most once more for each; not 2**8 times


# -- lists of Python's numbers that get numbers of NumPy's -----------------------------------------


def best_so_far(x: Any) -> Any:
    best = [0] * len(x)
    for i in range(1, len(x)):
        best[i] = max(best[i - 1], x[i])
    return best[-1] * 1


def rising(x: Any) -> Any:
    total = [0.0] * len(x)
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            total[i] = total[i - 1] + x[i]
    return total[-1] + sum(total)


def edits(x: Any) -> Any:
    before = [0] * len(x)
    for i in range(len(x)):
        now = [i, *[0] * (len(x) - 1)]
        for j in range(1, len(x)):
            now[j] = min(before[j] + 1, now[j - 1] + 1, before[j - 1] + (x[i] != x[j]))
        before = now
    return before[-1] * 1


def stacked(x: Any) -> Any:
    stack, top = [0.0] * len(x), 0
    for v in x:
        if v > 2:
            stack[top] = v
            top += 1
        elif top > 0:
            top -= 1
    return stack[0] * 1 + top


@pytest.mark.parametrize("f", [best_so_far, rising, edits, stacked])
def test_lists_may_get_numbers_of_numpy(f: Any) -> None:
    jitted = np.jit(f)
    for x in ([0.0, 1, 2, 3, 4, 5, 6, 7, 1, 0], [5.0, 0, 0, 0, 2, 1, 3, 4, 4, 4]):
        got, want = jitted(np.array(x)), f(numpy.array(x))
        assert float(got) == float(want)
    assert "unrolled" not in str(np.explain(jitted))
