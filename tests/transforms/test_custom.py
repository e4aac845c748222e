"""custom_jvp and custom_vjp, and functions built on them; checkpoint; callbacks."""

import functools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import (
    check_grads,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jacfwd,
    jit,
    jvp,
    pure_callback,
    scan,
    vjp,
    vmap,
    while_loop,
)

X = np.array([0.3, -0.7, 1.2])


@custom_jvp
def f(x, y=2.0):
    return np.sin(x) * y


@f.defjvp
def f_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return f(x, y), 10 * np.cos(x) * dx * y + np.sin(x) * dy


@custom_vjp
def g(x, y):
    return x * y


g.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: (3 * ct * r[1], ct * r[0]))

WRAPPED = [
    lambda h: h,
    jit,
    lambda h: jit(jit(h)),
    lambda h: lambda *a: cond(True, h, h, *a),
    lambda h: lambda x, y: scan(lambda c, _: (h(c, y), None), x, None, length=1)[0],
    lambda h: lambda x, y: vmap(h)(x[None], y[None])[0],
    lambda h: lambda x, y: vmap(h, (None, 0))(x, np.stack([y, y]))[0],
    lambda h: lambda x, y: jit(vmap(jit(h)))(np.stack([x, x]), np.stack([y, y]))[0],
]


@pytest.mark.parametrize("wrap", WRAPPED, ids=range(len(WRAPPED)))
def test_the_rule_survives(wrap) -> None:
    x, y = np.array([1.0, 2.0]), np.array([2.0, 5.0])
    got = grad(lambda x, y: wrap(f)(x, y).sum(), (0, 1))(x, y)
    numpy.testing.assert_allclose(got[0], 10 * numpy.cos(x) * y)
    numpy.testing.assert_allclose(got[1], numpy.sin(x))
    got = grad(lambda x, y: wrap(g)(x, y).sum(), (0, 1))(x, y)
    numpy.testing.assert_allclose(got[0], 3 * numpy.asarray(y))
    numpy.testing.assert_allclose(got[1], x)
    numpy.testing.assert_allclose(jvp(wrap(f), (x, y), (x, 0 * y))[1], 10 * numpy.cos(x) * y * x)


def test_arguments_by_name_and_default() -> None:
    numpy.testing.assert_allclose(f(1.0, y=3.0), numpy.sin(1.0) * 3)
    numpy.testing.assert_allclose(grad(f)(1.0), 20 * numpy.cos(1.0))
    numpy.testing.assert_allclose(grad(lambda x: f(y=3.0, x=x))(1.0), 30 * numpy.cos(1.0))


def test_second_order() -> None:
    numpy.testing.assert_allclose(grad(grad(f))(1.0), -20 * numpy.sin(1.0))
    numpy.testing.assert_allclose(grad(grad(jit(f)))(1.0), -20 * numpy.sin(1.0))
    numpy.testing.assert_allclose(grad(grad(g), 1)(2.0, 5.0), 3.0)
    numpy.testing.assert_allclose(jacfwd(grad(g), 1)(2.0, 5.0), 3.0)


def test_python_control_flow_sees_values_in_function_and_rule() -> None:
    seen = []

    @custom_vjp
    def h(x):
        return x if x > 0 else -x

    def bwd(sign, ct):
        seen.append(float(ct))
        return (ct * 7.0 if float(ct) > 0 else ct,)

    h.defvjp(lambda x: (h(x), x > 0), bwd)
    assert float(grad(h)(2.0)) == 7.0 and seen == [1.0]


def test_trees_nondiff_and_none() -> None:
    @custom_vjp
    def h(t, i):
        return {"o": t["a"] * t["b"][0]}

    h.defvjp(lambda t, i: (h(t, i), t), lambda t, ct: ({"a": ct["o"], "b": [None]}, None))
    tree = {"a": 2.0, "b": [3.0]}
    found = grad(lambda t: h(t, 1)["o"])(tree)
    assert float(found["a"]) == 1.0 and float(found["b"][0]) == 0.0

    from functools import partial  # noqa: PLC0415

    @partial(custom_jvp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x)

    apply.defjvp(lambda fun, p, t: (fun(p[0]), 5 * t[0]))
    assert float(grad(lambda x: apply(np.sin, x))(1.0)) == 5.0

    @partial(custom_vjp, nondiff_argnums=(1,))
    def scaled(x, k):
        return x * k

    scaled.defvjp(lambda x, k: (x * k, None), lambda k, _, ct: (ct * k * 2,))
    assert float(grad(scaled)(1.0, 3.0)) == 6.0


