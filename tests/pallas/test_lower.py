"""lower: the StableHLO of functions that call kernels."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl
from lazynp import lowering
from lazynp._avals import aval_of

S, B = np.ShapeDtype, pl.BlockSpec


def running(x: Any, at: Any, o: Any) -> None:
    @pl.when(pl.program_id(0) == 0)
    def _() -> None:
        o[...] = 0

    o[...] += x[at[0]]


def call(n: int) -> Any:
    return pl.pallas_call(
        running, S((), "f4"), grid=n, in_specs=[None, B((1,), lambda i: i)]
    )  # fmt: skip


@pytest.mark.parametrize("jitted", [False, True])
def test_the_text_compiles_and_does_not_grow(jitted: bool) -> None:
    def text(n: int) -> str:
        f = lambda x, at: call(n)(x, at) + 1  # noqa: E731
        shapes = S((8,), "f4"), S((n,), "i8")
        return pl.lower(np.jit(f) if jitted else f, *shapes).as_text()

    assert "stablehlo.while" in text(4)
    assert len(text(4).splitlines()) == len(text(999).splitlines())
    ins = [aval_of((8,), numpy.dtype("f4")), aval_of((4,), numpy.dtype("i8"))]
    found = aval_of((2,), numpy.dtype("i8"))  # whether an index was out of bounds, and which
    lowering.compile_text(text(4), ins, [aval_of((), numpy.dtype("f4")), found])


def test_arguments_may_be_arrays() -> None:
    lowered = pl.lower(call(3), numpy.ones(8, "f4"), np.arange(3))
    assert lowered.kernels == []
    assert "tensor<8xf32>" in lowered.as_text()


def test_what_a_platform_has_no_way_for() -> None:
    with pytest.raises(NotImplementedError, match="^pallas_call: running: input 1: the last two"):
        pl.lower(call(3), numpy.ones(8, "f4"), np.arange(3), platform="tpu")
    assert issubclass(pl.LoweringError, NotImplementedError)


def test_no_such_platform() -> None:
    with pytest.raises(ValueError, match="platform must be one of"):
        pl.lower(call(3), numpy.ones(8, "f4"), np.arange(3), platform="vax")
