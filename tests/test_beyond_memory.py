"""Sizes beyond memory: NumPy's MemoryError, at once, under every policy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import lowering
from lazynp.lowering import _host
from lazynp.primitives import elementwise, sorting
from tests.helpers import POLICIES
from tests.primitives.harness import one_equation

ABSURD = 10**13  # 80 TB of float64
LARGE = 4 * 10**10  # 320 GB


def _wide(np: Any, n: int = ABSURD) -> Any:
    return np.broadcast_to(np.ones(()), (n,))


CALLS: dict[str, Callable[[Any], Any]] = {
    "creation": lambda np: np.ones(ABSURD),
    "range": lambda np: np.arange(ABSURD),
    "arithmetic": lambda np: _wide(np) + 1,
    "comparison": lambda np: _wide(np) > 0,
    "cast": lambda np: _wide(np).astype("f4"),
    "index array": lambda np: np.ones(3)[np.broadcast_to(1, (ABSURD,))],
    "take": lambda np: np.take(np.ones(3), np.broadcast_to(1, (ABSURD,))),
    "negative index array": lambda np: np.ones(3)[np.broadcast_to(-1, (ABSURD,))],
    "outer product": lambda np: np.outer(np.ones(10**7), np.ones(10**7)),
    "product of matrices": lambda np: np.ones((10**7, 1)) @ np.ones((1, 10**7)),
    "sum of what NumPy would hold": lambda np: (np.ones(10**7)[:, None] + np.ones(10**7)).sum(),
    "sort": lambda np: np.sort(_wide(np)),
    "cumulative sum": lambda np: np.cumsum(_wide(np)),
    "join": lambda np: np.concatenate([_wide(np), _wide(np)]),
    "padding": lambda np: np.pad(np.ones(3), (0, ABSURD)),
    "diagonal": lambda np: np.diag(np.ones(10**7)),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_line_that_asks_for_too_much_raises(call: Callable[[Any], Any], policy: str) -> None:
    with pytest.raises(MemoryError):
        call(numpy)
    with np.config(execution=policy), pytest.raises(MemoryError, match="Unable to allocate"):
        call(np)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("call", [
    lambda np: np.repeat(np.ones(3), ABSURD),
    lambda np: np.broadcast_to(np.arange(3.0)[:, None], (3, ABSURD)).reshape(-1),
])  # fmt: skip
def test_or_the_line_that_needs_the_value(call: Callable[[Any], Any], policy: str) -> None:
    """Views until then: no memory, no error."""
    with pytest.raises(MemoryError):
        call(numpy)
    with np.config(execution=policy), pytest.raises(MemoryError, match="Unable to allocate"):
        call(np).tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_an_index_of_many_repeats_is_checked_at_once(policy: str) -> None:
    with np.config(execution=policy), pytest.raises(IndexError, match="index 7 is out of bounds"):
        np.ones(3)[np.broadcast_to(7, (ABSURD,))]


def test_what_fits_nowhere_is_an_error_only_for_who_needs_it() -> None:
    """Smaller results than the absurd ones are recorded: a program may do without them."""
    subprocess.run([sys.executable, "-c", _PROGRAM.format(large=LARGE)], check=True, timeout=300)


_PROGRAM = """
import resource
import lazynp as np

resource.setrlimit(resource.RLIMIT_AS, (100 << 30,) * 2)
for policy in ("adaptive", "compiled", "reference"):
    with np.config(execution=policy, cache="off"):
        a = np.ones(3) * 2
        x = np.broadcast_to(np.array([1.0, 2.0])[:, None], (2, {large})) * np.float64(3)
        b = a + 1
        later = x.sum()
        assert b.tolist() == [3, 3, 3]
        for value in (x[0, 3], later):
            try:
                value.tolist()
            except MemoryError as error:
                assert "Unable to allocate 596. GiB" in str(error), error
                assert "f64[2,{large}]" in error.__notes__[0], error.__notes__
                assert error.__notes__[0].endswith("<string>:9"), error.__notes__
            else:
                raise AssertionError
        c = b * 2
        assert c.tolist() == [6, 6, 6]
        del x, later
"""


def test_temporaries_of_a_program_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_host, "_PROBED", 1 << 16)
    jaxpr = one_equation(sorting.argsort, numpy.ones(70_003), axis=0)
    large = lowering.compile_program(jaxpr).large
    assert len(large) == 2 and large[1].dtype == numpy.uint8 and large[1].nbytes >= 70_003 * 8


def test_results_that_reuse_memory_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take none: an array of more than half the memory can be changed in place."""
    monkeypatch.setattr(_host, "_PROBED", 1 << 16)
    jaxpr = one_equation(elementwise.negative, numpy.ones(70_003))
    assert lowering.compile_program(jaxpr).large == tuple(jaxpr.out_avals)
    assert lowering.compile_program(jaxpr, donate=(0,)).large == ()
