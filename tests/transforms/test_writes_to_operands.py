"""Writes of branches to their operands and elsewhere: as under Python's `if`."""

import itertools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import checkpoint, cond, custom_jvp, custom_vjp, grad, jit, jvp, scan, switch, vmap
from tests.helpers import POLICIES


def total(a):
    return a.sum()


def first(a):
    a[0] = 9.0
    return a.sum()


def doubled(a):
    a *= 2
    return a.sum()


def through_views(a):
    rows = a.reshape(2, 3).T
    rows[1:] += rows[:-1]
    return a[2]


def sorted_down(a):
    a.sort()
    return a[::-1][0]


def by_mask(a):
    a[a > 2] = -1.0
    return a.sum()


WRITERS = [first, doubled, through_views, sorted_down, by_mask]
START = numpy.array([3.0, 1.0, 2.0, 5.0, 0.5, 4.0])


@pytest.mark.parametrize("transformed", [lambda f: f, jit, checkpoint], ids=["", "jit", "remat"])
@pytest.mark.parametrize("write", WRITERS, ids=lambda f: f.__name__)
def test_an_operand_written_by_the_chosen_branch(write, transformed) -> None:
    f = transformed(lambda p, a: cond(p, write, total, a))
    for p in (True, False):
        x, want = np.array(START), START.copy()
        got = f(p, x)
        assert float(got) == pytest.approx((write if p else total)(want))
        numpy.testing.assert_array_equal(x, want)


def test_switch_writes_as_python_would() -> None:
    for transformed in (lambda f: f, jit):
        f = transformed(lambda i, a: switch(i, WRITERS, a))
        for i, write in enumerate(WRITERS):
            x, want = np.array(START), START.copy()
            assert float(f(i, x)) == pytest.approx(write(want))
            numpy.testing.assert_array_equal(x, want)


def _aliased(choose):
    """Operands that share memory with each other, and with a captured array."""

    def f(np, p, x):
        tail, same = x[2:], x

        def then(a, b, c):
            a[0] = 7.0
            b += 1.0  # a view of a: it sees writes, and its writes are seen
            same[1] = c[0] + a[3]
            return b.sum() + c.sum()

        def otherwise(a, b, c):
            b[:] = a[:4]
            return same[2] * c[0]

        return choose(p, then, otherwise, x, tail, x)

    return f


def _python(p, then, otherwise, *operands):
    return then(*operands) if p else otherwise(*operands)


@pytest.mark.parametrize("transformed", [lambda f: f, jit], ids=["", "jit"])
def test_operands_that_share_memory(transformed) -> None:
    f = transformed(lambda p, x: _aliased(cond)(np, p, x))
    for p in (True, False):
        x, want = np.array(START), START.copy()
        assert float(f(p, x)) == pytest.approx(_aliased(_python)(numpy, p, want))
        numpy.testing.assert_array_equal(x, want)


def test_a_view_as_operand() -> None:
    """Also one whose place is known only when the program runs."""

    def f(i, x):
        row = x[i]
        cond(row[0] > 3, lambda r: r.fill(0.0), lambda r: r.__setitem__(slice(1, None), r[0]), row)
        return row.sum()

    for transformed in (lambda f: f, jit):
        x, want = np.array(START.reshape(3, 2)), START.reshape(3, 2).copy()
        g = transformed(f)
        for i in range(3):
            row = want[i]
            row[:] = 0.0 if row[0] > 3 else row[0]
            assert float(g(i, x)) == pytest.approx(row.sum())
            numpy.testing.assert_array_equal(x, want)


def test_arrays_of_numpy_are_written() -> None:
    for transformed in (lambda f: f, jit, checkpoint):
        x = START.copy()
        transformed(lambda a: cond(True, first, total, a))(x)
        assert x[0] == 9.0
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            transformed(lambda a: cond(True, doubled, total, a))(x)
        assert x[1] == 1.0
    y = START.copy()

    def both(a, b):
        a[0] = 8.0
        return b[0]

    assert float(cond(True, both, lambda a, b: b[1], y, y)) == 8.0


