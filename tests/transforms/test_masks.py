"""`x[m]` of a traced mask: elementwise functions, stores by the same mask, reductions.

The oracle is NumPy, on each example.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, vmap

X = numpy.array([1.5, -2.0, 3.0, -4.0, 5.0, 0.25])
Y = numpy.array([-1.0, 2.5, 0.5, 3.0, -0.75, 2.0])
K = numpy.array([3, -1, 4, 0, -5, 2])


def doubled(y: Any, c: Any) -> Any:
    y[y > 0] *= 2
    return y


def from_another(y: Any, c: Any) -> Any:
    m = y > 0
    y[m] = np.sqrt(y[m]) + c[m] * 2 - 1
    return y


def equal_masks(y: Any, c: Any) -> Any:
    y[(y > 1) & (y < 4)] = 1 / y[(y > 1) & (y < 4)] ** 2
    y[numpy.abs(y) > 1.5] -= 0.5
    return y


def through_a_view(y: Any, c: Any) -> Any:
    part = y[1:5]
    part[part < 0] += c[1:5][part < 0]
    y[::2][c[::2] > 0] = -y[::2][c[::2] > 0]
    return y


def scalars(y: Any, c: Any) -> Any:
    m = y < c
    y[m] = numpy.float64(2.0) * y[m] + np.max(c) - c.sum() / 3
    y[~m] = numpy.maximum(y[~m], np.sin(c[~m]))
    return y


def reduced(y: Any, c: Any) -> Any:
    m = y > 0
    several = [y[m].sum(), y[m].mean(), y[~m].max(), y[m].min(), y[m].std(), c[m].prod()]
    return np.stack([*several, np.sum(y[m] * c[m]), numpy.mean(np.exp(-y[m])), y[m].var(ddof=1)])


def whether(y: Any, c: Any) -> Any:
    m = y > 0
    return np.where((y[m] > 1).any() & (c[m] > -2).all(), y, c)


def rows(y: Any, c: Any) -> Any:
    table, m = y[:, None] * c[None, :], c > 0
    table[m] *= 3.0
    table[m] -= y
    table[table > 2] = 2.0
    return table[m].sum(axis=0) + table[m].max() + table[table > 1].mean()


def cast(y: Any, c: Any) -> Any:
    k = (y * 3).astype("int32")
    k[k > 0] += 1
    k[k % 2 == 0] //= 2
    k[k > 3] = y[k > 3] * 1.9
    return k * 1.0


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    doubled, from_another, equal_masks, through_a_view, scalars, reduced, whether, rows, cast,
]  # fmt: skip


def on(module: Any, program: Any) -> Callable[[Any, Any], Any]:
    """The program with this module as `np`, on a copy of the arrays it writes."""
    made = FunctionType(program.__code__, program.__globals__ | {"np": module}, program.__name__)
    return lambda y, c: made(y + 0.0, c)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_numpy(program: Any) -> None:
    both, other = numpy.stack([X, -X, Y]), numpy.stack([Y, X, X * Y])
    f, wanted = on(np, program), [on(numpy, program)(a, b) for a, b in zip(both, other)]
    for i, want in enumerate(wanted):
        numpy.testing.assert_allclose(jit(f)(both[i], other[i]), want, rtol=1e-12)
    numpy.testing.assert_allclose(vmap(f)(both, other), wanted, rtol=1e-12)
    numpy.testing.assert_allclose(jit(vmap(f))(both, other), wanted, rtol=1e-12)
    numpy.testing.assert_allclose(
        vmap(jit(f), in_axes=(0, None))(both, X), [on(numpy, program)(a, X) for a in both]
    )


@pytest.mark.parametrize("program", PROGRAMS[:-1], ids=lambda p: p.__name__)
def test_derivatives(program: Any) -> None:
    def loss(y: Any, c: Any) -> Any:
        return np.sum(np.sin(on(np, program)(y, c)))

    wanted = grad(loss, argnums=(0, 1))(X, Y)  # where the masks are known
    for g in (jit(grad(loss, argnums=(0, 1))), grad(jit(loss), argnums=(0, 1))):
        for got, want in zip(g(X, Y), wanted, strict=True):
            numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    several = vmap(grad(loss))(numpy.stack([Y, X]), numpy.stack([X, Y]))
    numpy.testing.assert_allclose(several[1], wanted[0], rtol=1e-9, atol=1e-12)


def test_in_control_flow() -> None:
    def step(carry: Any, _: Any) -> Any:
        carry = carry * 1.0
        carry[carry > 1] *= 0.5
        return carry, carry[carry < 0].sum()

    want, sums = X.copy(), []
    for _ in range(3):
        want[want > 1] *= 0.5
        sums.append(want[want < 0].sum())
    last, found = np.scan(step, np.array(X), None, length=3)
    numpy.testing.assert_allclose(last, want)
    numpy.testing.assert_allclose(found, sums)

    y = np.array(X)

    def halve(a: Any) -> Any:
        a[a < 0] /= 2
        return a[a > 0].mean()

    mean = jit(lambda p: np.cond(p, halve, lambda a: a.sum(), y))(True)
    assert float(mean) == X[X > 0].mean()
    numpy.testing.assert_allclose(y, numpy.where(X < 0, X / 2, X))


def test_what_needs_the_number_of_elements_gets_it() -> None:
    for ask in (
        lambda np, s: s.shape[0] + 0, lambda np, s: s.reshape(-1), lambda np, s: np.sort(s),
        lambda np, s: s[0], lambda np, s: np.cumsum(s), lambda np, s: np.concatenate([s, s]),
        lambda np, s: s, lambda np, s: s[1:] - s[:-1],
    ):  # fmt: skip
        f = jit(lambda y, ask=ask: ask(np, y[y > 0]))
        for x in (X, numpy.abs(X), Y):
            numpy.testing.assert_allclose(f(x), ask(numpy, x[x > 0]))
    for ask in (list, bool, float):
        with pytest.raises(TypeError, match=r"x\[m\]|selected by a traced mask"):
            jit(lambda y, ask=ask: ask(y[y > 0]))(X)
    for other in (lambda y: y[y > 0] + y, lambda y: y + y[y > 0], lambda y: y[y > 0] + y[y > 1]):
        with pytest.raises(ValueError, match="could not be broadcast"):
            jit(other)(X)

    def wrong(y: Any) -> Any:
        y = y * 1.0
        y[y > 1] = y[y > 0]
        return y

    with pytest.raises(ValueError, match="boolean array indexing assignment"):
        jit(wrong)(X)
    with pytest.raises(IndexError, match="boolean index did not match"):
        jit(lambda y: y[(y > 0)[:3]].sum())(X)


def test_nothing_selected() -> None:
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        jit(lambda y: y[y > 100].max())(X)
    assert float(jit(lambda y: y[y > 100].sum())(X)) == 0.0
    assert int(jit(lambda k: k[k < 0].min())(K)) == -5


def test_a_mask_that_is_written_meanwhile_was_that_before() -> None:
    def f(y: Any) -> Any:
        m = y > 0
        chosen = y[m]
        m[:] = True
        y = y * 1.0
        y[m] = 7.0
        return chosen.sum() + y.sum()

    assert float(jit(f)(X)) == X[X > 0].sum() + 7 * len(X)


STORES = [
    lambda x, m: x.__setitem__((0, m), 1.5),
    lambda x, m: x.__setitem__((slice(1, 3), m), x[0, 1]),
    lambda x, m: x.__setitem__((slice(None, None, -1), m), 0.0),
    lambda x, m: x.__setitem__((Ellipsis, m), -1.0),
    lambda x, m: x.T.__setitem__((m, 1), 2.5),
    lambda x, m: x.__setitem__((None, -1, m), 3.5),
    lambda x, m: x[:3].__setitem__((x[:3] > m[0], Ellipsis), 4.5),
]


@pytest.mark.parametrize("store", STORES, ids=range(len(STORES)))
def test_numbers_are_stored_through_masks_beside_other_indices(store: Any) -> None:
    matrix = numpy.arange(12.0).reshape(4, 3)

    def f(x: Any) -> Any:
        y = x * 1.0
        store(y, x[2] > 6.5)
        return y

    want = f(matrix)
    for transformed in (jit(f), lambda x: vmap(f)(x[None])[0], lambda x: np.checkpoint(f)(x)):
        numpy.testing.assert_array_equal(transformed(np.array(matrix)), want)
    numpy.testing.assert_array_equal(
        jit(np.jacfwd(lambda x: f(x).sum()))(matrix), grad(lambda x: f(x).sum())(np.array(matrix))
    )


# -- a mask beside other indices -------------------------------------------------------------------


def exchanged_rows(x: Any, m: Any, c: Any) -> Any:
    before = x[:, m][[2, 0, 1]]
    x *= 2
    x[:, m] = before
    return x


def rows_with_one(x: Any, m: Any, c: Any) -> Any:
    part = x[:, m] * c[m] + x[:, m].sum(axis=0)
    x[:, m] -= part
    return numpy.abs(x[:, m]).mean(axis=1)


def columns(x: Any, m: Any, c: Any) -> Any:
    y = x.transpose(1, 2, 0).copy()
    part = y[m, :]
    y[m, :] = part[:, [0, 2, 1]]
    y[m] *= numpy.array([1.0, 2.0, 3.0])
    return y, y[m].sum(axis=0), y[m].sum(axis=-1).max()


def with_places(x: Any, m: Any, c: Any) -> Any:
    x[1, m] = x[0, m] * c[m]
    x[0][m] += 1
    x[:2, m] = x[1:, m]
    x[::-1, m] = x[:, m] + 0.5
    return x[2, m].sum(), x[:, m][0].sum(), x[:, m][1:].sum(), x[:, m].min(axis=1)


def against_columns(x: Any, m: Any, c: Any) -> Any:
    x[:, m] = x[:, m] * numpy.array([[1.0], [2.0], [3.0]]) - c[m]
    x[:2, m] = c[m]
    return x


BESIDE = [exchanged_rows, rows_with_one, columns, with_places, against_columns]


def three() -> tuple[Any, Any, Any]:
    rng = numpy.random.default_rng(0)
    return rng.random((3, 4, 5)), rng.random((4, 5)) > 0.5, rng.random((4, 5))


def leaves(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple) else [out]


@pytest.mark.parametrize("f", BESIDE, ids=lambda f: f.__name__)
def test_beside_other_indices(f: Any) -> None:
    x, m, c = three()
    ours = np.array(x)
    got = leaves(jit(f)(ours, np.array(m), np.array(c)))
    batch = [numpy.stack([v, v[::-1]]) for v in three()]
    several = leaves(vmap(lambda *v: f(v[0] * 1.0, *v[1:]))(*map(np.array, batch)))
    want = leaves(f(x, m, c))
    for g, w in zip([*got, ours], [*want, x], strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        numpy.testing.assert_allclose(g, w, rtol=1e-13)
    for k, values in enumerate(zip(*batch, strict=True)):
        for g, w in zip(several, leaves(f(*values)), strict=True):
            numpy.testing.assert_allclose(g[k], w, rtol=1e-13)


@pytest.mark.parametrize("f", BESIDE, ids=lambda f: f.__name__)
def test_derivatives_beside_other_indices(f: Any) -> None:
    def loss(x: Any, m: Any, c: Any) -> Any:
        x = x * 1.0
        return sum((np.sin(p) * 1.0).sum() for p in leaves(f(x, m, c))) + (x * x).sum()

    given = list(map(np.array, three()))
    known = grad(lambda x, c: loss(x, three()[1], c), argnums=(0, 1))(given[0], given[2])
    for got, want in zip(jit(grad(loss, argnums=(0, 2)))(*given), known, strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


def test_what_a_mask_beside_other_indices_selects() -> None:
    x, m, c = map(np.array, three())
    here, where = numpy.asarray(x), numpy.asarray(m)
    for ask in (
        lambda s: s[:, 0], lambda s: s[:, :2], lambda s: s[:, None], lambda s: s[[0, 1], [0, 1]],
        lambda s: s.T, lambda s: s[0, 0], lambda s: s.sum(axis=(0, 1)),
    ):  # fmt: skip
        got = jit(lambda x, m, ask=ask: ask(x[:, m]))(x, m)
        numpy.testing.assert_allclose(got, ask(here[:, where]))
    with pytest.raises(ValueError, match="could not be broadcast"):
        jit(lambda x, m: x[:, m] + np.ones((3, 7)))(x, m)

    def wrong(x: Any, m: Any) -> Any:
        x[:, m] = x[:, ~m]
        return x

    with pytest.raises(ValueError):
        jit(wrong)(x, m)
    for ask in (lambda s: s @ np.ones(20), lambda s: np.ones(20) @ s):
        with pytest.raises(ValueError):
            jit(lambda x, m, ask=ask: ask(x[0][m]))(x, m)
    got = jit(lambda x, m: np.dot(x[0][m], 2.0))(x, m)
    numpy.testing.assert_allclose(got, here[0][where] * 2)


def test_products() -> None:
    x, m, c = three()

    def f(x: Any, m: Any, c: Any) -> Any:
        return x[0, m] @ c[m], np.dot(x[1][m], x[2, m]), numpy.inner(c[m], c[m])

    for g, w in zip(jit(f)(*map(np.array, (x, m, c))), f(x, m, c), strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-13)


def test_what_is_selected_is_written() -> None:
    def copied(x: Any, m: Any) -> Any:
        y = x[m].copy()
        y[0] = 9
        return y

    def written(x: Any, m: Any) -> Any:
        y = x[m]
        y[0] = 9
        return y

    x = numpy.arange(5.0)
    assert jit(copied)(np.array(x), np.array(x > 1)).tolist() == [9, 3, 4]
    assert jit(written)(np.array(x), np.array(x > 1)).tolist() == [9, 3, 4]
