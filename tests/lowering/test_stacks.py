"""Operations on stacks: each device computes the entries that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._avals import aval_of
from lazynp.lowering._stacks import notes
from tests.devices.worker import on_eight

pytestmark = pytest.mark.own_policy  # such arrays are compiled under every policy
P = np.PartitionSpec


def test_the_rule_names_what_dimensions_have_in_common() -> None:
    f8, i4 = numpy.dtype("f8"), numpy.dtype("i4")
    text = notes([aval_of((5, 2, 3), f8)], [aval_of((5, 2, 3), f8), aval_of((5,), i4)], 1)
    assert "([i, j, k])->([i, l, m], [i]) {i=5, j=2, k=3, l=2, m=3}" in text
    assert "need_replication={j, k, l, m}" in text and 'num_batch_dims = "1"' in text
    many = notes([aval_of((1,) * 20, f8)], [aval_of((1,) * 20, f8)], 20)
    assert "x, y, z, z_1, z_2]" in many


STACKS: dict[str, Callable[[Any, Any], Any]] = {
    "fft": lambda np, x: np.fft.fft(x),
    "fft of the first axis": lambda np, x: np.fft.fft(x, axis=0),
    "fft2": lambda np, x: np.fft.fft2(x[..., 0]),
    "fft of all axes": lambda np, x: np.fft.fftn(x[..., 0]),
    "rfft": lambda np, x: np.fft.rfft(x.real, axis=1),
    "of single precision": lambda np, x: np.fft.ifft(x.astype("c8")),
    "uneven": lambda np, x: np.fft.fft(x[1:, 1:], axis=1),
    "solve": lambda np, x: np.linalg.solve(x.real, x.imag),
    "solve of one for all": lambda np, x: np.linalg.solve(x[0, 0].real, x.imag),
    "solve, uneven": lambda np, x: np.linalg.solve(x[1:].real, x[1:, :, :, :1].imag),
    "complex inv": lambda np, x: np.linalg.inv(x),
    "qr of tall ones": lambda np, x: abs(np.linalg.qr(x[..., :3])[1]),
    "eigvalsh": lambda np, x: np.linalg.eigvalsh(x),
    "sort": lambda np, x: np.sort(x.real, axis=1),
    "along axis": lambda np, x: np.take_along_axis(x, x.real.argsort(1), 1),
}  # fmt: skip


def layouts() -> list[Any]:
    plane, cube = np.make_mesh((4, 2), ("x", "y")), np.make_mesh((2, 2, 2), ("a", "b", "c"))
    flat = [P("y", "x"), P(None, None, ("x", "y"))]
    deep = [P(("b", "a"), None, "c")]
    return [np.NamedSharding(plane, s) for s in flat] + [np.NamedSharding(cube, s) for s in deep]


@pytest.mark.parametrize("name", list(STACKS))
@on_eight
def test_a_stack_gives_numpys_results_however_it_is_split(name: str) -> None:
    """XLA's own transform along a split axis ends the process, or gives a wrong result."""
    g = numpy.random.default_rng(0)
    value = g.normal(size=(8, 4, 8, 8)) + 1j * g.normal(size=(8, 4, 8, 8)) + 9 * numpy.eye(8)
    want = STACKS[name](numpy, value)
    for sharding in layouts():
        got = STACKS[name](np, np.device_put(value, sharding))
        assert got.dtype == want.dtype
        tolerance = 1e-4 if want.dtype == numpy.complex64 else 1e-9
        numpy.testing.assert_allclose(
            numpy.asarray(got), want, tolerance, tolerance, err_msg=str(sharding.spec)
        )


BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "a product": lambda np, w: w @ w,
    "solve": lambda np, w: np.linalg.solve(w + 99 * np.eye(5), w[0]),
    "inv": lambda np, w: np.linalg.inv(w.T + 99 * np.eye(5)),
}
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "fft": lambda np, w: np.fft.fft(w, axis=0),
    "ifft": lambda np, w: np.fft.ifft(w.T),
    "rfft": lambda np, w: np.fft.rfft(w, axis=0),
    "irfft": lambda np, w: np.fft.irfft(w, axis=0),
}


@pytest.mark.parametrize("beside", list(BESIDE))
@on_eight
def test_a_transform_beside_what_reads_by_columns(beside: str) -> None:
    """XLA's transform reads rows only: where another reader made columns of them, it failed."""
    mesh = np.make_mesh((4, 2), ("a", "b"))
    value = numpy.random.default_rng(0).normal(size=(8, 8))
    for name, transform in TRANSFORMS.items():
        wants = [f(numpy, value[1:6, :5]) for f in (BESIDE[beside], transform)]
        w = np.device_put(value, np.NamedSharding(mesh, P("a", "b")))[1:6, :5]
        gots = [f(np, w) for f in (BESIDE[beside], transform)]
        for got, want in zip(gots, wants, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(got), want, 1e-9, 1e-9, err_msg=name)