class Derived(np.ndarray):
    """An array of a class of the user's."""


def test_arrays_of_derived_classes_are_written() -> None:
    for f in (jit(first), grad(first), checkpoint(first), lambda a: cond(True, first, total, a)):
        x = np.array(START).view(Derived)
        f(x)
        numpy.testing.assert_array_equal(x, [9.0, *START[1:]])
        assert type(x) is Derived


def test_jit_writes_no_array_that_is_read_only() -> None:
    f = jit(first)
    x = START.copy()
    f(x)
    assert x[0] == 9.0
    y = START.copy()
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(y)
    assert y[0] == 3.0
    z = np.broadcast_to(np.array([1.0]), (6,))
    for transformed in (f, grad(first), lambda a: jvp(first, (a,), (np.ones(6),))):
        with pytest.raises(ValueError, match="read-only"):
            transformed(z)
        with pytest.raises(ValueError, match="read-only"):
            transformed(y)


@pytest.mark.parametrize("write", WRITERS, ids=lambda f: f.__name__)
def test_derivatives_by_what_is_written(write) -> None:
    def f(x):
        y = x * 1.5
        r = cond(x[0] > 0, write, total, y)
        return (y**2).sum() * r

    def plain(x):
        y = x * 1.5
        r = write(y) if x[0] > 0 else total(y)
        return (y**2).sum() * r

    x = np.array(START)
    for g in (grad(f), jit(grad(f)), grad(jit(f))):
        numpy.testing.assert_allclose(g(x), grad(plain)(x))
        numpy.testing.assert_allclose(g(-x), grad(plain)(-x))
    numpy.testing.assert_array_equal(x, START)
    rows = np.stack([x, -x])
    numpy.testing.assert_allclose(vmap(grad(f))(rows), [grad(plain)(x), grad(plain)(-x)])


def test_batched_predicates_write_the_examples_they_choose() -> None:
    x, want = np.array(numpy.stack([START, -START])), numpy.stack([START, -START])
    vmap(lambda a: cond(a[0] > 0, first, doubled, a))(x)
    first(want[0])
    doubled(want[1])
    numpy.testing.assert_array_equal(x, want)
    shared = np.array(START)
    with pytest.raises(ValueError, match=r"argument 1 \(in_axes None\)"):
        vmap(lambda p, a: cond(p, first, doubled, a), (0, None))(np.array([True, False]), shared)
    numpy.testing.assert_array_equal(shared, START)


def test_nothing_is_written_by_a_branch_that_fails() -> None:
    def bad(a, i):
        a[0] = 100.0
        return a[i]

    for transformed in (lambda f: f, jit):
        f = transformed(lambda a, i: cond(True, bad, lambda a, i: a[1:2], a, i))
        x = np.array(START)
        with pytest.raises(IndexError):
            f(x, np.array([7]))
        numpy.testing.assert_array_equal(x, START)
    x = np.array(START)
    with pytest.raises(ZeroDivisionError):
        cond(True, first, lambda a: first(a) / (1 // 0), x)
    numpy.testing.assert_array_equal(x, START)


def test_results_are_new_arrays() -> None:
    x = np.array(START)
    y = cond(True, lambda a: a, lambda a: a + 1, x)
    y[0] = 50.0
    assert x[0] == 3.0


def test_the_carry_of_a_loop_is_its_own() -> None:
    """A body may work in place on its carry; the initial carry stays as it is."""
    x = np.array(START)

    def body(c, _):
        c[1:] += c[:-1]
        return c, c[0]

    last, _ = scan(body, x, length=2)
    want = START.copy()
    for _ in range(2):
        want[1:] += want[:-1].copy()
    numpy.testing.assert_allclose(last, want)
    numpy.testing.assert_array_equal(x, START)
    numpy.testing.assert_allclose(np.fori_loop(0, 2, lambda i, c: body(c, i)[0], x), want)
    done = np.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, body(s[1], 0)[0]), (0, x))[1]
    numpy.testing.assert_allclose(done, want)
    numpy.testing.assert_array_equal(x, START)


