"""Options that change how a program runs: each has an observable effect."""

from __future__ import annotations

import inspect
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import (
    checkpoint,
    debug_nans,
    fori_loop,
    grad,
    jit,
    make_jaxpr,
    pure_callback,
    scan,
    value_and_grad,
    vmap,
)
from lazynp._node import VALUE

X = np.arange(1.0, 8.0)


# -- scan(unroll=) ---------------------------------------------------------------------------------


def running(x: Any, unroll: Any, reverse: bool = False) -> Any:
    return scan(lambda c, a: (c * np.cos(a), c + a), 1.0, x, unroll=unroll, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [2, 3, 7, 100, True])
def test_unrolled_scan_is_the_same(unroll: Any, reverse: bool) -> None:
    with np.config(execution="compiled"):
        want, got = running(X, 1, reverse), running(X, unroll, reverse)
        for g, w in zip(got, want, strict=True):
            numpy.testing.assert_allclose(g, w, rtol=1e-14)


def test_unrolled_scan_is_another_program() -> None:
    def cosines(unroll: Any, transformed: Any = lambda f: f) -> tuple[int, int]:
        text = jit(transformed(lambda x: running(x, unroll)[0])).lower(X).as_text()
        return text.count("stablehlo.cosine"), text.count("stablehlo.while")

    assert cosines(1) == (1, 1)
    assert cosines(3) == (3 + 7 % 3, 1)  # of a round, and left over
    assert cosines(True) == (7, 0)
    assert cosines(False) == (1, 1)
    assert cosines(True, grad)[1] == 0 and cosines(1, grad)[1] > 0  # the backward scan too
    f = lambda x: fori_loop(0, 4, lambda i, v: np.cos(v), x, unroll=4)  # noqa: E731
    assert jit(f).lower(1.0).as_text().count("stablehlo.cosine") == 4


def test_unroll_errors() -> None:
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="unroll"):
            running(X, wrong)
    with pytest.raises(ValueError, match="unroll"):
        fori_loop(0, np.array(3), lambda i, v: v, 1.0, unroll=2)


# -- jit(inline=, donate_argnums=) -----------------------------------------------------------------


def test_inline() -> None:
    def squared(x: Any) -> Any:
        return x * x

    def primitives(inner: Any) -> list[str]:
        return [e.primitive.name for e in make_jaxpr(lambda x: inner(x) + x)(X).eqns]

    assert primitives(jit(squared)) == ["jit", "add"]
    assert primitives(jit(squared, inline=True)) == primitives(squared) == ["multiply", "add"]
    assert primitives(jit(inline=True)(squared)) == ["multiply", "add"]
    numpy.testing.assert_array_equal(jit(squared, inline=True)(X), numpy.asarray(X) ** 2)


def pointer(x: Any) -> int:
    np.materialize(x)
    return x._node[VALUE].unsafe_buffer_pointer()


def fresh() -> Any:
    return np.arange(1 << 16) * 1.5


def test_donated_memory_is_used_again() -> None:
    def f(x: Any, y: Any = 1.0) -> Any:
        return x * 2 + y

    with np.config(execution="compiled"):
        for options in ({"donate_argnums": 0}, {"donate_argnames": "x"}, {}):
            x = fresh()
            before = pointer(x)
            y = jit(f, **options)(x)
            assert (pointer(y) == before) == bool(options)
            assert float(y[2]) == 7.0
        x = fresh()
        before = pointer(x)
        assert pointer(jit(f, donate_argnums=-2)(x, 1.0)) == before


