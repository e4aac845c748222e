"""Lists, dicts and objects that several names hold, or that outlive a jitted function: what it does
is what Python does, or an error. Nothing is lost without a word.
"""

from __future__ import annotations

import gc
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.transforms.test_places import check

X = numpy.array([0.25, 0.75, -0.5, 1.0] * 5)


class State:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


# -- a branch picks one of two ---------------------------------------------------------------------


def picked_and_written(x):
    a, b = [1.0], [2.0]
    cur = a
    if x[0] > 0:
        cur = b
    cur[0] = 9.0
    return a[0], b[0]


def argument_written_by_a_helper(x):
    def bump(d, v):
        d["n"] += v

    a, b = {"n": 0.0}, {"n": 0.0}
    bump(a if x[0] > 0 else b, 2.0)
    return a["n"], b["n"]


def method_gives_one(x):
    s = State(a=[0.0], b=[0.0])

    def pick(v):
        if v > 0:
            return s.a
        return s.b

    pick(x[0])[0] += 1
    return s.a[0], s.b[0]


def best_is_current(x):
    best = {"e": 0.0, "n": 0}
    for v in x:
        d = {"e": v, "n": 1}
        if d["e"] > best["e"]:
            best = d
        d["n"] += 100
    return best["n"]


def appended_to_a_pick(x):
    a, b = [1.0], [2.0]
    c = a if x[0] > 0 else b
    c.append(3.0)
    return len(a), len(b)


def a_list_in_a_tuple(x):
    log = [0.0]
    s = (0, log)
    for v in x:
        if v > 0:
            s = (s[0] + 1, s[1])
    s[1][0] = 5.0
    return log[0], s[0]


def a_row_of_a_table(x):
    g = [[0.0, 0.0], [0.0, 0.0]]
    k = int(x.argmax()) % 2
    if x[0] > 0:
        g[k][1] = x[0]
    return g[0][1] + g[1][1]


def through_another_place(x):
    inner = {"v": 1.0}
    st = {"cur": inner}
    if x[0] > 0:
        st["cur"] = {"v": 2.0}
    st["cur"]["v"] = 3.0
    return inner["v"]


@pytest.mark.parametrize(
    "f",
    [picked_and_written, argument_written_by_a_helper, method_gives_one, best_is_current,
     appended_to_a_pick, a_list_in_a_tuple, a_row_of_a_table, through_another_place],
)  # fmt: skip
def test_what_a_branch_picks_is_not_changed_later(f: Any) -> None:
    message = "picks one of two objects|a row of a list of lists"
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            np.jit(f)(np.array(X))


def read_later(x):
    a, b = [1.0, x[1]], [2.0, x[2]]
    c = a if x[0] > 0 else b
    best = {"e": 0.0, "x": [0.0, 0.0]}
    for v in x:
        d = {"e": v, "x": [v, v * 2]}
        if d["e"] > best["e"]:
            best = d
    return c[0] + c[1], best["x"][1]


def own_lists_written(x):
    r = [0.0, 0.0]
    if x[0] > 0:
        r = [x[0], x[1]]
    r[0] = r[0] + 1
    s = [x[0], 1.0] if x[1] > 0 else [x[1], 2.0]
    s[1] += 1
    return r, s


def same_list_in_both(x):
    log = [0.0]
    s = (1.0, log)
    if x[0] > 0:
        s = (2.0, log)
    s[1][0] = 5.0
    return log[0], s[0]


@pytest.mark.parametrize("f", [read_later, same_list_in_both, own_lists_written])
def test_what_is_only_read_or_made_by_the_branch(f: Any) -> None:
    for x in (X, -X):
        check(np.jit(f)(np.array(x)), f(x.copy()))


# -- objects that change in place ------------------------------------------------------------------


def list_of_an_attribute(x):
    s = State(items=[1.0])
    if x[0] > 0:
        s.items += [2.0]
    return len(s.items)


def set_of_a_dict(x):
    d = {"seen": {1}}
    for v in x:
        if v > 0:
            d["seen"] |= {2}
    return len(d["seen"])


def missing_in_a_counter(x):
    c = Counter()
    if x[0] > 0:
        c["a"] += 1
    return len(c)


def of_another_object(x):
    class Proxy:
        def __init__(self, of):
            self.__dict__["of"] = of

        def __getattr__(self, name):
            return getattr(self.of, name)

    p = Proxy(State(n=1.0))
    if x[0] > 0:
        p.n = 2.0
    return x


