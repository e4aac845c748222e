"""`found = None`, and a value on some paths: as in Python, under `jit` and its like."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

np: Any = lazynp


def search(x: Any) -> Any:
    found = None
    for i in range(len(x)):
        if x[i] > 0.9:
            found = i
            break
    if found is None:
        return -1.0
    return x[found] * 2


def extremes(x: Any) -> Any:
    lo = None
    hi = None
    for v in x:
        if v > 0.3:
            if lo is None or v < lo:
                lo = v
            if hi is None or v > hi:
                hi = v
    if lo is None or hi is None:
        return 0.0
    return hi - lo


def gaps(x: Any) -> Any:
    last = None
    n = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            if last is not None and i - last < 3:
                n += 1
            last = i
        elif x[i] < 0.1:
            last = None
    return n if last is None else n + last * 100


def climb(x: Any) -> Any:
    best = None
    i = 0
    while i < len(x) and (best is None or x[i] > best):
        best = x[i]
        i += 1
    return (best, i)


def bound_in_a_branch(x: Any) -> Any:
    p = None
    if x[0] > 0.5:
        p = x[1]
    if p is not None:
        p = p + 1
        return p * 2
    return x[2]


def argument(x: Any, start: Any = None) -> Any:
    if x[0] > 0.5:
        start = x[1]
    q = 1.0 if start is None else start
    return q


def best_and_place(x: Any) -> Any:
    best = None
    bi = None
    for i in range(len(x)):
        if x[i] < 0.2:
            continue
        if best is None or x[i] < best:
            best, bi = (x[i], i)
    if best is None:
        raise ValueError("none")
    return (best, bi)


def runs(x: Any) -> Any:
    prev = None
    runs = 0
    for i in range(len(x)):
        cur = 1 if x[i] > 0.5 else 0
        if prev is None or cur != prev:
            runs += 1
        prev = cur
    return runs


def nested(x: Any) -> Any:
    a = None
    for i in range(3):
        for j in range(len(x)):
            if x[j] > 0.5 + 0.1 * i:
                a = j
                break
        if a is None:
            break
    return -1 if a is None else a


def arrays(x: Any) -> Any:
    v = None
    if x[0] > 0.5:
        v = x[:3] * 2
    if v is None:
        v = x[3:6]
    return v.sum()


def of_a_helper(x: Any) -> Any:

    def find(x, t):
        for i in range(len(x)):
            if x[i] > t:
                return i
        return -1

    r = None
    k = find(x, 0.7)
    if k >= 0:
        r = k
    return 0 if r is None else r


def another_name(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    y = r
    return 0.0 if y is None else y


def not_in_parentheses(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    if not r is None and r > 0.2:  # noqa: E714
        return r
    return 5.0


def either(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    if r is None or r < 0.2:
        return 7.0
    return r * 3


def truth(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    if r:
        return r
    return 5.0


def first_and_last(x: Any) -> Any:
    lo, hi = (None, None)
    for i in range(len(x)):
        if x[i] > 0.6 and lo is None:
            lo = i
        if x[i] > 0.6:
            hi = i
    return 0 if lo is None else hi - lo


def after_the_first(x: Any) -> Any:
    s = 0.0
    m = None
    for i in range(len(x)):
        if m is None:
            if x[i] > 0.4:
                m = x[i]
        else:
            s += x[i] - m
    return s


def set_to_none_again(x: Any) -> Any:
    prev = None
    s = 0.0
    for i in range(len(x)):
        cur = None
        if x[i] > 0.5:
            cur = x[i]
        if cur is not None and prev is not None:
            s += cur - prev
        prev = cur
    return s


def not_truth(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    if not r and x[1] > 0.1:
        return 5.0
    return 1.0


def while_none(x: Any) -> Any:
    r = None
    n = 0
    while r is None:
        if x[n] > 0.55 or n > 18:
            r = n
        n += 1
    return r


def returned_or_one(x: Any) -> Any:
    a = None
    if x[0] > 0:
        a = x[1]
    if x[1] > 0:
        return a
    return 1.0


def matched(x: Any) -> Any:
    a = None
    if x[0] < 0:
        a = 1
    match a:
        case None:
            return 10
        case 1:
            return 20
    return 30


def matched_or(x: Any) -> Any:
    a = None
    if x[0] > 0:
        a = 1
    match a:
        case 1 | 2:
            return 20
        case None:
            return 10
    return 30


def raising_while(x: Any) -> Any:
    n = 0
    while x[0] > 0:
        n += 1
        raise ValueError("x")
    return n


def raising_while_or_not(x: Any) -> Any:
    n = 0
    while x[0] < 0:
        n += 1
        raise ValueError("x")
    return n


def equal_neighbours(x: Any) -> Any:
    prev = None
    n = 0
    for v in x:
        if v == prev:
            n += 1
        prev = v
    return n


def unequal_neighbours(x: Any) -> Any:
    prev = None
    n = 0
    for v in x:
        n += v != prev
        prev = v
    return n


def ternary(x: Any) -> Any:
    r = x[0] if x[1] > 5 else None
    return -1.0 if r is None else r


def ternary_is_not(x: Any) -> Any:
    r = x[0] if x[1] < 5 else None
    if r is not None:
        return r
    return -1.0


def else_of_a_loop(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 3.5:
            r = i
            break
    else:
        r = None
    return -1 if r is None else r


def else_of_a_loop_that_ends(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 30.5:
            r = i
            break
    else:
        r = None
    return -1 if r is None else r


def equals_none(x: Any) -> Any:
    a = None
    if x[0] < 0:
        a = x[1]
    if a == None:  # noqa: E711
        return 1.0
    return a


def unequal_to_a_number(x: Any) -> Any:
    a = None
    if x[0] < 0:
        a = x[1]
    if a != 2.0:
        return 1.0
    return a * 3


def returned(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    return r


def added(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    return r + 1.0


def mixed(x: Any) -> Any:
    r = None
    if x[0] > 0.5:
        r = x[1]
    if x[1] > 0.5:
        del r
    return 0.0 if r is None else r


FUNCTIONS = [
    search,
    extremes,
    gaps,
    climb,
    bound_in_a_branch,
    argument,
    best_and_place,
    runs,
    nested,
    arrays,
    of_a_helper,
    another_name,
    not_in_parentheses,
    either,
    truth,
    first_and_last,
    after_the_first,
    set_to_none_again,
    not_truth,
    while_none,
    matched,
    matched_or,
    equal_neighbours,
    unequal_neighbours,
    ternary,
    ternary_is_not,
    else_of_a_loop,
    else_of_a_loop_that_ends,
    equals_none,
    unequal_to_a_number,
]
RNG = numpy.random.default_rng(0)
INPUTS = [
    *RNG.random((5, 20)),
    *(RNG.random((2, 20)) * 0.15),
    *(RNG.random((2, 20)) * 0.5 + 0.5),
    RNG.random(20) * 0.3 + 0.3,
]
COUNTS = {
    gaps, runs, nested, of_a_helper, first_and_last, while_none, matched, matched_or,
    equal_neighbours, unequal_neighbours, else_of_a_loop, else_of_a_loop_that_ends,
}  # fmt: skip


def numbers(f: Any, x: Any) -> Any:
    """The results of f as floats, or its exception's class."""
    try:
        out = f(x)
    except ValueError as error:
        return type(error)
    return [float(v) for v in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values(f: Any) -> None:
    jitted = np.jit(f)
    for x in INPUTS:
        assert numbers(jitted, np.asarray(x)) == pytest.approx(numbers(f, x)), x


@pytest.mark.parametrize("f", FUNCTIONS)
def test_one_trace_without_unrolling(f: Any) -> None:
    jitted = np.jit(f)
    for x in INPUTS[:3]:
        numbers(jitted, np.asarray(x))
    assert str(np.explain(jitted)) == f"jit of {f.__name__}: traced 1 time"


def first_of(f: Any) -> Any:
    def value(x: Any) -> Any:
        out = f(x)
        return (out[0] if isinstance(out, tuple) else out) + 0.0 * x.sum()

    return value


def differences(f: Any, x: Any) -> Any:
    steps = 1e-6 * numpy.eye(len(x))
    return [(float(f(x + h)) - float(f(x - h))) / 2e-6 for h in steps]


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f not in COUNTS])
@pytest.mark.parametrize("jit_inside", [False, True])
def test_gradients(f: Any, jit_inside: bool) -> None:
    value = first_of(np.jit(f)) if jit_inside else np.jit(first_of(f))
    gradient = np.grad(value) if jit_inside else np.jit(np.grad(first_of(f)))
    for x in (x for x in INPUTS if numbers(f, x) is not ValueError):
        got = gradient(np.asarray(x))
        numpy.testing.assert_allclose(got, differences(first_of(f), x), atol=1e-6)


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f is not best_and_place])
def test_examples_at_once(f: Any) -> None:
    xs = numpy.stack(INPUTS)
    got = np.vmap(first_of(np.jit(f)))(np.asarray(xs))
    numpy.testing.assert_allclose(got, [float(first_of(f)(x)) for x in xs], rtol=1e-12)


