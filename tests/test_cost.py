"""What operations are taken to cost: by NumPy, and in a compiled program."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cost
from lazynp._avals import Aval, aval_of
from lazynp._cost import MEMORY_BOUND, cost
from lazynp.primitives import contraction, elementwise, indexing, reduction, sorting
from lazynp.primitives.elementwise_circular import LARGE

N = 1000


def _aval(*shape: int, dtype: str = "f8") -> Aval:
    return aval_of(shape, numpy.dtype(dtype))


def _more(primitive: Any, ins: list[Aval], outs: list[Aval], size: int) -> tuple[float, float]:
    """Nanoseconds of each of so many, beyond those of an operation that only moves the data."""
    found = cost(primitive, {}, ins, outs)
    plain = cost(elementwise.add, {}, ins, outs)
    by_numpy, by_xla = (1e3 * (f - p) / size for f, p in zip(found, plain, strict=True))
    return round(by_numpy, 6), round(by_xla, 6)


@pytest.mark.parametrize("name", elementwise.ROWS)
def test_an_elementwise_operation_costs_what_its_row_says(name: str) -> None:
    primitive = elementwise.ROWS[name].primitive
    per_element = primitive.cost
    if callable(per_element):  # of what goes in
        by_numpy, by_xla = per_element([_aval(N)])
        per_element = by_numpy / N, by_xla / N
    assert _more(primitive, [_aval(N)], [_aval(N)], N) == per_element
    assert per_element == MEMORY_BOUND or min(per_element) >= 0 < max(per_element)


def test_large_sines_are_cheap() -> None:
    few, many = _aval(LARGE - 1), _aval(LARGE)
    small, large = (cost(elementwise.sin, {}, [x], [x]) for x in (few, many))
    assert small[0] == pytest.approx(large[0], rel=0.1)
    assert small[1] > 3 * large[1]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "argmax", "reduce_max"])
def test_reductions(name: str) -> None:
    primitive = getattr(reduction, name)
    assert _more(primitive, [_aval(N)], [_aval(1)], N) == primitive.cost != MEMORY_BOUND


@pytest.mark.parametrize("name", ["sort", "argsort", "sort_pairs"])
def test_sorts_compare(name: str) -> None:
    primitive = getattr(sorting, name)
    once = _more(primitive, [_aval(1 << 9)], [_aval(1 << 9)], 10 << 9)
    assert once == _more(primitive, [_aval(1 << 15)], [_aval(1 << 15)], 16 << 15)
    assert once[0] >= 1.0 and once[1] >= 3.0
    assert sorting.searchsorted.cost == (20.0, 60.0)


def test_indices_cost_the_same_in_arrays_of_any_size() -> None:
    places = _aval(N, dtype="i8")
    small, large = (
        cost(indexing.take, {"axes": (0,)}, [_aval(n), places], [_aval(N)]) for n in (N, 1000 * N)
    )
    assert small == large
    assert cost(indexing.put, {}, [_aval(N), _aval(5), _aval(5, dtype="i8")], [_aval(N)])[0] < 2.0


def test_better_by_numpy_is_said_of_products_and_indices_only() -> None:
    x = _aval(1 << 20)
    assert elementwise.gammaincc.cost[1] > 1000 > elementwise.gammaincc.cost[0]
    assert not _cost.better_by_host(elementwise.gammaincc, {}, [x, x], [x])
    assert _cost.better_by_host(sorting.argsort, {}, [x], [x])
    m = _aval(500, 500)
    assert _cost.host_gain(contraction.dot_general, {}, [m, m], [m]) > 0


def test_the_least_counts_rounds_and_data() -> None:
    def steps(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.exp(x) * 2.0
        return x

    def least(size: int, rounds: int) -> float:
        jaxpr = np.jit(steps, static_argnums=1).lower(np.ones(size), rounds).jaxpr
        return _cost.least(jaxpr)

    assert least(10_000, 400) == pytest.approx(4 * least(10_000, 100), rel=0.05)
    assert least(100_000, 100) == pytest.approx(10 * least(10_000, 100), rel=0.2)
    assert least(1, 100) < 10.0


def test_masks_are_nothing_in_the_least() -> None:
    """Windows of slices of unknown size have one for each operation, and kernels share them."""

    def tree(v):
        for _ in range(v.shape[0] - 1):
            v = 0.6 * v[1:] + 0.4 * v[:-1]
        return v[0]

    def whole(v):
        for _ in range(v.shape[0] - 1):
            v = 0.6 * v + 0.4 * v
        return v[0]

    masked, plain = [_cost.least(np.make_jaxpr(np.jit(f))(np.ones(1000))) for f in (tree, whole)]
    assert plain < masked < 5 * plain
