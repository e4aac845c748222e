"""Arrays of classes derived from NumPy's own array. NumPy's functions keep the class; so do ours.

An array in a file (`numpy.memmap`) is taken for its elements, as before.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np


class Noted(numpy.ndarray):
    def __array_finalize__(self, other: Any) -> None:
        self.note = getattr(other, "note", None)


class First(numpy.ndarray):
    __array_priority__ = 5.0


def two_rows(kind: type) -> Any:
    return numpy.arange(6.0).reshape(2, 3).view(kind)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    name: lambda np, x, name=name: getattr(np, name)(x)
    for name in """
        ravel flip fliplr flipud rot90 squeeze transpose diagonal trace sort cumsum cumprod
        diff round real imag angle nan_to_num atleast_1d atleast_2d atleast_3d copy
        asanyarray zeros_like ones_like median mean std var ptp average sinc i0 ediff1d
        nansum nanmean nancumsum unique fix isposinf sum max argmax any
    """.split()
} | {
    "roll": lambda np, x: np.roll(x, 1),
    "tile": lambda np, x: np.tile(x, 2),
    "repeat": lambda np, x: np.repeat(x, 2),
    "pad": lambda np, x: np.pad(x, 1),
    "insert": lambda np, x: np.insert(x, 0, 1.0),
    "delete": lambda np, x: np.delete(x, 0),
    "append": lambda np, x: np.append(x, 1.0),
    "expand_dims": lambda np, x: np.expand_dims(x, 0),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, 1),
    "swapaxes": lambda np, x: np.swapaxes(x, 0, 1),
    "reshape": lambda np, x: np.reshape(x, (3, 2)),
    "take": lambda np, x: np.take(x, [0, 1]),
    "compress": lambda np, x: np.compress([True, False], x),
    "partition": lambda np, x: np.partition(x, 1),
    "clip": lambda np, x: np.clip(x, 0, 1),
    "broadcast_to": lambda np, x: np.broadcast_to(x, (2, 2, 3)),
    "percentile": lambda np, x: np.percentile(x, 50),
    "full_like": lambda np, x: np.full_like(x, 1),
    "kron": lambda np, x: np.kron(x, numpy.ones(2)),
    "cross": lambda np, x: np.cross(x, np.ones(3)),
    "outer": lambda np, x: np.outer(x, np.ones(2)),
    "inner": lambda np, x: np.inner(x, numpy.ones(3)),
    "dot": lambda np, x: np.dot(x, numpy.ones(3)),
    "tensordot": lambda np, x: np.tensordot(x, np.ones(3), 1),
    "split": lambda np, x: np.split(x, 2)[0],
    "where": lambda np, x: np.where(x > 1, x, np.ones(3)),
    "concatenate": lambda np, x: np.concatenate([x, np.ones((2, 3))]),
    "stack": lambda np, x: np.stack([x, x]),
    "vstack": lambda np, x: np.vstack([x, np.ones(3)]),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x, np.ones((2, 3))),
    "apply_along_axis": lambda np, x: np.apply_along_axis(lambda v: v, 0, x),
    "gradient": lambda np, x: np.gradient(x)[0],
    "trim_zeros": lambda np, x: np.trim_zeros(x[0]),
    "correlate": lambda np, x: np.correlate(x[0], x[0]),
    "norm": lambda np, x: np.linalg.norm(x),
    "inv": lambda np, x: np.linalg.inv(x[:, :2] + numpy.eye(2)),
    "fft": lambda np, x: np.fft.fft(x),
    "polyval": lambda np, x: np.polyval(x[0], 2.0),
    "array": lambda np, x: np.array(x),
    "array, kept": lambda np, x: np.array(x, subok=True),
    "asarray": lambda np, x: np.asarray(x),
    "index": lambda np, x: np.ones((2, 3))[x[0].astype(int) % 2],
    "mask": lambda np, x: np.ones((2, 3))[x > 2],
    "stored": lambda np, x: operator.setitem(np.ones((2, 3)), 0, x[1]),
    "plus": lambda np, x: np.ones((2, 3)) + x,
    "plus, reflected": lambda np, x: x + np.ones((2, 3)),
    "times an element": lambda np, x: x * np.ones(3)[0],
    "an element times": lambda np, x: np.ones(3)[0] * x,
    "in place": lambda np, x: operator.iadd(np.ones((2, 3)), x),
    "in its place": lambda np, x: operator.iadd(x.copy(), np.ones((2, 3))),
    "less": lambda np, x: np.ones((2, 3)) < x,
    "matmul": lambda np, x: x @ np.ones((3, 2)),
    "add": lambda np, x: np.add(x, np.ones(3)),
    "sin": lambda np, x: np.sin(x),
    "out": lambda np, x: np.add(np.ones((2, 3)), 1, out=x.copy()),
    "into ours": lambda np, x: np.add(x, 1, out=np.ones((2, 3))),
}


@pytest.mark.parametrize("kind", [Noted, First])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_class_is_kept(name: str, kind: type) -> None:
    found: list[Any] = []
    for module in (np, numpy):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "numpy.fix", DeprecationWarning)
            made = FUNCTIONS[name](module, two_rows(kind))
        own = type(made) if isinstance(made, kind) else isinstance(made, module.ndarray)
        found.append((own, numpy.shape(made), numpy.asarray(made).tolist()))
    assert found[0] == found[1]


def test_an_array_in_a_file(tmp_path: Path) -> None:
    x = numpy.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(4,))
    x[:] = [3, 1, 2, 0]
    for y in (
        np.sin(x),
        np.ones(4) + x,
        x + np.ones(4),
        np.sort(x),
        np.concatenate([x, np.ones(2)]),
    ):
        assert type(y) is np.ndarray


def test_transformations_take_its_elements() -> None:
    x = two_rows(Noted)
    assert np.grad(lambda v: (v**2).sum())(x).tolist() == (2 * x).tolist()
    assert np.jit(lambda v: np.flip(v) * 2)(x).tolist() == (2 * x)[::-1, ::-1].tolist()
    assert np.vmap(np.sort)(x).tolist() == x.tolist()