def test_a_donated_array_is_gone() -> None:
    f = jit(lambda x: x + 1, donate_argnums=0)
    x = fresh()
    view = x[1:]
    y = f(x)
    assert x.shape == (1 << 16,) and x.dtype == np.float64
    uses = [
        lambda: x + 1, lambda: float(x[0]), lambda: numpy.asarray(x), lambda: repr(x), lambda: f(x),
        lambda: numpy.asarray(view), lambda: bool(x[0] > 0), lambda: jit(lambda: x * 2)(),
        lambda: grad(lambda a: (a * x).sum())(y),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(RuntimeError, match="donated to jit of <lambda>"):
            use()
    assert float(y[0]) == 1.0


def test_what_is_not_donated() -> None:
    def add(x: Any, y: Any) -> Any:
        return x + y

    f = jit(add, donate_argnums=0)
    x, host = fresh(), numpy.ones(3)
    f(host, 1.0), f(x[2:], 1.0)  # memory of others
    assert float(x[2]) == 3.0 and host[0] == 1.0
    assert float(grad(lambda x: f(x, x.copy()).sum())(x)[0]) == 2.0  # under a transformation
    assert float(x[2]) == 3.0
    for args in ((x, x), (x, x[:1])):
        with pytest.raises(ValueError, match="jit of add: a donated array"):
            f(*args)
    with pytest.raises(ValueError, match="donate_argnums has 2"):
        jit(add, donate_argnums=2)

    @jit
    def keeps(x: Any) -> Any:
        return x

    def doubled(x: Any) -> Any:
        x *= 2
        return x

    g = jit(doubled, donate_argnums=0)
    assert g(x) is x and float(x[2]) == 6.0  # written: the array holds the result
    same = jit(keeps.__wrapped__, donate_argnums=0)
    assert same(x) is x and float(x[2]) == 6.0


# -- pure_callback(vmap_method=) -------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
@pytest.mark.parametrize(
    "method, seen",
    [
        (None, [((2,), ())] * 3),
        ("sequential", [((2,), ())] * 3),
        ("expand_dims", [((3, 2), (1,))]),
        ("broadcast_all", [((3, 2), (3,))]),
    ],
)
def test_vmap_methods(method: Any, seen: Any, wrap: Any) -> None:
    shapes = []

    def on_host(x: Any, s: Any) -> Any:
        shapes.append((x.shape, s.shape))
        return x * numpy.reshape(s, numpy.shape(s) + (1,) * (x.ndim - numpy.ndim(s)))

    def f(x: Any, s: Any) -> Any:
        return pure_callback(on_host, np.ShapeDtype((2,), float), x, s, vmap_method=method)

    x = numpy.arange(6.0).reshape(3, 2)
    got = numpy.asarray(wrap(vmap(f, (0, None)))(x, 2.0))
    numpy.testing.assert_array_equal(got, 2 * x)
    assert shapes == seen


def test_vmap_method_errors() -> None:
    with pytest.raises(ValueError, match="vmap_method"):
        pure_callback(lambda x: x, np.ShapeDtype((), float), 1.0, vmap_method="all")

    def wrong(x: Any) -> Any:  # the axis of examples is missing
        return numpy.zeros(2)

    f = lambda x: pure_callback(wrong, np.ShapeDtype((2,), float), x, vmap_method="expand_dims")  # noqa: E731
    with pytest.raises(TypeError, match="pure_callback"):
        numpy.asarray(vmap(f)(X))


# -- checkpoint(policy=) ---------------------------------------------------------------------------

W = np.asarray(numpy.random.default_rng(0).normal(size=(4, 4)))


def network(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.sin(jit(lambda w, x: w @ x)(w, x))
    return x.sum()


def test_policies_compute_again_what_they_do_not_keep() -> None:
    counts = {}
    for policy in ("nothing", "dots", "everything"):
        f = value_and_grad(checkpoint(network, policy=policy))
        text = jit(f).lower(W, np.ones(4)).as_text()
        counts[policy] = text.count("stablehlo.dot_general"), text.count("stablehlo.sine")
    # 3 products forward, and 2 backward, for outer products are multiplications; sin of the first
    # two layers feeds the products
    assert counts == {"nothing": (8, 5), "dots": (5, 5), "everything": (5, 3)}


@pytest.mark.parametrize("policy", ["nothing", "dots", "everything"])
def test_policies_agree(policy: str) -> None:
    f, x = checkpoint(network, policy=policy), np.ones(4)
    numpy.testing.assert_allclose(grad(f)(W, x), grad(network)(W, x), rtol=1e-13)
    for transformed, args in (
        (lambda f: np.hessian(f, 1), (W, x)),
        (lambda f: jit(vmap(grad(f, 1), (0, None))), (np.stack([W, W.T]), x)),
    ):
        got, want = transformed(f)(*args), transformed(network)(*args)
        numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    body = checkpoint(lambda c, a: (np.sin(W @ c) * a, c.sum()), policy=policy)
    steps = lambda b: lambda x: sum(r.sum() for r in scan(b, x, np.arange(3.0)))  # noqa: E731
    numpy.testing.assert_allclose(grad(steps(body))(x), grad(steps(body.__wrapped__))(x))


def test_policy_errors() -> None:
    with pytest.raises(ValueError, match="policy"):
        checkpoint(network, policy="some")


# -- debug_nans ------------------------------------------------------------------------------------


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def roots(x: Any) -> Any:
    y = x - 2.0
    z = np.sqrt(y)  # here
    return (z * 3).sum()


def safe(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x) / x, 0.0).sum()  # here too


@pytest.mark.parametrize(
    "run, primitive, at",
    [
        (lambda: roots(X), "sqrt", (roots, "# here")),
        (lambda: jit(roots)(X), "sqrt", (roots, "# here")),
        (lambda: vmap(roots)(X), "sqrt", (roots, "# here")),
        (lambda: value_and_grad(roots)(X)[0], "sqrt", (roots, "# here")),
        (lambda: roots(np.float64(1)), "sqrt", (roots, "# here")),
        (lambda: grad(safe)(np.array([0.0, 1.0])), "divide", (safe, "# here too")),
    ],
    ids=["plain", "jit", "vmap", "grad", "scalar", "derivative"],
)
def test_debug_nans(run: Any, primitive: str, at: Any) -> None:
    where = f"^{primitive}: .*test_options.py:{line_of(*at)}$"
    for execution in ("compiled", "reference"):
        with np.config(execution=execution):
            with pytest.raises(FloatingPointError, match=where):
                with debug_nans():
                    _ = run()
            with numpy.errstate(invalid="ignore"):
                _ = numpy.asarray(run())  # no error afterwards


def test_debug_nans_in_loops() -> None:
    with pytest.raises(FloatingPointError, match="^log in scan: .*test_options.py"):
        with debug_nans():
            kept = scan(lambda c, x: (np.log(c), x), 0.5, X)
            numpy.asarray(kept[0])


def test_debug_nans_is_a_setting() -> None:
    @debug_nans()
    def checked() -> Any:
        return np.log(np.array([-1.0]))

    with pytest.raises(FloatingPointError, match="log"):
        numpy.asarray(checked())
    data = np.array([1.0, np.nan])
    with np.config(debug_nans=True):
        assert float(np.nanmean(data)) == 1.0  # a NaN that existed before is not an error
        numpy.testing.assert_array_equal(data * 2, [2.0, numpy.nan])
        with debug_nans(False):
            numpy.asarray(np.log(np.array([-1.0])))
    numpy.asarray(np.log(np.array([-1.0])))


def test_checkpoint_is_the_function_itself_where_nothing_is_transformed() -> None:
    """Nothing is traced: that takes much longer than to run it."""
    f = np.checkpoint(lambda x: x * 2.0 if float(x.sum()) > 0 else -x)
    assert f(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert f(-np.ones(3)).tolist() == [1.0, 1.0, 1.0]
