"""Branches that read and write single elements cost what these elements cost, in both modes.

The same source runs on NumPy with Python's own branches, and on lazynp with `cond` in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import cond, fori_loop, grad, jit, jvp, make_jaxpr, switch, vmap
from lazynp._jaxpr import Eqn, Jaxpr, jaxprs_in

N = 16
Body = Callable[..., Any]  # of the index, a number, three arrays, and `cond`


def _if(p: Any, yes: Any, no: Any) -> Any:
    return yes() if p else no()


def reads(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    return cond(x[i] > 0.5, lambda: c + x[i] * y[i - 1], lambda: c - y[k[i]] ** 2)


def reads_one_side(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    return c + cond(x[i] > 0.5, lambda: x[i - 2], lambda: 1.5)


def writes(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        y[i] = x[i] * c + y[i - 1]
        return y[i] + 1.0

    def no() -> Any:
        y[i - 1] = x[i] * 2.0
        return c

    return cond(x[i] > 0.5, yes, no)


def writes_one_side(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        x[k[i]] = x[k[i]] * y[i]

    cond(y[i] > x[i], yes, lambda: None)
    return c * 0.5 + x[i]


def swaps(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    """One exchange of a bubble sort."""

    def yes() -> Any:
        x[i], x[i - 1] = x[i - 1], x[i]

    cond(x[i] < x[i - 1], yes, lambda: None)
    return c


def reads_what_it_wrote(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        x[i] = 2.0 * x[i] + c
        x[k[i]] += x[i]
        x[i] -= x[k[i]] * 0.25
        return x[i] + x[k[i] - 1]

    def no() -> Any:
        x[3] = y[k[k[i]]]
        x[i] = x[3] + x[-1]
        return c - x[k[i]]

    return cond(y[i] > 0.4, yes, no)


def nested(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def inner() -> Any:
        y[i] = c * x[i]
        return y[i - 1]

    def yes() -> Any:
        y[i - 1] = x[i]
        return cond(x[i - 1] > y[i], inner, lambda: x[k[i]] + 1.0)

    return cond(x[i] > 0.3, yes, lambda: c + 0.5)


def an_index_computed_inside(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        j = np.minimum(k[i] * 2 % 5, 7) if isinstance(k, np.ndarray) else min(k[i] * 2 % 5, 7)
        y[j] = y[j] + x[j + 1]
        return y[j]

    return cond(x[i] > 0.5, yes, lambda: c)


def an_index_from_numbers(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        j = np.int64(x[i] * 10) if isinstance(x, np.ndarray) else numpy.int64(x[i] * 10)
        y[j] = y[j] + x[j - 1] * c
        return y[j - 1]

    return cond(x[i] > 0.5, yes, lambda: c)


def whole(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    """Used as a whole as well."""

    def yes() -> Any:
        y[i] = x.sum() - y[i - 1]
        return c + y[2]

    def no() -> Any:
        x[1:4] = x[i]
        return c - x[0]

    return cond(y[i] > 0.5, yes, no)


def returned(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    """An array that branches return, and one that is another in each."""

    def yes() -> Any:
        y[i] = 2.0
        return y, x

    a, b = cond(x[i] > 0.5, yes, lambda: (y, y))
    return c + a[i] + b[i - 1]


def an_index_that_the_branch_wrote(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        k[3] = k[i] % 7
        y[i] = x[k[3]] * c
        k[3] = k[3] + 1
        x[k[3]] = y[k[3] - 1]
        return x[k[k[3]] % 4]

    return cond(x[i] > 0.5, yes, lambda: c)


def reads_all_and_writes(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        y[i] = x.sum() - y.max()
        return c + y[i - 1]

    return cond(x[i] > 0.5, yes, lambda: c)


def nested_with_an_index_inside(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    """The branch around it reads the element that the inner one may not write."""

    def yes() -> Any:
        j = np.int64(x[i] * 10) if isinstance(x, np.ndarray) else numpy.int64(x[i] * 10)

        def inner() -> Any:
            y[j] = x[j] + c
            return c + 1

        return cond(c > 0.2, inner, lambda: c)

    return cond(x[i] > 0.3, yes, lambda: c)


def writes_a_copy_too(i: Any, c: Any, x: Any, y: Any, k: Any, cond: Any) -> Any:
    def yes() -> Any:
        z = y.copy()
        z[i] = 2.0 * c
        y[i - 1] = 3.0
        return c + z[i - 1] + y[i]

    return cond(x[i] > 0.5, yes, lambda: c)


ELEMENTS = [
    reads, reads_one_side, writes, writes_one_side, swaps, reads_what_it_wrote, nested,
    an_index_computed_inside, an_index_from_numbers,
    an_index_that_the_branch_wrote, reads_all_and_writes, nested_with_an_index_inside,
]  # fmt: skip
INSIDE = [
    an_index_from_numbers,
    an_index_that_the_branch_wrote,
    nested_with_an_index_inside,
    reads_all_and_writes,
]  # only the branch knows it, or it reads the array
BODIES = [*ELEMENTS, whole, returned, writes_a_copy_too]


def by_loop(body: Body, x: Any, y: Any, k: Any) -> Any:
    x, y, k = x.copy(), y.copy(), k.copy()
    c = fori_loop(2, N, lambda i, c: body(i, c, x, y, k, cond), 1.0)
    return c, x, y


def by_python(body: Body, x: Any, y: Any, k: Any) -> Any:
    x, y, k, c = x.copy(), y.copy(), k.copy(), x[0] * 0 + 1.0
    for i in range(2, N):
        c = body(i, c, x, y, k, _if)
    return c, x, y


def operands(seed: int = 0) -> Any:
    rng = numpy.random.default_rng(seed)
    return rng.random(N), rng.random(N), rng.integers(-N, N, N)


def total(run: Any, body: Body, y: Any, k: Any) -> Any:
    def f(x: Any) -> Any:
        c, a, b = run(body, x, y, k)
        return c + (a * np.arange(1.0, N + 1)).sum() + (b * b).sum()

    return f


def close(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("body", BODIES)
def test_they_are_what_python_makes_of_them(body: Body) -> None:
    for seed in range(2):
        x, y, k = operands(seed)
        lazy = np.array(x), np.array(y), np.array(k)
        close(jit(by_loop, static_argnums=0)(body, *lazy), by_python(body, x, y, k))
        want = grad(total(by_python, body, lazy[1], lazy[2]))(lazy[0])
        got = jit(grad(total(by_loop, body, lazy[1], lazy[2])))(lazy[0])
        numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
        pushed = jvp(total(by_loop, body, lazy[1], lazy[2]), lazy[:1], (np.ones(N),))[1]
        numpy.testing.assert_allclose(pushed, want.sum(), rtol=1e-9)


@pytest.mark.parametrize("body", BODIES)
def test_examples_that_take_other_branches(body: Body) -> None:
    many = [operands(seed) for seed in range(3)]
    stacked = [np.array(numpy.stack(a)) for a in zip(*many, strict=True)]
    outs = vmap(lambda x, y, k: by_loop(body, x, y, k))(*stacked)
    for e, one in enumerate(many):
        close([numpy.asarray(o)[e] for o in outs], by_python(body, *one))


def test_arrays_from_outside_of_any_trace() -> None:
    for p in (True, False):
        x, want = np.arange(5.0), numpy.arange(5.0)
        view = x[1:3]

        def change(x: Any, view: Any) -> Any:
            x[2] = x[1] * 7
            view[0] = x[2] + 1
            return x[1]

        y = cond(np.asarray(p), lambda: change(x, view), lambda: x[4])  # noqa: B023
        got = change(want, want[1:3]) if p else want[4]
        assert float(y) == got and x.tolist() == want.tolist() and view.tolist() == [*want[1:3]]


def test_switch() -> None:
    def body(i: Any, x: Any) -> Any:
        def one() -> None:
            x[i] = 1.0

        def two() -> None:
            x[i - 1] = x[i] + 2.0
            x[0] += 1.0

        switch(i % 3, [one, two, lambda: None])
        return x

    x, want = np.arange(9.0), numpy.arange(9.0)
    got = jit(lambda x: fori_loop(1, 9, body, x.copy()))(x)
    for i in range(1, 9):
        if i % 3 == 0:
            want[i] = 1.0
        elif i % 3 == 1:
            want[i - 1] = want[i] + 2.0
            want[0] += 1.0
    numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["f4", "i2", "?", "c16"])
def test_other_dtypes(dtype: str) -> None:
    def body(i: Any, x: Any) -> Any:
        def yes() -> None:
            x[i, 0] = x[i - 1, 1]

        cond(x[i, 1] == x[i - 1, 0], yes, lambda: None)
        return x

    given = (numpy.arange(12).reshape(6, 2) % 3).astype(dtype)
    want = given.copy()
    for i in range(1, 6):
        if want[i, 1] == want[i - 1, 0]:
            want[i, 0] = want[i - 1, 1]
    got = jit(lambda x: fori_loop(1, 6, body, x.copy()))(np.array(given))
    assert got.dtype == want.dtype
    numpy.testing.assert_array_equal(got, want)


def test_a_bad_index_counts_only_in_the_branch_taken() -> None:
    def f(x: Any, k: Any, p: Any) -> Any:
        def yes() -> None:
            x[k + 1] = x[k]

        cond(p, yes, lambda: None)
        return x

    run = jit(lambda x, k, p: f(x.copy(), k, p))
    x = np.arange(4.0)
    assert run(x, 9, False).tolist() == [0, 1, 2, 3]
    assert run(x, 1, True).tolist() == [0, 1, 1, 3]
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        run(x, 9, True)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        run(x, 3, True)


# -- counts ----------------------------------------------------------------------------------------


def equations(jaxpr: Jaxpr) -> Iterator[Eqn]:
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jaxprs_in(eqn.params):
            yield from equations(inner)


def conds(jaxpr: Jaxpr) -> list[Eqn]:
    return [e for e in equations(jaxpr) if e.primitive.name == "cond"]


def largest(eqn: Eqn) -> int:
    return max(a.aval.size for a in (*eqn.inputs, *eqn.outputs))


@pytest.mark.parametrize("body", ELEMENTS)
def test_branches_take_and_return_numbers(body: Body) -> None:
    """Except for what is read at an index that only the branch computes, and from arrays only."""
    x, y, k = map(np.array, operands())
    found = conds(make_jaxpr(lambda x: by_loop(body, x, y, k))(x))
    assert found
    for eqn in found:
        assert max(v.aval.size for v in eqn.outputs) == 1
        if body not in INSIDE:
            assert largest(eqn) == 1


@pytest.mark.parametrize("body", [b for b in ELEMENTS if b not in INSIDE])
def test_no_round_of_a_gradient_is_dense(body: Body) -> None:
    """The only operations on arrays, in the loops, write elements of them in place."""
    x, y, k = map(np.array, operands())
    jaxpr = make_jaxpr(grad(total(by_loop, body, y, k)))(x)
    loops = [e.params["jaxpr"] for e in equations(jaxpr) if e.primitive.name == "scan"]
    assert loops
    for eqn in (e for j in loops for e in equations(j)):
        if eqn.primitive.name not in ("slice", "update_slice", "add_slice"):
            assert largest(eqn) <= 2, eqn.primitive.name  # a check has two


def text_of(f: Any, *args: Any) -> str:
    return jit(f).lower(*args).as_text()


def test_small_branches_are_selected_between() -> None:
    x, y, k = map(np.array, operands())
    assert "stablehlo.case" not in text_of(lambda x: by_loop(writes, x, y, k), x)
    large = lambda p, x: cond(p, lambda: np.exp(x), lambda: np.sin(x))  # noqa: E731
    assert "stablehlo.case" in text_of(large, True, 1.0)
    assert "stablehlo.case" in text_of(
        lambda p, x: cond(p, lambda: x + 1, lambda: x), True, np.ones(9)
    )
    zero = jit(lambda a, b: cond(b != 0, lambda: a // b, lambda: -1))
    assert int(zero(7, 0)) == -1 and int(zero(7, 2)) == 3


def test_selected_branches_have_their_own_derivatives() -> None:
    f = lambda x: cond(x > 0, lambda: x**0.5 * 3.0, lambda: x * 0.0)  # noqa: E731
    for run in (grad(f), jit(grad(f))):
        assert float(run(0.0)) == 0.0 and float(run(4.0)) == 0.75


# -- generated branches ----------------------------------------------------------------------------

INDEX = st.sampled_from(["i", "i - 1", "k[i]", "3", "-1", "k[i - 1] % 5", "i // 2", "k[3]"])
ARRAY = st.sampled_from(["x", "y"])
VALUE = st.recursive(
    st.tuples(ARRAY, INDEX).map(lambda t: f"{t[0]}[{t[1]}]") | st.sampled_from(["c", "0.5"]),
    lambda v: st.tuples(v, st.sampled_from("+-*"), v).map(
        lambda t: f"({t[0]} {t[1]} 0.5 * {t[2]})"
    ),
    max_leaves=4,
)
WRITE = st.tuples(ARRAY, INDEX, st.sampled_from(["=", "+=", "-="]), VALUE).map(
    lambda t: f"{t[0]}[{t[1]}] {t[2]} {t[3]}"
)
COUNT = st.tuples(INDEX, INDEX).map(lambda t: f"k[{t[0]}] = (k[{t[1]}] + 1) % 9")
BRANCH = st.tuples(st.lists(WRITE | COUNT, max_size=3), VALUE)


@settings(deadline=None, max_examples=12)
@given(BRANCH, BRANCH, st.lists(WRITE, max_size=2), INDEX)
def test_generated(yes: Any, no: Any, rest: list[str], tested: str) -> None:
    lines = ["def body(i, c, x, y, k, cond):"]
    for name, (writes, value) in (("yes", yes), ("no", no)):
        lines += [
            f"    def {name}():",
            *(f"        {w}" for w in writes),
            f"        return {value}",
        ]
    lines += [f"    c = cond(x[{tested}] > 0.5, yes, no)", *(f"    {w}" for w in rest)]
    lines += ["    return c * 0.5"]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    x, y, k = operands()
    lazy = np.array(x), np.array(y), np.array(k)
    close(jit(by_loop, static_argnums=0)(names["body"], *lazy), by_python(names["body"], x, y, k))
    want = grad(total(by_python, names["body"], lazy[1], lazy[2]))(lazy[0])
    got = jit(grad(total(by_loop, names["body"], lazy[1], lazy[2])))(lazy[0])
    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