def test_errors() -> None:
    with pytest.raises(TypeError, match="forward mode of g"):
        jvp(g, (1.0, 2.0), (1.0, 1.0))
    with pytest.raises(TypeError, match="forward mode of g"):
        jvp(jit(g), (1.0, 2.0), (1.0, 1.0))
    with pytest.raises(AttributeError, match="no VJP rule"):
        grad(custom_vjp(lambda x: x))(1.0)
    bad = custom_vjp(lambda x, y: x)
    bad.defvjp(lambda x, y: (x, None), lambda r, ct: (ct,))
    with pytest.raises(TypeError, match="each of 2 arguments, got 1"):
        grad(bad)(1.0, 2.0)
    bad.defvjp(lambda x, y: (x, None), lambda r, ct: (ct, np.ones(3)))
    with pytest.raises(TypeError, match=r"a value of f64\[\] is required, got f64\[3\]"):
        grad(bad)(1.0, 2.0)
    bad = custom_jvp(lambda x: x)
    bad.defjvp(lambda p, t: (p[0], (t[0],)))
    with pytest.raises(TypeError, match="the tangent: a tree like"):
        grad(bad)(1.0)

    def closes(x):
        h = custom_vjp(lambda z: z * x)
        h.defvjp(lambda z: (z * x, None), lambda r, ct: (ct,))
        return h(x)

    with pytest.raises(TypeError, match="make it an argument"):
        grad(closes)(1.0)


def test_fixed_point() -> None:
    """The note's example: implicit differentiation of a fixed point."""

    def solve(step, a, x):
        def more(s):
            return (np.abs(s[0] - s[1]) > 1e-12).any()

        return while_loop(more, lambda s: (s[1], step(a, s[1])), (x, step(a, x)))[1]

    def step(a, x):
        return 0.5 * (x + a / x)

    @custom_vjp
    def root(a):
        return solve(step, a, a * 0 + 1.0)

    def bwd(residuals, ct):
        a, x = residuals
        _, back_x = np.vjp(lambda x: step(a, x), x)
        w = fori_loop(0, 30, lambda _, w: ct + back_x(w)[0], ct)
        return np.vjp(lambda a: step(a, x), a)[1](w)

    root.defvjp(lambda a: (root(a), (a, root(a))), bwd)
    numpy.testing.assert_allclose(root(2.0), numpy.sqrt(2.0))
    numpy.testing.assert_allclose(grad(root)(2.0), 0.5 / numpy.sqrt(2.0))
    numpy.testing.assert_allclose(jit(grad(root))(2.0), 0.5 / numpy.sqrt(2.0))
    numpy.testing.assert_allclose(vmap(grad(root))(np.array([2.0, 9.0])), [0.5 / 2**0.5, 1 / 6])


def runge_kutta(slope, state, seconds):
    """Forty steps of a tree of arrays."""
    h = seconds / 40

    def moved(state, slopes, by):
        return np.tree.map(lambda s, d: s + by * d, state, slopes)

    def step(_, state):
        k1 = slope(state)
        k2 = slope(moved(state, k1, h / 2))
        k3 = slope(moved(state, k2, h / 2))
        k4 = slope(moved(state, k3, h))
        total = np.tree.map(lambda a, b, c, d: a + 2 * (b + c) + d, k1, k2, k3, k4)
        return moved(state, total, h / 6)

    return fori_loop(0, 40, step, state)


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def odeint(slope, y, parameters, seconds):
    return runge_kutta(lambda y: slope(y, parameters), y, seconds)


def odeint_fwd(slope, y, parameters, seconds):
    end = odeint(slope, y, parameters, seconds)
    return end, (end, parameters, seconds)


def odeint_bwd(slope, kept, ct):
    """The adjoint equation, solved backwards from the end: nothing on the way was kept."""
    end, parameters, seconds = kept

    def backwards(state):
        y, a, _ = state
        dy, pull = vjp(slope, y, parameters)
        return (-dy, *pull(a))

    start = (end, ct, np.zeros_like(parameters))
    _, ct_y, ct_parameters = runge_kutta(backwards, start, seconds)
    return ct_y, ct_parameters, (ct * slope(end, parameters)).sum()


odeint.defvjp(odeint_fwd, odeint_bwd)


