"""What the user's code asks of sizes is what it would be of the call's own ints."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._sizes import variable

# each is a function of a length, which is 4 in some calls
HASHED: list[Callable[[Any], Any]] = [
    lambda n: len({n, 4}),
    lambda n: len({n, n}),
    lambda n: len({n + 1, 5, 2 * n - 3}),
    lambda n: len({n: 1.0, 4: 2.0}),
    lambda n: {n: 1.0, 4: 2.0}[4],
    lambda n: {3: 1.0, 4: 2.0, 5: 0.5}[n] + {4: 2.0}.get(n, 9.0),
    lambda n: {4: 2.0}.setdefault(n, 9.0),
    lambda n: {(4, 1): 2.0}.get((n, 1), 9.0),
    lambda n: collections.Counter([n, 4])[4],
    lambda n: len(dict.fromkeys([n, 4])),
    lambda n: len({k + 0 for k in (n, 4)}) + len({k: k for k in (n, 4)}),
    lambda n: len({4, 5} - {n}) + len({4} & {n}) + len({4} | {n}),
    lambda n: ({4} == {n}) + ({4} <= {n, 3}) + {4}.isdisjoint({n}),
    lambda n: len({frozenset({n}), frozenset({4})}),
    lambda n: ((n, 1) in {(4, 1): 0}) + (4 in {n}) + (n in {4, 7}),
    lambda n: sorted({n, 4})[-1],
    lambda n: hash(n) == hash(4),
    lambda n: len({n > 3, True}) + {True: 1, False: 5}[n > 3],
]
SHOWN: list[Callable[[Any], Any]] = [
    lambda n: float(f"{n}") + float(str(n)) + float("%d" % n) + float(f"{n:5.1f}"),  # noqa: UP031
    lambda n: len("{} {!r} {:>6}".format(n, n, n)),  # noqa: UP032
    lambda n: {"k4": 1.0}.get(f"k{n}", 2.0),
    lambda n: len(str((n, 2))) + len("%s of %s" % (n, n > 3)) + len(str(n > 3)),  # noqa: UP031
]


@pytest.mark.parametrize("f", [*HASHED, *SHOWN])
def test_a_length_is_what_its_int_would_be(f: Callable[[Any], Any]) -> None:
    lazy = np.jit(lambda x: x.sum() * 0 + f(len(x)), abstracted_axes=("n",))
    for n in (4, 3, 5, 4):
        assert lazy(np.ones(n)) == f(n), n


def test_messages_show_the_number() -> None:
    def decided(x: Any) -> Any:
        if len(x) < 4:
            raise ValueError(f"4 are needed, got {len(x)}")
        return x.sum()

    def computed(x: Any) -> Any:
        if x.sum() > 2:
            raise ValueError("%d of %d" % (x.sum(), len(x)))  # noqa: UP031
        return x.sum()

    for f, text in ((decided, "4 are needed, got 3"), (computed, "3 of 3")):
        with pytest.raises(ValueError, match=text):
            np.jit(f, abstracted_axes=("n",))(np.ones(3))


def test_what_the_data_decide_has_no_hash() -> None:
    def f(x: Any) -> Any:
        return x.sum() * len({len(x[x > 0]), 4})

    with pytest.raises(TypeError, match="is not known"):
        np.jit(f, abstracted_axes=("n",))(np.ones(3))


def test_a_set_of_sizes_serves_these_calls_only() -> None:
    traces: list[Any] = []

    def f(x: Any) -> Any:
        traces.append(len({len(x), 4}))
        return x * traces[-1]

    lazy = np.jit(f, abstracted_axes=("n",))
    for n in (4, 3, 4, 3):
        numpy.testing.assert_array_equal(lazy(np.ones(n)), numpy.ones(n) * len({n, 4}))
    assert traces == [1, 2]


def test_without_a_trace_sizes_are_found_by_their_forms() -> None:
    a, b = variable("a"), variable("b")
    assert {a + b: 1}[b + a] == 1
    assert str(a + b) == f"{a + b}" == "a + b"