@pytest.mark.parametrize(
    "f", [list_of_an_attribute, set_of_a_dict, missing_in_a_counter, of_another_object]
)
def test_what_cannot_be_taken_back_is_refused(f: Any) -> None:
    with pytest.raises(TypeError, match=r"is changed|is set in one branch"):
        np.jit(f)(np.array(X))


def test_an_array_of_an_attribute() -> None:
    """`s.u += v` stores the array that is there already."""

    def f(x):
        s = State(u=x.copy(), t=0.0)
        for _ in range(1000):
            s.u += 0.001 * x
            if s.u[0] > 0.5:
                s.t += 1
        return s.u, s.t

    check(np.jit(f)(np.array(X)), f(X.copy()))


# -- jitted functions within others ----------------------------------------------------------------


@np.jit
def stores(d, v):
    d["n"] = d["n"] + v


@np.jit
def exchanges(items):
    items[0], items[1] = items[1] + 1, items[0]


def test_within_branches_and_loops() -> None:
    def f(x):
        d, items = {"n": 0.0}, [x[0], x[1]]
        if x[0] > 0:
            stores(d, 5.0)
        for v in x:
            exchanges(items)
            if v > 0.5:
                stores(d, v)
        return d["n"], items

    for x in (X, -X):
        check(np.jit(f)(np.array(x)), f(x.copy()))


# -- arguments -------------------------------------------------------------------------------------


def test_arrays_and_lists_stay_the_same_object() -> None:
    @np.jit
    def f(d, items, x):
        y = x * 2
        d["p"] = y
        d["q"] = y
        d["l"] = items
        items.append(y)
        return y, items

    for _ in range(2):
        d, items = {}, []
        y, same = f(d, items, np.ones(2))
        assert d["p"] is d["q"] is y is items[0]
        assert same is items is d["l"]
        y[0] = 7
        assert d["p"][0] == 7


def test_the_order_of_keys() -> None:
    @np.jit
    def f(d):
        d["a"] = d.pop("a") + 1
        d["new"] = 1

    d = {"a": 1.0, "b": 2.0}
    f(d)
    assert list(d) == ["b", "a", "new"] and d == {"b": 2.0, "a": 2.0, "new": 1}


@pytest.mark.parametrize("make", [Counter, lambda d: defaultdict(int, d), OrderedDict, dict])
def test_kinds_of_dicts(make: Any) -> None:
    @np.jit
    def f(d, x):
        d["a"] += 1
        if x[0] > 0:
            d["a"] += 2
        return d

    d = make({"a": 1, "z": 5})
    for n in (4, 7):
        assert f(d, np.array(X)) is d
        assert type(d) is type(make({})) and d["a"] == n and d["z"] == 5


@dataclass
class Particle:
    n: Any
    u: Any


np.tree.register_dataclass(Particle)


def test_registered_objects() -> None:
    @np.jit
    def step(p, x):
        for v in x:
            if v > 0:
                p.n += 1
        p.u = p.u * 2

    p = Particle(0, np.ones(2))
    step(p, np.array(X))
    step(p, np.array(X))
    assert int(p.n) == 2 * (X > 0).sum() and p.u.tolist() == [4.0, 4.0]


def test_numpys_array_given_twice() -> None:
    @np.jit
    def f(x, state):
        x[0] = 5.0
        return state["u"].sum()

    x = numpy.zeros(3)
    with pytest.raises(TypeError, match="shares memory with another argument"):
        f(x, {"u": x[:2]})
    assert x.tolist() == [0.0] * 3
    assert f(x, {"u": numpy.zeros(2)}) == 0.0 and x[0] == 5.0


# -- objects that outlive the trace ----------------------------------------------------------------

TOTALS = {"n": 0.0, "calls": 0}
OBJECT = State(n=0.0)


def straight_to_a_global(x):
    TOTALS["n"] = TOTALS["n"] + x.sum()
    return x


def in_a_branch(x):
    if x[0] > 0:
        OBJECT.n += 1
    return x


def in_a_loop(x):
    for v in x:
        OBJECT.n += v
    return x


def default_argument(x, acc={"n": 0.0}):  # noqa: B006
    acc["n"] = acc["n"] + x[0]
    return x


class Meter:
    def __init__(self):
        self.n = 0

    def feed(self, x):
        if x[0] > 0:
            self.n += 1
        return x


@pytest.mark.parametrize("f", [straight_to_a_global, in_a_branch, in_a_loop, default_argument,
                               Meter().feed])  # fmt: skip
def test_objects_from_outside_get_nothing_that_is_only_traced(f: Any) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"line \d+: .* of an object from outside gets"):
            np.jit(f)(np.array(X))
    assert OBJECT.n == 0.0 and TOTALS["n"] == 0.0


