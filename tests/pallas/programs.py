"""Programs that the tests of both dialects lower."""

from __future__ import annotations

from typing import Any

import lazynp as np
import lazynp.pallas as pl
from benchmarks.kernels import gelu


def fused(m: int, k: int, n: int, rows: int, columns: int, step: int, staged: bool) -> Any:
    """A product of (m, k) and (k, n) in steps, with bias and activation."""

    def kernel(x: Any, y: Any, bias: Any, o: Any) -> None:
        def part(s: Any) -> Any:
            return x[:, pl.ds(s * step, step)] @ y[pl.ds(s * step, step), :]

        total = np.zeros((rows, columns), "f4")
        if staged:
            total = np.fori_loop(0, k // step, lambda s, acc: acc + part(s), total)
        else:
            for s in range(k // step):
                total = total + part(s)
        o[...] = gelu(total + bias[...])

    return pl.pallas_call(
        kernel,
        np.ShapeDtype((m, n), "f4"),
        grid=(m // rows, n // columns),
        in_specs=[
            pl.BlockSpec((rows, k), lambda i, j: (i, 0)),
            pl.BlockSpec((k, columns), lambda i, j: (0, j)),
            pl.BlockSpec((columns,), lambda i, j: j),
        ],
        out_specs=pl.BlockSpec((rows, columns), lambda i, j: (i, j)),
    )
