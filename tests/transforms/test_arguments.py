"""Arguments of transformed functions: views, methods, trees of many kinds."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, explain, fori_loop, grad, jit, vmap
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
    assert isinstance(d, collections.defaultdict) and d["new"] == [] and list(d)[:2] == ["b", "a"]
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
