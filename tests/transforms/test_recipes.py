"""Programs with loops that were written for NumPy, under a bare `jit`: values, dtypes, types of
results, arrays that are written, exceptions. What the programs are made of is interpreted: nothing
is compiled here (`test_python_loops` does that).
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import loaded

FILES = ["recipes_numeric", "recipes_discrete", "recipes_sequences"]
PLAIN, OURS = (
    [loaded(Path(__file__).with_name(f"{f}.py"), f"{how}_{f}", of) for f in FILES]
    for how, of in (("plain", numpy), ("our", np))
)
TABLE = {
    f.__name__: (f, getattr(ours, f.__name__), args)
    for plain, ours in zip(PLAIN, OURS, strict=True)
    for f, args in plain.arguments(numpy.random.default_rng(11)).items()
}


def outcome(function: Any, args: Any) -> tuple[Any, ...]:
    """The result, or the exception's class and text; and what became of the arguments."""
    given = copy.deepcopy(args)
    try:
        return function(*given), None, given
    except (ArithmeticError, AssertionError, ValueError) as error:
        return None, (type(error), str(error)), given


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    if want is None:
        assert got is None
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", TABLE)
def test_as_python_runs_it(name: str) -> None:
    plain, ours, args = TABLE[name]
    result, error, written = outcome(plain, args)
    jitted = np.jit(ours)
    with np.config(execution="reference"):
        found, raised, changed = outcome(jitted, args)
    assert raised == error
    same(found, result)
    same(changed, written)
    assert "unrolled" not in str(np.explain(jitted))
