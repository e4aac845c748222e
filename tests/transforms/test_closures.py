"""Functions with custom rules, and the outside arrays that these read, when staged."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import (
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    jvp,
    scan,
    vmap,
    while_loop,
)

HOST = numpy.array([2.0, 3.0, 4.0])
OWNED = np.array([1.0, 2.0, 3.0])
X = numpy.array([1.0, -1.0, 0.5])


@custom_jvp
def by_jvp(x):
    return x * np.array([2.0, 3.0, 4.0]) + HOST


@by_jvp.defjvp
def _rule(primals, tangents):
    return by_jvp(*primals), tangents[0] * np.array([10.0, 20.0, 30.0]) * OWNED


@custom_vjp
def by_vjp(x):
    return x * HOST + np.array([2.0, 3.0, 4.0])


by_vjp.defvjp(
    lambda x: (by_vjp(x), np.array([10.0, 20.0, 30.0])),
    lambda kept, ct: (ct * kept * OWNED * np.array([1.0, 1.0, 1.0]),),
)

VALUE, SLOPE = X * HOST + HOST, numpy.array([10.0, 40.0, 90.0])


def _while(h: Any) -> Any:
    step = lambda s: (s[0] + 1, h(s[1]))  # noqa: E731
    return lambda x: while_loop(lambda s: s[0] < 1, step, (0, x))[1]


AROUND = {
    "jit": jit,
    "cond": lambda h: lambda x: cond(x[0] > 0, h, lambda x: x, x),
    "jit of cond": lambda h: jit(lambda x: cond(x[0] > 0, h, lambda x: x, x)),
    "cond of cond": lambda h: (
        lambda x: cond(x[0] > 0, lambda x: cond(x[1] > 0, jit(h), h, x), lambda x: x, x)
    ),
    "scan": lambda h: lambda x: scan(lambda c, _: (h(c), None), x, None, length=1)[0],
    "fori_loop": lambda h: lambda x: fori_loop(0, 1, lambda i, c: h(c), x),
    "while_loop": _while,
    "vmap of jit": lambda h: lambda x: vmap(jit(h))(x[None])[0],
    "vmap of cond": lambda h: (
        lambda x: vmap(lambda x: cond(x[0] > 0, h, lambda x: x, x))(x[None])[0]
    ),
    "jit of checkpoint": lambda h: jit(checkpoint(h)),
}
DERIVATIVES = {
    "grad": lambda h: grad(lambda x: h(x).sum())(X),
    "jit of grad": lambda h: jit(grad(lambda x: h(x).sum()))(X),
    "grad of jit": lambda h: grad(jit(lambda x: h(x).sum()))(X),
    "vmap of grad": lambda h: vmap(grad(lambda x: h(x).sum()))(X[None])[0],
    "grad of grad": lambda h: grad(lambda x: (x * grad(lambda x: h(x).sum())(x)).sum())(X),
    "jvp": lambda h: jvp(h, (X,), (numpy.ones(3),))[1],
}


@pytest.mark.parametrize("h", [by_jvp, by_vjp], ids=["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("around", AROUND)
def test_arrays_made_and_read_in_function_and_rule(around: str, h: Any) -> None:
    wrapped = AROUND[around](h)
    with np.config(execution="reference"):
        numpy.testing.assert_allclose(wrapped(X), VALUE)
        for name, derivative in DERIVATIVES.items():
            forward = name == "jvp"
            if h is by_vjp and forward:
                with pytest.raises(TypeError, match="forward mode"):
                    derivative(wrapped)
            else:
                numpy.testing.assert_allclose(derivative(wrapped), SLOPE, err_msg=name)


@pytest.mark.parametrize("h", [by_jvp, by_vjp], ids=["custom_jvp", "custom_vjp"])
def test_compiled(h: Any) -> None:
    got = jit(grad(lambda x: scan(lambda c, _: (jit(h)(c), None), x, None, length=1)[0].sum()))(X)
    numpy.testing.assert_allclose(got, SLOPE)


def _scaled(reach: str, p: Any) -> Any:
    """A function whose rule reads p; the function itself does not."""

    @custom_jvp
    def h(x):
        return x * 1.0

    def rule(p, primals, tangents):
        return h(*primals), tangents[0] * p

    if reach == "partial":
        h.defjvp(functools.partial(rule, p))
    elif reach == "list":
        kept = [{"p": (p,)}]
        h.defjvp(lambda x, t: rule(kept[0]["p"][0], x, t))
    else:
        h.defjvp(lambda x, t: (lambda q: rule(q, x, t))(p))
    return h


@pytest.mark.parametrize("reach", ["closure", "partial", "list"])
def test_what_only_a_rule_reads_is_read_afresh(reach: str) -> None:
    p = np.array([5.0, 6.0, 7.0])
    h = _scaled(reach, p)
    slope = grad(jit(lambda x: h(x).sum()))
    assert slope(X).tolist() == [5, 6, 7]
    p[0] = 9.0
    assert slope(X).tolist() == [9, 6, 7]


def test_what_a_rule_reads_may_be_traced() -> None:
    def outer(z):
        h = _scaled("closure", z.sum())
        return grad(jit(lambda x: h(x).sum()))(X).sum()

    z = np.array([1.0, 2.0])
    assert outer(z) == jit(outer)(z) == 9.0
    assert vmap(outer)(np.stack([z, 2 * z])).tolist() == [9, 18]
    assert grad(outer)(z).tolist() == grad(jit(outer))(z).tolist() == [3, 3]


def test_what_a_rule_reads_out_of_sight() -> None:
    class Holder:
        p = np.array([5.0, 6.0, 7.0])

    h = _scaled("closure", 1.0)
    h.defjvp(lambda x, t: (h(*x), t[0] * Holder.p))
    assert grad(lambda x: h(x).sum())(X).tolist() == [5, 6, 7]
    with pytest.raises(TypeError, match=r"h: its rule reads an array from outside, f64\[3\]"):
        grad(jit(lambda x: h(x).sum()))(X)


AS_IT_IS = {
    "eager": lambda h: h,
    "jit": jit,
    "cond": lambda h: lambda x: cond(x[0] > 0, h, lambda x: x, x),
}


@pytest.mark.parametrize("around", AS_IT_IS)
def test_a_derivative_through_what_is_captured(around: str) -> None:
    """The derivative passes through the function where no argument moves; otherwise it is
    refused.
    """

    def jvp_of(c):
        @custom_jvp
        def h(x):
            return x * c

        h.defjvp(lambda p, t: (h(*p), t[0] * c))
        return AS_IT_IS[around](h)

    def vjp_of(c):
        @custom_vjp
        def h(x):
            return x * c

        h.defvjp(lambda x: (x * c, None), lambda _, ct: (ct * 7.0,))
        return AS_IT_IS[around](h)

    c = np.array([3.0, 4.0, 5.0])
    for make in (jvp_of, vjp_of):
        assert grad(lambda c, make=make: make(c)(X).sum())(c).tolist() == X.tolist()
        with pytest.raises(TypeError, match="being differentiated; make it an argument"):
            grad(lambda c, make=make: make(c)(c).sum())(c)
    assert jvp(lambda c: vjp_of(c)(X), (c,), (c,))[1].tolist() == (X * numpy.asarray(c)).tolist()


@pytest.mark.parametrize("around", ["jit", "scan", "vmap of jit"])
def test_rules_of_generated_code(around: str) -> None:
    """Functions that `exec` makes in a scope without a name belong to no module."""
    scope: dict[str, Any] = {"np": np}
    rule = "def rule(p, t): return f(*p), 2 * np.cos(p[0]) * t[0]"
    exec(f"def f(x): return np.sin(x)\n{rule}", scope)
    f = custom_jvp(scope["f"])
    f.defjvp(scope["rule"])
    assert scope["rule"].__module__ is None
    slope = {
        "jit": grad(jit(f)),
        "scan": grad(lambda x: scan(lambda c, _: (f(c), None), x, None, length=1)[0]),
        "vmap of jit": lambda x: vmap(grad(jit(f)))(np.array([x]))[0],
    }[around]
    assert numpy.isclose(float(slope(0.5)), 2 * numpy.cos(0.5))
