"""The jaxpr of recorded nodes computes what they would have given."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._interpreter import eval_reference
from lazynp._program_of import jaxpr_of, program_of

X = numpy.array([0.5, -1.5, 2.0])
PROGRAMS: dict[str, Any] = {
    "one": lambda np, x: [x * 2.0],
    "shared": lambda np, x: [(y := x + 1.0) * y, y - 3.0],
    "views": lambda np, x: [(x * 2.0)[::-1], np.reshape(x + 1.0, (3, 1)) * x],
    "the input": lambda np, x: [x, x + x],
    "several results": lambda np, x: list(np.divmod(x, 0.75)),
    "data": lambda np, x: [x + np.array([1.0, 2.0, 4.0])],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    with np.config(execution="compiled"):  # nothing is computed at once
        x = np.array(X) + 0.0
        roots = [y._read() for y in PROGRAMS[name](np, x)]
        jaxpr, operands = program_of(roots, [x._read()])
    assert len(jaxpr.inputs) == 1 + len(operands)
    given = [X, *(numpy.asarray(np.materialize(np._array.new_array(n))) for n in operands)]
    for got, want in zip(eval_reference(jaxpr, given), PROGRAMS[name](numpy, X), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_only_what_is_needed() -> None:
    with np.config(execution="compiled"):
        x = np.array(X) + 0.0
        y = x * 2.0
        unread = y + 1.0
        jaxpr = jaxpr_of([y._read()], [x._read()])
        both, _ = program_of([y._read()], [x._read()], effects=[unread._read()])
    names, more = ([e.primitive.name for e in j.eqns] for j in (jaxpr, both))
    assert "multiply" in names and "add" not in names
    assert "add" in more and len(both.outputs) == len(jaxpr.outputs) == 1
