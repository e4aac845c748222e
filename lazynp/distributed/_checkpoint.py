"""Checkpoints: `save(path, tree)` and `load(path, like=None)`."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lazynp import lowering
from lazynp._array import Array
from lazynp._avals import on_device
from lazynp._devices import Device
from lazynp._processes import Group, group
from lazynp._shardings import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    sharding_on,
)
from lazynp._signature import ShapeDtype
from lazynp._tree import tree_flatten
from lazynp.distributed._files import (
    FORMAT,
    Box,
    Parts,
    digest_of,
    publish,
    read_index,
    write_parts,
)
from lazynp.distributed._layout import arranged, names, rebuilt, said
from lazynp.functions.assembled import make_array_from_callback
from lazynp.functions.creation import array as new_array
from lazynp.functions.placement import device_put, sharding_of
from lazynp.primitives.placing import placed_behind

Path_ = str | os.PathLike[str]


def save(path: Path_, tree: Any) -> None:
    """Save a tree of arrays in the directory `path`. All processes of a group call it together.

    Each process writes one file, of the parts that it has; what several have is written once. The
    checkpoint appears as a whole, in place of an earlier one there: whenever the program is
    killed, the last complete one can be loaded. Of arrays that are not split over processes, those
    of the first are saved. Raises TypeError for leaves that are no arrays of numbers, text or
    dates, OSError in all processes if one cannot write, and DistributedError if the processes give
    different paths or trees, or arrays that differ in shape, dtype or sharding.
    """
    folder = Path(os.fspath(path))
    leaves, structure = tree_flatten(tree)
    layout = said(structure)
    arrays = [_array(x, name) for x, name in zip(leaves, names(layout), strict=True)]
    here = group()
    parts = [
        (i, box, part) for i, x in enumerate(arrays) for box, part in _own_parts(x, here.index == 0)
    ]
    same = digest_of(json.dumps([os.path.abspath(folder), layout, *map(_kind, arrays)]).encode())
    tag = here.exchange(f"save 1 {same}", secrets.token_hex(8).encode())[0].decode()
    file = folder / f"{tag}.{here.index}"

    def write() -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        return write_parts(file, parts)

    records = _all_do(here, "save 2", write)
    if here.index == 0:
        index = {"format": FORMAT, "tree": layout, "leaves": _described(arrays, records)}
        _all_do(here, "save 3", lambda: publish(folder, tag, index))
    else:
        _all_do(here, "save 3", lambda: None)


def _all_do(here: Group, what: str, work: Callable[[], Any]) -> list[Any]:
    """What it gives in each process. If it fails in one, all raise OSError."""
    failed: OSError | None = None
    try:
        said = {"done": work()}
    except OSError as error:
        failed, said = error, {"failed": str(error)}
    every = [json.loads(b) for b in here.exchange(what, json.dumps(said).encode())]
    if failed is not None:
        raise failed
    for process, one in enumerate(every):
        if "failed" in one:
            raise OSError(f"save: process {process} failed: {one['failed']}")
    return [one["done"] for one in every]


def _described(arrays: list[Any], records: list[Any]) -> list[Any]:
    """Each array for the index, with where its parts lie. records: those of each process."""
    found: list[Any] = [[] for _ in arrays]
    for leaf, *record in (r for own in records for r in own):
        found[leaf].append(record)
    return [
        {"shape": list(x.shape), "dtype": _text(x.dtype), "parts": f}
        for x, f in zip(arrays, found, strict=True)
    ]


def _array(x: Any, name: str) -> Any:
    made = x if isinstance(x, Array) else np.asarray(x)
    if made.dtype.hasobject:
        raise TypeError(f"save: {name}: arrays without objects are required, got {made.dtype}")
    return made


def _kind(x: Any) -> Any:
    """What must be the same in all processes: each writes only what the others do not have."""
    placed = placed_behind(x) if isinstance(x, Array) else None
    split = repr(placed.sharding()) if placed is not None and placed.place.shared else None
    return [list(x.shape), _text(x.dtype), split]


def _text(dtype: np.dtype[Any]) -> Any:
    return dtype.str if dtype.names is None else [list(f) for f in dtype.descr]


def _dtype(text: Any) -> np.dtype[Any]:
    if isinstance(text, str):
        return np.dtype(text)
    return np.dtype([tuple(tuple(e) if isinstance(e, list) else e for e in f) for f in text])


def _own_parts(x: Any, is_first: bool) -> list[tuple[Box, Any]]:
    """The parts of an array that this process writes: of equal ones, the first process that has
    one. What is not split over processes is written by the first of them.
    """
    placed = placed_behind(x) if isinstance(x, Array) else None
    if placed is None or placed.place.mesh is None:
        return [(_box((slice(None),) * x.ndim, x.shape), np.asarray(x))] if is_first else []
    if not placed.place.shared and not is_first:
        return []
    sharding, value = placed.sharding(), placed.force()
    assert sharding is not None
    owners, indices = sharding.tiles(x.ndim)[1], sharding.indices(x.shape)
    chosen = {positions[0] for positions in owners}
    return [
        (_box(indices[i], x.shape), part) for i, part in lowering.parts_of(value) if i in chosen
    ]


def _box(index: tuple[slice, ...], shape: tuple[int, ...]) -> Box:
    return [list(s.indices(n)[:2]) for s, n in zip(index, shape, strict=True)]


def load(path: Path_, like: Any = None) -> Any:
    """The tree that was saved there, on any number of processes and devices.

    like: a tree of the same structure, or a prefix of one. Its leaves say where an array shall be:
    a Sharding, a Device, an Array or ShapeDtype, with which shape and dtype must agree, or None: a
    plain array. Each process reads only the parts that its devices need.

    Raises FileNotFoundError, and ValueError naming the leaf that differs from `like`, or the file
    that is damaged.
    """
    folder = Path(os.fspath(path))
    while True:
        index = read_index(folder)
        try:
            return _loaded(folder, index, like)
        except FileNotFoundError:
            if read_index(folder) == index:
                raise
            # another process has saved meanwhile: its checkpoint is complete


def _loaded(folder: Path, index: dict[str, Any], like: Any) -> Any:
    layout, leaves = index["tree"], index["leaves"]
    if like is None:
        wanted, made = [None] * len(leaves), None
    else:
        wanted, made = arranged(layout, like, _is_leaf)
    values = [
        _leaf(folder, leaf, want, name)
        for leaf, want, name in zip(leaves, wanted, names(layout), strict=True)
    ]
    return rebuilt(layout, iter(values)) if made is None else made(values)


def _is_leaf(x: Any) -> bool:
    return isinstance(x, Sharding | PartitionSpec | ShapeDtype | Device)


def _leaf(folder: Path, leaf: dict[str, Any], want: Any, name: str) -> Any:
    shape, dtype = tuple(leaf["shape"]), _dtype(leaf["dtype"])
    parts = Parts(folder, shape, dtype, leaf["parts"])
    where = _where(want, shape, dtype, name)
    if where is not None and not on_device(dtype):
        raise TypeError(f"load: {name}: numbers or booleans can be put on {where}, not {dtype}")
    if isinstance(where, NamedSharding):
        try:
            where.check(shape, "load")
        except ValueError as error:
            raise ValueError(f"load: {name}: {str(error).removeprefix('load: ')}") from None
        return make_array_from_callback(shape, where, parts.at, dtype)
    whole = new_array(parts.at((slice(None),) * len(shape)))
    return whole if where is None else device_put(whole, where)


def _where(want: Any, shape: tuple[int, ...], dtype: Any, name: str) -> Any:
    """Where an array shall be: a sharding, a device, or None. ValueError if it is another array
    than the one wanted.
    """
    if want is None:
        return None
    if isinstance(want, PartitionSpec):
        return sharding_on(None, want, f"load: {name}")
    if isinstance(want, Sharding | str):
        return want
    given = want if hasattr(want, "dtype") else np.asarray(want)
    if tuple(given.shape) != shape:
        raise ValueError(f"load: {name}: the shape {shape} was saved, like= has {given.shape}")
    if np.dtype(given.dtype) != dtype:
        raise ValueError(f"load: {name}: the dtype {dtype} was saved, like= has {given.dtype}")
    if isinstance(want, ShapeDtype):
        return want.sharding
    placed = placed_behind(want) if isinstance(want, Array) else None
    if placed is None:
        return None
    sharding = sharding_of(want)
    if isinstance(sharding, SingleDeviceSharding):
        return next(iter(sharding.device_set))
    return sharding


__all__ = ["load", "save"]
