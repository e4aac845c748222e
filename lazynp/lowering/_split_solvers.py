"""Factorisations of a stack that several devices share: the program of one device.

Jaxlib can split its own calls of LAPACK. But then each device makes one call for its whole part,
and those may wait for each other for ever (`_chunks`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from lazynp.lowering import _compat
from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._solvers import Lapack
from lazynp.lowering._stacks import SOLVER, part, register_once
from lazynp.lowering._text import type_text


def register() -> None:
    """Tell XLA how to split the calls that `Lapack` writes for several devices."""
    register_once(SOLVER, _partition)


def _partition(
    shapes: Sequence[Any], shardings: Sequence[Any], shape: Any, sharding: Any, config: bytes
) -> tuple[bytes, list[Any], Any]:
    """The program of one device, and how its operands and its results are split."""
    routine, letters, ranks, outs, aliases = json.loads(config)
    several = shape.is_tuple()
    made = shape.tuple_shapes() if several else [shape]
    wanted = sharding.tuple_elements() if several else [sharding]
    leading = shapes[0].rank() - ranks[0]
    tiles = [_tiles(s, leading) for s in (*shardings, *wanted)]
    counts, order = max(tiles, key=lambda t: math.prod(t[0]))
    operands = [Value(f"%a{i}", part(s, counts)) for i, s in enumerate(shapes)]
    ranked = [(part(s, counts), r) for s, r in zip(made, outs, strict=True)]
    options = {"ranks": tuple(ranks), "aliases": dict(aliases)}
    text = _module(routine, operands, ranked, letters, options)
    split = [_compat.tiled(counts, r, order) for r in outs]
    together = _compat.together(shape, split) if several else split[0]
    given = [_compat.tiled(counts, r, order) for r in ranks[: len(shapes)]]
    return text.encode(), given, together


def _module(
    routine: str, operands: list[Value], outs: Any, letters: Any, options: dict[str, Any]
) -> str:
    b = Builder()
    results = Lapack().call(b, routine, operands, outs, letters, **options)
    names = ", ".join([b.use(v) for v in results])
    kinds = ", ".join([type_text(v.aval) for v in results])
    args = ", ".join([f"{v.name}: {type_text(v.aval)}" for v in operands])
    body = b.text(results)
    functions = "\n".join(b.functions.values())
    return (
        f"func.func public @main({args}) -> ({kinds}) {{\n{body}\nreturn {names} : {kinds}\n}}\n"
        f"{functions}"
    )


def _tiles(sharding: Any, leading: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How often to split each of the leading dimensions, and the devices in order of their parts.
    What is split further is made whole.
    """
    if not sharding.is_tiled():
        return (1,) * leading, ()
    dims = sharding.tile_assignment_dimensions()
    return tuple(dims[:leading]), tuple(sharding.tile_assignment_devices())
