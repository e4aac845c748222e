"""Operations on stacks: along leading dimensions, each entry of the result needs only the operands'
entries at that place. So a device that has some of them can compute its own.

XLA's partitioner knows this of most operations, but not of custom calls, and not of Fourier
transforms: those it runs on all devices in full. A custom call gets a rule, which says what its
dimensions have in common (`notes`). XLA then asks for the program of one device, which computes a
part of the stack (`_partition` for transforms, `_split_solvers` for factorisations).
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering import _compat
from lazynp.lowering._text import ints, layouts_text, type_text

FFT = "lazynp_fft"
SOLVER = "lazynp_lapack"
_lock = threading.Lock()
_registered: list[tuple[str, Any]] = []
_Dims = tuple[int, ...]


def notes(
    operands: Sequence[Aval], outs: Sequence[Aval], leading: int, through: bool = False
) -> str:
    """The attributes of a custom call on stacks with so many leading dimensions. through: its one
    result may be split as its operand is, also along other dimensions.
    """
    sizes: list[int] = list(operands[0].shape[:leading])
    stack = [_factor(i) for i in range(leading)]

    def written(aval: Aval) -> str:
        own = [_factor(len(sizes) + i) for i in range(aval.ndim - leading)]
        sizes.extend(aval.shape[leading:])
        return "[" + ", ".join([*stack, *own]) + "]"

    given = ", ".join(map(written, operands))
    made = given if through else ", ".join(map(written, outs))
    counts = ", ".join(f"{_factor(i)}={n}" for i, n in enumerate(sizes))
    whole = "" if through else ", ".join(map(_factor, range(leading, len(sizes))))
    needs = f" need_replication={{{whole}}}" if whole else ""
    return (
        f'{{mhlo.frontend_attributes = {{num_batch_dims = "{leading}"}}, sdy.sharding_rule = '
        f"#sdy.op_sharding_rule<({given})->({made}) {{{counts}}}{needs}, custom>}}"
    )


def _factor(i: int) -> str:
    """The name that Shardy wants for the factor of this number: i to z, then z_1, z_2, ..."""
    return chr(ord("i") + i) if i < 18 else f"z_{i - 17}"


def fft_attrs(kind: str, length: Sequence[int]) -> str:
    return f"fft_length = {ints(length)}, fft_type = #stablehlo<fft_type {kind}>"


def fft_call(kind: str, n: int) -> str:
    """The attributes of the custom call that stands for a Fourier transform of the last axis."""
    config = f"{kind} {n}"
    return f'backend_config = "{config}", call_target_name = "{FFT}", has_side_effect = false'


def solver_config(
    routine: str, letters: dict[str, str] | None, ranks: Sequence[int], outs: Sequence[int],
    aliases: dict[int, int] | None,
) -> str:  # fmt: skip
    """What `_split_solvers` needs to know of a call: the arguments of `Lapack.call`."""
    return json.dumps([routine, letters, list(ranks), list(outs), list((aliases or {}).items())])


def register(api: Any = None) -> None:
    """Tell XLA how to split what `fft_call` writes. api: that of a platform's plugin."""
    register_once(FFT, _partition, api)


def register_once(name: str, partition: Any, api: Any = None) -> None:
    with _lock:
        if (name, api) not in _registered:
            _compat.register_partitioner(name, partition, api)
            _registered.append((name, api))


def _partition(
    shapes: Sequence[Any], shardings: Sequence[Any], shape: Any, sharding: Any, config: bytes
) -> tuple[bytes, list[Any], Any]:
    """The program of one device, and how its operand and its result are split."""
    kind, n = config.decode().split()
    lines = tuple(shape.dimensions())[:-1]
    tiles = [_tiles(s, lines) for s in (shardings[0], sharding)]
    counts, order = max(tiles, key=lambda t: math.prod(t[0]))
    split = _compat.tiled(counts, 1, order)
    operand, result = [part(s, counts) for s in (shapes[0], shape)]
    given, made = type_text(operand), type_text(result)
    text = (
        f"func.func public @main(%a: {given}) -> {made} {{\n"
        f"%0 = {_by_rows('%a', operand)}\n"
        f'%1 = "stablehlo.fft"(%0) <{{{fft_attrs(kind, [int(n)])}}}> : ({given}) -> {made}\n'
        f"%2 = {_by_rows('%1', result)}\n"
        f"return %2 : {made}\n}}"
    )
    return text.encode(), [split], split


def _by_rows(name: str, aval: Aval) -> str:
    """The value in row-major order, which Fourier transforms need. XLA gives operands of products
    and of LAPACK's functions another order, and hands that on to all that is made of them.
    """
    kind, order = type_text(aval), layouts_text([aval])
    return (
        f'"stablehlo.custom_call"({name}) <{{call_target_name = "LayoutConstraint", '
        f"operand_layouts = {order}, result_layouts = {order}}}> : ({kind}) -> {kind}"
    )


def _tiles(sharding: Any, lines: _Dims) -> tuple[_Dims, _Dims]:
    """How often to split each axis but the last one, and the devices in order of their parts.

    Parts of the last axis change places with parts of another one, if there is one that they
    divide evenly: an all-to-all. Otherwise each device that had one gets them all.
    """
    if not sharding.is_tiled():
        return (1,) * len(lines), ()
    dims = list(sharding.tile_assignment_dimensions())
    order = np.array(sharding.tile_assignment_devices()).reshape(dims)
    counts, parts = dims[: len(lines)], dims[len(lines)]
    for axis, size in enumerate(lines):
        if parts > 1 and size % (counts[axis] * parts) == 0:
            counts[axis] *= parts
            order = np.moveaxis(order, len(lines), axis + 1)
            break
    return tuple(counts), tuple(order.ravel().tolist())


def part(shape: Any, counts: _Dims) -> Aval:
    """The aval of one device's part."""
    sizes = tuple(shape.dimensions())
    front = [-(-n // c) for n, c in zip(sizes, counts, strict=False)]
    return aval_of((*front, *sizes[len(counts) :]), np.dtype(shape.numpy_dtype()))