def test_custom_rules_say_that_arguments_are_written() -> None:
    f = custom_jvp(first)
    f.defjvp(lambda primals, tangents: (total(*primals), total(*tangents)))
    g = custom_vjp(total)
    g.defvjp(lambda a: (first(a), a), lambda a, ct: (ct * a,))
    for broken in (f, jit(f), grad(g), jit(grad(g))):
        x = np.array(START)
        with pytest.raises(TypeError, match="leaf 0 of its arguments, .* in place; write a copy"):
            broken(x)
        numpy.testing.assert_array_equal(x, START)


def test_arguments_that_share_memory_are_not_written_unnoticed() -> None:
    """Each argument of a derivative or of vmap is independent of the others."""

    def f(a, b):
        a[0] = 5.0
        return (b * b).sum()

    def pushed(a, b):
        return jvp(f, (a, b), (a * 1.0, b * 1.0))

    for transformed, shape in ((grad(f, (0, 1)), (6,)), (pushed, (6,)), (vmap(f), (2, 3))):
        x = np.array(START.reshape(shape))
        with pytest.raises(
            ValueError, match="leaf 0 of the arguments .* shares memory with leaf 1"
        ):
            transformed(x, x[:])
        numpy.testing.assert_array_equal(x, START.reshape(shape))
    x = np.array(START)
    assert grad(lambda a, b: (a * b).sum(), (0, 1))(x, x)[0].tolist() == START.tolist()


APART = {
    "halves": lambda x: (x[:3], x[3:]),
    "every second": lambda x: (x[::2], x[1::2]),
    "backwards": lambda x: (x[2::-1], x[5:2:-1]),
    "rows": lambda x: (x.reshape(2, 3)[0], x.reshape(2, 3)[1]),
    "columns": lambda x: (x.reshape(3, 2)[:, 0], x.reshape(3, 2).T[1]),
}


@pytest.mark.parametrize("name", APART)
def test_views_of_one_array_that_have_nothing_in_common(name):
    views = APART[name]

    def f(a, b):
        a *= 2
        b[0] += a[1]
        return (a * b * b).sum()

    for transformed in (grad(f, (0, 1)), jit(grad(f, (0, 1)))):
        for _ in range(40):  # a kept program serves later calls
            x, y = np.array(START), np.array(START)
            got = transformed(*views(x))
            a, b = [v.copy() for v in views(y)]
            wanted = grad(f, (0, 1))(a, b)
            for g, w in zip(got, wanted, strict=True):
                numpy.testing.assert_allclose(g, w)
            for g, w in zip(views(x), (a, b), strict=True):
                numpy.testing.assert_allclose(g, w)
    x = np.array(START)
    tangents = [v * 0 + 1 for v in views(x)]
    value, slope = jvp(f, views(x), tuple(tangents))
    a, b = [v.copy() for v in views(np.array(START))]
    assert value == f(a, b)
    inside = jit(lambda x: grad(f, (0, 1))(*views(x * 1)))(np.array(START))
    for g, w in zip(inside, wanted, strict=True):
        numpy.testing.assert_allclose(g, w)
    assert float(slope) == pytest.approx(float(sum(w.sum() for w in wanted)))
    for overlapping in ((x[:3], x[2:5]), (x[::2], x[2:5])):
        with pytest.raises(ValueError, match="shares memory"):
            grad(f, (0, 1))(*overlapping)


@pytest.mark.parametrize("policy", POLICIES)
def test_large_captured_arrays_written_one_after_the_other(policy: str) -> None:
    """Operands that are not written are read anew at every call."""
    a, b = np.zeros((200, 200)), np.zeros((200, 200))

    @np.jit
    def store(x: Any) -> None:
        a[1:-1] = x
        b[1:-1] = x

    with np.config(execution=policy):
        for k in range(1, 4):
            a[0], b[0] = -k, 10.0 * k
            store(float(k))
            for array, border in ((a, -k), (b, 10 * k)):
                assert (float(array[0, 7]), float(array[5, 7])) == (border, k)


# -- every pair of transformations -----------------------------------------------------------------

OUTSIDE = np.zeros(3)


