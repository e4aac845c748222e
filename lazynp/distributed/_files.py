"""The files of a checkpoint.

A checkpoint is a directory. `index.json` names the files that belong to it, and where in them each
part of each array lies. To replace that file is what makes a checkpoint appear, all at once. Files
that it does not name are what a save left that was killed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

INDEX = "index.json"
_OURS = re.compile(r"[0-9a-f]{16}\.(\d+|json)")
FORMAT = 1


def digest_of(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _synced(folder: Path) -> None:
    """Let the names in a directory survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_parts(file: Path, parts: Sequence[tuple[int, Any, np.ndarray[Any, Any]]]) -> list[Any]:
    """Write parts of arrays: (which leaf, its index, the elements). Returns where each lies."""
    records = []
    with open(file, "xb") as out:
        for leaf, box, array in parts:
            data = np.ascontiguousarray(array)
            flat: Any = data.reshape(-1).view(np.uint8) if data.size else b""
            out.write(flat)
            records.append([leaf, box, file.name, out.tell() - data.nbytes, digest_of(flat)])
        out.flush()
        os.fsync(out.fileno())
    return records


def publish(folder: Path, tag: str, index: dict[str, Any]) -> None:
    """From now on, this is the checkpoint. Removes the files of earlier ones."""
    body = json.dumps(index, sort_keys=True)
    new = folder / f"{tag}.json"
    with open(new, "x", encoding="utf-8") as out:
        json.dump({"digest": digest_of(body.encode()), "index": index}, out, sort_keys=True)
        out.flush()
        os.fsync(out.fileno())
    _synced(folder)
    os.replace(new, folder / INDEX)
    _synced(folder)
    for file in folder.iterdir():
        if _OURS.fullmatch(file.name) and not file.name.startswith(tag):
            file.unlink(missing_ok=True)


def read_index(folder: Path) -> dict[str, Any]:
    """What the checkpoint holds. Raises FileNotFoundError, and ValueError naming the file."""
    file = folder / INDEX
    if not file.exists():
        raise FileNotFoundError(f"load: there is no checkpoint at {folder}: {file} is missing")
    try:
        said = json.loads(file.read_bytes())
        index, digest = said["index"], said["digest"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"load: {file} is damaged: it cannot be read") from None
    if digest_of(json.dumps(index, sort_keys=True).encode()) != digest:
        raise ValueError(f"load: {file} is damaged: its digest is another")
    if index["format"] != FORMAT:
        raise ValueError(f"load: {file} has the format {index['format']}, {FORMAT} is required")
    return index


Box = list[list[int]]  # of each dimension, where a part begins and ends


class Parts:
    """The parts of one array in the files of a checkpoint."""

    def __init__(self, folder: Path, shape: tuple[int, ...], dtype: Any, records: Any) -> None:
        self.folder, self.shape, self.dtype, self.records = folder, shape, dtype, records
        self._checked: dict[int, Any] = {}

    def at(self, index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        """The elements at an index. Reads and checks only the parts that it needs."""
        wanted = [s.indices(n)[:2] for s, n in zip(index, self.shape, strict=True)]
        out = np.empty([e - b for b, e in wanted], self.dtype)
        filled = 0
        for which, (box, *_) in enumerate(self.records):
            both = [(max(b, x), min(e, y)) for (b, e), (x, y) in zip(wanted, box, strict=True)]
            if any(b >= e for b, e in both):
                continue
            to = tuple(slice(b - w, e - w) for (b, e), (w, _) in zip(both, wanted, strict=True))
            of = tuple(slice(b - x, e - x) for (b, e), (x, _) in zip(both, box, strict=True))
            out[to] = self._part(which)[of]
            filled += math.prod(e - b for b, e in both)
        if filled != out.size:
            raise ValueError(f"load: {self.folder / INDEX} is damaged: a part of an array lacks")
        return out

    def _part(self, which: int) -> Any:
        found = self._checked.get(which)
        if found is None:
            box, name, offset, digest = self.records[which]
            file, shape = self.folder / name, [e - b for b, e in box]
            size = math.prod(shape) * self.dtype.itemsize
            if size == 0:
                return np.empty(shape, self.dtype)
            try:
                data = np.memmap(file, np.uint8, "r", offset, (size,))
            except ValueError:
                raise ValueError(f"load: {file} is damaged: it is too short") from None
            if digest_of(data) != digest:
                raise ValueError(f"load: {file} is damaged: its digest is another")
            found = self._checked[which] = data.view(self.dtype).reshape(shape)
        return found


__all__ = ["FORMAT", "INDEX", "Box", "Parts", "digest_of", "publish", "read_index", "write_parts"]