def test_what_is_known_may_be_stored_outside() -> None:
    @np.jit
    def f(x):
        TOTALS["calls"] += 1
        return x * 2

    f(np.array(X))
    f(np.array(X))
    assert TOTALS["calls"] == 1  # it was traced once


def test_objects_that_end_with_the_trace() -> None:
    def f(x):
        s = State(inner=State(n=0.0), t=0.0, items=[0.0] * 3)
        s.inner.parent = s  # a cycle
        for v in x:
            if v > 0.5:
                s.inner.n += 1
                s.t += v
                s.items[1] += 1
        return s.t, s.inner.n, s.items

    gc.disable()
    try:
        check(np.jit(f)(np.array(X)), f(X))
    finally:
        gc.enable()


def test_objects_that_a_loop_makes() -> None:
    def f(x):
        total = 0
        for v in x:
            d = {"a": 0.0}
            p = Particle(0.0, v)
            if v > 0:
                d["a"] = v
                p.n = p.u * 2
            total += d["a"] + p.n
        return total

    check(np.jit(f)(np.array(X)), f(X))


def test_gradients_drop_what_the_function_stores() -> None:
    def loss(x, d):
        d["n"] = d["n"] + x[0]
        return (x * x).sum() + d["n"]

    d = {"n": 0.0}
    assert np.jit(np.grad(loss))(np.array([3.0, 2.0]), d).tolist() == [7.0, 4.0]
    assert d == {"n": 0.0}


# -- what is dead may not matter -------------------------------------------------------------------


def source_is_dead(x):
    def early(v):
        found = [v, 2 * v]
        if v > 0:
            return [v, 1.0]
        return found

    r = early(x[0])
    r[0] += 1
    s = {"v": 1.0}
    if x[1] > 0:
        s = s.copy()
        s["v"] = x[1]
    s["v"] += 1
    return r, s["v"]


def pick_is_dead(x):
    a, b = [1.0], [2.0]
    c = list(a if x[0] > 0 else b)
    d = a if x[1] > 0 else b
    e = d[0]
    del d
    a[0] = 3.0
    return a, c, e


def best_so_far(x):
    best, k = [0.0, 0.0], 0
    while k < len(x) and x[k] < 2:
        if x[k] > best[0]:
            best = [x[k], k * 1.0]
        k += 1
    best[1] += 1
    lo, hi = [0.0, 5.0], [1.0, 0.0]
    while hi[0] - lo[0] > 0.01 * x[3]:
        mid = 0.5 * (lo[0] + hi[0])
        if mid > x[1]:
            hi = [mid, 0.0]
        else:
            lo = [mid, 5.0]
    lo[1] += hi[0]
    return best, lo, hi


@pytest.mark.parametrize("f", [source_is_dead, pick_is_dead, best_so_far])
def test_the_others_are_dead(f: Any) -> None:
    for x in (X, abs(X)[::-1].copy()):
        check(np.jit(f)(np.array(x)), f(x.copy()))


def bound_by_every_round(x):
    items, cur = [0.0], [1.0]
    for i in range(100):
        cur = items
        x = x + i
    items[0] = 6.0
    return cur[0] + x[0] * 0


def perhaps_no_round(x):
    first = cur = {"v": 0.0}
    k = 0
    while x[k] > 5:
        cur = {"v": x[k]}
        k += 1
    first["v"] = 7.0
    return cur["v"]


def entry_of_the_argument(x, d):
    if x[0] > 0:
        d["cur"] = [5.0]
    return x


def picks_an_argument(x, d):
    return d["a"] if x[0] > 0 else d["cur"]


def new_list_in_two_places(x, d):
    d["p"] = d["q"] = [x[0]]


@pytest.mark.parametrize(
    "f", [bound_by_every_round, perhaps_no_round, entry_of_the_argument, picks_an_argument,
          new_list_in_two_places],
)  # fmt: skip
def test_what_would_lose_its_identity_is_refused(f: Any) -> None:
    args = [{"cur": [1.0], "a": [2.0]}] if f.__code__.co_argcount > 1 else []
    with pytest.raises(TypeError, match="picks one of two objects|in several places"):
        np.jit(f)(np.array(X), *args)
    assert args in ([], [{"cur": [1.0], "a": [2.0]}])


def test_a_registered_object_is_returned_as_it_was_given() -> None:
    @np.jit
    def f(p):
        p.n *= 2
        return p

    p = Particle(1.0, np.ones(2))
    assert f(p) is p and f(p) is p and float(p.n) == 4.0