@pytest.mark.parametrize("f", [returned, added])
def test_other_uses_of_none_are_errors_where_it_is_none(f: Any) -> None:
    jitted = np.jit(f)
    some, none = numpy.linspace(0.6, 1, 5), numpy.linspace(0, 1, 5)
    assert float(jitted(np.asarray(some))) == f(some)
    with pytest.raises(TypeError, match="is None, "):
        float(jitted(np.asarray(none)))


def test_a_result_that_may_be_none() -> None:
    """Where it is None, it is an error: two returns gave 0.0."""
    jitted = np.jit(returned_or_one)
    assert float(jitted(np.asarray([1.0, 2.0]))) == 2.0
    assert float(jitted(np.asarray([1.0, -2.0]))) == 1.0
    with pytest.raises(TypeError, match="the result is None"):
        float(jitted(np.asarray([-1.0, 2.0])))


@pytest.mark.parametrize("f", [raising_while, raising_while_or_not])
@pytest.mark.parametrize("x", [1.0, 0.0, -1.0])
def test_a_while_whose_rounds_raise(f: Any, x: float) -> None:
    assert numbers(np.jit(f), np.asarray([x])) == numbers(f, numpy.array([x]))


def test_none_and_unbound_do_not_mix() -> None:
    with pytest.raises(TypeError, match="`r` may be None"):
        np.jit(mixed)(np.ones(3))
