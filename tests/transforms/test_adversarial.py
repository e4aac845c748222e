"""Cases that users meet sooner or later: views as arguments, many kinds of trees, nonlinear
functions.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, explain, fori_loop, grad, jit, linear_transpose, psum, vmap
from lazynp.transforms._jit import STATS

X = numpy.arange(12.0).reshape(4, 3)


# -- views as arguments ----------------------------------------------------------------------------


def test_slices_of_one_array_are_one_kind_of_argument() -> None:
    f = jit(lambda r, k: (r * k).sum())
    x, before = np.array(X), STATS.traces
    for i in range(4):
        assert float(f(x[i], 2.0)) == 2 * X[i].sum()
        assert float(f(x[:, i % 3], 2.0)) == 2 * X[:, i % 3].sum()
    assert float(f(x[1, ::-1], 2.0)) == 2 * X[1].sum()
    assert STATS.traces - before == 5  # two for rows, two for columns, one backwards


def test_views_that_begin_elsewhere_are_written_in_place() -> None:
    def shifted(a: Any, b: Any) -> Any:
        a[1:] += b[:-1]
        b *= 2
        return a.sum()

    f = jit(shifted)
    x, want = np.array(X.ravel()), X.ravel().copy()
    for i, k in ((0, 1), (2, 5), (4, 4), (5, 3), (0, 8)):
        got = f(x[i : i + 4], x[k : k + 4])
        assert float(got) == pytest.approx(shifted(want[i : i + 4], want[k : k + 4]))
        numpy.testing.assert_array_equal(x, want)


def test_views_of_views_that_are_returned() -> None:
    f = jit(lambda a: (a[1:], a, a.T[0]))
    x = np.array(numpy.arange(60.0).reshape(5, 4, 3))
    for i in (1, 3, 4):
        part, same, column = f(x[i])
        part[0] = -1.0
        column[0] = -2.0
        same[3, 2] = -3.0
        assert x[i, 1].tolist() == [-1.0] * 3 and x[i, 0, 0] == -2.0 and x[i, 3, 2] == -3.0
        assert np.shares_memory(part, x)


def test_a_view_whose_place_is_traced() -> None:
    double = jit(lambda r: r.__imul__(2.0).sum())

    def each(x: Any) -> Any:
        return fori_loop(0, 4, lambda i, c: c + double(x[i]), 0.0)

    for f in (each, jit(each)):
        x = np.array(X)
        assert float(f(x)) == 2 * X.sum()
        numpy.testing.assert_array_equal(x, 2 * X)
    numpy.testing.assert_allclose(jit(grad(lambda x: each(x * 1.0)))(X), numpy.full((4, 3), 2.0))
    rows = vmap(lambda x, i: double(x[i]))(numpy.stack([X, X + 1]), numpy.array([0, 2]))
    numpy.testing.assert_allclose(rows, [2 * X[0].sum(), 2 * (X + 1)[2].sum()])


def test_a_loops_number_is_a_scalar() -> None:
    """As that of a range is: with it, `x[i]` is a view."""

    def body(i: Any, c: Any) -> Any:
        row = x[i]
        row += 1.0
        return c

    for n in (4, np.int64(4), np.array([4])[0]):
        x = np.array(X)
        fori_loop(0, n, body, 0.0)
        numpy.testing.assert_array_equal(x, X + 1)
    check_grads(lambda a: fori_loop(0, numpy.int64(3), lambda i, c: c * a, a), (1.5,))


def test_what_was_lowered_takes_slices_too() -> None:
    x = np.array(X)
    compiled = jit(lambda r: r * 2).lower(x[0]).compile()
    for i in range(4):
        numpy.testing.assert_array_equal(compiled(x[i]), 2 * X[i])
    with pytest.raises(TypeError, match="other types"):
        compiled(x[0, :2])


def test_explain_says_why_a_function_was_traced_again() -> None:
    f = jit(lambda a, b: a * b)
    f(np.ones(3), 2.0)
    assert str(explain(f)) == "jit of <lambda>: traced 1 time"
    f(np.ones(3), 2)
    f(numpy.ones(3, "f4"), 2)
    said = str(explain(f)).splitlines()
    assert said[0] == "jit of <lambda>: traced 3 times"
    assert "leaf 1: a Python int (was a Python float), at " in said[1] and __file__ in said[1]
    assert "f32[3]" in said[2]


# -- arguments of many kinds -----------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "u v")


@np.tree.register_dataclass
@dataclasses.dataclass
class Model:
    w: Any
    name: str = dataclasses.field(metadata={"static": True}, default="m")

    @jit
    def scaled(self, x: Any) -> Any:
        return self.w * x

    @functools.partial(jit, static_argnums=0)
    def named(self, x: Any) -> Any:
        return x * len(self.name)

    def __hash__(self) -> int:
        return hash(self.name)


def test_methods_partials_and_trees() -> None:
    m, x = Model(np.array([1.0, 2.0])), np.array([3.0, 4.0])
    assert m.scaled(x).tolist() == [3.0, 8.0] and m.named(x).tolist() == [3.0, 4.0]
    g = grad(lambda m: m.scaled(x).sum())(m)
    assert isinstance(g, Model) and g.w.tolist() == [3.0, 4.0] and g.name == "m"
    assert jit(functools.partial(lambda a, b: a * b, 2.0))(x).tolist() == [6.0, 8.0]
    p = vmap(jit(grad(lambda p: (p.u * p.v).sum())))(Pair(x, 2 * x))
    assert isinstance(p, Pair) and p.u.tolist() == [6.0, 8.0]
    d = jit(lambda d: d)(collections.defaultdict(list, b=x, a=1.0))
    assert isinstance(d, collections.defaultdict) and d["new"] == [] and list(d)[:2] == ["a", "b"]
    o = grad(lambda o: (o["z"] * o["a"]).sum())(collections.OrderedDict(z=x, a=2 * x))
    assert list(o) == ["z", "a"]


def test_what_is_no_tree_says_what_to_do() -> None:
    class Plain:
        @jit
        def f(self, x: Any) -> Any:
            return x

    with pytest.raises(TypeError, match="register_pytree_node.*static_argnums"):
        Plain().f(1.0)
    with pytest.raises(TypeError, match="grad of f: .*register_pytree_node"):
        grad(Plain.f)(Plain())


def test_axes_of_several_names() -> None:
    def share(e: Any) -> Any:
        return e / psum(e, ("i", "j")) + np.pmean(e, ("j", "i"))

    f = vmap(vmap(share, axis_name="j"), axis_name="i")
    numpy.testing.assert_allclose(f(X), X / X.sum() + X.mean())
    numpy.testing.assert_allclose(jit(f)(X), X / X.sum() + X.mean())
    check_grads(f, (np.array(X),), modes=("rev",))
    with pytest.raises(NameError, match="'k'"):
        vmap(lambda e: psum(e, ("i", "k")), axis_name="i")(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda y: y * y, lambda y: y @ y, lambda y: np.sin(y), lambda y: np.where(y > 0, y, 0.0),
        lambda y: 1 / y, lambda y: abs(y),
    ],
)  # fmt: skip
def test_what_is_not_linear_is_not_transposed(f: Any) -> None:
    with pytest.raises(TypeError, match="the function must be linear: .*(is|not) .*linear"):
        linear_transpose(f, np.ones(3))


def test_rules_that_push_tangents_through_loops() -> None:
    """A rule may compute values and tangents in one loop: reverse mode keeps them apart."""

    def scanned(x: Any) -> Any:
        return np.scan(lambda c, v: (c * np.sin(v), c), x.sum(), x)[1].sum()

    def in_place(x: Any) -> Any:
        box = np.zeros(2)
        fori_loop(0, 2, lambda i, c: (box.__setitem__(i, (x * x).sum() * (i + 1)), c)[1], 0.0)
        return box[0] * box[1]

    for f in (scanned, in_place):
        g = np.custom_jvp(f)
        g.defjvp(lambda primals, tangents, f=f: np.jvp(f, primals, tangents))
        x = np.array(X[1])
        for transformed in (grad, lambda g: jit(grad(g)), lambda g: grad(jit(g))):
            numpy.testing.assert_allclose(transformed(g)(x), grad(f)(x))
        with np.config(execution="reference"):
            numpy.testing.assert_allclose(np.jacrev(grad(g))(x), np.hessian(f)(x), atol=1e-12)


def test_rules_that_push_tangents_through_calls() -> None:
    """The value that such a rule returns is a value."""

    def f(x: Any) -> Any:
        return (np.sin(x) * x).sum()

    calls = {
        "jit": jit(f), "checkpoint": np.checkpoint(f), "jits": jit(lambda x: jit(f)(x) * 1.0),
        "cond": lambda x: np.cond(x[0] > 0, f, lambda x: x.sum(), x),
        "scan": lambda x: np.scan(lambda c, _: (c + jit(f)(x), c), 0.0, length=1)[0],
    }  # fmt: skip
    x = np.array(X[1])
    want = np.value_and_grad(lambda x: np.exp(f(x)) * f(x))(x)
    for call in calls.values():
        g = np.custom_jvp(call)
        g.defjvp(lambda primals, tangents, call=call: np.jvp(call, primals, tangents))
        both = np.value_and_grad(lambda x, g=g: np.exp(g(x)) * g(x))
        for got in (both(x), jit(both)(x)):
            numpy.testing.assert_allclose(got[0], want[0])
            numpy.testing.assert_allclose(got[1], want[1])


def test_linear_loops_are_transposed() -> None:
    def f(y: Any) -> Any:
        return fori_loop(0, 3, lambda i, c: c * 2 + y * (i + 1), y)

    y = np.array(X[1])
    numpy.testing.assert_allclose(linear_transpose(f, y)(y)[0], np.jacfwd(f)(y).T @ y)


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
    def f(x: Any) -> Any:
        y = x * 1.0
        store(y, x[2] > 6.5)
        return y

    want = f(X)
    for transformed in (jit(f), lambda x: vmap(f)(x[None])[0], lambda x: np.checkpoint(f)(x)):
        numpy.testing.assert_array_equal(transformed(np.array(X)), want)
    numpy.testing.assert_array_equal(
        jit(np.jacfwd(lambda x: f(x).sum()))(X), grad(lambda x: f(x).sum())(np.array(X))
    )


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap", "jvp", "cond", "scan", "jit of grad"])
def test_what_escapes_is_refused_with_its_function_and_line(transform: str) -> None:
    kept: list[Any] = []

    def leaky(x: Any) -> Any:
        y = np.sin(x)
        kept.append(y)
        return y.sum()

    x = np.ones((3, 2))
    {
        "jit": lambda: np.jit(leaky)(x),
        "grad": lambda: np.grad(leaky)(x),
        "vmap": lambda: np.vmap(leaky)(x),
        "jvp": lambda: np.jvp(leaky, (x,), (x,)),
        "cond": lambda: np.cond(True, leaky, leaky, x),
        "scan": lambda: np.scan(lambda c, _: (c * 1.0, leaky(c)), x, None, length=2),
        "jit of grad": lambda: np.jit(np.grad(leaky))(x),
    }[transform]()
    line = leaky.__code__.co_firstlineno + 1
    words = rf"traced by .*(leaky|<lambda>), made at .*{Path(__file__).name}:{line}, is used"
    for use in (lambda y: y + 1, lambda y: y[0], np.jit(lambda y: y * 2)):
        with pytest.raises(TypeError, match=words):
            use(kept[0])
