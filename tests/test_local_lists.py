"""Lists of numbers that a hot function makes: changed at indices that are only traced, in staged
loops and branches. Their elements have the types that Python gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.local_list_programs import Generator
from tests.promoting import front, promoting

SIZE = 20
XS = [numpy.random.default_rng(k).integers(0, 4, SIZE) * 1.0 for k in range(3)]


def counts(x: Any) -> Any:
    count = [0] * 4
    for i in range(x.shape[0]):
        count[int(x[i])] += 1
    return count


def as_array(x: Any) -> Any:
    return np.array(counts(x)), sum(counts(x)), max(counts(x)), len(counts(x))


def marks(x: Any) -> Any:
    seen = [False] * SIZE
    for i in range(x.shape[0]):
        if not seen[int(x[i]) + 1]:
            seen[int(x[i]) + 1] = True
    return seen, sum(seen), any(seen), all(seen), seen[0], seen[2]


def in_a_branch(x: Any) -> Any:
    last = [-1.0] * 3
    if x[0] > 1:
        last[2] = 2.5
    elif x[1] > 1:
        last[0] = float(x[1])
    return last


def of_floats(x: Any) -> Any:
    new = [0.0] * SIZE
    for i in range(1, x.shape[0]):
        if x[i] > 1:
            new[i] = float(x[i]) * 2 + new[i - 1]
    return new


def in_while(x: Any) -> Any:
    stack, top, i = [0] * (SIZE + 1), 0, 0
    while i < x.shape[0]:
        if x[i] > 0:
            stack[top] = i
            top += 1
        i += 1
    return stack, top


def appended(x: Any) -> Any:
    found = []
    for i in range(4):
        found.append(i)
    found.append(7)
    found.extend([1, 2])
    found.pop()
    for i in range(x.shape[0]):
        found[int(x[i])] += i
    return found


def stacked(x: Any) -> Any:
    found = [0.0]
    for i in range(1, x.shape[0]):
        found.append(found[-1] + float(x[i]))
    return found


def swapped(x: Any) -> Any:
    p = list(range(SIZE))
    for i in range(x.shape[0]):
        j = int(x[i])
        p[i], p[j] = p[j], p[i]
    return p


def rows(x: Any) -> Any:
    before = [0] * (SIZE + 1)
    for i in range(1, x.shape[0]):
        now, other = before[:], before.copy()
        for j in range(1, SIZE):
            if x[j] > x[i]:
                now[j] = before[j - 1] + 1
                other[j - 1] = -1
        before = now
    return before, other


def joined(x: Any) -> Any:
    found = [0] + [1, 2] + [3] * 2
    found[int(x[0])] -= 5
    return found, found * 2


def aliases(x: Any) -> Any:
    a = [0] * 4
    b = a
    for i in range(x.shape[0]):
        a[int(x[i])] += 1
        b[0] += 1
    return a, b[1], b is a


def in_a_dict(x: Any) -> Any:
    table = {"count": [0] * 4}
    for i in range(x.shape[0]):
        table["count"][int(x[i])] += 1
    return table


def bump(count: Any, j: Any) -> None:
    count[j] += 1


def in_a_call(x: Any) -> Any:
    count = [0] * 4
    for i in range(x.shape[0]):
        bump(count, int(x[i]))
    return count


def of_numpys(x: Any) -> Any:
    found = [x[0]] * 4
    for i in range(x.shape[0]):
        found[int(x[i])] = found[int(x[i])] + x[i]
    return found


# -- long lists, which loops and branches carry as one array ---------------------------------------


def histogram(x: Any) -> Any:
    count = [0] * 300
    for i in range(x.shape[0]):
        count[int(x[i])] += 1
    return count, sum(count), max(count), len(count)


def prefixes(x: Any) -> Any:
    sums, high = [0.0] * 200, [False] * 200
    for i in range(1, x.shape[0]):
        sums[i] = sums[i - 1] + float(x[i])
        if sums[i] > 3:
            high[i] = True
        elif sums[i] > 1:
            high[0] = False
    return sums, high, np.array(sums)


def in_while_with_constants(x: Any) -> Any:
    s, i = [0] * 100, 0
    while i < x.shape[0]:
        j = int(x[i])
        s[0] = s[j] + 1
        s[j] += 1
        s[-1] = i
        i += 1
    return s, s[0], s[99]


def chains(x: Any) -> Any:
    s = [1] * 100
    a = s
    for i in range(x.shape[0]):
        for j in range(i):
            if x[i] > x[j] and s[j] + 1 > s[i]:
                s[i] = s[j] + 1
    b = s[:]
    b[3] = 7
    if x[0] > 1:
        b[int(x[1])] = 5
    return s, b, a is s


def reduced(x: Any) -> Any:
    s, t, b = [1] * 60, [0.5] * 30, [False] * 20
    for i in range(x.shape[0]):
        s[int(x[i])] += i
        t[int(x[i])] -= float(x[i])
        if x[i] > 2:
            b[int(x[i])] = True
    sums = sum(s), sum(s, 5), sum(b)
    return *sums, max(s), min(s), max(t), min(t), max(b), any(s), all(s), any(b), all(b), s[3] in s


def across_branches(x: Any) -> Any:
    s = list(range(40))
    t = [0] * 40
    if x[0] > 0:
        s[int(x[1])] = 50
        t[2] = 1
    else:
        s[3] = 60
        t[int(x[1])] = 2
    s[4] += 1
    return s, t


def constants_first(x: Any) -> Any:
    s = [0] * 40
    for i in range(x.shape[0]):
        s[0] = i
        s[int(x[i])] += 1
        s[1] = 2
    return s


GOOD = [
    histogram, prefixes, in_while_with_constants, chains, reduced, across_branches,
    constants_first, counts, as_array, marks, in_a_branch, of_floats, in_while, appended, stacked,
    swapped, rows, joined, aliases, in_a_dict, in_a_call, of_numpys,
]  # fmt: skip


def float_or_numpys(x: Any) -> Any:
    u = [0.0] * SIZE
    if x[0] > 1:
        u[3] = x[3] * 2
    return u


def float_or_numpys_in_a_loop(x: Any) -> Any:
    u = [0.0] * 4
    for i in range(x.shape[0]):
        u[int(x[i])] = x[i]
    return u


def int_or_float(x: Any) -> Any:
    u = [0.0] * 3
    if x[0] > 1:
        u[1] = 2
    return u


def int_or_float_in_a_loop(x: Any) -> Any:
    u = [0] * 4
    for i in range(x.shape[0]):
        if x[i] > 2:
            u[1] = 0.5
    return u


def int_or_bool(x: Any) -> Any:
    u = [0] * SIZE
    for i in range(x.shape[0]):
        if x[i] > 1:
            u[i] = True
    return u


def other_lists(x: Any) -> Any:
    u = [0.0, 1.0]
    if x[0] > 1:
        u = [1, 2]
    return u


def float_or_numpys_in_a_long_list(x: Any) -> Any:
    u = [0.0] * 100
    for i in range(x.shape[0]):
        u[9 + int(x[i])] = x[i]
    return u


def int_or_float_in_a_long_list(x: Any) -> Any:
    u = [0] * 100
    u[int(x[0])] = 3
    if x[1] > 1:
        u[int(x[0])] = 0.5
    return u


REFUSED = [
    float_or_numpys_in_a_long_list, int_or_float_in_a_long_list,
    float_or_numpys, float_or_numpys_in_a_loop, int_or_float, int_or_float_in_a_loop, int_or_bool,
    other_lists,
]  # fmt: skip


def outside_of(x: Any) -> Any:
    u = [0] * 3
    for i in range(x.shape[0]):
        u[int(x[i])] += 1
    return u


GIVEN = [0] * 4


def from_outside(x: Any) -> Any:
    u = GIVEN
    for i in range(x.shape[0]):
        u[int(x[i])] += 1
    return u[0]


class Rows:
    """Gives its own list for any slice."""

    def __init__(self) -> None:
        self.rows = [0] * 4

    def __getitem__(self, _: Any) -> Any:
        return self.rows

    def __add__(self, _: Any) -> Any:
        return self.rows


ROWS = Rows()


def of_an_object(x: Any) -> Any:
    u = ROWS[:]
    for i in range(x.shape[0]):
        u[int(x[i])] += 1
    return u[0], (ROWS + 1)[1]


@pytest.fixture
def hot() -> Iterator[None]:
    with promoting():
        yield


def kinds(out: Any) -> Any:
    """Values with their types."""
    if isinstance(out, dict):
        return {k: kinds(v) for k, v in out.items()}
    if isinstance(out, (list, tuple)):
        return type(out), [kinds(v) for v in out]
    if isinstance(out, np.ndarray):
        return out.dtype, out.tolist()
    return type(out), out


@pytest.mark.own_policy
@pytest.mark.parametrize("f", GOOD)
def test_programs_give_pythons_lists(f: Any, hot: None) -> None:
    want = [kinds(f(np.asarray(x))) for x in XS]
    made = front(f)
    for _ in range(3):
        assert [kinds(f(np.asarray(x))) for x in XS] == want
    assert made.programs == 1, made.explained()


@pytest.mark.own_policy
@pytest.mark.parametrize("f", GOOD)
def test_two_calls_give_two_lists(f: Any, hot: None) -> None:
    front(f)
    x = np.asarray(XS[0])
    for _ in range(3):
        first, second = f(x), f(x)
        assert kinds(first) == kinds(second)
        if isinstance(first, list):
            first[0] = None
            assert kinds(first) != kinds(second) and kinds(f(x)) == kinds(second)


@pytest.mark.own_policy
@pytest.mark.parametrize("f", REFUSED)
def test_types_that_depend_on_values_stay_with_python(f: Any, hot: None) -> None:
    want = [kinds(f(np.asarray(x))) for x in XS]
    made = front(f)
    for _ in range(3):
        assert [kinds(f(np.asarray(x))) for x in XS] == want
    assert not made.programs
    assert "list" in made.explained()


@pytest.mark.parametrize("f", GOOD)
def test_the_same_under_jit(f: Any) -> None:
    jitted = np.jit(f)
    for x in XS:
        want, got = f(np.asarray(x)), jitted(np.asarray(x))
        for w, g in zip(np.tree.leaves(want), np.tree.leaves(got), strict=True):
            assert numpy.array_equal(numpy.asarray(w), numpy.asarray(g)), (w, g)


def test_derivatives_through_a_list() -> None:
    def f(x: Any) -> Any:
        u = [0.0] * 40
        for i in range(x.shape[0]):
            u[(7 * i) % 40] = x[i] * x[i]
            u[3] = u[3] + x[i]
        return u[7] * u[3] + sum(u)

    x = numpy.random.default_rng(3).random(SIZE)
    step = 1e-6 * numpy.eye(SIZE)
    slopes = [(float(f(np.asarray(x + h))) - float(f(np.asarray(x - h)))) / 2e-6 for h in step]
    for gradient in (np.grad(f), np.jit(np.grad(f)), np.grad(np.jit(f))):
        numpy.testing.assert_allclose(gradient(np.asarray(x)), slopes, rtol=1e-5, atol=1e-5)
    rows = numpy.stack([x, x[::-1]])
    both = np.vmap(np.jit(f))(np.asarray(rows))
    numpy.testing.assert_allclose(both, [f(r) for r in rows], rtol=1e-12)


def one_of_two(x: Any) -> Any:
    s, t = [0] * 3, [1] * 3
    if x[0] > 1:
        s = t
    return s, t


def one_of_two_alone(x: Any) -> Any:
    return one_of_two(x)[0]


def whether_it_is(x: Any) -> Any:
    t = s = [0] * 3
    if x[0] > 1:
        s = t.copy()
    return t is s, s is not t


@pytest.mark.own_policy
def test_whether_a_list_is_another(hot: None) -> None:
    made = front(whether_it_is)
    for _ in range(4):
        for first in (2.0, 0.0):
            assert whether_it_is(np.asarray([first, 1.0])) == (first <= 1, first > 1)
    assert "compared by `is`" in made.explained()


@pytest.mark.own_policy
@pytest.mark.parametrize("f", [one_of_two, one_of_two_alone])
def test_a_list_that_a_branch_picks_is_that_list(f: Any, hot: None) -> None:
    front(f)
    for _ in range(4):
        for first in (2.0, 0.0):
            found = f(np.asarray([first, 1.0]))
            if f is one_of_two:
                assert (found[0] is found[1]) == (first > 1)
            else:
                assert found == [int(first > 1)] * 3


@pytest.mark.own_policy
def test_an_index_out_of_bounds_is_pythons_error(hot: None) -> None:
    good = [numpy.minimum(x, 2) for x in XS]
    want = [kinds(outside_of(np.asarray(x))) for x in good]
    made = front(outside_of)
    for _ in range(3):
        assert [kinds(outside_of(np.asarray(x))) for x in good] == want
    assert made.programs == 1, made.explained()
    with pytest.raises(IndexError, match="list index out of range"):
        outside_of(np.asarray(XS[0] * 0 + 3))


@pytest.mark.own_policy
@pytest.mark.parametrize("f", [from_outside, of_an_object])
def test_lists_of_others_are_changed_by_each_call(f: Any, hot: None) -> None:
    GIVEN[:] = ROWS.rows[:] = [0] * 4
    x = np.asarray(XS[0])
    first = kinds(f(x))
    front(f)
    found = [kinds(f(x)) for _ in range(4)]
    GIVEN[:] = ROWS.rows[:] = [0] * 4
    with np.config(promotion=False):
        assert [first, *found] == [kinds(f(x)) for _ in range(5)]


@pytest.mark.own_policy
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int, tmp_path: Any, hot: None) -> None:
    """With a program or without one, each call gives what Python gives."""
    source = Generator(seed).source()
    path = tmp_path / "lists.py"
    path.write_text(source)
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    f = space["f"]
    want = [kinds(f(np.asarray(x))) for x in XS]
    made = front(f)
    for _ in range(3):
        assert [kinds(f(np.asarray(x))) for x in XS] == want, (source, made.explained())
    assert "differ" not in made.explained(), source