def test_odeint() -> None:
    """A pendulum; the rule against derivatives through the steps, in and under the others."""

    def pendulum(y, p):
        return np.stack([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]])

    def plain(y, p, seconds):
        return runge_kutta(lambda y: pendulum(y, p), y, seconds)

    solve = functools.partial(odeint, pendulum)
    y, p = np.array([1.0, 0.3]), np.array([2.0, 0.1])
    for wrap in (lambda f: f, jit):
        got = grad(wrap(lambda *a: (solve(*a) ** 2).sum()), (0, 1, 2))(y, p, 1.5)
        want = grad(lambda *a: (plain(*a) ** 2).sum(), (0, 1, 2))(y, p, 1.5)
        for g, w in zip(got, want, strict=True):
            numpy.testing.assert_allclose(g, w, rtol=1e-5)
    starts = np.stack([y, -y, 2 * y])
    rows = vmap(grad(lambda y: solve(y, p, 1.5)[0]))(starts)
    for row, start in zip(rows, starts):
        numpy.testing.assert_allclose(row, grad(lambda y: plain(y, p, 1.5)[0])(start), rtol=1e-5)


def test_vmap_of_grad_of_scan_with_custom_rules() -> None:
    def total(x, xs):
        return scan(lambda c, y: (g(f(c, y), x), c), x, xs)[0]

    rows = np.array([0.4, 0.9])
    want = [float(grad(total)(x, X)) for x in rows]
    numpy.testing.assert_allclose(vmap(grad(total), (0, None))(rows, X), want)
    numpy.testing.assert_allclose(jit(vmap(grad(total), (0, None)))(rows, X), want)


@pytest.mark.parametrize("policy", [None, "nothing", "dots", "everything"])
def test_checkpoint(policy) -> None:
    def h(x, k):
        y = np.zeros(3)
        y[1:] = np.sin(x[1:]) * k
        m = np.outer(y, x)
        return (np.sin(m @ np.cos(m @ x)) * x).sum()

    c = checkpoint(h, policy=policy)
    with np.config(execution="reference"):
        check_grads(c, (X, 2.0), order=2)
    numpy.testing.assert_allclose(jit(grad(c))(X, 2.0), grad(h)(X, 2.0))
    numpy.testing.assert_allclose(
        vmap(grad(c), (0, None))(np.stack([X, -X]), 2.0)[0], grad(h)(X, 2.0)
    )


def test_callbacks(capsys) -> None:
    double = lambda x: pure_callback(lambda v: numpy.asarray(v) * 2, np.ShapeDtype((3,), float), x)  # noqa: E731
    want = 2 * numpy.asarray(X) + 1
    numpy.testing.assert_allclose(double(X) + 1, want)
    numpy.testing.assert_allclose(jit(lambda x: double(x) + 1)(X), want)
    numpy.testing.assert_allclose(vmap(jit(double))(np.stack([X, X]))[1], want - 1)
    with pytest.raises(TypeError, match="no derivative"):
        grad(lambda x: double(x).sum())(X)

    def noisy(x):
        np.debug_print("x is {}", x)
        return x * x

    assert float(jit(grad(noisy))(3.0)) == 6.0
    vmap(noisy)(np.arange(2.0))
    assert capsys.readouterr().out == "x is 3.0\nx is 0.0\nx is 1.0\n"


def test_checkpoint_writes_its_arguments() -> None:
    """As the function would do without it."""

    def h(x, n):
        x[1:] *= n
        return x.sum() + x[0]

    for c in (checkpoint(h), jit(checkpoint(h)), checkpoint(jit(h)), checkpoint(h, policy="dots")):
        whole, host = np.array([9.0, 1.0, 2.0, 3.0]), numpy.array([1.0, 2.0])
        assert float(c(whole[1:], 2.0)) == 12.0
        assert whole.tolist() == [9, 1, 4, 6]
        assert grad(c)(whole[1:], 2.0).tolist() == [2, 2, 2]
        assert whole.tolist() == [9, 1, 8, 12]
        assert vmap(c, (0, None))(whole.reshape(2, 2), 3.0).tolist() == [21, 52]
        assert whole.tolist() == [9, 3, 8, 36] and float(c(host, 2.0)) == 6.0


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
        x = np.array([3.0, 4.0, 5.0])
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
    x = np.array([3.0, 4.0, 5.0])
    want = np.value_and_grad(lambda x: np.exp(f(x)) * f(x))(x)
    for call in calls.values():
        g = np.custom_jvp(call)
        g.defjvp(lambda primals, tangents, call=call: np.jvp(call, primals, tangents))
        both = np.value_and_grad(lambda x, g=g: np.exp(g(x)) * g(x))
        for got in (both(x), jit(both)(x)):
            numpy.testing.assert_allclose(got[0], want[0])
            numpy.testing.assert_allclose(got[1], want[1])
