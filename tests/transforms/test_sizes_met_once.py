"""A size that a function meets once leaves nothing behind but avals; what comes again is kept."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _memo
from lazynp._jaxpr import Jaxpr
from lazynp._node import VALUE, Op
from lazynp._plan import Plan, Sighting

N = {0: "n"}
POLICIES = ("adaptive", "compiled", "reference")
KINDS = (Jaxpr, Op, Plan, Sighting)
TABLES = ("calls", "delivered", "forms", "jvp_jaxpr", "ops", "places", "places_inside", "plans")
FIRST, LAST = 20, 520
_PROGRAMS = 400  # objects of a kind that the few programs for all sizes may have (`_allowance`)


def vector(n: int) -> Any:
    return numpy.arange(float(n)) * 7 % 5 - 1


def growing(x: Any) -> Any:
    return np.fori_loop(0, 3, lambda i, s: s + x[: i * 4].sum(), 0.0)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any]]] = {
    "axes": (lambda x: x[1:] * 2 - x[:-1].sum(), vector),
    "data decide": (lambda x: np.sort(x[x > 0]), vector),
    "integers": (lambda n: np.arange(n) * 2.0, int),
    "several results": (lambda x: (x[1:] * 2, x.max()), vector),
    "a loop": (growing, vector),
    "a check": (lambda x: x[x.astype(int)] * 2, vector),
}


def read(results: Any) -> None:
    for x in results if isinstance(results, tuple) else (results,):
        numpy.asarray(x)


def objects() -> Counter[Any]:
    gc.collect()
    return Counter(type(x) for x in gc.get_objects() if type(x) in KINDS)


def entries() -> Counter[str]:
    """Of the tables of each name."""
    found: Counter[str] = Counter()
    for table, size in _memo.sizes():
        found[table] += size
    return found


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.filterwarnings("ignore")
def test_sizes_met_once_leave_nothing(policy: str) -> None:
    """One of several functions that keeps an object for each size would keep 500."""
    chosen = list(FUNCTIONS.values())[: None if policy != "compiled" else 2]
    functions = [
        (np.jit(f, abstracted_axes=N if make is vector else None), make) for f, make in chosen
    ]
    with np.config(execution=policy, promotion=False):
        for first, last in ((FIRST - 8, FIRST), (FIRST, LAST)):
            before, tables = objects(), entries()
            for f, make in functions:
                for n in range(first, last):
                    read(f(make(n)))
        after, grown = objects(), entries()
    for kind in KINDS:
        assert after[kind] - before[kind] < _PROGRAMS, kind
    for table in TABLES:
        assert grown[table] - tables[table] < _PROGRAMS, table


def test_what_comes_again_is_kept() -> None:
    f = np.jit(lambda x: x[1:] * 2, abstracted_axes=N)
    with np.config(execution="reference"):
        for times in range(3):
            for n in range(1, 300):
                numpy.testing.assert_array_equal(f(vector(n)), vector(n)[1:] * 2)
            (traced,) = f._cache.values()
            assert traced.sized is not None
            assert len(traced.sized.programs.known) == (299 if times else 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_call_at_a_new_size_is_lazy(policy: str) -> None:
    """In a chain of such calls, too, and where their results never are asked for."""
    f = np.jit(lambda x: (np.outer(x, x).ravel() + 1, x.sum()), abstracted_axes=N)
    with np.config(execution=policy):
        f(np.ones(2))
        y, total = f(np.ones(3))
        assert y._node[VALUE] is None
        f(np.ones(5))
        z, _ = f(y)
        assert z._node[VALUE] is None and z.shape == (81,)
        numpy.testing.assert_array_equal(z, numpy.full(81, 5.0))
        assert float(total) == 3.0
        numpy.testing.assert_array_equal(y, numpy.full(9, 2.0))
