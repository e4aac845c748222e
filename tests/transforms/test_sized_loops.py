"""Loops and branches over arrays whose sizes are values: kept, carried, decided in the body."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp._jaxpr import check

SIZES = (5, 0, 1, 2, 8)
POLICIES = ("adaptive", "compiled", "reference")
N = {0: "n"}


def vector(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n)


def fori(np: Any, low: Any, high: Any, body: Any, val: Any, **options: Any) -> Any:
    if np is not numpy:
        return np.fori_loop(low, high, body, val, **options)
    for i in range(int(low), int(high)):
        val = body(i, val)
    return val


def repeat_while(np: Any, going: Any, body: Any, val: Any, **options: Any) -> Any:
    if np is not numpy:
        return np.while_loop(going, body, val, **options)
    while going(val):
        val = body(val)
    return val


def choose(np: Any, test: Any, yes: Any, no: Any) -> Any:
    return (yes() if test else no()) if np is numpy else np.cond(test, yes, no)


def appended(np: Any, x: Any) -> Any:
    grow = lambda i, c: np.concatenate([c, x[i : i + 1] * 2])  # noqa: E731
    return fori(np, 0, x.shape[0], grow, np.zeros(0), **_alone(np))


def _alone(np: Any) -> dict[str, Any]:
    return {} if np is numpy else {"preserve_dimensions": False}


def halves(np: Any, x: Any) -> Any:
    return repeat_while(np, lambda c: c.shape[0] > 2, lambda c: c[::2] + c[0], x)


def written(np: Any, x: Any) -> Any:
    """The body writes an array from outside, and its carry shrinks."""
    sums = np.zeros(3)

    def body(i: Any, c: Any) -> Any:
        sums[i % 3] += c.sum()
        return c[1:]

    return fori(np, 0, 4, body, x), sums


def swapped(np: Any, x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        a, b = c
        return b, a

    return fori(np, 0, 3, body, (x, np.concatenate([x, x])), **_alone(np))


def together(np: Any, x: Any) -> Any:
    """Two arrays that share a size go on sharing it."""
    body = lambda i, c: (c[0][1:] * c[1][1:], c[1][:-1] + 1)  # noqa: E731
    a, b = fori(np, 0, 2, body, (x, x * 2))
    return a + b


def triangle(np: Any, x: Any) -> Any:
    return fori(np, 0, x.shape[0], lambda i, s: s + (x[:i] * x[:i]).sum(), 0.0)


def of_the_index(np: Any, x: Any) -> Any:
    return fori(np, 0, 4, lambda i, s: s + np.arange(i).sum() * x.sum(), 0.0)


def nested(np: Any, x: Any) -> Any:
    def outer(i: Any, c: Any) -> Any:
        return c[1:] + fori(np, 0, i, lambda k, s: s + np.ones((k,)).sum(), 0.0)

    return fori(np, 0, 3, outer, x)


def selected(np: Any, x: Any) -> Any:
    return fori(np, 0, 3, lambda i, c: c[c > 0.6] * 0.9, x)


def branches(np: Any, x: Any) -> Any:
    a, b = choose(np, x.sum() > 3, lambda: (x[1:], x[1:] * 2), lambda: (x, -x))
    return a + b


def a_branch_that_decides(np: Any, x: Any) -> Any:
    return choose(np, x.sum() > 3, lambda: x[x > 1].sum(), lambda: x.sum())


def bounds(np: Any, x: Any) -> Any:
    return fori(np, 1, x.shape[0], lambda i, s: s + x[i] * x[i - 1], 0.0)


Function = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Function] = {
    f.__name__: f
    for f in (
        appended, halves, written, swapped, together, triangle, of_the_index, nested, selected,
        branches, a_branch_that_decides, bounds,
    )
}  # fmt: skip


def flat(out: Any) -> list[Any]:
    return [numpy.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]


def agree(got: Any, want: Any, **options: Any) -> None:
    for a, b in zip(flat(got), flat(want), strict=True):
        assert a.dtype == b.dtype
        numpy.testing.assert_allclose(a, b, rtol=1e-12, **options)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_trace_gives_numpys_results(name: str, policy: str) -> None:
    function, traces = PROGRAMS[name], []
    f = np.jit(lambda x: traces.append(0) or function(np, x), abstracted_axes=N)
    with np.config(execution=policy):
        for n in SIZES if policy != "compiled" else SIZES[:3]:
            agree(f(vector(n)), function(numpy, vector(n)), err_msg=str(n))
    assert len(traces) == 1 and f._cache_size() == 1


@pytest.mark.parametrize("name", ["swapped", "appended", "bounds", "of_the_index", "triangle"])
def test_outside_of_traced_functions(name: str) -> None:
    agree(PROGRAMS[name](np, np.array(vector(4))), PROGRAMS[name](numpy, vector(4)))


def test_loops_that_change_sizes_run_at_once_outside() -> None:
    shrunk = np.while_loop(
        lambda c: c.shape[0] > 2, lambda c: c[1:], np.arange(6.0), preserve_dimensions=False
    )
    numpy.testing.assert_array_equal(shrunk, [4, 5])
    with pytest.raises(TypeError, match="must have the same types"):
        np.while_loop(lambda c: c.sum() > 2, lambda c: c[1:], np.arange(6.0))


@pytest.mark.parametrize("name", PROGRAMS)
def test_jaxprs(name: str) -> None:
    """They are checked, printed, and evaluated; nested ones take their sizes as inputs."""
    function = PROGRAMS[name]
    jaxpr = np.make_jaxpr(lambda x: function(np, x), abstracted_axes=N)(vector(3))
    check(jaxpr)
    for dims in re.findall(r":\w+\[([^\]]*)\]", str(jaxpr)):
        assert re.fullmatch(r"((\d+|[a-z]{1,2})(,|$))*", dims), dims
    for n in (4, 1):
        *_, got = np.eval_jaxpr(jaxpr, n, vector(n))
        numpy.testing.assert_allclose(got, flat(function(numpy, vector(n)))[-1], rtol=1e-12)


# -- derivatives -----------------------------------------------------------------------------------


def slopes(function: Any, x: Any) -> Any:
    steps = numpy.eye(len(x)) * 1e-6
    return numpy.array([(function(x + s) - function(x - s)) / 2e-6 for s in steps])


@pytest.mark.parametrize(
    "name", ["halves", "together", "triangle", "selected", "branches", "appended", "bounds"]
)
def test_derivatives_from_outside(name: str) -> None:
    function = PROGRAMS[name]
    f = np.jit(lambda x: (function(np, x) ** 2).sum(), abstracted_axes=N)
    for n in (5, 2):
        x = vector(n) + 0.05
        want = slopes(lambda x: (function(numpy, x) ** 2).sum(), x)
        numpy.testing.assert_allclose(np.grad(f)(x), want, rtol=1e-5, atol=1e-7)
        tangent = np.jvp(f, (x,), (numpy.ones(n),))[1]
        numpy.testing.assert_allclose(tangent, want.sum(), rtol=1e-5, atol=1e-7)


def test_derivatives_inside() -> None:
    """A loop over a size is one program; see also `test_sized_transforms`."""
    f = np.jit(np.grad(lambda x: bounds(np, x)), abstracted_axes=N)
    for n in (5, 2):
        numpy.testing.assert_allclose(
            f(vector(n)), slopes(lambda x: bounds(numpy, x), vector(n)), rtol=1e-5
        )


# -- errors ----------------------------------------------------------------------------------------


def test_a_loop_of_no_round_gives_what_it_was_given() -> None:
    f = np.jit(lambda x, k: np.fori_loop(0, k, lambda i, c: c[1:], x), abstracted_axes=(N, {}))
    for k in (0, 2, 9):
        numpy.testing.assert_array_equal(f(vector(4), k), vector(4)[k:])
    g = np.jit(lambda x: np.fori_loop(0, x.shape[0], lambda i, s: s + x.max(), 0.0),
               abstracted_axes=N)  # fmt: skip
    assert float(g(vector(0))) == 0.0 and float(g(vector(2))) == 4.0


def test_numbers_stay_numbers_by_default() -> None:
    grow = lambda i, c: np.concatenate([c, c])  # noqa: E731
    with pytest.raises(TypeError, match="must have the same types"):
        np.jit(lambda x: np.fori_loop(0, 3, grow, np.ones(2)))(1.0)
    f = np.jit(lambda x: np.fori_loop(0, 3, grow, np.ones(2) * x, preserve_dimensions=False))
    numpy.testing.assert_array_equal(f(2.0), 2 * numpy.ones(16))


def test_captured_arrays_do_not_mix_with_what_is_carried_for_itself() -> None:
    def f(x: Any) -> Any:
        return np.fori_loop(0, 2, lambda i, c: c + x, x, preserve_dimensions=False)

    with pytest.raises(ValueError, match=r"could not be broadcast.*\(d1,\) \(n,\)"):
        np.jit(f, abstracted_axes=N)(vector(3))


def test_axes_that_are_different_numbers_in_branches() -> None:
    with pytest.raises(TypeError, match=r"f64\[5\] and f64\[4\]"):
        np.jit(lambda x: np.cond(x.sum() > 3, lambda: x[1:], lambda: x))(vector(5))


def test_rows_of_one_size() -> None:
    f = np.jit(lambda x: np.scan(lambda c, r: (c[1:], c), x, x), abstracted_axes=N)
    with pytest.raises(TypeError, match="must have one size to be stacked"):
        f(vector(3))
    g = np.jit(lambda x: np.scan(lambda c, r: (c[1:], r * c.shape[0]), x, x), abstracted_axes=N)
    last, rows = g(vector(3))
    assert last.shape == (0,)
    numpy.testing.assert_allclose(rows, vector(3) * [3, 2, 1])


def test_errors_in_rounds_write_nothing() -> None:
    def f(x: Any) -> Any:
        x *= 2
        return np.fori_loop(0, 4, lambda i, c: (c + c.max())[1:], x)

    x = np.array(vector(2))
    jitted = np.jit(f, abstracted_axes=N)
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        jitted(x)
    numpy.testing.assert_array_equal(x, vector(2))
    assert jitted(np.array(vector(6))).shape == (2,)


def test_switch() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.switch(i, [lambda: x[1:], lambda: x, lambda: x[:2]])

    jitted = np.jit(f, abstracted_axes=(N, {}))
    for i, want in enumerate((vector(4)[1:], vector(4), vector(4)[:2])):
        numpy.testing.assert_array_equal(jitted(vector(4), i), want)


def test_batches_have_one_size() -> None:
    f = np.jit(lambda x: np.fori_loop(0, 2, lambda i, c: c[1:], x), abstracted_axes=N)
    got = np.vmap(f)(numpy.arange(8.0).reshape(2, 4))
    numpy.testing.assert_array_equal(got, [[2, 3], [6, 7]])
    with pytest.raises(TypeError, match="another for each example"):
        np.vmap(np.jit(lambda n: np.ones((n,))))(numpy.arange(3))


def test_debug_checks_the_pieces() -> None:
    with np.config(debug=True):
        f = np.jit(lambda x: nested(np, x), abstracted_axes=N)
        agree(f(vector(5)), nested(numpy, vector(5)))


# -- random programs -------------------------------------------------------------------------------

STEPS: list[Function] = [
    lambda np, x: x[1:], lambda np, x: x[:-1] * 2, lambda np, x: np.concatenate([x, x[:2]]),
    lambda np, x: fori(np, 0, 2, lambda i, c: c[:-1] + c.sum(), x),
    lambda np, x: fori(np, 0, 2, lambda i, c: np.concatenate([c, c[:1]]), x),
    lambda np, x: fori(np, 0, 3, lambda i, c: c * 0.5 + x, x),
    lambda np, x: fori(np, 0, 3, lambda i, c: c + np.ones((i,)).sum(), x),
    lambda np, x: choose(np, x.sum() > 1, lambda: x[1:], lambda: np.concatenate([x, x])),
    lambda np, x: choose(np, x.sum() > 1, lambda: x * 2, lambda: -x),
    lambda np, x: x[x > x.sum() / 4], lambda np, x: np.sort(x[np.abs(x) > 0.3])[::-1],
    lambda np, x: x + np.arange(x.shape[0]), lambda np, x: np.cumsum(x) * 0.1,
    lambda np, x: repeat_while(np, lambda c: c.shape[0] > 3, lambda c: c[::2], x),
]  # fmt: skip


@settings(max_examples=15)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), st.sampled_from(POLICIES[::2]))
def test_random_programs(steps: list[Function], policy: str) -> None:
    def program(np: Any, x: Any) -> Any:
        made = []
        for step in steps:
            x = step(np, x)
            made.append(x)
        return tuple(made)

    f = np.jit(lambda x: program(np, x), abstracted_axes=N)
    with np.config(execution=policy):
        for n in (4, 0, 1, 7):
            for a, b in zip(f(vector(n)), program(numpy, vector(n)), strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{n}")
    assert f._cache_size() == 1


@pytest.mark.parametrize("mix", [
    lambda a, b, c: a + b, lambda a, b, c: a + c, lambda a, b, c: a @ b * a,
    lambda a, b, c: np.where(a > 0, a, b), lambda a, b, c: np.concatenate([a[None], b[None]])[0],
    lambda a, b, c: np.einsum("i,i", a, b) * a,
])  # fmt: skip
def test_sizes_carried_each_for_itself_do_not_mix(mix: Any) -> None:
    """Not even where the sizes follow from an int, which might be static."""

    def f(n: Any) -> Any:
        a = np.ones(n + 1)
        body = lambda i, v: (mix(v[0], v[1], a), v[1])  # noqa: E731
        return np.fori_loop(0, 3, body, (a, a), preserve_dimensions=False)

    for function in (np.jit(f), np.make_jaxpr(f)):
        for _ in range(2):
            with pytest.raises(ValueError, match="d1"):
                function(3)
    numpy.testing.assert_array_equal(np.jit(lambda n, x: np.ones(n) + x)(3, np.ones(3)), [2] * 3)


def _sums_so_far(i: Any, c: Any) -> Any:
    c[i] = c[: i + 1].sum()
    return c


@pytest.mark.parametrize("policy", POLICIES)
def test_loops_over_nothing(policy: str) -> None:
    compiled = np.jit(
        lambda x: np.fori_loop(0, x[1:].shape[0], _sums_so_far, x[1:].copy()),
        abstracted_axes={0: "n"},
    )
    with np.config(execution=policy):
        for n in (1, 0, 4, 1, 2):
            x, want = numpy.arange(n) + 1.0, (numpy.arange(n) + 1.0)[1:]
            for i in range(len(want)):
                want[i] = want[: i + 1].sum()
            numpy.testing.assert_allclose(compiled(x), want)


def test_errors_of_unused_places_where_the_data_decide() -> None:
    for function in (lambda a: (a[0], a[1:], a[a > 1] * 1), lambda a: (a[-1], a[a > 1])):
        compiled = np.jit(function, abstracted_axes={0: "n", 1: "m"})
        with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 0"):
            compiled(numpy.zeros((0, 3)))
        for got, want in zip(compiled(numpy.eye(3)), function(numpy.eye(3)), strict=True):
            numpy.testing.assert_allclose(got, want)
