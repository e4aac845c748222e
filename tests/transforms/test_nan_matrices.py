"""Matrices with NaN: where NumPy raises immediately, the call of a traced function raises."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from lazynp import jit, vmap

NAMES = """eigh eigvalsh eig eigvals svd svdvals inv pinv cholesky det slogdet qr cond matrix_rank
solve lstsq""".split()
PLACES = {"first": (0, 0), "below": (2, 0), "above": (0, 2), "all": slice(None)}


def _function(name: str) -> Any:
    if name in ("solve", "lstsq"):
        return lambda np, a: getattr(np.linalg, name)(a, np.ones(3))
    return lambda np, a: getattr(np.linalg, name)(a)


def _outcome(function: Any) -> Any:
    """The places of NaN in the results; or the error."""
    try:
        out = function()
    except numpy.linalg.LinAlgError as error:
        return type(error).__name__, str(error)
    return [numpy.isnan(x).tolist() for x in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("execution", ["reference", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_as_numpy_has_it(name: str, execution: str) -> None:
    f = _function(name)
    traced = jit(lambda a: f(lazynp, a))
    for place in PLACES.values():
        a = numpy.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.3], [0.5, 0.3, 6.0]])
        a[place] = numpy.nan
        want = _outcome(lambda a=a: f(numpy, a))
        with lazynp.config(execution=execution):
            x = lazynp.array(a)
            assert _outcome(lambda x=x: f(lazynp, x)) == want
            assert _outcome(lambda x=x: traced(x)) == want
            if execution == "reference":
                rows = lazynp.stack([x, x])
                assert _outcome(lambda rows=rows: _second(vmap(traced)(rows))) == want


def _second(x: Any) -> tuple[Any, ...]:
    return tuple(v[1] for v in (x if isinstance(x, tuple) else (x,)))
