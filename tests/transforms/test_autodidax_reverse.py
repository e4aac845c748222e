"""Autodidax, parts 3 to 5: jit's rules, linearize and transposition up to grad, control flow.

Parts 1 to 3 are in `test_autodidax`.
"""

from __future__ import annotations

import numpy
import pytest

import lazynp as np
from lazynp import (
    cond,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_jaxpr,
    scan,
    switch,
    vjp,
    vmap,
    while_loop,
)

X = np.array([0.3, -0.7, 1.2])


def derivative(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


# -- part 3: the rules of jit ----------------------------------------------------------------------


def test_jit_is_an_operation_with_rules() -> None:
    traced = []

    @jit
    def f(x):
        traced.append(1)
        return np.sin(x) * 2.0

    names = lambda g: [eqn.primitive.name for eqn in make_jaxpr(g)(numpy.float64(3)).eqns]  # noqa: E731
    assert names(f) == ["jit"] and names(derivative(f)) == ["jit"]
    assert names(lambda x: vmap(f)(x * np.ones(2)))[-1] == "jit"
    out, tangent = jvp(f, (numpy.float64(3),), (1.0,))
    assert float(out) == 2 * numpy.sin(3.0) and float(tangent) == 2 * numpy.cos(3.0)
    numpy.testing.assert_allclose(vmap(f)(X), 2 * numpy.sin(numpy.asarray(X)))
    assert len(traced) == 1  # its jaxpr is transformed, the function not traced again


# -- part 4: linearize, vjp, grad ------------------------------------------------------------------


def test_linearize_computes_the_primals_once() -> None:
    calls = []

    def f(x):
        calls.append(1)
        return np.sin(x) * x

    y, push = linearize(f, 3.0)
    assert float(y) == pytest.approx(3 * numpy.sin(3.0), rel=1e-15)
    slope = numpy.sin(3.0) + 3 * numpy.cos(3.0)
    for t in (1.0, 2.0):
        assert float(push(t)) == pytest.approx(t * slope, rel=1e-14)
    assert len(calls) == 1
    assert "sin" not in str(make_jaxpr(push)(1.0))  # residuals are data of the tangent program


def test_linearize_of_jit_splits_it() -> None:
    """Known values go into one program, linear ones into another."""
    f = jit(lambda x: np.sin(np.cos(x)) * x)
    y, push = linearize(f, X)
    text = str(make_jaxpr(push)(X))
    assert "sin" not in text and "cos" not in text and "jit" in text
    slopes = grad(lambda x: f(x).sum())(X)
    numpy.testing.assert_allclose(push(np.ones(3)), slopes, rtol=1e-14)


def test_constants_and_unknown_values_mixed() -> None:
    def f(x, y):
        return jit(lambda a: (a * 2.0, np.cos(y)))(x)

    (a, b), push = linearize(lambda x: f(x, 2.0), 3.0)
    assert float(a) == 6.0 and float(b) == numpy.cos(2.0)
    assert [float(v) for v in push(1.0)] == [2.0, 0.0]


def test_transposition() -> None:
    (ct,) = linear_transpose(lambda t: 3.0 * t - t, 0.0)(5.0)
    assert float(ct) == 10.0
    m = np.arange(6.0).reshape(2, 3)
    (ct,) = linear_transpose(lambda v: m @ v, X)(np.ones(2))
    numpy.testing.assert_array_equal(ct, m.sum(0))
    with pytest.raises(TypeError):
        linear_transpose(np.sin, 1.0)(1.0)


def test_vjp_and_grad() -> None:
    y, pull = vjp(np.sin, 3.0)
    assert float(y) == numpy.sin(3.0) and float(pull(1.0)[0]) == numpy.cos(3.0)

    def f(x):
        y = np.sin(x) * 2.0
        z = -y + x
        return z

    assert float(grad(f)(3.0)) == pytest.approx(1 - 2 * numpy.cos(3.0), rel=1e-15)

    @jit
    def g(x):
        y = x * 2.0

        @jit
        def inner(z):
            return np.cos(z) * y

        return inner(x)

    want = 2 * (numpy.cos(3.0) - 3.0 * numpy.sin(3.0))
    assert float(grad(g)(3.0)) == pytest.approx(want, rel=1e-14)
    out, pull = vjp(lambda d: {"s": d["x"] * d["y"]}, {"x": 3.0, "y": 4.0})
    assert {k: float(v) for k, v in pull({"s": 2.0})[0].items()} == {"x": 8.0, "y": 6.0}


def nested(x):
    """Nested calls with closures: at every level something is known or not."""

    @jit
    def bar(y):
        def baz(w):
            q = jit(lambda v: y * v)(x)
            q = q + jit(lambda: y)()
            q = q + jit(lambda s: w + s)(y)
            q = jit(lambda t: jit(np.sin)(x) * t)(1.0) + q
            return q

        p, _ = jvp(baz, (x + 1.0,), (y,))
        return p + x * p

    return bar(x) * 1.5


def test_composability_to_second_order() -> None:
    x = 0.7
    values = [nested(x), jit(nested)(x), jvp(nested, (x,), (5.0,))[0], vjp(nested, x)[0]]
    numpy.testing.assert_allclose(values, [float(values[0])] * 4, rtol=1e-14)
    h = 1e-5
    first = (float(nested(x + h)) - float(nested(x - h))) / (2 * h)
    firsts = [derivative(nested), derivative(jit(nested)), jit(derivative(nested)), grad(nested),
              grad(jit(nested)), jit(grad(nested)), jacfwd(nested), jacrev(nested)]  # fmt: skip
    for f in firsts:
        assert float(f(x)) == pytest.approx(first, rel=1e-8)
    second = (float(grad(nested)(x + h)) - float(grad(nested)(x - h))) / (2 * h)
    for f in [*(grad(g) for g in firsts[:6]), *(derivative(g) for g in firsts[2:5]),
              jit(grad(jit(grad(nested)))), hessian(nested)]:  # fmt: skip
        assert float(f(x)) == pytest.approx(second, rel=1e-8)
    numpy.testing.assert_allclose(
        jit(vmap(grad(derivative(nested))))(np.array([x, x])), [second] * 2, rtol=1e-8
    )


# -- part 5: control flow --------------------------------------------------------------------------


def test_cond_has_every_rule() -> None:
    f = lambda x: cond(x > 0.0, lambda: np.sin(x) * 3.0, lambda: x * x)  # noqa: E731
    for x, value, slope in ((0.5, 3 * numpy.sin(0.5), 3 * numpy.cos(0.5)), (-2.0, 4.0, -4.0)):
        for g in (f, jit(f)):
            assert float(g(x)) == pytest.approx(value, rel=1e-15)
            for d in (derivative(g), grad(g), jit(grad(g))):
                assert float(d(x)) == pytest.approx(slope, rel=1e-15)
    x = numpy.asarray(X)
    want = numpy.where(x > 0, 3 * numpy.sin(x), x * x)
    numpy.testing.assert_allclose(vmap(f)(X), want, rtol=1e-15)  # a batched predicate
    numpy.testing.assert_allclose(
        vmap(grad(f))(X), numpy.where(x > 0, 3 * numpy.cos(x), 2 * x), rtol=1e-15
    )
    both = vmap(lambda p, v: cond(p, lambda a: (a, 1.0), lambda a: (2.0, a), v), (None, 0))
    a, b = both(True, X)  # branches whose results are batched differently
    assert a.tolist() == X.tolist() and b.tolist() == [1.0] * 3


def test_the_other_control_flow() -> None:
    f = lambda i, x: switch(i, [np.sin, np.cos, lambda x: x * x], x)  # noqa: E731
    assert [float(grad(f, 1)(i, 2.0)) for i in range(3)] == pytest.approx(
        [numpy.cos(2.0), -numpy.sin(2.0), 4.0], rel=1e-15
    )
    halved = lambda x: while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)  # noqa: E731
    assert float(derivative(halved)(5.0)) == 0.125
    assert vmap(halved)(np.array([0.5, 5.0, 9.0])).tolist() == [0.5, 0.625, 0.5625]
    power = lambda x: fori_loop(0, 4, lambda i, v: v * x, 1.0)  # noqa: E731
    assert float(grad(power)(2.0)) == 32.0 and float(grad(grad(power))(2.0)) == 48.0
    total = lambda xs: scan(lambda c, x: (c * x, c), 1.0, xs)[0]  # noqa: E731
    x = numpy.asarray(X)
    numpy.testing.assert_allclose(jit(grad(total))(X), x.prod() / x, rtol=1e-14)
