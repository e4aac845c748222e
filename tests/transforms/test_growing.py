"""Lists to which the rounds of a staged loop append: they hold what Python would have put there."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Array

numpy_or_ours: Any = {}  # the module that the functions below use


def m() -> Any:
    return numpy_or_ours["module"]


def states(x, n):
    ys = []
    y = x * 1.0
    for i in range(n):
        y = y + 0.1 * m().sin(y) * i
        ys.append(y)
    return m().array(ys), ys[0], ys[-1], len(ys)


def with_the_first(x, n):
    y = x * 1.0
    ys = [y]
    for _ in range(n):
        y = 0.5 * (y + 1 / y)
        ys.append(y)
    return m().stack(ys), m().concatenate(ys), m().vstack(ys), m().array(ys[1:3]), ys


def before_the_step(x, n):
    ys, y = [], x * 1.0
    for i in range(n):
        ys.append(y)
        y = y * 0.9 + i
    return m().asarray(ys), y


def numbers(x, n):
    t, ts, es, ks, flags = 0.0, [0.0], [], [], []
    y = x * 1.0
    for k in range(n):
        es.append((y**2).sum())
        y = y * 0.9
        t += 0.25
        ts.append(t)
        ks.append(k * 2)
        flags.append(y.max() > 0.5)
    return m().array(ts), m().array(es), m().array(ks), m().array(flags), es[1], sum(es), y


def pythons_numbers(x, n):
    es, y = [], x * 1.0
    for k in range(n):
        y = y * 0.5
        es.append(float(y.sum()) + k)
    return es, sum(es)


def pairs(x, n):
    log, y = [], x * 1.0
    for k in range(n):
        y = y * 0.75
        log.append((k, y, (y.sum(), 2.5)))
    return log


def twice_a_round(x, n):
    ys, y = [], x * 1.0
    for _ in range(n):
        ys.append(y * 2)
        y = y - 0.125
        ys.append(y)
    return m().array(ys)


def frames(x, n):
    u, kept = x.copy(), []
    for i in range(n):
        u[1:] += 0.5 * u[:-1] + i
        kept.append(u.copy())
        kept.append(u[1:] * 1)
    return u, kept


def zipped(x, n):
    out = []
    for k, (a, b) in enumerate(zip(x, x[::-1])):
        out.append(a * b + k)
    return m().array(out)


def inner_lists(x, n):
    rows = []
    for i in range(n):
        row = []
        for k in range(12):
            row.append(x[0] * k + i)
        rows.append(m().array(row))
    return m().array(rows)


def _record(log, y):
    log.append(y.sum())


def by_a_helper(x, n):
    log, y = [], x * 1.0
    for _ in range(n):
        y = y * 0.5
        _record(log, y)
    return m().array(log)


def exchanged(x, n):
    u, v, log = x * 1.0, x * 1.0, []
    for _ in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
        log.append(u.sum())
    return u, m().array(log)


def other_type_at_first(x, n):
    s, out = 0, []
    for k in range(n):
        s = s + x[k % 3]
        out.append(s)
    return m().array(out)


def changed_afterwards(x, n):
    ys, y = [], x * 1.0
    for i in range(n):
        y = y + i
        ys.append(y * 2)
    ys[0][0] = 7
    ys[1] += 1
    y[1] = 5
    ys.append(y)
    ys.insert(0, y)
    return ys


STAGED = [
    states, with_the_first, before_the_step, numbers, pythons_numbers, pairs, twice_a_round, frames,
    zipped, inner_lists, by_a_helper, exchanged, other_type_at_first, changed_afterwards,
]  # fmt: skip


def read_inside(x, n):
    ys = [x * 1.0]
    for _ in range(n):
        ys.append(ys[-1] * 0.5)
    return ys


def counted_inside(x, n):
    ys = []
    for _ in range(n):
        ys.append(x * len(ys))
    return ys


def two_names(x, n):
    ys = []
    zs, y = ys, x * 1.0
    for _ in range(n):
        y = y * 0.5 if not zs else y * 0.25
        ys.append(y)
    return zs


def in_another_list(x, n):
    both = [[], []]
    ys = both[0]
    for i in range(n):
        ys.append(x * i)
        both[1].append(len(both[0]))
    return both


def in_a_branch(x, n):
    ys, y = [], x * 1.0
    for i in range(n):
        y = y * 0.5
        if i % 3 == 0:
            ys.append(y)
    return ys


def until(x, n):
    ys, y = [], x * 1.0
    for _ in range(n):
        y = y * 0.5
        ys.append(y)
        if len(ys) == 5:
            break
    return ys


def written_later(x, n):
    ys, y = [], x * 1.0
    for _ in range(n):
        y = y * 0.5
        ys.append(y)
        y[0] += 1
    return ys


def the_same_array(x, n):
    ys, y = [], x * 1.0
    for _ in range(n):
        y += 1
        ys.append(y)
    return ys


def views(x, n):
    ys, y = [], x * 1.0
    for _ in range(n):
        y = y * 0.5
        ys.append(y[1:])
        y[1] = 3
    return ys


def the_argument(x, n):
    ys, y = [], x
    for _ in range(n):
        ys.append(y)
        y = y * 0.5
    return ys, ys[0] is x


def one_array_twice(x, n):
    ys, zs = [], []
    for i in range(n):
        y = x * i
        ys.append(y)
        zs.append(y)
    ys[3][0] = 9
    return ys, zs


def other_things(x, n):
    names = []
    for i in range(n):
        names.append(f"{i}")
        names.append([i])
    return x, len(names), names[2] == "1"


UNROLLED = [
    read_inside, counted_inside, two_names, in_another_list, in_a_branch, until, written_later,
    the_same_array, views, the_argument, one_array_twice, other_things,
]  # fmt: skip


def assert_same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
    elif isinstance(want, (numpy.ndarray, numpy.generic)):
        assert isinstance(got, Array) and got.dtype == want.dtype and got.shape == want.shape
        numpy.testing.assert_allclose(got, want, rtol=1e-12)  # type: ignore[arg-type]
    elif isinstance(want, (float, int)) and not isinstance(want, bool):
        assert float(got) == pytest.approx(want, rel=1e-12)
    else:
        assert got == want


def both(f: Any, n: int) -> tuple[Any, Any, Any]:
    x = numpy.random.default_rng(0).random(5) + 0.5
    numpy_or_ours["module"] = numpy
    want = f(x.copy(), n)
    numpy_or_ours["module"] = np
    jitted = np.jit(f, static_argnums=1)
    return jitted, jitted(np.array(x), n), want


@pytest.mark.parametrize("n", [5, 9, 24])
@pytest.mark.parametrize("f", STAGED + UNROLLED, ids=lambda f: f.__name__)
def test_lists_hold_what_python_appends(f: Any, n: int) -> None:
    _, got, want = both(f, n)
    assert_same(got, want)


@pytest.mark.parametrize("f", STAGED, ids=lambda f: f.__name__)
def test_the_loop_is_staged(f: Any) -> None:
    jitted, _, _ = both(f, 24)
    primitives = [e.primitive.name for e in jitted.trace(np.ones(5), 24).eqns]
    assert "scan" in primitives or f is zipped, primitives
    assert "unrolled 2" not in str(np.explain(jitted))


def test_rows_in_order_are_a_part_of_the_stack() -> None:
    """A long history costs no operation for each row, and one compilation for any length."""
    jitted, _, _ = both(with_the_first, 3000)
    used = np.jit(lambda x: m().array(with_the_first(x, 3000)[4]), static_argnums=())
    eqns = used.trace(np.ones(5)).eqns
    assert len(eqns) < 20, len(eqns)


LISTS: Any = {
    "rows": lambda x, order: [x[k] for k in order],
    "nested": lambda x, order: [[x[k, 1], x[0, 0]] for k in order],
    "with another": lambda x, order: [x[k] for k in order] + [x[0] * 2],
    "numbers": lambda x, order: [x[0, k % 3] for k in order],
    "with a list": lambda x, order: [[1.0, 2.0, 3.0]] + [x[k] for k in order],
}


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 1, 2, 3], [2], [0, 0, 1]])
@pytest.mark.parametrize("name", LISTS)
def test_rows_of_any_order(name: str, order: list[int]) -> None:
    want = numpy.array(LISTS[name](numpy.arange(12.0).reshape(4, 3), order))
    x = np.arange(12.0).reshape(4, 3)
    for got in (
        np.jit(lambda x: np.array(LISTS[name](x, order)))(x),
        np.array(LISTS[name](x + 0, order)),
    ):
        numpy.testing.assert_array_equal(got, want)


def test_an_array_that_is_in_a_list_and_in_a_variable_is_read_only() -> None:
    def f(x: Any, of_the_list: bool) -> Any:
        ys, y = [], x * 1.0
        for i in range(20):
            y = y + i
            ys.append(y)
        (ys[-1] if of_the_list else y).fill(9)
        return ys, y

    for which in (False, True):
        with pytest.raises(TypeError, match="a loop gives an array another name"):
            np.jit(f, static_argnums=1)(np.ones(3), which)


def test_derivatives() -> None:
    numpy_or_ours["module"] = np

    def loss(x: Any, **options: Any) -> Any:
        made = np.jit(lambda x: states(x, 20)[0], **options)
        return (made(x) ** 2).sum()

    x = np.linspace(0.5, 1.5, 5)
    got, want = (np.grad(loss)(x, **o) for o in ({}, {"loops": "unroll"}))
    numpy.testing.assert_allclose(got, want, rtol=1e-12)
    numpy.testing.assert_allclose(
        np.vmap(lambda x: np.jit(states, static_argnums=1)(x, 20)[0])(np.stack([x, 2 * x]))[1],
        states(2 * x, 20)[0],
    )
