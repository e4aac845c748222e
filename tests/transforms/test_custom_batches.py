"""Functions with custom rules in which the examples of a vmap, or devices, meet in collectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.devices.worker import on_eight

P = np.PartitionSpec
X = numpy.linspace(-1.0, 2.0, 8)
A = numpy.arange(32.0).reshape(8, 4) / 10 - 1
W = numpy.array([0.5, -1.0, 2.0, 0.1])


def by_jvp() -> Any:
    @np.custom_jvp
    def total(x: Any) -> Any:
        return np.psum(np.sin(x), "d")

    @total.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        return total(*primals), np.psum(np.cos(primals[0]) * tangents[0], "d")

    return total


def by_vjp() -> Any:
    @np.custom_vjp
    def total(x: Any) -> Any:
        return np.psum(np.sin(x), "d")

    total.defvjp(lambda x: (np.psum(np.sin(x), "d"), x), lambda x, ct: (np.cos(x) * ct,))
    return total


RULES: dict[str, Callable[[], Any]] = {"jvp": by_jvp, "vjp": by_vjp}
INSIDE: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f,
    "jit": np.jit,
    "scan": lambda f: lambda x: np.scan(lambda c, _: (c, f(x)), 0, None, length=1)[1][0],
    "cond": lambda f: lambda x: np.cond(True, f, lambda x: np.psum(x, "d"), x),
    "checkpoint": np.checkpoint,
    "vmap": lambda f: lambda x: np.vmap(f)(x[None])[0],
}


def over_examples(f: Any, ins: Any = 0) -> Any:
    return np.vmap(f, in_axes=ins, out_axes=None, axis_name="d")


def over_devices(f: Any) -> Any:
    mesh = np.make_mesh((8,), ("d",))
    return np.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P())


def check_total(f: Any, rule: str) -> None:
    want, slope = numpy.sin(X).sum(), numpy.cos(X)
    close = numpy.testing.assert_allclose
    close(f(X), want)
    close(np.jit(f)(X), want)
    for g in (np.grad(lambda x: f(x) ** 2), np.jit(np.grad(lambda x: f(x) ** 2))):
        close(g(np.array(X)), 2 * want * slope)
    close(np.jacrev(np.grad(f))(np.array(X)), numpy.diag(-numpy.sin(X)), atol=1e-12)
    close(np.vmap(np.grad(f))(np.stack([X, 2 * X])), [slope, numpy.cos(2 * X)])
    if rule == "jvp":
        close(np.jvp(f, (X,), (X,))[1], (slope * X).sum())


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("rule", RULES)
def test_what_examples_have_in_common_is_one_value(rule: str, inside: str) -> None:
    check_total(over_examples(INSIDE[inside](RULES[rule]())), rule)


@pytest.mark.parametrize("rule", RULES)
@on_eight
def test_what_devices_have_in_common_is_one_value(rule: str) -> None:
    for inside in ("plain", "jit", "scan"):
        f = INSIDE[inside](RULES[rule]())
        check_total(over_devices(lambda x, f=f: f(x).sum()), rule)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_first_needed_when_the_axis_is_gone(rule: str) -> None:
    program = np.jit(over_examples(RULES[rule]()))
    numpy.testing.assert_allclose(program(X), numpy.sin(X).sum())  # traced, with no rule
    numpy.testing.assert_allclose(np.grad(program)(np.array(X)), numpy.cos(X))


def product(sums: bool) -> Any:
    @np.custom_vjp
    def product(x: Any, w: Any) -> Any:
        return x @ w

    def backward(kept: Any, ct: Any) -> Any:
        x, w = kept
        of_w = ct * x
        return ct * w, np.psum(of_w, "d") if sums else of_w

    product.defvjp(lambda x, w: (x @ w, (x, w)), backward)
    return product


@pytest.mark.parametrize("inside", ["plain", "jit"])
@pytest.mark.parametrize("sums", [True, False])
def test_the_cotangent_of_what_is_the_same_for_all(sums: bool, inside: str) -> None:
    """The rule may sum it over the axis, as JAX asks for, or leave that to us."""
    f = INSIDE[inside](product(sums))
    loss = over_examples(lambda x, w: np.psum(np.sin(f(x, w)), "d"), (0, None))
    slope = numpy.cos(A @ W)
    for take in (lambda g: g, np.jit):
        of_x, of_w = take(np.grad(loss, (0, 1)))(np.array(A), np.array(W))
        numpy.testing.assert_allclose(of_x, slope[:, None] * W)
        numpy.testing.assert_allclose(of_w, A.T @ slope)


@np.custom_vjp
def several(x: Any, w: Any) -> Any:
    s = np.psum(x, "d")
    return x * s, s * w, w * 3


def _several_backward(kept: Any, ct: Any) -> Any:
    x, w, s = kept
    a, b, c = ct
    return a * s + np.psum(a * x, "d") + (b * w).sum(), b * s + c * 3


several.defvjp(lambda x, w: (several(x, w), (x, w, np.psum(x, "d"))), _several_backward)


@pytest.mark.parametrize("inside", ["plain", "jit"])
def test_results_of_both_kinds(inside: str) -> None:
    f = several if inside == "plain" else np.jit(several)
    mapped = np.vmap(f, (0, None), (0, None, None), axis_name="d")

    def loss(outs: Any) -> Any:
        return sum(np.sin(out).sum() for out in outs)

    def plain(x: Any, w: Any) -> Any:
        return x * x.sum(), x.sum() * w, w * 3

    for k in (0, 1):
        want = np.grad(lambda x, w: loss(plain(x, w)), k)(np.array(X), np.array(W))
        for take in (lambda g: g, np.jit):
            got = take(np.grad(lambda x, w: loss(mapped(x, w)), k))(np.array(X), np.array(W))
            numpy.testing.assert_allclose(got, want)


@pytest.mark.parametrize("inside", ["plain", "jit"])
def test_without_a_collective_each_example_has_its_own(inside: str) -> None:
    """Straight through a constant: the cotangent is the example's, not the sum."""

    @np.custom_vjp
    def one(x: Any, w: Any) -> Any:
        return np.ones(())

    one.defvjp(lambda x, w: (np.ones(()), None), lambda _, ct: (ct, np.ones(())))
    f = one if inside == "plain" else np.jit(one)
    weights = numpy.arange(8.0)

    def loss(x: Any, w: Any) -> Any:
        return (np.vmap(f, (0, None), axis_name="d")(x, w) * weights).sum()

    of_x, of_w = np.grad(loss, (0, 1))(np.array(X), np.asarray(2.0))
    assert of_x.tolist() == weights.tolist()
    assert float(of_w) == 8.0


@pytest.mark.parametrize("inside", ["plain", "jit"])
def test_a_rule_that_forgets_the_collective_is_refused(inside: str) -> None:
    @np.custom_jvp
    def total(x: Any) -> Any:
        return np.psum(x, "d")

    total.defjvp(lambda p, t: (total(*p), t[0]))
    f = over_examples(INSIDE[inside](total))
    with pytest.raises(TypeError, match="^the rule of total: a tangent differs from example"):
        np.grad(f)(np.array(X))
