"""Programs that are staged alike at each call are one jaxpr; all that differs makes another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._jaxpr import Eqn, Jaxpr
from lazynp.transforms._alike import _known, first_alike
from lazynp.transforms._stage import linearize_jaxpr, stage, stage_closed

X = np.array([1.0, 2.0, 3.0])
AVAL = X.aval


def jaxpr_of(f: Callable[[Any], Any]) -> Any:
    return stage(lambda xs: [f(xs[0])], [AVAL], "a test").jaxpr


def scaled(factor: Any) -> Callable[[Any], Any]:
    return lambda x: np.sin(x) * factor + x[0]


def test_equal_programs_are_one() -> None:
    assert jaxpr_of(scaled(2.0)) is jaxpr_of(scaled(2.0))
    assert jaxpr_of(scaled(numpy.nan)) is jaxpr_of(scaled(numpy.nan))


@pytest.mark.parametrize("other", [2, 2.5, numpy.float32(2.0), numpy.float64(2.0) + 1, -2.0, True])
def test_other_constants_make_another(other: Any) -> None:
    first, second = jaxpr_of(scaled(2.0)), jaxpr_of(scaled(other))
    for jaxpr, factor in ((first, 2.0), (second, other)):
        out = numpy.asarray(np.jit(scaled(factor))(X))
        assert jaxpr.out_avals[0].shape == out.shape
    if not (isinstance(other, numpy.floating | int) and float(other) == 2.0):
        assert first is not second


def test_zeros_of_both_signs_differ() -> None:
    assert jaxpr_of(scaled(0.0)) is not jaxpr_of(scaled(-0.0))


def test_other_operations_parameters_and_places_make_another() -> None:
    made = [
        jaxpr_of(f)
        for f in (
            lambda x: x.sum(), lambda x: x.sum(keepdims=True), lambda x: x.max(),
            lambda x: x.astype("f4"), lambda x: x.astype("i8"), lambda x: x[::2], lambda x: x[1:],
            lambda x: x.sum(),  # at another place of the code, which errors name
        )
    ]  # fmt: skip
    assert len(set(map(id, made))) == len(made)


def test_programs_with_arrays_are_not_kept() -> None:
    table = numpy.arange(3.0)
    closed = stage_closed(lambda xs: [xs[0] + np.array(table)], [AVAL])
    assert any(eqn.primitive.name == "constant" for eqn in closed.eqns)
    call = {"jaxpr": closed, "name": "inner"}
    around = Jaxpr(
        closed.inputs, [Eqn(closed.eqns[0].primitive, closed.inputs, call, ())], closed.inputs
    )
    before = len(_known)
    for jaxpr in (closed, around):
        assert first_alike(jaxpr) is jaxpr
    assert len(_known) == before


@pytest.mark.parametrize("values", [[1.0, 2.0, 0.5], [3.0, 3.0, -1.0]])
def test_constants_that_change_from_call_to_call(values: list[float]) -> None:
    """Each call is differentiated by its own numbers."""

    def loss(x: Any, c: float) -> Any:
        y = np.cond(x.sum() > 0, lambda v: (v**2).sum() * c, lambda v: (v**3).sum() - c, x)
        z = np.scan(lambda s, v: (np.sin(s) * c, s * v), x[0], x)[1].sum()
        w = np.fori_loop(0, 4, lambda i, s: np.sin(s) + c * x[0], x).sum()
        return y + z + w + np.checkpoint(lambda v: (v * c).sum())(x)

    for sign in (1.0, -1.0):
        for c in values:
            x = X * sign
            got = np.grad(loss)(x, c)
            h = 1e-6
            want = [float(loss(x + h * d, c) - loss(x - h * d, c)) / (2 * h) for d in numpy.eye(3)]
            numpy.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_derivatives_are_made_once() -> None:
    f = np.grad(
        lambda x: (
            np.cond(x.sum() > 0, lambda y: (y**2).sum(), lambda y: (y**3).sum(), x)
            + np.scan(lambda c, y: (np.sin(c) * y, c), x[0], x)[1].sum()
            + np.checkpoint(lambda y: np.sin(y).sum())(x)
        )
    )
    for k in range(2):
        f(X * (k + 1))
    before = linearize_jaxpr.cache_info().misses  # type: ignore[attr-defined]
    for k in range(5):
        f(X + k)
    assert linearize_jaxpr.cache_info().misses == before  # type: ignore[attr-defined]
