"""The figures of benchmarks/scale.py that are counts: what sharded programs move."""

from __future__ import annotations

import pytest

import lazynp as np
from benchmarks import hlo, scale
from tests.devices.worker import on_eight

pytestmark = pytest.mark.own_policy  # such arrays are compiled under every policy
HEAT = [name for name in scale.STEPS if name.startswith("heat")]
ALONG_SPLIT = {"sum", "fft, axis 0", "sort, axis 0"}
UNMOVED = [
    name
    for name in scale.STEPS
    if name not in HEAT and name not in ALONG_SPLIT and not name.startswith("gradient")
]


@pytest.mark.parametrize("name", UNMOVED)
@on_eight
def test_along_axes_that_are_not_split_nothing_moves(name: str) -> None:
    kinds, size, result = scale.moved(name)
    assert (kinds, size) == ({}, 0) and result.sharding.spec[0] == "x"


@on_eight
def test_an_index_that_is_out_of_bounds_is_found_on_the_host() -> None:
    """The devices need not agree on it; it is the first one, in NumPy's order."""
    x, places = scale.rows(256, 32), np.asarray(scale.places())
    places[200, 1], places[130, 2], places[130, 4] = 99, -40, 77
    i = np.device_put(places, x.sharding)
    for f, axis in (
        (np.jit(np.vmap(lambda x, i: x[i])), 0),
        (np.jit(lambda x, i: np.take_along_axis(x, i, 1)), 1),
        (np.jit(np.vmap(scale.stored)), 0),
    ):
        message = f"index -40 is out of bounds for axis {axis} with size 32"
        for _ in range(2):
            with pytest.raises(IndexError, match=message):
                f(x, i)


@on_eight
def test_a_step_of_heat_moves_a_few_rows_whatever_the_height() -> None:
    (low, few, u), (high, more, v) = map(scale.moved, HEAT)
    assert low == high and few == more and set(low) == {"collective-permute"}
    assert few <= 50 * 8 * 64 * 8  # eight rows of 64 numbers in each of 50 steps
    assert u.sharding.spec == v.sharding.spec == scale.P("x")


@on_eight
def test_a_gradient_moves_its_bytes_and_a_sum_one_number() -> None:
    name = next(n for n in scale.STEPS if n.startswith("gradient"))
    kinds, size, _ = scale.moved(name)
    assert set(kinds) == {"all-reduce"} and size <= 1.1 * scale.PARAMETERS
    assert scale.moved("sum")[:2] == ({"all-reduce": 1}, 8)


@pytest.mark.parametrize("name", ["heat_2d", "MLP training"])
@on_eight
def test_on_paper_a_device_does_the_same_whatever_their_number(name: str) -> None:
    alone, *others = [scale.on_paper(name, n) for n in (1, 4, 8)]
    for one in others:
        assert one.operations == pytest.approx(alone.operations, rel=0.05)
        assert one.bytes == others[0].bytes


@on_eight
def test_on_paper_products_move_what_their_layout_says() -> None:
    bytes_of = {name: scale.on_paper(name, 8).bytes for name in scale.PAPER if "matmul" in name}
    assert bytes_of["matmul, rows x whole"] == bytes_of["matmul, rows x columns"] == 0
    assert bytes_of["matmul, inner axis split"] == 8 * 1024 * 1024
    there, back = 2 * [16 * 256 * 4096]
    assert scale.on_paper("fft2", 8).bytes == there + back


@on_eight
def test_operations_are_counted_as_the_result_needs_them() -> None:
    alone = scale.on_paper("matmul, rows x whole", 1)
    assert alone.operations == 2 * 512 * 1024 * 1024
    assert scale.on_paper("heat_2d", 1).operations == 7 * 510 * 2046
    text = """ENTRY %main (p: f64[8,4]) -> f64[2,4] {
  %p = f64[8,4]{1,0} parameter(0)
  %add.1 = f64[8,4]{1,0} add(%p, %p)
  ROOT %slice.1 = f64[2,4]{1,0} slice(%add.1), slice={[0:2], [0:4]}
}"""
    assert hlo.operations(text) == 8
