"""Jaxprs: printing, checking, evaluation, and what is in their parameters."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._avals import aval_of
from lazynp._errors import NanError
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import (
    Eqn,
    Jaxpr,
    JaxprTypeError,
    Literal,
    Var,
    check,
    has_new_nan,
    jaxprs_in,
)
from lazynp.primitives import elementwise

F8 = aval_of((3,), numpy.dtype("f8"))
ADD, LOG = elementwise.add, elementwise.log


def program(*steps: Any) -> tuple[list[Var], Jaxpr]:
    """x, then each step: (primitive, operands as places)."""
    variables, eqns = [Var(F8)], []
    for primitive, *operands in steps:
        variables.append(Var(F8))
        eqns.append(Eqn(primitive, [variables[k] for k in operands], {}, [variables[-1]]))
    return variables, Jaxpr(variables[:1], eqns, variables[-1:])


def test_printing() -> None:
    _, one = program((ADD, 0, 0))
    assert str(one) == "{ lambda a:f64[3] . let b:f64[3] = add a a in ( b ) }"
    _, two = program((ADD, 0, 0), (LOG, 1))
    assert str(two).splitlines()[1:3] == ["    b:f64[3] = add a a", "    c:f64[3] = log b"]
    _, many = program(*[(LOG, k) for k in range(30)])
    assert "aa:f64[3] = log z" in str(many)


def test_checks() -> None:
    variables, good = program((ADD, 0, 0), (LOG, 1))
    check(good)
    x, y, z = variables
    unbound = Jaxpr([x], [Eqn(ADD, [x, y], {}, [z])], [z])
    twice = Jaxpr([x], [Eqn(ADD, [x, x], {}, [x])], [x])
    other = Var(aval_of((4,), numpy.dtype("f8")))
    declared = Jaxpr([x], [Eqn(ADD, [x, x], {}, [other])], [other])
    for bad, says in ((unbound, "unbound"), (twice, "bound twice"), (declared, "declared")):
        with pytest.raises(JaxprTypeError, match=says):
            check(bad)
    with pytest.raises(JaxprTypeError, match="unbound"):
        check(Jaxpr([x], [], [y]))


def test_evaluation() -> None:
    x = Var(F8)
    y = Var(F8)
    two = Literal(numpy.full(3, 2.0), F8)
    (out,) = eval_reference(Jaxpr([x], [Eqn(ADD, [x, two], {}, [y])], [y]), [numpy.ones(3)])
    assert out.tolist() == [3.0, 3.0, 3.0]
    _, log = program((LOG, 0))
    with numpy.errstate(all="ignore"):
        assert numpy.isnan(eval_reference(log, [-numpy.ones(3)])[0]).all()
        with np.config(debug_nans=True), pytest.raises(NanError, match="log"):
            eval_reference(log, [-numpy.ones(3)])


def test_new_nans() -> None:
    nan, one = numpy.array([numpy.nan]), numpy.ones(1)
    assert has_new_nan([nan], [one]) and has_new_nan([nan * 1j], [one])
    assert not has_new_nan([nan], [nan]) and not has_new_nan([one], [one])
    assert not has_new_nan([numpy.array(["nan"])], [])


def test_jaxprs_among_parameters() -> None:
    _, inner = program((ADD, 0, 0), (LOG, 1))
    assert jaxprs_in({"a": inner, "b": (inner, 3), "c": "x"}) == [inner, inner]
    assert jaxprs_in({}) == [] and inner.operations == 2
    x, y = Var(F8), Var(F8)
    outer = Jaxpr([x], [Eqn(ADD, [x, x], {"jaxpr": inner}, [y])], [y])
    assert outer.operations == 3 and outer.in_avals == outer.out_avals == (F8,)