def captured(x):
    """Writes an array from outside, also through a view of it."""
    rest = OUTSIDE[1:]
    OUTSIDE[0] = x
    rest[0] = x * x * OUTSIDE[0]
    rest[1] = rest[0] * x
    return (OUTSIDE * OUTSIDE).sum() * x


def in_branches(x):
    y = np.zeros(2)

    def larger(x):
        y[0] = x * x
        return x

    def smaller(x):
        y[1] = x
        return x * x

    r = cond(x > 1, larger, smaller, x)
    return r * y.sum() + y[0]


def in_bodies(x):
    y = np.zeros(4)

    def body(c, i):
        y[i] = c * x
        y[i + 1] += y[i]
        return y[i] + c, c * y[i]

    c, ys = scan(body, x, np.arange(3))
    return c + ys.sum() + (y * y).sum()


def in_a_gradient(x):
    y = np.zeros(2)

    def inner(z):
        y[0] = z * z
        y[1] += z
        return y.sum() * z

    return grad(inner)(x) * y[0] + y[1]


PLAIN = {
    "jit": jit,
    "checkpoint": checkpoint,
    "cond": lambda f: lambda x: cond(True, f, lambda x: x, x),
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x, x])).sum() / 2,
}
DERIVATIVES = {
    "grad": grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
}
AT = 1.3


def _differences(f):
    """Zeroth to second derivative."""
    h = 1e-3
    low2, low, mid, high, high2 = (float(f(AT + k * h)) for k in (-2, -1, 0, 1, 2))
    first = (8 * (high - low) - (high2 - low2)) / (12 * h)
    return mid, first, (-high2 + 16 * high - 30 * mid + 16 * low - low2) / (12 * h * h)


@pytest.mark.parametrize(
    "f", [captured, in_branches, in_bodies, in_a_gradient], ids=lambda f: f.__name__
)
def test_every_pair_of_transformations(f) -> None:
    want, every = _differences(f), PLAIN | DERIVATIVES
    for outer, inner in itertools.product(every, repeat=2):
        if f is captured and "vmap" in (outer, inner):
            continue  # refused: another value for each example
        OUTSIDE[:] = 0.0
        got = every[outer](every[inner](f))(AT)
        order = (outer in DERIVATIVES) + (inner in DERIVATIVES)
        assert float(got) == pytest.approx(want[order], rel=1e-6), (outer, inner)
        if f is captured:
            assert OUTSIDE.tolist() == pytest.approx([AT, AT**3, AT**4])


def test_an_argument_written_in_a_gradient_that_is_jitted() -> None:
    def f(a, x):
        a[0] = a[1] * x
        a[1:] *= 3
        return (a * a).sum()

    want = np.array([1.0, 2.0, 3.0])
    slopes = grad(f, (0, 1))(want, 2.0)
    for a in (np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0])[1:]):
        got = jit(grad(f, (0, 1)))(a, 2.0)
        numpy.testing.assert_allclose(got[0], slopes[0])
        assert got[1] == slopes[1] and a.tolist() == want.tolist() == [4.0, 6.0, 9.0]


@pytest.mark.parametrize("wrapped", [lambda f: f, jit, checkpoint], ids=["", "jit", "remat"])
def test_what_is_the_same_for_all_examples_is_written_outside_under_vmap(wrapped) -> None:
    a = np.zeros(4)

    def step(c, i):
        a[1] += i
        return c, c

    def round_(c):
        a[3] = c
        return c + 1

    def f(x):
        a[0] += 1.0
        scan(step, x, np.arange(3))
        cond(a[0] > 0, lambda: a.__setitem__(2, 7.0), lambda: None)
        np.while_loop(lambda c: c < 2, round_, 0)
        return x * 2

    assert vmap(wrapped(f))(np.arange(3.0)).tolist() == [0, 2, 4]
    assert a.tolist() == [1, 3, 7, 1]
    with pytest.raises(ValueError, match="another value for each example"):
        vmap(wrapped(lambda x: (a.__setitem__(0, x), x)[1]))(np.arange(3.0))
