"""Which programs run at once: the rule, as numbers of rounds of the loop."""

from __future__ import annotations

from typing import Any

import pytest

import lazynp as np
import lazynp.pallas as pl
from lazynp._jaxpr import Jaxpr, jaxprs_in

S, B = np.ShapeDtype, pl.BlockSpec


def rounds(kernel: Any, outs: Any, *args: Any, **options: Any) -> int:
    """The rounds of the loop over the grid; 1 if there is no loop."""
    found = _scans(np.make_jaxpr(pl.pallas_call(kernel, outs, **options))(*args))
    return found[0] if found else 1


def _scans(jaxpr: Jaxpr) -> list[int]:
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            found.append(eqn.params["length"])
        else:
            found += [n for j in jaxprs_in(eqn.params) for n in _scans(j)]
    return found


def copy(x: Any, o: Any) -> None:
    o[...] = x[...]


def printing(x: Any, o: Any) -> None:
    pl.debug_print("{}", x[0])
    o[...] = x[...]


LINE = B((2,), lambda i: i)
GRID2 = B((2, 2), lambda i, j: (i, j))
V, M = (64,), (8, 8)
KB = 1 << 10
CASES: dict[str, Any] = {  # kernel, shape in, shape out, grid, in, out, rounds
    "independent": (copy, V, V, 32, LINE, LINE, {}, 1),
    "independent on both axes": (copy, M, M, (4, 4), GRID2, GRID2, {}, 1),
    "interpreted": (copy, V, V, 32, LINE, LINE, {"interpret": True}, 32),
    "reversed": (copy, V, V, 32, LINE, LINE, {"interpret": "reversed"}, 32),
    "with scratch": (lambda x, o, s: copy(x, o), V, V, 32, LINE, LINE,
                     {"scratch_shapes": [pl.VMEM((2,), "f8")]}, 32),
    "printing": (printing, V, V, 32, LINE, LINE, {}, 32),
    "one block of output": (copy, V, (2,), 32, LINE, B((2,), lambda i: 0), {}, 32),
    "one axis accumulates": (copy, M, (8, 2), (4, 4), GRID2, B((2, 2), lambda i, j: (i, 0)), {}, 4),
    "permuted outputs": (copy, V, V, 32, LINE, B((2,), lambda i: 31 - i), {}, 32),
    "overlapping windows": (copy, (66,), V, 32, B((pl.Element(2),), lambda i: i), LINE, {}, 32),
    "windows side by side": (copy, (66,), V, 32, B((pl.Element(2),), lambda i: 2 * i + 1), LINE, {},
                             1),
    "a large shared input": (lambda x, o: o.__setitem__(..., x[:2]), (64 * KB,), V, 32, None, LINE,
                             {}, 32),
    "shared input": (copy, (2,), V, 32, B((2,), lambda i: 0), LINE, {}, 1),
    "tails": (copy, (63,), (63,), 32, LINE, LINE, {}, 1),
    "places that programs compute": (
        lambda x, o: o.__setitem__(..., x[pl.ds(2 * pl.program_id(0), 2)]), V, V, 32, None, LINE,
        {}, 32),
    "blocks of 32 KB": (copy, (64 * KB,), (64 * KB,), 16, B((4 * KB,), lambda i: i),
                        B((4 * KB,), lambda i: i), {}, 2),
    "blocks beyond the cache": (copy, (64 * KB,), (64 * KB,), 2, B((32 * KB,), lambda i: i),
                                B((32 * KB,), lambda i: i), {}, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rounds(name: str) -> None:
    kernel, shape, out, grid, read, written, options, want = CASES[name]
    got = rounds(
        kernel, S(out, "f8"), np.ones(shape), grid=grid, in_specs=[read], out_specs=written,
        **options,
    )  # fmt: skip
    assert got == want
